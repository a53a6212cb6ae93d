"""One implicit step of twist-free chains by the articulated-body recursion, eight strands side by side.

```
  slot 0 = clamp and root vertex; slot t = vertex t, the link (segment t - 1) that ends there, the joint it starts at

  link t turns with w_t = w_(t-1) + E_t r_t,  E_t: two unit vectors perpendicular to the bisector of both links
  (the rate of a joint that never twists), and its end moves with v_t = v_(t-1) + w_t x l d_t.
```

The step minimises, over the rates r, the quadratic function that `_reference_chain` writes down plainly: inertia,
loads, springs and the pull of tension, linearised about a predicted shape. From tip to root every joint is eliminated
in turn; what remains of the part beyond it is a quadratic function of the motion (w, v) of the link before it,

    1/2 w.A w + w.B v + 1/2 v.C v - a.w - b.v        (A, C symmetric 3 x 3: the articulated inertia)

Everything of a block of `LANES` strands lives in one flat buffer, so that the loops over lanes become vector code.
"""

# mypy: allow-untyped-defs

import numpy as np

from mane.strand.chain._kernels_lanes import (
    AXES,
    COUPLING,
    CUT,
    DRIVE,
    END_V,
    FOLD,
    FRAME,
    GAIN_V,
    GAIN_W,
    GUESS,
    HINGE,
    IMPULSE,
    INERTIA,
    LANES,
    LENGTH,
    LEVER,
    LINEAR_V,
    LINEAR_W,
    OFFSET,
    QUAD_A,
    QUAD_B,
    QUAD_C,
    RATE,
    REST,
    SLOT,
    SPIN,
    SPRING,
    START,
    STEP,
    TENSION,
    VERTEX_V,
    VISCOUS,
    cross,
    dot,
    get2,
    get3,
    get6,
    jit,
    put2,
    put3,
    put6,
    reached,
    symmetric_times,
    turned,
)


@jit
def predict_base(buf, loose):
    """Frame of the clamp; of a strand that nothing clamps, the predicted frame of its first link."""
    for axis in range(0, 9 * LANES, 3 * LANES):
        for s in range(LANES):
            share = loose[s] * buf[SLOT + STEP + s]
            wx, wy, wz = get3(buf, SLOT + GUESS + s)
            dx, dy, dz = get3(buf, START + axis + s)
            x, y, z = turned(dx, dy, dz, share * wx, share * wy, share * wz)
            put3(buf, FRAME + axis + s, x, y, z)


