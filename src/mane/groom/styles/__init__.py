"""Procedural grooms: seeded, any strand count, ready to simulate.

```python
groom = mane.styles.make("curly", strands=100_000, seed=1)
coat = mane.styles.fur(mesh, strands=50_000, direction=(0, -1, 0))
```
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray, require_choice, require_seed
from mane.geometry.limits import limits_of
from mane.geometry.memory import require_room
from mane.groom.groom import Groom
from mane.groom.styles.standing import fur
from mane.groom.styles.tie_location import TieLocation

__all__ = ["STYLES", "Style", "TieLocation", "body", "body_color", "fur", "make", "ties"]

DEFAULT_STRANDS = 20_000
BYTES_PER_POINT = 60  # at the peak of making a style: 47 to 66 by style, 170 for the braid


@dataclass(frozen=True)
class Style:
    """One entry of the table of styles.

    Attributes:
        name: what `make` takes.
        summary: one line for people.
        module: which file of this folder grows it, in a function of the same name.
        vertices: points per strand where the caller gives none; as many as its finest detail needs.
        on_bust: whether it grows on the bust, or on a body of its own, which `<name>_body` in the same file makes.
        character: of `mane.body.characters` that this body is of, or None for one without joints.
    """

    name: str
    summary: str
    module: str
    vertices: int = 16
    on_bust: bool = True
    character: str | None = "bust"

    @property
    def grow(self) -> Callable[..., Groom]:
        """The function that grows it: `(strands, vertices, seed, *, options...) -> Groom`."""
        function: Callable[..., Groom] = getattr(import_module(f"mane.groom.styles.{self.module}"), self.name)
        return function

    @property
    def options(self) -> dict[str, float]:
        """Options that `make` takes for this style, with their defaults."""
        parameters = inspect.signature(self.grow).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


STYLES = {
    style.name: style
    for style in (
        Style("straight", "long, parted in the middle, below the shoulders", "loose"),
        Style("bob", "cut level at the chin, with a fringe", "loose"),
        Style("wavy", "long loose waves, parted on the side", "loose", vertices=24),
        Style("curly", "shoulder-length curls, hardly two alike", "loose", vertices=32),
        Style("coily", "tight coils that stand off the head", "loose", vertices=48),
        Style("mohawk", "an upright crest over cropped sides", "loose"),
        Style("ponytail", "combed to a tie at the back of the head", "tied", vertices=32),
        Style("braid", "three interwoven sets, plaited from the nape", "tied", vertices=64),
        Style("brush", "upright bristles on a round handle", "standing", on_bust=False, character=None),
        Style("carpet", "deep pile on a square mat", "standing", vertices=8, on_bust=False, character=None),
        Style("ball", "long hair all over a sphere", "standing", on_bust=False, character=None),
        Style("fox", "a coat of fur all over the creature", "pelt", vertices=8, on_bust=False, character="creature"),
    )
}


def make(
    name: str, *, strands: int = DEFAULT_STRANDS, vertices: int | None = None, seed: int = 0, **options: Any
) -> Groom:
    """Grow a procedural groom.

    Args:
        name: one of `STYLES`; for fur on a mesh of your own see `fur`.
        strands: how many.
        vertices: points per strand; None for as many as the style's finest detail needs.
        seed: another seed, another head of the same style; the same seed, the same bytes.
        options: what the style itself can vary, e.g. `length` [m]; `STYLES[name].options` lists them.
    """
    require_choice("style", name, list(STYLES))
    style = STYLES[name]
    if strands < 1:
        raise ValueError(f"strands: must be at least 1, got {strands}")
    count = style.vertices if vertices is None else vertices
    if count < 3:
        raise ValueError(f"vertices: must be at least 3, got {count}")
    require_seed(seed)
    check_options(name, options)
    require_room("strands", strands, BYTES_PER_POINT * count)
    return style.grow(strands, count, seed, **options)


def ties(name: str, **options: Any) -> tuple[TieLocation, ...]:
    """Return where a style needs ties to keep its shape once it moves; none for loose hair.

    Args:
        name: one of `STYLES`.
        options: those that the groom was made with.
    """
    require_choice("style", name, list(STYLES))
    style = STYLES[name]
    check_options(name, options)
    places = getattr(import_module(f"mane.groom.styles.{style.module}"), f"{name}_ties", None)
    return () if places is None else places(**{**style.options, **options})


def check_options(name: str, options: Mapping[str, Any]) -> None:
    """Raise ValueError naming the first option that the style does not have, or that is out of its range."""
    known, limits = STYLES[name].options, limits_of(STYLES[name].grow)
    for option, value in options.items():
        if option not in known:
            raise ValueError(f"style {name!r} has no option {option!r}; it has {', '.join(known)}")
        limits[option].check(option, value)


def body_color(name: str) -> FloatArray | None:
    """Linear RGB and gloss (0 matte, 1 skin) of the body of a style, per vertex (N, 4); None where it has no own.

    Args:
        name: of a style; see `STYLES`.
    """
    require_choice("style", name, list(STYLES))
    color = getattr(import_module(f"mane.groom.styles.{STYLES[name].module}"), f"{name}_skin", None)
    return None if color is None else color()


def body(name: str) -> Mesh:
    """Return the mesh that a style grows on [m], to draw or to collide with.

    Args:
        name: of a style; see `STYLES`.
    """
    require_choice("style", name, list(STYLES))
    if STYLES[name].on_bust:
        from mane.groom.styles.head import load_head

        return load_head().bust.mesh
    mesh: Mesh = getattr(import_module(f"mane.groom.styles.{STYLES[name].module}"), f"{name}_body")()
    return mesh
