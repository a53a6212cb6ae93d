"""Growing strands over a body: combed by a direction and gravity, gathered into a tie, kept outside."""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.geometry._kernels_grid import trilinear_gradient
from mane.geometry._kernels_quaternion import quat_rotate
from mane.simd.jit import njit, prange

ZERO = np.float32(0.0)
ONE = np.float32(1.0)
PUSH_ROUNDS = 6
BEFORE_EARS = np.float32(0.05)  # this far in front of the ears [m] a gathered strand runs straight back


@njit(cache=True, error_model="numpy", inline="always")
def smooth_step(x):
    """0 below 0, 1 above 1, an S between."""
    t = min(max(x, ZERO), ONE)
    return t * t * (np.float32(3.0) - np.float32(2.0) * t)


@njit(cache=True, error_model="numpy")
def unit(x, y, z):
    """The direction of a vector; +y where it has none."""
    length = math.sqrt(x * x + y * y + z * z)
    if length < np.float32(1e-12):
        return ZERO, ONE, ZERO
    inv = ONE / length
    return x * inv, y * inv, z * inv


@njit(cache=True, error_model="numpy")
def step_outside(px, py, pz, dx, dy, dz, step, clearance, values, origin, inv_cell):
    """Go one step from p along d, turned so as to end no closer to the body than `clearance`; the direction taken."""
    for _ in range(3):
        x, y, z = px + step * dx, py + step * dy, pz + step * dz
        distance, gx, gy, gz = trilinear_gradient(values, origin, inv_cell, x, y, z)
        lack = clearance - distance
        if lack <= ZERO:
            break
        gx, gy, gz = unit(gx, gy, gz)
        # Not more than a step at once: the strand bends away from the body instead of jumping.
        lack = min(lack, step)
        dx, dy, dz = unit(x + lack * gx - px, y + lack * gy - py, z + lack * gz - pz)
    return dx, dy, dz


@njit(cache=True, error_model="numpy")
def resample_fine(fine, count, length, out):
    """Fill `out` (V, 3) with evenly spaced points on the first `length` metres of the polyline `fine[:count]`."""
    vertex_count = out.shape[0]
    wanted_step = length / np.float32(vertex_count - 1)
    i = 0
    walked = ZERO
    dx, dy, dz = fine[1, 0] - fine[0, 0], fine[1, 1] - fine[0, 1], fine[1, 2] - fine[0, 2]
    segment = math.sqrt(dx * dx + dy * dy + dz * dz)
    for v in range(vertex_count):
        wanted = wanted_step * np.float32(v)
        while i < count - 2 and walked + segment < wanted:
            walked += segment
            i += 1
            dx, dy, dz = fine[i + 1, 0] - fine[i, 0], fine[i + 1, 1] - fine[i, 1], fine[i + 1, 2] - fine[i, 2]
            segment = math.sqrt(dx * dx + dy * dy + dz * dz)
        share = (wanted - walked) / segment if segment > ZERO else ZERO
        out[v, 0] = fine[i, 0] + share * dx
        out[v, 1] = fine[i, 1] + share * dy
        out[v, 2] = fine[i, 2] + share * dz


@njit(cache=True, error_model="numpy", parallel=True)
def comb_strands(
    roots, flow, layer, max_length, cut_height, min_length, fall, values, origin, inv_cell, fine_count, out
):
    """Fill `out` (S, V, 3) with strands that leave the skin along `flow` and fall over the body under gravity.

    A strand turns from `flow` (S, 3) to straight down over `fall` (S,) metres, rides `layer` (S,) metres above the
    body, and ends at `max_length` (S,) or where it passes below `cut_height` (S,), but not before `min_length`.
    """
    for s in prange(roots.shape[0]):
        fine = np.empty((fine_count, 3), np.float32)
        px, py, pz = roots[s, 0], roots[s, 1], roots[s, 2]
        dx, dy, dz = flow[s, 0], flow[s, 1], flow[s, 2]
        fine[0, 0], fine[0, 1], fine[0, 2] = px, py, pz
        step = max_length[s] / np.float32(fine_count - 1)
        turn = ONE - math.exp(-step / fall[s])
        length = max_length[s]
        count = fine_count
        for i in range(1, fine_count):
            s_arc = step * np.float32(i)
            clearance = layer[s] * smooth_step(s_arc / (np.float32(6.0) * layer[s] + np.float32(0.004)))
            dx, dy, dz = unit(dx - turn * dx, dy - turn * (dy + ONE), dz - turn * dz)
            dx, dy, dz = step_outside(px, py, pz, dx, dy, dz, step, clearance, values, origin, inv_cell)
            px, py, pz = px + step * dx, py + step * dy, pz + step * dz
            fine[i, 0], fine[i, 1], fine[i, 2] = px, py, pz
            if py < cut_height[s] and s_arc >= min_length:
                above = fine[i - 1, 1] - cut_height[s]
                share = above / (fine[i - 1, 1] - py) if above > ZERO else ZERO
                length = max(s_arc - step + share * step, min_length)
                count = i + 1
                break
        resample_fine(fine, count, length, out[s])