@jit
def predict_link(cell):
    """Predicted frame and lever of a link, and the axes, implicit stiffness and drive of its joint."""
    for s in range(LANES):
        i = SLOT + s
        h = cell[i + STEP]
        p = s
        gx, gy, gz = get3(cell, i + GUESS)
        sx, sy, sz = get3(cell, i + START)
        dx, dy, dz = turned(sx, sy, sz, h * gx, h * gy, h * gz)
        unit = 1.0 / np.sqrt(dot(dx, dy, dz, dx, dy, dz))
        dx, dy, dz = dx * unit, dy * unit, dz * unit
        px, py, pz = get3(cell, p + FRAME)
        ax, ay, az = get3(cell, p + FRAME + 3 * LANES)
        bx, by, bz = get3(cell, p + FRAME + 6 * LANES)
        a_along, b_along = dot(ax, ay, az, dx, dy, dz), dot(bx, by, bz, dx, dy, dz)
        opened = max(1.0 + dot(px, py, pz, dx, dy, dz), FOLD)  # 1 + cos(angle)
        inv_opened = 1.0 / opened
        cos_half = np.sqrt(0.5 * opened)
        inv_cos = 1.0 / cos_half
        # Axes of the joint's rate: the parent's, turned by half the joint's angle, so that neither link twists.
        mx, my, mz = px + 0.5 * inv_cos * (px + dx), py + 0.5 * inv_cos * (py + dy), pz + 0.5 * inv_cos * (pz + dz)
        a_half = 0.5 * a_along * inv_cos / (1.0 + cos_half)
        b_half = 0.5 * b_along * inv_cos / (1.0 + cos_half)
        e1x, e1y, e1z = ax - a_half * mx, ay - a_half * my, az - a_half * mz
        e2x, e2y, e2z = bx - b_half * mx, by - b_half * my, bz - b_half * mz
        put6(cell, i + AXES, e1x, e1y, e1z, e2x, e2y, e2z)
        # Curvature 4 tan(angle / 4) about each axis, and its derivative by the rate, the same about all of them.
        slope = 2.0 / (1.0 + cos_half)
        k1, k2 = -slope * inv_cos * b_along, slope * inv_cos * a_along
        spring = h * slope * slope * cell[i + SPRING]
        cell[i + HINGE] = h * (spring + slope * slope * cell[i + VISCOUS])
        rest1, rest2 = get2(cell, i + REST)
        ox, oy, oz = get3(cell, p + GUESS)
        r1 = dot(e1x, e1y, e1z, gx - ox, gy - oy, gz - oz)
        r2 = dot(e2x, e2y, e2z, gx - ox, gy - oy, gz - oz)
        put2(
            cell,
            i + DRIVE,
            spring * ((rest1 - k1) / slope + h * r1),
            spring * ((rest2 - k2) / slope + h * r2),
        )
        a_full, b_full = a_along * inv_opened, b_along * inv_opened
        ax, ay, az = ax - a_full * (px + dx), ay - a_full * (py + dy), az - a_full * (pz + dz)
        bx, by, bz = bx - b_full * (px + dx), by - b_full * (py + dy), bz - b_full * (pz + dz)
        put3(cell, i + FRAME, dx, dy, dz)
        put6(cell, i + FRAME + 3 * LANES, ax, ay, az, bx, by, bz)
        o1, o2, o3 = get3(cell, i + OFFSET)
        o3 += cell[i + LENGTH]
        put3(cell, i + LEVER, o1 * ax + o2 * bx + o3 * dx, o1 * ay + o2 * by + o3 * dy, o1 * az + o2 * bz + o3 * dz)


