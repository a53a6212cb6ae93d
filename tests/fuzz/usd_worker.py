"""Reads mutated USD files one after the other and says how each went, in a process that may crash.

Run as `python usd_worker.py FOLDER SUFFIX SEED START STOP`; prints a line before and after each input.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from fuzzing import mutated

SEED_FILES = ("still", "moving")


def mutated_file(folder: Path, suffix: str, seed: int, number: int) -> Path:
    """Write the input of that number and return its path; the same bytes every time."""
    seeds = [(folder / f"{name}{suffix}").read_bytes() for name in SEED_FILES]
    path = folder / f"input-{number}{suffix}"
    path.write_bytes(mutated(np.random.default_rng([seed, number]), seeds))
    return path


def outcome(path: Path) -> str:
    """Read a file without the trial run in a child process, since this is one."""
    from mane.io.usd import read_usd_groom

    try:
        groom = read_usd_groom(path, trusted=True).groom
        return "read" if np.isfinite(groom.points).all() else "broken: points are not finite"
    except (ValueError, OSError, MemoryError) as error:
        return "refused" if "\n" not in str(error) else f"broken: several lines: {error!r}"
    except Exception as error:
        return f"broken: {error!r}"


def limit_memory(gigabytes: int) -> None:
    """Let greedy allocations fail instead of slowing the machine down."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (gigabytes << 30, gigabytes << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def say(line: str) -> None:
    sys.stdout.write(" ".join(line.split()) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    folder, suffix = Path(sys.argv[1]), sys.argv[2]
    seed, start, stop = (int(word) for word in sys.argv[3:])
    warnings.simplefilter("ignore")
    limit_memory(6)
    for number in range(start, stop):
        say(f"{number} begins")
        path = mutated_file(folder, suffix, seed, number)
        say(f"{number} {outcome(path)}")
        path.unlink()
