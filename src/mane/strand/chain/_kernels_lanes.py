"""Layout of the buffer that holds a block of chains, eight strands side by side, and the algebra on its rows.

`_kernels_chain_links` says what the quantities are.
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import njit

LANES = 8  # doubles in a vector register
FAST = {"contract", "arcp", "nsz", "afn"}

FOLD = 1e-8  # least 1 + cos of a joint's angle: a strand that folds back has no axis to turn about
NUDGE = 1e-15  # turns the frame of a strand that folds back exactly about some axis instead of none
FARTHEST = 1.0  # [rad] a link is predicted to turn in one step; beyond it a prediction is worth nothing

PACKED = 9  # rows of constants per slot, which come first in the buffer: LENGTH to OFFSET

# Where each quantity of a slot begins in the buffer, in doubles; its components follow LANES apart.
LENGTH = 0
MASS = 1 * LANES
SPRING = 2 * LANES  # k of the joint [N m]
VISCOUS = 3 * LANES  # damping of the joint [N m s]
REST = 4 * LANES  # curvature of the joint without moment (2)
OFFSET = 6 * LANES  # from the end of the link to the vertex, in the frame of the link (3)
START = 9 * LANES  # direction at the start of the step (3); of slot 0 the frame of the clamp (9)
GUESS = 18 * LANES  # angular velocity that the prediction is made with (3)
IMPULSE = 21 * LANES  # m v + h f, the momentum that the vertex would have on its own (3)
INERTIA = 24 * LANES  # m + h resistance, symmetric (6)
COUPLING = 30 * LANES  # h coupling of the vertex with the one before it, symmetric (6)
TENSION = 36 * LANES  # of the link, where it pulls [N]
FRAME = 37 * LANES  # predicted: direction, first and second axis (9)
LEVER = 46 * LANES  # from the joint to the vertex (3)
AXES = 49 * LANES  # E_t, column by column (6)
HINGE = 55 * LANES  # implicit stiffness of the joint, the same about both axes
DRIVE = 56 * LANES  # of the joint's rate (2)
QUAD_A = 58 * LANES  # (6)
QUAD_B = 64 * LANES  # row by row (9)
QUAD_C = 73 * LANES  # (6)
LINEAR_W = 79 * LANES  # a (3)
LINEAR_V = 82 * LANES  # b (3)
GAIN_W = 85 * LANES  # r = RATE - GAIN_W w - GAIN_V v, row by row (6)
GAIN_V = 91 * LANES  # (6)
RATE = 97 * LANES  # (2)
SPIN = 99 * LANES  # solved angular velocity (3)
END_V = 102 * LANES  # solved velocity of the end of the link (3)
VERTEX_V = 105 * LANES  # solved velocity of the vertex (3)
QUAT = 108 * LANES  # frame at the end of the step (4)
END = 112 * LANES  # end of the link at the end of the step (3)
VERTEX = 115 * LANES  # vertex at the end of the step (3)
CUT = 118 * LANES  # force through the link (3)
STEP = 121 * LANES  # length of the stage [s]
SLOT = 122 * LANES

# Kernels of one link see a `cell` of three slots: the one before it, its own, the one after it. Offsets within it are
# constants and lanes count from zero, which is what lets the compiler prove that stores do not touch loads.

jit = njit(cache=True, error_model="numpy", fastmath=FAST)


@jit
def get2(buf, i):
    """Two rows from `i` on."""
    return buf[i], buf[i + LANES]


@jit
def get3(buf, i):
    """Three rows from `i` on."""
    return buf[i], buf[i + LANES], buf[i + 2 * LANES]


@jit
def get6(buf, i):
    """Six rows from `i` on."""
    return (
        buf[i],
        buf[i + LANES],
        buf[i + 2 * LANES],
        buf[i + 3 * LANES],
        buf[i + 4 * LANES],
        buf[i + 5 * LANES],
    )


@jit
def put2(buf, i, x, y):
    """Fill two rows from `i` on."""
    buf[i] = x
    buf[i + LANES] = y


@jit
def put3(buf, i, x, y, z):
    """Fill three rows from `i` on."""
    buf[i] = x
    buf[i + LANES] = y
    buf[i + 2 * LANES] = z


@jit
def put6(buf, i, a, b, c, d, e, f):
    """Fill six rows from `i` on."""
    put3(buf, i, a, b, c)
    put3(buf, i + 3 * LANES, d, e, f)


@jit
def cross(ax, ay, az, bx, by, bz):
    """The cross product a x b."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@jit
def dot(ax, ay, az, bx, by, bz):
    """The scalar product a . b."""
    return ax * bx + ay * by + az * bz


@jit
def symmetric_times(xx, yy, zz, xy, xz, yz, x, y, z):
    """A symmetric matrix, in the order of `ports.SYMMETRIC`, times a vector."""
    return xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z


@jit
def turned(dx, dy, dz, wx, wy, wz):
    """Turn d by the Cayley rotation of w: by w itself up to |w|^3 / 12, and never by more than half a turn."""
    share = 1.0 / (1.0 + 0.25 * dot(wx, wy, wz, wx, wy, wz))
    cx, cy, cz = cross(wx, wy, wz, dx, dy, dz)
    ex, ey, ez = cross(wx, wy, wz, cx, cy, cz)
    return dx + share * (cx + 0.5 * ex), dy + share * (cy + 0.5 * ey), dz + share * (cz + 0.5 * ez)


@jit
def direction(x, y, z, w):
    """Third axis of the frame (x, y, z, w)."""
    return 2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)


@jit
def quat_product(ax, ay, az, aw, bx, by, bz, bw):
    """First b, then a, brought to unit length."""
    x = aw * bx + ax * bw + ay * bz - az * by
    y = aw * by - ax * bz + ay * bw + az * bx
    z = aw * bz + ax * by - ay * bx + az * bw
    w = aw * bw - ax * bx - ay * by - az * bz
    unit = 1.0 / np.sqrt(x * x + y * y + z * z + w * w)
    return x * unit, y * unit, z * unit, w * unit


@jit
def symmetric_inverse(xx, yy, zz, xy, xz, yz):
    """Inverse of a symmetric 3 x 3 matrix, in the order of `ports.SYMMETRIC`."""
    cxx, cxy, cxz = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    inv = 1.0 / (xx * cxx + xy * cxy + xz * cxz)
    return (
        cxx * inv,
        (xx * zz - xz * xz) * inv,
        (xx * yy - xy * xy) * inv,
        cxy * inv,
        cxz * inv,
        (xy * xz - xx * yz) * inv,
    )


@jit
def reached(wx, wy, wz, h):
    """Share of the angular velocity w that a prediction over `h` [s] is made with: it stays within `FARTHEST`."""
    return FARTHEST / max(FARTHEST, h * np.sqrt(dot(wx, wy, wz, wx, wy, wz)))