@jit
def gather_inertia(cell):
    """Quadratic function of a link: its vertex, its tension, and what is left of the links beyond it."""
    for s in range(LANES):
        i = SLOT + s
        h = cell[i + STEP]
        n = 2 * SLOT + s
        axx, ayy, azz, axy, axz, ayz = get6(cell, n + QUAD_A)
        b00, b01, b02 = get3(cell, n + QUAD_B)
        b10, b11, b12 = get3(cell, n + QUAD_B + 3 * LANES)
        b20, b21, b22 = get3(cell, n + QUAD_B + 6 * LANES)
        cxx, cyy, czz, cxy, cxz, cyz = get6(cell, n + QUAD_C)
        wx, wy, wz = get3(cell, n + LINEAR_W)
        vx, vy, vz = get3(cell, n + LINEAR_V)
        dx, dy, dz = get3(cell, i + FRAME)
        length = cell[i + LENGTH]
        ux, uy, uz = length * dx, length * dy, length * dz
        # Seen from the start of the link: v of its end is v + w x u.
        s00, _, _ = cross(ux, uy, uz, b00, b01, b02)
        s10, s11, _ = cross(ux, uy, uz, b10, b11, b12)
        s20, s21, s22 = cross(ux, uy, uz, b20, b21, b22)
        n00, n10, n20 = cross(ux, uy, uz, cxx, cxy, cxz)
        n01, n11, n21 = cross(ux, uy, uz, cxy, cyy, cyz)
        n02, n12, n22 = cross(ux, uy, uz, cxz, cyz, czz)
        b00, b01, b02 = b00 + n00, b01 + n01, b02 + n02
        b10, b11, b12 = b10 + n10, b11 + n11, b12 + n12
        b20, b21, b22 = b20 + n20, b21 + n21, b22 + n22
        t00, t01, t02 = cross(ux, uy, uz, b00, b01, b02)
        _, t11, t12 = cross(ux, uy, uz, b10, b11, b12)
        _, _, t22 = cross(ux, uy, uz, b20, b21, b22)
        axx, ayy, azz = axx + s00 + t00, ayy + s11 + t11, azz + s22 + t22
        axy, axz, ayz = axy + s10 + t01, axz + s20 + t02, ayz + s21 + t12
        fx, fy, fz = cross(ux, uy, uz, vx, vy, vz)
        wx, wy, wz = wx + fx, wy + fy, wz + fz
        # The vertex at its lever, with what resists there.
        lx, ly, lz = get3(cell, i + LEVER)
        mxx, myy, mzz, mxy, mxz, myz = get6(cell, i + INERTIA)
        qxx, qyy, qzz, qxy, qxz, qyz = get6(cell, i + COUPLING)
        n00, n10, n20 = cross(lx, ly, lz, mxx, mxy, mxz)
        n01, n11, n21 = cross(lx, ly, lz, mxy, myy, myz)
        n02, n12, n22 = cross(lx, ly, lz, mxz, myz, mzz)
        t00, t01, t02 = cross(lx, ly, lz, n00, n01, n02)
        _, t11, t12 = cross(lx, ly, lz, n10, n11, n12)
        _, _, t22 = cross(lx, ly, lz, n20, n21, n22)
        axx, ayy, azz, axy, axz, ayz = axx + t00, ayy + t11, azz + t22, axy + t01, axz + t02, ayz + t12
        q00, q10, q20 = cross(lx, ly, lz, qxx, qxy, qxz)
        q01, q11, q21 = cross(lx, ly, lz, qxy, qyy, qyz)
        q02, q12, q22 = cross(lx, ly, lz, qxz, qyz, qzz)
        b00, b01, b02 = b00 + n00 + q00, b01 + n01 + q01, b02 + n02 + q02
        b10, b11, b12 = b10 + n10 + q10, b11 + n11 + q11, b12 + n12 + q12
        b20, b21, b22 = b20 + n20 + q20, b21 + n21 + q21, b22 + n22 + q22
        jx, jy, jz = get3(cell, i + IMPULSE)
        fx, fy, fz = cross(lx, ly, lz, jx, jy, jz)
        # Tension turns with the link: it resists any turn beyond the predicted one.
        pull = h * h * length * cell[i + TENSION]
        gx, gy, gz = get3(cell, i + GUESS)
        along = dot(dx, dy, dz, gx, gy, gz)
        put6(
            cell,
            i + QUAD_A,
            axx + pull * (1.0 - dx * dx),
            ayy + pull * (1.0 - dy * dy),
            azz + pull * (1.0 - dz * dz),
            axy - pull * dx * dy,
            axz - pull * dx * dz,
            ayz - pull * dy * dz,
        )
        put3(cell, i + QUAD_B, b00, b01, b02)
        put3(cell, i + QUAD_B + 3 * LANES, b10, b11, b12)
        put3(cell, i + QUAD_B + 6 * LANES, b20, b21, b22)
        put6(
            cell,
            i + QUAD_C,
            cxx + mxx + 2.0 * qxx,
            cyy + myy + 2.0 * qyy,
            czz + mzz + 2.0 * qzz,
            cxy + mxy + 2.0 * qxy,
            cxz + mxz + 2.0 * qxz,
            cyz + myz + 2.0 * qyz,
        )
        put3(
            cell,
            i + LINEAR_W,
            wx + fx + pull * (gx - along * dx),
            wy + fy + pull * (gy - along * dy),
            wz + fz + pull * (gz - along * dz),
        )
        put3(cell, i + LINEAR_V, vx + jx, vy + jy, vz + jz)


