"""The frame loop: the one place that owns the order of a frame.

    source of guides -> skin -> finishing passes -> sinks
          ^                |
          +- forces that --+
             hair returns

`run_scene` simulates, `bake_cache` takes guides from a cache instead; from the skin on they are the same.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from mane.geometry.checks import FloatArray
from mane.scene.background import WAITING, BackgroundWriter
from mane.scene.build import Assembly, build
from mane.scene.cache import Cache
from mane.scene.cached import CachedSource
from mane.scene.config import BoundsTable, OutputTable, Scene
from mane.scene.drawing import DrawingProcess, drawing_ahead
from mane.scene.hair_stage import check_skin_files
from mane.scene.head_meter import LABEL, HairReport, HeadMeter, outside_bounds
from mane.scene.outputs import cache_folder, check_output, make_log, open_or_make
from mane.scene.run_log import RunLog
from mane.scene.scene_file import naming_location
from mane.scene.sinks import HAIR_TABLES, OutputRequest, Sink, hair_tables, make_sinks, makes_hair, remembered_stages
from mane.stage import memory as checkpoints
from mane.stage.protocol import Stage
from mane.strand.frame import GuideFrame
from mane.strand.stepping import SolverDiverged, StepReport

AT_REST = StepReport(0.0, 0.0, 0)


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes:
        index: number of the frame that was made; its files may still be on their way to the disk.
        done: frames that are made, those of earlier runs included.
        count: frames in all.
        seconds: of each stage of this frame.
        step: how the guides' step went: largest stretch, deepest penetration; None where guides come from a cache.
        hair: what became of the full head; None where it is not made.
    """

    index: int
    done: int
    count: int
    seconds: dict[str, float]
    step: StepReport | None
    hair: HairReport | None = None


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
        beside: seconds that were spent writing while frames were made, by stage.
        seconds: of the whole run.
        stretch: largest of the guides in all frames.
        penetration: deepest of the guides in all frames [m].
        hair: the worst of the full head, of a sample of it in all frames but the last; None where none was made.
        fallback_frames: frames in which the skin could not carry some hairs, which were carried plainly instead.
        outside: in what the last frame is outside the bounds of the scene, or None.
        note: what to know of the guides, in one line: which stand by themselves.
        files: that were made.
    """

    frames: int = 0
    resumed_after: int | None = None
    strands: int = 0
    guides: int = 0
    setup: dict[str, float] = field(default_factory=dict)
    stages: dict[str, float] = field(default_factory=dict)
    beside: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    stretch: float = 0.0
    penetration: float = 0.0
    hair: HairReport | None = None
    fallback_frames: int = 0
    outside: str | None = None
    note: str = ""
    files: list[Path] = field(default_factory=list)

    def add(self, bounds: BoundsTable, report: StepReport | None, hair: HairReport | None) -> None:
        """Take in how a frame went; the last one that comes is held against the bounds."""
        if report is not None:
            self.stretch = max(self.stretch, report.stretch)
            self.penetration = max(self.penetration, report.penetration)
        if hair is not None:
            self.hair = hair.worst(self.hair)
            self.fallback_frames += hair.fallbacks > 0
        self.outside = outside_bounds(bounds, report, hair, self.strands)

    @property
    def frames_per_second(self) -> float:
        """Frames over the time that they took, preparation apart."""
        spent = sum(self.stages.values())
        return self.frames / spent if spent > 0 else 0.0


ProgressCallback = Callable[[Progress], None]


def run_scene(
    scene: Scene, *, resume: bool = False, restart: bool = False, progress: ProgressCallback | None = None
) -> RunSummary:
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
    with drawing_for(scene, resume=resume) as drawing:
        summary = run_assembly(build(scene), resume=resume, progress=progress, drawing=drawing)
    summary.seconds = time.perf_counter() - started
    return summary


def drawing_for(scene: Scene, *, resume: bool = False) -> AbstractContextManager[DrawingProcess | None]:
    """Begin the process that draws the pictures of a scene, if it asks for many; a resumed run may have them all."""
    return drawing_ahead(0 if resume else scene.output.picture_count(scene.frames.count))


def run_assembly(
    assembly: Assembly,
    *,
    resume: bool = False,
    progress: ProgressCallback | None = None,
    drawing: DrawingProcess | None = None,
) -> RunSummary:
    """Run a scene that was built already; what its cache holds of an earlier run is lost, or continued.

    The process that draws comes from `drawing_for`, or is begun when it is needed.
    """
    started = time.perf_counter()
    cache_path = cache_folder(assembly.scene)
    try:
        summary = _run(assembly, cache_path, resume, progress, drawing)
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
    progress: ProgressCallback | None = None,
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
    bake = prepare_bake(cache, output, scene=scene, strands=strands, every=every)
    summary = play_cache(bake.cache, bake.assembly, bake.sinks, bake.numbers, progress)
    summary.seconds = time.perf_counter() - started
    return summary


@dataclass(frozen=True, eq=False)
class Bake:
    """Frames of a cache, and what they become.

    Attributes:
        cache: where the guides are.
        assembly: the hair that they carry.
        sinks: that take the full head, not opened yet.
        numbers: of the frames.
    """

    cache: Cache
    assembly: Assembly
    sinks: Sequence[Sink]
    numbers: range


def prepare_bake(
    cache: Cache | str | os.PathLike[str],
    output: OutputTable,
    *,
    scene: Scene | None = None,
    strands: int | None = None,
    every: int = 1,
) -> Bake:
    """Get ready for `bake_cache` with the same arguments; nothing is written yet."""
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
    return Bake(cache, assembly, make_sinks(OutputRequest(assembly, output, None, numbers)), numbers)


def play_cache(
    cache: Cache,
    assembly: Assembly,
    sinks: Sequence[Sink],
    numbers: Sequence[int],
    progress: ProgressCallback | None = None,
) -> RunSummary:
    """Take frames of a cache through skin, finish and sinks; `assembly` has the hair that its guides carry."""
    return _play_into(assembly, sinks, numbers, lambda run: run.cached(cache, numbers), progress)


def run_into(assembly: Assembly, sinks: Sequence[Sink], progress: ProgressCallback | None = None) -> RunSummary:
    """Simulate all frames of a scene that was built already into sinks of the caller's; [output] is left alone."""
    frames = assembly.scene.frames
    numbers = range(frames.start, frames.end + 1)
    return _play_into(assembly, sinks, numbers, lambda run: run.simulated(numbers), progress)


