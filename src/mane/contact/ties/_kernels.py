"""Pulls of ties to the head: loops over the vertices of one tie, on one thread; a tie holds some hundred."""

# mypy: allow-untyped-defs

import math

from mane.simd.jit import njit

TINY = 1e-12  # [m]; closer to the centre than this, a vertex has no direction to be pulled in


@njit(cache=True, error_model="numpy")
def hold_at_head(
    points, velocity, rows, held, before, after, stiffness, damping, radius, inward, dt, force, resistance, record
):
    """Pull the held vertices that are about to leave the ball about a place of the head back into it, implicitly.

    Args:
        points, velocity: of all vertices, shapes (P, 3).
        rows: the vertices of the tie, shape (K,).
        held: whether the tie still holds them, shape (K,).
        before, after: where the head has the centre for each at start and end of the step [m], shapes (K, 3).
        stiffness: [N/m], shape (K,).
        damping: of every motion relative to the head [kg/s], shape (K,).
        radius: of the ball [m].
        inward: speed at which those outside are drawn in, at most [m/s].
        dt: [s].
        force, resistance: added to, shapes (P, 3) and (P, 6).
        record: out: stiffness of the pull (0 for none), what it would be without the vertex's motion [m], and its
            direction times dt; shape (K, 5).
    """
    for k in range(len(rows)):
        record[k, 0] = 0.0
        if not held[k]:
            continue
        p, q, f, d = points[rows[k]], velocity[rows[k]], force[rows[k]], resistance[rows[k]]
        for axis in range(3):
            f[axis] += damping[k] * (after[k, axis] - before[k, axis]) / dt
            d[axis] += damping[k]
        rx, ry, rz = p[0] - before[k, 0], p[1] - before[k, 1], p[2] - before[k, 2]
        distance = math.sqrt(rx * rx + ry * ry + rz * rz)
        if distance <= TINY:
            continue
        nx, ny, nz = rx / distance, ry / distance, rz / distance
        carried = (
            nx * (after[k, 0] - before[k, 0]) + ny * (after[k, 1] - before[k, 1]) + nz * (after[k, 2] - before[k, 2])
        )
        beyond = min(distance - radius, inward * dt) - carried
        # A vertex outside is led in even when it comes by itself: let go, it would leave again in the next step.
        if distance <= radius and beyond + dt * (nx * q[0] + ny * q[1] + nz * q[2]) <= 0.0:
            continue
        record[k, 0], record[k, 1] = stiffness[k], beyond
        record[k, 2], record[k, 3], record[k, 4] = dt * nx, dt * ny, dt * nz
        pull, drag = stiffness[k] * beyond, stiffness[k] * dt
        f[0], f[1], f[2] = f[0] - pull * nx, f[1] - pull * ny, f[2] - pull * nz
        d[0], d[1], d[2] = d[0] + drag * nx * nx, d[1] + drag * ny * ny, d[2] + drag * nz * nz
        d[3], d[4], d[5] = d[3] + drag * nx * ny, d[4] + drag * nx * nz, d[5] + drag * ny * nz


@njit(cache=True, error_model="numpy")
def measure_pull(velocity, rows, record, pull):
    """Fill `pull` (K,) with the force [N] that `hold_at_head` turned out to have, with velocities after the step."""
    for k in range(len(rows)):
        q = velocity[rows[k]]
        moved = record[k, 2] * q[0] + record[k, 3] * q[1] + record[k, 4] * q[2]
        pull[k] = record[k, 0] * abs(record[k, 1] + moved)
