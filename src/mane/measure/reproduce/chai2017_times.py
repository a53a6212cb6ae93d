"""chai2017 table 2 and 7.3: steps by stage and memory at the paper's sizes, full simulation, seconds of training."""

from __future__ import annotations

from time import perf_counter

from mane.dataset.learn.adaptive import AdaptiveTraining, learn_from_motion
from mane.measure.reproduce import chai2017
from mane.measure.reproduce.reproduce import ProgressCallback, Report
from mane.measure.study import adaptive_steps, parting
from mane.measure.study import parting_scenes as scenes

PAPER_TRAINING = 7200.0  # [s] "less than two hours" for every example of 7.3
SALON_HAIRS = 150_000
# Of table 2: scene, hairs, vertices, and seconds per step of its full simulation there.
FULL_SIZES = (
    ("gears", scenes.GEARS, 80_000, 30, 20.0),
    ("hairy ball", scenes.URCHIN, 60_000, 30, 15.0),
    ("hair salon, comb", scenes.COMB, 150_000, 25, 60.0),
)
FULL_PART = 0.8  # of which full simulation takes more than this part


def _estimate(report: Report, sample: int, seconds: float, *, tell: ProgressCallback) -> None:
    """How long the truth would take at the sizes of table 2, and its size."""
    for name, scene, hairs, vertices, paper in FULL_SIZES:
        tell(f"estimating the full simulation of {name}", 0.0)
        spent = parting.truth_seconds(scene, hairs, vertices, sample, seconds)
        steps = scene.seconds * parting.FRAME_RATE
        case = f"{name}, {hairs:,} x {vertices}, {steps:.0f} steps, scaled from {sample} hairs"
        source = "chai2017 table 2, its time per step"
        tell(f"every hair of {name} would take {spent / 60:.0f} min", 0.0)
        report.add(case, "every hair beside the solids", spent / 60, "min", reference=paper * steps / 60, source=source)
        report.add(case, "its points, all frames", 12e-9 * steps * hairs * vertices, "GB")


def run(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Print table 2 beside ours, then time every stage of training at the size of the other scenes."""
    sizes = chai2017.QUICK if quick else chai2017.USUAL
    adaptive_steps.table_2(report.figures, quick=quick, progress=lambda text: tell(text, 0.0))
    _estimate(report, *((20, 0.02) if quick else (400, 0.2)), tell=tell)
    groom = parting.grown(scenes.COMB, sizes)
    began = perf_counter()
    motion = parting.motion_of(
        scenes.COMB,
        groom,
        parting.TRAINING_SEEDS,
        sizes.train_seconds,
        lambda text, share: tell(text, 0.5 + 0.4 * share),
    )
    seconds = {"full simulation": perf_counter() - began}
    model = learn_from_motion(motion, AdaptiveTraining(guides=sizes.guides), seconds)
    simulated = len(parting.TRAINING_SEEDS) * sizes.train_seconds
    case = f"training, {sizes.strands:,} x {sizes.vertices}, {sizes.guides} guides, {simulated:g} s of motion"
    for stage, spent in seconds.items():
        report.add(case, stage, spent, "s")
    total = sum(seconds.values())
    report.add(
        case, "all stages", total, "s", reference=PAPER_TRAINING, source="chai2017 7.3, at most, 60,000 hairs and more"
    )
    part = 100 * seconds["full simulation"] / total
    report.add(case, "part of full simulation", part, "%", reference=100 * FULL_PART, source="chai2017 7.3, more than")
    salon = model.nbytes / sizes.strands * SALON_HAIRS / 1e6
    report.add(case, f"model, scaled to {SALON_HAIRS:,} hairs", salon, "MB", reference=400.0, source="chai2017 table 2")
    report.note(
        "Steps and memory are those of `mane bench adaptive`, which has more rows: sets drawn at random, as many as a "
        "model may have. Training at the size of the salon is scene `full_training`; all hairs one by one on a head "
        "that moves are in `mane bench every_strand`."
    )
    report.note(
        "Table 1 has spring constants without masses or lengths; strand model `spring` has them as presets, the scenes "
        "here use the rods of the default model."
    )
    tell("done", 1.0)
