"""Whether groomed strands stand by themselves: the second variation of their energy, and the stiffness it needs.

Derivation (`_reference` has the energy itself; the tests compare its finite differences with what is here).
The strand cannot stretch; its unknowns are small rotations th_j of the segments, from the groomed shape. With d_j the
direction of segment j, l_j its length and n_j the weight of all vertices beyond it, gravity's energy is
-l_j n_j . (exp(th_j) d_j), to second order

    -l_j th_j . (d_j x n_j)  +  1/2 th_j^T l_j [(n_j . d_j) I - sym(n_j d_j^T)] th_j.

Joint j between segments a = j - 1 and b = j is bent away from its rest by a rotation with vector part e and scalar
part w. Its energy is (4 E I / L) (1 - w) + (2 / L) (G J - E I) (e . d_b)^2, that of hsu2024 eq. 2 with a stiffness of
its own for twist. Sag-free means that e is such that the joint carries the moment m_j = m_(j+1) + l_j d_j x n_j:

    m = (2 E I / L) (e + r (e . d_b) g),    g = w d_b + d_b x e,    r = G J / (E I) - 1.

The energy depends on exp(-th_a) exp(th_b), the exponential of th_b - th_a - 1/2 th_a x th_b: to second order

    m . (th_b - th_a)  +  1/2 (th_b - th_a)^T H (th_b - th_a)  +  1/2 th_a^T [m]x th_b,
    H = (E I / L) [(w - r (e . d_b)^2) I + r g g^T].

The first orders cancel: that is the equilibrium. Moments and weights do not depend on the stiffness, and H grows with
it, so there is one critical factor on the stiffness below which the groom falls, found by bisection. The strand stands
if the block-tridiagonal matrix of its second variation has a Cholesky factor.
"""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import njit, prange

# Factors are looked for in this range; beyond it a strand needs no stiffness at all, or stands with none.
LOWEST_FACTOR = 1e-6
HIGHEST_FACTOR = 1e9
PRECISION = 1e-6  # relative, of the critical factor
BALANCE_STEPS = 8  # of the fixed point for e; its cross terms are small against the linear ones
# Rows of a strand's scratch, one per segment: a symmetric 3 x 3 block and two vectors.
FIXED, MOMENT, DIRECTION = 0, 6, 9
CHANNELS = 12


@njit(cache=True, error_model="numpy")
def static_moments(points, mass, gravity, scratch):
    """Fill the rows DIRECTION and MOMENT, and put gravity's second variation into the rows FIXED."""
    segment_count = points.shape[0] - 1
    beyond = 0.0
    mx = my = mz = 0.0
    for j in range(segment_count - 1, -1, -1):
        beyond += mass[j + 1]
        nx, ny, nz = beyond * gravity[0], beyond * gravity[1], beyond * gravity[2]
        ex, ey, ez = (
            points[j + 1, 0] - points[j, 0],
            points[j + 1, 1] - points[j, 1],
            points[j + 1, 2] - points[j, 2],
        )
        mx, my, mz = mx + ey * nz - ez * ny, my + ez * nx - ex * nz, mz + ex * ny - ey * nx
        length = math.sqrt(ex * ex + ey * ey + ez * ez)
        row = scratch[j]
        row[MOMENT], row[MOMENT + 1], row[MOMENT + 2] = mx, my, mz
        row[DIRECTION], row[DIRECTION + 1], row[DIRECTION + 2] = ex / length, ey / length, ez / length
        along = nx * ex + ny * ey + nz * ez
        row[FIXED], row[FIXED + 1], row[FIXED + 2] = along - nx * ex, along - ny * ey, along - nz * ez
        row[FIXED + 3] = -0.5 * (nx * ey + ny * ex)
        row[FIXED + 4] = -0.5 * (nx * ez + nz * ex)
        row[FIXED + 5] = -0.5 * (ny * ez + nz * ey)


@njit(cache=True, error_model="numpy")
def largest_strain(scratch, bend, twist, joint_length):
    """Largest |e| that a joint needs to carry its moment, to first order: the sine of half the angle off its rest."""
    largest = 0.0
    for j in range(scratch.shape[0]):
        row = scratch[j]
        mx, my, mz = row[MOMENT], row[MOMENT + 1], row[MOMENT + 2]
        along = mx * row[DIRECTION] + my * row[DIRECTION + 1] + mz * row[DIRECTION + 2]
        across = math.sqrt(max(mx * mx + my * my + mz * mz - along * along, 0.0))
        largest = max(largest, 0.5 * joint_length[j] * math.hypot(across / bend[j], along / twist[j]))
    return largest


@njit(cache=True, error_model="numpy")
def bend_off_rest(gx, gy, gz, tx, ty, tz, r):
    """Solve e + r (e . t) (w t + t x e) = goal for `(ex, ey, ez, w)`; t is of unit length."""
    along = gx * tx + gy * ty + gz * tz
    ax, ay, az = gx - along * tx, gy - along * ty, gz - along * tz  # across the segment
    cx, cy, cz = ax, ay, az
    turn = along / (1.0 + r)
    w = math.sqrt(max(1.0 - turn * turn - cx * cx - cy * cy - cz * cz, 0.0))
    for _ in range(BALANCE_STEPS):
        turn = along / (1.0 + r * w)
        k = r * turn
        cx, cy, cz = ax - k * (ty * cz - tz * cy), ay - k * (tz * cx - tx * cz), az - k * (tx * cy - ty * cx)
        w = math.sqrt(max(1.0 - turn * turn - cx * cx - cy * cy - cz * cz, 0.0))
    return cx + turn * tx, cy + turn * ty, cz + turn * tz, w


