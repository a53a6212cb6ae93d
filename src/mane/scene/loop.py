"""The frame loop: the one place that owns the order of a frame.

    motion -> Simulation.step -> skin -> finish -> sinks

`run_scene` simulates, `bake_cache` takes guides from a cache instead; from the skin on they are the same.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mane.geometry.checks import FloatArray
from mane.scene.build import Assembly, build
from mane.scene.cache import Cache
from mane.scene.clock import StageClock
from mane.scene.config import OutputTable, Scene
from mane.scene.outputs import cache_folder, check_output, make_log, make_sinks, open_or_make
from mane.scene.run_log import RunLog
from mane.scene.scene_file import naming_place
from mane.scene.sinks import Sink
from mane.strand.frame import GuideFrame
from mane.strand.stepping import SolverDiverged, StepReport

AT_REST = StepReport(0.0, 0.0, 0)


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes:
        index: number of the frame that was finished.
        done: frames that are finished, those of earlier runs included.
        count: frames in all.
        seconds: of each stage of this frame.
        step: how the guides' step went: largest stretch, deepest penetration; None where guides come from a cache.
    """

    index: int
    done: int
    count: int
    seconds: dict[str, float]
    step: StepReport | None


@dataclass
class RunSummary:
    """What a run did.

    Attributes:
        frames: made by this run.
        resumed_after: the frame that an earlier run had come to, or None.
        strands: of the full head.
        guides: simulated.
        setup: seconds before the first frame, by stage.
        stages: seconds over all frames, by stage.
        seconds: of the whole run.
        stretch: largest of all frames.
        penetration: deepest of all frames [m].
        hold: which guides stand by themselves, in one line.
        files: that were made.
    """

    frames: int = 0
    resumed_after: int | None = None
    strands: int = 0
    guides: int = 0
    setup: dict[str, float] = field(default_factory=dict)
    stages: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    stretch: float = 0.0
    penetration: float = 0.0
    hold: str = ""
    files: list[Path] = field(default_factory=list)

    @property
    def frames_per_second(self) -> float:
        """Frames over the time that they took, preparation apart."""
        spent = sum(self.stages.values())
        return self.frames / spent if spent > 0 else 0.0


Told = Callable[[Progress], None]
NumberedFrame = tuple[int, GuideFrame, StepReport | None]


def run_scene(scene: Scene, *, resume: bool = False, restart: bool = False, progress: Told | None = None) -> RunSummary:
    """Simulate a scene and write what its [output] asks for.

    Args:
        scene: from `read_scene`, or made in Python.
        resume: go on after the last frame of the scene's cache, as if the run had never stopped.
        restart: begin anew where the cache holds frames of an earlier run, which are lost.
        progress: is told after every frame.

    Raises:
        SceneError: the scene cannot be run as it is.
        OSError: something cannot be written; what is finished stays, and the run can be resumed.
        SolverDiverged: the simulation left the finite numbers, with the frame.
    """
    started = time.perf_counter()
    check_output(scene, resume=resume, restart=restart)
    summary = run_assembly(build(scene), resume=resume, progress=progress)
    summary.seconds = time.perf_counter() - started
    return summary


def run_assembly(assembly: Assembly, *, resume: bool = False, progress: Told | None = None) -> RunSummary:
    """Run a scene that was built already; what its cache holds of an earlier run is lost, or gone on with."""
    started = time.perf_counter()
    cache_path = cache_folder(assembly.scene)
    assembly.clock.watch_parts(assembly.simulation)
    try:
        summary = _run(assembly, cache_path, resume, progress)
    except OSError as error:
        kept = "" if cache_path is None else "; finished frames are kept, and --resume goes on after them"
        raise OSError(f"{_one_line(error)}{kept}") from error
    summary.seconds = time.perf_counter() - started
    return summary


