"""Frames of segments for static links: carried from the root along the strand without twist, and what that asks of it.

The first axis across a segment comes from the segment before it by the smallest rotation of one tangent to the other,
that of the first segment from the direction in which the root holds it. A torque about a segment is then one on the
whole strand down to its root, and every bend on the way turns some of it into forces, those of a rod that resists
twist.
"""

# mypy: allow-untyped-defs

import math

from mane.geometry._kernels_quaternion import quat_multiply, quat_rotate
from mane.simd.f64x8 import WIDTH
from mane.simd.jit import leaf, njit, prange

# Rows of each block of eight segments: the first axis across, zero where no root holds it, and its spin [rad/s].
AXIS_X, AXIS_Y, AXIS_Z, SPIN = range(4)
FRAME_ROWS = 4
FOLDED = 0.05  # least of 1 + cosine of a bend that is told from one of 180 degrees, about which no frame is carried
TINY = 1e-300


@leaf()
def tangent(points, g, i):
    """Unit vector along a segment, and one over its length [1/m]."""
    x = points[g, i + 1, 0] - points[g, i, 0]
    y = points[g, i + 1, 1] - points[g, i, 1]
    z = points[g, i + 1, 2] - points[g, i, 2]
    inv = 1.0 / math.sqrt(max(x * x + y * y + z * z, TINY))
    return x * inv, y * inv, z * inv, inv


@leaf()
def turning(velocity, g, i, t, inv):
    """Angular velocity of a segment across itself, t x dt/dt [rad/s]."""
    x = (velocity[g, i + 1, 0] - velocity[g, i, 0]) * inv
    y = (velocity[g, i + 1, 1] - velocity[g, i, 1]) * inv
    z = (velocity[g, i + 1, 2] - velocity[g, i, 2]) * inv
    return t[1] * z - t[2] * y, t[2] * x - t[0] * z, t[0] * y - t[1] * x


@leaf()
def dot(a, b):
    """Product of two vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@leaf()
def rotation_rate(before, after, g, dt):
    """Angular velocity that takes quaternion g of `before` (G, 4) to that of `after` in `dt` [rad/s]."""
    x, y, z, w = quat_multiply(
        after[g, 0], after[g, 1], after[g, 2], after[g, 3], -before[g, 0], -before[g, 1], -before[g, 2], before[g, 3]
    )
    sine = math.sqrt(x * x + y * y + z * z)
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    rate = (2.0 * math.atan2(sine, w) / sine if sine > 0.0 else 2.0) / dt
    return x * rate, y * rate, z * rate


@njit(cache=True, error_model="numpy", parallel=True)
def carry_frames(points, velocity, rest, before, after, dt, roots, rows):
    """Fill `FRAME_ROWS` of every block of eight vertices, flat `rows`, with the frames of the segments behind them.

    Args:
        points: [m], shape (G, V, 3).
        velocity: [m/s], likewise.
        rest: direction in which each root holds its strand, and an axis across it, at rest, shape (G, 2, 3); an axis
            of zero where it holds none.
        before: how the roots have turned since, at the start of the step, quaternions (G, 4).
        after: likewise at its end.
        dt: length of the step [s].
        roots: out, `rest` as turned.
        rows: out.
    """
    strands, vertices = points.shape[:2]
    for g in prange(strands):
        for k in range(2):
            roots[g, k, 0], roots[g, k, 1], roots[g, k, 2] = quat_rotate(
                before[g, 0], before[g, 1], before[g, 2], before[g, 3], rest[g, k, 0], rest[g, k, 1], rest[g, k, 2]
            )
        last = (roots[g, 0, 0], roots[g, 0, 1], roots[g, 0, 2])
        ax, ay, az = roots[g, 1, 0], roots[g, 1, 1], roots[g, 1, 2]
        held = ax * ax + ay * ay + az * az > 0.0
        turned = rotation_rate(before, after, g, dt)
        spin = dot(turned, last)
        turned = (turned[0] - spin * last[0], turned[1] - spin * last[1], turned[2] - spin * last[2])
        for i in range(vertices - 1):
            x, y, z, inv = tangent(points, g, i)
            t = (x, y, z)
            own = turning(velocity, g, i, t, inv)
            by_bend = 1.0 / max(1.0 + dot(last, t), FOLDED)
            # The smallest rotation from one tangent to the next; the twist between two segments does not change.
            lean = (ax * x + ay * y + az * z) * by_bend
            ax, ay, az = ax - lean * (last[0] + x), ay - lean * (last[1] + y), az - lean * (last[2] + z)
            along = ax * x + ay * y + az * z
            ax, ay, az = ax - along * x, ay - along * y, az - along * z
            size = 1.0 / math.sqrt(max(ax * ax + ay * ay + az * az, TINY))
            ax, ay, az = ax * size, ay * size, az * size
            spin += (dot(turned, t) - dot(own, last)) * by_bend
            at = (g * vertices + i) // WIDTH * FRAME_ROWS * WIDTH + (g * vertices + i) % WIDTH
            rows[at + WIDTH * AXIS_X] = ax if held else 0.0
            rows[at + WIDTH * AXIS_Y] = ay if held else 0.0
            rows[at + WIDTH * AXIS_Z] = az if held else 0.0
            rows[at + WIDTH * SPIN] = spin
            last, turned = t, own


@njit(cache=True, error_model="numpy", parallel=True)
def hand_to_root(points, roots, torques, force):
    """Add to `force` (G, V, 3) what torques (G V,) about segments [N m] do to the bends between them and the root."""
    strands, vertices = points.shape[:2]
    for g in prange(strands):
        if roots[g, 1, 0] == 0.0 and roots[g, 1, 1] == 0.0 and roots[g, 1, 2] == 0.0:
            continue
        total = 0.0
        x, y, z, inv = tangent(points, g, vertices - 2)
        for i in range(vertices - 2, -1, -1):
            total += torques[g * vertices + i]
            if i > 0:
                bx, by, bz, inv_before = tangent(points, g, i - 1)
            else:
                bx, by, bz, inv_before = roots[g, 0, 0], roots[g, 0, 1], roots[g, 0, 2], 0.0
            size = total / max(1.0 + bx * x + by * y + bz * z, FOLDED)
            fx, fy, fz = (by * z - bz * y) * size, (bz * x - bx * z) * size, (bx * y - by * x) * size
            force[g, i + 1, 0] -= fx * inv
            force[g, i + 1, 1] -= fy * inv
            force[g, i + 1, 2] -= fz * inv
            force[g, i, 0] += fx * (inv - inv_before)
            force[g, i, 1] += fy * (inv - inv_before)
            force[g, i, 2] += fz * (inv - inv_before)
            if i > 0:
                force[g, i - 1, 0] += fx * inv_before
                force[g, i - 1, 1] += fy * inv_before
                force[g, i - 1, 2] += fz * inv_before
            x, y, z, inv = bx, by, bz, inv_before
