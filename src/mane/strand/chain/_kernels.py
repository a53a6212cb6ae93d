"""Chains from one state to the next: what comes in, the recursion of `_kernels_chain_links`, what goes out."""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import njit, prange
from mane.strand._kernels_stage import CALM, PUSHED, RESISTED
from mane.strand.chain._kernels_finish import finish_base, finish_link
from mane.strand.chain._kernels_lanes import (
    COUPLING,
    CUT,
    END,
    END_V,
    FAST,
    FRAME,
    GAIN_W,
    GUESS,
    IMPULSE,
    INERTIA,
    LANES,
    LINEAR_V,
    LINEAR_W,
    MASS,
    PACKED,
    QUAD_A,
    QUAD_B,
    QUAD_C,
    QUAT,
    RATE,
    SLOT,
    SPIN,
    START,
    STEP,
    TENSION,
    VERTEX,
    VERTEX_V,
    direction,
    dot,
    get3,
    get6,
    jit,
    put3,
    quat_product,
    reached,
    symmetric_inverse,
    symmetric_times,
)
from mane.strand.chain._kernels_links import (
    eliminate_joint,
    gather_inertia,
    predict_base,
    predict_link,
    relinearise,
    sum_cut_force,
    sweep,
)

CLAMPED, FREE = 0, 2  # values of `RootKind`


@jit
def load_vertex(buf, i, g, t, velocity, force, resistance, mass, gravity, h):
    """Momentum and inertia of vertex `t` of strand `g`."""
    put3(
        buf,
        i + IMPULSE,
        mass * (velocity[g, t, 0] + h * gravity[0]) + h * force[g, t, 0],
        mass * (velocity[g, t, 1] + h * gravity[1]) + h * force[g, t, 1],
        mass * (velocity[g, t, 2] + h * gravity[2]) + h * force[g, t, 2],
    )
    for k in range(6):
        buf[i + INERTIA + k * LANES] = h * resistance[g, t, k] + (mass if k < 3 else 0.0)


@jit
def load_link(buf, i, g, t, frames, spin, cut, coupling, h):
    """Direction, predicted rate, tension and coupling of the link that ends at vertex `t` of strand `g`."""
    f = frames[g, t - 1]
    dx, dy, dz = direction(f[0], f[1], f[2], f[3])
    put3(buf, i + START, dx, dy, dz)
    wx, wy, wz = spin[g, t - 1, 0], spin[g, t - 1, 1], spin[g, t - 1, 2]
    share = reached(wx, wy, wz, h)
    put3(buf, i + GUESS, share * wx, share * wy, share * wz)
    buf[i + TENSION] = max(dot(cut[g, t - 1, 0], cut[g, t - 1, 1], cut[g, t - 1, 2], dx, dy, dz), 0.0)
    for k in range(6):
        buf[i + COUPLING + k * LANES] = h * coupling[g, t - 1, k]


@jit
def load_base(buf, s, quat, rate, velocity, back):
    """Frame, rate and velocity of what holds the root; at the end of the stage, `back` [s] before `quat`."""
    half = -0.5 * back
    x, y, z, w = quat_product(half * rate[0], half * rate[1], half * rate[2], 1.0, quat[0], quat[1], quat[2], quat[3])
    dx, dy, dz = direction(x, y, z, w)
    put3(buf, START + s, dx, dy, dz)
    put3(buf, START + 3 * LANES + s, 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y))
    put3(buf, START + 6 * LANES + s, 2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x))
    for k in range(4):
        buf[QUAT + k * LANES + s] = quat[k]
    for k in range(3):
        buf[GUESS + k * LANES + s] = rate[k]
        buf[SPIN + k * LANES + s] = rate[k]
        buf[END_V + k * LANES + s] = velocity[k]


