"""`LinearBlend`: hairs moved by weighted sums of their guides' displacements (hsu2024 eq. 9)."""

from __future__ import annotations

import numpy as np

from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.simd.align import empty_aligned
from mane.skin import _kernels_linear as kernels
from mane.skin.binding import Binding, GuidesPerHair
from mane.skin.bound import BoundSkin
from mane.skin.inserted import Regrouped
from mane.strand.frame import GuideFrame


class LinearBlend(BoundSkin):
    """Every vertex moves by the weighted sum of its guides' displacements, each taken in the frame of its guide's root.

    Guides at rest give the groom, a rigid motion of the head carries it rigidly, and a skin that deforms turns the hair
    with the roots of its guides. Guides that fade out (`frame.weight`) or end (`frame.active`) leave their share to the
    others smoothly; a hair without any is carried by the head.

    Args:
        groom: the dense hair at rest, all strands with the same vertex count.
        guides: what carries it, at rest.
        binding: `triangle` (three guides around the root), `single`, `nearest` or `clump` (`bind_guides`).
        count: guides per hair of `nearest`, 1 to 8.
    """

    def __init__(
        self, groom: Groom, guides: Guides, *, binding: Binding = "triangle", count: GuidesPerHair = 3
    ) -> None:
        super().__init__(groom, guides, binding=binding, count=count)
        # Numbers near zero keep float32 exact for a figure that stands far from the origin.
        self._pivot = groom.roots.astype(np.float64).mean(axis=0)
        self._guide_rest = guides.rest.astype(np.float64) - self._pivot
        self._rest = self._rows(groom.as_uniform())
        missing = -self.binding.guides_per_hair % kernels.GROUP
        self._weight = np.pad(self.binding.weights, ((0, 0), (0, missing)))
        self._guide = np.pad(self.bundles.guide, ((0, 0), (0, missing)), mode="edge")
        self._parameter = np.pad(self.bundles.parameter, ((0, 0), (0, missing), (0, self._padding)), mode="edge")
        self._shift = np.empty(guides.rest.shape, np.float32)
        self._table = empty_aligned(self._guide.shape + (3, self._parameter.shape[2]), np.float32)

    @property
    def _padding(self) -> int:
        """Vertices to add to hairs that are shorter than a piece."""
        result: int = max(kernels.PIECE - self._points.shape[1], 0)
        return result

    def _rows(self, points: FloatArray) -> FloatArray:
        """All x of a hair, then all y, then all z, as seen from the pivot; flat."""
        rows = empty_aligned((len(points), 3, points.shape[1] + self._padding), np.float32)
        kernels.fill_rows(points, self._pivot, rows)
        return rows.reshape(-1)

    def _fill(self, frame: GuideFrame, out: FloatArray) -> None:
        weight, share = self._present_weights(frame, self._weight, self._guide)
        if self._padding:
            long = np.empty((len(out), kernels.PIECE, 3), np.float32)
            self._fill_pieces(frame, weight, long)
            out[...] = long[:, : out.shape[1]]
        else:
            self._fill_pieces(frame, weight, out)
        part = self._regrouped(frame, weight)
        if part is not None:
            out[part.hairs] = self._carried(part)[:, : out.shape[1]]
        self._hand_to_head(frame, share, out)

    def _fill_pieces(self, frame: GuideFrame, weight: FloatArray, out: FloatArray) -> None:
        of_hair, vertices, flat = self.bundles.of_hair, out.shape[1], out.reshape(-1)
        rotation = np.empty((len(frame.points), 3, 3))
        kernels.fill_turns(frame.root_rotations, rotation)
        kernels.fill_guide_motion(frame.points, self._guide_rest, rotation, self._shift)
        kernels.fill_tables(self._shift, self._guide, self._parameter, self._table)
        table, places = self._table.reshape(-1), self._weight.shape[1]
        turn = self._turns(rotation.reshape(-1, 9).astype(np.float32), weight)
        kernels.skin_hairs(self._rest, vertices, of_hair, weight, table, places, turn, flat)
        if places > kernels.GROUP:
            kernels.add_guides(vertices, of_hair, weight, table, flat)

    def _carried(self, part: Regrouped) -> FloatArray:
        """Hairs that follow inserted guides (H, V, 3), V at least `PIECE`."""
        missing = -part.guide.shape[1] % kernels.GROUP
        weight = np.pad(part.weight, ((0, 0), (0, missing)))
        guide = np.pad(part.guide, ((0, 0), (0, missing)), mode="edge")
        parameter = np.pad(part.parameter, ((0, 0), (0, missing), (0, self._padding)), mode="edge")
        shift = np.empty(part.rest.shape, np.float32)
        table = np.empty(guide.shape + (3, parameter.shape[2]), np.float32)
        rotation = np.empty((len(shift), 3, 3))
        kernels.fill_turns(part.frame.root_rotations, rotation)
        kernels.fill_guide_motion(part.frame.points, part.rest - self._pivot, rotation, shift)
        kernels.fill_tables(shift, guide, parameter, table)
        turn = np.empty(len(weight) * 9, np.float32)
        kernels.blend_turns(rotation.reshape(-1, 9).astype(np.float32), part.of_hair, guide, weight, turn)
        if "rest" not in part.kept:
            part.kept["rest"] = self._rest.reshape(self.groom.strand_count, -1)[part.hairs].reshape(-1)
        rest = part.kept["rest"]
        out = np.empty((len(weight), parameter.shape[2], 3), np.float32)
        flat, of_guides = out.reshape(-1), table.reshape(-1)
        kernels.skin_hairs(rest, out.shape[1], part.of_hair, weight, of_guides, guide.shape[1], turn, flat)
        if guide.shape[1] > kernels.GROUP:
            kernels.add_guides(out.shape[1], part.of_hair, weight, of_guides, flat)
        return out

    def _turns(self, of_guide: FloatArray, weight: FloatArray) -> FloatArray:
        """Blended turn of each hair, or the one of all guides where they agree, as on a rigid head."""
        first = of_guide[int(self.guides.active.argmax())]
        if (of_guide[self.guides.active] == first).all():
            result: FloatArray = first
            return result
        blended = np.empty(len(weight) * 9, np.float32)
        kernels.blend_turns(of_guide, self.bundles.of_hair, self._guide, weight, blended)
        return blended

    @property
    def nbytes(self) -> int:
        """Bytes that the binding holds, its buffer included."""
        held = (self._rest, self._weight, self._guide, self._parameter, self._shift, self._table, self._guide_rest)
        shared = (self.binding.guides, self.binding.weights)
        return self._points.nbytes + self.bundles.nbytes + sum(array.nbytes for array in held + shared)