@njit(cache=True, error_model="numpy")
def joint_stiffness(row, bend, r, joint_length):
    """H of one joint as its six numbers; `row` is that of the segment after it."""
    tx, ty, tz = row[DIRECTION], row[DIRECTION + 1], row[DIRECTION + 2]
    half = 0.5 * joint_length / bend
    ex, ey, ez, w = bend_off_rest(half * row[MOMENT], half * row[MOMENT + 1], half * row[MOMENT + 2], tx, ty, tz, r)
    turn = ex * tx + ey * ty + ez * tz
    gx, gy, gz = w * tx + ty * ez - tz * ey, w * ty + tz * ex - tx * ez, w * tz + tx * ey - ty * ex
    k = bend / joint_length
    even = w - r * turn * turn
    return (
        k * (even + r * gx * gx),
        k * (even + r * gy * gy),
        k * (even + r * gz * gz),
        k * r * gx * gy,
        k * r * gx * gz,
        k * r * gy * gz,
    )


@njit(cache=True, error_model="numpy")
def stands(scratch, bend, twist, joint_length, factor):
    """Whether the second variation is positive definite with the stiffness times `factor`: block Cholesky from the tip.

    The block of segment j is FIXED_j + H_j + H_(j+1), the one that couples it to segment j + 1 is -H_(j+1) + [m]x / 2.
    """
    sxx = syy = szz = sxy = sxz = syz = 0.0  # what the segments beyond have added to the block of segment j
    for j in range(scratch.shape[0] - 1, -1, -1):
        row = scratch[j]
        hxx, hyy, hzz, hxy, hxz, hyz = joint_stiffness(row, factor * bend[j], twist[j] / bend[j] - 1.0, joint_length[j])
        axx, ayy, azz = row[FIXED] + hxx + sxx, row[FIXED + 1] + hyy + syy, row[FIXED + 2] + hzz + szz
        axy, axz, ayz = row[FIXED + 3] + hxy + sxy, row[FIXED + 4] + hxz + sxz, row[FIXED + 5] + hyz + syz
        # A = C C^T, C lower triangular.
        if not axx > 0.0:
            return False
        c00 = math.sqrt(axx)
        c10, c20 = axy / c00, axz / c00
        d1 = ayy - c10 * c10
        if not d1 > 0.0:
            return False
        c11 = math.sqrt(d1)
        c21 = (ayz - c20 * c10) / c11
        d2 = azz - c20 * c20 - c21 * c21
        if not d2 > 0.0:
            return False
        c22 = math.sqrt(d2)
        # Rows of the coupling B to segment j - 1 (rows a, columns b), then S = H - B A^-1 B^T.
        mx, my, mz = 0.5 * row[MOMENT], 0.5 * row[MOMENT + 1], 0.5 * row[MOMENT + 2]
        x0, x1, x2 = solve_lower(c00, c10, c11, c20, c21, c22, -hxx, -hxy - mz, -hxz + my)
        y0, y1, y2 = solve_lower(c00, c10, c11, c20, c21, c22, -hxy + mz, -hyy, -hyz - mx)
        z0, z1, z2 = solve_lower(c00, c10, c11, c20, c21, c22, -hxz - my, -hyz + mx, -hzz)
        sxx, syy, szz = (
            hxx - x0 * x0 - x1 * x1 - x2 * x2,
            hyy - y0 * y0 - y1 * y1 - y2 * y2,
            hzz - z0 * z0 - z1 * z1 - z2 * z2,
        )
        sxy, sxz, syz = (
            hxy - x0 * y0 - x1 * y1 - x2 * y2,
            hxz - x0 * z0 - x1 * z1 - x2 * z2,
            hyz - y0 * z0 - y1 * z1 - y2 * z2,
        )
    return True


@njit(cache=True, error_model="numpy", inline="always")
def solve_lower(c00, c10, c11, c20, c21, c22, bx, by, bz):
    """Solve C x = b, C lower triangular."""
    x = bx / c00
    y = (by - c10 * x) / c11
    return x, y, (bz - c20 * x - c21 * y) / c22


@njit(cache=True, error_model="numpy")
def critical_factor(scratch, bend, twist, joint_length, lowest):
    """Smallest factor on the stiffness, from `lowest` on, with which the strand stands; infinite if none is enough."""
    if stands(scratch, bend, twist, joint_length, lowest):
        return lowest
    low, high = lowest, max(1.0, 2.0 * lowest)
    while not stands(scratch, bend, twist, joint_length, high):
        low, high = high, 16.0 * high
        if high > HIGHEST_FACTOR:
            return np.inf
    while high - low > PRECISION * high:
        # Halve the ratio while it is large, the difference when they are close.
        middle = math.sqrt(low * high) if high > 2.0 * low else 0.5 * (low + high)
        if stands(scratch, bend, twist, joint_length, middle):
            high = middle
        else:
            low = middle
    return high


@njit(cache=True, error_model="numpy", parallel=True)
def find_stiffening(points, mass, bend, twist, joint_length, clamped, gravity, critical, strain):
    """Fill per strand the `critical` factor and the largest `strain` |e| of a joint; zero where it is not clamped."""
    for strand in prange(points.shape[0]):
        critical[strand] = 0.0
        strain[strand] = 0.0
        if clamped[strand]:
            scratch = np.empty((points.shape[1] - 1, CHANNELS))
            own = bend[strand], twist[strand], joint_length[strand]
            static_moments(points[strand], mass[strand], gravity, scratch)
            strain[strand] = largest_strain(scratch, *own)
            # Below |e| = 1 no rest shape carries the moments.
            critical[strand] = critical_factor(scratch, *own, max(strain[strand], LOWEST_FACTOR))
