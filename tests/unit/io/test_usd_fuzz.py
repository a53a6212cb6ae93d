"""Mutated USD files are read or refused in one line; where OpenUSD itself crashes, that is what `probe` is for.

Every file is read in a child process, without the trial run that protects users, so that our own code is tested.
"""

import multiprocessing
import os
import resource
import signal
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
from pxr import UsdGeom  # noqa: TID253 (tests of USD need it anyway)
from usd_files import full_groom, new_stage

from mane.io.usd import probe, read_usd_groom, read_usd_mesh, write_usd_groom

SHORT_RUN = 200
LONG_RUN = 25_000  # of each kind: some minutes


def write_groom_file(path):
    write_usd_groom(path, full_groom())


def write_mesh_file(path):
    stage = new_stage(path, up="Z", unit=0.01)
    mesh = UsdGeom.Mesh.Define(stage, "/Body")
    mesh.CreateFaceVertexCountsAttr([3, 4])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2, 0, 2, 3, 4])
    mesh.CreateHoleIndicesAttr([0])
    for time in (1, 2):
        mesh.CreatePointsAttr().Set([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, time, 0), (0, 0, 2)], time)
        UsdGeom.Xformable(mesh).GetOrderedXformOps() or UsdGeom.Xformable(mesh).AddTranslateOp()
        UsdGeom.Xformable(mesh).GetOrderedXformOps()[0].Set((time, 0, 0), time)
    stage.Save()


# suffix, how to write a sound file, how to read it into points
TARGETS = {
    "groom": (".usdc", write_groom_file, lambda path: read_usd_groom(path, trusted=True).groom.points),
    "mesh": (".usdc", write_mesh_file, lambda path: read_usd_mesh(path, trusted=True).points),
    "text": (".usda", write_groom_file, lambda path: read_usd_groom(path, trusted=True).groom.points),
}


def mutated(content, rng):
    """A copy with a few bytes changed anywhere, mostly where a binary file has its structure, or cut short."""
    damaged = bytearray(content)
    if rng.random() < 0.2:
        return bytes(damaged[: rng.integers(len(damaged))])
    places = [(0, len(damaged)), (0, 88)]
    if content.startswith(b"PXR-USDC"):
        (table,) = struct.unpack_from("<q", content, 16)
        places += [(table, len(damaged)), (table // 2, table)]
    for _ in range(rng.choice([1, 1, 2, 8])):
        damaged[rng.integers(*places[rng.integers(len(places))])] = rng.choice([0, 1, 127, 128, 255, rng.integers(256)])
    return bytes(damaged)


def outcome(read, path):
    """Read a file: "r" for read, "x" for refused as it should be, "m" for no memory, "h" for anything else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return b"r" if np.isfinite(read(path)).all() else b"h"
        except (ValueError, OSError) as error:
            return b"x" if "\n" not in str(error) and str(error).startswith(str(path)) else b"h"
        except MemoryError:
            return b"m"
        except Exception:
            return b"h"


def memory_in_use():
    """Address space of this process, which a child begins with [bytes]; unknown and zero but on Linux."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[0]
    except OSError:
        return 0
    return int(pages) * resource.getpagesize()


def outcomes_of_batch(read, path, content, seed, indices):
    """Outcome of each mutated file, read in a child process; where that dies, the signal is the last outcome."""
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            room = memory_in_use() + probe.SPARE_MEMORY
            resource.setrlimit(resource.RLIMIT_AS, (room, room))
            for index in indices:
                path.write_bytes(mutated(content, np.random.default_rng([seed, index])))
                signal.alarm(20)
                os.write(sender, outcome(read, path))
        finally:
            os._exit(0)
    os.close(sender)
    with os.fdopen(receiver, "rb") as pipe:
        outcomes = [chr(byte) for byte in pipe.read()]
    _, status = os.waitpid(child, 0)
    return [*outcomes, signal.Signals(os.WTERMSIG(status))] if os.WIFSIGNALED(status) else outcomes


def attack(target, folder, count, seed, batch=100):
    """Outcomes of reading many mutated files."""
    suffix, write, read = TARGETS[target]
    write(folder / f"sound{suffix}")
    content = (folder / f"sound{suffix}").read_bytes()
    outcomes = []
    while len(outcomes) < count:
        indices = range(len(outcomes), min(len(outcomes) + batch, count))
        outcomes += outcomes_of_batch(read, folder / f"mutated{suffix}", content, seed, indices)
    return outcomes


def attack_from_clean_process(*arguments):
    """Outcomes of `attack` in a process without threads: those of OpenMP end a forked child that starts a kernel."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(attack, arguments)


def check(outcomes):
    """Our code never fails otherwise than in one line, and OpenUSD fails no more than it did in release 26.11."""
    assert [index for index, found in enumerate(outcomes) if found == "h"] == []
    assert outcomes.count("r") > 0
    assert outcomes.count("x") > 0
    crashes = [found for found in outcomes if found not in ("r", "x")]
    assert len(crashes) <= 1 + len(outcomes) // 500


@pytest.mark.parametrize("target", TARGETS)
def test_mutated_files_are_read_or_refused(target, tmp_path):
    check(attack_from_clean_process(target, tmp_path, SHORT_RUN, 1))


@pytest.mark.stress
@pytest.mark.parametrize("target", TARGETS)
def test_many_mutated_files(target, tmp_path):
    check(attack_from_clean_process(target, tmp_path, LONG_RUN, 2))
