"""Hairs from the guides that were chosen for them (chai2017 eq. 5), and the fade of the jump where a set changes.

With x0 the hair at rest and u_k the displacement of guide k, both as seen from the head, a vertex is at

    x = T (x0 + sum_k w_k u_k + offset)

Rows of the tables are guides at the places that go with a hair's vertices: `shift (R, 3, V)` holds u_k. Where B_g is a
frame, u_k + (R_k - 1) (x0 - g0_k) takes the place of u_k, with the guide g0_k at rest and R_k how it has turned there.
Weights are those of chai2017 eq. 11 (`blend_near`), or polynomials along the hair, eq. 6 (`blend_listed`).
"""

# mypy: allow-untyped-defs

import math
from typing import Any, NamedTuple

import numpy as np

from mane.simd.jit import njit, prange

FASTMATH = {"contract", "arcp", "nsz", "afn"}

ZERO = np.float32(0.0)
ONE = np.float32(1.0)
# [m] A guide is not taken for closer than this: a hair that is a guide would have an infinite weight.
CLOSEST = np.float32(1e-5)
TINY = np.float32(1e-20)
# Below this share of its guides a hair is handed over to the head, little by little until the last guide is gone.
LEAST_PRESENCE = np.float32(0.05)
GONE = np.float32(1e-5)  # [m] a jump that is smaller has faded
HAIRS_PER_TASK = 64
SCRATCH = 6  # rows of V numbers that a sum over guides needs


class Carried(NamedTuple):
    """What guides carry: positions, or tangents.

    Attributes:
        rest: of the hairs at rest (S, 3, V).
        guide_rest: of the guides at rest (R, 3, V).
        shift: change of the guides since (R, 3, V).
        rotation: R - 1 of the guides (R, 9, V); none where they do not turn what they carry.
    """

    rest: Any
    guide_rest: Any
    shift: Any
    rotation: Any


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def add_guide(weight, shift, present, total, whole, acc):
    """Add a guide with weights (V,) along the hair to the sums: `acc (3, V)`, and `total (V,)` of what is there."""
    for i in range(len(weight)):
        whole[i] += weight[i]
        weight[i] *= present
        total[i] += weight[i]
    for c in range(3):
        for i in range(len(weight)):
            acc[c, i] += weight[i] * shift[c, i]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def clear(total, whole, acc):
    """Begin a hair without guides."""
    for i in range(len(total)):
        total[i] = ZERO
        whole[i] = ZERO
        acc[0, i] = ZERO
        acc[1, i] = ZERO
        acc[2, i] = ZERO


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def add_turned(carried, s, r, weight, present, scratch, acc):
    """Add what guide row r carries of hair s, turned as the guide is, with weights (V,)."""
    total, whole, turned = scratch[1], scratch[2], scratch[3:6]
    rest, guide_rest, shift, rotation = carried.rest[s], carried.guide_rest[r], carried.shift[r], carried.rotation[r]
    for c in range(3):
        for i in range(len(weight)):
            x, y, z = rest[0, i] - guide_rest[0, i], rest[1, i] - guide_rest[1, i], rest[2, i] - guide_rest[2, i]
            turned[c, i] = (
                shift[c, i] + rotation[3 * c, i] * x + rotation[3 * c + 1, i] * y + rotation[3 * c + 2, i] * z
            )
    add_guide(weight, turned, present, total, whole, acc)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def add_carried(carried, s, r, weight, present, scratch, acc):
    """Add what guide row r carries of hair s with weights (V,), turned or not."""
    if len(carried.rotation) > 0:
        add_turned(carried, s, r, weight, present, scratch, acc)
    else:
        add_guide(weight, carried.shift[r], present, scratch[1], scratch[2], acc)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def normalize(total, whole, acc):
    """Divide by the sum of weights; where next to nothing of the guides is there, the head takes over."""
    for i in range(len(total)):
        size = abs(total[i])
        share = min(size / max(abs(whole[i]) * LEAST_PRESENCE, TINY), ONE)
        scale = share / max(size, TINY)
        scale = scale if total[i] >= ZERO else -scale  # a sum below 0 comes of weights that are not clipped
        acc[0, i] *= scale
        acc[1, i] *= scale
        acc[2, i] *= scale


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def sum_near(mask, rows, rest, guide_rest, carried, s, present, scratch, acc):
    """Fill `acc (3, V)` with the change of hair s by the guides of a mask, weights of eq. 11 at rest.

    `rest (3, V)` of the hair and `guide_rest (R, 3, V)` say how far it is from guides; `scratch (6, V)` is overwritten.
    """
    weight, total, whole = scratch[0], scratch[1], scratch[2]
    shift, is_turned = carried.shift, len(carried.rotation) > 0  # a call with all of `carried` costs more than its sums
    clear(total, whole, acc)
    for a in range(len(rows)):
        if mask >> a & 1:
            r = rows[a]
            for i in range(len(weight)):
                x = rest[0, i] - guide_rest[r, 0, i]
                y = rest[1, i] - guide_rest[r, 1, i]
                z = rest[2, i] - guide_rest[r, 2, i]
                weight[i] = ONE / max(math.sqrt(x * x + y * y + z * z), CLOSEST)
            if is_turned:
                add_turned(carried, s, r, weight, present[r], scratch, acc)
            else:
                add_guide(weight, shift[r], present[r], total, whole, acc)
    normalize(total, whole, acc)


