"""What a dataset is made of: one frozen dataclass per table of a spec file, its fields the keys of the table.

A spec is a scene, motions and axes. Every sequence is that scene with one motion and one value of every axis.

```toml
scene = "shake.toml"            # or its tables, [scene.groom] and so on
frames = 96

[[motions]]
motion = "random"               # as in [head] of a scene
count = 40                      # each with a seed of its own
amplitude = [0.2, 0.6]          # drawn for each

[[axes]]
key = "strand.properties.stiffness"
values = [0.5, 1.0, 2.0]
```
"""

from __future__ import annotations

import json
import os
import tomllib
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from mane.geometry.checks import require_choice
from mane.scene.config import Scene
from mane.scene.config_body import Settings, Vector3
from mane.scene.config_output import OutputTable, require
from mane.scene.files import names_file
from mane.scene.scene_file import (
    Locations,
    SceneError,
    check_keys,
    fit_table,
    location,
    naming_location,
    read_scene,
    scene_from_dict,
)
from mane.scene.toml_lines import key_lines
from mane.scene.values import fit

SPLITS = ("train", "validation", "test")
MOVES = ("head", "body")
SCALES = ("linear", "log")
PRECISIONS = ("float32", "float16")
Interval = tuple[float, float]


@dataclass(frozen=True)
class MotionTable:
    """A motion of the head, or several that differ in their seeds.

    Attributes:
        motion: still, shake, nod, turn, tilt, walk, jump, look, dance, random, or a motion file, seen from
            the spec's folder; for a body with joints one of its own, of a bust random, walk, turn, look, jump, dance
        moves: "head", which carries all of the body along, or "body", whose joints move ([scene.body] mesh = "bust")
        count: how many, each with a seed of its own
        split: "train", "validation" or "test"; without it [splits] shares motions out
        amplitude: of a named motion, or two numbers to draw it between
        rate: of a named motion [Hz], or two numbers to draw it between
        pivot: point that a named motion turns about [m]
        ease_in: time in which a named motion begins [s]
        stop: time at which a named motion is over [s]
        seed: of the first; without it each has one of its own
        values: of other keys of the scene, such as {"body.motion" = "walk"}
    """

    motion: str | None = None
    moves: str = "head"
    count: int = 1
    split: str | None = None
    amplitude: float | Interval | None = None
    rate: float | Interval | None = None
    pivot: Vector3 | None = None
    ease_in: float | None = None
    stop: float | None = None
    seed: int | None = None
    values: Settings = field(default_factory=dict)

    def __post_init__(self) -> None:
        require(self.count >= 1, "count", "must be at least 1", self.count)
        if self.split is not None:
            require_choice("split", self.split, SPLITS)
        require_choice("moves", self.moves, MOVES)
        if self.motion is None and (self.moves == "body" or not self.values):
            raise ValueError("motion: is missing")
        for name in ("pivot", "stop"):
            if self.moves == "body" and getattr(self, name) is not None:
                raise ValueError(f'{name}: is for motions of the head; must be left out with moves = "body"')
        for name in ("amplitude", "rate"):
            value = getattr(self, name)
            is_rising = not isinstance(value, tuple) or value[0] <= value[1]
            require(is_rising, name, "must be a number, or two of which the second is not less", value)


