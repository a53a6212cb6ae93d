"""Strands whose segments are so short that they have no direction, given a little room."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom
from mane.groom.resample import resample
from mane.groom.soundness import SHORT_SHARE, soundness_of

# Segments of a strand without any length [m]; a hair's width over ten.
POINTLIKE = 1e-5
GUIDE_SHARE = 0.05  # of the mean segment of a guide that is cut evenly and folded upon itself


def spaced(points: FloatArray, share: float = SHORT_SHARE) -> NDArray[np.float64]:
    """Return strands (S, V, 3) [m] none of whose segments is below `share` of its strand's mean one.

    A segment that is too short gets that length, along the one before it that is not (or behind it, at the root); what
    lies beyond moves along. A strand of V vertices thus moves by less than `share` of its length.
    """
    edge = np.diff(points.astype(np.float64), axis=1)
    size = np.linalg.norm(edge, axis=2)
    mean = size.mean(axis=1, keepdims=True)
    least = np.where(mean > 0, share * mean, POINTLIKE)
    short = size < least
    direction = np.divide(edge, size[..., None], out=np.zeros_like(edge), where=size[..., None] > 0)
    direction[(mean == 0)[:, 0]] = (0.0, 1.0, 0.0)
    usable = ~short | (mean == 0)
    index = np.where(usable, np.arange(edge.shape[1]), -1)
    before = np.maximum.accumulate(index, axis=1)
    first = usable.argmax(axis=1)[:, None]
    along = np.take_along_axis(direction, np.where(before >= 0, before, first)[..., None], axis=1)
    edge = np.where(short[..., None], least[..., None] * along, edge)
    start = points[:, :1].astype(np.float64)
    return np.concatenate([start, start + np.cumsum(edge, axis=1)], axis=1)


def evened(groom: Groom) -> Groom:
    """Return strands of one vertex count as guides can have them: uneven ones are cut anew, at even steps.

    ValueError where a strand has no length. Strands without a fault are left as they are.
    """
    pointlike = groom.lengths == 0
    if pointlike.any():
        raise ValueError(
            f"guides: must have a length above zero, got none at strand {int(pointlike.argmax())}; "
            "groom.repair drops such strands"
        )
    rows = np.flatnonzero(soundness_of(groom).is_uneven)
    if not len(rows):
        return groom
    count = int(groom.vertex_counts[0])
    cut = resample(groom.take(rows), vertices=count).groom
    points = groom.as_uniform().copy()
    points[rows] = spaced(cut.as_uniform(), GUIDE_SHARE)
    vertex = {}
    for name, value in groom.vertex.items():
        mixed = value.reshape(-1, count, *value.shape[1:]).copy()
        mixed[rows] = cut.vertex[name].reshape(len(rows), count, *value.shape[1:])
        vertex[name] = mixed.reshape(value.shape)
    return Groom.from_uniform(points, strand=groom.strand, vertex=vertex, group_names=groom.group_names)
