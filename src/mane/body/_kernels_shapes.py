"""Signed distance to primitive shapes from a flat table, as scalar code that other kernels may call.

A table is `kinds (K,) int32` beside `params (K, 16) float32`. Columns of `params` by kind:

    SPHERE   0:3 centre   3 radius
    CAPSULE  0:3 start    3:6 end - start   6 1 / |end - start|^2   7 radius   8:11 a unit vector across the axis
    BOX      0:3 centre   3:6 half size less rounding   6 rounding   7:16 rotation matrix, row by row
    PLANE    0:3 point    3:6 unit normal
    TORUS    0:3 centre   3:6 unit axis     6 major radius   7 minor radius   8:11 a unit vector across the axis
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit, prange

SPHERE, CAPSULE, BOX, PLANE, TORUS = range(5)
PARAM_COUNT = 16

FASTMATH = {"contract", "arcp", "nsz", "afn"}

ZERO = np.float32(0.0)
ONE = np.float32(1.0)
# Closer to a centre or an axis than this [m] there is no direction left in float32; a fixed one is used instead.
NO_DIRECTION = np.float32(1e-15)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def sphere_distance(p, x, y, z):
    """Distance and unit gradient of a sphere; at the centre the gradient is +Y."""
    dx, dy, dz = x - p[0], y - p[1], z - p[2]
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    if length > NO_DIRECTION:
        inv = ONE / length
        return length - p[3], dx * inv, dy * inv, dz * inv
    return length - p[3], ZERO * dx, ONE + ZERO * dy, ZERO * dz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def capsule_distance(p, x, y, z):
    """Distance and unit gradient of a capsule; on the axis the gradient is the stored vector across it."""
    dx, dy, dz = x - p[0], y - p[1], z - p[2]
    along = min(max((dx * p[3] + dy * p[4] + dz * p[5]) * p[6], ZERO), ONE)
    dx, dy, dz = dx - along * p[3], dy - along * p[4], dz - along * p[5]
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    if length > NO_DIRECTION:
        inv = ONE / length
        return length - p[7], dx * inv, dy * inv, dz * inv
    return length - p[7], p[8] + ZERO * dx, p[9] + ZERO * dy, p[10] + ZERO * dz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def box_distance(p, x, y, z):
    """Distance and unit gradient of a box with rounded edges; inside, the gradient points to the nearest face."""
    dx, dy, dz = x - p[0], y - p[1], z - p[2]
    # Into the box's frame: the transpose of its rotation.
    lx = p[7] * dx + p[10] * dy + p[13] * dz
    ly = p[8] * dx + p[11] * dy + p[14] * dz
    lz = p[9] * dx + p[12] * dy + p[15] * dz
    qx, qy, qz = abs(lx) - p[3], abs(ly) - p[4], abs(lz) - p[5]
    deepest = max(qx, max(qy, qz))
    ox, oy, oz = max(qx, ZERO), max(qy, ZERO), max(qz, ZERO)
    distance = math.sqrt(ox * ox + oy * oy + oz * oz)
    if distance > NO_DIRECTION:
        inv = ONE / distance
        ox, oy, oz = ox * inv, oy * inv, oz * inv
    else:
        distance = deepest
        ox = ONE if qx == deepest else ZERO
        oy = ONE if qy == deepest and qx != deepest else ZERO
        oz = ONE - ox - oy
    ox, oy, oz = math.copysign(ox, lx), math.copysign(oy, ly), math.copysign(oz, lz)
    gx = p[7] * ox + p[8] * oy + p[9] * oz
    gy = p[10] * ox + p[11] * oy + p[12] * oz
    gz = p[13] * ox + p[14] * oy + p[15] * oz
    return distance - p[6], gx, gy, gz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def plane_distance(p, x, y, z):
    """Distance and unit gradient of the half space below a plane."""
    distance = (x - p[0]) * p[3] + (y - p[1]) * p[4] + (z - p[2]) * p[5]
    return distance, p[3] + ZERO * x, p[4] + ZERO * y, p[5] + ZERO * z


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def torus_distance(p, x, y, z):
    """Distance and unit gradient of a torus; on its circle the gradient is the axis."""
    dx, dy, dz = x - p[0], y - p[1], z - p[2]
    height = dx * p[3] + dy * p[4] + dz * p[5]
    dx, dy, dz = dx - height * p[3], dy - height * p[4], dz - height * p[5]
    radial = math.sqrt(dx * dx + dy * dy + dz * dz)
    if radial > NO_DIRECTION:
        inv = ONE / radial
        ex, ey, ez = dx * inv, dy * inv, dz * inv
    else:
        ex, ey, ez = p[8] + ZERO * dx, p[9] + ZERO * dy, p[10] + ZERO * dz
    across = radial - p[6]
    length = math.sqrt(across * across + height * height)
    if length > NO_DIRECTION:
        inv = ONE / length
        u, v = across * inv, height * inv
    else:
        u, v = ZERO * across, ONE + ZERO * height
    return length - p[7], u * ex + v * p[3], u * ey + v * p[4], u * ez + v * p[5]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def primitive_distance(kind, p, x, y, z):
    """Distance and unit gradient of one row of the table."""
    if kind == SPHERE:
        return sphere_distance(p, x, y, z)
    if kind == CAPSULE:
        return capsule_distance(p, x, y, z)
    if kind == BOX:
        return box_distance(p, x, y, z)
    if kind == PLANE:
        return plane_distance(p, x, y, z)
    return torus_distance(p, x, y, z)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def shape_distance(kinds, params, x, y, z):
    """Signed distance [m] and unit gradient of the union of all rows: `(d, gx, gy, gz)`; the first row wins a tie."""
    d, gx, gy, gz = primitive_distance(kinds[0], params[0], x, y, z)
    for k in range(1, len(kinds)):
        dk, gxk, gyk, gzk = primitive_distance(kinds[k], params[k], x, y, z)
        if dk < d:
            d, gx, gy, gz = dk, gxk, gyk, gzk
    return d, gx, gy, gz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def shape_distances(
    kinds,
    params,
    points,
    # out
    distance,
    gradient,
):
    """Fill `distance (P,)` and `gradient (P, 3)` for every point."""
    for i in prange(len(points)):
        d, gx, gy, gz = shape_distance(kinds, params, points[i, 0], points[i, 1], points[i, 2])
        distance[i] = d
        gradient[i, 0] = gx
        gradient[i, 1] = gy
        gradient[i, 2] = gz