@dataclass(frozen=True)
class AxisTable:
    """Something that differs between sequences.

    Attributes:
        key: of the scene, dotted, such as "strand.properties.stiffness"
        keys: or several that go together; each of the values is then a list with one for each
        name: what the axis is called; without it the last part of the key
        values: that it takes
        range: or the least and the greatest
        count: how many values of a range; for a Latin hypercube the spec's `samples` decide
        scale: steps of a range: "linear" or "log"
    """

    key: str | None = None
    keys: tuple[str, ...] = ()
    name: str | None = None
    values: tuple[Any, ...] = ()
    range: Interval | None = None
    count: int | None = None
    scale: str = "linear"

    def __post_init__(self) -> None:
        if (self.key is None) == (not self.keys):
            raise ValueError("key: must be given, or keys, and not both")
        if bool(self.values) == (self.range is not None):
            raise ValueError("values: must be given, or range, and not both; values must not be empty")
        require_choice("scale", self.scale, SCALES)
        if self.range is not None:
            self._check_range(self.range)
        elif self.count is not None:
            raise ValueError("count: is for a range; values are as many as there are")
        if self.keys:
            for row in self.values:
                is_row = isinstance(row, Sequence) and not isinstance(row, str) and len(row) == len(self.keys)
                require(is_row, "values", f"must be lists of {len(self.keys)}, one for each of keys", row)

    def _check_range(self, ends: Interval) -> None:
        if self.keys:
            raise ValueError("range: is for a single key")
        require(ends[0] < ends[1], "range", "must be two numbers that rise", list(ends))
        require(self.scale == "linear" or ends[0] > 0, "range", "must be above 0 with a log scale", list(ends))
        require(self.count is None or self.count >= 2, "count", "must be at least 2", self.count)

    @property
    def all_keys(self) -> tuple[str, ...]:
        """Keys of the scene that it gives."""
        return self.keys if self.key is None else (self.key,)

    @property
    def label(self) -> str:
        """What the axis is called."""
        return self.name or self.all_keys[0].rpartition(".")[2]

    def at(self, fraction: float) -> Any:
        """Return the value at a fraction from 0 to 1: of a range by its scale, else of the list of values."""
        if self.range is None:
            return self.values[min(int(fraction * len(self.values)), len(self.values) - 1)]
        low, high = self.range
        if self.scale == "log":
            return float(low * (high / low) ** fraction)
        return float(low + (high - low) * fraction)

    def levels(self) -> list[Any]:
        """All values, for a grid or to go side by side with those of other axes."""
        if self.range is None:
            return list(self.values)
        if self.count is None:
            raise ValueError("count: is missing; it says how many values of the range are taken")
        return [self.at(i / (self.count - 1)) for i in range(self.count)]

    def settings(self, value: Any) -> dict[str, Any]:
        """Keys of the scene with what they are at a value of the axis."""
        return {self.key: value} if self.key is not None else dict(zip(self.keys, value, strict=True))


@dataclass(frozen=True)
class SplitsTable:
    """How motions that name no split are shared out; all sequences of a motion are in one split.

    Attributes:
        train: fraction of the motions to learn from
        validation: fraction to choose settings by
        test: fraction to report errors on
    """

    train: float = 1.0
    validation: float = 0.0
    test: float = 0.0

    def __post_init__(self) -> None:
        for name in SPLITS:
            require(0 <= getattr(self, name) <= 1, name, "must be from 0 to 1", getattr(self, name))
        total = self.train + self.validation + self.test
        require(abs(total - 1) < 1e-6, "train", "must sum to 1 with validation and test", total)


@dataclass(frozen=True)
class StoreTable:
    """What is stored of every sequence.

    Attributes:
        fields: of every frame: points, velocity, orientations, cut_force, roots, root_rotations, head, solids,
            body, hairs
        precision: "float32" or "float16"; what float16 costs is measured and stored beside the data
        every: store every so many frames
    """

    fields: tuple[str, ...] = ("points", "velocity", "head")
    precision: str = "float32"
    every: int = 1

    def __post_init__(self) -> None:
        from mane.dataset.fields import FIELDS

        for name in self.fields:
            require_choice("fields", name, tuple(FIELDS))
        require(len(set(self.fields)) == len(self.fields) > 0, "fields", "must be names, each once", list(self.fields))
        require_choice("precision", self.precision, PRECISIONS)
        require(self.every >= 1, "every", "must be at least 1", self.every)


@dataclass(frozen=True)
class Spec:
    """A whole dataset: what `read_spec` returns and `run_dataset` runs.

    Attributes:
        scene: that every sequence starts from
        motions: of the head
        seed: of everything random
        frames: of every sequence; None for as many as the scene has
        combine: "grid" takes every motion with every value of every axis, "zip" goes through all of them side by side,
            "latin" draws `samples` sequences such that each axis is evenly covered
        samples: how many sequences a Latin hypercube has
        axes: what differs besides motions
        splits: how motions are shared out
        store: what is stored
        locations: where each key was given, for messages
        text: of the spec file
    """

    scene: Scene
    motions: tuple[MotionTable, ...]
    seed: int = 0
    frames: int | None = None
    combine: str = "grid"
    samples: int | None = None
    axes: tuple[AxisTable, ...] = ()
    splits: SplitsTable = field(default_factory=SplitsTable)
    store: StoreTable = field(default_factory=StoreTable)
    locations: Locations = field(default_factory=dict, compare=False, repr=False)
    text: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        from mane.dataset.combine import COMBINATIONS

        require(self.seed >= 0, "seed", "must be at least 0", self.seed)
        require(self.frames is None or self.frames >= 1, "frames", "must be at least 1", self.frames)
        require_choice("combine", self.combine, tuple(COMBINATIONS))
        is_latin = self.combine == "latin"
        require((self.samples is not None) == is_latin, "samples", 'must go with combine = "latin"', self.samples)
        require(self.samples is None or self.samples >= 1, "samples", "must be at least 1", self.samples)
        labels = [axis.label for axis in self.axes]
        twice = [label for label in labels if labels.count(label) > 1]
        require(not twice, "axes", "must have names that differ; give one of them a `name`", twice[:1])

    def to_dict(self) -> dict[str, Any]:
        """Return everything that decides the data, as plain values that JSON can hold."""
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("scene", "locations", "text")}
        written = {name: _plain(value) for name, value in plain.items()}
        scene = {name: value for name, value in self.scene.to_dict().items() if name not in ("output", "camera")}
        made: dict[str, Any] = json.loads(json.dumps({"scene": scene, **written}))
        return made

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], folder: Path) -> Spec:
        """Make a spec of what `to_dict` returned; files of its scene are looked for from `folder`."""
        return _spec_of(dict(values), {}, scene_from_dict(values["scene"], folder=folder), "")


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value


