"""`mane simulate`: run a scene file."""

from __future__ import annotations

import argparse
from pathlib import Path

from mane.cli._run_bar import RunBar, print_summary
from mane.cli._waiting import busy

DESCRIPTION = """\
Run a scene file: simulate its guides and write what its [output] asks for. A run that was stopped, by you, by a full
disk or by a power cut, goes on with --resume after its last finished frame, with the same result as one that was never
stopped; for that the scene needs a cache in [output].
"""
EXAMPLES = """\
examples:
  mane new curls                                        a scene to start from
  mane simulate curls.toml
  mane simulate curls.toml --set skin.method=linear --set frames.end=96 --restart
  mane simulate curls.toml --resume
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "simulate",
        help="run a scene file",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("scene", metavar="SCENE", type=Path, help="scene file (.toml); `mane new` writes one")
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="in place of what the file says",
    )
    again = parser.add_mutually_exclusive_group()
    again.add_argument("--resume", action="store_true", help="go on after the last finished frame of the cache")
    again.add_argument("--restart", action="store_true", help="begin anew, without the frames that the cache holds")
    add_telling(parser)
    parser.set_defaults(run=run)


def add_telling(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say what is shown."""
    parser.add_argument("--quiet", action="store_true", help="show nothing but errors")
    parser.add_argument("--json", action="store_true", help="print the summary as one JSON object")


def run(args: argparse.Namespace) -> int:
    """Run the scene and say what was done."""
    with busy(f"reading {args.scene}"):
        from mane.scene.loop import run_scene
        from mane.scene.scene_file import read_scene
        from mane.strand.stepping import SolverDiverged

        scene = read_scene(args.scene, args.settings)
    with RunBar("simulating", quiet=args.quiet) as bar:
        try:
            summary = run_scene(scene, resume=args.resume, restart=args.restart, progress=bar.tell)
        except SolverDiverged as error:
            raise ValueError(f"{args.scene}: {error}") from None
    print_summary(summary, as_json=args.json, quiet=args.quiet)
    return 0
