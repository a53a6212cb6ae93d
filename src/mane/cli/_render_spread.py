"""`mane render` on workers: each draws some of the frames into files, and a movie is encoded when all are there."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mane.cli import _render_request as request
from mane.cli._cluster_arguments import workers_text
from mane.cli._dataset_bar import CountBar

if TYPE_CHECKING:
    from mane.cli.render import Shoot
    from mane.render.camera import Camera

PICTURE = "picture.png"


class DrawnFrame(NamedTuple):
    """What a worker says about a frame that it has drawn.

    Attributes:
        shows: whether anything is to be seen.
        summary: of its false colours, or None.
    """

    shows: bool
    summary: str | None


def draw_on_cluster(shoot: Shoot, cameras: Sequence[Camera]) -> list[str]:
    """Draw all frames on workers and return the names of the files; the same bytes as without them."""
    from mane.dataset.cluster import open_cluster
    from mane.dataset.spread import in_order
    from mane.render.movie import FrameWriter, MovieWriter

    args, output = shoot.args, Path(shoot.args.output)
    if not shoot.is_sequence:
        raise ValueError("--workers, --scheduler: share frames out, and there is one only; leave them out")
    reel = output.with_name(f"{output.name}.frames") if output.suffix.lower() == request.MOVIE else None
    if reel is None:
        FrameWriter(output, shoot.numbers())  # says what is wrong with the names
    else:
        MovieWriter(output, fps=args.fps or shoot.footage.rate)  # says what is missing
        reel.mkdir(exist_ok=True)
    files = _files(output if reel is None else reel / PICTURE, shoot.numbers())
    given = (_seen_from_anywhere(args), list(cameras), files)
    shows, drawn = False, []
    try:
        with (
            CountBar("drawing", "frames") as bar,
            open_cluster(args.workers, args.threads, args.scheduler) as cluster,
        ):
            tell = lambda now: bar.tell(now.done, now.count, workers_text(now))  # noqa: E731
            for position, frame in in_order(cluster, draw_frames, given, len(files), tell):
                shows, shoot.summary = shows or frame.shows, frame.summary
                drawn.append(files[position])
        if not shows:
            shoot.refuse_blank()
        if reel is None:
            return [str(output.with_name(Path(file).name)) for file in drawn]
        _encode(output, drawn, args.fps or shoot.footage.rate)
        return [str(output)]
    finally:
        if reel is not None:
            _remove(reel, files)


def _files(path: Path, numbers: Sequence[int]) -> list[str]:
    from mane.render.movie import frame_path

    return [str(frame_path(path.absolute(), number)) for number in numbers]


def _seen_from_anywhere(args: argparse.Namespace) -> argparse.Namespace:
    """The arguments with paths that do not depend on where a worker stands."""
    made = argparse.Namespace(**vars(args))
    made.file, made.output = os.path.abspath(args.file), Path(args.output).absolute()
    if args.body is not None and os.path.exists(args.body):
        made.body = os.path.abspath(args.body)
    return made


def _encode(movie: Path, files: Sequence[str], fps: float) -> None:
    from mane.render.movie import write_movie
    from mane.render.sheet import read_picture

    write_movie(movie, (read_picture(Path(file)) for file in files), fps=fps)


def _remove(reel: Path, files: Sequence[str]) -> None:
    """Remove the pictures of a movie; what else is in their folder stays."""
    for file in files:
        with suppress(OSError):
            os.unlink(file)
    with suppress(OSError):
        reel.rmdir()


# -- on a worker -----------------------------------------------------------------------------------------------------


def draw_frames(
    args: argparse.Namespace, cameras: Sequence[Camera], files: Sequence[str], positions: range
) -> list[DrawnFrame]:
    """Draw some of the frames into their files, each of which is whole when it has its name; what a worker runs."""
    from mane.dataset.machine import compiling_alone
    from mane.geometry.threads import using_threads
    from mane.render.movie import write_picture

    drawn = []
    with using_threads(args.threads), compiling_alone() as release:
        shoot = _shoot_of(args)
        for position in positions:
            image, shows = shoot.draw(position, cameras[position])
            write_picture(files[position], image)
            drawn.append(DrawnFrame(shows, shoot.summary))
            release()  # kernels are compiled by then
    return drawn


_SHOOTS: dict[str, Shoot] = {}  # the last one, by all that decides it


def _shoot_of(args: argparse.Namespace) -> Shoot:
    from mane.cli.render import Shoot
    from mane.dataset.inputs import stamp

    key = repr((sorted(vars(args).items(), key=lambda item: item[0]), stamp(Path(args.file))))
    if key not in _SHOOTS:
        _SHOOTS.clear()
        _SHOOTS[key] = Shoot(args)
    return _SHOOTS[key]
