"""chai2017: hair that parts around solids, its comparisons of section 7.2 and scenes of 7.3 against full simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from mane.dataset.learn.adaptive import AdaptiveTraining, eligible_guides, learn_from_motion
from mane.dataset.learn.choice import METHODS as CHOICES
from mane.dataset.learn.choice import OF_WHOLE_STATES, motion_features
from mane.dataset.learn.motion import HairStates
from mane.geometry.checks import FloatArray
from mane.groom import styles
from mane.groom.groom import Groom
from mane.measure.pictures import stack_rows
from mane.measure.reproduce.chai2017_mean import INSIDE, OVER_FIXED, OVER_FULL, PROMISES, keep
from mane.measure.reproduce.chai2017_pictures import (
    CORRECTED,
    CRITERIA,
    DRAWN_WIDTH,
    EARLIER,
    FULL,
    NAIVE,
    PARTED,
    PICTURE,
    QUICK_PICTURE,
    Figure,
    draw,
)
from mane.measure.reproduce.reproduce import ProgressCallback, Report
from mane.measure.study import parting
from mane.measure.study import parting_scenes as scenes
from mane.measure.study.parting import METHODS, Sizes, measure, record
from mane.measure.study.parting_meter import Found
from mane.measure.study.parting_oracle import bounds
from mane.measure.study.parting_scenes import PartingScene
from mane.render.camera import Camera
from mane.render.panels import side_by_side
from mane.render.renderer import render

QUICK = Sizes(strands=150, guides=16, vertices=8, seconds=0.5, train_seconds=0.3)
USUAL = Sizes(strands=1500, guides=100, vertices=16, seconds=2.0, train_seconds=1.5)
CHOSEN_BY_TANGENTS = dict.fromkeys(OF_WHOLE_STATES, 1.0)  # [m] a unit tangent counts as that in states as printed
# Promised for hairs within 2 cm of a solid; `chai2017_mean` has how close and how calm they are, over all scenes.
DEEPEST = 0.5  # [mm]


def comb(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """A comb through straight hair, every method of 7.2 (figs. 8, 11, 13)."""
    compare(report, scenes.COMB, METHODS, (PARTED, CORRECTED, NAIVE), quick=quick, tell=tell)


def curly(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """The same comb through curls (fig. 13, right)."""
    compare(report, scenes.CURLY_COMB, METHODS, (PARTED,), quick=quick, tell=tell)


def turning(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """The comb through straight hair on a head that turns, in motion that was not learned from."""
    compare(report, scenes.TURNING, METHODS, (PARTED,), quick=quick, tell=tell)


def criteria(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Either criterion alone, and both (fig. 6)."""
    compare(report, scenes.ROD, METHODS, (CRITERIA,), quick=quick, tell=tell)