def _play_into(
    assembly: Assembly,
    sinks: Sequence[Sink],
    numbers: Sequence[int],
    frames: Callable[[_Run], Iterator[_MadeFrame]],
    progress: ProgressCallback | None,
) -> RunSummary:
    started = time.perf_counter()
    for sink in sinks:
        sink.open(resume=False)
    run = _Run(assembly, sinks)
    assembly.clock.end_setup()
    summary = summary_of(assembly)
    with BackgroundWriter(assembly.clock) as writer:
        run.play(frames(run), writer, summary, _Reporter(progress, len(numbers), 0), numbers)
    close_sinks(sinks, summary)
    summary.beside = dict(assembly.clock.beside)
    summary.seconds = time.perf_counter() - started
    return summary


# -- the run -----------------------------------------------------------------------------------------------------------


def _run(
    assembly: Assembly,
    cache_path: Path | None,
    resume: bool,
    progress: ProgressCallback | None,
    drawing: DrawingProcess | None,
) -> RunSummary:
    scene, clock, frames = assembly.scene, assembly.clock, assembly.scene.frames
    check_skin_files(scene, assembly.hair.groom, assembly.guides)
    cache = None if cache_path is None else open_or_make(cache_path, assembly, resume)
    checkpoint = cache.read_checkpoint() if cache is not None and resume else None
    last = None if checkpoint is None else checkpoint[0]
    sinks = make_sinks(OutputRequest(assembly, scene.output, cache, range(frames.start, frames.end + 1), drawing))
    for sink in sinks:
        with naming_location(scene.locations, "output"):
            sink.open(resume=last is not None)
    log = make_log(scene, cache_path, None if last is None else last + 1)
    run = _Run(assembly, sinks)
    clock.end_setup()
    if log is not None and last is None:
        log.write("setup", clock.setup)
    summary = summary_of(assembly)
    summary.resumed_after = last
    first = frames.start if last is None else last + 1
    with BackgroundWriter(clock) as writer:
        if cache is not None and checkpoint is not None:
            with clock.stage("catch up"):
                run.catch_up(cache, *checkpoint, writer)
                writer.flush()
            clock.end_setup()
            clock.beside.clear()
        reporter = _Reporter(progress, frames.count, first - frames.start, log)
        numbers = range(first, frames.end + 1)
        run.play(run.simulated(numbers), writer, summary, reporter, numbers)
    close_sinks(sinks, summary)
    summary.beside = dict(clock.beside)
    if log is not None:
        summary.files.append(log.path)
    return summary


