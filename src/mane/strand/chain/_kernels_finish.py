"""Shape of twist-free chains at the end of a step, from the motion that `_kernels_chain_links` has found."""

# mypy: allow-untyped-defs

import numpy as np

from mane.strand.chain._kernels_lanes import (
    END,
    FRAME,
    GUESS,
    LANES,
    LENGTH,
    NUDGE,
    OFFSET,
    QUAT,
    SLOT,
    SPIN,
    STEP,
    VERTEX,
    cross,
    direction,
    dot,
    get3,
    jit,
    put3,
    quat_product,
    turned,
)


@jit
def finish_base(buf, loose, dt):
    """Frame of the clamp at the end of the step; of a strand that nothing clamps, the frame of its first link."""
    for s in range(LANES):
        x, y, z, w = buf[QUAT + s], buf[QUAT + LANES + s], buf[QUAT + 2 * LANES + s], buf[QUAT + 3 * LANES + s]
        gx, gy, gz = get3(buf, SLOT + GUESS + s)
        wx, wy, wz = get3(buf, SLOT + SPIN + s)
        stage = buf[SLOT + STEP + s]
        half, rest = 0.5 * stage * loose[s], 0.5 * (dt - stage) * loose[s]
        x, y, z, w = quat_product(half * gx, half * gy, half * gz, 1.0, x, y, z, w)
        x, y, z, w = quat_product(half * (wx - gx), half * (wy - gy), half * (wz - gz), 1.0, x, y, z, w)
        x, y, z, w = quat_product(rest * wx, rest * wy, rest * wz, 1.0, x, y, z, w)
        put3(buf, QUAT + s, x, y, z)
        buf[QUAT + 3 * LANES + s] = w


@jit
def finish_link(cell, dt):
    """Shape at the end of the step: a link turns from its prediction by what the solve has added, then goes on."""
    for s in range(LANES):
        i = SLOT + s
        h = cell[i + STEP]
        p = s
        dx, dy, dz = get3(cell, i + FRAME)
        gx, gy, gz = get3(cell, i + GUESS)
        wx, wy, wz = get3(cell, i + SPIN)
        dx, dy, dz = turned(dx, dy, dz, h * (wx - gx), h * (wy - gy), h * (wz - gz))
        rest = dt - h
        dx, dy, dz = turned(dx, dy, dz, rest * wx, rest * wy, rest * wz)
        unit = 1.0 / np.sqrt(dot(dx, dy, dz, dx, dy, dz))
        dx, dy, dz = dx * unit, dy * unit, dz * unit
        x, y, z = get3(cell, p + QUAT)
        w = cell[p + QUAT + 3 * LANES]
        px, py, pz = direction(x, y, z, w)
        cx, cy, cz = cross(px, py, pz, dx, dy, dz)
        # The smallest turn from the link before; the nudge is a turn about the first axis of its frame.
        x, y, z, w = quat_product(
            cx + NUDGE * (1.0 - 2.0 * (y * y + z * z)),
            cy + NUDGE * 2.0 * (x * y + w * z),
            cz + NUDGE * 2.0 * (x * z - w * y),
            max(1.0 + dot(px, py, pz, dx, dy, dz), 0.0),
            x,
            y,
            z,
            w,
        )
        put3(cell, i + QUAT, x, y, z)
        cell[i + QUAT + 3 * LANES] = w
        ex, ey, ez = get3(cell, p + END)
        length = cell[i + LENGTH]
        ex, ey, ez = ex + length * dx, ey + length * dy, ez + length * dz
        put3(cell, i + END, ex, ey, ez)
        ox, oy, oz = get3(cell, i + OFFSET)
        tx, ty, tz = cross(x, y, z, ox, oy, oz)
        tx, ty, tz = 2.0 * tx, 2.0 * ty, 2.0 * tz
        ax, ay, az = cross(x, y, z, tx, ty, tz)
        put3(cell, i + VERTEX, ex + ox + w * tx + ax, ey + oy + w * ty + ay, ez + oz + w * tz + az)
