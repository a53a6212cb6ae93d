"""Options of whatever a scene names: a style, a prop, a strand model, a part, a skin. Found where they are defined.

Nothing here lists options a second time: they are the arguments of the function, or the fields of the settings, of the
thing itself. Only those that a scene file can write are offered.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import re
import typing
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from mane.geometry.checks import require_choice
from mane.scene.values import VARYING, fit

if TYPE_CHECKING:
    from mane.scene.config import Scene, SkinTable, SolidTable

Options = dict[str, Any]  # name -> type

PLAIN = (bool, int, float, str, float | None, int | None, str | None, int | Literal["converged"])
# kind -> module and class; a kind is offered where its module is there
INTERACTIONS = {
    "attraction": ("mane.contact.attraction", "Attraction"),
    "root_damping": ("mane.contact.damping", "RootDamping"),
    "links": ("mane.contact.links", "StaticLinks"),
    "strips": ("mane.contact.strips", "TriangleStrips"),
    "ties": ("mane.contact.ties", "Ties"),
    "grid": ("mane.contact.volume_grid", "VolumeGrid"),
    "adaptive": ("mane.contact.adaptive", "AdaptiveGuides"),
}
SINGLE = ("adaptive",)  # kinds of which a scene may have one
PROPS = ("comb", "gear", "hairbrush", "hand", "rod")
SHAPES = ("box", "capsule", "plane", "sphere", "torus")


def interaction_kinds() -> list[str]:
    """Kinds of interactions that there are."""
    return [kind for kind, (module, _) in INTERACTIONS.items() if find_spec(module) is not None]


def interaction_maker(kind: str) -> Any:
    """Return what makes the part of that kind: its class, or its method `around` where it has one."""
    require_choice("kind", kind, interaction_kinds())
    module, name = INTERACTIONS[kind]
    part = getattr(import_module(module), name)
    return getattr(part, "around", part)


def needs_guides(maker: Any) -> bool:
    """Whether a part can only be made for given guides."""
    parameter = inspect.signature(maker).parameters.get("guides")
    return parameter is not None and parameter.default is inspect.Parameter.empty


def prop_maker(name: str) -> Any:
    """Return the function that makes the prop of that name."""
    require_choice("prop", name, PROPS)
    return getattr(import_module("mane.body.props"), f"make_{name}")


def shape_class(name: str) -> Any:
    """Return the shape of that name."""
    require_choice("shape", name, SHAPES)
    return getattr(import_module("mane.body.shapes"), name.capitalize())


def model_params(name: str) -> Any:
    """Return the settings class of a strand model."""
    from mane.strand.solver import SOLVERS

    require_choice("model", name, list(SOLVERS))
    module, solver = SOLVERS[name]
    return getattr(import_module(module), solver.replace("Solver", "Params"))


def skin_class(name: str) -> Any:
    """Return the skin of that name."""
    from mane.skin.table import SKINS

    require_choice("method", name, list(SKINS))
    module, attribute = SKINS[name]
    return getattr(import_module(module), attribute)


def style_options(name: str) -> Options:
    """Options of a procedural style."""
    from mane.groom.styles import STYLES

    require_choice("style", name, list(STYLES))
    return dict.fromkeys(STYLES[name].options, float)


def arguments_of(thing: Any) -> Options:
    """Options of a function, a class or its settings class, as far as a scene file can write them."""
    function = thing.__init__ if inspect.isclass(thing) else thing
    parameters = inspect.signature(function).parameters
    hints = typing.get_type_hints(function)
    options = {name: _written_as(hints.get(name)) for name in parameters if name != "self"}
    takes_more = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    params = params_of(thing) if takes_more else None
    if params is not None:
        options |= {f.name: _written_as(typing.get_type_hints(params)[f.name]) for f in dataclasses.fields(params)}
    return {name: hint for name, hint in options.items() if hint is not None}


def params_of(thing: Any) -> Any:
    """Return the settings class of a class that takes `**settings`, or None: the one `...Params` beside it."""
    module = import_module(thing.__module__)
    found = [value for name, value in vars(module).items() if name.endswith("Params") and inspect.isclass(value)]
    return found[0] if found else None


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
    return hint if hint in PLAIN else None


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
    """Turn a ValueError inside into a `TableError` of that table; a message that begins with a key names it."""
    try:
        yield
    except TableError:
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
    for index, solid in enumerate(scene.solids):
        with blaming(f"solids.{index}"):
            options = _solid_options(solid)
        yield f"solids.{index}", options, solid.settings, _own(solid)
    with blaming("strand"):
        material, model = _material_options(scene.strand.material), _model_options(scene.strand.model)
    yield "strand.properties", material, scene.strand.properties, {}
    yield "strand.settings", model, scene.strand.settings, {}
    for index, part in enumerate(scene.interactions):
        with blaming(f"interactions.{index}"):
            options = arguments_of(interaction_maker(part.kind))
        yield f"interactions.{index}", options, part.settings, _own(part)
    with blaming("skin"):
        options = arguments_of(skin_class(scene.skin.method))
    yield "skin", options, scene.skin.settings, _own(scene.skin)


def _solid_options(solid: SolidTable) -> Options:
    if solid.prop is not None:
        return arguments_of(prop_maker(solid.prop))
    return {} if solid.shape is None else arguments_of(shape_class(solid.shape))


def _model_options(name: str) -> Options:
    hints = typing.get_type_hints(model_params(name))
    return {key: hint for key, hint in hints.items() if hint in PLAIN and key != "sag_free"}


def _material_options(name: str) -> Options:
    from mane.strand.material import MATERIALS, Material

    require_choice("material", name, list(MATERIALS))
    return {f.name: VARYING for f in dataclasses.fields(Material)}


def _own(table: Any) -> Options:
    return {f.name: f.type for f in dataclasses.fields(table) if f.name != "settings"}


def _check_ranges(scene: Scene) -> None:
    """Let the things themselves say which values are out of range, as far as that needs no hair."""
    from mane.scene.parts import make_interaction, make_material, make_shape_or_prop, make_wind

    with blaming("strand.settings"):
        model_params(scene.strand.model)(**scene.strand.settings)
    with blaming("strand.properties"):
        make_material(scene.strand)
    with blaming("skin"):
        _check_skin(scene.skin)
    for index, part in enumerate(scene.interactions):
        if part.kind in SINGLE and any(other.kind == part.kind for other in scene.interactions[:index]):
            raise TableError(f"interactions.{index}", "kind", f"kind: there may be one {part.kind!r}, got another")
        if not needs_guides(interaction_maker(part.kind)):
            with blaming(f"interactions.{index}"):
                make_interaction(part, None)
    for index, solid in enumerate(scene.solids):
        if solid.mesh is None:
            with blaming(f"solids.{index}"):
                make_shape_or_prop(solid)
    with blaming("wind"):
        make_wind(scene.wind, scene.seed)


def _check_skin(table: SkinTable) -> None:
    params = params_of(skin_class(table.method))
    if params is not None:
        names = {f.name for f in dataclasses.fields(params)}
        params(**{name: value for name, value in table.settings.items() if name in names})


def title(where: str) -> str:
    """Name of a table as a scene file writes it: `solids.0` is `[[solids]]`."""
    table, _, index = where.rpartition(".")
    return f"[[{table}]]" if index.isdigit() else f"[{where}]" if where else "the scene"


def unknown_key(table: str, name: str, known: Iterable[str]) -> str:
    """Say that a table has no such key, what it has, and what may have been meant."""
    names = list(known)
    text = f"{table} has no key {name!r}; known keys are {', '.join(names)}" if names else f"{table} has no keys"
    near = difflib.get_close_matches(name, names, 1)
    return f"{text}; did you mean {near[0]!r}?" if near else text
