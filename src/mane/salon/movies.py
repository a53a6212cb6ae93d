"""`MovieJob`: a movie of the good renderer, drawn in a process of its own while the salon goes on.

The process is `python -m mane.salon.movies`: what it shall draw comes in as JSON, and its progress goes out as lines of
it. (The salon's own process is a daemon, which `multiprocessing` lets have no children.)
"""

from __future__ import annotations

import dataclasses
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mane.scene.config import CameraTable, OutputTable, Scene
from mane.scene.scene_file import read_scene, scene_from_dict

PICTURES_PER_SECOND = 25.0
POLITENESS = 15  # niceness: the simulation comes first
News = tuple[str, bool]
ProgressCallback = Callable[[int, int], None]


@dataclasses.dataclass(frozen=True)
class Order:
    """A movie to be drawn.

    Attributes:
        path: of the movie.
        file: a scene file, or the folder of a cache.
        direction: from the head to the camera, as [camera] direction writes it.
        scene: skin and look for a cache; None for a scene file, which has its own.
    """

    path: Path
    file: Path
    direction: str
    scene: Scene | None = None

    @classmethod
    def seen_from(cls, path: Path, file: Path, eye: Any, target: Any, scene: Scene | None = None) -> Order:
        """Draw it from where a camera stands [m]."""
        return cls(path.absolute(), file.absolute(), _direction(eye, target), scene)

    def to_json(self) -> bytes:
        """As `from_json` reads it."""
        scene = None if self.scene is None else [self.scene.to_dict(), str(self.scene.folder.absolute())]
        return json.dumps([str(self.path), str(self.file), self.direction, scene]).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Order:
        """Read what `to_json` wrote."""
        path, file, direction, scene = json.loads(data)
        made = None if scene is None else scene_from_dict(scene[0], folder=Path(scene[1]))
        return cls(Path(path), Path(file), direction, made)


class MovieJob:
    """Draws a movie.

    Args:
        order: what to draw.

    Attributes:
        name: of the movie's file.
        is_over: whether it is finished, or has failed.
    """

    def __init__(self, order: Order) -> None:
        self.name, self.is_over = order.path.name, False
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        command = [sys.executable, "-m", "mane.salon.movies"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        with self._process.stdin as pipe:
            pipe.write(order.to_json())
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._lines.put(line.decode())
        self._process.wait()
        self._lines.put(None)

    def news(self) -> Iterator[News]:
        """What has come about since the last time, a line for a person and whether it is an error; never waits."""
        last: News | None = None
        while not self.is_over and not self._lines.empty():
            line = self._lines.get()
            if line is None:
                last, self.is_over = (f"{self.name}: drawing it has ended by itself", True), True
            else:
                text, is_error, self.is_over = json.loads(line)
                last = text, is_error
        if last is not None:
            yield last


def _direction(eye: Any, target: Any) -> str:
    """From the head to the camera, as [camera] direction writes it."""
    way = np.subtract(eye, target).astype(np.float64)
    length = float(np.linalg.norm(way))
    if length < 1e-3:
        raise ValueError("camera: must stand off what it looks at")
    return ",".join(f"{x:.4f}" for x in way / length)


def draw(order: Order, tell: ProgressCallback) -> None:
    """Draw a movie; `tell` is told after every frame how many are done, and of how many."""
    from mane.scene.loop import bake_cache, run_scene

    scene = read_scene(order.file) if order.scene is None else order.scene
    output = OutputTable(movie=str(order.path), every=max(1, round(scene.frames.rate / PICTURES_PER_SECOND)))
    scene = dataclasses.replace(scene, camera=_framed(scene.camera, order.direction), output=output)
    if order.scene is None:
        run_scene(scene, progress=lambda step: tell(step.done, step.count))
    else:
        bake_cache(order.file, output, scene=scene, progress=lambda step: tell(step.done, step.count))


def _framed(camera: CameraTable, direction: str) -> CameraTable:
    return dataclasses.replace(camera, direction=direction, look=camera.look or "brown")


def main() -> None:
    """Draw the movie whose order comes in; lines of text, whether it is an error, and whether it is the last go out."""
    if hasattr(os, "nice"):
        os.nice(POLITENESS)
    order = Order.from_json(sys.stdin.buffer.read())

    def say(text: str, *, is_error: bool = False, is_last: bool = True) -> None:
        sys.stdout.write(json.dumps([f"{order.path.name}: {text}", is_error, is_last]) + "\n")
        sys.stdout.flush()

    try:
        draw(order, lambda done, count: say(f"{done} of {count} frames are drawn", is_last=False))
        say("saved")
    except BrokenPipeError:
        return  # the salon has closed
    except (ValueError, OSError, RuntimeError, MemoryError) as error:  # a person waits for the movie
        say(" ".join(str(error).split()), is_error=True)


if __name__ == "__main__":
    main()
