"""A scene as the files that Mitsuba 3 reads: for `mane render --export-mitsuba`, and for `renderer="mitsuba"`.

    scene.xml       camera, lights, materials, settings; `mitsuba -m scalar_rgb -Dspp=256 scene.xml` renders it
    hair.00.txt     strands: one line `x y z radius` per control point, an empty line after each strand
    pigment.00.exr  absorption of every piece of those strands, in their order
    body.ply        the solids with normals and colours
    sky.exr         the ambient light as an environment

What differs from mane's own picture. Mitsuba traces light from hair to hair and from solid to hair; mane approximates
the first and leaves out the second. Strands pass through the same points, as natural splines instead of Hermite ones. A
spot light is a point here, with another edge; every light casts shadows. `translucency`, `multiple_scattering` and the
Kajiya-Kay model are mane's own and have no counterpart: the hair is always Mitsuba's (Chiang et al. 2016).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray, IntArray
from mane.groom.groom import Groom
from mane.io.atomic import atomic_write
from mane.io.usd.curve_basis import CurveShape, control_points
from mane.render import _kernels_strands
from mane.render.camera import Camera, any_across, basis
from mane.render.exr import write_exr
from mane.render.lights import AmbientLight, DirectionalLight, Light, PointLight, SpotLight
from mane.render.looks import Look
from mane.render.solids import Surfaces
from mane.render.strands import TAPER_START, TIP_WIDTH, strand_widths
from mane.render.water import INDEX

SCENE_FILE = "scene.xml"
SAMPLES = 64  # per pixel
MAX_DEPTH = 64  # of a path; blond hair is dark when light may not go from hair to hair often enough
ROULETTE_DEPTH = 16  # from which on paths end at random

STRANDS_AT_ONCE = 2048  # written as text
# Mitsuba finds a piece of a strand by a float32 between 0 and 1 over all of them: with so many it is off by 2 % of one.
PIECES_PER_SHAPE = 1 << 18
SKY_SIZE = (2, 64)  # columns and rows of the environment: it only changes with the height
SMALLEST_SOFT = 0.02  # [rad]; a smaller light is a point in the sky
FAR_AWAY = 50.0  # times the size of the scene: where the disk of a soft directional light stands
NEAR_CLIP = 1e-3  # share of the distance to what the camera looks at

# Solids: a matte surface with a sheen, about as wide and as strong as that of mane's own.
ROUGHNESS = 0.56
SPECULAR = 0.35

DARKEST = 1e-9  # transmittance of a hair; keeps its logarithm finite
PINNED_SPLINE = CurveShape("cubic", "bspline", "pinned")
# Mitsuba 3.9.1 reads beyond its memory where a ray meets the very end of the last strand of a shape. Nothing meets the
# last one that we add: it has no length to speak of and no width.
END_PIECES = 4
NOTHING = 1e-9  # share of the scene's size


@dataclass(frozen=True, eq=False)
class MitsubaScene:
    """All that a picture shows, ready to be written.

    Attributes:
        groom: the strands, or None.
        surfaces: the solids, or None.
        camera: where from.
        lights: what shines.
        look: what the hair is made of.
        size: width and height of the picture [pixels].
        samples: per pixel.
        max_depth: longest path of light: 2 is direct light only.
        hair_width: diameter of every strand [m]; None takes the groom's, or as `render` does.
        water: triangles of the surface of water [m], a dielectric; None for none.
    """

    groom: Groom | None
    surfaces: Surfaces | None
    camera: Camera
    lights: Sequence[Light | AmbientLight]
    look: Look
    size: tuple[int, int]
    samples: int = SAMPLES
    max_depth: int = MAX_DEPTH
    hair_width: float | None = None
    water: Mesh | None = None

    def __post_init__(self) -> None:
        if self.groom is None and self.surfaces is None:
            raise ValueError("mitsuba: needs a groom or a body, got neither")
        if self.samples < 1:
            raise ValueError(f"samples: must be at least 1, got {self.samples}")
        if self.max_depth < 1:
            raise ValueError(f"max_depth: must be at least 1, got {self.max_depth}")

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write the files into a folder that exists and return the path of `scene.xml`, which is written last."""
        target = Path(folder)
        if not target.is_dir():
            raise NotADirectoryError(f"{target}: must be a folder that exists; make it first")
        root = ElementTree.Element("scene", version="3.0.0")
        _add(root, "default", "spp", self.samples)
        _add(root, "default", "depth", self.max_depth)
        integrator = _plugin(root, "integrator", "path")
        _add(integrator, "integer", "max_depth", "$depth")
        _add(integrator, "integer", "rr_depth", ROULETTE_DEPTH)
        _add(integrator, "boolean", "hide_emitters", "true")
        self._add_camera(root)
        for light in self.lights:
            if not isinstance(light, AmbientLight):
                self._add_light(root, light)
        self._add_sky(root, target)
        if self.groom is not None:
            self._add_hair(root, self.groom, target)
        if self.surfaces is not None:
            self._add_solids(root, self.surfaces, target)
        if self.water is not None:
            self._add_water(root, self.water, target)
        ElementTree.indent(root)
        with atomic_write(target / SCENE_FILE) as file:
            file.write(ElementTree.tostring(root, encoding="utf-8") + b"\n")
        return target / SCENE_FILE

    # -- camera and light ----------------------------------------------------------------------------------------------

    def _add_camera(self, root: ElementTree.Element) -> None:
        camera = self.camera
        right, up, back = camera.axes
        distance = float(np.linalg.norm(np.subtract(camera.position, camera.look_at)))
        sensor = _plugin(root, "sensor", "perspective")
        _add(sensor, "string", "fov_axis", "y")
        _add(sensor, "float", "fov", _number(np.degrees(camera.fov)))
        _add(sensor, "float", "near_clip", _number(NEAR_CLIP * distance))
        # Mitsuba's camera looks along +Z with +X to its left.
        _add_matrix(sensor, "to_world", np.stack([-right, up, -back, np.asarray(camera.position)], axis=1))
        sampler = _plugin(sensor, "sampler", "independent")
        _add(sampler, "integer", "sample_count", "$spp")
        film = _plugin(sensor, "film", "hdrfilm")
        _add(film, "integer", "width", self.size[0])
        _add(film, "integer", "height", self.size[1])
        _add(film, "string", "pixel_format", "rgba")
        _add(film, "string", "component_format", "float32")
        _plugin(film, "rfilter", "box")

    def _add_light(self, root: ElementTree.Element, light: Light) -> None:
        """Add a light; an intensity of 1 is an irradiance of pi, see `lights`."""
        power = np.pi * light.intensity * np.asarray(light.color)
        if isinstance(light, SpotLight):
            emitter = _plugin(root, "emitter", "spot")
            _add_rgb(emitter, "intensity", power)
            _add(emitter, "float", "cutoff_angle", _number(np.degrees(light.angle)))
            _add(emitter, "float", "beam_width", _number(np.degrees(light.angle * (1.0 - light.edge))))
            _add_matrix(emitter, "to_world", _aimed(light.position, light.look_at))
        elif isinstance(light, PointLight):
            radius = 0.5 * light.size
            ball = _plugin(root, "shape", "sphere")
            centre = _add(ball, "point", "center")
            for axis, value in zip("xyz", light.position, strict=True):
                centre.set(axis, _number(value))
            _add(ball, "float", "radius", _number(radius))
            _add_rgb(_plugin(ball, "emitter", "area"), "radiance", power / (np.pi * radius**2))
        elif light.size < SMALLEST_SOFT:
            emitter = _plugin(root, "emitter", "directional")
            vector = _add(emitter, "vector", "direction")
            for axis, value in zip("xyz", light.direction, strict=True):
                vector.set(axis, _number(-value))
            _add_rgb(emitter, "irradiance", power)
        else:
            self._add_soft_light(root, light, power)

    def _add_soft_light(self, root: ElementTree.Element, light: DirectionalLight, power: NDArray[np.float64]) -> None:
        """A disk so far away that its light is parallel, as large as the light appears."""
        middle, size = self._extent()
        towards = np.asarray(light.direction) / np.linalg.norm(light.direction)
        distance = FAR_AWAY * size
        radius = distance * np.tan(0.5 * light.size)
        place = _aimed(tuple(middle + distance * towards), tuple(middle))
        place[:, :3] *= radius
        disk = _plugin(root, "shape", "disk")
        _add_matrix(disk, "to_world", place)
        # Irradiance of a disk on its axis: pi L sin^2 of the half angle.
        _add_rgb(_plugin(disk, "emitter", "area"), "radiance", power / (np.pi * np.sin(0.5 * light.size) ** 2))

    def _add_sky(self, root: ElementTree.Element, folder: Path) -> None:
        ambient = [light for light in self.lights if isinstance(light, AmbientLight)]
        if not ambient:
            return
        sky, ground = (np.sum([getattr(light, name) for light in ambient], axis=0) for name in ("sky", "ground"))
        columns, rows = SKY_SIZE
        upward = 0.5 + 0.5 * np.cos(np.pi * (np.arange(rows) + 0.5) / rows)  # the first row is the zenith
        radiance = upward[:, None] * sky + (1.0 - upward[:, None]) * ground
        write_exr(folder / "sky.exr", np.repeat(radiance[:, None], columns, axis=1), half=False)
        _add(_plugin(root, "emitter", "envmap"), "string", "filename", "sky.exr")

    def _extent(self) -> tuple[NDArray[np.float64], float]:
        """Middle and diagonal of everything [m]."""
        parts = [] if self.groom is None else [self.groom.bounds]
        parts += [] if self.surfaces is None else [self.surfaces.points]
        points = np.concatenate(parts).astype(np.float64)
        low, high = points.min(axis=0), points.max(axis=0)
        return 0.5 * (low + high), max(float(np.linalg.norm(high - low)), 1e-6)

    # -- hair and solids -----------------------------------------------------------------------------------------------

    def _add_hair(self, root: ElementTree.Element, groom: Groom, folder: Path) -> None:
        # The colours of that model are what is left of light along a diameter; Mitsuba counts absorption per radius.
        left = replace(self.look, model="marschner").strand_colors(groom)
        absorption = (-0.5 * np.log(np.maximum(left, DARKEST))).astype(np.float32)
        kept, offsets = without_repeats(groom.points, groom.offsets)
        points, absorption = groom.points[kept], absorption[kept]
        radius = 0.5 * _widths(groom, self.hair_width)[kept]
        for number, (first, last) in enumerate(_shares(offsets)):
            rows, part = slice(offsets[first], offsets[last]), offsets[first : last + 1] - offsets[first]
            curves, pigment = f"hair.{number:02d}.txt", f"pigment.{number:02d}.exr"
            with atomic_write(folder / curves) as file:
                write_curves(file, points[rows], part, radius[rows])
                file.write(self._last_strand(points[offsets[first]]))
            means = segment_means(absorption[rows], part)
            write_exr(folder / pigment, np.pad(means, ((0, END_PIECES), (0, 0)))[None], half=False)
            self._add_curves(root, curves, pigment)

    def _last_strand(self, place: FloatArray) -> bytes:
        """A strand that no ray meets, to be the last of a shape; see `END_PIECES`."""
        tiny = NOTHING * self._extent()[1]
        lines = [f"{place[0] + k * tiny:.9g} {place[1]:.9g} {place[2]:.9g} {tiny:.3g}" for k in range(END_PIECES + 3)]
        return "\n".join([*lines, "", ""]).encode("ascii")

    def _add_curves(self, root: ElementTree.Element, curves: str, pigment: str) -> None:
        fibre = self.look.fibre
        shape = _plugin(root, "shape", "bsplinecurve")
        _add(shape, "string", "filename", curves)
        hair = _plugin(shape, "bsdf", "hair")
        _add(hair, "float", "longitudinal_roughness", _number(fibre.roughness))
        _add(hair, "float", "azimuthal_roughness", _number(fibre.azimuthal_roughness))
        # Mitsuba counts the tilt of the scales towards the tip.
        _add(hair, "float", "scale_tilt", _number(-np.degrees(fibre.tilt)))
        _add(hair, "float", "int_ior", _number(fibre.index))
        _add(hair, "float", "ext_ior", "1")
        texture = _plugin(hair, "texture", "bitmap", "sigma_a")
        _add(texture, "string", "filename", pigment)
        _add(texture, "boolean", "raw", "true")
        _add(texture, "string", "filter_type", "nearest")
        _add(texture, "string", "wrap_mode", "clamp")
        # v runs along all strands, one after the other, piece by piece: that is the row of the picture.
        _add_matrix(texture, "to_uv", np.array([[0.0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]]))

    def _add_solids(self, root: ElementTree.Element, surfaces: Surfaces, folder: Path) -> None:
        with atomic_write(folder / "body.ply") as file:
            _write_ply(file, surfaces)
        body = _plugin(root, "shape", "ply")
        _add(body, "string", "filename", "body.ply")
        skin = _plugin(_plugin(body, "bsdf", "twosided"), "bsdf", "principled")
        _add(skin, "float", "roughness", _number(ROUGHNESS))
        _add(skin, "float", "specular", _number(SPECULAR))
        _add(_plugin(skin, "texture", "mesh_attribute", "base_color"), "string", "name", "vertex_color")

    def _add_water(self, root: ElementTree.Element, mesh: Mesh, folder: Path) -> None:
        surfaces = Surfaces.of_bodies(mesh)
        assert surfaces is not None
        with atomic_write(folder / "water.ply") as file:
            _write_ply(file, surfaces)
        water = _plugin(root, "shape", "ply")
        _add(water, "string", "filename", "water.ply")
        glass = _plugin(water, "bsdf", "dielectric")
        _add(glass, "float", "int_ior", _number(INDEX))
        _add(glass, "string", "ext_ior", "air")


