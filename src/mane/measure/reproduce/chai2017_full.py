"""chai2017's scenes at the sizes of table 2, hairs simulated one by one as truth, streamed; and table 1's materials.

Tens of minutes each: what a scene will take is told before it begins. A scene that was finished in the same folder is
not run again, and hairs that were simulated there are not simulated again.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np

from mane.measure.pictures import stack_rows
from mane.measure.reproduce import chai2017, chai2017_mean
from mane.measure.reproduce.chai2017_pictures import PARTED, PICTURE, QUICK_PICTURE
from mane.measure.reproduce.reproduce import ProgressCallback, Report
from mane.measure.study import parting
from mane.measure.study import parting_scenes as scenes
from mane.measure.study.parting import FIXED, METHODS, Sizes
from mane.measure.study.parting_meter import NEAR, PropDistance
from mane.measure.study.parting_stream import FullSize, Streamed, stream
from mane.render.camera import Camera
from mane.render.panels import side_by_side
from mane.render.renderer import render

SIZES = {
    "full_gears": FullSize("gears", scenes.GEARS, 80_000, 300, 30, scenes.GEARS.seconds),
    "full_ball": FullSize("hairy ball", scenes.URCHIN, 60_000, 200, 30, scenes.URCHIN.seconds),
    "full_horse": FullSize("hairy ball, smooth toy", scenes.HORSE, 60_000, 200, 30, scenes.HORSE.seconds),
    "full_comb": FullSize("hair salon, comb", scenes.COMB, 150_000, 400, 25, scenes.COMB.seconds),
    "full_hand": FullSize("hair salon, hand", scenes.HAND, 150_000, 400, 25, scenes.HAND.seconds),
    "full_curly": FullSize("hair salon, comb, curls", scenes.CURLY_COMB, 150_000, 400, 25, scenes.CURLY_COMB.seconds),
    "full_curly_hand": FullSize(
        "hair salon, hand, curls", scenes.CURLY_HAND, 150_000, 400, 25, scenes.CURLY_HAND.seconds
    ),
}
QUICK = Sizes(strands=120, guides=10, vertices=8, seconds=0.06, train_seconds=0.1)
PRINTED = "adaptive as printed"
# Of `METHODS`, what table and figures of section 7 compare; the others are measured at smaller sizes.
COMPARED = (
    "linear",
    "physical",
    FIXED,
    "naive, fixed (eq. 11)",
    "naive, adaptive (eq. 11)",
    PRINTED,
    "motion alone (4.1)",
    "solids alone (4.2)",
    "tip rule [13], 2 cm",
    "adaptive",
    "adaptive, physical hair",
    "fixed sets, physical hair",
    "linear, sides kept",
    parting.DEFAULT,
    "naive, fixed, sides kept",
    "naive, sides kept",
    "adaptive, sides kept",
    "fixed sets, physical hair, sides kept",
    "fixed sets, 4x the guides",
)
SAMPLE, SAMPLE_SECONDS = 300, 0.1  # of the estimate
FINISHED = "finished.json"
VERSION = 5  # of what is measured: 5 has the flicker of hairs near solids, lengths of whole frames, 4.5 s to learn of


def _scene(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Run the scene that the report is named after, unless its folder has it already."""
    size = SIZES[report.name]
    _run(report, _small(size) if quick else size, quick=quick, tell=tell)


