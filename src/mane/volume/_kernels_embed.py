"""Hair in a tetrahedral mesh: points by the maps of their tetrahedra, then roots, lengths and push-out."""

# mypy: allow-untyped-defs

import math

import numpy as np

from mane.simd.jit import inline_fast, njit, prange

KEEP_DIRECTION, TOWARDS_POINT, SHORTEN = 0, 1, 2  # ways to set lengths
STRANDS_PER_TASK = 64
FASTMATH = {"contract", "arcp", "nsz", "afn"}
HALF = np.float32(32767.5)  # the middle of what 16 bits hold
ZERO, ONE, TINY = np.float32(0.0), np.float32(1.0), np.float32(1e-30)


@inline_fast
def mapped(maps, t, x, y, z):
    """A point at rest carried by the map of a tetrahedron (lee2018 eq. 1 with the weights multiplied out)."""
    return (
        maps[t, 0, 3] + maps[t, 0, 0] * x + maps[t, 0, 1] * y + maps[t, 0, 2] * z,
        maps[t, 1, 3] + maps[t, 1, 0] * x + maps[t, 1, 1] * y + maps[t, 1, 2] * z,
        maps[t, 2, 3] + maps[t, 2, 0] * x + maps[t, 2, 1] * y + maps[t, 2, 2] * z,
    )


@inline_fast
def pushed_height(height, rest_height, tau):
    """Height over the skin of a point that would be at `height`: continuous, and what it was at rest if it is there.

    lee2018 3.1 puts what is inside at a distance within [0, tau], which makes a point just inside jump. Here a point
    sinks ever more slowly from tau on, or from its height at rest if that is lower, and never through the skin; what
    was groomed below the skin is held there.
    """
    top = min(rest_height, tau)
    if height >= top:
        return height
    if top <= ZERO:
        return top
    return top * math.exp((height - top) / top)


@inline_fast
def outside(px, py, pz, dx, dy, dz, length, planes, rest_planes, k, x, y, z, tau, reach2):
    """A segment (dx, dy, dz) from p, turned so that its end is as high over plane k as it may be; length kept."""
    nx, ny, nz = planes[k, 0], planes[k, 1], planes[k, 2]
    ox, oy, oz = px - planes[k, 3], py - planes[k, 4], pz - planes[k, 5]
    before = nx * ox + ny * oy + nz * oz
    along = nx * dx + ny * dy + nz * dz
    height = before + along
    if height >= tau:
        return dx, dy, dz
    rest = (
        rest_planes[k, 0] * (x - rest_planes[k, 3])
        + rest_planes[k, 1] * (y - rest_planes[k, 4])
        + rest_planes[k, 2] * (z - rest_planes[k, 5])
    )
    wanted = pushed_height(height, rest, tau)
    tx, ty, tz = dx - along * nx, dy - along * ny, dz - along * nz
    ex, ey, ez = ox + dx, oy + dy, oz + dz
    size2 = tx * tx + ty * ty + tz * tz
    # A point that has slid far along the plane is no longer above this piece of the skin.
    if wanted <= height or size2 < TINY or ex * ex + ey * ey + ez * ez - height * height > reach2:
        return dx, dy, dz
    up = min(max(wanted - before, -length), length)
    side = math.sqrt(max(length * length - up * up, ZERO) / size2)
    return up * nx + side * tx, up * ny + side * ty, up * nz + side * tz


