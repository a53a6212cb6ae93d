"""One sequence: built, simulated and stored. This is what a Dask worker runs."""

from __future__ import annotations

import json
import math
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.cache import content_key
from mane.dataset.fields import FIELDS, ORIGIN, FrameRecord, origin_of
from mane.dataset.inputs import InputsChanged, digests_of, require_unchanged, stamp
from mane.dataset.machine import compiling_alone, peak_megabytes
from mane.dataset.sequences import PlannedSequence
from mane.dataset.spec import Spec, StoreTable
from mane.dataset.store import DatasetStore, SequenceWriter
from mane.geometry.checks import FloatArray
from mane.geometry.threads import using_threads
from mane.groom.guides import Guides
from mane.scene.build import Assembly, build
from mane.scene.config import Scene
from mane.scene.files import scene_files
from mane.scene.hair import Hair
from mane.scene.loop import run_into
from mane.scene.sinks import Job, Sink
from mane.stage.memory import versions
from mane.strand.frame import GuideFrame
from mane.strand.stepping import SolverDiverged

DONE, FAILED = "done", "failed"
REST_ARRAYS = ("guides", "source", "hairs")  # in the order in which they make the key of what is at rest


class SequenceSink(Sink):
    """Stores the frames of one sequence.

    Args:
        writer: of the sequence.
        assembly: what is simulated.
        store: what is stored of it.

    Attributes:
        largest_error: largest difference between what is stored and what was simulated, by field.
    """

    name = "dataset"
    label = "store"

    def __init__(self, writer: SequenceWriter, assembly: Assembly, store: StoreTable) -> None:
        self._writer, self._assembly, self._store = writer, assembly, store
        self._start = assembly.scene.frames.start
        self.needs_hair = any(FIELDS[name].needs_hair for name in store.fields)
        self.largest_error = dict.fromkeys(store.fields, 0.0)

    def open(self, *, resume: bool) -> None:
        """Nothing to prepare: arrays are made with the first frame."""

    def has(self, index: int) -> bool:
        """Whether a frame is there already: a sequence is made in one go."""
        return False

    def write(self, index: int, frame: GuideFrame, points: FloatArray | None) -> None:
        """Store a frame, if it is one of those that are stored."""
        job = self.take(index, frame, points)
        if job is not None:
            job()

    def take(self, index: int, frame: GuideFrame, points: FloatArray | None) -> Job | None:
        """Encode a frame and leave compressing and writing to the job."""
        if (index - self._start) % self._store.every:
            return None
        record = FrameRecord(self._assembly, frame, points)
        origin = origin_of(frame)
        values: dict[str, NDArray[Any]] = {ORIGIN: origin, "time": np.array(frame.time)}
        for name in self._store.fields:
            values[name] = self._encoded(name, FIELDS[name].take(record), origin)
        return lambda: self._writer.append(values)

    def _encoded(self, name: str, value: NDArray[Any], origin: FloatArray) -> NDArray[Any]:
        field = FIELDS[name]
        if self._store.precision != "float16" or not field.is_compact:
            return np.array(value, np.float64 if value.dtype == np.float64 else np.float32)
        shift = origin if field.is_position else np.float32(0)
        stored = (value - shift).astype(np.float16)
        error = np.abs(stored.astype(np.float32) + shift - value).max(initial=0.0)
        self.largest_error[name] = max(self.largest_error[name], float(error))
        return stored


def simulate_sequence(
    path: str, sequence: PlannedSequence, stages: Mapping[str, int] | None = None, threads: int = 1
) -> dict[str, Any]:
    """Simulate a sequence into the dataset at `path` and return how it went: index, status, seconds, frames.

    A sequence that is there already is left alone. One that cannot be simulated is recorded with the reason: it does
    not build, diverges, needs more memory than there is, or meets any other fault of its own.

    Args:
        path: of the dataset.
        sequence: which one.
        stages: versions of the methods that made what is there, by the key of each; None asks for none.
        threads: that kernels run on.

    Raises:
        OSError: the dataset cannot be written.
        ValueError: this worker has other versions, or finds other files, than the dataset was begun with.
    """
    with _ONE_AT_A_TIME, using_threads(threads):
        return _simulate_sequence(path, sequence, stages or {})


def _simulate_sequence(path: str, sequence: PlannedSequence, stages: Mapping[str, int]) -> dict[str, Any]:
    started = time.perf_counter()
    store = DatasetStore.open(path)
    store.require_versions(f"that of worker {socket.gethostname()}")
    spec = _spec_of(store)
    outcome = {"index": sequence.index, "status": DONE, "reason": "", "frames": 0}
    if not store.has(sequence.index):
        try:
            outcome["frames"] = store_sequence(store, spec, sequence, stages)
        except (OSError, InputsChanged):
            raise
        except Exception as error:
            reason = reason_of(error)
            forget_hair()
            store.write_failure(sequence.index, {**facts(sequence), "status": FAILED, "reason": reason})
            outcome |= {"status": FAILED, "reason": reason}
    return {**outcome, "seconds": time.perf_counter() - started, "peak_megabytes": peak_megabytes()}


def reason_of(error: Exception) -> str:
    """Why a sequence failed, in one line; faults that nobody foresaw with the name of their kind."""
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return f"not enough memory{text and ': '}{text}; fewer workers leave more for each"
    return text if isinstance(error, ValueError | SolverDiverged) else f"{type(error).__name__}: {text}"


