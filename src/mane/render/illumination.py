"""What light arrives where: the lights of a scene with their shadow maps, and the sky; and what hair and solids do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom
from mane.render import _kernels_solids
from mane.render.ambient import Sky
from mane.render.lights import AmbientLight, Light
from mane.render.looks import STYLE_LEVEL, Look
from mane.render.shading import pack_look, shade_ambient, shade_vertices
from mane.render.shadow import HairShadow, SolidShadow
from mane.render.solids import SeenSurfaces, Surfaces
from mane.render.strands import SmoothStrands
from mane.render.water_shadow import WaterShadow

CHUNK = 400_000  # points or samples shaded at a time; bounds the memory of what is only needed meanwhile

# How far past the edge of night red, green and blue bleed: a hint of skin under the clay.
WRAP = np.array([0.24, 0.12, 0.08], np.float32)
GLOSS, GLOSS_EXPONENT = np.float32(0.7), np.float32(18.0)


class LitSource:
    """One light with what stands in its way."""

    def __init__(
        self, light: Light, strands: SmoothStrands | None, surfaces: Surfaces | None, water: Mesh | None = None
    ) -> None:
        self.light = light
        self._hair = HairShadow(strands, light) if strands is not None and light.has_shadow else None
        self._solid = SolidShadow(surfaces, light) if surfaces is not None and light.has_shadow else None
        self._water = WaterShadow(water, light) if water is not None and light.has_shadow else None

    def hairs_before(self, points: FloatArray) -> FloatArray:
        """Expected number of hairs between the light and points (N, 3), shape (N,)."""
        return np.zeros(len(points), np.float32) if self._hair is None else self._hair.optical_depth(points)

    def on_hair(self, points: FloatArray) -> FloatArray:
        """Irradiance at points (N, 3) of strands after the solids, shape (N, 3) or (1, 3)."""
        irradiance = self._arriving(points)
        return irradiance if self._solid is None else irradiance * self._solid.in_hair(points)[:, None]

    def _arriving(self, points: FloatArray) -> FloatArray:
        """Irradiance at points (N, 3) after the water."""
        irradiance = self.light.irradiance(points)
        return irradiance if self._water is None else irradiance * self._water.transmittance(points)

    def on_surface(self, points: FloatArray, normals: FloatArray, to_light: FloatArray) -> FloatArray:
        """Irradiance at points (N, 3) of a surface facing the light, after solids and hair, shape (N, 3) or (1, 3)."""
        irradiance = self._arriving(points)
        if self._solid is not None:
            irradiance = irradiance * self._solid.over_surface(points, normals, to_light, -float(WRAP.max()))[:, None]
        return irradiance if self._hair is None else irradiance * self._hair.transmittance(points)[:, None]


class Illumination:
    """All the light of a scene."""

    def __init__(
        self,
        lights: Sequence[Light | AmbientLight],
        strands: SmoothStrands | None,
        surfaces: Surfaces | None,
        water: Mesh | None = None,
    ) -> None:
        ambient = [light for light in lights if isinstance(light, AmbientLight)]
        sources = [light for light in lights if not isinstance(light, AmbientLight)]
        self._sources = [LitSource(light, strands, surfaces, water) for light in sources]
        self._sky_colors = np.zeros((2, 3), np.float32)  # from above, from below
        for light in ambient:
            self._sky_colors += np.array([light.sky, light.ground], np.float32)
        self._sky = Sky(strands, surfaces) if ambient else None
        self._strands, self._surfaces = strands, surfaces

    def surface_sky(self) -> FloatArray:
        """Radiance from above and below that reaches the solids' vertices, white and matte, shape (N, 3)."""
        assert self._surfaces is not None
        if self._sky is None:
            return np.zeros_like(self._surfaces.points)
        return self._sky.over_surface() @ self._sky_colors

    def shade_hair(self, groom: Groom, looks: Sequence[Look], seen: NDArray[np.bool_], eye: FloatArray) -> FloatArray:
        """Linear light that the points of the strands send to the eye, shape (N, 3); zero where not `seen` (N,).

        Of several looks each point has a blend of two, by the groom's attribute `style_level` (lee2018 3.3).
        """
        if len(looks) == 1:
            return self._shade_hair(groom, looks[0], seen, eye)
        strands = self._strands
        assert strands is not None
        known = groom.per_vertex(STYLE_LEVEL, 0.0).astype(np.float32).reshape(-1, 1)
        everyone = np.arange(len(strands.points))
        level = strands.gather(everyone, np.ascontiguousarray(np.broadcast_to(known, (len(known), 3))))[2][:, :1]
        shaded = np.zeros_like(strands.points)
        for number, look in enumerate(looks):
            share = np.maximum(1 - np.abs(np.clip(level, 0, len(looks) - 1) - number), 0).astype(np.float32)
            shaded += share * self._shade_hair(groom, look, seen & (share[:, 0] > 0), eye)
        return shaded

    def _shade_hair(self, groom: Groom, look: Look, seen: NDArray[np.bool_], eye: FloatArray) -> FloatArray:
        """What `shade_hair` returns for one look."""
        strands = self._strands
        assert strands is not None
        base = look.strand_colors(groom, strands.sources(seen))
        packed = pack_look(look)
        shaded = np.zeros_like(strands.points)
        chosen = np.flatnonzero(seen)
        for start in range(0, len(chosen), CHUNK):
            part = chosen[start : start + CHUNK]
            points, tangents, colors = strands.gather(part, base)
            to_eye, out = _unit(eye - points), np.zeros_like(points)
            for source in self._sources:
                shade_vertices(
                    packed, tangents, to_eye, colors, source.light.to_light(points), source.on_hair(points),
                    source.hairs_before(points), out,
                )  # fmt: skip
            if self._sky is not None:
                sky = self._sky.in_hair(points)
                radiance = sky[:, :1] * self._sky_colors[0] + sky[:, 1:2] * self._sky_colors[1]
                shade_ambient(packed, tangents, to_eye, colors, radiance, np.ascontiguousarray(sky[:, 2]), out)
            shaded[part] = out
        return shaded

    def shade_solids(self, seen: SeenSurfaces, is_open: NDArray[np.bool_], eye: FloatArray) -> FloatArray:
        """Linear light of the solids at every sample, zero where there is none or it is not open, shape (H, W, 3).

        `seen` carries `surface_sky` as its extra values; `is_open` says which samples hair does not close, (H, W) or
        (1, 1) for all.
        """
        shaded = np.zeros((seen.owner.size, 3), np.float32)
        samples = np.flatnonzero((seen.owner >= 0) & is_open)
        for start in range(0, len(samples), CHUNK):
            chunk = samples[start : start + CHUNK]
            surface = seen.at(chunk)
            points, normals, albedo, sky = (np.ascontiguousarray(surface[:, k : k + 3]) for k in (0, 3, 6, 10))
            gloss = GLOSS * surface[:, 9]
            to_eye = np.empty_like(points)
            _kernels_solids.face_eye(points, normals, eye, to_eye)
            out = albedo * sky
            for source in self._sources:
                to_light = source.light.to_light(points)
                light = source.on_surface(points, normals, to_light)
                _kernels_solids.shade_surface(
                    normals, to_eye, albedo, to_light, light, WRAP, gloss, GLOSS_EXPONENT, out
                )
            shaded[chunk] = out
        return shaded.reshape(*seen.owner.shape, 3)


def _unit(vectors: FloatArray) -> FloatArray:
    length = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return np.asarray(vectors / np.maximum(length, np.float32(1e-20))[:, None], np.float32)
