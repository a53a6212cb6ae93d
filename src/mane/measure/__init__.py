"""What mane measures of itself: benchmarks and validations, each a table for people and JSON for programs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any


def _load(module: str) -> Any:
    return import_module(f"mane.measure.{module}").run


# name -> what loads its `run(*, quick, progress) -> Figures`; a new measurement is one file and one line.
BENCHMARKS: dict[str, Callable[[], Any]] = {
    "styles": partial(_load, "bench_styles"),
    "guides": partial(_load, "bench_guides"),
    "sdf": partial(_load, "bench_sdf"),
    "io": partial(_load, "bench_io"),
    "render": partial(_load, "bench_render"),
    "strands": partial(_load, "bench_strands"),
    "contact": partial(_load, "bench_contact"),
    "skin": partial(_load, "bench_skin"),
    "mutual": partial(_load, "bench_mutual"),
    "pipeline": partial(_load, "bench_pipeline"),
}
VALIDATIONS: dict[str, Callable[[], Any]] = {
    "sdf": partial(_load, "validate_sdf"),
    "groom": partial(_load, "validate_groom"),
    "strands": partial(_load, "validate_strands"),
    "skin": partial(_load, "validate_skin"),
    "physical": partial(_load, "study_physical"),
    "mutual": partial(_load, "validate_mutual"),
}
PLOTTED = ("strands", "skin")  # validations whose `run` also takes `plot`, a folder to draw into
