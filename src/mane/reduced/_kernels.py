"""One frame of learned hair: coefficients go on (guan2012 eq. 10), directions are put together from the basis, strands
are laid from root to tip, out of solids, with their lengths.

Sixteen strands lie side by side, since a frame takes as long as reading the basis does: all numbers of a segment of
those strands are one piece of memory, in 16 bit.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.body._kernels_solid import solid_at
from mane.body._kernels_solid_f32 import lowest_distance, to_local, world_distance
from mane.geometry._kernels_quaternion import quat_multiply
from mane.reduced._kernels_solve import dot
from mane.simd.jit import njit, prange

LANES = 16
ROW = 3 * LANES  # numbers of one segment of a block for one coefficient: x, y, z of all lanes
GROUP = 4  # coefficients that are added at a time
PUSHES = 2  # out of solids for each vertex; after one it may be inside again, as the length is kept

ZERO, ONE, TWO = np.float32(0.0), np.float32(1.0), np.float32(2.0)
SHORT = np.float32(1e-12)


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


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def turned_onto(qx, qy, qz, qw, tx, ty, tz):
    """Turn a frame by the smallest rotation that takes its third axis onto a unit direction."""
    ax, ay = TWO * (qx * qz + qy * qw), TWO * (qy * qz - qx * qw)
    az = ONE - TWO * (qx * qx + qy * qy)
    w = ONE + ax * tx + ay * ty + az * tz
    if w < np.float32(1e-4):  # straight back: about the frame's own first axis
        return qw, qz, -qy, -qx
    x, y, z = ay * tz - az * ty, az * tx - ax * tz, ax * ty - ay * tx
    x, y, z, w = quat_multiply(x, y, z, w, qx, qy, qz, qw)
    scale = ONE / math.sqrt(x * x + y * y + z * z + w * w)
    return scale * x, scale * y, scale * z, scale * w


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def pushed_once(distance, nx, ny, nz, level, x, y, z, px, py, pz, length):
    """Move a point out to a distance of `level`, then back to its length from the vertex before (px, py, pz)."""
    depth = level - distance
    ex, ey, ez = x + depth * nx - px, y + depth * ny - py, z + depth * nz - pz
    scale = length / max(math.sqrt(ex * ex + ey * ey + ez * ez), SHORT)
    return px + scale * ex, py + scale * ey, pz + scale * ez


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def out_of_solids(body, blocks, has_body, others, poses, thickness, level, x, y, z, px, py, pz, length):
    """Where a vertex is after `PUSHES` pushes by the distance fields of all solids, its length kept."""
    for _ in range(PUSHES):
        if has_body:
            lx, ly, lz = to_local(poses[0], x, y, z)
            if lowest_distance(blocks, lx, ly, lz) < level:
                d, nx, ny, nz = world_distance(body, poses[0], x, y, z)
                if d < level:
                    x, y, z = pushed_once(d, nx, ny, nz, level, x, y, z, px, py, pz, length)
        for s in range(len(others.nodes)):
            pose = poses[s + 1]
            d, nx, ny, nz = world_distance(solid_at(others, s), pose, x, y, z)
            if d < thickness:
                x, y, z = pushed_once(d, nx, ny, nz, thickness, x, y, z, px, py, pz, length)
    return x, y, z


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
    root_frames,
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
        root_frames: frames of the first segments at rest, (G, 4).
        joints: from the frame of a segment at rest to that of the next, (G, N, 4), the first unused.
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
        sums = np.empty(ROW, np.float32)
        turned = np.empty((segments, ROW), np.float32)
        coefficients = y[region_of[b]]
        for i in range(segments):
            sums[:] = rest[b, i]
            add_components(numbers, (b * segments + i) * count * ROW, coefficients, sums)
            turned[i] = sums
        for lane in range(LANES):
            s = strand_of[b, lane]
            if s < 0:
                continue
            x, y_, z = roots[s, 0], roots[s, 1], roots[s, 2]
            points[s, 0, 0], points[s, 0, 1], points[s, 0, 2] = x, y_, z
            turn, frame = root_rotations[s], root_frames[s]
            qx, qy, qz, qw = quat_multiply(turn[0], turn[1], turn[2], turn[3], frame[0], frame[1], frame[2], frame[3])
            for i in range(segments):
                dx, dy, dz = turned[i, lane], turned[i, LANES + lane], turned[i, 2 * LANES + lane]
                length = lengths[b, i, lane]
                scale = length / max(math.sqrt(dx * dx + dy * dy + dz * dz), SHORT)
                px, py, pz = x, y_, z
                x = px + scale * (rotation[0] * dx + rotation[1] * dy + rotation[2] * dz)
                y_ = py + scale * (rotation[3] * dx + rotation[4] * dy + rotation[5] * dz)
                z = pz + scale * (rotation[6] * dx + rotation[7] * dy + rotation[8] * dz)
                x, y_, z = out_of_solids(
                    body, blocks, has_body, others, poses, thickness, levels[s, i + 1], x, y_, z, px, py, pz, length
                )
                points[s, i + 1, 0], points[s, i + 1, 1], points[s, i + 1, 2] = x, y_, z
                if i > 0:
                    qx, qy, qz, qw = quat_multiply(
                        qx, qy, qz, qw, joints[s, i, 0], joints[s, i, 1], joints[s, i, 2], joints[s, i, 3]
                    )
                inverse = ONE / length
                qx, qy, qz, qw = turned_onto(
                    qx, qy, qz, qw, inverse * (x - px), inverse * (y_ - py), inverse * (z - pz)
                )
                orientations[s, i, 0], orientations[s, i, 1] = qx, qy
                orientations[s, i, 2], orientations[s, i, 3] = qz, qw
            fx, fy, fz = ZERO, ZERO, ZERO
            for v in range(segments, -1, -1):
                if v < segments:
                    # What hangs below, less what it takes to speed it up, pulls at a segment.
                    cut_force[s, v, 0], cut_force[s, v, 1], cut_force[s, v, 2] = fx, fy, fz
                for c in range(3):
                    velocity[s, v, c] = (points[s, v, c] - previous[s, v, c]) * inv_dt
                m = masses[s, v]
                fx += m * (gravity[0] - (velocity[s, v, 0] - previous_velocity[s, v, 0]) * inv_dt)
                fy += m * (gravity[1] - (velocity[s, v, 1] - previous_velocity[s, v, 1]) * inv_dt)
                fz += m * (gravity[2] - (velocity[s, v, 2] - previous_velocity[s, v, 2]) * inv_dt)
