"""`mane demo`: a groom on a bust, its guides, and something to look at."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "demo",
        help="see it work: a groom on a bust, drawn",
        description="Grow a full head of curly hair on a bust, choose its guide strands, write it as USD and draw it.",
        epilog="example: mane demo -o out --strands 50000",
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("out"), metavar="DIR", help="folder for the results")
    parser.add_argument("--strands", type=int, default=100_000, metavar="N", help="how many (default: %(default)s)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the demo and say where the results are and how long each stage took."""
    from mane.groom.select import select_guides
    from mane.groom.styles import make
    from mane.io import write_groom
    from mane.render.gallery import draw_style
    from mane.render.sheet import write_png

    args.output.mkdir(parents=True, exist_ok=True)
    picture, guide_picture, stage = (args.output / name for name in ("curly.png", "guides.png", "curly.usd"))
    clock = Stages()
    groom = clock.run("grow", lambda: make("curly", strands=args.strands, seed=1))
    guides = clock.run("choose guides", lambda: select_guides(groom, min(128, args.strands), seed=1))
    clock.run("write USD", lambda: write_groom(stage, groom))
    clock.run("draw", lambda: write_png(picture, draw_style("curly", groom)))
    clock.run("draw guides", lambda: write_png(guide_picture, draw_style("curly", guides.strands)))
    sys.stdout.write(f"{groom.strand_count:,} strands from {guides.count} guides\n{clock.summary()}\n")
    sys.stdout.write("".join(f"{path}\n" for path in (picture, guide_picture, stage)))
    return 0


class Stages:
    """Runs the stages of a job, saying what it does on standard error and remembering how long each took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def run(self, name: str, work: Callable[[], Result]) -> Result:
        """Run one stage and return its result."""
        sys.stderr.write(f"mane: {name} ...\n")
        started = time.perf_counter()
        result = work()
        self.seconds[name] = time.perf_counter() - started
        return result

    def summary(self) -> str:
        """One line with the seconds of every stage."""
        return ", ".join(f"{name} {seconds:.1f} s" for name, seconds in self.seconds.items())
