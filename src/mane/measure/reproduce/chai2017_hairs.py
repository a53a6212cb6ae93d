"""chai2017 with hair against hair, as a finishing pass: what `keep_volume` does to volume, lengths and time.

It stands where the paper has the position correction of its reference [33], of which no equation is at hand (decision
32); a plain one, as far as the paper tells of it, is beside.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from mane.body.motion import Pose
from mane.geometry.checks import FloatArray
from mane.measure.reproduce import chai2017
from mane.measure.reproduce.reproduce import ProgressCallback, Report
from mane.measure.study import parting
from mane.measure.study import parting_scenes as scenes
from mane.measure.study.parting import Recording
from mane.measure.study.parting_baselines import PairCorrection
from mane.metrics.flicker import FlickerMeter
from mane.metrics.kink import kink
from mane.metrics.length import length_error
from mane.skin.finish.passes import LengthKeeping, SolidAdjustment
from mane.skin.finish.volume import VolumeKeeping


def run(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """A comb through straight hair, with its hairs kept from one another after skinning and without (section 5)."""
    sizes = chai2017.QUICK if quick else chai2017.USUAL
    recording = parting.record(scenes.COMB, sizes, lambda text, share: tell(text, 0.6 * share))
    case = f"{sizes.strands:,} x {sizes.vertices}, {sizes.guides} guides"
    tell("measuring the full simulation", 0.7)
    _measure(report, recording, f"{case}, full simulation, no hair against hair", None, recording.truth)
    carried = _carried(recording)
    _measure(report, recording, f"{case}, adaptive", None, carried)
    for number, compression in enumerate((1.0, VolumeKeeping.settings().compression, 1.5)):
        tell(f"keeping hair from hair, compression {compression}", 0.8 + 0.05 * number)
        finish = VolumeKeeping(recording.groom, compression=compression)
        _measure(report, recording, f"{case}, adaptive, keep_volume, compression {compression:g}", finish, carried)
    tell("keeping hair from hair, pair by pair", 0.95)
    pairs = PairCorrection(recording.groom.as_uniform())
    _measure(report, recording, f"{case}, adaptive, pairs of vertices", pairs, carried)
    report.note(
        "The paper keeps hair from hair by the position correction of [33], of which it prints no equation and whose "
        "text is not at hand. `keep_volume` is a method of ours in its place, by densities: a finishing pass, too, and "
        "without friction. Pairs of vertices are the plain constraint of position-based dynamics, in NumPy, which is "
        "what the paper's words would lead one to. Nothing here says how well [33]'s own would do."
    )
    tell("done", 1.0)


def _carried(recording: Recording) -> FloatArray:
    skin = parting.METHODS["adaptive"](recording)
    return np.stack([skin(frame, copy=True) for frame in recording.frames])


def _measure(
    report: Report, recording: Recording, case: str, finish: VolumeKeeping | PairCorrection | None, carried: FloatArray
) -> None:
    """Finish every frame, with `finish` where there is one, and add what it came to."""
    others, rest = recording.others, recording.groom.as_uniform()
    lengths, solids = LengthKeeping(recording.groom), recording.simulation.solids
    out_of_solids = SolidAdjustment(solids, touched=range(1, len(solids)))
    gauge, meter = VolumeKeeping(recording.groom, compression=1.0), FlickerMeter()
    rows, seconds = [], []
    for number, frame in enumerate(recording.frames):
        points = carried[number].copy()
        if carried is not recording.truth:
            lengths(points)
        if finish is not None:
            began = perf_counter()
            finish(points, frame)
            seconds.append(perf_counter() - began)
        if carried is not recording.truth:
            out_of_solids(points, frame)
        meter.add(points[others])
        apart = np.linalg.norm(points - recording.truth[number], axis=2).mean(axis=1)
        near = others[recording.is_near[number][others]]
        rows.append(
            (
                too_dense(gauge, points, frame.head),
                np.abs(length_error(points[others], rest[others])).mean(),
                kink(points[others], rest[others]).mean(),
                apart[near].mean() if len(near) else 0.0,
            )
        )
    crowded, stretch, bend, error = np.mean(rows, axis=0)
    report.add(case, "hair above the density of the groom", 100 * crowded, "%")
    report.add(case, "mean length error, whole frame", 100 * stretch, "%")
    report.add(case, "mean kink, whole frame", bend, "rad")
    report.add(case, "distance from full simulation near solids, whole frame", 1e3 * error, "mm")
    report.add(case, "flicker", 1e3 * meter.value, "mm")
    if seconds:
        report.add(case, "time per vertex, median", 1e9 * float(np.median(seconds)) / rest[..., 0].size, "ns")


def too_dense(gauge: VolumeKeeping, points: FloatArray, head: Pose) -> float:
    """Part of all hair that is beyond what its place held when groomed."""
    density, groomed = gauge.density(points, head)
    return float(np.maximum(density - groomed, 0).sum() / density.sum())
