"""`mane info`: what is in a file, in which units, and what is wrong with it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from mane.cli._model_info import print_model
from mane.cli._option_names import INPUT_NAMES, called
from mane.cli._waiting import busy

MODEL_SUFFIX = ".model"

DESCRIPTION = """\
Say what is in a groom or mesh file: counts, lengths, size, units and up axis (as the file states them, or as assumed),
groups, attributes, time range, and the problems found. Of a model that was learned: kind, errors, arrays. Nothing is
changed.
"""
EXAMPLES = """\
examples:
  mane info curly.usd
  mane info wCurly.hair --from-unit 0.1in --from-up z
  mane info scan.bin --json | jq .problems
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "info",
        help="say what is in a groom or mesh file, and what is wrong with it",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "file", metavar="FILE", help="groom (.usd .hair .data .npz .tfx .bin .ply .npy), mesh, or .model"
    )
    add_input_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object; lengths are in metres")
    parser.add_argument("--plot", metavar="PNG", help="draw what a learned model is worth")
    parser.set_defaults(run=run)


def add_up(parser: argparse._ActionsContainer, option: str, meaning: str) -> None:
    """Add an option for an up axis."""
    axes = ("x", "y", "z", "-x", "-y", "-z")
    parser.add_argument(option, metavar="AXIS", type=str.lower, choices=axes, help=f"{meaning}: {', '.join(axes)}")


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what a file may leave unsaid; shared by the commands that read grooms."""
    parser.add_argument(
        "--from-unit", metavar="UNIT", help="unit of the input, e.g. cm, 0.1in; wins over what it states"
    )
    add_up(parser, "--from-up", "up axis of the input; wins over what it states")
    parser.add_argument(
        "--points-per-strand", metavar="N", type=int, help="how to cut a .ply of bare points (100 by default)"
    )


def run(args: argparse.Namespace) -> int:
    """Print the facts."""
    if Path(args.file).suffix.lower() == MODEL_SUFFIX:
        return print_model(args.file, as_json=args.json, plot=args.plot)
    if args.plot:
        raise ValueError(f"--plot: is for models that were learned (.model), got {args.file}")
    from mane.io.facts import file_facts

    with busy(f"reading {args.file}"), called(INPUT_NAMES):
        facts = file_facts(args.file, unit=args.from_unit, up=args.from_up, points_per_strand=args.points_per_strand)
    sys.stdout.write((json.dumps(facts, indent=2, allow_nan=False) if args.json else as_text(facts)) + "\n")
    return 0


def as_text(facts: dict[str, Any]) -> str:
    """Lay the facts out for people."""
    rows = _groom_rows(facts) if facts["kind"] == "groom" else _mesh_rows(facts)
    for number, problem in enumerate(facts["problems"]):
        rows.append(("problems" if number == 0 else "", problem["text"]))
    if not facts["problems"]:
        rows.append(("problems", "none found"))
    if facts.get("hint"):
        rows.append(("hint", facts["hint"]))
    return "\n".join([f"{facts['file']}: {facts['format']}", *(f"  {label:<11} {text}" for label, text in rows)])


def _groom_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    low, high = facts["points_per_strand"]
    each = f"{low} each" if low == high else f"{low} to {high} each"
    rows = [
        ("strands", f"{facts['strands']:,} with {facts['points']:,} points, {each}"),
        ("lengths", _lengths(facts)),
        ("bounds", _box(facts["bounds"])),
        ("units", _units(facts)),
    ]
    for group in facts["groups"]:
        rows.append(("group", f"{group['id']} {group['name'] or 'without a name'}: {group['strands']:,} strands"))
    for attribute in facts["attributes"]:
        rows.append(("attribute", _attribute(attribute)))
    rows.extend(_part_rows(facts))
    rows.append(("time", _time(facts["time"])))
    return rows


def _part_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """The meshes of a USD file, which a scene may name."""
    rows = []
    for part in facts.get("meshes", []):
        moved = f", moved by {', '.join(part['moved_by'])}" if part["moved_by"] else ""
        rows.append(("mesh", f"{part['path']}: {part['faces']:,} triangles{moved}"))
    return rows


def _mesh_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    closed = f"closed, {facts['volume']:.4g} m3" if facts["is_closed"] else "open"
    parts = _part_rows(facts)
    if facts.get("time"):
        parts.append(("time", _time(facts["time"])))
    return [
        ("triangles", f"{facts['faces']:,} on {facts['vertices']:,} vertices"),
        ("bounds", _box(facts["bounds"])),
        ("units", _units(facts)),
        ("surface", f"{closed}, {facts['area']:.4g} m2, {'with' if facts['has_uv'] else 'without'} UVs"),
        *parts,
    ]


def _units(facts: dict[str, Any]) -> str:
    return f"{facts['unit']}, {facts['up'].upper()} up ({facts['units_source']})"


def _lengths(facts: dict[str, Any]) -> str:
    if facts["length_min"] is None:
        return "unknown, no strand is finite"
    return f"{facts['length_min']:.4g} to {facts['length_max']:.4g} m, mean {facts['length_mean']:.4g} m"


def _time(time: dict[str, Any] | None) -> str:
    if time is None:
        return "one moment"
    return f"{time['start']:g} to {time['end']:g} at {time['fps']:g} per second"


def _box(bounds: list[list[float]] | None) -> str:
    if bounds is None:
        return "unknown, no point is finite"
    low, high = bounds
    size = " x ".join(f"{b - a:.4g}" for a, b in zip(low, high, strict=True))
    corners = " to ".join("(" + ", ".join(f"{value:.4g}" for value in corner) + ")" for corner in bounds)
    return f"{corners} m, {size}"


def _attribute(attribute: dict[str, Any]) -> str:
    channels = f" x {attribute['channels']}" if attribute["channels"] > 1 else ""
    values = f"{attribute['min']:.4g} to {attribute['max']:.4g}" if attribute["min"] is not None else "nothing finite"
    return f"{attribute['name']} ({attribute['scope']}, {attribute['type']}{channels}): {values}"
