"""Displacements that vertices of a strand request, and those that a strand with fixed lengths can make.

A request is a direction and a rise along it. A vertex is lifted by turning the segment before it, those behind it
follow, and what one segment cannot give is passed on towards the root; `_kernels_projection` makes the requests.
"""

# mypy: allow-untyped-defs

from mane.contact.solids._kernels_trace import length_between, vector
from mane.groom._kernels_depenetrate import raise_direction
from mane.simd.jit import njit

# Columns of a request: direction (3) and rise [m].
RISE = 3
# How far a segment may turn into the direction of a request before the one before it has to help; 1 is all the way.
STEEP = 0.7
STEEPEST = 0.95
# Less ease than this is none.
STUCK = 0.25
# Less of a lever than this on both ends of a segment moves it by chance only.
NO_LEVER = 1e-3
# A vertex this close to the one before it, as a part of their distance, has no direction.
NO_DIRECTION = 1e-12
# Arrays of scratch of a strand: where it is, how it moves on each piece, where it goes, what approach was stopped.
NOW, MOVE, NEXT, STOPPED = 0, 1, 2, 3
SCRATCH_COUNT = 4


@njit(cache=True, error_model="numpy")
def put(array, j, x):
    """Set row j to three numbers."""
    array[j, 0], array[j, 1], array[j, 2] = x[0], x[1], x[2]


@njit(cache=True, error_model="numpy")
def climb_of(points, j, n):
    """How much segment j - 1 leads along n, per length: -1 to 1."""
    start, x = vector(points, j - 1), vector(points, j)
    rise = n[0] * (x[0] - start[0]) + n[1] * (x[1] - start[1]) + n[2] * (x[2] - start[2])
    return rise / max(length_between(start, x), NO_DIRECTION)


@njit(cache=True, error_model="numpy")
def ease(points, first, j, n):
    """How easily vertex j is moved along n by turning the segment before it, 0 to 1: not if that points there."""
    if j < first:
        return 0.0
    if j == 0:
        return 1.0
    climb = climb_of(points, j, n)
    return 1.0 if climb <= 0.0 else max(1.0 - climb * climb, 0.0)


@njit(cache=True, error_model="numpy")
def end_weights(points, first, j, u, n):
    """How far the two ends of segment j move along n, so that the place at fraction u of it moves by one."""
    w = 1.0 - u
    here = w * ease(points, first, j, n)
    there = u * ease(points, first, j + 1, n) if u > 0.0 else 0.0
    total = w * here + u * there
    if total < NO_LEVER:
        return 0.0, 0.0
    return here / total, there / total


@njit(cache=True, error_model="numpy")
def request_displacement(n, rise, requested, stopped):
    """Keep the largest request of a vertex, (4,), and the direction in which it must not go on."""
    if rise > requested[RISE]:
        requested[0], requested[1], requested[2], requested[RISE] = n[0], n[1], n[2], rise
        stopped[0], stopped[1], stopped[2] = n[0], n[1], n[2]


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
    climb = dx * n[0] + dy * n[1] + dz * n[2]
    climb = min(climb + rise / length, max(climb, STEEPEST))
    dx, dy, dz = raise_direction(dx, dy, dz, n[0], n[1], n[2], climb)
    return start[0] + length * dx, start[1] + length * dy, start[2] + length * dz


@njit(cache=True, error_model="numpy")
def pass_requests_on(first, scratch, requested):
    """From the tip to the root: what turning its own segment cannot give a vertex, the vertex before it must rise."""
    points = scratch[NEXT]
    for j in range(len(points) - 1, max(first, 1), -1):
        n, rise = vector(requested, j), requested[j, RISE]
        # A segment that points along n already cannot lift its end: there the strand has to slide, or to stretch.
        if rise > 0.0 and ease(points, first, j - 1, n) > STUCK:
            length = length_between(vector(points, j - 1), vector(points, j))
            given = max(STEEP - climb_of(points, j, n), 0.0) * length
            request_displacement(n, rise - given, requested[j - 1], scratch[STOPPED, j - 1])


@njit(cache=True, error_model="numpy")
def constrain_displacements(first, points, requested):
    """Move the vertices of one strand from number `first` on, in place; return whether any moved."""
    has_moved = False
    old_prev = vector(points, max(first - 1, 0))
    for j in range(first, len(points)):
        old = vector(points, j)
        x = old
        n, rise = vector(requested, j), requested[j, RISE]
        if j == 0:
            if rise > 0.0:
                x = (old[0] + rise * n[0], old[1] + rise * n[1], old[2] + rise * n[2])
                has_moved = True
        else:
            start, length = vector(points, j - 1), length_between(old_prev, old)
            if has_moved:
                x = follow(start, length, old)
            risen = n[0] * (x[0] - old[0]) + n[1] * (x[1] - old[1]) + n[2] * (x[2] - old[2])
            if rise > 0.0 and risen < rise:
                x = lift(start, length, x, n, rise - risen)
                has_moved = True
        put(points, j, x)
        old_prev = old
    return has_moved
