"""Which strands of a groom become its guides.

`shape` is the method for work; `random` and `farthest` are what it is measured against; `marked` trusts the artist.

How `shape` chooses. Two strands are as far apart as their curves are once the roots are laid on each other: the mean
distance of points at equal shares of arc length [m]. To that is added a share of the distance of the roots themselves.
The guides are the strands with the smallest sum, over all strands, of the distance to the nearest one (k-medoids):

1. seeds: a strand for every group, length class and patch of scalp, then strands drawn as likely as they are far off;
2. means: a few rounds of k-means, which find where the middles of clusters are;
3. medoids: the strands nearest to each mean are tried in exchange for the guides so far, while that pays. An exchange
   that would leave a group, a length class or a patch without a guide is not done.

The trade. What serves shapes best covers the scalp worst, for a patch with few strands is worth no guide. Two settings
hold against that: `GUIDES_PER_PATCH` bounds the largest distance from a root to the nearest guide's, at hardly any cost
to shapes, and `ROOT_SHARE` lowers the mean one, at some. As they are, on a head of curls, the mean is up to a tenth
above that of `farthest` and the largest up to two thirds (`mane bench guides` measures it); and a shape that only one
strand in a hundred has may go without a guide. Being middles, the guides are a little calmer than the hair they stand
for.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mane.geometry.arclength import arc_lengths, even_lengths, locate
from mane.geometry.checks import FloatArray, IntArray, require_choice, require_seed
from mane.geometry.index import PointIndex
from mane.groom import _kernels_select as kernels
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.soundness import FAULTS, soundness_of

# Weight of the distance of roots against that of shapes, after both are divided by their spread over the groom.
ROOT_SHARE = 0.1
# The scalp is cut into patches of equal width, this many guides to a patch, and none goes without a guide.
GUIDES_PER_PATCH = 3

SHAPE_SAMPLES = 15  # points per strand, root apart, that shapes are compared at
LENGTH_CLASSES = 4  # over half of the longest strand's length, over a quarter, over an eighth, and the rest
SEARCH_STRANDS_PER_GUIDE = 128  # the search looks at a sample of so many strands for each guide, but ...
SEARCH_STRANDS = (16_384, 32_768)  # ... no fewer and no more than these
MEAN_ROUNDS = 15
TRIES = 4096  # strands that are tried as guides, or ...
TRIES_PER_MEAN = 4  # ... this many near each mean, if that is more


class GuideNotice(UserWarning):
    """Something about guides that the user should know: strands that are none, and why, or hair that has none."""


def select_guides(
    groom: Groom, n: int | None = None, *, method: str = "shape", vertices: int | None = None, seed: int = 0
) -> Guides:
    """Choose `n` strands of a groom as its guides.

    Args:
        groom: the strands; any vertex counts.
        n: how many guides; `marked` takes all strands that are marked, so there it may be left out.
        method: `shape` (strands that the others resemble, over the whole scalp, from every group and, as far as `n`
            reaches, every length class), `farthest` (roots as far apart as can be), `random`, or `marked` (those with
            the attribute `is_guide`). None takes strands that are unfit to guide others (`mane.groom.soundness`:
            points in one place, folds, stubs) as long as there are others; `marked` warns of those that it leaves out.
        vertices: vertex count of the guides; None keeps the groom's where it is the same for all strands, and is 16
            otherwise.
        seed: another seed, another choice of the same quality.

    Returns:
        The guides in the order of their strands in the groom. The choice depends neither on the number of threads nor
        on the order of the strands (those that share both root and tip apart).
    """
    require_choice("method", method, list(METHODS))
    require_seed(seed)
    chosen = METHODS[method](groom, n, np.random.default_rng(seed))
    return Guides.chosen(groom, np.sort(chosen), vertices)


def shape_distances(groom: Groom, guides: Guides, samples: int = 2 * SHAPE_SAMPLES) -> FloatArray:
    """Distance of each strand's shape to that of the guide most like it [m], shape (S,).

    The mean distance of `samples` points at equal shares of arc length, once the roots are laid on each other.

    Args:
        groom: the strands, S of them.
        guides: that stand for them.
        samples: points of each strand that are compared.
    """
    best = guides.without_empty_slots().strands
    distance = np.empty(groom.strand_count, np.float32)
    label = np.empty(groom.strand_count, np.int64)
    kernels.nearest_places(_side_by_side(_shapes(groom, samples)), _shapes(best, samples), label, distance)
    return distance


def root_distances(groom: Groom, guides: Guides) -> FloatArray:
    """Distance of each strand's root to the nearest guide's root [m], shape (S,)."""
    return PointIndex(guides.roots[guides.active]).nearest(groom.roots)[0][:, 0]


# -- the methods: (groom, n, rng) -> indices of strands ----------------------------------------------------------------

Method = Callable[[Groom, int | None, np.random.Generator], IntArray]


def _random(groom: Groom, n: int | None, rng: np.random.Generator) -> IntArray:
    return rng.choice(groom.strand_count, _checked_count(groom, n), replace=False)


def _farthest(groom: Groom, n: int | None, rng: np.random.Generator) -> IntArray:
    chosen = np.empty(_checked_count(groom, n), np.int64)
    chosen[0] = rng.integers(groom.strand_count)
    kernels.farthest_points(groom.roots, chosen)
    return chosen


def _marked(groom: Groom, n: int | None, rng: np.random.Generator) -> IntArray:
    marks = groom.strand.get("is_guide", np.zeros(groom.strand_count, np.bool_))
    chosen = np.flatnonzero(marks)
    if len(chosen) == 0:
        raise ValueError("groom: must have strands marked as guides (strand attribute 'is_guide'), got none")
    if n is not None and n != len(chosen):
        raise ValueError(f"n: must be left out or {len(chosen)} (= strands marked as guides), got {n}")
    found = soundness_of(groom)
    is_sound = found.ranks()[chosen] == 0
    if is_sound.all() or not is_sound.any():
        return chosen
    unfit = chosen[~is_sound]
    first = int(unfit[0])
    faults = " and ".join(FAULTS[name] for name, mask in found.found().items() if mask[first])
    warnings.warn(
        f"{len(unfit)} of {len(chosen)} strands that are marked as guides are left out, the first of them strand "
        f"{first}; such {faults}",
        GuideNotice,
        stacklevel=3,
    )
    result: IntArray = chosen[is_sound]
    return result


def _by_shape(groom: Groom, n: int | None, rng: np.random.Generator) -> IntArray:
    count = _checked_count(groom, n)
    kinds = _kinds(groom, max(count // GUIDES_PER_PATCH, 1), rng)
    group_count = int(kinds[0].max()) + 1
    if count < group_count:
        raise ValueError(f"n: must be at least {group_count}, one for each group, got {count}")
    if count == groom.strand_count:
        return np.arange(count)
    places = _places(groom)
    covering = _covering(kinds, rng)[:count]
    sample = _sample(groom.strand_count, count, covering, rng)
    features = _side_by_side(places[sample])
    seeds = sample[_seeds(features, np.searchsorted(sample, covering), count, rng)]
    tries = _strands_near_means(places, _means(features, places[seeds]))
    pool = np.concatenate([seeds, tries])
    if count == 1:
        result: IntArray = pool[_summed_distances(features, places[pool]).argmin()][None]
        return result
    medoid = np.arange(count)
    kernels.swap_medoids(features, places[pool], np.take(kinds, pool, axis=1), _side_by_side(places[seeds]), medoid)
    return pool[medoid]


def _among_sound(method: Method) -> Method:
    """Let a method choose from strands that are fit to guide others, and from the next best where those are too few.

    The method sees strands sorted by place, so that the order in which they came does not matter.
    """

    def choose(groom: Groom, n: int | None, rng: np.random.Generator) -> IntArray:
        order = _order_of_place(groom)
        ranks = soundness_of(groom).ranks()[order]
        wanted = _checked_count(groom, n)
        worst = next(rank for rank in range(ranks.max() + 1) if (ranks <= rank).sum() >= wanted)
        fit = order[ranks <= worst]
        return fit[method(groom.take(fit), n, rng)]

    return choose


METHODS: dict[str, Method] = {
    "shape": _among_sound(_by_shape),
    "farthest": _among_sound(_farthest),
    "random": _among_sound(_random),
    "marked": _marked,
}


def _checked_count(groom: Groom, n: int | None) -> int:
    if n is None or not 1 <= n <= groom.strand_count:
        raise ValueError(f"n: must be between 1 and {groom.strand_count} (= number of strands), got {n}")
    return int(n)


def _order_of_place(groom: Groom) -> IntArray:
    """Strands sorted by root, then by tip."""
    return np.lexsort((*groom.tips.T, *groom.roots.T))


# -- what strands are compared by --------------------------------------------------------------------------------------


def _shapes(groom: Groom, samples: int) -> FloatArray:
    """Vectors (S, samples, 3) whose summed distances are the mean distance of two strands' points, roots laid over."""
    arc = arc_lengths(groom.points, groom.offsets)
    counts = np.full(groom.strand_count, samples + 1)
    wanted = even_lengths(arc[groom.offsets[1:] - 1], counts)
    location = locate(arc, groom.offsets, wanted, np.arange(groom.strand_count + 1) * (samples + 1))
    points = location.interpolate(groom.points).reshape(groom.strand_count, samples + 1, 3)
    result: FloatArray = (points[:, 1:] - points[:, :1]) / np.float32(samples)
    return result


