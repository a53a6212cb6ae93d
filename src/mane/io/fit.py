"""Hair and body from files against each other and against a head, with the remedy in the caller's own words."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mane.body.mesh import Mesh
from mane.body.scale import FAR_ROOTS, ScaleError, body_radius, check_scale, root_distance
from mane.groom.groom import Groom
from mane.io.formats import STRAND_FORMATS, USD_SUFFIXES, frame_of
from mane.io.grooms import read_raw
from mane.io.units import UP_AXES, checked_up, metres_per_unit, unit_name, upright

WORDS = {"m": "metres", "cm": "centimetres", "mm": "millimetres", "km": "kilometres", "in": "inches"}
MUCH_NEARER = 0.2  # roots that another up axis brings so many times nearer to the body are read with the wrong one


@dataclass(frozen=True)
class ReadFile:
    """A file as it was read.

    Attributes:
        path: of the file.
        unit: that it was told to be in, or None.
        up: axis that it was told to have up, or None.
        unit_option: how the caller tells the unit, e.g. "--from-unit {}".
        up_option: how the caller tells the up axis.
    """

    path: str | os.PathLike[str]
    unit: str | None
    up: str | None
    unit_option: str
    up_option: str

    def metres_per_unit(self) -> float:
        """Length of the unit that it was read in [m]."""
        suffix = Path(self.path).suffix.lower()
        if self.unit is not None:
            return metres_per_unit(self.unit)
        if suffix in USD_SUFFIXES:
            from mane.io.usd.stage import open_stage, quietly_stated_size

            return quietly_stated_size(self.path, open_stage(self.path))
        if suffix in STRAND_FORMATS:
            return metres_per_unit(frame_of(self.path, read_raw(self.path)).unit)
        return 1.0


def require_fit(
    groom: Groom, mesh: Mesh | None, *, hair: ReadFile | None, body: ReadFile | None, override: str
) -> None:
    """Raise ValueError, in one line with a remedy, where hair cannot be hair or cannot be on that body.

    Args:
        groom: the hair [m], Y up.
        mesh: the body [m], Y up, or None.
        hair: the file of the hair, or None where it is made in code.
        body: the file of the body, or None likewise.
        override: how the caller may tell that it is meant so, e.g. "--any-scale".
    """
    try:
        check_scale(groom, mesh)
    except ScaleError as error:
        file = {"hair": hair, "body": body}.get(error.thing)
        remedy = _axis_remedy(groom, mesh, hair) if not error.thing else _unit_remedy(error, file)
        named = file or hair or body
        where = "" if named is None else f"{os.fspath(named.path)}: "
        raise ValueError(f"{where}{error.text}; {remedy}; {override} takes them as they are") from None


def _unit_remedy(error: ScaleError, file: ReadFile | None) -> str:
    times = f"{max(error.factor, 1 / error.factor):g} times too {'large' if error.factor < 1 else 'small'}"
    if file is None:
        return f"the {error.thing} looks {times}"
    name = unit_name(file.metres_per_unit() * error.factor)
    looks = f"these look like {WORDS[name]}" if name in WORDS else f"the {error.thing} looks {times}"
    return f"{looks}: {file.unit_option.format(name)}"


def _axis_remedy(groom: Groom, mesh: Mesh | None, hair: ReadFile | None) -> str:
    """Another up axis that would put the roots onto the body, or what else to look at."""
    if mesh is not None and hair is not None:
        now = upright(checked_up(hair.up or "y"))
        roots = groom.roots.astype(np.float64)
        distances = {
            axis: root_distance(roots @ (upright(axis) @ now.T).T, mesh) for axis in UP_AXES if axis != (hair.up or "y")
        }
        best = min(distances, key=distances.__getitem__)
        if distances[best] < min(MUCH_NEARER * root_distance(roots, mesh), FAR_ROOTS * body_radius(mesh)):
            return f"the up axis looks wrong: {hair.up_option.format(best)}"
    return "check the origin and the up axis of both"
