"""Frames of one long shot, spread over a cluster: from a cache they do not depend on each other."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from mane.dataset.cluster import Cluster, TaskDied, open_cluster
from mane.dataset.inputs import stamp
from mane.dataset.machine import compiling_alone
from mane.geometry.threads import using_threads
from mane.scene.cache import Cache
from mane.scene.config import OutputTable, Scene
from mane.scene.files import scene_files
from mane.scene.head_meter import HairReport, HeadMeter
from mane.scene.loop import Bake, RunSummary, close_sinks, prepare_bake, summary_of

T = TypeVar("T")
CHUNKS_PER_WORKER = 8  # so that a slow worker holds the others up by an eighth of its share at most
MOST_FRAMES_OF_CHUNK = 16
WAITING = "wait for workers"


@dataclass(frozen=True)
class SpreadProgress:
    """How far a shot is.

    Attributes:
        done: frames that are made.
        count: frames in all.
        workers: that are at work.
        dashboard: address of Dask's page, or "".
    """

    done: int
    count: int
    workers: int
    dashboard: str


ProgressCallback = Callable[[SpreadProgress], None]


def chunks_of(count: int, workers: int) -> list[range]:
    """Share frames 0 to count - 1 out in pieces that follow each other, several for each worker."""
    size = max(1, min(MOST_FRAMES_OF_CHUNK, count // max(1, CHUNKS_PER_WORKER * workers)))
    return [range(first, min(first + size, count)) for first in range(0, count, size)]


def in_order(
    cluster: Cluster,
    function: Callable[..., list[T]],
    given: tuple[Any, ...],
    count: int,
    progress: ProgressCallback | None = None,
) -> Iterator[tuple[int, T]]:
    """Call `function(*given, frames)` for pieces of all frames on a cluster and yield number and result of each frame.

    Frames come in their order, whichever is made first. A piece whose worker dies is made again; OSError where it takes
    worker after worker with it.
    """
    chunks = chunks_of(count, cluster.size)
    waiting: dict[int, list[T]] = {}
    done = following = 0
    for number, results in cluster.run(function, [(*given, chunk) for chunk in chunks]):
        chunk = chunks[number]
        if isinstance(results, TaskDied):
            raise OSError(f"frames {chunk[0] + 1} to {chunk[-1] + 1} of {count} were not made: {results}")
        waiting[number] = results
        done += len(chunk)
        if progress is not None:
            progress(SpreadProgress(done, count, cluster.workers, cluster.dashboard))
        while following in waiting:
            yield from zip(chunks[following], waiting.pop(following), strict=True)
            following += 1


# -- mane bake -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BakeRequest:
    """What `bake_cache` takes, for another process.

    Attributes:
        cache: folder of the cache.
        output: what to write, with paths that all workers share.
        scene: that of the cache with another skin, finish or camera; None for its own.
        strands: a random choice of so many; None for all.
        every: bake every so many frames.
        threads: that each worker bakes with, as far as it has them.
    """

    cache: str
    output: OutputTable
    scene: Scene | None = None
    strands: int | None = None
    every: int = 1
    threads: int = 1

    def prepared(self) -> Bake:
        """Build the hair; nothing is written yet."""
        return prepare_bake(self.cache, self.output, scene=self.scene, strands=self.strands, every=self.every)


@dataclass(frozen=True)
class BakedFrame:
    """What is left of a frame when a worker has baked it.

    Attributes:
        hair: what became of the full head.
        parts: what each sink has to add, by its name.
        seconds: of each stage.
    """

    hair: HairReport
    parts: Mapping[str, Any]
    seconds: Mapping[str, float]


def bake_on_cluster(
    request: BakeRequest,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: ProgressCallback | None = None,
) -> RunSummary:
    """Bake a cache as `bake_cache` does, with frames spread over workers; the same bytes come out.

    Args:
        request: what to bake.
        workers: on this machine; 0 bakes in this process, None takes one per core.
        scheduler: address of a Dask cluster in place of workers of this machine; it must see the same folders.
        progress: is told after every piece.

    Raises:
        ValueError: a frame depends on those before it, so they cannot be spread.
        OSError: something cannot be written, or the cluster is gone.
    """
    started = time.perf_counter()
    bake = request.prepared()
    remembering = [stage for stage in bake.assembly.hair_stage.stages if stage.remembers]
    if remembering:
        stage = remembering[0]
        raise ValueError(
            f"{stage.family} {stage.name}: each frame depends on the one before it; leave --scheduler and --workers out"
        )
    for sink in bake.sinks:
        sink.open(resume=False)
    summary = summary_of(bake.assembly)
    began = time.perf_counter()
    with open_cluster(workers, request.threads, scheduler) as cluster:
        for position, frame in in_order(cluster, bake_frames, (request,), len(bake.numbers), progress):
            for sink in bake.sinks:
                sink.add_part(bake.numbers[position], frame.parts[sink.name])
            summary.frames += 1
            summary.add(bake.assembly.scene.bounds, None, frame.hair)
            for label, seconds in frame.seconds.items():
                summary.beside[label] = summary.beside.get(label, 0.0) + seconds
    summary.stages = {WAITING: time.perf_counter() - began}
    close_sinks(bake.sinks, summary)
    summary.seconds = time.perf_counter() - started
    return summary


def bake_frames(request: BakeRequest, positions: range) -> list[BakedFrame]:
    """Bake some of the frames of a request, by their positions; what a worker runs."""
    made = []
    with using_threads(request.threads), compiling_alone() as release:
        bake, meter = _prepared(request)
        _look_back(bake, positions[0])
        for position in positions:
            made.append(_baked(bake, meter, position))
            release()  # kernels are compiled by then
    return made


def _look_back(bake: Bake, position: int) -> None:
    """Let hair and sinks see what they must have seen before a frame that does not follow the last one."""
    stage, history = bake.assembly.hair_stage, max(sink.history for sink in bake.sinks)
    first = max(0, position - history)
    stage.reset()
    stage.previous = bake.cache.read_frame(bake.numbers[first - 1]) if first else None
    for sink in bake.sinks:
        sink.reset()
    for index in bake.numbers[first:position]:
        frame = bake.cache.read_frame(index)
        points = stage(frame)
        for sink in bake.sinks:
            sink.recall(index, frame, points)
    bake.assembly.clock.end_frame()


def _baked(bake: Bake, meter: HeadMeter, position: int) -> BakedFrame:
    index, clock = bake.numbers[position], bake.assembly.clock
    frame = bake.cache.read_frame(index)
    points = bake.assembly.hair_stage(frame)
    parts = {}
    for sink in bake.sinks:
        with clock.stage(sink.label):
            parts[sink.name] = sink.make_part(index, frame, points)
    hair = meter.measure(index, frame, points)
    return BakedFrame(hair, parts, clock.end_frame())


_BAKES: dict[
    str, tuple[Bake, HeadMeter]
] = {}  # the last one, by all that decides it: a worker may live longer than a cache


def _prepared(request: BakeRequest) -> tuple[Bake, HeadMeter]:
    cache = Cache.open(request.cache)
    scene = cache.scene if request.scene is None else request.scene
    files = [stamp(file) for file in scene_files(scene).values()]
    told = [request.cache, request.strands, request.every, scene.to_dict(), request.output.__dict__]
    key = json.dumps([told, cache.header, files], default=str)
    if key not in _BAKES:
        _BAKES.clear()
        bake = request.prepared()
        _BAKES[key] = (bake, HeadMeter(bake.assembly, bake.numbers[-1]))
    return _BAKES[key]
