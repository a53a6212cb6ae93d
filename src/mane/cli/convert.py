"""`mane convert`: a groom or a mesh from one format, unit and up axis to another."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mane.cli._frames import FrameProgress
from mane.cli._option_names import INPUT_NAMES, called
from mane.cli._waiting import busy
from mane.cli.info import add_input_arguments, add_up

if TYPE_CHECKING:
    from mane.groom.groom import Groom
    from mane.io.time_samples import TimeSampledGroom

DESCRIPTION = """\
Write a groom in another format, chosen by the suffix of the output, with other units, axes, vertex counts or only its
guides. Motion is kept where the output has room for it: USD, and Alembic (.abc, which needs Blender: docs/blender.md).
Damaged strands are mended or left out, and counted. Meshes are converted too, to .obj or .ply.
"""
EXAMPLES = """\
examples:
  mane convert curly.usd curly.hair
  mane convert wCurly.hair curly.usd --from-up z --unit cm --up y
  mane convert dense.npz guides.usd --guides 128 --resample 16
  mane convert animated.usd frame12.npz --time 12
  mane convert animated.usd animated.abc
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
    parser.add_argument(
        "output", metavar="B", help="file to write: .usd .usda .usdc .abc .hair .data .npz, or .obj .ply"
    )
    parser.add_argument("--unit", metavar="UNIT", help="unit of the output: m (default), cm, mm, in, 0.1in, ...")
    add_up(parser, "--up", "up axis of the output, y by default; USD has y and z")
    add_input_arguments(parser)
    parser.add_argument("--resample", metavar="N", type=int, help="give every strand N vertices, evenly spaced")
    parser.add_argument("--guides", metavar="N", type=int, help="keep only N guides, chosen to stand for the rest")
    parser.add_argument("--seed", metavar="S", type=int, default=0, help="seed of the choice of guides (0)")
    parser.add_argument("--time", metavar="T", type=float, help="time code of an animated USD file (its first)")
    parser.set_defaults(run=run, names={"n": "--guides", "vertices": "--resample"})


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
    from mane.io.formats import MOVING
    from mane.io.grooms import write_groom
    from mane.io.notices import tell_one_moment

    with _opened(args) as samples:
        with busy(f"reading {args.input}"), called(INPUT_NAMES):
            first = samples.at(args.time)
        change = _Change(args, first)
        groom = change(first)
        count = f"{groom.strand_count:,} strands with {groom.point_count:,} points"
        if len(samples.times) > 1 and args.time is None and Path(args.output).suffix.lower() in MOVING:
            if samples.changes_at is not None:
                raise ValueError(
                    f"{args.input}: has other strands from time {samples.changes_at:g} on, and strands that move "
                    "must stay the same; convert one moment by --time"
                )
            _write_motion(args, samples, change, groom)
            return f"{count}, {len(samples.times)} frames"
        if args.time is None:
            remedy = "write USD or Alembic to keep all, or choose one by --time"
            tell_one_moment(args.input, samples.times, samples.first, remedy)
    with busy(f"writing {args.output}"):
        write_groom(args.output, groom, unit=args.unit, up=args.up)
    return count


def _write_motion(args: argparse.Namespace, samples: TimeSampledGroom, change: _Change, first: Groom) -> None:
    """Write every moment, as a USD stage with one file per frame or, by way of one, as Alembic."""
    from tempfile import TemporaryDirectory

    from mane.io import alembic
    from mane.io.grooms import in_frame
    from mane.io.usd import UsdSequenceWriter

    def write(stage: Path, in_file: Callable[[Groom], Groom], unit: str | None, up: str | None) -> None:
        shape = in_file(first)
        rest, shape = shape.vertex.get("rest"), shape.with_vertex(rest=None)
        with FrameProgress(f"writing {args.output}", len(samples.times)) as progress:
            rate = samples.rate
            with UsdSequenceWriter.new(stage, shape, unit=unit, up=up, rest=rest, time_codes_per_second=rate) as writer:
                for time in samples.times:
                    writer.write(time, in_file(change(samples.at(time))).points)
                    progress.advance()

    if Path(args.output).suffix.lower() != alembic.SUFFIX:
        write(Path(args.output), lambda groom: groom, args.unit, args.up)
        return
    with TemporaryDirectory(prefix="mane-") as folder:
        stage = Path(folder, "hair.usda")
        write(stage, lambda groom: in_frame(groom, args.unit or "m", args.up or "y"), "m", "y")
        with busy(f"writing {args.output}"):
            alembic.write_from_usd(args.output, stage, rate=samples.rate)


class _Change:
    """What is asked for besides another format, the same for every moment."""

    def __init__(self, args: argparse.Namespace, first: Groom) -> None:
        from mane.groom.select import select_guides

        self._vertices, self._chosen = args.resample, None
        if args.guides is not None:
            with busy(f"choosing {args.guides} guides"):
                self._chosen = select_guides(first, args.guides, seed=args.seed).source

    def __call__(self, groom: Groom) -> Groom:
        from mane.groom.resample import resample

        if self._chosen is not None:
            groom = groom.take(self._chosen).with_strand(is_guide=[True] * len(self._chosen))
        return groom if self._vertices is None else resample(groom, vertices=self._vertices).groom


@contextmanager
def _opened(args: argparse.Namespace) -> Iterator[TimeSampledGroom]:
    """Give the moments of the input; an Alembic file becomes a USD stage meanwhile."""
    from mane.io import alembic
    from mane.io.time_samples import TimeSampledGroom

    options = {"unit": args.from_unit, "up": args.from_up, "points_per_strand": args.points_per_strand}
    if Path(args.input).suffix.lower() != alembic.SUFFIX:
        with called(INPUT_NAMES):
            samples = TimeSampledGroom(args.input, **options)
        yield samples
        return
    with ExitStack() as stack:
        with busy(f"opening {args.input} in Blender"):
            stage = stack.enter_context(alembic.opened_as_usd(args.input))
        yield TimeSampledGroom(stage, is_alembic=True, **options)


def _convert_mesh(args: argparse.Namespace) -> str:
    import warnings

    from mane.io.formats import USD_SUFFIXES
    from mane.io.meshes import read_mesh, unread_uvs, write_mesh
    from mane.io.notices import LossNotice, tell_one_moment

    for name in ("resample", "guides", "points_per_strand"):
        if getattr(args, name) is not None:
            raise ValueError(f"--{name.replace('_', '-')}: is for grooms, {args.output} is a mesh")
    with busy(f"reading {args.input}"), called(INPUT_NAMES):
        mesh = read_mesh(args.input, unit=args.from_unit, up=args.from_up, time=args.time)
        lost = unread_uvs(args.input, mesh)
    if lost is not None:
        warnings.warn(f"{args.input}: {lost}", LossNotice, stacklevel=2)
    if args.time is None and Path(args.input).suffix.lower() in USD_SUFFIXES:
        from mane.io.usd.sampled_times import sampled_times

        tell_one_moment(args.input, sampled_times(args.input, "Mesh"), None, "choose another by --time")
    with busy(f"writing {args.output}"):
        write_mesh(args.output, mesh, unit=args.unit, up=args.up)
    return f"{mesh.face_count:,} triangles on {mesh.vertex_count:,} vertices"
