"""The mean over scenes of chai2017, which is what is promised: over small ones, and over those of table 2's sizes.

Every scene leaves what its methods came to in its folder. The mean is taken of the scenes of one folder, whether they
were run together or one by one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mane.io.atomic import atomic_path
from mane.measure.reproduce.reproduce import ProgressCallback, Report
from mane.measure.study.parting import DEFAULT

FILE = "found.json"
SMALL = ("comb", "curly", "criteria", "hand", "gears", "toys")
FULL = ("full_gears", "full_ball", "full_comb", "full_hand", "full_curly", "full_curly_hand")
OVER_FIXED, OVER_FULL = "the same over fixed sets, whole frame", "flicker near solids over full simulation"
INSIDE = "vertices inside, whole frame"
# What a mean is taken of, and what is promised of it for hair as scenes have it.
PROMISES = {OVER_FIXED: 0.8, OVER_FULL: 1.3, INSIDE: 1e-4}

Kept = dict[str, dict[str, float]]  # of every method by metric


def keep(report: Report, case: str, methods: Iterable[str], *, quick: bool) -> None:
    """Leave what the methods of a scene came to, rows of its report of "`case`, method", in its folder."""
    values = {(row.case, row.metric): row.value for row in report.figures.rows}
    found = {name: {metric: values[f"{case}, {name}", metric] for metric in PROMISES} for name in methods}
    with atomic_path(report.folder / FILE) as file:
        file.write_text(json.dumps({"quick": quick, "found": found}), encoding="utf-8")


def mean(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Take the mean over the six scenes of 1,500 hairs."""
    _mean(report, SMALL, quick=quick)
    tell("done", 1.0)


def full_mean(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Take the mean over the scenes of table 2's sizes."""
    _mean(report, FULL, quick=quick)
    tell("done", 1.0)


def _mean(report: Report, scenes: Sequence[str], *, quick: bool) -> None:
    kept = [_kept(report.folder.parent, name, scenes, quick=quick) for name in scenes]
    for method in kept[0]:
        for metric, promise in PROMISES.items():
            target = promise if method == DEFAULT and not quick else None
            value = float(np.mean([one[method][metric] for one in kept]))
            report.add(f"mean of {len(scenes)} scenes, {method}", metric, value, "1", target=target)
    report.note(f"The mean of {', '.join(scenes)}, each counts the same.")


def _kept(folder: Path, scene: str, scenes: Sequence[str], *, quick: bool) -> Kept:
    file = folder / scene / FILE
    kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"quick": None}
    if kept["quick"] != quick:
        how, size = ("--quick ", "at quick size") if quick else ("", "whole")
        raise ValueError(
            f"{file}: {scene} must have been run there {size}, before its mean with others is taken; run `mane "
            f"reproduce chai2017 {how}{' '.join(f'--scene {name}' for name in scenes)} -o {folder}` first"
        )
    found: Kept = kept["found"]
    return found
