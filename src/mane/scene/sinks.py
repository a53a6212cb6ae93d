"""Where finished frames go: small objects of one interface, in one fixed order.

A sink is opened before the first frame and closed after the last; every `write` leaves complete files, so that a run
may end at any moment. What only waits for a disk is left to a writer beside the simulation (`background`), in the order
of the sinks. The cache comes last: a frame in the cache is a frame in every other sink.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray
from mane.scene.cache import Cache
from mane.stage import memory as checkpoints
from mane.stage.protocol import Stage
from mane.stage.table import Table
from mane.strand.frame import GuideFrame

if TYPE_CHECKING:
    from mane.groom.groom import Groom
    from mane.io.usd.frame_files import FrameFiles
    from mane.io.usd.sequence import UsdSequenceWriter
    from mane.scene.build import Assembly
    from mane.scene.config import OutputTable, Scene
    from mane.scene.drawing import DrawingProcess

Job = Callable[[], None]
TIME_DIGITS = 6  # of a time code, as many as the name of a frame's file has


@dataclass(frozen=True, eq=False)
class OutputRequest:
    """Which outputs were requested.

    Attributes:
        assembly: what is run.
        output: the files that are asked for.
        cache: that was opened, or None.
        numbers: of all frames.
        drawing: a process that was begun to draw pictures, or None.
    """

    assembly: Assembly
    output: OutputTable
    cache: Cache | None
    numbers: range
    drawing: DrawingProcess | None = None

    def path(self, name: str | None) -> Path | None:
        """Return a path of the output, seen from the folder of the scene; None for None."""
        return None if name is None else self.assembly.scene.path(name)


class Sink(Stage):
    """Takes frames.

    Attributes:
        needs_hair: whether it needs the full head; without it `points` may be None.
        history: how many frames before the next one it must have seen to go on, where it cannot remember them.
    """

    family = "sink"
    needs_hair = True
    history = 0

    @classmethod
    def for_output(cls, request: OutputRequest) -> Sink | None:
        """Return a sink for what is asked for, or None where nothing of its kind is."""
        return None

    @abstractmethod
    def open(self, *, resume: bool) -> None:
        """Get ready, before the first frame; with `resume`, go on after the frames that are there."""

    @abstractmethod
    def has(self, index: int) -> bool:
        """Whether a frame is there already, from a run that is resumed."""

    @abstractmethod
    def write(self, index: int, frame: GuideFrame, points: FloatArray | None) -> None:
        """Take a frame; when this returns, it is on disk. `points` (S, V, 3) [m] are only lent."""

    def take(self, index: int, frame: GuideFrame, points: FloatArray | None) -> Job | None:
        """Take a frame and return what is left to do, which need not wait for anything but a disk.

        The job runs in another thread, must not call a kernel, and has copies of all that it needs. By default all is
        done at once.
        """
        self.write(index, frame, points)
        return None

    def recall(self, index: int, frame: GuideFrame, points: FloatArray | None) -> None:
        """Look at a frame that is there already."""

    # Frames that do not depend on each other may be made by several processes. Each calls `make_part`, on a sink that
    # was not opened; the one that opened its sink calls `add_part` with what comes back, in the order of the frames.

    def make_part(self, index: int, frame: GuideFrame, points: FloatArray | None) -> Any:
        """Do what is a frame's own, in any process, and return the rest for `add_part`: little, that can be pickled.

        A sink with `history` has seen that many frames before by `recall`.
        """
        raise ValueError(f"{self.name}: takes one frame after the other; leave --scheduler and --workers out")

    def add_part(self, index: int, part: Any) -> None:
        """Take in a frame that `make_part` of another process has made."""

    def close(self) -> list[Path]:
        """Finish, after the last frame, and return what was made."""
        return []


class UsdSink(Sink):
    """The full head as a USD stage with one file per frame; a new stage, or a layer over the groom's own file."""

    name = "usd"
    examples = ({"usd": "hair.usda"},)
    label = "write USD"

    def __init__(self, path: Path, assembly: Assembly, *, layer: bool = False) -> None:
        self.path = path
        self._assembly, self._layer = assembly, layer
        self._writer: UsdSequenceWriter | None = None
        self._done: set[float] = set()
        self._free_buffers: list[FloatArray] = []  # buffers that no job holds

    @classmethod
    def for_output(cls, request: OutputRequest) -> UsdSink | None:
        """Return a sink where a stage is asked for."""
        path = request.path(request.output.usd)
        return None if path is None else cls(path, request.assembly, layer=request.output.usd_layer)

    def open(self, *, resume: bool) -> None:
        """Write the stage with the frames that are there."""
        from mane.io.usd import UsdSequenceWriter

        assembly = self._assembly
        if self._layer:
            if assembly.hair.usd is None:
                raise ValueError(f"{self.path}: must lie over the groom's own USD file, and this hair has none")
            self._writer = UsdSequenceWriter(self.path, assembly.hair.usd, resume=resume)
        else:
            rate = assembly.scene.frames.rate
            self._writer = UsdSequenceWriter.new(self.path, self._still, time_codes_per_second=rate, resume=resume)
        self._done = set(self._writer.times)

    def make_part(self, index: int, frame: GuideFrame, points: FloatArray | None) -> None:
        """Write the file of the frame, which no stage lists yet."""
        from mane.io.usd.layer import checked_frame

        moved, _ = checked_frame(self._files.source, self._own_points(frame, points), None)
        self._files.write(self._time_code(index), moved)

    def add_part(self, index: int, part: Any) -> None:
        """Let the stage list the frame."""
        assert self._writer is not None
        self._writer.add(self._time_code(index))

    @cached_property
    def _files(self) -> FrameFiles:
        """What writes files of frames beside a stage that somebody else has opened."""
        from mane.io.usd.frame_files import FrameFiles
        from mane.io.usd.sequence import frames_folder, still_plan
        from mane.io.usd.write import UsdOptions

        source = self._assembly.hair.usd
        if not self._layer or source is None:
            options = UsdOptions(time_codes_per_second=self._assembly.scene.frames.rate)
            source = still_plan(self.path, self._still, None, options).source
        return FrameFiles(frames_folder(self.path), source)

    @property
    def _still(self) -> Groom:
        """The strands of a new stage, at rest."""
        assembly = self._assembly
        return assembly.hair_stage.drawn(assembly.source.rest) if self._is_finer else assembly.hair.source

    @property
    def _is_finer(self) -> bool:
        return self._assembly.hair_stage.stride > 1

    def _time_code(self, index: int) -> float:
        """Time code of a frame: its number, or, over the groom's own file, when that file has it.

        There the body that moves says when the first frame is, in seconds of its own file; else its number does.
        """
        usd, frames, clock = self._assembly.hair.usd, self._assembly.scene.frames, self._assembly.body_clock
        if not self._layer or usd is None:
            return float(index)
        rate = usd.timing.time_codes_per_second
        first = float(frames.start) if clock is None else clock.start / clock.rate * rate
        return round(first + (index - frames.start) / frames.rate * rate, TIME_DIGITS)

    def has(self, index: int) -> bool:
        """Whether the stage lists the frame."""
        return self._time_code(index) in self._done

    def write(self, index: int, frame: GuideFrame, points: FloatArray | None) -> None:
        """Write the frame at its time code."""
        assert self._writer is not None
        self._writer.write(self._time_code(index), self._own_points(frame, points))

    def take(self, index: int, frame: GuideFrame, points: FloatArray | None) -> Job:
        """Copy the points, and leave the writing to the job."""
        own = self._own_points(frame, points)
        copy = self._free_buffers.pop() if self._free_buffers else np.empty_like(own)
        np.copyto(copy, own)

        def job() -> None:
            assert self._writer is not None
            self._writer.write(self._time_code(index), copy)
            self._free_buffers.append(copy)

        return job

    def _own_points(self, frame: GuideFrame, points: FloatArray | None) -> FloatArray:
        """Points of the strands as their file has them (P, 3) [m], or of the finer ones that the passes made."""
        assert points is not None
        if self._is_finer:
            return points.reshape(-1, 3)
        return self._assembly.hair.own_points(points, self._assembly.hair_stage.skin.root_rotations(frame))

    def close(self) -> list[Path]:
        """Name the stage."""
        if self._writer is not None:
            self._writer.close()
        return [self.path]


