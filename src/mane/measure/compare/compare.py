"""`compare`: one scene with every chosen strand model and every chosen skin, side by side in pictures and numbers.

The guides of each model are simulated once, into a cache, and every skin carries the same frames of it. With a
reference, hairs sampled from the full head are simulated one by one as well: where they go is where a perfect skin
would put them.

```python
comparison = mane.compare(mane.read_scene("curls.toml"), "out", skins=("linear", "physical"), reference=200)
print(comparison.figures.to_table())
```
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from mane.contact.table import INTERACTIONS
from mane.geometry.checks import FloatArray, IntArray
from mane.groom.guides import Guides
from mane.io.atomic import atomic_write
from mane.measure.captions import describe
from mane.measure.compare.pictures import Panels
from mane.measure.figures import Figures, Row, machine, number_text
from mane.metrics.summary import METRICS, measure_all
from mane.scene.background import WAITING
from mane.scene.build import Assembly, build
from mane.scene.cache import Cache
from mane.scene.cached import CachedSource
from mane.scene.config import OutputTable, Scene, SkinTable
from mane.scene.loop import Progress, play_cache, run_assembly
from mane.scene.outputs import check_output
from mane.scene.sink_metrics import MetricsSink
from mane.scene.sinks import SINKS
from mane.skin.table import SKINS
from mane.stage.clock import StageClock
from mane.stage.table import Table
from mane.strand.solver import SOLVERS
from mane.strand.stepping import SolverDiverged


def to_markdown(figures: Figures, title: str, references: Sequence[str] = ()) -> str:
    """Return a page with a title, the table and the machine; cases in `references` do not compete."""
    cases = list(dict.fromkeys(row.case for row in figures.rows))
    metrics = list(dict.fromkeys((row.metric, row.unit) for row in figures.rows))
    found = {(row.case, row.metric): row for row in figures.rows}
    lines = [["metric", "unit", *cases]]
    for metric, unit in metrics:
        row = [found.get((case, metric)) for case in cases]
        competing = [value for value in row if value is not None and value.case not in references]
        lines.append([metric, unit, *_cells(row, _best(competing))])
    facts = machine()
    versions = ", ".join(f"{name} {facts[name]}" for name in ("mane", "numpy", "numba"))
    where = f"{facts['processor']}, {facts['cores']} cores, {versions}"
    about = f"Less is better. Times are medians over the frames; {where}."
    return f"# {figures.name}: {title}\n\n{_table(lines)}\n\n{about}\n"


def _best(rows: Sequence[Row]) -> float | None:
    """The smallest value, or None where all are alike."""
    finite = [row.value for row in rows if math.isfinite(row.value)]
    return min(finite) if len(set(finite)) > 1 else None


def _cells(rows: Sequence[Row | None], best: float | None) -> list[str]:
    texts = []
    for row in rows:
        text = "" if row is None or not math.isfinite(row.value) else number_text(row.value)
        texts.append(f"**{text}**" if row is not None and row.value == best else text)
    return texts


def _table(lines: list[list[str]]) -> str:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    rule = ["-" * width if column < 2 else "-" * (width - 1) + ":" for column, width in enumerate(widths)]

    def text(line: list[str]) -> str:
        cells = (
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        return f"| {' | '.join(cells)} |"

    return "\n".join(map(text, [lines[0], rule, *lines[1:]]))


PANEL = (480, 540)  # pixels
UNCOUPLED = "linear"  # a skin that leaves guides alone
ProgressCallback = Callable[[str, Progress], None]


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `compare` found.

    Attributes:
        figures: every metric and the milliseconds of every stage, for each case such as "cosserat, linear".
        files: that were made.
    """

    figures: Figures
    files: list[Path]


@dataclass(eq=False)
class _Case:
    """One model with one skin."""

    model: str
    skin: str
    metrics: dict[str, float]
    milliseconds: dict[str, float]
    frames: Mapping[int, Mapping[str, float]]

    @property
    def name(self) -> str:
        return f"{self.model}, {self.skin}"


