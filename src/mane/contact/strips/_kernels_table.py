"""Where the hair is and how it moves, in the forms that lanes read, and the planes of all triangles of a strip.

Lanes of float32 only sort out what is certainly apart; what may touch goes to the narrow phase in double precision.
They read positions relative to the first root, so that hair anywhere in the world is known equally well, and every test
allows for a slack.
"""

# mypy: allow-untyped-defs

import math

from mane.contact.strips._kernels import FASTMATH, THIN, cross, dot, kernel, minus, times
from mane.simd.f32x16 import WIDTH, load, store_transposed
from mane.simd.jit import inline, njit, prange
from mane.simd.masks import select
from mane.simd.math import absolute, maximum, minimum, sqrt, to_float32
from mane.simd.memory import store

COLUMNS = 6  # of float64: position and velocity
ROW = 8  # numbers of float32 of a vertex: position and velocity, each with one to spare
PLANE = 16  # numbers of float32 of a triangle, see `fill_planes`
EXACT = 10  # columns of float64 of a strip: normal, the two gradients, width
SLACK = 2e-6  # by which lanes of float32 may be off, as a part of how far the hair reaches


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def lay_out_points(points, columns, along_segment, along_vertex):
    """Fill position columns, and unit vectors along every segment (G, N, 3) and at every vertex (G V, 3).

    Returns how far the hair reaches from its first root along an axis [m].
    """
    vertices = points.shape[1]
    stride = columns.shape[0] // COLUMNS
    reach = 0.0
    for g in prange(points.shape[0]):
        furthest = 0.0
        for v in range(vertices):
            row = g * vertices + v
            for axis in range(3):
                columns[axis * stride + row] = points[g, v, axis]
                furthest = max(furthest, distance_along(points[0, 0, axis], points[g, v, axis]))
            find_direction(points, g, max(v - 1, 0), min(v + 1, vertices - 1), along_vertex[row])
            if v < vertices - 1:
                find_direction(points, g, v, v + 1, along_segment[g, v])
        reach = max(reach, furthest)
    return reach


@kernel
def distance_along(a, b):
    """How far two coordinates are apart; 0 where one of them is not a finite number."""
    away = abs(a - b)
    return away if away < math.inf else 0.0


@kernel
def find_direction(points, g, first, last, out):
    """Fill `out` (3,) with the unit vector from one vertex of a strand to another; zero where they are in one place."""
    x, y, z = (
        points[g, last, 0] - points[g, first, 0],
        points[g, last, 1] - points[g, first, 1],
        points[g, last, 2] - points[g, first, 2],
    )
    size = math.sqrt(x * x + y * y + z * z)
    unit = 1.0 / size if size > 0.0 else 0.0
    out[0], out[1], out[2] = x * unit, y * unit, z * unit


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def lay_out_motion(points, velocity, columns, rows):
    """Fill velocity columns, and rows of position relative to the first root, and velocity."""
    vertices = points.shape[1]
    stride = columns.shape[0] // COLUMNS
    for g in prange(points.shape[0]):
        for v in range(vertices):
            row = g * vertices + v
            for axis in range(3):
                columns[(3 + axis) * stride + row] = velocity[g, v, axis]
                rows[row * ROW + axis] = points[g, v, axis] - points[0, 0, axis]
                rows[row * ROW + 4 + axis] = velocity[g, v, axis]


@inline
def read_vectors(columns, first, at):
    """Three lanes of columns `first` to `first + 2`."""
    stride = columns.shape[0] // COLUMNS
    return (
        load(columns, first * stride + at),
        load(columns, (first + 1) * stride + at),
        load(columns, (first + 2) * stride + at),
    )


@inline
def corner_places(a, b, vertices, first, odd):
    """Where corners 0, 1 and 2 of the even or odd triangles from segment `first` on are, as vertices of all strands."""
    if odd:
        return b * vertices + first + 1, b * vertices + first, a * vertices + first + 1
    return a * vertices + first, a * vertices + first + 1, b * vertices + first


@inline
def find_planes(u, w):
    """What tells where points x are over triangles with edges `u` and `w` from corner 0.

    Unit normals n, and gradients a and b of the barycentric coordinates of corners 1 and 2, by which the height over
    the plane is n (x - corner) and the coordinates are a (x - corner) and b (x - corner). All zero, and the last mask
    set, where a triangle has no inside.
    """
    n = cross(u, w)
    square, uu, ww, uw = dot(n, n), dot(u, u), dot(w, w), dot(u, w)
    longest = maximum(uu, ww)
    is_flat = square <= longest * longest * (THIN * THIN)
    inv = select(is_flat, 0.0, 1.0 / square)
    a = times(minus(times(u, ww), times(w, uw)), inv)
    b = times(minus(times(w, uu), times(u, uw)), inv)
    return times(n, sqrt(inv)), a, b, is_flat


