"""Which of its guides carry a hair (chai2017 4.3): sets are bitmasks over the at most ten eligible guides of a hair."""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import njit, prange

U = np.uint64
MAX_ELIGIBLE = 10
NOBODY = -1


@njit(cache=True, error_model="numpy")
def fill_neighbours(
    slots,
    count,
    edges,
    # out
    neighbours,
):
    """Fill `neighbours (10,)` with a mask for each eligible guide: those that it is connected to, itself too.

    `slots (M,)` are the guides, of which the first `count` are eligible; one that is not there has an empty mask.
    """
    for a in range(count):
        neighbours[a] = 0
    for a in range(count):
        g = slots[a]
        for b in range(a, count):
            h = slots[b]
            if (edges[g, h >> 6] >> U(h & 63)) & U(1):
                neighbours[a] |= 1 << b
                neighbours[b] |= 1 << a


@njit(cache=True, error_model="numpy")
def is_valid(mask, neighbours):
    """Whether all guides of a set are there and connected pairwise."""
    rest, a = mask, 0
    while rest:
        if rest & 1 and neighbours[a] & mask != mask:
            return False
        rest >>= 1
        a += 1
    return mask != 0


@njit(cache=True, error_model="numpy")
def nearest_clique(neighbours, count):
    """The clique that starts with the nearest guide and takes every next one that is connected to all before it."""
    mask = 0
    for a in range(count):
        if neighbours[a] >> a & 1 and neighbours[a] & mask == mask:
            mask |= 1 << a
    return mask


@njit(cache=True, error_model="numpy")
def influence(mask, affinity):
    """Sum of the `affinity (M,)` of the guides of a set."""
    total = 0.0
    for a in range(len(affinity)):
        if mask >> a & 1:
            total += affinity[a]
    return total


@njit(cache=True, error_model="numpy", parallel=True)
def choose_near(
    slots,
    counts,
    affinity,
    edges,
    hysteresis,
    # in and out
    chosen,
):
    """Choose a mask for every hair whose sets are all cliques of its eligible guides, the nearest first.

    A mask stays while it is valid and has the larger part, 1 / `hysteresis`, of the influence of the new one.

    Args:
        slots: eligible guides of each hair, nearest first (S, M).
        counts: how many of them there are (S,).
        affinity: influence of each (S, M).
        edges: of the guide graph (G, W).
        hysteresis: see above.
        chosen: mask of each hair in the frame before, and now (S,); 0 where no guide is there.
    """
    for s in prange(len(slots)):
        neighbours = np.empty(MAX_ELIGIBLE, np.int64)
        fill_neighbours(slots[s], counts[s], edges, neighbours)
        best = nearest_clique(neighbours, counts[s])
        held = np.int64(chosen[s])
        if is_valid(held, neighbours) and hysteresis * influence(held, affinity[s]) >= influence(best, affinity[s]):
            best = held
        chosen[s] = best


@njit(cache=True, error_model="numpy", parallel=True)
def choose_listed(
    slots,
    counts,
    first,
    masks,
    log_error,
    edges,
    log_hysteresis,
    # in and out
    chosen,
):
    """Choose the set of every hair with the least error among those that are valid, or keep the one it has.

    Args:
        slots: eligible guides of each hair (S, M).
        counts: how many of them there are (S,).
        first: where the sets of each hair begin and end (S + 1,).
        masks: of all sets, those of a hair by rising error (N,).
        log_error: logarithm of each set's error over that of the hair's best, in whole units (N,).
        edges: of the guide graph (G, W).
        log_hysteresis: a valid set stays while its `log_error` is no more than this above that of the best.
        chosen: number of each hair's set among its own in the frame before, and now (S,); -1 where none is valid.
    """
    for s in prange(len(slots)):
        neighbours = np.empty(MAX_ELIGIBLE, np.int64)
        fill_neighbours(slots[s], counts[s], edges, neighbours)
        start, best = first[s], np.int64(NOBODY)
        for k in range(start, first[s + 1]):
            if is_valid(np.int64(masks[k]), neighbours):
                best = k - start
                break
        held = np.int64(chosen[s])
        if (
            held > best >= 0
            and np.int64(log_error[start + held]) - np.int64(log_error[start + best]) <= log_hysteresis
            and is_valid(np.int64(masks[start + held]), neighbours)
        ):
            best = held
        chosen[s] = best
