"""Numba kernels of light on hair. Every vertex is written by one loop iteration: threads cannot change the result.

A packed look is one flat float32 vector: a header of settings, then the tables of the lobe model. The axes of the
tables are the azimuth phi (0 to pi), the cosine of theta_d (0 to 1) and the square root of the pigment's transmittance
(0 to 1), all evenly spaced and read linearly. `_reference_shading.py` holds the same sums without tables.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import math

import numpy as np

from mane.simd.jit import njit, prange

FASTMATH = {"reassoc", "contract", "arcp", "nsz", "afn"}

KAJIYA, MARSCHNER = 0, 1

# Where each number of the header sits.
MODEL = 0
DENSITY = 1  # optical depth per hair that the light meets
MULTIPLE = 2  # share of the light from fibre to fibre that is kept
DIFFUSE = 3  # Kajiya-Kay only, up to BACKWARD
SPECULAR = 4
EXPONENT = 5
TRANSMIT = 6
BACKWARD = 7
INV_VARIANCE = 8  # four lobes, then light scattered by few and by many fibres
NORM = 14  # the same six
COS_SHIFT = 20  # four lobes
SIN_SHIFT = 24
DIFFUSE_PATH = 28  # how much longer slanting light stays at a given depth
LOSS = 29  # one, and the share of scattered light that leaks out at each hair
FEW = 30  # one over the depth at which light counts as scattered by many
HEADER_SIZE = 31

LOBES = 4
PHI_NODES, COSINE_NODES, PIGMENT_NODES = 97, 24, 20
SPREAD_PHI_NODES = 13
BALANCE_NODES = 65  # over tan(theta / 2) from -1 to 1

LOBE_TABLE = HEADER_SIZE  # (phi, cosine, pigment, lobe): N_p
SPREAD_TABLE = LOBE_TABLE + PHI_NODES * COSINE_NODES * PIGMENT_NODES * LOBES  # (phi, cosine, pigment, front or rear)
# The middle of the sky, an eighth of a turn from the eye: the mean over the visible half of a ball of hair.
SKY_SPREAD = SPREAD_TABLE + (SPREAD_PHI_NODES - 1) // 4 * COSINE_NODES * PIGMENT_NODES * 2
SHARE_TABLE = SPREAD_TABLE + SPREAD_PHI_NODES * COSINE_NODES * PIGMENT_NODES * 2  # (cosine, pigment, hair_mass.Shares)
SHARE_FIELDS = 4
FORWARD, BACKWARD_HALF, BEAM_FORWARD, BEAM_BACKWARD = range(SHARE_FIELDS)
LIGHT_BALANCE = SHARE_TABLE + COSINE_NODES * PIGMENT_NODES * SHARE_FIELDS
EYE_BALANCE = LIGHT_BALANCE + BALANCE_NODES
PACKED_SIZE = EYE_BALANCE + BALANCE_NODES

ZERO, HALF, ONE, TWO = np.float32(0.0), np.float32(0.5), np.float32(1.0), np.float32(2.0)
PI = np.float32(math.pi)
LOG2_E, LN_2, SIXTH = np.float32(1.0 / math.log(2.0)), np.float32(math.log(2.0)), np.float32(1.0 / 6.0)
TINY = np.float32(1e-12)
NARROWEST = np.float32(1e-3)  # share of the sky below which there is none to speak of
SAME_RATE = np.float32(1e-3)  # two exponentials this close are one


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _dot(a, i, b, j):
    return a[i, 0] * b[j, 0] + a[i, 1] * b[j, 1] + a[i, 2] * b[j, 2]


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _cosine(sine):
    return np.float32(math.sqrt(max(ONE - sine * sine, ZERO)))


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _exp(x):
    """e ** x for x up to some 80, to five digits: Taylor's series, times a power of two that is put together as bits.

    A fifth of the whole shading went into calls of the library's function.
    """
    y = max(x * LOG2_E, np.float32(-126.0))
    whole = np.float32(math.floor(y + HALF))
    r = (y - whole) * LN_2
    series = ONE + r * (ONE + r * (HALF + r * (SIXTH + r * (SIXTH / np.float32(4.0) + r * SIXTH / np.float32(20.0)))))
    return series * np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)).view(np.float32)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _cell(position, nodes):
    """The lower node of the cell that holds `position` (0 to 1), and how far into the cell it is."""
    scaled = min(max(position, ZERO), ONE) * np.float32(nodes - 1)
    node = min(np.int64(scaled), nodes - 2)
    return node, scaled - np.float32(node)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _longitudinal(look, k, sines, cosines):
    """M of lobe k, given the products of the two angles' sines and of their cosines; see fibre.longitudinal."""
    inverse = look[INV_VARIANCE + k]
    cosines = abs(cosines)
    width = TWO * cosines * inverse
    mean = ONE
    if width > np.float32(16.0):
        mean = ONE / width
    elif width > np.float32(1e-3):
        mean = (ONE - _exp(-width)) / width
    return look[NORM + k] * _exp((cosines - sines - ONE) * inverse) * mean


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _lobe_weight(look, p, sin_light, cos_light, sin_eye, cos_eye):
    """M of lobe p with the eye's angle moved back by the lobe's shift."""
    cos_shift, sin_shift = look[COS_SHIFT + p], look[SIN_SHIFT + p]
    sines = sin_light * (sin_eye * cos_shift - cos_eye * sin_shift)
    return _longitudinal(look, p, sines, cos_light * (cos_eye * cos_shift + sin_eye * sin_shift))


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _balance(look, table, sine, cosine):
    node, part = _cell(HALF * (ONE + sine / (ONE + cosine)), BALANCE_NODES)
    return look[table + node] * (ONE - part) + look[table + node + 1] * part


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _lobe_sum(look, start, pigment, m0, m1, m2, m3):
    """Sum of M_p N_p between two pigment nodes of one corner of the table."""
    low = m0 * look[start] + m1 * look[start + 1] + m2 * look[start + 2] + m3 * look[start + 3]
    high = m0 * look[start + 4] + m1 * look[start + 5] + m2 * look[start + 6] + m3 * look[start + 7]
    return low + pigment * (high - low)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _share(look, corner, next_cosine, cosine, pigment, field):
    """One of the shares of light that a fibre sends on or back, between two cosines and two pigments."""
    a, b = look[corner + field], look[corner + SHARE_FIELDS + field]
    c, d = look[corner + next_cosine + field], look[corner + next_cosine + SHARE_FIELDS + field]
    low, high = a + pigment * (b - a), c + pigment * (d - c)
    return low + cosine * (high - low)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _turned(lost, turned_back):
    """Decay of scattered light per hair, and backward light per forward light; see hair_mass.solve_streams."""
    rate = np.float32(math.sqrt(max(lost * lost - turned_back * turned_back, ZERO)))
    return rate, (lost - rate) / max(turned_back, TINY)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH)
