"""guan2012 table 2: frames per second of a learned model by stage; `mane bench learned` has one of every size."""

from __future__ import annotations

from mane.body.solid import Solid
from mane.geometry.threads import using_threads
from mane.groom import styles as grooms
from mane.measure.reproduce.reproduce import Report
from mane.measure.study import learned
from mane.reduced.model import HairModel

THREADS = 2


def add_times(report: Report, model: HairModel, *, quick: bool) -> None:
    """Stages as the paper divides them, and simulating the same guides."""
    size = next((one for one in learned.SIZES if one.guides == model.guide_count), learned.QUICK[0])
    body, repeats = Solid(grooms.body("straight")), 3 if quick else 100
    case = f"{model.guide_count:,} guides x {model.vertex_count}"
    with using_threads(THREADS):
        total = learned.stages(report.figures, f"{case}, {THREADS} threads", size, model, body, repeats)
    learned.beside(report.figures, case, size, model, body, total, lambda text: None)
