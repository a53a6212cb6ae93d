"""`RigidSkin`: guides carried from their root frame to that of a hair (chang2002 5.1), with the hair's own curl."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh
from mane.geometry import quaternion
from mane.geometry.checks import FloatArray
from mane.geometry.frames import segment_frames
from mane.groom.binding import bind_roots
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin.binding import Binding, GuidesPerHair
from mane.skin.bound import BoundSkin
from mane.skin.bundles import Bundles, make_bundles
from mane.skin.inserted import Regrouped
from mane.skin.normals import root_normals
from mane.skin.rigid import _kernels as kernels
from mane.strand.frame import GuideFrame


class RigidSkin(BoundSkin):
    """Every hair takes the shape of its guide, moved and turned from the guide's root to its own (chang2002 eq. 4).

    The turn is the smallest one between the normals of the skin at the two roots, which has no pole, unlike frames made
    with a global up vector. Several guides are carried each for itself and averaged. What the hair is beside its guides
    at rest, its own curl over their smooth spine (section 8), is kept in frames that follow the guides without twist.

    Args:
        groom: the dense hair at rest, all strands with the same vertex count.
        guides: what carries it, at rest.
        binding: `single` (the nearest guide alone), `triangle` or `nearest`.
        count: guides per hair of `nearest`, 1 to 8.
        detail: keep each hair's own shape. Without it hairs are copies of their guides, as in eq. 4 itself, and guides
            at rest do not give the groom.
        scalp: the skin at rest, for its normals; without it they are those of the surface through the roots.

    Limitations: detail shrinks where a hair's guides turn different ways, since their turns are averaged.
    """

    name = "rigid"
    can_be_target = True
    examples = ({}, {"binding": "triangle"})

    def __init__(
        self,
        groom: Groom,
        guides: Guides,
        *,
        binding: Binding = "single",
        count: GuidesPerHair = 3,
        detail: bool = True,
        scalp: Mesh | None = None,
    ) -> None:
        self._scalp = scalp  # binding asks for it
        super().__init__(groom, guides, binding=binding, count=count)
        bundles, roots = self.bundles, guides.roots.astype(np.float64)
        self._guide_rest = guides.rest.astype(np.float64)
        self._rest_frames = segment_frames(guides.rest, quaternion.identity((guides.capacity,)))
        self._offset = (groom.roots[:, None].astype(np.float64) - roots[self.binding.guides]).astype(np.float32)
        self._table = np.empty(bundles.guide.shape + (12, self._points.shape[1]), np.float32)
        self._detail = np.zeros((groom.strand_count, 3, self._points.shape[1]), np.float32)
        self._keeps_detail = detail
        if detail:
            spine = np.empty_like(self._points)
            self._skin(self.binding.weights, *_at_rest(self._guide_rest), spine)
            self._detail[...] = (groom.as_uniform() - spine).transpose(0, 2, 1)

    def _bundled(self) -> Bundles:
        self._transport = self._transports()
        return make_bundles(self.groom, self.guides, self.binding, self._transport)

    def _transports(self) -> FloatArray:
        """Turn of the skin from the root of each guide to that of each hair it carries, (S, K, 9)."""
        of_guide = self._normals(self.guides.strands)[self.binding.guides]
        return _transports(self._normals(self.groom)[:, None], of_guide)

    def _normals(self, strands: Groom) -> NDArray[np.float64]:
        if self._scalp is None:
            return root_normals(self.groom, strands.roots)
        return quaternion.rotate(
            bind_roots(strands, self._scalp).rest_frame.astype(np.float64), np.array([0.0, 0.0, 1.0])
        )

    def _fill(self, frame: GuideFrame, out: FloatArray) -> None:
        weight, share = self._present_weights(frame, self.binding.weights, self.bundles.guide)
        seen, turned, turn = self._seen(frame, self._rest_frames)
        self._skin(weight, seen, turned, turn, frame.roots, out)
        part = self._regrouped(frame, weight)
        if part is not None:
            out[part.hairs] = self._carried(part)
        self._hand_to_head(frame, share, out)

    def _seen(self, frame: GuideFrame, rest_frames: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Guides as seen from their roots, their turns, and those of their roots."""
        rotation = quaternion.normalize(frame.root_rotations.astype(np.float64))
        back = quaternion.conjugate(rotation)[:, None]
        seen = quaternion.rotate(back, frame.points.astype(np.float64) - frame.points[:, :1]).astype(np.float32)
        turn = quaternion.to_matrix(rotation).reshape(-1, 9).astype(np.float32)
        return seen, self._vertex_turns(frame, back, rest_frames), turn

    def _carried(self, part: Regrouped) -> FloatArray:
        """Hairs that follow inserted guides (H, V, 3)."""
        own, hairs = self.guides.capacity, part.hairs
        strands = Groom.from_uniform(part.rest[own:].astype(np.float32))
        frames = np.concatenate(
            [self._rest_frames, segment_frames(strands.as_uniform(), quaternion.identity((strands.strand_count,)))]
        )
        guide = part.guide[part.of_hair]
        normals = np.concatenate([self._normals(self.guides.strands), self._normals(strands)])
        transport = _transports(self._normals(self.groom.take(hairs))[:, None], normals[guide])
        offset = (self.groom.roots[hairs, None].astype(np.float64) - part.rest[guide, 0]).astype(np.float32)
        table = np.empty(part.guide.shape + (12, self._points.shape[1]), np.float32)

        def carried(
            seen: FloatArray, turned: FloatArray, turn: FloatArray, roots: FloatArray, detail: FloatArray
        ) -> FloatArray:
            out = np.empty((len(hairs), *self._points.shape[1:]), np.float32)
            kernels.fill_tables(seen, turned, part.guide, part.parameter, table)
            layout = (part.of_hair, part.guide, part.weight, table, detail, transport, offset)
            kernels.skin_hairs(*layout, turn, roots, out)
            return out

        detail = np.zeros((len(hairs), *self._detail.shape[1:]), np.float32)
        if self._keeps_detail:
            # Over the spine that the hair has with its guides of now, so that it is the groom at rest.
            spine = carried(*_at_rest(part.rest), detail)
            detail = np.ascontiguousarray((self.groom.as_uniform()[hairs] - spine).transpose(0, 2, 1))
        return carried(*self._seen(part.frame, frames), part.frame.roots, detail)

    def _vertex_turns(
        self, frame: GuideFrame, back: NDArray[np.float64], rest_frames: FloatArray | None = None
    ) -> FloatArray:
        """How each vertex of each guide has turned against its root, without twist; quaternions (G, U, 4).

        Taken from the points, not from `frame.orientations`, since not every strand model knows twist and none tells
        what these were at rest.
        """
        rest = self._rest_frames if rest_frames is None else rest_frames
        now = segment_frames(frame.points, frame.root_rotations)
        turn = quaternion.multiply(now.astype(np.float64), quaternion.conjugate(rest))
        turn = quaternion.multiply(back, turn)
        turn[turn[:, 0, 3] < 0] *= -1
        # q and -q are one rotation: take the sign that is nearer to the segment before, so that means are means.
        flips = np.sign((turn[:, 1:] * turn[:, :-1]).sum(axis=2, keepdims=True))
        turn[:, 1:] *= np.cumprod(np.where(flips == 0, 1, flips), axis=1)
        ends = np.concatenate([turn[:, :1], turn, turn[:, -1:]], axis=1)
        return quaternion.normalize(ends[:, 1:] + ends[:, :-1]).astype(np.float32)

    def _skin(
        self,
        weight: FloatArray,
        seen: FloatArray,
        turned: FloatArray,
        turn: FloatArray,
        roots: FloatArray,
        out: FloatArray,
    ) -> None:
        bundles = self.bundles
        kernels.fill_tables(seen, turned, bundles.guide, bundles.parameter, self._table)
        kernels.skin_hairs(
            bundles.of_hair,
            bundles.guide,
            weight,
            self._table,
            self._detail,
            self._transport,
            self._offset,
            turn,
            roots,
            out,
        )

    @property
    def nbytes(self) -> int:
        """Bytes that the binding holds, its buffer included."""
        held = (self._detail, self._transport, self._offset, self._table, self._guide_rest, self._rest_frames)
        shared = (self._points, self.binding.guides, self.binding.weights)
        return self.bundles.nbytes + sum(array.nbytes for array in held + shared)


def _transports(of_hair: NDArray[np.float64], of_guide: NDArray[np.float64]) -> FloatArray:
    """Smallest turns, matrices (S, K, 9), from normals of guides (S, K, 3) to those of hairs (S, 1, 3)."""
    same_way = np.where((of_hair * of_guide).sum(axis=2, keepdims=True) < 0, -1.0, 1.0)
    turn = quaternion.between_vectors(same_way * of_guide, of_hair)
    matrix: FloatArray = quaternion.to_matrix(turn).astype(np.float32)
    return matrix.reshape(of_guide.shape[:2] + (9,))


def _at_rest(rest: NDArray[np.float64]) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Guides at rest (G, U, 3) as seen from their roots, their turns and those of the roots, all none; the roots."""
    still = np.tile(np.eye(3, dtype=np.float32).reshape(9), (len(rest), 1))
    seen = (rest - rest[:, :1]).astype(np.float32)
    return seen, quaternion.identity(rest.shape[:2]), still, np.ascontiguousarray(rest[:, 0], np.float32)
