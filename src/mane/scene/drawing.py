"""`DrawingProcess`: pictures drawn in a process of their own, while the simulation goes on with the next frame.

The process is `python -m mane.scene.drawing`. It gets the hair at rest once and then what moves, one picture at a time,
and answers each with whether it is blank, or with what went wrong; it ends when nobody is left to ask it. A picture is
the same bytes wherever it is drawn.
"""

from __future__ import annotations

import os
import subprocess
import sys
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom

LEAST_PICTURES = 6  # fewer are drawn sooner than a process has started
PATIENCE_SECONDS = 10.0  # for it to end by itself


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture to be drawn.

    Attributes:
        files: that it is written to.
        points: of the hair [m], shape (P, 3).
        vertex: attributes of its points that change from picture to picture.
        bodies: body and solids where they are.
        options: further arguments of `render`.
        groom: hair other than that at rest, whose points are drawn; None for that.
    """

    files: Sequence[Path]
    points: FloatArray
    bodies: Sequence[Mesh]
    options: Mapping[str, Any]
    vertex: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    groom: Groom | None = None

    def draw(self, rest: Groom) -> bool:
        """Draw the hair that is `rest` in its files; returns whether the picture is blank."""
        from mane.render.develop import BACKDROP
        from mane.render.renderer import is_blank, render
        from mane.render.sheet import write_png

        hair = rest.with_points(self.points) if self.groom is None else self.groom
        image = render(hair.with_vertex(**self.vertex) if self.vertex else hair, list(self.bodies), **self.options)
        for file in self.files:
            write_png(file, image)
        return is_blank(image, BACKDROP)


class DrawingProcess:
    """Draws pictures beside this process; it loads or compiles the renderer as soon as it is made."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for us alone, and it ends with us
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._questions = Connection(os.dup(self._process.stdin.fileno()), readable=False)
        self._answers = Connection(os.dup(self._process.stdout.fileno()), writable=False)
        self._process.stdin.close()
        self._process.stdout.close()
        self._end = weakref.finalize(self, _end, self._process, self._questions, self._answers)
        self._knows_rest = False

    def draw(self, picture: Picture, rest: Groom) -> bool:
        """Draw a picture of the hair that is `rest`, always the same, and return whether it is blank.

        Raises:
            OSError: the process is gone, or cannot write.
        """
        try:
            if not self._knows_rest:
                self._questions.send(rest)
                self._knows_rest = True
            self._questions.send(picture)
            answer = self._answers.recv()
        except (OSError, EOFError):
            raise self._failure(picture) from None
        if isinstance(answer, BaseException):
            raise answer
        return bool(answer)

    def close(self) -> None:
        """End it."""
        self._end()

    def give_up(self) -> None:
        """End it; at once if it was asked for nothing yet, so that nobody waits until it has loaded the renderer."""
        if not self._knows_rest:
            self._process.kill()
        self._end()

    def _failure(self, picture: Picture) -> OSError:
        self._end()
        code = self._process.returncode
        how = f"was ended by signal {-code}" if code < 0 else f"ended by itself with exit code {code}"
        return OSError(
            f"{picture.files[0]}: is not drawn, since the process that draws {how}; look for memory, and run again"
        )


def can_draw_beside(count: int) -> bool:
    """Whether `count` pictures are worth a process of their own, and there is a core for it and pipes of POSIX."""
    return count >= LEAST_PICTURES and os.name == "posix" and bool(sys.executable) and (os.cpu_count() or 1) > 1


@contextmanager
def drawing_ahead(count: int) -> Iterator[DrawingProcess | None]:
    """Have a process for `count` pictures while the block runs; None where they are not worth one.

    Begun before the hair is made, it has loaded the renderer by the time that there is a frame to draw.
    """
    process = DrawingProcess() if can_draw_beside(count) else None
    try:
        yield process
    finally:
        if process is not None:
            process.give_up()


def _end(process: subprocess.Popen[bytes], *pipes: Connection) -> None:
    """Let a process end, which it does when there is nothing more to read, or see to it."""
    for pipe in pipes:
        pipe.close()
    try:
        process.wait(PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main() -> None:
    """Draw what comes in until nothing does; answers go out."""
    questions, answers = Connection(os.dup(0), writable=False), Connection(os.dup(1), readable=False)
    os.dup2(2, 1)  # whatever is printed is no answer
    _warm_up()
    with suppress(EOFError, BrokenPipeError):
        rest: Groom = questions.recv()
        while True:
            answers.send(_answer(questions.recv(), rest))


def _warm_up() -> None:
    """Load, or compile, the renderer's kernels: meanwhile the first frame is made."""
    from mane.render.renderer import render

    hair = np.linspace(0, 0.1, 4)[None, :, None] * np.ones((2, 1, 3))
    render(hair, Mesh(np.eye(3, dtype=np.float32), np.array([[0, 1, 2]], np.int32)), size=(32, 32))


def _answer(picture: Picture, rest: Groom) -> bool | BaseException:
    try:
        return picture.draw(rest)
    except (ValueError, OSError, MemoryError) as error:
        return error


if __name__ == "__main__":
    main()
