"""`mane new`: write a scene file to start from."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "new",
        help="write a commented scene file to start from",
        description="Write a scene file that runs as it is, with every key explained. Keys that are commented out "
        "show their defaults.",
        epilog="examples: mane new curls && mane simulate curls.toml; mane new creature is a furred animal that walks",
    )
    parser.add_argument("name", metavar="NAME", type=Path, help="of the scene; NAME.toml is written")
    parser.add_argument("--style", help="procedural style of the hair (default: curly; fox for NAME creature)")
    parser.add_argument("--groom", metavar="FILE", help="a groom file in place of a style")
    parser.add_argument("--force", action="store_true", help="replace a file that is there already")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the file and say how to go on."""
    from mane.io.atomic import atomic_write
    from mane.scene.starter import starter_text

    path = args.name if args.name.suffix == ".toml" else args.name.with_name(args.name.name + ".toml")
    if path.exists() and not args.force:
        raise ValueError(f"{path}: is there already; choose another name, or --force replaces it")
    text = starter_text(path.stem, style=None if args.groom else args.style, file=args.groom)
    with atomic_write(path) as file:
        file.write(text.encode())
    sys.stdout.write(f"{path}\nnow: mane simulate {path}\n")
    return 0
