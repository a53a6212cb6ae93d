"""What contact asks a surface that deforms, a `SurfaceArrays`, where `_kernels_trace` has the same for rigid solids.

At the start of a step a vertex is measured against the surface as it was then. If the surface can reach it in the step,
it is seen from the end of the step as if it had gone along with the triangle that it was closest to: what it moves
relative to that is its path, and the surface stands still at its shape of the end. Where the surface moves rigidly,
that is what happens with a rigid solid, and an arm that swings past a hair meets it however fast it is.

A row of `measured` (V, 12) holds distance [m] and place (3) [m] of a vertex when it was measured, its closest triangle,
how far the surface had drifted then (`IS_BOUND` where the distance is a lower bound, and the triangle an older one),
and what the observer of its strand (`_kernels_observers`), a frame that goes along with its root, saw: how far the
surface near it had moved, the place (3) [m], which observer that is, and through which of its rings it looks. Whether a
row is there or not changes no result: it saves time.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.body._kernels_solid import BEFORE, to_local
from mane.body.deforming._kernels import (
    END,
    START,
    carried,
    closest_triangle,
    distance_to,
    least_by_boxes,
    signed_distance,
)
from mane.body.deforming._kernels_observers import (
    AT_END,
    AT_START,
    MOTION,
    REACH,
    SEEN,
    seen_from,
    shown_at_end,
)
from mane.simd.jit import leaf, njit
from mane.simd.memory import stay_out_of_line

TRIANGLE, DRIFT, MOVED, PLACE, OBSERVER, RING = 4, 5, 6, 7, 10, 11
COLUMNS = 12
MAX_STEPS = 48
# What was farther than this when it was last measured [m] may do with a bound of its distance.
FAR = 0.015
# In place of the drift of a measurement, where there is only a bound.
IS_BOUND = -1.0
# A search stops this close to the surface, as a part of the path; the contact takes the rest into account.
ARRIVED = 1e-3


@leaf()
def size_of(x):
    """Length of a vector."""
    return math.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])


@leaf()
def length_to(a, b):
    """Distance of two points."""
    return size_of((b[0] - a[0], b[1] - a[1], b[2] - a[2]))


@leaf()
def sight_of(surface, which, x, measured, j):
    """Where the observer of vertex j sees the local point x at one end of the step, BEFORE or AFTER.

    Returns also how far that is from where the vertex was measured, how far the surface has moved since, and how far
    the observer reaches, all [m].
    """
    observers, o, ring = surface.observers, int(measured[j, OBSERVER]), int(measured[j, RING])
    y = seen_from(observers, o, AT_START if which == BEFORE else AT_END, x)
    moved = length_to(y, (measured[j, PLACE], measured[j, PLACE + 1], measured[j, PLACE + 2]))
    seen = observers[o, ring + (SEEN if which == BEFORE else SEEN + 1)] - measured[j, MOVED]
    return y, moved, seen, observers[o, ring + REACH]


@leaf()
def least_to_surface(surface, which, x, measured, j):
    """Lower bound of the distance of vertex j at the local point x [m] at one end of the step.

    What is within reach of the observer was no closer than was measured, and has moved since; what has been beyond its
    reach was no closer than that leaves, and has moved no more.
    """
    y, moved, seen, reach = sight_of(surface, which, x, measured, j)
    return min(measured[j, 0] - moved, reach - size_of(y)) - seen


@leaf()
def most_to_surface(surface, which, x, measured, j):
    """Upper bound of that distance: infinite where what was closest may have left the observer's reach."""
    y, moved, seen, reach = sight_of(surface, which, x, measured, j)
    most = measured[j, 0] + moved + seen
    return most if most + size_of(y) < reach and measured[j, DRIFT] != IS_BOUND else np.inf


@leaf()
def remember(surface, shape, x, d, t, drift, measured, j):
    """Remember a distance of vertex j at the local point x [m], the triangle that is or was closest, and the drift."""
    observers, o = surface.observers, int(measured[j, OBSERVER])
    y = seen_from(observers, o, AT_START if shape == START else AT_END, x)
    measured[j, 0], measured[j, TRIANGLE], measured[j, DRIFT] = d, t, drift
    measured[j, MOVED] = observers[o, int(measured[j, RING]) + (SEEN if shape == START else SEEN + 1)]
    measured[j, 1], measured[j, 2], measured[j, 3] = x[0], x[1], x[2]
    measured[j, PLACE], measured[j, PLACE + 1], measured[j, PLACE + 2] = y[0], y[1], y[2]


@leaf()
def measure_anew(surface, shape, x, measured, j):
    """Measure vertex j at the local point x [m] and remember it."""
    stay_out_of_line()
    t = closest_triangle(surface, shape, x[0], x[1], x[2], int(measured[j, TRIANGLE]))
    d, _, _, _, _ = signed_distance(surface, shape, t, x[0], x[1], x[2])
    remember(surface, shape, x, d, t, surface.drift[shape], measured, j)


