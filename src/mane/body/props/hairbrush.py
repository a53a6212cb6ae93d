"""A hairbrush: a paddle with bristles, and a handle."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from mane.body.props.base import Prop, Resolution
from mane.body.shapes import Box, Capsule, Shape, Union
from mane.geometry.limits import Positive, Range, Whole, check_arguments

THICKNESS = 0.014  # [m] of the paddle
PAD_MARGIN = 0.010  # [m] between the outer bristles and the edge of the paddle
HANDLE_RADIUS = 0.009  # [m]
NECK = 0.012  # [m] of the handle inside the paddle

Columns = Annotated[int, Range(least=2, whole=True)]
PaddleSize = Annotated[float, Range(above=2 * PAD_MARGIN)]  # [m]


def make_hairbrush(
    *,
    rows: Whole = 7,
    columns: Columns = 11,
    paddle_length: PaddleSize = 0.110,
    paddle_width: PaddleSize = 0.070,
    bristle_length: Positive = 0.018,
    bristle_radius: Positive = 0.0006,
    handle_length: Positive = 0.120,
    resolution: Resolution = 16,
) -> Prop:
    """Make a paddle brush, 23 cm long.

    ```
       y
     __|____           The paddle lies in the XZ plane and the handle leads away along +X. The bristles point to -Y.
    |__|____|========= x   The origin is in the middle of the face that they grow from; their tips are at
     ||||||||  handle      y = -bristle_length. Every other row is shifted by half a step.
    ```

    Args:
        rows: rows of bristles across the paddle (along Z).
        columns: bristles in a row (along X); shifted rows have one less.
        paddle_length: along X [m].
        paddle_width: along Z [m].
        bristle_length: from the face to the tip [m].
        bristle_radius: [m].
        handle_length: from the edge of the paddle to the end [m].
        resolution: segments around a bristle in the mesh.
    """
    check_arguments(make_hairbrush, locals(), "hairbrush.")
    half_size = (0.5 * paddle_length, 0.5 * THICKNESS, 0.5 * paddle_width)
    middle = 0.5 * THICKNESS
    edge = 0.5 * paddle_length
    handle_end = edge + handle_length - HANDLE_RADIUS
    parts: list[Shape] = [
        Box((0.0, middle, 0.0), half_size, rounding=0.9 * middle),
        Capsule((edge - NECK, middle, 0.0), (handle_end, middle, 0.0), HANDLE_RADIUS),
    ]
    for x, z in _bristle_grid(rows, columns, paddle_length - 2 * PAD_MARGIN, paddle_width - 2 * PAD_MARGIN):
        parts.append(Capsule((x, middle, z), (x, bristle_radius - bristle_length, z), bristle_radius))
    shape = Union(parts)
    return Prop("hairbrush", shape.mesh(resolution), shape)


def _bristle_grid(rows: int, columns: int, length: float, width: float) -> list[tuple[float, float]]:
    """Where the bristles stand on the face (x, z) [m]: a grid whose odd rows sit in the gaps of the even ones."""
    step = length / (columns - 1)
    places = []
    for row, z in enumerate(np.linspace(-0.5, 0.5, rows) * width if rows > 1 else [0.0]):
        shifted = row % 2
        places += [(-0.5 * length + (column + 0.5 * shifted) * step, float(z)) for column in range(columns - shifted)]
    return places
