"""Pictures of the procedural styles: one from two sides, or all of them on one sheet."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mane.geometry.checks import FloatArray
from mane.groom import styles
from mane.groom.groom import Groom
from mane.render.camera import Camera
from mane.render.preview import preview
from mane.render.sheet import Image, contact_sheet

FRONT = (0.45, 0.08, 1.0)
REAR = (-0.75, 0.12, -0.85)
FROM_ABOVE = 0.7
TILE = (420, 460)
FRAMED_EVERY = 7  # of the hair's points; enough to find its outline
SHEET_COLUMNS = 6

# linear RGB; natural hair, and what a bristle, a rug and a toy may look like
COLORS = {
    "straight": (0.115, 0.050, 0.022),
    "bob": (0.030, 0.018, 0.013),
    "wavy": (0.420, 0.250, 0.105),
    "curly": (0.230, 0.070, 0.025),
    "coily": (0.028, 0.019, 0.015),
    "mohawk": (0.035, 0.150, 0.190),
    "ponytail": (0.300, 0.165, 0.070),
    "braid": (0.170, 0.080, 0.035),
    "brush": (0.330, 0.230, 0.130),
    "carpet": (0.300, 0.080, 0.060),
    "ball": (0.360, 0.200, 0.260),
}


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


def _draw(name: str, groom: Groom, direction: tuple[float, float, float], size: tuple[int, int]) -> Image:
    mesh = styles.body(name)
    if not styles.STYLES[name].on_bust:  # small things are looked at from above
        direction = (direction[0], FROM_ABOVE, direction[2])
    camera = Camera.framing(_framed(groom, mesh.points), direction, aspect=size[0] / size[1])
    return preview(groom, mesh, camera=camera, size=size, hair_color=COLORS[name])


def _framed(groom: Groom, body: FloatArray) -> FloatArray:
    """Points that the picture must show: the body and the hair; a stray tip does not push the camera away."""
    low, high = np.quantile(groom.points, [0.001, 0.999], axis=0).astype(np.float32)
    return np.concatenate([body, np.clip(groom.points[::FRAMED_EVERY], low, high)])
