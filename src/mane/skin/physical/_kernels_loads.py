"""What a guide would have to feel for a single sweep to bend it as it is bent.

One sweep (hsu2024 eq. 17 with 24) turns the unloaded segment D to the tangent t by the angle theta with

    tan(theta / 2) (|g| + k_bt / 2 - g . t) = |g x t|

where g is l times the force of eq. 23. A guide shows t, and its tension gives g . t = p, so with T = tan(theta / 2) and
K = k_bt / 2 the part c of g across the segment follows from c = T (sqrt(p^2 + c^2) + K - p): a quadratic that has one
root above zero as long as the turn is below a right angle.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit, prange
from mane.skin._kernels_rotation import product, third_axis

# Of tan(theta / 2): joints that are bent by up to 33 degrees away from their rest are read as they are, others as less,
# at most 53 degrees. What one sweep needs to bend a joint grows without bounds towards a right angle, and turns round
# as the joint folds: hair that is not of its guide's shape was thrown about by that (docs/decisions/0009).
EXACT_TURN = 0.3
LARGEST_TURN = 0.5
FOLDED = 1e3  # a turn that is none any more


@njit(cache=True, error_model="numpy")
def across(turn, along, half_stiffness):
    """c of the quadratic above, for T, p and K."""
    root = math.sqrt(along * along + turn * turn * half_stiffness * (half_stiffness - 2.0 * along))
    return turn * (half_stiffness - along + root) / (1.0 - turn * turn)


@njit(cache=True, error_model="numpy")
def read_turn(turn):
    """T as it is up to `EXACT_TURN`, then less and less, towards `LARGEST_TURN`; smooth."""
    if turn <= EXACT_TURN:
        return turn
    room = LARGEST_TURN - EXACT_TURN
    more = min(turn, FOLDED) - EXACT_TURN
    return EXACT_TURN + room * more / (room + more)


@njit(cache=True, error_model="numpy")
def fill_root_rotations(
    rotations,
    head,
    # out
    turns,
):
    """Fill `turns (G + 1, 4)` with the quaternions `rotations (G, 4)` and `head (4,)`, made unit, all on its side."""
    for g in range(len(turns)):
        side, square = 0.0, 0.0
        for c in range(4):
            turns[g, c] = rotations[g, c] if g < len(rotations) else head[c]
            side += turns[g, c] * head[c]
            square += turns[g, c] * turns[g, c]
        scale = (-1.0 if side < 0.0 else 1.0) / math.sqrt(square) if square > 0.0 else 0.0
        for c in range(4):
            turns[g, c] *= scale
        if not square > 0.0:  # an empty slot may hold zeros
            turns[g, 3] = 1.0


@njit(cache=True, error_model="numpy", parallel=True)
def fill_loads(
    points,
    cut,
    weight,
    largest,
    root,
    first,
    length,
    bend,
    share,
    pull,
    # out
    load,
):
    """Fill `load (G, N, 3)` with forces of which `share` bends each guide to its `points`.

    Args:
        points: of the guides now (G, N + 1, 3) [m], float32.
        cut: cut forces [N], of which the part along the segments is kept (G, N, 3).
        weight: of each guide [N] (G,).
        largest: what cut forces are limited to, in weights.
        root: how the skin has turned at each root (G, 4), unit quaternions.
        first: rest rotation of each joint in a first sweep (G, N, 4).
        length: rest length of each segment (G, N) [m].
        bend: E I of each guide over its weight (G,) [m^2].
        share: 1 - alpha.
        pull: alpha times drift.
        load: see above.
    """
    for g in prange(len(points)):
        ax, ay, az, aw = root[g, 0], root[g, 1], root[g, 2], root[g, 3]
        in_weights, before = 1.0 / weight[g], 0.0
        for i in range(length.shape[1]):
            p, l = first[g, i], length[g, i]
            hx, hy, hz, hw = product(ax, ay, az, aw, p[0], p[1], p[2], p[3])
            dx, dy, dz = third_axis(hx, hy, hz, hw)
            # In double precision: rounded to float32, the direction of a short segment shows in its load, which is
            # k_bt over its length times as large.
            tx = np.float64(points[g, i + 1, 0]) - points[g, i, 0]
            ty = np.float64(points[g, i + 1, 1]) - points[g, i, 1]
            tz = np.float64(points[g, i + 1, 2]) - points[g, i, 2]
            size = math.sqrt(tx * tx + ty * ty + tz * tz)
            if not size > 0.0:  # nowhere to look at, as in a slot without a guide
                tx, ty, tz, size = dx, dy, dz, 1.0
            tx, ty, tz = tx / size, ty / size, tz / size
            cosine = min(max(dx * tx + dy * ty + dz * tz, -1.0), 1.0)
            # n, across t and away from D, times the sine of the angle.
            nx, ny, nz = cosine * tx - dx, cosine * ty - dy, cosine * tz - dz
            sine = math.sqrt(nx * nx + ny * ny + nz * nz)
            turn = read_turn(sine / (1.0 + cosine) if cosine > -1.0 else FOLDED)
            fx, fy, fz = in_weights * cut[g, i, 0], in_weights * cut[g, i, 1], in_weights * cut[g, i, 2]
            tension = fx * tx + fy * ty + fz * tz
            size = math.sqrt(fx * fx + fy * fy + fz * fz)
            if size > largest:
                tension *= largest / size
            half_stiffness = 4.0 * bend[g] / (l + before)  # k_bt is 4 E I over the half segments on either side
            before = l
            c = across(turn, l * (share * tension + pull), half_stiffness) / (l * share)
            c = c / sine if sine > 0.0 else 0.0
            load[g, i, 0], load[g, i, 1], load[g, i, 2] = (
                tension * tx + c * nx,
                tension * ty + c * ny,
                tension * tz + c * nz,
            )
            # The smallest turn from D to t, as the sweep makes it.
            ux, uy, uz, w = dy * tz - dz * ty, dz * tx - dx * tz, dx * ty - dy * tx, 1.0 + cosine
            if w < 1e-12:
                ux, uy, uz, w = 0.0, 0.0, 0.0, 1.0
            inv = 1.0 / math.sqrt(ux * ux + uy * uy + uz * uz + w * w)
            ax, ay, az, aw = product(ux * inv, uy * inv, uz * inv, w * inv, hx, hy, hz, hw)


@njit(cache=True, error_model="numpy", parallel=True)
def place_loads(
    load,
    guide,
    parameter,
    # out
    placed,
):
    """Fill `placed (B, K, N, 3)` with `load (G, M, 3)` of `guide (B, K)` in the middle of the hairs' segments.

    `parameter (B, K, N + 1)` is the place on each guide that goes with each vertex, in vertices of the guide.
    """
    last = load.shape[1] - 1
    for b in prange(len(guide)):
        for k in range(guide.shape[1]):
            own = load[guide[b, k]]
            for i in range(placed.shape[2]):
                # The middle of segment j is at the place j + 1/2.
                place = 0.5 * (parameter[b, k, i] + parameter[b, k, i + 1]) - 0.5
                place = min(max(place, 0.0), np.float64(last))
                j = min(int(place), last - 1)
                u = place - j
                for c in range(3):
                    placed[b, k, i, c] = own[j, c] + u * (own[j + 1, c] - own[j, c])
