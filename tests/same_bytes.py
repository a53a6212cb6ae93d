"""Whether two results are the same to the last bit, and if not, where they differ first."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import Any

import numpy as np

SHOWN = 5  # differences that a message names


def same_bytes(one: Any, two: Any) -> None:
    """Fail unless both are the same bytes: arrays, numbers, text, and tuples, lists, dicts and dataclasses of them."""
    found = list(islice(_differences("result", one, two), SHOWN))
    assert not found, "; ".join(found)


def _differences(name: str, one: Any, two: Any) -> Iterator[str]:
    if type(one) is not type(two):
        yield f"{name}: {type(one).__name__} and {type(two).__name__}"
    elif isinstance(one, np.ndarray | np.generic):
        yield from _of_arrays(name, np.asarray(one), np.asarray(two))
    elif isinstance(one, float):
        yield from _of_arrays(name, np.float64(one), np.float64(two))
    elif isinstance(one, Mapping):
        yield from _of_parts(name + "[{!r}]", dict(one), dict(two))
    elif is_dataclass(one):
        yield from _of_parts(name + ".{}", *({f.name: getattr(x, f.name) for f in fields(x)} for x in (one, two)))
    elif isinstance(one, tuple | list):
        yield from _of_parts(name + "[{}]", dict(enumerate(one)), dict(enumerate(two)))
    elif isinstance(one, int | str | bytes | None):
        if one != two:
            yield f"{name}: {str(one)[:40]} and {str(two)[:40]}"
    else:
        raise TypeError(f"{name}: must be made of arrays, numbers, text or bytes, got {type(one).__name__}")


def _of_parts(name: str, one: dict[Any, Any], two: dict[Any, Any]) -> Iterator[str]:
    for key in {**one, **two}:
        if key in one and key in two:
            yield from _differences(name.format(key), one[key], two[key])
        else:
            yield f"{name.format(key)}: only in the {'first' if key in one else 'second'}"


def _of_arrays(name: str, one: Any, two: Any) -> Iterator[str]:
    if (one.dtype, one.shape) != (two.dtype, two.shape):
        yield f"{name}: {one.dtype} {one.shape} and {two.dtype} {two.shape}"
    elif one.tobytes() != two.tobytes():
        # Bit by bit, so that NaN is itself and -0 is not 0.
        item = np.dtype((np.void, one.dtype.itemsize))
        differ = np.ascontiguousarray(one).reshape(-1).view(item) != np.ascontiguousarray(two).reshape(-1).view(item)
        first = int(differ.argmax())
        place = tuple(int(i) for i in np.unravel_index(first, one.shape))
        yield f"{name}: {differ.sum()} of {one.size} differ, first at {place}: {one.flat[first]} and {two.flat[first]}"
