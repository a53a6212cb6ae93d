"""Guides carried from their own root frame to that of a hair, and the hair's own shape over them.

With T the turn of the skin from the guide's root to the hair's at rest, R how the skin at the guide's root has turned
since, r the roots, and G, D the guide and its turns as seen from its own root frame (R^-1 (g - r), R^-1 dQ), a guide
carries a vertex with detail e (the hair less its spine at rest) to

    r_guide + R (r0_hair - r0_guide) + R T (G + D T^-1 e)            chang2002 eq. 4, and section 8 for the detail
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import njit, prange

FASTMATH = {"contract", "arcp", "nsz", "afn"}

ZERO = np.float32(0.0)
ONE = np.float32(1.0)
TWO = np.float32(2.0)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def fill_tables(
    seen,
    turned,
    guide,
    parameter,
    # out
    table,
):
    """Fill `table (M, K, 12, V)` with G and the matrix of D at the places `parameter (M, K, V)` of `guide (M, K)`.

    `seen (G, U, 3)` is G at the guides' vertices; `turned (G, U, 4)` is D there, unit quaternions, no jumps of sign.
    """
    last = seen.shape[1] - 2
    for m in prange(len(guide)):
        for k in range(guide.shape[1]):
            g = guide[m, k]
            for i in range(parameter.shape[2]):
                j = min(int(parameter[m, k, i]), last)
                u = parameter[m, k, i] - np.float32(j)
                for c in range(3):
                    table[m, k, c, i] = seen[g, j, c] + u * (seen[g, j + 1, c] - seen[g, j, c])
                x = turned[g, j, 0] + u * (turned[g, j + 1, 0] - turned[g, j, 0])
                y = turned[g, j, 1] + u * (turned[g, j + 1, 1] - turned[g, j, 1])
                z = turned[g, j, 2] + u * (turned[g, j + 1, 2] - turned[g, j, 2])
                w = turned[g, j, 3] + u * (turned[g, j + 1, 3] - turned[g, j, 3])
                s = TWO / (x * x + y * y + z * z + w * w)
                table[m, k, 3, i], table[m, k, 4, i] = ONE - s * (y * y + z * z), s * (x * y - z * w)
                table[m, k, 5, i], table[m, k, 6, i] = s * (x * z + y * w), s * (x * y + z * w)
                table[m, k, 7, i], table[m, k, 8, i] = ONE - s * (x * x + z * z), s * (y * z - x * w)
                table[m, k, 9, i], table[m, k, 10, i] = s * (x * z - y * w), s * (y * z + x * w)
                table[m, k, 11, i] = ONE - s * (x * x + y * y)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def add_guide(table, detail, transport, turn, place, weight, row):
    """Add `weight` times what one guide does to `row (3, V)`.

    `table (12, V)`, `detail (3, V)`; `transport (9,)` is T, `turn (9,)` is R, `place (3,)` where R takes the root.
    """
    a = np.empty(9, np.float32)  # R T
    for r in range(3):
        for c in range(3):
            a[3 * r + c] = (
                turn[3 * r] * transport[c] + turn[3 * r + 1] * transport[3 + c] + turn[3 * r + 2] * transport[6 + c]
            )
    for i in range(row.shape[1]):
        ex, ey, ez = detail[0, i], detail[1, i], detail[2, i]
        x = transport[0] * ex + transport[3] * ey + transport[6] * ez
        y = transport[1] * ex + transport[4] * ey + transport[7] * ez
        z = transport[2] * ex + transport[5] * ey + transport[8] * ez
        px = table[0, i] + table[3, i] * x + table[4, i] * y + table[5, i] * z
        py = table[1, i] + table[6, i] * x + table[7, i] * y + table[8, i] * z
        pz = table[2, i] + table[9, i] * x + table[10, i] * y + table[11, i] * z
        row[0, i] += weight * (place[0] + a[0] * px + a[1] * py + a[2] * pz)
        row[1, i] += weight * (place[1] + a[3] * px + a[4] * py + a[5] * pz)
        row[2, i] += weight * (place[2] + a[6] * px + a[7] * py + a[8] * pz)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def skin_hairs(
    of_hair,
    guide,
    weight,
    table,
    detail,
    transport,
    offset,
    turn,
    roots,
    # out
    out,
):
    """Fill `out (S, V, 3)`.

    Args:
        of_hair: bundle of each hair (S,).
        guide: guides of each bundle (M, K).
        weight: of each hair (S, K).
        table: see `fill_tables`.
        detail: e of each hair (S, 3, V).
        transport: T of each hair and guide (S, K, 9).
        offset: r0_hair - r0_guide (S, K, 3).
        turn: R of each guide (G, 9).
        roots: of the guides now (G, 3).
        out: see above.
    """
    for s in prange(len(of_hair)):
        m = of_hair[s]
        row = np.zeros((3, out.shape[1]), np.float32)
        place = np.empty(3, np.float32)
        for k in range(guide.shape[1]):
            if weight[s, k] == ZERO:
                continue
            q, d = turn[guide[m, k]], offset[s, k]
            for c in range(3):
                place[c] = roots[guide[m, k], c] + q[3 * c] * d[0] + q[3 * c + 1] * d[1] + q[3 * c + 2] * d[2]
            add_guide(table[m, k], detail[s], transport[s, k], q, place, weight[s, k], row)
        for i in range(out.shape[1]):
            for c in range(3):
                out[s, i, c] = row[c, i]
