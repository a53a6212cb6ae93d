"""`mane demo`: the main job once through, with something to look at at the end."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mane.cli._run_bar import RunBar
from mane.cli._starting import without_collecting

if TYPE_CHECKING:
    from mane.scene.build import Assembly
    from mane.scene.cache import Cache

Result = TypeVar("Result")

USD_STRANDS = 10_000  # of the head go into the USD stage: 2 MB per frame instead of 20

SCENE = """\
# The scene of `mane demo`. Change it and run it again: mane simulate {file} --restart
seed = 1

[groom]
style = "curly"
strands = {strands}
vertices = 16
length = 0.18

[guides]
count = {guides}
vertices = 16

[frames]
end = {frames}

[head]
motion = "shake"
amplitude = 0.36
rate = 1.8
ease_in = 0.3
stop = 1.1

# The spine is upright, the teeth point at the head: the comb goes through the hair beside the face, to the back.
[[solids]]
prop = "comb"
rotation_vector = [0.0, 0.0, -1.5708]
keyframes = [[0.6, 0.6, 0.0, 0.12], [1.0, 0.15, 0.0, 0.1], [1.7, 0.145, -0.02, -0.1], [2.0, 0.2, -0.03, -0.22]]

[strand]
material = "curly"

[skin]
method = "physical"
binding = "clump"

[camera]
size = [960, 540]
finest = 0.2

[output]
cache = "demo.cache"
movie = "demo.mp4"
pictures = "pictures"
every = {every}
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "demo",
        help="see it work: a full head through a head shake and a comb, as a movie",
        description="Simulate a full head of curly hair through a head shake with a comb passing through: a movie, a "
        "picture of two ways to carry the hair side by side, a USD stage, and the scene file to go on from.",
        epilog="example: mane demo -o out --strands 20000 --frames 24",
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("out"), metavar="DIR", help="folder for the results")
    parser.add_argument("--strands", type=int, default=100_000, metavar="N", help="how many (default: %(default)s)")
    parser.add_argument("--frames", type=int, default=48, metavar="N", help="how many (default: %(default)s)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the demo and say where the results are and how long each stage took."""
    for name, least in (("strands", 1), ("frames", 2)):
        if getattr(args, name) < least:
            raise ValueError(f"--{name}: must be at least {least}, got {getattr(args, name)}")
    stages = Stages()
    assembly, cache = _simulate(args, stages)
    from mane.cli._demo_pictures import compare_skins, draw_stills

    drawn, rate = cache.frames[:: assembly.scene.output.every], assembly.scene.frames.rate
    moments = draw_stills(args.output / "pictures", drawn, rate, args.output / "moments.png")
    still, table = stages.run("compare skins", lambda: compare_skins(assembly, cache, args.output / "skins.png"))
    stage = stages.run("write USD", lambda: _write_usd(assembly, cache, args.output / "demo.usda"))
    files = {
        args.output / "demo.mp4": f"{len(cache.frames)} frames of {assembly.hair.groom.strand_count:,} strands",
        moments: "moments of it",
        still: "the linear and the physical skin, side by side",
        stage: f"{min(USD_STRANDS, args.strands):,} of the strands, moving",
        cache.path: f"the {assembly.guides.count} guides; mane bake {cache.path} -o all.usda makes every hair",
        args.output / "demo.toml": "the scene, to change and run again",
    }
    width = max(len(str(file)) for file in files)
    sys.stdout.write(f"{table}\n\n{stages.summary()}\n\n")
    sys.stdout.write("".join(f"{file!s:<{width}}  {what}\n" for file, what in files.items()))
    return 0


def _simulate(args: argparse.Namespace, stages: Stages) -> tuple[Assembly, Cache]:
    """Write the scene, build it and run it: guides into the cache, every hair into the movie."""
    with without_collecting():
        from mane.scene.build import build
        from mane.scene.cache import Cache
        from mane.scene.loop import drawing_for, run_assembly
        from mane.scene.outputs import check_output
        from mane.scene.scene_file import read_scene

        scene = read_scene(_write_scene(args))
    check_output(scene, resume=False, restart=True)
    with drawing_for(scene) as drawing, RunBar("demo") as bar:
        with without_collecting():
            assembly = stages.run("grow and choose guides", lambda: build(scene))
        sys.stderr.write("mane: simulate and draw ...\n")
        summary = run_assembly(assembly, progress=bar.tell, drawing=drawing)
    beside = {f"{name} (meanwhile)": seconds for name, seconds in summary.beside.items()}
    stages.seconds |= {"bind": summary.setup.get("bind skin", 0.0), **summary.stages, **beside}
    return assembly, Cache.open(args.output / "demo.cache")


def _write_scene(args: argparse.Namespace) -> Path:
    """Write the scene of the demo and return its file."""
    args.output.mkdir(parents=True, exist_ok=True)
    file: Path = args.output / "demo.toml"
    guides, every = min(128, args.strands), max(1, args.frames // 4)
    text = SCENE.format(file=file, strands=args.strands, guides=guides, frames=args.frames, every=every)
    file.write_text(text, encoding="utf-8")
    return file


def _write_usd(assembly: Assembly, cache: Cache, file: Path) -> Path:
    from mane.scene.loop import play_cache
    from mane.scene.sinks import UsdSink

    count = min(USD_STRANDS, assembly.hair.source.strand_count)
    some = assembly.with_hair(assembly.hair.thinned(count, assembly.scene.seed))
    play_cache(cache, some, [UsdSink(file, some)], cache.frames)
    return file


class Stages:
    """Runs the stages of a job, saying what it does on standard error and remembering how long each took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._began = time.perf_counter()

    def run(self, name: str, work: Callable[[], Result]) -> Result:
        """Run one stage and return its result."""
        sys.stderr.write(f"mane: {name} ...\n")
        started = time.perf_counter()
        result = work()
        self.seconds[name] = time.perf_counter() - started
        return result

    def summary(self) -> str:
        """The seconds of every stage, and of all together."""
        lines = [f"{name:<24}{seconds:>8.1f} s" for name, seconds in self.seconds.items() if seconds >= 0.05]
        return "\n".join([*lines, f"{'in all':<24}{time.perf_counter() - self._began:>8.1f} s"])
