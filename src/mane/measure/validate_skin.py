"""`mane validate skin`: what each way of carrying hair does to it, beside hairs that were simulated one by one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mane.measure.figures import Figures
from mane.measure.study_skin import (
    METHODS,
    SCENES,
    Carry,
    Recording,
    SkinScene,
    measure,
    measure_reference,
    record,
)
from mane.measure.study_skin_ablations import ABLATIONS
from mane.metrics.summary import METRICS


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    strands: int = 100_000
    sampled: int = 300
    measured: int = 20_000
    seconds: float = 2.0
    every: int = 6


QUICK = Sizes(strands=4_000, sampled=40, measured=1_000, seconds=0.5, every=6)
# What the physical skin promises: to be better than the linear one at these.
PROMISED = ("length_error", "kink")


def run(*, quick: bool = False, progress: Callable[[str], None] | None = None) -> Figures:
    """Carry the heads of hsu2024's figures by every method and measure them, then the physical skin part by part."""
    figures = Figures("skin")
    sizes = QUICK if quick else Sizes()
    say = progress or (lambda text: None)
    for scene in SCENES[:1] if quick else SCENES:
        recording = _record(scene, sizes, say)
        true = measure_reference(recording, every=sizes.every)
        _add(figures, f"{scene.name}, full simulation", true, {}, {})
        linear: dict[str, float] = {}
        for name, make in METHODS.items():
            say(f"skin: {scene.name}, {name}")
            found = measure(recording, make(recording), measured=sizes.measured, every=sizes.every)
            linear = found if name == "linear" else linear
            promised = {key: linear[key] for key in PROMISED} if name == "physical" else {}
            _add(figures, f"{scene.name}, {name}", found, true, promised)
    if not quick:
        _validate_parts(figures, sizes, say)
    return figures


def _validate_parts(figures: Figures, sizes: Sizes, say: Callable[[str], None]) -> None:
    for scene, variants in ABLATIONS.items():
        recording = _record(scene, sizes, say)
        true = measure_reference(recording, every=sizes.every)
        for name, make in variants.items():
            say(f"skin: {scene.name}, {name}")
            carry = make(recording)
            found = measure(recording, carry, measured=sizes.measured, every=sizes.every)
            _add(figures, f"{scene.name}, physical, {name}", found, true, {})
            figures.add(f"{scene.name}, physical, {name}", "time per frame", _milliseconds(recording, carry), "ms")


def _record(scene: SkinScene, sizes: Sizes, say: Callable[[str], None]) -> Recording:
    say(f"skin: {scene.name}, simulating {scene.guides} guides and {sizes.sampled} hairs")
    return record(scene, strands=sizes.strands, sampled=sizes.sampled, seconds=sizes.seconds)


def _milliseconds(recording: Recording, carry: Carry, frames: int = 10) -> float:
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
