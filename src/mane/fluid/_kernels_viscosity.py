"""The implicit viscous step of one component of velocity, cell by cell; walls where they really are."""

# mypy: allow-untyped-defs

import numpy as np

from mane.fluid.grid import FIXED
from mane.simd.jit import njit, prange

# A wall nearer than this part of a cell counts as this far away.
NEAREST = np.float32(0.1)


@njit(cache=True, error_model="numpy", parallel=True)
def viscous(x, axis, shape, kinds, sides, middle, walls, is_free, strength, data, y):
    """Fill `y` with x + strength * the sum over neighbours of (x - neighbour), 0 where x is not free.

    `strength` is nu dt / cell^2. A neighbour in a solid is replaced by the wall itself, at its own distance, with its
    own velocity (Dirichlet, as in a ghost-fluid method). Velocities of walls count `data` times: 1 for the step itself,
    0 for its linear part.
    """
    nx, ny, nz = shape[0] + (axis == 0), shape[1] + (axis == 1), shape[2] + (axis == 2)
    for index in prange(nx):
        i = np.int64(index)
        for j in range(ny):
            for k in range(nz):
                if not is_free[i + 1, j + 1, k]:
                    y[i + 1, j + 1, k] = np.float32(0.0)
                    continue
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
                y[i + 1, j + 1, k] = here + strength * total
