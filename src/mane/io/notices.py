"""What a reader or writer had to decide without being asked, said as warnings of classes that a caller can filter."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

_spelling: ContextVar[Mapping[str, str] | None] = ContextVar("spelling", default=None)


def told_by(argument: str) -> str:
    """How the caller spells an argument of a reader: `unit=...` in Python, `--from-unit` on the command line."""
    return (_spelling.get() or {}).get(argument, f"{argument}=...")


@contextmanager
def about(prefix: str) -> Iterator[None]:
    """Let messages inside be about arguments with a prefix: `unit` is `body_unit` to a caller who gives both."""
    try:
        with spelled({name: told_by(f"{prefix}_{name}") for name in ("unit", "up", "time")}):
            yield
    except ValueError as error:
        raise ValueError(re.sub(r"(^|: )(unit|up|time): ", rf"\1{prefix}_\2: ", str(error), count=1)) from error


@contextmanager
def spelled(names: Mapping[str, str]) -> Iterator[None]:
    """Let messages inside call arguments of readers by these names, e.g. `{"unit": "--from-unit"}`."""
    token = _spelling.set(names)
    try:
        yield
    finally:
        _spelling.reset(token)


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
