"""Strands that crossed into a solid during a step, moved out from the root towards the tip with all lengths kept.

Every vertex, and places between them where the solid is thin (see `_kernels_solids`), is followed from where it was at
the start of the step to where it is now. One that met the surface on its way belongs above the plane that it met: how
far it is below is its wish, and a wish of a place within a segment is shared by both ends. Then the strand is walked
from the root to the tip: a vertex with a wish is lifted by turning the segment before it, the others follow. What one
segment cannot give is passed on towards the root. Wishes are made and granted a few times, because turning one segment
carries all that hang on it.
"""

# mypy: allow-untyped-defs

import numpy as np
from numba import njit, prange

from mane.contact._kernels_solids import AT_ROOT, SLACK, between, length_between, vector
from mane.contact._kernels_trace import (
    AFTER,
    BEFORE,
    across_strand,
    refresh_clearance,
    tangent_at,
    to_local,
    to_world,
    trace_solid,
    turn_to_world,
)
from mane.groom._kernels_depenetrate import raise_direction

# Rounds of wishing and granting; a strand against one plane needs one.
ROUNDS = 6
# How far a segment may turn into the direction of a wish before the one before it has to help; 1 is all the way.
STEEP = 0.7
# Columns of a wish: direction (3) and rise [m].
RISE = 3
# A vertex this close to the one before it, as a part of their distance, has no direction.
NO_DIRECTION = 1e-12


@njit(cache=True, error_model="numpy")
def stop_approach(n, surface, u, velocity, j):
    """Take from the velocity of a place at fraction u of segment j what leads into the solid."""
    w = 1.0 - u
    beside = j + 1 if u > 0.0 else j
    v = between(vector(velocity, j), vector(velocity, beside), u)
    approach = n[0] * (v[0] - surface[0]) + n[1] * (v[1] - surface[1]) + n[2] * (v[2] - surface[2])
    if approach < 0.0:
        share = approach / (w * w + u * u)
        for i in range(3):
            velocity[j, i] -= w * share * n[i]
            if u > 0.0:
                velocity[beside, i] -= u * share * n[i]


@njit(cache=True, error_model="numpy")
def make_wish(n, rise, wish):
    """Keep the largest wish of a vertex, (4,)."""
    if rise > wish[RISE]:
        wish[0], wish[1], wish[2], wish[RISE] = n[0], n[1], n[2], rise


@njit(cache=True, error_model="numpy")
def test_place(solid, poses, limits, is_thin, length, here, there, u, j, dt, points, velocity, wishes):
    """Test one place that went from `here` to `there` in the solid's frame; return its distance at the start [m].

    `limits` are thickness [m], tolerance as a part of the `length` of the segment [m], and the largest speed at which
    what was inside already comes out [m/s].
    """
    thickness, tolerance, push_speed = limits
    allowed = tolerance * length
    start, meets, px, py, pz, d, nx, ny, nz = trace_solid(
        solid, thickness, here[0], here[1], here[2], there[0], there[1], there[2]
    )
    if meets:
        n = turn_to_world(poses, AFTER, nx, ny, nz)
        if is_thin:
            d, n = across_strand(d, n, tangent_at(points, j, u), solid[8] + thickness)
        ax, ay, az = to_world(poses, AFTER, px, py, pz)
        ex, ey, ez = to_world(poses, AFTER, there[0], there[1], there[2])
        end = d + n[0] * (ex - ax) + n[1] * (ey - ay) + n[2] * (ez - az)
        goal = min(0.0, start + push_speed * dt) if start < -allowed else 0.0
        if goal - end > allowed:
            bx, by, bz = to_world(poses, BEFORE, px, py, pz)
            stop_approach(n, ((ax - bx) / dt, (ay - by) / dt, (az - bz) / dt), u, velocity, j)
            w = 1.0 - u
            share = (goal - end) / (w * w + u * u)
            make_wish(n, w * share, wishes[j])
            if u > 0.0:
                make_wish(n, u * share, wishes[j + 1])
    return start


@njit(cache=True, error_model="numpy")
def test_segment(solid, poses, limits, inner, length, reach, ends, j, dt, points, velocity, wishes):
    """Test the places within segment j; those that nothing can have reached are passed over."""
    here, there = ends
    spacing = solid[7] * length_between(here[0], here[1]) / (inner + 1)
    k = 1
    while k <= inner:
        u = k / (inner + 1)
        start = test_place(
            solid,
            poses,
            limits,
            True,
            length,
            between(here[0], here[1], u),
            between(there[0], there[1], u),
            u,
            j,
            dt,
            points,
            velocity,
            wishes,
        )
        k += 1 + max(0, int((start - reach) / spacing))