@jit
def eliminate_joint(cell):
    """Solve for the rate of the joint in terms of the motion before it, and take it out of the quadratic function."""
    for s in range(LANES):
        i = SLOT + s
        axx, ayy, azz, axy, axz, ayz = get6(cell, i + QUAD_A)
        b00, b01, b02 = get3(cell, i + QUAD_B)
        b10, b11, b12 = get3(cell, i + QUAD_B + 3 * LANES)
        b20, b21, b22 = get3(cell, i + QUAD_B + 6 * LANES)
        cxx, cyy, czz, cxy, cxz, cyz = get6(cell, i + QUAD_C)
        wx, wy, wz = get3(cell, i + LINEAR_W)
        vx, vy, vz = get3(cell, i + LINEAR_V)
        e1x, e1y, e1z, e2x, e2y, e2z = get6(cell, i + AXES)
        hinge = cell[i + HINGE]
        g1, g2 = get2(cell, i + DRIVE)
        a1x, a1y, a1z = symmetric_times(axx, ayy, azz, axy, axz, ayz, e1x, e1y, e1z)
        a2x, a2y, a2z = symmetric_times(axx, ayy, azz, axy, axz, ayz, e2x, e2y, e2z)
        c1x, c1y, c1z = (
            dot(e1x, e1y, e1z, b00, b10, b20),
            dot(e1x, e1y, e1z, b01, b11, b21),
            dot(e1x, e1y, e1z, b02, b12, b22),
        )
        c2x, c2y, c2z = (
            dot(e2x, e2y, e2z, b00, b10, b20),
            dot(e2x, e2y, e2z, b01, b11, b21),
            dot(e2x, e2y, e2z, b02, b12, b22),
        )
        h11 = hinge + dot(e1x, e1y, e1z, a1x, a1y, a1z)
        h12 = dot(e1x, e1y, e1z, a2x, a2y, a2z)
        h22 = hinge + dot(e2x, e2y, e2z, a2x, a2y, a2z)
        g1 += dot(e1x, e1y, e1z, wx, wy, wz)
        g2 += dot(e2x, e2y, e2z, wx, wy, wz)
        inv = 1.0 / (h11 * h22 - h12 * h12)
        i11, i12, i22 = h22 * inv, -h12 * inv, h11 * inv
        p1x, p1y, p1z = i11 * a1x + i12 * a2x, i11 * a1y + i12 * a2y, i11 * a1z + i12 * a2z
        p2x, p2y, p2z = i12 * a1x + i22 * a2x, i12 * a1y + i22 * a2y, i12 * a1z + i22 * a2z
        q1x, q1y, q1z = i11 * c1x + i12 * c2x, i11 * c1y + i12 * c2y, i11 * c1z + i12 * c2z
        q2x, q2y, q2z = i12 * c1x + i22 * c2x, i12 * c1y + i22 * c2y, i12 * c1z + i22 * c2z
        r1, r2 = i11 * g1 + i12 * g2, i12 * g1 + i22 * g2
        put6(cell, i + GAIN_W, p1x, p1y, p1z, p2x, p2y, p2z)
        put6(cell, i + GAIN_V, q1x, q1y, q1z, q2x, q2y, q2z)
        put2(cell, i + RATE, r1, r2)
        put6(
            cell,
            i + QUAD_A,
            axx - a1x * p1x - a2x * p2x,
            ayy - a1y * p1y - a2y * p2y,
            azz - a1z * p1z - a2z * p2z,
            axy - a1x * p1y - a2x * p2y,
            axz - a1x * p1z - a2x * p2z,
            ayz - a1y * p1z - a2y * p2z,
        )
        put3(
            cell,
            i + QUAD_B,
            b00 - a1x * q1x - a2x * q2x,
            b01 - a1x * q1y - a2x * q2y,
            b02 - a1x * q1z - a2x * q2z,
        )
        put3(
            cell,
            i + QUAD_B + 3 * LANES,
            b10 - a1y * q1x - a2y * q2x,
            b11 - a1y * q1y - a2y * q2y,
            b12 - a1y * q1z - a2y * q2z,
        )
        put3(
            cell,
            i + QUAD_B + 6 * LANES,
            b20 - a1z * q1x - a2z * q2x,
            b21 - a1z * q1y - a2z * q2y,
            b22 - a1z * q1z - a2z * q2z,
        )
        put6(
            cell,
            i + QUAD_C,
            cxx - c1x * q1x - c2x * q2x,
            cyy - c1y * q1y - c2y * q2y,
            czz - c1z * q1z - c2z * q2z,
            cxy - c1x * q1y - c2x * q2y,
            cxz - c1x * q1z - c2x * q2z,
            cyz - c1y * q1z - c2y * q2z,
        )
        put3(cell, i + LINEAR_W, wx - a1x * r1 - a2x * r2, wy - a1y * r1 - a2y * r2, wz - a1z * r1 - a2z * r2)
        put3(cell, i + LINEAR_V, vx - c1x * r1 - c2x * r2, vy - c1y * r1 - c2y * r2, vz - c1z * r1 - c2z * r2)


