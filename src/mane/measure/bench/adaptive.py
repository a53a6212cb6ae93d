"""`mane bench adaptive`: a step of the adaptive skin by stage, at the sizes of chai2017 table 2, and how it grows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mane.measure.figures import Figures
from mane.measure.study import adaptive_steps as steps

# Linear is a power of 1, and time does not grow exactly evenly; guides are allowed more.
TARGET_GROWTH = {"hairs": 1.1, "guides": 1.5}


def run(*, quick: bool = False, progress: steps.Progress | None = None) -> Figures:
    """Time every stage at every size on one and two threads; compiling is not counted."""
    figures = Figures("adaptive")
    say = progress or (lambda text: None)
    repeats = 3 if quick else 11
    for size in steps.QUICK if quick else steps.SIZES:
        say(f"adaptive: {size.name}, growing {size.hairs:,} x {size.vertices}")
        head = steps.BoundHead(size)
        steps.measure_steps(figures, head, repeats, say, threads=(1, 2), kinds=tuple(steps.FRAMES))
    _growth(figures, head, repeats, say)  # of the last and largest one
    return figures


def _growth(figures: Figures, head: steps.BoundHead, repeats: int, say: steps.Progress) -> None:
    """Time of the skin over hairs, and over guides: a power of 1 is linear."""
    size = head.size

    def seconds_of(one: steps.BoundHead) -> float:
        return steps.stage_seconds(one.skins[steps.CHOSEN], one.frames("combed"), repeats)["skin"]

    whole = seconds_of(head)
    for what, smaller in (
        ("hairs", replace(size, hairs=size.hairs // 4)),
        ("guides", replace(size, guides=size.guides // 4)),
    ):
        say(f"adaptive: growth in {what}")
        power = np.log(whole / seconds_of(steps.BoundHead(smaller))) / np.log(4)
        target = TARGET_GROWTH[what]
        figures.add(f"{size.name}, combed", f"growth of the skin in {what}, power", power, "1", target=target)
