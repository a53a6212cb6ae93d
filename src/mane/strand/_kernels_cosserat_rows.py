"""Rows of the buffer in which eight Cosserat rods are stepped side by side, and what all of its kernels share.

`buf[row + lane]` is the only kind of access in an inner loop, which is what lets LLVM vectorise it. A record of zeros
before the root and one behind the tip stand in for neighbours that are not there.
"""

# mypy: allow-untyped-defs

import math

import numpy as np
from numba import njit

from mane.strand._kernels_small import FASTMATH, LANES, in_lanes, rows

# Rows of a record, one record per vertex; joint and segment j share that of vertex j. State, load, what is evaluated,
# right-hand sides (later the solution), how far the stage has come since its prediction, the matrix (its diagonal
# blocks are inverted in place), its factors, and the constants of the strand, which are copied here because a second
# array would need checks for overlap.
X, V, Q, SPIN, FORCE, RESIST, COUPLE = rows(3, 3, 4, 3, 3, 6, 6)
TENSION, AXIS, CUT, MOMENT, R_X, R_T, D_X, D_T = rows(1, 3, 3, 3, 3, 3, 3, 3, start=28)
A_X, A_T, P_X, U_X, W_X, U_T, W_T = rows(6, 6, 9, 9, 9, 9, 9, start=50)
CONSTANTS = ("mass", "pinned", "stretch", "length", "springs", "bend", "extra_twist", "inv_joint", "damping", "inertia")
CONSTANT_ROWS = len(CONSTANTS) + 4  # and the rest rotation of the joint
(FIRST_CONSTANT,) = rows(CONSTANT_ROWS, start=107)
MASS, PINNED, STRETCH, LENGTH, SPRINGS, BEND, EXTRA_TWIST, INV_JOINT, DAMPING, INERTIA, REST = rows(
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4, start=107
)
SCRATCH_ROWS = 107 + CONSTANT_ROWS
STRIDE = LANES * np.uint64(SCRATCH_ROWS)
ONE = np.uint64(1)

# Of the record before the root, which is no vertex: length of the stage [s], one over it, its share of the step, what
# is left of the step [s]; how far the centre of mass is off, and the mass.
STAGE, INV_STAGE, SHARE, REMAINDER = rows(1, 1, 1, 1, start=71)
DRIFT = R_X

in_block = njit(cache=True, error_model="numpy", fastmath=FASTMATH)


@in_lanes
def turned(qx, qy, qz, qw, wx, wy, wz):
    """Turn a frame by a rotation vector [rad]; right to 1e-6 rad below half a radian, and of unit length at any."""
    # The quaternion is (tan(h) axis, 1) before it is scaled to length one, h = half the angle: no sine in the lanes.
    hh = 0.25 * (wx * wx + wy * wy + wz * wz)
    scale = 0.5 * (1.0 + hh * (1.0 / 3.0 + hh * (2.0 / 15.0 + hh * (17.0 / 315.0))))
    x, y, z = wx * scale, wy * scale, wz * scale
    rx = qx + x * qw + y * qz - z * qy
    ry = qy - x * qz + y * qw + z * qx
    rz = qz + x * qy - y * qx + z * qw
    rw = qw - x * qx - y * qy - z * qz
    inv = 1.0 / math.sqrt(rx * rx + ry * ry + rz * rz + rw * rw)
    return rx * inv, ry * inv, rz * inv, rw * inv
