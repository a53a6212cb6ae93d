"""`Panels`: pictures of every case of a comparison, one row per model and one column per skin."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from mane.render.movie import MovieWriter, frame_path, write_movie
from mane.render.panels import side_by_side
from mane.render.sheet import Image, read_picture, write_png
from mane.scene.build import Assembly
from mane.scene.sink_pictures import PICTURE, PictureSink

Captions = Callable[[int], Sequence[Sequence[str]]]  # number of a frame -> a row of captions per model

STILLS = 4  # moments that are kept as pictures, spread over the run
NAME = "comparison"


class Panels:
    """Draws the cases of a comparison and lays them side by side.

    Args:
        folder: where panels are written; pictures of single cases are kept in a folder of it until then.
        numbers: of all frames.
        movie: whether to draw all frames.
        rate: of the movie [1/s].
    """

    def __init__(self, folder: Path, numbers: range, *, movie: bool, rate: float) -> None:
        self._folder, self._numbers, self._movie, self._rate = folder, numbers, movie, rate
        self._reels = folder / f"{NAME}.frames"
        self._cases: dict[str, list[Path]] = {}
        if movie:
            MovieWriter(self._movie_file, fps=rate)  # says what is missing, before the wait

    @property
    def stills(self) -> list[int]:
        """Numbers of the frames that become pictures of their own: ends of equal parts, for hair starts at rest."""
        count = len(self._numbers)
        return sorted(
            {self._numbers[part * count // STILLS - 1] for part in range(1, STILLS + 1) if part * count >= STILLS}
        )

    @property
    def _movie_file(self) -> Path:
        return self._folder / f"{NAME}.mp4"

    def sink(self, assembly: Assembly, model: str, skin: str) -> PictureSink:
        """Return what draws a case, the next one in the row of its model."""
        folder = self._reels / f"{model}.{skin}"
        self._cases.setdefault(model, []).append(folder)
        drawn = self._numbers if self._movie else self.stills
        return PictureSink(assembly, folder=folder, movie=None, drawn=drawn, numbers=self._numbers)

    def write(self, captions: Captions) -> list[Path]:
        """Lay out what was drawn, with a caption of the frame for every case of every model; returns the files."""
        files = []
        for index in self.stills:
            files.append(frame_path(self._folder / f"{NAME}.png", index))
            write_png(files[-1], self._panel(index, captions(index)))
        if self._movie:
            write_movie(self._movie_file, self._all(captions), fps=self._rate)
            files.append(self._movie_file)
        shutil.rmtree(self._reels)
        return files

    def _all(self, captions: Captions) -> Iterator[Image]:
        for index in self._numbers:
            yield self._panel(index, captions(index))

    def _panel(self, index: int, captions: Sequence[Sequence[str]]) -> Image:
        rows = []
        for folders, row in zip(self._cases.values(), captions, strict=True):
            rows.append(side_by_side([read_picture(frame_path(folder / PICTURE, index)) for folder in folders], row))
        return np.concatenate(rows)
