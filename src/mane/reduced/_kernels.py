"""One frame of learned hair: coefficients go on (guan2012 eq. 10), directions are put together from the basis, strands
are laid from root to tip, out of solids, with their lengths.

Sixteen strands lie side by side, in memory and in registers: all numbers of a segment of those strands are one piece,
in 16 bit, and one operation lays a segment of all of them. Only what meets a solid is done strand by strand.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.body._kernels_solid import solid_at
from mane.body._kernels_solid_f32 import lowest_distance, to_local, world_distance
from mane.geometry._kernels_quaternion import quat_multiply
from mane.reduced._kernels_solve import dot
from mane.simd.f32x16 import WIDTH, load
from mane.simd.jit import inline, leaf, njit, prange
from mane.simd.masks import select
from mane.simd.math import maximum
from mane.simd.memory import store, use_wide_registers

LANES = WIDTH
ROW = 3 * LANES  # numbers of one segment of a block for one coefficient: x, y, z of all lanes
GROUP = 4  # coefficients that are added at a time
PUSHES = 2  # out of solids for each vertex; after one it may be inside again, as the length is kept

ZERO, ONE, TWO = np.float32(0.0), np.float32(1.0), np.float32(2.0)
SHORT = np.float32(1e-12)
BACK = np.float32(1e-4)  # of 1 + the cosine of an angle: half a turn, as far as single precision tells


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def synthesize(
    control,
    history,
    controls,
    past,
    # out
    coefficients,
):
    """guan2012 eq. 10 for R regions, each with an operator of its own.

    Args:
        control: A, C_1 and C_2 side by side, (R, d, U).
        history: B_1, B_2, oldest first, (R, order, d, d).
        controls: u_t, (U,).
        past: coefficients of the last frames, oldest first, (R, order, d).
        coefficients: y_t, (R, d).
    """
    regions, order, size = past.shape
    for r in range(regions):
        for i in range(size):
            total = dot(control[r, i], controls, len(controls))
            for k in range(order):
                total += dot(history[r, k, i], past[r, k], size)
            coefficients[r, i] = total


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def add_components(numbers, at, y, sums):
    """Add all components of a segment of a block to `sums (48,)`; those of a group of coefficients at a time."""
    for k in range(0, len(y), GROUP):
        y0, y1, y2, y3 = y[k], y[k + 1], y[k + 2], y[k + 3]
        # A piece of its own: an index that may count from the end would keep the loop from being vectorised.
        part = numbers[at + k * ROW : at + (k + GROUP) * ROW]
        for j in range(ROW):
            sums[j] += (
                y0 * np.float32(part[j])
                + y1 * np.float32(part[ROW + j])
                + y2 * np.float32(part[2 * ROW + j])
                + y3 * np.float32(part[3 * ROW + j])
            )


@inline
def turned_onto(qx, qy, qz, qw, tx, ty, tz):
    """Turn frames by the smallest rotation that takes their third axis onto a unit direction."""
    ax, ay = TWO * (qx * qz + qy * qw), TWO * (qy * qz - qx * qw)
    az = ONE - TWO * (qx * qx + qy * qy)
    part = ONE + ax * tx + ay * ty + az * tz
    x, y, z = ay * tz - az * ty, az * tx - ax * tz, ax * ty - ay * tx
    x, y, z, w = quat_multiply(x, y, z, part, qx, qy, qz, qw)
    scale = ONE / math.sqrt(maximum(x * x + y * y + z * z + w * w, SHORT))
    # Straight back: half a turn about the frame's own first axis.
    is_back = part < BACK
    return (
        select(is_back, qw, scale * x),
        select(is_back, qz, scale * y),
        select(is_back, -qy, scale * z),
        select(is_back, -qx, scale * w),
    )


@leaf(forceinline=True, fastmath={"contract"})
def pushed_once(distance, nx, ny, nz, level, x, y, z, px, py, pz, length):
    """Move a point out to a distance of `level`, then back to its length from the vertex before (px, py, pz)."""
    depth = level - distance
    ex, ey, ez = x + depth * nx - px, y + depth * ny - py, z + depth * nz - pz
    scale = length / max(math.sqrt(ex * ex + ey * ey + ez * ez), SHORT)
    return px + scale * ex, py + scale * ey, pz + scale * ez


@leaf(forceinline=True, fastmath={"contract"})
def out_of_solids(body, blocks, has_body, others, poses, thickness, level, x, y, z, px, py, pz, length):
    """Where a vertex is after `PUSHES` pushes by the distance fields of all solids, its length kept."""
    for _ in range(PUSHES):
        is_inside = False
        if has_body:
            lx, ly, lz = to_local(poses[0], x, y, z)
            if lowest_distance(blocks, lx, ly, lz) < level:
                d, nx, ny, nz = world_distance(body, poses[0], x, y, z)
                if d < level:
                    x, y, z = pushed_once(d, nx, ny, nz, level, x, y, z, px, py, pz, length)
                    is_inside = True
        for s in range(len(others.nodes)):
            pose = poses[s + 1]
            d, nx, ny, nz = world_distance(solid_at(others, s), pose, x, y, z)
            if d < thickness:
                x, y, z = pushed_once(d, nx, ny, nz, thickness, x, y, z, px, py, pz, length)
                is_inside = True
        if not is_inside:
            break
    return x, y, z


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def lay_block(turned, lengths, strands, rotation, body, blocks, has_body, others, poses, thickness, levels, spots):
    """Lay sixteen strands from their roots, which are in the first row of `spots (V * 48,)`, along directions in
    canonical space `turned (N * 48,)`; `lengths (N, 16)`, `strands (16,)`; the rest as of `reconstruct`."""
    use_wide_registers()
    has_solids = has_body or len(others.nodes) > 0
    for i in range(len(lengths)):
        at = i * ROW
        dx, dy, dz = load(turned, at), load(turned, at + LANES), load(turned, at + 2 * LANES)
        px, py, pz = load(spots, at), load(spots, at + LANES), load(spots, at + 2 * LANES)
        scale = load(lengths[i], 0) / maximum(math.sqrt(dx * dx + dy * dy + dz * dz), SHORT)
        x = px + scale * (rotation[0] * dx + rotation[1] * dy + rotation[2] * dz)
        y = py + scale * (rotation[3] * dx + rotation[4] * dy + rotation[5] * dz)
        z = pz + scale * (rotation[6] * dx + rotation[7] * dy + rotation[8] * dz)
        store(spots, at + ROW, x)
        store(spots, at + ROW + LANES, y)
        store(spots, at + ROW + 2 * LANES, z)
        if not has_solids:
            continue
        before, here = spots[at : at + ROW], spots[at + ROW : at + 2 * ROW]
        for lane in range(LANES):
            s = strands[lane]
            if s < 0:
                continue
            here[lane], here[LANES + lane], here[2 * LANES + lane] = out_of_solids(
                body, blocks, has_body, others, poses, thickness, levels[s, i + 1],
                here[lane], here[LANES + lane], here[2 * LANES + lane],
                before[lane], before[LANES + lane], before[2 * LANES + lane], lengths[i, lane],
            )  # fmt: skip


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def turn_block(spots, lengths, joints, frames):
    """Frames of the segments of sixteen strands, `frames ((N + 1) * 64,)`, whose first row is that of the root."""
    use_wide_registers()
    qx, qy, qz, qw = (
        load(frames, 0), load(frames, LANES), load(frames, 2 * LANES), load(frames, 3 * LANES)
    )  # fmt: skip
    for i in range(len(lengths)):
        at, own = i * ROW, joints[i]
        qx, qy, qz, qw = quat_multiply(
            qx, qy, qz, qw, load(own, 0), load(own, LANES), load(own, 2 * LANES), load(own, 3 * LANES)
        )
        inverse = ONE / load(lengths[i], 0)
        qx, qy, qz, qw = turned_onto(
            qx, qy, qz, qw,
            inverse * (load(spots, at + ROW) - load(spots, at)),
            inverse * (load(spots, at + ROW + LANES) - load(spots, at + LANES)),
            inverse * (load(spots, at + ROW + 2 * LANES) - load(spots, at + 2 * LANES)),
        )  # fmt: skip
        to = 4 * LANES * (i + 1)
        store(frames, to, qx)
        store(frames, to + LANES, qy)
        store(frames, to + 2 * LANES, qz)
        store(frames, to + 3 * LANES, qw)


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def take_lane(
    lane, spots, frames, masses, gravity, previous, previous_velocity, inv_dt, points, velocity, orientations, cut_force
):
    """Write one strand of a block: points, velocity and forces (V, 3), frames of its segments (N, 4)."""
    segments = len(orientations)
    for i in range(segments):
        own = frames[4 * LANES * (i + 1) : 4 * LANES * (i + 2)]
        for c in range(4):
            orientations[i, c] = own[c * LANES + lane]
    fx, fy, fz = ZERO, ZERO, ZERO
    for v in range(segments, -1, -1):
        if v < segments:
            # What hangs below, less what it takes to speed it up, pulls at a segment.
            cut_force[v, 0], cut_force[v, 1], cut_force[v, 2] = fx, fy, fz
        own = spots[v * ROW : (v + 1) * ROW]
        x, y, z = own[lane], own[LANES + lane], own[2 * LANES + lane]
        points[v, 0], points[v, 1], points[v, 2] = x, y, z
        vx, vy, vz = (x - previous[v, 0]) * inv_dt, (y - previous[v, 1]) * inv_dt, (z - previous[v, 2]) * inv_dt
        velocity[v, 0], velocity[v, 1], velocity[v, 2] = vx, vy, vz
        m = masses[v]
        fx += m * (gravity[0] - (vx - previous_velocity[v, 0]) * inv_dt)
        fy += m * (gravity[1] - (vy - previous_velocity[v, 1]) * inv_dt)
        fz += m * (gravity[2] - (vz - previous_velocity[v, 2]) * inv_dt)


@njit(cache=True, error_model="numpy", fastmath={"contract"}, parallel=True)
def reconstruct(
    numbers,
    rest,
    lengths,
    strand_of,
    region_of,
    y,
    rotation,
    roots,
    root_rotations,
    joints,
    body,
    blocks,
    has_body,
    others,
    poses,
    thickness,
    levels,
    masses,
    gravity,
    previous,
    previous_velocity,
    inv_dt,
    # out
    points,
    velocity,
    orientations,
    cut_force,
):
    """Fill the guides of a frame.

    Args:
        numbers: the basis, flat, (B, N, K, 48), int16.
        rest: directions at rest, (B, N, 48); `lengths` of segments [m], (B, N, 16).
        strand_of: guide of each lane, -1 for none, (B, 16).
        region_of: whose coefficients a block follows, (B,).
        y: coefficients in units of the basis, (R, K).
        rotation: from canonical space to the world, row by row, (9,).
        roots: of the guides [m], world, (G, 3).
        root_rotations: how the skin at each root has turned, (G, 4).
        joints: from the frame of a segment at rest to that of the next, the first from the world's, (B, N, 64).
        body: what hair grows on, a `SolidArrays`, with its `blocks`, where `has_body`; `others` a `SolidList`.
        poses: of the body and the others, (1 + Z, 12).
        thickness: how far above a solid hair lies [m].
        levels: distance from the body that each vertex is pushed to at most [m], (G, V).
        masses: of the vertices [kg], (G, V).
        gravity: [m/s^2], (3,).
        previous: points of the frame before, `previous_velocity` their velocity, (G, V, 3).
        inv_dt: one over the time between frames, 0 for the first [1/s].
    """
    segments, count = rest.shape[1], y.shape[1]
    for b in prange(len(strand_of)):
        turned = np.empty(segments * ROW, np.float32)
        spots = np.empty((segments + 1) * ROW, np.float32)
        frames = np.empty((segments + 1) * 4 * LANES, np.float32)
        coefficients, strands = y[region_of[b]], strand_of[b]
        for i in range(segments):
            sums = turned[i * ROW : (i + 1) * ROW]
            sums[:] = rest[b, i]
            add_components(numbers, (b * segments + i) * count * ROW, coefficients, sums)
        for lane in range(LANES):
            s = max(strands[lane], 0)
            for c in range(3):
                spots[c * LANES + lane] = roots[s, c]
            for c in range(4):
                frames[c * LANES + lane] = root_rotations[s, c]
        lay_block(
            turned, lengths[b], strands, rotation, body, blocks, has_body, others, poses, thickness, levels, spots
        )
        turn_block(spots, lengths[b], joints[b], frames)
        for lane in range(LANES):
            s = strands[lane]
            if s >= 0:
                take_lane(
                    lane, spots, frames, masses[s], gravity, previous[s], previous_velocity[s], inv_dt,
                    points[s], velocity[s], orientations[s], cut_force[s],
                )  # fmt: skip
