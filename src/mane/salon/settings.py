"""Sliders and choices of the salon: each is a key of the scene, so that what was set by hand can be saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mane.geometry.checks import require_choice
from mane.groom.styles import STYLES
from mane.render.looks import LOOKS
from mane.scene.config import Scene
from mane.scene.learned import load_hair_model, source_kind
from mane.scene.scene_file import with_values
from mane.skin.table import SKINS
from mane.strand.material import MATERIALS
from mane.strand.model import STANDARD_FRICTION
from mane.strand.solver import SOLVERS

LABEL = "the salon"
HAND_PROPS = ("comb", "hairbrush", "hand")
GRAVITY = 9.81  # [m/s^2]
# Styles of a human head: the others grow on bodies of their own.
HEAD_STYLES = tuple(name for name in STYLES if name not in ("carpet", "ball", "fox"))
SIDE_SKINS = ("none", *(name for name in SKINS if name not in ("volume",)))


@dataclass(frozen=True)
class Slider:
    """A number that a person can move.

    Attributes:
        name: in messages.
        label: what the page writes.
        group: heading that it stands under.
        low: lowest value.
        high: highest value.
        read: the value of a scene.
        write: dotted keys of the scene and their values, for a value of the slider.
        unit: after the number.
        is_whole: whether it counts things.
        fits: whether a scene has it.
    """

    name: str
    label: str
    group: str
    low: float
    high: float
    read: Callable[[Scene], float]
    write: Callable[[Scene, float], dict[str, Any]]
    unit: str = ""
    is_whole: bool = False
    fits: Callable[[Scene], bool] = lambda scene: True

    def moved(self, scene: Scene, value: float) -> Scene:
        """Return the scene with the slider at a value; ValueError where that is out of range."""
        if not self.low <= value <= self.high:
            raise ValueError(f"{self.label}: must lie between {self.low:g} and {self.high:g}, got {value:g}")
        return with_values(scene, self.write(scene, round(value) if self.is_whole else float(value)), LABEL)


@dataclass(frozen=True)
class Choice:
    """One of several names; fields as in `Slider`, `key` the dotted key of the scene.

    `is_drawn` says that it changes only how hair is carried and shown, whatever makes the guides move.
    """

    name: str
    label: str
    group: str
    key: str
    entries: tuple[str, ...]
    fits: Callable[[Scene], bool] = lambda scene: True
    is_drawn: bool = False

    def read(self, scene: Scene) -> str:
        """The entry that a scene has."""
        table, _, key = self.key.partition(".")
        return str(getattr(getattr(scene, table), key))

    def chosen(self, scene: Scene, value: str) -> Scene:
        """Return the scene with another entry; ValueError for one that there is not."""
        require_choice(self.label, value, self.entries)
        given: dict[str, Any] = {self.key: value}
        if self.key == "groom.style":  # options of one style are unknown to another
            table = {"style": value, "strands": scene.groom.strands, "vertices": scene.groom.vertices}
            given = {"groom": {name: one for name, one in table.items() if one is not None}}
        if self.key == "strand.model" and scene.strand.settings:
            given["strand.settings"] = {}
        if self.key == "skin.method":
            given = {"skin": {"method": value}}
        return with_values(scene, given, LABEL)


class PropChoice(Choice):
    """What a hand holds: the prop of the first of [[solids]], which stays where it is."""

    def read(self, scene: Scene) -> str:
        """The prop that a scene has."""
        return str(scene.solids[0].prop)

    def chosen(self, scene: Scene, value: str) -> Scene:
        """Return the scene with another prop."""
        require_choice(self.label, value, self.entries)
        first = replace(scene.solids[0], prop=value, settings={})
        return replace(scene, solids=(first, *scene.solids[1:]))


def _has_prop(scene: Scene) -> bool:
    return bool(scene.solids) and scene.solids[0].prop in HAND_PROPS


def _is_style(scene: Scene) -> bool:
    return scene.groom.style is not None


def _is_simulated(scene: Scene) -> bool:
    return source_kind(scene) == "simulation"


def _feels_wind(scene: Scene) -> bool:
    if scene.guides.model is None or _is_simulated(scene):
        return True
    return bool(load_hair_model(scene.path(scene.guides.model)).space.has_wind)


def _has_option(name: str) -> Callable[[Scene], bool]:
    return lambda scene: scene.groom.style is not None and name in STYLES[scene.groom.style].options


def _option(name: str, label: str, low: float, high: float, unit: str = " m") -> Slider:
    """A slider of a style's own option."""
    return Slider(
        name,
        label,
        "hair",
        low,
        high,
        lambda scene: float(scene.groom.settings.get(name, STYLES[scene.groom.style or ""].options[name])),
        lambda scene, value: {f"groom.{name}": value},
        unit,
        fits=_has_option(name),
    )


