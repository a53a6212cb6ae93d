"""Weights of every subset of a hair's eligible guides (chai2017 6.2, algorithm 2 and eq. 7) from one Gram matrix.

All subsets share the products of displacements with each other. Over a subset, eq. 7 is convex: its solution under the
equality alone is the solution where it is not negative, and otherwise one of the faces one guide smaller holds it.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit, prange
from mane.skin.adaptive._kernels_blend import bit_count
from mane.skin.adaptive._kernels_frames import fill_change

SINGULAR = 1e-12  # of the largest product: guides that did not move apart
STILL = 1e-8  # of the largest product along a hair: rounding of a vertex that did not move
NO_SUM = 1e-20  # of weights: the head carries the hair there


@njit(cache=True, error_model="numpy")
def fill_rows(
    guide_motion,
    slots,
    parameter,
    # out
    rows,
):
    """Fill `rows (M, V, K, 3)` with what changed of the guides `slots (M,)` at the places that go with a hair.

    `guide_motion (G, K, U, 3)` is that at their vertices, `parameter (M, V)` the places.
    """
    last = guide_motion.shape[2] - 2
    for a in range(len(slots)):
        motion = guide_motion[slots[a]]
        for i in range(parameter.shape[1]):
            j = min(int(parameter[a, i]), last)
            u = parameter[a, i] - np.float32(j)
            for f in range(motion.shape[0]):
                for c in range(3):
                    rows[a, i, f, c] = motion[f, j, c] + u * (motion[f, j + 1, c] - motion[f, j, c])


@njit(cache=True, error_model="numpy")
def turn_rows(
    rotation,
    guide_rest,
    hair_rest,
    hair_tangent,
    slots,
    parameter,
    # in and out
    rows,
):
    """Turn what guides carry with them: B_g of chai2017 eq. 5 and 7 as a frame.

    Args:
        rotation: of the guides at their vertices, quaternions (G, F, U, 4).
        guide_rest: guides at rest [m] (G, U, 3).
        hair_rest: the hair at rest [m] (V, 3).
        hair_tangent: its tangents there, as lengths (V, 3).
        slots: the guides (M,).
        parameter: places on them (M, V).
        rows: as of `fill_rows`; frames of tangents, where there are any, come after those of positions.
    """
    frames, last = rotation.shape[1], guide_rest.shape[1] - 2
    change = np.empty(9, np.float32)
    for a in range(len(slots)):
        g = slots[a]
        for i in range(len(hair_rest)):
            j = min(int(parameter[a, i]), last)
            u = parameter[a, i] - np.float32(j)
            start, end, own, tangent = guide_rest[g, j], guide_rest[g, j + 1], hair_rest[i], hair_tangent[i]
            x = own[0] - (start[0] + u * (end[0] - start[0]))
            y = own[1] - (start[1] + u * (end[1] - start[1]))
            z = own[2] - (start[2] + u * (end[2] - start[2]))
            for f in range(frames):
                fill_change(rotation[g, f], parameter[a, i], change)
                for c in range(3):
                    p, q, r = change[3 * c], change[3 * c + 1], change[3 * c + 2]
                    rows[a, i, f, c] += p * x + q * y + r * z
                    if rows.shape[2] > frames:
                        rows[a, i, frames + f, c] = p * tangent[0] + q * tangent[1] + r * tangent[2]


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def product(a, b):
    """Sum of products of two arrays (N,), in double precision."""
    total = 0.0
    for n in range(len(a)):
        total += np.float64(a[n]) * np.float64(b[n])
    return total


@njit(cache=True, error_model="numpy")
def fill_products(
    rows,
    hair,
    frames,
    by_vertex,
    # out
    gram,
    right,
    square,
):
    """Fill K, b and c of the objective w K w - 2 b w + c.

    Args:
        rows: what guides carry (M, V, K, 3).
        hair: what became of the hair (V, K, 3).
        frames: how many of the K count, from the first on.
        by_vertex: a problem for each vertex, or one for all but the root, which does not move.
        gram: K (P, M, M), P the vertices or 1; `right`: b (P, M); `square`: c (P,).
    """
    gram[:], right[:], square[:] = 0.0, 0.0, 0.0
    for i in range(0 if by_vertex else 1, hair.shape[0]):
        p = i if by_vertex else 0
        own = hair[i, :frames].reshape(-1)
        square[p] += product(own, own)
        for a in range(len(rows)):
            first = rows[a, i, :frames].reshape(-1)
            right[p, a] += product(first, own)
            for b in range(a + 1):
                gram[p, a, b] += product(first, rows[b, i, :frames].reshape(-1))
    for p in range(len(gram)):
        for a in range(len(rows)):
            for b in range(a):
                gram[p, b, a] = gram[p, a, b]


@njit(cache=True, error_model="numpy")
def solve_equality(gram, right, members, count, factor, y, x):
    """Minimise over weights of sum 1: fill `x (count - 1,)`, the weights but the last; returns what is gained, and
    whether all weights are at least 0. The last guide is eliminated, and the rest solved by Cholesky's method."""
    last, rest = members[count - 1], count - 1
    tiny = SINGULAR * (gram[last, last] + 1e-30)
    gained = 0.0
    for a in range(rest):
        i = members[a]
        for b in range(a + 1):
            j = members[b]
            v = gram[i, j] - gram[i, last] - gram[j, last] + gram[last, last]
            for k in range(b):
                v -= factor[a, k] * factor[b, k]
            if a == b:
                factor[a, a] = math.sqrt(max(v, tiny))
            else:
                factor[a, b] = v / factor[b, b]
        v = right[i] - right[last] - gram[i, last] + gram[last, last]
        for k in range(a):
            v -= factor[a, k] * y[k]
        y[a] = v / factor[a, a]
        gained += y[a] * y[a]
    total = 0.0
    for a in range(rest - 1, -1, -1):
        v = y[a]
        for k in range(a + 1, rest):
            v -= factor[k, a] * x[k]
        x[a] = v / factor[a, a]
        if x[a] < 0.0:
            return gained, False
        total += x[a]
    return gained, total <= 1.0


