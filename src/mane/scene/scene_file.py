"""Scene files: TOML read into a `Scene`, with the line in every message."""

from __future__ import annotations

import dataclasses
import os
import re
import tomllib
import typing
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mane.io.notices import spelled
from mane.scene.config import OPEN_TABLES, SCENE_KEYS, Scene
from mane.scene.options import SceneError as SceneError
from mane.scene.options import TableError, blaming, title, unknown_key
from mane.scene.toml_lines import key_lines
from mane.scene.values import fit, shown, table_within

Locations = Mapping[str, str]

FILE_KEYS = ("unit", "up", "rest")  # that tell what a file leaves unsaid


def read_scene(path: str | os.PathLike[str], settings: Sequence[str] = ()) -> Scene:
    """Read a scene file.

    Args:
        path: of the file, TOML.
        settings: `key=value` texts that take the place of what the file says, e.g. `guides.count=64`.

    Raises:
        SceneError: with file and line (or the setting), what is wrong, and what is possible.
        OSError: the file cannot be read.
    """
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(f"{file}: does not exist; check the path, or write a scene to start from by `mane new`")
    try:
        text = file.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise SceneError(f"{file}: must be UTF-8 text, got byte {error.object[error.start]:#04x}") from None
    return parse_scene(text, name=str(file), folder=file.parent, settings=settings)


def parse_scene(text: str, *, name: str = "scene", folder: Path | None = None, settings: Sequence[str] = ()) -> Scene:
    """Make a scene of the text of a scene file; `name` is what messages call it.

    Args:
        text: of the file, TOML.
        name: what messages call it.
        folder: that paths in it start from; the current one by default.
        settings: "key=value" texts that take the place of what the text says, such as "guides.count=64".
    """
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SceneError(_syntax_error(name, str(error), text)) from None
    locations = {key: f"{name}:{line}" for key, line in key_lines(text).items()}
    locations[""] = f"{name}:1"
    for setting in settings:
        _override(values, locations, setting)
    return scene_from_dict(values, locations=locations, folder=folder or Path(), text=text)


def overridden(scene: Scene, settings: Sequence[str]) -> Scene:
    """Return a scene with `key=value` texts in place of what it says."""
    values, locations = _plain_values(scene), dict(scene.locations)
    for setting in settings:
        _override(values, locations, setting)
    return scene_from_dict(values, locations=locations, folder=scene.folder, text=scene.text)


def with_values(scene: Scene, given: Mapping[str, Any], label: str) -> Scene:
    """Return a scene with other values by dotted key, such as `guides.count`; messages call their place `label`."""
    values, locations = _plain_values(scene), dict(scene.locations)
    for key, value in given.items():
        put_value(values, locations, key, value, label)
    return scene_from_dict(values, locations=locations, folder=scene.folder, text=scene.text)


def _plain_values(scene: Scene) -> dict[str, Any]:
    """Values of a scene by table and key, as a scene file has them."""
    values = scene.to_dict()
    for name in OPEN_TABLES:
        found: Any = values
        for part in name.split("."):
            found = found[part]
        for table in found if isinstance(found, list | tuple) else [found] * (found is not None):
            table.update(table.pop("settings"))
    return values


def scene_from_dict(
    values: Mapping[str, Any], *, locations: Locations | None = None, folder: Path | None = None, text: str = ""
) -> Scene:
    """Make a scene of plain values by table and key, as TOML has them or as `Scene.to_dict` gives them."""
    where = dict(locations or {})
    hints = typing.get_type_hints(Scene)
    check_keys("", values, SCENE_KEYS, where)
    made: dict[str, Any] = {}
    for key, value in values.items():
        made[key] = _fit_key(hints[key], key, value, where)
    if "groom" not in made:
        raise SceneError(f'{location(where, "")}: [groom] is missing; it says which hair, e.g. style = "curly"')
    with naming_location(where, ""):
        return Scene(**made, folder=folder or Path(), locations=where, text=text)


@contextmanager
def naming_location(locations: Locations, table: str) -> Iterator[None]:
    """Turn a ValueError about a key of `table` into a SceneError that begins with the line of the key."""
    try:
        with blaming(table), spelled({name: f"{name} in {title(table)}" for name in FILE_KEYS}):
            yield
    except TableError as error:
        raise SceneError(located(locations, error)) from None


def located(locations: Locations, error: TableError) -> str:
    """Message of an error with the place of its key in front, as far as that is known."""
    if not locations:
        return str(error)
    key = ".".join(part for part in (error.table, error.key) if part)
    is_named = error.text.startswith("[") or not error.table
    return f"{location(locations, key)}: {error.text if is_named else f'{title(error.table)} {error.text}'}"


def location(locations: Locations, key: str) -> str:
    """Where a key was given, or the nearest thing around it."""
    while key and key not in locations:
        key = key.rpartition(".")[0]
    return locations.get(key, "scene")