def hand(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """A hand through straight hair (figs. 1, 13)."""
    compare(report, scenes.HAND, METHODS, (PARTED,), quick=quick, tell=tell)


def fingers(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """A hand whose fingers close in straight hair and open again (fig. 13)."""
    compare(report, scenes.FINGERS, METHODS, (PARTED,), quick=quick, tell=tell)


def gears(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Hair on a train of gears that turn, with windows that hair falls through (fig. 10, 7.3, table 2's first row)."""
    compare(report, scenes.GEARS, METHODS, (PARTED, EARLIER), quick=quick, tell=tell)


def toys(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """A hairy ball on a spiky toy (fig. 12)."""
    compare(report, scenes.URCHIN, METHODS, (PARTED,), quick=quick, tell=tell)


def horse(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """A hairy ball on a smooth toy (fig. 12)."""
    compare(report, scenes.HORSE, METHODS, (PARTED,), quick=quick, tell=tell)


def compare(
    report: Report,
    scene: PartingScene,
    methods: Mapping[str, parting.Make],
    drawn: Sequence[Figure],
    *,
    quick: bool,
    tell: ProgressCallback,
) -> dict[str, Found]:
    """Record a scene, measure every method beside the full simulation, and draw figures of it."""
    sizes = QUICK if quick else USUAL
    recording = record(scene, sizes, lambda text, share: tell(text, 0.4 * share))
    full = measure(recording, None)
    found: dict[str, Found] = {}
    for number, (name, make) in enumerate(methods.items()):
        tell(f"carrying every hair, {name}", 0.4 + 0.5 * number / len(methods))
        found[name] = measure(recording, make)
    tell("carrying every hair, guides pushed by their hairs", 0.9)
    found |= {name: parting.measure_two_way(recording, **settings) for name, settings in parting.TWO_WAY.items()}
    tell("every hair by follow the leader", 0.96)
    found["follow the leader [38], every hair"] = parting.measure_follow_the_leader(recording)
    case = f"{sizes.strands:,} x {sizes.vertices}, {sizes.guides} guides"
    add_full(report, case, full)
    for name, one in found.items():
        add_found(report, f"{case}, {name}", one, found, full, is_promised=name == parting.DEFAULT and not quick)
    keep(report, case, found, quick=quick)
    tell("choosing sets in hindsight", 0.98)
    for name, error in bounds(recording).items():
        _add_error(report, f"{case}, in hindsight: {name}", error, found)
    tell("drawing", 0.99)
    draw(report, recording, drawn, quick=quick)
    report.note(
        f"{sizes.strands:,} hairs stand for the paper's 60,000 to 150,000, so that every hair can be simulated as the "
        "truth; `mane bench adaptive` has the times at the paper's sizes."
    )
    tell("done", 1.0)
    return found


def add_full(report: Report, case: str, full: Found) -> None:
    """Add how many hairs are near solids, and how calm and how bent the full simulation itself is."""
    report.add(f"{case}, full simulation", "hairs near solids, mean of frames", 100 * full.near, "%")
    report.add(f"{case}, full simulation", "flicker near solids", 1e3 * full.flicker, "mm")
    report.add(f"{case}, full simulation", "flicker of all hairs", 1e3 * full.flicker_of_all, "mm")
    report.add(f"{case}, full simulation", "mean kink", full.kink, "rad")


def _add_error(report: Report, case: str, error: float, found: Mapping[str, Found]) -> None:
    """Add a distance from the truth near solids, alone and over that of skins whose guides never change."""
    report.add(case, "distance from full simulation near solids", 1e3 * error, "mm")
    fixed, linear = found[parting.FIXED].near_error, found["linear"].near_error
    report.add(case, "the same over fixed sets", error / fixed if fixed else 1.0, "1")
    report.add(case, "the same over the linear skin", error / linear if linear else 1.0, "1")


def add_found(
    report: Report, case: str, one: Found, found: Mapping[str, Found], full: Found, *, is_promised: bool
) -> None:
    """Add what a method came to, beside `found` of fixed sets and the linear skin, and the full simulation's own.

    "Whole frame" is after push-out with lengths kept, of every method alike: fixed sets are position correction there.
    """

    def promise(target: float) -> dict[str, float]:
        return {"target": target} if is_promised else {}

    calm = full.flicker_of_all or 1.0
    _add_error(report, case, one.near_error, found)
    finished, fixed = one.near_error_finished, found[parting.FIXED].near_error_finished
    report.add(case, "distance from full simulation near solids, whole frame", 1e3 * finished, "mm")
    ratio = finished / fixed if fixed else 1.0
    report.add(case, OVER_FIXED, ratio, "1")
    report.add(case, "distance from full simulation, all hairs", 1e3 * one.error, "mm")
    report.add(case, "vertices inside, before push-out", one.rate, "1")
    report.add(case, INSIDE, one.rate_finished, "1", **promise(PROMISES[INSIDE]))
    report.add(case, "deepest of all frames, whole frame", 1e3 * one.deepest, "mm", **promise(DEEPEST))
    report.add(case, "deepest of a frame, mean, whole frame", 1e3 * one.deepest_mean, "mm")
    report.add(case, OVER_FULL, one.flicker / (full.flicker or 1.0), "1")
    report.add(case, "flicker of all hairs over full simulation", one.flicker_of_all / calm, "1")
    report.add(case, "flicker of all hairs over full simulation, skin alone", one.flicker_alone / calm, "1")
    report.add(case, "mean length error, skin alone", 100 * one.length_error, "%")
    report.add(case, "mean length error, whole frame", 100 * one.length_error_finished, "%")
    report.add(case, "mean kink, skin alone", one.kink, "rad")
    report.add(case, "mean kink, whole frame", one.kink_finished, "rad")


def choice(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Guides by sparse coding, as printed and as it works, by [33]'s graph, k-medoids, and at random (fig. 9, 6.3)."""
    sizes = QUICK if quick else USUAL
    scene = scenes.COMB
    groom, motion, unseen = parting.motions(scene, sizes, lambda text, share: tell(text, 0.5 * share))
    liveliest = int(np.abs(unseen.displacement).mean(axis=(0, 2, 3)).argmax())
    pictures = {FULL: groom.as_uniform() + unseen.displacement[:, liveliest]}
    for number, (name, method) in enumerate(CHOICES.items()):
        tell(f"choosing guides, {name}", 0.5 + 0.4 * number / len(CHOICES))
        common: dict[str, Any] = {"guides": sizes.guides, "method": name, "tangents": CHOSEN_BY_TANGENTS.get(name, 0.0)}
        states = HairStates(motion, common["tangents"], are_whole=name in OF_WHOLE_STATES)
        features = motion_features(states, 1)
        chosen = method(features, sizes.guides, 1)
        case = f"{sizes.strands:,} hairs, {name}"
        report.add(case, "distinct hairs that it finds by itself", chosen.found, f"of {sizes.guides}", better="higher")
        report.add(case, "guides", len(chosen.guides), f"of {sizes.guides}", better="higher")
        if chosen.codes is not None:
            _, counts = eligible_guides(features, chosen, 10)
            report.add(case, "eligible guides per hair", float(counts.mean()), "1")
        for degree in (0, 1, 2):
            model = learn_from_motion(motion, AdaptiveTraining(**common, degree=degree, seed=1))
            error = parting.unseen_error(groom, unseen, model)
            report.add(f"{case}, weights of degree {degree}", "error on unseen motion", 1e3 * error, "mm")
            if degree == 0:
                _, made = next(islice(parting.unseen_hairs(groom, unseen, model), liveliest, None))
                apart = np.linalg.norm(made - pictures[FULL], axis=2).mean()
                pictures[f"{name.replace('_', ' ')}\n{1e3 * apart:.1f} mm off in this frame"] = made
    tell("drawing", 0.95)
    _draw_choices(report, scene, groom, pictures, QUICK_PICTURE if quick else PICTURE)
    report.note(
        "The paper prints no errors for figure 9; it says that linear weights fit five times worse than quadratic "
        "ones, which does not show here."
    )
    tell("done", 1.0)


def _draw_choices(
    report: Report, scene: PartingScene, groom: Groom, pictures: Mapping[str, FloatArray], size: tuple[int, int]
) -> None:
    """Draw hairs (S, V, 3) [m], as seen from the head, by their captions."""
    corners = np.concatenate([points.reshape(-1, 3) for points in pictures.values()])
    camera = Camera.framing(corners, scene.view, aspect=size[0] / size[1], margin=0.02)
    body = styles.body(scene.style)
    images = [
        render(groom.with_points(points.reshape(-1, 3)), body, camera=camera, size=size, hair_width=DRAWN_WIDTH)
        for points in pictures.values()
    ]
    title = "guides by each choice: a frame of motion that was not learned from"
    half = (len(images) + 1) // 2
    captions = list(pictures)
    rows = [side_by_side(images[:half], captions[:half], title=title), side_by_side(images[half:], captions[half:])]
    report.picture(
        "choice", stack_rows(rows), "full simulation, and hair on guides that were chosen in each way (fig. 9)"
    )
