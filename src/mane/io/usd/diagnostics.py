"""What OpenUSD has to say, in our words: one line per fault, and nothing on the terminal behind the user's back."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

# The text of an error as pxr prints it: ... at line 48 in file textParser.cpp : 'what went wrong'
_TF_MESSAGE = re.compile(r" : '(.*?)'\s*(?=\n\tError in|\Z)", re.DOTALL)
# The text parser begins with path:line:column and names the rules of its grammar by their C++ types.
_PARSER_PLACE = re.compile(r"^\S*?:(\d+):\d+: ")
_PARSER_RULE = re.compile(r"parse error matching pxrInternal\S*")
LONGEST_REASON = 240


@contextmanager
def quiet_usd() -> Iterator[None]:
    """Keep OpenUSD's own messages off the terminal while the block runs."""
    from pxr import UsdUtils

    # While a delegate is installed, OpenUSD prints nothing itself.
    delegate = UsdUtils.CoalescingDiagnosticDelegate()
    try:
        yield
    finally:
        delegate.TakeUncoalescedDiagnostics()


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Run quietly and turn OpenUSD's errors into a ValueError that names the file in one line."""
    from pxr import Tf

    with quiet_usd():
        try:
            yield
        except (Tf.ErrorException, UnicodeDecodeError) as error:
            raise ValueError(
                f"{os.fspath(path)}: OpenUSD cannot read it ({reason(error)}); the file is damaged, export it again"
            ) from None


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Run quietly and turn OpenUSD's errors into an OSError that names the file in one line."""
    from pxr import Tf

    with quiet_usd():
        try:
            yield
        except Tf.ErrorException as error:
            raise OSError(
                f"{os.fspath(path)}: cannot be written ({reason(error)}); free some space or choose another folder"
            ) from None


def reason(error: Exception) -> str:
    """Return the first message in one of OpenUSD's errors, in one line and without its source locations."""
    try:
        message = str(error)
    except UnicodeDecodeError as broken:  # it quotes the file
        error = broken
    if isinstance(error, UnicodeDecodeError):
        return "it has bytes that are no text where text should be"
    found = [text for text in _TF_MESSAGE.findall(message) if not text.startswith("Failed to open layer")]
    line = " ".join((found[0] if found else "it gives no reason").split())
    line = _PARSER_PLACE.sub(r"line \1: ", _PARSER_RULE.sub("cannot go on", line))
    line = line.removeprefix("Error occurred writing file: ")
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 3] + "..."