def compare(
    scene: Scene,
    folder: str | os.PathLike[str],
    *,
    skins: Sequence[str] = ("linear", "physical"),
    models: Sequence[str] = (),
    reference: int = 0,
    movie: bool = True,
    size: tuple[int, int] = PANEL,
    progress: ProgressCallback | None = None,
) -> Comparison:
    """Run a scene with every model and every skin, and write what came of it.

    Args:
        scene: its own [output] is left alone. Settings of its skin and its model go to that skin and that model.
        folder: for comparison.md, comparison.json, comparison.mp4, pictures of single frames and the caches; made where
            it is missing.
        skins: names of skins.
        models: names of strand models; by default the scene's own.
        reference: how many hairs to simulate one by one with each model; 0 for none. Interactions between strands
            (links, strips, ties, grid) leave them alone.
        movie: whether to draw every frame; without it only a few are drawn.
        size: of each picture [pixels].
        progress: is told what is being made and how far it is, after every frame.

    Raises:
        ValueError: something is unknown, or a model diverged.
        OSError: something cannot be written.
    """
    chosen = _checked(models or (scene.strand.model,), "models", SOLVERS), _checked(skins, "skins", SKINS)
    if reference < 0:
        raise ValueError(f"reference: must be at least 0 hairs, got {reference}")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    return _Comparing(scene, target.absolute(), *chosen, reference, movie, size, progress).run()


def _checked(names: Sequence[str], what: str, known: Table[Any]) -> tuple[str, ...]:
    for name in names:
        known.find(name, what)
    if not names:
        raise ValueError(f"{what}: must name at least one of {', '.join(known)}")
    return tuple(dict.fromkeys(names))


class _Reference:
    """Sampled hairs as simulated one by one, read from their cache frame by frame."""

    def __init__(self, cache: Cache, strands: IntArray) -> None:
        self._cache, self.strands = cache, strands

    def points(self, index: int) -> FloatArray:
        return self._cache.read_frame(index).points

    def metrics(self, rest: FloatArray) -> dict[str, float]:
        """Means over all frames: what is no fault of a skin."""
        found = [measure_all(self.points(index), rest) for index in self._cache.frames]
        return {key: float(np.mean([one[key] for one in found])) for key in found[0]}


