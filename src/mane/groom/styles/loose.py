"""Hairstyles that fall freely: straight, bob, wavy, curly, coily, mohawk."""

from __future__ import annotations

import numpy as np

from mane.geometry.checks import FloatArray
from mane.geometry.limits import Fraction, NotNegative, Positive
from mane.groom.groom import Groom
from mane.groom.styles import _shaping as shaping
from mane.groom.styles.head import CLEARANCE, Parting, comb, flow_from_parting, layer_heights, load_head

NO_CUT = -10.0  # a height [m] that no hair reaches
CLUMPS = 500  # wisps on a head, whatever the number of strands
CURLS = 260  # ringlets on a head
WAVE_PITCH = 0.075  # [m]
FACE_FRONT, FACE_HALF_WIDTH = 0.045, 0.06  # where hair hangs over the face [m]
FRINGE_DENSITY = 1.2  # more roots where the fringe grows, as a share of those elsewhere


def straight(strands: int, vertices: int, seed: int, *, length: Positive = 0.46, thickness: Positive = 0.014) -> Groom:
    """Long hair with a middle parting that falls below the shoulders.

    Args:
        strands: how many.
        vertices: points per strand.
        seed: of everything random.
        length: of the longest strands [m].
        thickness: of the layer of hair over the head [m].
    """
    head, rng = load_head(), np.random.default_rng(seed)
    roots = head.roots(strands, seed)
    flow = flow_from_parting(head, roots, Parting(), sweep=0.9)
    points = comb(
        head,
        roots,
        flow,
        layer_heights(head, roots, thickness, rng),
        vertices,
        length=length * shaping.spread(rng, strands, 0.05),
        cut_height=head.bust.chin[1] - 0.17 + 0.012 * rng.standard_normal(strands),
        lift=0.35,
        fall=0.05,
    )
    center = shaping.clump_centers(roots.points, CLUMPS, rng)
    points = shaping.clump(points, center, 0.55 * rng.random(strands))
    return shaping.finish(shaping.keep_outside(points, head.field, CLEARANCE), roots)


def bob(strands: int, vertices: int, seed: int, *, fringe: Fraction = 0.1, thickness: Positive = 0.016) -> Groom:
    """Chin-length hair cut level, with a fringe, which starts at the share `fringe` from the crown to the hairline.

    Args:
        strands: how many.
        vertices: points per strand.
        seed: of everything random.
        fringe: where the fringe starts, as a share of the way from the crown to the hairline.
        thickness: of the layer of hair over the head [m].
    """
    head, rng = load_head(), np.random.default_rng(seed)
    before = head.scalp.points[:, 2] - np.abs(head.scalp.points[:, 0])
    roots = head.roots(strands, seed, keep=1 + FRINGE_DENSITY * shaping.smooth_step(before, 0.0, 0.04))
    flow = flow_from_parting(head, roots, Parting(front=fringe), sweep=0.0)
    layer, length = layer_heights(head, roots, thickness, rng), 0.3 * shaping.spread(rng, strands, 0.03)
    uneven = 0.002 * rng.standard_normal(strands)
    brow, jaw = float(head.bust.brow[1]) + 0.012, float(head.bust.chin[1]) + 0.012

    def combed(cut: FloatArray) -> FloatArray:
        height = (cut + uneven).astype(np.float32)
        return comb(
            head, roots, flow, layer, vertices, length=length, cut_height=height, lift=0.4, fall=0.035, field=head.field
        )

    # What falls over the face is cut above the eyes.
    points = combed(np.full(strands, jaw))
    x, y, z = (points[..., axis] for axis in range(3))
    is_fringe = np.asarray(((y < brow) & (z > FACE_FRONT) & (np.abs(x) < FACE_HALF_WIDTH)).any(axis=1))
    points = combed(np.where(is_fringe, brow, jaw))
    center = shaping.clump_centers(roots.points, CLUMPS, rng)
    points = shaping.clump(points, center, np.where(is_fringe, 0.1, 0.4) * rng.random(strands))
    return shaping.finish(
        shaping.keep_outside(points, head.field, CLEARANCE),
        roots,
        group=is_fringe.astype(np.int32),
        group_names=("bob", "fringe"),
    )


