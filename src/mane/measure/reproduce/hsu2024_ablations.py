"""hsu2024 section 5.1, what each part is for: sweeps (fig. 11), drift correction (fig. 12), collisions (fig. 13)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from mane.measure.heads import Head
from mane.measure.reproduce.hsu2024 import HADLEY, JOSH, SHORT_CURLS, Sizes, draw, frame_milliseconds, recorded
from mane.measure.reproduce.reproduce import ProgressCallback, Report
from mane.measure.study.skin import METHODS, Carry, Recording, measure, physical
from mane.measure.study.skin_ablations import ABLATIONS, OVER_SHOULDERS
from mane.metrics.summary import METRICS

Make = Callable[[Recording], Carry]

SHOWN = ("length_error", "kink", "curvature_distance", "penetration_rate", "penetration_deepest", "distance", "flicker")
ALPHAS = (0.0, 0.05, 0.2, 0.4, 0.7)
# Overhead over linear skinning without and with the solution of the frame before [%].
PAPER_OVERHEAD = {"1 sweep": 20.0, "1 sweep from the frame before": 85.0}


def sweeps(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """One sweep against more of them, and against the solution of the frame before (fig. 11)."""
    # All of them with cut forces alone and all of the gap closed, as the paper has it; the default is apart.
    variants: dict[str, Make] = {
        "linear": METHODS["linear"],
        "1 sweep": partial(physical, load="force"),
        "2 sweeps": partial(physical, load="force", sweeps=2),
        "4 sweeps": partial(physical, load="force", sweeps=4),
        "1 sweep from the frame before": partial(physical, load="force", warm_start="previous"),
        "converged": partial(physical, load="force", sweeps="converged"),
        "the default: 1 sweep with moments": physical,
    }
    scene = replace(SHORT_CURLS, name="more sweeps (fig. 11)")
    recording, sizes = recorded(scene, _fewer(JOSH, 20), quick=quick, tell=tell)
    carried = _carry_all(report, recording, sizes, variants, tell)
    last = recording.frames[-1]
    goal = carried["converged"](last).copy()
    linear = frame_milliseconds(recording, carried["linear"])
    for name, carry in carried.items():
        apart = np.linalg.norm(carry(last) - goal, axis=2).mean()
        report.add(name, "mean distance to the converged solution", 1e3 * float(apart), "mm")
        if name != "linear":
            overhead = 100 * (frame_milliseconds(recording, carry) / linear - 1)
            theirs = PAPER_OVERHEAD.get(name)
            source = None if theirs is None else "hsu2024 5.1, RTX 4090"
            report.add(name, "time over linear", overhead, "%", reference=theirs, source=source)
    draw(report, "sweeps", recording, carried, quick=quick)
    report.note(
        "One sweep and several take the rest shape from different equations (with one, a segment does not feel those "
        "beyond it), so the distance to the converged solution holds that difference too."
    )
    report.note(
        "One sweep runs in lanes of single precision; further sweeps and the start from the frame before in half "
        "as many lanes of double precision, each with the exact multiplier."
    )


def drift(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Weightless hair with a growing share of the drift correction (fig. 12)."""
    scene = replace(SHORT_CURLS, name="weightless (fig. 12)", gravity=(0.0, 0.0, 0.0))
    recording, sizes = recorded(scene, _fewer(JOSH), quick=quick, tell=tell)
    variants: dict[str, Make] = {"linear": METHODS["linear"]}
    variants |= {f"alpha {alpha:g}": partial(physical, alpha=alpha, load="force") for alpha in ALPHAS}
    variants["with moments, alpha 0"] = partial(physical, alpha=0.0)
    carried = _carry_all(report, recording, sizes, variants, tell)
    draw(report, "drift", recording, carried, quick=quick)
    off = {name: _millimetres_off(report, name) for name in ("alpha 0", "with moments, alpha 0", "alpha 0.2", "linear")}
    report.note(
        f"Cut forces alone, as in the paper, leave hair {off['alpha 0']:.0f} mm off hairs simulated one by one where "
        f"nothing corrects their drift, with guides' moments {off['with moments, alpha 0']:.0f} mm; an alpha of 0.2 "
        f"brings that to {off['alpha 0.2']:.0f} mm, where linear skinning has {off['linear']:.0f}."
    )
    report.note(
        "The paper blends with an alpha of 0.05 to 0.1 and does not give the stiffness of its correction; ours is in "
        "weights of the hair, so equal alphas need not mean equal pulls."
    )


def penetration(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Hair over shoulders that turn away: left alone, projected, turned out by the penetration energy (fig. 13)."""
    recording, sizes = recorded(OVER_SHOULDERS, _fewer(HADLEY), quick=quick, tell=tell)
    carried = _carry_all(report, recording, sizes, ABLATIONS[OVER_SHOULDERS], tell)
    draw(report, "penetration", recording, carried, quick=quick)


def _millimetres_off(report: Report, case: str) -> float:
    """Mean distance of a variant to hairs that were simulated one by one, as reported [mm]."""
    title = METRICS["distance"].title
    return next(row.value for row in report.figures.rows if (row.case, row.metric) == (case, title))


def _fewer(head: Head, divisor: int = 5) -> Head:
    """A part of a head's hairs: variants are compared with each other, and converged solutions take their time."""
    return replace(head, hairs=head.hairs // divisor)


def _carry_all(
    report: Report, recording: Recording, sizes: Sizes, variants: Mapping[str, Make], tell: ProgressCallback
) -> dict[str, Carry]:
    """Measure every variant and return the bound skins."""
    carried = {}
    for number, (name, make) in enumerate(variants.items()):
        tell(f"carrying every hair, {name}", 0.3 + 0.5 * number / len(variants))
        carried[name] = make(recording)
        found = measure(recording, carried[name], measured=sizes.measured, every=sizes.every)
        for key in SHOWN:
            if key in found:
                metric = METRICS[key]
                report.add(name, metric.title, found[key] * metric.scale, metric.unit)
    tell("drawing", 0.85)
    return carried
