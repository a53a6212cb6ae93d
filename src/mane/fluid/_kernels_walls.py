"""Solids on a grid: distances at the corners of cells, open parts of faces, velocities of walls, and what is behind."""

# mypy: allow-untyped-defs

import numpy as np

from mane.body._kernels_solid import AFTER, BEFORE, rigid_distance, to_local, to_world
from mane.simd.f32x16 import WIDTH, load
from mane.simd.jit import inline, njit, prange
from mane.simd.masks import select
from mane.simd.math import maximum
from mane.simd.memory import store, use_wide_registers

# A face that is open by less than this is closed: it would carry next to nothing and spoil the matrix.
LEAST_OPEN = np.float32(0.02)


@njit(cache=True, error_model="numpy", parallel=True)
def fill_distances(solid, poses, number, padding, origin, cell, first, last, distances, owners):
    """Lower `distances` at the corners of cells, from `first` to `last` of them, to those of one solid [cells].

    The solid counts as thicker by `padding` [m]. `owners` becomes the number of the solid that is nearest.
    """
    for index in prange(first[0], last[0]):
        i = np.int64(index)
        for j in range(first[1], last[1]):
            for k in range(first[2], last[2]):
                x, y, z = origin[0] + cell * i, origin[1] + cell * j, origin[2] + cell * k
                lx, ly, lz = to_local(poses, AFTER, x, y, z)
                found = np.float32((rigid_distance(solid, lx, ly, lz)[0] - padding) / cell)
                if found < distances[i, j, k]:
                    distances[i, j, k] = found
                    owners[i, j, k] = number


@inline
def face_counts(shape, axis):
    """How many faces across an axis there are along x, y and z."""
    return shape[0] + (axis == 0), shape[1] + (axis == 1), shape[2] + (axis == 2)


@inline
def row_of(index, ny):
    """Along x and y, the row with a number."""
    number = np.int64(index)
    return number // ny, number % ny


@inline
def open_triangle(a, b, c):
    """Part of a triangle where a distance that is linear in it is positive, from that at its corners."""
    negative = (a < 0.0) + (b < 0.0) + (c < 0.0)
    if negative == 0:
        return 1.0
    if negative == 3:
        return 0.0
    # turn it so that the corner that is alone comes first
    if (b < 0.0) != (a < 0.0) and (b < 0.0) != (c < 0.0):
        a, b, c = b, c, a
    elif (c < 0.0) != (a < 0.0) and (c < 0.0) != (b < 0.0):
        a, b, c = c, a, b
    alone = a * a / ((a - b) * (a - c))
    return 1.0 - alone if negative == 1 else alone


@inline
def open_square(a, b, c, d):
    """The same for a square with corners a, b, c, d in turn: four triangles around its middle."""
    m = 0.25 * (a + b + c + d)
    return 0.25 * (open_triangle(a, b, m) + open_triangle(b, c, m) + open_triangle(c, d, m) + open_triangle(d, a, m))


@inline
def corner_distances(distances, axis, i, j, k):
    """Distances at the four corners of a face, in turn."""
    if axis == 0:
        return distances[i, j, k], distances[i, j + 1, k], distances[i, j + 1, k + 1], distances[i, j, k + 1]
    if axis == 1:
        return distances[i, j, k], distances[i + 1, j, k], distances[i + 1, j, k + 1], distances[i, j, k + 1]
    return distances[i, j, k], distances[i + 1, j, k], distances[i + 1, j + 1, k], distances[i, j + 1, k]


@njit(cache=True, error_model="numpy", parallel=True)
def open_faces(distances, shape, open_part, middle):
    """Fill open parts of all faces (3, ...), 0 to 1, and the distance [cells] at the middle of each (3, ...)."""
    for axis in range(3):
        nx, ny, nz = face_counts(shape, axis)
        for index in prange(nx * ny):
            i, j = row_of(index, ny)
            for k in range(nz):
                a, b, c, d = corner_distances(distances, axis, i, j, k)
                middle[axis, i + 1, j + 1, k] = np.float32(0.25) * (a + b + c + d)
                if min(a, b, c, d) > 0.0:
                    open_part[axis, i + 1, j + 1, k] = np.float32(1.0)
                    continue
                part = np.float32(open_square(a, b, c, d))
                open_part[axis, i + 1, j + 1, k] = part if part >= LEAST_OPEN else np.float32(0.0)


@njit(cache=True, error_model="numpy", parallel=True)
def wall_velocities(open_part, owners, poses, origin, cell, dt, shape, walls):
    """Fill the velocity (3, ...) of the rigid motion of what covers a face, even in part, along the face's axis."""
    for axis in range(3):
        nx, ny, nz = face_counts(shape, axis)
        for index in prange(nx * ny):
            i, j = row_of(index, ny)
            for k in range(nz):
                if open_part[axis, i + 1, j + 1, k] == 1.0:
                    continue
                owner = owners[i, j, k]
                for p in range(2):  # the corner that has an owner: far from all solids there is none
                    for q in range(2):
                        for r in range(2):
                            if owner < 0:
                                a, b = min(i + p, shape[0]), min(j + q, shape[1])
                                owner = owners[a, b, min(k + r, shape[2])]
                if owner < 0:
                    continue
                x = origin[0] + cell * (i + 0.5 * (axis != 0))
                y = origin[1] + cell * (j + 0.5 * (axis != 1))
                z = origin[2] + cell * (k + 0.5 * (axis != 2))
                lx, ly, lz = to_local(poses[owner], AFTER, x, y, z)
                bx, by, bz = to_world(poses[owner], BEFORE, lx, ly, lz)
                moved = ((x - bx), (y - by), (z - bz))[axis]
                walls[axis, i + 1, j + 1, k] = np.float32(moved / dt)


