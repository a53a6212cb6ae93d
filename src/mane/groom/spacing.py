"""Strands whose segments are so short that they have no direction, given a little room."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray
from mane.groom import _kernels_soundness as kernels
from mane.groom.groom import Groom
from mane.groom.resample import resample
from mane.groom.soundness import SHORT_SHARE

# Segments below these shares of the coordinates have no direction in float32, whose last digit is 2^-24.
HAIR_FLOOR, GUIDE_FLOOR = 2.0**-20, 2.0**-17
GUIDE_SHARE = 0.05  # of the mean segment of a guide; with less, rounding shows in the loads that bend it
UP = (0.0, 1.0, 0.0)  # where a strand of one point goes


def short_segments(points: FloatArray, share: float, floor: float) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Segments of strands (S, V, 3) that are too short, (S, N), and what they should have at least [m], (S, 1)."""
    size = np.linalg.norm(np.diff(points.astype(np.float64), axis=1), axis=2)
    reach = np.abs(points).max(axis=(1, 2)).astype(np.float64)[:, None]
    least = np.maximum(share * size.mean(axis=1, keepdims=True), floor * np.maximum(reach, np.finfo(np.float32).tiny))
    return size < least, least


def strands_with_short_segments(points: FloatArray, share: float, floor: float) -> NDArray[np.int64]:
    """Numbers of strands (S, V, 3) that have segments which are too short, rising."""
    found = np.empty(len(points), np.bool_)
    kernels.find_short(points, share, floor, found)
    return np.flatnonzero(found)


def spaced(points: FloatArray, share: float = SHORT_SHARE, floor: float = HAIR_FLOOR) -> NDArray[np.float64]:
    """Return strands (S, V, 3) [m] none of whose segments is too short to have a direction.

    A segment below `share` of its strand's mean, or `floor` of its coordinates, gets that length, along the one before
    it that has a direction (or behind it, at the root); what lies beyond moves along.
    """
    short, least = short_segments(points, share, floor)
    edge = np.diff(points.astype(np.float64), axis=1)
    size = np.linalg.norm(edge, axis=2, keepdims=True)
    direction = np.divide(edge, size, out=np.broadcast_to(UP, edge.shape).copy(), where=size > 0)
    usable = ~short
    usable[short.all(axis=1), 0] = True
    before = np.maximum.accumulate(np.where(usable, np.arange(edge.shape[1]), -1), axis=1)
    first = usable.argmax(axis=1)[:, None]
    along = np.take_along_axis(direction, np.where(before >= 0, before, first)[..., None], axis=1)
    edge = np.where(short[..., None], least[..., None] * along, edge)
    start = points[:, :1].astype(np.float64)
    return np.concatenate([start, start + np.cumsum(edge, axis=1)], axis=1)


def evened(groom: Groom) -> Groom:
    """Return strands of one vertex count as guides can have them: uneven ones are cut anew, at even steps.

    Strands whose segments all have a direction, and none of which is far too short, are left as they are.
    """
    rows = strands_with_short_segments(groom.as_uniform(), GUIDE_SHARE, GUIDE_FLOOR)
    if not len(rows):
        return groom
    count = int(groom.vertex_counts[0])
    cut = resample(groom.take(rows), vertices=count).groom
    points = groom.as_uniform().copy()
    points[rows] = spaced(cut.as_uniform(), GUIDE_SHARE, GUIDE_FLOOR)
    vertex = {}
    for name, value in groom.vertex.items():
        mixed = value.reshape(-1, count, *value.shape[1:]).copy()
        mixed[rows] = cut.vertex[name].reshape(len(rows), count, *value.shape[1:])
        vertex[name] = mixed.reshape(value.shape)
    return Groom.from_uniform(points, strand=groom.strand, vertex=vertex, group_names=groom.group_names)
