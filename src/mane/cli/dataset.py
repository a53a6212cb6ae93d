"""`mane dataset`: many simulated sequences from one spec, and what can be done with them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mane.cli._cluster_arguments import add_cluster, check_cluster, workers_text
from mane.cli._dataset_bar import CountBar
from mane.cli._scene_arguments import add_command, add_telling
from mane.cli._waiting import busy

if TYPE_CHECKING:
    from mane.dataset.dataset import Dataset, SequenceReader

DESCRIPTION = """\
Simulate every sequence that a spec describes: a scene with other motions, grooms, materials, winds, any key of it, over
lists, ranges or a Latin hypercube. Sequences go to one Zarr store, on the cores of this machine or on a Dask cluster.
Whatever stops a run, the same command goes on with it; finished sequences are never run again.

  mane dataset SPEC.toml -o STORE.zarr     simulate what is not there yet
  mane dataset info STORE.zarr             what is in it: sequences, splits, fields, sizes, failures
  mane dataset check STORE.zarr            read everything: checksums, shapes, NaN, spec against data
  mane dataset show STORE.zarr -o PNG      a sheet of pictures; with --histograms bar charts
  mane dataset export STORE.zarr -o FILE   one sequence (--sequence N) as .npz or animated .usd
  mane dataset render STORE.zarr -o DIR    a movie of every sequence, on the same workers