@jit
def solve_root(buf, s, is_free, spin_inertia, spin_momentum):
    """Motion of the first link of a strand that nothing clamps: it turns freely and, if free, moves freely."""
    i = SLOT + s
    dx, dy, dz = get3(buf, i + FRAME)
    axx, ayy, azz, axy, axz, ayz = get6(buf, i + QUAD_A)
    ixx, iyy, izz, ixy, ixz, iyz = symmetric_inverse(
        axx + spin_inertia * dx * dx,
        ayy + spin_inertia * dy * dy,
        azz + spin_inertia * dz * dz,
        axy + spin_inertia * dx * dy,
        axz + spin_inertia * dx * dz,
        ayz + spin_inertia * dy * dz,
    )
    b00, b01, b02 = get3(buf, i + QUAD_B)
    b10, b11, b12 = get3(buf, i + QUAD_B + 3 * LANES)
    b20, b21, b22 = get3(buf, i + QUAD_B + 6 * LANES)
    wx, wy, wz = get3(buf, i + LINEAR_W)
    wx, wy, wz = wx + spin_momentum * dx, wy + spin_momentum * dy, wz + spin_momentum * dz
    if is_free:
        p0x, p0y, p0z = symmetric_times(ixx, iyy, izz, ixy, ixz, iyz, b00, b10, b20)
        p1x, p1y, p1z = symmetric_times(ixx, iyy, izz, ixy, ixz, iyz, b01, b11, b21)
        p2x, p2y, p2z = symmetric_times(ixx, iyy, izz, ixy, ixz, iyz, b02, b12, b22)
        cxx, cyy, czz, cxy, cxz, cyz = get6(buf, i + QUAD_C)
        mxx, myy, mzz, mxy, mxz, myz = get6(buf, s + INERTIA)
        sxx, syy, szz, sxy, sxz, syz = symmetric_inverse(
            cxx + mxx - dot(b00, b10, b20, p0x, p0y, p0z),
            cyy + myy - dot(b01, b11, b21, p1x, p1y, p1z),
            czz + mzz - dot(b02, b12, b22, p2x, p2y, p2z),
            cxy + mxy - dot(b00, b10, b20, p1x, p1y, p1z),
            cxz + mxz - dot(b00, b10, b20, p2x, p2y, p2z),
            cyz + myz - dot(b01, b11, b21, p2x, p2y, p2z),
        )
        vx, vy, vz = get3(buf, i + LINEAR_V)
        jx, jy, jz = get3(buf, s + IMPULSE)
        vx, vy, vz = symmetric_times(
            sxx,
            syy,
            szz,
            sxy,
            sxz,
            syz,
            vx + jx - dot(p0x, p0y, p0z, wx, wy, wz),
            vy + jy - dot(p1x, p1y, p1z, wx, wy, wz),
            vz + jz - dot(p2x, p2y, p2z, wx, wy, wz),
        )
        put3(buf, s + END_V, vx, vy, vz)
    vx, vy, vz = get3(buf, s + END_V)
    wx -= dot(b00, b01, b02, vx, vy, vz)
    wy -= dot(b10, b11, b12, vx, vy, vz)
    wz -= dot(b20, b21, b22, vx, vy, vz)
    wx, wy, wz = symmetric_times(ixx, iyy, izz, ixy, ixz, iyz, wx, wy, wz)
    put3(buf, s + SPIN, wx, wy, wz)


@jit
def load_strand(buf, s, g, velocity, frames, spin, cut, root_mass, force, resistance, coupling, gravity, h):
    """Everything of strand `g` that changes from step to step, into lane `s`."""
    load_vertex(buf, s, g, 0, velocity, force, resistance, root_mass[g], gravity, h)
    for t in range(1, velocity.shape[1]):
        i = t * SLOT + s
        load_vertex(buf, i, g, t, velocity, force, resistance, buf[i + MASS], gravity, h)
        load_link(buf, i, g, t, frames, spin, cut, coupling, h)
        buf[i + STEP] = h