@leaf()
def bound_anew(surface, shape, x, enough, measured, j):
    """Lower bound of the distance of vertex j, outside at the local point x [m], remembered if above `enough` [m].

    Boxes tell it for a fraction of what a measurement costs where the surface is far off.
    """
    bound = least_by_boxes(surface, shape, x[0], x[1], x[2], enough)
    if bound > enough:
        remember(surface, shape, x, bound, measured[j, TRIANGLE], IS_BOUND, measured, j)
    return bound


@leaf()
def measure_surface(surface, which, x, measured, j):
    """Distance of vertex j at the local point x [m] at one end of the step, which is remembered."""
    shape = START if which == BEFORE else END
    is_known = x[0] == measured[j, 1] and x[1] == measured[j, 2] and x[2] == measured[j, 3]
    if not is_known or measured[j, DRIFT] != surface.drift[shape] or measured[j, 0] == -np.inf:
        measure_anew(surface, shape, x, measured, j)
    return measured[j, 0]


@leaf()
def surface_approach(surface, here, there, scope, measured, j):
    """How much closer vertex j and the surface can come in a step from `here` to `there` [m], and if one observes it.

    As its observer sees it, unless that overlooks something within `scope` [m].
    """
    observers, o, ring = surface.observers, int(measured[j, OBSERVER]), int(measured[j, RING])
    y, z = seen_from(observers, o, AT_START, here), seen_from(observers, o, AT_END, there)
    if observers[o, ring + REACH] - size_of(z) > scope:
        return length_to(y, z) + observers[o, ring + MOTION], True
    return length_to(here, there) + (surface.drift[END] - surface.drift[START]), False


@leaf()
def see_surface_before(surface, poses, x, there, scope, measured, j):
    """Do what `see_before` does: where vertex j would be if it had gone along with the surface, and its distance [m].

    A vertex that the surface cannot reach goes along with its observer, and has a bound of its distance.
    """
    here = to_local(poses, BEFORE, x[0], x[1], x[2])
    approach, is_observed = surface_approach(surface, here, there, scope, measured, j)
    distance = least_to_surface(surface, BEFORE, here, measured, j)
    if 0.0 < distance <= approach + scope and measured[j, 0] > FAR:
        distance = bound_anew(surface, START, here, approach + scope, measured, j)
    if not distance > approach + scope:
        distance = measure_surface(surface, BEFORE, here, measured, j)
        if not distance > approach + scope:
            return carried(surface, int(measured[j, TRIANGLE]), START, END, here[0], here[1], here[2]), distance
    if not is_observed:
        return here, distance
    observers, o = surface.observers, int(measured[j, OBSERVER])
    return shown_at_end(observers, o, seen_from(observers, o, AT_START, here)), distance


@njit(cache=True, error_model="numpy")
def known_before(surface, here, measured, j):
    """Distance of vertex j [m] where `see_surface_before` has seen it: it has measured all that may matter."""
    return measured[j, 0]


@njit(cache=True, error_model="numpy")
def trace_surface(surface, guess, offset, x, y, z, tx, ty, tz):
    """Do what `trace_solid` does, against the shape of the surface at the end of the step."""
    stay_out_of_line()
    t = closest_triangle(surface, END, x, y, z, guess)
    near, nx, ny, nz = distance_to(surface, END, t, x, y, z)
    near -= offset
    ex, ey, ez = tx - x, ty - y, tz - z
    length = math.sqrt(ex * ex + ey * ey + ez * ez)
    if near <= 0.0 or near > length:
        return near, near <= 0.0, x, y, z, near, nx, ny, nz, t
    first = t
    d, gx, gy, gz = near, nx, ny, nz
    travelled, steps = 0.0, 0
    while d > ARRIVED * length and travelled < length and steps < MAX_STEPS:
        travelled = min(travelled + max(d, surface.stride), length)
        share = travelled / length
        px, py, pz = x + share * ex, y + share * ey, z + share * ez
        t = closest_triangle(surface, END, px, py, pz, t)
        d, gx, gy, gz = distance_to(surface, END, t, px, py, pz)
        d -= offset
        steps += 1
    if d > ARRIVED * length and travelled >= length:
        return near, False, x, y, z, near, nx, ny, nz, first
    share = travelled / length
    return near, True, x + share * ex, y + share * ey, z + share * ez, d, gx, gy, gz, t


@leaf()
def first_guess(surface, measured, j):
    """Triangle that was closest to vertex j when it was last measured; -1 if it never was."""
    return int(measured[j, TRIANGLE])


@leaf()
def closest_at_end(surface, guess, x, y, z):
    """Triangle that is closest to a local point at the end of the step; `guess` is one that may be, or -1."""
    stay_out_of_line()
    return closest_triangle(surface, END, x, y, z, guess)


@leaf()
def place_before(surface, t, x, y, z):
    """Where at the start of the step the place of triangle `t` was that is beside a point at its end."""
    return carried(surface, t, END, START, x, y, z)


@leaf()
def stays_beyond(surface, poses, x, there, scope, measured, j):
    """Whether vertex j is known to stay beyond `scope` [m] of the surface on its way from the world's x to `there`."""
    here = to_local(poses, BEFORE, x[0], x[1], x[2])
    approach, _ = surface_approach(surface, here, there, scope, measured, j)
    return least_to_surface(surface, BEFORE, here, measured, j) > approach + scope
