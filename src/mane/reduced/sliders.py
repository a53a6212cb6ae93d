"""`SliderTrack`: values of all sliders of a model over time, and over the scalp."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.groom.guides import Guides
from mane.reduced.factors import shown
from mane.reduced.model import HairModel

Array = NDArray[np.float64]
# A value of a slider: a number; rows of time [s] and value; a number for each guide, or for each group of guides; a
# function of time.
SliderValue = float | Sequence[Sequence[float]] | NDArray[Any] | Mapping[Any, float] | Callable[[float], float]

EXACT_REGIONS = 8  # a painted map with more values than this is rounded for the dynamics, not for lengths
REGION_STEP = 0.125
GROUP = "group_id"  # strand attribute of a groom
MOST_NAMED = 12  # groups that an error lists


@dataclass(frozen=True, eq=False)
class SliderTrack:
    """Sliders over time.

    Attributes:
        model: whose sliders they are.
        constant: values of those that stay, numbers.
        maps: values of those that differ over the scalp, (G,).
        rows: times [s] and values of those that have keyframes, (K,) each.
        functions: of time, of those that somebody moves.
    """

    model: HairModel
    constant: Mapping[str, float]
    maps: Mapping[str, Array]
    rows: Mapping[str, tuple[Array, Array]]
    functions: Mapping[str, Callable[[float], float]]

    @classmethod
    def of(
        cls,
        model: HairModel,
        values: Mapping[str, Any],
        *,
        guides: Guides | None = None,
        start: Mapping[str, float] | None = None,
    ) -> SliderTrack:
        """Make one of what a user gives.

        Args:
            model: whose sliders they are.
            values: by name; a text is the name of a map that is painted on the guides, a table has a value for each
                group of guides by its number (`group_id`), and for the others those of `start`.
            guides: that maps are painted on, and that have groups.
            start: of sliders that are not given; 0 without it.
        """
        constant, maps, rows, functions = {**model.sliders, **(start or {})}, {}, {}, {}
        known = {factor.name: factor for factor in model.factors}
        for name, value in values.items():
            if name not in known:
                model.checked_sliders({name: 0.0})  # says what there is
            if isinstance(value, str):
                maps[name] = _painted(model, name, value, guides)
            elif isinstance(value, Mapping):
                maps[name] = _by_group(model, name, value, guides, constant[name])
            elif callable(value):
                functions[name] = value
            elif isinstance(value, Sequence | np.ndarray) and (table := _array(name, value)).ndim:
                if table.ndim == 2:
                    rows[name] = _keyframes(model, name, table)
                else:
                    maps[name] = _map(model, name, table)
            else:
                constant[name] = known[name].check(value)
        return cls(model, constant, maps, rows, functions)

    @property
    def is_constant(self) -> bool:
        """Whether no slider ever moves."""
        return not self.rows and not self.functions

    def at(self, time: float) -> dict[str, float | Array]:
        """Values at a time [s]."""
        values: dict[str, float | Array] = {**self.constant, **self.maps}
        for name, (times, column) in self.rows.items():
            values[name] = float(np.interp(time, times, column))
        for factor in self.model.factors:
            if factor.name in self.functions:
                values[factor.name] = factor.check(self.functions[factor.name](time))
        return values


def _array(name: str, value: Any) -> NDArray[Any]:
    """Lists as an array of numbers with at most two axes; ValueError where they are none."""
    try:
        table = np.asarray(value)
    except ValueError:  # rows of several lengths
        table = np.zeros(0, np.object_)
    is_truth = isinstance(value, Sequence) and any(isinstance(one, bool) for one in np.asarray(value, object).flat)
    if table.dtype.kind not in "iuf" or table.ndim > 2 or is_truth:
        raise ValueError(
            f"{name}: must be a number, rows of time [s] and value, or a number for each guide, got {shown(value)}"
        )
    return table


def _keyframes(model: HairModel, name: str, table: Array) -> tuple[Array, Array]:
    table = np.asarray(table, np.float64)
    if table.shape[1] != 2 or not len(table) or not np.isfinite(table).all() or (np.diff(table[:, 0]) <= 0).any():
        raise ValueError(f"{name}: keyframes must be rows of time [s] and value, times rising")
    for row in table:
        model.checked_sliders({name: float(row[1])})
    return table[:, 0], table[:, 1]


def _map(model: HairModel, name: str, table: NDArray[Any]) -> Array:
    table = np.asarray(table, np.float64)
    if table.shape != (model.guide_count,):
        raise ValueError(f"{name}: a map must have {model.guide_count} values, one for each guide, got {len(table)}")
    for one in np.unique(table):
        model.checked_sliders({name: float(one)})
    return table


def _painted(model: HairModel, name: str, attribute: str, guides: Guides | None) -> Array:
    known = {} if guides is None else guides.strands.strand
    if attribute not in known:
        has = ", ".join(known) or "none"
        raise ValueError(f"{name}: the guides have no painted map {attribute!r}; they have {has}")
    return _map(model, name, np.asarray(known[attribute], np.float64).reshape(len(known[attribute]), -1)[:, 0])


def _by_group(model: HairModel, name: str, values: Mapping[Any, Any], guides: Guides | None, otherwise: float) -> Array:
    if guides is None or GROUP not in guides.strands.strand:
        raise ValueError(f"{name}: a value for each group needs guides with a {GROUP!r}, and these have none")
    groups = np.asarray(guides.strands.strand[GROUP]).reshape(-1)
    table = np.full(len(groups), otherwise)
    for number, value in values.items():
        chosen = groups.astype(str) == str(number)
        if not chosen.any():
            has = ", ".join(map(str, np.unique(groups)[:MOST_NAMED]))
            raise ValueError(f"{name}: the guides have no group {number}; they have {has}")
        table[chosen] = model.checked_sliders({name: value})[name]
    return _map(model, name, table)


def read_sliders(path: Path) -> dict[str, Array]:
    """Read keyframes of sliders from a table (.csv): a column `time` [s], and one for each slider.

    Raises:
        ValueError: names the file and the line that is wrong.
    """
    with open(path, newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    header = [word.strip() for word in lines[0]] if lines else []
    if "time" not in header or len(header) < 2:
        raise ValueError(f"{path}:1: must name columns `time` and at least one slider, got {', '.join(header)!r}")
    rows = []
    for number, line in enumerate(lines[1:], 2):
        if not line:
            continue
        try:
            rows.append([float(word) for word in line])
        except ValueError:
            raise ValueError(f"{path}:{number}: must be numbers, got {','.join(line)!r}") from None
        if len(rows[-1]) != len(header):
            raise ValueError(f"{path}:{number}: must have {len(header)} numbers, got {len(rows[-1])}")
    table = np.array(rows).reshape(-1, len(header))
    times = table[:, header.index("time")]
    return {name: np.column_stack([times, table[:, k]]) for k, name in enumerate(header) if name != "time"}


def regions_of(model: HairModel, values: Mapping[str, Any]) -> tuple[Array, NDArray[np.int64]]:
    """Settings that differ over the scalp: slider values of regions (R, factors), and the region of each guide (G,).

    Each region has dynamics of its own. Maps of many values are rounded to steps of 1/8, within the range of a slider;
    sliders that are the same for all guides never are, or one that moves would go in steps.
    """
    columns = [np.broadcast_to(np.asarray(values[f.name], np.float64), (model.guide_count,)) for f in model.factors]
    if not columns:
        return np.zeros((1, 0)), np.zeros(model.guide_count, np.int64)
    table = np.stack(columns, axis=1)
    found, which = np.unique(table, axis=0, return_inverse=True)
    if len(found) > EXACT_REGIONS:
        lowest, highest = np.transpose([factor.range for factor in model.factors])
        rounded = np.clip(np.rint(table / REGION_STEP) * REGION_STEP, lowest, highest)
        is_map = (table != table[0]).any(axis=0)
        found, which = np.unique(np.where(is_map, rounded, table), axis=0, return_inverse=True)
    return found, which.reshape(-1).astype(np.int64)
