"""`mane validate physical`: the physical skin's own numbers: how strong a drift correction, what one sweep misses.

1. The drift correction (hsu2024 eq. 22 and 23): k_ss, in weights of the hair per segment, against alpha, on curls and
   straight hair that are shaken, beside hairs that were simulated one by one. The defaults are chosen from this table.
2. How much of the gap between a hair and its targets the correction feels, on the same heads and on straight hair whose
   guides part widely.
3. The forms that the paper prints, beside those that are used: the tangent of eq. 22, the force of eq. 12.
4. Hairs that hold out sideways and sag, by their load G = (weight per length) L^3 / E I, each bound to a guide of its
   own shape in static balance: how far off one sweep is with the guide's moments and with its forces alone, and what
   more sweeps and the chain solve gain and cost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mane.body.motion import Pose
from mane.geometry.checks import FloatArray
from mane.geometry.threads import using_threads
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.measure.figures import Figures
from mane.measure.study.skin import METHODS, SCENES, Carry, Recording, measure, physical, record
from mane.metrics.summary import METRICS
from mane.skin.physical.skin import PhysicalSkin
from mane.strand.cosserat.solver import CosseratSolver
from mane.strand.frame import GuideFrame
from mane.strand.material import Material
from mane.strand.ports import Load
from mane.strand.roots import RootPose

Say = Callable[[str], None]
Make = Callable[[], Carry]

# Guides that part widely, of straight hair and of waves (hsu2024 fig. 8).
SEPARATIONS = (
    SCENES[4],
    replace(SCENES[4], name="wavy, large separation (fig. 8)", style="wavy", style_options={"vertices": 16}),
)
LOADS_COMPARED: dict[str, dict[str, Any]] = {
    "force alone": {"load": "force"},
    "force alone, 2 sweeps": {"sweeps": 2},
    "force alone, converged": {"sweeps": "converged"},
}

ALPHAS = (0.05, 0.1, 0.2, 0.4)
DRIFTS = (1.0, 3.0, 10.0, 30.0, 1000.0)
DRIFT_GAINS = (0.0, 0.25, 0.5, 0.75, 1.0)
SHOWN = ("length_error", "kink", "distance", "relative_flicker")
AS_PRINTED: dict[str, dict[str, Any]] = {
    "as it is": {},
    "force alone": {"load": "force"},
    "eq. 22 as printed": {"drift_from": "unloaded"},
    "eq. 12 as printed": {"stretch": "paper"},
    "both as printed": {"drift_from": "unloaded", "stretch": "paper"},
}
LOADS = (0.1, 1.0, 10.0, 30.0, 100.0, 300.0)
SWEEPS: dict[str, dict[str, Any]] = {
    "1 sweep": {},
    "1 sweep, no drift correction": {"alpha": 0.0},
    "1 sweep of the force alone": {"load": "force"},
    "1 sweep of the force alone, no drift correction": {"load": "force", "alpha": 0.0},
    "3 sweeps": {"sweeps": 3},
    "10 sweeps": {"sweeps": 10},
    "converged": {"sweeps": "converged"},
    "converged, no drift correction": {"sweeps": "converged", "alpha": 0.0},
}
CONVERGED_TARGET = 1e-3  # of the length
SETTLING = 60.0  # [s] until a hair has stopped swinging
SETTLING_STEP = 0.1  # [s]
# The skin bends and twists alike, which hair does without Poisson's ratio.
HAIR = Material(poisson=0.0)


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    strands: int = 2_000
    sampled: int = 100
    measured: int = 1_000
    seconds: float = 1.0
    every: int = 6
    timed: int = 20_000


QUICK = Sizes(strands=600, sampled=20, measured=200, seconds=0.2, timed=500)


def run(*, quick: bool = False, progress: Say | None = None) -> Figures:
    """Measure all four."""
    figures = Figures("physical")
    sizes = QUICK if quick else Sizes()
    say = progress or (lambda text: None)
    for scene in (SCENES[0],) if quick else (SCENES[0], SCENES[3]):
        say(f"physical: simulating {scene.name}")
        recording = record(scene, strands=sizes.strands, sampled=sizes.sampled, seconds=sizes.seconds)
        _measure_variants(figures, recording, sizes, _drifts(recording, quick) | _drift_gains(recording, quick), say)
    for scene in () if quick else SEPARATIONS:
        say(f"physical: simulating {scene.name}")
        recording = record(scene, strands=sizes.strands, sampled=sizes.sampled, seconds=sizes.seconds)
        variants = {"linear": _linear(recording)} | _drift_gains(recording, quick)
        variants |= {title: _bound(recording, **settings) for title, settings in LOADS_COMPARED.items()}
        _measure_variants(figures, recording, sizes, variants, say)
    _measure_sag(figures, say)
    _time_sweeps(figures, sizes, say)
    return figures


def _linear(recording: Recording) -> Make:
    return lambda: METHODS["linear"](recording)


def _drifts(recording: Recording, quick: bool) -> dict[str, Make]:
    """The strength of the drift correction and the forms that the paper prints, by name."""
    variants = {"linear": _linear(recording)}
    for alpha in ALPHAS[-1:] if quick else ALPHAS:
        for drift in DRIFTS[:1] if quick else DRIFTS:
            variants[f"alpha {alpha}, drift {drift:g}"] = _bound(recording, alpha=alpha, drift=drift)
    for title, settings in AS_PRINTED.items():
        variants[f"alpha 0.1, drift 10, {title}"] = _bound(recording, alpha=0.1, drift=10.0, **settings)
    return variants


def _drift_gains(recording: Recording, quick: bool) -> dict[str, Make]:
    chosen = DRIFT_GAINS[:1] if quick else DRIFT_GAINS
    return {f"drift gain {drift_gain:g}": _bound(recording, drift_gain=drift_gain) for drift_gain in chosen}


def _measure_variants(
    figures: Figures, recording: Recording, sizes: Sizes, variants: Mapping[str, Make], say: Say
) -> None:
    name = recording.scene.name
    for title, make in variants.items():
        say(f"physical: {name}, {title}")
        found = measure(recording, make(), measured=sizes.measured, every=sizes.every)
        for key in SHOWN:
            metric = METRICS[key]
            figures.add(f"{name}, {title}", metric.title, found[key] * metric.scale, metric.unit)


def _bound(recording: Recording, **settings: Any) -> Make:
    return lambda: physical(recording, **settings)


def _measure_sag(figures: Figures, say: Say) -> None:
    say("physical: hairs that sag")
    groom = cantilevers(np.array(LOADS))
    guides = Guides.from_groom(groom)
    frame = settled(guides)
    for title, settings in SWEEPS.items():
        skin = PhysicalSkin(groom, guides, binding="single", material=HAIR, sag_free=False, **settings)
        off = np.linalg.norm(skin(frame) - frame.points, axis=2).max(axis=1) / groom.lengths
        target = CONVERGED_TARGET if title == "converged, no drift correction" else None
        for load, value in zip(LOADS, off, strict=True):
            figures.add(f"sag, G = {load:g}, {title}", "largest distance over length", value, "1", target=target)


def cantilevers(loads: np.ndarray, vertices: int = 26) -> Groom:
    """Straight hairs along +x, by their load G."""
    one = HAIR.model(np.linspace(0, 1, 3)[None, :, None] * np.array([1.0, 0.0, 0.0]))
    weight = one.mass.sum() * np.linalg.norm(one.gravity)
    length = np.cbrt(loads * one.bend_stiffness[0, 0] / weight)
    points = np.zeros((len(loads), vertices, 3), np.float32)
    points[:, :, 0] = length[:, None] * np.linspace(0, 1, vertices)
    points[:, :, 2] = 0.02 * np.arange(len(loads))[:, None]
    return Groom.from_uniform(points)


def settled(guides: Guides) -> GuideFrame:
    """Guides whose groomed shape is the one without gravity, when they have come to rest under it."""
    model = HAIR.model(guides)
    solver = CosseratSolver(model, sag_free=False)
    roots = RootPose.carried(model.rest_points[:, 0], Pose.identity())
    state, load = solver.rest_state(roots), Load.empty(model.strand_count, model.vertex_count)
    for _ in range(round(SETTLING / SETTLING_STEP)):
        solver.step(state, state, roots, load, dt=SETTLING_STEP)
    return GuideFrame(
        points=state.points.astype(np.float32),
        velocity=state.velocity.astype(np.float32),
        orientations=state.orientations.astype(np.float32),
        cut_force=state.cut_force.astype(np.float32),
        roots=guides.roots,
        root_rotations=roots.rotations.astype(np.float32),
        active=guides.active,
        weight=guides.weight,
        head=Pose.identity(),
        solid_poses=(),
        time=SETTLING,
    )


def _time_sweeps(figures: Figures, sizes: Sizes, say: Say) -> None:
    """Time a swung head of curls by number of sweeps, and with the frame before as a start."""
    from mane.measure.heads import Head, bench_frame, bench_head

    groom, guides = bench_head(Head("timed", 64, sizes.timed, 16, {}))
    frames = [_swung(bench_frame(guides), share) for share in np.linspace(0.0, 1.0, 4)]
    timed = {title: settings for title, settings in SWEEPS.items() if "no drift" not in title}
    timed["2 sweeps"] = {"sweeps": 2}
    timed["1 sweep from the frame before"] = {"warm_start": "previous"}
    timed["converged, no drift correction"] = SWEEPS["converged, no drift correction"]
    for title, settings in timed.items():
        say(f"physical: timing {title}")
        skin = PhysicalSkin(groom, guides, **settings)
        skin(frames[0])
        figures.add(
            f"{sizes.timed:,} x 16, {title}",
            "time per million points on one thread",
            1e9 * _seconds(skin, frames) / (16 * sizes.timed),
            "ms",
        )


def _swung(frame: GuideFrame, share: float) -> GuideFrame:
    """The frame with its forces turned up from nothing."""
    force: FloatArray = (share * frame.cut_force).astype(np.float32)
    return replace(frame, cut_force=force)


def _seconds(skin: PhysicalSkin, frames: list[GuideFrame]) -> float:
    """Least processor time of one frame on one thread [s], which other programs hardly change."""
    times = []
    with using_threads(1):
        for frame in frames[1:]:
            start = time.thread_time()
            skin(frame)
            times.append(time.thread_time() - start)
    return min(times)
