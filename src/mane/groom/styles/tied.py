"""Hairstyles held by a tie: ponytail and braid."""

from __future__ import annotations

import numpy as np

from mane.geometry.checks import FloatArray, IntArray
from mane.geometry.limits import Positive
from mane.groom.groom import Groom
from mane.groom.styles import _shaping as shaping
from mane.groom.styles.head import CLEARANCE, gather, load_head
from mane.groom.styles.tie_location import TieLocation

TAIL_POINTS = 160
BRAID_SETS = 3
BRAID_RADIUS = 0.017  # of the ties of a braid [m]
TUFT = 0.88  # share of the braid below which the sets fan out


def ponytail(strands: int, vertices: int, seed: int, *, length: Positive = 0.34, tie_radius: Positive = 0.016) -> Groom:
    """Hair combed tightly to a tie at the back of the head, from which a tail of `length` [m] hangs.

    Args:
        strands: how many.
        vertices: points per strand.
        seed: of everything random.
        length: of the tail below the tie [m].
        tie_radius: of the tie [m].
    """
    head, rng = load_head(), np.random.default_rng(seed)
    roots = head.roots(strands, seed)
    tie = _ponytail_tie()
    spine = _falling_spine(tie, np.array([0, 0.25, -1.0]), length, reach=0.045)
    disc = _place_in_tie(roots.points, tie, np.array([0, 0.25, -1.0]), rng)
    share = np.linspace(0, 1, TAIL_POINTS, dtype=np.float32)
    # Held at the tie, full below it, gathered again towards the tips.
    fullness = np.float32(tie_radius) * (
        1 + 0.9 * shaping.smooth_step(share, 0.0, 0.35) - 1.5 * shaping.smooth_step(share, 0.4, 1.0)
    )
    tails = _tails_around(spine, disc, fullness)
    tails = _cut_tails(tails, 1 - np.float32(0.35) * rng.random(strands, np.float32) ** 2)
    points = gather(head, roots, tails, _combed_layer(roots.points, tie, rng), vertices)
    center = shaping.clump_centers(roots.points, 250, rng)
    points = shaping.clump(points, center, 0.5 * rng.random(strands), start=0.3)
    return shaping.finish(shaping.keep_outside(points, head.field, CLEARANCE), roots)


def braid(strands: int, vertices: int, seed: int, *, length: Positive = 0.27, crossing: Positive = 0.032) -> Groom:
    """Hair gathered at the nape into three sets that are plaited; `crossing` [m] is the way from one turn to the next.

    The set of each strand is its group: `left`, `middle` and `right` as they enter the braid.

    Args:
        strands: how many.
        vertices: points per strand.
        seed: of everything random.
        length: of the braid [m].
        crossing: from one turn of the plait to the next [m].
    """
    head, rng = load_head(), np.random.default_rng(seed)
    roots = head.roots(strands, seed)
    spine = _braid_spine(length)
    tie = spine[0]
    which = _sets_by_side(roots.points)
    disc = _place_in_tie(roots.points, tie, np.array([0, -0.4, -1.0]), rng)
    tails = _plait(spine, disc, which, length, crossing)
    tails = _cut_tails(tails, 1 - np.float32(0.06) * rng.random(strands, np.float32))
    points = gather(head, roots, tails, _combed_layer(roots.points, tie, rng), vertices)
    return shaping.finish(
        shaping.keep_outside(points, head.field, CLEARANCE), roots, group=which, group_names=("left", "middle", "right")
    )


def ponytail_ties(*, length: float, tie_radius: float) -> tuple[TieLocation, ...]:
    """Return the place of the one tie, from which the tail hangs."""
    return (TieLocation(_ponytail_tie(), tie_radius, at_head=True),)


def braid_ties(*, length: float, crossing: float) -> tuple[TieLocation, ...]:
    """Return the places of two ties: where the sets enter the braid, and above the tuft that they end in."""
    spine = _braid_spine(length)
    end = round(TUFT * (TAIL_POINTS - 1))
    return TieLocation(spine[0], BRAID_RADIUS, at_head=True), TieLocation(spine[end], BRAID_RADIUS, at_head=False)


def _ponytail_tie() -> FloatArray:
    tie: FloatArray = load_head().bust.crown + np.array([0, -0.045, -0.098], np.float32)
    return tie


def _braid_spine(length: float) -> FloatArray:
    bust = load_head().bust
    start = np.array([0, bust.chin[1] + 0.06, bust.nape[2] - 0.024], np.float32)
    return _falling_spine(start, np.array([0, -0.75, -0.65]), length, reach=0.05)


