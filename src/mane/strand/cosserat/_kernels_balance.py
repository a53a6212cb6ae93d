"""Forces and moments of Cosserat rods within a stage."""

# mypy: allow-untyped-defs

from mane.simd.f64x8 import broadcast, load
from mane.simd.jit import inline_fast
from mane.simd.math import copysign
from mane.simd.rows import load3, load4, load6
from mane.strand._kernels_small import cross, symmetric_times_vector, third_axis
from mane.strand.cosserat._kernels_rows import (
    AXIS,
    BEND,
    COUPLE,
    CUT,
    D_T,
    D_X,
    DAMPING,
    EXTRA_TWIST,
    FORCE,
    INERTIA,
    LENGTH,
    MASS,
    RESIST,
    REST,
    SPIN,
    STRIDE,
    Q,
    V,
)


@inline_fast
def rotate(qx, qy, qz, qw, x, y, z):
    """Turn a vector by a frame."""
    tx, ty, tz = cross(qx, qy, qz, x, y, z)
    sx, sy, sz = cross(qx, qy, qz, tx, ty, tz)
    return x + 2.0 * (qw * tx + sx), y + 2.0 * (qw * ty + sy), z + 2.0 * (qw * tz + sz)


@inline_fast
def joint_moment(constants, c, buf, b, rate):
    """The moment that a joint carries, elastic and viscous, in world axes."""
    ax, ay, az, aw = load4(buf, b - STRIDE + Q)
    qx, qy, qz, qw = load4(buf, b + Q)
    # conj(q_a) q_b
    rx = aw * qx - ax * qw - ay * qz + az * qy
    ry = aw * qy + ax * qz - ay * qw - az * qx
    rz = aw * qz - ax * qy + ay * qx - az * qw
    rw = aw * qw + ax * qx + ay * qy + az * qz
    ux, uy, uz, uw = load4(constants, c + REST)
    # conj(q0) conj(q_a) q_b: hsu2024 eq. 2 seen from the rest frame, where it is (v, w - 1)
    vx = uw * rx - ux * rw - uy * rz + uz * ry
    vy = uw * ry + ux * rz - uy * rw - uz * rx
    vz = uw * rz - ux * ry + uy * rx - uz * rw
    vw = uw * rw + ux * rx + uy * ry + uz * rz
    bend, extra = load(constants, c + BEND), load(constants, c + EXTRA_TWIST)
    # gradient of (4 EI / L) (1 - w) + (2 (GJ - EI) / L) v_z^2: hsu2024 eq. 7 and 8 with k_bt = 4 EI / L, and the
    # difference between the stiffness of twisting and bending
    scale = copysign(broadcast(2.0), vw)  # hsu2024 eq. 3
    stiff, twist = scale * bend, 2.0 * extra * vz
    mx = stiff * vx - twist * vy
    my = stiff * vy + twist * vx
    mz = stiff * vz + twist * vw
    mx, my, mz = rotate(qx, qy, qz, qw, mx, my, mz)
    # Kelvin-Voigt: time constant x stiffness x rate of the relative rotation
    ox, oy, oz = load3(buf, b - STRIDE + SPIN)
    px, py, pz = load3(buf, b - STRIDE + D_T)
    wx, wy, wz = load3(buf, b + SPIN)
    tx, ty, tz = load3(buf, b + D_T)
    wx, wy, wz = wx - ox + rate * (tx - px), wy - oy + rate * (ty - py), wz - oz + rate * (tz - pz)
    dx, dy, dz = load3(buf, b + AXIS)
    viscous = load(constants, c + DAMPING)
    bend, along = viscous * bend, viscous * extra * (wx * dx + wy * dy + wz * dz)
    return mx + bend * wx + along * dx, my + bend * wy + along * dy, mz + bend * wz + along * dz


@inline_fast
def stage_velocity(buf, b, rate):
    """Velocity of a vertex over the stage as far as it is solved."""
    vx, vy, vz = load3(buf, b + V)
    dx, dy, dz = load3(buf, b + D_X)
    return vx + rate * dx, vy + rate * dy, vz + rate * dz


@inline_fast
def balance_vertex(constants, c, buf, b, rate, gravity, before, here, ahead):
    """What acts on a vertex beyond its inertia; velocities are those of the vertex and its neighbours."""
    rx, ry, rz = symmetric_times_vector(*load6(buf, b + RESIST), *here)
    ex, ey, ez = symmetric_times_vector(*load6(buf, b + COUPLE), *ahead)
    fx, fy, fz = symmetric_times_vector(*load6(buf, b - STRIDE + COUPLE), *before)
    nx, ny, nz = load3(buf, b + CUT)
    px, py, pz = load3(buf, b - STRIDE + CUT)
    gx, gy, gz = load3(buf, b + FORCE)
    dx, dy, dz = load3(buf, b + D_X)
    mass, inertia = load(constants, c + MASS), rate * rate
    return (
        gx + mass * (gravity[0] - inertia * dx) - rx - ex - fx + nx - px,
        gy + mass * (gravity[1] - inertia * dy) - ry - ey - fy + ny - py,
        gz + mass * (gravity[2] - inertia * dz) - rz - ez - fz + nz - pz,
    )


@inline_fast
def balance_segment(constants, c, buf, b, rate, moment, moment_ahead):
    """What turns a segment beyond its inertia, between joints with these moments."""
    length, inertia = load(constants, c + LENGTH), load(constants, c + INERTIA) * rate * rate
    # torque of the cut force, hsu2024 eq. 6 as a vector: l d3 x n; and of the joints at either end
    dx, dy, dz = third_axis(*load4(buf, b + Q))
    nx, ny, nz = load3(buf, b + CUT)
    gx, gy, gz = cross(dx, dy, dz, nx, ny, nz)
    tx, ty, tz = load3(buf, b + D_T)
    return (
        length * gx - moment[0] + moment_ahead[0] - inertia * tx,
        length * gy - moment[1] + moment_ahead[1] - inertia * ty,
        length * gz - moment[2] + moment_ahead[2] - inertia * tz,
    )
