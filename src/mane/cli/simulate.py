"""`mane simulate`: run a scene file."""

from __future__ import annotations

import argparse

from mane.cli._measuring import progress_line
from mane.cli._run_bar import RunBar, print_summary
from mane.cli._scene_arguments import add_command, add_scene, add_telling
from mane.cli._starting import without_collecting
from mane.cli._waiting import busy

DESCRIPTION = """\
Run a scene file: simulate its guides and write what its [output] asks for. A run that was stopped, by you, by a full
disk or by a power cut, goes on with --resume after its last finished frame, with the same result as one that was never
stopped; for that the scene needs a cache in [output]. Exit code 1 when the last frame is outside the scene's [bounds].
"""
EXAMPLES = """\
examples:
  mane new curls                                        a scene to start from
  mane simulate curls.toml
  mane simulate curls.toml --set skin.method=linear --set frames.end=96 --restart
  mane simulate curls.toml --resume
  mane simulate windy.toml --look air                   streamlines in its pictures
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = add_command(subparsers, "simulate", "run a scene file", DESCRIPTION, EXAMPLES)
    add_scene(parser)
    parser.add_argument(
        "--look", metavar="NAME", help="how pictures look, as [camera] look; air shows the air of [air]"
    )
    again = parser.add_mutually_exclusive_group()
    again.add_argument("--resume", action="store_true", help="go on after the last finished frame of the cache")
    again.add_argument("--restart", action="store_true", help="begin anew, without the frames that the cache holds")
    add_telling(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the scene and say what was done."""
    with busy(f"reading {args.scene}"), without_collecting():
        from mane.scene.loop import run_scene
        from mane.scene.scene_file import read_scene
        from mane.strand.stepping import SolverDiverged

        look = [] if args.look is None else [f"camera.look={args.look}"]
        scene = read_scene(args.scene, [*args.settings, *look])
    if not scene.output.writes:
        progress_line(f"note: {args.scene}: [output] names no file, so that nothing is written; see `mane new`")
    with RunBar("simulating", quiet=args.quiet) as bar:
        try:
            summary = run_scene(scene, resume=args.resume, restart=args.restart, progress=bar.tell)
        except SolverDiverged as error:
            raise ValueError(f"{args.scene}: {error}") from None
    return print_summary(summary, as_json=args.json, quiet=args.quiet)