@jit
def sweep(cell):
    """The rate of a joint from the motion before it, hence the motion of its link."""
    for s in range(LANES):
        i = SLOT + s
        p = s
        wx, wy, wz = get3(cell, p + SPIN)
        vx, vy, vz = get3(cell, p + END_V)
        p1x, p1y, p1z, p2x, p2y, p2z = get6(cell, i + GAIN_W)
        q1x, q1y, q1z, q2x, q2y, q2z = get6(cell, i + GAIN_V)
        r1, r2 = get2(cell, i + RATE)
        r1 -= dot(p1x, p1y, p1z, wx, wy, wz) + dot(q1x, q1y, q1z, vx, vy, vz)
        r2 -= dot(p2x, p2y, p2z, wx, wy, wz) + dot(q2x, q2y, q2z, vx, vy, vz)
        e1x, e1y, e1z, e2x, e2y, e2z = get6(cell, i + AXES)
        wx, wy, wz = wx + e1x * r1 + e2x * r2, wy + e1y * r1 + e2y * r2, wz + e1z * r1 + e2z * r2
        put3(cell, i + SPIN, wx, wy, wz)
        dx, dy, dz = get3(cell, i + FRAME)
        length = cell[i + LENGTH]
        cx, cy, cz = cross(wx, wy, wz, dx, dy, dz)
        put3(cell, i + END_V, vx + length * cx, vy + length * cy, vz + length * cz)
        lx, ly, lz = get3(cell, i + LEVER)
        cx, cy, cz = cross(wx, wy, wz, lx, ly, lz)
        put3(cell, i + VERTEX_V, vx + cx, vy + cy, vz + cz)


@jit
def sum_cut_force(cell):
    """Force through a link: what acts on the vertices beyond it, less what their acceleration takes."""
    for s in range(LANES):
        i = SLOT + s
        inv = 1.0 / cell[i + STEP]
        vx, vy, vz = get3(cell, i + VERTEX_V)
        mxx, myy, mzz, mxy, mxz, myz = get6(cell, i + INERTIA)
        fx, fy, fz = symmetric_times(mxx, myy, mzz, mxy, mxz, myz, vx, vy, vz)
        jx, jy, jz = get3(cell, i + IMPULSE)
        fx, fy, fz = jx - fx, jy - fy, jz - fz
        for k in range(2):  # coupled to the vertex before it, and to the one after it
            xx, yy, zz, xy, xz, yz = get6(cell, i + k * SLOT + COUPLING)
            vx, vy, vz = get3(cell, i + (2 * k - 1) * SLOT + VERTEX_V)
            cx, cy, cz = symmetric_times(xx, yy, zz, xy, xz, yz, vx, vy, vz)
            fx, fy, fz = fx - cx, fy - cy, fz - cz
        nx, ny, nz = get3(cell, i + SLOT + CUT)
        put3(cell, i + CUT, nx + inv * fx, ny + inv * fy, nz + inv * fz)


@jit
def relinearise(cell):
    """Predict again with the motion that was found, and with its tension."""
    for s in range(LANES):
        i = SLOT + s
        h = cell[i + STEP]
        wx, wy, wz = get3(cell, i + SPIN)
        share = reached(wx, wy, wz, h)
        put3(cell, i + GUESS, share * wx, share * wy, share * wz)
        nx, ny, nz = get3(cell, i + CUT)
        dx, dy, dz = get3(cell, i + FRAME)
        cell[i + TENSION] = max(dot(nx, ny, nz, dx, dy, dz), 0.0)
