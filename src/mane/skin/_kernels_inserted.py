"""Which hairs follow guides that were inserted during a run, and how far; see `inserted`."""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import njit, prange

NOBODY = -1


@njit(cache=True, error_model="numpy")
def place_of(guides, wanted):
    """Place of a guide among those of a bundle, or -1."""
    for k in range(len(guides)):
        if guides[k] == wanted:
            return k
    return NOBODY


@njit(cache=True, error_model="numpy")
def edge_between(guides, a, b):
    """Places of both parents of an inserted guide in a bundle, where it concerns that; otherwise -1.

    A bundle of one guide is concerned by all that have it for a parent.
    """
    first, second = place_of(guides, a), place_of(guides, b)
    if len(guides) == 1:
        first = second = max(first, second)
    if first == NOBODY or second == NOBODY:
        return NOBODY, NOBODY
    return first, second


@njit(cache=True, error_model="numpy")
def count_edges(
    guide,
    parents,
    present,
    # out
    counts,
):
    """Fill `counts (M,)` with how many of the inserted guides of `parents (I, 2)` concern bundles of `guide (M, K)`.

    `present (I,)` says which of them count.
    """
    for m in range(len(guide)):
        counts[m] = 0
        for number in range(len(parents)):
            if present[number] and edge_between(guide[m], parents[number, 0], parents[number, 1])[0] != NOBODY:
                counts[m] += 1


@njit(cache=True, error_model="numpy")
def fill_edges(
    guide,
    parents,
    present,
    bundle,
    # out
    edges,
    ends,
):
    """Fill `edges (B, E)` with the inserted guides that concern each `bundle (B,)`, or -1, and their `ends (B, E, 2)`.

    Other arguments as in `count_edges`.
    """
    for row in range(len(bundle)):
        count = 0
        for number in range(len(parents)):
            first, second = edge_between(guide[bundle[row]], parents[number, 0], parents[number, 1])
            if present[number] and first != NOBODY:
                edges[row, count], ends[row, count, 0], ends[row, count, 1] = number, first, second
                count += 1
        edges[row, count:], ends[row, count:] = NOBODY, 0


@njit(cache=True, error_model="numpy")
def taken_by(edge, ends, fade, own):
    """What an inserted guide would take from each end of its edge."""
    return fade[edge] * min(np.float64(own[ends[0]]), np.float64(own[ends[1]])) if edge != NOBODY else 0.0


@njit(cache=True, error_model="numpy")
def lost_by(k, edges, ends, fade, is_nearer, own):
    """What all inserted guides together would take from own guide `k`."""
    loss = 0.0
    for e in range(len(edges)):
        if is_nearer[e] and (ends[e, 0] == k or ends[e, 1] == k):
            loss += taken_by(edges[e], ends[e], fade, own)
    return loss


@njit(cache=True, error_model="numpy", parallel=True)
def share_out(
    weight,
    own_count,
    hairs,
    of_hair,
    edges,
    ends,
    fade,
    is_nearer,
    # out
    shares,
):
    """Fill `shares (H, K + E)` as `_reference.shared_out` does.

    Args:
        weight: of the own guides of all hairs (S, K or more).
        own_count: K.
        hairs: those that follow inserted guides (H,).
        of_hair: row of `edges` of each of them (H,).
        edges: inserted guides of each bundle (B, E), or -1.
        ends: the two own guides that each was inserted between, as columns of `weight` (B, E, 2).
        fade: how far each inserted guide is there (I,).
        is_nearer: whether a hair may follow it (H, E).
        shares: see above.
    """
    for h in prange(len(hairs)):
        own, of_edges, of_ends, near = weight[hairs[h]], edges[of_hair[h]], ends[of_hair[h]], is_nearer[h]
        scale = 1.0
        for k in range(own_count):
            loss = lost_by(k, of_edges, of_ends, fade, near, own)
            if loss > 0.0:
                scale = min(scale, own[k] / loss)
        for k in range(own_count):
            left = own[k] - scale * lost_by(k, of_edges, of_ends, fade, near, own)
            shares[h, k] = max(left, 0.0)
        for e in range(len(of_edges)):
            gained = scale * taken_by(of_edges[e], of_ends[e], fade, own) if near[e] else 0.0
            shares[h, own_count + e] = gained if of_ends[e, 0] == of_ends[e, 1] else 2.0 * gained
