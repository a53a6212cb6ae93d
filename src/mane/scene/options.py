"""Options of whatever a scene names: a style, a prop, a strand model, a part, a skin. Found where they are defined.

Nothing here lists options a second time: they are the arguments of the function, or the fields of the settings, of the
thing itself. Only those that a scene file can write are offered.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
import re
import typing
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from mane.geometry.checks import require_choice
from mane.geometry.limits import check_arguments
from mane.scene.values import VARYING, fit
from mane.stage.protocol import Stage, has_own_maker
from mane.strand.ports import Part

if TYPE_CHECKING:
    from mane.scene.config import Scene, SkinTable, SolidTable
    from mane.stage.table import Table

Options = dict[str, Any]  # name -> type

LISTS = (tuple[str, ...], tuple[tuple[float, float], ...])
PLAIN = (bool, int, float, str, bool | None, float | None, int | None, str | None, int | Literal["converged"])
PROPS = ("comb", "gear", "hairbrush", "hand", "horse", "rod", "urchin")
SHAPES = ("box", "capsule", "plane", "sphere", "torus")


def prop_maker(name: str) -> Any:
    """Return the function that makes the prop of that name."""
    require_choice("prop", name, PROPS)
    return getattr(import_module("mane.body.props"), f"make_{name}")


def shape_class(name: str) -> Any:
    """Return the shape of that name."""
    require_choice("shape", name, SHAPES)
    return getattr(import_module("mane.body.shapes"), name.capitalize())


def style_options(name: str) -> Options:
    """Options of a procedural style."""
    from mane.groom.styles import STYLES

    require_choice("style", name, list(STYLES))
    return dict.fromkeys(STYLES[name].options, float)


def air_field_options(kind: str) -> Options:
    """Options of what drives the air."""
    return arguments_of(_air_field(kind))


def _air_field(kind: str) -> Any:
    """Return what makes a field of the air."""
    from mane.contact.air.fields import FIELDS

    require_choice("kind", kind, list(FIELDS))
    return FIELDS[kind]


def water_source_options(kind: str) -> Options:
    """Options of what brings water in and takes it away."""
    from mane.fluid.sources import WATER_SOURCES

    require_choice("kind", kind, list(WATER_SOURCES))
    return arguments_of(WATER_SOURCES[kind])


def arguments_of(function: Any) -> Options:
    """Options of a function or a class: its arguments, as far as a scene file can write them."""
    called = function.__init__ if inspect.isclass(function) else function
    hints = typing.get_type_hints(called)
    options = {name: _written_as(hints.get(name)) for name in inspect.signature(called).parameters if name != "self"}
    return {name: hint for name, hint in options.items() if hint is not None}


@functools.cache  # asked for again and again, and slow: signatures and type hints are looked up
def stage_options(stage: type[Stage]) -> Options:
    """Settings of a stage that a scene file can write: arguments of what makes it, and fields of its settings class."""
    options = arguments_of(maker_of(stage)) | dict.fromkeys(stage.files, str | None)
    if stage.settings is not None:
        hints = typing.get_type_hints(stage.settings)
        options |= {f.name: _written_as(hints[f.name]) for f in dataclasses.fields(stage.settings)}
    return {name: hint for name, hint in options.items() if hint is not None and name not in stage.needs}


def option_defaults(stage: type[Stage]) -> dict[str, Any]:
    """Defaults of the options of a stage, by name; `inspect.Parameter.empty` for one that must be given."""
    parameters = inspect.signature(maker_of(stage)).parameters
    found: dict[str, Any] = dict.fromkeys(stage.files)
    found |= {name: parameter.default for name, parameter in parameters.items()}
    if stage.settings is not None:
        found |= {f.name: f.default for f in dataclasses.fields(stage.settings)}
    return {name: found[name] for name in stage_options(stage)}


def lacks(stage: type[Stage]) -> list[str]:
    """What a stage cannot be made without: needs whose argument has no default."""
    parameters = inspect.signature(maker_of(stage)).parameters
    return [need for need in stage.needs if need in parameters and parameters[need].default is inspect.Parameter.empty]


def maker_of(stage: type[Stage]) -> Any:
    """Return what makes a stage for a scene: the class, or its `for_scene` where it has one of its own."""
    return stage.for_scene if has_own_maker(stage) else stage


def _written_as(hint: Any) -> Any:
    """The type that a scene file writes for an argument's type, or None where it cannot."""
    from mane.body.shapes import Vector
    from mane.strand.variation import Varying

    if hint == Varying:
        return VARYING
    if hint == Vector:
        return tuple[float, ...]
    if hint == Vector | None:
        return tuple[float, ...] | None
    return hint if hint in PLAIN or hint in LISTS or typing.get_origin(hint) is Literal else None