HAIR_TABLES = "hair"  # key of a checkpoint


def hair_tables(scene: Scene) -> str:
    """Return what decides the hair on given guides, as text."""
    written = scene.to_dict()
    return json.dumps({name: written[name] for name in ("skin", "finish", "passes")}, sort_keys=True)


class CacheSink(Sink):
    """The guides of every frame, and the checkpoint to go on from."""

    name = "cache"
    examples = ({"cache": "a.cache"},)
    label = "write cache"
    needs_hair = False

    def __init__(self, cache: Cache, assembly: Assembly) -> None:
        self.cache, self._assembly = cache, assembly
        self._last: int | None = None
        self.remembered: tuple[Stage, ...] = assembly.source.stages

    @classmethod
    def for_output(cls, request: OutputRequest) -> CacheSink | None:
        """Return a sink where a cache is open."""
        return None if request.cache is None else cls(request.cache, request.assembly)

    def open(self, *, resume: bool) -> None:
        """Find the last frame that the run can be resumed after."""
        self._last = self.cache.last_checkpoint() if resume else None

    def has(self, index: int) -> bool:
        """Whether the frame was finished."""
        return self._last is not None and index <= self._last

    def write(self, index: int, frame: GuideFrame, points: FloatArray | None) -> None:
        """Write the frame, then the checkpoint after it."""
        self.take(index, frame, points)()

    def take(self, index: int, frame: GuideFrame, points: FloatArray | None) -> Job:
        """Save the memory of all stages, every so many frames, and leave the writing to the job."""
        frames = self._assembly.scene.frames
        interval = max(stage.save_every for stage in self.remembered)
        is_due = (index - frames.start) % interval == 0 or index == frames.end
        memory = {**checkpoints.save(self.remembered), **self._hair_tables()} if is_due else None
        copy = frame.copy()

        def job() -> None:
            self.cache.write_frame(index, copy)
            if memory is not None:
                self.cache.write_checkpoint(index, memory)

        return job

    def _hair_tables(self) -> dict[str, NDArray[Any]]:
        """What the scene says about hair, where any is made: memory of skin and passes is of use to no other hair."""
        is_made = len(self.remembered) > len(self._assembly.source.stages)
        return {HAIR_TABLES: np.array(hair_tables(self._assembly.scene))} if is_made else {}

    def close(self) -> list[Path]:
        """Name the cache."""
        return [self.cache.path]


