"""From a spec to its sequences: which motion, which value of every axis, which split, and the scene of each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mane.body.characters import character_motion
from mane.dataset.combine import COMBINATIONS
from mane.dataset.spec import SPLITS, MotionTable, Spec
from mane.scene.bodies import character_of
from mane.scene.config import Scene
from mane.scene.options import arguments_of
from mane.scene.parts import make_head_motion
from mane.scene.scene_file import SceneError, location, naming_location, with_values

# Random streams of a spec, each independent of the others.
MOTION_STREAM, SPLIT_STREAM = 1, 2


@dataclass(frozen=True)
class PlannedMotion:
    """One motion of a dataset.

    Attributes:
        name: unlike that of every other.
        split: that all its sequences belong to.
        settings: keys of the scene with their values.
        label: where it stands in the spec, for messages.
    """

    name: str
    split: str
    settings: Mapping[str, Any]
    label: str


@dataclass(frozen=True)
class PlannedSequence:
    """One sequence of a dataset.

    Attributes:
        index: its number, from 0.
        split: "train", "validation" or "test".
        motion: name of its motion.
        factors: value of every axis by its name.
        settings: keys of the scene that differ from the spec's, with their values.
        label: where its values stand in the spec, for messages.
    """

    index: int
    split: str
    motion: str
    factors: Mapping[str, Any]
    settings: Mapping[str, Any]
    label: str

    def scene(self, spec: Spec) -> Scene:
        """Return what is simulated; SceneError where the values fit no scene."""
        frames = {} if spec.frames is None else {"frames.end": spec.scene.frames.start + spec.frames - 1}
        return with_values(spec.scene, {**frames, **self.settings}, self.label)


def plan_sequences(spec: Spec) -> list[PlannedSequence]:
    """Return all sequences of a spec, in the order of their numbers, each with a scene that can be read.

    Raises:
        SceneError: an axis or a motion does not fit the scene, or a split would be empty.
    """
    planned = list_sequences(spec)
    _check_splits(spec, planned)
    _check_scenes(spec, planned)
    return planned


def list_sequences(spec: Spec) -> list[PlannedSequence]:
    """The same of a spec that was planned before: reads no files, and makes no scenes."""
    motions = plan_motions(spec)
    planned = []
    for index, (number, values) in enumerate(COMBINATIONS[spec.combine](spec, len(motions))):
        motion = motions[number]
        factors = {axis.label: value for axis, value in zip(spec.axes, values, strict=True)}
        settings = dict(motion.settings)
        for axis, value in zip(spec.axes, values, strict=True):
            settings |= axis.settings(value)
        label = _label(spec, motion)
        planned.append(PlannedSequence(index, motion.split, motion.name, factors, settings, label))
    return planned


def _label(spec: Spec, motion: PlannedMotion) -> str:
    return location(spec.locations, "axes") if spec.axes and spec.locations else motion.label


def _check_splits(spec: Spec, planned: Sequence[PlannedSequence]) -> None:
    """Refuse a split that was asked for and has no sequence."""
    present = {sequence.split for sequence in planned}
    is_shared_out = any(table.split is None for table in spec.motions)
    for name in SPLITS:
        if is_shared_out and getattr(spec.splits, name) > 0 and name not in present:
            raise SceneError(
                f"{location(spec.locations, 'splits')}: [splits] {name}: gets no sequence; give more motions, or "
                f"{name} = 0"
            )


def _check_scenes(spec: Spec, planned: Sequence[PlannedSequence]) -> None:
    """Make the scene of every sequence once; a fault is blamed on the axis that brings it."""
    of_motions = {key for motion in plan_motions(spec) for key in motion.settings}
    for index, axis in enumerate(spec.axes):
        for key in axis.all_keys:
            if key in of_motions:  # one would undo the other, and sequences of other motions would be the same
                raise SceneError(
                    f"{location(spec.locations, f'axes.{index}')}: [[axes]] {key}: is given by [[motions]] too; leave "
                    "one of them out"
                )
        values = [axis.at(0.0), axis.at(1.0)] if axis.range is not None else axis.values
        for value in values:
            with_values(spec.scene, axis.settings(value), location(spec.locations, f"axes.{index}"))
    tried: set[str] = set()
    for sequence in planned:
        scene = sequence.scene(spec)
        if sequence.motion not in tried:
            tried.add(sequence.motion)
            with naming_location(scene.locations, "head"):
                make_head_motion(scene.head, scene.folder, scene.seed, lambda: (0.0, 0.0, 0.0))


# -- motions -------------------------------------------------------------------------------------------------------


def plan_motions(spec: Spec) -> list[PlannedMotion]:
    """Return all motions of a spec with their splits, which share no motion."""
    tables = [(i, table, copy) for i, table in enumerate(spec.motions) for copy in range(table.count)]
    splits = _splits(spec, [table for _, table, _ in tables])
    planned: list[PlannedMotion] = []
    for (i, table, copy), split in zip(tables, splits, strict=True):
        name = f"{len(planned):04d}-{_motion_word(table)}"
        settings = _motion_settings(spec, table, i, copy)
        planned.append(PlannedMotion(name, split, settings, location(spec.locations, f"motions.{i}")))
    return planned


def _motion_word(table: MotionTable) -> str:
    word = table.motion or next(str(value) for value in table.values.values())
    return word.replace("\\", "/").rpartition("/")[2].partition(".")[0]


def _motion_settings(spec: Spec, table: MotionTable, index: int, copy: int) -> dict[str, Any]:
    """Keys of [head] or [body] for one motion; what is given as an interval is drawn."""
    rng = np.random.default_rng([spec.seed, MOTION_STREAM, index, copy])
    settings: dict[str, Any] = dict(table.values)
    for name in ("motion", "pivot", "ease_in", "stop"):
        value = getattr(table, name)
        if value is not None:
            settings[f"{table.moves}.{name}"] = value
    for name in ("amplitude", "rate"):
        value = getattr(table, name)
        if isinstance(value, tuple):
            value = float(rng.uniform(*value))
        if value is not None:
            settings[f"{table.moves}.{name}"] = value
    if table.motion is not None and (table.moves == "head" or _has_seed(spec, table.motion, index)):
        drawn = int(rng.integers(2**31))
        settings[f"{table.moves}.seed"] = drawn if table.seed is None else table.seed + copy
    return settings


def _has_seed(spec: Spec, motion: str, index: int) -> bool:
    """Whether a motion of the joints of the body takes a seed."""
    with naming_location(spec.locations, f"motions.{index}"):
        return "seed" in arguments_of(character_motion(character_of(spec.scene), motion))


def _splits(spec: Spec, tables: Sequence[MotionTable]) -> list[str]:
    """Split of every motion: the one that it names, the others shared out in a random order by [splits]."""
    free = [i for i, table in enumerate(tables) if table.split is None]
    order = np.random.default_rng([spec.seed, SPLIT_STREAM]).permutation(len(free))
    counts = _shares(len(free), [getattr(spec.splits, name) for name in SPLITS])
    names = [name for name, count in zip(SPLITS, counts, strict=True) for _ in range(count)]
    splits = [table.split or "" for table in tables]
    for position, name in zip(order, names, strict=True):
        splits[free[position]] = name
    return splits


def _shares(count: int, fractions: Sequence[float]) -> list[int]:
    """Share `count` out by fractions that sum to 1, the largest remainders first."""
    exact = [count * fraction for fraction in fractions]
    whole = [math.floor(value + 1e-9) for value in exact]
    rest = sorted(range(len(exact)), key=lambda i: whole[i] - exact[i])
    for i in rest[: count - sum(whole)]:
        whole[i] += 1
    return whole
