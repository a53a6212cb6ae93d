"""`mane bench guides`: how well the guides of each selection method stand for all strands, and how long they take.

Numbers are means over seeds, times the best of them. The distance of a strand to a guide is the mean distance of their
points at equal shares of arc length, once the roots are laid on each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from mane.geometry.arclength import arc_lengths, even_lengths, locate
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.select import root_distances, select_guides, shape_distances
from mane.measure.figures import Figures

VERTICES = 16
COUNTS = (32, 128, 256)
SEEDS = {"random": 8, "farthest": 8, "shape": 2}  # the simple methods scatter more, and cost less
TARGET_RATIO = 0.85  # of the distance to the better of the two simple methods
TARGET_MEAN_COVERAGE = 1.25  # of that of `farthest`, which serves nothing else
TARGET_LARGEST_COVERAGE = 2.0  # of the same
TARGET_SECONDS = 2.0
TIMED_COUNT = 128

Measured = dict[str, float]


def run(*, quick: bool = False, progress: Callable[[str], None] | None = None) -> Figures:
    """Select guides from curls and from curls cut to mixed lengths; compiling is not counted."""
    strands = 2_000 if quick else 100_000
    counts = COUNTS[:1] if quick else COUNTS
    figures = Figures("guides")
    curly = styles.make("curly", strands=strands, vertices=VERTICES, seed=1)
    for method in SEEDS:
        select_guides(curly.take(np.arange(100)), 8, method=method)
    for name, groom in {"curly": curly, "mixed lengths": mixed_lengths(curly, seed=1)}.items():
        for count in counts:
            results = {}
            for method in SEEDS:
                if progress:
                    progress(f"guides: {name}, {count}, {method}")
                results[method] = _measure(groom, count, method)
            _report(figures, f"{name}, {strands:,} x {VERTICES} -> {count}", results, timed=count == TIMED_COUNT)
    return figures


def mixed_lengths(groom: Groom, seed: int) -> Groom:
    """Cut a groom: the front to a quarter of its length, the top to half, the rest hardly, each strand a bit apart."""
    front, top = (groom.roots[:, axis] > np.quantile(groom.roots[:, axis], 0.7) for axis in (2, 1))
    share = np.where(front, 0.25, np.where(top, 0.5, 1.0))
    share *= np.random.default_rng(seed).uniform(0.8, 1.0, groom.strand_count)
    arc = arc_lengths(groom.points, groom.offsets)
    wanted = even_lengths(share * arc[groom.offsets[1:] - 1], groom.vertex_counts)
    return groom.with_points(locate(arc, groom.offsets, wanted, groom.offsets).interpolate(groom.points))


def _measure(groom: Groom, count: int, method: str) -> Measured:
    rows = []
    for seed in range(SEEDS[method]):
        started = time.perf_counter()
        guides = select_guides(groom, count, method=method, seed=seed)
        seconds = time.perf_counter() - started
        roots = 1e3 * root_distances(groom, guides)
        shape = 1e3 * float(shape_distances(groom, guides).mean())
        rows.append((shape, float(roots.mean()), float(roots.max()), seconds))
    shape, mean, largest, _ = np.mean(rows, axis=0)
    return {"shape": shape, "mean root": mean, "largest root": largest, "seconds": min(row[-1] for row in rows)}


def _report(figures: Figures, case: str, results: dict[str, Measured], *, timed: bool) -> None:
    for method, found in results.items():
        own = f"{case}, {method}"
        figures.add(own, "mean shape distance", found["shape"], "mm")
        figures.add(own, "mean distance of roots", found["mean root"], "mm")
        figures.add(own, "largest distance of roots", found["largest root"], "mm")
        target = TARGET_SECONDS if timed and method == "shape" else None
        figures.add(own, "time", found["seconds"], "s", target=target)
    shape, far = results["shape"], results["farthest"]
    simple = min(results["random"]["shape"], far["shape"])
    figures.add(case, "shape distance, shape / better of others", shape["shape"] / simple, "1", target=TARGET_RATIO)
    figures.add(
        case, "mean roots, shape / farthest", shape["mean root"] / far["mean root"], "1", target=TARGET_MEAN_COVERAGE
    )
    figures.add(
        case,
        "largest roots, shape / farthest",
        shape["largest root"] / far["largest root"],
        "1",
        target=TARGET_LARGEST_COVERAGE,
    )
