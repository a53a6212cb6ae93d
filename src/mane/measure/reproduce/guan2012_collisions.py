"""guan2012 figures 4, 6 and 7: what collision handling leaves inside, as printed and by default.

Every row is measured in two ways, roots left out of both: by eq. 14, along the normal of the nearest vertex of the
bust, and by the distance field of the bust, or from its mesh where joints move it. Plots are of eq. 14, as those of the
paper. Simulation and default are measured in all test motions, methods as printed in the first.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mane.body.mesh import Mesh
from mane.body.motion import Pose
from mane.body.motion_keys import KeyframedMotion
from mane.body.solid import PosedSolid, Solid
from mane.dataset.learn.styles import DatasetStyles
from mane.groom import styles as grooms
from mane.measure.pictures import locks
from mane.measure.plot import Axis, Curve, Panel, write_panels
from mane.measure.reproduce.reproduce import Report
from mane.reduced.canonical import CENTIMETRES, to_canonical, to_world
from mane.reduced.collisions import (
    Bust,
    Penetration,
    PrintedWeights,
    ReducedCollisions,
    canonical_bust,
    measure_penetration,
)
from mane.reduced.dynamics import roll_out
from mane.reduced.evaluate import blocks, hair_of, settled_start
from mane.reduced.model import HairModel
from mane.reduced.source import LearnedSource
from mane.reduced.training import Fitted
from mane.render.camera import Camera
from mane.render.panels import side_by_side
from mane.render.renderer import render
from mane.strand.root_motion import body_pose

DEVIATIONS = (0.01, 0.02, 0.05, 0.08, 0.13, 0.2, 0.3, 0.5)  # pi_2 of fig. 6
FACTORS = (1, 2, 3, 5, 8, 11, 15, 20)  # tau of fig. 7
SHOWN_FACTORS = (1, 15)  # of fig. 4
# Methods of fig. 6, and what settles each besides pi_2.
METHODS: dict[str, dict[str, Any]] = {
    "A": {},
    "B, 1 step": {"iterations": 1},
    "B, 2 steps": {"iterations": 2},
    "B": {},
    "B, whitened": {"whiten": True},
}
MOST_FRAMES, MOST_DENSE = 70, 16  # of the test motion that eq. 14 is taken of; fewer of many guides
DENSE = 2000  # guides
RATE_TARGET = 0.005  # of points deeper than 0.5 mm
# The paper's simulation: points inside, mean of the deepest.
TRUTH_RATE, TRUTH_DEPTH = 1.9, 3.8  # [%, mm]
PICTURE, QUICK_PICTURE = (360, 460), (96, 120)
STEP, SOLVE = "time of a whole step", "time of collision handling alone"  # medians
LOCK, VIEW, SHOWN = 2e-3, (0.5, 0.1, 1.0), 4  # [m] width of a guide, direction of view, pictures in a row


def collision_figures(
    report: Report,
    test: DatasetStyles,
    default: HairModel,
    printed: Fitted,
    *,
    quick: bool,
    deviations: Sequence[float] = DEVIATIONS,
) -> None:
    """Fig. 6: rows of the last style, long and soft, and their plot against pi_2 in the first test motion."""
    corner = len(default.rest) - 1
    body = Solid(grooms.body("straight"))
    case = f"{default.guide_count:,} guides, long soft"
    pushed = default_figures(report, test, default, quick=quick)[0]
    run = _prepared(report, case, test, corner, printed, body)
    if run is None:
        return
    solved = {
        (name, value): run.solved(name, {"deviation": value, **settings})
        for name, settings in METHODS.items()
        for value in deviations
    }
    for (name, value), (found, seconds, _) in solved.items():
        _add(report, f"{case}, as printed, method {name}, pi_2 {value}", found, seconds, is_corrected=True)
    if len(deviations) > 1:
        _plot_deviations(report, run, pushed, {key: found for key, (found, _, _) in solved.items()}, deviations)
    report.note(
        "Penetration is measured without roots: by eq. 14 (along the normal of the nearest vertex, in some frames)"
        " and by the distance field of the bust; plots are of eq. 14. Rows of the simulation and of the default are of"
        " all test motions, those of methods as printed, and plots, of the first."
    )


def default_figures(
    report: Report,
    test: DatasetStyles,
    model: HairModel,
    *,
    quick: bool,
    motions: Sequence[int] | None = None,
    named: str = "",
) -> list[Inside]:
    """Rows of the default in the last style, without and with pushes, over all test motions or those given.

    Returns what the pushes leave in each of the motions.
    """
    corner, case = len(model.rest) - 1, f"{model.guide_count:,} guides, long soft{named}"
    chosen = range(test.motion_count) if motions is None else motions
    busts = {motion: bust_under(test, motion) for motion in chosen}
    truth = joined([_truth(test, corner, bust, motion) for motion, bust in busts.items()])
    _add(report, f"{case}, simulation", truth, 0.0, paper={} if named else _paper(quick))
    for collisions in ("off", "push"):
        runs = [_run(test, corner, model, motion, bust, collisions) for motion, bust in busts.items()]
        name, found = f"{case}, default, collisions {collisions}", [run.inside for run in runs]
        seconds = float(np.median([run.seconds for run in runs]))
        _add(report, name, joined(found), seconds, promise=collisions == "push" and not quick)
        worst = max(mean_of(one.by_field, "beyond") for one in found)
        report.add(name, f"points deeper than 0.5 mm, {found[0].measure}, worst motion", 100 * worst, "%")
        report.add(name, "vertex error, test", 100 * float(np.mean([run.error for run in runs])), "cm")
    return found


def _paper(quick: bool) -> dict[str, float]:
    return {} if quick else {"rate": TRUTH_RATE, "deepest": TRUTH_DEPTH}


def sampling_figures(report: Report, test: DatasetStyles, printed: Fitted, *, quick: bool) -> None:
    """Figs. 7 and 4: method B with every tau-th guide, rates of all guides, and hair of two of them."""
    corner, body = len(printed.model.rest) - 1, Solid(grooms.body("straight"))
    case = f"{printed.model.guide_count:,} guides, long soft"
    run = _prepared(None, case, test, corner, printed, body)
    if run is None:
        return
    rates, times, shown = [], [], {}
    for tau in FACTORS:
        found, seconds, solved = run.solved("B", {}, tau)
        _add(report, f"{case}, as printed, method B, tau {tau}", found, seconds, is_corrected=True)
        rates.append(100 * mean_of(found.eq_14, "rate"))
        times.append(1e3 * seconds)
        if tau in SHOWN_FACTORS:
            shown[f"tau {tau}"] = solved
    before = 100 * mean_of(run.before.eq_14, "rate")
    axis = Axis("sub-sample factor tau")
    curves = [Curve("before", FACTORS, [before] * len(FACTORS)), Curve("method B", FACTORS, rates)]
    panels = [
        Panel("fig. 7: sub-sampling", axis, Axis("points inside by eq. 14, all guides [%]"), curves),
        Panel("time of collision handling", axis, Axis("a frame [ms]"), [Curve("method B", FACTORS, times)]),
    ]
    write_panels(report.folder / "sampling.png", panels)
    report.pictures.append(("sampling.png", "fig. 7: penetration and time against the sub-sample factor"))
    _draw_factors(report, run, test.rest[corner], shown, quick)


@dataclass(frozen=True, eq=False)
class Inside:
    """What is inside a bust, frame by frame, roots left out.

    Attributes:
        eq_14: along normals of nearest vertices, of the frames of `looked_at`.
        by_field: by the distance field, of all frames there are; or from a mesh that joints move, of those frames too.
        measure: what `by_field` is of.
    """

    eq_14: list[Penetration] = field(default_factory=list)
    by_field: list[Penetration] = field(default_factory=list)
    measure: str = "distance field"


def joined(found: Sequence[Inside]) -> Inside:
    """What was measured in several motions as one."""
    eq_14, by_field = ([one for own in found for one in getattr(own, name)] for name in ("eq_14", "by_field"))
    return Inside(eq_14, by_field, found[0].measure)


def mean_of(found: Sequence[Penetration], name: str) -> float:
    """Mean of an attribute over frames."""
    return float(np.mean([getattr(one, name) for one in found]))


@dataclass(frozen=True, eq=False)
class RigidBust:
    """A bust that is rigid with the head, which penetration is measured of.

    Attributes:
        body: a mesh.
        vertices: and their normals, as seen from the head.
    """

    body: Solid
    vertices: Bust
    is_rigid: ClassVar[bool] = True
    measure: ClassVar[str] = "distance field"

    def at(self, time: float) -> RigidBust:
        """The same at all times."""
        return self

    @classmethod
    def of(cls, body: Solid) -> RigidBust:
        """Of a solid that is a mesh."""
        assert body.mesh is not None
        return cls(body, canonical_bust(body.mesh.points.astype(np.float64), body.mesh.faces.astype(np.int64)))

    def nearest_depths(self, local: np.ndarray) -> np.ndarray:
        """Distances by eq. 14 [cm] of hair as seen from the head (G, V, 3) [m], but for roots, (G * (V - 1),)."""
        return nearest_depths(self.vertices, local)

    def field_depths(self, local: np.ndarray) -> np.ndarray:
        """The same by the distance field."""
        hair = local[:, 1:].reshape(-1, 3).astype(np.float32)
        return self.body.rest_distance(hair).astype(np.float64) * CENTIMETRES


@dataclass(frozen=True, eq=False)
class JointedBust:
    """A bust that joints move, on a head that stands still: what it is at a time is seen in the world."""

    body: Solid
    is_rigid: ClassVar[bool] = False
    measure: ClassVar[str] = "mesh"

    def at(self, time: float) -> BustMoment:
        """The bust as it is at a time [s]."""
        mesh, animation = self.body.mesh, self.body.animation
        assert mesh is not None
        assert animation is not None
        pose = body_pose(self.body, Pose.identity(), time)
        points = pose.apply(animation.precise_points(time))
        return BustMoment(self.body.placed(pose, time), canonical_bust(points, mesh.faces.astype(np.int64)))


@dataclass(frozen=True, eq=False)
class BustMoment:
    """A jointed bust at one time: distances as of a `RigidBust`, of hair in the world."""

    body: PosedSolid
    vertices: Bust

    def nearest_depths(self, hair: np.ndarray) -> np.ndarray:
        """Distances by eq. 14 [cm] of hair (G, V, 3) [m], but for roots, (G * (V - 1),)."""
        return nearest_depths(self.vertices, hair)

    def field_depths(self, hair: np.ndarray) -> np.ndarray:
        """The same from the triangles of the mesh."""
        return self.body.distance(hair[:, 1:].reshape(-1, 3)).astype(np.float64) * CENTIMETRES


AnyBust = RigidBust | JointedBust


def nearest_depths(vertices: Bust, hair: np.ndarray) -> np.ndarray:
    """Distances by eq. 14 [cm] of hair (G, V, 3) [m], but for roots, (G * (V - 1),)."""
    own = hair[:, 1:].reshape(-1, 3).astype(np.float64) * CENTIMETRES
    nearest = vertices.nearest(own)
    return np.asarray(np.einsum("pc,pc->p", vertices.normals[nearest], own - vertices.points[nearest]))


def bust_under(test: DatasetStyles, motion: int) -> AnyBust:
    """The bust of a test motion."""
    return JointedBust(test.solid(motion)) if test.is_deforming else RigidBust.of(Solid(grooms.body("straight")))


def looked_at(frames: int, guides: int) -> range:
    """Frames of a motion that eq. 14 is taken of, in all rows the same."""
    return range(2, frames, max(1, frames // (MOST_DENSE if guides > DENSE else MOST_FRAMES)))


def _truth(test: DatasetStyles, corner: int, bust: AnyBust, motion: int) -> Inside:
    heads, found = test.track(motion).heads, Inside(measure=bust.measure)
    chosen, times = looked_at(len(heads), test.rest.shape[1]), _times(test, motion, bust)
    for rows in blocks(len(heads), test.rest[corner].nbytes):
        hair = test.points(corner, motion, rows)
        seen = to_canonical(heads[rows], hair) if bust.is_rigid else hair
        for number, own in enumerate(seen, rows.start):
            _measure(found, bust, own, number in chosen, times[number])
    return found


def _measure(found: Inside, bust: AnyBust, hair: np.ndarray, is_chosen: bool, time: float = 0.0) -> None:
    """Add a frame of hair: as seen from the head that a rigid bust is seen from, in the world of a jointed one."""
    if not (is_chosen or bust.is_rigid):
        return
    moment = bust.at(time)
    found.by_field.append(measure_penetration(moment.field_depths(hair)))
    if is_chosen:
        found.eq_14.append(measure_penetration(moment.nearest_depths(hair)))


def _times(test: DatasetStyles, motion: int, bust: AnyBust) -> np.ndarray:
    """Of the frames of a motion [s]: joints move by the clock of their scene, what is rigid needs none."""
    start = 0.0 if bust.is_rigid else test.start(motion)
    return np.asarray(start + np.arange(len(test.track(motion).heads)) / test.frame_rate)


@dataclass(frozen=True, eq=False)
class DefaultRun:
    """The default under one test motion: what is inside, mean distance from the simulation [m], seconds of a step."""

    inside: Inside
    error: float
    seconds: float


def _run(test: DatasetStyles, corner: int, model: HairModel, motion: int, bust: AnyBust, collisions: str) -> DefaultRun:
    track = test.track(motion)
    times = np.arange(len(track.heads)) / model.frame_rate
    head = KeyframedMotion(times, track.heads[:, :3], track.heads[:, 3:]) if bust.is_rigid else None
    source = LearnedSource(
        model.guides(corner),
        model,
        sliders=model.corner_sliders(corner),
        head=head,
        body=bust.body,
        wind=None if track.wind is None else track.wind[0],
        collisions=collisions,
    )
    return _played(source, test, corner, motion, bust)


def _played(source: LearnedSource, test: DatasetStyles, corner: int, motion: int, bust: AnyBust) -> DefaultRun:
    """Play the frames of a motion; steps take what they take with all that a scene does in them, in the median."""
    found, off = Inside(measure=bust.measure), 0.0
    seconds: list[float] = []
    times = _times(test, motion, bust)
    chosen = looked_at(len(times), test.rest.shape[1])
    for rows in blocks(len(times), test.rest[corner].nbytes):
        for number, hair in enumerate(test.points(corner, motion, rows), rows.start):
            began = time.perf_counter()
            frame = source.step() if number else source.reset(time=times[0])
            seconds.append(time.perf_counter() - began)
            _measure(found, bust, frame.head.inverse_apply(frame.points), number in chosen, times[number])
            off += float(np.linalg.norm(frame.points - hair, axis=2).mean()) / len(times)
    return DefaultRun(found, off, float(np.median(seconds[1:])))


@dataclass(eq=False)
class PrintedRun:
    """Frames of a test motion as a printed model predicts them.

    Attributes:
        model: of positions.
        predicted: coefficients of the frames that are looked at, (F, d).
        heads: poses of the head in them, (F, 7).
        frames: of canonical space in them, (F, 7).
        bust: as seen from the head.
        busts: the body in canonical space, of each.
        roots: on the scalp [cm], of each.
        eigenvalues: of the coefficients in training, (d,).
        before: what is inside before anything is done.
    """

    model: HairModel
    predicted: np.ndarray
    heads: np.ndarray
    frames: np.ndarray
    bust: RigidBust
    busts: list[Bust]
    roots: list[np.ndarray]
    eigenvalues: np.ndarray
    before: Inside = field(init=False)

    def __post_init__(self) -> None:
        self.before = self.inside(self.predicted)

    def inside(self, coefficients: Sequence[np.ndarray] | np.ndarray) -> Inside:
        """What is inside with coefficients (d,) of each frame."""
        found = Inside()
        for number, (y, start) in enumerate(zip(coefficients, self.predicted, strict=True)):
            local = self.local(number, y)
            arguments = (y, start, self.eigenvalues)
            found.eq_14.append(measure_penetration(self.bust.nearest_depths(local), *arguments))
            found.by_field.append(measure_penetration(self.bust.field_depths(local), *arguments))
        return found

    def local(self, number: int, y: np.ndarray) -> np.ndarray:
        """Hair of a frame as seen from the head [m], (G, V, 3)."""
        hair = hair_of(self.model, y[None], self.model.rest[0])  # positions: rest tells their shape alone
        row = slice(number, number + 1)
        return np.asarray(to_canonical(self.heads[row], to_world(self.frames[row], hair))[0])

    def solved(self, method: str, settings: dict[str, Any], tau: int = 1) -> tuple[Inside, float, list[np.ndarray]]:
        """What a method leaves inside, seconds that it takes for a frame, in the median, and coefficients."""
        solver = ReducedCollisions(self.model, PrintedWeights(**settings), tau, self.model.deviations)
        solve = solver.method_a if method == "A" else solver.method_b
        made: list[np.ndarray] = []
        seconds: list[float] = []
        for y, roots, bust in zip(self.predicted, self.roots, self.busts, strict=True):
            began = time.perf_counter()
            made.append(solve(y, roots, bust))
            seconds.append(time.perf_counter() - began)
        return self.inside(made), float(np.median(seconds)), made


def _prepared(
    report: Report | None, case: str, test: DatasetStyles, corner: int, printed: Fitted, body: Solid
) -> PrintedRun | None:
    """Predictions of a printed model; None, with a note, where it has left the finite numbers."""
    model, track = printed.model, test.track(0)
    frames = model.space.frames(track)
    weights = np.eye(len(model.rest))[corner]
    start = settled_start(model, weights, track, test.rest[corner])
    with np.errstate(over="ignore", invalid="ignore"):
        predicted = roll_out(model.dynamics.operator(weights), model.space.controls(track, frames), start)
    chosen = [n for n in looked_at(len(predicted), model.guide_count) if np.isfinite(predicted[n]).all()]
    if not chosen:
        if report is not None:
            report.note(f"{case}: the printed model is unstable, so that its collisions cannot be measured.")
        return None
    busts = [_bust(body, track.heads[n : n + 1], frames[n : n + 1]) for n in chosen]
    roots = [_roots(model, track.heads[n : n + 1], frames[n : n + 1]) for n in chosen]
    eigenvalues = model.deviations**2  # of the components, over all styles
    bust = RigidBust.of(body)
    run = PrintedRun(model, predicted[chosen], track.heads[chosen], frames[chosen], bust, busts, roots, eigenvalues)
    if report is not None:
        _add(report, f"{case}, as printed, before", run.before, 0.0)
    return run


def _plot_deviations(
    report: Report,
    run: PrintedRun,
    pushed: Inside,
    solved: dict[tuple[str, float], Inside],
    deviations: Sequence[float],
) -> None:
    panels: list[Panel] = []
    for quantity, label, scale in (
        ("rate", "points inside by eq. 14 [%]", 100.0),
        ("deepest", "mean of the deepest by eq. 14 [mm]", 10.0),
        ("deviation", "deviation of the coefficients [%]", 100.0),
    ):

        def mean(found: Inside, quantity: str = quantity, scale: float = scale) -> float:
            return scale * mean_of(found.eq_14, quantity)

        curves = [
            Curve(name, deviations, [mean(solved[name, value]) for value in deviations], colour=number)
            for number, name in enumerate(METHODS, 1)
        ]
        if quantity != "deviation":
            ends = [deviations[0], deviations[-1]]
            curves = [Curve("before", ends, [mean(run.before)] * 2, colour=0), *curves]
            curves.append(Curve("default model, pushed", ends, [mean(pushed)] * 2, colour=len(METHODS) + 1))
        panels.append(Panel("fig. 6" if not panels else "", Axis("pi_2", log=True), Axis(label), curves))
    write_panels(report.folder / "deviations.png", panels)
    report.pictures.append(("deviations.png", "fig. 6: collision handling as printed against pi_2, and the default"))


def _draw_factors(
    report: Report, run: PrintedRun, rest: np.ndarray, shown: dict[str, list[np.ndarray]], quick: bool
) -> None:
    size = QUICK_PICTURE if quick else PICTURE
    mesh = grooms.body("straight")
    numbers = np.linspace(0, len(run.predicted) - 1, min(SHOWN, len(run.predicted))).astype(int)
    corners = np.concatenate([rest.reshape(-1, 3), mesh.points])
    camera = Camera.framing(corners, VIEW, aspect=size[0] / size[1], margin=0.1)
    rows = []
    for name, solved in shown.items():
        images = []
        for n in numbers:
            hair = hair_of(run.model, solved[n][None], rest)[0]
            centred = (run.busts[n].points / CENTIMETRES).astype(np.float32)
            # Canonical space is centred on the bust; the picture is where the bust is at rest.
            shift = mesh.points.mean(axis=0) - centred.mean(axis=0)
            solid = Mesh(centred + shift, mesh.faces)
            images.append(render(locks(hair + shift, width=LOCK), [solid], camera=camera, size=size))
        rows.append(side_by_side(images, [name] * len(images)))
    report.picture("factors", np.concatenate(rows), "fig. 4: sub-sample factors 1 (top) and 15 (bottom)")


def _bust(body: Solid, heads: np.ndarray, frames: np.ndarray) -> Bust:
    mesh = body.mesh
    assert mesh is not None
    world = to_world(heads, mesh.points.astype(np.float64)[None])
    return canonical_bust(to_canonical(frames, world)[0], mesh.faces.astype(np.int64))


def _roots(model: HairModel, heads: np.ndarray, frames: np.ndarray) -> np.ndarray:
    world = to_world(heads, model.groomed[0][:, 0].astype(np.float64)[None])
    return np.asarray(to_canonical(frames, world)[0].reshape(-1) * CENTIMETRES)


def _add(
    report: Report,
    case: str,
    found: Inside,
    seconds: float,
    *,
    promise: bool = False,
    is_corrected: bool = False,
    paper: dict[str, float] | None = None,
) -> None:
    """Rows by both measures; the paper's figures are of eq. 14, what we promise is of the distance field.

    `is_corrected` is of methods that change coefficients: how far they go from the prediction is a row then, and
    `seconds` are those of the method alone; of all others they are those of a whole step.
    """
    for measure, own in (("eq. 14", found.eq_14), (found.measure, found.by_field)):
        said = (paper or {}) if own is found.eq_14 else {}
        target = {"target": 100 * RATE_TARGET} if promise and own is found.by_field else {}
        cited = {"source": "section 7"} if said else {}
        rate, beyond = 100 * mean_of(own, "rate"), 100 * mean_of(own, "beyond")
        report.add(case, f"points inside, {measure}", rate, "%", reference=said.get("rate"), **cited)
        report.add(case, f"points deeper than 0.5 mm, {measure}", beyond, "%", **target)
        depth = 10 * mean_of(own, "deepest")
        report.add(case, f"mean of the deepest, {measure}", depth, "mm", reference=said.get("deepest"), **cited)
    if is_corrected:
        report.add(case, "deviation of the coefficients", 100 * mean_of(found.eq_14, "deviation"), "%")
    if seconds:
        report.add(case, SOLVE if is_corrected else STEP, 1e3 * seconds, "ms")
