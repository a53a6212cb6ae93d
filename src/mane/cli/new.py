"""`mane new`: write a scene file to start from, or what editors and readers need to know of scene files."""

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
        epilog="examples: mane new curls && mane simulate curls.toml; mane new creature is a furred animal that walks; "
        "mane new curls --schema for an editor that completes and checks keys",
    )
    parser.add_argument("name", metavar="NAME", type=Path, nargs="?", help="of the scene; NAME.toml is written")
    parser.add_argument("--style", help="procedural style of the hair (default: curly; fox for NAME creature)")
    parser.add_argument("--groom", metavar="FILE", help="a groom file in place of a style")
    parser.add_argument("--force", action="store_true", help="replace a file that is there already")
    parser.add_argument("--schema", action="store_true", help="write mane.schema.json, the JSON schema of scene files")
    parser.add_argument("--keys", action="store_true", help="print a page of all keys: default, unit and effect")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the files and say how to go on."""
    if args.name is None and not (args.schema or args.keys):
        raise ValueError("NAME: is missing; mane new curls writes curls.toml")
    if args.keys:
        from mane.scene.reference import scene_reference

        sys.stdout.write(scene_reference())
    if args.schema:
        _write_schema(args)
    if args.name is not None:
        _write_scene(args)
    return 0


def _write_scene(args: argparse.Namespace) -> None:
    from mane.io.atomic import atomic_write
    from mane.scene.starter import schema_line, starter_text

    path = args.name if args.name.suffix == ".toml" else args.name.with_name(args.name.name + ".toml")
    if path.exists() and not args.force:
        raise ValueError(f"{path}: is there already; choose another name, or --force replaces it")
    text = starter_text(path.stem, style=None if args.groom else args.style, file=args.groom)
    with atomic_write(path) as file:
        file.write(((schema_line() if args.schema else "") + text).encode())
    sys.stdout.write(f"{path}\nnow: mane simulate {path}\n")


def _write_schema(args: argparse.Namespace) -> None:
    """Write the schema beside the scene; what is there already is the same, or of another version of mane."""
    from mane.io.atomic import atomic_write
    from mane.scene.schema import SCHEMA_FILE, schema_text

    path = (args.name.parent if args.name is not None else Path()) / SCHEMA_FILE
    with atomic_write(path) as file:
        file.write(schema_text().encode())
    sys.stdout.write(f"{path}\neditors read it where a scene begins with: #:schema {SCHEMA_FILE}\n")
