r"""Hairs that follow guides inserted during a run (chang2002 4.3), without a jump when one comes or goes.

```
     a --- c --- b        c was inserted half-way between a and b. The hair x hung on a and b by w_a and w_b; as c fades
      \    x    /         in, it takes min(w_a, w_b) from each, so that x hangs on the nearer of them and on c: exactly
       \       /          the weights that the finer triangles a c d and c b d would give
        `- d -'
```

With guides inserted on several edges of a triangle, what they take together is scaled down until nobody's weight is
below zero; in the middle of a triangle whose three edges all have one, the corners then count nothing, as they should.
A hair that hangs on one guide alone goes over to an inserted one whose root is nearer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray, IntArray
from mane.skin.bundles import Bundles
from mane.strand.frame import GuideFrame, InsertedGuides

NOBODY = -1


@dataclass(frozen=True, eq=False)
class Regrouped:
    """The H hairs that follow inserted guides at one frame, in B bundles of K + E guides; G own guides, I inserted.

    Attributes:
        hairs: strands of the groom, rising, shape (H,).
        of_hair: bundle of each, among those here, shape (H,), int32.
        bundle: number of each bundle among those of the skin, shape (B,).
        guide: guides of each bundle, the inserted ones counted from G on, shape (B, K + E), int32.
        parameter: places on them, as in `Bundles`, shape (B, K + E, V), float32.
        weight: of the guides of each hair, shape (H, K + E), float32; those of a hair have the sum that they had.
        frame: own and inserted guides in the same arrays, (G + I, ...).
        rest: the same at rest [m], shape (G + I, U, 3), float64.
    """

    hairs: IntArray
    of_hair: NDArray[np.int32]
    bundle: IntArray
    guide: NDArray[np.int32]
    parameter: FloatArray
    weight: FloatArray
    frame: GuideFrame
    rest: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Following:
    """Which hairs some inserted guides concern, whatever their fade: what stays as long as the same ones are there.

    Attributes:
        key: of the inserted guides.
        edges: inserted guides of each bundle, or -1, shape (B, E).
        ends: columns of the two own guides that each lies between, shape (B, E, 2).
        is_nearer: for hairs of one guide, whether an inserted root is nearer than theirs, shape (H, E); else all true.
        hairs: as in `Regrouped`, and so are the others.
    """

    key: bytes
    edges: IntArray
    ends: IntArray
    is_nearer: NDArray[np.bool_]
    hairs: IntArray
    of_hair: NDArray[np.int32]
    bundle: IntArray
    guide: NDArray[np.int32]
    parameter: FloatArray
    rest: NDArray[np.float64]


def follow(
    inserted: InsertedGuides, bundles: Bundles, rest: FloatArray, roots: FloatArray, last: Following | None = None
) -> Following:
    """Find the hairs that inserted guides concern.

    Args:
        inserted: the guides; those without weight concern nobody.
        bundles: of the skin.
        rest: own guides at rest [m], shape (G, U, 3).
        roots: of the hairs at rest [m], shape (S, 3).
        last: what was found for the last frame, which often still holds.
    """
    key = inserted.parents.tobytes() + (inserted.weight > 0).tobytes() + inserted.rest.tobytes()
    if last is not None and last.key == key:
        return last
    bundle, edges, ends = _edges(bundles.guide, inserted)
    local = np.full(bundles.bundle_count, NOBODY, np.int32)
    local[bundle] = np.arange(len(bundle))
    hairs = np.flatnonzero(local[bundles.of_hair] >= 0)
    of_hair = local[bundles.of_hair[hairs]]
    own, places = bundles.guide[bundle], bundles.parameter[bundle]
    guide = np.concatenate([own, np.where(edges >= 0, edges + len(rest), own[:, :1])], axis=1).astype(np.int32)
    whole_rest = np.concatenate([rest, inserted.rest]).astype(np.float64)
    is_nearer = np.ones((len(hairs), edges.shape[1]), np.bool_)
    if own.shape[1] == 1:
        way = np.linalg.norm(roots[hairs, None] - whole_rest[guide[of_hair], 0], axis=2)
        is_nearer = way[:, 1:] < way[:, :1]
    rows = np.arange(len(bundle))[:, None]
    between = 0.5 * (places[rows, ends[..., 0]] + places[rows, ends[..., 1]])
    parameter = np.concatenate([places, between], axis=1)
    return Following(key, edges, ends, is_nearer, hairs, of_hair, bundle, guide, parameter, whole_rest)


def regroup(frame: GuideFrame, following: Following, weight: FloatArray) -> Regrouped:
    """Say how far hairs follow the inserted guides of a frame; `weight` (S, K) is that of their own guides."""
    assert frame.inserted is not None
    hairs, of_hair = following.hairs, following.of_hair
    fade = np.where(following.edges >= 0, frame.inserted.weight[following.edges], 0.0)[of_hair] * following.is_nearer
    shares = shared_out(weight[hairs].astype(np.float64), fade, following.ends[of_hair])
    layout = (following.bundle, following.guide, following.parameter)
    return Regrouped(hairs, of_hair, *layout, shares, with_inserted(frame), following.rest)


def shared_out(weight: NDArray[np.float64], fade: NDArray[np.float64], ends: IntArray) -> FloatArray:
    """Weights (H, K + E) of hairs with `weight` (H, K), once inserted guides have taken their share.

    Args:
        weight: of the own guides.
        fade: how far each inserted guide may be followed by each hair, 0 to 1, shape (H, E).
        ends: the two own guides that each was inserted between, as columns of `weight`, shape (H, E, 2); twice the
            same for a hair with one guide.
    """
    row = np.arange(len(weight))[:, None]
    is_pair = ends[..., 0] != ends[..., 1]
    taken = fade * np.minimum(weight[row, ends[..., 0]], weight[row, ends[..., 1]])
    loss = np.zeros_like(weight)
    for edge in range(fade.shape[1]):
        loss[row[:, 0], ends[:, edge, 0]] += taken[:, edge]
        loss[row[:, 0], ends[:, edge, 1]] += np.where(is_pair[:, edge], taken[:, edge], 0.0)
    allowed = np.divide(weight, loss, out=np.full_like(weight, np.inf), where=loss > 0)
    scale = np.minimum(allowed.min(axis=1, keepdims=True), 1.0)
    gained = scale * taken * np.where(is_pair, 2.0, 1.0)
    return np.concatenate([np.maximum(weight - scale * loss, 0.0), gained], axis=1).astype(np.float32)


def with_inserted(frame: GuideFrame) -> GuideFrame:
    """Return the frame with inserted guides behind the own ones in the same arrays."""
    inserted = frame.inserted
    assert inserted is not None
    names = ("points", "velocity", "frames", "cut_force", "roots", "root_rotations", "weight")
    arrays: dict[str, Any] = {name: np.concatenate([getattr(frame, name), getattr(inserted, name)]) for name in names}
    active = np.concatenate([frame.active, np.ones(inserted.count, np.bool_)])
    return replace(frame, **arrays, active=active, inserted=None)


def _edges(guide: NDArray[np.int32], inserted: InsertedGuides) -> tuple[IntArray, IntArray, IntArray]:
    """Bundles that inserted guides concern (B,), those guides or -1 (B, E), and the places of their parents (B, E, 2).

    A bundle of one guide is concerned by all that have it for a parent.
    """
    found: dict[int, list[tuple[int, int, int]]] = {}
    for index in np.flatnonzero(inserted.weight > 0).tolist():
        a, b = (guide == parent for parent in inserted.parents[index])
        concerned = (a.any(axis=1) & b.any(axis=1)) if guide.shape[1] > 1 else (a | b)[:, 0]
        first, second = a.argmax(axis=1), b.argmax(axis=1)
        for row in np.flatnonzero(concerned).tolist():
            found.setdefault(row, []).append((index, int(first[row]), int(second[row])))
    bundle = np.array(sorted(found), np.int64)
    most = max((len(each) for each in found.values()), default=0)
    edges = np.full((len(bundle), most), NOBODY)
    ends = np.zeros((len(bundle), most, 2), np.int64)
    for place, row in enumerate(bundle.tolist()):
        for number, (index, *places) in enumerate(found[row]):
            edges[place, number], ends[place, number] = index, places
    return bundle, edges, ends