# In the order in which they take a frame; the cache is the last.
SINKS: Table[Sink] = Table(
    "sink",
    "mane.scene.sinks:Sink",
    {
        "usd": "mane.scene.sinks:UsdSink",
        "pictures": "mane.scene.sink_pictures:PictureSink",
        "metrics": "mane.scene.sink_metrics:MetricsSink",
        "water": "mane.scene.sink_water:WaterSink",
        "cache": "mane.scene.sinks:CacheSink",
    },
)


def make_sinks(request: OutputRequest) -> list[Sink]:
    """Return the sinks that an output asks for, in their order; the cache is the last."""
    made = (SINKS[name].for_output(request) for name in SINKS)
    sinks = sorted((sink for sink in made if sink is not None), key=lambda sink: isinstance(sink, CacheSink))
    if sinks and isinstance(sinks[-1], CacheSink):
        sinks[-1].remembered = remembered_stages(request.assembly, sinks)
    return sinks


def makes_hair(assembly: Assembly, sinks: Sequence[Sink]) -> bool:
    """Whether somebody needs the full head: a sink, or the guides themselves."""
    return assembly.may_return_load or any(sink.needs_hair for sink in sinks)


def remembered_stages(assembly: Assembly, sinks: Sequence[Sink]) -> tuple[Stage, ...]:
    """Everything of a run whose memory belongs to a checkpoint."""
    hair = assembly.hair_stage.stages if makes_hair(assembly, sinks) else ()
    return (*assembly.source.stages, *hair, *(sink for sink in sinks if not isinstance(sink, CacheSink)))
