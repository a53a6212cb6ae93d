"""A cluster whose workers are killed at random makes every sequence, each once, with the bytes of a serial run."""

import os
import random
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from mane.dataset import cluster
from mane.dataset.check import check_dataset
from mane.dataset.dataset import open_dataset
from mane.dataset.run import run_dataset
from mane.dataset.spec import read_spec

SPEC = """\
frames = 3

[scene.groom]
style = "ball"
strands = 12
vertices = 5

[scene.guides]
count = 4

[[motions]]
motion = "random"
count = {motions}

[[axes]]
key = "strand.properties.stiffness"
range = [0.5, 2.0]
count = 5
"""


def write_spec(folder, motions):
    (folder / "spec.toml").write_text(SPEC.format(motions=motions))
    return folder / "spec.toml"


def sums(path):
    return {reader.index: reader.attributes["sha256"] for reader in open_dataset(path)}


def start(spec, store, workers):
    command = [sys.executable, "-m", "mane", "dataset", str(spec), "-o", str(store), "--workers", str(workers)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def workers_of(process):
    """Processes that simulate: what the command spawned, or what its resource tracker is not."""
    try:
        found = psutil.Process(process.pid).children(recursive=True)
        return [one.pid for one in found if "spawn_main" in " ".join(one.cmdline())]
    except psutil.Error:
        return []


def test_two_workers_give_the_bytes_of_none(tmp_path):
    spec = write_spec(tmp_path, 1)
    run_dataset(read_spec(spec), tmp_path / "serial.zarr", workers=0)
    summary = run_dataset(read_spec(spec), tmp_path / "two.zarr", workers=2)
    assert (summary.made, summary.failures) == (5, {})
    assert sums(tmp_path / "two.zarr") == sums(tmp_path / "serial.zarr")


def test_a_cluster_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1.0)
    spec = read_spec(write_spec(tmp_path, 1))
    with pytest.raises(OSError, match=r"--scheduler tcp://127.0.0.1:9: cannot be reached"):
        run_dataset(spec, tmp_path / "hair.zarr", scheduler="tcp://127.0.0.1:9")


@pytest.mark.stress
def test_workers_killed_at_random_and_the_command_too(tmp_path):
    spec, store, dice = write_spec(tmp_path, 100), tmp_path / "killed.zarr", random.Random(1)
    killed = commands = 0
    while commands < 40:
        commands += 1
        process, ends = start(spec, store, 8), time.monotonic() + 150
        while process.poll() is None:
            time.sleep(dice.uniform(1.0, 4.0))
            victims = workers_of(process)
            if victims and time.monotonic() < ends:
                os.kill(dice.choice(victims), signal.SIGKILL)
                killed += 1
            if commands == 1 and killed >= 8:
                process.kill()  # the client, and with it the scheduler
        process.communicate()
        if process.returncode == 0:
            break
    assert process.returncode == 0
    assert killed >= 8
    dataset = open_dataset(store)
    assert len(dataset) == 500
    assert not dataset.failures
    assert check_dataset(dataset) == []
    run_dataset(read_spec(spec), tmp_path / "serial.zarr", workers=0)
    assert sums(store) == sums(tmp_path / "serial.zarr")


@pytest.mark.stress
def test_an_interrupted_run_goes_on(tmp_path):
    spec, store = write_spec(tmp_path, 30), tmp_path / "hair.zarr"
    process = start(spec, store, 2)
    while not (store / "sequences" / "000010").exists():
        assert process.poll() is None
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in errors
    assert "Traceback" not in errors
    there = len(open_dataset(store))
    assert 0 < there < 150
    again = start(spec, store, 2)
    out, errors = again.communicate(timeout=600)
    assert again.returncode == 0, errors
    assert f"{150 - there} sequences simulated, {there} were there" in out
    assert check_dataset(open_dataset(store)) == []


def die_or_count(folder, number):
    """A task of which number 1 takes its worker with it; every start leaves a file."""
    import tempfile

    tempfile.mkstemp(prefix=f"{number}-", dir=folder)
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_a_worker_that_dies_while_it_starts_is_replaced(tmp_path):
    killed = []

    def kill_first():
        while not killed:
            for pid in workers_of(psutil.Process())[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
            time.sleep(0.01)

    killer = threading.Thread(target=kill_first)
    killer.start()
    with cluster.open_cluster(1) as workers:
        results = dict(workers.run(die_or_count, [(str(tmp_path), number) for number in (0, 2, 3)]))
    killer.join()
    assert results == {0: 0, 1: 2, 2: 3}


@pytest.mark.stress
def test_workers_that_cannot_start_are_given_up_in_one_line(tmp_path):
    # A program from standard input cannot be imported by the processes that it spawns.
    code = (
        "from mane.dataset import cluster\ncluster.MOST_LOST = 2\n"
        "try:\n    with cluster.open_cluster(1):\n        pass\nexcept OSError as error:\n    print(error)\n"
    )
    made = subprocess.run([sys.executable, "-"], input=code, capture_output=True, text=True, cwd=tmp_path, timeout=200)
    assert (
        made.stdout == "no worker could be started, 2 died while they started; --workers 0 (workers=0) does without\n"
    )


def test_a_task_that_kills_its_workers_is_given_up_after_four_of_them(tmp_path):
    with cluster.open_cluster(2) as workers:
        results = dict(workers.run(die_or_count, [(str(tmp_path), number) for number in range(6)]))
    assert isinstance(results.pop(1), cluster.TaskDied)
    assert results == {number: number for number in (0, 2, 3, 4, 5)}
    assert len(list(tmp_path.glob("1-*"))) == 2 * (cluster.ALLOWED_DEATHS + 1)
