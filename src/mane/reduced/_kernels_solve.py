"""Dense solves whose results do not depend on how many threads a library runs: sliders change operators with it."""

# mypy: allow-untyped-defs

import math

from mane.simd.jit import njit


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def dot(one, other, count):
    """Sum of the first products of two arrays: four sums side by side, since one would wait for each of its products,
    in an order that does not depend on the machine."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    k = 0
    while k + 4 <= count:
        a += one[k] * other[k]
        b += one[k + 1] * other[k + 1]
        c += one[k + 2] * other[k + 2]
        d += one[k + 3] * other[k + 3]
        k += 4
    while k < count:
        a += one[k] * other[k]
        k += 1
    return (a + b) + (c + d)


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def cholesky_solve(
    matrix,
    # out
    right,
):
    """Overwrite `right (N, M)` with the solution of `matrix (N, N)`, positive definite, of which the lower triangle is
    overwritten with its Cholesky factor. Returns the first row whose pivot is not positive, or -1."""
    size, columns = right.shape
    for j in range(size):
        for i in range(j, size):
            total = matrix[i, j]
            row, other = matrix[i], matrix[j]
            total -= dot(row, other, j)
            if i == j:
                if not total > 0.0:
                    return j
                matrix[j, j] = math.sqrt(total)
            else:
                matrix[i, j] = total / matrix[j, j]
    for i in range(size):
        for k in range(i):
            factor = matrix[i, k]
            for m in range(columns):
                right[i, m] -= factor * right[k, m]
        inverse = 1.0 / matrix[i, i]
        for m in range(columns):
            right[i, m] *= inverse
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            factor = matrix[k, i]
            for m in range(columns):
                right[i, m] -= factor * right[k, m]
        inverse = 1.0 / matrix[i, i]
        for m in range(columns):
            right[i, m] *= inverse
    return -1


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def lu_solve(
    matrix,
    # out
    right,
):
    """Overwrite `right (N,)` with the solution of `matrix (N, N)`, which is overwritten with its factors.

    Rows are exchanged for the largest pivot. Returns the first column without one, or -1.
    """
    size = len(right)
    for j in range(size):
        best = j
        for i in range(j + 1, size):
            if abs(matrix[i, j]) > abs(matrix[best, j]):
                best = i
        if not abs(matrix[best, j]) > 0.0:
            return j
        if best != j:
            right[j], right[best] = right[best], right[j]
            for k in range(size):
                matrix[j, k], matrix[best, k] = matrix[best, k], matrix[j, k]
        for i in range(j + 1, size):
            factor = matrix[i, j] / matrix[j, j]
            right[i] -= factor * right[j]
            for k in range(j + 1, size):
                matrix[i, k] -= factor * matrix[j, k]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            right[i] -= matrix[i, k] * right[k]
        right[i] /= matrix[i, i]
    return -1
