"""Where a stage of Cosserat rods begins, where its solution takes them, and how they go on from there."""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.f64x8 import broadcast, load
from mane.simd.jit import inline_fast
from mane.simd.math import maximum, minimum, sqrt
from mane.simd.memory import store, use_wide_registers
from mane.simd.rows import LANES, load3, load4, store3, store4
from mane.strand._kernels_small import cross, third_axis
from mane.strand._kernels_stage import CALM, PUSHED, RESISTED
from mane.strand.cosserat._kernels_rows import (
    AXIS,
    CONSTANT_STRIDE,
    CUT,
    D_T,
    D_X,
    EDGE,
    FORCE,
    FREE,
    INV_LENGTH,
    INV_MASS,
    INV_STAGE,
    INV_THETA,
    LENGTH,
    MASS,
    ONE,
    R_X,
    REMAINDER,
    RESIST,
    SOFT,
    SPIN,
    SPRING,
    STAGE,
    STIFF,
    STRETCH,
    STRIDE,
    TENSION,
    Q,
    V,
    X,
    in_block,
    turned,
)

# A segment that has turned by this much since its prediction [rad], on a strand whose load makes the step all stage by
# its resistance, wants the matrix where it is now; in so many rounds.
FAR, RENEWED_ROUNDS = 0.1, 3


@in_block
def choose_stages(vertices, dt, theta, constants, buf):
    """Length of each strand's stage: `theta` of a calm step, up to all of it; see `strand/_kernels_stage`."""
    use_wide_registers()
    resisted = push = turn = broadcast(0.0)
    for j in range(np.uint64(vertices)):
        b = (j + ONE) * STRIDE
        free = load(constants, j * CONSTANT_STRIDE + INV_MASS)
        rx, ry, rz = load3(buf, b + RESIST)
        fx, fy, fz = load3(buf, b + FORCE)
        wx, wy, wz = load3(buf, b + SPIN)
        resisted = maximum(free * (rx + ry + rz), resisted)
        push = maximum(free * free * (fx * fx + fy * fy + fz * fz), push)
        turn = maximum(wx * wx + wy * wy + wz * wz, turn)
    violence = maximum(sqrt(push) * (1.0 / PUSHED), resisted * (dt / RESISTED))
    violence = maximum(turn * ((dt / CALM) * (dt / CALM)), violence)
    part = theta + (1.0 - theta) * -maximum(-violence, broadcast(-1.0))
    store(buf, STAGE, part * dt)
    store(buf, INV_STAGE, 1.0 / (part * dt))
    store(buf, INV_THETA, 1.0 / part)
    store(buf, REMAINDER, (1.0 - part) * dt)
    store(buf, STIFF, resisted * (dt / RESISTED) - 1.0)


@in_block
def predict(vertices, constants, buf):
    """Carry vertices, segments and the clamp to the end of the stage by their own motion.

    Notes the tension that segments had, and fills their axes and cut forces.
    """
    use_wide_registers()
    zero, stage = broadcast(0.0), load(buf, STAGE)
    wx, wy, wz = load3(buf, SPIN)
    store4(buf, Q, *turned(*load4(buf, Q), stage * wx, stage * wy, stage * wz))
    x, y, z = carried(buf, STRIDE, stage)
    for j in range(np.uint64(vertices - 1)):
        b, c = (j + ONE) * STRIDE, j * CONSTANT_STRIDE
        store3(buf, b + X, x, y, z)
        store3(buf, b + D_X, zero, zero, zero)
        store3(buf, b + D_T, zero, zero, zero)
        qx, qy, qz, qw = load4(buf, b + Q)
        nx, ny, nz = load3(buf, b + CUT)
        dx, dy, dz = third_axis(qx, qy, qz, qw)
        store(buf, b + TENSION, maximum(nx * dx + ny * dy + nz * dz, zero))
        wx, wy, wz = load3(buf, b + SPIN)
        qx, qy, qz, qw = turned(qx, qy, qz, qw, stage * wx, stage * wy, stage * wz)
        store4(buf, b + Q, qx, qy, qz, qw)
        dx, dy, dz = third_axis(qx, qy, qz, qw)
        store3(buf, b + AXIS, dx, dy, dz)
        stretch, spring = load(constants, c + STRETCH), load(constants, c + SPRING)
        ex, ey, ez = carried(buf, b + STRIDE, stage)
        # hsu2024 eq. 1 and 4: C = (x_(j+1) - x_j) / l - d3; what is there called k_ss / l is E A, the force per C
        store3(
            buf,
            b + CUT,
            spring * (ex - x) - stretch * dx,
            spring * (ey - y) - stretch * dy,
            spring * (ez - z) - stretch * dz,
        )
        x, y, z = ex, ey, ez
    tip = np.uint64(vertices) * STRIDE
    store3(buf, tip + X, x, y, z)
    store3(buf, tip + D_X, zero, zero, zero)