@dataclass(eq=False)
class _Comparing:
    """The job of `compare`."""

    scene: Scene
    folder: Path
    models: tuple[str, ...]
    skins: tuple[str, ...]
    reference: int
    movie: bool
    size: tuple[int, int]
    progress: ProgressCallback | None
    figures: Figures = field(default_factory=lambda: Figures("compare"))
    references: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)

    def run(self) -> Comparison:
        frames = self.scene.frames
        panels = Panels(self.folder, range(frames.start, frames.end + 1), movie=self.movie, rate=frames.rate)
        cases = list(self._cases(panels))
        self.files += panels.write(
            lambda index: [[_caption(case, index) for case in cases if case.model == model] for model in self.models]
        )
        self.files += self._write_tables()
        return Comparison(self.figures, self.files)

    def _cases(self, panels: Panels) -> Iterator[_Case]:
        known: Assembly | None = None
        for model in self.models:
            reference: _Reference | None = None
            simulated: dict[str, tuple[Assembly, Cache, dict[str, float]]] = {}
            for skin in self.skins:
                # A skin that may push its guides has a simulation of its own; all others share one.
                key = skin if SKINS.find(skin).may_return_load else ""
                if key not in simulated:
                    simulated[key] = self._simulated(model, skin, known)
                    known = known or simulated[key][0]
                assembly, cache, spent = simulated[key]
                if self.reference and reference is None:
                    reference = self._simulated_one_by_one(model, assembly)
                case = self._carried(assembly, cache, skin, spent, reference, panels)
                self._add(case)
                yield case

    # -- guides ------------------------------------------------------------------------------------------------------

    def _simulated(self, model: str, skin: str, known: Assembly | None) -> tuple[Assembly, Cache, dict[str, float]]:
        """Simulate the guides with a model, and with a skin that may push them; milliseconds by stage are medians."""
        pushes = SKINS.find(skin).may_return_load
        scene = replace(
            self._scene(model, f"{model}.{skin}.cache" if pushes else f"{model}.cache"), skin=self._skin(skin)
        )
        check_output(scene, resume=False, restart=True)
        hair, guides = (None, None) if known is None else (known.hair, known.guides)
        return self._run(build(scene, hair=hair, guides=guides), f"{model}: simulating")

    def _simulated_one_by_one(self, model: str, assembly: Assembly) -> _Reference:
        groom = assembly.hair.groom
        others = np.setdiff1d(np.arange(groom.strand_count), assembly.guides.source)
        if self.reference > len(others):
            raise ValueError(f"reference: must be at most {len(others)} (= hairs besides guides), got {self.reference}")
        strands = np.sort(np.random.default_rng(self.scene.seed).choice(others, self.reference, replace=False))
        scene = replace(self._scene(model, f"{model}.reference.cache"), skin=SkinTable(UNCOUPLED))
        # Sampled hairs have no neighbours for what acts between strands.
        alone = tuple(part for part in scene.interactions if not INTERACTIONS.find(part.kind).is_mutual)
        check_output(scene, resume=False, restart=True)
        built = build(replace(scene, interactions=alone), hair=assembly.hair, guides=Guides.chosen(groom, strands))
        _, cache, _ = self._run(built, f"{model}: simulating {self.reference} hairs")
        reference = _Reference(cache, strands)
        self.references.append(f"{model}, simulated hairs")
        self._add_metrics(self.references[-1], reference.metrics(groom.as_uniform()[strands]))
        return reference

    def _run(self, assembly: Assembly, label: str) -> tuple[Assembly, Cache, dict[str, float]]:
        stages = _Stages(label, self.progress)
        try:
            summary = run_assembly(assembly, progress=stages.tell)
        except SolverDiverged as error:
            raise ValueError(f"{label.partition(':')[0]}: {error}") from None
        cache = Cache.open(summary.files[0])
        self.files.append(cache.path)
        return assembly, cache, stages.milliseconds

    def _scene(self, model: str, cache: str) -> Scene:
        table = self.scene.strand
        strand = table if model == table.model else replace(table, model=model, settings={})
        return replace(self.scene, strand=strand, output=OutputTable(cache=str(self.folder / cache)))

    # -- hair --------------------------------------------------------------------------------------------------------

    def _skin(self, name: str) -> SkinTable:
        """The scene's own settings go to its own skin."""
        return self.scene.skin if name == self.scene.skin.method else SkinTable(name)

    def _carried(
        self,
        assembly: Assembly,
        cache: Cache,
        skin: str,
        spent: dict[str, float],
        reference: _Reference | None,
        panels: Panels,
    ) -> _Case:
        """Carry all hair with a skin through the frames of a cache, measuring and drawing."""
        model = assembly.scene.strand.model
        camera = replace(assembly.scene.camera, size=self.size)
        scene = replace(assembly.scene, skin=self._skin(skin), camera=camera)
        carried = replace(assembly, scene=scene, clock=StageClock())
        meter = MetricsSink(self.folder / f"{model}.{skin}.json", carried, reference)
        stages = _Stages(f"{model}: {skin} skin", self.progress)
        sinks = [meter, panels.sink(carried, model, skin)]
        self.files += play_cache(cache, carried, sinks, cache.frames, stages.tell).files[:1]
        return _Case(model, skin, meter.means, {**spent, **stages.milliseconds}, meter.frames)

    # -- what came of it ---------------------------------------------------------------------------------------------

    def _add(self, case: _Case) -> None:
        self._add_metrics(case.name, case.metrics)
        for stage, milliseconds in case.milliseconds.items():
            self.figures.add(case.name, f"{stage}, per frame", milliseconds, "ms")
        self.figures.add(case.name, "whole frame", sum(case.milliseconds.values()), "ms")

    def _add_metrics(self, case: str, metrics: dict[str, float]) -> None:
        for key, value in metrics.items():
            metric = METRICS[key]
            self.figures.add(case, metric.title, value * metric.scale, metric.unit)

    def _write_tables(self) -> list[Path]:
        frames, name = self.scene.frames, self.scene.groom.style or self.scene.groom.file
        title = f"{name}, frames {frames.start} to {frames.end}, seed {self.scene.seed}"
        page = to_markdown(self.figures, title, self.references)
        texts = {"comparison.md": page, "comparison.json": self.figures.to_json() + "\n"}
        for file, text in texts.items():
            with atomic_write(self.folder / file) as out:
                out.write(text.encode())
        return [self.folder / file for file in texts]


class _Stages:
    """Collects the seconds of every stage of every frame, and passes progress on."""

    def __init__(self, label: str, progress: ProgressCallback | None) -> None:
        self._label, self._progress = label, progress
        self._rows: list[dict[str, float]] = []

    def tell(self, progress: Progress) -> None:
        self._rows.append(progress.seconds)
        if self._progress is not None:
            self._progress(self._label, progress)

    @property
    def milliseconds(self) -> dict[str, float]:
        """Medians over the frames, so that compiling in the first one does not count."""
        added = {WAITING, CachedSource.label, *(SINKS[name].label for name in SINKS)}  # by the comparison itself
        names = dict.fromkeys(name for row in self._rows for name in row if name not in added)
        return {name: 1e3 * float(np.median([row.get(name, 0.0) for row in self._rows])) for name in names}


def _caption(case: _Case, index: int) -> str:
    """What was measured of the frame that is shown."""
    shown = case.frames[index]
    return f"{case.name}\n{describe(shown['length_error'], shown['kink'])}"
