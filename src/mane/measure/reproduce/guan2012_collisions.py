"""guan2012 figures 6 and 7: what collision handling leaves inside, as printed and by default."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from mane.body.motion_keys import KeyframedMotion
from mane.body.solid import Solid
from mane.dataset.learn.styles import DatasetStyles
from mane.groom import styles as grooms
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
from mane.reduced.evaluate import settled_start
from mane.reduced.model import HairModel
from mane.reduced.source import LearnedSource
from mane.reduced.training import Fitted

DEVIATIONS = (0.02, 0.13, 0.5)  # pi_2 of fig. 6
EVERY_FRAME = 5  # of the test motion, one in so many is measured as printed
RATE_TARGET = 0.005  # of points deeper than 0.5 mm


def collision_figures(
    report: Report,
    test: DatasetStyles,
    default: HairModel,
    printed: Fitted,
    *,
    quick: bool,
    every: tuple[int, ...] = (1,),
) -> None:
    """Rows of the last style, long and soft, in the first test motion."""
    corner = len(default.rest) - 1
    body = Solid(grooms.body("straight"))
    case = f"{default.guide_count:,} guides, long soft"
    truth = _truth(test, corner, body)
    _add(report, f"{case}, simulation", truth, 0.0)
    _default(report, case, test, corner, default, body, quick)
    _printed(report, case, test, corner, printed, body, every)


def _truth(test: DatasetStyles, corner: int, body: Solid) -> list[Penetration]:
    track = test.track(0)
    local = to_canonical(track.heads, test.points(corner, 0))
    return [measure_penetration(_distances(frame, body)) for frame in local]


def _distances(local: np.ndarray, body: Solid) -> np.ndarray:
    """Signed distance from a body that is rigid with the head [cm], roots left out."""
    return body.rest_distance(local[:, 1:].reshape(-1, 3).astype(np.float32)).astype(np.float64) * CENTIMETRES


def _default(
    report: Report, case: str, test: DatasetStyles, corner: int, model: HairModel, body: Solid, quick: bool
) -> None:
    track, truth = test.track(0), test.points(corner, 0)
    times = np.arange(len(track.heads)) / model.frame_rate
    head = KeyframedMotion(times, track.heads[:, :3], track.heads[:, 3:])
    for collisions in ("off", "push"):
        source = LearnedSource(
            model.guides(corner),
            model,
            sliders=model.corner_sliders(corner),
            head=head,
            body=body,
            collisions=collisions,
        )
        frames = [source.reset(), *(source.step() for _ in range(len(times) - 1))]
        began = time.perf_counter()
        source._made()
        seconds = time.perf_counter() - began
        found = [measure_penetration(_distances(frame.head.inverse_apply(frame.points), body)) for frame in frames]
        pairs = zip(frames, truth, strict=True)
        off = float(np.mean([np.linalg.norm(frame.points - hair, axis=2).mean() for frame, hair in pairs]))
        name = f"{case}, default, collisions {collisions}"
        _add(report, name, found, seconds, promise=collisions == "push" and not quick)
        report.add(name, "vertex error, test", 100 * off, "cm")


def _printed(
    report: Report, case: str, test: DatasetStyles, corner: int, printed: Fitted, body: Solid, every: tuple[int, ...]
) -> None:
    model, track = printed.model, test.track(0)
    frames = model.space.frames(track)
    controls = model.space.controls(track, frames)
    weights = np.eye(len(model.rest))[corner]
    operator = model.dynamics.operator(weights)
    predicted = roll_out(operator, controls, settled_start(model, weights, track, test.rest[corner]))
    rows = np.concatenate(printed.coefficients[corner])
    eigenvalues = rows.var(axis=0)
    chosen = [n for n in range(2, len(predicted), EVERY_FRAME) if np.isfinite(predicted[n]).all()]
    busts = [_bust(body, track.heads[n : n + 1], frames[n : n + 1]) for n in chosen]
    roots = [_roots(model, track.heads[n : n + 1], frames[n : n + 1]) for n in chosen]
    looked = ReducedCollisions(model)
    before = [
        measure_penetration(looked.depths(predicted[n], bust, looked.correspondences(predicted[n], bust)))
        for n, bust in zip(chosen, busts, strict=True)
    ]
    _add(report, f"{case}, as printed, before", before, 0.0)
    methods: list[tuple[str, dict[str, Any], int]] = [("A", {}, 1)]
    methods += [("B", {"deviation": value}, 1) for value in DEVIATIONS]
    methods += [("B, whitened", {"whiten": True}, 1)]
    methods += [("B", {}, tau) for tau in every if tau > 1]
    for method, settings, tau in methods:
        solver = ReducedCollisions(model, PrintedWeights(**settings), tau, np.sqrt(eigenvalues))
        solve = solver.method_a if method == "A" else solver.method_b
        found, began = [], time.perf_counter()
        solved = [solve(predicted[n], root, bust) for n, root, bust in zip(chosen, roots, busts, strict=True)]
        seconds = (time.perf_counter() - began) / max(len(chosen), 1)
        for n, y, bust in zip(chosen, solved, busts, strict=True):
            depths = looked.depths(y, bust, looked.correspondences(y, bust))
            found.append(measure_penetration(depths, y, predicted[n], eigenvalues))
        text = "".join(f", {name} {value}" for name, value in settings.items())
        _add(report, f"{case}, as printed, method {method}{text}, tau {tau}", found, seconds)


def _bust(body: Solid, heads: np.ndarray, frames: np.ndarray) -> Bust:
    mesh = body.mesh
    assert mesh is not None
    world = to_world(heads, mesh.points.astype(np.float64)[None])
    return canonical_bust(to_canonical(frames, world)[0], mesh.faces.astype(np.int64))


def _roots(model: HairModel, heads: np.ndarray, frames: np.ndarray) -> np.ndarray:
    world = to_world(heads, model.groomed[0][:, 0].astype(np.float64)[None])
    return np.asarray(to_canonical(frames, world)[0].reshape(-1) * CENTIMETRES)


def _add(report: Report, case: str, found: list[Penetration], seconds: float, *, promise: bool = False) -> None:
    if not found:
        return
    report.add(case, "points inside", 100 * float(np.mean([one.rate for one in found])), "%")
    beyond = 100 * float(np.mean([one.beyond for one in found]))
    report.add(case, "points deeper than 0.5 mm", beyond, "%", **({"target": 100 * RATE_TARGET} if promise else {}))
    report.add(case, "mean of the deepest", 10 * float(np.mean([one.deepest for one in found])), "mm")
    if seconds:
        report.add(case, "deviation of the coefficients", 100 * float(np.mean([one.deviation for one in found])), "%")
        report.add(case, "time per frame", 1e3 * seconds, "ms")