@inline_fast
def sized(dx, dy, dz, length, only_shorten):
    """A segment with its direction and this length, or at most this length, and the length it got."""
    size = math.sqrt(dx * dx + dy * dy + dz * dz)
    scale = length / size if size > TINY else ZERO
    if only_shorten:
        scale = min(scale, ONE)
    return scale * dx, scale * dy, scale * dz, scale * size


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def carry_strands(
    offsets,
    rest,
    tets,
    maps,
    roots,
    falloff,
    lengths,
    plane,
    planes,
    rest_planes,
    tau,
    reach2,
    # out
    out,
):
    """Fill `out (P, 3)` with strands whose points begin at `offsets (S + 1,)`.

    `rest (P, 3)` and `tets (P,)` are the embedding, `maps (T, 3, 4)` the mesh now, `roots (S, 3)` the follicles. The
    residual between a follicle and its embedding is carried along the strand and fades over `falloff` [m]. `lengths` is
    one of the ways above. `plane (P,)` names for each point the plane that it stays above, or -1; see `outside`.
    """
    fade = ONE / falloff
    strands = len(offsets) - 1
    for task in prange((strands + STRANDS_PER_TASK - 1) // STRANDS_PER_TASK):
        for s in range(task * STRANDS_PER_TASK, min((task + 1) * STRANDS_PER_TASK, strands)):
            first = offsets[s]
            lx, ly, lz = rest[first, 0], rest[first, 1], rest[first, 2]
            ex, ey, ez = mapped(maps, tets[first], lx, ly, lz)
            px, py, pz = roots[s, 0], roots[s, 1], roots[s, 2]
            rx, ry, rz = px - ex, py - ey, pz - ez
            qx, qy, qz = px, py, pz
            out[first, 0], out[first, 1], out[first, 2] = px, py, pz
            share = ONE
            for i in range(first + 1, offsets[s + 1]):
                x, y, z = rest[i, 0], rest[i, 1], rest[i, 2]
                length = math.sqrt((x - lx) * (x - lx) + (y - ly) * (y - ly) + (z - lz) * (z - lz))
                lx, ly, lz = x, y, z
                share = max(share - fade * length, ZERO)
                left = share * share
                ex, ey, ez = mapped(maps, tets[i], x, y, z)
                ex, ey, ez = ex + left * rx, ey + left * ry, ez + left * rz
                if lengths == KEEP_DIRECTION:
                    dx, dy, dz = ex - qx, ey - qy, ez - qz
                    qx, qy, qz = ex, ey, ez
                else:
                    dx, dy, dz = ex - px, ey - py, ez - pz
                dx, dy, dz, size = sized(dx, dy, dz, length, lengths == SHORTEN)
                k = plane[i]
                if k >= 0:
                    dx, dy, dz = outside(px, py, pz, dx, dy, dz, size, planes, rest_planes, k, x, y, z, tau, reach2)
                px, py, pz = px + dx, py + dy, pz + dz
                out[i, 0], out[i, 1], out[i, 2] = px, py, pz


@inline_fast
def unpacked(places, middles, unit, t, i):
    """A point at rest from its place within tetrahedron t; see `PackedStyles`."""
    return (
        middles[t, 0] + unit * (np.float32(places[i, 0]) - HALF),
        middles[t, 1] + unit * (np.float32(places[i, 1]) - HALF),
        middles[t, 2] + unit * (np.float32(places[i, 2]) - HALF),
    )


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def blend_strands(
    offsets,
    rest,
    tets,
    places,
    place_tets,
    middles,
    units,
    level,
    maps,
    roots,
    falloff,
    plane,
    planes,
    rest_planes,
    tau,
    reach2,
    # out
    out,
):
    """Do what `carry_strands` does with the groom and K styles (lee2018 3.3).

    `rest (P, 3)` and `tets (P,)` are the groom, the rest is `PackedStyles`. `level (P,)`, 0 to K, says between which
    two a point is. Points are blended where the mesh has them now, since a blend at rest may leave the mesh; then
    segments get the lengths of the groom, directions kept.
    """
    fade = ONE / falloff
    strands = len(offsets) - 1
    most = places.shape[0] - 1
    for task in prange((strands + STRANDS_PER_TASK - 1) // STRANDS_PER_TASK):
        for s in range(task * STRANDS_PER_TASK, min((task + 1) * STRANDS_PER_TASK, strands)):
            first = offsets[s]
            lx, ly, lz = rest[first, 0], rest[first, 1], rest[first, 2]
            ex, ey, ez = mapped(maps, tets[first], lx, ly, lz)
            px, py, pz = roots[s, 0], roots[s, 1], roots[s, 2]
            rx, ry, rz = px - ex, py - ey, pz - ez
            qx, qy, qz = px, py, pz
            out[first, 0], out[first, 1], out[first, 2] = px, py, pz
            share = ONE
            for i in range(first + 1, offsets[s + 1]):
                x, y, z = rest[i, 0], rest[i, 1], rest[i, 2]
                length = math.sqrt((x - lx) * (x - lx) + (y - ly) * (y - ly) + (z - lz) * (z - lz))
                lx, ly, lz = x, y, z
                low = min(int(level[i]), most)
                w = level[i] - np.float32(low)
                t = tets[i]
                if low > 0:
                    t = place_tets[low - 1, i]
                    x, y, z = unpacked(places[low - 1], middles, units[low - 1], t, i)
                ex, ey, ez = mapped(maps, t, x, y, z)
                if w > ZERO:
                    t = place_tets[low, i]
                    a, b, c = unpacked(places[low], middles, units[low], t, i)
                    fx, fy, fz = mapped(maps, t, a, b, c)
                    ex, ey, ez = ex + w * (fx - ex), ey + w * (fy - ey), ez + w * (fz - ez)
                    x, y, z = x + w * (a - x), y + w * (b - y), z + w * (c - z)
                share = max(share - fade * length, ZERO)
                left = share * share
                ex, ey, ez = ex + left * rx, ey + left * ry, ez + left * rz
                dx, dy, dz, size = sized(ex - qx, ey - qy, ez - qz, length, False)
                qx, qy, qz = ex, ey, ez
                k = plane[i]
                if k >= 0:
                    dx, dy, dz = outside(px, py, pz, dx, dy, dz, size, planes, rest_planes, k, x, y, z, tau, reach2)
                px, py, pz = px + dx, py + dy, pz + dz
                out[i, 0], out[i, 1], out[i, 2] = px, py, pz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def embed_barycentric(
    tets,
    weights,
    corners,
    nodes,
    # out
    out,
):
    """Fill `out (P, 3)` as lee2018 eq. 1 is printed: `weights (P, 3)` of the last three nodes, `corners (T, 4)`."""
    for i in prange(len(out)):
        t = tets[i]
        a, b, c, d = corners[t, 0], corners[t, 1], corners[t, 2], corners[t, 3]
        v, w, u = weights[i, 0], weights[i, 1], weights[i, 2]
        o = ONE - v - w - u
        for k in range(3):
            out[i, k] = o * nodes[a, k] + v * nodes[b, k] + w * nodes[c, k] + u * nodes[d, k]


@njit(cache=True, error_model="numpy", parallel=True)
def embed_again(
    offsets,
    tets,
    maps,
    points,
    # out
    rest,
):
    """Set `rest (P, 3)` to where `points (P, 3)` now would be at rest, by the inverse maps of their tetrahedra.

    What lee2018 3.1 does with the lengths that it corrects; roots stay.
    """
    for s in prange(len(offsets) - 1):
        for i in range(offsets[s] + 1, offsets[s + 1]):
            m = maps[tets[i]]
            x, y, z = points[i, 0] - m[0, 3], points[i, 1] - m[1, 3], points[i, 2] - m[2, 3]
            a = m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1]
            b = m[1, 2] * m[2, 0] - m[1, 0] * m[2, 2]
            c = m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0]
            det = m[0, 0] * a + m[0, 1] * b + m[0, 2] * c
            if abs(det) < 1e-6:
                continue  # a flat tetrahedron has no way back
            d, e, f = (
                m[0, 2] * m[2, 1] - m[0, 1] * m[2, 2],
                m[0, 0] * m[2, 2] - m[0, 2] * m[2, 0],
                m[0, 1] * m[2, 0] - m[0, 0] * m[2, 1],
            )
            g, h, k = (
                m[0, 1] * m[1, 2] - m[0, 2] * m[1, 1],
                m[0, 2] * m[1, 0] - m[0, 0] * m[1, 2],
                m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0],
            )
            rest[i, 0] = (a * x + d * y + g * z) / det
            rest[i, 1] = (b * x + e * y + h * z) / det
            rest[i, 2] = (c * x + f * y + k * z) / det