@dataclass(frozen=True, eq=False)
class _MadeFrame:
    """A frame of guides, and the full head where it was made already."""

    index: int
    guides: GuideFrame
    report: StepReport | None
    points: FloatArray | None = None


class _Run:
    """Takes frames through skin, finishing passes and sinks."""

    def __init__(self, assembly: Assembly, sinks: Sequence[Sink]) -> None:
        self._assembly, self._sinks, self._clock = assembly, sinks, assembly.clock
        self._makes_hair = makes_hair(assembly, sinks)
        if self._makes_hair:
            assembly.hair_stage  # noqa: B018 - bound before the first frame, so that no frame counts its time
        self._hair_remembers = self._makes_hair and assembly.hair_stage.remembers

    # -- frames ------------------------------------------------------------------------------------------------------

    def simulated(self, numbers: Sequence[int]) -> Iterator[_MadeFrame]:
        """Let the source make frames; the first frame of a scene is that after the pre-roll."""
        source, frames = self._assembly.source, self._assembly.scene.frames
        for index in numbers:
            with self._clock.stage(source.label):
                if index == frames.start:
                    frame, points = self._preroll()
                    report = source.report if frames.preroll else AT_REST
                else:
                    frame, points = self._stepped(index)
                    report = source.report
            yield _MadeFrame(index, frame, report, points)

    def cached(self, cache: Cache, numbers: Sequence[int]) -> Iterator[_MadeFrame]:
        """Read frames that were simulated before; hair that remembers sees those in between, too."""
        read = range(numbers[0], numbers[-1] + 1) if numbers and self._hair_remembers else numbers
        source = CachedSource(cache, read, self._assembly.source)
        self._reset_hair()
        for index in read:
            with self._clock.stage(source.label):
                frame = source.step()
            if index in numbers:
                yield _MadeFrame(index, frame, source.report)
            else:
                self._assembly.hair_stage(frame)

    def _preroll(self) -> tuple[GuideFrame, FloatArray | None]:
        frames = self._assembly.scene.frames
        steps = round(frames.preroll * frames.rate)
        frame = self._assembly.source.reset(time=-steps / frames.rate)
        self._reset_hair()
        points = self._returned(frame)
        for _ in range(steps):
            frame, points = self._stepped(frames.start)
        if steps:  # what is played from a cache begins with this frame, and so must the hair
            self._reset_hair()
            points = self._returned(frame)
        return frame, points

    def _reset_hair(self) -> None:
        if self._makes_hair:
            self._assembly.hair_stage.reset()

    def _stepped(self, index: int) -> tuple[GuideFrame, FloatArray | None]:
        try:
            frame = self._assembly.source.step()
        except SolverDiverged as error:
            raise SolverDiverged(f"frame {index}: {error}") from None
        return frame, self._returned(frame)

    def _returned(self, frame: GuideFrame) -> FloatArray | None:
        """Where the skin may push the guides: make the hair, and let what it returns act in the next step."""
        if not self._assembly.may_return_load:
            return None
        points = self._assembly.hair_stage(frame)
        self._assembly.source.receive(self._assembly.hair_stage.skin.world_load(frame))
        return points

    # -- sinks -------------------------------------------------------------------------------------------------------

    def play(
        self,
        frames: Iterator[_MadeFrame],
        writer: BackgroundWriter,
        summary: RunSummary,
        reporter: _Reporter,
        numbers: Sequence[int],
    ) -> None:
        """Take each frame through skin, finishing passes and sinks; `numbers` are those of all frames."""
        meter = HeadMeter(self._assembly, numbers[-1]) if self._makes_hair and numbers else None
        for made in frames:
            points, hair = self._hand_out(made, writer), None
            if points is not None and meter is not None:
                with self._clock.stage(LABEL):
                    hair = meter.measure(made.index, made.guides, points)
            seconds = self._clock.end_frame()
            summary.frames += 1
            summary.stages = dict(self._clock.total)
            summary.add(self._assembly.scene.bounds, made.report, hair)
            reporter.tell(made.index, made.report, hair, seconds)
        with self._clock.stage(WAITING):
            writer.flush()
        self._clock.end_frame()
        summary.stages = dict(self._clock.total)

    def _hand_out(self, made: _MadeFrame, writer: BackgroundWriter) -> FloatArray | None:
        """Give a frame to the sinks that lack it, and show it to those that have it; returns its hair, if made."""
        wanting = {sink: not sink.has(made.index) for sink in self._sinks}
        points = made.points
        is_needed = any(sink.needs_hair and (wants or sink.history) for sink, wants in wanting.items())
        if points is None and (is_needed or self._hair_remembers):
            points = self._assembly.hair_stage(made.guides)
        for sink, wants in wanting.items():
            job = None
            with self._clock.stage(sink.label):
                if wants:
                    job = sink.take(made.index, made.guides, points)
                else:
                    sink.recall(made.index, made.guides, points)
            if job is not None:
                writer.submit(sink.label, job)
        return points

    # -- resuming ----------------------------------------------------------------------------------------------------

    def catch_up(
        self, cache: Cache, last: int, checkpoint: Mapping[str, NDArray[Any]], writer: BackgroundWriter
    ) -> None:
        """Bring everything to where it was after frame `last`.

        What has its memory in the checkpoint needs nothing else. Sinks that lack frames, or were not there when the
        checkpoint was written, see the frames of the cache again; a skin that remembers then sees all of them.
        """
        source, start = self._assembly.source, self._assembly.scene.frames.start
        stages = checkpoints.keyed(remembered_stages(self._assembly, self._sinks))
        forgotten = self._forgotten(cache, stages, checkpoint)
        needed = [_first_needed(sink, start, last, sink in forgotten) for sink in self._sinks]
        if self._hair_remembers and (min(needed) <= last or not forgotten.isdisjoint(self._assembly.hair_stage.stages)):
            needed.append(start)
        for made in self.cached(cache, range(min(needed), last + 1)):
            self._hand_out(made, writer)
        source.load_checkpoint(checkpoint)
        kept = [stage for stage in stages.values() if stage not in forgotten and stage not in source.stages]
        checkpoints.load(kept, checkpoint)
        if self._makes_hair and self._assembly.hair_stage.needs_previous:
            self._assembly.hair_stage.previous = cache.read_frame(last)

    def _forgotten(
        self, cache: Cache, stages: Mapping[str, Stage], checkpoint: Mapping[str, NDArray[Any]]
    ) -> set[Stage]:
        """Stages beside the source whose memory a checkpoint does not hold, or that of other hair.

        ValueError where files with frames of other hair would be continued with frames of this one.
        """
        known, source = checkpoints.saved_versions(checkpoint), set(self._assembly.source.stages)
        others = {key: stage for key, stage in stages.items() if stage not in source}
        changed = [key for key, stage in others.items() if key in known and known[key] != stage.version]
        was = str(checkpoint.get(HAIR_TABLES, ""))
        if self._makes_hair and was and was != hair_tables(self._assembly.scene):
            changed = list(others)
        begun = [sink for sink in self._sinks if sink.needs_hair and sink.has(self._assembly.scene.frames.start)]
        if changed and begun:
            raise ValueError(
                f"{cache.path}: cannot be resumed, {begun[0].name} has frames of another version or other settings of "
                "skin and finishing passes; --restart begins anew, and `mane bake` makes all hair again"
            )
        return {stage for key, stage in others.items() if key in changed or key not in known}


