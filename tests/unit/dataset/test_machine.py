"""Where sequences run: the lock of a machine, workers and schedulers that exclude each other, movies that are kept."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from mane.cli import main
from mane.dataset import machine
from mane.dataset.cluster import open_cluster
from mane.dataset.dataset import open_dataset
from mane.dataset.pictures import MOVIES, movie_file, remove_old_movies


def test_the_lock_belongs_to_this_machine_and_user_not_to_a_home_that_is_shared(monkeypatch, tmp_path):
    monkeypatch.setenv("MANE_CACHE", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert machine.lock_file().parent == Path(tempfile.gettempdir())
    monkeypatch.setattr(machine, "_state", {"is_warm": False})
    with machine.compiling_alone():
        assert list(tmp_path.iterdir()) == []


def test_workers_wait_for_the_one_that_compiles(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "lock_file", lambda: tmp_path / "lock")
    monkeypatch.setattr(machine, "_state", {"is_warm": False})
    ask = (
        "import fcntl, sys; file = open(sys.argv[1], 'a')\n"
        "try: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "except BlockingIOError: print('held')"
    )

    def is_held():
        made = subprocess.run([sys.executable, "-c", ask, str(tmp_path / "lock")], capture_output=True, text=True)
        return made.stdout.strip() == "held"

    with machine.compiling_alone() as release:
        assert is_held()
        release()
        assert not is_held()


def test_a_scheduler_has_workers_of_its_own(capsys, simulated):
    with (
        pytest.raises(ValueError, match="--workers 2: must be left out with --scheduler"),
        open_cluster(2, 1, "tcp://a:1"),
    ):
        pass
    spec = str(simulated.parent / "spec.toml")
    assert main(["dataset", spec, "-o", str(simulated), "--workers", "2", "--scheduler", "tcp://a:1"]) == 2
    assert "--workers 2: must be left out with --scheduler" in capsys.readouterr().err


def test_movies_of_another_size_or_of_other_data_are_drawn_again(dataset_copy, tmp_path):
    dataset, folder = open_dataset(dataset_copy), tmp_path / "movies"
    folder.mkdir()
    assert remove_old_movies(dataset, folder, (64, 48), 1) == 0
    for reader in dataset:
        movie_file(folder, reader.index).write_bytes(b"movie")
    assert remove_old_movies(dataset, folder, (64, 48), 1) == 0
    file = dataset.store.sequence_folder(3) / "zarr.json"
    header = json.loads(file.read_text())
    header["attributes"]["sha256"]["hairs"] = "0" * 64
    file.write_text(json.dumps(header))
    assert remove_old_movies(open_dataset(dataset_copy), folder, (64, 48), 1) == 1
    assert not movie_file(folder, 3).exists()
    assert remove_old_movies(open_dataset(dataset_copy), folder, (64, 50), 1) == 7
    assert [path.name for path in folder.iterdir()] == [MOVIES]