def _spread(look, start, pigment, front, rear):
    """Answer of one corner's fibre to light from the front and from the rear half of the azimuths."""
    low = front * look[start] + rear * look[start + 1]
    high = front * look[start + 2] + rear * look[start + 3]
    return low + pigment * (high - low)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def shade_marschner(look, tangents, to_eye, colors, to_light, light_rgb, scatter, out):
    """Add one light to `out`: direct light by the lobes, and light that other hairs have scattered before."""
    direction_step, light_step = min(to_light.shape[0] - 1, 1), min(light_rgb.shape[0] - 1, 1)
    pigment_row = PIGMENT_NODES * LOBES
    phi_row = COSINE_NODES * pigment_row
    spread_row = PIGMENT_NODES * 2
    spread_phi_row = COSINE_NODES * spread_row
    share_row = PIGMENT_NODES * SHARE_FIELDS
    for i in prange(tangents.shape[0]):
        j, lamp = np.int64(i) * direction_step, np.int64(i) * light_step
        if light_rgb[lamp, 0] + light_rgb[lamp, 1] + light_rgb[lamp, 2] <= ZERO:
            continue
        sin_light, sin_eye = _dot(tangents, i, to_light, j), _dot(tangents, i, to_eye, i)
        cos_light, cos_eye = _cosine(sin_light), _cosine(sin_eye)
        sines, cosines = sin_light * sin_eye, cos_light * cos_eye
        cos_phi = (_dot(to_light, j, to_eye, i) - sines) / max(cosines, TINY)
        turn = np.float32(math.acos(min(max(cos_phi, -ONE), ONE))) * np.float32(1.0 / math.pi)
        cos_d = np.float32(math.sqrt(max(HALF * (ONE + cosines + sines), ZERO)))

        m0 = _lobe_weight(look, 0, sin_light, cos_light, sin_eye, cos_eye)
        m1 = _lobe_weight(look, 1, sin_light, cos_light, sin_eye, cos_eye)
        m2 = _lobe_weight(look, 2, sin_light, cos_light, sin_eye, cos_eye)
        m3 = _lobe_weight(look, 3, sin_light, cos_light, sin_eye, cos_eye)
        hairs = look[DENSITY] * scatter[i]
        direct = _exp(-hairs)
        few = ONE / (ONE + look[FEW] * hairs)
        many = _longitudinal(look, 5, sines, cosines)
        spread_m = look[MULTIPLE] * (many + few * (_longitudinal(look, 4, sines, cosines) - many))
        balance = _balance(look, LIGHT_BALANCE, sin_light, cos_light) * _balance(look, EYE_BALANCE, sin_eye, cos_eye)
        lobe_light = direct * balance

        phi, phi_part = _cell(turn, PHI_NODES)
        wide, wide_part = _cell(turn, SPREAD_PHI_NODES)
        cosine, part = _cell(cos_d, COSINE_NODES)
        for c in range(3):
            pigment, share = _cell(np.float32(math.sqrt(max(colors[i, c], ZERO))), PIGMENT_NODES)
            start = LOBE_TABLE + phi * phi_row + cosine * pigment_row + pigment * LOBES
            near = _lobe_sum(look, start, share, m0, m1, m2, m3)
            near += part * (_lobe_sum(look, start + pigment_row, share, m0, m1, m2, m3) - near)
            start += phi_row
            far = _lobe_sum(look, start, share, m0, m1, m2, m3)
            far += part * (_lobe_sum(look, start + pigment_row, share, m0, m1, m2, m3) - far)
            lobes = near + phi_part * (far - near)

            corner = SHARE_TABLE + cosine * share_row + pigment * SHARE_FIELDS
            lost = look[DIFFUSE_PATH] * (look[LOSS] - _share(look, corner, share_row, part, share, FORWARD))
            turned_back = look[DIFFUSE_PATH] * _share(look, corner, share_row, part, share, BACKWARD_HALF)
            rate, turned = _turned(lost, turned_back)
            beam_forward = look[DIFFUSE_PATH] * _share(look, corner, share_row, part, share, BEAM_FORWARD)
            beam_backward = look[DIFFUSE_PATH] * _share(look, corner, share_row, part, share, BEAM_BACKWARD)
            first = (beam_backward + turned * beam_forward) / (ONE + rate)
            slower = ONE - rate
            front = hairs * direct if abs(slower) < SAME_RATE else (_exp(-rate * hairs) - direct) / slower
            front *= beam_forward + turned_back * first
            rear = turned * front + first * direct

            start = SPREAD_TABLE + wide * spread_phi_row + cosine * spread_row + pigment * 2
            near = _spread(look, start, share, front, rear)
            near += part * (_spread(look, start + spread_row, share, front, rear) - near)
            start += spread_phi_row
            far = _spread(look, start, share, front, rear)
            far += part * (_spread(look, start + spread_row, share, front, rear) - far)
            scattered = near + wide_part * (far - near)

            out[i, c] += light_rgb[lamp, c] * cos_light * (lobe_light * lobes + spread_m * scattered)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def shade_marschner_ambient(look, tangents, to_eye, colors, sky_rgb, scatter, openness, out):
    """Add light that comes from everywhere to `out`: open sky, and beyond hair what the hair lets through.

    What is seen is open towards the eye, so the open share of the sky is taken to lie on the eye's side first.
    """
    sky_step, openness_step = min(sky_rgb.shape[0] - 1, 1), min(openness.shape[0] - 1, 1)
    spread_row = PIGMENT_NODES * 2
    share_row = PIGMENT_NODES * SHARE_FIELDS
    for i in prange(tangents.shape[0]):
        k, o = np.int64(i) * sky_step, np.int64(i) * openness_step
        cosine, part = _cell(_cosine(_dot(tangents, i, to_eye, i)), COSINE_NODES)
        without_solids = max(openness[o], NARROWEST)
        open_share = TWO * without_solids * _exp(-look[DENSITY] * scatter[i])
        open_front, open_rear = min(max(open_share, TINY), ONE), min(max(open_share - ONE, ZERO), ONE)
        hairs_front = -np.float32(math.log(open_front))
        for c in range(3):
            pigment, share = _cell(np.float32(math.sqrt(max(colors[i, c], ZERO))), PIGMENT_NODES)
            corner = SHARE_TABLE + cosine * share_row + pigment * SHARE_FIELDS
            lost = look[DIFFUSE_PATH] * (look[LOSS] - _share(look, corner, share_row, part, share, FORWARD))
            turned_back = look[DIFFUSE_PATH] * _share(look, corner, share_row, part, share, BACKWARD_HALF)
            rate, turned = _turned(lost, turned_back)
            inside = _exp(-rate * hairs_front)
            front = open_front + look[MULTIPLE] * (inside - open_front)
            rear = open_rear + look[MULTIPLE] * (ONE - open_rear) * turned * inside
            start = SKY_SPREAD + cosine * spread_row + pigment * 2
            answer = _spread(look, start, share, front, rear)
            answer += part * (_spread(look, start + spread_row, share, front, rear) - answer)
            out[i, c] += PI * answer * sky_rgb[k, c] / without_solids


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def shade_kajiya(look, tangents, to_eye, colors, to_light, light_rgb, scatter, out):
    """Add the light of Kajiya and Kay's model, with Goldman's split into reflected and transmitted, to `out`."""
    direction_step, light_step = min(to_light.shape[0] - 1, 1), min(light_rgb.shape[0] - 1, 1)
    for i in prange(tangents.shape[0]):
        j, lamp = np.int64(i) * direction_step, np.int64(i) * light_step
        sin_light, sin_eye = _dot(tangents, i, to_light, j), _dot(tangents, i, to_eye, i)
        cos_light, cos_eye = _cosine(sin_light), _cosine(sin_eye)
        side = (_dot(to_light, j, to_eye, i) - sin_light * sin_eye) / max(cos_light * cos_eye, TINY)
        direction = HALF * ((ONE + side) * look[BACKWARD] + (ONE - side) * look[TRANSMIT])
        mirror = max(cos_light * cos_eye - sin_light * sin_eye, ZERO)
        highlight = look[SPECULAR] * mirror ** look[EXPONENT]
        reach = _exp(-look[DENSITY] * scatter[i]) * direction
        for c in range(3):
            out[i, c] += reach * light_rgb[lamp, c] * (look[DIFFUSE] * cos_light * colors[i, c] + highlight)


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def shade_kajiya_ambient(look, colors, sky_rgb, scatter, out):
    """Add light that comes from everywhere, dimmed by the hair around, to `out`."""
    sky_step = min(sky_rgb.shape[0] - 1, 1)
    for i in prange(colors.shape[0]):
        k = np.int64(i) * sky_step
        reach = _exp(-look[DENSITY] * scatter[i])
        for c in range(3):
            out[i, c] += reach * sky_rgb[k, c] * colors[i, c]
