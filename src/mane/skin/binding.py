r"""`GuideBinding`: which guides carry each hair, and how much each of them counts.

```
        a                 triangle: the guides whose roots form a triangle around the hair's root (hsu2024 fig. 3),
       / \                weighted by its barycentric coordinates, so that the weight of a guide fades to nothing where
      / x \               the next triangle begins; beyond the outermost guides, the nearest edge of them
     b-----c              nearest:  the n nearest guides, fading out towards the n+1st; single: the nearest one alone
                          clump:    the triangle of the hair in the middle of its clump, a ringlet or a wisp: where
                          guides part, a clump moves as one and does not fray
```
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import IntArray, require_choice
from mane.geometry.index import PointIndex
from mane.geometry.limits import Range, check_arguments
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.select import GuideNotice
from mane.skin import _kernels_binding as kernels

Binding = Literal["triangle", "single", "nearest", "clump"]
BINDINGS = get_args(Binding)
CLUMP = "clump_id"  # strand attribute of a groom, as any tool may write it; hairs below 0 are of no clump
MAX_GUIDES = 8
GuidesPerHair = Annotated[int, Range(least=1, most=MAX_GUIDES)]
RECORDED_GUIDES = 3  # what other tools have room for

# Guides around a root among which its triangle is looked for: enough for guides that are spread unevenly, few enough to
# lie in about one plane.
CANDIDATES = 24
# Hairs that are looked at together: what is known of their candidates meanwhile takes some 1 kB each.
ROWS_AT_ONCE = 32_768
# A guide closer to a root than this share of the next one's distance is on the root.
ON_THE_ROOT = 1e-6


@dataclass(frozen=True, eq=False)
class GuideBinding:
    """Guides and weights of every hair; K is 3 for `triangle` and `clump`, 1 for `single`.

    Attributes:
        guides: slots of the guides of each hair, shape (S, K), int32, in an order that depends on where the guides are
            and not on their numbers. Where a hair has fewer guides, the last one is repeated without weight.
        weights: how much each counts, at least 0, with a sum of 1, shape (S, K), float32.
    """

    guides: NDArray[np.int32]
    weights: NDArray[np.float32]

    @property
    def hair_count(self) -> int:
        """Number of hairs, S."""
        return len(self.guides)

    @property
    def guides_per_hair(self) -> int:
        """Guides of a hair, K."""
        result: int = self.guides.shape[1]
        return result

    def strongest(self, count: int = RECORDED_GUIDES) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the guides that count most, weights falling with a sum of 1; both (S, min(K, count))."""
        order = np.argsort(-self.weights, axis=1, kind="stable")[:, :count]
        kept = np.take_along_axis(self.weights, order, axis=1)
        return np.take_along_axis(self.guides, order, axis=1), kept / kept.sum(axis=1, keepdims=True)


def bind_guides(groom: Groom, guides: Guides, method: str = "triangle", count: GuidesPerHair = 3) -> GuideBinding:
    """Bind every hair of `groom` to guides near its root; empty slots are left out.

    Args:
        groom: the hairs. Where it and the guides have a `group_id`, a hair takes guides of its own group, if there are.
        guides: what may carry them.
        method: `triangle`, `single`, `nearest`, or `clump`, for which hairs need an attribute `clump_id`.
        count: how many guides `nearest` takes; the others ignore it.
    """
    require_choice("binding", method, BINDINGS)
    check_arguments(bind_guides, locals())
    if method == "clump":
        middle = clump_middles(groom)
        each = bind_guides(groom, guides, "triangle")
        return GuideBinding(each.guides[middle], each.weights[middle])
    places = {"triangle": 3, "single": 1, "nearest": count}[method]
    chosen = np.empty((groom.strand_count, places), np.int32)
    weights = np.empty((groom.strand_count, places), np.float32)
    slots = canonical_order(guides)
    for hairs, eligible in by_group(groom, guides, slots):
        own = guides.roots[eligible]
        for start in range(0, len(hairs), ROWS_AT_ONCE):
            rows = hairs[start : start + ROWS_AT_ONCE]
            roots = groom.roots[rows]
            local, weight = _triangles(roots, own) if method == "triangle" else _nearest(roots, own, places)
            chosen[rows] = eligible[local]
            weights[rows] = weight
    return GuideBinding(chosen, weights)


