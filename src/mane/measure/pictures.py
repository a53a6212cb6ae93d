"""Pictures of measurements: guides as locks, strips of frames in one view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mane.groom.groom import Groom
from mane.render.camera import Camera
from mane.render.looks import Look
from mane.render.panels import side_by_side
from mane.render.renderer import render
from mane.render.sheet import Image
from mane.skin.finish.passes import HermiteSubdivision

# A look that shows the colours it is given, with enough gloss to tell hair from wire.
PAINTED = Look(model="kajiya", uses_groom_color=True, variation=0.0, tip_pigment=1.0, roughness=0.5)


def locks(points: ArrayLike, *, width: float, colors: ArrayLike | None = None) -> Groom:
    """Smooth guides (G, V, 3) [m] drawn as locks of `width` [m], with linear RGB `colors` (G, 3) if given."""
    smooth = HermiteSubdivision(levels=2)(np.ascontiguousarray(points, np.float32))
    groom = Groom.from_uniform(smooth.copy())
    groom = groom.with_vertex(width=np.full(len(groom.points), width, np.float32))
    if colors is None:
        return groom
    return groom.with_vertex(color=np.repeat(np.asarray(colors, np.float32), smooth.shape[1], axis=0))


def draw_row(
    hair: Sequence[Groom],
    bodies: Sequence[Any],
    captions: Sequence[str],
    *,
    camera: Camera,
    size: tuple[int, int],
    title: str | None = None,
    look: Look | str | None = None,
) -> Image:
    """Draw frames of a scene beside each other, all from one camera; (H, W, 3) uint8."""
    images = [
        render(groom, body, camera=camera, size=size, look=look) for groom, body in zip(hair, bodies, strict=True)
    ]
    return side_by_side(images, captions, title=title)


def stack_rows(rows: Sequence[Image]) -> Image:
    """Rows of pictures below each other, white to the right of shorter ones."""
    widest = max(row.shape[1] for row in rows)
    padded = [np.pad(row, ((0, 0), (0, widest - row.shape[1]), (0, 0)), constant_values=255) for row in rows]
    return np.concatenate(padded)
