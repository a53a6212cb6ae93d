"""Which of its guides carry a hair (chai2017 4.3): sets are bitmasks over the at most ten eligible guides of a hair."""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import njit, prange
from mane.skin.adaptive.params import MAX_ELIGIBLE

U = np.uint64
HALF_BITS, LOW_BITS = 5, 31
HAIRS_PER_TASK = 64
NO_SET = -1  # in place of the number of a set: none of a hair's guides is there


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
            # Without a branch, which could not be predicted.
            bit = np.int64((edges[g, h >> 6] >> U(h & 63)) & U(1))
            neighbours[a] |= bit << b
            neighbours[b] |= bit << a


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


@njit(cache=True, error_model="numpy")
def is_connected(mask, slots, edges):
    """The same as `is_valid`, asking the graph for the guides of the set alone."""
    for a in range(len(slots)):
        if mask >> a & 1:
            g = slots[a]
            for b in range(a, len(slots)):
                if mask >> b & 1:
                    h = slots[b]
                    if not (edges[g, h >> 6] >> U(h & 63)) & U(1):
                        return False
    return mask != 0


@njit(cache=True, error_model="numpy")
def fill_halves(
    neighbours,
    count,
    # out
    halves,
):
    """Fill `halves (2, 32)` with what all guides of a set are connected to, for each half of the bits of its mask.

    A set is valid where it is part of both: two numbers read, for any of the sets of a hair.
    """
    for half in range(2):
        halves[half, 0] = (1 << MAX_ELIGIBLE) - 1
        for a in range(HALF_BITS):
            guide = HALF_BITS * half + a
            own = neighbours[guide] if guide < count else 0
            for part in range(1 << a):
                halves[half, (1 << a) + part] = halves[half, part] & own


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
    for task in prange((len(slots) + HAIRS_PER_TASK - 1) // HAIRS_PER_TASK):
        neighbours, halves = np.empty(MAX_ELIGIBLE, np.int64), np.empty((2, 1 << HALF_BITS), np.int64)
        for s in range(task * HAIRS_PER_TASK, min((task + 1) * HAIRS_PER_TASK, len(slots))):
            start, best, held = first[s], np.int64(NO_SET), np.int64(chosen[s])
            # Where nothing disturbs the hair its best set is valid, and the other guides are not asked for.
            if is_connected(np.int64(masks[start]), slots[s], edges):
                best = 0
            else:
                fill_neighbours(slots[s], counts[s], edges, neighbours)
                fill_halves(neighbours, counts[s], halves)
                for k in range(start + 1, first[s + 1]):
                    mask = np.int64(masks[k])
                    if halves[0, mask & LOW_BITS] & halves[1, mask >> HALF_BITS] & mask == mask:
                        best = k - start
                        break
            if (
                held > best >= 0
                and np.int64(log_error[start + held]) - np.int64(log_error[start + best]) <= log_hysteresis
                and is_connected(np.int64(masks[start + held]), slots[s], edges)
            ):
                best = held
            chosen[s] = best
