"""`mane validate`: our numbers against formulas and references."""

from __future__ import annotations

import argparse

from mane.cli import _measuring
from mane.measure import VALIDATIONS


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "validate",
        help="compare results with formulas and references",
        description="Compare results with analytic formulas and references: value, reference and promised bound per "
        "case. Exit code 1 when a bound is broken.",
        epilog="example: mane validate sdf; mane validate strands --plot curves",
    )
    _measuring.add_arguments(parser, VALIDATIONS, "validation")
    parser.add_argument("--plot", metavar="DIR", help="draw the curves of a validation that has some into this folder")
    parser.set_defaults(run=lambda args: _measuring.measure(args, VALIDATIONS))