def bake_cache(
    cache: Cache | str | os.PathLike[str],
    output: OutputTable,
    *,
    scene: Scene | None = None,
    strands: int | None = None,
    every: int = 1,
    progress: Told | None = None,
) -> RunSummary:
    """Make the full head of the frames of a cache, with its own skin or another.

    Args:
        cache: a folder that `run_scene` wrote, or `Cache.open` of it.
        output: what to write; `cache` in it is left alone.
        scene: that of the cache with another skin, finish or camera; by default that of the cache.
        strands: a random choice of so many; None for all.
        every: bake every so many frames.
        progress: is told after every frame.
    """
    started = time.perf_counter()
    cache = cache if isinstance(cache, Cache) else Cache.open(cache)
    assembly = build(cache.scene if scene is None else scene)
    different = cache.changed(assembly.keys)
    if different:
        raise ValueError(f"{cache.path}: cannot be baked, {different}")
    if strands is not None:
        assembly = assembly.with_hair(assembly.hair.thinned(strands, assembly.scene.seed))
    frames = cache.frames[::every]
    if not frames:
        raise ValueError(f"{cache.path}: holds no finished frame yet; `mane simulate --resume` goes on with it")
    numbers = range(frames[0], frames[-1] + 1, every)
    summary = play_cache(cache, assembly, make_sinks(assembly, output, None, numbers), numbers, progress)
    summary.seconds = time.perf_counter() - started
    return summary


def play_cache(
    cache: Cache, assembly: Assembly, sinks: Sequence[Sink], numbers: Sequence[int], progress: Told | None = None
) -> RunSummary:
    """Take frames of a cache through skin, finish and sinks; `assembly` has the hair that its guides carry."""
    started = time.perf_counter()
    for sink in sinks:
        sink.open(resume=False)
    _bind_if_needed(assembly, sinks)
    assembly.clock.end_setup()
    summary = _summary_of(assembly)
    frames = _cached(cache, numbers, assembly.clock)
    _play(frames, assembly, sinks, summary, _Teller(progress, len(numbers), 0))
    _close(sinks, summary)
    summary.seconds = time.perf_counter() - started
    return summary


# -- the run -----------------------------------------------------------------------------------------------------------


def _run(assembly: Assembly, cache_path: Path | None, resume: bool, progress: Told | None) -> RunSummary:
    scene, clock = assembly.scene, assembly.clock
    frames = scene.frames
    cache = None if cache_path is None else open_or_make(cache_path, assembly, resume)
    checkpoint = cache.read_checkpoint() if cache is not None and resume else None
    last = None if checkpoint is None else checkpoint[0]
    goes_on = last is not None
    sinks = make_sinks(assembly, scene.output, cache, range(frames.start, frames.end + 1))
    for sink in sinks:
        with naming_place(scene.places, "output"):
            sink.open(resume=goes_on)
    log = make_log(scene, cache_path, None if last is None else last + 1)
    _bind_if_needed(assembly, sinks)
    clock.end_setup()
    if log is not None and not goes_on:
        log.write("setup", clock.setup)
    summary = _summary_of(assembly)
    summary.resumed_after = last
    first = frames.start
    if cache is not None and checkpoint is not None and last is not None:
        with clock.stage("catch up"):
            _catch_up(cache, assembly, sinks, last)
        _restore(assembly, checkpoint[1])
        clock.end_setup()
        first = last + 1
    teller = _Teller(progress, frames.count, first - frames.start, log)
    _play(_simulated(assembly, first), assembly, sinks, summary, teller)
    _close(sinks, summary)
    if log is not None:
        summary.files.append(log.path)
    return summary


def _bind_if_needed(assembly: Assembly, sinks: Sequence[Sink]) -> None:
    """Bind the skin before the first frame, where anybody asks for hair."""
    if any(sink.needs_hair for sink in sinks):
        assembly.dresser  # noqa: B018 - made when it is first looked at


def _simulated(assembly: Assembly, first: int) -> Iterator[NumberedFrame]:
    """Step the guides through the frames from `first` on; the first frame of a scene is that after the pre-roll."""
    frames, simulation, clock = assembly.scene.frames, assembly.simulation, assembly.clock
    for index in range(first, frames.end + 1):
        with clock.stage("guides"):
            if index == frames.start:
                frame = _preroll(assembly)
                report = simulation.report if frames.preroll else AT_REST
            else:
                frame = _stepped(assembly, index)
                report = simulation.report
        yield index, frame, report


