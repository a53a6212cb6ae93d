"""The scene file that `mane new` writes: every key with what it means, most of them commented out at their default."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Container, Iterable, Mapping
from typing import Any

from mane.contact.table import INTERACTIONS
from mane.groom.styles import STYLES
from mane.scene.config import OPEN_TABLES, SCENE_KEYS, Scene, field_lines
from mane.scene.options import option_defaults, style_options
from mane.scene.sources import SOURCES
from mane.skin.finish.passes import FINISHING_PASSES
from mane.skin.table import SKINS
from mane.stage.protocol import Stage
from mane.strand.solver import SOLVERS

EMPTY = inspect.Parameter.empty
# tables whose stages have settings: further keys, those of a strand model keys of [strand.settings]
STAGES: dict[str, Mapping[str, type[Stage]]] = {
    "strand": SOLVERS,
    "interactions": INTERACTIONS,
    "skin": SKINS,
    "passes": FINISHING_PASSES,
}
KEY_WIDTH = 32  # of key and value, before the comment


CREATURE = "creature"  # a scene of this name is one of the creature


def starter_text(name: str, *, style: str | None = None, file: str | None = None) -> str:
    """Return the text of a scene file that runs as it is.

    Args:
        name: of the scene; outputs are called after it. "creature" is one of an animal that walks.
        style: a procedural style; by default curls, and the creature's fur for a scene of the creature.
        file: a groom file in its place.
    """
    if style is None and file is None:
        style = "fox" if name == CREATURE else "curly"
    if style is not None:
        style_options(style)  # refuses one that there is not
    groom: dict[str, Any] = {"file": file} if style is None else {"style": style, "strands": 20_000}
    chosen: dict[str, dict[str, Any]] = {
        "groom": groom,
        "frames": {"end": 48},
        "guides": {"count": 128},
        **_moves(style),
        "strand": {"model": "cosserat", "material": style if style in ("straight", "wavy", "curly") else "straight"},
        "skin": {"method": "physical"},
        "output": {"cache": f"{name}.cache", "usd": f"{name}.usda"},
    }
    parts = [f"# A scene of mane. Run it: mane simulate {name}.toml\n# Metres, kilograms, seconds, radians; Y is up.\n"]
    parts.append(_line("seed", 1, field_lines(Scene)["seed"], is_given=True) + "\n")
    hints = typing.get_type_hints(Scene)
    for key in SCENE_KEYS:
        if key == "seed":
            continue
        listed = typing.get_args(hints[key])
        table = listed[0] if listed else hints[key]
        parts.append(_table_text(key, table, chosen.get(key, {}), is_list=bool(listed)))
    return "\n".join(parts)


def schema_line() -> str:
    """First line of a scene whose editor should complete and check it (Taplo, Even Better TOML)."""
    return "#:schema mane.schema.json\n"


def _moves(style: str | None) -> dict[str, dict[str, Any]]:
    """What moves in a scene of that style: the creature walks, a head is shaken."""
    if style is not None and STYLES[style].character == CREATURE:
        return {"body": {"motion": "walk"}, "head": {"motion": "still"}, "guides": {"count": 400}}
    return {"head": {"motion": "shake"}}


def _table_text(key: str, table: Any, chosen: dict[str, Any], *, is_list: bool) -> str:
    """A table with its keys; one that the scene does not need is commented out as a whole."""
    summary = " ".join((inspect.getdoc(table) or "").partition("Attributes:")[0].split())
    header = f"[[{key}]]" if is_list else f"[{key}]"
    lines = [f"# {summary}", f"# {header}" if is_list else header]
    meanings = field_lines(table)
    for item in dataclasses.fields(table):
        if item.name == "settings" and key in OPEN_TABLES:
            continue
        is_given = item.name in chosen
        choices = _choices(key, item.name)
        meaning = f"{meanings[item.name]}: {', '.join(choices)}" if choices else meanings[item.name]
        lines.append(_line(item.name, chosen.get(item.name, _default(item)), meaning, is_given=is_given))
    lines += [f"#   {line}" for line in settings_lines(STAGES.get(key, {}), own=meanings)]
    return "\n".join(lines) + "\n"


def settings_lines(stages: Mapping[str, type[Stage]], own: Container[str] = ()) -> list[str]:
    """One line per stage of a table with its settings and their defaults, as a scene file writes them.

    Args:
        stages: the table.
        own: keys of the table itself in a scene file, which are explained there.
    """
    lines = []
    for name in stages:
        options = {key: value for key, value in option_defaults(stages[name]).items() if key not in own}
        written = [f"{key} = {'(needed)' if value is EMPTY else toml_value(value)}" for key, value in options.items()]
        lines.append(f"{name}: {', '.join(written) or 'no settings'}")
    return lines


def _choices(table: str, key: str) -> list[str]:
    """Names that a key may have, where a table lists them."""
    listed: dict[tuple[str, str], Iterable[str]] = {
        ("source", "kind"): SOURCES,
        ("strand", "model"): SOLVERS,
        ("interactions", "kind"): INTERACTIONS,
        ("skin", "method"): SKINS,
        ("passes", "kind"): FINISHING_PASSES,
    }
    return list(listed.get((table, key), ()))


def _default(item: dataclasses.Field[Any]) -> Any:
    if item.default is not dataclasses.MISSING:
        return item.default
    return item.default_factory() if item.default_factory is not dataclasses.MISSING else None


def _line(key: str, value: Any, meaning: str, *, is_given: bool) -> str:
    written = f"{key} = {toml_value(value)}"
    return f"{written if is_given else '# ' + written:<{KEY_WIDTH}}  # {meaning}"


def toml_value(value: Any) -> str:
    """Write a plain value as TOML; dots for None, which TOML does not have."""
    if value is None:
        return "..."
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml_value(item)}" for key, item in value.items()) + " }" if value else "{}"
    return repr(value)