def _places(groom: Groom) -> FloatArray:
    """Vectors (S, R, 3) whose summed distances are what `shape` minimises: the shape, and in the last row the root."""
    shapes, roots = _shapes(groom, SHAPE_SAMPLES), groom.roots[:, None]
    shape_spread = np.linalg.norm(shapes - shapes.mean(axis=0, dtype=np.float64), axis=2).sum(axis=1).mean()
    root_spread = np.linalg.norm(roots - roots.mean(axis=0, dtype=np.float64), axis=2).mean()
    scale = ROOT_SHARE * shape_spread / root_spread if root_spread > 0 else 0.0
    return np.concatenate([shapes, roots * np.float32(scale)], axis=1)


def _side_by_side(places: FloatArray) -> FloatArray:
    """The kernels' layout of places (S, R, 3): shape (R, 3, S)."""
    return np.ascontiguousarray(places.transpose(1, 2, 0))


def _kinds(groom: Groom, patch_count: int, rng: np.random.Generator) -> IntArray:
    """Group, length class and patch of scalp of each strand, numbered from 0 without gaps, shape (3, S)."""
    group = groom.strand.get("group_id", np.zeros(groom.strand_count, np.int32))
    lengths = groom.lengths.astype(np.float64)
    share = lengths / max(lengths.max(), np.finfo(np.float64).tiny)
    halvings = -np.log2(np.maximum(share, 0.5**LENGTH_CLASSES))
    length_class = np.minimum(np.floor(halvings), LENGTH_CLASSES - 1)
    centers = groom.roots[_farthest(groom, patch_count, rng)]
    patch = PointIndex(centers).nearest(groom.roots)[1][:, 0]
    return np.stack([np.unique(label, return_inverse=True)[1] for label in (group, length_class, patch)])