@njit(cache=True, error_model="numpy")
def solve_subsets(
    gram,
    right,
    square,
    count,
    largest,
    # out
    weights,
    error,
):
    """Fill `weights (2^M, M)` and `error (2^M,)` with the solutions of eq. 7 over all subsets of at most `largest`."""
    members = np.empty(count, np.int64)
    factor, y, x = np.empty((count, count)), np.empty(count), np.empty(count)
    for mask in range(1, 1 << count):
        size = bit_count(mask)
        if size > largest:
            continue
        weights[mask] = 0.0
        k = 0
        for a in range(count):
            if mask >> a & 1:
                members[k] = a
                k += 1
        last = members[size - 1]
        alone = gram[last, last] - 2.0 * right[last] + square
        gained, is_inside = solve_equality(gram, right, members, size, factor, y, x)
        if is_inside:
            total = 0.0
            for a in range(size - 1):
                weights[mask, members[a]] = x[a]
                total += x[a]
            weights[mask, last] = 1.0 - total
            error[mask] = max(alone - gained, 0.0)
            continue
        best = 0
        for a in range(size):
            face = mask & ~(1 << members[a])
            if best == 0 or error[face] < error[best]:
                best = face
        weights[mask], error[mask] = weights[best], error[best]


@njit(cache=True, error_model="numpy")
def share_evenly(
    count,
    largest,
    # out
    weights,
):
    """Fill `weights (2^M, M)` with those of least norm: where nothing moves, all weights of sum 1 solve eq. 7."""
    for mask in range(1, 1 << count):
        size = bit_count(mask)
        if size > largest:
            continue
        for a in range(count):
            weights[mask, a] = 1.0 / size if mask >> a & 1 else 0.0


@njit(cache=True, error_model="numpy")
def weights_as_played(mask, coefficients, powers, least, weight):
    """Fill `weight (M,)` with the weights at a vertex that are played.

    They are polynomials, `coefficients (M, D)` of the `powers (D,)` there, clipped at `least` and scaled to a sum of 1.
    """
    total = 0.0
    for a in range(len(weight)):
        weight[a] = 0.0
        if mask >> a & 1:
            for d in range(len(powers)):
                weight[a] += np.float64(coefficients[a, d]) * powers[d]
            weight[a] = max(weight[a], least)
            total += weight[a]
    scale = 1.0 / total if abs(total) > NO_SUM else 0.0
    for a in range(len(weight)):
        weight[a] *= scale


@njit(cache=True, error_model="numpy")
def squared_error(gram, right, square, weight):
    """w K w - 2 b w + c."""
    error = square
    for a in range(len(weight)):
        row = -2.0 * right[a]
        for b in range(len(weight)):
            row += gram[a, b] * weight[b]
        error += weight[a] * row
    return error


