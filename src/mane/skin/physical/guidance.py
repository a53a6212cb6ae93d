"""`Guidance`: what the guides of each bundle do to its hairs at one frame, as the sweep in lanes reads it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray
from mane.skin import _kernels_linear
from mane.skin.physical import _kernels
from mane.strand.model import Float64Array


@dataclass(frozen=True, eq=False)
class Guidance:
    """Guides of M bundles of hairs with V vertices, three each; where they are found is known once and for all.

    Attributes:
        motion: see `_kernels.fill_guidance`.
        shift: part of it, how the vertices of the guides move, shape (G, U, 4).
        load: part of it, what their segments feel, shape (G, U - 1, 4).
        at: see there.
        share: see there.
        keep: see there.
        rows: filled for every frame, shape (M, V * 24).
    """

    motion: FloatArray
    shift: FloatArray
    load: FloatArray
    at: NDArray[np.int32]
    share: FloatArray
    keep: float
    rows: FloatArray

    @classmethod
    def of(
        cls,
        guide: NDArray[np.int32],
        parameter: FloatArray,
        load_places: FloatArray,
        guides: tuple[int, int],
        keep: float,
    ) -> Guidance:
        """Make one.

        Args:
            guide: of each bundle, shape (M, 3).
            parameter: places on them that go with the hairs' vertices, shape (M, 3, V), as in `Bundles`.
            load_places: the same for loads.
            guides: how many there are, and their vertex count.
            keep: 1 - `drift_gain`.
        """
        count, vertices = guides
        segments = vertices - 1
        motion = np.zeros((count * (vertices + segments) + 1) * 4, np.float32)  # one may be looked at beyond the last
        shift, load = motion[: count * vertices * 4], motion[count * vertices * 4 : -4]
        # The middle of segment j is at the place j + 1/2; at the root no force is asked for.
        middle = 0.5 * (load_places[..., np.maximum(np.arange(load_places.shape[2]) - 1, 0)] + load_places) - 0.5
        tables = [_places(guide, parameter, vertices), _places(guide, middle, segments)]
        at, share = (np.stack(both, axis=2) for both in zip(*tables, strict=True))  # (M, 3, 2, V)
        at[:, :, 1] += count * vertices
        return cls(
            motion,
            shift.reshape(count, vertices, 4),
            load.reshape(count, segments, 4),
            np.ascontiguousarray(4 * at.transpose(0, 3, 2, 1)).astype(np.int32).reshape(len(guide), -1),
            np.ascontiguousarray(share.transpose(0, 3, 2, 1)).astype(np.float32).reshape(len(guide), -1),
            keep,
            np.empty((len(guide), parameter.shape[2] * _kernels.PER_GUIDES), np.float32),
        )

    def fill(self, points: FloatArray, rest: Float64Array, rotation: Float64Array, load: Float64Array) -> FloatArray:
        """Return `rows` of a frame.

        Args:
            points: of the guides [m], shape (G, U, 3).
            rest: the same at rest.
            rotation: matrices of the turns of their roots, shape (G, 3, 3).
            load: what they feel, times 1 - alpha, in weights, shape (G, U - 1, 3).
        """
        _kernels_linear.fill_guide_motion(points, rest, rotation, self.shift)
        self.load[..., :3] = load
        _kernels.fill_guidance(self.motion, self.at, self.share, np.float32(self.keep), self.rows)
        return self.rows

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.motion.nbytes + self.at.nbytes + self.share.nbytes + self.rows.nbytes


def _places(guide: NDArray[np.int32], place: FloatArray, count: int) -> tuple[NDArray[np.int64], Float64Array]:
    """Which of `count` rows of all guides is before each `place (M, 3, V)`, and the share of the way to the next."""
    within: Float64Array = np.clip(place.astype(np.float64), 0, count - 1)
    before = np.clip(within.astype(np.int64), 0, max(count - 2, 0))
    row: NDArray[np.int64] = guide.astype(np.int64)[..., None] * count + before
    return row, within - before