def wavy(
    strands: int,
    vertices: int,
    seed: int,
    *,
    length: Positive = 0.40,
    wave: NotNegative = 0.008,
    thickness: Positive = 0.018,
) -> Groom:
    """Long hair, parted on the side, in loose S-waves of `wave` [m] amplitude that neighbours share.

    Args:
        strands: how many.
        vertices: points per strand.
        seed: of everything random.
        length: of the longest strands [m].
        wave: amplitude of the waves [m].
        thickness: of the layer of hair over the head [m].
    """
    head, rng = load_head(), np.random.default_rng(seed)
    roots = head.roots(strands, seed)
    flow = flow_from_parting(head, roots, Parting(side=0.025), sweep=0.8)
    points = comb(
        head,
        roots,
        flow,
        layer_heights(head, roots, thickness, rng),
        vertices,
        length=length * shaping.spread(rng, strands, 0.08),
        cut_height=head.bust.chin[1] - 0.13 + 0.02 * rng.standard_normal(strands),
        lift=0.4,
    )
    center = shaping.clump_centers(roots.points, CLUMPS // 2, rng)
    points = shaping.clump(points, center, 0.3 + 0.4 * rng.random(strands))
    # Waves that are seen lie beside each other where the hair falls: they are in step at the same height, as far as
    # neighbours are, though hair from higher up has come a longer way. All have one pitch, which the longest can draw.
    segment = np.quantile(np.linalg.norm(np.diff(points, axis=1), axis=2).mean(axis=1), 0.98)
    pitch = max(WAVE_PITCH, shaping.SEGMENTS_PER_TURN * float(segment))
    step = 0.8 * shaping.smooth_noise(roots.points[center], 0.16, rng) + 0.15 * rng.standard_normal(strands)
    points = shaping.curl(
        points,
        radius=wave * shaping.spread(rng, strands, 0.12)[center] * shaping.spread(rng, strands, 0.08),
        pitch=pitch,
        phase=step - 2 * np.pi * shaping.arc_at_height(points, float(head.bust.chin[1]))[center] / pitch,
        flatness=0.25,
        ramp=0.12,
        normals=roots.normals[center],
    )
    return shaping.finish(shaping.keep_outside(points, head.field, CLEARANCE), roots)


def curly(
    strands: int,
    vertices: int,
    seed: int,
    *,
    length: Positive = 0.27,
    radius: NotNegative = 0.0085,
    thickness: Positive = 0.035,
) -> Groom:
    """Shoulder-length curls: helices about `radius` [m] wide; hardly two strands have the same shape.

    Args:
        strands: how many.
        vertices: points per strand.
        seed: of everything random.
        length: of the longest strands, as they hang [m].
        radius: of the helices [m].
        thickness: of the layer of hair over the head [m].
    """
    head, rng = load_head(), np.random.default_rng(seed)
    roots = head.roots(strands, seed)
    center = shaping.clump_centers(roots.points, CURLS, rng)
    # Every ringlet goes its own way a little; at the front all are brushed off the face.
    flow = flow_from_parting(head, roots, Parting(side=-0.02), sweep=1.6)
    forward = shaping.smooth_step(roots.points[:, 2], 0.02, float(head.bust.front_hairline[2]))
    astray = (0.25 - 0.15 * forward)[:, None] * rng.standard_normal(flow.shape)[center]
    flow = shaping.unit_vectors(shaping.tangential(flow + astray, roots.normals))
    points = comb(
        head,
        roots,
        flow,
        layer_heights(head, roots, thickness, rng),
        vertices,
        length=length * shaping.spread(rng, strands, 0.08)[center] * shaping.spread(rng, strands, 0.06),
        cut_height=np.full(strands, NO_CUT),
        lift=0.45,
        fall=0.04,
    )
    points = shaping.clump(points, center, 0.95 - 0.3 * rng.random(strands) ** 3, start=0.0, end=0.35)
    points = shaping.curl(
        points,
        radius=radius * shaping.spread(rng, strands, 0.25)[center] * shaping.spread(rng, strands, 0.12),
        pitch=0.036 * shaping.spread(rng, strands, 0.15)[center] * shaping.spread(rng, strands, 0.015),
        phase=rng.uniform(0, 2 * np.pi, strands)[center] + 0.25 * rng.standard_normal(strands),
        hand=rng.choice([-1.0, 1.0], strands)[center],
        ramp=0.06,
    )
    return shaping.finish(shaping.keep_outside(points, head.field, CLEARANCE), roots, center=center)


def coily(strands: int, vertices: int, seed: int, *, length: Positive = 0.11, radius: NotNegative = 0.004) -> Groom:
    """Tight coils that stand off the head all round; `length` [m] is how far they reach.

    Args:
        strands: how many.
        vertices: points per strand.
        seed: of everything random.
        length: how far the coils reach off the head [m].
        radius: of the coils [m].
    """
    head, rng = load_head(), np.random.default_rng(seed)
    roots = head.roots(strands, seed)
    up = np.array([0, 0.25, 0], np.float32)
    # Off the face: the hair of the front hairline goes up and back.
    forward = shaping.smooth_step(roots.points[:, 2], 0.02, head.bust.front_hairline[2])
    start = shaping.unit_vectors(roots.normals + up + forward[:, None] * np.array([0, 0.35, -0.25], np.float32))
    end = shaping.unit_vectors(start + 0.35 * rng.standard_normal(start.shape))
    edge = shaping.smooth_step(head.bust.hairline_distance(roots.points), 0.0, 0.04)
    points = shaping.stand(
        roots.points, start, end, length * (0.45 + 0.55 * edge) * shaping.spread(rng, strands, 0.1), vertices
    )
    center = shaping.clump_centers(roots.points, 4 * CLUMPS, rng)
    points = shaping.clump(points, center, 0.8 * rng.random(strands) ** 0.5)
    points = shaping.curl(
        points,
        radius=radius * shaping.spread(rng, strands, 0.25),
        pitch=0.011 * shaping.spread(rng, strands, 0.25),
        phase=rng.uniform(0, 2 * np.pi, strands),
        hand=rng.choice([-1.0, 1.0], strands),
        ramp=0.012,
    )
    return shaping.finish(shaping.keep_outside(points, head.field, CLEARANCE), roots)


def mohawk(strands: int, vertices: int, seed: int, *, length: Positive = 0.12, strip: Positive = 0.018) -> Groom:
    """A crest along the middle of the head, `strip` [m] to either side of it, over close-cropped sides.

    Args:
        strands: how many.
        vertices: points per strand.
        seed: of everything random.
        length: of the crest [m].
        strip: how far the crest reaches to either side of the middle [m].
    """
    head, rng = load_head(), np.random.default_rng(seed)
    beside = np.abs(head.scalp.points[:, 0])
    crest_density = 1 - shaping.smooth_step(beside, 0.8 * strip, 1.1 * strip)
    roots = head.roots(strands, seed, keep=crest_density + 0.25)
    is_crest = np.abs(roots.points[:, 0]) < strip
    lean = roots.normals * np.array([0.35, 1, 1], np.float32)  # the crest closes to a blade
    tip = shaping.unit_vectors(lean - 0.25 * roots.points * np.array([1, 0, 0], np.float32) / strip)
    # Longest over the crown, shorter towards forehead and nape.
    along = roots.points - head.bust.crown
    taper = 1 - 0.45 * np.clip(np.linalg.norm(along, axis=1) / 0.17, 0, 1) ** 2
    lengths = np.where(is_crest, length * taper, 0.006) * shaping.spread(rng, strands, 0.06)
    points = shaping.stand(roots.points, shaping.unit_vectors(roots.normals), tip, lengths, vertices)
    center = shaping.clump_centers(roots.points, CLUMPS, rng)
    same_part = is_crest == is_crest[center]
    points = shaping.clump(points, center, 0.7 * rng.random(strands) * is_crest * same_part)
    return shaping.finish(
        shaping.keep_outside(points, head.field, np.minimum(CLEARANCE, 3e-4)),
        roots,
        group=np.where(is_crest, 0, 1),
        group_names=("crest", "cropped"),
    )
