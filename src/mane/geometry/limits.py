"""Limits of a setting, written once, in its type: they are checked, told to editors and printed on the page of keys.

```python
@dataclass(frozen=True)
class FramesTable:
    rate: Annotated[float, Range(above=0, below=1e4)] = 24.0

    def __post_init__(self) -> None:
        check_limits(self)
```
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import numbers
import typing
from dataclasses import dataclass
from typing import Annotated, Any

from mane.geometry.checks import require_choice


@dataclass(frozen=True)
class Range:
    """Numbers that a setting may be; each bound is a number or None for none.

    Attributes:
        least: the smallest that is allowed.
        above: what it must be greater than.
        most: the largest that is allowed.
        below: what it must be smaller than.
        finite: whether infinity is refused.
        whole: whether numbers with a fraction are refused.
    """

    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None
    finite: bool = True
    whole: bool = False

    @property
    def words(self) -> str:
        """Say what it asks for."""
        lower = self._bound("at least", self.least, "above", self.above)
        upper = self._bound("at most", self.most, "below", self.below)
        if self.least is not None and self.most is not None:
            return f"from {self.least:g} to {self.most:g}"
        return " and ".join(filter(None, (lower, upper)))

    @staticmethod
    def _bound(closed: str, value: float | None, opened: str, other: float | None) -> str:
        if value is not None:
            return f"{closed} {value:g}"
        return "" if other is None else f"{opened} {other:g}"

    def check(self, name: str, value: Any) -> None:
        """Raise ValueError that begins with `name` unless a number is within; what is no number has other checks."""
        if self.whole and not isinstance(value, numbers.Integral):
            raise ValueError(f"{name}: must be a whole number {self._after_number}, got {value}")
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            return
        number = float(value)
        inside = (
            (self.least is None or number >= self.least)
            and (self.above is None or number > self.above)
            and (self.most is None or number <= self.most)
            and (self.below is None or number < self.below)
        )
        if math.isnan(number) or not inside or (self.finite and math.isinf(number)):
            asked = " and ".join(filter(None, ("finite" if math.isinf(number) else "", self.words))) or "finite"
            asked = f"a whole number {self._after_number}" if self.whole else asked
            raise ValueError(f"{name}: must be {asked}, got {value}")

    @property
    def _after_number(self) -> str:
        return f"of {self.words}" if self.words.startswith("at ") else self.words

    def schema(self) -> dict[str, Any]:
        """Return its keywords of JSON schema."""
        keywords = {
            "minimum": self.least,
            "exclusiveMinimum": self.above,
            "maximum": self.most,
            "exclusiveMaximum": self.below,
        }
        return {name: bound for name, bound in keywords.items() if bound is not None}


class Choice:
    """Texts that a setting may be."""

    def __init__(self, *names: str) -> None:
        self.names = names

    @property
    def words(self) -> str:
        """Say what it asks for."""
        return f"one of {', '.join(self.names)}"

    def check(self, name: str, value: Any) -> None:
        """Raise ValueError that begins with `name` unless a text is one of them; None stands for none."""
        if value is not None:
            require_choice(name, value, self.names)

    def schema(self) -> dict[str, Any]:
        """Return its keywords of JSON schema."""
        return {"enum": list(self.names)}


Limit = Range | Choice

# The commonest ones.
Positive = Annotated[float, Range(above=0)]
NotNegative = Annotated[float, Range(least=0)]
Count = Annotated[int, Range(least=1)]
Whole = Annotated[int, Range(least=1, whole=True)]
Finite = Annotated[float, Range()]
Seed = Annotated[int, Range(least=0)]
Fraction = Annotated[float, Range(least=0, most=1)]


@functools.cache
def limits_of(thing: Any) -> dict[str, Limit]:
    """Limits of the fields of a class of settings, or of the arguments of a function or another class, by name."""
    is_plain = inspect.isclass(thing) and not dataclasses.is_dataclass(thing)
    hints = typing.get_type_hints(thing.__init__ if is_plain else thing, include_extras=True)
    found = {name: _limit_in(hint) for name, hint in hints.items()}
    return {name: limit for name, limit in found.items() if limit is not None}


def _limit_in(hint: Any) -> Limit | None:
    """The limit that a type has, itself or in one of its alternatives."""
    for extra in getattr(hint, "__metadata__", ()):
        if isinstance(extra, Limit):
            return extra
    parts = () if typing.get_origin(hint) is tuple else typing.get_args(hint)
    return next((limit for limit in map(_limit_in, parts) if limit is not None), None)


def check_arguments(function: Any, given: typing.Mapping[str, Any], place: str = "") -> None:
    """Raise ValueError naming the first argument of a function that is outside its limit, after `place`.

    Called first of all in the function, with `locals()`; arguments that are None stand for none.
    """
    for name, limit in limits_of(function).items():
        if given.get(name) is not None:
            limit.check(f"{place}{name}", given[name])


def check_limits(settings: Any, place: str = "") -> None:
    """Raise ValueError naming the first field of a dataclass that is outside its limit, after `place`."""
    kind: Any = type(settings)
    for name, limit in limits_of(kind).items():
        limit.check(f"{place}{name}", getattr(settings, name))
