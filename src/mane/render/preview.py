"""A quick and honest picture of a groom, a mesh, or both: what a developer looks at while working.

The mesh is drawn with a z-buffer, smooth normals, soft shadows and ambient light that the mesh itself blocks. Hair is
drawn as thin lines in depth order, shaded along the tangent (Kajiya-Kay) and dimmed by the hair between it and the
light. The lights travel with the camera, so that every side of a head is lit alike.

Limitations: a triangle or segment that reaches behind the eye is left out, not clipped; hair casts no shadow of single
strands, only of its density; lines have a largest width of some pixels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray, as_array, as_floats, require_positive
from mane.groom.groom import Groom
from mane.render import _kernels_preview as kernels
from mane.render.camera import Camera, any_across, basis
from mane.render.sheet import Image, contact_sheet, write_png

__all__ = ["Camera", "contact_sheet", "preview", "write_png"]

CLAY = (0.62, 0.42, 0.33)  # linear RGB: neutral skin with the saturation of clay
BROWN = (0.20, 0.095, 0.045)  # linear RGB: hair
BACKDROP = ((0.80, 0.82, 0.85), (0.60, 0.63, 0.67))  # display RGB at the top and at the bottom
HAIR_WIDTH = 8e-5  # diameter of a human hair [m], where the groom gives none

FULL_HEAD = 100_000  # strands; a groom with fewer gets wider lines, so that it still reads as hair
WIDEST_DEFAULT = 1e-3  # [m]
AMBIENT_DIRECTIONS = 64
AMBIENT_TEXELS = 224  # depth map of one ambient direction
SHADOW_TEXELS = 1024  # shadow map of the key light
SHADOW_BLUR = 5.0  # radius of its soft edge [texels]
DENSITY_CELLS = 96  # cells of the hair density grid along its longest side
SKY_MEMORY = 0.06  # [m]: light from all of the sky reaches around hair that is farther away
HAIR_EXTINCTION = 0.14  # share of the geometric optical depth that dims: hair scatters most of the light onward

# Directions towards key, fill and rim in the camera's right, up and back; colours as linear RGB, the last is ambient.
LIGHTS = np.array([[0.55, 0.70, 0.62], [-0.85, 0.10, 0.50], [-0.45, 0.55, -0.85]])
LIGHT_COLORS = np.array([[1.02, 0.96, 0.88], [0.20, 0.23, 0.28], [0.34, 0.38, 0.44], [0.42, 0.45, 0.50]], np.float32)


def preview(
    groom: Groom | None = None,
    mesh: Mesh | Sequence[Mesh] | None = None,
    *,
    camera: Camera | None = None,
    size: tuple[int, int] = (960, 540),
    background: ArrayLike = BACKDROP,
    hair_color: ArrayLike | None = None,
    hair_width: float | None = None,
    mesh_color: ArrayLike = CLAY,
    supersample: int = 2,
) -> Image:
    """Draw hair, a mesh, or both.

    Args:
        groom: the strands, or None.
        mesh: one mesh or several, or None.
        camera: None frames everything from the front, turned a little.
        size: width and height of the picture [pixels].
        background: display RGB in [0, 1]: one colour, or the colours at the top and at the bottom, shape (2, 3).
        hair_color: linear RGB for all strands or per strand (S, 3); None takes the groom's, or else brown.
        hair_width: diameter of every line [m]; None takes the groom's or a human hair's, wider if strands are few.
        mesh_color: linear RGB for all, or per vertex (N, 3) of the meshes one after the other.
        supersample: samples per pixel along x and along y.

    Returns:
        Display RGB, shape (height, width, 3), the same bytes for any number of threads.
    """
    width, height = _checked_size(size, supersample)
    parts = [mesh] if isinstance(mesh, Mesh) else list(mesh or [])
    if groom is None and not parts:
        raise ValueError("preview: needs a groom or a mesh, got neither")
    if camera is None:
        content = [part.points[part.faces.reshape(-1)] for part in parts]
        content += [groom.points] if groom is not None else []
        camera = Camera.framing(np.concatenate(content), aspect=width / height)
    view = _View(camera, width * supersample, height * supersample)
    hair = None if groom is None else _Hair(groom, hair_color, hair_width)
    skin = None if not parts else _Skin(parts, mesh_color, view)
    shade = None if hair is None else _HairShade(hair, view)
    image, cover, nearness = _draw_mesh(view, skin, shade)
    if hair is not None and shade is not None:
        hair_image, clear = _draw_hair(view, hair, shade, skin, nearness)
        image = hair_image + clear[:, :, None] * image
        cover = np.float32(1.0) - clear * (np.float32(1.0) - cover)
    return _developed(image, cover, supersample, _backdrop(background, height))


class _View:
    """The camera's projection onto a picture of some size, and the lights that travel with it."""

    def __init__(self, camera: Camera, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.eye = np.asarray(camera.position, np.float32)
        self.axes = camera.axes.astype(np.float32)
        self.focal = np.float32(0.5 * height / np.tan(0.5 * camera.fov))
        lights = LIGHTS @ camera.axes
        self.lights = (lights / np.linalg.norm(lights, axis=1, keepdims=True)).astype(np.float32)

    def project(self, points: FloatArray) -> FloatArray:
        """Pixel x, pixel y and nearness (1/depth), shape (N, 3)."""
        screen = np.empty_like(points)
        right, up, back = self.axes
        x, y = np.float32(0.5 * self.width), np.float32(0.5 * self.height)
        kernels.project(points, self.eye, right, up, back, self.focal, x, y, True, screen)
        return screen


class _Skin:
    """Every mesh joined into one, with its ambient light and its shadow map of the key light."""

    def __init__(self, parts: Sequence[Mesh], color: ArrayLike, view: _View) -> None:
        starts = np.cumsum([0] + [part.vertex_count for part in parts])
        self.points = np.concatenate([part.points for part in parts])
        self.normals = np.concatenate([part.vertex_normals for part in parts])
        self.faces = np.concatenate(
            [part.faces + np.int32(start) for part, start in zip(parts, starts[:-1], strict=True)]
        )
        self.albedo = _per_row("mesh_color", color, len(self.points))
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        self.centre = 0.5 * (low + high)
        self.radius = np.float32(0.5 * np.linalg.norm(high - low) + 1e-6)
        self.ambient = self._ambient()
        self._shadow_axes = np.stack(basis(view.lights[0], any_across(view.lights[0]))).astype(np.float32)
        self.shadow_map = np.empty((SHADOW_TEXELS, SHADOW_TEXELS), np.float32)
        owner = np.empty(self.shadow_map.shape, np.int32)
        kernels.raster_mesh(self.into_shadow(self.points), self.faces, False, self.shadow_map, owner)

    @property
    def texel(self) -> np.float32:
        """Side of a texel of the shadow map [m]."""
        return np.float32(2.0 * self.radius / SHADOW_TEXELS)

    def into_shadow(self, points: FloatArray) -> FloatArray:
        """Shadow-map x, y and nearness of points, shape (P, 3)."""
        screen = np.empty_like(points)
        middle = np.float32(0.5 * SHADOW_TEXELS)
        focal = np.float32(1.0) / self.texel
        right, up, back = self._shadow_axes
        kernels.project(points, self.centre, right, up, back, focal, middle, middle, False, screen)
        return screen

    def lifted(self, light: FloatArray) -> FloatArray:
        """Vertices moved off the surface, more where light grazes it, so that no part of it shades itself, (N, 3)."""
        sine = np.sqrt(np.maximum(1.0 - (self.normals @ light) ** 2, 0.0))
        return (self.points + (self.texel * (1.0 + (SHADOW_BLUR + 1.0) * sine))[:, None] * self.normals).astype(
            np.float32
        )

    def key_seen(self, points: FloatArray) -> FloatArray:
        """Share of the key light that the mesh lets through to points, shape (P,)."""
        seen = np.empty(len(points), np.float32)
        kernels.sample_shadow(self.shadow_map, self.into_shadow(points), 6 * self.texel, seen)
        return seen

    def _ambient(self) -> FloatArray:
        """Light from a bright sky and a dim ground that reaches each vertex, 1 for an open sky, shape (N,)."""
        directions = _spiral_sphere(AMBIENT_DIRECTIONS)
        axes = np.stack([np.stack(basis(d, any_across(d))) for d in directions]).astype(np.float32)
        sky = (0.62 + 0.38 * directions[:, 1]).astype(np.float32)
        gathered = np.empty((len(directions), len(self.points)), np.float32)
        kernels.ambient_light(
            self.points, self.normals, self.faces, self.centre, self.radius,
            axes[:, 2].copy(), axes[:, 0].copy(), axes[:, 1].copy(), sky, AMBIENT_TEXELS, gathered,
        )  # fmt: skip
        # The cosines of all directions around a normal sum to a quarter of the directions.
        return gathered.sum(axis=0) / np.float32(0.25 * len(directions))


class _Hair:
    """The strands with a colour and a width each."""

    def __init__(self, groom: Groom, color: ArrayLike | None, width: float | None) -> None:
        self.points, self.offsets = groom.points, groom.offsets
        self.strand_count = groom.strand_count
        if color is None:
            color = BROWN
            if "color" in groom.strand:
                color = groom.strand["color"]
            elif "color" in groom.vertex:
                color = groom.vertex["color"][groom.offsets[:-1]]
        self.color = _per_row("hair_color", color, groom.strand_count) * _strand_tints(groom.strand_count)
        if width is not None:
            require_positive("hair_width", width)
            self.width = np.full(groom.point_count, width, np.float32)
        else:
            boost = np.sqrt(max(1.0, FULL_HEAD / groom.strand_count))
            own = groom.per_vertex("width", HAIR_WIDTH)
            self.width = np.maximum(np.minimum(own * boost, WIDEST_DEFAULT), own).astype(np.float32)
        steps = np.zeros(groom.point_count, np.float32)
        steps[1:] = np.linalg.norm(np.diff(self.points, axis=0), axis=1)
        steps[self.offsets[:-1]] = 0.0
        # The shadow that a point stands for: half of the segments on either side, as wide as the line.
        self.area = 0.5 * (steps + np.append(steps[1:], np.float32(0.0))) * self.width


class _HairShadow:
    """How much hair lies between any point and a light, from the density of hair on a grid aligned with the light.

    Args:
        hair: the strands.
        direction: towards the light.
        memory: distance [m] over which hair is forgotten, for light that comes around it; None for never.
    """

    def __init__(self, hair: _Hair, direction: FloatArray, memory: float | None = None) -> None:
        self._axes = np.stack(basis(direction, any_across(direction))).astype(np.float32)
        self._origin, self._cell = np.zeros(3, np.float32), np.float32(1.0)
        local = self._cells(hair.points)
        low, high = local.min(axis=0), local.max(axis=0)
        self._cell = np.float32(max(float((high - low).max()) / DENSITY_CELLS, 1e-6))
        # One empty cell around the hair: no shade beside it and before it.
        self._origin = (low - np.float32(1.5) * self._cell) @ self._axes
        density = np.zeros(tuple(np.ceil((high - low) / self._cell).astype(int) + 4), np.float32)
        # A point hides no more than its cell, however coarse the strand.
        area = np.minimum(hair.area / self._cell**2, np.float32(1.0))
        kernels.splat_density(self._cells(hair.points), area, density)
        self._forgetting = np.float32(0.0 if memory is None else self._cell / memory)  # per cell
        keep = np.exp(-self._forgetting)
        self._depth = np.empty_like(density)
        above = np.zeros(density.shape[:2], np.float32)
        # From the light's side: everything above a cell, and the upper half of its own hair.
        for k in reversed(range(density.shape[2])):
            self._depth[:, :, k] = above + np.float32(0.5) * density[:, :, k]
            above = keep * (above + density[:, :, k])

    def _cells(self, points: FloatArray) -> FloatArray:
        cells = np.empty_like(points)
        kernels.into_frame(points, self._origin, self._axes, np.float32(1.0) / self._cell, cells)
        return cells

    def seen(self, points: FloatArray) -> FloatArray:
        """Share of the light that the hair lets through to points, shape (P,)."""
        depth = np.empty(len(points), np.float32)
        cells = self._cells(points)
        kernels.sample_grid(self._depth, cells, depth)
        depth *= np.exp(self._forgetting * np.minimum(cells[:, 2], np.float32(0.0)))  # below the grid it goes on
        return np.exp(np.float32(-HAIR_EXTINCTION) * depth)


class _HairShade:
    """What the hair lets through of the key light and of the sky above."""

    def __init__(self, hair: _Hair, view: _View) -> None:
        self.key = _HairShadow(hair, view.lights[0])
        self.sky = _HairShadow(hair, view.axes[1], SKY_MEMORY)


def _draw_mesh(view: _View, skin: _Skin | None, shade: _HairShade | None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Linear light (H, W, 3), coverage (H, W) and nearness (H, W) of the mesh alone."""
    shape = (view.height, view.width)
    image, cover = np.zeros((*shape, 3), np.float32), np.zeros(shape, np.float32)
    nearness = np.full(shape, kernels.FAR, np.float32)
    if skin is None:
        return image, cover, nearness
    screen = view.project(skin.points)
    owner = np.empty(shape, np.int32)
    kernels.raster_mesh(screen, skin.faces, True, nearness, owner)
    ambient, through = skin.ambient, np.ones(len(skin.points), np.float32)
    if shade is not None:
        through = shade.key.seen(skin.points)
        ambient = ambient * (0.3 + 0.7 * shade.sky.seen(skin.points))
    kernels.shade_mesh(
        screen, skin.faces, skin.points, skin.normals, skin.albedo, ambient, through,
        skin.into_shadow(skin.lifted(view.lights[0])), skin.shadow_map, 2 * skin.texel, np.float32(SHADOW_BLUR),
        view.eye, view.lights, LIGHT_COLORS, owner, image, cover,
    )  # fmt: skip
    return image, cover, nearness


def _draw_hair(
    view: _View, hair: _Hair, shade: _HairShade, skin: _Skin | None, nearness: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Premultiplied linear light of the hair (H, W, 3), and what shows through it (H, W)."""
    key = shade.key.seen(hair.points)
    sky = shade.sky.seen(hair.points)
    if skin is not None:
        key = key * skin.key_seen(hair.points)
    sky = 0.12 + 0.88 * sky  # what scatters sideways out of the neighbours
    shaded = np.empty_like(hair.points)
    kernels.shade_strands(
        hair.points, hair.offsets, hair.color, key, sky, view.eye, view.lights, LIGHT_COLORS, shaded
    )  # fmt: skip
    screen = view.project(hair.points)
    items, band_start = _sorted_segments(screen, hair.offsets, view.height)
    image = np.zeros((view.height, view.width, 3), np.float32)
    clear = np.ones((view.height, view.width), np.float32)
    kernels.draw_strands(screen, shaded, hair.width, view.focal, items, band_start, nearness, image, clear)
    return image, clear


def _sorted_segments(
    screen: FloatArray, offsets: NDArray[np.int64], height: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Segments (by first point) of each band of rows, nearest first, and where each band starts in them."""
    starts = np.empty(len(screen) - (len(offsets) - 1), np.int64)
    kernels.segment_starts(offsets, starts)
    nearness = screen[starts, 2] + screen[starts + 1, 2]
    low, high = float(nearness.min()), float(nearness.max())
    # 16 bits of depth are finer than a hair over a head, and sort by counting.
    rank = ((high - nearness) * (65535.0 / max(high - low, 1e-12))).astype(np.uint16)
    starts = starts[np.argsort(rank, kind="stable")]
    counts = np.empty(-(-height // kernels.BAND_ROWS), np.int64)
    kernels.count_band_segments(screen, starts, height, counts)
    band_start = np.concatenate([[0], np.cumsum(counts)])
    items = np.empty(band_start[-1], np.int64)
    kernels.fill_band_segments(screen, starts, height, band_start[:-1].copy(), items)
    return items, band_start


def _developed(image: FloatArray, cover: FloatArray, supersample: int, backdrop: FloatArray) -> Image:
    """Average the samples, compress the highlights, and lay the picture over the backdrop (H, 1, 3, linear)."""
    light = _box_filtered(image, supersample)
    alpha = _box_filtered(cover[:, :, None], supersample)
    color = np.divide(light, alpha, out=np.zeros_like(light), where=alpha > 1e-4)
    shoulder = color * (1.0 + 0.16 * color) / (1.0 + 0.55 * color)  # straight for shadows, bent for highlights
    display = _display_from_linear(alpha * shoulder + (1.0 - alpha) * backdrop)
    return (display * 255.0 + 0.5).astype(np.uint8)


def _box_filtered(image: FloatArray, supersample: int) -> FloatArray:
    """Mean over blocks of supersample x supersample; adding slices is several times quicker than `mean`."""
    steps = range(supersample)
    total = sum(image[j::supersample, i::supersample] for j in steps for i in steps)
    return np.asarray(total / np.float32(supersample**2), np.float32)


def _backdrop(background: ArrayLike, height: int) -> FloatArray:
    colors = np.asarray(background, np.float32)
    if colors.ndim == 1:
        colors = np.stack([colors, colors])
    colors = as_floats("background", colors, (2, 3))
    rows = np.linspace(0.0, 1.0, height, dtype=np.float32)[:, None, None]
    return _linear_from_display(colors[0] * (1 - rows) + colors[1] * rows)


def _display_from_linear(value: FloatArray) -> FloatArray:
    """The sRGB transfer curve."""
    value = np.clip(value, 0.0, 1.0)
    return np.where(value <= 0.0031308, 12.92 * value, 1.055 * value ** (1 / 2.4) - 0.055).astype(np.float32)


def _linear_from_display(value: FloatArray) -> FloatArray:
    value = np.clip(value, 0.0, 1.0)
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4).astype(np.float32)


def _per_row(name: str, color: ArrayLike, rows: int) -> FloatArray:
    """One colour for all, or one per row, as (rows, 3)."""
    array = np.asarray(color, np.float32)
    if array.ndim == 1:
        array = np.broadcast_to(as_floats(name, array, (3,)), (rows, 3))
    return as_floats(name, array, (rows, 3))


def _strand_tints(count: int) -> FloatArray:
    """A small change of brightness and warmth per strand, a fixed function of its index, shape (S, 3)."""
    index = np.arange(count, dtype=np.uint64)
    mixed = (index * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
    light = (mixed & np.uint64(0xFFFF)).astype(np.float32) / 65535.0 - 0.5
    warm = ((mixed >> np.uint64(16)) & np.uint64(0xFFFF)).astype(np.float32) / 65535.0 - 0.5
    return np.exp(0.5 * light[:, None] + 0.2 * warm[:, None] * np.array([1, 0, -1], np.float32)).astype(np.float32)


def _spiral_sphere(count: int) -> NDArray[np.float64]:
    """Directions spread evenly over the sphere, shape (count, 3)."""
    y = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    angle = np.pi * (1.0 + np.sqrt(5.0)) * np.arange(count)
    ring = np.sqrt(1.0 - y * y)
    return np.stack([ring * np.cos(angle), y, ring * np.sin(angle)], axis=1)


def _checked_size(size: tuple[int, int], supersample: int) -> tuple[int, int]:
    width, height = (int(v) for v in as_array("size", size, (2,), np.int64))
    if width < 1 or height < 1:
        raise ValueError(f"size: must be at least 1 x 1 pixels, got {width} x {height}")
    if not 1 <= supersample <= 8:
        raise ValueError(f"supersample: must lie between 1 and 8, got {supersample}")
    return width, height