class SceneError(ValueError):
    """Something in a scene is not as it must be; the message begins with file and line, or with the key."""


class TableError(ValueError):
    """A key of a table is not as it must be.

    Attributes:
        table: dotted name of the table, e.g. `solids.0`.
        key: name of the key, or "" where the table as a whole is wrong.
        text: what is wrong, beginning with the key or with the table in brackets.
    """

    def __init__(self, table: str, key: str, text: str) -> None:
        super().__init__(
            text if text.startswith("[") or not table else f"{table}.{text}" if key else f"{table}: {text}"
        )
        self.table, self.key, self.text = table, key, text


@contextmanager
def blaming(table: str) -> Iterator[None]:
    """Turn a ValueError inside into a `TableError` of that table; a message that begins with a key names it.

    An error that says already where it is stays as it is.
    """
    try:
        yield
    except (TableError, SceneError):
        raise
    except (ValueError, TypeError) as error:
        found = re.match(r"(?:\w+\.)*(\w+): ", str(error))  # `comb.teeth: ...` is about the key `teeth`
        raise TableError(table, found.group(1) if found else "", str(error)) from None


def check_settings(scene: Scene) -> None:
    """Raise `TableError` unless every setting is an option, in its range, of what the scene names."""
    for table, options, settings, own in _open_settings(scene):
        known = {**own, **options}
        for name, value in settings.items():
            if name not in known:
                raise TableError(table, name, unknown_key(title(table), name, known))
            if name not in options:  # a key of the table that a motion may have too, and this one has not
                raise TableError(table, name, f"{name}: is for a mesh from a file, and no option of what is named here")
            with blaming(table):
                _fit_named(name, known[name], value)
    _check_ranges(scene)


