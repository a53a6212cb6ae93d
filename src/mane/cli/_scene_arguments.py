"""What the commands that run scenes share: how they are registered, and the arguments that all of them take."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_command(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    description: str,
    examples: str,
    *,
    add_help: bool = True,
) -> argparse.ArgumentParser:
    """Register a subcommand whose help keeps the lines of its description and examples.

    One without `add_help` has a `--help` of its own.
    """
    return subparsers.add_parser(
        name,
        help=summary,
        description=description,
        epilog=examples,
        add_help=add_help,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_scene(parser: argparse.ArgumentParser) -> None:
    """Add the scene file, and what stands in place of its settings."""
    parser.add_argument("scene", metavar="SCENE", type=Path, help="scene file (.toml); `mane new` writes one")
    add_settings(parser, "in place of what the file says")


def add_settings(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Add `--set`, which may be given several times."""
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE", help=meaning)


def add_telling(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say what is shown."""
    parser.add_argument("--quiet", action="store_true", help="show nothing but errors")
    parser.add_argument("--json", action="store_true", help="print the summary as one JSON object")