@in_block
def renew_axes(vertices, buf):
    """Take axes and tensions from where a round has led, for a matrix there.

    What catches hair draws it taut within the step. A matrix that knows nothing of that tension turns segments too far,
    and more so in every round.
    """
    use_wide_registers()
    zero = broadcast(0.0)
    for j in range(np.uint64(vertices - 1)):
        b = (j + ONE) * STRIDE
        nx, ny, nz = load3(buf, b + CUT)
        dx, dy, dz = third_axis(*load4(buf, b + Q))
        store(buf, b + TENSION, maximum(nx * dx + ny * dy + nz * dz, zero))
        store3(buf, b + AXIS, dx, dy, dz)


@in_block
def mark_far_turned(vertices, buf):
    """Leave STIFF above zero for strands that are resisted and have turned by more than `FAR`; return whether any."""
    use_wide_registers()
    turn = broadcast(0.0)
    for j in range(np.uint64(vertices - 1)):
        tx, ty, tz = load3(buf, (j + ONE) * STRIDE + D_T)
        turn = maximum(tx * tx + ty * ty + tz * tz, turn)
    stiff = minimum(load(buf, STIFF), turn - FAR * FAR)
    store(buf, STIFF, stiff)
    return buf[STIFF : STIFF + LANES].max() > 0.0


@inline_fast
def carried(buf, b, stage):
    """Where a vertex gets by its own motion."""
    x, y, z = load3(buf, b + X)
    vx, vy, vz = load3(buf, b + V)
    return x + stage * vx, y + stage * vy, z + stage * vz


@in_block
def lay_vertices(vertices, is_held, constants, buf):
    """Lay the vertices along their segments, as these have been turned.

    So lengths hold at any size of step, and no energy goes into stretching by mistake. A strand that nothing holds
    keeps its centre of mass.
    """
    use_wide_registers()
    sx = sy = sz = mass = broadcast(0.0)
    px, py, pz = load3(buf, STRIDE + X)
    rx, ry, rz = load3(buf, STRIDE + R_X)
    x, y, z = px + rx, py + ry, pz + rz
    for j in range(np.uint64(vertices)):
        b = (j + ONE) * STRIDE
        px, py, pz = load3(buf, b + X)
        store3(buf, b + X, x, y, z)
        px, py, pz = x - px, y - py, z - pz
        dx, dy, dz = load3(buf, b + D_X)
        store3(buf, b + D_X, dx + px, dy + py, dz + pz)
        rx, ry, rz = load3(buf, b + R_X)
        own = load(constants, j * CONSTANT_STRIDE + MASS)
        sx, sy, sz = sx + own * (rx - px), sy + own * (ry - py), sz + own * (rz - pz)
        mass = mass + own
        ex, ey, ez = load3(buf, b + EDGE)
        x, y, z = x + ex, y + ey, z + ez
    if is_held:
        return
    free = load(constants, FREE) / mass
    sx, sy, sz = free * sx, free * sy, free * sz
    shift(vertices, sx, sy, sz, buf)
    for j in range(np.uint64(vertices)):
        b = (j + ONE) * STRIDE
        dx, dy, dz = load3(buf, b + D_X)
        store3(buf, b + D_X, dx + sx, dy + sy, dz + sz)