def _combed_layer(points: FloatArray, tie: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Height above the skin (S,): strands from further away lie on those nearer to the tie."""
    far = np.linalg.norm(points - tie, axis=1)
    result: FloatArray = (CLEARANCE + 0.006 * far / far.max() + 0.002 * rng.random(len(points))).astype(np.float32)
    return result


def _falling_spine(start: FloatArray, direction: FloatArray, length: float, reach: float) -> FloatArray:
    """A curve (T, 3) that leaves along `direction` and turns down over `reach` metres."""
    step = length / (TAIL_POINTS - 1)
    heading = shaping.unit_vectors(direction)
    points = [np.asarray(start, np.float32)]
    for _ in range(TAIL_POINTS - 1):
        points.append(points[-1] + step * heading)
        heading = shaping.unit_vectors(heading + (step / reach) * (np.array([0, -1, 0], np.float32) - heading))
    return np.stack(points).astype(np.float32)


def _place_in_tie(roots: FloatArray, tie: FloatArray, axis: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Where each strand passes through the tie, as (S, 2) in a unit disc: on the side that it comes from."""
    normal = shaping.unit_vectors(axis)
    across = np.array([1, 0, 0], np.float32)
    upward = np.cross(normal, across)
    from_tie = roots - tie
    angle = np.arctan2(from_tie @ upward, from_tie @ across) + 0.25 * rng.standard_normal(len(roots))
    # Even over the disc: strands from further away pass on the outside.
    rank = np.argsort(np.argsort(np.linalg.norm(from_tie, axis=1) + 0.02 * rng.standard_normal(len(roots))))
    radius = np.sqrt((rank + 0.5) / len(roots))
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).astype(np.float32)


def _across_spine(spine: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two directions across a spine that lies in the plane of symmetry, both of shape (T, 3)."""
    tangent = shaping.unit_vectors(np.gradient(spine, axis=0))
    across = np.broadcast_to(np.array([1, 0, 0], np.float32), tangent.shape)
    return across, np.cross(tangent, across).astype(np.float32)


def _tails_around(spine: FloatArray, disc: FloatArray, fullness: FloatArray) -> FloatArray:
    """Tails (S, T, 3) that run beside a spine (T, 3) at their place in the disc times `fullness` (T,) metres."""
    across, depth = _across_spine(spine)
    offset = disc[:, 0, None, None] * across - disc[:, 1, None, None] * depth
    tails: FloatArray = (spine + offset * fullness[:, None]).astype(np.float32)
    return tails


def _plait(spine: FloatArray, disc: FloatArray, which: IntArray, length: float, crossing: float) -> FloatArray:
    """Tails (S, T, 3) of a three-strand braid: each set swings from side to side, a third of a turn after the last.

    Seen along the braid a set moves on a figure of eight (side to side once, in and out twice), which is what makes
    neighbours pass over and under each other in turn.
    """
    share = np.linspace(0, 1, TAIL_POINTS, dtype=np.float32)
    across, depth = _across_spine(spine)
    turn = 2 * np.pi * (share * length / (3 * crossing))[None] + (2 * np.pi / BRAID_SETS) * which[:, None]
    taper = 1 - 0.55 * share**1.5
    opened = shaping.smooth_step(share, 0.0, 0.06)
    side = 0.0185 * taper * opened * np.sin(turn)
    lift = 0.0115 * taper * opened * np.sin(2 * turn)
    # The sets fan out into a tuft below the last crossing.
    thick = 0.0135 * taper * (1.25 - 0.25 * opened + 0.9 * shaping.smooth_step(share, TUFT, 1.0))
    offset_x = (side + disc[:, :1] * thick).astype(np.float32)
    offset_z = (lift + disc[:, 1:] * thick).astype(np.float32)
    result: FloatArray = spine + offset_x[..., None] * across - offset_z[..., None] * depth
    return result


def _sets_by_side(points: FloatArray) -> IntArray:
    """Share the strands out to the three sets from left to right, equally many each, shape (S,)."""
    rank = np.argsort(np.argsort(-points[:, 0], kind="stable"), kind="stable")
    return rank * BRAID_SETS // len(points)


def _cut_tails(tails: FloatArray, factor: FloatArray) -> FloatArray:
    """End each tail (S, T, 3) at the share `factor` (S,) of its length, by moving its points along it."""
    count = tails.shape[1]
    place = np.linspace(0, 1, count)[None] * np.clip(factor, 0.2, 1.0)[:, None] * (count - 1)
    before = np.minimum(place.astype(np.int64), count - 2)
    share = (place - before).astype(np.float32)[..., None]
    rows = np.arange(len(tails))[:, None]
    cut: FloatArray = tails[rows, before] * (1 - share) + tails[rows, before + 1] * share
    return cut
