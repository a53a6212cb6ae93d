"""Strands that went into a solid during a step, or through it, moved out from the root to the tip with lengths kept.

All of it happens in the frame of the solid, where the solid stands still. The path of the strand from the start of the
step to its end is cut into pieces, so short that no piece jumps over a thin part. On each piece every vertex, and
places between them where the solid is thin (see `_kernels`), is followed. One that meets the surface belongs
above the plane that it met: how far it is below is the displacement that it requests, and both ends of a segment share
a request from within. Then the strand is walked from the root to the tip: a vertex with a request is lifted by turning
the segment before it, the others follow. What one segment cannot give is passed on towards the root. Requests are made
and met a few times, because turning one segment carries all that hang on it.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.body._kernels_solid import (
    AFTER,
    BEFORE,
    to_local,
    to_world,
    turn_to_world,
)
from mane.contact.solids._kernels import SHARES, SLACK
from mane.contact.solids._kernels_displacement import (
    MOVE,
    NEXT,
    NOW,
    RISE,
    STOPPED,
    constrain_displacements,
    end_weights,
    follow,
    pass_requests_on,
    put,
    request_displacement,
)
from mane.contact.solids._kernels_trace import (
    AT_ROOT,
    THIN,
    across_strand,
    between,
    chord,
    closest_now,
    distance_near,
    is_beyond,
    least_distance,
    length_between,
    measure_before,
    measure_vertex,
    place_at_start,
    see_before,
    stays_away,
    trace_solid,
    triangle_of,
    vector,
)
from mane.simd.jit import njit, prange
from mane.simd.memory import stay_out_of_line

# Rounds of requests on each piece of the path; a strand against one plane needs one.
ROUNDS = 6
# Pieces of a path are as long as this many radii of the thinnest part, and no more than so many.
PIECE = 1.0
MAX_PIECES = 64
# A path shorter than this part of the radius of the thinnest part has not led through anything.
SHORT = 0.5
# Rounding of a path as a part of it, and of a distance [m], with room to spare: what is so close is looked at closely.
BRIEF, NEXT_TO_NOTHING = 1.0 - 1e-9, 1e-9
# The first vertex behind a root on the skin may be this much deeper than others before it is moved.
LENIENCE = 6.0
# What is moved out is left this part of the allowed depth inside, for the contact of the next step to find it.
LEFT_INSIDE = 0.5


@njit(cache=True, error_model="numpy")
def check_site(solid, guess, limits, lowest, is_thin, allowed, u, j, first, scratch, requested):
    """Check the site at fraction u of segment j on a piece of its path, and request its displacement.

    `limits` are thickness [m], tolerance as a part of a segment's length, and how far at most something that was inside
    already comes out [m]; the site is held no farther off than `lowest` [m]; `allowed` is the depth that is left
    alone [m]; `guess` is a triangle near (`triangle_of`). Returns the distance of a site that meets nothing from the
    solid at the start of the piece [m], minus infinity for others.
    """
    stay_out_of_line()
    thickness, _, push = limits
    thickness, is_thin = min(thickness, lowest), is_thin and lowest >= 0.0
    now, goal = scratch[NOW], scratch[NEXT]
    beside = j + 1 if u > 0.0 else j
    here = between(vector(now, j), vector(now, beside), u)
    there = between(vector(goal, j), vector(goal, beside), u)
    end, n = np.inf, (0.0, 0.0, 0.0)
    if is_thin or length_between(here, there) > SHORT * solid.feature:
        near, meets, px, py, pz, d, nx, ny, nz, _ = trace_solid(
            solid, guess, thickness, here[0], here[1], here[2], there[0], there[1], there[2]
        )
        if not meets:
            return near + thickness
        n = (nx, ny, nz)
        if is_thin:
            # A vertex is lifted by turning the segment before it, and can be lifted across that.
            is_tip = u == 0.0 and j == len(goal) - 1
            tangent = chord(goal, j, j + 1) if u > 0.0 or is_tip else chord(goal, j - 1, j)
            d, n = across_strand(d, n, tangent, solid.feature + thickness)
        end = d + n[0] * (there[0] - px) + n[1] * (there[1] - py) + n[2] * (there[2] - pz)
    if end >= -allowed:
        # Above the plane that it met, or too short a path to have met a plane: out of where it is now. In the thin
        # parts of a solid that plane is all that counts; what is deeper inside than they are is in a thick one.
        d, nx, ny, nz = distance_near(solid, guess, there[0], there[1], there[2])
        if not is_thin or d < -solid.feature:
            end, n = d - thickness, (nx, ny, nz)
    if end >= -allowed:
        return -np.inf
    d, _, _, _ = distance_near(solid, guess, here[0], here[1], here[2])
    start = d - thickness
    least = -LEFT_INSIDE * allowed
    if start < -allowed:
        least = min(least, start + push)
    if least > end:
        share = end_weights(goal, first, j, u, n)
        request_displacement(n, share[0] * (least - end), requested[j], scratch[STOPPED, j])
        if u > 0.0:
            request_displacement(n, share[1] * (least - end), requested[j + 1], scratch[STOPPED, j + 1])
    return -np.inf


@njit(cache=True, error_model="numpy")
def places_beyond(distance, reach, spacing, inner):
    """How many of the next places along a segment, `spacing` [m] apart, are beyond `reach` of a solid for sure.

    `distance` [m] is that of this place; no distance changes faster than along the straight way to the solid.
    """
    spare = distance - reach - NEXT_TO_NOTHING
    return 0 if spare < spacing else inner if spare >= inner * spacing else int(spare / spacing)


@njit(cache=True, error_model="numpy")
def check_vertices(solid, limits, lowest, rest_length, first, on_skin, measured, scratch, requested):
    """Request the displacements (V, 4) of one strand that meets nothing thin."""
    stay_out_of_line()
    thickness, goal = limits[0], scratch[NEXT]
    for j in range(first, len(goal)):
        if least_distance(solid, AFTER, vector(goal, j), measured, j) < thickness:
            allowed = limits[1] * rest_length[max(j - 1, 0)] * (LENIENCE if j == 1 and on_skin else 1.0)
            guess = triangle_of(solid, measured, j)
            check_site(solid, guess, limits, lowest[j], False, allowed, 0.0, j, first, scratch, requested)


@njit(cache=True, error_model="numpy")
def check_strand(solid, limits, inner, lowest, rest_length, first, on_skin, measured, scratch, requested):
    """Request the displacements (V, 4) of one strand on a piece of its path past something thin."""
    stay_out_of_line()
    slope, thickness = solid.slope, limits[0]
    now, goal = scratch[NOW], scratch[NEXT]
    near_prev, travel_prev = np.inf, 0.0
    for j in range(len(now)):
        allowed = limits[1] * rest_length[max(j - 1, 0)] * (LENIENCE if j == 1 and on_skin else 1.0)
        here = vector(now, j)
        guess = triangle_of(solid, measured, j)
        near, _, _, _ = distance_near(solid, guess, here[0], here[1], here[2])
        travel = slope * length_between(here, vector(goal, j))
        if j >= (2 if on_skin else 1):
            span = slope * length_between(vector(now, j - 1), here)
            longest = max(travel, travel_prev)
            # Between the vertices, what is slow is left to contact unless the solid is thin: a strand that is wedged
            # in has no place to go, and its vertices come first.
            may_pass = inner >= THIN or longest > slope * SHORT * solid.feature
            if may_pass and 0.5 * (near + near_prev - span) < longest + thickness:
                reach, spacing = longest + thickness, span / (inner + 1)
                k = 1 + places_beyond(near_prev, reach, spacing, inner)
                last = inner - places_beyond(near, reach, spacing, inner)
                while k <= last:
                    least, u = lowest[(j - 1) * (inner + 1) + k], k / (inner + 1)
                    distance = check_site(
                        solid, guess, limits, least, inner >= THIN, allowed, u, j - 1, first, scratch, requested
                    )
                    k += 1 + places_beyond(distance, reach, spacing, inner)
        if j >= first and near < travel + thickness:
            least = lowest[j * (inner + 1)]
            check_site(solid, guess, limits, least, inner >= THIN, allowed, 0.0, j, first, scratch, requested)
        near_prev, travel_prev = near, travel


@njit(cache=True, error_model="numpy")
def go_on(first, lengths, has_moved, scratch):
    """Take one piece of the path; a strand that has left its path goes on beside it, with its lengths."""
    now, move, goal = scratch[NOW], scratch[MOVE], scratch[NEXT]
    for j in range(len(now)):
        x = (now[j, 0] + move[j, 0], now[j, 1] + move[j, 1], now[j, 2] + move[j, 2])
        if has_moved and j >= max(first, 1):
            x = follow(vector(goal, j - 1), lengths[j], x)
        put(goal, j, x)


@njit(cache=True, error_model="numpy")
def find_longest_path(solid, poses, thickness, inner, before, points, is_held, rest_length, measured, scratch):
    """Longest path of what came near enough to have met the solid [m], else -1; whether the root is on its skin.

    Fills where the strand was and how it moved in the frame of the solid.
    """
    stay_out_of_line()
    slope = solid.slope
    longest, on_skin = -1.0, False
    bound_prev, travel_prev = np.inf, 0.0
    for j in range(len(points)):
        length = rest_length[max(j - 1, 0)]
        x, y = vector(before, j), vector(points, j)
        there = to_local(poses, AFTER, y[0], y[1], y[2])
        half = slope * length if inner > 0 or j == 0 else 0.0
        here, bound = see_before(solid, poses, x, there, SLACK * length + thickness + half, measured, j)
        put(scratch[NOW], j, here)
        put(scratch[MOVE], j, (there[0] - here[0], there[1] - here[1], there[2] - here[2]))
        travel = length_between(here, there)
        reach = slope * travel + SLACK * length + thickness
        if bound <= reach + half:
            bound = measure_before(solid, here, measured, j)
        if j == 0 and is_held:
            on_skin = bound < AT_ROOT * length
        elif bound < reach:
            longest = max(longest, travel)
        if j > 0 and inner > 0 and 0.5 * (bound + bound_prev - slope * length) < reach + slope * travel_prev:
            longest = max(longest, max(travel, travel_prev))
        bound_prev, travel_prev = bound, travel
    return longest, on_skin


@njit(cache=True, error_model="numpy")
def ends_outside(solid, poses, inner, limits, lowest, rest_length, first, before, points, measured):
    """Whether no vertex from number `first` on ends deeper than is left alone, none on a path through a thick solid.

    This is what `project_strand` finds out about most strands, at a fraction of the cost: where a solid is thicker than
    a segment and paths are short, only ends are tested.
    """
    stay_out_of_line()
    thickness, tolerance, _ = limits
    for j in range(first, len(points)):
        allowed = tolerance * rest_length[max(j - 1, 0)]
        inside = min(thickness, lowest[j * (inner + 1)]) - allowed + NEXT_TO_NOTHING
        there = to_local(poses, AFTER, points[j, 0], points[j, 1], points[j, 2])
        if is_beyond(solid, poses, vector(before, j), there, inside, measured, j):
            continue
        here, _ = see_before(solid, poses, vector(before, j), there, inside, measured, j)
        if length_between(here, there) > BRIEF * SHORT * solid.feature:
            return False
        least = least_distance(solid, AFTER, there, measured, j)
        if least < inside and measure_vertex(solid, AFTER, there, measured, j) < inside:
            return False
    return True


@njit(cache=True, error_model="numpy")
def stop_approaches(solid, poses, dt, first, measured, scratch, velocity):
    """Take from the velocities of vertices that were lifted what leads further in."""
    now, stopped = scratch[NOW], scratch[STOPPED]
    for j in range(first, len(now)):
        sx, sy, sz = vector(stopped, j)
        if sx != 0.0 or sy != 0.0 or sz != 0.0:
            n = turn_to_world(poses, AFTER, sx, sy, sz)
            place = vector(now, j)
            t = closest_now(solid, triangle_of(solid, measured, j), *place)
            a, b = to_world(poses, AFTER, *place), to_world(poses, BEFORE, *place_at_start(solid, t, *place))
            approach = 0.0
            for i in range(3):
                approach += n[i] * (velocity[j, i] - (a[i] - b[i]) / dt)
            for i in range(3):
                velocity[j, i] -= min(approach, 0.0) * n[i]


@njit(cache=True, error_model="numpy")
def project_strand(
    solid,
    poses,
    limits,
    inner,
    lowest,
    before,
    is_held,
    rest_length,
    dt,
    points,
    velocity,
    measured,
    requested,
    lengths,
    scratch,
):
    """Move one strand out, in place; return whether it moved."""
    stay_out_of_line()
    thickness, tolerance, push_speed = limits
    first = 1 if is_held else 0
    longest, on_skin = find_longest_path(
        solid, poses, thickness, inner, before, points, is_held, rest_length, measured, scratch
    )
    if longest < 0.0:
        return False
    pieces = 1
    if inner > 0:
        pieces = min(max(int(math.ceil(longest / (PIECE * (solid.feature + thickness)))), 1), MAX_PIECES)
    has_moved = False
    for j in range(len(points)):
        put(scratch[STOPPED], j, (0.0, 0.0, 0.0))
        x, y, z = vector(scratch[MOVE], j)
        put(scratch[MOVE], j, (x / pieces, y / pieces, z / pieces))
        lengths[j] = length_between(vector(points, max(j - 1, 0)), vector(points, j))
    piece_limits = (thickness, tolerance, push_speed * dt / pieces)
    for _ in range(pieces):
        go_on(first, lengths, has_moved, scratch)
        for _ in range(ROUNDS):
            for j in range(len(points)):
                requested[j, RISE] = 0.0
            if inner > 0:
                check_strand(
                    solid, piece_limits, inner, lowest, rest_length, first, on_skin, measured, scratch, requested
                )
            else:
                check_vertices(solid, piece_limits, lowest, rest_length, first, on_skin, measured, scratch, requested)
            pass_requests_on(first, scratch, requested)
            if not constrain_displacements(first, scratch[NEXT], requested):
                break
            has_moved = True
        for j in range(len(points)):
            put(scratch[NOW], j, vector(scratch[NEXT], j))
    if has_moved:
        for j in range(first, len(points)):
            put(points, j, to_world(poses, AFTER, *vector(scratch[NOW], j)))
        stop_approaches(solid, poses, dt, first, measured, scratch, velocity)
    return has_moved


@njit(cache=True, error_model="numpy", parallel=True)
def project_strands(
    solid,
    poses,
    limits,
    inner,
    lowest,
    before,
    paths,
    margin,
    is_held,
    is_active,
    rest_length,
    dt,
    # out
    points,
    velocity,
    measured,
    requested,
    lengths,
    scratch,
    moved,
):
    """Move all strands out of one solid, in place, and mark those that moved (G,).

    Args:
        solid: see `body._kernels_solid`, and `poses` too.
        limits: thickness [m], tolerance as a part of a segment's length, speed of coming out [m/s].
        inner: places within a segment that are tested.
        lowest: see `_kernels.find_contacts`.
        before: vertices at the start of the step [m], (G, V, 3), and their `paths` since then.
        margin: see `_kernels.find_contacts`.
        is_held: whether the root is held, (G,).
        is_active: (G,).
        rest_length: of segments [m], (G, N).
        dt: [s].
        points: at the end of the step [m], (G, V, 3); `velocity` [m/s] alike.
        measured: see `_kernels.find_contacts`.
        requested: scratch, (G, V, 4); `lengths` (G, V) and `scratch` (G, SCRATCH_COUNT, V, 3) as well.
        moved: (G,).
    """
    rows = (len(points) + SHARES - 1) // SHARES
    for k in prange(rows * SHARES):
        s = k % rows * SHARES + k // rows
        if s >= len(points) or not is_active[s]:
            continue
        if inner >= THIN:
            length = rest_length[s, 0]
            if stays_away(solid, poses, inner, is_held[s], length, before[s], paths[s], 1.0, margin, measured[s]):
                continue
        elif ends_outside(
            solid,
            poses,
            inner,
            limits,
            lowest[s],
            rest_length[s],
            1 if is_held[s] else 0,
            before[s],
            points[s],
            measured[s],
        ):
            continue
        if project_strand(
            solid,
            poses,
            limits,
            inner,
            lowest[s],
            before[s],
            is_held[s],
            rest_length[s],
            dt,
            points[s],
            velocity[s],
            measured[s],
            requested[s],
            lengths[s],
            scratch[s],
        ):
            moved[s] = True