@njit(cache=True, error_model="numpy", parallel=True)
def gather_strands(roots, tails, layer, step, max_steps, values, origin, inv_cell, out):
    """Fill `out` (S, V, 3) with strands that hug the body from their root to the start of their tail, then follow it.

    `tails` (S, T, 3) begin at the tie; `layer` (S,) is the height above the body at which a strand travels.
    """
    tail_count = tails.shape[1]
    for s in prange(roots.shape[0]):
        fine = np.empty((max_steps + tail_count, 3), np.float32)
        px, py, pz = roots[s, 0], roots[s, 1], roots[s, 2]
        tx, ty, tz = tails[s, 0, 0], tails[s, 0, 1], tails[s, 0, 2]
        fine[0, 0], fine[0, 1], fine[0, 2] = px, py, pz
        dx, dy, dz = unit(tx - px, ty - py, tz - pz)
        count = 1
        for i in range(1, max_steps):
            ex, ey, ez = tx - px, ty - py, tz - pz
            if ex * ex + ey * ey + ez * ez < step * step:
                break
            ex, ey, ez = unit(ex, ey, ez)
            # Over the ear first: the straight way from the forehead to the nape would cross the cheek.
            before = smooth_step(pz / BEFORE_EARS)
            ey += np.float32(0.5) * before
            ez -= np.float32(1.5) * before
            # Half old direction, half towards the tie: a path without corners.
            dx, dy, dz = unit(dx + ex, dy + ey, dz + ez)
            clearance = layer[s] * smooth_step(step * np.float32(i) / np.float32(0.02))
            dx, dy, dz = step_outside(px, py, pz, dx, dy, dz, step, clearance, values, origin, inv_cell)
            px, py, pz = px + step * dx, py + step * dy, pz + step * dz
            fine[i, 0], fine[i, 1], fine[i, 2] = px, py, pz
            count = i + 1
        for j in range(tail_count):
            fine[count + j] = tails[s, j]
        count += tail_count
        length = ZERO
        for i in range(1, count):
            ax, ay, az = fine[i, 0] - fine[i - 1, 0], fine[i, 1] - fine[i - 1, 1], fine[i, 2] - fine[i - 1, 2]
            length += math.sqrt(ax * ax + ay * ay + az * az)
        resample_fine(fine, count, length, out[s])


@njit(cache=True, error_model="numpy", parallel=True)
def keep_outside(points, clearance, values, origin, inv_cell):
    """Move the vertices of `points` (S, V, 3), roots apart, out of the body; segments are tested at their quarters."""
    for s in prange(points.shape[0]):
        for _ in range(PUSH_ROUNDS):
            moved = False
            for v in range(1, points.shape[1]):
                for quarter in range(1, 5):
                    share = np.float32(0.25) * np.float32(quarter)
                    x = points[s, v - 1, 0] + share * (points[s, v, 0] - points[s, v - 1, 0])
                    y = points[s, v - 1, 1] + share * (points[s, v, 1] - points[s, v - 1, 1])
                    z = points[s, v - 1, 2] + share * (points[s, v, 2] - points[s, v - 1, 2])
                    distance, gx, gy, gz = trilinear_gradient(values, origin, inv_cell, x, y, z)
                    # The first segment starts on the skin and rises from it.
                    wanted = clearance if v > 1 else clearance * share
                    lack = wanted - distance
                    if lack > ZERO:
                        gx, gy, gz = unit(gx, gy, gz)
                        for axis, slope in ((0, gx), (1, gy), (2, gz)):
                            points[s, v, axis] += lack * slope
                            if v > 1 and quarter < 4:
                                points[s, v - 1, axis] += lack * slope
                        moved = True
            if not moved:
                break


@njit(cache=True, error_model="numpy", parallel=True)
def add_curl(points, frames, radius, pitch, phase, flatness, ramp):
    """Wind strands around their own course, in place.

    Args:
        points: spines (S, V, 3), evenly spaced.
        frames: twist-free segment frames (S, V - 1, 4).
        radius, pitch, phase: of each strand's helix [m, m, rad]; a negative pitch winds the other way.
        flatness: 1 for a helix, 0 for a wave in a plane (S,).
        ramp: distance from the root [m] over which the radius grows.
    """
    for s in prange(points.shape[0]):
        ax, ay, az = points[s, 0, 0], points[s, 0, 1], points[s, 0, 2]
        arc = ZERO
        for v in range(1, points.shape[1]):
            bx, by, bz = points[s, v, 0], points[s, v, 1], points[s, v, 2]
            arc += math.sqrt((bx - ax) ** 2 + (by - ay) ** 2 + (bz - az) ** 2)
            ax, ay, az = bx, by, bz
            f = v - 1
            qx, qy, qz, qw = frames[s, f, 0], frames[s, f, 1], frames[s, f, 2], frames[s, f, 3]
            # first and second axis of the frame
            e1x, e1y, e1z = quat_rotate(qx, qy, qz, qw, ONE, ZERO, ZERO)
            e2x, e2y, e2z = quat_rotate(qx, qy, qz, qw, ZERO, ONE, ZERO)
            size = radius[s] * smooth_step(arc / ramp)
            angle = phase[s] + np.float32(2.0 * math.pi) * arc / pitch[s]
            u = size * math.cos(angle)
            w = size * flatness[s] * math.sin(angle)
            points[s, v, 0] = bx + u * e1x + w * e2x
            points[s, v, 1] = by + u * e1y + w * e2y
            points[s, v, 2] = bz + u * e1z + w * e2z
