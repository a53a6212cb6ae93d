"""Springs to targets and to the rigid motion of the roots: loops over vertices.

On one thread: ten thousand vertices take less time than waking a second one.
"""

# mypy: allow-untyped-defs

from mane.simd.jit import njit


@njit(cache=True, error_model="numpy", inline="always")
def turned(q, x, y, z):
    """Turn a vector by a unit quaternion (x, y, z, w)."""
    tx, ty, tz = 2.0 * (q[1] * z - q[2] * y), 2.0 * (q[2] * x - q[0] * z), 2.0 * (q[0] * y - q[1] * x)
    return (
        x + q[3] * tx + q[1] * tz - q[2] * ty,
        y + q[3] * ty + q[2] * tx - q[0] * tz,
        z + q[3] * tz + q[0] * ty - q[1] * tx,
    )


@njit(cache=True, error_model="numpy")
def carry(points, pivots, turns, goals, out):
    """Fill `out` (G, V, 3) with every strand turned by `turns` (G, 4) about `pivots`, which land on `goals` (G, 3)."""
    for g in range(points.shape[0]):
        for v in range(points.shape[1]):
            x, y, z = turned(
                turns[g], points[g, v, 0] - pivots[g, 0], points[g, v, 1] - pivots[g, 1], points[g, v, 2] - pivots[g, 2]
            )
            out[g, v, 0], out[g, v, 1], out[g, v, 2] = x + goals[g, 0], y + goals[g, 1], z + goals[g, 2]


@njit(cache=True, error_model="numpy")
def add_pull(points, before, after, mass, rate, ratio, dt, force, resistance):
    """Add m [w^2 (target - x) + 2 ratio w (target' - x')] at the end of the step, implicit in x and x'."""
    for g in range(points.shape[0]):
        for v in range(points.shape[1]):
            spring = mass[g, v] * rate[g, v] * rate[g, v]
            damper = 2.0 * ratio * mass[g, v] * rate[g, v]
            for axis in range(3):
                goal = after[g, v, axis]
                force[g, v, axis] += spring * (goal - points[g, v, axis])
                force[g, v, axis] += damper * (goal - before[g, v, axis]) / dt
                resistance[g, v, axis] += spring * dt + damper


@njit(cache=True, error_model="numpy")
def add_drift(points, carried, mass, rate, dt, force, resistance):
    """Add m rate (u - x') at the end of the step, with u the velocity that takes `points` to `carried` in the step."""
    for g in range(points.shape[0]):
        for v in range(points.shape[1]):
            damper = mass[g, v] * rate[g, v]
            for axis in range(3):
                force[g, v, axis] += damper * (carried[g, v, axis] - points[g, v, axis]) / dt
                resistance[g, v, axis] += damper