def _property(name: str, label: str, low: float, high: float, write: Callable[[float], float] | None = None) -> Slider:
    """A slider of a property of the material, as a factor on that of the preset."""

    def preset(scene: Scene) -> float:
        return float(getattr(MATERIALS[scene.strand.material], name))

    return Slider(
        name,
        label,
        "motion",
        low,
        high,
        lambda scene: float(scene.strand.properties.get(name, preset(scene))) / preset(scene),
        lambda scene, value: {"strand.properties": {**scene.strand.properties, name: preset(scene) * value}},
        " x",
        fits=_is_simulated,
    )


def _speed(scene: Scene) -> float:
    return float(scene.wind.velocity[0])


SLIDERS: tuple[Slider, ...] = (
    _option("length", "length", 0.02, 0.6),
    _option("wave", "wave", 0.0, 0.02),
    _option("radius", "curl radius", 0.003, 0.03),
    _option("fringe", "fringe", 0.0, 0.12),
    Slider(
        "strands",
        "hairs",
        "hair",
        500,
        150_000,
        lambda scene: float(scene.groom.strands or 0),
        lambda scene, value: {"groom.strands": value},
        is_whole=True,
        fits=lambda scene: scene.groom.strands is not None,
    ),
    Slider(
        "guides",
        "guides",
        "hair",
        16,
        600,
        lambda scene: float(scene.guides.count) if isinstance(scene.guides.count, int) else 128.0,
        lambda scene, value: {"guides.count": value},
        is_whole=True,
        fits=lambda scene: scene.guides.model is None and scene.guides.file is None,
    ),
    _property("stiffness", "stiffness", 0.05, 5.0),
    _property("damping", "damping", 0.1, 20.0),
    Slider(
        "friction",
        "friction",
        "motion",
        0.0,
        1.0,
        lambda scene: STANDARD_FRICTION if scene.contact.friction is None else scene.contact.friction,
        lambda scene, value: {"contact.friction": value},
        fits=_is_simulated,
    ),
    Slider(
        "drag",
        "air drag",
        "motion",
        0.0,
        1.0,
        lambda scene: scene.strand.drag,
        lambda scene, value: {"strand.drag": value},
        fits=_is_simulated,
    ),
    Slider(
        "cohesion",
        "cohesion",
        "motion",
        0.0,
        10.0,
        lambda scene: scene.strand.cohesion,
        lambda scene, value: {"strand.cohesion": value},
        " 1/s",
        fits=_is_simulated,
    ),
    Slider(
        "gravity",
        "gravity",
        "motion",
        0.0,
        3.0,
        lambda scene: -scene.strand.gravity[1] / GRAVITY,
        lambda scene, value: {"strand.gravity": [0.0, -GRAVITY * value, 0.0]},
        " g",
        fits=_is_simulated,
    ),
    Slider(
        "wind",
        "wind",
        "motion",
        -10.0,
        10.0,
        _speed,
        lambda scene, value: {"wind.velocity": [value, 0.0, 0.0]},
        " m/s",
        fits=_feels_wind,
    ),
)
CHOICES: tuple[Choice, ...] = (
    PropChoice("prop", "in hand", "props", "solids", HAND_PROPS, _has_prop),
    Choice("style", "style", "hair", "groom.style", HEAD_STYLES, _is_style),
    Choice("look", "colour", "hair", "camera.look", tuple(LOOKS), is_drawn=True),
    Choice("material", "material", "motion", "strand.material", tuple(MATERIALS), _is_simulated),
    Choice("model", "strand model", "motion", "strand.model", tuple(SOLVERS), _is_simulated),
    Choice("skin", "skin", "skin", "skin.method", SIDE_SKINS[1:], is_drawn=True),
)


