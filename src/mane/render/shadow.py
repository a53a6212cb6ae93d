"""Shadow maps of one light: `HairShadow` (opacity shadow maps) and `SolidShadow` (a depth map with soft edges).

The opacity shadow maps follow chang2002 6: planes across the light's direction, evenly spaced, each with the opacity of
what lies before it, and an exponential interpolation between the two planes nearest to a point. The planes of a texel
begin where its hair does, not all at one depth (the deep opacity maps of Yuksel and Keyser 2008): plane ones show as
bands on a smooth head. Hair is taken as opaque here, so the optical depth is the number of hairs that light crosses on
average; what a hair lets through is a matter of its shading.
"""

from __future__ import annotations

import numba
import numpy as np
from scipy.ndimage import minimum_filter

from mane.geometry.checks import FloatArray
from mane.render import _kernels_shadow as kernels
from mane.render import _kernels_solids
from mane.render.lights import DirectionalLight, Light
from mane.render.solids import Surfaces
from mane.render.strands import SmoothStrands
from mane.render.view import View

HAIR_TEXELS = 256  # along each side of an opacity shadow map
HAIR_PLANES = 96
SOLID_TEXELS = 1024  # along each side of a depth map
WIDEST_EDGE = 0.04  # largest radius of a soft shadow, as a share of the solids' size
SURFACE_BIAS = 1.0  # [texels]
LIFT = 5.0  # [texels] along the normal, where light grazes a surface
HAIR_BIAS = 4.0  # [texels]; hair that lies on the skin is not in its shadow
HAIR_SLOPE = 1.0  # hair has no surface; a middling one
STEEPEST = 6.0  # a surface seen at a flatter angle by the light gets next to none of it
MOST_PARTS = 8  # private sums of threads


def thread_parts() -> int:
    """Into how many private sums a deposit is shared out; whole numbers are added, so the result is the same."""
    return min(int(numba.get_num_threads()), MOST_PARTS)


def light_view(light: Light, points: FloatArray, texels: int) -> View:
    """How a light sees points (N, 3), on a square grid that holds them all."""
    if isinstance(light, DirectionalLight):
        return View.towards(np.asarray(light.direction), points, texels)
    return View.from_point(np.asarray(light.position, np.float64), points, texels)


class HairShadow:
    """How many hairs lie between a light and any point."""

    def __init__(
        self, strands: SmoothStrands, light: Light, *, texels: int = HAIR_TEXELS, planes: int = HAIR_PLANES
    ) -> None:
        self.view = light_view(light, strands.points, texels)
        nearest, farthest = self.view.depth_range(strands.points)
        self._per_metre = np.float32((planes - 1) / max(farthest - nearest, 1e-6))
        parts = thread_parts()
        firsts = np.full((parts, texels, texels), kernels.NO_SOLID, np.float32)
        kernels.find_first_hair(strands.points, strands.offsets, *self.view.arguments, self._per_metre, firsts)
        # A hair's shadow reaches one texel beyond its own, and so must the depth where the hair begins.
        self._first = minimum_filter(firsts.min(axis=0), 3, mode="nearest")
        volumes = np.zeros((parts, texels, texels, planes), np.uint32)
        kernels.deposit_hair(
            strands.points, strands.width, strands.offsets, *self.view.arguments, self._first, self._per_metre, volumes
        )
        kernels.accumulate(volumes)
        self._volume = volumes[0].copy() if parts > 1 else volumes[0]

    def optical_depth(self, points: FloatArray) -> FloatArray:
        """Expected number of hairs between the light and points (N, 3), shape (N,)."""
        out = np.empty(len(points), np.float32)
        kernels.sample_hair(points, *self.view.arguments, self._first, self._per_metre, self._volume, out)
        return out

    def transmittance(self, points: FloatArray) -> FloatArray:
        """Share of the light that finds its way between the hairs to points (N, 3), shape (N,)."""
        return np.exp(-self.optical_depth(points))


class SolidShadow:
    """How much of a light the solids let through to any point."""

    def __init__(self, surfaces: Surfaces, light: Light, *, texels: int = SOLID_TEXELS) -> None:
        self.view = light_view(light, surfaces.points, texels)
        clipped = surfaces.before(self.view)
        screen = self.view.project(clipped.points)
        nearness, owner = np.empty((texels, texels), np.float32), np.empty((texels, texels), np.int32)
        _kernels_solids.raster_mesh(
            screen, clipped.faces, self.view.is_perspective, _kernels_solids.FAR, nearness, owner
        )
        seen = owner >= 0
        self._depth_map = np.full((texels, texels), kernels.NO_SOLID, np.float32)
        self._depth_map[seen] = 1.0 / nearness[seen] if self.view.is_perspective else -nearness[seen]
        extent = float(np.linalg.norm(surfaces.points.max(axis=0) - surfaces.points.min(axis=0)))
        distance = max(float(np.median(self.view.depth(surfaces.points))), 1e-6)
        self._widest = np.float32(WIDEST_EDGE * extent)
        self._texel = self.view.texel_size(distance)
        diameter = light.size if isinstance(light, DirectionalLight) else light.size / distance
        self._spread = np.float32(0.5 * diameter)

    def over_surface(self, points: FloatArray, normals: FloatArray, to_light: FloatArray, darkest: float) -> FloatArray:
        """Share of the light that reaches points (N, 3) of a surface with these normals, shape (N,).

        It is zero where the cosine between normal and light is below `darkest`.
        """
        return self._sample(
            points, normals, to_light, darkest, SURFACE_BIAS, kernels.SURFACE_TAPS, kernels.SURFACE_COUNT
        )

    def in_hair(self, points: FloatArray) -> FloatArray:
        """Share of the light that reaches points (N, 3) of strands, shape (N,)."""
        none = np.zeros((0, 3), np.float32)
        return self._sample(points, none, none, 0.0, HAIR_BIAS, kernels.HAIR_TAPS, kernels.HAIR_COUNT)

    def _sample(
        self,
        points: FloatArray,
        normals: FloatArray,
        to_light: FloatArray,
        darkest: float,
        bias: float,
        taps: FloatArray,
        count: int,
    ) -> FloatArray:
        out = np.empty(len(points), np.float32)
        kernels.sample_solids(
            points, normals, to_light, np.float32(darkest), *self.view.arguments, self._spread, self._widest,
            np.float32(bias * self._texel), np.float32(LIFT * self._texel), np.float32(HAIR_SLOPE),
            np.float32(STEEPEST), taps, count, len(normals) > 0, self._depth_map, out,
        )  # fmt: skip
        return out
