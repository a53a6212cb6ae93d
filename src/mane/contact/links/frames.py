"""`SegmentFrames`: a frame for each segment, carried from the root without twist (chang2002 3.1 and 4.1).

Twist is no freedom of a strand there. It is stiff beside links, too: about a centimetre of hair, the spring of a link
of rate 30 per second to a neighbour 8 mm away is as stiff as one and a half metres of hair are in twist, so the frame
follows the root. Strands whose roots take no moment (hinged, free) have frames that spin freely.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mane.contact.links import _kernels_frames as kernels
from mane.contact.links._reference import perpendicular
from mane.geometry import quaternion
from mane.simd.align import zeros_aligned
from mane.simd.f64x8 import WIDTH
from mane.simd.layout import from_blocks
from mane.strand.model import Float64Array, RootKind, StrandModel
from mane.strand.ports import StrandView


class SegmentFrames:
    """Frames of all segments, in the layout of the kernel.

    Attributes:
        rows: `FRAME_ROWS` of each block of eight vertices, flat.
        roots: direction and axis that each root holds now, shape (G, 2, 3).
    """

    def __init__(self, model: StrandModel) -> None:
        self._shape = model.mass.shape
        edge = model.rest_points[:, 1] - model.rest_points[:, 0]
        tangent = edge / np.linalg.norm(edge, axis=1)[:, None]
        axis = perpendicular(tangent)[0] * (model.root_kind == RootKind.CLAMPED)[:, None]
        self._rest = np.stack([tangent, axis], axis=1)
        self.rows = zeros_aligned((-(-model.mass.size // WIDTH) * kernels.FRAME_ROWS * WIDTH,))
        self.roots = self._rest.copy()

    def at_rest(self, points: Float64Array) -> Float64Array:
        """Axis across each segment of strands (G, V, 3) [m] whose roots are as at rest, shape (G, N, 3)."""
        return self._axes(points, quaternion.identity((len(points),), np.float64))

    def now(self, strands: StrandView) -> Float64Array:
        """The same for strands and roots as they are at the start of a step."""
        return self._axes(strands.points, strands.roots_before.rotations)

    def update(self, strands: StrandView) -> None:
        """Carry the frames from roots to tips as they are at the start of a step, and find how they spin."""
        rotations = strands.roots_before.rotations, strands.roots_after.rotations
        self._carry(strands.points, strands.velocity, *rotations, strands.dt)

    def _carry(self, points: Float64Array, velocity: Float64Array, *given: Any) -> None:
        kernels.carry_frames(points, velocity, self._rest, *given, self.roots, self.rows)

    def _axes(self, points: Float64Array, rotations: Float64Array) -> Float64Array:
        self._carry(np.ascontiguousarray(points), np.zeros_like(points), rotations, rotations, 1.0)
        by_vertex = from_blocks(self.rows.reshape(-1, kernels.FRAME_ROWS, WIDTH), self._shape[0] * self._shape[1])
        axis = by_vertex.reshape(*self._shape, -1)[:, :-1, : kernels.SPIN]
        edges = np.diff(points, axis=1)
        free = perpendicular(edges / np.linalg.norm(edges, axis=2)[..., None])[0]
        return np.where((axis == 0).all(axis=2, keepdims=True), free, axis)
