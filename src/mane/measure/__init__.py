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
    "styles": partial(_load, "bench.styles"),
    "guides": partial(_load, "bench.guides"),
    "sdf": partial(_load, "bench.sdf"),
    "io": partial(_load, "bench.io"),
    "render": partial(_load, "bench.render"),
    "strands": partial(_load, "bench.strands"),
    "contact": partial(_load, "bench.contact"),
    "skin": partial(_load, "bench.skin"),
    "adaptive": partial(_load, "bench.adaptive"),
    "learned": partial(_load, "bench.learned"),
    "mutual": partial(_load, "bench.mutual"),
    "fluid": partial(_load, "bench.fluid"),
    "water": partial(_load, "bench.water"),
    "character": partial(_load, "bench.character"),
    "volume": partial(_load, "bench.volume"),
    "pipeline": partial(_load, "bench.pipeline"),
    "dataset": partial(_load, "bench.dataset"),
    "every_strand": partial(_load, "bench.every_strand"),
    "salon": partial(_load, "bench.salon"),
}
VALIDATIONS: dict[str, Callable[[], Any]] = {
    "sdf": partial(_load, "validate.sdf"),
    "groom": partial(_load, "validate.groom"),
    "strands": partial(_load, "validate.strands"),
    "skin": partial(_load, "validate.skin"),
    "physical": partial(_load, "study.physical"),
    "mutual": partial(_load, "validate.mutual"),
    "cohesion": partial(_load, "validate.cohesion"),
    "fluid": partial(_load, "validate.fluid"),
    "water": partial(_load, "validate.water"),
}
PLOTTED = ("strands", "skin")  # validations whose `run` also takes `plot`, a folder to draw into
