"""What `mane info` prints and draws of a model that was learned."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mane.measure.plot import Panel
    from mane.stage.model_file import ModelFile

PLAIN = (str, int, float, bool)


def print_model(path: str, *, as_json: bool, plot: str | None) -> int:
    """Print what is known of a model, and draw it into a file where one is named."""
    from mane.dataset.learn.table import LEARNERS
    from mane.stage.model_file import ModelFile

    model = ModelFile.read_any(path)
    if plot is not None:
        _draw(path, model, plot)
    arrays = {name: [str(array.dtype), *array.shape] for name, array in model.arrays.items()}
    if as_json:
        facts = {"file": path, "kind": model.kind, "version": model.version, "facts": model.facts, "arrays": arrays}
        sys.stdout.write(json.dumps(facts, indent=2, allow_nan=False) + "\n")
        return 0
    lines = [f"{path}: model of kind {model.kind}, version {model.version}"]
    if model.kind in LEARNERS and "seconds" in model.facts:
        told = LEARNERS[model.kind].load("describe")(model.facts)
        lines += [f"  {line}" for line in told.splitlines()]
    lines += [f"  {name:<20} {value}" for name, value in _plain(model.facts)]
    lines += [f"  {name:<20} {kind} {' x '.join(map(str, shape))}" for name, (kind, *shape) in arrays.items()]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _plain(facts: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Facts that fit a line; tables of them are told above, or with --json."""
    return [(name, value) for name, value in facts.items() if isinstance(value, PLAIN)]


def _draw(path: str, model: ModelFile, plot: str) -> None:
    """How stable a model is over its sliders, and how far it is from the simulations that it was tested with."""
    from mane.geometry.checks import require_choice
    from mane.measure.plot import write_panels

    require_choice(f"{path}: kind for --plot", model.kind, ["multilinear"])
    panels = [*_stability(path, model), *_errors(model)]
    if not panels:
        raise ValueError(f"{path}: has neither sliders nor errors to draw")
    write_panels(plot, panels)


def _stability(path: str, model: ModelFile) -> list[Panel]:
    """Largest and smallest of the largest eigenvalues at each value of the first slider, whatever the others are."""
    import numpy as np

    from mane.measure.plot import Axis, Curve, Panel

    grid, radii = model.arrays["grid"], model.arrays["radii"]
    names = [factor["name"] for factor in model.facts["model"]["factors"]]
    if not names:
        return []
    places = np.unique(grid[:, 0])
    at_each = [radii[grid[:, 0] == place] for place in places]
    others = ", ".join(names[1:])
    curves = [Curve(f"worst over {others}" if others else names[0], places, [own.max() for own in at_each])]
    if others:
        curves.append(Curve(f"best over {others}", places, [own.min() for own in at_each]))
    return [Panel(f"stability of {path}", Axis(names[0]), Axis("largest eigenvalue, stable below 1"), curves)]


def _errors(model: ModelFile) -> list[Panel]:
    """Distance from the simulation in every style."""
    from mane.measure.plot import Axis, Curve, Panel

    rows = model.facts.get("errors")
    if not rows or "style" not in rows[0]:
        return []
    shown = {
        "training_model": "motions that it was learned from",
        "test_model": "other motions",
        "test_rigid": "other motions, hair carried rigidly",
        "test_floor": "other motions, as near as its components can be",
    }
    curves = [
        Curve(label, range(len(rows)), [100 * row[name] for row in rows])
        for name, label in shown.items()
        if name in rows[0]
    ]
    styles = tuple(row["style"].replace(", ", "\n") for row in rows)
    return [Panel("distance from the simulation", Axis("style", names=styles), Axis("mean of vertices [cm]"), curves)]
