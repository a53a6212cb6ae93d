"""One contact of a point with a solid: whether it acts, what it adds to the load, what it was after the step.

A contact is a half space: with y where the touched point of the solid is at the end of the step, n the normal there
and d the distance that was left, n.(x + dt v' - y) + d >= 0, so the velocity at the end must have n.v' >= goal with
goal = (n.(y - x) - d) / dt. A resistance D n n^T towards `goal` demands just that, if it is much larger than mass / dt.
"""

# mypy: allow-untyped-defs

import math

import numpy as np
from numba import njit

# Columns of a record: normal (3), velocity of the solid (3), goal [m/s], resistance along and across the normal [kg/s],
# whether it sticks, way that a sticking contact has been dragged off (3) [m].
NORMAL, SURFACE, GOAL, ALONG, ACROSS, STICKS, DRIFT = 0, 3, 6, 7, 8, 9, 10
RECORD_SIZE = 13
# What is remembered of a contact beside its normal force: the force of one that stuck, if it was too much [N], and its
# drift (3) [m].
OVERLOAD, DRIFTED = 0, 1
TRAIL_SIZE = 4


@njit(cache=True, error_model="numpy")
def contact_mass(mass, j, u):
    """Mass that a force at fraction u of segment j meets [kg]; both ends free of each other."""
    if u == 0.0:
        return mass[j]
    return 1.0 / ((1.0 - u) * (1.0 - u) / mass[j] + u * u / mass[j + 1])


@njit(cache=True, error_model="numpy")
def friction_law(limit, hold, inertia, speed, overload):
    """Coulomb's law for a point that slides at `speed` [m/s]: resistance [kg/s], and whether it sticks.

    `limit` is the largest force that there can be [N], `hold` the resistance that stands for sticking, `inertia` the
    mass over dt. A resistance limit / speed makes a force of `limit` that ends with the motion, never to reverse it. A
    contact that stuck under a force `overload` above `limit` has no speed yet: it will be (overload - limit) / inertia.
    """
    if overload > limit:
        return min(limit * inertia / (overload - limit), hold), False
    if hold * speed > limit:
        return limit / speed, False
    return (hold, True) if limit > 0.0 else (0.0, False)


@njit(cache=True, error_model="numpy")
def judge_contact(meets, start, d, n, y, surface, x, v, mass, old, laws, dt, row):
    """Decide on one contact and fill its `row`; return by how much it lacks its goal [m/s], below zero if it acts.

    Args:
        meets: whether the path meets the surface.
        start: distance at the start of the step [m].
        d: distance at the touched place [m].
        n: unit normal there.
        y: where that place of the solid is at the end of the step [m].
        surface: velocity of that place [m/s].
        x: the point of the strand [m].
        v: its velocity [m/s].
        mass: that a force meets there [kg].
        old: normal force of this contact in the last step [N], force for friction [N], trail (TRAIL_SIZE,).
        laws: stiffness over mass [1/s^2], holding of friction over mass / dt, coefficient of friction, largest speed of
            pushing out [m/s].
        dt: length of the step [s].
        row: of `record`, filled if it acts.
    """
    own_force, friction_force, trail = old
    stiffness, grip, friction, push_speed = laws
    solid_speed = (n[0] * (y[0] - x[0]) + n[1] * (y[1] - x[1]) + n[2] * (y[2] - x[2])) / dt
    goal = solid_speed - d / dt
    if start < 0.0:
        goal = solid_speed + min(-d / dt, push_speed)
    speed = n[0] * v[0] + n[1] * v[1] + n[2] * v[2]
    # Without the push that the same contact gave in the last step; so a resting contact stays and a leaving one goes.
    excess = speed - dt * max(own_force, 0.0) / mass - goal
    if excess >= 0.0 or not (meets or own_force > 0.0):
        return np.inf
    rx, ry, rz = v[0] - surface[0], v[1] - surface[1], v[2] - surface[2]
    leaving = n[0] * rx + n[1] * ry + n[2] * rz
    rx, ry, rz = rx - leaving * n[0], ry - leaving * n[1], rz - leaving * n[2]
    sliding = math.sqrt(rx * rx + ry * ry + rz * rz)
    across, sticks = friction_law(friction * friction_force, grip * mass / dt, mass / dt, sliding, trail[OVERLOAD])
    for i in range(3):
        row[NORMAL + i] = n[i]
        row[SURFACE + i] = surface[i]
        row[DRIFT + i] = trail[DRIFTED + i] if sticks else 0.0
    row[GOAL], row[ALONG], row[ACROSS] = goal, stiffness * mass * dt, across
    row[STICKS] = 1.0 if sticks else 0.0
    return excess