@njit(cache=True, error_model="numpy")
def bit_count(mask):
    """Number of guides of a set."""
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@njit(cache=True, error_model="numpy")
def coefficients_before(masks, number):
    """Number of weights of the first `number` sets of a hair."""
    count = 0
    for k in range(number):
        count += bit_count(np.int64(masks[k]))
    return count


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def sum_listed(mask, coefficients, scale, least, rows, carried, s, present, scratch, acc):
    """Fill `acc (3, V)` with the change of hair s by the guides of a set with weights that are polynomials.

    `coefficients (k, degree + 1)` are those of the guides of the mask in rising order, as parts of `scale`; the
    variable is 0 at the root and 1 at the tip. A weight below `least` counts as that.
    """
    weight, total, whole = scratch[0], scratch[1], scratch[2]
    shift, is_turned = carried.shift, len(carried.rotation) > 0
    clear(total, whole, acc)
    member, degrees = 0, coefficients.shape[1]
    step = ONE / np.float32(max(len(weight) - 1, 1))
    for a in range(len(rows)):
        if mask >> a & 1:
            r = rows[a]
            for i in range(len(weight)):
                weight[i] = scale * np.float32(coefficients[member, degrees - 1])
            for d in range(degrees - 2, -1, -1):
                c = scale * np.float32(coefficients[member, d])
                for i in range(len(weight)):
                    weight[i] = c + np.float32(i) * step * weight[i]
            for i in range(len(weight)):
                weight[i] = max(weight[i], least)
            if is_turned:
                add_turned(carried, s, r, weight, present[r], scratch, acc)
            else:
                add_guide(weight, shift[r], present[r], total, whole, acc)
            member += 1
    normalize(total, whole, acc)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def sum_constant(mask, coefficients, scale, rows, shift, present, own, weights, acc):
    """The same as `sum_listed` for weights that are constant along the hair.

    Weights are scaled before they are applied, and guides added by fours, so that `acc` is written once.
    `own` and `weights` (M + 3,) are overwritten.
    """
    total, whole, count = ZERO, ZERO, 0
    for a in range(len(rows)):
        if mask >> a & 1:
            weight = max(scale * np.float32(coefficients[count, 0]), ZERO)
            whole += weight
            own[count], weights[count] = rows[a], weight * present[rows[a]]
            total += weights[count]
            count += 1
    share = min(total / max(whole * LEAST_PRESENCE, TINY), ONE) / max(total, TINY)
    for k in range(count, count + 3):
        own[k], weights[k] = own[0], ZERO
    for k in range(0, count, 4):
        w0, w1, w2, w3 = weights[k] * share, weights[k + 1] * share, weights[k + 2] * share, weights[k + 3] * share
        s0, s1, s2, s3 = shift[own[k]], shift[own[k + 1]], shift[own[k + 2]], shift[own[k + 3]]
        for c in range(3):
            for i in range(acc.shape[1]):
                moved = w0 * s0[c, i] + w1 * s1[c, i] + w2 * s2[c, i] + w3 * s3[c, i]
                acc[c, i] = moved if k == 0 else acc[c, i] + moved


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def sum_set(mask, coefficients, scale, least, rows, carried, s, present, scratch, members, weights, acc):
    """Fill `acc (3, V)` with the displacement of hair s by a set whose weights are constant, or polynomials."""
    if coefficients.shape[1] == 1 and len(carried.rotation) == 0:
        sum_constant(mask, coefficients, scale, rows, carried.shift, present, members, weights, acc)
    else:
        sum_listed(mask, coefficients, scale, least, rows, carried, s, present, scratch, acc)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def add_jump(old, acc, offset):
    """Add what a hair would jump by, `old - acc`, to its offset."""
    for c in range(3):
        for i in range(acc.shape[1]):
            offset[c, i] += old[c, i] - acc[c, i]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def fade_offset(decay, acc, offset):
    """Let an offset decay and add it to the displacement of the hair; returns whether it can still be seen."""
    largest = ZERO
    for c in range(3):
        for i in range(acc.shape[1]):
            offset[c, i] *= decay
            largest = max(largest, abs(offset[c, i]))
    if largest < GONE:
        for c in range(3):
            for i in range(acc.shape[1]):
                offset[c, i] = ZERO
        return False
    for c in range(3):
        for i in range(acc.shape[1]):
            acc[c, i] += offset[c, i]
    return True


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def place_hair(rest, acc, turn, move, out):
    """Fill `out (3 V,)` with a hair in the world: `turn (9,)` and `move (3,)` are the head's; `acc` is overwritten.

    In two loops: the first is one of vectors, the second only moves numbers.
    """
    xx, xy, xz, yx, yy, yz, zx, zy, zz = turn[0], turn[1], turn[2], turn[3], turn[4], turn[5], turn[6], turn[7], turn[8]
    mx, my, mz = move[0], move[1], move[2]
    for i in range(acc.shape[1]):
        x, y, z = rest[0, i] + acc[0, i], rest[1, i] + acc[1, i], rest[2, i] + acc[2, i]
        acc[0, i] = xx * x + xy * y + xz * z + mx
        acc[1, i] = yx * x + yy * y + yz * z + my
        acc[2, i] = zx * x + zy * y + zz * z + mz
    for i in range(acc.shape[1]):
        out[3 * i] = acc[0, i]
        out[3 * i + 1] = acc[1, i]
        out[3 * i + 2] = acc[2, i]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def blend_near(
    carried,
    rows,
    present,
    before,
    now,
    turn,
    move,
    decay,
    # in and out
    offset,
    is_fading,
    # out
    out,
):
    """Fill `out (S, 3 V)` with hairs whose weights are those of chai2017 eq. 11.

    Args:
        carried: positions [m], those at rest from the pivot, as `Carried`.
        rows: of the tables, for the eligible guides of each hair (S, M).
        present: how far the guide of each row is there (R,).
        before: masks of the frame before (S,); 0 for none.
        now: masks of this frame (S,); 0 for none, and the head alone carries the hair.
        turn: of the head (9,).
        move: position of the pivot [m] (3,).
        decay: what is left of an offset after the time of a frame; 0 for none.
        offset: what is left of jumps, as seen from the head [m] (S, 3, V).
        is_fading: whether a hair has an offset (S,).
        out: see above.
    """
    rest, guide_rest = carried.rest, carried.guide_rest
    hair_count, vertices = rest.shape[0], rest.shape[2]
    for task in prange((hair_count + HAIRS_PER_TASK - 1) // HAIRS_PER_TASK):
        scratch = np.empty((SCRATCH, vertices), np.float32)
        acc, old = np.empty((3, vertices), np.float32), np.empty((3, vertices), np.float32)
        for s in range(task * HAIRS_PER_TASK, min((task + 1) * HAIRS_PER_TASK, hair_count)):
            sum_near(np.int64(now[s]), rows[s], rest[s], guide_rest, carried, s, present, scratch, acc)
            if before[s] != now[s] and before[s] != 0 and decay > ZERO:
                sum_near(np.int64(before[s]), rows[s], rest[s], guide_rest, carried, s, present, scratch, old)
                add_jump(old, acc, offset[s])
                is_fading[s] = True
            if is_fading[s]:
                is_fading[s] = fade_offset(decay, acc, offset[s])
            place_hair(rest[s], acc, turn, move, out[s])


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def blend_listed(
    carried,
    rows,
    first,
    first_coefficient,
    masks,
    coefficients,
    scale,
    least,
    present,
    before,
    now,
    turn,
    move,
    decay,
    # in and out
    offset,
    is_fading,
    # out
    out,
):
    """Fill `out (S, 3 V)` with hairs whose weights are polynomials; arguments as in `blend_near`, and:

    Args:
        first: where the sets of each hair begin (S + 1,).
        first_coefficient: where their coefficients begin (S + 1,).
        masks: of all sets (N,).
        coefficients: of all guides of all sets (C, degree + 1), int16.
        scale: what one of their units is.
        least: a weight below counts as that.
        before: numbers of the sets of the frame before (S,); -1 for none.
        now: numbers of the sets of this frame (S,); -1 for none.
    """
    rest = carried.rest
    hair_count, vertices = rest.shape[0], rest.shape[2]
    for task in prange((hair_count + HAIRS_PER_TASK - 1) // HAIRS_PER_TASK):
        scratch = np.empty((SCRATCH, vertices), np.float32)
        members, weights = np.empty(rows.shape[1] + 3, np.int32), np.empty(rows.shape[1] + 3, np.float32)
        acc, old = np.empty((3, vertices), np.float32), np.empty((3, vertices), np.float32)
        for s in range(task * HAIRS_PER_TASK, min((task + 1) * HAIRS_PER_TASK, hair_count)):
            own, k = masks[first[s] : first[s + 1]], now[s]
            if k >= 0:
                start = first_coefficient[s] + coefficients_before(own, k)
                mask = np.int64(own[k])
                own_weights = coefficients[start : start + bit_count(mask)]
                sum_set(
                    mask, own_weights, scale, least, rows[s], carried, s, present, scratch, members, weights, acc,
                )  # fmt: skip
            else:
                clear(scratch[1], scratch[2], acc)
            k = before[s]
            if k != now[s] and k >= 0 and decay > ZERO:
                start = first_coefficient[s] + coefficients_before(own, k)
                mask = np.int64(own[k])
                own_weights = coefficients[start : start + bit_count(mask)]
                sum_set(
                    mask, own_weights, scale, least, rows[s], carried, s, present, scratch, members, weights, old,
                )  # fmt: skip
                add_jump(old, acc, offset[s])
                is_fading[s] = True
            if is_fading[s]:
                is_fading[s] = fade_offset(decay, acc, offset[s])
            place_hair(rest[s], acc, turn, move, out[s])
