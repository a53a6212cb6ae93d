"""One contact of a point with a solid: whether it acts, what it adds to the load, what it was after the step.

A contact is a half space: with y where the touched point of the solid is at the end of the step, n the normal there
and d the distance that was left, n.(x + dt v' - y) + d >= 0, so the velocity at the end must have n.v' >= goal with
goal = (n.(y - x) - d) / dt. A resistance D n n^T towards `goal` demands just that, if it is much larger than mass / dt.

Whether a contact acts, and whether it sticks, is a matter of the velocity at the end of the step, which nobody knows
yet. What the last step has shown of the same contact forecasts it: a point with velocity v that gained a velocity g
while the contact gave it a force f would, without that force, have v + g - dt f / m in the coming step. The force that
is needed to bring that to the goal, or to rest on the surface, is what Coulomb's law judges (chai2017 7.1).
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit
from mane.simd.memory import stay_out_of_line

# Columns of a record: normal (3), velocity of the solid (3) and of the point at the start (3) [m/s], goal [m/s],
# resistance along and across the normal [kg/s], friction that acts even without motion, on the solid (3) [N].
NORMAL, SURFACE, START, GOAL, ALONG, ACROSS, PULL = 0, 3, 6, 9, 10, 11, 12
RECORD_SIZE = 15
# What is remembered of a contact beside its normal force: friction, as a force on the solid (3) [N], and what velocity
# the point gained in the step (3) [m/s].
PULLED, GAINED = 0, 3
TRAIL_SIZE = 6
# Deeper than this part of the path that it is pushed out in a step, a point counts as being pushed out.
DEEP = 0.05
# Part of its depth that a point inside a hard solid is brought out in a step.
RECOVERY = 0.5


@njit(cache=True, error_model="numpy")
def contact_mass(mass, j, u):
    """Mass that a force at fraction u of segment j meets [kg]; both ends free of each other."""
    if u == 0.0:
        return mass[j]
    return 1.0 / ((1.0 - u) * (1.0 - u) / mass[j] + u * u / mass[j + 1])


@njit(cache=True, error_model="numpy")
def dot(a, b):
    """Product of two vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True, error_model="numpy")
def along_surface(n, a):
    """What of a vector lies across the unit normal n."""
    part = dot(n, a)
    return a[0] - part * n[0], a[1] - part * n[1], a[2] - part * n[2]


@njit(cache=True, error_model="numpy")
def friction_law(limit, hold, inertia, pulled, drift):
    """Coulomb's law (chai2017 7.1) as a force on the solid pull + across v, for the velocity v along the surface.

    The force that ends all sliding within the step is needed. Where it is not above the limit, the point sticks: that
    force acts, and a resistance that makes up for a wrong forecast, though for no more than the limit if others drive
    the point on with the velocity of the drift.

    Otherwise the point slides on with the speed that the rest of the force leaves it; there the force is `limit`. It
    changes with the speed as that of a resistance would, which ends with the motion and does not reverse it, but no
    faster than half of inertia does: so a point that others hold or drive comes to the limit within a few steps.

    Args:
        limit: the largest force that there can be [N].
        hold: the largest resistance of sticking [kg/s].
        inertia: mass over dt [kg/s].
        pulled: friction of the last step, on the solid (3) [N].
        drift: velocity along the surface that it would lead to again (3) [m/s].

    Returns:
        across [kg/s], and the pull (3) [N].
    """
    if limit <= 0.0:
        return 0.0, (0.0, 0.0, 0.0)
    needed = (pulled[0] + inertia * drift[0], pulled[1] + inertia * drift[1], pulled[2] + inertia * drift[2])
    size = math.sqrt(dot(needed, needed))
    if size <= limit:
        forward, left = dot(needed, drift), (limit - size) * size
        return left / forward if hold * forward > left else hold, needed
    speed = (size - limit) / inertia
    across = min(limit / speed, 0.5 * inertia)
    share = (limit - across * speed) / size
    return across, (share * needed[0], share * needed[1], share * needed[2])


@njit(cache=True, error_model="numpy")
def contact_goal(start, d, solid_speed, mass, laws, dt):
    """Velocity along the normal that a contact demands [m/s], and the resistance with which it does so [kg/s]."""
    stiffness, _, _, push_speed, is_hard = laws
    wanted, along = -d / dt, stiffness * mass * dt
    if start >= 0.0:
        return solid_speed + wanted, along
    if is_hard:
        # A part of the depth at a time, so that it slows down on its way out.
        return solid_speed + min(RECOVERY * wanted, push_speed), along
    if wanted > push_speed:
        # The force is that of the depth, and gone at the largest speed.
        return solid_speed + push_speed, along * wanted / push_speed
    return solid_speed + wanted, along


