"""How a surface moves as seen from rigid frames that go along with it, such as the roots of hair.

The triangles of a surface are divided into clusters. In a step each cluster moves as a rigid body does, up to a rest
that is measured; so how far anything of it moves relative to a frame is bounded by a few numbers. A frame has rings of
different reach: what is beyond one all through a step does not count for it.

Sixteen clusters lie side by side: all x of their middles, then y, and so on through the rows below.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.f32x16 import WIDTH, load
from mane.simd.jit import inline, leaf, njit, prange
from mane.simd.masks import select
from mane.simd.math import maximum, minimum, sqrt
from mane.simd.reductions import reduce_max

# Rows of a table of clusters: middle at the start (3), how it moves (3), rotation vector (3), radius, what is left of
# the motion of any point, and the boxes at the start and at the end, lowest (3) and highest (3); all [m] and [rad].
MIDDLE, SHIFT, SPIN, RADIUS, REST, BOX_START, BOX_END = 0, 3, 6, 9, 10, 11, 17
ROWS = 23
# Columns of an observer: its frame at the start, rotation row by row and position [m], the same at the end, and four
# for each of its rings, beginning at `RING`: how far what is within reach of the ring has moved relative to it until
# the start and until the end, all steps together, how far it moves in this step, and how far the ring reaches [m].
AT_START, AT_END, RING = 0, 12, 24
SEEN, MOTION, REACH = 0, 2, 3
RING_SIZE, RINGS = 4, 4
OBSERVER_SIZE = RING + RINGS * RING_SIZE
# What rounding of clusters in single precision may take from a motion [m], and from a reach as a part of it and [m].
MOTION_ROUNDING, REACH_ROUNDING = 1e-7, 1e-5
ZERO = np.float32(0.0)
# Less of a moment of inertia than this part of the largest is none.
FLAT = 1e-9


@leaf()
def fit_spin(xx, yy, zz, xy, xz, yz, lx, ly, lz):
    """Rotation vector of points with second moments xx ... and moments of motion l: inertia times it is l."""
    a, b, c = yy + zz, xx + zz, xx + yy
    ca, cb, cc = b * c - yz * yz, a * c - xz * xz, a * b - xy * xy
    ab, ac, bc = xy * c + xz * yz, xz * b + xy * yz, yz * a + xy * xz
    determinant = a * ca - xy * ab - xz * ac
    if not determinant > FLAT * (a + b + c) ** 3:
        return 0.0, 0.0, 0.0
    return (
        (ca * lx + ab * ly + ac * lz) / determinant,
        (ab * lx + cb * ly + bc * lz) / determinant,
        (ac * lx + bc * ly + cc * lz) / determinant,
    )


@leaf()
def fit_cluster(before, after, members, origin, at, clusters):
    """Fill the lane of the table that begins at `at`: the rigid motion of some points, and what it leaves."""
    count = len(members)
    mx, my, mz, sx, sy, sz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(3):
        low_0, high_0, low_1, high_1 = np.inf, -np.inf, np.inf, -np.inf
        for k in range(count):
            p, q = before[members[k], i], after[members[k], i]
            low_0, high_0, low_1, high_1 = min(low_0, p), max(high_0, p), min(low_1, q), max(high_1, q)
        clusters[at + (BOX_START + i) * WIDTH] = low_0 - origin[i]
        clusters[at + (BOX_START + 3 + i) * WIDTH] = high_0 - origin[i]
        clusters[at + (BOX_END + i) * WIDTH] = low_1 - origin[i]
        clusters[at + (BOX_END + 3 + i) * WIDTH] = high_1 - origin[i]
    for k in range(count):
        p, q = before[members[k]], after[members[k]]
        mx, my, mz = mx + p[0], my + p[1], mz + p[2]
        sx, sy, sz = sx + (q[0] - p[0]), sy + (q[1] - p[1]), sz + (q[2] - p[2])
    mx, my, mz, sx, sy, sz = mx / count, my / count, mz / count, sx / count, sy / count, sz / count
    xx, yy, zz, xy, xz, yz, lx, ly, lz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    radius = 0.0
    for k in range(count):
        p, q = before[members[k]], after[members[k]]
        x, y, z = p[0] - mx, p[1] - my, p[2] - mz
        vx, vy, vz = q[0] - p[0] - sx, q[1] - p[1] - sy, q[2] - p[2] - sz
        xx, yy, zz, xy, xz, yz = xx + x * x, yy + y * y, zz + z * z, xy + x * y, xz + x * z, yz + y * z
        lx, ly, lz = lx + (y * vz - z * vy), ly + (z * vx - x * vz), lz + (x * vy - y * vx)
        radius = max(radius, x * x + y * y + z * z)
    wx, wy, wz = fit_spin(xx, yy, zz, xy, xz, yz, lx, ly, lz)
    rest = 0.0
    for k in range(count):
        p, q = before[members[k]], after[members[k]]
        x, y, z = p[0] - mx, p[1] - my, p[2] - mz
        ex, ey = q[0] - p[0] - sx - (wy * z - wz * y), q[1] - p[1] - sy - (wz * x - wx * z)
        ez = q[2] - p[2] - sz - (wx * y - wy * x)
        rest = max(rest, ex * ex + ey * ey + ez * ez)
    row = (mx - origin[0], my - origin[1], mz - origin[2], sx, sy, sz, wx, wy, wz, math.sqrt(radius), math.sqrt(rest))
    for i in range(len(row)):
        clusters[at + i * WIDTH] = row[i]


@njit(cache=True, error_model="numpy", parallel=True)
def fit_clusters(
    before,
    after,
    first,
    members,
    origin,
    # out
    clusters,
):
    """Fill the table of clusters; the points of one are `members[first[c] : first[c + 1]]` of both shapes (P, 3)."""
    for c in prange(len(first) - 1):
        at = c // WIDTH * (ROWS * WIDTH) + c % WIDTH
        fit_cluster(before, after, members[first[c] : first[c + 1]], origin, at, clusters)


@inline
def square_to_cluster(clusters, at, x, y, z):
    """Squares of the distances of a point to sixteen boxes whose rows begin at `at`."""
    dx = maximum(maximum(load(clusters, at) - x, x - load(clusters, at + 3 * WIDTH)), ZERO)
    dy = maximum(maximum(load(clusters, at + WIDTH) - y, y - load(clusters, at + 4 * WIDTH)), ZERO)
    dz = maximum(maximum(load(clusters, at + 2 * WIDTH) - z, z - load(clusters, at + 5 * WIDTH)), ZERO)
    return dx * dx + dy * dy + dz * dz


@leaf()
def watch_motion(clusters, start, end, turn, one):
    """Fill how far anything moves relative to an observer in a step, at most, that comes within reach of each ring.

    What is farther off at both ends than that by half of its motion has not been within reach on its way either.

    The frame goes from `start` to `end` (3) [m] and turns by the matrix I + `turn` (9). The motion of a point p
    relative to it is v(p) - (end - start) - turn (p - start); of a cluster the last is taken apart at its middle.
    """
    x, y, z = np.float32(start[0]), np.float32(start[1]), np.float32(start[2])
    ex, ey, ez = np.float32(end[0]), np.float32(end[1]), np.float32(end[2])
    dx, dy, dz = np.float32(end[0] - start[0]), np.float32(end[1] - start[1]), np.float32(end[2] - start[2])
    a, b, c = np.float32(turn[0]), np.float32(turn[1]), np.float32(turn[2])
    d, e, f = np.float32(turn[3]), np.float32(turn[4]), np.float32(turn[5])
    g, h, i = np.float32(turn[6]), np.float32(turn[7]), np.float32(turn[8])
    half = np.float32(0.5)
    wx, wy, wz = half * (h - f), half * (c - g), half * (d - b)
    # What of a rotation is no cross product: symmetric, of second order.
    bend = np.float32(math.sqrt(a * a + e * e + i * i + half * ((b + d) ** 2 + (c + g) ** 2 + (f + h) ** 2)))
    for k in range(RINGS):
        one[RING + k * RING_SIZE + MOTION] = MOTION_ROUNDING
    for at in range(0, len(clusters), ROWS * WIDTH):
        near = minimum(
            square_to_cluster(clusters, at + BOX_START * WIDTH, x, y, z),
            square_to_cluster(clusters, at + BOX_END * WIDTH, ex, ey, ez),
        )
        px, py, pz = load(clusters, at) - x, load(clusters, at + WIDTH) - y, load(clusters, at + 2 * WIDTH) - z
        ox = load(clusters, at + SHIFT * WIDTH) - dx - (a * px + b * py + c * pz)
        oy = load(clusters, at + (SHIFT + 1) * WIDTH) - dy - (d * px + e * py + f * pz)
        oz = load(clusters, at + (SHIFT + 2) * WIDTH) - dz - (g * px + h * py + i * pz)
        sx = load(clusters, at + SPIN * WIDTH) - wx
        sy = load(clusters, at + (SPIN + 1) * WIDTH) - wy
        sz = load(clusters, at + (SPIN + 2) * WIDTH) - wz
        turning = sqrt(sx * sx + sy * sy + sz * sz) + bend
        motion = sqrt(ox * ox + oy * oy + oz * oz) + turning * load(clusters, at + RADIUS * WIDTH)
        motion = motion + load(clusters, at + REST * WIDTH)
        for k in range(RINGS):
            ring = RING + k * RING_SIZE
            limit = np.float32(one[ring + REACH] * (1.0 + REACH_ROUNDING) + REACH_ROUNDING) + half * motion
            largest = float(reduce_max(select(near <= limit * limit, motion, ZERO)))
            one[ring + MOTION] = max(one[ring + MOTION], largest + MOTION_ROUNDING)


@leaf()
def fill_frame(pose, first, position, rotation, column, observer):
    """Fill a frame of an observer: `position` and `rotation`, a quaternion, of the world, seen from a solid's pose."""
    x, y, z, w = rotation[0], rotation[1], rotation[2], rotation[3]
    world = (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
        (2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
        (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
    )
    for i in range(3):
        observer[column + 9 + i] = 0.0
        for k in range(3):
            observer[column + 9 + i] += pose[first + 3 * k + i] * (position[k] - pose[first + 9 + k])
        for j in range(3):
            observer[column + 3 * i + j] = (
                pose[first + i] * world[0][j] + pose[first + 3 + i] * world[1][j] + pose[first + 6 + i] * world[2][j]
            )


@leaf()
def relative_turn(observer, turn):
    """Fill `turn (9,)`: the rotation of an observer in a step, less the identity."""
    for i in range(3):
        for j in range(3):
            turn[3 * i + j] = -1.0 if i == j else 0.0
            for k in range(3):
                turn[3 * i + j] += observer[AT_END + 3 * i + k] * observer[AT_START + 3 * j + k]


@leaf()
def add_up(last, forgotten, observer):
    """Add the motion of a step to that of all steps, and what seems to jump where the last one did not end there."""
    turned, moved = 0.0, 0.0
    for k in range(9):
        turned += (observer[AT_START + k] - last[k]) ** 2
    for k in range(9, 12):
        moved += (observer[AT_START + k] - last[k]) ** 2
    for k in range(RINGS):
        ring = RING + k * RING_SIZE
        jump = math.sqrt(moved) + math.sqrt(turned) * observer[ring + REACH]
        observer[ring + SEEN] = observer[ring + SEEN + 1] + jump + forgotten
        observer[ring + SEEN + 1] = observer[ring + SEEN] + observer[ring + MOTION]


@njit(cache=True, error_model="numpy", parallel=True)
def move_observers(
    clusters,
    origin,
    poses,
    positions_before,
    rotations_before,
    positions_after,
    rotations_after,
    forgotten,
    # out
    observers,
):
    """Take observers (W, OBSERVER_SIZE) to the next step and watch the surface.

    Args:
        clusters: see `fit_clusters`; `origin` (3,) that they are seen from [m].
        poses: of the solid at both ends of the step, (24,).
        positions_before: of the observers in the world at the start [m], (W, 3), and `rotations_before`, (W, 4).
        positions_after: at the end.
        rotations_after: at the end.
        forgotten: how far the surface has jumped before the step [m].
        observers: see above.
    """
    for s in prange(len(observers)):
        one = observers[s]
        last, turn, start, end = np.empty(12), np.empty(9), np.empty(3), np.empty(3)
        for k in range(12):
            last[k] = one[AT_END + k]
        fill_frame(poses, 0, positions_before[s], rotations_before[s], AT_START, one)
        fill_frame(poses, 12, positions_after[s], rotations_after[s], AT_END, one)
        relative_turn(one, turn)
        for i in range(3):
            start[i], end[i] = one[AT_START + 9 + i] - origin[i], one[AT_END + 9 + i] - origin[i]
        watch_motion(clusters, start, end, turn, one)
        add_up(last, forgotten, one)


@leaf()
def seen_from(observers, o, f, x):
    """Where observer o sees a point of the solid's frame at one end of the step, f = AT_START or AT_END."""
    px, py, pz = x[0] - observers[o, f + 9], x[1] - observers[o, f + 10], x[2] - observers[o, f + 11]
    return (
        observers[o, f] * px + observers[o, f + 3] * py + observers[o, f + 6] * pz,
        observers[o, f + 1] * px + observers[o, f + 4] * py + observers[o, f + 7] * pz,
        observers[o, f + 2] * px + observers[o, f + 5] * py + observers[o, f + 8] * pz,
    )


@leaf()
def shown_at_end(observers, o, y):
    """Where a point that observer o sees at y is in the solid's frame at the end of the step."""
    f = AT_END
    return (
        observers[o, f] * y[0] + observers[o, f + 1] * y[1] + observers[o, f + 2] * y[2] + observers[o, f + 9],
        observers[o, f + 3] * y[0] + observers[o, f + 4] * y[1] + observers[o, f + 5] * y[2] + observers[o, f + 10],
        observers[o, f + 6] * y[0] + observers[o, f + 7] * y[1] + observers[o, f + 8] * y[2] + observers[o, f + 11],
    )
