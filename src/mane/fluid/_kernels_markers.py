"""Markers of a particle level set: moved with the flow, and what escaped ones say of the level.

`places` (N, 3) are in cells from the lowest corner of the box; `signs` (N,) are 1 for markers of air, -1 of liquid.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.fluid._kernels_level_set import HALF, ZERO, place_on_axis
from mane.fluid._kernels_sample import rows_of, velocity_at
from mane.simd.jit import njit, prange

SMALLEST, LARGEST = np.float32(0.1), np.float32(0.5)  # radius of a marker [cells] (Enright and others 2002)
EDGE = np.float32(1e-3)  # [cells] that markers keep from the sides of the box


@njit(cache=True, error_model="numpy", parallel=True)
def move_markers(places, velocity, shape, scale):
    """Move markers by a step, by the midpoint rule, and keep them in the box; `scale` is dt / cell [s/m]."""
    nx, ny, nz = shape
    flat, rows, half = velocity.reshape(-1), rows_of(velocity), HALF * scale
    for index in prange(len(places)):
        q = np.int64(index)
        x, y, z = places[q, 0], places[q, 1], places[q, 2]
        u, v, w = velocity_at(flat, rows, shape, x, y, z)
        u, v, w = velocity_at(flat, rows, shape, x + half * u, y + half * v, z + half * w)
        places[q, 0] = min(max(x + scale * u, EDGE), np.float32(nx) - EDGE)
        places[q, 1] = min(max(y + scale * v, EDGE), np.float32(ny) - EDGE)
        places[q, 2] = min(max(z + scale * w, EDGE), np.float32(nz) - EDGE)


@njit(cache=True, error_model="numpy")
def correct_level(escaped, places, signs, radii, shape, plus, minus, phi):
    """Let `escaped` markers rebuild the level in the cells around them (Enright and others 2002, 3.3).

    A marker is a sphere on its own side of the surface, s (r - distance). Those of air raise `plus`, those of liquid
    lower `minus`, both of which start as `phi`; of the two the one nearer to the surface counts. Largest and least
    numbers, so that the order of markers does not matter.
    """
    nx, ny, nz = shape
    for turn in range(2):
        for q in escaped:
            x, y, z = places[q, 0], places[q, 1], places[q, 2]
            i, _ = place_on_axis(x - HALF, nx)
            j, _ = place_on_axis(y - HALF, ny)
            k, _ = place_on_axis(z - HALF, nz)
            for a in range(i, min(i + 2, nx)):
                for b in range(j, min(j + 2, ny)):
                    for c in range(k, min(k + 2, nz)):
                        if turn == 1:
                            high, low = plus[a + 1, b + 1, c], minus[a + 1, b + 1, c]
                            phi[a + 1, b + 1, c] = high if abs(high) <= abs(low) else low
                            continue
                        dx = np.float32(a) + HALF - x
                        dy = np.float32(b) + HALF - y
                        dz = (np.float32(c) + HALF - z) if nz > 1 else ZERO
                        depth = radii[q] - np.float32(math.sqrt(dx * dx + dy * dy + dz * dz))
                        if signs[q] > 0:
                            plus[a + 1, b + 1, c] = max(plus[a + 1, b + 1, c], depth)
                        else:
                            minus[a + 1, b + 1, c] = min(minus[a + 1, b + 1, c], -depth)


@njit(cache=True, error_model="numpy")
def sort_by_cell(cells, starts, order):
    """Fill `order` (N,) with the numbers of markers, cell by cell, as they came; `starts` of cells are moved on."""
    for q in range(len(cells)):
        order[starts[cells[q]]] = q
        starts[cells[q]] += 1
