"""What the arguments of `mane render` mean, and which of them do not go together."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mane.render.debug_looks import DebugPainter
    from mane.render.footage import Footage

MOVIE = ".mp4"
LINEAR = ".exr"
SUFFIXES = (".png", LINEAR, MOVIE)
BACKGROUNDS = {"white": (1.0, 1.0, 1.0), "black": (0.0, 0.0, 0.0)}
HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
MOST_FRAMES = 100_000


def check(args: argparse.Namespace) -> None:
    """Refuse what can be refused before a file is read."""
    from mane.geometry.checks import require_choice, require_positive
    from mane.io.atomic import check_writable
    from mane.io.formats import suffix_of
    from mane.render.cameras import FRAMED, PRESETS
    from mane.render.develop import TONES
    from mane.render.looks import LOOKS
    from mane.render.renderer import RENDERERS, checked_size

    if args.file is None:
        raise ValueError("render: name a file to draw; `mane render --help` shows examples")
    if args.output is None and args.export_mitsuba is None:
        raise ValueError("--output: name a picture or movie to write, or a folder by --export-mitsuba")
    if args.output is not None:
        suffix_of(args.output, SUFFIXES, "draw")
        check_writable(args.output)
    if args.look is not None:
        require_choice("--look", args.look, list(LOOKS))
    if args.camera is not None:
        require_choice("--camera", args.camera, list(PRESETS))
    require_choice("--frame", args.frame, list(FRAMED))
    require_positive("--zoom", args.zoom)
    require_choice("--tone", args.tone, [tone for tone in TONES if tone != "linear"])
    require_choice("--renderer", args.renderer, RENDERERS)
    checked_size(size_of(args.size), args.supersample)
    if args.fps is not None:
        require_positive("--fps", args.fps)
    if args.turntable is not None and not 1 <= args.turntable <= MOST_FRAMES:
        raise ValueError(f"--turntable: must be 1 to {MOST_FRAMES:,} frames, got {args.turntable}")
    if args.turntable is not None and args.camera not in (None, "turntable"):
        raise ValueError(f"--turntable: is a camera of its own, got --camera {args.camera} as well")


def check_output(args: argparse.Namespace, *, is_sequence: bool) -> None:
    """Refuse an output that does not fit the number of frames."""
    if is_sequence and args.export_mitsuba is not None:
        raise ValueError("--export-mitsuba: writes one frame, got several; choose it by --frames")
    is_movie = args.output is not None and args.output.suffix.lower() == MOVIE
    if is_movie and args.background == "none":
        raise ValueError(f"{args.output}: a movie cannot be transparent; leave --background out or write .png")
    if is_movie and not is_sequence and args.turntable is None and args.frames is None:
        raise ValueError(f"{args.file}: holds one moment only; go around it by --turntable 90, or write a .png")


def footage_of(args: argparse.Namespace) -> Footage:
    """Open the file, and the body to show with it."""
    from mane.render.footage import Footage
    from mane.scene.cached_footage import CachedFootage, is_cache

    if is_cache(args.file):
        if args.body is not None:
            raise ValueError("--body: is for files without one; a cache has its own")
        return CachedFootage(args.file)
    return Footage(
        args.file,
        args.body,
        unit=args.from_unit,
        up=args.from_up,
        points_per_strand=args.points_per_strand,
        body_unit=args.body_unit,
        body_up=args.body_up,
    )


def times_of(args: argparse.Namespace, footage: Footage) -> list[float | None]:
    """Time code of every frame; None for the only moment of a still file."""
    every: list[float | None] = list(footage.times) or [None]
    chosen = every[:1]
    if args.frames == "all":
        chosen = every
    elif args.frames is not None:
        chosen = list(range_of(args.frames, footage))
    elif args.output is not None and args.output.suffix.lower() == MOVIE and args.turntable is None:
        chosen = every
    if args.turntable is None:
        return chosen
    if len(chosen) > 1:
        raise ValueError("--turntable: goes around one moment; choose it by --frames, or take --camera turntable")
    result: list[float | None] = chosen * args.turntable
    return result


def range_of(text: str, footage: Footage) -> list[float]:
    """Time codes of `A`, `A:B` or `A:B:STEP`, both ends included."""
    try:
        numbers = [float(word) for word in text.split(":")]
    except ValueError:
        numbers = []
    if not 1 <= len(numbers) <= 3:
        raise ValueError(f"--frames: must be `all`, A, A:B or A:B:STEP, got {text!r}")
    if not footage.times:
        raise ValueError(f"{footage.path}: holds one moment only; --frames is for animated USD files")
    start, end = numbers[0], numbers[1] if len(numbers) > 1 else numbers[0]
    step = numbers[2] if len(numbers) > 2 else 1.0
    low, high = footage.times[0], footage.times[-1]
    if not low <= start <= end <= high:
        raise ValueError(f"--frames: must go forward between {low:g} and {high:g}, got {text!r}")
    if not 0 < step < float("inf") or (end - start) / step > MOST_FRAMES:
        raise ValueError(f"--frames: must be at most {MOST_FRAMES:,} frames in steps above zero, got {text!r}")
    return [start + k * step for k in range(int((end - start) / step + 1e-9) + 1)]


def size_of(text: str) -> tuple[int, int]:
    """Width and height of `1280x720`."""
    words = text.lower().split("x")
    if len(words) != 2 or not all(word.isdecimal() for word in words):
        raise ValueError(f"--size: must be WIDTHxHEIGHT such as 1280x720, got {text!r}")
    return int(words[0]), int(words[1])


def background_of(text: str | None) -> Any:
    """Display RGB of a colour, "none" for transparent, or None where nothing was asked for."""
    if text is None or text == "none":
        return text
    if text in BACKGROUNDS:
        return BACKGROUNDS[text]
    digits = text.removeprefix("#")
    if len(digits) != 6 or not HEX_DIGITS.issuperset(digits):
        raise ValueError(f"--background: must be #rrggbb, white, black or none, got {text!r}")
    return tuple(int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4))


def numbers_of_look() -> list[str]:
    """Names of the fields of a look that are numbers."""
    from dataclasses import fields

    from mane.render.looks import Look

    return [field.name for field in fields(Look) if isinstance(field.default, float)]


def settings_of(pairs: list[str]) -> dict[str, Any]:
    """Numbers of the look from `NAME=NUMBER`."""
    known = numbers_of_look()
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        if name not in known:
            raise ValueError(f"--set: a look has no number {name!r}; it has {', '.join(known)}")
        try:
            settings[name] = float(text)
        except ValueError:
            raise ValueError(f"--set: must be NAME=NUMBER, got {pair!r}") from None
    return settings


def painter_of(args: argparse.Namespace) -> DebugPainter | None:
    """Who paints false colours, or None."""
    if args.debug is None:
        return None
    from mane.render.debug_looks import DebugPainter

    if args.look is not None or args.settings:
        raise ValueError("--debug: has a look of its own, got --look or --set as well")
    return DebugPainter(args.debug)


def length_of(option: str, text: str) -> float:
    """Metres of a length with a unit, such as 0.1mm, or a number of metres."""
    from mane.io.units import metres_per_unit

    try:
        return metres_per_unit(text)
    except ValueError:
        raise ValueError(f"{option}: must be a length such as 0.0001 or 0.1mm, got {text!r}") from None
