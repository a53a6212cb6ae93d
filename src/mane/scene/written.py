"""A scene as the text of a scene file: every value that is not its default."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any

from mane.scene.config import OPEN_TABLES, SCENE_KEYS, Scene
from mane.scene.starter import toml_value


def scene_text(scene: Scene) -> str:
    """Return a scene as TOML, such that `parse_scene` of it gives the same scene; paths stay as they are."""
    parts: list[str] = []
    tables: list[str] = []
    for name in SCENE_KEYS:
        value = getattr(scene, name)
        if isinstance(value, tuple):
            tables += [_table(f"[[{name}]]", name, one) for one in value]
        elif dataclasses.is_dataclass(value):
            text = _table(f"[{name}]", name, value)
            tables += [text] if "\n" in text.strip() else []
        else:
            parts.append(f"{name} = {toml_value(value)}")
    return "\n".join(parts) + "\n\n" + "\n".join(tables)


def _table(title: str, name: str, table: Any) -> str:
    """One table with the keys that differ from their defaults, and those within it behind."""
    lines, within = [title], []
    for item in dataclasses.fields(table):
        value = getattr(table, item.name)
        if item.name == "settings" and name in OPEN_TABLES:
            lines += [f"{key} = {toml_value(one)}" for key, one in value.items()]
        elif dataclasses.is_dataclass(value):
            inner = f"{name}.{item.name}"
            within.append("\n" + _table(f"[{inner}]", inner, value))
        elif value is not None and value != _default(item):
            lines.append(f"{item.name} = {toml_value(value)}")
    return "\n".join(lines) + "\n" + "".join(within)


def _default(item: dataclasses.Field[Any]) -> Any:
    if item.default_factory is not dataclasses.MISSING:
        return typing.cast(Any, item.default_factory)()
    return item.default
