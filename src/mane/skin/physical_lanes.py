"""`Lanes`: which hair goes into which lane of the kernel, and everything that the kernel reads of it, packed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.skin import _kernels_physical as kernels
from mane.skin.bundles import Bundles
from mane.skin.physical_rest import HairRest


@dataclass(frozen=True, eq=False)
class Lanes:
    """Hairs cut into B blocks of W lanes; all hairs of a block are of one bundle, so they share their guides.

    Attributes:
        hair: strand of the groom in each lane, shape (B, W), int32; an empty lane repeats the first.
        filled: lanes that are not empty, shape (B,), int32; the empty ones are behind them.
        bundle: of each block, shape (B,), int32.
    """

    hair: NDArray[np.int32]
    filled: NDArray[np.int32]
    bundle: NDArray[np.int32]

    @classmethod
    def cut(cls, bundles: Bundles, lanes: int = kernels.LANES) -> Lanes:
        """Cut hairs into blocks, bundle by bundle."""
        order, starts = bundles.by_bundle()
        sizes = np.diff(starts)
        blocks = -(-sizes // lanes)
        bundle = np.repeat(np.arange(len(sizes)), blocks)
        within = np.arange(len(bundle)) - np.repeat(np.cumsum(blocks) - blocks, blocks)
        first = starts[bundle] + within * lanes
        filled = np.minimum(starts[bundle + 1] - first, lanes)
        place = np.arange(lanes)
        hair = order[first[:, None] + np.where(place < filled[:, None], place, 0)]
        return cls(hair.astype(np.int32), filled.astype(np.int32), bundle.astype(np.int32))

    def empty_data(self, vertex_count: int) -> NDArray[np.float32]:
        """Return room for what `_kernels_physical.sweep_hairs` calls `data`, to be filled by `pack`."""
        return np.zeros((len(self.hair), vertex_count, kernels.RECORD * self.hair.shape[1]), np.float32)

    def pack(
        self,
        rows: NDArray[np.int64],
        rest: HairRest,
        points: NDArray[np.float64],
        weights: NDArray[np.float32],
        force_share: float,
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
            data: see `empty_data`.
        """
        turned = rest.first * np.sqrt(rest.length)[..., None]
        hair = np.concatenate(
            [4 * rest.bend[:, None], rest.strain[:, None] / force_share, points[:, 0], weights[:, 1:3]], axis=1
        )
        records = np.concatenate([hair[:, None], np.concatenate([turned, points[:, 1:]], axis=2)], axis=1)
        block, lane = np.nonzero((self.hair >= rows[0]) & (self.hair <= rows[-1]))
        shown = np.searchsorted(rows, self.hair[block, lane])
        data.reshape(*data.shape[:2], kernels.RECORD, -1)[block, :, :, lane] = records[shown]

    def unpack(self, data: NDArray[np.float32], hairs: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
        """Return what `pack` took of some hairs: lengths (H, N), rest rotations (H, N, 4), E I / W and strain (H,).

        The strain is that per unit of the kernel's forces.
        """
        used = np.arange(self.hair.shape[1]) < self.filled[:, None]
        place = np.empty(int(used.sum()), np.int64)
        place[self.hair[used]] = np.flatnonzero(used)
        block, lane = np.divmod(place[hairs], self.hair.shape[1])
        records = data.reshape(*data.shape[:2], kernels.RECORD, -1)[block, :, :, lane].astype(np.float64)
        length = (records[:, 1:, :4] ** 2).sum(axis=2)
        rotation = records[:, 1:, :4] / np.sqrt(length)[..., None]
        return length, rotation, 0.25 * records[:, 0, 0], records[:, 0, 1]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.hair.nbytes + self.filled.nbytes + self.bundle.nbytes
