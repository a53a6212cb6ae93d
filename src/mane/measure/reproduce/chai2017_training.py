"""chai2017 6 and 7.3: the head of the hair salon learned at its own size, by `mane learn adaptive`.

Every one of its 150,000 hairs is simulated, which takes a gigabyte of memory and of disk for every second of motion. A
run that is stopped goes on in the same folder.
"""

from __future__ import annotations

from mane.dataset.cluster import core_count
from mane.dataset.learn.adaptive import STORED_RATE, AdaptiveTraining, learn_adaptive
from mane.dataset.machine import peak_megabytes
from mane.measure.reproduce.chai2017_times import PAPER_TRAINING, SALON_HAIRS
from mane.measure.reproduce.reproduce import ProgressCallback, Report
from mane.scene.config import FramesTable, GroomTable, Scene

VERTICES = 25
USUAL = AdaptiveTraining(guides=400, train=4, test=1, seconds=2.0)  # 8 s of motion, as in 7.3
QUICK = AdaptiveTraining(guides=8, train=2, test=1, seconds=0.2)
QUICK_HAIRS, QUICK_VERTICES = 60, 8
PAPER_MEGABYTES = 400.0
MEGABYTES = 150.0  # that we promise, with constant weights
SIMULATION = "simulation"


def run(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Simulate every hair of the salon under random motions, learn, and print the seconds of each stage."""
    training = QUICK if quick else USUAL
    hairs, vertices = (QUICK_HAIRS, QUICK_VERTICES) if quick else (SALON_HAIRS, VERTICES)
    scene = Scene(
        groom=GroomTable(style="straight", strands=hairs, vertices=vertices), frames=FramesTable(rate=STORED_RATE)
    )
    output = report.folder / "salon.model"
    goes_on = output.with_suffix(".zarr").exists()
    model = learn_adaptive(scene, output, training, workers=0 if quick else None, tell=tell)
    report.pictures.append(("salon.png", "a motion that was not learned from: full simulation, and hair on guides"))
    case = f"salon, {hairs:,} x {vertices}, {training.guides} guides, {training.train * training.seconds:g} s of motion"
    seconds = model.facts["seconds"]
    for stage, spent in seconds.items():
        report.add(case, stage, spent, "s")
    total = sum(seconds.values())
    report.add(
        case,
        f"all stages, on {core_count()} cores",
        total,
        "s",
        reference=PAPER_TRAINING,
        source="chai2017 7.3, less than",
        target=None if quick else PAPER_TRAINING,
    )
    report.add(case, "part of full simulation", 100 * seconds[SIMULATION] / total, "%")
    report.add(
        case,
        "model",
        model.nbytes / 1e6,
        "MB",
        reference=PAPER_MEGABYTES,
        source="chai2017 table 2",
        target=None if quick else MEGABYTES,
    )
    report.add(case, "most memory", peak_megabytes(), "MB")
    for name, error in model.facts.items():
        if name.startswith("test_error_"):
            skin = name.removeprefix("test_error_")
            report.add(case, f"distance from full simulation on unseen motion, {skin}", 1e3 * error, "mm")
    report.note("Simulated are the motions of the test, too; the seconds of the test itself are not counted.")
    if goes_on:
        report.note(
            "This run went on from an earlier one in the same folder: its simulation is only what was left of it."
        )
    tell("done", 1.0)
