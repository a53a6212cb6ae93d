"""What `bench` and `validate` share: choosing a measurement, running it, printing table or JSON."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable

from mane.measure import PLOTTED
from mane.measure.figures import Figures

Run = Callable[..., Figures]


def add_arguments(parser: argparse.ArgumentParser, names: Iterable[str], what: str) -> None:
    """Add the arguments that every measuring command takes."""
    parser.add_argument(
        "name", metavar="NAME", choices=[*names, "all"], help=f"which {what}: {', '.join(names)} or all"
    )
    parser.add_argument("--quick", action="store_true", help="smaller sizes, to see whether it runs at all")
    parser.add_argument("--json", action="store_true", help="print one JSON object (a list of them for `all`)")


def measure(args: argparse.Namespace, table: dict[str, Callable[[], Run]]) -> int:
    """Run the named measurements; 0, or 1 where a target was missed."""
    chosen = list(table) if args.name == "all" else [args.name]
    results = []
    for name in chosen:
        started = time.perf_counter()
        results.append(table[name]()(quick=args.quick, progress=progress_line, **_plot_folder(args, name)))
        progress_line(f"{name}: {time.perf_counter() - started:.1f} s")
        if not args.json:
            sys.stdout.write(results[-1].to_table() + "\n\n")
    if args.json:
        objects = [figures.to_json() for figures in results]
        sys.stdout.write((objects[0] if args.name != "all" else "[" + ",\n".join(objects) + "]") + "\n")
    return int(any(row.meets_target is False for figures in results for row in figures.rows))


def _plot_folder(args: argparse.Namespace, name: str) -> dict[str, str]:
    """The folder for curves, for a measurement that draws any."""
    folder = getattr(args, "plot", None)
    if folder is None or (args.name == "all" and name not in PLOTTED):
        return {}
    if name not in PLOTTED:
        raise ValueError(f"--plot: {name} has no curves to draw; choose from {', '.join(PLOTTED)}")
    return {"plot": folder}


def progress_line(text: str) -> None:
    """Write one line of progress to standard error."""
    sys.stderr.write(f"mane: {text}\n")
    sys.stderr.flush()
