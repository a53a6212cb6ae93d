"""Numba kernels that draw solids: a z-buffer of triangles, and their surface at every sample that sees one.

Every row of samples or entry of an array is written by exactly one loop iteration, so that the picture does not depend
on the thread count.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import math

import numpy as np

from mane.simd.jit import njit, prange

FASTMATH = {"reassoc", "contract", "arcp", "nsz", "afn"}
BAND_ROWS = 16  # rows that one task owns
MARGIN = np.float32(2e-3)  # [samples] more than rounding moves an edge, of positions in pictures
FAR = np.float32(-3.0e38)  # nearness of an empty sample in a parallel projection


@njit(cache=True, error_model="numpy")
def _edge(screen, a, b, px, py):
    """Twice the signed area of the triangle of vertices `a`, `b` and the point (px, py).

    The two triangles that share an edge go through the same sums for it, in the same order and free of fastmath, and
    come to opposite numbers exactly: no point on the edge is missed by both.
    """
    if a > b:
        return -(
            (screen[a, 0] - screen[b, 0]) * (py - screen[b, 1]) - (screen[a, 1] - screen[b, 1]) * (px - screen[b, 0])
        )
    return (screen[b, 0] - screen[a, 0]) * (py - screen[a, 1]) - (screen[b, 1] - screen[a, 1]) * (px - screen[a, 0])


@njit(cache=True, error_model="numpy")
def raster_rows(screen, faces, chosen, perspective, first_row, end_row, nearness, owner):
    """Draw the part of triangles between two rows; the nearest wins, and the first one among equals.

    `chosen` are the numbers of the triangles, rising.
    """
    width = nearness.shape[1]
    half, none = np.float32(0.5), np.float32(0.0)
    for t in chosen:
        a, b, c = faces[t, 0], faces[t, 1], faces[t, 2]
        ya, yb, yc = screen[a, 1], screen[b, 1], screen[c, 1]
        low, high = min(ya, yb, yc), max(ya, yb, yc)
        if high < first_row or low > end_row:
            continue
        wa, wb, wc = screen[a, 2], screen[b, 2], screen[c, 2]
        if perspective and min(wa, wb, wc) <= 0:
            continue
        xa, xb, xc = screen[a, 0], screen[b, 0], screen[c, 0]
        left, right = min(xa, xb, xc), max(xa, xb, xc)
        if right < 0 or left > width:
            continue
        # The samples whose middles are within; small triangles often have none. Clamped before they become whole
        # numbers: a point near the eye may lie far outside the picture.
        column0 = int(math.ceil(max(left - half - MARGIN, none)))
        column1 = int(min(right - half + MARGIN, np.float32(width - 1)))
        row0 = int(math.ceil(max(low - half - MARGIN, np.float32(first_row))))
        row1 = int(min(high - half + MARGIN, np.float32(end_row - 1)))
        if column0 > column1 or row0 > row1:
            continue
        area = _edge(screen, a, b, xc, yc)
        if area == 0:
            continue
        inverse = np.float32(1.0) / area
        for row in range(row0, row1 + 1):
            py = np.float32(row) + half
            for column in range(column0, column1 + 1):
                px = np.float32(column) + half
                u = _edge(screen, b, c, px, py) * inverse
                v = _edge(screen, c, a, px, py) * inverse
                w = _edge(screen, a, b, px, py) * inverse
                if u < 0 or v < 0 or w < 0:
                    continue
                here = u * wa + v * wb + w * wc
                if here > nearness[row, column]:
                    nearness[row, column] = here
                    owner[row, column] = t


@njit(cache=True, error_model="numpy")
def band_range(screen, face, height):
    """First band of rows that a triangle may touch, and the one behind the last; the same for none."""
    ya, yb, yc = screen[face[0], 1], screen[face[1], 1], screen[face[2], 1]
    low, high = min(ya, yb, yc), max(ya, yb, yc)
    if not (high >= np.float32(0.0) and low <= np.float32(height)):
        return 0, 0
    # Rows of a band are those from its first to its end, both counted: see `raster_rows`.
    first = int(max(low - np.float32(1.0), np.float32(0.0))) // BAND_ROWS
    last = int(min(high, np.float32(height - 1))) // BAND_ROWS
    return first, last + 1


@njit(cache=True, error_model="numpy")
def list_by_band(screen, faces, height, starts):
    """Return the triangles that may touch each band of rows, rising, one band after the other; fill their `starts`."""
    starts[:] = 0
    for t in range(faces.shape[0]):
        first, end = band_range(screen, faces[t], height)
        for band in range(first, end):
            starts[band + 1] += 1
    for band in range(len(starts) - 1):
        starts[band + 1] += starts[band]
    listed, filled = np.empty(starts[-1], np.int32), starts.copy()
    for t in range(faces.shape[0]):
        first, end = band_range(screen, faces[t], height)
        for band in range(first, end):
            listed[filled[band]] = t
            filled[band] += 1
    return listed


@njit(cache=True, error_model="numpy", parallel=True)
def raster_mesh(screen, faces, perspective, empty, nearness, owner):
    """Fill the z-buffer `nearness` (H, W), `empty` where nothing is, and `owner` (H, W): the triangle seen, or -1."""
    height = nearness.shape[0]
    bands = (height + BAND_ROWS - 1) // BAND_ROWS
    starts = np.empty(bands + 1, np.int64)
    listed = list_by_band(screen, faces, height, starts)
    for band in prange(bands):
        first, end = band * BAND_ROWS, min(height, (band + 1) * BAND_ROWS)
        nearness[first:end] = empty
        owner[first:end] = -1
        chosen = listed[starts[band] : starts[band + 1]]
        raster_rows(screen, faces, chosen, perspective, first, end, nearness, owner)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def surface_at(screen, faces, attributes, owner, samples, out):
    """Fill `out` (M, C) with `attributes` (N, C) of the surface seen at `samples` (M,), perspective-correct."""
    width = owner.shape[1]
    half, one = np.float32(0.5), np.float32(1.0)
    for k in prange(samples.shape[0]):
        row, column = samples[k] // width, samples[k] % width
        t = owner[row, column]
        a, b, c = faces[t, 0], faces[t, 1], faces[t, 2]
        px, py = np.float32(column) + half, np.float32(row) + half
        u = _edge(screen, b, c, px, py) * screen[a, 2]
        v = _edge(screen, c, a, px, py) * screen[b, 2]
        w = _edge(screen, a, b, px, py) * screen[c, 2]
        inverse = one / (u + v + w)
        u, v, w = u * inverse, v * inverse, w * inverse
        for i in range(attributes.shape[1]):
            out[k, i] = u * attributes[a, i] + v * attributes[b, i] + w * attributes[c, i]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _unit(x, y, z):
    inverse = np.float32(1.0) / max(np.float32(math.sqrt(x * x + y * y + z * z)), np.float32(1e-20))
    return x * inverse, y * inverse, z * inverse


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def face_eye(points, normals, eye, to_eye):
    """Fill `to_eye` (M, 3), and turn `normals` (M, 3) to the eye's side and to unit length, in place."""
    for k in prange(points.shape[0]):
        nx, ny, nz = _unit(normals[k, 0], normals[k, 1], normals[k, 2])
        ex, ey, ez = _unit(eye[0] - points[k, 0], eye[1] - points[k, 1], eye[2] - points[k, 2])
        if nx * ex + ny * ey + nz * ez < 0:  # an open mesh seen from behind
            nx, ny, nz = -nx, -ny, -nz
        normals[k, 0], normals[k, 1], normals[k, 2] = nx, ny, nz
        to_eye[k, 0], to_eye[k, 1], to_eye[k, 2] = ex, ey, ez


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def shade_surface(normals, to_eye, albedo, to_light, light, wrap, gloss, exponent, out):
    """Add to `out` (M, 3) what a matte surface with a sheen sends to the eye from one light.

    `to_light` and `light` are (M, 3) or (1, 3); `wrap` (3,) is how far past the edge of night each colour of light
    bleeds, which is what skin does; `gloss` (M,) is the strength of the reflection, `exponent` its sharpness.
    """
    zero, one = np.float32(0.0), np.float32(1.0)
    inverse_pi = np.float32(1.0 / math.pi)
    peak = (exponent + np.float32(8.0)) / np.float32(8.0)  # so that a sharper reflection is also a brighter one
    for k in prange(normals.shape[0]):
        j = min(np.int64(k), to_light.shape[0] - 1)
        i = min(np.int64(k), light.shape[0] - 1)
        lx, ly, lz = to_light[j, 0], to_light[j, 1], to_light[j, 2]
        ex, ey, ez = to_eye[k, 0], to_eye[k, 1], to_eye[k, 2]
        nx, ny, nz = normals[k, 0], normals[k, 1], normals[k, 2]
        cosine = nx * lx + ny * ly + nz * lz
        hx, hy, hz = _unit(lx + ex, ly + ey, lz + ez)
        fresnel = np.float32(0.04) + np.float32(0.96) * (one - max(ex * hx + ey * hy + ez * hz, zero)) ** 5
        spike = max(nx * hx + ny * hy + nz * hz, zero) ** exponent
        mirror = gloss[k] * fresnel * peak * spike * max(cosine, zero)
        for c in range(3):
            # The wrapped cosine, scaled so that a sphere sends as much light as without it.
            matte = max(cosine + wrap[c], zero) / ((one + wrap[c]) * (one + wrap[c]))
            out[k, c] += light[i, c] * inverse_pi * (albedo[k, c] * matte + mirror)
