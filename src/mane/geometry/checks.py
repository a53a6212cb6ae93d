"""Checks of arrays at the door, so that everything behind it may trust them.

Every message says where, what was expected, what came, and which element was the first offender.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

# One entry per axis: an exact size, or a letter that stands for any size and is only shown in messages.
Shape = Sequence[int | str]


def shape_text(shape: Shape) -> str:
    """Write a shape as people do: `(S, 3)`, `(P,)`."""
    inner = ", ".join(str(size) for size in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def _fits(actual: tuple[int, ...], shape: Shape) -> bool:
    return len(actual) == len(shape) and all(
        isinstance(want, str) or have == want for have, want in zip(actual, shape, strict=True)
    )


def as_array(name: str, value: ArrayLike, shape: Shape, dtype: DTypeLike) -> NDArray[Any]:
    """Return `value` as a C-contiguous array of `dtype`, or say why it cannot be one. Copies only when it must."""
    try:
        array = np.asarray(value)
        if array.dtype == object:
            raise ValueError("rows of different length or objects that are no numbers")
        if array.dtype.kind not in "biuf":
            raise ValueError(f"dtype {array.dtype}")
        if np.issubdtype(dtype, np.integer) and array.dtype.kind == "f" and array.size:
            raise ValueError(f"dtype {array.dtype}, which cannot serve as whole numbers")
        # A float64 too large for float32 becomes infinite here; `require_finite` names it.
        with np.errstate(over="ignore", invalid="ignore"):
            array = np.ascontiguousarray(array.astype(dtype, copy=False))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name}: must be numbers of shape {shape_text(shape)}, got {error}") from None
    if not _fits(array.shape, shape):
        raise ValueError(f"{name}: must have shape {shape_text(shape)}, got {shape_text(array.shape)}")
    return array


def as_floats(name: str, value: ArrayLike, shape: Shape) -> FloatArray:
    """Return `value` as finite float32 of the given shape, or raise ValueError naming the first offender."""
    array: FloatArray = as_array(name, value, shape, np.float32)
    require_finite(name, array)
    return array


def require_finite(name: str, array: NDArray[Any]) -> None:
    """Raise ValueError naming the first element along axis 0 that is NaN or infinite."""
    row = first_not_finite(array)
    if row is not None:
        bad = array[row].reshape(-1)
        raise ValueError(f"{name}: must be finite, got {bad[~np.isfinite(bad)][0]} at index {row}")


def first_not_finite(array: NDArray[Any]) -> int | None:
    """Index along axis 0 of the first row with a NaN or infinite value, or None."""
    if np.isfinite(array).all():
        return None
    rows = ~np.isfinite(array).reshape(len(array), -1).all(axis=1)
    return int(rows.argmax())


def require_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise ValueError unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{name}: {value!r} is unknown; choose from {', '.join(sorted(choices))}")


def require_positive(name: str, value: float) -> None:
    """Raise ValueError unless `value` is a finite number above zero."""
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name}: must be a finite number above zero, got {value}")


def require_seed(seed: int) -> None:
    """Raise ValueError unless `seed` is a whole number from 0 on."""
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed: must be a whole number of at least 0, got {seed!r}")
