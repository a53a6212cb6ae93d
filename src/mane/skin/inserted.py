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

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray, IntArray
from mane.groom.groom import Groom
from mane.skin import _kernels_inserted as kernels
from mane.skin.bundles import Bundles
from mane.strand.frame import GuideFrame, InsertedGuides


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
        kept: what a skin made of all this but the frame and the weights, for as long as the same guides are there.
    """

    hairs: IntArray
    of_hair: NDArray[np.int32]
    bundle: IntArray
    guide: NDArray[np.int32]
    parameter: FloatArray
    weight: FloatArray
    frame: GuideFrame
    rest: NDArray[np.float64]
    kept: dict[str, Any]


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
    kept: dict[str, Any] = field(default_factory=dict)


def follow(
    inserted: InsertedGuides, bundles: Bundles, rest: FloatArray, groom: Groom, last: Following | None = None
) -> Following:
    """Find the hairs that inserted guides concern.

    Args:
        inserted: the guides; those without weight concern nobody.
        bundles: of the skin.
        rest: own guides at rest [m], shape (G, U, 3).
        groom: the hairs at rest.
        last: what was found for the last frame, which often still holds.
    """
    key = inserted.parents.tobytes() + (inserted.weight > 0).tobytes() + inserted.rest.tobytes()
    if last is not None and last.key == key:
        return last
    bundle, edges, ends = _edges(bundles.guide, inserted)
    local = np.full(bundles.bundle_count, kernels.NOBODY, np.int32)
    local[bundle] = np.arange(len(bundle))
    hairs = np.flatnonzero(local[bundles.of_hair] >= 0)
    of_hair = local[bundles.of_hair[hairs]]
    own, places = bundles.guide[bundle], bundles.parameter[bundle]
    guide = np.concatenate([own, np.where(edges >= 0, edges + len(rest), own[:, :1])], axis=1).astype(np.int32)
    whole_rest = np.concatenate([rest, inserted.rest]).astype(np.float64)
    is_nearer = np.ones((len(hairs), edges.shape[1]), np.bool_)
    if own.shape[1] == 1:
        way = np.linalg.norm(groom.roots[hairs, None] - whole_rest[guide[of_hair], 0], axis=2)
        is_nearer = way[:, 1:] < way[:, :1]
    rows = np.arange(len(bundle))[:, None]
    between = 0.5 * (places[rows, ends[..., 0]] + places[rows, ends[..., 1]])
    parameter = np.concatenate([places, between], axis=1)
    return Following(key, edges, ends, is_nearer, hairs, of_hair, bundle, guide, parameter, whole_rest)


def regroup(frame: GuideFrame, following: Following, weight: FloatArray) -> Regrouped:
    """Say how far hairs follow the inserted guides of a frame; `weight` (S, K) is that of their own guides."""
    assert frame.inserted is not None
    own, hairs, of_hair = weight.shape[1], following.hairs, following.of_hair
    shares = np.empty((len(hairs), own + following.edges.shape[1]), np.float32)
    edges, fade = (following.edges, following.ends), frame.inserted.weight.astype(np.float64)
    kernels.share_out(weight, own, hairs, of_hair, *edges, fade, following.is_nearer, shares)
    layout = (following.bundle, following.guide, following.parameter)
    return Regrouped(hairs, of_hair, *layout, shares, with_inserted(frame), following.rest, following.kept)


def with_inserted(frame: GuideFrame) -> GuideFrame:
    """Return the frame with inserted guides behind the own ones in the same arrays."""
    inserted = frame.inserted
    assert inserted is not None
    names = ("points", "velocity", "orientations", "cut_force", "roots", "root_rotations", "weight")
    arrays: dict[str, Any] = {name: np.concatenate([getattr(frame, name), getattr(inserted, name)]) for name in names}
    active = np.concatenate([frame.active, np.ones(inserted.count, np.bool_)])
    return replace(frame, **arrays, active=active, inserted=None)


def _edges(guide: NDArray[np.int32], inserted: InsertedGuides) -> tuple[IntArray, IntArray, IntArray]:
    """Bundles that inserted guides concern (B,), those guides or -1 (B, E), and where their parents are (B, E, 2)."""
    counts, present = np.empty(len(guide), np.int64), inserted.weight > 0
    kernels.count_edges(guide, inserted.parents, present, counts)
    bundle = np.flatnonzero(counts)
    edges = np.empty((len(bundle), counts.max(initial=0)), np.int64)
    ends = np.empty((*edges.shape, 2), np.int64)
    kernels.fill_edges(guide, inserted.parents, present, bundle, edges, ends)
    return bundle, edges, ends
