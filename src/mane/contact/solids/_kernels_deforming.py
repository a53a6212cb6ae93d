"""What contact asks a surface that deforms, a `SurfaceArrays`, where `_kernels_trace` has the same for rigid solids.

At the start of a step a vertex is measured against the surface as it was then. If the surface can reach it in the step,
it is seen from the end of the step as if it had gone along with the triangle that it was closest to: what it moves
relative to that is its path, and the surface stands still at its shape of the end. Where the surface moves rigidly,
that is what happens with a rigid solid, and an arm that swings past a hair meets it however fast it is.

A row of `measured` (V, 6) holds distance [m], place (3) [m], closest triangle, and how far the surface had drifted when
it was measured [m]. Whether a row is there or not changes no result: it saves time.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.body._kernels_solid import BEFORE, to_local
from mane.body.deforming._kernels import END, START, carried, closest_triangle, distance_to
from mane.simd.jit import njit

TRIANGLE, DRIFT = 4, 5
COLUMNS = 6
MAX_STEPS = 48
# A search stops this close to the surface, as a part of the path; the contact takes the rest into account.
ARRIVED = 1e-3


@njit(cache=True, error_model="numpy")
def end_of_step(which):
    """Which shape of the surface belongs to BEFORE and AFTER."""
    return START if which == BEFORE else END


@njit(cache=True, error_model="numpy")
def moved_since(surface, which, x, measured, j):
    """How much the distance of vertex j can have changed since it was measured, at the local point x now [m]."""
    dx, dy, dz = x[0] - measured[j, 1], x[1] - measured[j, 2], x[2] - measured[j, 3]
    return math.sqrt(dx * dx + dy * dy + dz * dz) + (surface.drift[end_of_step(which)] - measured[j, DRIFT])


@njit(cache=True, error_model="numpy")
def least_to_surface(surface, which, x, measured, j):
    """Lower bound of the distance of vertex j at the local point x [m] at one end of the step."""
    return measured[j, 0] - moved_since(surface, which, x, measured, j)


@njit(cache=True, error_model="numpy")
def most_to_surface(surface, which, x, measured, j):
    """Upper bound of that distance."""
    return measured[j, 0] + moved_since(surface, which, x, measured, j)


@njit(cache=True, error_model="numpy")
def measure_surface(surface, which, x, measured, j):
    """Distance of vertex j at the local point x [m] at one end of the step, which is remembered."""
    shape = end_of_step(which)
    is_known = x[0] == measured[j, 1] and x[1] == measured[j, 2] and x[2] == measured[j, 3]
    if not is_known or measured[j, DRIFT] != surface.drift[shape] or measured[j, 0] == -np.inf:
        t = closest_triangle(surface, shape, x[0], x[1], x[2], int(measured[j, TRIANGLE]))
        d, _, _, _ = distance_to(surface, shape, t, x[0], x[1], x[2])
        measured[j, 0], measured[j, 1], measured[j, 2], measured[j, 3] = d, x[0], x[1], x[2]
        measured[j, TRIANGLE], measured[j, DRIFT] = t, surface.drift[shape]
    return measured[j, 0]


@njit(cache=True, error_model="numpy")
def surface_step(surface):
    """How far the surface goes during the step at most [m]."""
    return surface.drift[END] - surface.drift[START]


@njit(cache=True, error_model="numpy")
def see_surface_before(surface, poses, x, there, scope, measured, j):
    """Do what `see_before` does: where vertex j would be if it had gone along with the surface, and its distance [m].

    A vertex that the surface cannot reach is seen where it is, with a bound of its distance.
    """
    here = to_local(poses, BEFORE, x[0], x[1], x[2])
    dx, dy, dz = there[0] - here[0], there[1] - here[1], there[2] - here[2]
    limit = math.sqrt(dx * dx + dy * dy + dz * dz) + surface_step(surface) + scope
    least = least_to_surface(surface, BEFORE, here, measured, j)
    if least > limit:
        return here, least
    distance = measure_surface(surface, BEFORE, here, measured, j)
    if distance > limit:
        return here, distance
    return carried(surface, int(measured[j, TRIANGLE]), START, END, here[0], here[1], here[2]), distance


@njit(cache=True, error_model="numpy")
def known_before(surface, here, measured, j):
    """Distance of vertex j [m] where `see_surface_before` has seen it: it has measured all that may matter."""
    return measured[j, 0]


@njit(cache=True, error_model="numpy")
def trace_surface(surface, offset, x, y, z, tx, ty, tz):
    """Do what `trace_solid` does, against the shape of the surface at the end of the step."""
    t = closest_triangle(surface, END, x, y, z, -1)
    near, nx, ny, nz = distance_to(surface, END, t, x, y, z)
    near -= offset
    ex, ey, ez = tx - x, ty - y, tz - z
    length = math.sqrt(ex * ex + ey * ey + ez * ez)
    if near <= 0.0 or near > length:
        return near, near <= 0.0, x, y, z, near, nx, ny, nz
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
        return near, False, x, y, z, near, nx, ny, nz
    share = travelled / length
    return near, True, x + share * ex, y + share * ey, z + share * ez, d, gx, gy, gz