@njit(cache=True, error_model="numpy")
def test_strand(solid, poses, limits, inner, before, points, is_held, rest_length, dt, velocity, cache, wishes):
    """Fill the wishes (V, 4) of one strand that went from `before` to `points` (V, 3); return its first free vertex."""
    clearance, measured_at = cache
    slope, thickness = solid[7], limits[0]
    first = 1 if is_held else 0
    here_prev, there_prev = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    bound_prev, travel_prev = np.inf, 0.0
    for j in range(len(points)):
        wishes[j, RISE] = 0.0
        length = rest_length[max(j - 1, 0)]
        x, y = vector(before, j), vector(points, j)
        here = to_local(poses, BEFORE, x[0], x[1], x[2])
        there = to_local(poses, AFTER, y[0], y[1], y[2])
        travel = slope * length_between(here, there)
        reach = travel + SLACK * length + thickness
        half = slope * length if inner > 0 or j == 0 else 0.0
        bound = refresh_clearance(solid, here[0], here[1], here[2], reach + half, clearance[j], measured_at[j])
        if j == 0 and is_held and bound < AT_ROOT * length:
            first = 2  # the first segment of a root on the skin is the skin's matter
        if j >= max(first, 1) and inner > 0:
            span = slope * length_between(here_prev, here)
            segment_reach = max(reach, reach - travel + travel_prev)
            if 0.5 * (bound + bound_prev - span) < segment_reach:
                ends = ((here_prev, here), (there_prev, there))
                test_segment(
                    solid, poses, limits, inner, length, segment_reach, ends, j - 1, dt, points, velocity, wishes
                )
        if j >= first and bound < reach:
            test_place(solid, poses, limits, inner > 0, length, here, there, 0.0, j, dt, points, velocity, wishes)
        here_prev, there_prev, bound_prev, travel_prev = here, there, bound, travel
    return first


@njit(cache=True, error_model="numpy")
def follow(start, length, x):
    """Place at `length` from `start` in the direction of x: chang2002 3.3, p1' + |p2 - p1| v / |v|."""
    scale = length / max(length_between(start, x), NO_DIRECTION * length)
    return (
        start[0] + scale * (x[0] - start[0]),
        start[1] + scale * (x[1] - start[1]),
        start[2] + scale * (x[2] - start[2]),
    )


@njit(cache=True, error_model="numpy")
def lift(start, length, x, n, rise):
    """Place at `length` from `start`, reached from x by turning towards n until it is `rise` [m] further along n."""
    dx, dy, dz = (x[0] - start[0]) / length, (x[1] - start[1]) / length, (x[2] - start[2]) / length
    climb = dx * n[0] + dy * n[1] + dz * n[2] + rise / length
    dx, dy, dz = raise_direction(dx, dy, dz, n[0], n[1], n[2], climb)
    return start[0] + length * dx, start[1] + length * dy, start[2] + length * dz


@njit(cache=True, error_model="numpy")
def pass_wishes_on(first, points, wishes):
    """From the tip to the root: what turning its own segment cannot give a vertex, the vertex before it must rise."""
    for j in range(len(points) - 1, max(first, 1), -1):
        n, rise = vector(wishes, j), wishes[j, RISE]
        if rise > 0.0:
            x, start = vector(points, j), vector(points, j - 1)
            climb = n[0] * (x[0] - start[0]) + n[1] * (x[1] - start[1]) + n[2] * (x[2] - start[2])
            make_wish(n, rise - max(STEEP * length_between(start, x) - climb, 0.0), wishes[j - 1])


@njit(cache=True, error_model="numpy")
def grant_wishes(first, points, wishes):
    """Move the vertices of one strand from number `first` on, in place; return whether any moved."""
    has_moved = False
    old_prev = vector(points, max(first - 1, 0))
    for j in range(first, len(points)):
        old = vector(points, j)
        x = old
        n, rise = vector(wishes, j), wishes[j, RISE]
        if j == 0:
            if rise > 0.0:
                x = (old[0] + rise * n[0], old[1] + rise * n[1], old[2] + rise * n[2])
                has_moved = True
        else:
            start, length = vector(points, j - 1), length_between(old_prev, old)
            if has_moved:
                x = follow(start, length, old)
            if rise > 0.0:
                risen = n[0] * (x[0] - old[0]) + n[1] * (x[1] - old[1]) + n[2] * (x[2] - old[2])
                if risen < rise:
                    x = lift(start, length, x, n, rise - risen)
                    has_moved = True
        points[j, 0], points[j, 1], points[j, 2] = x[0], x[1], x[2]
        old_prev = old
    return has_moved


@njit(cache=True, error_model="numpy")
def project_strand(solid, poses, limits, inner, before, points, is_held, rest_length, dt, velocity, cache, wishes):
    """Move one strand out, in place; return whether it moved."""
    has_moved = False
    for _ in range(ROUNDS):
        first = test_strand(
            solid, poses, limits, inner, before, points, is_held, rest_length, dt, velocity, cache, wishes
        )
        pass_wishes_on(first, points, wishes)
        if not grant_wishes(first, points, wishes):
            break
        has_moved = True
    return has_moved


@njit(cache=True, error_model="numpy", parallel=True)
def project_strands(
    solid,
    poses,
    limits,
    inner,
    before,
    is_held,
    is_active,
    rest_length,
    dt,
    # out
    points,
    velocity,
    clearance,
    measured_at,
    wishes,
    moved,
):
    """Move all strands out of one solid, in place, and mark those that moved (G,).

    Args:
        solid: see `_kernels_trace`, and `poses` too.
        limits: see `test_place`.
        inner: places within a segment that are tested.
        before: vertices at the start of the step [m], (G, V, 3).
        is_held: whether the root is held, (G,).
        is_active: (G,).
        rest_length: of segments [m], (G, N).
        dt: [s].
        points: at the end of the step [m], (G, V, 3); `velocity` [m/s] alike.
        clearance: see `_kernels_solids.find_contacts`, and `measured_at` too.
        wishes: scratch, (G, V, 4).
        moved: (G,).
    """
    for s in prange(len(points)):
        if is_active[s]:
            cache = (clearance[s], measured_at[s])
            if project_strand(
                solid,
                poses,
                limits,
                inner,
                before[s],
                points[s],
                is_held[s],
                rest_length[s],
                dt,
                velocity[s],
                cache,
                wishes[s],
            ):
                moved[s] = True
