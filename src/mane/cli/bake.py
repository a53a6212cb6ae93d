"""`mane bake`: the full head from a cache of guides, with its own skin or another."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from mane.cli._cluster_arguments import add_cluster, check_cluster, is_spread, workers_text
from mane.cli._dataset_bar import CountBar
from mane.cli._run_bar import RunBar, print_summary
from mane.cli._scene_arguments import add_command, add_settings, add_telling
from mane.cli._waiting import busy

if TYPE_CHECKING:
    from mane.scene.cache import Cache
    from mane.scene.config import OutputTable, Scene

DESCRIPTION = """\
Make every hair from the guides of a cache that `mane simulate` wrote: with the skin of its scene or another, all frames
or every so many, all strands or some, as a new USD stage or as a layer over the groom's own file.
"""
EXAMPLES = """\
examples:
  mane bake curls.cache -o curls.usda
  mane bake curls.cache -o preview.usda --strands 2000 --every 2
  mane bake curls.cache -o linear.usda --skin linear
  mane bake hero.cache -o hero_hair.usda --layer
  mane bake curls.cache --movie curls.mp4 --set camera.direction=rear
  mane bake shot.cache --movie shot.mp4 --workers 8                     frames shared out over this machine
  mane bake shot.cache -o shot.usda --scheduler tcp://head-node:8786    or over a Dask cluster
"""
BAKED_TABLES = ("skin", "finish", "passes", "camera")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = add_command(subparsers, "bake", "make the full head from a cache", DESCRIPTION, EXAMPLES)
    parser.add_argument("cache", metavar="CACHE", type=Path, help="folder that `mane simulate` wrote")
    parser.add_argument("-o", "--output", metavar="USD", type=Path, help="stage to write (.usd, .usda, .usdc)")
    parser.add_argument("--layer", action="store_true", help="write it as a layer over the groom's own USD file")
    parser.add_argument("--movie", metavar="MP4", type=Path, help="movie to write")
    parser.add_argument("--pictures", metavar="DIR", type=Path, help="folder for pictures")
    parser.add_argument("--metrics", metavar="JSON", type=Path, help="quality of every frame")
    parser.add_argument("--water", metavar="USD", type=Path, help="surface of the water of every frame")
    parser.add_argument("--skin", metavar="NAME", help="another skin; `mane new` lists them")
    parser.add_argument("--every", metavar="N", type=int, default=1, help="every so many frames (1)")
    parser.add_argument("--strands", metavar="N", type=int, help="a random choice of so many strands")
    add_settings(parser, "another setting of skin, finish or camera, e.g. skin.alpha=0.2")
    add_cluster(parser, "all in this process, one frame after the other")
    add_telling(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Bake and say what was done."""
    if args.every < 1:
        raise ValueError(f"--every: must be at least 1, got {args.every}")
    if args.layer and args.strands is not None:
        raise ValueError("--layer: must be left out with --strands, for a layer moves all strands of the file")
    check_cluster(args)
    with busy(f"reading {args.cache}"):
        from mane.scene.cache import Cache
        from mane.scene.loop import bake_cache

        cache = Cache.open(args.cache)
        output = _output(args)
        scene = _scene(args, cache, output)
    if is_spread(args):
        return _spread(args, output, scene)
    with RunBar("baking", quiet=args.quiet) as bar:
        summary = bake_cache(cache, output, scene=scene, strands=args.strands, every=args.every, progress=bar.tell)
    return print_summary(summary, as_json=args.json, quiet=args.quiet, simulated=False)


def _spread(args: argparse.Namespace, output: OutputTable, scene: Scene) -> int:
    """Bake on workers, and say what was done."""
    from mane.dataset.spread import BakeRequest, bake_on_cluster

    scene = dataclasses.replace(scene, folder=scene.folder.absolute())  # workers may stand elsewhere
    request = BakeRequest(str(args.cache.absolute()), output, scene, args.strands, args.every, args.threads)
    with CountBar("baking", "frames", quiet=args.quiet) as bar:
        summary = bake_on_cluster(
            request,
            workers=args.workers,
            scheduler=args.scheduler,
            progress=lambda now: bar.tell(now.done, now.count, workers_text(now)),
        )
    return print_summary(summary, as_json=args.json, quiet=args.quiet, simulated=False)


def _output(args: argparse.Namespace) -> OutputTable:
    """What is to be written; paths are seen from here, not from the scene."""
    from mane.io.atomic import check_writable
    from mane.scene.config import OutputTable

    paths = {"usd": args.output, **{name: getattr(args, name) for name in ("movie", "pictures", "metrics", "water")}}
    given = {name: str(path.absolute()) for name, path in paths.items() if path is not None}
    if not given:
        raise ValueError("bake: name something to write: -o, --movie, --pictures, --metrics or --water")
    for name, path in given.items():
        if name != "pictures":
            check_writable(path)
    return dataclasses.replace(OutputTable(usd_layer=args.layer), **given)  # type: ignore[arg-type]


def _scene(args: argparse.Namespace, cache: Cache, output: OutputTable) -> Scene:
    """The scene of the cache with what is asked for in place of its own."""
    from mane.scene.scene_file import overridden

    settings = list(args.settings)
    for setting in settings:
        if setting.partition(".")[0] not in BAKED_TABLES:
            raise ValueError(
                f"--set {setting.partition('=')[0]}: must be a key of {', '.join(BAKED_TABLES)}; the rest is baked in"
            )
    scene = cache.scene
    if args.skin is not None and args.skin != scene.skin.method:
        # Settings of one method mean nothing to another.
        scene = dataclasses.replace(scene, skin=type(scene.skin)(args.skin))
    return dataclasses.replace(overridden(scene, settings), output=output)
