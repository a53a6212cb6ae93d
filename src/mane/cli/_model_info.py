"""What `mane info` prints and draws of a model that was learned."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mane.measure.plot import Panel
    from mane.reduced.factors import Factor
    from mane.stage.model_file import ModelFile

MULTILINEAR = "multilinear"
PLAIN = (str, int, float, bool)
# Facts of multilinear models that `describe` tells, and those that `_usage` does.
DESCRIBED = {"guides", "vertices", "dimensions", "energy", "megabytes"}
DESCRIBED |= {"spectral_radius", "stability_margin", "stability_settings"}
USED = {"motions", "frames", "dataset"}


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
    known: set[str] = set()
    if model.kind in LEARNERS and "seconds" in model.facts:
        told = LEARNERS[model.kind].load("describe")(model.facts)
        lines += [f"  {line}" for line in told.splitlines()]
        known |= DESCRIBED if model.kind == MULTILINEAR else set()
    if model.kind == MULTILINEAR:
        lines += [f"  {name:<20} {value}" for name, value in _usage(model.facts)]
        known |= USED
    lines += [f"  {name:<20} {value}" for name, value in _plain(model.facts) if name not in known]
    lines += [f"  {name:<20} {kind} {' x '.join(map(str, shape))}" for name, (kind, *shape) in arrays.items()]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _usage(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What one has to know to play a multilinear model, and where it comes from; older files do not tell all of it."""
    from mane.reduced.factors import BEYOND
    from mane.reduced.model import factors_of

    header = facts["model"]
    rows = [(f"slider {one.name}", _slider(one)) for one in factors_of(header)]
    rows.append(("frame rate", f"{header['frame_rate']:g} per second"))
    space = f"{header['representation']} seen from the {header['space']}"
    rows.append(("learned", f"{space}, {header['controls']} controls, a window of {header['order']} frames"))
    ridge = header.get("ridge")
    rows.append(("ridge", "none" if ridge is None else f"{ridge['history']:g}, on controls {ridge['control']:g}"))
    if header["has_wind"]:
        speed = header.get("wind_speed")
        rows.append(
            ("strongest wind", "unknown" if speed is None else f"{speed:g} m/s, up to {(1 + BEYOND) * speed:.3g}")
        )
    if "calibrated_by" in facts:
        rows.append(("calibrated by", facts["calibrated_by"]["dataset"]))
    if "motions" in facts:
        frames = f", {facts['frames']:,} frames" if "frames" in facts else ""
        rows.append(("learned from", f"{facts.get('dataset', 'a dataset')}: {facts['motions']} motions{frames}"))
    if "programs" in facts:
        rows.append(("programs", ", ".join(f"{name} {version}" for name, version in facts["programs"].items())))
    return rows


def _slider(factor: Factor) -> str:
    """Levels of a slider, where they are on it, and its range."""
    levels, positions = (", ".join(map(str, row)) for row in (factor.levels, [f"{p:.3g}" for p in factor.positions]))
    low, high = factor.range
    return f"levels {levels} at {positions}; from {low:.3g} to {high:.3g}"


def _plain(facts: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Facts that fit a line; tables of them are told above, or with --json."""
    return [(name, value) for name, value in facts.items() if isinstance(value, PLAIN)]


def _draw(path: str, model: ModelFile, plot: str) -> None:
    """How stable a model is over its sliders, and how far it is from the simulations that it was tested with."""
    from mane.geometry.checks import require_choice
    from mane.measure.plot import write_panels

    require_choice(f"{path}: kind for --plot", model.kind, [MULTILINEAR])
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
        Curve(label, range(len(rows)), [math.nan if row[name] is None else 100 * row[name] for row in rows])
        for name, label in shown.items()
        if name in rows[0]
    ]
    styles = tuple(row["style"].replace(", ", "\n") for row in rows)
    return [Panel("distance from the simulation", Axis("style", names=styles), Axis("mean of vertices [cm]"), curves)]
