"""The implicit viscous step of one component of velocity, sixteen faces of a row side by side where no wall is near."""

# mypy: allow-untyped-defs

import numpy as np

from mane.fluid.grid import FIXED
from mane.simd.f32x16 import WIDTH, first_lanes, load, load_mask
from mane.simd.jit import inline, njit, prange
from mane.simd.masks import select
from mane.simd.memory import store, use_wide_registers

# A wall nearer than this part of a cell counts as this far away.
NEAREST = np.float32(0.1)
SIX = np.float32(6.0)
# Kinds of chunks of sixteen faces: passed over, without walls beside any of them, with some.
SKIPPED, PLAIN, MIXED = 0, 1, 2


@inline
def viscous_face(x, axis, i, j, k, counts, kinds, sides, middle, walls, is_free, data):
    """Sum over the neighbours of one face of (x - neighbour)."""
    nx, ny, nz = counts
    here, total = x[i + 1, j + 1, k], np.float32(0.0)
    away = middle[i + 1, j + 1, k]
    for side in range(6):
        a = i + (side == 1) - (side == 0)
        b = j + (side == 3) - (side == 2)
        c = k + (side == 5) - (side == 4)
        if a < 0 or b < 0 or c < 0 or a >= nx or b >= ny or c >= nz:
            if (side >> 1) != axis and kinds[side] == FIXED:  # half a cell away
                total += np.float32(2.0) * (here - data * sides[side, axis])
            continue
        if middle[a + 1, b + 1, c] < 0.0:
            part = max(away / (away - middle[a + 1, b + 1, c]), NEAREST)
            total += (here - data * walls[a + 1, b + 1, c]) / part
        elif is_free[a + 1, b + 1, c]:
            total += here - x[a + 1, b + 1, c]
        else:
            total += here - data * x[a + 1, b + 1, c]
    return total


@inline
def plain_neighbours(x, at, i, j, k, counts, rows):
    """Sum of the six neighbours of sixteen faces; beyond the ends of the lattice a face is its own neighbour."""
    nx, ny, nz = counts
    row, plane = rows
    here = load(x, at)
    below = select(first_lanes(1 if k == 0 else 0), here, load(x, at - 1))
    above = select(first_lanes(nz - 1 - k), load(x, at + 1), here)
    along = load(x, at - (plane if i > 0 else 0)) + load(x, at + (plane if i < nx - 1 else 0))
    across = load(x, at - (row if j > 0 else 0)) + load(x, at + (row if j < ny - 1 else 0))
    return along + across + (below + above)


@njit(cache=True, error_model="numpy", parallel=True)
def viscous(x, axis, shape, kinds, sides, middle, walls, is_free, chunks, strength, data, kept, y):
    """Fill `y` with x + strength * the sum over neighbours of (x - neighbour), `kept` x where x is not free.

    `strength` is nu dt / cell^2. A neighbour in a solid is replaced by the wall itself, at its own distance, with its
    own velocity (Dirichlet, as in a ghost-fluid method). Velocities of walls count `data` times: 1 for the step itself,
    0 for its linear part, whose `x` must be 0 where it is not free. `chunks` has the kind of sixteen faces each; of
    those that are skipped nothing is written.
    """
    counts = shape[0] + (axis == 0), shape[1] + (axis == 1), shape[2] + (axis == 2)
    nx, ny, nz = counts
    rows = x.shape[2], x.shape[1] * x.shape[2]
    numbers, marks, out = x.reshape(-1), is_free.reshape(-1), y.reshape(-1)
    for index in prange(nx):
        use_wide_registers()
        i = np.int64(index)
        for j in range(ny):
            for chunk in range(chunks.shape[2]):
                kind, k = chunks[i + 1, j + 1, chunk], chunk * WIDTH
                if kind == PLAIN:
                    at = (i + 1) * rows[1] + (j + 1) * rows[0] + k
                    here = load(numbers, at)
                    total = SIX * here - plain_neighbours(numbers, at, i, j, k, counts, rows)
                    store(out, at, select(load_mask(marks, at), here + strength * total, kept * here))
                elif kind == MIXED:
                    for c in range(k, min(nz, k + WIDTH)):
                        here = x[i + 1, j + 1, c]
                        value = kept * here
                        if is_free[i + 1, j + 1, c]:
                            total = viscous_face(
                                x, axis, i, j, c, counts, kinds, sides, middle, walls, is_free, data
                            )  # fmt: skip
                            value = here + strength * total
                        y[i + 1, j + 1, c] = value
