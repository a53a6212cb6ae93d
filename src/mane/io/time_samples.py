"""`TimeSampledGroom`: the groom of a file at each of its times."""

from __future__ import annotations

import os
import warnings
from typing import Any

from mane.groom.groom import Groom
from mane.io.formats import READABLE, USD_SUFFIXES, suffix_of
from mane.io.grooms import read_groom
from mane.io.notices import FileNotice
from mane.io.units import to_metres


class TimeSampledGroom:
    """The groom of a file, still or moving.

    Attributes:
        times: time codes at which it is sampled; none for a still file.
        rate: time codes per second.
        first: the time code that `at` reads by itself; None for a still file.
        changes_at: the first time code at which the file has other strands than there, or None.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        unit: str | None = None,
        up: str | None = None,
        points_per_strand: int | None = None,
        is_alembic: bool = False,
    ) -> None:
        """Look into a file; arguments as in `read_groom`.

        With `is_alembic` the file is a stage that Blender made of an Alembic file: it has put its points upright as if
        they were metres with Y up, so that another unit or axis applies to what comes out.
        """
        self._path, self._points_per_strand = path, points_per_strand
        self._told: dict[str, Any] = {} if is_alembic else {"unit": unit, "up": up}
        self._frame = (unit or "m", up or "y") if is_alembic else ("m", "y")
        self.times: tuple[float, ...] = ()
        self.rate = 24.0
        self.first: float | None = None
        self.changes_at: float | None = None
        self._has_told = False
        if suffix_of(path, READABLE, "read") in USD_SUFFIXES:
            from mane.io.usd import read_usd_groom

            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FileNotice)  # told when the first moment is read
                read = read_usd_groom(path, **self._told)
            self.times, self.rate = tuple(map(float, read.times)), read.source.timing.time_codes_per_second
            self.first, self.changes_at = read.source.time, read.changes_at

    def at(self, time: float | None = None) -> Groom:
        """Read the groom at a time code, by default the first one; what is wrong with the file is told once."""
        with warnings.catch_warnings():
            if self._has_told:
                warnings.simplefilter("ignore", FileNotice)
            groom = read_groom(self._path, time=time, points_per_strand=self._points_per_strand, **self._told)
        self._has_told = True
        return groom if self._frame == ("m", "y") else groom.with_points(to_metres(groom.points, *self._frame))
