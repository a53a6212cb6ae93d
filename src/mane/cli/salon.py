"""`mane salon`: hair in the browser, combed by hand."""

from __future__ import annotations

import argparse
import time
import webbrowser
from pathlib import Path

from mane.cli._measuring import progress_line
from mane.cli._scene_arguments import add_command, add_settings
from mane.cli._waiting import busy

DESCRIPTION = """\
Open a page with a head of hair that moves, and combs, brushes and sliders to change it with. The page is served to this
machine alone; --host lets others see it, with a token that is part of the address. Press Ctrl-C to end.
"""
EXAMPLES = """\
examples:
  mane salon                                    a head of waves, comb, brush, hand, ball and rod
  mane salon curls.toml --set guides.count=64   a scene; its motions play until a hand takes over
  mane salon groom.usd                          a groom file
  mane salon shake.cache                        frames that were simulated before: play, scrub, step
  mane salon hair.model --groom head.usd        a learned model with its sliders; without a groom its own guides
  mane salon --skin adaptive --split linear     two skins side by side
  mane salon -o out                             lets the page save scenes, grooms, pictures and movies there
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = add_command(subparsers, "salon", "hair in the browser, combed by hand", DESCRIPTION, EXAMPLES)
    parser.add_argument("thing", metavar="FILE", nargs="?", type=Path, help="a scene, a groom, a cache or a model")
    parser.add_argument("--groom", metavar="FILE", type=Path, help="groom that a learned model belongs to")
    parser.add_argument("--skin", metavar="NAME", help="how guides carry every hair, as [skin] method")
    parser.add_argument("--split", metavar="NAME", default="none", help="skin of the right half of a split view")
    parser.add_argument("-o", "--output", metavar="FOLDER", type=Path, help="where the page may save files")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at; any but loopback gets a token")
    parser.add_argument("--port", type=int, default=0, help="port to listen at; by default a free one")
    parser.add_argument("--threads", type=int, help="of the simulation; by default all cores")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    add_settings(parser, "in place of what the scene says")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until somebody ends it."""
    with busy("opening the salon"):
        from mane.salon.doors import require_extra, require_page
        from mane.salon.scenes import salon_program

        require_extra()
        require_page()
        skin = [] if args.skin is None else [f"skin.method={args.skin}"]
        program = salon_program(args.thing, [*args.settings, *skin], groom=args.groom)
    if args.output is not None:
        args.output.mkdir(parents=True, exist_ok=True)
    from mane.salon.doors import OpenSalon

    with OpenSalon(
        program, folder=args.output, second=args.split, host=args.host, port=args.port, threads=args.threads
    ) as salon:
        progress_line(f"salon at {salon.address}   (Ctrl-C ends it)")
        if not args.no_browser:
            webbrowser.open(salon.address)
        try:
            while salon.is_alive:
                time.sleep(0.2)
        except KeyboardInterrupt:
            return 0
        if salon.error:
            raise ValueError(salon.error)
    raise ValueError("the simulation has ended by itself")
