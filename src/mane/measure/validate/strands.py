"""`mane validate strands`: the strand models against exact mechanics, and against themselves at other steps.

The hair is real: 40 um radius, 3.9 GPa, 1320 kg/m^3, no damping. `--plot DIR` draws the curves, and
strips of frames of guides on a shaking head.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mane.geometry.threads import using_threads
from mane.measure.figures import Figures
from mane.measure.plot import write_plot
from mane.measure.strands import motion as strands_motion
from mane.measure.strands import static as strands_static
from mane.measure.strands import surroundings as strands_surroundings
from mane.measure.strands.look import draw_strips, shaken_kinks
from mane.measure.strands.substeps import shaken_heads
from mane.measure.strands.tradeoff import sweep_tradeoff
from mane.strand.solver import converged_models

Plots = dict[str, Any]


def run(
    *,
    quick: bool = False,
    progress: Callable[[str], None] | None = None,
    plot: str | os.PathLike[str] | None = None,
    models: tuple[str, ...] = (),
) -> Figures:
    """Measure every case of every model.

    Args:
        quick: coarser strands only.
        progress: told what comes next.
        plot: folder that curves and strips of frames are drawn into, made if need be; None draws none.
        models: which of the table; by default all whose steps solve their equations to the end.
    """
    figures, plots, chosen = Figures("strands"), {}, list(models or converged_models())
    cases: dict[str, Callable[[], Plots | None]] = {
        "cantilever": lambda: strands_static.cantilever(figures, chosen, quick=quick),
        "cantilever at other steps": lambda: strands_static.step_independence(figures, chosen),
        "helix": lambda: strands_static.helix(figures, chosen, quick=quick),
        "torsion": lambda: strands_static.torsion(figures, chosen, quick=quick),
        "small oscillation": lambda: strands_motion.frequency(figures, chosen, quick=quick),
        "swing at other steps": lambda: strands_motion.convergence(figures, chosen),
        "energy": lambda: strands_motion.energy(figures, chosen, quick=quick),
        "kicked curls": lambda: strands_motion.kicked_curls(figures, chosen),
        "free fall": lambda: strands_motion.free_fall(figures, chosen),
        "incline": lambda: strands_surroundings.incline(figures, chosen),
        "shaken heads at other steps": lambda: shaken_heads(figures, chosen, quick=quick),
        "terminal velocity": lambda: strands_surroundings.terminal_velocity(figures, chosen),
        "kinks of shaken hair": lambda: shaken_kinks(figures, chosen, quick=quick),
    }
    if "cosserat" in chosen:
        cases["direct solve against iterations"] = lambda: sweep_tradeoff(figures, quick=quick)
    with using_threads(1):
        for name, case in cases.items():
            if progress:
                progress(f"strands: {name}")
            plots.update(case() or {})
    if plot is not None:
        _draw(Path(plot), plots)
        if progress:
            progress("strands: frames of a shaking head")
        draw_strips(Path(plot), chosen, quick=quick)
    return figures


def _draw(folder: Path, plots: Plots) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, contents in plots.items():
        write_plot(folder / f"{name}.png", *contents)