def without_repeats(points: FloatArray, offsets: IntArray) -> tuple[IntArray, IntArray]:
    """Rows of the points (P, 3) that differ from the one before in their strand, and the offsets of what is left.

    A piece without a length has no direction, and a strand of such pieces only is none: it is left out.
    """
    moves = np.ones(len(points), np.bool_)
    moves[1:] = (points[1:] != points[:-1]).any(axis=1)
    moves[offsets[:-1]] = True
    counts = np.add.reduceat(moves, offsets[:-1], dtype=np.int64)
    moves &= np.repeat(counts > 1, np.diff(offsets))
    return np.flatnonzero(moves), np.concatenate([[0], np.cumsum(counts[counts > 1])])


def write_curves(file: BinaryIO, points: FloatArray, offsets: IntArray, radius: FloatArray) -> None:
    """Write strands as the control points of cubic B-splines that pass through every point and end at the ends.

    Args:
        file: to write to.
        points: positions [m], shape (P, 3).
        offsets: strand `s` owns points `offsets[s]:offsets[s + 1]`, shape (S + 1,).
        radius: half of the diameter at each point [m], shape (P,).
    """
    for first in range(0, len(offsets) - 1, STRANDS_AT_ONCE):
        part = offsets[first : first + STRANDS_AT_ONCE + 1]
        rows, local = slice(int(part[0]), int(part[-1])), part - part[0]
        control = control_points(PINNED_SPLINE, points[rows].astype(np.float64), local)
        table = _with_phantoms(np.column_stack([control, radius[rows]]), local)
        layout = "".join("%.9g %.9g %.9g %.6g\n" * count + "\n" for count in (np.diff(local) + 2).tolist())
        file.write((layout % tuple(table.reshape(-1).tolist())).encode("ascii"))


