"""Runs that are killed at any moment go on as if nothing had happened."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

FRAMES = 40
SCENE = f"""
seed = 2
[groom]
style = "ball"
strands = 200
vertices = 8
[guides]
count = 8
[frames]
end = {FRAMES}
[head]
motion = "random"
[strand]
substeps = 2
[[interactions]]
kind = "links"
[output]
cache = "run.cache"
usd = "hair.usda"
metrics = "metrics.json"
"""


AIR = """
[wind]
velocity = [3.0, 0.0, 1.0]
gusts = 0.3
[air]
cell = 0.04
confinement = 0.1
[[air_fields]]
kind = "vortex"
position = [0.0, 0.1, 0.1]
direction = [0.0, 1.0, 0.0]
"""


WATER = """
[water]
cell = 0.05
low = [-0.25, -0.25, -0.25]
high = [0.25, 0.25, 0.25]
pool = -0.05
[[water_sources]]
kind = "jet"
position = [0.0, 0.2, 0.05]
radius = 0.09
"""


def command(scene, *options):
    return [sys.executable, "-m", "mane.cli", "simulate", str(scene), "--quiet", *options]


def results(folder):
    """Contents of every file but those with times, and of leftovers that a killed run could not remove."""
    files = (path for path in folder.rglob("*") if path.is_file())
    kept = [path for path in files if path.name not in ("cache.json", "log.csv") and ".partial" not in path.name]
    return {str(path.relative_to(folder)): path.read_bytes() for path in kept}


def write_scene(folder, more=""):
    folder.mkdir()
    (folder / "scene.toml").write_text(SCENE + more)
    return folder / "scene.toml"


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """What a whole run leaves."""
    folder = tmp_path_factory.mktemp("resume")
    scene = write_scene(folder / "whole")
    subprocess.run(command(scene), check=True)
    return results(scene.parent)


def frame_count(folder):
    return len(list((folder / "run.cache").glob("frame.*.npz")))


def run_and_kill(scene, wait):
    """Start or go on with a run and kill it when `wait(process)` returns; whether it was killed before its end."""
    process = subprocess.Popen(command(scene, "--resume"), stderr=subprocess.PIPE)
    wait(process)
    process.send_signal(signal.SIGKILL)
    message = process.communicate()[1]
    assert process.returncode in (0, -signal.SIGKILL), message
    return process.returncode != 0


def after_frames(folder, count, rng):
    """Wait until there are so many more frames, and then for a part of one."""
    goal = frame_count(folder) + count

    def wait(process):
        while process.poll() is None and frame_count(folder) < goal:
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.02))

    return wait


def test_a_run_that_was_killed_twice_is_the_same(uninterrupted, tmp_path):
    scene = write_scene(tmp_path / "killed")
    rng = random.Random(1)
    for _ in range(2):
        assert run_and_kill(scene, after_frames(scene.parent, 5, rng))
    assert 0 < frame_count(scene.parent) < FRAMES
    subprocess.run(command(scene, "--resume"), check=True)
    assert results(scene.parent) == uninterrupted


@pytest.mark.stress
def test_thirty_runs_killed_at_any_moment_are_the_same(uninterrupted, tmp_path):
    rng = random.Random(int(os.environ.get("MANE_STRESS_SEED", "7")))
    killed = run = 0
    while killed < 30:
        scene = write_scene(tmp_path / f"run{run}")
        run += 1
        is_going = True
        while is_going and killed < 30:
            # Half of them anywhere, loading and compiling included; half of them while frames are written.
            while_writing = after_frames(scene.parent, rng.randint(1, 8), rng)
            wait = while_writing if rng.random() < 0.5 else (lambda process: time.sleep(rng.uniform(0.2, 6.0)))
            is_going = run_and_kill(scene, wait)
            killed += is_going
        subprocess.run(command(scene, "--resume"), check=True)
        assert results(scene.parent) == uninterrupted


@pytest.mark.stress
@pytest.mark.parametrize("fluid", [AIR, WATER], ids=["air", "water"])
def test_runs_in_a_fluid_killed_at_any_moment_are_the_same(fluid, tmp_path):
    """Air has a memory of its own: velocities, pressure, where its box is, and what hair owes it.

    So has water: its surface, markers and drops, and how wet the hair is.
    """
    whole = write_scene(tmp_path / "whole", fluid)
    subprocess.run(command(whole), check=True)
    rng, scene = random.Random(3), write_scene(tmp_path / "killed", fluid)
    for _ in range(8):
        if not run_and_kill(scene, after_frames(scene.parent, rng.randint(1, 6), rng)):
            break
    assert 0 < frame_count(scene.parent) <= FRAMES
    subprocess.run(command(scene, "--resume"), check=True)
    assert results(scene.parent) == results(whole.parent)


@pytest.mark.stress
@pytest.mark.parametrize("model", ["cosserat", "chain", "spring"])
def test_a_process_that_compiles_gives_the_same(model, tmp_path):
    """Kernels that may reorder sums did not: how they are inlined depends on which were found compiled."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    found = []
    for name in ("compiles", "finds"):
        scene = write_scene(tmp_path / name)
        settings = ["--set", "frames.end=5", "--set", f"strand.model={model}"]
        subprocess.run([*command(scene), *settings], check=True, env=environment)
        found.append(results(scene.parent))
    assert found[0] == found[1]
