"""`HairBlocks`: which hair goes into which lane of the kernel, and everything that the kernel reads of it, packed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion
from mane.geometry.checks import IntArray
from mane.simd.align import empty_aligned
from mane.simd.f32x32 import LANES, QUARTER
from mane.skin.bundles import Bundles
from mane.skin.physical import _kernels as kernels
from mane.skin.physical.rest import HairRest
from mane.strand.model import Float64Array

E3 = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class HairBlocks:
    """Hairs cut into B blocks of four quarters of 8 lanes; hairs of a quarter are of one bundle, so they share guides.

    Most blocks have two bundles, one for each half: that is quickest. Quarters are for what bundles leave over.

    Attributes:
        hair: strand of the groom in each lane, shape (B, 32), int32; an empty lane repeats the first of its quarter.
        is_filled: whether a lane is not empty, shape (B, 32).
        bundle: of each quarter, shape (B, 4), int64; where some are missing, the last is there again.
    """

    hair: NDArray[np.int32]
    is_filled: NDArray[np.bool_]
    bundle: IntArray

    @classmethod
    def cut(cls, bundles: Bundles) -> HairBlocks:
        """Cut hairs into quarters of blocks, bundle by bundle; single quarters come behind all that are pairs."""
        order, starts = bundles.by_bundle()
        sizes = np.diff(starts)
        quarters = -(-sizes // QUARTER)
        bundle = np.repeat(np.arange(len(sizes)), quarters)
        within = np.arange(len(bundle)) - np.repeat(np.cumsum(quarters) - quarters, quarters)
        is_single = (within == quarters[bundle] - 1) & (within % 2 == 0)
        turn = np.argsort(is_single, kind="stable")
        bundle, within = bundle[turn], within[turn]
        first = starts[bundle] + within * QUARTER
        filled = np.minimum(starts[bundle + 1] - first, QUARTER)
        place = np.arange(QUARTER)
        is_filled = place < filled[:, None]
        hair = order[first[:, None] + np.where(is_filled, place, 0)]
        return cls._of_quarters(hair.astype(np.int32), is_filled, bundle)

    @classmethod
    def _of_quarters(cls, hair: NDArray[np.int32], is_filled: NDArray[np.bool_], bundle: IntArray) -> HairBlocks:
        chosen = _fours(len(bundle))
        is_filled = is_filled[chosen]
        is_filled.reshape(-1, QUARTER)[len(bundle) :] = False
        return cls(hair[chosen].reshape(-1, LANES), is_filled.reshape(-1, LANES), bundle[chosen])

    def quarters(self) -> IntArray:
        """Numbers of the quarters that have hairs of their own, counted over all blocks."""
        return np.flatnonzero(self.is_filled[:, ::QUARTER])

    def of_bundles(
        self, wanted: NDArray[np.bool_], data: NDArray[np.float32]
    ) -> tuple[HairBlocks, NDArray[np.float32]]:
        """Return the lanes of the bundles that are `wanted (M,)`, and their part of `data`."""
        hair, is_filled = self.hair.reshape(-1, QUARTER), self.is_filled.reshape(-1, QUARTER)
        bundle, chosen = self.bundle.reshape(-1), self.quarters()
        chosen = chosen[wanted[bundle[chosen]]]
        lanes = self._of_quarters(hair[chosen], is_filled[chosen], bundle[chosen])
        block, quarter = np.divmod(chosen[_fours(len(chosen))], 4)
        rows = data.reshape(*data.shape[:2], 4, QUARTER)[block, :, quarter]  # (B, 4, R, 8)
        return lanes, np.ascontiguousarray(rows.swapaxes(1, 2)).reshape(len(block), -1, LANES)

    def empty_data(self, vertex_count: int) -> NDArray[np.float32]:
        """Return room for what `_kernels.sweep_hairs` calls `data`, (B, R, 32), to be filled by `pack`."""
        rows = kernels.HAIR_ROWS + (vertex_count - 1) * kernels.SEGMENT_ROWS
        return empty_aligned((len(self.hair), rows, LANES), np.float32)

    def pack(
        self,
        rows: NDArray[np.int64],
        rest: HairRest,
        points: Float64Array,
        weights: NDArray[np.float32],
        force_share: float,
        keep: float,
        # out
        data: NDArray[np.float32],
    ) -> None:
        """Write some hairs into `data`, in every lane that shows them.

        Args:
            rows: which hairs, shape (H,), rising.
            rest: of those hairs.
            points: of those hairs [m], as seen from where the kernel's shifts are seen from, shape (H, V, 3).
            weights: of the guides of each of them, shape (H, K), K at least 3.
            force_share: factor that the kernel's forces already have.
            keep: see `_kernels.sweep_hairs`.
            data: see `empty_data`.
        """
        bend = 4 * rest.bend[:, None]
        hair = np.concatenate([bend, rest.strain[:, None] / force_share, points[:, 0], weights[:, 1:3]], axis=1)
        segments = np.concatenate([_unloaded(rest, bend), points[:, 1:] - keep * points[:, :-1]], axis=2)
        records = np.concatenate([hair, segments.reshape(len(rows), -1)], axis=1)
        block, lane = np.nonzero((self.hair >= rows[0]) & (self.hair <= rows[-1]))
        data[block, :, lane] = records[np.searchsorted(rows, self.hair[block, lane])]

    def unpack(self, data: NDArray[np.float32], hairs: NDArray[np.int64]) -> tuple[Float64Array, ...]:
        """Return what `pack` took of some hairs: lengths (H, N), rest rotations (H, N, 4), E I / W and strain (H,).

        The strain is that per unit of the kernel's forces. Rest rotations are those of frames without any twist between
        e3 and each segment; how frames are turned about their segments makes no difference to a sweep.
        """
        place = np.empty(int(self.is_filled.sum()), np.int64)
        place[self.hair[self.is_filled]] = np.flatnonzero(self.is_filled)
        block, lane = np.divmod(place[hairs], LANES)
        records = data[block, :, lane].astype(np.float64)
        bend, strain = records[:, kernels.BEND], records[:, kernels.STRAIN]
        vectors = records[:, kernels.HAIR_ROWS :].reshape(len(hairs), -1, kernels.SEGMENT_ROWS)[..., : kernels.END]
        size = np.linalg.norm(vectors, axis=2)
        length = bend[:, None] * size
        for i in range(1, length.shape[1]):
            length[:, i] -= length[:, i - 1]
        frames = quaternion.between_vectors(E3, vectors / size[..., None])
        before = np.concatenate([quaternion.identity((len(hairs), 1), np.float64), frames[:, :-1]], axis=1)
        return length, quaternion.multiply(quaternion.conjugate(before), frames), 0.25 * bend, strain

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.hair.nbytes + self.is_filled.nbytes + self.bundle.nbytes


def _fours(count: int) -> IntArray:
    """Numbers of quarters, four by four, shape (B, 4); where some are missing, the last again."""
    return np.minimum(np.arange(count + -count % 4), count - 1).reshape(-1, 4)


def _unloaded(rest: HairRest, bend: Float64Array) -> Float64Array:
    """Vectors v of `_kernels`: along the hair without force, (H, N, 3) [1/m]; `bend (H, 1)` is 4 E I / W."""
    frames = rest.first.copy()
    for i in range(1, frames.shape[1]):
        frames[:, i] = quaternion.multiply(frames[:, i - 1], frames[:, i])
    both = rest.length.copy()
    both[:, 1:] += rest.length[:, :-1]
    vectors: Float64Array = quaternion.rotate(quaternion.normalize(frames), np.broadcast_to(E3, (*both.shape, 3)))
    return vectors * (both / bend)[..., None]
