"""`mane repair`: damaged strands mended or left out, strands inside the body brought out of it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from mane.cli._option_names import BODY_NAMES, INPUT_NAMES, add_any_scale, called, require_fit
from mane.cli._waiting import busy
from mane.cli.info import add_input_arguments, add_up

DESCRIPTION = """\
Mend a groom. Lost points are filled in, doubled ones merged, strands that cannot be saved are left out; all others come
through bit for bit. With --body, strands that start or run inside the mesh are brought out of it with their lengths
kept. What was done is printed.
"""
EXAMPLES = """\
examples:
  mane repair scan.bin scan.usd --body head.obj
  mane repair haircut.ply clean.npz --body head.obj --from-unit cm --body-unit cm --clearance 0.5mm
  mane repair mohawk.tfx mohawk.hair --min-length 1mm
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "repair",
        help="mend damaged strands and bring strands out of the body",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("input", metavar="A", help="groom to read")
    parser.add_argument("output", metavar="B", help="file to write: .usd .usda .usdc .hair .data .npz")
    parser.add_argument("--body", metavar="MESH", help="mesh that hair must stay out of: .obj .ply .stl .glb .usd ...")
    parser.add_argument("--body-unit", metavar="UNIT", help="unit of the mesh (m or as stated)")
    add_up(parser, "--body-up", "up axis of the mesh (y or as stated)")
    parser.add_argument("--clearance", metavar="LENGTH", default="0", help="how far off the body hair must stay (0)")
    parser.add_argument("--min-length", metavar="LENGTH", default="1e-6m", help="leave out shorter strands (1e-6m)")
    parser.add_argument("--unit", metavar="UNIT", help="unit of the output: m (default), cm, mm, in, ...")
    add_up(parser, "--up", "up axis of the output, y by default; USD has y and z")
    add_input_arguments(parser)
    add_any_scale(parser)
    parser.add_argument("--time", metavar="T", type=float, help="time code of an animated USD file (its first)")
    parser.add_argument("--json", action="store_true", help="print one JSON object with both reports")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read, mend, write and report; nothing is left behind when any of it fails."""
    from mane.io.atomic import check_writable
    from mane.io.formats import WRITABLE, suffix_of
    from mane.io.grooms import read_repaired, write_groom

    suffix_of(args.output, WRITABLE, "write as a groom")
    check_writable(args.output)
    clearance, min_length = _length("--clearance", args.clearance), _length("--min-length", args.min_length)
    with busy(f"reading {args.input}"), called(INPUT_NAMES):
        groom, mended = read_repaired(
            args.input,
            unit=args.from_unit,
            up=args.from_up,
            points_per_strand=args.points_per_strand,
            time=args.time,
            min_length=min_length,
        )
    _tell_moments(args)
    moved = None
    if args.body is not None:
        groom, moved = _out_of_body(args, groom, clearance)
    with busy(f"writing {args.output}"):
        write_groom(args.output, groom, unit=args.unit, up=args.up)
    if args.json:
        report = {
            "input": args.input,
            "output": args.output,
            "repair": mended.to_dict(),
            "depenetrate": None if moved is None else moved.to_dict(),
        }
        sys.stdout.write(json.dumps(report, indent=2, allow_nan=False) + "\n")
    else:
        sys.stdout.write("\n".join([mended.summary(), *([] if moved is None else [moved.summary()])]) + "\n")
    return 0


def _out_of_body(args: argparse.Namespace, groom: Any, clearance: float) -> tuple[Any, Any]:
    from mane.body.solid import Solid
    from mane.groom.depenetrate import depenetrate
    from mane.io.meshes import read_mesh

    with busy(f"measuring {args.body}"), called(BODY_NAMES):
        mesh = read_mesh(args.body, unit=args.body_unit, up=args.body_up)
        require_fit(args, args.input, groom, mesh)
        body = Solid(mesh)
    with busy("bringing strands out of the body"):
        return depenetrate(groom, body, clearance=clearance)


def _tell_moments(args: argparse.Namespace) -> None:
    """Warn of motion that is not used."""
    from mane.io.formats import USD_SUFFIXES
    from mane.io.notices import tell_one_moment
    from mane.io.usd.sampled_times import sampled_times

    if args.time is None and Path(args.input).suffix.lower() in USD_SUFFIXES:
        times = sampled_times(args.input, "BasisCurves")
        tell_one_moment(args.input, times, None, "choose another by --time")
    if args.body is not None and Path(args.body).suffix.lower() in USD_SUFFIXES:
        tell_one_moment(args.body, sampled_times(args.body, "Mesh"), None, "hair leaves the body as it is then")


def _length(option: str, text: str) -> float:
    """Return a length in metres, given as a number of metres or with a unit: 0.001, 1mm."""
    from mane.io.units import metres_per_unit

    if text.strip("0.") == "":
        return 0.0
    try:
        return metres_per_unit(text)
    except ValueError:
        raise ValueError(f"{option}: must be a length such as 0.001 or 1mm, got {text!r}") from None