def _fit_named(name: str, hint: Any, value: Any) -> None:
    try:
        fit(hint, value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _open_settings(scene: Scene) -> Iterator[tuple[str, Options, Mapping[str, Any], Options]]:
    """Table, options, settings and the table's own keys of every place that holds settings of something else."""
    with blaming("groom"):
        options = {} if scene.groom.style is None else style_options(scene.groom.style)
    yield "groom", options, scene.groom.settings, _own(scene.groom)
    with blaming("body"):
        options = _body_options(scene)
    yield "body", options, scene.body.settings, _own(scene.body)
    for index, solid in enumerate(scene.solids):
        with blaming(f"solids.{index}"):
            options = _solid_options(solid)
        yield f"solids.{index}", options, solid.settings, _own(solid)
    for index, air_field in enumerate(scene.air_fields):
        with blaming(f"air_fields.{index}"):
            options = air_field_options(air_field.kind)
        yield f"air_fields.{index}", options, air_field.settings, _own(air_field)
    for index, source in enumerate(scene.water_sources):
        with blaming(f"water_sources.{index}"):
            options = water_source_options(source.kind)
        yield f"water_sources.{index}", options, source.settings, _own(source)
    with blaming("strand"):
        material, model = material_options(scene.strand.material), model_options(scene.strand.model)
    yield "strand.properties", material, scene.strand.properties, {}
    yield "strand.settings", model, scene.strand.settings, {}
    for location, table, stage in _stages(scene):
        yield location, stage_options(stage), table.settings, _own(table)


def _stages(scene: Scene) -> Iterator[tuple[str, Any, type[Stage]]]:
    """Place, table and class of every stage that a scene names."""
    from mane.contact.table import INTERACTIONS
    from mane.scene.sources import SOURCES
    from mane.skin.finish.passes import FINISHING_PASSES
    from mane.skin.table import SKINS

    named: list[tuple[str, Any, str, Table[Any], str]] = [
        ("source", scene.source, scene.source.kind, SOURCES, "kind"),
        ("skin", scene.skin, scene.skin.method, SKINS, "method"),
        *(("skin.target", one, one.method, SKINS, "method") for one in (scene.skin.target,) if one is not None),
        *((f"interactions.{i}", one, one.kind, INTERACTIONS, "kind") for i, one in enumerate(scene.interactions)),
        *((f"passes.{i}", one, one.kind, FINISHING_PASSES, "kind") for i, one in enumerate(scene.passes)),
    ]
    for location, table, name, listed, key in named:
        with blaming(location):
            stage = listed.find(name, key)
        yield location, table, stage


def _body_options(scene: Scene) -> Options:
    """Options of the motion of a character."""
    if scene.body.motion is None:
        return {}
    from mane.body.characters import character_motion
    from mane.scene.bodies import character_of

    return arguments_of(character_motion(character_of(scene), scene.body.motion))


def _solid_options(solid: SolidTable) -> Options:
    if solid.prop is not None:
        return arguments_of(prop_maker(solid.prop))
    return {} if solid.shape is None else arguments_of(shape_class(solid.shape))


def model_options(name: str) -> Options:
    """Settings of a strand model."""
    params = model_params(name)
    hints = {} if params is None else typing.get_type_hints(params)
    return {key: hint for key, hint in hints.items() if hint in PLAIN and key != "sag_free"}


def model_params(name: str) -> Any:
    """Return the settings class of a strand model, or None where it has none."""
    from mane.strand.solver import SOLVERS

    return SOLVERS.find(name).settings


def material_options(name: str) -> Options:
    """Properties of a material."""
    from mane.strand.material import MATERIALS, Material

    require_choice("material", name, list(MATERIALS))
    return {f.name: float if f.type == "float" else VARYING for f in dataclasses.fields(Material)}


def _own(table: Any) -> Options:
    return {f.name: f.type for f in dataclasses.fields(table) if f.name != "settings"}


def _check_ranges(scene: Scene) -> None:
    """Let the things themselves say which values are out of range, as far as that needs no hair."""
    from mane.groom.styles import check_options
    from mane.scene.bodies import check_character_motion
    from mane.scene.parts import (
        check_motion,
        make_air_field,
        make_material,
        make_shape_or_prop,
        make_water_source,
        make_wind,
    )

    with blaming("groom"):
        if scene.groom.style is not None:
            check_options(scene.groom.style, scene.groom.settings)
    with blaming("strand.settings"):
        params = model_params(scene.strand.model)
        if params is not None:
            params(**scene.strand.settings)
    with blaming("strand.properties"):
        make_material(scene.strand)
    for location, table, stage in _stages(scene):
        with blaming(location):
            _check_stage(stage, table.settings)
    _check_interactions(scene)
    _check_target(scene.skin)
    for index, solid in enumerate(scene.solids):
        with blaming(f"solids.{index}"):
            check_motion(solid, scene.seed)
            if solid.mesh is None:
                if solid.shape is not None:
                    require_given(shape_class(solid.shape), _solid_options(solid), solid.settings)
                make_shape_or_prop(solid)
    with blaming("head"):
        check_motion(scene.head, scene.seed)
    with blaming("body"):
        check_character_motion(scene)
    with blaming("wind"):
        make_wind(scene.wind, scene.seed)
    for index, air_field in enumerate(scene.air_fields):
        with blaming(f"air_fields.{index}"):
            if scene.air.cell is None:
                raise ValueError("[[air_fields]] drive the air of [air]; give it a cell, e.g. cell = 0.02")
            require_given(_air_field(air_field.kind), air_field_options(air_field.kind), air_field.settings)
            if air_field.kind != "file":  # files are looked at where they are read
                make_air_field(air_field, scene.folder)
    for index, source in enumerate(scene.water_sources):
        with blaming(f"water_sources.{index}"):
            if scene.water.cell is None:
                raise ValueError("[[water_sources]] are for the water of [water]; give it a cell, e.g. cell = 0.02")
            make_water_source(source)


def require_given(function: Any, options: Iterable[str], settings: Mapping[str, Any]) -> None:
    """Raise ValueError naming the first of the options of a function that has no default and is not given."""
    parameters = inspect.signature(function).parameters
    for name in options:
        is_needed = name in parameters and parameters[name].default is inspect.Parameter.empty
        if is_needed and name not in settings:
            raise ValueError(f"{name}: is missing")


def _check_stage(stage: type[Stage], settings: Mapping[str, Any]) -> None:
    """Make the settings of a stage, or the stage itself where it needs nothing of the scene."""
    from mane.scene.parts import as_written, make_stage
    from mane.skin.finish.passes import FinishingPass

    require_given(maker_of(stage), stage_options(stage), settings)
    check_arguments(maker_of(stage), settings)
    stage.check_settings(as_written(stage, settings))
    if stage.settings is None and issubclass(stage, Part | FinishingPass) and not lacks(stage):
        make_stage(stage, settings, lambda need: None)


def _check_interactions(scene: Scene) -> None:
    from mane.contact.table import INTERACTIONS
    from mane.scene.sources import SOURCES

    for index, part in enumerate(scene.interactions):
        again = any(other.kind == part.kind for other in scene.interactions[:index])
        if again and INTERACTIONS.find(part.kind).is_single:
            raise TableError(f"interactions.{index}", "kind", f"kind: there may be one {part.kind!r}, got another")
    require_taken(scene, SOURCES.find(scene.source.kind))


def _check_target(skin: SkinTable) -> None:
    """Raise `TableError` where a skin is given a target that takes none, or one that cannot be it."""
    from mane.skin.table import SKINS

    if skin.target is None:
        return
    where = "skin.target"
    if not SKINS.find(skin.method).takes_target:
        takers = ", ".join(name for name in SKINS if SKINS[name].takes_target)
        text = f"must be left out: skin {skin.method!r} pulls hair to no other; method {takers} does"
        raise TableError(where, "", f"{title(where)} {text}")
    names = [name for name in SKINS if SKINS[name].can_be_target]
    if skin.target.method not in names:
        found = f"{skin.target.method!r} cannot say where hairs belong; choose from {', '.join(names)}"
        raise TableError(where, "method", f"method: {found}")


def require_taken(scene: Scene, source: type[Stage]) -> None:
    """Raise `TableError` where a scene has a table that its source has no use for."""
    for location, is_given, need in (
        ("interactions.0", bool(scene.interactions), "forces"),
        ("wind", any(scene.wind.velocity), "wind"),
        ("air", scene.air.cell is not None, "air"),
        ("water", scene.water.cell is not None, "forces"),
    ):
        if is_given and need not in source.needs:
            raise TableError(
                location, "", f"{title(location)} must be left out: source {source.name!r} takes no {need}"
            )


def title(where: str) -> str:
    """Name of a table as a scene file writes it: `solids.0` is `[[solids]]`."""
    table, _, index = where.rpartition(".")
    return f"[[{table}]]" if index.isdigit() else f"[{where}]" if where else "the scene"


# Keys that had another name once, with their names of today.
RENAMED = {
    "closing": ("drift_gain",),
    "hair_fallen": ("hair_fallbacks",),
    "hold": ("stiffen_to_stand",),
    "refresh": ("broad_phase_interval", "shelter_interval"),
    "retouch": ("narrow_phase_interval",),
    "share": ("theta",),
    "turn": ("rotation_vector",),
    "way": ("keyframes",),
}


def unknown_key(table: str, name: str, known: Iterable[str]) -> str:
    """Say that a table has no such key, what it has, and what may have been meant."""
    names = list(known)
    for today in RENAMED.get(name, ()):
        if today in names:
            return f"{table} has no key {name!r} any more; it is called {today!r} now"
    text = f"{table} has no key {name!r}; known keys are {', '.join(names)}" if names else f"{table} has no keys"
    near = difflib.get_close_matches(name, names, 1)
    return f"{text}; did you mean {near[0]!r}?" if near else text
