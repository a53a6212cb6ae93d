"""`mane bench`: how fast and how good, beside a peer or a baseline in the same run."""

from __future__ import annotations

import argparse

from mane.cli import _measuring
from mane.measure import BENCHMARKS


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "bench",
        help="measure speed and quality beside a baseline",
        description="Measure speed and quality, side by side with a peer or a baseline in the same run. "
        "Run nothing else meanwhile. Exit code 1 when a target is missed.",
        epilog="example: mane bench guides --json > guides.json",
    )
    _measuring.add_arguments(parser, BENCHMARKS, "benchmark")
    parser.set_defaults(run=lambda args: _measuring.measure(args, BENCHMARKS))