@jit
def stage_of(g, spin, force, resistance, root_mass, is_free, packed, s, dt, share):
    """Length [s] of the stage of strand `g`: `share` of a calm step, up to all of it (`_kernels_stage`)."""
    violence = 0.0
    for t in range(force.shape[1]):
        if t > 0:
            w = spin[g, t - 1]
            violence = max(violence, (dt / CALM) ** 2 * dot(w[0], w[1], w[2], w[0], w[1], w[2]))
        elif not is_free:
            continue
        mass = root_mass[g] if t == 0 else packed[t, MASS // LANES, s]
        r, f = resistance[g, t], force[g, t]
        violence = max(violence, dt / (RESISTED * mass) * (r[0] + r[1] + r[2]))
        violence = max(violence, np.sqrt(dot(f[0], f[1], f[2], f[0], f[1], f[2])) / (PUSHED * mass))
    return dt * (share + (1.0 - share) * min(violence, 1.0))


@jit
def store_strand(buf, s, g, is_free, share, before, points, velocity, frames, spin, cut):
    """Fill the rows of strand `g` from lane `s`; velocities go on as they changed over the stage from `before`."""
    for t in range(points.shape[1]):
        i = t * SLOT + s
        for k in range(3):
            points[g, t, k] = buf[i + VERTEX + k * LANES]
            v = buf[i + VERTEX_V + k * LANES]
            if t > 0 or is_free:
                v = before[g, t, k] + (v - before[g, t, k]) / share
            velocity[g, t, k] = v
        if t > 0:
            for k in range(3):
                spin[g, t - 1, k] = buf[i + SPIN + k * LANES]
                cut[g, t - 1, k] = buf[i + CUT + k * LANES]
            for k in range(4):
                frames[g, t - 1, k] = buf[i + QUAT + k * LANES]


@jit
def release_root(buf, s):
    """The first link of a strand that nothing clamps moves as `solve_root` found, whatever its joint would say."""
    for k in range(GAIN_W, RATE + 2 * LANES, LANES):
        buf[SLOT + k + s] = 0.0


@jit
def solve_block(buf, slots, loose, is_free, spin_inertia, spin_momentum):
    """Motion and cut forces of a block, linearised once."""
    predict_base(buf, loose)
    for t in range(1, slots):
        predict_link(buf[(t - 1) * SLOT : (t + 1) * SLOT])
    for t in range(slots - 1, 0, -1):
        gather_inertia(buf[(t - 1) * SLOT : (t + 2) * SLOT])
        if t == 1:
            for s in range(LANES):
                if loose[s] > 0.0:
                    solve_root(buf, s, is_free[s], spin_inertia[s], spin_momentum[s])
        eliminate_joint(buf[(t - 1) * SLOT : (t + 1) * SLOT])
    for s in range(LANES):
        if loose[s] > 0.0:
            release_root(buf, s)
        vx, vy, vz = get3(buf, s + END_V)
        put3(buf, s + VERTEX_V, vx, vy, vz)
    for t in range(1, slots):
        sweep(buf[(t - 1) * SLOT : (t + 1) * SLOT])
    for t in range(slots - 1, 0, -1):
        sum_cut_force(buf[(t - 1) * SLOT : (t + 2) * SLOT])


@jit
def step_block(buf, block, now, constants, base, load, gravity, iterations, share, h, out):
    """Go one step with the strands of one block; arguments as in `step_chains`."""
    points, velocity, frames, spin, cut = now
    packed, root_mass, root_kind, spin_inertia = constants
    base_quat, base_rate, base_velocity = base
    force, resistance, coupling = load
    strands, slots = points.shape[0], points.shape[1]
    lane = np.zeros((3, LANES))  # whether loose, inertia and momentum of its spin
    is_free = np.zeros(LANES, np.bool_)
    for t in range(slots):
        for k in range(PACKED):
            for s in range(LANES):
                buf[t * SLOT + k * LANES + s] = packed[block, t, k, s]
    for s in range(LANES):
        g = min(block * LANES + s, strands - 1)  # the last strand again fills the lanes of the last block
        is_free[s] = root_kind[g] == FREE
        stage = stage_of(g, spin, force, resistance, root_mass, is_free[s], packed[block], s, h, share)
        back = h - stage if root_kind[g] == CLAMPED else 0.0
        load_base(buf, s, base_quat[g], base_rate[g], base_velocity[g], back)
        load_strand(buf, s, g, velocity, frames, spin, cut, root_mass, force, resistance, coupling, gravity, stage)
        dx, dy, dz = get3(buf, SLOT + START + s)
        lane[0, s] = 0.0 if root_kind[g] == CLAMPED else 1.0
        lane[1, s] = spin_inertia[g]
        lane[2, s] = spin_inertia[g] * dot(spin[g, 0, 0], spin[g, 0, 1], spin[g, 0, 2], dx, dy, dz)
    for number in range(iterations):
        if number > 0:
            for t in range(1, slots):
                relinearise(buf[(t - 1) * SLOT : (t + 1) * SLOT])
        solve_block(buf, slots, lane[0], is_free, lane[1], lane[2])
    for s in range(LANES):
        g = min(block * LANES + s, strands - 1)
        for k in range(3):
            buf[END + k * LANES + s] = points[g, 0, k] + h * buf[END_V + k * LANES + s]
            buf[VERTEX + k * LANES + s] = buf[END + k * LANES + s]
    finish_base(buf, lane[0], h)
    for t in range(1, slots):
        finish_link(buf[(t - 1) * SLOT : (t + 1) * SLOT], h)
    for s in range(min(LANES, strands - block * LANES)):
        part = buf[SLOT + STEP + s] / h
        store_strand(buf, s, block * LANES + s, is_free[s], part, velocity, *out)


@njit(cache=True, error_model="numpy", fastmath=FAST, parallel=True)
def step_chains(now, constants, base, load, gravity, iterations, share, h, scratch, out):
    """Go one step; every array of `out` may be its input.

    Args:
        now: points, velocity, frames, spin and cut forces at the start.
        constants: of all slots (blocks, V, PACKED, LANES); mass (G,) and kind (G,) of the roots; inertia (G,) of spin.
        base: the clamp (G, 4) at the end of the step, the first link at its start where nothing clamps; how the root
            turns and moves over it, (G, 3) each.
        load: force, resistance, coupling.
        gravity: shape (3,).
        iterations: linear solves.
        share: of a calm step that its implicit stage takes.
        h: length of the step [s].
        scratch: shape (threads, (V + 1) SLOT), zero at first: what lies beyond the tip is never written.
        out: points, velocity, frames, spin and cut forces at the end.
    """
    threads = scratch.shape[0]
    for thread in prange(threads):
        for block in range(thread, constants[0].shape[0], threads):
            step_block(scratch[thread], block, now, constants, base, load, gravity, iterations, share, h, out)
