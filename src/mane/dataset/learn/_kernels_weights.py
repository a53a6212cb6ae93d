"""Weights of every subset of a hair's eligible guides (chai2017 6.2, algorithm 2 and eq. 7) from one Gram matrix.

All subsets share the products of displacements with each other. Over a subset, eq. 7 is convex: its solution under the
equality alone is the solution where it is not negative, and otherwise one of the faces one guide smaller holds it.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit, prange
from mane.skin.adaptive._kernels_blend import bit_count

SINGULAR = 1e-12  # of the largest product: guides that did not move apart


@njit(cache=True, error_model="numpy")
def fill_rows(
    guide_motion,
    slots,
    parameter,
    # out
    rows,
):
    """Fill `rows (M, V, F, 3)` with displacements of the guides `slots (M,)` at the places that go with a hair.

    `guide_motion (G, F, U, 3)` are displacements of their vertices, `parameter (M, V)` the places.
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
    by_vertex,
    # out
    gram,
    right,
    square,
):
    """Fill K, b and c of the objective w K w - 2 b w + c; the root, which does not move, is left out.

    Args:
        rows: displacements of the guides (M, V, F, 3).
        hair: of the hair (V, F, 3).
        by_vertex: a problem for each vertex, or one for all.
        gram: K (P, M, M), P the vertices or 1; `right`: b (P, M); `square`: c (P,).
    """
    vertices = hair.shape[0]
    for p in range(len(gram)):
        start = p if by_vertex else 1
        end = p + 1 if by_vertex else vertices
        own = hair[start:end].reshape(-1)
        square[p] = product(own, own)
        for a in range(len(rows)):
            first = rows[a, start:end].reshape(-1)
            right[p, a] = product(first, own)
            for b in range(a + 1):
                gram[p, a, b] = product(first, rows[b, start:end].reshape(-1))
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


@njit(cache=True, error_model="numpy", parallel=True)
def learn_sets(
    guide_motion,
    hair_motion,
    slots,
    counts,
    row_of,
    parameter,
    fit,
    largest,
    least,
    # out
    coefficients,
    error,
):
    """Weights of all subsets of all hairs (chai2017 algorithm 2).

    Args:
        guide_motion: displacements of the guides as seen from the head [m] (G, F, U, 3).
        hair_motion: of the hairs (S, F, V, 3).
        slots: eligible guides (S, M).
        counts: how many (S,).
        row_of: row of `parameter` of each of them (S, M).
        parameter: places on guides (R, V).
        fit: what takes weights at the vertices to the coefficients of a polynomial (D, V); for D of 1 the weights are
            constant and found in one solve.
        largest: guides in a set at most.
        least: a set with a guide whose weight is nowhere as large is left out (epsilon of algorithm 2).
        coefficients: of the guides of every set (S, 2^M, M, D), float32.
        error: sum of squares of every set (S, 2^M), infinite for one that is left out.
    """
    vertices = hair_motion.shape[2]
    degrees, width = fit.shape[0], slots.shape[1]
    problems = vertices if degrees > 1 else 1
    for s in prange(len(slots)):
        count = counts[s]
        rows = np.empty((count, vertices, hair_motion.shape[1], 3), np.float32)
        hair = np.empty((vertices, hair_motion.shape[1], 3), np.float32)
        for i in range(vertices):
            hair[i] = hair_motion[s, :, i]
        places = np.empty((count, vertices), np.float32)
        for a in range(count):
            places[a] = parameter[row_of[s, a]]
        fill_rows(guide_motion, slots[s, :count], places, rows)
        gram, right = np.empty((problems, count, count)), np.empty((problems, count))
        square = np.empty(problems)
        fill_products(rows, hair, degrees > 1, gram, right, square)
        weights, own = np.zeros((1 << count, count)), np.zeros(1 << count)
        peak = np.zeros((1 << count, count))
        error[s] = np.inf
        coefficients[s] = 0.0
        error[s, 1 : 1 << count] = 0.0
        for p in range(problems):
            if degrees > 1 and p == 0:
                continue  # the root
            solve_subsets(gram[p], right[p], square[p], count, largest, weights, own)
            for mask in range(1, 1 << count):
                if bit_count(mask) > largest:
                    continue
                error[s, mask] += own[mask]
                for a in range(count):
                    w = weights[mask, a]
                    peak[mask, a] = max(peak[mask, a], w)
                    for d in range(degrees):
                        coefficients[s, mask, a, d] += np.float32(w if degrees == 1 else fit[d, p] * w)
        for mask in range(1, 1 << count):
            if bit_count(mask) > largest:
                error[s, mask] = np.inf
                continue
            for a in range(width):
                if mask >> a & 1 and peak[mask, a] < least:
                    error[s, mask] = np.inf