def _fit_key(hint: Any, key: str, value: Any, locations: Locations) -> Any:
    """Value of a key of the scene itself: a table, a list of tables, or a plain value."""
    if dataclasses.is_dataclass(hint):
        return fit_table(hint, key, value, locations, is_open=key in OPEN_TABLES)
    parts = typing.get_args(hint)
    if parts and dataclasses.is_dataclass(parts[0]):
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise SceneError(
                f"{location(locations, key)}: {key}: must be a list of tables, [[{key}]], got {shown(value)}"
            )
        is_open = key in OPEN_TABLES
        tables = enumerate(value)
        return tuple(fit_table(parts[0], f"{key}.{i}", item, locations, is_open=is_open) for i, item in tables)
    with naming_location(locations, ""):
        return _fit_value(hint, key, value)


def fit_table(table: Any, key: str, value: Any, locations: Locations, *, is_open: bool = False) -> Any:
    """Make the dataclass `table` of the values under a key; an open table takes unknown keys as its `settings`."""
    if not isinstance(value, Mapping):
        raise SceneError(f"{location(locations, key)}: {key}: must be a table, {title(key)}, got {shown(value)}")
    hints = typing.get_type_hints(table)
    given = dict(value)
    if is_open:
        known = [name for name in hints if name != "settings"]
        inner = given.pop("settings", {})
        given = {**given, **(inner if isinstance(inner, Mapping) else {"settings": inner})}
        rest = {name: given.pop(name) for name in list(given) if name not in known}
        given["settings"] = rest
    else:
        check_keys(key, given, list(hints), locations)
    with naming_location(locations, key):
        fitted = {name: _fit_field(hints[name], key, name, item, locations) for name, item in given.items()}
        missing = [f.name for f in dataclasses.fields(table) if _is_required(f) and f.name not in fitted]
        if missing:
            raise ValueError(f"{missing[0]}: is missing")
        return table(**fitted)


def _is_required(item: dataclasses.Field[Any]) -> bool:
    return item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING


def _fit_field(hint: Any, table: str, name: str, value: Any, locations: Locations) -> Any:
    """Value of a key of a table: a plain one, or a table within the table."""
    inner = table_within(hint)
    if inner is None or value is None:
        return _fit_value(hint, name, value)
    key = f"{table}.{name}"
    return fit_table(inner, key, value, locations, is_open=key in OPEN_TABLES)


def _fit_value(hint: Any, name: str, value: Any) -> Any:
    try:
        return fit(hint, value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def check_keys(table: str, values: Mapping[str, Any], known: Sequence[str], locations: Locations) -> None:
    """Raise SceneError for the first key that a table does not have."""
    for name in values:
        if name not in known:
            key = f"{table}.{name}" if table else name
            raise SceneError(f"{location(locations, key)}: {unknown_key(title(table), name, known)}")


def _override(values: dict[str, Any], locations: dict[str, str], setting: str) -> None:
    """Put a `key=value` text into the values of a scene file."""
    key, equals, written = setting.partition("=")
    if not equals or not all(key.strip().split(".")):
        raise SceneError(f"--set: must be KEY=VALUE, such as guides.count=64, got {setting!r}")
    put_value(values, locations, key.strip(), _value_of(written.strip()), f"--set {key.strip()}")


def put_value(values: dict[str, Any], locations: dict[str, str], key: str, value: Any, label: str) -> None:
    """Put a value into those of a scene file by its dotted key; messages about it begin with `label`."""
    parts = key.split(".")
    target: Any = values
    for part in parts[:-1]:
        target = _step_into(target, part, label)
    if isinstance(target, list | tuple):
        raise SceneError(f"{label}: must name a key of one of the tables, such as {key}.0.NAME")
    if not isinstance(target, dict):
        raise SceneError(f"{label}: {'.'.join(parts[:-1])} is a value and has no keys")
    target[parts[-1]] = value
    for end in range(1, len(parts)):
        locations.setdefault(".".join(parts[:end]), label)
    locations[".".join(parts)] = label


def _step_into(target: Any, part: str, label: str) -> Any:
    if isinstance(target, list | tuple):
        if not part.isdigit() or int(part) >= len(target):
            raise SceneError(f"{label}: must have a number from 0 to {len(target) - 1} in place of {part!r}")
        return target[int(part)]
    if not isinstance(target, dict):
        raise SceneError(f"{label}: goes through {shown(target)}, which has no keys")
    return target.setdefault(part, {})


def _value_of(written: str) -> Any:
    """The value as TOML has it, or, for a bare word, the word."""
    try:
        return tomllib.loads(f"value = {written}")["value"]
    except tomllib.TOMLDecodeError:
        return written


def _syntax_error(name: str, message: str, text: str) -> str:
    found = re.search(r" ?\(at line (\d+), column (\d+)\)", message)
    if found:
        return f"{name}:{found.group(1)}: {message[: found.start()]} (column {found.group(2)})"
    last = text.count("\n") + 1
    return f"{name}:{last}: {re.sub(r' ?[(]at end of document[)]', '', message)} at the end of the file"