@njit(cache=True, error_model="numpy", parallel=True)
def flow_out(velocity, open_part, walls, shape, inverse, more, room, b):
    """Fill `b` with `more` less what flows out of every cell of fluid through its faces, open parts and walls.

    `more` is for a whole cell; `room` is the part of each that solids leave, or empty.

    `open_part` is what solids leave of faces: those of closed sides count as open, with the velocity that is set there.
    A solid that comes down on a side squeezes out what is between the two; were the side's face closed like those that
    the solid covers, the balance of the solid's surface in that cell would lack it.
    """
    nx, ny, nz = shape
    for index in prange(1, nx + 1):
        i = np.int64(index)
        for j in range(1, ny + 1):
            for k in range(nz):
                if inverse[i, j, k] == 0.0:
                    b[i, j, k] = np.float32(0.0)
                    continue
                total = np.float32(0.0)
                for axis in range(3):
                    di, dj, dk = np.int64(axis == 0), np.int64(axis == 1), np.int64(axis == 2)
                    high, low = open_part[axis, i + di, j + dj, k + dk], open_part[axis, i, j, k]
                    total += high * velocity[axis, i + di, j + dj, k + dk] - low * velocity[axis, i, j, k]
                    if high < 1.0 or low < 1.0:
                        # one velocity of the wall for both faces: a solid that swells within the cell moves no fluid
                        # there but at its surface. Of rigid motion both have the same along their own axis.
                        wall = walls[axis, i + di, j + dj, k + dk] if high < 1.0 else walls[axis, i, j, k]
                        if high < 1.0 and low < 1.0:
                            wall = np.float32(0.5) * (wall + walls[axis, i, j, k])
                        total += (low - high) * wall
                b[i, j, k] = (more * room[i - 1, j - 1, k] if len(room) else more) - total


@njit(cache=True, error_model="numpy", parallel=True)
def subtract_gradient(pressure, mobility, open_part, rows, velocity):
    """Take the gradient of a pressure from the velocity of open faces; outside of the box it must be zero.

    Arrays are flat; `rows` is (row, plane).
    """
    row, plane = rows
    planes = len(pressure) // plane
    for index in prange(3 * (planes - 1)):
        use_wide_registers()
        axis, i = np.int64(index) // (planes - 1), np.int64(index) % (planes - 1) + 1
        before = plane if axis == 0 else (row if axis == 1 else 1)
        for at in range(i * plane + row, (i + 1) * plane, WIDTH):
            face = axis * len(pressure) + at
            change = load(mobility, face) * (load(pressure, at) - load(pressure, at - before))
            is_open = load(open_part, face) > np.float32(0.0)
            store(velocity, face, load(velocity, face) - select(is_open, change, np.float32(0.0)))


@njit(cache=True, error_model="numpy", parallel=True)
def take_up(drag, push, felt, per_mass, least, mobility, velocity):
    """Let a porous medium act on velocities for a step, implicitly: u = (u + s push) / (1 + s drag).

    s is `per_mass` [s/kg] where `felt` is 1, and 0 where it is 0. `mobility` becomes 1 / (1 + s drag), the part of a
    push of pressure that the medium lets through, but at least `least`. Arrays are flat.
    """
    one = np.float32(1.0)
    for index in prange(len(velocity) // WIDTH):
        use_wide_registers()
        at = np.int64(index) * WIDTH
        step = per_mass * load(felt, at)
        part = one / (one + step * load(drag, at))
        store(velocity, at, part * (load(velocity, at) + step * load(push, at)))
        store(mobility, at, maximum(part, least))


@njit(cache=True, error_model="numpy", parallel=True)
def extend_into_solids(velocity, known, shape, out, now_known):
    """Give faces that are not known yet, but have neighbours that are, the mean of those."""
    for axis in range(3):
        nx, ny, nz = face_counts(shape, axis)
        for index in prange(nx * ny):
            i, j = row_of(index, ny)
            for k in range(nz):
                now_known[axis, i + 1, j + 1, k] = known[axis, i + 1, j + 1, k]
                if known[axis, i + 1, j + 1, k]:
                    continue
                total, count = np.float32(0.0), 0
                for step in range(6):
                    a = i + (step == 0) - (step == 1)
                    b = j + (step == 2) - (step == 3)
                    c = k + (step == 4) - (step == 5)
                    if 0 <= a < nx and 0 <= b < ny and 0 <= c < nz and known[axis, a + 1, b + 1, c]:
                        total += velocity[axis, a + 1, b + 1, c]
                        count += 1
                if count:
                    out[axis, i + 1, j + 1, k] = total / np.float32(count)
                    now_known[axis, i + 1, j + 1, k] = 1
