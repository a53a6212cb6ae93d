"""Pictures of the procedural styles: one from two sides, or all of them on one sheet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mane.geometry.checks import FloatArray
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.styles.pelt import fox_skin
from mane.render.camera import Camera
from mane.render.looks import LOOKS, Look
from mane.render.renderer import render
from mane.render.sheet import Image, contact_sheet
from mane.render.solids import CLAY

FRONT = (0.45, 0.08, 1.0)
REAR = (-0.75, 0.12, -0.85)
FROM_ABOVE = 0.7
TILE = (420, 460)
FRAMED_EVERY = 7  # of the hair's points; enough to find its outline
SHEET_COLUMNS = 6
LOOKS_STYLES = ("straight", "wavy", "curly")
LOOKS_COLORS = ("black", "auburn", "blond")

# style -> its look: natural hair, and what a bristle, a rug and a toy may look like
STYLE_LOOKS: dict[str, Look] = {
    "straight": LOOKS["brown"],
    "bob": LOOKS["black"],
    "wavy": LOOKS["blond"],
    "curly": LOOKS["red"],
    "coily": LOOKS["black"],
    "mohawk": LOOKS["dyed_blue"],
    "ponytail": LOOKS["light_brown"],
    "braid": LOOKS["ombre"],
    "brush": replace(LOOKS["brown"], color=(0.46, 0.31, 0.17)),
    "carpet": replace(LOOKS["brown"], color=(0.20, 0.012, 0.014), roughness=0.5, variation=0.2),
    "ball": LOOKS["dyed_pink"],
    "fox": replace(LOOKS["painted"], variation=0.2, roughness=0.35, azimuthal_roughness=0.4),
}
# linear RGB of what the hair grows on, where that is not the bust, or a function that gives one per vertex
BODY_COLORS: dict[str, tuple[float, float, float] | Callable[[], FloatArray]] = {
    "brush": (0.16, 0.065, 0.03),
    "carpet": (0.10, 0.075, 0.06),
    "ball": (0.30, 0.12, 0.16),
    "fox": fox_skin,
}
# from which direction bodies of their own are seen, instead of the bust's
OWN_VIEWS = {"fox": {FRONT: (0.9, 0.28, 0.75), REAR: (-0.9, 0.28, -0.6)}}


def draw_style(name: str, groom: Groom, size: tuple[int, int] = (640, 700)) -> Image:
    """Draw a groom of the named style on its body, from the front and from behind, side by side."""
    images = [_draw(name, groom, direction, size) for direction in (FRONT, REAR)]
    return contact_sheet(images, ["front", "rear"], columns=2)


def draw_sheet(*, strands: int, seed: int = 0, progress: Callable[[str], None] | None = None) -> Image:
    """Draw every style from the front and from behind on one sheet with captions."""
    images, captions = [], []
    for name in styles.STYLES:
        if progress:
            progress(name)
        groom = styles.make(name, strands=strands, seed=seed)
        for side, direction in (("front", FRONT), ("rear", REAR)):
            images.append(_draw(name, groom, direction, TILE))
            captions.append(f"{name}, {side}")
    return contact_sheet(images, captions, columns=SHEET_COLUMNS)


def draw_looks(
    *,
    strands: int,
    seed: int = 0,
    size: tuple[int, int] = TILE,
    progress: Callable[[str], None] | None = None,
) -> Image:
    """Draw straight, wavy and curly hair in three natural colours, from the front and from behind, on one sheet."""
    images, captions = [], []
    for name in LOOKS_STYLES:
        groom = styles.make(name, strands=strands, seed=seed)
        for look in LOOKS_COLORS:
            if progress:
                progress(f"{name}, {look}")
            for side, direction in (("front", FRONT), ("rear", REAR)):
                images.append(_draw(name, groom, direction, size, LOOKS[look]))
                captions.append(f"{name}, {look}, {side}")
    return contact_sheet(images, captions, columns=SHEET_COLUMNS)


def _draw(
    name: str, groom: Groom, direction: tuple[float, float, float], size: tuple[int, int], look: Look | None = None
) -> Image:
    mesh = styles.body(name)
    if name in OWN_VIEWS:
        direction = OWN_VIEWS[name].get(direction, direction)
    elif not styles.STYLES[name].on_bust:  # small things are looked at from above
        direction = (direction[0], FROM_ABOVE, direction[2])
    camera = Camera.framing(_framed(groom, mesh.points), direction, aspect=size[0] / size[1])
    chosen = STYLE_LOOKS[name] if look is None else look
    color = BODY_COLORS.get(name, CLAY)
    body_color = color() if callable(color) else color
    return render(groom, mesh, camera=camera, size=size, look=chosen, body_color=body_color)


def _framed(groom: Groom, body: FloatArray) -> FloatArray:
    """Points that the picture must show: the body and the hair; a stray tip does not push the camera away."""
    low, high = np.quantile(groom.points, [0.001, 0.999], axis=0).astype(np.float32)
    return np.concatenate([body, np.clip(groom.points[::FRAMED_EVERY], low, high)])