"""
EXAMPLES = """\
examples:
  mane dataset curls.toml -o curls.zarr --dry-run         how many, how large, how long
  mane dataset curls.toml -o curls.zarr
  mane dataset curls.toml -o curls.zarr --scheduler tcp://head-node:8786
  mane dataset export curls.zarr --sequence 12 -o twelve.usda
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = add_command(subparsers, "dataset", "simulate many sequences from one spec", DESCRIPTION, EXAMPLES)
    parser.add_argument("words", metavar="[ACTION] FILE", nargs="+", help="a spec, or an action and a dataset")
    parser.add_argument("-o", "--output", metavar="PATH", type=Path, help="dataset, picture, file or folder to write")
    add_cluster(parser, "one per core; 0 runs in this process, without Dask")
    making = parser.add_argument_group("of a spec")
    making.add_argument(
        "--dry-run", action="store_true", help="measure a little, say what the whole takes, write nothing"
    )
    making.add_argument("--share", metavar="S", type=float, default=1.0, help="simulate this share for now, e.g. 0.1")
    making.add_argument("--retry-failed", action="store_true", help="simulate those again that failed before")
    reading = parser.add_argument_group("of a dataset")
    reading.add_argument("--sequence", metavar="N", type=int, default=0, help="which one to export (%(default)s)")
    reading.add_argument("--count", metavar="N", type=int, default=12, help="pictures on a sheet (%(default)s)")
    reading.add_argument("--histograms", action="store_true", help="bar charts of speeds and factors, not pictures")
    reading.add_argument("--size", metavar="WxH", default="640x480", help="of a movie (%(default)s)")
    reading.add_argument("--every", metavar="N", type=int, default=1, help="draw every so many frames (%(default)s)")
    add_telling(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Do what the first word says; without one, run the spec."""
    check_cluster(args)
    for name in ("every", "count"):
        if getattr(args, name) < 1:
            raise ValueError(f"--{name}: must be at least 1, got {getattr(args, name)}")
    words = args.words
    action = words[0] if words[0] in ACTIONS else None
    files = words[1:] if action else words
    if len(files) != 1:
        what = f"`mane dataset {action}`" if action else "mane dataset"
        raise ValueError(f"{what}: takes one file, got {len(files)}; actions are {', '.join(ACTIONS)}")
    return ACTIONS[action](Path(files[0]), args) if action else run_spec(Path(files[0]), args)


# -- making one ------------------------------------------------------------------------------------------------------


def run_spec(file: Path, args: argparse.Namespace) -> int:
    """Simulate the sequences of a spec, or estimate what they take."""
    with busy(f"reading {file}"):
        from mane.dataset.spec import read_spec

        if file.is_dir():
            raise ValueError(f"{file}: must be a spec file; for a dataset say what to do: {', '.join(ACTIONS)}")
        spec = read_spec(file)
    if args.dry_run:
        return _dry_run(spec, args)
    from mane.dataset.run import run_dataset

    output = _output(args, "the dataset, such as hair.zarr")
    with CountBar("simulating", "sequences", quiet=args.quiet) as bar:
        summary = run_dataset(
            spec,
            output,
            workers=args.workers,
            threads=args.threads,
            scheduler=args.scheduler,
            retry_failed=args.retry_failed,
            share=args.share,
            progress=lambda now: bar.tell(now.done, now.count, workers_text(now, now.failed)),
        )
    made = {
        "dataset": str(summary.path),
        "sequences": summary.count,
        "made": summary.made,
        "kept": summary.kept,
        "failed": len(summary.failures),
        "frames": summary.frames,
        "seconds": round(summary.seconds, 3),
        "sequences_per_hour": round(3600 * summary.made / max(summary.seconds, 1e-9), 1),
    }
    text = (
        f"{summary.made} sequences simulated, {summary.kept} were there, {len(summary.failures)} failed, of "
        f"{summary.count}, in {summary.seconds:.1f} s ({made['sequences_per_hour']:.0f} per hour)\n{summary.path}\n"
    )
    for index, reason in list(summary.failures.items())[:5]:
        text += f"sequence {index} failed: {reason}\n"
    _print(text, made, args)
    return 1 if summary.failures else 0


def _dry_run(spec: Any, args: argparse.Namespace) -> int:
    from mane.dataset.cluster import core_count
    from mane.dataset.estimate import estimate_dataset

    workers = max(1, args.workers or core_count() // args.threads)
    with busy("simulating a few frames to measure"):
        found = estimate_dataset(spec, workers, threads=args.threads)
    count = sum(found.sequences.values())
    splits = ", ".join(f"{number} {name}" for name, number in found.sequences.items())
    text = (
        f"{count} sequences ({splits}), {found.frames:,} frames stored, {found.megabytes / 1e3:.3g} GB\n"
        f"{found.seconds_each:.2f} s per sequence, of which {found.setup_seconds:.2f} to prepare it; "
        f"{found.hours:.3g} hours with {found.workers} workers\n"
    )
    _print(text, found.__dict__, args)
    return 0


# -- using one -------------------------------------------------------------------------------------------------------


def _info(path: Path, args: argparse.Namespace) -> int:
    dataset = _opened(path)
    from mane.dataset.estimate import folder_size
    from mane.dataset.spec import SPLITS

    splits = {name: len(dataset.split(name)) for name in SPLITS}
    facts: dict[str, Any] = {
        "dataset": str(path),
        "planned": len(dataset.plan),
        "sequences": len(dataset),
        "splits": splits,
        "failed": {str(index): reason for index, reason in dataset.failures.items()},
        "missing": len(dataset.missing),
        "megabytes": round(folder_size(path) / 1e6, 3),
    }
    if len(dataset):
        first = dataset[0]
        facts["fields"] = {name: list(first.shape(name)) for name in first.fields}
        facts["precision"] = dataset.spec.store.precision
        facts["largest_error"] = _largest_errors(dataset)
        facts["factors"] = {axis.label: _values(dataset, axis.label) for axis in dataset.spec.axes}
    _print(_info_text(facts), facts, args)
    return 0


def _info_text(facts: dict[str, Any]) -> str:
    splits = ", ".join(f"{count} {name}" for name, count in facts["splits"].items())
    lines = [
        f"{facts['dataset']}: {facts['sequences']} of {facts['planned']} sequences ({splits}), "
        f"{facts['megabytes']:.4g} MB; {len(facts['failed'])} failed, {facts['missing']} not there yet"
    ]
    for name, shape in facts.get("fields", {}).items():
        error = facts["largest_error"].get(name)
        note = "" if error is None else f", {facts['precision']}, off by at most {error:.2g}"
        lines.append(f"  {name:<16}{' x '.join(map(str, shape))}{note}")
    lines += [f"  {name}: {', '.join(map(str, values))}" for name, values in facts.get("factors", {}).items()]
    lines += [f"  sequence {index} failed: {reason}" for index, reason in list(facts["failed"].items())[:5]]
    return "\n".join(lines) + "\n"


def _largest_errors(dataset: Dataset) -> dict[str, float]:
    """Largest difference between what is stored and what was simulated, by field, over all sequences."""
    largest: dict[str, float] = {}
    for reader in dataset:
        for name, error in reader.attributes.get("largest_error", {}).items():
            largest[name] = max(largest.get(name, 0.0), error)
    return largest


def _values(dataset: Dataset, label: str) -> list[Any]:
    """Values of a factor, or its ends where there are many."""
    found: list[Any] = []
    for reader in dataset:
        if reader.factors[label] not in found:
            found.append(reader.factors[label])
    return found if len(found) <= 8 else [min(found), "...", max(found)]


def _check(path: Path, args: argparse.Namespace) -> int:
    from mane.dataset.check import check_dataset

    dataset = _opened(path)
    with CountBar("checking", "sequences", quiet=args.quiet) as bar:
        faults = check_dataset(dataset, lambda done, count: bar.tell(done, count))
    text = "".join(f"{path}: {fault}\n" for fault in faults[:20])
    if len(faults) > 20:
        text += f"{path}: and {len(faults) - 20} more\n"
    _print(text or f"{path}: {len(dataset)} sequences, nothing wrong\n", {"faults": faults}, args)
    return 1 if faults else 0


def _show(path: Path, args: argparse.Namespace) -> int:
    from mane.dataset.pictures import draw_histograms, draw_sheet
    from mane.render.sheet import write_png

    dataset, output = _opened(path), _output(args, "a picture, such as sheet.png")
    with busy("drawing"):
        image = draw_histograms(dataset) if args.histograms else draw_sheet(dataset, count=args.count)
    write_png(output, image)
    _print(f"{output}\n", {"file": str(output)}, args)
    return 0


def _export(path: Path, args: argparse.Namespace) -> int:
    from mane.dataset.export import export_sequence

    output = _output(args, "a file, such as sequence.usda or sequence.npz")
    export_sequence(_sequence(_opened(path), args.sequence), output)
    _print(f"{output}\n", {"file": str(output)}, args)
    return 0


def _render(path: Path, args: argparse.Namespace) -> int:
    from mane.cli._render_request import size_of
    from mane.dataset.cluster import TaskDied, open_cluster
    from mane.dataset.pictures import draw_sequence, remove_old_movies

    dataset, output = _opened(path), _output(args, "a folder for the movies")
    output.mkdir(parents=True, exist_ok=True)
    size, numbers = size_of(args.size), [reader.index for reader in dataset]
    remove_old_movies(dataset, output, size, args.every)
    tasks = [(str(path.resolve()), index, str(output.resolve()), size, args.every) for index in numbers]
    with (
        CountBar("drawing", "sequences", quiet=args.quiet) as bar,
        open_cluster(args.workers, args.threads, args.scheduler) as cluster,
    ):
        lost = []
        for done, (task, outcome) in enumerate(cluster.run(draw_sequence, tasks)):
            if isinstance(outcome, TaskDied):
                lost.append(f"sequence {numbers[task]} was not drawn: {outcome}\n")
            bar.tell(done + 1, len(tasks))
    drawn = len(tasks) - len(lost)
    _print(f"{drawn} movies in {output}\n{''.join(lost[:5])}", {"folder": str(output), "movies": drawn}, args)
    return 1 if lost else 0


def _opened(path: Path) -> Dataset:
    with busy(f"reading {path}"):
        from mane.dataset.dataset import open_dataset

        return open_dataset(path)


def _sequence(dataset: Dataset, index: int) -> SequenceReader:
    for reader in dataset:
        if reader.index == index:
            return reader
    raise ValueError(f"--sequence {index}: is not among the {len(dataset)} sequences of {dataset.store.path}")


def _output(args: argparse.Namespace, what: str) -> Path:
    if args.output is None:
        raise ValueError(f"-o: is missing; it names {what}")
    path: Path = args.output
    return path


def _print(text: str, facts: dict[str, Any], args: argparse.Namespace) -> None:
    if args.json:
        sys.stdout.write(json.dumps(facts, indent=2, allow_nan=False, default=str) + "\n")
    elif not args.quiet:
        sys.stdout.write(text)


ACTIONS: dict[str, Callable[[Path, argparse.Namespace], int]] = {
    "info": _info,
    "check": _check,
    "show": _show,
    "export": _export,
    "render": _render,
}
