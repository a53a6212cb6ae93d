"""Messages call things by the options of the command, not by the arguments of the functions behind it."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mane.body.mesh import Mesh
    from mane.groom.groom import Groom

# What arguments of the readers are called on the command line.
INPUT_NAMES = {
    "unit": "--from-unit",
    "up": "--from-up",
    "points_per_strand": "--points-per-strand",
    "time": "--time",
    "body_unit": "--body-unit",
    "body_up": "--body-up",
}
BODY_NAMES = {"unit": "--body-unit", "up": "--body-up"}


OVERRIDE = "--any-scale"


def add_any_scale(parser: argparse._ActionsContainer) -> None:
    """Add the option that takes hair and body of any size."""
    parser.add_argument(
        OVERRIDE, action="store_true", help="take hair and body of any size, also such as cannot belong together"
    )


def require_fit(args: argparse.Namespace, hair_path: str, groom: Groom, mesh: Mesh) -> None:
    """Refuse hair and body that cannot belong together, unless told otherwise, with the options that mend it."""
    from mane.io import fit

    if args.any_scale:
        return
    hair = fit.ReadFile(hair_path, args.from_unit, args.from_up, "--from-unit {}", "--from-up {}")
    is_file = os.path.exists(args.body)
    body = fit.ReadFile(args.body, args.body_unit, args.body_up, "--body-unit {}", "--body-up {}") if is_file else None
    fit.require_fit(groom, mesh, hair=hair, body=body, override=OVERRIDE)


@contextmanager
def called(names: Mapping[str, str]) -> Iterator[None]:
    """Let notices and errors of readers inside call arguments by these options."""
    from mane.io.notices import spelled

    try:
        with spelled(names):
            yield
    except ValueError as error:
        raise ValueError(with_option_names(str(error), names)) from error


def with_option_names(text: str, names: Mapping[str, str]) -> str:
    """The message with the argument that it is about, such as `unit: ...`, replaced by its option."""
    for found in re.finditer(r"(?:^|: )([a-z_]+)(?=: )", text):
        if found.group(1) in names:
            return text[: found.start(1)] + names[found.group(1)] + text[found.end(1) :]
    return text
