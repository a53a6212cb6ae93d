"""`mane volume`: the tetrahedral mesh of a shot, made once, that carries any hair afterwards."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from mane.cli._scene_arguments import add_command, add_telling
from mane.cli._waiting import busy

DESCRIPTION = """\
Fill the air around an animated character with tetrahedra and let them follow it through its shot, with inertia and
swing (lee2018's KDSM). Any groom that was made in the character's rest pose then plays through the shot by

  [skin] method = "volume", mesh = "shot.kdsm"

The file is USD (docs/methods/volume.md): a tetrahedral mesh, and its surface for tools that know no tetrahedra. It
may be edited.
"""
EXAMPLES = """\
examples:
  mane volume character.usd -o shot.kdsm --groom fur.usd
  mane volume character.usd -o shot.kdsm --reach 0.08 --spacing 0.03 --frequency 6
  mane volume creature --motion walk -o walk.kdsm --reach 0.06
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = add_command(subparsers, "volume", "make the tetrahedral mesh of a shot", DESCRIPTION, EXAMPLES)
    parser.add_argument("body", metavar="CHARACTER", help="animated body: .usd .abc ..., or creature or bust")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="file to write (.usdc is added)")
    parser.add_argument("--motion", metavar="NAME", default="walk", help="of a character that mane makes (walk)")
    parser.add_argument("--groom", metavar="GROOM", help="hair that the mesh must hold, in the rest pose")
    parser.add_argument("--reach", metavar="METRES", type=float, help="how far from the skin hair is, in place of it")
    parser.add_argument("--cage", metavar="MESH", help="closed mesh to fill, in place of both")
    parser.add_argument("--spacing", metavar="METRES", type=float, help="edge of the lattice's cubes")
    parser.add_argument("--frequency", metavar="HZ", type=float, default=10.0, help="swing of a single node (10)")
    parser.add_argument("--rate", metavar="FPS", type=float, default=24.0, help="samples per second (24)")
    parser.add_argument("--duration", metavar="SECONDS", type=float, help="of the shot (until the animation ends)")
    add_telling(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Make a mesh, step it through the shot and write it."""
    from mane.cli._measuring import progress_line
    from mane.volume.around import covered_share
    from mane.volume.file import kdsm_path, write_kdsm
    from mane.volume.shot import record_shot
    from mane.volume.springs import SpringParams

    params = SpringParams(frequency=args.frequency)
    with busy(f"reading {args.body}"):
        from mane.io.usd.files import check_target

        check_target(kdsm_path(args.output))
        body = _body(args)
    with busy("making the mesh"):
        mesh = _mesh(args, body)

    def tell(done: int, count: int) -> None:
        if not args.quiet and (done == count or done % 24 == 1):
            progress_line(f"stepping the mesh: {done} of {count} samples")

    shot = record_shot(body, mesh, params, rate=args.rate, duration=args.duration, tell=tell)
    file = write_kdsm(args.output, mesh, shot.times, shot.samples, body=body, rate=args.rate)
    covered = covered_share(body)
    facts = {
        "file": str(file),
        "nodes": mesh.node_count,
        "tetrahedra": mesh.tet_count,
        "copies": mesh.copied_count,
        "covered_skin": covered,
        "samples": len(shot.times),
        "density": params.density(mesh.lattice.spacing),
        "smallest_ratio": float(shot.smallest_ratio.min()),
        "most_inverted": int(shot.inverted.max()),
        "left_inverted": int(shot.left.max()),
    }
    if args.json:
        sys.stdout.write(json.dumps(facts, indent=2) + "\n")
    elif not args.quiet:
        sys.stdout.write(
            f"{facts['nodes']:,} nodes, {facts['tetrahedra']:,} tetrahedra ({facts['copies']:,} of them copies), "
            f"{facts['samples']} samples; J at least {facts['smallest_ratio']:.2f}, at most {facts['most_inverted']} "
            f"inverted at once, {facts['left_inverted']} left so\n{file}\n"
        )
        if covered > 0:
            sys.stdout.write(
                f"{args.body}: passes through itself in the rest pose: {100 * covered:.2g} % of its skin lies inside "
                "other skin; hair there follows its own part, and stays inside\n"
            )
    return 0


def _body(args: argparse.Namespace) -> Any:
    from mane.body.characters import CHARACTERS, make_character

    if args.body in CHARACTERS:
        return make_character(args.body).solid(args.motion)
    from mane.io.bodies import read_body

    roots = None if args.groom is None else _groom(args).roots
    body = read_body(args.body, roots=roots)
    if body.animation is None:
        raise ValueError(f"{args.body}: does not move; a mesh of a shot needs an animated body")
    return body


def _groom(args: argparse.Namespace) -> Any:
    from mane.io.grooms import read_groom

    return read_groom(args.groom)


def _mesh(args: argparse.Namespace, body: Any) -> Any:
    from mane.volume.around import SPARE, default_spacing, hair_reach
    from mane.volume.mesh import mesh_around_body

    spacing = default_spacing(body.skin.points) if args.spacing is None else args.spacing
    groom = None if args.groom is None else _groom(args)
    if args.cage is not None:
        from mane.io.meshes import read_mesh

        return mesh_around_body(body, spacing=spacing, reach=spacing, cage=read_mesh(args.cage), groom=groom)
    if args.reach is None and groom is None:
        raise ValueError("--reach: must say how far from the skin hair is, where there is no --groom and no --cage")
    reach = args.reach if groom is None else hair_reach(groom, body) + SPARE * spacing
    return mesh_around_body(body, spacing=spacing, reach=reach, groom=groom)
