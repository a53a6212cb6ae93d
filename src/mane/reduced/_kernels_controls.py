"""What the head does, as seen from itself: the controls of the default model, frame by frame."""

# mypy: allow-untyped-defs

import math

from mane.geometry._kernels_quaternion import quat_multiply, quat_rotate
from mane.simd.jit import njit

STEP_COUNT = 6  # steps of the head that are looked back on: hair answers within a fifth of a second
# Where the direction of gravity, the last step, changes from step to step, and turns begin.
GRAVITY, STEP, CHANGES, TURNS = 0, 3, 6, 3 + 3 * STEP_COUNT
HEAD_CONTROLS = TURNS + 3 * STEP_COUNT


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
    """Fill `controls (T, >= 39)` for poses `heads (T, 7)`; before the first frame the head stood still.

    Direction of gravity less that of an upright head (3); the last step's translation [m] (3); how it changed from step
    to step, the last five times (15); rotation vectors of the last six steps [rad] (18). Translations are as seen from
    the head now, rotations from itself. All are zero for an upright head that stands still.

    Nothing here is more than linear: products of these numbers follow the motions that were learned from more closely,
    and leave all bounds in others. Changes instead of steps, since hair cares little for how fast a head moves.
    """
    for t in range(len(heads)):
        here, row = heads[t], controls[t]
        gx, gy, gz = turned_back(here, 0.0, -1.0, 0.0)
        row[GRAVITY], row[GRAVITY + 1], row[GRAVITY + 2] = gx, gy + 1.0, gz
        lx, ly, lz = 0.0, 0.0, 0.0
        for a in range(STEP_COUNT):
            after, before = heads[max(t - a, 0)], heads[max(t - a - 1, 0)]
            x, y, z = turned_back(here, after[0] - before[0], after[1] - before[1], after[2] - before[2])
            if a == 0:
                row[STEP], row[STEP + 1], row[STEP + 2] = x, y, z
            else:
                at = CHANGES + 3 * (a - 1)
                row[at], row[at + 1], row[at + 2] = lx - x, ly - y, lz - z
            lx, ly, lz = x, y, z
            at = TURNS + 3 * a
            row[at], row[at + 1], row[at + 2] = rotation_vector(before, after)
