"""The `mane` command: one module per subcommand, each with `add_parser` and `run`."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from typing import TextIO

from mane.cli._option_names import with_option_names

# In the order in which `mane --help` lists them.
COMMANDS = (
    "demo",
    "new",
    "simulate",
    "salon",
    "bake",
    "compare",
    "dataset",
    "learn",
    "volume",
    "style",
    "info",
    "convert",
    "repair",
    "render",
    "warm",
    "bench",
    "validate",
    "reproduce",
)

DESCRIPTION = """\
Animate a full head of hair, or a coat of fur, from a few hundred simulated guide strands.

  mane demo -o out                      see it work: a head shake and a comb, as a movie
  mane style curly -o curly.usd         make a procedural groom
  mane info curly.usd                   what is in a groom file, and what is wrong with it
  mane convert curly.usd curly.hair     from one format to another
  mane render curly.usd -o curly.png    a picture or a movie of it
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 done, 1 a promise missed, 2 bad input, 130 interrupted."""
    warnings.showwarning = _show_warning
    args = build_parser().parse_args(_with_axes_joined(sys.argv[1:] if argv is None else argv))
    try:
        return int(args.run(args))
    except BrokenPipeError:
        # The reader of our output went away (`mane info x | head`): nothing is wrong, and nothing more can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, OSError, MemoryError) as error:
        if os.environ.get("MANE_DEBUG"):
            raise
        _say(f"mane: error: {_own_options(_one_line(error), error, args)}")
        return 2
    except KeyboardInterrupt:
        again = "; --resume goes on after the last finished frame, where the scene has a cache in [output]"
        _say(f"mane: interrupted{again if 'resume' in args.names else ''}")
        return 130
    except _diverged() as error:
        if os.environ.get("MANE_DEBUG"):
            raise
        _say(f"mane: error: {_one_line(error)}")
        return 2


def _diverged() -> tuple[type[BaseException], ...]:
    """Runs that went away: imported only when something is raised that nothing above has caught."""
    from mane.fluid.flow import FlowDiverged
    from mane.strand.stepping import SolverDiverged

    return FlowDiverged, SolverDiverged


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with every subcommand."""
    from mane import __version__

    parser = argparse.ArgumentParser(
        prog="mane", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"mane {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in COMMANDS:
        module = importlib.import_module(f"mane.cli.{name}")
        module.add_parser(subparsers)
        command = subparsers.choices[name]
        own = {action.dest: action.option_strings[-1] for action in command._actions if action.option_strings}
        command.set_defaults(names={**own, **(command.get_default("names") or {})})
    return parser


def _with_axes_joined(argv: Sequence[str]) -> list[str]:
    """Make `--from-up=-z` of `--from-up -z`, which argparse would take for an option that there is not."""
    joined: list[str] = []
    for word in argv:
        if word.lower() in ("-x", "-y", "-z") and joined and joined[-1].startswith("--") and joined[-1].endswith("up"):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _own_options(text: str, error: BaseException, args: argparse.Namespace) -> str:
    """The message with options in place of arguments; a scene's error names keys of its own."""
    if not isinstance(error, ValueError) or type(error).__name__ == "SceneError":
        return text
    return with_option_names(text, args.names)


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and not error.filename:
        return error.strerror
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"not enough memory ({error or 'an array did not fit'})"
    return " ".join(str(error).split()) or type(error).__name__


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    _say(f"mane: warning: {' '.join(str(message).split())}")
