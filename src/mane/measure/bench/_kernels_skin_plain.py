"""Linear hair skinning written the plain way: one strand per iteration. The baseline of `mane bench skin`."""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import njit, prange


@njit(cache=True, error_model="numpy", fastmath={"contract", "arcp", "nsz", "afn"}, parallel=True)
def plain_linear(
    rest,
    shift,
    turn,
    of_hair,
    guide,
    parameter,
    weight,
    # out
    out,
):
    """Fill `out (S, V, 3)` with the sums of `LinearSkin`, guide values fetched anew for every vertex of every hair.

    `rest (S, V, 3)`, `shift (G, U, 3)`, `turn (9,)`, `of_hair (S,)`, `guide (M, K)`, `parameter (M, K, V)`,
    `weight (S, K)`.
    """
    last = shift.shape[1] - 2
    for s in prange(len(rest)):
        m = of_hair[s]
        for i in range(rest.shape[1]):
            for c in range(3):
                out[s, i, c] = (
                    turn[3 * c] * rest[s, i, 0] + turn[3 * c + 1] * rest[s, i, 1] + turn[3 * c + 2] * rest[s, i, 2]
                )
            for k in range(guide.shape[1]):
                g = guide[m, k]
                j = min(int(parameter[m, k, i]), last)
                u = parameter[m, k, i] - np.float32(j)
                for c in range(3):
                    out[s, i, c] += weight[s, k] * (shift[g, j, c] + u * (shift[g, j + 1, c] - shift[g, j, c]))


@njit(cache=True, error_model="numpy", parallel=True)
def copy_points(
    source,
    # out
    target,
):
    """Copy one flat array to another: what memory can do at best."""
    for i in prange(len(source)):
        target[i] = source[i]
