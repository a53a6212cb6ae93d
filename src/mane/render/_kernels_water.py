"""Numba kernels of the surface of water in a picture: bent and mirrored rays, what is seen along each, and the sky.

Every entry is written by exactly one loop iteration, so that the picture does not depend on the thread count.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import math

import numpy as np

from mane.render._kernels_view import project_point
from mane.simd.jit import inline, njit, prange

ZERO, HALF, ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
LEAST = np.float32(1e-9)
EDGE = 4  # [samples] around what is before a ray within which the picture is mixed with it
BACKWARDS, SHORTER = 8, np.float32(0.75)  # tries to find a place beside such an edge, and by which part each goes back


@inline
def inner_cosine(cosine, index):
    """Cosine of the angle within the water (Snell), from that outside."""
    return math.sqrt(ONE - (ONE - cosine * cosine) / (index * index))


@inline
def fresnel_share(cosine, index):
    """Share of unpolarised light that the surface reflects, from outside."""
    inner = inner_cosine(cosine, index)
    across = (cosine - index * inner) / (cosine + index * inner)
    along = (index * cosine - inner) / (index * cosine + inner)
    return HALF * (across * across + along * along)


@njit(cache=True, error_model="numpy", parallel=True)
def bend_rays(points, normals, eye, index, bent, mirrored, share):
    """Fill directions (M, 3) of rays from the eye behind the surface (Snell) and mirrored by it, and Fresnel's share.

    `normals` (M, 3) may be of any length and on either side.
    """
    for i in prange(points.shape[0]):
        x, y, z = points[i, 0] - eye[0], points[i, 1] - eye[1], points[i, 2] - eye[2]
        inverse = ONE / max(math.sqrt(x * x + y * y + z * z), LEAST)
        x, y, z = x * inverse, y * inverse, z * inverse
        a, b, c = normals[i, 0], normals[i, 1], normals[i, 2]
        inverse = ONE / max(math.sqrt(a * a + b * b + c * c), LEAST)
        cosine = -(x * a + y * b + z * c) * inverse
        if cosine < ZERO:
            cosine, inverse = -cosine, -inverse
        a, b, c = a * inverse, b * inverse, c * inverse
        cosine = min(cosine, ONE)
        share[i] = fresnel_share(cosine, index)
        across = cosine / index - inner_cosine(cosine, index)
        twice = np.float32(2.0) * cosine
        bent[i, 0], bent[i, 1], bent[i, 2] = x / index + across * a, y / index + across * b, z / index + across * c
        mirrored[i, 0], mirrored[i, 1], mirrored[i, 2] = x + twice * a, y + twice * b, z + twice * c


@inline
def corner_on_axis(at, count):
    """Number below a place and the fraction to the next, kept within the picture."""
    at = min(max(at - HALF, ZERO), np.float32(count - 1))
    low = min(int(at), max(count - 2, 0))
    return low, min(low + 1, count - 1), at - np.float32(low)


@inline
def picture_at(picture, column, row, scale):
    """Light and coverage of a picture (h, w, 4) at samples of which `scale` make a pixel, bilinear."""
    i, p, a = corner_on_axis(row * scale, picture.shape[0])
    j, q, b = corner_on_axis(column * scale, picture.shape[1])
    u, v, w, x = (ONE - a) * (ONE - b), (ONE - a) * b, a * (ONE - b), a * b
    red = u * picture[i, j, 0] + v * picture[i, q, 0] + w * picture[p, j, 0] + x * picture[p, q, 0]
    green = u * picture[i, j, 1] + v * picture[i, q, 1] + w * picture[p, j, 1] + x * picture[p, q, 1]
    blue = u * picture[i, j, 2] + v * picture[i, q, 2] + w * picture[p, j, 2] + x * picture[p, q, 2]
    cover = u * picture[i, j, 3] + v * picture[i, q, 3] + w * picture[p, j, 3] + x * picture[p, q, 3]
    return red, green, blue, cover


@inline
def is_hidden(nearness, column, row, depth):
    """Whether something in the picture, at a place or beside it, is before a ray whose nearness there is `depth`."""
    height, width = nearness.shape
    i, j = min(max(int(row), 0), height - 1), min(max(int(column), 0), width - 1)
    up, down = max(i - EDGE, 0), min(i + EDGE, height - 1)
    left, right = max(j - EDGE, 0), min(j + EDGE, width - 1)
    most = max(nearness[up, j], nearness[down, j])
    return max(most, nearness[i, left], nearness[i, right], nearness[i, j]) > depth


@inline
def beside_edge(point, ray, way, nearness, view):
    """Column and row of the last place before `way` [m] along a ray where nothing is before it, nor beside it."""
    column, row = ZERO, ZERO
    for _ in range(BACKWARDS):
        column, row, depth = project_point(
            point[0] + way * ray[0], point[1] + way * ray[1], point[2] + way * ray[2], *view
        )
        if not is_hidden(nearness, column, row, depth):
            break
        way *= SHORTER
    return column, row


@njit(cache=True, error_model="numpy", parallel=True)
def see_through(
    points, bent, ways, found, share, picture, scale, nearness, absorption, scattering, scattered, view,
    # out
    light, cover,
):  # fmt: skip
    """Fill what is seen through the surface: `light` (M, 3) behind it, tinted, and from within; `cover` (M,).

    `found` is what bent rays have met (`follow_rays`); those that have met nothing leave the water after `ways` [m].
    Where something is before that place, by its `nearness` (H, W), the ray has passed behind it: the last place where
    nothing was before it stands for what cannot be seen. What is before all of a ray is tinted by where it is.
    """
    height, width = nearness.shape
    for i in prange(points.shape[0]):
        column, row, way = found[i, 0], found[i, 1], found[i, 3]
        if found[i, 2] == ZERO:
            way = ways[i]
            column, row, last = project_point(
                points[i, 0] + way * bent[i, 0], points[i, 1] + way * bent[i, 1], points[i, 2] + way * bent[i, 2], *view
            )
            first = project_point(points[i, 0], points[i, 1], points[i, 2], *view)[2]
            if last > ZERO and column >= ZERO and row >= ZERO and column < width and row < height:
                seen = nearness[int(row), int(column)]
                if found[i, 3] > ZERO and is_hidden(nearness, column, row, last):
                    column, row = beside_edge(points[i], bent[i], found[i, 3], nearness, view)
                elif seen > last:
                    depth, whole = ONE / seen - ONE / first, ONE / last - ONE / first
                    way *= min(max(depth / max(whole, LEAST), ZERO), ONE)
        shown = picture_at(picture, column, row, scale)
        passed = ONE - share[i]
        far = max(ways[i], way)  # what shows between hairs is behind all of the water
        open_part = ONE - shown[3]
        within = passed * (ONE - shown[3] * math.exp(-scattering * way) - open_part * math.exp(-scattering * far))
        mean = ZERO
        for c in range(3):
            mean += passed * math.exp(-absorption[c] * far)
            light[i, c] = passed * math.exp(-absorption[c] * way) * shown[c] + within * scattered[c]
        cover[i] = ONE - mean / np.float32(3.0) * open_part


@njit(cache=True, error_model="numpy", parallel=True)
def mirror_sky(mirrored, ground, sky, out):
    """Fill `out` (M, 3) with what comes from mirrored directions: ground below, sky above."""
    for i in prange(mirrored.shape[0]):
        up = min(max(HALF + HALF * mirrored[i, 1], ZERO), ONE)
        for c in range(3):
            out[i, c] = ground[c] + up * up * (sky[c] - ground[c])


@njit(cache=True, error_model="numpy", parallel=True)
def mirror_light(mirrored, to_light, irradiance, blurs, radius, out):
    """Add the image of a light: its irradiance over the solid angle of a lobe, `blurs` (M,) and `radius` wide [rad].

    `to_light` and `irradiance` are (M, 3) or (1, 3).
    """
    for i in prange(mirrored.shape[0]):
        j, k = min(np.int64(i), len(to_light) - 1), min(np.int64(i), len(irradiance) - 1)
        cosine = mirrored[i, 0] * to_light[j, 0] + mirrored[i, 1] * to_light[j, 1] + mirrored[i, 2] * to_light[j, 2]
        size = (blurs[i] + radius) * (blurs[i] + radius)
        lobe = math.exp(np.float32(-2.0) * (ONE - cosine) / size) / (size * np.float32(math.pi))
        for c in range(3):
            out[i, c] += lobe * irradiance[k, c]


@njit(cache=True, error_model="numpy", parallel=True)
def add_mirrored(found, around, share, picture, scale, light):
    """Add Fresnel's share of what mirrored rays have met (`follow_rays`) in the picture, before what is `around`."""
    for i in prange(found.shape[0]):
        if found[i, 2] == ZERO:
            for c in range(3):
                light[i, c] += share[i] * around[i, c]
            continue
        shown = picture_at(picture, found[i, 0], found[i, 1], scale)
        for c in range(3):
            light[i, c] += share[i] * (shown[c] + (ONE - shown[3]) * around[i, c])
