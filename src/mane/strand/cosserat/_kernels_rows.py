"""Rows of the buffer in which eight Cosserat rods are stepped side by side, and what all of its kernels share.

A row is one number of eight strands. A record of zeros before the root and one behind the tip stand in for neighbours
that are not there.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.geometry._kernels_quaternion import quat_multiply
from mane.simd.jit import inline_fast, njit
from mane.simd.layout import row_offsets
from mane.simd.math import sqrt
from mane.simd.rows import LANES

# Rows of a record, one record per vertex; joint and segment j share that of vertex j. State, load, axes of the segments
# as predicted, how far the stage has come since its prediction, right-hand sides (later the solution), the ways along
# segments, and the factors of the matrix: its inverted diagonal blocks and what couples a vertex to its segment and the
# segment to the vertex behind.
X, V, Q, SPIN, CUT, FORCE, RESIST, COUPLE = row_offsets(3, 3, 4, 3, 3, 3, 6, 6)
TENSION, AXIS, D_X, D_T, R_X, R_T, EDGE = row_offsets(1, 3, 3, 3, 3, 3, 3, start=31)
A_X, A_T, P_X, P_T = row_offsets(6, 6, 9, 9, start=50)
SCRATCH_ROWS = 80
STRIDE = LANES * np.uint64(SCRATCH_ROWS)
ONE = np.uint64(1)

# Of the record before the root, which is no vertex: length of the stage [s], one over it, one over its part of the
# step, what is left of the step [s]; by how much the load resists beyond what makes a step all stage, zero or less if
# it does not.
STAGE, INV_STAGE, INV_THETA, REMAINDER, STIFF = row_offsets(1, 1, 1, 1, 1, start=50)

# Rows of the constants of a strand, likewise a record per vertex and one behind the tip: mass; whether something holds
# the vertex, and one over its mass if nothing does; k, l, k / l, l / k, 1 / l of the segment and the sum of k / l of
# the two beside a vertex; stiffness of the joint and how much more twisting has; its time constant, the segment's
# inertia and the joint's rotation at rest.
CONSTANTS = (
    "mass",
    "free",
    "inv_mass",
    "stretch",
    "length",
    "spring",
    "soft",
    "inv_length",
    "springs",
    "bend",
    "extra_twist",
    "damping",
    "inertia",
)
CONSTANT_ROWS = len(CONSTANTS) + 4  # and the rest rotation of the joint
MASS, FREE, INV_MASS, STRETCH, LENGTH, SPRING, SOFT, INV_LENGTH, SPRINGS, BEND, EXTRA_TWIST, DAMPING, INERTIA, REST = (
    row_offsets(*13 * (1,), 4)
)
CONSTANT_STRIDE = LANES * np.uint64(CONSTANT_ROWS)

in_block = njit(cache=True, error_model="numpy")


@inline_fast
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
    inv = 1.0 / sqrt(rx * rx + ry * ry + rz * rz + rw * rw)
    return rx * inv, ry * inv, rz * inv, rw * inv


@njit(cache=True, error_model="numpy")
def turn_clamp(rotation, rest, before, dt):
    """Frame of a clamp on a turned root (4), and the steady spin (3) that takes it there within dt."""
    q = quat_multiply(rotation[0], rotation[1], rotation[2], rotation[3], rest[0], rest[1], rest[2], rest[3])
    x, y, z, w = quat_multiply(q[0], q[1], q[2], q[3], -before[0], -before[1], -before[2], before[3])
    sine = sqrt(x * x + y * y + z * z)
    angle = 2.0 * math.atan2(sine, abs(w))
    scale = math.copysign(angle / sine if sine > 1e-12 else 2.0, w) / dt
    return q, (scale * x, scale * y, scale * z)
