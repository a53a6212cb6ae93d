"""The scene file that `mane new` writes: every key with what it means, most of them commented out at their default."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from mane.groom.styles import STYLES
from mane.scene.keys import EMPTY, NAMED_STAGES, Key, SceneTable, scene_tables
from mane.scene.options import option_defaults, style_options
from mane.stage.protocol import Stage

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
    own, *tables = scene_tables()
    parts += [_line(key, 1, is_given=True) + "\n" for key in own.keys]
    parts += [_table_text(table, chosen.get(table.name, {})) for table in tables]
    return "\n".join(parts)


def schema_line() -> str:
    """First line of a scene whose editor should complete and check it (Taplo, Even Better TOML)."""
    return "#:schema mane.schema.json\n"


def _moves(style: str | None) -> dict[str, dict[str, Any]]:
    """What moves in a scene of that style: the creature walks, a head is shaken."""
    if style is not None and STYLES[style].character == CREATURE:
        return {"body": {"motion": "walk"}, "head": {"motion": "still"}, "guides": {"count": 400}}
    return {"head": {"motion": "shake"}}


def _table_text(table: SceneTable, chosen: dict[str, Any]) -> str:
    """A table with its keys; one that the scene does not need is commented out as a whole."""
    lines = [f"# {table.summary}", f"# {table.title}" if table.is_list or table.is_within else table.title]
    selector, stages = NAMED_STAGES.get(table.name, ("", {}))
    for key in table.keys:
        choices = f": {', '.join(one.name for one in table.variants)}" if key.name == selector else ""
        value = chosen.get(key.name, None if key.default is EMPTY else key.default)
        lines.append(_line(key, value, choices, is_given=key.name in chosen))
    if not table.is_within:  # whose settings are those of the same methods above
        lines += [f"#   {line}" for line in settings_lines(stages, own={key.name for key in table.keys})]
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


def _line(key: Key, value: Any, more: str = "", *, is_given: bool) -> str:
    written = f"{key.name} = {toml_value(value)}"
    return f"{written if is_given else '# ' + written:<{KEY_WIDTH}}  # {key.meaning}{more}"


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
