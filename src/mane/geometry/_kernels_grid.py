"""Trilinear sampling of a uniform grid: scalar functions for other kernels, and loops over points."""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import njit, prange


@njit(cache=True, error_model="numpy", inline="always")
def cell_of(coordinate, node_count):
    """Cell index and fraction within it of a coordinate in cells, clamped to the grid."""
    clamped = min(max(coordinate, np.float32(0.0)), np.float32(node_count - 1))
    cell = min(int(clamped), node_count - 2)
    return cell, clamped - np.float32(cell)


@njit(cache=True, error_model="numpy")
def trilinear(values, origin, inv_cell, x, y, z):
    """Value of the field at one point."""
    i, u = cell_of((x - origin[0]) * inv_cell, values.shape[0])
    j, v = cell_of((y - origin[1]) * inv_cell, values.shape[1])
    k, w = cell_of((z - origin[2]) * inv_cell, values.shape[2])
    c00 = values[i, j, k] + w * (values[i, j, k + 1] - values[i, j, k])
    c01 = values[i, j + 1, k] + w * (values[i, j + 1, k + 1] - values[i, j + 1, k])
    c10 = values[i + 1, j, k] + w * (values[i + 1, j, k + 1] - values[i + 1, j, k])
    c11 = values[i + 1, j + 1, k] + w * (values[i + 1, j + 1, k + 1] - values[i + 1, j + 1, k])
    c0 = c00 + v * (c01 - c00)
    c1 = c10 + v * (c11 - c10)
    return c0 + u * (c1 - c0)


@njit(cache=True, error_model="numpy")
def trilinear_gradient(values, origin, inv_cell, x, y, z):
    """Value and gradient of the field at one point."""
    i, u = cell_of((x - origin[0]) * inv_cell, values.shape[0])
    j, v = cell_of((y - origin[1]) * inv_cell, values.shape[1])
    k, w = cell_of((z - origin[2]) * inv_cell, values.shape[2])
    v000 = values[i, j, k]
    v010 = values[i, j + 1, k]
    v100 = values[i + 1, j, k]
    v110 = values[i + 1, j + 1, k]
    d00 = values[i, j, k + 1] - v000
    d01 = values[i, j + 1, k + 1] - v010
    d10 = values[i + 1, j, k + 1] - v100
    d11 = values[i + 1, j + 1, k + 1] - v110
    c00 = v000 + w * d00
    c01 = v010 + w * d01
    c10 = v100 + w * d10
    c11 = v110 + w * d11
    e0 = c01 - c00
    e1 = c11 - c10
    c0 = c00 + v * e0
    c1 = c10 + v * e1
    gx = c1 - c0
    gy = e0 + u * (e1 - e0)
    f0 = d00 + v * (d01 - d00)
    f1 = d10 + v * (d11 - d10)
    gz = f0 + u * (f1 - f0)
    return c0 + u * gx, gx * inv_cell, gy * inv_cell, gz * inv_cell


@njit(cache=True, error_model="numpy", parallel=True)
def sample_grid(values, origin, inv_cell, points, out):
    """Fill `out` (P,) with the field at `points` (P, 3)."""
    for p in prange(len(points)):
        out[p] = trilinear(values, origin, inv_cell, points[p, 0], points[p, 1], points[p, 2])


@njit(cache=True, error_model="numpy", parallel=True)
def sample_grid_gradient(values, origin, inv_cell, points, out, gradient):
    """Fill `out` (P,) and `gradient` (P, 3) with the field and its gradient at `points` (P, 3)."""
    for p in prange(len(points)):
        value, gx, gy, gz = trilinear_gradient(values, origin, inv_cell, points[p, 0], points[p, 1], points[p, 2])
        out[p] = value
        gradient[p, 0] = gx
        gradient[p, 1] = gy
        gradient[p, 2] = gz
