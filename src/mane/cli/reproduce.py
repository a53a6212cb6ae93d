"""`mane reproduce`: the scenes of a paper again, its figures beside ours."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from mane.cli._measuring import progress_line
from mane.measure.reproduce.reproduce import PAPERS, Report, all_figures, reproduce


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "reproduce",
        help="run the scenes of a paper",
        description="Run the scenes of a paper: pictures, figures beside the paper's, and where ours falls short. "
        "Writes report.md, figures.json and a folder of pictures per scene. Exit code 1 when a promise is missed.",
        epilog="example: mane reproduce chang2002 --scene braid -o out; scenes: "
        + "; ".join(f"{name}: {', '.join(paper.scenes)}" for name, paper in PAPERS.items()),
    )
    parser.add_argument("paper", metavar="PAPER", choices=list(PAPERS), help=f"which paper: {', '.join(PAPERS)}")
    parser.add_argument("--scene", action="append", metavar="NAME", help="only this scene; may be given several times")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, to see whether it runs at all")
    parser.add_argument(
        "--share",
        type=float,
        default=1.0,
        metavar="SHARE",
        help="simulate this share of the frames of every motion (guan2012), say 0.2; the report says so",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="folder to write into")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the scenes; 0, or 1 where a promise was missed."""
    with SceneBar(args.paper) as bar:
        reports = reproduce(
            args.paper, args.output, scenes=args.scene, quick=args.quick, share=args.share, tell=bar.tell
        )
    figures = all_figures(args.paper, reports)
    if args.json:
        sys.stdout.write(figures.to_json() + "\n")
    else:
        sys.stdout.write("\n\n".join(map(_text, reports)) + f"\n\n{args.output / 'report.md'}\n")
    return int(any(row.meets_target is False for row in figures.rows))


def _text(report: Report) -> str:
    pictures = [f"{report.folder / name}: {caption}" for name, caption in report.pictures]
    return "\n".join([report.figures.to_table(), *(f"note: {note}" for note in report.notes), *pictures])


class SceneBar:
    """Shows how far each scene is, on standard error, in a `with` block: a bar on a terminal, else a line per task."""

    def __init__(self, paper: str) -> None:
        self._paper = paper
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}
        self._said = ""
        self._began = time.monotonic()

    def __enter__(self) -> SceneBar:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TimeElapsedColumn(),
                TextColumn("elapsed,"),
                TimeRemainingColumn(),
                TextColumn("left"),
                console=Console(stderr=True),
            )
            self._bar.start()
        return self

    def tell(self, scene: str, text: str, share: float) -> None:
        """Show what a scene does and how far it is."""
        line = f"{self._paper} {scene}: {text}"
        if self._bar is not None:
            if scene not in self._tasks:
                self._tasks[scene] = self._bar.add_task(line, total=1.0)
            self._bar.update(self._tasks[scene], completed=share, description=line)
        elif line != self._said:
            progress_line(f"{line} ({100 * share:.0f} %, {time.monotonic() - self._began:.0f} s)")
            self._said = line

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()
