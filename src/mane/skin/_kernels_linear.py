"""Linear hair skinning: every vertex is a weighted sum of what its guides do.

With x0 the hair and g0 the guide at rest, g the guide now and R how the skin at the guide's root has turned, guide k
carries a vertex to g_k + R_k (x0 - g0_k). The sum over guides (hsu2024 eq. 9, displacements in the root frames) is

    x = (sum_k w_k R_k) x0 + sum_k w_k s_k,   s_k = g_k - R_k g0_k

so that all but w and x0 is known per bundle: `table` holds s_k at the places that go with a hair's vertices.
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import njit, prange

FASTMATH = {"contract", "arcp", "nsz", "afn"}

# Guides are added three at a time, the usual number, so that one pass over a hair suffices for it.
GROUP = 3
# Vertices per piece: a loop of constant length is what the compiler turns into straight vector code. Offsets are
# unsigned, which spares the test for indices that count from the end. Without either, or with a branch for anything
# else around the loop, `skin_hairs` takes two to four times as long.
PIECE = 8
HAIRS_PER_TASK = 64

ZERO = np.float32(0.0)
U = np.uint64


@njit(cache=True, error_model="numpy", parallel=True)
def fill_rows(
    points,
    pivot,
    # out
    rows,
):
    """Fill `rows (S, 3, W)` with all x, all y and all z of hairs (S, V, 3), as seen from `pivot (3,)`.

    Where W is above V, the last vertex is repeated.
    """
    last = points.shape[1] - 1
    for s in prange(len(points)):
        for c in range(3):
            for i in range(rows.shape[2]):
                rows[s, c, i] = points[s, min(i, last), c] - pivot[c]


@njit(cache=True, error_model="numpy")
def fill_turns(
    rotations,
    # out
    turn,
):
    """Fill `turn (G, 3, 3)` (float64) with the matrices of quaternions `rotations (G, 4)`, which need not be unit."""
    for g in range(len(rotations)):
        x, y, z, w = rotations[g, 0] + 0.0, rotations[g, 1] + 0.0, rotations[g, 2] + 0.0, rotations[g, 3] + 0.0
        square = x * x + y * y + z * z + w * w
        s = 2.0 / square if square > 0.0 else 0.0  # an empty slot may hold zeros
        turn[g, 0, 0], turn[g, 0, 1], turn[g, 0, 2] = (
            1.0 - s * (y * y + z * z),
            s * (x * y - z * w),
            s * (x * z + y * w),
        )
        turn[g, 1, 0], turn[g, 1, 1], turn[g, 1, 2] = (
            s * (x * y + z * w),
            1.0 - s * (x * x + z * z),
            s * (y * z - x * w),
        )
        turn[g, 2, 0], turn[g, 2, 1], turn[g, 2, 2] = (
            s * (x * z - y * w),
            s * (y * z + x * w),
            1.0 - s * (x * x + y * y),
        )


@njit(cache=True, error_model="numpy")
def fill_guide_motion(
    points,
    rest,
    rotation,
    # out
    shift,
):
    """Fill `shift (G, U, 3)` with g - R g0 from `points` now, `rest` (float64) and `rotation (G, 3, 3)` (float64)."""
    for g in range(len(points)):
        turn = rotation[g]
        for j in range(points.shape[1]):
            x, y, z = rest[g, j, 0], rest[g, j, 1], rest[g, j, 2]
            for c in range(3):
                shift[g, j, c] = points[g, j, c] - (turn[c, 0] * x + turn[c, 1] * y + turn[c, 2] * z)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def fill_tables(
    shift,
    guide,
    parameter,
    # out
    table,
):
    """Fill `table (M, K, 3, V)` with `shift (G, U, 3)` at the places `parameter (M, K, V)` of `guide (M, K)`."""
    last = shift.shape[1] - 2
    for m in prange(len(guide)):
        for k in range(guide.shape[1]):
            g = U(guide[m, k])
            for i in range(parameter.shape[2]):
                place = parameter[m, k, i]
                j = U(min(int(place), last))
                u = place - np.float32(j)
                ax, ay, az = shift[g, j, 0], shift[g, j, 1], shift[g, j, 2]
                bx, by, bz = shift[g, j + U(1), 0], shift[g, j + U(1), 1], shift[g, j + U(1), 2]
                table[m, k, 0, i] = ax + u * (bx - ax)
                table[m, k, 1, i] = ay + u * (by - ay)
                table[m, k, 2, i] = az + u * (bz - az)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def carry_piece(rest, r, table, t, v, w0, w1, w2, turn, out, o):
    """Fill `PIECE` vertices of a hair with what three guides do; `r`, `t`, `o` are where the first is found."""
    for piece in range(PIECE):
        i = U(piece)
        x, y, z = rest[r + i], rest[r + v + i], rest[r + U(2) * v + i]
        out[o + U(3) * i] = (
            turn[0] * x
            + turn[1] * y
            + turn[2] * z
            + w0 * table[t + i]
            + w1 * table[t + U(3) * v + i]
            + w2 * table[t + U(6) * v + i]
        )
        out[o + U(3) * i + U(1)] = (
            turn[3] * x
            + turn[4] * y
            + turn[5] * z
            + w0 * table[t + v + i]
            + w1 * table[t + U(4) * v + i]
            + w2 * table[t + U(7) * v + i]
        )
        out[o + U(3) * i + U(2)] = (
            turn[6] * x
            + turn[7] * y
            + turn[8] * z
            + w0 * table[t + U(2) * v + i]
            + w1 * table[t + U(5) * v + i]
            + w2 * table[t + U(8) * v + i]
        )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def turn_at(turn, q):
    """The rotation matrix that starts at `turn[q]`, row by row."""
    return (
        turn[q],
        turn[q + U(1)],
        turn[q + U(2)],
        turn[q + U(3)],
        turn[q + U(4)],
        turn[q + U(5)],
        turn[q + U(6)],
        turn[q + U(7)],
        turn[q + U(8)],
    )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def skin_hairs(
    rest,
    vertex_count,
    of_hair,
    weight,
    table,
    places,
    turn,
    # out
    out,
):
    """Fill `out`, flat (S * V * 3), in the groom's order, with the turn of all and the shift of the first three guides.

    Args:
        rest: hairs at rest from the pivot [m], flat (S * 3 * V): all x of a hair, then all y, then all z.
        vertex_count: V, at least `PIECE`.
        of_hair: bundle of each hair (S,).
        weight: of each hair's guides (S, K).
        table: flat (M * K * 3 * V), see `fill_tables`.
        places: K, a multiple of 3.
        turn: blended rotation matrix of each hair, flat (S * 9), or one for all (9).
        out: see above.
    """
    hair_count = len(of_hair)
    stride = 3 * vertex_count
    last_turn = len(turn) // 9 - 1
    for task in prange((hair_count + HAIRS_PER_TASK - 1) // HAIRS_PER_TASK):
        for s in range(task * HAIRS_PER_TASK, min((task + 1) * HAIRS_PER_TASK, hair_count)):
            r, t = U(s * stride), U(of_hair[s] * places * stride)
            own = turn_at(turn, U(9 * min(s, last_turn)))
            w0, w1, w2 = weight[s, 0], weight[s, 1], weight[s, 2]
            for first in range(0, vertex_count, PIECE):
                # The last piece reaches back where the hair is no whole number of pieces: some vertices are done twice.
                start = U(min(first, vertex_count - PIECE))
                carry_piece(rest, r + start, table, t + start, U(vertex_count), w0, w1, w2, own, out, r + U(3) * start)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def add_guides(
    vertex_count,
    of_hair,
    weight,
    table,
    # out
    out,
):
    """Add to `out` the shift of all guides behind the first three; arguments as for `skin_hairs`."""
    hair_count, places = weight.shape
    stride = 3 * vertex_count
    for s in prange(hair_count):
        for k in range(GROUP, places):
            t, w = U((of_hair[s] * places + k) * stride), weight[s, k]
            for i in range(vertex_count):
                for c in range(3):
                    out[U(s * stride + 3 * i + c)] += w * table[t + U(c * vertex_count + i)]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def blend_turns(
    turn,
    of_hair,
    guide,
    weight,
    # out
    blended,
):
    """Fill `blended`, flat (S * 9), with the sum of w_k R_k; `turn (G, 9)` are the R of the guides' roots."""
    for s in prange(len(of_hair)):
        for e in range(9):
            blended[9 * s + e] = ZERO
        for k in range(weight.shape[1]):
            g = guide[of_hair[s], k]
            for e in range(9):
                blended[9 * s + e] += weight[s, k] * turn[g, e]
