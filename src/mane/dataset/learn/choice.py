"""Which hairs become guides, by how they moved in training (chai2017 6.3): a table of methods.

All work on features: the motion of a hair, as seen from the head, in the space of its principal components, which keeps
distances between hairs. `k_medoids` (k-means, and the hairs nearest to its means) is the default: as good as sparse
coding and much cheaper (docs/methods/adaptive.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mane.dataset.learn.choice_graph import partition_guides
from mane.geometry.checks import FloatArray, IntArray

Float64Array = NDArray[np.float64]

COMPONENTS = 64
SAMPLE = 20_000  # hairs that suffice to choose by
HAIRS_AT_ONCE = 20_000  # whose motion is copied
SPREAD_ITERATIONS = 30
BETA = 0.15  # chai2017 6.3
EPSILON = 0.01
CODING_STEPS, LEARNING_ROUNDS = 60, 12


class Rows(Protocol):
    """An array of hairs, or what makes its rows when they are asked for."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array, hairs first."""

    def __getitem__(self, some: slice, /) -> FloatArray:
        """Rows of some hairs."""


def motion_features(motion: Rows, seed: int = 0, components: int = COMPONENTS) -> Float64Array:
    """Coordinates of hairs (S, ...) among the principal components of their motion, (S, D) [m], not centred.

    Found by a randomised projection: distances between hairs are kept but for what is beyond D components.
    """
    hairs, length = motion.shape[0], int(np.prod(motion.shape[1:]))
    rng = np.random.default_rng(seed)
    width = min(components + 8, hairs, length)
    probe = _projected(motion, rng.normal(size=(length, width)).astype(np.float32))
    for _ in range(2):
        basis = np.linalg.qr(_summed(motion, np.linalg.qr(probe)[0]))[0]
        probe = _projected(motion, basis)
    left, size, _ = np.linalg.svd(probe.astype(np.float64), full_matrices=False)
    features: Float64Array = (left * size)[:, : min(components, width)]
    return features


def _blocks(motion: Rows) -> Iterator[tuple[slice, FloatArray]]:
    """Some hairs after the other, flat: a copy of the motion of a full head would not fit into memory beside it."""
    for start in range(0, motion.shape[0], HAIRS_AT_ONCE):
        some = slice(start, min(start + HAIRS_AT_ONCE, motion.shape[0]))
        yield some, motion[some].reshape(some.stop - start, -1)


def _projected(motion: Rows, basis: FloatArray) -> FloatArray:
    """Every hair in a basis (L, W): shape (S, W)."""
    out = np.empty((motion.shape[0], basis.shape[1]), np.float32)
    for some, flat in _blocks(motion):
        out[some] = flat @ basis
    return out


def _summed(motion: Rows, left: FloatArray) -> FloatArray:
    """Sums over hairs of what each has on the left (S, W): shape (L, W)."""
    parts = (flat.T @ left[some] for some, flat in _blocks(motion))
    first = next(parts)
    for part in parts:
        first += part
    return first


@dataclass(frozen=True, eq=False)
class GuideChoice:
    """Guides of a groom.

    Attributes:
        guides: strands, rising, shape (G,).
        codes: of every hair in the guides, where the method makes them, shape (S, G); else None.
        distinct: how many different hairs the method found by itself (chai2017 eq. 10), before any that were taken
            twice were replaced by others to have as many as were asked for; None where it cannot take one twice.
    """

    guides: IntArray
    codes: Float64Array | None = None
    distinct: int | None = None

    @property
    def found(self) -> int:
        """How many different hairs the method found by itself."""
        return len(self.guides) if self.distinct is None else self.distinct


def k_medoids(features: Float64Array, count: int, seed: int) -> GuideChoice:
    """The hair nearest to the mean of each of `count` clusters of hairs that move alike.

    Clusters are those of k-means; no hair is then swapped for another one, as k-medoids proper (PAM) would.
    """
    from scipy.cluster.vq import kmeans2

    rng = np.random.default_rng(seed)
    sample = _sample(len(features), rng)
    kinds = min(count, len(np.unique(features[sample], axis=0)))  # no more clusters than hairs that differ
    centres, _ = kmeans2(features[sample], kinds, iter=SPREAD_ITERATIONS, minit="++", seed=rng, missing="warn")
    centres = np.resize(centres, (count, features.shape[1]))
    return GuideChoice(_nearest_hairs(features, centres), distinct=len(_nearest_hairs(features, centres, fills=False)))


def random(features: Float64Array, count: int, seed: int) -> GuideChoice:
    """Any hairs."""
    return GuideChoice(np.sort(np.random.default_rng(seed).choice(len(features), count, replace=False)))


