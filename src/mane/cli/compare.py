"""`mane compare`: one scene with several strand models and skins, side by side."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mane.cli._run_bar import RunBar
from mane.cli._scene_arguments import add_command, add_scene, add_telling
from mane.cli._waiting import busy

if TYPE_CHECKING:
    from mane.scene.loop import Progress

DESCRIPTION = """\
Run a scene with every model and every skin that you name. Writes a movie and pictures with all of them side by side,
one table of every metric and of the milliseconds of every stage (comparison.md, comparison.json), and the caches.
"""
EXAMPLES = """\
examples:
  mane compare curls.toml -o out
  mane compare curls.toml --skins rigid,linear,physical --models cosserat,spring -o out
  mane compare curls.toml --skins linear,physical --reference 200 -o out    beside 200 hairs simulated one by one
  mane compare curls.toml --set strand.model=xpbd --set strand.settings.k_norm=0.4 --set strand.sag_free=false \\
    --skins linear,physical,hsu2024 -o out                                  as hsu2024 prints it: guides, groom and skin
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = add_command(
        subparsers, "compare", "a scene with several models and skins, side by side", DESCRIPTION, EXAMPLES
    )
    add_scene(parser)
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, required=True, help="folder for the results")
    parser.add_argument(
        "--skins", metavar="NAMES", default="linear,physical", help="with commas between them (%(default)s)"
    )
    parser.add_argument("--models", metavar="NAMES", help="with commas between them (that of the scene)")
    parser.add_argument(
        "--reference", metavar="N", type=int, default=0, help="simulate so many hairs one by one to compare with"
    )
    parser.add_argument("--no-movie", action="store_true", help="draw a few frames only")
    parser.add_argument("--size", metavar="WxH", default="480x540", help="of each picture in pixels (%(default)s)")
    add_telling(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compare and print the table."""
    with busy(f"reading {args.scene}"):
        from mane.cli._render_request import size_of
        from mane.measure.compare.compare import compare
        from mane.scene.scene_file import read_scene

        scene = read_scene(args.scene, args.settings)
    with _Bars(quiet=args.quiet) as bars:
        comparison = compare(
            scene,
            args.output,
            skins=_names(args.skins),
            models=_names(args.models or ""),
            reference=args.reference,
            movie=not args.no_movie,
            size=size_of(args.size),
            progress=bars.tell,
        )
    if args.json:
        sys.stdout.write(comparison.figures.to_json() + "\n")
    elif not args.quiet:
        table = (args.output / "comparison.md").read_text(encoding="utf-8")
        sys.stdout.write(table + "".join(f"{path}\n" for path in comparison.files))
    return 0


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


class _Bars:
    """One bar after the other: each thing that is made has its own."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet, self._label = quiet, ""
        self._bar = RunBar("", quiet=quiet)

    def __enter__(self) -> _Bars:
        return self

    def tell(self, label: str, progress: Progress) -> None:
        """Show a frame that was finished of the thing called `label`."""
        if label != self._label:
            self._bar.__exit__()
            self._label, self._bar = label, RunBar(label, quiet=self._quiet)
        self._bar.tell(progress)

    def __exit__(self, *exception: object) -> None:
        self._bar.__exit__(*exception)