def _with_phantoms(table: NDArray[np.float64], offsets: IntArray) -> NDArray[np.float64]:
    """Add a control point beyond each end, mirrored in it, so that the curve ends there; shape (P + 2 S, 4)."""
    counts = np.diff(offsets)
    wide = np.empty((len(table) + 2 * len(counts), table.shape[1]))
    inner = np.arange(len(table)) + 1 + 2 * np.repeat(np.arange(len(counts)), counts)
    wide[inner] = table
    start, end = inner[offsets[:-1]], inner[offsets[1:] - 1]
    wide[start - 1] = 2.0 * wide[start] - wide[start + 1]
    wide[end + 1] = 2.0 * wide[end] - wide[end - 1]
    # A radius must not go below zero where the hair gets thin: beyond the ends it stays.
    wide[start - 1, 3], wide[end + 1, 3] = wide[start, 3], wide[end, 3]
    return wide


def _widths(groom: Groom, width: float | None) -> FloatArray:
    """Diameter at each point of a groom as mane draws it [m], thinner towards the tip, shape (P,)."""
    widths = strand_widths(groom, width)
    if "width" not in groom.vertex or width is not None:
        _kernels_strands.taper(groom.points, groom.offsets, np.float32(TIP_WIDTH), np.float32(TAPER_START), widths)
    return widths


