"""What the sets of hairs are blended from: tables of guides, and the state of a frame."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.simd.align import empty_aligned
from mane.skin.adaptive._kernels_blend import Carried
from mane.skin.adaptive._kernels_frames import fill_changes
from mane.skin.adaptive.frames import vertex_rotations, vertex_tangents
from mane.skin.adaptive.rows import GuideRows


class BlendTables:
    """Hairs at rest, and guides at the places that go with their vertices.

    Args:
        groom: the hairs.
        guides: what carries them.
        slots: eligible guides of each hair, shape (S, M).
        use_frames: B_g of chai2017 eq. 5 is a frame, which turns hairs with their guides, and not a translation alone.
        tangents: what a unit tangent counts as in the states of eq. 3 [m]; 0 for states without.

    Attributes:
        pivot: that `rest` is seen from [m], shape (3,): numbers near zero keep float32 exact.
        rest: hairs at rest [m], shape (S, 3, V), float32.
        rows: row of each eligible guide, shape (S, M), int32.
        guide_rest: guides at rest [m], shape (R, 3, V), float32.
        shift: displacements of this frame as seen from the head [m], shape (R, 3, V), float32.
        rotation: R - 1 of every row, with R how its guide has turned there; shape (R, 9, V), or (0, 9, V) where B_g is
            a translation.
    """

    def __init__(
        self,
        groom: Groom,
        guides: Guides,
        slots: NDArray[np.int32],
        *,
        use_frames: bool = False,
        tangents: float = 0.0,
    ) -> None:
        self.pivot = groom.roots.astype(np.float64).mean(axis=0)
        self._guides, self.rows = GuideRows.of(groom, guides, slots)
        points = groom.as_uniform()
        self.rest = empty_aligned((len(points), 3, points.shape[1]), np.float32)
        for c in range(3):
            self.rest[:, c] = points[:, :, c] - self.pivot[c]
        self.guide_rest, self.shift = self._guides.table(), self._guides.table()
        self._guides.fill((guides.rest.astype(np.float64) - self.pivot).astype(np.float32), self.guide_rest)
        self._rest_points, self._weight, self._has_frames = guides.rest, np.float32(tangents), use_frames
        hairs = points if tangents else points[:0]
        turned = (self._weight * vertex_tangents(hairs)).swapaxes(1, 2)
        self.rotation: FloatArray = np.zeros((len(self.shift) if use_frames else 0, 9, points.shape[1]), np.float32)
        nothing = np.zeros(self.shift.shape if tangents else (0, *self.shift.shape[1:]), np.float32)
        self._tangents = np.ascontiguousarray(turned), nothing, nothing.copy()

    @property
    def guide_rows(self) -> GuideRows:
        """Guide of each row, and the places on it."""
        return self._guides

    def move(self, displacement: FloatArray) -> None:
        """Take the displacements of the guides' vertices (G, U, 3) for those of this frame."""
        self._guides.fill(displacement, self.shift)
        if self._has_frames:
            turned = vertex_rotations(self._rest_points, (self._rest_points + displacement)[:, None])[:, 0]
            fill_changes(turned, self._guides.guide, self._guides.parameter, self.rotation)
        elif self._weight:
            change = vertex_tangents(self._rest_points + displacement) - vertex_tangents(self._rest_points)
            self._guides.fill(self._weight * change, self._tangents[2])

    @property
    def positions(self) -> Carried:
        """Positions of hairs and rows, for kernels."""
        return Carried(self.rest, self.guide_rest, self.shift, self.rotation)

    @property
    def tangents(self) -> Carried:
        """Their tangents as lengths [m]: a frame turns the hair's, a translation adds the change of the guide's."""
        return Carried(*self._tangents, self.rotation)

    def with_shift(self, shift: FloatArray) -> BlendTables:
        """The same hairs with something else of the rows (R, 3, V) in place of displacements, which nothing turns."""
        other = copy(self)
        other.shift, other.rotation = shift, self.rotation[:0]
        return other

    def at_rows(self, of_guides: FloatArray) -> FloatArray:
        """What guides have at their vertices (G, U, 3) at the places of every row, (R, 3, V)."""
        table = self._guides.table()
        self._guides.fill(of_guides, table)
        return table

    def of_rows(self, of_guides: FloatArray) -> FloatArray:
        """A number of each guide (G,) for each row (R,)."""
        of_rows: FloatArray = np.ascontiguousarray(of_guides[self._guides.guide[:, 0]])
        return of_rows

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        held = (self.rest, self.rows, self.guide_rest, self.shift, self.rotation, *self._tangents)
        return self._guides.nbytes + sum(array.nbytes for array in held)


@dataclass(frozen=True, eq=False)
class Blend:
    """How the hairs of a frame are blended; see `_kernels_blend.blend_near`."""

    present: FloatArray
    before: NDArray[np.int32]
    now: NDArray[np.int32]
    rotation: FloatArray
    translation: FloatArray
    decay: np.float32
    offset: FloatArray
    is_fading: NDArray[np.bool_]


def masked_weights(weights: NDArray[np.float64], masks: NDArray[np.int32]) -> NDArray[np.float64]:
    """Weights (H, M, V) of the guides that are in masks (H,), scaled to a sum of 1 where there are any.

    As the kernels have it, a sum below zero turns all signs: it comes of weights that are not clipped.
    """
    is_in = (masks[:, None] >> np.arange(weights.shape[1]) & 1).astype(np.bool_)
    own = np.where(is_in[:, :, None], weights, 0.0)
    total = own.sum(axis=1, keepdims=True)
    result: NDArray[np.float64] = np.divide(own, total, out=np.zeros_like(own), where=total != 0)
    return result
