"""`TrainingMotion`: how every hair of a groom moved in a dataset of full simulations, as seen from the head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.body.motion import Pose
from mane.dataset.dataset import Dataset, SequenceReader
from mane.geometry import quaternion
from mane.geometry.checks import FloatArray, IntArray
from mane.skin.adaptive.frames import vertex_tangents

HAIRS_AT_ONCE = 20_000


@dataclass(frozen=True, eq=False)
class TrainingMotion:
    """Motion of S hairs in F frames of several sequences.

    Attributes:
        rest: hairs at rest [m], shape (S, V, 3), float32.
        displacement: from rest, as seen from the head [m], shape (S, F, V, 3), float32.
        begins: whether a frame is the first of its sequence, shape (F,), bool.
        step: time from one frame to the next [s].
    """

    rest: FloatArray
    displacement: FloatArray
    begins: NDArray[np.bool_]
    step: float

    def of(self, hairs: IntArray) -> TrainingMotion:
        """Motion of some of the hairs."""
        return TrainingMotion(self.rest[hairs], self.displacement[hairs], self.begins, self.step)

    def velocity(self, hairs: NDArray[np.int64]) -> FloatArray:
        """Mean velocity of some hairs over every step, as seen from the head [m/s], (H, F', V, 3); firsts have none."""
        moved = np.diff(self.displacement[hairs], axis=1) / np.float32(self.step)
        return np.ascontiguousarray(moved[:, ~self.begins[1:]])


def read_motion(dataset: Dataset, split: str) -> TrainingMotion:
    """Read all sequences of a split.

    Raises:
        ValueError: the split is empty, or a sequence is not of a full simulation.
    """
    readers = dataset.split(split)
    if not readers:
        raise ValueError(f"{dataset.store.path}: has no sequence of split {split!r} to learn from")
    rest = np.asarray(readers[0].rest["guides"], np.float32)
    counts = [len(reader.times) for reader in readers]
    begins = np.concatenate([np.arange(count) == 0 for count in counts])
    # Hair by hair, since everything is learned for one hair after the other; sequence by sequence, since the motion of
    # a full head is 9 GB, which memory should hold once.
    whole = np.empty((len(rest), len(begins), *rest.shape[1:]), np.float32)
    for reader, stop in zip(readers, np.cumsum(counts), strict=True):
        part = local_displacement(reader, rest)
        for a in range(0, len(rest), HAIRS_AT_ONCE):
            whole[a : a + HAIRS_AT_ONCE, stop - len(part) : stop] = part[:, a : a + HAIRS_AT_ONCE].swapaxes(0, 1)
    times = readers[0].times
    return TrainingMotion(rest, whole, begins, float(times[1] - times[0]) if len(times) > 1 else 1.0)


def local_displacement(reader: SequenceReader, rest: FloatArray) -> FloatArray:
    """How the hairs of a sequence moved from rest, as seen from the head [m], (F, S, V, 3)."""
    points, head = reader["points"], reader["head"]
    for number, row in enumerate(head):
        points[number] = seen_from(Pose(row[:3], row[3:]), points[number]) - rest
    return points


def seen_from(head: Pose, points: FloatArray) -> FloatArray:
    """Points of the world in the frame of the head, in double precision on the way."""
    turned: FloatArray = quaternion.rotate(
        quaternion.conjugate(head.rotation), points.astype(np.float64) - head.position
    ).astype(np.float32)
    return turned


class HairStates:
    """States of hairs as guides are chosen by, u_s of chai2017 6.3, hair by hair when they are asked for; no roots.

    Args:
        motion: of the hairs.
        tangents: what a unit tangent counts as [m]; 0 for states of positions alone.
        are_whole: states as they are, not how they changed since rest.

    Attributes:
        shape: (S, F or 2 F, V - 1, 3).
    """

    def __init__(self, motion: TrainingMotion, tangents: float = 0.0, *, are_whole: bool = False) -> None:
        self._motion, self._tangents, self._are_whole = motion, np.float32(tangents), are_whole
        hairs, frames, vertices = motion.displacement.shape[:3]
        self.shape = (hairs, 2 * frames if tangents else frames, vertices - 1, 3)

    def __getitem__(self, some: slice) -> FloatArray:
        """States of some hairs, float32."""
        rest, moved = self._motion.rest[some], self._motion.displacement[some]
        if not self._tangents:
            return (rest[:, None] + moved if self._are_whole else moved)[:, :, 1:]
        points = rest[:, None] + moved
        tangents, still = self._tangents * vertex_tangents(points), self._tangents * vertex_tangents(rest)[:, None]
        parts = [points, tangents] if self._are_whole else [moved, tangents - still]
        return np.concatenate(parts, axis=1)[:, :, 1:]


def mean_and_percentile(
    position: FloatArray,
    velocity: FloatArray,
    moving: NDArray[np.bool_],
    pairs: NDArray[np.int64],
    sigma: float,
    percentile: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """A and B of chai2017 7.1 for pairs of guides, and a percentile of d of eq. 2 over training, each (P,).

    Args:
        position: of the guides, shape (G, F, V, 3).
        velocity: in the frames that have one, shape (G, F', V, 3).
        moving: whether a frame has a velocity, F' of them have, shape (F,).
        pairs: shape (P, 2).
        sigma: of eq. 2.
        percentile: of d, in percent.
    """
    results = []
    for i, j in pairs:
        gap = _squares(position[i] - position[j])
        rush = _squares(velocity[i] - velocity[j])
        a, b = max(float(gap.mean()), 1e-12), max(float(rush.mean()), 1e-12)
        d = np.percentile(gap[moving] / a + sigma * rush / b, percentile)
        results.append((a, b, max(float(d), 1.0)))
    found = np.array(results, np.float64).reshape(-1, 3)
    return found[:, 0], found[:, 1], found[:, 2]


def _squares(way: FloatArray) -> NDArray[np.float64]:
    result: NDArray[np.float64] = np.einsum("fvc,fvc->f", way, way, dtype=np.float64)
    return result


def spread_frames(count: int, most: int) -> Sequence[int]:
    """Numbers of at most `most` of `count` frames, evenly spread."""
    result: Sequence[int] = np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64)).tolist()
    return result