def _shares(offsets: IntArray) -> Iterator[tuple[int, int]]:
    """Ranges of strands of at most `PIECES_PER_SHAPE` points each, never less than one strand."""
    first, count = 0, len(offsets) - 1
    while first < count:
        last = int(np.searchsorted(offsets, offsets[first] + PIECES_PER_SHAPE, side="right")) - 1
        last = min(max(last, first + 1), count)
        yield first, last
        first = last


def segment_means(values: NDArray[np.floating], offsets: IntArray) -> FloatArray:
    """Mean of the values (P, C) at the two ends of each segment of all strands, shape (P - S, C)."""
    means = 0.5 * (values[:-1] + values[1:])
    return np.delete(means, offsets[1:-1] - 1, axis=0).astype(np.float32)


def _write_ply(file: BinaryIO, surfaces: Surfaces) -> None:
    names = ("x", "y", "z", "nx", "ny", "nz", "r", "g", "b")
    vertices = np.column_stack([surfaces.points, surfaces.normals, surfaces.albedo]).astype("<f4")
    faces = np.empty(len(surfaces.faces), [("count", "u1"), ("corners", "<i4", 3)])
    faces["count"], faces["corners"] = 3, surfaces.faces
    properties = "".join(f"property float {name}\n" for name in names)
    header = (
        f"ply\nformat binary_little_endian 1.0\nelement vertex {len(vertices)}\n{properties}"
        f"element face {len(faces)}\nproperty list uchar int vertex_indices\nend_header\n"
    )
    file.write(header.encode("ascii"))
    file.write(vertices.tobytes())
    file.write(faces.tobytes())


