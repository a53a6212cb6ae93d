"""What models of rods with oriented segments share."""

# mypy: allow-untyped-defs

import math

from mane.geometry._kernels_quaternion import quat_between, quat_multiply
from mane.simd.jit import njit
from mane.strand._kernels_small import cross, third_axis


@njit(cache=True, error_model="numpy")
def adopt_strands(
    points,
    velocity,
    strands,
    # out
    frames,
    spin,
):
    """Turn the segments of masked strands to their vertices; spin across a segment follows, spin about it stays."""
    for g in range(len(points)):
        if not strands[g]:
            continue
        for j in range(points.shape[1] - 1):
            tx, ty, tz = points[g, j + 1] - points[g, j]
            inv = 1.0 / math.sqrt(max(tx * tx + ty * ty + tz * tz, 1e-300))
            tx, ty, tz = tx * inv, ty * inv, tz * inv
            q = frames[g, j]
            dx, dy, dz = third_axis(q[0], q[1], q[2], q[3])
            x, y, z, w = quat_between(dx, dy, dz, tx, ty, tz)
            x, y, z, w = quat_multiply(x, y, z, w, q[0], q[1], q[2], q[3])
            length = 1.0 / math.sqrt(x * x + y * y + z * z + w * w)
            q[0], q[1], q[2], q[3] = x * length, y * length, z * length, w * length
            vx, vy, vz = velocity[g, j + 1] - velocity[g, j]
            ox, oy, oz = cross(tx, ty, tz, vx * inv, vy * inv, vz * inv)
            o = spin[g, j]
            along = o[0] * tx + o[1] * ty + o[2] * tz
            o[0], o[1], o[2] = ox + along * tx, oy + along * ty, oz + along * tz
