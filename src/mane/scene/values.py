"""Plain values of a scene file against the types that a key asks for."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

# A value that may vary along a strand, written as a number, the name of a painted map, or rows of fraction and value.
VARYING = Literal["a number, the name of a painted map, or rows of fraction and value"]

WORDS = {int: "a whole number", float: "a number", str: "a text in quotes", bool: "true or false"}


def fit(hint: Any, value: Any) -> Any:
    """Return `value` as the type `hint`, or raise ValueError that says what it must be."""
    if hint is Any:
        return value
    if hint is VARYING:
        return _fit_varying(value)
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _fit_any_of(get_args(hint), value)
    if origin is Literal and value in get_args(hint):
        return value
    if origin is tuple and isinstance(value, Sequence) and not isinstance(value, str):
        return _fit_tuple(get_args(hint), hint, value)
    if origin is Mapping and isinstance(value, Mapping):
        return dict(value)
    if hint in WORDS and _is_a(hint, value):
        return hint(value)
    raise ValueError(f"must be {words(hint)}, got {shown(value)}")


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


def _is_a(kind: type, value: Any) -> bool:
    if isinstance(value, bool):
        return kind is bool
    if kind is float:
        return isinstance(value, int | float) and math.isfinite(value)
    return isinstance(value, kind)


def _fit_any_of(hints: tuple[Any, ...], value: Any) -> Any:
    for hint in hints:
        if hint is type(None):
            if value is None:
                return None
            continue
        try:
            return fit(hint, value)
        except ValueError:
            continue
    raise ValueError(f"must be {words(Union[hints])}, got {shown(value)}")  # noqa: UP007 - made of a tuple


def _fit_tuple(parts: tuple[Any, ...], hint: Any, value: Sequence[Any]) -> tuple[Any, ...]:
    if parts[-1] is Ellipsis:
        return tuple(fit(parts[0], item) for item in value)
    if len(value) != len(parts):
        raise ValueError(f"must be {words(hint)}, got {shown(value)}")
    try:
        return tuple(fit(part, item) for part, item in zip(parts, value, strict=True))
    except ValueError:
        raise ValueError(f"must be {words(hint)}, got {shown(value)}") from None


def _fit_varying(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence) and value:
        return fit(tuple[tuple[float, float], ...], value)
    return fit(float, value)
