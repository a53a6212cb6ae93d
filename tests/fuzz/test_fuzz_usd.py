"""Damaged USD files: OpenUSD itself may crash or hang on them, so they are read in processes that may die.

The reader tries a binary file in a child process first. Where the worker dies, the whole command must still answer with
one line and exit code 2.
"""

import queue
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from usd_worker import mutated_file

from mane.groom.groom import Groom
from mane.io.usd import write_usd_groom

SHORT_RUN = 40
LONG_RUN = 100_000
PATIENCE_SECONDS = 20.0


@pytest.fixture(scope="module")
def seed_folder(tmp_path_factory):
    """Two sound files of each kind: a still groom with many attributes, and a moving one."""
    folder = tmp_path_factory.mktemp("usd")
    rng = np.random.default_rng(0)
    strand = {"width": rng.random(5), "root_uv": rng.random((5, 2)), "group_id": [0, 0, 1, 1, 1]}
    groom = Groom.from_uniform(rng.normal(size=(5, 4, 3)), strand=strand, group_names={0: "scalp", 1: "brow"})
    frames = [(float(t), groom.points + np.float32(t)) for t in range(3)]
    for suffix in (".usda", ".usdc"):
        write_usd_groom(folder / f"still{suffix}", groom.with_vertex(mask=rng.random(20)), curve="catmullRom")
        write_usd_groom(folder / f"moving{suffix}", groom, frames=frames, unit="cm", up="z")
    return folder


def attack(folder: Path, suffix: str, *, count: int, seed: int) -> Counter:
    """Run mutated inputs in workers; a new worker goes on behind the input that its predecessor died of."""
    outcomes: Counter = Counter()
    number = 0
    while number < count:
        number = run_worker(folder, suffix, seed, number, count, outcomes)
    return outcomes


def run_worker(folder: Path, suffix: str, seed: int, start: int, stop: int, outcomes: Counter) -> int:
    """Start a worker, count what it says, and return the number of the input to go on with."""
    words = [sys.executable, Path(__file__).with_name("usd_worker.py"), folder, suffix, seed, start, stop]
    worker = subprocess.Popen(
        [str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    lines: queue.Queue[str] = queue.Queue()
    reader = threading.Thread(target=_forward, args=(worker.stdout, lines), daemon=True)
    reader.start()
    begun, done = start - 1, start - 1
    try:
        while line := lines.get(timeout=PATIENCE_SECONDS):
            found, _, text = line.strip().partition(" ")
            if text == "begins":
                begun = int(found)
                continue
            assert not text.startswith("broken"), f"{suffix} input {found} of seed {seed}: {text}"
            outcomes[text] += 1
            done = int(found)
    except queue.Empty:
        outcomes["hung"] += 1
    finally:
        worker.kill()
        worker.wait()
        reader.join()
        worker.stdout.close()
    if done == stop - 1:
        return stop
    assert begun > done, f"the worker did not start, exit code {worker.returncode}"
    outcomes["died"] += 1
    check_command(mutated_file(folder, suffix, seed, begun))
    return begun + 1


def _forward(stream, lines) -> None:
    for line in stream:
        lines.put(line)
    lines.put("")


def check_command(path: Path) -> None:
    """What kills the worker must be one line and exit code 2 for a user, or read where the reader is luckier."""
    done = subprocess.run(
        [sys.executable, "-m", "mane.cli", "info", path], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode in (0, 2), f"{path}: exit code {done.returncode}: {done.stderr}"
    assert "Traceback" not in done.stderr
    if done.returncode == 2:
        assert done.stderr.splitlines()[-1].startswith("mane: error: ")
    path.unlink()


@pytest.mark.parametrize("suffix", [".usda", ".usdc"])
def test_short_attack(suffix, seed_folder):
    outcomes = attack(seed_folder, suffix, count=SHORT_RUN, seed=1)
    assert outcomes["read"] > 0
    assert outcomes["refused"] > 0


@pytest.mark.stress
@pytest.mark.parametrize("suffix", [".usda", ".usdc"])
def test_long_attack(suffix, seed_folder):
    outcomes = attack(seed_folder, suffix, count=LONG_RUN, seed=2)
    assert outcomes["read"] + outcomes["refused"] + outcomes["died"] == LONG_RUN