def read_spec(path: str | os.PathLike[str]) -> Spec:
    """Read a spec file, TOML.

    Args:
        path: of the file.

    Raises:
        SceneError: with file and line, what is wrong, and what is possible.
        OSError: the file, or that of its scene, cannot be read.
    """
    file = Path(path)
    text = file.read_text(encoding="utf-8")
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SceneError(f"{file}: {error}") from None
    locations = {key: f"{file}:{line}" for key, line in key_lines(text).items()}
    locations[""] = f"{file}:1"
    scene = _scene_of(values, locations, file.parent)
    return _seen_from_scene(_spec_of(values, locations, scene, text), file.parent)


def _seen_from_scene(spec: Spec, folder: Path) -> Spec:
    """Files that a spec in `folder` names, as its scene names them: their paths from the folder of the scene."""
    to_scene = spec.scene.folder.resolve()

    def moved(key: str, value: Any) -> Any:
        is_file = names_file(key, value)
        return Path(os.path.relpath((folder / value).resolve(), to_scene)).as_posix() if is_file else value

    if folder.resolve() == to_scene:
        return spec
    motions = tuple(
        replace(
            table,
            motion=moved(f"{table.moves}.motion", table.motion),
            values={key: moved(key, value) for key, value in table.values.items()},
        )
        for table in spec.motions
    )
    axes = tuple(
        replace(axis, values=tuple(_moved_values(axis, value, moved) for value in axis.values)) for axis in spec.axes
    )
    return replace(spec, motions=motions, axes=axes)


def _moved_values(axis: AxisTable, value: Any, moved: Callable[[str, Any], Any]) -> Any:
    """A value of an axis, or of its several keys, with files as the scene names them."""
    if axis.key is not None:
        return moved(axis.key, value)
    return tuple(moved(key, item) for key, item in zip(axis.keys, value, strict=True))


def _scene_of(values: Mapping[str, Any], locations: Locations, folder: Path) -> Scene:
    written = values.get("scene")
    if isinstance(written, str):
        return read_scene(folder / written)
    if not isinstance(written, Mapping):
        raise SceneError(
            f'{location(locations, "")}: scene is missing; it names a scene file, e.g. scene = "curls.toml", or '
            "has its tables, e.g. [scene.groom]"
        )
    inner = {key.removeprefix("scene."): place for key, place in locations.items() if key.startswith("scene.")}
    return scene_from_dict(written, locations={"": location(locations, "scene"), **inner}, folder=folder)


def _spec_of(values: Mapping[str, Any], locations: Locations, scene: Scene, text: str) -> Spec:
    hints = typing.get_type_hints(Spec)
    known = [f.name for f in fields(Spec) if f.name not in ("locations", "text")]
    check_keys("", values, known, locations)
    made: dict[str, Any] = {}
    for name, value in values.items():
        if name != "scene":
            made[name] = _fitted(hints[name], name, value, locations)
    if not made.get("motions"):
        raise SceneError(f'{location(locations, "")}: [[motions]] is missing; e.g. motion = "shake"')
    with naming_location(locations, ""):
        plain = replace(scene, output=OutputTable())
        return Spec(scene=plain, **made, locations=locations, text=text)


def _fitted(hint: Any, name: str, value: Any, locations: Locations) -> Any:
    inner = typing.get_args(hint)
    if hasattr(hint, "__dataclass_fields__"):
        return fit_table(hint, name, value, locations)
    if inner and hasattr(inner[0], "__dataclass_fields__"):
        if not isinstance(value, list):
            raise SceneError(f"{location(locations, name)}: {name}: must be a list of tables, [[{name}]]")
        return tuple(fit_table(inner[0], f"{name}.{i}", item, locations) for i, item in enumerate(value))
    with naming_location(locations, ""):
        try:
            return fit(hint, value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
