"""Values of attributes as arrays, where they are what their type promises; a damaged file may hold anything."""

from __future__ import annotations

from typing import Any

import numpy as np

from mane.geometry.checks import FloatArray, IntArray


def vectors_of(attribute: Any, time: Any) -> FloatArray:
    """Points or vectors at a `Usd.TimeCode`, shape (N, 3), float32; none where the attribute has none."""
    array = np.array(_rows(attribute, time))
    if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind != "f":
        return np.zeros((0, 3), np.float32)
    return array.astype(np.float32, copy=False)


def integers_of(attribute: Any, time: Any) -> IntArray:
    """Whole numbers at a `Usd.TimeCode`, shape (N,), int64; none where the attribute has none."""
    array = np.array(_rows(attribute, time))
    if array.ndim != 1 or array.dtype.kind not in "iu":
        return np.zeros(0, np.int64)
    return array.astype(np.int64)


def first_change(attribute: Any, values: IntArray) -> float | None:
    """First time code at which an attribute of whole numbers has other values than these, or None."""
    if attribute.ValueMightBeTimeVarying():
        for time in attribute.GetTimeSamples():
            if not np.array_equal(integers_of(attribute, time), values):
                return float(time)
    return None


def _rows(attribute: Any, time: Any) -> Any:
    value = attribute.Get(time)
    return () if value is None or not attribute.GetTypeName().isArray else value
