"""Numba kernel that evaluates a `Sculpture`: a list of shapes combined one after the other.

Points go in blocks. Each shape is asked once per block, whether it can reach the block at all, and then runs over the
block's points in a loop without branches, which the compiler turns into vector instructions.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import math

import numpy as np

from mane.simd.jit import njit, prange

FASTMATH = {"contract", "arcp", "nsz", "afn"}

# Columns of a row of the table.
KIND, OPERATION, BLEND, MIRRORED, IN_PART, GOES_ON, REACH, STRETCH = 0, 1, 2, 3, 4, 5, 6, 7
CENTRE, SIZE, TURN = 8, 11, 14  # three, three and nine numbers
COLUMNS = 23

ELLIPSOID, CONE, PLANE, BUMP, MERGE = 0, 1, 2, 3, 4
ADD, CUT, KEEP = 0, 1, 2

NOTHING = 1.0e3  # distance to an empty part [m]
BLOCK = 64  # points
TINY = 1.0e-15


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def smooth_min(a, b, blend):
    """The smaller value, rounded over a width `blend` with continuous curvature."""
    h = max(blend - abs(a - b), 0.0) / (blend + TINY)
    return min(a, b) - h * h * h * blend / 6.0


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def combine(current, shape, operation, blend):
    """Add shapes (n,) to the current solids (n,), cut them off, or keep only what both share; changes `current`."""
    outer = -1.0 if operation != ADD else 1.0
    inner = -1.0 if operation == KEEP else 1.0
    for i in range(BLOCK):
        current[i] = outer * smooth_min(outer * current[i], inner * shape[i], blend)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def ellipsoids(x, y, z, row, value):
    """Fill `value` with the distance to an ellipsoid about the origin, exact to first order at its surface."""
    inv_x, inv_y, inv_z = 1.0 / row[SIZE], 1.0 / row[SIZE + 1], 1.0 / row[SIZE + 2]
    steepest = TINY * max(inv_x, inv_y, inv_z)  # keeps the very centre inside
    for i in range(BLOCK):
        ax = (row[TURN] * x[i] + row[TURN + 1] * y[i] + row[TURN + 2] * z[i]) * inv_x
        ay = (row[TURN + 3] * x[i] + row[TURN + 4] * y[i] + row[TURN + 5] * z[i]) * inv_y
        az = (row[TURN + 6] * x[i] + row[TURN + 7] * y[i] + row[TURN + 8] * z[i]) * inv_z
        reach = math.sqrt(ax * ax + ay * ay + az * az) + TINY
        bx, by, bz = ax * inv_x, ay * inv_y, az * inv_z
        value[i] = reach * (reach - 1.0) / (math.sqrt(bx * bx + by * by + bz * bz) + steepest)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def round_cones(x, y, z, row, value):
    """Fill `value` with the distance to the hull of two balls, one at the origin and one at (dx, dy, dz).

    The nearest ball between them sits on the axis, shifted from the foot of the point by the slope of the cone.
    """
    dx, dy, dz, ra, rb = row[TURN], row[TURN + 1], row[TURN + 2], row[SIZE], row[SIZE + 1]
    length = math.sqrt(dx * dx + dy * dy + dz * dz) + TINY
    ux, uy, uz = dx / length, dy / length, dz / length
    slope = (ra - rb) / length
    lean = slope / math.sqrt(max(1.0 - slope * slope, TINY))
    for i in range(BLOCK):
        along = x[i] * ux + y[i] * uy + z[i] * uz
        px, py, pz = x[i] - along * ux, y[i] - along * uy, z[i] - along * uz
        across = math.sqrt(px * px + py * py + pz * pz)
        place = min(max(along - lean * across, 0.0), length)
        gap = along - place
        value[i] = math.sqrt(across * across + gap * gap) - (ra - slope * place)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def planes(x, y, z, row, value):
    """Fill `value` with the height above a plane through the origin."""
    for i in range(BLOCK):
        value[i] = x[i] * row[TURN] + y[i] * row[TURN + 1] + z[i] * row[TURN + 2]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def lift_by_bumps(x, y, z, row, current):
    """Lower `current` by a bell about the origin, which lifts the surface."""
    for i in range(BLOCK):
        u = (row[TURN] * x[i] + row[TURN + 1] * y[i] + row[TURN + 2] * z[i]) / row[SIZE]
        v = (row[TURN + 3] * x[i] + row[TURN + 4] * y[i] + row[TURN + 5] * z[i]) / row[SIZE + 1]
        w = (row[TURN + 6] * x[i] + row[TURN + 7] * y[i] + row[TURN + 8] * z[i]) / row[SIZE + 2]
        current[i] -= row[BLEND] * math.exp(-(u * u + v * v + w * w))


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _is_far(row, current, x, y, z):
    """Whether a shape is too far from all points, given as offsets from its centre, to change their current values.

    At a distance d from its centre, a shape's value is at least (d - REACH) / STRETCH.
    """
    if row[OPERATION] == KEEP:
        return False
    is_bump = row[KIND] == BUMP
    sign = 1.0 if row[OPERATION] == ADD else -1.0
    stretch, blend = (0.0, 0.0) if is_bump else (row[STRETCH], row[BLEND])
    nearest = NOTHING * NOTHING
    for i in range(BLOCK):
        reach = row[REACH] + stretch * max(blend + sign * current[i], 0.0)
        nearest = min(nearest, x[i] * x[i] + y[i] * y[i] + z[i] * z[i] - reach * reach)
    return nearest > 0.0


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _evaluate_block(px, folded, py, pz, table, whole, part, chain, value, x, y, z):
    """Fill `whole` (BLOCK,) with the values at the points; the arrays after it are scratch."""
    whole[:] = NOTHING
    part[:] = NOTHING
    chain[:] = NOTHING
    in_chain = False
    for r in range(table.shape[0]):
        row = table[r]
        if row[KIND] == MERGE:
            combine(whole, part, row[OPERATION], row[BLEND])
            part[:] = NOTHING
            continue
        current = part if row[IN_PART] else whole
        source = folded if row[MIRRORED] else px
        for i in range(BLOCK):
            x[i], y[i], z[i] = source[i] - row[CENTRE], py[i] - row[CENTRE + 1], pz[i] - row[CENTRE + 2]
        is_near = not _is_far(row, current, x, y, z)
        if is_near:
            if row[KIND] == BUMP:
                lift_by_bumps(x, y, z, row, current)
                continue
            if row[KIND] == ELLIPSOID:
                ellipsoids(x, y, z, row, value)
            elif row[KIND] == CONE:
                round_cones(x, y, z, row, value)
            else:
                planes(x, y, z, row, value)
            for i in range(BLOCK):
                chain[i] = min(chain[i], value[i])
            in_chain = True
        # The links of a tube are one shape: they meet unrounded, and blend with the rest together, at the last one.
        if in_chain and not row[GOES_ON]:
            combine(current, chain, row[OPERATION], row[BLEND])
            chain[:] = NOTHING
            in_chain = False


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def evaluate(points, table, fold, values):
    """Fill `values` (P,) at `points` (P, 3); mirrored rows see |x|, rounded over `fold` so that no crease appears."""
    count = points.shape[0]
    for block in prange((count + BLOCK - 1) // BLOCK):
        first = block * BLOCK
        scratch = np.empty((11, BLOCK))
        for i in range(BLOCK):
            point = min(first + i, count - 1)
            scratch[0, i] = points[point, 0]
            scratch[1, i] = math.sqrt(points[point, 0] * points[point, 0] + fold * fold)
            scratch[2, i] = points[point, 1]
            scratch[3, i] = points[point, 2]
        _evaluate_block(
            scratch[0], scratch[1], scratch[2], scratch[3], table, scratch[4], scratch[5], scratch[6], scratch[7],
            scratch[8], scratch[9], scratch[10],
        )  # fmt: skip
        for i in range(min(BLOCK, count - first)):
            values[first + i] = scratch[4, i]