def _first_needed(sink: Sink, start: int, last: int, is_forgotten: bool) -> int:
    """First frame that a sink must see again."""
    missing = next((index for index in range(start, last + 1) if not sink.has(index)), last + 1)
    return max(start, missing - sink.history) if is_forgotten or missing <= last else last + 1


def close_sinks(sinks: Sequence[Sink], summary: RunSummary) -> None:
    """Finish all sinks after the last frame and note what they made."""
    for sink in sinks:
        summary.files += sink.close()


def summary_of(assembly: Assembly) -> RunSummary:
    """Return the summary of a run that has made no frame yet."""
    return RunSummary(
        strands=assembly.hair.groom.strand_count,
        guides=assembly.guides.count,
        setup=assembly.clock.setup,
        note=assembly.source.note,
    )


class _Reporter:
    """Reports progress and writes the log."""

    def __init__(self, progress: ProgressCallback | None, count: int, done: int, log: RunLog | None = None) -> None:
        self._progress, self._count, self._done, self._log = progress, count, done, log

    def tell(self, index: int, report: StepReport | None, hair: HairReport | None, seconds: dict[str, float]) -> None:
        """Say that a frame is finished."""
        self._done += 1
        if self._log is not None and report is not None:
            guides = {"guide stretch": report.stretch, "guide penetration": report.penetration}
            of_hair = {} if hair is None else {f"hair {key.replace('_', ' ')}": v for key, v in asdict(hair).items()}
            self._log.write(index, {**seconds, **guides, **of_hair})
        if self._progress is not None:
            self._progress(Progress(index, self._done, self._count, seconds, report, hair))


def _one_line(error: OSError) -> str:
    if error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror.lower()}"
    return str(error)