# -- the steps of `shape` ----------------------------------------------------------------------------------------------


def _covering(kinds: IntArray, rng: np.random.Generator) -> IntArray:
    """Strands that between them have every kind: first every group, then every length class, then every patch."""
    chosen: list[int] = []
    missing = np.ones(kinds.shape, np.bool_)  # per strand: nobody has its group, its length class, its patch yet
    for label, lacks in zip(kinds, missing, strict=True):
        while lacks.any():
            worth = np.where(label == label[lacks.argmax()], missing.sum(axis=0), -1)
            chosen.append(int(rng.choice(np.flatnonzero(worth == worth.max()))))
            missing &= kinds != kinds[:, chosen[-1:]]
    return np.array(chosen)


def _sample(strand_count: int, n: int, kept: IntArray, rng: np.random.Generator) -> IntArray:
    """The strands that the search looks at, in rising order, `kept` among them."""
    wanted = int(np.clip(SEARCH_STRANDS_PER_GUIDE * n, *SEARCH_STRANDS))
    if strand_count <= wanted:
        return np.arange(strand_count)
    return np.union1d(rng.choice(strand_count, wanted, replace=False), kept)


def _seeds(features: FloatArray, covering: IntArray, n: int, rng: np.random.Generator) -> IntArray:
    """`covering` and further strands, `n` in all, that lie apart."""
    seeds = np.empty(n, np.int64)
    seeds[: len(covering)] = covering
    kernels.seed_strands(features, rng.random(n), seeds, len(covering))
    return seeds


def _means(features: FloatArray, start: FloatArray) -> FloatArray:
    """Means (K, R, 3) of clusters of strands, by k-means from `start`."""
    row_count = features.shape[0] * 3
    rows = features.reshape(row_count, -1)
    label = np.empty(rows.shape[1], np.int64)
    distance = np.empty(rows.shape[1], np.float32)
    means = start
    for _ in range(MEAN_ROUNDS):
        kernels.nearest_places(features, means, label, distance)
        size = np.bincount(label, minlength=len(means))
        sums = np.stack([np.bincount(label, row, len(means)) for row in rows], axis=1)
        moved = (sums / np.maximum(size, 1)[:, None]).astype(np.float32).reshape(means.shape)
        means = np.where((size > 0)[:, None, None], moved, means)
    return means


def _summed_distances(features: FloatArray, places: FloatArray) -> NDArray[np.float64]:
    """Sum of the distances of all strands to each of `places` (Q, R, 3), shape (Q,)."""
    distance = np.empty(features.shape[2], np.float32)
    sums = np.empty(len(places))
    for i, place in enumerate(places):
        kernels.distances_to(features, place, distance)
        sums[i] = distance.sum(dtype=np.float64)
    return sums


def _strands_near_means(places: FloatArray, means: FloatArray) -> IntArray:
    """The few strands of each cluster that are nearest to its mean, all nearest ones first."""
    label = np.empty(len(places), np.int64)
    distance = np.empty(len(places), np.float32)
    kernels.nearest_places(_side_by_side(places), means, label, distance)
    order = np.lexsort((distance, label))
    starts = np.searchsorted(label[order], np.arange(len(means)))
    rank = np.arange(len(order)) - starts[label[order]]
    near = rank < max(TRIES_PER_MEAN, TRIES // len(means))
    return order[near][np.argsort(rank[near], kind="stable")]
