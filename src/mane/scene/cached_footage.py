"""`CachedFootage`: a shot that was simulated, for whoever draws footage: hair, bodies, water and how wet hair is."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from mane.render.footage import Footage, FootageFrame
from mane.render.looks import STYLE_LEVEL
from mane.scene.build import build
from mane.scene.cache import HEADER, Cache
from mane.scene.drawn_bodies import DrawnBodies
from mane.skin.guide_values import GuideValues
from mane.strand.frame import GuideFrame


def is_cache(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a cache of `mane simulate`."""
    return (Path(path) / HEADER).is_file()


class CachedFootage(Footage):
    """The full head of a cache, frame by frame; times are numbers of frames.

    Args:
        path: folder of the cache.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, self._cache = Path(path), Cache.open(path)
        self._assembly = build(self._cache.scene)
        different = self._cache.changed(self._assembly.keys)
        if different:
            raise ValueError(f"{path}: cannot be drawn, {different}")
        self.times = [float(number) for number in self._cache.frames]
        if not self.times:
            raise ValueError(f"{path}: holds no finished frame yet; `mane simulate --resume` goes on with it")
        self.rate = self._assembly.scene.frames.rate
        self._shown = DrawnBodies(self._assembly.source)
        self._values = GuideValues(self._assembly.hair.groom, self._assembly.guides)
        groom = self._assembly.hair_stage.drawn(self._assembly.source.rest)
        self._rest = groom if "id" in groom.strand else groom.with_strand(id=np.arange(groom.strand_count))
        self._last: int | None = None

    def at(self, time: float | None = None) -> FootageFrame:
        """Return what is there at a frame, by default the first one."""
        number = round(self.times[0] if time is None else time)
        frame = self._cache.read_frame(number)
        self._come_to(number)
        points = self._assembly.hair_stage(frame)
        self._last = number
        groom = self._rest.with_points(points.reshape(-1, 3).copy())
        level = self._level(frame, points.shape[1])
        groom = groom if level is None else groom.with_vertex(**{STYLE_LEVEL: level})
        return FootageFrame(float(number), groom, tuple(self._shown.at(frame)), frame.water)

    def _come_to(self, number: int) -> None:
        """Let hair that remembers see the frames before one; others see the one before at most."""
        stage, first = self._assembly.hair_stage, round(self.times[0])
        if self._last == number - 1 or not (stage.remembers or stage.needs_previous):
            return
        if not stage.remembers:
            stage.previous = self._cache.read_frame(number - 1) if number > first else None
            return
        start = first if self._last is None or self._last >= number else self._last + 1
        if start == first:
            stage.reset()
        for between in range(start, number):
            stage(self._cache.read_frame(between))

    def _level(self, frame: GuideFrame, vertices: int) -> np.ndarray | None:
        """Between which looks points are, from dry at 0 to soaked at 1; None where nothing is wet."""
        styles = len(self._assembly.scene.skin.settings.get("styles", ()))
        level = self._assembly.hair_stage.skin.style_level(frame.time, self._rest.points)
        if level is not None:
            return level / max(styles, 1)
        return None if frame.wet is None else self._values(frame.wet.held, vertices).reshape(-1)
