"""chai2017 table 2 beside ours: time per step of 10 ms by stage, full simulation, memory, and training by stage."""

from __future__ import annotations

from time import perf_counter

from mane.dataset.learn.adaptive import AdaptiveTraining, learn_from_motion
from mane.measure.bench import adaptive as bench
from mane.measure.reproduce import chai2017
from mane.measure.reproduce.reproduce import Report, Tell
from mane.measure.study import parting
from mane.measure.study import parting_scenes as scenes

PAPER_TRAINING = 7200.0  # [s] "less than two hours" for every example of 7.3
FULL_PART = 0.8  # of which full simulation takes more than this part


def run(report: Report, *, quick: bool, tell: Tell) -> None:
    """Time every stage at the sizes of table 2, and of training at the size of the other scenes."""
    report.figures.rows.extend(bench.run(quick=quick, progress=lambda text: tell(text, 0.3)).rows)
    sizes = chai2017.QUICK if quick else chai2017.USUAL
    groom = parting.grown(scenes.COMB, sizes)
    began = perf_counter()
    motion = parting.motion_of(
        scenes.COMB, groom, parting.TRAINING_SEEDS, sizes.train_seconds, lambda text, share: tell(text, 0.8)
    )
    seconds = {"full simulation": perf_counter() - began}
    learn_from_motion(motion, AdaptiveTraining(guides=sizes.guides), seconds)
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
    report.note(
        "Table 1 has spring constants without masses or lengths; strand model `spring` has them as presets, the scenes "
        "here use the rods of the default model."
    )
    tell("done", 1.0)
