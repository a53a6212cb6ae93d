"""Drag of thin cylinders: force and resistance of every vertex from the half segments beside it."""

# mypy: allow-untyped-defs

import math

from numba import njit, prange

FASTMATH = {"contract", "arcp", "nsz", "afn"}


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def across_coefficient(speed, radius, slenderness, density, viscosity):
    """Drag across a cylinder per length and speed [kg/(m s)]; see `drag`. `slenderness` is ln(L / r)."""
    slow = 4.0 * math.pi / (slenderness + 0.5)
    reynolds = 2.0 * radius * speed * density / viscosity
    # Re times the drag coefficient of Sucker and Brauer
    root = math.sqrt(reynolds)
    fast = 6.8 * reynolds**0.11 + 1.96 * root + 1.18 * reynolds
    fast -= 0.0004 * reynolds * reynolds / (1.0 + 3.64e-7 * reynolds * reynolds)
    return viscosity * max(slow, 0.5 * fast)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def along_coefficient(speed, radius, slenderness, density, viscosity):
    """Drag along a cylinder per length and speed [kg/(m s)]; see `drag`. `slenderness` is ln(L / r)."""
    slow = 2.0 * math.pi / (slenderness - 0.5)
    # ln(4 nu L / (U r^2)), apart from ln(L / r); where it is small the layer is thinner than the hair.
    ratio = slenderness + math.log(4.0 * viscosity / (density * max(speed, 1e-12) * radius))
    fast = 4.0 * math.pi / max(ratio, 1.0)
    return viscosity * max(slow, fast)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def half_segment(points, g, v, neighbour):
    """Direction from a vertex to the next and half the distance [m]: `(tx, ty, tz, half)`; zero without one."""
    if neighbour >= points.shape[1]:
        return 0.0, 0.0, 0.0, 0.0
    ex, ey, ez = (
        points[g, neighbour, 0] - points[g, v, 0],
        points[g, neighbour, 1] - points[g, v, 1],
        points[g, neighbour, 2] - points[g, v, 2],
    )
    length = math.sqrt(ex * ex + ey * ey + ez * ez)
    scale = 1.0 / length if length > 0.0 else 0.0
    return ex * scale, ey * scale, ez * scale, 0.5 * length


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def add_drag(points, velocity, is_active, air, radius, slenderness, scale, density, viscosity, force, resistance):
    """Add the drag of `air` (G, V, 3) [m/s] to `force` and `resistance`; strands that are not active (G,) feel none.

    The coefficients of a vertex are those of the mean square of the speeds across and along its two half segments.
    """
    for g in prange(points.shape[0]):
        bx, by, bz, b = 0.0, 0.0, 0.0, 0.0
        for v in range(points.shape[1] if is_active[g] else 0):
            # The half before is the one behind the last vertex: drag does not care which way it points.
            ax, ay, az, a = bx, by, bz, b
            bx, by, bz, b = half_segment(points, g, v, v + 1)
            wx, wy, wz = air[g, v, 0], air[g, v, 1], air[g, v, 2]
            ux, uy, uz = wx - velocity[g, v, 0], wy - velocity[g, v, 1], wz - velocity[g, v, 2]
            if a + b == 0.0:
                continue
            along_a, along_b = ux * ax + uy * ay + uz * az, ux * bx + uy * by + uz * bz
            along = min((a * along_a * along_a + b * along_b * along_b) / (a + b), ux * ux + uy * uy + uz * uz)
            across = max(ux * ux + uy * uy + uz * uz - along, 0.0)
            r = radius[g, v]
            thin = slenderness[g, v]
            normal = scale[g, v] * across_coefficient(math.sqrt(across), r, thin, density, viscosity)
            extra = scale[g, v] * along_coefficient(math.sqrt(along), r, thin, density, viscosity) - normal
            even, more_a, more_b = (a + b) * normal, a * extra, b * extra
            dxx = even + more_a * ax * ax + more_b * bx * bx
            dyy = even + more_a * ay * ay + more_b * by * by
            dzz = even + more_a * az * az + more_b * bz * bz
            dxy = more_a * ax * ay + more_b * bx * by
            dxz = more_a * ax * az + more_b * bx * bz
            dyz = more_a * ay * az + more_b * by * bz
            force[g, v, 0] += dxx * wx + dxy * wy + dxz * wz
            force[g, v, 1] += dxy * wx + dyy * wy + dyz * wz
            force[g, v, 2] += dxz * wx + dyz * wy + dzz * wz
            resistance[g, v, 0] += dxx
            resistance[g, v, 1] += dyy
            resistance[g, v, 2] += dzz
            resistance[g, v, 3] += dxy
            resistance[g, v, 4] += dxz
            resistance[g, v, 5] += dyz
