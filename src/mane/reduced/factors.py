"""`Factor`: something that styles of a model differ in, such as length or softness, with a slider from 0 to 1.

A style of the training data is a corner: one level of every factor. Between corners everything is blended with the
products of barycentric coordinates (guan2012 section 4).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

BEYOND = 0.35  # how far a slider may go beyond its ends, as in guan2012 fig. 5 (d)
SHORTEST = 0.2  # length of hair beyond the ends of a slider, over that of the style in which it is shortest
RANGE_DIGITS = 3  # of the ends of a slider, so that messages tell them as they are
ROUNDING = 1e-3  # of the last of them: lengths are in single precision
SCALES = ("linear", "log")
MOST_SHOWN = 60  # letters of a value in a message


@dataclass(frozen=True)
class Factor:
    """A factor and the levels that were simulated.

    Attributes:
        name: of its slider.
        levels: what a scene has at each of them, plain values.
        positions: of the levels on the slider, rising from 0 to 1.
        scale: by which numbers between levels are put on the slider, "linear" or "log".
        least: value of the slider; see `with_safe_ranges`.
        most: value likewise.
    """

    name: str
    levels: tuple[Any, ...]
    positions: tuple[float, ...]
    scale: str = "linear"
    least: float = -BEYOND
    most: float = 1.0 + BEYOND

    @classmethod
    def of_levels(cls, name: str, levels: Sequence[Any], scale: str = "linear") -> Factor:
        """Put levels on a slider: by their values where they are numbers that rise or fall, else evenly.

        Raises:
            ValueError: there are fewer than two levels, or numbers neither rise nor fall.
        """
        if len(levels) < 2:
            raise ValueError(f"{name}: a factor must have at least two levels, got {list(levels)}")
        if not all(isinstance(level, int | float) and not isinstance(level, bool) for level in levels):
            return cls(name, tuple(levels), tuple(np.linspace(0, 1, len(levels)).tolist()))
        values = np.array([float(level) for level in levels])
        scale = scale if (values > 0).all() else "linear"
        if scale == "log":
            values = np.log(values)
        positions = (values - values[0]) / (values[-1] - values[0]) if values[0] != values[-1] else values * 0
        if not (np.diff(positions) > 0).all():
            raise ValueError(f"{name}: levels must rise or fall from the first to the last, got {list(levels)}")
        return cls(name, tuple(levels), tuple(positions.tolist()), scale)

    def place(self, level: float) -> float:
        """Value of the slider at which something would be simulated with a level; ValueError of what is no number."""
        ends = [*self.levels[:: len(self.levels) - 1], level]
        if not all(isinstance(end, int | float) for end in ends):
            raise ValueError(f"{self.name}: must have numbers as levels to be calibrated, got {self.levels[0]!r}")
        first, last, own = np.log(ends) if self.scale == "log" else np.array(ends, np.float64)
        return float((own - first) / (last - first))

    @property
    def range(self) -> tuple[float, float]:
        """Least and greatest value of the slider."""
        return self.least, self.most

    def check(self, value: Any) -> float:
        """Return a value of the slider, a number or an array of one without axes.

        Raises:
            ValueError: it is none, or outside of what the model is known to be stable in.
        """
        own = value.item() if isinstance(value, np.generic | np.ndarray) and not value.ndim else value
        low, high = self.range
        is_number = isinstance(own, int | float) and not isinstance(own, bool)
        if not (is_number and low <= own <= high):  # NaN is not either
            raise ValueError(f"{self.name}: must be a number from {low:g} to {high:g}, got {shown(own)}")
        return float(own)

    def weights(self, values: Any) -> Array:
        """Weights of the levels at slider values (...): barycentric between neighbours, straight on beyond the ends."""
        positions, value = np.array(self.positions), np.asarray(values, np.float64)
        left = np.clip(np.searchsorted(positions, value, side="right") - 1, 0, len(positions) - 2)
        share = (value - positions[left]) / (positions[left + 1] - positions[left])
        weights = np.zeros((*value.shape, len(positions)))
        np.put_along_axis(weights, left[..., None], (1 - share)[..., None], axis=-1)
        np.put_along_axis(weights, left[..., None] + 1, share[..., None], axis=-1)
        return weights


def with_safe_ranges(
    factors: Sequence[Factor], positions: Sequence[Sequence[float]], length: NDArray[Any]
) -> tuple[Factor, ...]:
    """Factors whose sliders go beyond their ends no farther than hair stays a fifth of its shortest length.

    Beyond the ends blends go straight on: with levels of 6 and 46 cm no hair would be left at -0.15.

    Args:
        factors: of a model.
        positions: on each slider where lengths are known, rising, 0 and 1 among them.
        length: of every guide at all of them, the last slider running first [m], shape (S, G).
    """
    table = np.asarray(length, np.float64).reshape(*map(len, positions), -1)
    least = SHORTEST * np.min(length, axis=0)
    made = []
    for axis, (factor, own) in enumerate(zip(factors, positions, strict=True)):
        rows = np.moveaxis(table, axis, 0)
        low = _room(rows[0], (rows[1] - rows[0]) / (own[1] - own[0]), least)
        high = _room(rows[-1], (rows[-2] - rows[-1]) / (own[-1] - own[-2]), least)
        made.append(replace(factor, least=0.0 - low, most=round(1.0 + high, RANGE_DIGITS)))
    return tuple(made)


def _room(length: Array, slope: Array, least: Array) -> float:
    """How far a slider may go beyond an end, where hair of some lengths gets shorter by `slope` [m] per unit."""
    beyond = (length - least) / np.where(slope > 0, slope, np.inf)
    room = np.where(slope > 0, beyond, BEYOND).min(initial=BEYOND)
    digits = 10**RANGE_DIGITS
    return math.floor(room * digits + ROUNDING) / digits if room < BEYOND else BEYOND


def shown(value: Any) -> str:
    """A value as a message has it: on one line, and short."""
    text = " ".join(repr(value).split())
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 3]}..."


def corner_count(factors: Sequence[Factor]) -> int:
    """Number of styles that all levels together make; one where there is no factor."""
    return math.prod(len(factor.levels) for factor in factors)


def corner_levels(factors: Sequence[Factor]) -> list[tuple[int, ...]]:
    """Levels of every corner, the last factor running first."""
    return list(itertools.product(*(range(len(factor.levels)) for factor in factors)))


def corner_weights(factors: Sequence[Factor], sliders: Mapping[str, Any]) -> Array:
    """Weights of all corners, (..., C), for a value of every slider, each of the same shape (...)."""
    values = [np.asarray(sliders[factor.name], np.float64) for factor in factors]
    shape = np.broadcast_shapes(*(value.shape for value in values)) if values else ()
    total = np.ones((*shape, 1))
    for factor, value in zip(factors, values, strict=True):
        own = factor.weights(np.broadcast_to(value, shape))
        total = (total[..., :, None] * own[..., None, :]).reshape(*shape, -1)
    return total


def corner_of(factors: Sequence[Factor], levels: Sequence[int]) -> dict[str, float]:
    """Slider values of a corner."""
    return {factor.name: factor.positions[level] for factor, level in zip(factors, levels, strict=True)}
