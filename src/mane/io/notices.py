"""What a reader or writer had to decide without being asked, said as warnings of classes that a caller can filter."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence


class FileNotice(UserWarning):
    """Something about a file that the user should know; every notice of this room is one of these."""


class RepairNotice(FileNotice):
    """Damaged strands or triangles were mended or left out, and the rest was read."""


class AssumptionNotice(FileNotice):
    """The file does not state something, such as its units, and a stated value was assumed."""


class LossNotice(FileNotice):
    """The file format has no room for something, which was left out."""


class OmissionNotice(FileNotice):
    """The file has something that is not used here: other moments, texture coordinates."""


def tell_one_moment(
    path: str | os.PathLike[str], times: Sequence[float], used: float | None, remedy: str, stacklevel: int = 3
) -> None:
    """Warn that a file moves between `times` and that only one of its moments is used."""
    if len(times) > 1:
        moment = f"time {times[0] if used is None else used:g}"
        warnings.warn(
            f"{os.fspath(path)}: moves from time {times[0]:g} to {times[-1]:g}, only {moment} is used; {remedy}",
            OmissionNotice,
            stacklevel=stacklevel,
        )
