"""The pressure equation as one writes it down first: a loop over cells, and MIC(0) in front of conjugate gradients."""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit, prange

TAU, SIGMA = 0.97, 0.25  # of the modified incomplete Cholesky factorisation (Bridson 2008)


@njit(cache=True, error_model="numpy", parallel=True)
def apply_plain(cx, cy, cz, x, y):
    """The matrix times `x`, cell by cell; arrays have one cell more on each side."""
    nx, ny, nz = x.shape
    for i in prange(1, nx - 1):
        for j in range(1, ny - 1):
            for k in range(1, nz - 1):
                here = x[i, j, k]
                y[i, j, k] = (
                    cx[i, j, k] * (here - x[i - 1, j, k])
                    + cx[i + 1, j, k] * (here - x[i + 1, j, k])
                    + cy[i, j, k] * (here - x[i, j - 1, k])
                    + cy[i, j + 1, k] * (here - x[i, j + 1, k])
                    + cz[i, j, k] * (here - x[i, j, k - 1])
                    + cz[i, j, k + 1] * (here - x[i, j, k + 1])
                )


@njit(cache=True, error_model="numpy")
def factorise(cx, cy, cz, out):
    """Fill the inverse diagonal of the incomplete factor, 0 in cells without fluid."""
    nx, ny, nz = out.shape
    for i in range(1, nx - 1):
        for j in range(1, ny - 1):
            for k in range(1, nz - 1):
                a, b, c = cx[i, j, k], cy[i, j, k], cz[i, j, k]
                diagonal = a + b + c + cx[i + 1, j, k] + cy[i, j + 1, k] + cz[i, j, k + 1]
                if diagonal == 0.0:
                    continue
                p, q, r = a * out[i - 1, j, k], b * out[i, j - 1, k], c * out[i, j, k - 1]
                e = diagonal - p * p - q * q - r * r
                e -= TAU * p * out[i - 1, j, k] * (cy[i - 1, j + 1, k] + cz[i - 1, j, k + 1])
                e -= TAU * q * out[i, j - 1, k] * (cx[i + 1, j - 1, k] + cz[i, j - 1, k + 1])
                e -= TAU * r * out[i, j, k - 1] * (cx[i + 1, j, k - 1] + cy[i, j + 1, k - 1])
                if e < SIGMA * diagonal:
                    e = diagonal
                out[i, j, k] = np.float32(1.0 / math.sqrt(e))


@njit(cache=True, error_model="numpy")
def precondition(cx, cy, cz, factor, r, z):
    """Solve with the factor and its transpose; cell after cell, as there is no other way."""
    nx, ny, nz = r.shape
    for i in range(1, nx - 1):
        for j in range(1, ny - 1):
            for k in range(1, nz - 1):
                f = factor[i, j, k]
                t = r[i, j, k] + cx[i, j, k] * factor[i - 1, j, k] * z[i - 1, j, k]
                t += cy[i, j, k] * factor[i, j - 1, k] * z[i, j - 1, k]
                t += cz[i, j, k] * factor[i, j, k - 1] * z[i, j, k - 1]
                z[i, j, k] = t * f
    for i in range(nx - 2, 0, -1):
        for j in range(ny - 2, 0, -1):
            for k in range(nz - 2, 0, -1):
                f = factor[i, j, k]
                t = z[i, j, k] + f * cx[i + 1, j, k] * z[i + 1, j, k]
                t += f * cy[i, j + 1, k] * z[i, j + 1, k]
                t += f * cz[i, j, k + 1] * z[i, j, k + 1]
                z[i, j, k] = t * f