# -- XML ---------------------------------------------------------------------------------------------------------------


def _plugin(parent: ElementTree.Element, kind: str, name: str, role: str | None = None) -> ElementTree.Element:
    element = ElementTree.SubElement(parent, kind, type=name)
    if role is not None:
        element.set("name", role)
    return element


def _add(parent: ElementTree.Element, kind: str, name: str, value: str | int | None = None) -> ElementTree.Element:
    element = ElementTree.SubElement(parent, kind, name=name)
    if value is not None:
        element.set("value", str(value))
    return element


def _add_rgb(parent: ElementTree.Element, name: str, value: NDArray[np.float64]) -> None:
    _add(parent, "rgb", name, " ".join(_number(v) for v in value))


def _add_matrix(parent: ElementTree.Element, name: str, rows: NDArray[np.float64]) -> None:
    """Add a transform from the upper three rows of its matrix."""
    numbers = [*rows.reshape(-1).tolist(), 0.0, 0.0, 0.0, 1.0]
    transform = _add(parent, "transform", name)
    ElementTree.SubElement(transform, "matrix", value=" ".join(_number(v) for v in numbers))


def _aimed(position: tuple[float, ...], look_at: tuple[float, ...]) -> NDArray[np.float64]:
    """Upper rows of the matrix of something at `position` that looks along its own +Z at `look_at`, shape (3, 4)."""
    back = np.subtract(position, look_at)
    right, up, back = basis(back, any_across(back))
    return np.stack([-right, up, -back, np.asarray(position, np.float64)], axis=1)


def _number(value: float) -> str:
    return f"{float(value):.9g}"
