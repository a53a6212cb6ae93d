"""Every key of a scene file as a page of Markdown: what `mane new --keys` prints and the documentation shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mane.geometry.limits import Choice
from mane.scene.keys import EMPTY, Key, SceneTable, material_keys, scene_tables
from mane.scene.starter import toml_value

HEAD = """\
# Every key of a scene file

Printed by `mane new --keys` from the classes that read the file. Metres, kilograms, seconds, radians; Y is up.
A default of *none* stands for "found out by itself, or left out", as the effect says; *needed* must be given. A value
that may vary along a strand is a number, the name of a painted map, or rows of fraction and value from root to tip:
`rate = [[0.0, 30.0], [1.0, 5.0]]`.
"""


def scene_reference() -> str:
    """Return the page."""
    return "\n".join([HEAD, *(line for table in scene_tables() for line in table_lines(table))]) + "\n"


def table_lines(table: SceneTable) -> Iterator[str]:
    """One table with its keys, and those of what it may name."""
    yield f"## `{table.title}`\n" if table.name else "## Above all tables\n"
    yield f"{table.summary}\n"
    yield from key_lines(table.keys)
    if table.name == "strand":
        yield "### `[strand.properties]`\n\nProperties of the material, in place of its own.\n"
        yield from key_lines(material_keys())
    below = ", in `[strand.settings]`" if table.name == "strand" else ""
    seen: dict[str, int] = {}  # bodies have motions of one name
    for variant in table.variants:
        seen[variant.name] = seen.get(variant.name, 0) + 1
        again = f"-{seen[variant.name]}" if seen[variant.name] > 1 else ""
        anchor = f"{table.name.replace('.', '-')}-{variant.name}{again}"
        yield f'### `{variant.selector} = "{variant.name}"`{below} {{ #{anchor} }}\n'
        yield f"{variant.summary}\n"
        yield from key_lines(variant.keys)


def key_lines(keys: Sequence[Key]) -> Iterator[str]:
    """A table of keys with default, unit and effect; one sentence where there are none."""
    if not keys:
        yield "No settings.\n"
        return
    yield "| key | default | unit | effect |\n|---|---|---|---|"
    for key in keys:
        effect = _effect(key).replace("|", chr(92) + "|")
        yield f"| `{key.name}` | {_default(key)} | {key.unit} | {effect} |"
    yield ""


def _default(key: Key) -> str:
    if key.default is EMPTY:
        return "*needed*"
    return "*none*" if key.default is None else f"`{toml_value(key.default)}`"


def _effect(key: Key) -> str:
    """What a key does, without its unit, which has a column, and with its limit where the text does not tell it."""
    text = key.meaning.removeprefix(f"[{key.unit}], ").replace(f" [{key.unit}]", "")
    is_told = isinstance(key.limit, Choice) and all(name in text for name in key.limit.names)
    return text if is_told or key.limit is None or not key.limit.words else f"{text}; *{key.limit.words}*"
