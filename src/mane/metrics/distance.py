"""How far strands are from where a reference has them."""

from __future__ import annotations

import numpy as np

from mane.geometry.checks import FloatArray
from mane.metrics import _kernels_difference as kernels
from mane.metrics.curves import Curves, as_pair


def distance(points: Curves, reference: Curves) -> FloatArray:
    """Distance of every vertex to the same vertex of a reference [m], shape (S, V), float32.

    Args:
        points: strands [m], shape (S, V, 3).
        reference: the same strands, say simulated one by one.
    """
    ours, theirs = as_pair(points, reference, "reference")
    out = np.empty(ours.shape[:2], np.float32)
    kernels.fill_distance(ours, theirs, out)
    return out
