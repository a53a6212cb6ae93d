"""What `simulate` and `bake` show: a live bar while frames are made, and a table of what was done at the end."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mane.cli._measuring import progress_line

if TYPE_CHECKING:
    from mane.scene.loop import Progress, RunSummary

LOG_SECONDS = 15.0  # between lines where nobody watches a terminal
GROOMED_INSIDE = 1e-4  # [m]; about the width of a hair
BAR_WIDTH = 16  # [characters]


class RunBar:
    """Shows how far a run is, on standard error, in a `with` block: a bar on a terminal, else a line now and then."""

    def __init__(self, text: str, *, quiet: bool = False) -> None:
        self._text, self._quiet = text, quiet
        self._bar: Any = None
        self._task: Any = None
        self._told = self._began = time.monotonic()
        self._made = 0

    def __enter__(self) -> RunBar:
        return self

    def tell(self, progress: Progress) -> None:
        """Show a frame that was finished."""
        if self._quiet:
            return
        now = time.monotonic()
        if self._made == 0:
            self._began = now  # preparing and compiling say nothing about frames per second
        rate = self._made / (now - self._began) if now > self._began else 0.0
        self._made += 1
        if sys.stderr.isatty():
            self._show(progress, _frame_texts(progress, rate))
        elif now - self._told > LOG_SECONDS:
            progress_line(f"{self._text}: {', '.join(_frame_texts(progress, rate))}")
            self._told = now

    def _show(self, progress: Progress, texts: Sequence[str]) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}", markup=False),
                BarColumn(BAR_WIDTH),
                TextColumn("{task.fields[numbers]}", markup=False),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task(self._text, total=progress.count, numbers="")
            self._bar.start()
        room = self._bar.console.width - len(self._text) - BAR_WIDTH - 2
        self._bar.update(self._task, completed=progress.done, numbers=that_fits(texts, room))

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def _frame_texts(progress: Progress, rate: float) -> list[str]:
    """What there is to say of a frame, the most important first."""
    left = (progress.count - progress.done) / rate if rate else math.nan
    texts = [f"frame {progress.index} ({progress.done} of {progress.count})", f"{clock_text(left)} left"]
    for name, report in (("guides", progress.step), ("hair", progress.hair)):
        if report is not None:
            texts.append(f"{name}: stretch {100 * report.stretch:.2g} %, {1e3 * report.penetration:.2g} mm inside")
    return [*texts, f"{rate:.1f} fps"]


def that_fits(texts: Sequence[str], room: int) -> str:
    """As many of the texts, in order, as a line has room for [characters]; the first in any case."""
    line = texts[0]
    for text in texts[1:]:
        if len(line) + 2 + len(text) > room:
            break
        line += f", {text}"
    return line


def clock_text(seconds: float) -> str:
    """Return a time as hours, minutes and seconds."""
    if not math.isfinite(seconds):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"


def summary_object(summary: RunSummary) -> dict[str, Any]:
    """Return a summary as plain values for JSON."""
    return {
        "frames": summary.frames,
        "resumed_after": summary.resumed_after,
        "strands": summary.strands,
        "guides": summary.guides,
        "frames_per_second": round(summary.frames_per_second, 3),
        "seconds": round(summary.seconds, 3),
        "setup_seconds": {name: round(value, 4) for name, value in summary.setup.items()},
        "stage_seconds": {name: round(value, 4) for name, value in summary.stages.items()},
        "beside_seconds": {name: round(value, 4) for name, value in summary.beside.items()},
        "guides_worst": {"stretch": summary.stretch, "penetration": summary.penetration},
        "hair_worst": None if summary.hair is None else asdict(summary.hair),
        "fallback_frames": summary.fallback_frames,
        "outside_bounds": summary.outside,
        "note": summary.note,
        "files": [str(path) for path in summary.files],
    }


def summary_text(summary: RunSummary, *, simulated: bool = True) -> str:
    """Return a summary as a table for people."""
    count = max(summary.frames, 1)
    spent = sum(summary.stages.values())
    after = "" if summary.resumed_after is None else f" after frame {summary.resumed_after}"
    lines = [
        f"{summary.frames} frames{after} of {summary.strands:,} strands from {summary.guides} guides "
        f"in {summary.seconds:.1f} s, {summary.frames_per_second:.1f} fps",
    ]
    if simulated:
        lines.append(
            f"guides: stretched by up to {100 * summary.stretch:.2g} %, inside by up to "
            f"{1e3 * summary.penetration:.2g} mm; {summary.note}"
        )
    lines += _hair_lines(summary)
    lines += [f"{'stage':<16}{'ms per frame':>14}{'share':>8}"]
    for name, seconds in sorted(summary.stages.items(), key=lambda item: -item[1]):
        lines.append(f"{name:<16}{1e3 * seconds / count:>14.2f}{seconds / max(spent, 1e-12):>8.0%}")
    if summary.beside:
        times = ", ".join(f"{name} {1e3 * seconds / count:.0f} ms" for name, seconds in summary.beside.items())
        lines.append(f"beside that, per frame: {times}")
    lines += [f"before that: {', '.join(f'{name} {value:.1f} s' for name, value in summary.setup.items())}"]
    return "\n".join([*lines, *map(str, summary.files)]) + "\n"


def _hair_lines(summary: RunSummary) -> list[str]:
    """What became of the full head."""
    hair = summary.hair
    if hair is None:
        return ["hair:   not made, nothing was asked for that shows it"]
    is_groomed = hair.penetration - hair.added_penetration > GROOMED_INSIDE
    groomed = f" (at most {1e3 * hair.added_penetration:.2g} mm deeper than groomed)" if is_groomed else ""
    lines = [
        f"hair:   stretched by up to {100 * hair.stretch:.2g} %, shortened by up to {100 * hair.shortening:.2g} %, "
        f"inside by up to {1e3 * hair.penetration:.2g} mm{groomed}, {100 * hair.points_inside:.2g} % of points",
        f"roots:  inside by up to {1e3 * hair.root_penetration:.2g} mm, {100 * hair.roots_inside:.2g} % of them",
    ]
    if summary.fallback_frames:
        lines.append(
            f"note:   in {summary.fallback_frames} frames up to {hair.fallbacks:,} hairs could not be carried by the "
            "skin's own method; they follow the mean of their guides, lengths kept"
        )
    return lines


def print_summary(summary: RunSummary, *, as_json: bool, quiet: bool, simulated: bool = True) -> int:
    """Write a summary to standard output, as asked for; returns the exit code, 1 for a run that ends outside bounds."""
    if as_json:
        sys.stdout.write(json.dumps(summary_object(summary), indent=2, allow_nan=False) + "\n")
    elif not quiet:
        sys.stdout.write(summary_text(summary, simulated=simulated))
    if summary.outside is None:
        return 0
    sys.stderr.write(f"mane: outside bounds: in the last frame {summary.outside}\n")
    return 1
