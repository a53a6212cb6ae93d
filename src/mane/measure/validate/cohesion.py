"""`mane validate cohesion`: what holds a style together while the head is shaken, and brings it back (decision 23)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mane.geometry.checks import IntArray
from mane.measure.figures import Figures
from mane.measure.study import cohesion as study
from mane.metrics.summary import METRICS
from mane.skin.binding import CLUMP


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    styles: tuple[str, ...]
    strands: int
    guides: int
    candidates: tuple[str, ...]


FULL = Sizes(("bob", "straight", "wavy", "curly"), 2_000, 128, tuple(study.CANDIDATES))
QUICK = Sizes(("bob",), 150, 40, ("none", study.DEFAULT))
OWN_TITLES = {
    "crossing": ("neighbours crossing, beyond rest", "deg", 180 / np.pi),
    "swing": ("mean swing of the tips", "mm", 1e3),
    "fray": ("hairs off the middle of their clump, outer half", "mm", 1e3),
}
STILL = 2e-5  # [m]: what single precision and a solve to its tolerance leave


def run(*, quick: bool = False, progress: Callable[[str], None] | None = None) -> Figures:
    """Shake heads whose guides are held together by each candidate, beside every strand simulated with the grid.

    Args:
        quick: a small bob, with nothing and with what a scene has.
        progress: told what is being done.
    """
    figures, sizes = Figures("cohesion"), QUICK if quick else FULL
    say = progress or (lambda text: None)
    _add_still(figures, sizes)
    for style in sizes.styles:
        groom, guides = study.make_head(style, sizes.strands, sizes.guides)
        say(f"cohesion: {style}, every strand")
        truth = study.simulate_all(style, groom)
        clump = groom.strand.get(CLUMP)
        _add(figures, f"{style}, every strand with the volume grid", truth, truth, clump)
        for name in sizes.candidates:
            say(f"cohesion: {style}, {name}")
            made = study.simulate_guides(style, groom, guides, study.CANDIDATES[name]())
            case = f"{style}, {name}" + (" (default)" if name == study.DEFAULT else "")
            _add(figures, case, made, truth, clump)
            _add_return(figures, case, made, is_default=name == study.DEFAULT)
        if clump is not None:
            say(f"cohesion: {style}, {study.DEFAULT}, hairs bound by clumps")
            made = study.simulate_guides(style, groom, guides, study.CANDIDATES[study.DEFAULT](), "clump")
            case = f"{style}, {study.DEFAULT}, hairs bound by clumps"
            _add(figures, case, made, truth, clump)
            _add_return(figures, case, made, is_default=False)
    return figures


def _add_still(figures: Figures, sizes: Sizes) -> None:
    """What moves of a groom that runs below the skin while the head does not."""
    style = sizes.styles[0]
    groom = study.sunk(study.make_head(style, sizes.strands, sizes.guides)[0])
    first, second = study.stand_still(style, groom, sizes.guides)
    off = np.linalg.norm(first - groom.as_uniform(), axis=2).max(axis=1)
    jump = np.linalg.norm(second - first, axis=2).max(axis=1)
    case = f"{style}, 4 mm below the skin, head still"
    figures.add(case, "hairs more than 1 mm off the groom in frame 1", float((off > 1e-3).sum()), "1", target=0.0)
    figures.add(case, "largest displacement between frames 1 and 2", 1e3 * float(jump.max()), "mm", target=1e3 * STILL)


def _add(figures: Figures, case: str, run: study.Shaken, truth: study.Shaken, clump: IntArray | None) -> None:
    for key, value in study.measure(run, truth, clump).items():
        if key in OWN_TITLES:
            title, unit, scale = OWN_TITLES[key]
        else:
            title, unit, scale = METRICS[key].title, METRICS[key].unit, METRICS[key].scale
        figures.add(case, title, scale * value, unit)
    figures.add(case, "guides of a frame", run.milliseconds, "ms")


def _add_return(figures: Figures, case: str, run: study.Shaken, *, is_default: bool) -> None:
    """What is left of the shake in the end, and what moved before it."""
    mean, late = run.left
    still = float(np.abs(run.frames[0] - run.rest).max())
    figures.add(case, "off the groom before the head moves, largest", 1e3 * still, "mm", target=1e3 * STILL)
    promises = (study.BACK, study.BACK_P95) if is_default else (None, None)
    for title, value, promise in zip(("mean", "95th percentile"), (mean, late), promises, strict=True):
        target = None if promise is None else 1e3 * promise
        figures.add(case, f"tips off the groom after {study.SETTLED:g} s, {title}", 1e3 * value, "mm", target=target)
