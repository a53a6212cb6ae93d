"""The first place where a straight path meets a solid, and what is known without looking: for the contact kernels.

A solid is a `SolidArrays` of `body._kernels_solid`, or a `SurfaceArrays` where it deforms. Everything is in the frame
of the solid, where it stands still and hair moves relative to it. One that deforms has its shape at the end of the step
there, and what is near it at the start is seen where it would be if it had gone along with the closest triangle
(`_kernels_deforming`).
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.body._kernels_field import field_distance_gradient
from mane.body._kernels_shapes import TORUS, primitive_distance
from mane.body._kernels_solid import AFTER, BEFORE, rigid_distance, to_local, unit_gradient
from mane.body.deforming._kernels import SurfaceArrays, surface_distance
from mane.contact.solids._kernels_deforming import (
    closest_at_end,
    first_guess,
    known_before,
    least_to_surface,
    measure_surface,
    most_to_surface,
    place_before,
    see_surface_before,
    stays_beyond,
    surface_approach,
    trace_surface,
)
from mane.simd.jit import by_type, njit
from mane.simd.memory import stay_out_of_line

# A path that has not met or missed a solid after so many steps grazes it.
MAX_STEPS = 48
# A search stops this close to the surface, as a part of the path; the contact takes the rest into account.
ARRIVED = 1e-3
NOWHERE = -1.0
TINY = 1e-300
# With this many places to test between the ends of a segment a solid is so thin that strands pass it across only.
THIN = 3
# Skin counts as holding a root that is closer than this part of the first segment.
AT_ROOT = 0.5
# Less of a normal than this lies across the strand where a thin solid is further along it.
BESIDE = 0.3


@njit(cache=True, error_model="numpy")
def trace_primitive(kind, p, offset, x, y, z, ex, ey, ez, length):
    """Way along the path from (x, y, z), direction e, to the surface `offset` around a primitive; distance, gradient.

    All primitives but the torus are convex, and so is their distance: along its tangent it vanishes no later than in
    truth, so Newton's method comes from outside and never passes the surface.
    """
    d, nx, ny, nz = primitive_distance(kind, p, x, y, z)
    d -= offset
    travelled = 0.0
    for _ in range(MAX_STEPS):
        if d <= ARRIVED * length and (d <= 0.0 or travelled > 0.0):
            return travelled, d, nx, ny, nz
        approach = -(nx * ex + ny * ey + nz * ez)
        if kind == TORUS:
            if travelled >= length:
                return NOWHERE, d, nx, ny, nz
            travelled = min(travelled + max(d, 0.25 * (p[7] + offset)), length)
        else:
            if approach <= 0.0 or travelled + d / approach > length:
                return NOWHERE, d, nx, ny, nz
            travelled += d / approach
        d, nx, ny, nz = primitive_distance(kind, p, x + travelled * ex, y + travelled * ey, z + travelled * ez)
        d -= offset
    return travelled, d, nx, ny, nz


@njit(cache=True, error_model="numpy")
def trace_shape(kinds, params, offset, near, nx, ny, nz, x, y, z, ex, ey, ez, length):
    """The same for a union of primitives with distance `near` and gradient n at the start; the first to be met wins."""
    best, d = NOWHERE, near
    for k in range(len(kinds)):
        travelled, dk, nxk, nyk, nzk = trace_primitive(kinds[k], params[k], offset, x, y, z, ex, ey, ez, length)
        if travelled != NOWHERE and (best == NOWHERE or travelled < best):
            best, d, nx, ny, nz = travelled, dk, nxk, nyk, nzk
    return best, d, nx, ny, nz


@njit(cache=True, error_model="numpy")
def trace_field(solid, offset, near, near_x, near_y, near_z, x, y, z, ex, ey, ez, length):
    """The same for a distance field, which has no feature smaller than a few strides."""
    values, origin, inv_cell, stride, slope = solid.values, solid.origin, solid.inv_cell, solid.stride, solid.slope
    d, gx, gy, gz = near, near_x, near_y, near_z
    travelled = 0.0
    steps = 0
    while d > 0.0 and travelled < length and steps < MAX_STEPS:
        travelled = min(travelled + max(d / slope, stride), length)
        d, gx, gy, gz = field_distance_gradient(
            values, origin, inv_cell, x + travelled * ex, y + travelled * ey, z + travelled * ez
        )
        d -= offset
        steps += 1
    if d > 0.0 and travelled >= length:
        return NOWHERE, near, near_x, near_y, near_z
    return travelled, d, gx, gy, gz


@njit(cache=True, error_model="numpy")
def trace_rigid(solid, guess, offset, x, y, z, tx, ty, tz):
    """First place where the straight path from (x, y, z) to (tx, ty, tz) meets the surface `offset` [m] around a solid.

    Returns:
        Distance to that surface at the start [m]; whether the path meets it; the place, which is the start where it
        does not; distance [m] and unit gradient there; the closest triangle there, which only a surface that deforms
        has, and which `guess` is about. A path that starts below the surface meets it at its start.
    """
    near, nx, ny, nz = rigid_distance(solid, x, y, z)
    near -= offset
    ex, ey, ez = tx - x, ty - y, tz - z
    length = math.sqrt(ex * ex + ey * ey + ez * ez)
    if near <= 0.0 or near > solid.slope * length:
        return near, near <= 0.0, x, y, z, near, nx, ny, nz, guess
    ex, ey, ez = ex / length, ey / length, ez / length
    if len(solid.kinds) == 0:
        travelled, d, nx, ny, nz = trace_field(solid, offset, near, nx, ny, nz, x, y, z, ex, ey, ez, length)
        d, nx, ny, nz = unit_gradient(d, nx, ny, nz)
    else:
        kinds, params = solid.kinds, solid.params
        travelled, d, nx, ny, nz = trace_shape(kinds, params, offset, near, nx, ny, nz, x, y, z, ex, ey, ez, length)
    along = max(travelled, 0.0)
    return near, travelled != NOWHERE, x + along * ex, y + along * ey, z + along * ez, d, nx, ny, nz, guess


trace_solid = by_type("trace_solid", trace_rigid, {SurfaceArrays: trace_surface})


@njit(cache=True, error_model="numpy")
def least_to_rigid(solid, which, x, measured, j):
    """Lower bound of the distance of vertex j at the local point x [m] at one end of the step, BEFORE or AFTER.

    A row of `measured` (V, 4) remembers the distance that the vertex had when it was last measured, and where that was:
    the distance cannot have changed faster than its largest slope. The bound never decides more than whether somebody
    looks closer, with `measure_vertex`.
    """
    dx, dy, dz = x[0] - measured[j, 1], x[1] - measured[j, 2], x[2] - measured[j, 3]
    return measured[j, 0] - solid.slope * math.sqrt(dx * dx + dy * dy + dz * dz)


@njit(cache=True, error_model="numpy")
def most_to_rigid(solid, which, x, measured, j):
    """Upper bound of that distance."""
    dx, dy, dz = x[0] - measured[j, 1], x[1] - measured[j, 2], x[2] - measured[j, 3]
    return measured[j, 0] + solid.slope * math.sqrt(dx * dx + dy * dy + dz * dz)


@njit(cache=True, error_model="numpy")
def measure_rigid(solid, which, x, measured, j):
    """Distance of vertex j at the local point x [m], which is remembered."""
    if x[0] != measured[j, 1] or x[1] != measured[j, 2] or x[2] != measured[j, 3] or measured[j, 0] == -np.inf:
        d, _, _, _ = rigid_distance(solid, x[0], x[1], x[2])
        measured[j, 0], measured[j, 1], measured[j, 2], measured[j, 3] = d, x[0], x[1], x[2]
    return measured[j, 0]


@njit(cache=True, error_model="numpy")
def see_rigid_before(solid, poses, x, there, scope, measured, j):
    """Where vertex j, at x [m] in the world, is at the start of the step, and its least distance [m].

    Seen as the solid is at the end. `there` is where it goes, `scope` how far from its path anything matters [m].
    """
    here = to_local(poses, BEFORE, x[0], x[1], x[2])
    return here, least_to_rigid(solid, BEFORE, here, measured, j)


@njit(cache=True, error_model="numpy")
def measure_rigid_before(solid, here, measured, j):
    """Distance of vertex j [m] where `see_before` saw it; asked where the least one says that it may matter."""
    return measure_rigid(solid, BEFORE, here, measured, j)


@njit(cache=True, error_model="numpy")
def no_triangle(solid, measured, j):
    """Triangle that is close to vertex j, where a solid has any."""
    return -1


@njit(cache=True, error_model="numpy")
def rigid_distance_near(solid, guess, x, y, z):
    """Signed distance [m] and unit gradient at a local point; `guess` is a triangle near it, where a solid has any."""
    return rigid_distance(solid, x, y, z)


@njit(cache=True, error_model="numpy")
def no_closest(solid, guess, x, y, z):
    """Triangle that is closest to a local point at the end of the step, where a solid has any."""
    return guess


@njit(cache=True, error_model="numpy")
def stays_in_place(solid, t, x, y, z):
    """Where the place of the surface, on triangle `t` where it has any, was at the start that is at a point now."""
    return x, y, z


@njit(cache=True, error_model="numpy")
def never_beyond(solid, poses, x, there, scope, measured, j):
    """Whether vertex j is known to stay beyond `scope` [m] of the solid; of a rigid one that is asked more simply."""
    return False


@njit(cache=True, error_model="numpy")
def rigid_approach(solid, here, there, scope, measured, j):
    """How much closer vertex j can come to the solid on its path from `here` to `there` [m]; whether it is observed."""
    return solid.slope * length_between(here, there), True


least_distance = by_type("least_distance", least_to_rigid, {SurfaceArrays: least_to_surface})
most_distance = by_type("most_distance", most_to_rigid, {SurfaceArrays: most_to_surface})
measure_vertex = by_type("measure_vertex", measure_rigid, {SurfaceArrays: measure_surface})
see_before = by_type("see_before", see_rigid_before, {SurfaceArrays: see_surface_before})
triangle_of = by_type("triangle_of", no_triangle, {SurfaceArrays: first_guess})
distance_near = by_type("distance_near", rigid_distance_near, {SurfaceArrays: surface_distance})
closest_now = by_type("closest_now", no_closest, {SurfaceArrays: closest_at_end})
place_at_start = by_type("place_at_start", stays_in_place, {SurfaceArrays: place_before})
is_beyond = by_type("is_beyond", never_beyond, {SurfaceArrays: stays_beyond})
approach_of = by_type("approach_of", rigid_approach, {SurfaceArrays: surface_approach})
measure_before = by_type("measure_before", measure_rigid_before, {SurfaceArrays: known_before})


@njit(cache=True, error_model="numpy")
def surely_on_skin(solid, poses, points, length, measured):
    """Whether the root is nearer to the solid than `AT_ROOT` of its first segment of that length [m]."""
    here = to_local(poses, BEFORE, points[0, 0], points[0, 1], points[0, 2])
    return measured[0, 0] > -np.inf and most_distance(solid, BEFORE, here, measured, 0) < AT_ROOT * length


@njit(cache=True, error_model="numpy")
def stays_away(solid, poses, inner, is_held, length, points, paths, scale, margin, measured):
    """Whether nothing of a strand can meet the solid on the paths (V, 3) of its vertices times `scale`.

    `margin` is what must be left beside the paths [m]; `length` is that of the first segment [m]. A root that is held
    does not matter, and its segment neither where the root is on the skin.
    """
    stay_out_of_line()
    first = 1 if is_held and (inner == 0 or surely_on_skin(solid, poses, points, length, measured)) else 0
    slope = solid.slope
    bound_prev, travel_prev = np.inf, 0.0
    for j in range(first, len(points)):
        x, y, z = points[j, 0], points[j, 1], points[j, 2]
        here = to_local(poses, BEFORE, x, y, z)
        there = to_local(poses, AFTER, x + scale * paths[j, 0], y + scale * paths[j, 1], z + scale * paths[j, 2])
        bound = least_distance(solid, BEFORE, here, measured, j)
        travel, _ = approach_of(solid, here, there, margin, measured, j)
        if bound <= travel + margin:
            return False
        if inner > 0 and j > first:
            # A place between two vertices is no nearer than half of what their distances leave of the path between
            # them.
            span = slope * length_between(vector(points, j - 1), (x, y, z))
            if 0.5 * (bound + bound_prev - span) <= max(travel, travel_prev) + margin:
                return False
        bound_prev, travel_prev = bound, travel
    return True


@njit(cache=True, error_model="numpy")
def chord(points, low, high):
    """Direction of vertex `high` from vertex `low`; zero beyond the ends of a strand, which are met from anywhere."""
    if low < 0 or high >= len(points):
        return 0.0, 0.0, 0.0
    x, y, z = points[high, 0] - points[low, 0], points[high, 1] - points[low, 1], points[high, 2] - points[low, 2]
    norm = max(math.sqrt(x * x + y * y + z * z), TINY)
    return x / norm, y / norm, z / norm


@njit(cache=True, error_model="numpy")
def across_strand(d, n, tangent, radius):
    """Distance and normal of a thin solid of that radius [m] as the whole strand meets it, not one point of it.

    A strand slides along itself, so a thin part can only be passed across it: the normal loses what lies along the
    tangent, and the distance becomes that to the plane which touches the round part from that side. Where the normal
    lies along the tangent, another place of the strand is closer, and the distance is infinite.
    """
    along = n[0] * tangent[0] + n[1] * tangent[1] + n[2] * tangent[2]
    share = math.sqrt(max(1.0 - along * along, 0.0))
    if share < BESIDE:
        return np.inf, n
    across = (
        (n[0] - along * tangent[0]) / share,
        (n[1] - along * tangent[1]) / share,
        (n[2] - along * tangent[2]) / share,
    )
    return (radius + d) * share - radius, across


@njit(cache=True, error_model="numpy")
def square_between(a, b):
    """Square of the distance of two points."""
    x, y, z = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    return x * x + y * y + z * z


@njit(cache=True, error_model="numpy")
def length_between(a, b):
    """Distance of two points."""
    return math.sqrt(square_between(a, b))


@njit(cache=True, error_model="numpy")
def between(a, b, u):
    """Point at fraction u from a to b."""
    w = 1.0 - u
    return w * a[0] + u * b[0], w * a[1] + u * b[1], w * a[2] + u * b[2]


@njit(cache=True, error_model="numpy")
def vector(array, j):
    """Row j as three numbers."""
    return array[j, 0], array[j, 1], array[j, 2]
