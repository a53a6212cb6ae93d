"""How motions and axes are combined to sequences: a table of functions from a spec and its motions to pairs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mane.dataset.spec import Spec
from mane.scene.scene_file import SceneError, location

LATIN_STREAM = 3  # random stream of a spec, independent of those in `sequences`

# number of the motion, and the value of every axis
Combination = tuple[int, tuple[Any, ...]]


def grid(spec: Spec, motions: int) -> Iterator[Combination]:
    """Every motion with every value of every axis."""
    return ((motion, values) for motion in range(motions) for values in itertools.product(*_levels(spec)))


def side_by_side(spec: Spec, motions: int) -> Iterator[Combination]:
    """The first motion with the first value of every axis, then the second ones, and so on."""
    levels = _levels(spec)
    lengths = {"motions": motions, **{axis.label: len(level) for axis, level in zip(spec.axes, levels, strict=True)}}
    if len(set(lengths.values())) > 1:
        given = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise SceneError(f'{location(spec.locations, "combine")}: combine: "zip" needs as many of each, got {given}')
    return enumerate(zip(*levels, strict=True) if levels else [()] * motions)


def latin_hypercube(spec: Spec, motions: int) -> Iterator[Combination]:
    """N samples such that each of N equal parts of every axis is met by exactly one; motions are an axis too."""
    count = spec.samples
    assert count is not None
    rng = np.random.default_rng([spec.seed, LATIN_STREAM])
    order = rng.permutation(count)
    columns = [(rng.permutation(count) + rng.uniform(size=count)) / count for _ in spec.axes]
    for i in range(count):
        values = tuple(axis.at(float(column[i])) for axis, column in zip(spec.axes, columns, strict=True))
        yield int(order[i]) * motions // count, values


def _levels(spec: Spec) -> Sequence[Sequence[Any]]:
    levels = []
    for index, axis in enumerate(spec.axes):
        try:
            levels.append(axis.levels())
        except ValueError as error:
            raise SceneError(f"{location(spec.locations, f'axes.{index}')}: [[axes]] {error}") from None
    return levels


COMBINATIONS: dict[str, Callable[[Spec, int], Iterator[Combination]]] = {
    "grid": grid,
    "zip": side_by_side,
    "latin": latin_hypercube,
}