def sliders_of(scene: Scene, as_groomed: Mapping[str, float] | None = None) -> list[Slider]:
    """Sliders that a scene has: those of every scene that fit, and those of a model that is played.

    `as_groomed` are values of the model's sliders at which its hair is the groom of the scene: of those left out.
    """
    return [one for one in SLIDERS if one.fits(scene)] + _model_sliders(scene, as_groomed or {})


def _model_sliders(scene: Scene, as_groomed: Mapping[str, float]) -> list[Slider]:
    """Sliders of a learned model: keys of [guides] sliders, 0 to 1 from its first level to its last."""
    if scene.guides.model is None or _is_simulated(scene):
        return []
    model = load_hair_model(scene.path(scene.guides.model))

    def made(name: str, low: float, high: float) -> Slider:
        def write(scene: Scene, value: float) -> dict[str, Any]:
            return {"guides.sliders": {**scene.guides.sliders, name: value}}

        def read(scene: Scene) -> float:
            groomed = as_groomed.get(name, 0.0)
            value = scene.guides.sliders.get(name, groomed)
            return float(value) if isinstance(value, int | float) else groomed  # a map, or keyframes

        return Slider(f"model_{name}", name, "model", low, high, read, write)

    return [made(factor.name, *factor.range) for factor in model.factors]


def described(
    scene: Scene,
    more: Sequence[Mapping[str, Any]] = (),
    *,
    is_drawn: bool = False,
    as_groomed: Mapping[str, float] | None = None,
) -> list[dict[str, Any]]:
    """Settings that a scene has, as the page gets them; only those of how it is drawn, where that is asked for.

    `as_groomed` as of `sliders_of`.
    """
    sliders = [
        slider_described(one.name, one.label, one.group, one.low, one.high, one.read(scene), one.unit, one.is_whole)
        for one in ([] if is_drawn else sliders_of(scene, as_groomed))
    ]
    found = [one for one in CHOICES if one.fits(scene) and (one.is_drawn or not is_drawn)]
    choices = [choice_described(one.name, one.label, one.group, one.entries, one.read(scene)) for one in found]
    return [*choices, *sliders, *map(dict, more)]


def slider_described(
    name: str,
    label: str,
    group: str,
    low: float,
    high: float,
    value: float,
    unit: str = "",
    is_whole: bool = False,
    is_even: bool = False,
) -> dict[str, Any]:
    """A slider as the page gets it; whole numbers go by powers unless they are even steps."""
    numbers = {"low": low, "high": high, "value": value, "unit": unit, "is_whole": is_whole, "is_even": is_even}
    return {"kind": "slider", "name": name, "label": label, "group": group, **numbers}


def choice_described(name: str, label: str, group: str, entries: Sequence[str], value: str) -> dict[str, Any]:
    """A choice as the page gets it."""
    return {"kind": "choice", "name": name, "label": label, "group": group, "entries": list(entries), "value": value}


def find_slider(scene: Scene, name: str) -> Slider:
    """The slider of that name; ValueError where the scene has none."""
    found = {one.name: one for one in sliders_of(scene)}
    require_choice("slider", name, list(found))
    return found[name]


def find_choice(scene: Scene, name: str) -> Choice:
    """The choice of that name; ValueError where the scene has none."""
    found = {one.name: one for one in CHOICES if one.fits(scene)}
    require_choice("choice", name, list(found))
    return found[name]
