"""How well strands keep their length. Hair does not stretch, so whatever shows here is the method's own error."""

from __future__ import annotations

import numpy as np

from mane.geometry.checks import FloatArray
from mane.metrics import _kernels_shape as kernels
from mane.metrics.curves import Curves, as_pair


def length_error(points: Curves, rest: Curves) -> FloatArray:
    """Length of each strand over its rest length, less one; positive where it is stretched.

    Args:
        points: strands [m], shape (S, V, 3).
        rest: the same strands at rest.

    Returns:
        Shape (S,), float32, dimensionless.
    """
    length, rest_length, _ = _compare(points, rest)
    result: FloatArray = (length / rest_length - 1.0).astype(np.float32)
    return result


def segment_error(points: Curves, rest: Curves) -> FloatArray:
    """Largest |l / l_rest - 1| among the segments of each strand; segments without rest length are left out.

    A strand may keep its length while its segments trade theirs; this sees it.

    Args:
        points: strands [m], shape (S, V, 3).
        rest: the same strands at rest.

    Returns:
        Shape (S,), float32, dimensionless.
    """
    return _compare(points, rest)[2].astype(np.float32)


def _compare(points: Curves, rest: Curves) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ours, theirs = as_pair(points, rest)
    length, rest_length, worst = np.empty((3, len(ours)))
    kernels.compare_lengths(ours, theirs, length, rest_length, worst)
    if not rest_length.all():
        raise ValueError(f"rest: strands must have a length above zero, got 0 at strand {int(rest_length.argmin())}")
    return length, rest_length, worst
