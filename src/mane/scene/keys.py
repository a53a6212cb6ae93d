"""Every key that a scene file may have, with type, default, unit and meaning: found where the key is defined.

`mane new` writes them as comments, `mane new --keys` as a page, `mane new --schema` for editors.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from mane.body.characters import CHARACTERS, character_motions
from mane.contact.air.fields import FIELDS
from mane.contact.table import INTERACTIONS
from mane.fluid.sources import WATER_SOURCES
from mane.geometry.limits import Limit, limits_of
from mane.groom.styles import STYLES
from mane.scene.config import OPEN_TABLES, SCENE_KEYS, Scene
from mane.scene.options import (
    PROPS,
    SHAPES,
    air_field_options,
    arguments_of,
    maker_of,
    material_options,
    model_options,
    option_defaults,
    prop_maker,
    shape_class,
    stage_options,
    style_options,
    water_source_options,
)
from mane.scene.sources import SOURCES
from mane.scene.values import table_within
from mane.skin.base import Skin
from mane.skin.finish.passes import FINISHING_PASSES
from mane.skin.table import SKINS
from mane.stage.protocol import Stage
from mane.strand.material import Material
from mane.strand.solver import SOLVERS

EMPTY = inspect.Parameter.empty  # default of a key that must be given
# Key of a table that names an entry of one of the tables of stages, whose settings are further keys.
NAMED_STAGES: dict[str, tuple[str, Mapping[str, type[Stage]]]] = {
    "source": ("kind", SOURCES),
    "strand": ("model", SOLVERS),
    "interactions": ("kind", INTERACTIONS),
    "skin": ("method", SKINS),
    "skin.target": ("method", SKINS),
    "passes": ("kind", FINISHING_PASSES),
}


@dataclass(frozen=True)
class Key:
    """One key of a scene file.

    Attributes:
        name: of the key.
        hint: type of its value, as `mane.scene.values.fit` takes it.
        default: its value where it is left out; `EMPTY` where it must be given, None where it is found out.
        meaning: what it does.
        limit: range or choice that the value must keep to, where its type states one.
    """

    name: str
    hint: Any
    default: Any
    meaning: str
    limit: Limit | None = None

    @property
    def unit(self) -> str:
        """Units of the value, as its meaning states them in brackets; "" for none. [water] is a table, not a unit."""
        found = dict.fromkeys(re.findall(r"\[([^\]\s]+)\]", self.meaning))
        return ", ".join(unit for unit in found if unit.split(".")[0] not in SCENE_KEYS)


@dataclass(frozen=True)
class Variant:
    """Something that a table names, with settings of its own.

    Attributes:
        selector: key of the table that names it.
        name: value of that key.
        summary: what it is.
        keys: its settings, further keys of the table.
    """

    selector: str
    name: str
    summary: str
    keys: tuple[Key, ...]


@dataclass(frozen=True)
class SceneTable:
    """One table of a scene file.

    Attributes:
        name: of the table, "" for the scene itself.
        is_list: whether there may be several, [[name]].
        summary: what it is about.
        keys: its own.
        variants: what it may name, each with its settings.
        is_within: whether it is a table within another one, which may be left out.
    """

    name: str
    is_list: bool
    summary: str
    keys: tuple[Key, ...]
    variants: tuple[Variant, ...] = ()
    is_within: bool = False

    @property
    def title(self) -> str:
        """Its header in a scene file."""
        return f"[[{self.name}]]" if self.is_list else f"[{self.name}]"


@cache
def described(thing: Any) -> dict[str, str]:
    """What each argument or field of a class or a function means, from the sections of its docstring."""
    found: dict[str, str] = {}
    for base in reversed(thing.__mro__[1:-1] if inspect.isclass(thing) else ()):
        found |= described(base)
    for title in ("Args", "Attributes"):
        section = re.search(rf"^{title}:\n((?: {{4}}.*\n?|\n(?= {{4}}))+)", inspect.cleandoc(thing.__doc__ or ""), re.M)
        if section is not None:
            lines = re.findall(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", section.group(1), re.M)
            found |= {name: _without_stop(" ".join(text.split())) for name, text in lines}
    return found


def _without_stop(text: str) -> str:
    return text if text.endswith("...") else text.removesuffix(".")


def summary_of(thing: Any) -> str:
    """First paragraph of a docstring, in one line."""
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())


def table_keys(table: Any, *, is_open: bool) -> tuple[Key, ...]:
    """Keys of a table, from the fields of its class; an open one has those of what it names besides."""
    hints, meanings, limits = typing.get_type_hints(table), described(table), limits_of(table)
    fields = [f for f in dataclasses.fields(table) if not (is_open and f.name == "settings")]
    fields = [f for f in fields if table_within(hints[f.name]) is None]  # has keys of its own
    return tuple(Key(f.name, hints[f.name], default_of(f), meanings[f.name], limits.get(f.name)) for f in fields)


def default_of(item: dataclasses.Field[Any]) -> Any:
    """Default of a field, `EMPTY` for one that has none."""
    if item.default is not dataclasses.MISSING:
        return item.default
    return item.default_factory() if item.default_factory is not dataclasses.MISSING else EMPTY


def stage_keys(stage: type[Stage]) -> tuple[Key, ...]:
    """Settings of a stage, as keys of a scene file."""
    maker, defaults = maker_of(stage), option_defaults(stage)
    meanings, limits = described(stage) | described(maker), dict(limits_of(maker))
    if stage.settings is not None:
        meanings |= described(stage.settings)
        limits |= limits_of(stage.settings)
    return tuple(
        Key(name, hint, defaults[name], meanings.get(name, ""), limits.get(name))
        for name, hint in stage_options(stage).items()
    )


def call_keys(function: Any, options: Mapping[str, Any]) -> tuple[Key, ...]:
    """Options of a function, as keys of a scene file."""
    parameters, meanings, limits = inspect.signature(function).parameters, described(function), limits_of(function)
    return tuple(
        Key(name, hint, parameters[name].default, meanings.get(name, ""), limits.get(name))
        for name, hint in options.items()
    )


def scene_tables() -> tuple[SceneTable, ...]:
    """All tables of a scene file, in the order in which `mane new` writes them; the scene itself comes first."""
    hints, meanings = typing.get_type_hints(Scene), described(Scene)
    own = [name for name in SCENE_KEYS if name == "seed"]
    keys = tuple(Key(n, hints[n], 0, meanings[n], limits_of(Scene).get(n)) for n in own)
    tables = [SceneTable("", False, "Keys above all tables.", keys)]
    for name in SCENE_KEYS:
        if name in own:
            continue
        listed = typing.get_args(hints[name])
        tables += _described_table(name, listed[0] if listed else hints[name], is_list=bool(listed))
    return tuple(tables)


def _described_table(name: str, table: Any, *, is_list: bool = False, is_within: bool = False) -> Iterator[SceneTable]:
    """A table of a scene file, and those within it."""
    summary = " ".join((inspect.getdoc(table) or "").partition("Attributes:")[0].split())
    keys = table_keys(table, is_open=name in OPEN_TABLES)
    yield SceneTable(name, is_list, summary, keys, _variants(name, {key.name for key in keys}), is_within)
    for key, hint in typing.get_type_hints(table).items():
        inner = table_within(hint)
        if inner is not None:
            yield from _described_table(f"{name}.{key}", inner, is_within=True)


def _variants(table: str, own: set[str]) -> tuple[Variant, ...]:
    """What a table may name, with its settings; keys of the table itself are explained there."""
    if table in NAMED_STAGES:
        selector, stages = NAMED_STAGES[table]
        settings = model_keys if table == "strand" else stage_keys
        return tuple(
            Variant(selector, name, summary_of(stage), tuple(key for key in settings(stage) if key.name not in own))
            for name, stage in stages.items()
            if table != "skin.target" or (issubclass(stage, Skin) and stage.can_be_target)
        )
    return tuple(
        Variant(selector, name, summary_of(function), call_keys(function, options))
        for selector, name, function, options in _made(table)
    )


def _made(table: str) -> Iterator[tuple[str, str, Any, Mapping[str, Any]]]:
    """Key, name, function and options of what a table names and a function makes."""
    if table == "groom":
        yield from (("style", name, style.grow, style_options(name)) for name, style in STYLES.items())
    elif table == "air_fields":
        yield from (("kind", name, function, air_field_options(name)) for name, function in FIELDS.items())
    elif table == "water_sources":
        yield from (("kind", name, made, water_source_options(name)) for name, made in WATER_SOURCES.items())
    elif table == "body":
        for motions in map(character_motions, CHARACTERS):
            yield from (("motion", name, function, arguments_of(function)) for name, function in motions.items())
    elif table == "solids":
        for name in PROPS:
            yield "prop", name, prop_maker(name), arguments_of(prop_maker(name))
        for name in SHAPES:
            yield "shape", name, shape_class(name), arguments_of(shape_class(name))


def model_keys(solver: type[Stage]) -> tuple[Key, ...]:
    """Settings of a strand model, keys of [strand.settings]."""
    if solver.settings is None:
        return ()
    meanings, limits = described(solver.settings), limits_of(solver.settings)
    defaults = {f.name: default_of(f) for f in dataclasses.fields(solver.settings)}
    return tuple(
        Key(name, hint, defaults[name], meanings.get(name, ""), limits.get(name))
        for name, hint in model_options(solver.name).items()
    )


def material_keys() -> tuple[Key, ...]:
    """Properties of a material, keys of [strand.properties]; the material named there has their values."""
    meanings = described(Material)
    return tuple(Key(name, hint, None, meanings[name]) for name, hint in material_options("straight").items())
