"""`mane render`: pictures and movies of any groom that mane reads."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mane.cli import _render_request as request
from mane.cli._cluster_arguments import add_cluster, check_cluster, is_spread
from mane.cli._frames import FrameProgress
from mane.cli._option_names import INPUT_NAMES, add_any_scale, called, require_fit
from mane.cli._render_spread import draw_on_cluster
from mane.cli._waiting import busy
from mane.cli.info import add_input_arguments, add_up

if TYPE_CHECKING:
    from mane.groom.groom import Groom
    from mane.render.camera import Camera
    from mane.render.debug_looks import DebugPainter
    from mane.render.footage import Footage, FootageFrame
    from mane.render.looks import Look

DESCRIPTION = """\
Draw hair, with the body it grows on, as a picture (.png, .exr) or a movie (.mp4). An animated USD file becomes a movie
or numbered pictures, a still one can be seen from all around. The camera frames everything by itself.
"""
EXAMPLES = """\
examples:
  mane render curly.usd -o curly.png --body bust --look auburn
  mane render wCurly.hair --from-up z -o back.png --direction back --set wetness=0.8
  mane render curly.usd -o around.mp4 --body bust --turntable 90 --size 960x1080
  mane render animated.usd -o shot.mp4 --camera follow
  mane render character.usd -o face.png --frame head --zoom 1.5
  mane render animated.usd -o frame.png --frames 10:20      frame.0010.png to frame.0020.png
  mane render animated.usd -o stretch.mp4 --debug stretch
  mane render curly.usd -o traced.png --renderer mitsuba
  mane render curly.usd --export-mitsuba scene
  mane render shot.usd -o shot.mp4 --workers 8              frames shared out; --scheduler for a Dask cluster
  mane render shot.cache -o shot.mp4                        what was simulated, with its water
  mane render --list                                        the looks
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "render",
        help="draw a groom as a picture or a movie",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="groom of any format, USD with curves or meshes, or a cache"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help="file to write: .png, .exr or .mp4")
    what = parser.add_argument_group("what is seen")
    what.add_argument("--body", metavar="MESH", help="mesh file, `bust`, or `none` (default: the meshes of a USD file)")
    what.add_argument("--body-unit", metavar="UNIT", help="unit of the mesh (m or as stated)")
    add_up(what, "--body-up", "up axis of the mesh (y or as stated)")
    what.add_argument("--frames", metavar="A:B[:STEP]", help="time codes of an animated file, one of them, or `all`")
    what.add_argument("--look", metavar="NAME", help="what the hair is made of (default: its own colours, or brown)")
    what.add_argument(
        "--set", dest="settings", action="append", default=[], metavar="NAME=NUMBER", help="a number of the look"
    )
    what.add_argument("--hair-width", metavar="LENGTH", help="diameter of the hairs, e.g. 0.08mm")
    what.add_argument(
        "--finest",
        metavar="PIXELS",
        type=float,
        default=0.0,
        help="draw hairs thinner than this as fewer, wider ones: 0.15 looks alike and is quicker (default: every hair)",
    )
    what.add_argument(
        "--debug", metavar="KIND", help="false colours: guide, stretch, penetration, weight; or guides alone: guides"
    )
    how = parser.add_argument_group("how it is seen")
    how.add_argument("--size", metavar="WxH", default="1280x720", help="pixels (default: %(default)s)")
    how.add_argument(
        "--direction",
        metavar="FROM",
        default="three-quarter",
        help="three-quarter (default), front, left, right, back, rear, above, top, or x,y,z towards the camera",
    )
    how.add_argument(
        "--frame", metavar="WHAT", default="all", help="what fills the picture: all (default), hair or head"
    )
    how.add_argument("--zoom", metavar="X", type=float, default=1.0, help="so many times larger in the picture (1)")
    how.add_argument("--camera", metavar="PRESET", help="look-at (default), follow or turntable")
    how.add_argument("--turntable", metavar="N", type=int, help="go once around a still groom in N frames")
    how.add_argument("--fps", metavar="R", type=float, help="frames per second of a movie (default: the file's, or 24)")
    how.add_argument("--background", metavar="COLOR", help="#rrggbb, white, black, or none (transparent)")
    how.add_argument("--tone", metavar="CURVE", default="filmic", help="filmic (default) or srgb; .exr is linear")
    how.add_argument("--supersample", metavar="N", type=int, default=2, help="samples per pixel along x and y (2)")
    how.add_argument("--renderer", metavar="NAME", default="mane", help="mane (default) or mitsuba, a path tracer")
    how.add_argument("--samples", metavar="N", type=int, default=64, help="paths per pixel of mitsuba (64)")
    how.add_argument("--export-mitsuba", type=Path, metavar="DIR", help="write the scene as files for Mitsuba 3")
    add_cluster(parser, "all in this process, one frame after the other")
    add_input_arguments(parser)
    add_any_scale(parser)
    parser.add_argument("--list", action="store_true", help="list the looks with their numbers and stop")
    parser.add_argument("--json", action="store_true", help="print what was made as one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Draw what was asked for; nothing half is left behind when any of it fails."""
    if args.list:
        sys.stdout.write(list_looks())
        return 0
    facts = Shoot(args).run()
    sys.stdout.write(json.dumps(facts, indent=2, allow_nan=False) + "\n" if args.json else _as_text(facts))
    return 0


def list_looks() -> str:
    """Return one line per look, with the numbers in which it differs from brown; then every number with its default."""
    from dataclasses import fields

    from mane.render.looks import LOOKS, Look

    plain = Look()
    lines = []
    for name, look in LOOKS.items():
        own = [f.name for f in fields(look) if getattr(look, f.name) != getattr(plain, f.name)]
        lines.append(f"{name:<14}{', '.join(f'{field}={getattr(look, field)}' for field in own)}")
    numbers = ", ".join(f"{name}={getattr(plain, name):g}" for name in request.numbers_of_look())
    return "\n".join([*lines, "", f"numbers for --set: {numbers}"]) + "\n"


class Shoot:
    """One run of the command: everything that can be refused is refused before the first frame is drawn."""

    def __init__(self, args: argparse.Namespace) -> None:
        from mane.render.cameras import direction_of

        self.args = args
        check_cluster(args)
        request.check(args)
        self.size = request.size_of(args.size)
        self.direction = direction_of(args.direction)
        self.settings: dict[str, Any] = request.settings_of(args.settings)
        self.background = request.background_of(args.background)
        self.hair_width = None if args.hair_width is None else request.length_of("--hair-width", args.hair_width)
        self.painter: DebugPainter | None = request.painter_of(args)
        with busy(f"reading {args.file}"), called(INPUT_NAMES):
            self.footage: Footage = request.footage_of(args)
        self.times = request.times_of(args, self.footage)
        self.is_sequence = len(self.times) > 1
        request.check_output(args, is_sequence=self.is_sequence)
        self._frame: FootageFrame | None = None
        if args.body not in (None, "none"):
            first = self.frame(self.times[0])
            if first.groom is not None:
                require_fit(args, args.file, first.groom, first.bodies[0])
        self.summary: str | None = None  # of false colours

    def run(self) -> dict[str, Any]:
        """Draw all frames and return what was done."""
        args = self.args
        started = time.perf_counter()
        cameras = self.cameras()
        files: list[str] = []
        if args.export_mitsuba is not None:
            with busy(f"writing {args.export_mitsuba}"):
                files.append(str(self.export(cameras[0])))
        if args.output is not None:
            files += draw_on_cluster(self, cameras) if is_spread(args) else self.write(self.pictures(cameras))
        seconds = time.perf_counter() - started
        groom = self.frame(self.times[0]).groom
        return {
            "input": args.file,
            "files": files,
            "frames": len(self.times),
            "size": list(self.size),
            "renderer": args.renderer,
            "look": None if args.debug else self.look_name(groom),
            "debug": self.summary,
            "strands": 0 if groom is None else groom.strand_count,
            "points": 0 if groom is None else groom.point_count,
            "camera": {"position": cameras[0].position, "look_at": cameras[0].look_at, "fov": cameras[0].fov},
            "seconds": round(seconds, 3),
        }

    def frame(self, at: float | None) -> FootageFrame:
        """Return what is there at a time; the last one asked for is kept."""
        if self._frame is None or self._frame.time != at:
            self._frame = self.footage.at(at)
        return self._frame

    def cameras(self) -> list[Camera]:
        """One camera per frame, which takes a look at every frame first where something moves."""
        from mane.render.cameras import FRAMED, PRESETS

        args = self.args
        preset = "turntable" if args.turntable is not None else args.camera or "look-at"
        outlines: list[Any] = []
        with FrameProgress("framing", len(self.times) if self.footage.is_moving else 1) as progress:
            for k, at in enumerate(self.times):
                if k and at == self.times[k - 1]:
                    outlines.append(outlines[-1])
                    continue
                frame = self.frame(at)
                outlines.append(FRAMED[args.frame](frame.groom, frame.bodies))
                progress.advance()
        cameras = PRESETS[preset](outlines, direction=self.direction, aspect=self.size[0] / self.size[1])
        return cameras if args.zoom == 1.0 else [camera.zoomed(args.zoom) for camera in cameras]

    def look_name(self, groom: Groom | None) -> str:
        """Name of the look: the one asked for, else the groom's own colours where it has some, else brown."""
        has_color = groom is not None and ("color" in groom.strand or "color" in groom.vertex)
        name: str | None = self.args.look
        return name or ("painted" if has_color else "brown")

    def scene(self, at: float | None) -> tuple[Groom | None, FootageFrame, Look, Any]:
        """Return the hair as it is to be drawn at a time, what is there, its look, and the legend of false colours."""
        from dataclasses import replace

        from mane.render.debug_looks import FLAT
        from mane.render.renderer import as_look

        frame = self.frame(at)
        groom = frame.groom
        if self.painter is not None and groom is not None:
            painted, colors = self.painter.paint(groom, frame.bodies[0] if frame.bodies else None)
            self.summary = colors.summary + (" in the last frame" if self.is_sequence else "")
            return painted, frame, FLAT, colors.legend
        return groom, frame, replace(as_look(self.look_name(groom)), **self.settings), None

    def pictures(self, cameras: Sequence[Camera]) -> Iterator[Any]:
        """Draw the frames, one after the other."""
        has_content = False
        with FrameProgress("drawing", len(self.times)) as progress:
            for position, camera in enumerate(cameras):
                with nullcontext() if self.is_sequence else busy("drawing"):
                    image, shows = self.draw(position, camera)
                has_content = has_content or shows
                if not has_content and position == len(self.times) - 1:
                    self.refuse_blank()
                yield image
                progress.advance()

    def draw(self, position: int, camera: Camera) -> tuple[Any, bool]:
        """Draw one of the frames; returns its picture and whether it shows anything."""
        from dataclasses import replace

        from mane.render.develop import BACKDROP
        from mane.render.looks import STYLE_LEVEL
        from mane.render.panels import with_legend
        from mane.render.renderer import is_blank, render

        args = self.args
        is_linear = args.output.suffix.lower() == request.LINEAR
        background = self.background if self.background is not None else ("none" if is_linear else BACKDROP)
        groom, frame, look, legend = self.scene(self.times[position])
        is_wet = groom is not None and STYLE_LEVEL in groom.vertex and self.painter is None
        image = render(
            groom,
            frame.bodies,
            camera=camera,
            look=[look, replace(look, wetness=1.0)] if is_wet else look,
            size=self.size,
            supersample=args.supersample,
            background=None if background == "none" else background,
            tone="linear" if is_linear else args.tone,
            hair_width=self.hair_width,
            finest=args.finest,
            renderer=args.renderer,
            samples=args.samples,
            water=frame.water,
        )
        shows = not is_blank(image, background)
        return image if legend is None or image.shape[2] != 3 or is_linear else with_legend(image, legend), shows

    def refuse_blank(self) -> None:
        """Raise ValueError with what may be done about pictures that show nothing."""
        raise ValueError(f"{self.args.output}: would be blank; {self.blank_hint(self.frame(self.times[-1]).groom)}")

    def blank_hint(self, groom: Groom | None) -> str:
        """What may be done about a picture that shows nothing."""
        if self.args.zoom != 1.0:
            return "a smaller --zoom shows more"
        if groom is None:
            return "the bodies have no surface to see; `mane info` tells what is in the file"
        longest = float(groom.lengths.max())
        return f"strands of up to {longest:.3g} m are too thin to be seen; --hair-width {longest / 1000:.1g} shows them"

    def write(self, pictures: Iterator[Any]) -> list[str]:
        """Write the frames as they come and return the names of the files."""
        from mane.render.movie import FrameWriter, MovieWriter, write_picture

        output: Path = self.args.output
        if output.suffix.lower() == request.MOVIE:
            with MovieWriter(output, fps=self.args.fps or self.footage.rate) as movie:
                for picture in pictures:
                    movie.write(picture)
            return [str(output)]
        if self.is_sequence:
            with FrameWriter(output, self.numbers()) as frames:
                return [str(frames.write(picture)) for picture in pictures]
        for picture in pictures:
            write_picture(output, picture)
        return [str(output)]

    def numbers(self) -> list[int]:
        """Numbers of the frames: their time codes where those are whole and differ, else 1, 2, 3, ..."""
        codes = [at for at in self.times if at is not None]
        if len(set(codes)) == len(self.times) and all(float(code).is_integer() for code in codes):
            return [int(code) for code in codes]
        return list(range(1, len(self.times) + 1))

    def export(self, camera: Camera) -> Path:
        """Write the scene of the one frame for Mitsuba and return its file."""
        from mane.render.lights import three_point
        from mane.render.mitsuba_scene import MitsubaScene
        from mane.render.solids import Surfaces

        folder: Path = self.args.export_mitsuba
        groom, frame, look, _ = self.scene(self.times[0])
        scene = MitsubaScene(
            groom,
            Surfaces.of_bodies(frame.bodies),
            camera,
            three_point(camera),
            look,
            self.size,
            samples=self.args.samples,
            hair_width=self.hair_width,
            water=frame.water,
        )
        folder.mkdir(parents=True, exist_ok=True)
        return scene.write(folder)


def _as_text(facts: dict[str, Any]) -> str:
    width, height = facts["size"]
    frames = "1 picture" if facts["frames"] == 1 else f"{facts['frames']} frames"
    each = facts["seconds"] / facts["frames"]
    line = f"{frames} of {width} x {height}, {facts['strands']:,} strands, {each:.1f} s each"
    notes = [facts["debug"]] if facts["debug"] else []
    files = facts["files"]
    if len(files) > 3:
        files = [files[0], "...", files[-1]]
    return "\n".join([line, *notes, *files]) + "\n"