def _preroll(assembly: Assembly) -> GuideFrame:
    frames, simulation = assembly.scene.frames, assembly.simulation
    steps = round(frames.preroll * frames.rate)
    frame = simulation.reset(time=-steps / frames.rate)
    for _ in range(steps):
        frame = _stepped(assembly, frames.start)
    return frame


def _stepped(assembly: Assembly, index: int) -> GuideFrame:
    try:
        return assembly.simulation.step()
    except SolverDiverged as error:
        raise SolverDiverged(f"frame {index}: {error}") from None


def _cached(cache: Cache, numbers: Iterable[int], clock: StageClock) -> Iterator[NumberedFrame]:
    """Read the frames of a cache."""
    for index in numbers:
        with clock.stage("read cache"):
            frame = cache.read_frame(index)
        yield index, frame, None


def _play(
    frames: Iterable[NumberedFrame], assembly: Assembly, sinks: Sequence[Sink], summary: RunSummary, teller: _Teller
) -> None:
    """Take each frame through skin, finish and sinks."""
    clock = assembly.clock
    for index, frame, report in frames:
        _hand_out(index, frame, assembly, sinks)
        seconds = clock.end_frame()
        summary.frames += 1
        summary.stages = dict(clock.total)
        if report is not None:
            summary.stretch = max(summary.stretch, report.stretch)
            summary.penetration = max(summary.penetration, report.penetration)
        teller.tell(index, report, seconds)


def _hand_out(index: int, frame: GuideFrame, assembly: Assembly, sinks: Sequence[Sink]) -> None:
    """Give a frame to the sinks that lack it, and show it to those that have it."""
    wanting = {sink: not sink.has(index) for sink in sinks}
    points: FloatArray | None = None
    is_needed = any(sink.needs_hair and (wants or sink.history) for sink, wants in wanting.items())
    if is_needed or _has_memory(assembly, sinks):
        points = assembly.dresser(frame)
    for sink, wants in wanting.items():
        with assembly.clock.stage(sink.name):
            (sink.write if wants else sink.recall)(index, frame, points)


def _catch_up(cache: Cache, assembly: Assembly, sinks: Sequence[Sink], last: int) -> None:
    """Bring sinks that lack frames of the cache, or must remember the last ones, to where the cache is."""
    start = assembly.scene.frames.start
    needed = [_first_needed(sink, start, last) for sink in sinks]
    if _has_memory(assembly, sinks):
        needed.append(start)
    for index, frame, _ in _cached(cache, range(min(needed), last + 1), assembly.clock):
        _hand_out(index, frame, assembly, sinks)


def _has_memory(assembly: Assembly, sinks: Sequence[Sink]) -> bool:
    """Whether hair is made at all, by a skin that must see every frame."""
    return any(sink.needs_hair for sink in sinks) and assembly.dresser.remembers


def _first_needed(sink: Sink, start: int, last: int) -> int:
    missing = (index for index in range(start, last + 1) if not sink.has(index))
    return min(next(missing, last + 1), max(start, last + 1 - sink.history))


def _restore(assembly: Assembly, checkpoint: dict[str, Any]) -> None:
    assembly.simulation.restore(checkpoint)


def _close(sinks: Sequence[Sink], summary: RunSummary) -> None:
    for sink in sinks:
        summary.files += sink.close()


def _summary_of(assembly: Assembly) -> RunSummary:
    return RunSummary(
        strands=assembly.hair.groom.strand_count,
        guides=assembly.guides.count,
        setup=assembly.clock.setup,
        hold=" ".join(str(assembly.simulation.hold_report).split()),
    )


class _Teller:
    """Tells progress and writes the log."""

    def __init__(self, progress: Told | None, count: int, done: int, log: RunLog | None = None) -> None:
        self._progress, self._count, self._done, self._log = progress, count, done, log

    def tell(self, index: int, report: StepReport | None, seconds: dict[str, float]) -> None:
        """Say that a frame is finished."""
        self._done += 1
        if self._log is not None and report is not None:
            self._log.write(index, {**seconds, "largest stretch": report.stretch, "penetration": report.penetration})
        if self._progress is not None:
            self._progress(Progress(index, self._done, self._count, seconds, report))


def _one_line(error: OSError) -> str:
    if error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror.lower()}"
    return str(error)