def clump_middles(groom: Groom) -> IntArray:
    """The hair whose root is nearest to the mean of the roots of each hair's clump, shape (S,); itself without one.

    Groups have clumps of their own.
    """
    if CLUMP not in groom.strand or groom.strand[CLUMP].ndim != 1:
        raise ValueError(f"binding: 'clump' needs a groom with a strand attribute {CLUMP!r}, this one has none")
    hairs, clump = np.arange(groom.strand_count), groom.strand[CLUMP]
    named = np.flatnonzero(clump >= 0)
    group = groom.strand.get("group_id", np.zeros(len(hairs), np.int32))
    _, label = np.unique(np.stack([group[named], clump[named]], axis=1), axis=0, return_inverse=True)
    label = label.reshape(-1)
    roots, size = groom.roots[named].astype(np.float64), np.bincount(label)
    mean = np.stack([np.bincount(label, roots[:, c]) / size for c in range(3)], axis=1)
    nearest_first = np.lexsort((np.linalg.norm(roots - mean[label], axis=1), label))
    middle = hairs.copy()
    middle[named] = named[nearest_first[np.cumsum(size) - size][label]]
    return middle


def canonical_order(guides: Guides) -> IntArray:
    """Slots of the guides that are there, in the order of their points in space, whatever their numbers."""
    slots = np.flatnonzero(guides.active)
    rest = guides.rest[slots].reshape(len(slots), -1)
    return slots[np.lexsort(rest.T[::-1])]


def by_group(groom: Groom, guides: Guides, slots: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Hairs that share their eligible guides, and those guides: of their group, or all where it has none."""
    every = np.arange(groom.strand_count)
    if "group_id" not in groom.strand or "group_id" not in guides.strands.strand:
        yield every, slots
        return
    groups, of_guide = groom.strand["group_id"], guides.strands.strand["group_id"][slots]
    without = np.setdiff1d(groups, of_guide)
    if len(without):
        _tell_of_groups(groom, without)
    for group in np.unique(groups):
        own = slots[of_guide == group]
        yield np.flatnonzero(groups == group), own if len(own) else slots


def _tell_of_groups(groom: Groom, without: NDArray[np.int32]) -> None:
    """Warn that hairs of groups hang on guides of others."""
    first = int(without[0])
    name = groom.group_names.get(first, first)
    more = f", and {len(without) - 1} more groups have none" if len(without) > 1 else ""
    warnings.warn(
        f"guides: none is of group {name!r}, whose {int((groom.strand['group_id'] == first).sum()):,} hairs hang on "
        f"those of other groups{more}; choose more guides, or some of every group",
        GuideNotice,
        stacklevel=2,
    )


def _nearest(roots: NDArray[np.float32], own: NDArray[np.float32], count: int) -> tuple[IntArray, NDArray[np.float64]]:
    """Nearest guides and weights (1/d - 1/d_next)^2, which fall to zero where another guide takes over."""
    distance, index = PointIndex(own).nearest(roots, count + 1)
    d, index = distance[:, :count].astype(np.float64), index[:, :count]
    is_last = distance.shape[1] <= count  # no guide is left to take over
    scale = distance[:, -1:].astype(np.float64)
    share = np.divide(d, scale, out=np.ones_like(d), where=scale > 0)
    weight = (1 / np.maximum(share, ON_THE_ROOT) - (0 if is_last else 1)) ** 2
    weight[weight.sum(axis=1) == 0] = 1.0  # all are as far as the next one
    weight /= weight.sum(axis=1, keepdims=True)
    order = np.argsort(index, axis=1)
    index, weight = np.take_along_axis(index, order, axis=1), np.take_along_axis(weight, order, axis=1)
    missing = count - index.shape[1]
    index = np.concatenate([index, np.repeat(index[:, -1:], missing, axis=1)], axis=1)
    return index, np.pad(weight, ((0, 0), (0, missing)))


def _triangles(roots: NDArray[np.float32], own: NDArray[np.float32]) -> tuple[IntArray, NDArray[np.float64]]:
    """The triangle of guides around each root, and the root's coordinates in it."""
    chosen = np.zeros((len(roots), 3), np.int64)
    weight = np.tile([1.0, 0.0, 0.0], (len(roots), 1))
    if len(own) == 1:
        return chosen, weight
    _, index = PointIndex(own).nearest(roots, CANDIDATES)
    index.sort(axis=1)
    kernels.enclosing_triangles(roots, own, index, chosen, weight)
    return chosen, weight