@njit(cache=True, error_model="numpy", parallel=True)
def learn_sets(
    guide_motion,
    hair_motion,
    rotation,
    guide_rest,
    hair_rest,
    hair_tangent,
    frames,
    slots,
    counts,
    row_of,
    parameter,
    fit,
    powers,
    fits_root,
    largest,
    least,
    least_weight,
    # out
    coefficients,
    error,
):
    """Weights of all subsets of all hairs (chai2017 algorithm 2).

    Args:
        guide_motion: what changed of the guides as seen from the head [m] (G, K, U, 3): their displacement in F frames,
            and where states have tangents, that of them in the F frames after.
        hair_motion: of the hairs (S, K, V, 3).
        rotation: how guides have turned, quaternions (G, F, U, 4); (0, F, U, 4) where B_g is a translation.
        guide_rest: guides at rest [m] (G, U, 3).
        hair_rest: hairs at rest [m] (S, V, 3).
        hair_tangent: their tangents there, as lengths [m] (S, V, 3).
        frames: F.
        slots: eligible guides (S, M).
        counts: how many (S,).
        row_of: row of `parameter` of each of them (S, M).
        parameter: places on guides (R, V).
        fit: what takes weights at the vertices to the coefficients of a polynomial (D, V); for D of 1 the weights are
            constant and found in one solve.
        powers: what takes coefficients to weights at the vertices (V, D).
        fits_root: the weights of the root count in the fit.
        largest: guides in a set at most.
        least: a set with a guide whose weight is nowhere as large is left out (epsilon of algorithm 2).
        least_weight: a weight below counts as that, when it is played.
        coefficients: of the guides of every set (S, 2^M, M, D), float32.
        error: sum of squares of every set as it is played, of positions alone (S, 2^M) [m^2]; infinite for one that is
            left out.
    """
    vertices = hair_motion.shape[2]
    degrees = fit.shape[0]
    problems = vertices if degrees > 1 else 1
    for s in prange(len(slots)):
        count, every = counts[s], hair_motion.shape[1]
        rows = np.empty((count, vertices, every, 3), np.float32)
        hair = np.empty((vertices, every, 3), np.float32)
        for i in range(vertices):
            hair[i] = hair_motion[s, :, i]
        places = np.empty((count, vertices), np.float32)
        for a in range(count):
            places[a] = parameter[row_of[s, a]]
        fill_rows(guide_motion, slots[s, :count], places, rows)
        if len(rotation) > 0:
            turn_rows(rotation, guide_rest, hair_rest[s], hair_tangent[s], slots[s, :count], places, rows)
        gram, right = np.empty((problems, count, count)), np.empty((problems, count))
        square = np.empty(problems)
        fill_products(rows, hair, every, degrees > 1, gram, right, square)
        weights, own = np.zeros((1 << count, count)), np.zeros(1 << count)
        error[s] = np.inf
        coefficients[s] = 0.0
        still = STILL * gram.max()
        for p in range(problems):
            if degrees > 1 and p == 0:
                if not fits_root:
                    continue
                if gram[p].max() <= still:
                    share_evenly(count, largest, weights)
                else:
                    solve_subsets(gram[p], right[p], square[p], count, largest, weights, own)
            else:
                solve_subsets(gram[p], right[p], square[p], count, largest, weights, own)
            for mask in range(1, 1 << count):
                if bit_count(mask) > largest:
                    continue
                for a in range(count):
                    w = weights[mask, a]
                    for d in range(degrees):
                        coefficients[s, mask, a, d] += np.float32(w if degrees == 1 else fit[d, p] * w)
        if every > frames:  # tangents count in weights, and not in what is seen
            fill_products(rows, hair, frames, degrees > 1, gram, right, square)
        weight, peak = np.empty(count), np.empty(count)
        for mask in range(1, 1 << count):
            if bit_count(mask) > largest:
                continue
            total, peak[:] = 0.0, 0.0
            for p in range(problems):
                if degrees > 1 and p == 0 and not fits_root:
                    continue  # the root
                weights_as_played(mask, coefficients[s, mask], powers[p], least_weight, weight)
                if degrees == 1 or p > 0:
                    total += max(squared_error(gram[p], right[p], square[p], weight), 0.0)
                for a in range(count):
                    peak[a] = max(peak[a], weight[a])
            error[s, mask] = total
            for a in range(count):
                if mask >> a & 1 and peak[a] < least:
                    error[s, mask] = np.inf