@njit(cache=True, error_model="numpy")
def held_velocity(row, dt):
    """Velocity that friction holds a point to [m/s]: the solid's, and back to where it began to stick."""
    return (
        row[SURFACE] - row[DRIFT] / dt,
        row[SURFACE + 1] - row[DRIFT + 1] / dt,
        row[SURFACE + 2] - row[DRIFT + 2] / dt,
    )


@njit(cache=True, error_model="numpy")
def spread_contact(row, j, u, dt, force, resistance, coupling):
    """Add one contact at fraction u of segment j to the load of its strand."""
    nx, ny, nz = row[NORMAL], row[NORMAL + 1], row[NORMAL + 2]
    along, across = row[ALONG], row[ACROSS]
    difference = along - across
    sx, sy, sz = held_velocity(row, dt)
    push = along * row[GOAL] - across * (nx * sx + ny * sy + nz * sz)
    fx = push * nx + across * sx
    fy = push * ny + across * sy
    fz = push * nz + across * sz
    matrix = (
        across + difference * nx * nx,
        across + difference * ny * ny,
        across + difference * nz * nz,
        difference * nx * ny,
        difference * nx * nz,
        difference * ny * nz,
    )
    w = 1.0 - u
    force[j, 0] += w * fx
    force[j, 1] += w * fy
    force[j, 2] += w * fz
    for i in range(6):
        resistance[j, i] += w * w * matrix[i]
    if u > 0.0:
        force[j + 1, 0] += u * fx
        force[j + 1, 1] += u * fy
        force[j + 1, 2] += u * fz
        for i in range(6):
            resistance[j + 1, i] += u * u * matrix[i]
            coupling[j, i] += u * w * matrix[i]


@njit(cache=True, error_model="numpy")
def settle_contact(row, friction, v, dt, trail):
    """Normal force of one contact whose point has velocity v [N]; fill its trail."""
    nx, ny, nz = row[NORMAL], row[NORMAL + 1], row[NORMAL + 2]
    force = row[ALONG] * (row[GOAL] - (nx * v[0] + ny * v[1] + nz * v[2]))
    rx, ry, rz = v[0] - row[SURFACE], v[1] - row[SURFACE + 1], v[2] - row[SURFACE + 2]
    leaving = nx * rx + ny * ry + nz * rz
    # How far a sticking contact has been dragged off by now; what pulls it back is in proportion.
    sticks = row[STICKS] > 0.0
    rx = row[DRIFT] + dt * (rx - leaving * nx) if sticks else 0.0
    ry = row[DRIFT + 1] + dt * (ry - leaving * ny) if sticks else 0.0
    rz = row[DRIFT + 2] + dt * (rz - leaving * nz) if sticks else 0.0
    held = row[ACROSS] * math.sqrt(rx * rx + ry * ry + rz * rz) / dt
    trail[OVERLOAD] = held if force > 0.0 and held > friction * force else 0.0
    trail[DRIFTED], trail[DRIFTED + 1], trail[DRIFTED + 2] = rx, ry, rz
    return force


@njit(cache=True, error_model="numpy")
def copy_record(source, target):
    """Copy a row; as an assignment of arrays it would take ten seconds longer to compile."""
    for i in range(RECORD_SIZE):
        target[i] = source[i]
