"""Drag of thin cylinders: force and resistance of every vertex from the half segments beside it, eight side by side.

Vertices of all strands are counted through, and eight that follow each other make a block of lanes. Eight strands are a
whole number of such blocks, so that the half segment behind a block belongs to the block before or to nobody.
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.f64x8 import WIDTH, add_points, add_symmetric, broadcast, load_points, load_row, shift_up
from mane.simd.jit import inline, njit, prange
from mane.simd.math import exp, log, maximum, minimum, sqrt
from mane.simd.memory import use_wide_registers

# Rows of a block: 1 where the vertex has a next one; Re^2 over the squared speed across; across the hair, the slow
# flow's resistance and what that of the fast one is a multiple of; the same along it; ln(4 nu L / r^2).
HAS_NEXT, REYNOLDS, SLOW_ACROSS, FAST_ACROSS, SLOW_ALONG, FAST_ALONG, LAYER = range(7)
ROWS = 7
TINY = 1e-300  # keeps a segment without length finite
STILL = 1e-24  # of a squared speed [m^2/s^2]; what is slower has the resistance of slow flow anyway


@inline
def half_segments(points, at, limit, has_next):
    """Direction from each vertex to the next and half the distance [m]; zero without a next."""
    x, y, z = load_points(points, at, limit)
    nx, ny, nz = load_points(points, at + 3, limit)
    ex, ey, ez = (nx - x) * has_next, (ny - y) * has_next, (nz - z) * has_next
    square = ex * ex + ey * ey + ez * ez
    scale = 1.0 / sqrt(maximum(square, TINY))
    return ex * scale, ey * scale, ez * scale, 0.5 * square * scale


@inline
def across_resistance(square, rows, at):
    """Drag across a cylinder per length and speed [kg/(m s)], from the squared speed; see `drag`."""
    reynolds_square = square * load_row(rows, at, REYNOLDS)
    ln = log(reynolds_square)
    root_of_it = exp(0.25 * ln)
    # Re times the drag coefficient of Sucker and Brauer
    fast = 6.8 * exp(0.055 * ln) + (1.96 + 1.18 * root_of_it) * root_of_it
    fast = fast - 0.0004 * reynolds_square / (1.0 + 3.64e-7 * reynolds_square)
    return maximum(load_row(rows, at, SLOW_ACROSS), load_row(rows, at, FAST_ACROSS) * fast)


@inline
def along_resistance(square, rows, at):
    """Drag along a cylinder per length and speed [kg/(m s)], from the squared speed; see `drag`."""
    # ln(4 nu L / (U r^2)); where it is small the layer is thinner than the hair.
    ratio = load_row(rows, at, LAYER) - 0.5 * log(maximum(square, STILL))
    return maximum(load_row(rows, at, SLOW_ALONG), load_row(rows, at, FAST_ALONG) / maximum(ratio, 1.0))


@njit(cache=True, error_model="numpy")
def drag_of_strands(points, velocity, air, is_windy, rows, first, end, force, resistance):
    """Add the drag on vertices `first` to `end`, those of whole strands; all arrays flat, see `add_drag`."""
    use_wide_registers()
    limit = 3 * end
    ax, ay, az, a = broadcast(0.0), broadcast(0.0), broadcast(0.0), broadcast(0.0)
    wx, wy, wz = broadcast(0.0), broadcast(0.0), broadcast(0.0)
    for vertex in range(first, end, WIDTH):
        at = vertex * ROWS
        bx, by, bz, b = half_segments(points, 3 * vertex, limit, load_row(rows, at, HAS_NEXT))
        # The half before is the one behind the vertex before: drag does not care which way it points.
        ax, ay, az, a = shift_up(bx, ax), shift_up(by, ay), shift_up(bz, az), shift_up(b, a)
        ux, uy, uz = load_points(velocity, 3 * vertex, limit)
        if is_windy:
            wx, wy, wz = load_points(air, 3 * vertex, limit)
            ux, uy, uz = ux - wx, uy - wy, uz - wz
        along_a, along_b = ux * ax + uy * ay + uz * az, ux * bx + uy * by + uz * bz
        square = ux * ux + uy * uy + uz * uz
        along = (a * along_a * along_a + b * along_b * along_b) / maximum(a + b, TINY)
        along = minimum(along, square)
        normal = across_resistance(square - along, rows, at)
        extra = along_resistance(along, rows, at) - normal
        even, more_a, more_b = (a + b) * normal, a * extra, b * extra
        dxx = even + more_a * ax * ax + more_b * bx * bx
        dyy = even + more_a * ay * ay + more_b * by * by
        dzz = even + more_a * az * az + more_b * bz * bz
        dxy = more_a * ax * ay + more_b * bx * by
        dxz = more_a * ax * az + more_b * bx * bz
        dyz = more_a * ay * az + more_b * by * bz
        if is_windy:
            add_points(
                force,
                3 * vertex,
                limit,
                dxx * wx + dxy * wy + dxz * wz,
                dxy * wx + dyy * wy + dyz * wz,
                dxz * wx + dyz * wy + dzz * wz,
            )
        add_symmetric(resistance, 6 * vertex, 2 * limit, dxx, dyy, dzz, dxy, dxz, dyz)
        ax, ay, az, a = bx, by, bz, b


@njit(cache=True, error_model="numpy", parallel=True)
def add_drag(points, velocity, air, is_windy, rows, force, resistance):
    """Add the drag of `air` (G, V, 3) [m/s] to `force` and `resistance`; still air where it is not windy.

    The coefficients of a vertex are those of the mean square of the speeds across and along its two half segments.
    `rows` are the `ROWS` of every block of eight vertices, flat; those of resistance are zero where nothing is felt.
    """
    strands, vertices = points.shape[:2]
    places, speeds, winds = points.reshape(-1), velocity.reshape(-1), air.reshape(-1)
    forces, resistances = force.reshape(-1), resistance.reshape(-1)
    for group in prange((strands + WIDTH - 1) // WIDTH):
        first = np.int64(group) * WIDTH * vertices
        end = min(first + WIDTH * vertices, strands * vertices)
        drag_of_strands(places, speeds, winds, is_windy, rows, first, end, forces, resistances)