@inline
def fill_exact(exact, odd, first, n, a, b, width):
    """Write normals, gradients and widths of triangles from segment `first` on into their columns."""
    padded = exact.shape[0] // (2 * EXACT)
    at = odd * padded + first
    store(exact, at, n[0])
    store(exact, at + 2 * padded, n[1])
    store(exact, at + 4 * padded, n[2])
    store(exact, at + 6 * padded, a[0])
    store(exact, at + 8 * padded, a[1])
    store(exact, at + 10 * padded, a[2])
    store(exact, at + 12 * padded, b[0])
    store(exact, at + 14 * padded, b[1])
    store(exact, at + 16 * padded, b[2])
    store(exact, at + 18 * padded, width)


@inline
def exact_at(exact, column, triangle):
    """A number of `fill_exact` of one triangle."""
    padded = exact.shape[0] // (2 * EXACT)
    return exact[(2 * column + (triangle & 1)) * padded + (triangle >> 1)]


@inline
def exact_vector(exact, column, triangle):
    """Three numbers of `fill_exact` of one triangle, from one column on."""
    return (
        exact_at(exact, column, triangle),
        exact_at(exact, column + 1, triangle),
        exact_at(exact, column + 2, triangle),
    )


@inline
def fill_planes(columns, a, b, vertices, slack, beside, planes, exact):
    """Fill rows of float32 of all triangles of the strip between strands a and b, and their exact columns.

    A row is n, d, a, a0, b, b0, relative to the first root: the height of a point x is n x - d, its barycentric
    coordinates are a x + a0 and b x + b0, and those of a triangle without an inside are below zero everywhere. Behind
    them, for the narrow phase (`beside` below zero): lowest and highest speed of the corners along the normal, and by
    how much the coordinates may be off. For the broad phase: the lowest coordinates of corners 1, 2 and 0 of a point
    that is `beside` [m] outside.
    """
    stride = columns.shape[0] // COLUMNS
    first_root = columns[0], columns[stride], columns[2 * stride]
    for first in range(0, vertices - 1, WIDTH):
        for odd in range(2):
            o, p, q = corner_places(a, b, vertices, first, odd)
            corner = read_vectors(columns, 0, o)
            u, w = minus(read_vectors(columns, 0, p), corner), minus(read_vectors(columns, 0, q), corner)
            n, ga, gb, is_flat = find_planes(u, w)
            across = minus(w, u)
            fill_exact(exact, odd, first, n, ga, gb, sqrt(maximum(dot(w, w), dot(across, across))))
            corner = minus(corner, first_root)
            d, a0, b0 = dot(n, corner), select(is_flat, -1.0, -1.0 * dot(ga, corner)), -1.0 * dot(gb, corner)
            if beside < 0.0:
                s = dot(n, read_vectors(columns, 3, o))
                t = dot(n, read_vectors(columns, 3, p))
                r = dot(n, read_vectors(columns, 3, q))
                rest = (minimum(s, minimum(t, r)), maximum(s, maximum(t, r)), blur(ga, slack), blur(gb, slack))
            else:
                gc = minus(times(ga, -1.0), gb)
                rest = (sqrt(dot(ga, ga)) * -beside, sqrt(dot(gb, gb)) * -beside, sqrt(dot(gc, gc)) * -beside, d)
            store_transposed(
                (
                    to_float32(n[0]), to_float32(n[1]), to_float32(n[2]), to_float32(d),
                    to_float32(ga[0]), to_float32(ga[1]), to_float32(ga[2]), to_float32(a0),
                    to_float32(gb[0]), to_float32(gb[1]), to_float32(gb[2]), to_float32(b0),
                    to_float32(rest[0]), to_float32(rest[1]), to_float32(rest[2]), to_float32(rest[3]),
                ),
                planes,
                (2 * first + odd) * PLANE,
                2 * PLANE,
            )  # fmt: skip


@inline
def blur(gradient, slack):
    """By how much what has this gradient changes within `slack`."""
    return (absolute(gradient[0]) + absolute(gradient[1]) + absolute(gradient[2])) * slack