def sparse_coding(features: Float64Array, count: int, seed: int) -> GuideChoice:
    """Sparse coding in the form that works: seen from the mean hair, in units of its spread, with positive codes.

    As printed, in metres and with atoms of length 1, the L1 term outweighs the data, and few distinct hairs are found.
    """
    centred = features - features.mean(axis=0)
    scaled = centred / max(float(np.sqrt((centred**2).sum(axis=1).mean())), 1e-12)
    return _coded(scaled, count, seed, is_positive=True, fills=True)


def sparse_coding_printed(features: Float64Array, count: int, seed: int) -> GuideChoice:
    """chai2017 eq. 9 and 10 as printed: metres, unit atoms, codes of any sign, and as few hairs as come of it."""
    return _coded(features, count, seed, is_positive=False, fills=False)


def graph(features: Float64Array, count: int, seed: int) -> GuideChoice:
    """The middle of each part of a graph of hairs that move alike, as in chai2017's reference [33] (fig. 9)."""
    rng = np.random.default_rng(seed)
    sample = _sample(len(features), rng)
    return GuideChoice(sample[partition_guides(features[sample], count)])


METHODS: dict[str, Callable[[Float64Array, int, int], GuideChoice]] = {
    "k_medoids": k_medoids,
    "sparse_coding": sparse_coding,
    "sparse_coding_printed": sparse_coding_printed,
    "graph": graph,
    "random": random,
}
OF_WHOLE_STATES = ("sparse_coding_printed",)  # chai2017's u_s has where hairs are, and not how far they came from rest


def _sample(count: int, rng: np.random.Generator) -> IntArray:
    return np.sort(rng.choice(count, min(count, SAMPLE), replace=False))


def _nearest_hairs(features: Float64Array, goals: Float64Array, *, fills: bool = True) -> IntArray:
    """The hair nearest to each goal (chai2017 eq. 10), rising.

    With `fills` a hair that is taken already leaves the goal to the next nearest, so that there are as many as goals.
    """
    from scipy.spatial import cKDTree

    reach = min(len(features), 64) if fills else 1
    _, near = cKDTree(features).query(goals, k=np.arange(1, reach + 1))
    if not fills:
        return np.unique(near)
    taken: list[int] = []
    free = np.ones(len(features), np.bool_)
    for row in near:
        pick = next((int(hair) for hair in row if free[hair]), None)
        if pick is None:
            pick = int(np.flatnonzero(free)[0])
        free[pick] = False
        taken.append(pick)
    return np.sort(np.array(taken, np.int64))


def _coded(features: Float64Array, count: int, seed: int, *, is_positive: bool, fills: bool) -> GuideChoice:
    rng = np.random.default_rng(seed)
    sample = features[_sample(len(features), rng)]
    atoms = _unit(sample[rng.choice(len(sample), count, replace=count > len(sample))])
    for _ in range(LEARNING_ROUNDS):
        codes = sparse_codes(sample, atoms, BETA, is_positive=is_positive)
        atoms = _updated(atoms, codes, sample)
    distinct = _nearest_hairs(features, atoms, fills=False)
    guides = _nearest_hairs(features, atoms) if fills else distinct
    codes = sparse_codes(features, features[guides], BETA, is_positive=is_positive)
    return GuideChoice(guides, codes, len(distinct))


def sparse_codes(data: Float64Array, atoms: Float64Array, beta: float, *, is_positive: bool) -> Float64Array:
    """Minimise |u - G a|^2 + beta |a|_1 over codes a for every row of `data` (S, D), by FISTA; (S, G).

    Args:
        data: rows to be coded.
        atoms: G, a basis vector in each row (G, D).
        beta: weight of the L1 norm.
        is_positive: codes of at least 0 only.
    """
    gram, right = atoms @ atoms.T, data @ atoms.T
    step = 1 / max(2 * float(np.linalg.eigvalsh(gram)[-1]), 1e-30)
    codes = np.zeros_like(right)
    ahead, momentum = codes, 1.0
    for _ in range(CODING_STEPS):
        moved = ahead - step * 2 * (ahead @ gram - right)
        size = np.maximum(moved if is_positive else np.abs(moved), 0) - step * beta
        new = np.maximum(size, 0) * (1 if is_positive else np.sign(moved))
        following = 0.5 * (1 + np.sqrt(1 + 4 * momentum**2))
        ahead = new + (momentum - 1) / following * (new - codes)
        codes, momentum = new, following
    return codes


def _updated(atoms: Float64Array, codes: Float64Array, data: Float64Array) -> Float64Array:
    """One round of block coordinate descent over the atoms, each kept at length 1 at most (Mairal et al. 2010)."""
    gram, right = codes.T @ codes, codes.T @ data
    atoms = atoms.copy()
    for k in range(len(atoms)):
        if gram[k, k] > 1e-12:
            atoms[k] += (right[k] - gram[k] @ atoms) / gram[k, k]
            atoms[k] /= max(float(np.linalg.norm(atoms[k])), 1.0)
    return atoms


def _unit(rows: Float64Array) -> Float64Array:
    result: Float64Array = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return result
