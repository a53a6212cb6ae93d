"""The choice as chai2017 prints it (algorithm 1, lines 16 to 23, and eq. 3): sets within cliques, close to the last."""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import njit, prange
from mane.skin.adaptive._kernels_blend import SCRATCH, Carried, add_carried, bit_count, sum_listed, sum_near
from mane.skin.adaptive._kernels_choose import NO_SET
from mane.skin.adaptive.params import MAX_ELIGIBLE

U = np.uint64
ZERO = np.float32(0.0)
ONE = np.float32(1.0)
MASKS = 1 << MAX_ELIGIBLE


@njit(cache=True, error_model="numpy")
def fill_clique_masks(
    slots,
    count,
    cliques,
    # out
    found,
):
    """Fill `found (1024,)` with what the cliques (G, W) leave of a hair's guides `slots (M,)`; returns how many.

    Every mask is there once, and the empty one is not.
    """
    seen = np.zeros(MASKS, np.bool_)
    distinct = 0
    for g in range(len(cliques)):
        mask = 0
        for a in range(count):
            h = slots[a]
            if (cliques[g, h >> 6] >> U(h & 63)) & U(1):
                mask |= 1 << a
        if mask and not seen[mask]:
            seen[mask] = True
            found[distinct] = mask
            distinct += 1
    return distinct


@njit(cache=True, error_model="numpy")
def squared_distance(a, b):
    """Sum of squared differences of two arrays (3, V)."""
    total = 0.0
    for c in range(a.shape[0]):
        for i in range(a.shape[1]):
            total += (a[c, i] - b[c, i]) ** 2
    return total


@njit(cache=True, error_model="numpy", parallel=True)
def choose_printed_near(
    slots,
    counts,
    cliques,
    carried,
    tangents,
    rows,
    present,
    # in and out
    chosen,
):
    """Choose for every hair what a clique leaves of its eligible guides, such that it moves least (chai2017 eq. 3).

    Arguments as in `_kernels_choose.choose_near` and `_kernels_blend.blend_near`; cliques as of `fill_cliques`.
    `tangents` are carried as positions are, as lengths: the other half of the states that are compared; or no hairs.
    """
    rest, guide_rest = carried.rest, carried.guide_rest
    vertices, has_tangents = rest.shape[2], len(tangents.rest) > 0
    for s in prange(len(slots)):
        scratch = np.empty((SCRATCH, vertices), np.float32)
        held, held_tangent = np.empty((3, vertices), np.float32), np.empty((3, vertices), np.float32)
        acc = np.empty((3, vertices), np.float32)
        found = np.empty(MASKS, np.int64)
        distinct = fill_clique_masks(slots[s], counts[s], cliques, found)
        last = np.int64(chosen[s])
        sum_near(last, rows[s], rest[s], guide_rest, carried, s, present, scratch, held)
        if has_tangents:
            sum_near(last, rows[s], rest[s], guide_rest, tangents, s, present, scratch, held_tangent)
        best, least = 0, np.inf
        for k in range(distinct):
            sum_near(found[k], rows[s], rest[s], guide_rest, carried, s, present, scratch, acc)
            distance = squared_distance(acc, held)
            if has_tangents:
                sum_near(found[k], rows[s], rest[s], guide_rest, tangents, s, present, scratch, acc)
                distance += squared_distance(acc, held_tangent)
            if distance < least or (distance == least and found[k] > best):
                best, least = found[k], distance
        chosen[s] = best


@njit(cache=True, error_model="numpy")
def carried_by_each(carried, rows, s, scratch):
    """What each of the guides `rows (M,)` carries of hair s, as `Carried` with a row for each that turns nothing more.

    Every set of a hair is tried, and the same guides are in many.
    """
    vertices = carried.rest.shape[2]
    moved = np.zeros((len(rows), 3, vertices), np.float32)
    for a in range(len(rows)):
        scratch[0], scratch[1], scratch[2] = ONE, ZERO, ZERO
        add_carried(carried, s, rows[a], scratch[0], ONE, scratch, moved[a])
    return Carried(carried.rest, carried.guide_rest, moved, carried.rotation[:0])


@njit(cache=True, error_model="numpy", parallel=True)
def choose_printed_listed(
    slots,
    counts,
    cliques,
    first,
    first_coefficient,
    masks,
    coefficients,
    scale,
    least_weight,
    carried,
    tangents,
    rows,
    present,
    # in and out
    chosen,
):
    """The same among what cliques leave of the sets of a hair, where that is a set with weights of its own."""
    vertices, has_tangents = carried.rest.shape[2], len(tangents.rest) > 0
    for s in prange(len(slots)):
        scratch = np.empty((SCRATCH, vertices), np.float32)
        held, held_tangent = np.zeros((3, vertices), np.float32), np.zeros((3, vertices), np.float32)
        acc = np.empty((3, vertices), np.float32)
        found, number = np.empty(MASKS, np.int64), np.full(MASKS, NO_SET, np.int64)
        distinct = fill_clique_masks(slots[s], counts[s], cliques, found)
        own = masks[first[s] : first[s + 1]]
        start = np.empty(len(own) + 1, np.int64)
        start[0] = first_coefficient[s]
        for k in range(len(own)):
            number[own[k]] = k
            start[k + 1] = start[k] + bit_count(np.int64(own[k]))
        k = chosen[s]
        places, there = np.arange(rows.shape[1]), np.empty(rows.shape[1], np.float32)
        for a in range(rows.shape[1]):
            there[a] = present[rows[s, a]]
        moved = carried_by_each(carried, rows[s], s, scratch)
        turned = carried_by_each(tangents, rows[s], s, scratch) if has_tangents else moved
        if k >= 0:
            mask, weights = np.int64(own[k]), coefficients[start[k] : start[k + 1]]
            sum_listed(mask, weights, scale, least_weight, places, moved, s, there, scratch, held)
            if has_tangents:
                sum_listed(mask, weights, scale, least_weight, places, turned, s, there, scratch, held_tangent)
        best, least = NO_SET, np.inf
        seen = np.zeros(MASKS, np.bool_)
        for j in range(len(own)):
            for c in range(distinct):
                mask = np.int64(own[j]) & found[c]
                if mask == 0 or seen[mask]:
                    continue
                seen[mask] = True
                k = number[mask]
                if k == NO_SET:  # no set of the model, which has no weights for it
                    continue
                weights = coefficients[start[k] : start[k + 1]]
                sum_listed(mask, weights, scale, least_weight, places, moved, s, there, scratch, acc)
                distance = squared_distance(acc, held)
                if has_tangents:
                    sum_listed(mask, weights, scale, least_weight, places, turned, s, there, scratch, acc)
                    distance += squared_distance(acc, held_tangent)
                if distance < least or (distance == least and k < best):
                    best, least = k, distance
        chosen[s] = best
