"""`mane learn`: a model from simulations."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import textwrap
import time
import typing
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mane.cli._scene_arguments import add_command, add_telling
from mane.cli._waiting import busy

DESCRIPTION = """\
Learn a model from simulations. Motions that are not learned from tell the error. Writes the model and a report (.json).

  mane learn adaptive SCENE.toml -o hair.model     guides, eligible sets and weights of the adaptive skin (chai2017)
  mane learn multilinear DATA.zarr -o hair.model   how guides move, with a slider for each axis of a dataset (guan2012)

adaptive: simulates every hair of the scene's head under random motions, without solids, and keeps that beside the model
(.zarr): whatever stops a run, the same command goes on with it. A scene uses it by  [guides] model = "hair.model"  and
[skin] method = "adaptive", model = "hair.model".

multilinear: learns from what `mane dataset` made; --data names another dataset, at levels between, which calibrates
sliders by how hair hangs there. A scene uses it by  [guides] model = "hair.model", sliders = { length = 0.7 }; nothing
is simulated then.
"""
EXAMPLES = {
    "adaptive": """\
  mane learn adaptive head.toml -o hair.model --set guides=400
  mane learn adaptive head.toml -o hair.model --set degree=2 --set method="sparse_coding"
  mane learn adaptive head.toml -o hair.model --paper          each line as chai2017 prints it
""",
    "multilinear": """\
  mane learn multilinear hair.zarr -o hair.model --set dimensions=60
  mane learn multilinear hair.zarr -o hair.model --data between.zarr
""",
}
WIDTH = 100  # columns of the help
MEANINGS = 32  # column in which meanings of settings begin


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    from mane.dataset.learn.table import LEARNERS

    parser = add_command(
        subparsers, "learn", "learn a model from full simulation", DESCRIPTION, _examples(EXAMPLES), add_help=False
    )
    parser.add_argument("-h", "--help", action=_KindHelp, help="show this, or the settings of a KIND before it")
    parser.add_argument("kind", metavar=f"{{{','.join(LEARNERS)}}}", help="what is learned")
    parser.add_argument("source", metavar="SOURCE", type=Path, help="scene file (.toml), or dataset (.zarr)")
    parser.add_argument("-o", "--output", metavar="MODEL", type=Path, required=True, help="file to write")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE", help="a setting")
    parser.add_argument("--paper", action="store_true", help="the values and methods that the paper prints")
    parser.add_argument(
        "--data",
        metavar="STORE",
        type=Path,
        help="adaptive: what was simulated (beside the model, .zarr); multilinear: levels between, for sliders",
    )
    parser.add_argument(
        "--workers", metavar="N", type=int, help="adaptive: processes that simulate (one per core); 0 for this one"
    )
    add_telling(parser)
    parser.set_defaults(run=run)


class _KindHelp(argparse.Action):
    """Prints the help with the settings of the kind before it, or of all kinds where there is none."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        kind = getattr(namespace, "kind", None)
        if kind not in (None, *EXAMPLES):
            parser.error(f"kind: {kind!r} is unknown; choose from {', '.join(EXAMPLES)}")
        kinds = EXAMPLES if kind is None else (kind,)
        parser.epilog = "\n\n".join([*map(_settings_text, kinds), _examples(kinds)])
        parser.print_help()
        parser.exit()


def _examples(kinds: Iterable[str]) -> str:
    return "examples:\n" + "".join(EXAMPLES[kind] for kind in kinds)


def _settings_text(kind: str) -> str:
    """Settings of a kind of model, each with its default as `--set` takes it and what it means."""
    from mane.dataset.learn.table import LEARNERS
    from mane.scene.keys import table_keys
    from mane.scene.starter import toml_value

    lines = [f"settings of {kind} (--set KEY=VALUE), with their defaults:"]
    for key in table_keys(LEARNERS[kind].load("settings"), is_open=False):
        given = key.name if key.default is None else f"{key.name}={toml_value(key.default)}"
        start = f"  {given}".ljust(MEANINGS - 1) + " "
        lines += textwrap.wrap(key.meaning, WIDTH, initial_indent=start, subsequent_indent=" " * MEANINGS)
    return "\n".join(lines)


def run(args: argparse.Namespace) -> int:
    """Learn a model and print what it is worth."""
    from mane.dataset.learn.table import LEARNERS
    from mane.geometry.checks import require_choice

    require_choice("kind", args.kind, list(LEARNERS))
    if args.workers is not None and args.workers < 0:
        raise ValueError(f"--workers: must be at least 0, got {args.workers}")
    kind = LEARNERS[args.kind]
    if args.workers is not None and not kind.simulates:
        raise ValueError(
            f"--workers: {args.kind} models are learned from a dataset, nothing is simulated; leave it out"
        )
    with busy(f"reading {args.source}"):
        source = kind.load("read")(args.source)
        settings, learn = kind.load("settings"), kind.load("learn")
        given = _settings(settings, args.settings)
        training = getattr(settings, kind.printed)(**given) if args.paper else settings(**given)
    tell = None if args.quiet else _ProgressLines()
    model = learn(source, args.output, training, data=args.data, workers=args.workers, tell=tell)
    facts = dict(model.facts)
    if args.json:
        sys.stdout.write(json.dumps({"model": str(args.output), **facts}, indent=2) + "\n")
    elif not args.quiet:
        sys.stdout.write(f"{kind.load('describe')(facts)}{args.output}\n")
    return 0


def _settings(kind: type, words: list[str]) -> dict[str, Any]:
    """Values of `--set key=value` as the settings class has them."""
    import tomllib

    from mane.geometry.checks import require_choice
    from mane.scene.values import fit

    hints = typing.get_type_hints(kind)
    known = [f.name for f in dataclasses.fields(kind)]
    found: dict[str, Any] = {}
    for word in words:
        name, sign, text = word.partition("=")
        if not sign:
            raise ValueError(f"--set {word}: must be KEY=VALUE")
        require_choice("--set", name, known)
        try:
            value = tomllib.loads(f"x = {text}")["x"]
        except tomllib.TOMLDecodeError:
            value = text
        try:
            found[name] = fit(hints[name], value)
        except ValueError as error:
            raise ValueError(f"--set {name}: {error}") from None
    return found


class _ProgressLines:
    """Writes a line when a stage begins, and at most every ten seconds while it lasts."""

    def __init__(self) -> None:
        self._text, self._written = "", 0.0

    def __call__(self, text: str, share: float) -> None:
        from mane.cli._measuring import progress_line

        now = time.monotonic()
        if text != self._text or now - self._written > 10:
            progress_line(f"{text}: {100 * share:.0f} %" if share else text)
            self._text, self._written = text, now
