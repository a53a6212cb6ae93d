"""`mane bench styles`: how long procedural grooms take, and whether they keep out of the body."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from mane.groom import styles
from mane.groom.groom import Groom
from mane.measure.figures import Figures

VERTICES = 16
TARGET_SECONDS = 5.0
CHECKS_PER_SEGMENT = 4
TARGET_DEPTH_MM = 0.5  # deeper than a hair's breadth would show


def run(*, quick: bool = False, progress: Callable[[str], None] | None = None) -> Figures:
    """Grow every style at 100,000 strands x 16 vertices; compiling is not counted."""
    strands = 2_000 if quick else 100_000
    figures = Figures("styles")
    for name, style in styles.STYLES.items():
        if progress:
            progress(f"styles: {name}")
        styles.make(name, strands=100, vertices=VERTICES)
        started = time.perf_counter()
        groom = styles.make(name, strands=strands, vertices=VERTICES)
        seconds = time.perf_counter() - started
        case = f"{name}, {strands:,} x {VERTICES}"
        figures.add(case, "time", seconds, "s", target=TARGET_SECONDS)
        figures.add(case, "time per vertex", 1e9 * seconds / groom.point_count, "ns")
        if style.on_bust:
            figures.add(case, "deepest in the head", 1e3 * deepest(groom), "mm", target=TARGET_DEPTH_MM)
    return figures


def deepest(groom: Groom) -> float:
    """How deep any strand runs inside the bust [m], segments between vertices included; 0 where none does."""
    from mane.groom.styles.head import load_head

    points = groom.as_uniform()
    worst = 0.0
    for share in np.arange(CHECKS_PER_SEGMENT) / CHECKS_PER_SEGMENT:
        between = points[:, :-1] * np.float32(1 - share) + points[:, 1:] * np.float32(share)
        worst = max(worst, -float(load_head().field.sample(between.reshape(-1, 3)).min()))
    return worst
