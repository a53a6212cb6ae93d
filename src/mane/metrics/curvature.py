"""Curvature and torsion of strands, and how far two distributions of such numbers lie apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mane.geometry.checks import FloatArray, require_finite
from mane.metrics import _kernels_shape as kernels
from mane.metrics.curves import Curves, as_curves

# Where a vertex turns by less [rad], the plane of its bend is mostly rounding, and torsion means nothing.
MIN_TURN = 0.01


def curvature(points: Curves) -> FloatArray:
    """Curvature at every inner vertex [1/m], shape (S, V - 2), float32; `points` [m], shape (S, V, 3).

    Exact for evenly sampled circles at any resolution, second order in the segment length for other smooth curves.
    """
    curves = as_curves("points", points, 3)
    out = np.empty((len(curves), curves.shape[1] - 2), np.float32)
    kernels.fill_curvature(curves, out)
    return out


def torsion(points: Curves) -> FloatArray:
    """Torsion of every inner segment [1/m], shape (S, V - 3), float32; `points` [m], shape (S, V, 3).

    Positive for right-handed helices, second order in the segment length. Zero where the strand hardly bends (either
    end of the segment turns by less than `MIN_TURN`), since a straight run has no torsion.
    """
    curves = as_curves("points", points, 4)
    out = np.empty((len(curves), curves.shape[1] - 3), np.float32)
    kernels.fill_torsion(curves, MIN_TURN, out)
    return out


def distribution_distance(values: ArrayLike, reference: ArrayLike) -> float:
    """How far two samples of the same size lie apart as distributions, in their own unit (first Wasserstein distance).

    It is the mean |difference| once both are sorted: which strand holds which value does not matter, so a head whose
    curls have only moved along the strands is at distance zero from rest.

    Args:
        values: a sample, any shape.
        reference: another with as many numbers.
    """
    ours = np.sort(np.asarray(values, np.float32), axis=None)
    theirs = np.sort(np.asarray(reference, np.float32), axis=None)
    if ours.size != theirs.size or ours.size == 0:
        raise ValueError(f"reference: must hold as many values as values ({ours.size}, at least 1), got {theirs.size}")
    require_finite("values", ours)
    require_finite("reference", theirs)
    return float(np.abs(ours - theirs).mean(dtype=np.float64))


def curvature_distance(points: Curves, rest: Curves) -> float:
    """Distance between the curvatures of all vertices and those at rest, as distributions [1/m].

    Args:
        points: strands [m], shape (S, V, 3).
        rest: the same strands at rest.
    """
    return distribution_distance(curvature(points), curvature(rest))


def torsion_distance(points: Curves, rest: Curves) -> float:
    """Distance between the torsions of all segments and those at rest, as distributions [1/m].

    Args:
        points: strands [m], shape (S, V, 3).
        rest: the same strands at rest.
    """
    return distribution_distance(torsion(points), torsion(rest))
