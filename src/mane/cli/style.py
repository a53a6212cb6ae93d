"""`mane style`: make a procedural groom, write it, draw it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from mane.cli._measuring import progress_line

EPILOG = """\
examples:
  mane style --list                                     every style with its options
  mane style curly --strands 100000 -o curly.usd        write a groom
  mane style straight --set length=0.3 --picture s.png  shorter, and look at it
  mane style --sheet styles.png                         all of them on one sheet
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "style",
        help="make a procedural groom",
        description="Make a procedural groom: seeded, any strand count. The same seed gives the same bytes.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="which style; see --list")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="groom to write (.usd, .hair, .npz, ...)")
    parser.add_argument("--picture", type=Path, metavar="PNG", help="draw it from two sides")
    parser.add_argument("--strands", type=int, default=20_000, metavar="N", help="how many (default: %(default)s)")
    parser.add_argument("--vertices", type=int, metavar="V", help="points per strand (default: as the style needs)")
    parser.add_argument("--seed", type=int, default=0, metavar="K", help="another seed, another head of hair")
    parser.add_argument(
        "--set", dest="options", action="append", default=[], metavar="NAME=NUMBER", help="an option of the style"
    )
    parser.add_argument("--list", action="store_true", help="list the styles with their options and stop")
    parser.add_argument("--sheet", type=Path, metavar="FILE", help="draw every style on one sheet (.png or .jpg)")
    parser.add_argument(
        "--looks", type=Path, metavar="FILE", help="draw three styles in three colours on one sheet (.png or .jpg)"
    )
    parser.add_argument("--json", action="store_true", help="print what was made as one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Make, write and draw what was asked for."""
    if args.list:
        sys.stdout.write(list_styles())
        return 0
    if args.sheet or args.looks:
        from mane.render.gallery import draw_looks, draw_sheet

        for path, draw in ((args.sheet, draw_sheet), (args.looks, draw_looks)):
            if path:
                _write_picture(path, draw(strands=args.strands, seed=args.seed, progress=progress_line))
        return 0
    if args.name is None:
        raise ValueError("style: name a style; `mane style --list` shows them")
    return _make_one(args)


def _make_one(args: argparse.Namespace) -> int:
    from mane.groom import styles

    groom = styles.make(
        args.name, strands=args.strands, vertices=args.vertices, seed=args.seed, **_parse_options(args.options)
    )
    if args.output:
        from mane.io import write_groom

        write_groom(args.output, groom)
    if args.picture:
        from mane.render.gallery import draw_style
        from mane.render.sheet import write_png

        write_png(args.picture, draw_style(args.name, groom))
    facts: dict[str, Any] = {
        "style": args.name,
        "strands": groom.strand_count,
        "points": groom.point_count,
        "length_mean": round(float(groom.lengths.mean()), 4),
        "files": [str(path) for path in (args.output, args.picture) if path],
    }
    sys.stdout.write(_as_json(facts) if args.json else _as_text(facts))
    return 0


def _write_picture(path: Path, image: Any) -> None:
    from mane.render.sheet import write_jpeg, write_png

    write = write_jpeg if path.suffix.lower() in (".jpg", ".jpeg") else write_png
    write(path, image)
    sys.stdout.write(f"{path}\n")


def list_styles() -> str:
    """Return one line per style: name, summary, options with their defaults."""
    from mane.groom.styles import STYLES

    lines = []
    for style in STYLES.values():
        options = ", ".join(f"{name}={value:g}" for name, value in style.options.items())
        lines.append(f"{style.name:<10}{style.summary:<52}{options}")
    return "\n".join(lines) + "\n"


def _parse_options(pairs: list[str]) -> dict[str, float]:
    options = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        try:
            options[name] = float(value)
        except ValueError:
            equals = ""
        if not equals:
            raise ValueError(f"--set: must be NAME=NUMBER, got {pair!r}")
    return options


def _as_json(facts: dict[str, Any]) -> str:
    import json

    return json.dumps(facts, indent=2) + "\n"


def _as_text(facts: dict[str, Any]) -> str:
    size = f"{facts['style']}: {facts['strands']:,} strands, {facts['points']:,} points, "
    size += f"{100 * facts['length_mean']:.1f} cm long on average"
    return "\n".join([size, *facts["files"]]) + "\n"
