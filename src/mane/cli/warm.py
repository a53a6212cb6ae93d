"""`mane warm`: kernels compiled ahead, in as many processes as there are cores."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

from mane.cli._waiting import counted
from mane.simd import helper

DESCRIPTION = """\
Compile the kernels that most work needs (grooms, guides in motion, skins, pictures) for this CPU and keep them on disk,
so that the first run does not wait. Kernels that are there are not compiled again.
"""
PATIENCE = 0.05  # between looks at the processes [s]

# What needs kernels of its own, each in a process: together the lines of README.md and all of `mane demo`, whose
# process begins when most of the others are done and finds on disk what they have compiled. What a run needs last comes
# first: beside a first run, which goes the other way, the two meet in the middle (`simd/helper.py`). So the first job
# must not need what a run compiles first: its hair grows on a ball whose distances are written down.
JOBS = {
    "guides in motion and hair on them": """
import numpy as np
import mane
from mane.body.sdf import SignedDistanceField
nodes = np.linspace(-0.2, 0.2, 16)
square = nodes * nodes
lengths = np.sqrt(square[:, None, None] + square[:, None] + square)
field = SignedDistanceField((lengths - 0.1).astype(np.float32), np.float32([-0.2] * 3), nodes[1] - nodes[0])
ball = mane.shapes.Sphere([0, 0, 0], 0.1).mesh()
ways = np.random.default_rng(1).normal(size=(100, 3))
ways = np.abs(ways) / np.linalg.norm(ways, axis=1, keepdims=True)
hair = (np.linspace(0.101, 0.25, 32)[:, None] * ways[:, None]).astype(np.float32)
groom = mane.Groom.from_uniform(hair, strand={"clump_id": np.arange(100, dtype=np.int32) // 10})
guides = mane.Guides.from_groom(mane.Groom.from_uniform(hair[::6]))
sim = mane.Simulation(
    guides, body=mane.Solid(ball, field=field), solids=[mane.props.make_comb().solid()],
    head=mane.make_motion("shake"), forces=[mane.forces.Attraction(rate=1.0)],
)
frame = sim.step()
for settings in ({"name": "physical"}, {"name": "physical", "binding": "clump"}, {"name": "linear"}):
    mane.skin(groom=groom, guides=sim, **settings)(frame)
""",
    "pictures": """
import numpy as np
import mane
hair = np.linspace(0, 0.1, 4)[None, :, None] * np.ones((2, 1, 3))
mesh = mane.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
mane.render(hair, mesh, size=(32, 32), threads=1)
""",
    "grooms": """
import mane
mane.select_guides(mane.styles.make("curly", strands=400, seed=1), 16, seed=1)
""",
    "demo": """
import tempfile
from mane.cli import main
with tempfile.TemporaryDirectory() as folder:
    main(["demo", "-o", folder, "--strands", "40", "--frames", "4"])
""",
}
MARK = "kernels compiled by this job:"
REPORT = f"\nfrom mane.simd.notice import NOTICE\nprint({MARK!r}, NOTICE.count, flush=True)\n"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "warm",
        help="compile ahead, so that the first run does not wait",
        description=DESCRIPTION,
        epilog="example: mane warm --workers 2",
    )
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, metavar="N", help="processes (one per core)"
    )
    # The process that it was started by, for `simd/helper.py`: once that is gone, however it ended, so is this.
    parser.add_argument("--beside", type=int, default=None, help=argparse.SUPPRESS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run all jobs and say how many kernels they compiled."""
    if args.workers < 1:
        raise ValueError(f"--workers: must be at least 1, got {args.workers}")
    from mane.simd.numba_internals import is_compiler_off

    if is_compiler_off():
        raise ValueError("NUMBA_DISABLE_JIT is set: there is nothing to compile")
    began, waiting, count = time.perf_counter(), list(JOBS), 0
    running: list[_Job] = []
    try:
        with counted("compiling kernels", len(JOBS)) as tell:
            while (waiting or running) and args.beside in (None, os.getppid()):
                while waiting and len(running) < args.workers:
                    running.append(_Job(waiting.pop(0)))
                for job in [job for job in running if job.process.poll() is not None]:
                    count += job.count()
                    job.end()
                    running.remove(job)
                tell(len(JOBS) - len(waiting) - len(running), ", ".join(job.name for job in running))
                time.sleep(PATIENCE)
    finally:
        for job in running:
            job.end()
    sys.stdout.write(f"{count} kernels compiled in {time.perf_counter() - began:.1f} s\n")
    return 0


class _Job:
    """A process that compiles; what it prints goes to a file, so that it never waits for a reader."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - closed by `end`
        words = [sys.executable, "-c", JOBS[name] + REPORT]
        self.process = subprocess.Popen(
            words, env={**os.environ, helper.VARIABLE: "0"}, stdin=subprocess.DEVNULL, stdout=self._said,
            stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def count(self) -> int:
        """Kernels that it has compiled."""
        self._said.seek(0)
        lines = self._said.read().strip().splitlines() or ["it said nothing"]
        if self.process.returncode:
            raise OSError(f"{self.name}: {lines[-1]}")
        return int(next(line for line in reversed(lines) if line.startswith(MARK)).removeprefix(MARK))

    def end(self) -> None:
        """Stop it, if it runs."""
        self.process.kill()
        self.process.wait()
        self._said.close()
