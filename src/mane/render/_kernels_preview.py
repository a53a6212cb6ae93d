"""Numba kernels of the preview. Every pixel, vertex or direction is written by exactly one loop iteration, so the
picture does not depend on the thread count.

A projected vertex is `(x, y, nearness)`: x to the right and y down in pixels, and a nearness that grows towards the
viewer and is linear on the screen: 1/depth under perspective, minus the depth in a parallel projection.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

FASTMATH = {"reassoc", "contract", "arcp", "nsz", "afn"}
BAND_ROWS = 16  # rows of pixels that one task owns
FAR = np.float32(-3.0e38)  # nearness of an empty pixel
MAX_LINE = np.float32(14.0)  # widest line [pixels]
OPAQUE = np.float32(0.004)  # what shows through less than this cannot be seen
GRAZING = np.float32(0.9995)  # hair that lies on the skin, or a trace below it, stays visible
LINE_MARGIN = np.float32(11.0)  # how far the widest line's soft edge reaches from its axis along x or y [pixels]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def project(points, origin, right, up, back, focal, centre_x, centre_y, perspective, screen):
    """Fill `screen` (N, 3) with `(x, y, nearness)`; a point behind the eye of a perspective camera gets nearness 0."""
    for i in range(points.shape[0]):
        dx, dy, dz = points[i, 0] - origin[0], points[i, 1] - origin[1], points[i, 2] - origin[2]
        x = dx * right[0] + dy * right[1] + dz * right[2]
        y = dx * up[0] + dy * up[1] + dz * up[2]
        depth = -(dx * back[0] + dy * back[1] + dz * back[2])
        nearness = -depth
        scale = focal
        if perspective:
            nearness = np.float32(1.0) / depth if depth > np.float32(1e-4) else np.float32(0.0)
            scale = focal * nearness
        screen[i, 0] = centre_x + scale * x
        screen[i, 1] = centre_y - scale * y
        screen[i, 2] = nearness


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _edge(ax, ay, bx, by, px, py):
    """Twice the signed area of the triangle (a, b, p)."""
    return (bx - ax) * (py - ay) - (by - ay) * (px - ax)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _raster_rows(screen, faces, perspective, first_row, end_row, nearness, owner):
    """Draw the part of every triangle between two rows; the nearest wins, and the first one among equals."""
    width = nearness.shape[1]
    half = np.float32(0.5)
    for t in range(faces.shape[0]):
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
        area = _edge(xa, ya, xb, yb, xc, yc)
        if area == 0:
            continue
        inverse = np.float32(1.0) / area
        column0, column1 = max(0, int(left - half)), min(width - 1, int(right + half))
        row0, row1 = max(first_row, int(max(low - half, np.float32(0.0)))), min(end_row - 1, int(high + half))
        for row in range(row0, row1 + 1):
            py = np.float32(row) + half
            for column in range(column0, column1 + 1):
                px = np.float32(column) + half
                u = _edge(xb, yb, xc, yc, px, py) * inverse
                v = _edge(xc, yc, xa, ya, px, py) * inverse
                w = _edge(xa, ya, xb, yb, px, py) * inverse
                if u < 0 or v < 0 or w < 0:
                    continue
                here = u * wa + v * wb + w * wc
                if here > nearness[row, column]:
                    nearness[row, column] = here
                    owner[row, column] = t


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def raster_mesh(screen, faces, perspective, nearness, owner):
    """Fill the z-buffer `nearness` (H, W), and `owner` (H, W) with the triangle seen in each pixel, -1 for none."""
    height = nearness.shape[0]
    bands = (height + BAND_ROWS - 1) // BAND_ROWS
    for band in prange(bands):
        first, end = band * BAND_ROWS, min(height, (band + 1) * BAND_ROWS)
        nearness[first:end] = FAR
        owner[first:end] = -1
        _raster_rows(screen, faces, perspective, first, end, nearness, owner)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _lit(depth_map, x, y, here, bias):
    """Share of the four texels around (x, y) that do not hide a point of nearness `here`, weighted bilinearly."""
    height, width = depth_map.shape
    fx, fy = x - np.float32(0.5), y - np.float32(0.5)
    column, row = math.floor(fx), math.floor(fy)
    sx, sy = fx - np.float32(column), fy - np.float32(row)
    total = np.float32(0.0)
    for j in range(2):
        for i in range(2):
            r, c = row + j, column + i
            weight = (sx if i else np.float32(1.0) - sx) * (sy if j else np.float32(1.0) - sy)
            if r < 0 or c < 0 or r >= height or c >= width or depth_map[r, c] <= here + bias:
                total += weight
    return total


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _soft_lit(depth_map, x, y, here, bias, radius):
    """Mean of `_lit` over a disc of 12 fixed taps (a spiral), which softens the shadow's edge."""
    total = np.float32(0.0)
    for k in range(12):
        distance = radius * math.sqrt((k + 0.5) / 12.0)
        angle = 2.399963 * k  # the golden angle spreads the taps evenly
        total += _lit(
            depth_map,
            x + np.float32(distance * math.cos(angle)),
            y + np.float32(distance * math.sin(angle)),
            here,
            bias,
        )
    return total / np.float32(12.0)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def ambient_light(points, normals, faces, centre, radius, directions, rights, ups, sky, resolution, gathered):
    """Fill `gathered` (D, N) with the light that each direction sends to each vertex, blocked by the mesh itself."""
    middle = np.float32(0.5) * np.float32(resolution)
    focal = middle / radius
    texel = np.float32(1.0) / focal
    bias = np.float32(2.0) * texel  # hides the staircase of the depth map
    for d in prange(directions.shape[0]):
        screen = np.empty((points.shape[0], 3), np.float32)
        project(points, centre, rights[d], ups[d], directions[d], focal, middle, middle, False, screen)
        nearness = np.full((resolution, resolution), FAR, np.float32)
        owner = np.empty((resolution, resolution), np.int32)
        _raster_rows(screen, faces, False, 0, resolution, nearness, owner)
        for i in range(points.shape[0]):
            cosine = (
                normals[i, 0] * directions[d, 0] + normals[i, 1] * directions[d, 1] + normals[i, 2] * directions[d, 2]
            )
            light = np.float32(0.0)
            if cosine > 0:
                # Asked a little above the surface, where grazing light does not see the staircase either.
                x, y, here = screen[i, 0], screen[i, 1], screen[i, 2]
                x += normals[i, 0] * rights[d, 0] + normals[i, 1] * rights[d, 1] + normals[i, 2] * rights[d, 2]
                y -= normals[i, 0] * ups[d, 0] + normals[i, 1] * ups[d, 1] + normals[i, 2] * ups[d, 2]
                light = cosine * sky[d] * _lit(nearness, x, y, here + cosine * texel, bias)
            gathered[d, i] = light


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def into_frame(points, origin, axes, scale, local):
    """Fill `local` (P, 3) with the coordinates of `points` along the rows of `axes`, from `origin`, times `scale`."""
    for i in range(points.shape[0]):
        dx, dy, dz = points[i, 0] - origin[0], points[i, 1] - origin[1], points[i, 2] - origin[2]
        for k in range(3):
            local[i, k] = scale * (dx * axes[k, 0] + dy * axes[k, 1] + dz * axes[k, 2])


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def splat_density(cells, area, density):
    """Add each point's share of hair `area` (P,) to the eight cells of `density` around `cells` (P, 3), in order."""
    for i in range(cells.shape[0]):
        x, y, z = cells[i, 0], cells[i, 1], cells[i, 2]
        ix, iy, iz = int(x), int(y), int(z)
        fx, fy, fz = x - ix, y - iy, z - iz
        for a in range(2):
            wx = fx if a else np.float32(1.0) - fx
            for b in range(2):
                wxy = wx * (fy if b else np.float32(1.0) - fy) * area[i]
                density[ix + a, iy + b, iz] += wxy * (np.float32(1.0) - fz)
                density[ix + a, iy + b, iz + 1] += wxy * fz


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def sample_grid(grid, cells, values):
    """Fill `values` (P,) with the trilinear interpolation of `grid` at `cells` (P, 3); its border counts for beyond."""
    nx, ny, nz = grid.shape
    for i in prange(cells.shape[0]):
        x = min(max(cells[i, 0], np.float32(0.0)), np.float32(nx - 1.001))
        y = min(max(cells[i, 1], np.float32(0.0)), np.float32(ny - 1.001))
        z = min(max(cells[i, 2], np.float32(0.0)), np.float32(nz - 1.001))
        ix, iy, iz = int(x), int(y), int(z)
        fx, fy, fz = x - ix, y - iy, z - iz
        total = np.float32(0.0)
        for a in range(2):
            wx = fx if a else np.float32(1.0) - fx
            for b in range(2):
                wxy = wx * (fy if b else np.float32(1.0) - fy)
                total += wxy * ((np.float32(1.0) - fz) * grid[ix + a, iy + b, iz] + fz * grid[ix + a, iy + b, iz + 1])
        values[i] = total


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def sample_shadow(depth_map, screen, bias, values):
    """Fill `values` (P,) with the share of light that reaches points projected into a mesh's shadow map."""
    for i in prange(screen.shape[0]):
        values[i] = _lit(depth_map, screen[i, 0], screen[i, 1], screen[i, 2], bias)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _unit(x, y, z):
    inverse = np.float32(1.0) / max(np.float32(math.sqrt(x * x + y * y + z * z)), np.float32(1e-20))
    return x * inverse, y * inverse, z * inverse


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def shade_mesh(
    screen, faces, points, normals, albedo, ambient, shade, shadow_screen, shadow_map, shadow_bias, shadow_radius,
    eye, lights, light_colors, owner, image, cover,
):  # fmt: skip
    """Fill `image` (H, W, 3) with linear light and `cover` (H, W) with 1 where a triangle is seen.

    `lights` (3, 3) are directions towards key, fill and rim; `ambient` (N,) and `shade` (N,: what the hair lets
    through of the key) are interpolated over the triangle; the key is also blocked by `shadow_map`.
    """
    height, width = owner.shape
    half, one = np.float32(0.5), np.float32(1.0)
    for row in prange(height):
        for column in range(width):
            t = owner[row, column]
            if t < 0:
                cover[row, column] = 0.0
                image[row, column, :] = 0.0
                continue
            a, b, c = faces[t, 0], faces[t, 1], faces[t, 2]
            px, py = np.float32(column) + half, np.float32(row) + half
            u = _edge(screen[b, 0], screen[b, 1], screen[c, 0], screen[c, 1], px, py) * screen[a, 2]
            v = _edge(screen[c, 0], screen[c, 1], screen[a, 0], screen[a, 1], px, py) * screen[b, 2]
            w = _edge(screen[a, 0], screen[a, 1], screen[b, 0], screen[b, 1], px, py) * screen[c, 2]
            inverse = one / (u + v + w)
            u, v, w = u * inverse, v * inverse, w * inverse
            nx = u * normals[a, 0] + v * normals[b, 0] + w * normals[c, 0]
            ny = u * normals[a, 1] + v * normals[b, 1] + w * normals[c, 1]
            nz = u * normals[a, 2] + v * normals[b, 2] + w * normals[c, 2]
            nx, ny, nz = _unit(nx, ny, nz)
            ex, ey, ez = _unit(
                eye[0] - (u * points[a, 0] + v * points[b, 0] + w * points[c, 0]),
                eye[1] - (u * points[a, 1] + v * points[b, 1] + w * points[c, 1]),
                eye[2] - (u * points[a, 2] + v * points[b, 2] + w * points[c, 2]),
            )
            facing = nx * ex + ny * ey + nz * ez
            if facing < 0:  # an open mesh seen from behind
                nx, ny, nz, facing = -nx, -ny, -nz, -facing
            around = u * ambient[a] + v * ambient[b] + w * ambient[c]
            through = u * shade[a] + v * shade[b] + w * shade[c]
            key_light = through * _soft_lit(
                shadow_map,
                u * shadow_screen[a, 0] + v * shadow_screen[b, 0] + w * shadow_screen[c, 0],
                u * shadow_screen[a, 1] + v * shadow_screen[b, 1] + w * shadow_screen[c, 1],
                u * shadow_screen[a, 2] + v * shadow_screen[b, 2] + w * shadow_screen[c, 2],
                shadow_bias,
                shadow_radius,
            )
            fresnel = (one - facing) ** 5
            for channel in range(3):
                diffuse = around * light_colors[3, channel]
                gloss = np.float32(0.35) * fresnel * around
                for k in range(3):
                    cosine = nx * lights[k, 0] + ny * lights[k, 1] + nz * lights[k, 2]
                    visible = key_light if k == 0 else around
                    # Light bleeds a little past the terminator, more in red: a hint of skin under the clay.
                    wrap = np.float32(0.22) - np.float32(0.06) * np.float32(channel)
                    wrapped = max((cosine + wrap) / (one + wrap), np.float32(0.0))
                    diffuse += wrapped * visible * light_colors[k, channel]
                    hx, hy, hz = _unit(lights[k, 0] + ex, lights[k, 1] + ey, lights[k, 2] + ez)
                    spike = max(nx * hx + ny * hy + nz * hz, np.float32(0.0)) ** 24
                    gloss += (
                        (np.float32(0.10) + np.float32(0.5) * fresnel)
                        * spike
                        * max(cosine, np.float32(0.0))
                        * visible
                        * light_colors[k, channel]
                    )
                tint = u * albedo[a, channel] + v * albedo[b, channel] + w * albedo[c, channel]
                image[row, column, channel] = tint * diffuse + gloss
            cover[row, column] = 1.0


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def shade_strands(points, offsets, colors, key_seen, sky_seen, eye, lights, light_colors, shaded):
    """Fill `shaded` (P, 3): Kajiya-Kay diffuse along the tangent, and two highlights shifted apart along the strand.

    `colors` (S, 3); `key_seen` and `sky_seen` (P,) say how much of the key and of the sky reaches a point.
    """
    one, zero = np.float32(1.0), np.float32(0.0)
    for s in prange(offsets.shape[0] - 1):
        first, end = offsets[s], offsets[s + 1]
        for i in range(first, end):
            before, after = max(i - 1, first), min(i + 1, end - 1)
            tx, ty, tz = _unit(
                points[after, 0] - points[before, 0],
                points[after, 1] - points[before, 1],
                points[after, 2] - points[before, 2],
            )
            ex, ey, ez = _unit(eye[0] - points[i, 0], eye[1] - points[i, 1], eye[2] - points[i, 2])
            along_eye = tx * ex + ty * ey + tz * ez
            across_eye = np.float32(math.sqrt(max(one - along_eye * along_eye, zero)))
            red, green, blue = zero, zero, zero
            for k in range(3):
                lx, ly, lz = lights[k, 0], lights[k, 1], lights[k, 2]
                along = tx * lx + ty * ly + tz * lz
                across = np.float32(math.sqrt(max(one - along * along, zero)))
                seen = key_seen[i] if k == 0 else sky_seen[i]
                # The cosine and sine of the angle between the mirror cone's generator and the eye.
                mirror = across * across_eye - along * along_eye
                slip = across * along_eye + along * across_eye
                # Light through the strand is dimmer, and comes only from lights on the viewer's side or behind hair
                # that is lit from behind; a mild forward boost stands for it.
                forward = np.float32(0.5) + np.float32(0.5) * max(lx * ex + ly * ey + lz * ez, zero)
                white = max(mirror + np.float32(0.08) * slip, zero) ** 60 * np.float32(0.16) * forward
                tinted = max(mirror - np.float32(0.12) * slip, zero) ** 14 * np.float32(0.55) * forward
                body = np.float32(0.62) * across * forward
                red += seen * light_colors[k, 0] * (white + colors[s, 0] * (tinted + body))
                green += seen * light_colors[k, 1] * (white + colors[s, 1] * (tinted + body))
                blue += seen * light_colors[k, 2] * (white + colors[s, 2] * (tinted + body))
            ambient = np.float32(0.75) * sky_seen[i]
            shaded[i, 0] = red + ambient * light_colors[3, 0] * colors[s, 0]
            shaded[i, 1] = green + ambient * light_colors[3, 1] * colors[s, 1]
            shaded[i, 2] = blue + ambient * light_colors[3, 2] * colors[s, 2]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def segment_starts(offsets, starts):
    """Fill `starts` with the first point of every segment of every strand."""
    k = 0
    for s in range(offsets.shape[0] - 1):
        for i in range(offsets[s], offsets[s + 1] - 1):
            starts[k] = i
            k += 1


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _band_range(screen, i, height):
    """First and last band that the segment starting at point `i` may touch; (0, -1) when it is out of the picture."""
    if screen[i, 2] <= 0 or screen[i + 1, 2] <= 0:
        return 0, -1
    low = min(screen[i, 1], screen[i + 1, 1]) - LINE_MARGIN
    high = max(screen[i, 1], screen[i + 1, 1]) + LINE_MARGIN
    if high < 0 or low >= height:
        return 0, -1
    return int(max(low, np.float32(0.0))) // BAND_ROWS, int(min(high, np.float32(height - 1))) // BAND_ROWS


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def count_band_segments(screen, starts, height, counts):
    """Fill `counts` (bands,) with how many segments touch each band of rows."""
    counts[:] = 0
    for k in range(starts.shape[0]):
        first, last = _band_range(screen, starts[k], height)
        for band in range(first, last + 1):
            counts[band] += 1


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def fill_band_segments(screen, starts, height, ends, items):
    """Fill `items` with the segments of each band in the order of `starts`; `ends` enters as starts, leaves as ends."""
    for k in range(starts.shape[0]):
        first, last = _band_range(screen, starts[k], height)
        for band in range(first, last + 1):
            items[ends[band]] = starts[k]
            ends[band] += 1


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _draw_segment(screen, shaded, i, wide, first_row, end_row, nearness, image, clear):
    """Put one segment, `wide` pixels across, behind what the rows of `image` already hold, as a line with soft edges.

    Steps along the longer axis over pixel centres in a half-open interval, so that neighbours on a strand never
    cover a pixel twice. At each step it covers its exact extent across; less than a pixel is spread over two.
    """
    half, one = np.float32(0.5), np.float32(1.0)
    x0, y0, x1, y1 = screen[i, 0], screen[i, 1], screen[i + 1, 0], screen[i + 1, 1]
    dx, dy = x1 - x0, y1 - y0
    steep = abs(dy) > abs(dx)
    major_first, major_end, minor_first, minor_end = 0, nearness.shape[1], first_row, end_row
    if steep:
        x0, y0, x1, y1, dx, dy = y0, x0, y1, x1, dy, dx
        major_first, major_end, minor_first, minor_end = first_row, end_row, 0, nearness.shape[1]
    if dx == 0:
        return
    inverse = one / dx
    slope = dy * inverse
    extent = wide * np.float32(math.sqrt(one + slope * slope))
    opacity, reach = min(extent, one), half * max(extent, one) + half
    # Clamped before they become whole numbers: a point near the eye may lie far outside the picture.
    low = max(min(x0, x1) - half, np.float32(major_first - 1))
    high = min(max(x0, x1) - half, np.float32(major_end))
    for step in range(max(math.ceil(low), major_first), min(math.ceil(high), major_end)):
        s = (np.float32(step) + half - x0) * inverse
        middle = y0 + s * dy - half
        here = screen[i, 2] + s * (screen[i + 1, 2] - screen[i, 2])
        bottom = max(math.ceil(max(middle - reach, np.float32(minor_first - 1))), minor_first)
        top = min(math.floor(min(middle + reach, np.float32(minor_end))) + 1, minor_end)
        for minor in range(bottom, top):
            row, column = (step, minor) if steep else (minor, step)
            through = clear[row, column]
            if through < OPAQUE or here < nearness[row, column] * GRAZING:
                continue
            inside = reach - abs(np.float32(minor) - middle)
            weight = through * opacity * min(max(inside, np.float32(0.0)), one)
            for channel in range(3):
                color = shaded[i, channel] + s * (shaded[i + 1, channel] - shaded[i, channel])
                image[row, column, channel] += weight * color
            clear[row, column] = through - weight


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def draw_strands(screen, shaded, point_width, width_scale, items, band_start, nearness, image, clear):
    """Blend the segments `items` (nearest first within each band) into `image` (H, W, 3), premultiplied.

    `clear` (H, W) enters as ones and leaves as what still shows through the hair.
    """
    height = nearness.shape[0]
    bands = band_start.shape[0] - 1
    stride = 1
    while stride * stride < bands:
        stride += 1
    for k in prange(stride * stride):
        band = (k % stride) * stride + k // stride  # neighbours in work are far apart in the picture: even shares
        if band < bands:
            first, end = band * BAND_ROWS, min(height, (band + 1) * BAND_ROWS)
            for j in range(band_start[band], band_start[band + 1]):
                i = items[j]
                width = np.float32(0.25) * (point_width[i] + point_width[i + 1]) * (screen[i, 2] + screen[i + 1, 2])
                _draw_segment(
                    screen, shaded, i, min(width_scale * width, MAX_LINE), first, end, nearness, image, clear
                )  # fmt: skip
