"""A level set on the cells of a grid: carried along, made a distance again, and what it says of the faces.

`phi` is the signed distance to the surface [cells], negative in the liquid, of the padded shape; farther than BAND it
is known by its sign alone. `near` has one number per chunk of sixteen cells in a row, 0 where all of them are far from
the surface and will be after a step: those are passed over. Beyond the box the numbers of its edge count.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.fluid._kernels_sample import rows_of, velocity_at
from mane.fluid._kernels_walls import face_counts, row_of
from mane.simd.f32x16 import WIDTH, first_lanes, load, load_mask
from mane.simd.jit import inline, njit, prange
from mane.simd.masks import clear_marks, mask_bits, select
from mane.simd.math import maximum
from mane.simd.memory import store, use_wide_registers

HALF, ONE, ZERO = np.float32(0.5), np.float32(1.0), np.float32(0.0)
BAND = np.float32(5.0)
# A gradient within these counts as that of a distance: what is nearer to the surface than KEPT stays as it was carried,
# since to make it a distance again would move the surface a little and spoil its curvature.
LOWEST, HIGHEST, KEPT = np.float32(0.8), np.float32(1.25), np.float32(2.0)
# [cells] from the surface, besides how far a cell is carried, from which on it is made a distance anew whatever it has
# become on the way, and those beside it as well.
CALM = KEPT + np.float32(1.5)
FLAT = np.float32(0.05)  # a gradient below it says nothing of where the surface is


@inline
def cubic_weights(t):
    """Weights of four numbers in a row between whose middle two a place lies (Catmull and Rom)."""
    s, cube = ONE - t, np.float32(1.5) * t
    low, high = ONE + t * t * (cube - np.float32(2.5)), t * (HALF + t * (np.float32(2.0) - cube))
    return -HALF * t * s * s, low, high, -HALF * s * t * t


@inline
def place_on_axis(at, count):
    """Cell below a place [cells from the middle of the first] and the fraction to the next, kept within the box."""
    at = min(max(at, ZERO), np.float32(count - 1))
    low = min(np.int64(at), max(count - 2, 0))
    return low, at - np.float32(low)


@inline
def cubic_at(phi, shape, x, y, z):
    """A cubic between sixty-four cells around a place, kept within the range of the eight next to it."""
    nx, ny, nz = shape
    i, a = place_on_axis(x - HALF, nx)
    j, b = place_on_axis(y - HALF, ny)
    k, c = place_on_axis(z - HALF, nz)
    wx, wy, wz = cubic_weights(a), cubic_weights(b), cubic_weights(c)
    total, low, high = ZERO, np.float32(np.inf), np.float32(-np.inf)
    for p in range(4):
        along = min(max(i + p - 1, 0), nx - 1) + 1
        for q in range(4):
            across = min(max(j + q - 1, 0), ny - 1) + 1
            row = ZERO
            for r in range(4):
                value = phi[along, across, min(max(k + r - 1, 0), nz - 1)]
                row += wz[r] * value
                if 1 <= p <= 2 and 1 <= q <= 2 and 1 <= r <= 2:
                    low, high = min(low, value), max(high, value)
            total += wx[p] * wy[q] * row
    return min(max(total, low), high)


@inline
def linear_at(phi, shape, x, y, z):
    """The level at a place, trilinear."""
    i, a = place_on_axis(x - HALF, shape[0])
    j, b = place_on_axis(y - HALF, shape[1])
    k, c = place_on_axis(z - HALF, shape[2])
    p, q, m = min(i + 1, shape[0] - 1) + 1, min(j + 1, shape[1] - 1) + 1, min(k + 1, shape[2] - 1)
    i, j = i + 1, j + 1
    low = (ONE - b) * ((ONE - c) * phi[i, j, k] + c * phi[i, j, m]) + b * ((ONE - c) * phi[i, q, k] + c * phi[i, q, m])
    high = (ONE - b) * ((ONE - c) * phi[p, j, k] + c * phi[p, j, m]) + b * ((ONE - c) * phi[p, q, k] + c * phi[p, q, m])
    return (ONE - a) * low + a * high


@njit(cache=True, error_model="numpy", parallel=True)
def read_levels(phi, shape, places, out):
    """Fill `out` (N,) with the level at places."""
    for index in prange(len(places)):
        q = np.int64(index)
        out[q] = linear_at(phi, shape, places[q, 0], places[q, 1], places[q, 2])


@njit(cache=True, error_model="numpy", parallel=True)
def find_near(phi, shape, near):
    """Set `near` of chunks where a cell is within BAND of the surface, and clear that of all others."""
    nx, ny, nz = shape
    for index in prange(nx * ny):
        i, j = row_of(index, ny)
        for chunk in range(near.shape[2]):
            least = BAND
            for k in range(chunk * WIDTH, min(nz, (chunk + 1) * WIDTH)):
                least = min(least, abs(phi[i + 1, j + 1, k]))
            near[i + 1, j + 1, chunk] = least < BAND


@njit(cache=True, error_model="numpy", parallel=True)
def sum_parts(phi, shape, room, partial):
    """Fill `partial` (nx,) with the cells of liquid in every plane; `room` is the part of each that counts, or none."""
    nx, ny, nz = shape
    for index in prange(nx):
        i, total = np.int64(index), 0.0
        for j in range(ny):
            for k in range(nz):
                part = min(max(HALF - phi[i + 1, j + 1, k], ZERO), ONE)
                total += np.float64(part * room[i, j, k] if len(room) else part)
        partial[i] = total


@njit(cache=True, error_model="numpy", parallel=True)
def carry_level(phi, velocity, shape, scale, near, out):
    """Fill `out` with `phi` where every cell was one step before, by the midpoint rule; `scale` is dt / cell [s/m]."""
    nx, ny, nz = shape
    flat, rows, half = velocity.reshape(-1), rows_of(velocity), HALF * scale
    for index in prange(nx * ny):
        i, j = row_of(index, ny)
        for chunk in range((nz + WIDTH - 1) // WIDTH):
            is_near = near[i + 1, j + 1, chunk] != 0
            for k in range(chunk * WIDTH, min(nz, (chunk + 1) * WIDTH)):
                here = phi[i + 1, j + 1, k]
                out[i + 1, j + 1, k] = here
                if is_near:
                    x, y, z = np.float32(i) + HALF, np.float32(j) + HALF, np.float32(k) + HALF
                    u, v, w = velocity_at(flat, rows, shape, x, y, z)
                    if abs(here) > CALM + scale * math.sqrt(u * u + v * v + w * w):
                        continue
                    u, v, w = velocity_at(flat, rows, shape, x - half * u, y - half * v, z - half * w)
                    out[i + 1, j + 1, k] = cubic_at(phi, shape, x - scale * u, y - scale * v, z - scale * w)


@inline
def slope(before, here, behind):
    """The larger of a central difference and, where the surface passes beside a cell, those to one side."""
    largest = abs(behind - before) * HALF
    if (here < ZERO) != (behind < ZERO):
        largest = max(largest, abs(behind - here))
    if (here < ZERO) != (before < ZERO):
        largest = max(largest, abs(here - before))
    return largest


@inline
def around(phi, shape, i, j, k):
    """Numbers of the six cells beside one: along x, y and z, each before and behind."""
    nx, ny, nz = shape
    return (
        phi[max(i - 1, 0) + 1, j + 1, k], phi[min(i + 1, nx - 1) + 1, j + 1, k],
        phi[i + 1, max(j - 1, 0) + 1, k], phi[i + 1, min(j + 1, ny - 1) + 1, k],
        phi[i + 1, j + 1, max(k - 1, 0)], phi[i + 1, j + 1, min(k + 1, nz - 1)],
    )  # fmt: skip


@njit(cache=True, error_model="numpy", parallel=True)
def begin_distance(phi, shape, near, out):
    """Fill `out` with the distance of cells near the surface, and plus or minus BAND elsewhere.

    Cells beside the surface divide by their own gradient, which leaves it where it is (Russo and Smereka 2000), and
    only as far as it is not that of a distance.
    """
    nx, ny, nz = shape
    for index in prange(nx * ny):
        i, j = row_of(index, ny)
        for chunk in range((nz + WIDTH - 1) // WIDTH):
            is_near = near[i + 1, j + 1, chunk] != 0
            for k in range(chunk * WIDTH, min(nz, (chunk + 1) * WIDTH)):
                here = phi[i + 1, j + 1, k]
                if is_near:
                    a, b, c, d, e, f = around(phi, shape, i, j, k)
                    inside = here < ZERO
                    x, y, z = slope(a, here, b), slope(c, here, d), slope(e, here, f)
                    steep = max(np.float32(math.sqrt(x * x + y * y + z * z)), FLAT)
                    if (
                        (a < ZERO) != inside or (b < ZERO) != inside or (c < ZERO) != inside
                        or (d < ZERO) != inside or (e < ZERO) != inside or (f < ZERO) != inside
                    ):  # fmt: skip
                        here *= min(max(steep, LOWEST), HIGHEST) / steep
                        here = min(max(here, -ONE), ONE)
                    elif abs(here) > KEPT or steep < LOWEST or steep > HIGHEST:
                        here = -BAND if inside else BAND
                out[i + 1, j + 1, k] = here


@inline
def eikonal(a, b, c):
    """Distance of a cell whose nearest neighbours along x, y and z have distances a, b, c (Godunov's upwind scheme)."""
    if a > b:
        a, b = b, a
    if b > c:
        b, c = c, b
    if a > b:
        a, b = b, a
    found = a + ONE
    if found > b:
        found = HALF * (a + b + math.sqrt(max(np.float32(2.0) - (a - b) * (a - b), ZERO)))
        if found > c:
            total = a + b + c
            root = total * total - np.float32(3.0) * (a * a + b * b + c * c - ONE)
            found = (total + math.sqrt(max(root, ZERO))) / np.float32(3.0)
    return found


@njit(cache=True, error_model="numpy", parallel=True)
def spread_distance(begun, phi, shape, near, out):
    """One pass of what cells learn from their neighbours; those beside the surface keep what was `begun`.

    From `phi` to `out`, so that no thread sees what another has done.
    """
    nx, ny, nz = shape
    for index in prange(nx * ny):
        i, j = row_of(index, ny)
        for chunk in range((nz + WIDTH - 1) // WIDTH):
            if near[i + 1, j + 1, chunk] == 0:
                continue
            for k in range(chunk * WIDTH, min(nz, (chunk + 1) * WIDTH)):
                here = phi[i + 1, j + 1, k]
                if abs(begun[i + 1, j + 1, k]) >= BAND:
                    a, b, c, d, e, f = around(phi, shape, i, j, k)
                    x, y, z = min(abs(a), abs(b)), min(abs(c), abs(d)), min(abs(e), abs(f))
                    far = min(eikonal(x, y, z), BAND)
                    here = -far if here < ZERO else far
                out[i + 1, j + 1, k] = here


@njit(cache=True, error_model="numpy", parallel=True)
def open_to_air(phi, shape, near, least, to_air, is_wet):
    """Find faces of the liquid, and of those between liquid and air one over the part of the way that is liquid.

    The ghost-fluid pressure of second order (Gibou, Fedkiw, Cheng and Kang 2002), with parts of at least `least`;
    `to_air` of other faces is 1.
    """
    for axis in range(3):
        nx, ny, nz = face_counts(shape, axis)
        di, dj, dk = np.int64(axis == 0), np.int64(axis == 1), np.int64(axis == 2)
        for index in prange(nx * ny):
            i, j = row_of(index, ny)
            a, b = min(i, shape[0] - 1), min(j, shape[1] - 1)
            p = max(i - di, 0) + 1 if axis == 0 else a + 1
            q = max(j - dj, 0) + 1 if axis == 1 else b + 1
            for chunk in range((nz + WIDTH - 1) // WIDTH):
                first, last = chunk * WIDTH, min(nz, (chunk + 1) * WIDTH)
                is_near = near[a + 1, b + 1, min(chunk, near.shape[2] - 1)] != 0
                is_deep = phi[a + 1, b + 1, min(first, shape[2] - 1)] < ZERO
                for k in range(first, last):
                    to_air[axis, i + 1, j + 1, k] = ONE
                    is_wet[axis, i + 1, j + 1, k] = is_deep
                if not is_near:
                    continue
                for k in range(first, last):
                    high = phi[a + 1, b + 1, min(k, shape[2] - 1)]
                    low = phi[p, q, max(k - dk, 0)]
                    is_wet[axis, i + 1, j + 1, k] = high < ZERO or low < ZERO
                    if (high < ZERO) != (low < ZERO):
                        part = high / (high - low) if high < ZERO else low / (low - high)
                        to_air[axis, i + 1, j + 1, k] = ONE / max(part, least)


@njit(cache=True, error_model="numpy", parallel=True)
def mark_shallow_faces(phi, shape, axis, near, depth, mark, out):
    """Put `mark` in `out`, of the padded shape, on faces across an axis that are less than `depth` under the surface.

    Those of cells on either side count, as far as the band goes.
    """
    nx, ny, nz = face_counts(shape, axis)
    di, dj, dk = np.int64(axis == 0), np.int64(axis == 1), np.int64(axis == 2)
    for index in prange(nx * ny):
        i, j = row_of(index, ny)
        a, b = min(i, shape[0] - 1) + 1, min(j, shape[1] - 1) + 1
        p, q = max(i - di, 0) + 1, max(j - dj, 0) + 1
        for chunk in range((nz + WIDTH - 1) // WIDTH):
            if near[a, b, min(chunk, near.shape[2] - 1)] == 0:
                continue
            for k in range(chunk * WIDTH, min(nz, (chunk + 1) * WIDTH)):
                high, low = phi[a, b, min(k, shape[2] - 1)], phi[p, q, max(k - dk, 0)]
                if max(high, low) > -depth:
                    out[i + 1, j + 1, k] = mark


@inline
def known_sum(values, unknown, at, total, count):
    """Add sixteen numbers, and one to how many they are, where they are known."""
    is_unknown = load_mask(unknown, at)
    return select(is_unknown, total, total + load(values, at)), select(is_unknown, count, count + ONE)


@njit(cache=True, error_model="numpy", parallel=True)
def extend_layer(velocity, unknown, shape, rows, near, still_unknown):
    """Give faces near the surface that are unknown, but have neighbours that are known, the mean of those.

    In place: what is written was not known, and only what was known counts, so that threads do not matter. Arrays are
    flat; `rows` is (row, plane). What is outside of the box must be marked as unknown.
    """
    row, plane = rows
    for axis in range(3):
        nx, ny, nz = face_counts(shape, axis)
        for index in prange(nx * ny):
            use_wide_registers()
            i, j = row_of(index, ny)
            a, b = min(i, shape[0] - 1) + 1, min(j, shape[1] - 1) + 1
            for chunk in range((nz + WIDTH - 1) // WIDTH):
                k = chunk * WIDTH
                at = ((axis * (shape[0] + 2) + i + 1) * plane) + (j + 1) * row + k
                is_unknown = load_mask(unknown, at) & first_lanes(nz - k)
                if near[a, b, min(chunk, near.shape[2] - 1)] == 0 or mask_bits(is_unknown) == 0:
                    continue
                total = count = load(velocity, at) * ZERO
                for step in (plane, row):
                    total, count = known_sum(velocity, unknown, at - step, total, count)
                    total, count = known_sum(velocity, unknown, at + step, total, count)
                # the ends of a row may touch those of the next
                more, one = known_sum(velocity, unknown, at - 1, total, count)
                is_first = first_lanes(1 if k == 0 else 0)
                total, count = select(is_first, total, more), select(is_first, count, one)
                more, one = known_sum(velocity, unknown, at + 1, total, count)
                is_inner = first_lanes(nz - 1 - k)
                total, count = select(is_inner, more, total), select(is_inner, one, count)
                is_found = is_unknown & (count > ZERO)
                store(velocity, at, select(is_found, total / maximum(count, ONE), load(velocity, at)))
                clear_marks(is_found, still_unknown, at)


@inline
def curvature(phi, shape, i, j, k):
    """Divergence of the unit normal in a cell [1/cell], from second differences."""
    nx, ny, nz = shape
    a, b = max(i - 1, 0) + 1, min(i + 1, nx - 1) + 1
    c, d = max(j - 1, 0) + 1, min(j + 1, ny - 1) + 1
    e, f = max(k - 1, 0), min(k + 1, nz - 1)
    i, j = i + 1, j + 1
    here = phi[i, j, k]
    x, y, z = (
        HALF * (phi[b, j, k] - phi[a, j, k]),
        HALF * (phi[i, d, k] - phi[i, c, k]),
        HALF * (phi[i, j, f] - phi[i, j, e]),
    )
    xx = phi[b, j, k] - here - here + phi[a, j, k]
    yy = phi[i, d, k] - here - here + phi[i, c, k]
    zz = phi[i, j, f] - here - here + phi[i, j, e]
    quarter = np.float32(0.25)
    xy = quarter * (phi[b, d, k] - phi[b, c, k] - phi[a, d, k] + phi[a, c, k])
    xz = quarter * (phi[b, j, f] - phi[b, j, e] - phi[a, j, f] + phi[a, j, e])
    yz = quarter * (phi[i, d, f] - phi[i, d, e] - phi[i, c, f] + phi[i, c, e])
    square = x * x + y * y + z * z
    bent = xx * (y * y + z * z) + yy * (x * x + z * z) + zz * (x * x + y * y)
    bent -= np.float32(2.0) * (x * y * xy + x * z * xz + y * z * yz)
    found = bent / max(square * math.sqrt(square), np.float32(1e-3))
    return min(max(found, -ONE), ONE)  # nothing rounder than a cell


@njit(cache=True, error_model="numpy", parallel=True)
def add_tension(phi, shape, strength, least, open_part, velocity):
    """Add to faces between liquid and air what the pressure of a curved surface does: strength kappa / part.

    `strength` is sigma dt / (rho cell^2) [m/s], kappa is that of the surface itself, between the two cells.
    """
    for axis in range(3):
        di, dj, dk = np.int64(axis == 0), np.int64(axis == 1), np.int64(axis == 2)
        for index in prange(di, shape[0]):
            i = np.int64(index)
            for j in range(dj, shape[1]):
                for k in range(dk, shape[2]):
                    high, low = phi[i + 1, j + 1, k], phi[i + 1 - di, j + 1 - dj, k - dk]
                    if (high < ZERO) == (low < ZERO) or open_part[axis, i + 1, j + 1, k] == 0.0:
                        continue
                    towards = high / (high - low)  # from the higher cell to the lower
                    bent = (ONE - towards) * curvature(phi, shape, i, j, k)
                    bent += towards * curvature(phi, shape, i - di, j - dj, k - dk)
                    part, sign = (towards, ONE) if high < ZERO else (ONE - towards, -ONE)
                    # u -= (pressure of the air - that of the liquid) / part, of which this is the first
                    velocity[axis, i + 1, j + 1, k] += sign * strength * bent / max(part, least)