@inline_fast
def shift(vertices, sx, sy, sz, buf):
    """Move strands as a whole."""
    for j in range(np.uint64(vertices)):
        b = (j + ONE) * STRIDE
        x, y, z = load3(buf, b + X)
        store3(buf, b + X, x + sx, y + sy, z + sz)


@inline_fast
def gone_on(buf, b):
    """Velocity of a vertex at the end of the step, and where its velocity of the stage would take it until then."""
    rate, part, rest = load(buf, INV_STAGE), load(buf, INV_THETA), load(buf, REMAINDER)
    x, y, z = load3(buf, b + X)
    vx, vy, vz = load3(buf, b + V)
    dx, dy, dz = load3(buf, b + D_X)
    dx, dy, dz = rate * dx, rate * dy, rate * dz
    velocity = (vx + part * dx, vy + part * dy, vz + part * dz)
    return velocity, (x + rest * (vx + dx), y + rest * (vy + dy), z + rest * (vz + dz))


@in_block
def go_on(vertices, is_held, constants, buf):
    """Go on from the stage to the end of the step with its velocities, vertices laid along their segments again."""
    use_wide_registers()
    rate, part, rest = load(buf, INV_STAGE), load(buf, INV_THETA), load(buf, REMAINDER)
    sx, sy, sz = broadcast(0.0), broadcast(0.0), broadcast(0.0)
    mass = load(constants, MASS)
    v, x = gone_on(buf, STRIDE)
    for j in range(np.uint64(vertices - 1)):
        b, c = (j + ONE) * STRIDE, j * CONSTANT_STRIDE
        store3(buf, b + X, *x)
        store3(buf, b + V, *v)
        tx, ty, tz = load3(buf, b + D_T)
        tx, ty, tz = rate * tx, rate * ty, rate * tz
        wx, wy, wz = load3(buf, b + SPIN)
        qx, qy, qz, qw = turned(*load4(buf, b + Q), rest * (wx + tx), rest * (wy + ty), rest * (wz + tz))
        store4(buf, b + Q, qx, qy, qz, qw)
        dx, dy, dz = third_axis(qx, qy, qz, qw)
        nx, ny, nz = load3(buf, b + CUT)
        length, soft = load(constants, c + LENGTH), load(constants, c + SOFT)
        x = (x[0] + length * dx + soft * nx, x[1] + length * dy + soft * ny, x[2] + length * dz + soft * nz)
        u, e = gone_on(buf, b + STRIDE)
        own = load(constants, c + CONSTANT_STRIDE + MASS)
        sx, sy, sz = sx + own * (e[0] - x[0]), sy + own * (e[1] - x[1]), sz + own * (e[2] - x[2])
        mass = mass + own
        # The spin across a segment is that of its ends, the spin about it is its own.
        along = (wx + part * tx) * dx + (wy + part * ty) * dy + (wz + part * tz) * dz
        inv = load(constants, c + INV_LENGTH)
        ox, oy, oz = cross(dx, dy, dz, inv * (u[0] - v[0]), inv * (u[1] - v[1]), inv * (u[2] - v[2]))
        store3(buf, b + SPIN, ox + along * dx, oy + along * dy, oz + along * dz)
        v = u
    tip = np.uint64(vertices) * STRIDE
    store3(buf, tip + X, *x)
    store3(buf, tip + V, *v)
    if is_held:
        return
    free = load(constants, FREE) / mass
    shift(vertices, free * sx, free * sy, free * sz, buf)
