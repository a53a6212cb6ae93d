"""`mane convert`: a groom or a mesh from one format, unit and up axis to another."""

from __future__ import annotations

import argparse
import sys

from mane.cli._waiting import busy
from mane.cli.info import add_input_arguments

DESCRIPTION = """\
Write a groom in another format, chosen by the suffix of the output, with other units, axes, vertex counts or only its
guides. Damaged strands are mended or left out, and counted. Meshes are converted too, to .obj or .ply.
"""
EXAMPLES = """\
examples:
  mane convert curly.usd curly.hair
  mane convert wCurly.hair curly.usd --from-up z --unit cm --up y
  mane convert dense.npz guides.usd --guides 128 --resample 16
  mane convert animated.usd frame12.npz --time 12
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "convert",
        help="write a groom or mesh in another format, unit or up axis",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("input", metavar="A", help="groom or mesh to read")
    parser.add_argument("output", metavar="B", help="file to write: .usd .usda .usdc .hair .data .npz, or .obj .ply")
    parser.add_argument("--unit", metavar="UNIT", help="unit of the output: m (default), cm, mm, in, 0.1in, ...")
    parser.add_argument("--up", metavar="AXIS", choices=("y", "z"), help="up axis of the output: y (default) or z")
    add_input_arguments(parser)
    parser.add_argument("--resample", metavar="N", type=int, help="give every strand N vertices, evenly spaced")
    parser.add_argument("--guides", metavar="N", type=int, help="keep only N guides, chosen to stand for the rest")
    parser.add_argument("--seed", metavar="S", type=int, default=0, help="seed of the choice of guides (0)")
    parser.add_argument("--time", metavar="T", type=float, help="time code of an animated USD file (its first)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read, change and write; nothing is left behind when any of it fails."""
    from mane.io import meshes
    from mane.io.atomic import check_writable
    from mane.io.formats import WRITABLE, suffix_of

    suffix = suffix_of(args.output, (*WRITABLE, *meshes.WRITABLE), "write")
    check_writable(args.output)
    summary = _convert_mesh(args) if suffix in meshes.WRITABLE else _convert_groom(args)
    sys.stdout.write(f"{args.output}: {summary}, {args.unit or 'm'}, {(args.up or 'y').upper()} up\n")
    return 0


def _convert_groom(args: argparse.Namespace) -> str:
    from mane.groom.resample import resample
    from mane.groom.select import select_guides
    from mane.io.grooms import read_groom, write_groom

    with busy(f"reading {args.input}"):
        groom = read_groom(
            args.input,
            unit=args.from_unit,
            up=args.from_up,
            points_per_strand=args.points_per_strand,
            time=args.time,
        )
    if args.guides is not None:
        with busy(f"choosing {args.guides} guides"):
            chosen = select_guides(groom, args.guides, seed=args.seed).source
            groom = groom.take(chosen).with_strand(is_guide=[True] * len(chosen))
    if args.resample is not None:
        groom = resample(groom, vertices=args.resample).groom
    with busy(f"writing {args.output}"):
        write_groom(args.output, groom, unit=args.unit, up=args.up)
    return f"{groom.strand_count:,} strands with {groom.point_count:,} points"


def _convert_mesh(args: argparse.Namespace) -> str:
    from mane.io.meshes import read_mesh, write_mesh

    for name in ("resample", "guides", "points_per_strand"):
        if getattr(args, name) is not None:
            raise ValueError(f"--{name.replace('_', '-')}: is for grooms, {args.output} is a mesh")
    with busy(f"reading {args.input}"):
        mesh = read_mesh(args.input, unit=args.from_unit, up=args.from_up, time=args.time)
    with busy(f"writing {args.output}"):
        write_mesh(args.output, mesh, unit=args.unit, up=args.up)
    return f"{mesh.face_count:,} triangles on {mesh.vertex_count:,} vertices"
