"""Where finished frames go: small objects of one interface, in one fixed order.

A sink is opened before the first frame and closed after the last; every `write` leaves complete files, so that a run
may end at any moment. The cache comes last: a frame in the cache is a frame in every other sink.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from mane.geometry.checks import FloatArray
from mane.scene.cache import Cache
from mane.strand.frame import GuideFrame

if TYPE_CHECKING:
    from mane.io.usd.sequence import UsdSequenceWriter
    from mane.scene.build import Assembly
    from mane.scene.simulation import Simulation


class Sink(ABC):
    """Takes frames.

    Attributes:
        name: of its stage in timings.
        needs_hair: whether `write` needs the full head; without it `points` may be None.
        history: how many frames before the next one it must have seen to go on.
    """

    name: str
    needs_hair = True
    history = 0

    @abstractmethod
    def open(self, *, resume: bool) -> None:
        """Get ready, before the first frame; with `resume`, go on after the frames that are there."""

    @abstractmethod
    def has(self, index: int) -> bool:
        """Whether a frame is there already, from a run that is resumed."""

    @abstractmethod
    def write(self, index: int, frame: GuideFrame, points: FloatArray | None) -> None:
        """Take a frame; when this returns, it is on disk. `points` (S, V, 3) [m] are only lent."""

    def recall(self, index: int, frame: GuideFrame, points: FloatArray | None) -> None:  # noqa: B027 - most need nothing
        """Look at a frame that is there already."""

    def close(self) -> list[Path]:
        """Finish, after the last frame, and return what was made."""
        return []


class UsdSink(Sink):
    """The full head as a USD stage with one file per frame; a new stage, or a layer over the groom's own file."""

    name = "write USD"

    def __init__(self, path: Path, assembly: Assembly, *, layer: bool = False) -> None:
        self.path = path
        self._assembly, self._layer = assembly, layer
        self._writer: UsdSequenceWriter | None = None
        self._done: set[float] = set()

    def open(self, *, resume: bool) -> None:
        """Write the stage with the frames that are there."""
        from mane.io.usd import UsdSequenceWriter

        assembly = self._assembly
        if self._layer:
            if assembly.hair.usd is None:
                raise ValueError(f"{self.path}: must lie over the groom's own USD file, and this hair has none")
            self._writer = UsdSequenceWriter(self.path, assembly.hair.usd, resume=resume)
        else:
            still = assembly.dresser.drawn if assembly.scene.finish.subdivide else assembly.hair.source
            rate = assembly.scene.frames.rate
            self._writer = UsdSequenceWriter.new(self.path, still, time_codes_per_second=rate, resume=resume)
        self._done = set(self._writer.times)

    def has(self, index: int) -> bool:
        """Whether the stage lists the frame."""
        return float(index) in self._done

    def write(self, index: int, frame: GuideFrame, points: FloatArray | None) -> None:
        """Write the frame at the time code of its number."""
        assert points is not None
        assert self._writer is not None
        is_finer = self._assembly.scene.finish.subdivide > 0
        own = points.reshape(-1, 3) if is_finer else self._assembly.hair.own_points(points, frame)
        self._writer.write(float(index), own)

    def close(self) -> list[Path]:
        """Name the stage."""
        return [self.path]


class CacheSink(Sink):
    """The guides of every frame, and the checkpoint to go on from."""

    name = "write cache"
    needs_hair = False

    def __init__(self, cache: Cache, simulation: Simulation) -> None:
        self.cache, self._simulation = cache, simulation
        self._last: int | None = None

    def open(self, *, resume: bool) -> None:
        """Find the last frame that can be gone on from."""
        checkpoint = self.cache.read_checkpoint() if resume else None
        self._last = None if checkpoint is None else checkpoint[0]

    def has(self, index: int) -> bool:
        """Whether the frame was finished."""
        return self._last is not None and index <= self._last

    def write(self, index: int, frame: GuideFrame, points: FloatArray | None) -> None:
        """Write the frame, then the checkpoint after it."""
        self.cache.write_frame(index, frame)
        self.cache.write_checkpoint(index, self._simulation.checkpoint())

    def close(self) -> list[Path]:
        """Name the cache."""
        return [self.cache.path]
