"""What the head does, as seen from itself: the controls of the default model, frame by frame."""

# mypy: allow-untyped-defs

import math

from mane.geometry._kernels_quaternion import quat_multiply, quat_rotate
from mane.simd.jit import njit

GRAVITY, STEPS, SPIN = 0, 3, 15  # where directions of gravity, steps and products of the spin begin
HEAD_CONTROLS = 21


@njit(cache=True, error_model="numpy")
def turned_back(pose, x, y, z):
    """A direction of the world as seen from a pose (position, quaternion)."""
    return quat_rotate(-pose[3], -pose[4], -pose[5], pose[6], x, y, z)


@njit(cache=True, error_model="numpy")
def rotation_vector(before, after):
    """Rotation vector [rad] from one pose to the next, as seen from either."""
    x, y, z, w = quat_multiply(-before[3], -before[4], -before[5], before[6], after[3], after[4], after[5], after[6])
    if w < 0:
        x, y, z, w = -x, -y, -z, -w
    sine = math.sqrt(x * x + y * y + z * z)
    scale = 2.0 if sine < 1e-9 else 2.0 * math.atan2(sine, w) / sine
    return scale * x, scale * y, scale * z


@njit(cache=True, error_model="numpy")
def fill_head_controls(
    heads,
    # out
    controls,
):
    """Fill `controls (T, >= 21)` for poses `heads (T, 7)`; before the first frame the head stood still.

    Direction of gravity less that of an upright head (3); of the last two steps translation [m] and rotation vector
    [rad], as seen from the head now and from itself (12); products of the last rotation vector with itself, which hair
    flies apart with (6). All are zero for an upright head that stands still.
    """
    for t in range(len(heads)):
        here, row = heads[t], controls[t]
        gx, gy, gz = turned_back(here, 0.0, -1.0, 0.0)
        row[GRAVITY], row[GRAVITY + 1], row[GRAVITY + 2] = gx, gy + 1.0, gz
        for a in range(2):
            after, before = heads[max(t - a, 0)], heads[max(t - a - 1, 0)]
            at = STEPS + 6 * a
            row[at], row[at + 1], row[at + 2] = turned_back(
                here, after[0] - before[0], after[1] - before[1], after[2] - before[2]
            )
            row[at + 3], row[at + 4], row[at + 5] = rotation_vector(before, after)
        wx, wy, wz = row[STEPS + 3], row[STEPS + 4], row[STEPS + 5]
        row[SPIN], row[SPIN + 1], row[SPIN + 2] = wx * wx, wy * wy, wz * wz
        row[SPIN + 3], row[SPIN + 4], row[SPIN + 5] = wx * wy, wx * wz, wy * wz