@njit(cache=True, error_model="numpy")
def judge_contact(meets, start, d, n, y, surface, x, v, masses, old, laws, dt, row):
    """Decide on one contact and fill its `row`; return by how much it exceeds its goal [m/s], infinite if it is none.

    Args:
        meets: whether the path meets the surface.
        start: distance at the start of the step [m].
        d: distance at the touched place [m].
        n: unit normal there.
        y: where that place of the solid is at the end of the step [m].
        surface: velocity of that place [m/s].
        x: the point of the strand [m].
        v: its velocity [m/s].
        masses: mass of the point, and what a force meets there at most, with what bending adds [kg].
        old: whether this contact was there in the last step, its normal force then [N], the one of a neighbour that it
            may have wandered from [N], and the trail of either (TRAIL_SIZE,). A new contact has no forces, and in its
            trail what gravity gives.
        laws: stiffness over mass [1/s^2], holding of friction over mass / dt, coefficient of friction, largest speed of
            pushing out [m/s], and whether the contact is hard.
        dt: length of the step [s].
        row: of `record`, filled if it acts.
    """
    stay_out_of_line()
    mass, stiff_mass = masses
    was_there, own_force, inherited, trail = old
    _, grip, friction, push_speed, is_hard = laws
    gained = (trail[GAINED], trail[GAINED + 1], trail[GAINED + 2])
    solid_speed = (n[0] * (y[0] - x[0]) + n[1] * (y[1] - x[1]) + n[2] * (y[2] - x[2])) / dt
    goal, along = contact_goal(start, d, solid_speed, stiff_mass, laws, dt)
    speed = dot(n, v)
    excess = speed - goal
    if is_hard:
        excess += dot(n, gained) - dt * own_force / mass
    # What was pushed out must not fly on with the speed that it was given for that.
    comes_out = (
        is_hard and was_there and start < -DEEP * push_speed * dt and speed - solid_speed < (1.0 + DEEP) * push_speed
    )
    if not (comes_out or (excess < 0.0 and (meets or own_force > 0.0))):
        return np.inf
    # The resistance gives way by force / along; that is part of the forecast.
    force = max(-excess / (dt / mass + 1.0 / along), inherited) if is_hard else max(own_force, inherited)
    drift = (v[0] - surface[0] + gained[0], v[1] - surface[1] + gained[1], v[2] - surface[2] + gained[2])
    pulled = along_surface(n, (trail[PULLED], trail[PULLED + 1], trail[PULLED + 2]))
    inertia = mass / dt
    across, pull = friction_law(friction * force, grip * inertia, inertia, pulled, along_surface(n, drift))
    for i in range(3):
        row[NORMAL + i], row[SURFACE + i], row[START + i] = n[i], surface[i], v[i]
        row[PULL + i] = pull[i]
    row[GOAL], row[ALONG], row[ACROSS] = goal, along, across
    return excess


@njit(cache=True, error_model="numpy")
def spread_contact(row, j, u, force, resistance, coupling):
    """Add one contact at fraction u of segment j to the load of its strand."""
    nx, ny, nz = row[NORMAL], row[NORMAL + 1], row[NORMAL + 2]
    sx, sy, sz = row[SURFACE], row[SURFACE + 1], row[SURFACE + 2]
    along, across = row[ALONG], row[ACROSS]
    difference = along - across
    push = along * row[GOAL] - across * (nx * sx + ny * sy + nz * sz)
    fx = push * nx + across * sx - row[PULL]
    fy = push * ny + across * sy - row[PULL + 1]
    fz = push * nz + across * sz - row[PULL + 2]
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
def drop_contact(row, j, u, force, resistance, coupling):
    """Take one contact out of the load of its strand again; its `row` then stands for a contact that does nothing."""
    row[ALONG], row[ACROSS] = -row[ALONG], -row[ACROSS]
    for i in range(3):
        row[PULL + i] = -row[PULL + i]
    spread_contact(row, j, u, force, resistance, coupling)
    row[ALONG], row[ACROSS] = 0.0, 0.0
    for i in range(3):
        row[PULL + i] = 0.0


@njit(cache=True, error_model="numpy")
def normal_force(row, v):
    """What one contact presses with if its point has velocity v at the end of the step [N]; below zero it pulls."""
    return row[ALONG] * (row[GOAL] - (row[NORMAL] * v[0] + row[NORMAL + 1] * v[1] + row[NORMAL + 2] * v[2]))


@njit(cache=True, error_model="numpy")
def settle_contact(row, v, trail):
    """Normal force of one contact whose point has velocity v at the end of the step [N]; fill its trail."""
    n = (row[NORMAL], row[NORMAL + 1], row[NORMAL + 2])
    slid = along_surface(n, (v[0] - row[SURFACE], v[1] - row[SURFACE + 1], v[2] - row[SURFACE + 2]))
    for i in range(3):
        trail[PULLED + i] = row[PULL + i] + row[ACROSS] * slid[i]
        trail[GAINED + i] = v[i] - row[START + i]
    return normal_force(row, v)


@njit(cache=True, error_model="numpy")
def copy_record(source, target):
    """Copy a row; as an assignment of arrays it would take ten seconds longer to compile."""
    for i in range(RECORD_SIZE):
        target[i] = source[i]