def _small(size: FullSize) -> FullSize:
    made = replace(size, hairs=QUICK.strands, guides=QUICK.guides, vertices=QUICK.vertices, seconds=QUICK.seconds)
    return replace(made, sample=2 * QUICK.strands // 3, train_seconds=QUICK.train_seconds)


full_gears = full_ball = full_horse = full_comb = full_hand = full_curly = full_curly_hand = _scene


def _run(report: Report, size: FullSize, *, quick: bool, tell: ProgressCallback) -> None:
    key = json.dumps(
        [
            *(size.name, size.hairs, size.guides, size.vertices, size.seconds, size.sample, size.train_seconds),
            *(size.scene.digest(), VERSION, *COMPARED),
        ]
    )
    if _is_finished(report, key):
        tell("was finished before", 1.0)
        return
    if not quick:
        tell("estimating how long it takes", 0.0)
        spent = _estimate(size)
        tell(f"about {spent / 60:.0f} min of processor time to simulate; to learn and to measure takes more", 0.0)
        report.add(size.name, "processor time of the simulation, estimated before", spent / 60, "min")
    methods = {name: METHODS[name] for name in COMPARED}
    drawn = [name for name in PARTED.shown if name != PRINTED]  # which carries some of the hairs alone
    streamed = stream(size, methods, drawn, report.folder, tell)
    learned = len(parting.TRAINING_SEEDS) * size.train_seconds
    case = f"{size.hairs:,} x {size.vertices}, {size.guides} guides, learned of {learned:g} s"
    chai2017.add_full(report, case, streamed.full)
    for name, one in streamed.found.items():
        is_promised = name == parting.DEFAULT and not quick
        chai2017.add_found(report, f"{case}, {name}", one, streamed.found, streamed.full, is_promised=is_promised)
    chai2017_mean.keep(report, case, streamed.found, quick=quick)
    _draw(report, size, streamed, quick)
    report.note(
        f"As printed, eq. 3 tries up to 511 sets per hair and frame: that row is learned of {parting.PRINTED_HAIRS:,} "
        "of the hairs, and measured on those."
    )
    report.note(
        f"Of {size.hairs:,} hairs {min(size.sample, size.hairs):,}, drawn at random, are simulated, learned of and "
        "measured, guides among them. Simulated hairs do not meet each other: the rest would change nothing."
    )
    rows = [asdict(row) for row in report.figures.rows]
    finished = {"key": key, "rows": rows, "pictures": report.pictures, "notes": report.notes}
    (report.folder / FINISHED).write_text(json.dumps(finished), encoding="utf-8")
    tell("done", 1.0)


def _is_finished(report: Report, key: str) -> bool:
    """Whether the folder has this scene; then the report is filled from there."""
    file = report.folder / FINISHED
    if not file.is_file():
        return False
    finished = json.loads(file.read_text(encoding="utf-8"))
    if finished["key"] != key:
        return False
    for row in finished["rows"]:
        report.figures.add(**row)
    report.pictures.extend((name, caption) for name, caption in finished["pictures"])
    report.notes.extend(finished["notes"])
    return True


def _estimate(size: FullSize) -> float:
    """Seconds that simulating the sample and what is learned from it take, scaled from a few hairs."""
    truth = parting.truth_seconds(size.scene, min(size.sample, size.hairs), size.vertices, SAMPLE, SAMPLE_SECONDS)
    learned = len(parting.TRAINING_SEEDS) * size.train_seconds
    return truth * (size.seconds + learned) / size.scene.seconds


def _draw(report: Report, size: FullSize, streamed: Streamed, quick: bool) -> None:
    shape, scene = QUICK_PICTURE if quick else PICTURE, size.scene
    rows = []
    for number, (frame, pictures) in streamed.drawn.items():
        around, groom = streamed.recording.simulation.solids, streamed.recording.groom
        solids = [solid.at(frame.time).mesh() for solid in around]
        truth = pictures["full simulation"]
        near = truth[PropDistance(around)(frame.time, truth) < NEAR]
        corners = np.concatenate([near if len(near) else truth.reshape(-1, 3), *(one.points for one in solids[1:])])
        camera = Camera.framing(corners, scene.view, aspect=shape[0] / shape[1], margin=0.02)
        images = [
            render(groom.with_points(points.reshape(-1, 3)), solids, camera=camera, size=shape)
            for points in pictures.values()
        ]
        rows.append(side_by_side(images, list(pictures), title=f"{scene.name}, {number / parting.FRAME_RATE:.2f} s"))
    report.picture("parting", stack_rows(rows), f"{scene.name}: full simulation, and hair carried by guides")


def materials(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Comb and hand through hair of the paper's own materials, table 1, as far as it prints them."""
    for number, scene in enumerate(scenes.TABLE_1):
        sizes = chai2017.QUICK if quick else replace(chai2017.USUAL, train_seconds=0.5)
        tell(f"recording {scene.name}", number / len(scenes.TABLE_1))
        recording = parting.record(scene, sizes, lambda text, share: None)
        full = parting.measure(recording, None)
        found = {
            name: parting.measure(recording, METHODS[name]) for name in ("linear", FIXED, "adaptive", parting.DEFAULT)
        }
        preset = scene.strand["preset"]
        case = f"{scene.name}, {preset}, {sizes.strands:,} x {sizes.vertices}, {sizes.guides} guides"
        chai2017.add_full(report, case, full)
        for name, one in found.items():
            chai2017.add_found(report, f"{case}, {name}", one, found, full, is_promised=False)
    report.note(
        "Table 1 has spring constants without masses or lengths; strand model `spring` says what it takes them for. No "
        "joint is stiffened to hold the groom (`sag_free = false`): hair sags as these springs let it."
    )
    tell("done", 1.0)
