"""Where work runs: the arguments of all commands that spread it over workers, and what their bars say about them."""

from __future__ import annotations

import argparse
from typing import Protocol


def add_cluster(parser: argparse.ArgumentParser, otherwise: str) -> None:
    """Add the arguments that choose workers; `otherwise` says how many there are without them."""
    group = parser.add_argument_group("where it runs")
    group.add_argument("--workers", metavar="N", type=int, help=f"on this machine ({otherwise})")
    group.add_argument("--threads", metavar="N", type=int, default=1, help="of each worker (%(default)s)")
    group.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster, such as tcp://host:8786")


def check_cluster(args: argparse.Namespace) -> None:
    """Refuse numbers that cannot be meant, and workers of this machine together with those of a cluster."""
    from mane.dataset.cluster import check_choice

    for name, least in (("threads", 1), ("workers", 0)):
        value = getattr(args, name)
        if value is not None and value < least:
            raise ValueError(f"--{name}: must be at least {least}, got {value}")
    check_choice(args.workers, args.scheduler)


def is_spread(args: argparse.Namespace) -> bool:
    """Whether workers are asked for."""
    return args.scheduler is not None or args.workers is not None


class WorkersProgress(Protocol):
    """What every progress of workers has."""

    @property
    def workers(self) -> int:
        """How many are at work."""

    @property
    def dashboard(self) -> str:
        """Address of the page that shows what they do, or ""."""


def workers_text(progress: WorkersProgress, failed: int = 0) -> str:
    """Say who is at work, and where to watch them."""
    failures = f", {failed} failed" if failed else ""
    where = f", {progress.dashboard}" if progress.dashboard else ""
    return f"{progress.workers} workers{failures}{where}"
