"""`render`: a picture of hair and what it grows on.

Strands are smoothed (chang2002 5.2), lit through opacity shadow maps (chang2002 6), shaded as fibres, and blended from
front to back with the exact coverage of lines thinner than a pixel. The picture depends neither on the order of the
strands nor on the number of threads.

Limitations: light reaches the eye from hair directly or through the scattering that the look approximates, never by way
of a solid; a strand seen exactly from its end shows nothing; sorting is by the depth of a segment within a tile of 16
pixels, so two segments that cross inside one may be drawn in the wrong order there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray, as_array, require_choice
from mane.geometry.threads import most_threads
from mane.groom.groom import Groom
from mane.render.camera import Camera
from mane.render.develop import BACKDROP, TONES, develop
from mane.render.illumination import Illumination
from mane.render.lights import AmbientLight, DirectionalLight, Light, PointLight, three_point
from mane.render.looks import LOOKS, Look
from mane.render.raster import DrawnSolids, DrawnStrands, draw, find_coverage, find_seen
from mane.render.solids import CLAY, Body, Surfaces
from mane.render.strand_numbers import strand_numbers, uniform
from mane.render.strands import SmoothStrands, strand_widths
from mane.render.view import View
from mane.render.water import DryScene, scene_nearness, with_water

LEAST_SHARE = 0.05  # of the strands, however thin they are: fewer no longer cover a head evenly
LEAST_STRANDS = 2_000  # a groom that would be left with fewer is drawn whole
STREAM = 4  # of the numbers that decide who stays; 1 to 3 are those of the looks


def simplified(
    groom: Groom, view: View, finest: float, *, pixel: float = 1.0, width: float | None = None
) -> tuple[Groom, float]:
    """Return the strands to draw in place of a groom's, and how many times wider they must be.

    Args:
        groom: the strands.
        view: who looks at them.
        finest: width that a typical strand should have at least [pixels]; 0 keeps all strands.
        pixel: columns and rows of the view that make one pixel of the picture.
        width: diameter of every strand [m]; None takes the groom's.
    """
    if not 0 <= finest < np.inf:
        raise ValueError(f"finest: must be at least 0 pixels and finite, got {finest}")
    share = _share(groom, view, finest * pixel, width) if finest and groom.strand_count else 1.0
    if share >= 1.0:
        return groom, 1.0
    kept = np.flatnonzero(uniform(strand_numbers(groom), STREAM) < share)
    if len(kept) < LEAST_STRANDS:
        return groom, 1.0
    return groom.take(kept), groom.strand_count / len(kept)


def _share(groom: Groom, view: View, finest: float, width: float | None) -> float:
    """Share of the strands with which a typical one is `finest` columns of the view wide."""
    middle = np.median(groom.points, axis=0, keepdims=True).astype(np.float32)
    nearness = float(view.project(middle)[0, 2])
    seen = float(np.median(strand_widths(groom, width))) * float(view.focal) * nearness
    return float(np.clip(seen / finest, LEAST_SHARE, 1.0)) if seen > 0 else 1.0


RENDERERS = ("mane", "mitsuba")
MOST_SAMPLES = 2**28  # of a picture: more than any screen, and less than any memory

AnyLook = Look | str | Sequence[Look | str] | None


def render(
    groom: Groom | ArrayLike | None = None,
    body: Body | Sequence[Body] | None = None,
    *,
    camera: Camera | None = None,
    lights: Sequence[Light | AmbientLight] | None = None,
    look: AnyLook = None,
    size: tuple[int, int] = (1280, 720),
    supersample: int = 2,
    background: ArrayLike | None = BACKDROP,
    tone: str = "filmic",
    body_color: ArrayLike = CLAY,
    hair_width: float | None = None,
    finest: float = 0.0,
    renderer: str = "mane",
    samples: int = 64,
    threads: int | None = None,
    water: Mesh | None = None,
) -> NDArray[Any]:
    """Draw hair, solids, or both.

    Args:
        groom: the strands, or their points (S, V, 3) [m], root first; None for no hair.
        body: a mesh, anything that has one, or several of them; None for no solid.
        camera: None frames everything from the front, turned a little.
        lights: None takes `three_point(camera)`, a studio that travels with the camera.
        look: what the hair is made of, or the name of a preset in `LOOKS`; None is brown. Several are blended point by
            point by the groom's attribute `style_level`: 0 is the first, 1 the second (Mitsuba takes the first).
        size: width and height of the picture [pixels].
        supersample: samples per pixel along x and along y.
        background: display RGB in [0, 1]: one colour, or those at the top and at the bottom, shape (2, 3); None
            leaves it open and adds a channel with the coverage.
        tone: "filmic", "srgb" or "linear", see `develop`.
        body_color: linear RGB of the solids, or one per vertex (N, 3) of all meshes one after the other; a fourth
            column is a factor on their gloss, 0 for matte.
        hair_width: diameter of every strand [m]; None takes the groom's or a human hair's, wider if strands are few.
        finest: where hairs are thinner than this [pixels], fewer and wider ones are drawn in their place; a head seen
            whole looks much the same at 0.15 and takes a third of the time. 0 draws every hair.
        renderer: "mane", or "mitsuba" to trace paths with Mitsuba 3 (the extra `mane[mitsuba]`).
        samples: paths per pixel that Mitsuba traces; mane's own renderer needs none.
        threads: how many to use; None for as many as Numba is set to.
        water: triangles of the surface of water [m], closed, which refracts what is behind it, mirrors what the picture
            shows besides lights and sky, and throws a shadow.

    Returns:
        uint8 (height, width, 3), or 4 channels without a background; float32 for the linear tone.
    """
    width, height = checked_size(size, supersample)
    require_choice("tone", tone, TONES)
    require_choice("renderer", renderer, RENDERERS)
    hair = as_groom(groom)
    surfaces = Surfaces.of_bodies(body, body_color)
    if hair is None and surfaces is None:
        raise ValueError("render: needs a groom or a body, got neither")
    water = None if water is None or not len(water.faces) else water
    if camera is None:
        content = [] if surfaces is None else [surfaces.points[surfaces.faces.reshape(-1)]]
        content += [] if hair is None else [hair.points]
        camera = Camera.framing(np.concatenate(content), aspect=width / height)
    chosen_lights = checked_lights(lights, camera)
    looks = as_looks(look)
    if renderer == "mitsuba":
        from mane.render.mitsuba import trace
        from mane.render.mitsuba_scene import MitsubaScene

        scene = MitsubaScene(
            hair, surfaces, camera, chosen_lights, looks[0], (width, height), samples, hair_width=hair_width,
            water=water,
        )  # fmt: skip
        return develop(trace(scene), background, tone)
    with _using_threads(threads):
        view = View.of_camera(camera, width * supersample, height * supersample)
        light = _draw_scene(hair, surfaces, looks, chosen_lights, view, supersample, hair_width, finest, water)
    return develop(light, background, tone)


def _draw_scene(
    groom: Groom | None,
    surfaces: Surfaces | None,
    looks: Sequence[Look],
    lights: Sequence[Light | AmbientLight],
    view: View,
    supersample: int,
    hair_width: float | None,
    finest: float,
    water: Mesh | None,
) -> FloatArray:
    """Premultiplied linear light and coverage, shape (H, W, 4)."""
    strands = None
    if groom is not None:
        groom, wider = simplified(groom, view, finest, pixel=supersample, width=hair_width)
        strands = SmoothStrands.of_groom(groom, view, pixel=supersample, width=hair_width, wider=wider)
    illumination = Illumination(lights, strands, surfaces, water)
    solids, seen = DrawnSolids.none(view.width, view.height), None
    if surfaces is not None:
        seen = surfaces.seen_by(view, illumination.surface_sky())
        solids = replace(solids, nearness=seen.nearness, cover=(seen.owner >= 0).astype(np.float32))
    drawn, clear, binned = DrawnStrands.none(), np.ones((1, 1), np.float32), None
    sampling: dict[str, Any] = {"supersample": supersample, "focal": float(view.focal)}
    if groom is not None and strands is not None:
        points = view.project_strands(strands.points, strands.width)
        seen_hair = find_seen(points, strands.offsets, solids.nearness, **sampling)
        drawn = DrawnStrands(points, np.zeros((len(points), 3), np.float32), seen_hair, strands.offsets)
        coverage, binned = find_coverage(drawn, solids.nearness, **sampling)
        color = illumination.shade_hair(groom, looks, coverage.touched, view.origin)
        drawn, clear = replace(drawn, color=color, seen=coverage.touched), coverage.clear
    if seen is not None:
        solids = replace(solids, light=illumination.shade_solids(seen, clear > 0, view.origin))
    dry = draw(drawn, solids, binned=binned, **sampling)
    if water is None:
        return dry
    scene = DryScene(dry, solids, scene_nearness(drawn, solids.nearness))
    return draw(drawn, with_water(water, scene, view, lights), **sampling)


def is_blank(image: NDArray[Any], background: ArrayLike | str) -> bool:
    """Whether a picture, which `render` made with that background, shows nothing at all; "none" for no background."""
    if isinstance(background, str) or image.shape[2] == 4:
        return not bool(image[..., -1].any())
    tone = "linear" if image.dtype.kind == "f" else "srgb"
    empty = develop(np.zeros((len(image), 1, 4), np.float32), background, tone)  # all columns are alike
    return bool((image == empty).all())


def as_groom(groom: Groom | ArrayLike | None) -> Groom | None:
    """The groom itself, or one made of points (S, V, 3)."""
    if groom is None or isinstance(groom, Groom):
        return groom
    return Groom.from_uniform(groom)


def as_looks(look: AnyLook) -> tuple[Look, ...]:
    """One or several looks, given by themselves or by name."""
    if look is None or isinstance(look, Look | str):
        return (as_look(look),)
    if not look:
        raise ValueError("look: must be one or several, got none")
    return tuple(as_look(one) for one in look)


def as_look(look: Look | str | None) -> Look:
    """The look itself, or the preset of that name; brown for None."""
    if isinstance(look, Look):
        return look
    name = "brown" if look is None else look
    require_choice("look", name, list(LOOKS))
    return LOOKS[name]


def checked_size(size: tuple[int, int], supersample: int) -> tuple[int, int]:
    """Width and height of a picture, or ValueError."""
    width, height = (int(v) for v in as_array("size", size, (2,), np.int64))
    if width < 1 or height < 1:
        raise ValueError(f"size: must be at least 1 x 1 pixels, got {width} x {height}")
    if not 1 <= supersample <= 8:
        raise ValueError(f"supersample: must lie between 1 and 8, got {supersample}")
    if width * height * supersample**2 > MOST_SAMPLES:
        raise ValueError(f"size: must stay below {MOST_SAMPLES:,} samples, got {width} x {height} x {supersample}**2")
    return width, height


def checked_lights(lights: Sequence[Light | AmbientLight] | None, camera: Camera) -> tuple[Light | AmbientLight, ...]:
    """The lights, or the rig of the camera for None."""
    if lights is None:
        return three_point(camera)
    for k, light in enumerate(lights):
        if not isinstance(light, DirectionalLight | PointLight | AmbientLight):
            raise ValueError(f"lights[{k}]: must be a light of mane.render.lights, got {type(light).__name__}")
    return tuple(lights)


@contextmanager
def _using_threads(threads: int | None) -> Iterator[None]:
    if threads is None:
        yield
        return
    most = most_threads()
    if not 1 <= threads <= most:
        raise ValueError(f"threads: must lie between 1 and {most}, got {threads}")
    before = numba.get_num_threads()
    numba.set_num_threads(threads)
    try:
        yield
    finally:
        numba.set_num_threads(before)