def store_sequence(
    store: DatasetStore, spec: Spec, sequence: PlannedSequence, stages: Mapping[str, int] | None = None
) -> int:
    """Simulate a sequence, store it, and return the number of its frames; `stages` as of `simulate_sequence`."""
    with compiling_alone() as release:
        assembly = _assembled(store, sequence.scene(spec))
        used = stage_versions(assembly, spec)
        _require_stages(store, stages or {}, used)
        frames = math.ceil(assembly.scene.frames.count / spec.store.every)
        writer = SequenceWriter(store, sequence.index, frames)
        try:
            sink = SequenceSink(writer, assembly, spec.store)
            summary = run_into(assembly, [sink], _after_frames(2, release))
            rest = write_rest(store, assembly, sink.needs_hair)
            attributes = {**facts(sequence), "status": DONE, "frame_rate": assembly.scene.frames.rate, "rest": rest}
            if spec.store.precision == "float16":
                attributes["largest_error"] = {name: sink.largest_error[name] for name in spec.store.fields}
            attributes["stages"] = used
            attributes |= {"largest_stretch": summary.stretch, "deepest_penetration": summary.penetration}
            writer.finish(attributes)
        except BaseException:
            writer.discard()
            raise
    return frames


def stage_versions(assembly: Assembly, spec: Spec) -> dict[str, int]:
    """Version of every method that decides what is stored of a sequence, by the key of each."""
    stages = assembly.source.stages
    if assembly.may_return_load or any(FIELDS[name].needs_hair for name in spec.store.fields):
        stages = (*stages, *assembly.hair_stage.stages)
    return versions(stages)


def _require_stages(store: DatasetStore, known: Mapping[str, int], used: Mapping[str, int]) -> None:
    for key, version in used.items():
        if known.get(key, version) != version:
            raise InputsChanged(
                f"{store.path}: was begun with version {known[key]} of {key} and {socket.gethostname()} has version "
                f"{version}, which moves hair otherwise; install the mane that began it, or choose another name with -o"
            )


def _assembled(store: DatasetStore, scene: Scene) -> Assembly:
    """Build a sequence of the files that its dataset was begun with.

    Where one of them cannot be read, ValueError, since OSError is one of the dataset.
    """
    try:
        require_unchanged(store.path, store.header.get("files", {}), digests_of([scene]))
        return assemble(scene)
    except OSError as error:
        raise ValueError(str(error)) from error


def _after_frames(count: int, call: Callable[[], None]) -> Callable[[Any], None]:
    """A progress callback that calls once, when so many frames are made: kernels are compiled by then."""
    seen = []

    def tell(progress: Any) -> None:
        seen.append(progress.index)
        if len(seen) == count:
            call()

    return tell


def facts(sequence: PlannedSequence) -> dict[str, Any]:
    """What is written about every sequence, simulated or not."""
    return {
        "index": sequence.index,
        "split": sequence.split,
        "motion": sequence.motion,
        "factors": dict(sequence.factors),
        "values": dict(sequence.settings),
    }


def write_rest(store: DatasetStore, assembly: Assembly, with_hairs: bool) -> str:
    """Write what sequences of the same hair share, and return its key."""
    guides = assembly.guides
    arrays: dict[str, NDArray[Any]] = {"guides": guides.rest, "source": guides.source}
    if with_hairs:
        arrays["hairs"] = assembly.hair_stage.drawn(assembly.source.rest).as_uniform()
    key = content_key(*(arrays[name] for name in REST_ARRAYS if name in arrays))
    store.write_rest(key, arrays)
    return key


# -- what a worker keeps from sequence to sequence -----------------------------------------------------------------


_ONE_AT_A_TIME = threading.Lock()  # a worker with several threads simulates in one of them
_SPEC: dict[str, Spec] = {}  # the last one, by all that decides it: a worker may live longer than a dataset


def _spec_of(store: DatasetStore) -> Spec:
    key = json.dumps([str(store.path), store.header])
    if key not in _SPEC:
        _SPEC.clear()
        _SPEC[key] = store.spec
    return _SPEC[key]


_HAIR: dict[str, tuple[Hair, Guides]] = {}  # of the last scenes, by what decides it
MOST_HAIR = 4


def forget_hair() -> None:
    """Let go of the hair of earlier scenes: the next sequence has all memory to itself."""
    _HAIR.clear()


def assemble(scene: Scene) -> Assembly:
    """Build a scene; hair and guides are kept for other scenes with the same ones."""
    key = _hair_key(scene)
    if key in _HAIR:
        hair, guides = _HAIR[key]
        return build(scene, hair=hair, guides=guides)
    assembly = build(scene)
    while len(_HAIR) >= MOST_HAIR:
        _HAIR.pop(next(iter(_HAIR)))
    _HAIR[key] = (assembly.hair, assembly.guides)
    return assembly


def _hair_key(scene: Scene) -> str:
    """All that decides hair and guides, as text; files by their size and time, so that a new one is read anew."""
    plain: Mapping[str, Any] = scene.to_dict()
    marks = [stamp(file) for file in scene_files(scene).values()]
    return json.dumps([plain["groom"], plain["guides"], plain["body"], scene.seed, marks], default=str)
