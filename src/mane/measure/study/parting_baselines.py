"""What chai2017 compares with that is no skin of this package: earlier methods, in plain NumPy, to be measured only.

`ParticleSkin` is the skinning of its reference [33] (figs. 3a, 10): every vertex has guide vertices of its own.
`PairCorrection` is a position correction of hair against hair as [33]'s is told of: by particles, without friction.
`follow_the_leader` simulates every hair by its reference [38], position-based dynamics with one sweep per step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mane.body.solid import PosedSolid, Solid
from mane.dataset.learn.choice import motion_features
from mane.dataset.learn.motion import TrainingMotion
from mane.geometry.checks import FloatArray, IntArray
from mane.strand.frame import GuideFrame

Float64Array = NDArray[np.float64]

NEIGHBOURS = 8  # among which one of another hair is looked for
PAIR_ROUNDS = 4
GUIDE_VERTICES = 4  # that a vertex is blended from
SLACK = 1e-9  # of the largest entry, on the diagonal of Gram matrices: vertices may move exactly alike
GRAVITY = np.array([0.0, -9.81, 0.0])
DAMPING = 0.9  # s_damping of Mueller et al. 2012
ROUNDS = 2  # of out of the solid and back to the length


class ParticleSkin:
    """Vertices that follow the guide vertices which moved most like them in training, wherever those are on a guide.

    As chai2017 6.1 describes [33]: the guide vertices of a vertex may be on any guides, at any height, and those of the
    next one on others. Weights are not negative and sum to one (chai2017 eq. 7, a vertex at a time).
    """

    def __init__(self, motion: TrainingMotion, guides: IntArray, count: int = GUIDE_VERTICES) -> None:
        from scipy.spatial import cKDTree

        self._rest, self._guides = motion.rest, motion.rest[guides]
        hairs, _, vertices, _ = motion.displacement.shape
        of_vertices = np.ascontiguousarray(motion.displacement.transpose(0, 2, 1, 3)).reshape(hairs * vertices, -1)
        features = motion_features(of_vertices)
        candidates = (guides[:, None] * vertices + np.arange(vertices)).ravel()
        reach = min(count, len(candidates))
        _, self._near = cKDTree(features[candidates]).query(features, k=np.arange(1, reach + 1))
        basis = features[candidates][self._near]
        gram = np.einsum("pmd,pnd->pmn", basis, basis)
        self._weights = convex_weights(gram, np.einsum("pmd,pd->pm", basis, features)).astype(np.float32)

    def sources(self, hair: int) -> tuple[IntArray, IntArray, FloatArray]:
        """Slots of guides that the vertices of a hair follow, vertices of those, and weights, shape (V, M) each."""
        vertices = self._rest.shape[1]
        rows = slice(hair * vertices, (hair + 1) * vertices)
        guide, vertex = np.divmod(self._near[rows], vertices)
        return guide, vertex, self._weights[rows]

    def __call__(self, frame: GuideFrame, *, copy: bool = True) -> FloatArray:
        """All hairs (S, V, 3) [m] of a frame; always a new array."""
        moved = frame.head.inverse_apply(frame.points) - self._guides
        displacement = np.einsum("pm,pmc->pc", self._weights, moved.reshape(-1, 3)[self._near])
        return frame.head.apply(self._rest + displacement.reshape(self._rest.shape)).astype(np.float32)


class PairCorrection:
    """Vertices of hairs that have come too near those of others, pushed apart in pairs.

    chai2017 takes the position correction of [33] against hair, "frictionless" and not complete, and prints no equation
    of it: this is the plain constraint of position-based dynamics, |p_i - p_j| >= d_ij, by Jacobi rounds, with no
    memory of the frame before. Pairs that were groomed nearer than `distance` may stay as near as they were.

    Args:
        rest: hairs at rest [m], shape (S, V, 3).
        distance: that vertices of two hairs keep [m]; by default the median of how near they are at rest.
        rounds: how often pairs are looked for.
    """

    def __init__(self, rest: FloatArray, distance: float | None = None, rounds: int = PAIR_ROUNDS) -> None:
        self._rest, self._rounds = rest.reshape(-1, 3).astype(np.float64), rounds
        self._hair = np.repeat(np.arange(len(rest)), rest.shape[1])
        self._is_root = np.tile(np.arange(rest.shape[1]) == 0, len(rest))
        self.distance = self._nearest() if distance is None else distance

    def _nearest(self) -> float:
        """How near the nearest vertex of another hair is at rest, the median [m]; roots do not count."""
        from scipy.spatial import cKDTree

        own = ~self._is_root
        reach = min(NEIGHBOURS, int(own.sum()))
        apart, other = cKDTree(self._rest[own]).query(self._rest[own], k=np.arange(1, reach + 1))
        of_others = np.where(self._hair[own][other] != self._hair[own][:, None], apart, np.inf)
        return float(np.median(of_others.min(axis=1)))

    def __call__(self, points: FloatArray, frame: GuideFrame | None = None) -> FloatArray:
        """Push hairs (S, V, 3) [m] from each other, in place; roots stay."""
        from scipy.spatial import cKDTree

        flat = points.reshape(-1, 3).astype(np.float64)
        for _ in range(self._rounds):
            first, second = cKDTree(flat).query_pairs(self.distance, output_type="ndarray").T
            is_other = self._hair[first] != self._hair[second]
            first, second = first[is_other], second[is_other]
            groomed = np.linalg.norm(self._rest[first] - self._rest[second], axis=1)
            apart = flat[first] - flat[second]
            size = np.linalg.norm(apart, axis=1)
            lacks = np.maximum(np.minimum(self.distance, groomed) - size, 0.0)
            push = 0.5 * (lacks / np.maximum(size, 1e-9))[:, None] * apart
            moved, pairs = np.zeros_like(flat), np.zeros(len(flat))
            np.add.at(moved, first, push)
            np.subtract.at(moved, second, push)
            np.add.at(pairs, np.concatenate([first, second]), np.tile(lacks > 0, 2))
            moved[self._is_root] = 0.0
            flat += moved / np.maximum(pairs, 1.0)[:, None]
        points[...] = flat.reshape(points.shape)
        return points


def convex_weights(gram: Float64Array, right: Float64Array) -> Float64Array:
    """Minimise w^T G w / 2 - b^T w over w >= 0 that sum to 1, for every row: `gram` (P, M, M), `right` (P, M); (P, M).

    The solution under the equality; what is negative most is left out, and the rest solved again.
    """
    rows, count = right.shape
    is_in = np.ones((rows, count), np.bool_)
    slack = SLACK * np.maximum(np.einsum("pmm->pm", gram).max(axis=1), 1e-30)
    for _ in range(count):
        both = is_in[:, :, None] & is_in[:, None, :]
        system = np.zeros((rows, count + 1, count + 1))
        system[:, :count, :count] = np.where(both, gram, 0.0)
        diagonal = np.arange(count)
        system[:, diagonal, diagonal] += np.where(is_in, slack[:, None], 1.0)
        system[:, :count, count] = system[:, count, :count] = is_in
        known = np.concatenate([np.where(is_in, right, 0.0), np.ones((rows, 1))], axis=1)
        weights: Float64Array = np.linalg.solve(system, known[..., None])[:, :count, 0]
        negative = weights.min(axis=1) < -1e-12
        if not negative.any():
            break
        is_in[np.flatnonzero(negative), weights[negative].argmin(axis=1)] = False
    return np.maximum(weights, 0.0)


def follow_the_leader(
    rest: FloatArray, frames: Sequence[GuideFrame], solids: Sequence[Solid], *, dt: float, damping: float = DAMPING
) -> Iterator[FloatArray]:
    """Every hair by Dynamic Follow-The-Leader (Mueller, Kim, Chentanez 2012), one sweep per frame: (S, V, 3) [m].

    Each vertex goes to the length of its segment from the one before it, root to tip, which none of those before feels;
    velocities make up for that by what the next vertex was moved by. There is no bending, so hair hangs.

    Args:
        rest: hairs at rest [m], shape (S, V, 3).
        frames: heads and times.
        solids: that hair is kept out of, by positions.
        dt: seconds between frames.
        damping: part of the correction of the next vertex that is put back into the velocity.
    """
    x = rest.astype(np.float64)
    length = np.linalg.norm(np.diff(x, axis=1), axis=2)
    velocity = np.zeros_like(x)
    for frame in frames:
        goal = x + dt * (velocity + dt * GRAVITY)
        goal[:, 0] = frame.head.apply(rest[:, 0].astype(np.float64))
        p, moved = goal.copy(), np.zeros_like(x)
        now = [solid.at(frame.time) for solid in solids]
        for i in range(1, p.shape[1]):
            place = goal[:, i]
            for _ in range(ROUNDS):
                place = _at_length(p[:, i - 1], _outside(now, place), length[:, i - 1])
            p[:, i] = place
            moved[:, i] = p[:, i] - goal[:, i]
        velocity = (p - x) / dt
        velocity[:, 1:-1] -= damping * moved[:, 2:] / dt
        x = p
        yield x.astype(np.float32)


def _at_length(before: Float64Array, goal: Float64Array, length: Float64Array) -> Float64Array:
    along = goal - before
    size = np.linalg.norm(along, axis=1)
    placed: Float64Array = before + along * (length / np.maximum(size, 1e-12))[:, None]
    return placed


def _outside(solids: Sequence[PosedSolid], points: Float64Array) -> Float64Array:
    for solid in solids:
        distance, gradient = solid.distance_and_gradient(points.astype(np.float32))
        points = points - np.minimum(distance, 0.0)[:, None] * gradient
    return points
