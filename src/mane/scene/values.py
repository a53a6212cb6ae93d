"""Plain values of a scene file against the types that a key asks for, checked by msgspec (decision 27)."""

from __future__ import annotations

import dataclasses
import difflib
import math
import types
from collections.abc import Iterator, Sequence
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

# A value that may vary along a strand, written as a number, the name of a painted map, or rows of fraction and value.
VARYING = Literal["a number, the name of a painted map, or rows of fraction and value"]
VaryingValue = float | str | tuple[tuple[float, float], ...]

WORDS = {int: "a whole number", float: "a number", str: "a text in quotes", bool: "true or false"}


def fit(hint: Any, value: Any) -> Any:
    """Return `value` as the type `hint`, or raise ValueError that says what it must be."""
    try:
        fitted = msgspec.convert(value, VaryingValue if hint is VARYING else hint)
    except msgspec.ValidationError:
        fitted = None
    is_whole = hint is not VARYING or value != []
    if (fitted is None and value is not None) or not is_whole or not all(map(math.isfinite, _numbers(fitted))):
        raise ValueError(_refusal(hint, value))
    return fitted


def table_within(hint: Any) -> Any:
    """The dataclass of a key that is a table within its table, or None for a key with a plain value."""
    found = [part for part in get_args(hint) if dataclasses.is_dataclass(part)]
    return found[0] if found else None


def _refusal(hint: Any, value: Any) -> str:
    if get_origin(hint) is Literal and hint is not VARYING and isinstance(value, str):
        near = difflib.get_close_matches(value, get_args(hint), 1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        return f"{value!r} is unknown; choose from {', '.join(get_args(hint))}{meant}"
    return f"must be {words(hint)}, got {shown(value)}"


def words(hint: Any) -> str:
    """Say what a type asks for."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(words(part) for part in get_args(hint) if part is not type(None))
    if hint is VARYING:
        return str(get_args(hint)[0])
    if origin is Literal:
        return " or ".join(repr(part) for part in get_args(hint))
    if origin is tuple:
        parts = get_args(hint)
        if parts[-1] is Ellipsis:
            return f"a list, each {words(parts[0])}"
        kind = "whole numbers" if parts[0] is int else "numbers"
        return f"a list of {len(parts)} {kind}"
    return WORDS.get(hint, "a table")


def shown(value: Any) -> str:
    """Write a value as a scene file would, shortened."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _numbers(value: Any) -> Iterator[float]:
    """All numbers of a value, those in lists too; a table has its own types."""
    if isinstance(value, float):
        yield value
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _numbers(item)
