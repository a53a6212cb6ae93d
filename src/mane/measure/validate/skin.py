"""`mane validate skin`: what each way of carrying hair does to it, beside hairs that were simulated one by one.

Every head is carried by every method of ours, then once more as hsu2024 prints it: its position-based guides on their
grid, the groom as the shape without load, and algorithm 1 line by line beside what else carries the same guides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mane.measure.figures import Figures
from mane.measure.study.skin import (
    METHODS,
    OUR_GUIDES,
    PRINTED_GUIDES,
    PRINTED_METHODS,
    SCENES,
    Carry,
    GuideMethod,
    Recording,
    SkinScene,
    measure,
    measure_guides,
    measure_reference,
    record,
)
from mane.measure.study.skin_ablations import ABLATIONS
from mane.metrics.summary import METRICS

Say = Callable[[str], None]
Make = Callable[[Recording], Carry]


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    strands: int
    sampled: int
    measured: int
    seconds: float
    every: int = 6


HEADS = Sizes(strands=100_000, sampled=300, measured=10_000, seconds=1.5)
PARTS = Sizes(strands=1_000, sampled=100, measured=800, seconds=0.8)
QUICK = Sizes(strands=1_000, sampled=20, measured=300, seconds=0.3)
# What the physical skin promises: to be better than the linear one at these.
PROMISED = ("length_error", "kink")
# What is added to the names of guides and hairs that were simulated -> how guides are simulated, and what carries hair.
COLUMNS: dict[str, tuple[GuideMethod, Mapping[str, Make]]] = {
    "": (OUR_GUIDES, METHODS),
    ", xpbd": (PRINTED_GUIDES, PRINTED_METHODS),
}


def run(*, quick: bool = False, progress: Say | None = None, plot: str | None = None) -> Figures:
    """Carry the heads of hsu2024's figures by every method and measure them, then the physical skin part by part.

    Args:
        quick: a small head of one kind.
        progress: told what is being done.
        plot: folder to draw the heads into, side by side by every method.
    """
    figures = Figures("skin")
    say = progress or (lambda text: None)
    sizes = QUICK if quick else HEADS
    for number, scene in enumerate(SCENES[:1] if quick else SCENES):
        for column, (guide_method, methods) in COLUMNS.items():
            recording = _record(scene, sizes, say, guide_method)
            carried = _validate_head(figures, recording, methods, column, sizes, say)
            if plot is not None:
                say(f"skin: {scene.name}, drawing")
                _draw(recording, carried, Path(plot) / f"skin_{number}_{scene.style}_{guide_method.model}.png")
    for scene, variants in () if quick else ABLATIONS.items():
        recording = _record(scene, PARTS, say)
        true = measure_reference(recording, every=PARTS.every)
        for name, make in variants.items():
            say(f"skin: {scene.name}, {name}")
            carry = make(recording)
            found = measure(recording, carry, measured=PARTS.measured, every=PARTS.every)
            _add(figures, f"{scene.name}, physical, {name}", found, true, {})
            figures.add(f"{scene.name}, physical, {name}", "time per frame", _milliseconds(recording, carry), "ms")
    return figures


def _validate_head(
    figures: Figures, recording: Recording, methods: Mapping[str, Make], column: str, sizes: Sizes, say: Say
) -> dict[str, Carry]:
    """Measure a head by every method and return the bound skins."""
    name = recording.scene.name
    true = measure_reference(recording, every=sizes.every)
    _add(figures, f"{name}, full simulation{column}", true, {}, {})
    _add(figures, f"{name}, guides{column}", measure_guides(recording, every=sizes.every), {}, {})
    linear: dict[str, float] = {}
    carried = {}
    for method, make in methods.items():
        say(f"skin: {name}, {method}")
        carried[method] = make(recording)
        found = measure(recording, carried[method], measured=sizes.measured, every=sizes.every)
        linear = found if method == "linear" else linear
        promised = {key: linear[key] for key in PROMISED} if method == "physical" else {}
        _add(figures, f"{name}, {method}", found, true, promised)
    return carried


def _draw(recording: Recording, carried: dict[str, Carry], path: Path) -> None:
    from PIL import Image

    from mane.measure.study.skin_pictures import draw_scene

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(draw_scene(recording, carried)).save(path)


def _record(scene: SkinScene, sizes: Sizes, say: Say, guide_method: GuideMethod = OUR_GUIDES) -> Recording:
    say(f"skin: {scene.name}, simulating {scene.guides} guides and {sizes.sampled} hairs, {guide_method.model}")
    return record(scene, strands=sizes.strands, sampled=sizes.sampled, seconds=sizes.seconds, guide_method=guide_method)


def _milliseconds(recording: Recording, carry: Carry, frames: int = 5) -> float:
    """Median time to carry all hairs of one frame [ms]."""
    times = []
    for frame in recording.frames[-frames:]:
        start = time.perf_counter()
        carry(frame)
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times))


def _add(
    figures: Figures, case: str, found: dict[str, float], true: dict[str, float], promised: dict[str, float]
) -> None:
    for key, value in found.items():
        metric = METRICS[key]
        figures.add(
            case,
            metric.title,
            value * metric.scale,
            metric.unit,
            reference=true[key] * metric.scale if key in true else None,
            source="full simulation" if key in true else None,
            target=promised[key] * metric.scale if key in promised else None,
        )
