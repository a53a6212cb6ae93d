"""Reading a dataset: arrays, Dask arrays, windows, files for other programs, the command."""

import json
from contextlib import contextmanager

import numpy as np
import pytest

import mane
from mane.cli import main
from mane.dataset.dataset import open_dataset
from mane.dataset.estimate import estimate_dataset
from mane.dataset.spec import read_spec


def test_splits_and_factors(simulated):
    dataset = mane.open_dataset(simulated)
    assert [len(dataset.split(name)) for name in ("train", "validation", "test")] == [6, 0, 2]
    assert {reader.factors["stiffness"] for reader in dataset} == {0.5, 2.0}
    assert dataset[0].rest["guides"].shape == (5, 5, 3)
    assert repr(dataset[0]).startswith("<sequence 0: 6 frames, train, 0000-random, stiffness=0.5")


def test_one_dask_array_of_all_sequences(simulated):
    dataset = open_dataset(simulated)
    array = dataset.array("points", "train")
    assert array.shape == (6, 6, 5, 5, 3)
    np.testing.assert_array_equal(array[2].compute(), dataset.split("train")[2]["points"])


def test_every_window_comes_once_in_an_epoch_in_an_order_of_its_own(simulated):
    dataset = open_dataset(simulated)
    first = np.concatenate([batch["points"] for batch in dataset.windows(3, batch=4, seed=1)])
    assert first.shape == (12, 3, 5, 5, 3)
    expected = {reader["points"][a : a + 3].tobytes() for reader in dataset.split("train") for a in (0, 3)}
    assert {window.tobytes() for window in first} == expected
    again = np.concatenate([batch["points"] for batch in dataset.windows(3, batch=4, seed=1)])
    other = np.concatenate([batch["points"] for batch in dataset.windows(3, batch=4, seed=2)])
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_windows_that_fit_nowhere(simulated):
    with pytest.raises(ValueError, match="no sequence of split 'train' has 7 frames"):
        next(open_dataset(simulated).windows(7))


def test_what_is_not_stored_is_named(simulated):
    with pytest.raises(KeyError, match="'body' is not stored; stored are points, velocity, head, hairs"):
        open_dataset(simulated)[0].read("body")


def test_info_check_and_export(simulated, tmp_path, capsys):
    assert main(["dataset", "info", str(simulated), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["sequences"], facts["splits"]["test"], facts["factors"]["stiffness"]) == (8, 2, [0.5, 2.0])
    assert main(["dataset", "check", str(simulated)]) == 0
    assert "8 sequences, nothing wrong" in capsys.readouterr().out
    for name in ("two.npz", "two.usda"):
        assert main(["dataset", "export", str(simulated), "--sequence", "2", "-o", str(tmp_path / name)]) == 0
    reader = open_dataset(simulated)[2]
    with np.load(tmp_path / "two.npz") as archive:
        np.testing.assert_array_equal(archive["hairs"], reader["hairs"])
    groom = mane.read_groom(tmp_path / "two.usda", time=6.0)
    np.testing.assert_allclose(groom.as_uniform(), reader["hairs"][5], atol=1e-6)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["export", "STORE", "--sequence", "99", "-o", "x.npz"], "--sequence 99: is not among the 8 sequences"),
        (["export", "STORE", "-o", "x.doc"], "must end in .npz, .usd, .usda, .usdc"),
        (["export", "STORE"], "-o: is missing"),
        (["info", "nowhere.zarr"], "nowhere.zarr: no such dataset"),
        (["STORE", "-o", "x.zarr"], "must be a spec file"),
        (["info", "STORE", "STORE"], "takes one file"),
        (["spec.toml", "--threads", "0", "--dry-run"], "--threads: must be at least 1, got 0"),
        (["render", "STORE", "-o", "x", "--every", "0"], "--every: must be at least 1, got 0"),
    ],
)
def test_bad_commands_get_one_line(simulated, capsys, words, message):
    assert main(["dataset", *(str(simulated) if word == "STORE" else word for word in words)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_an_estimate_is_measured_with_the_threads_of_a_worker(write_spec, monkeypatch):
    asked = []

    @contextmanager
    def using_threads(count):
        asked.append(count)
        yield

    monkeypatch.setattr("mane.dataset.estimate.using_threads", using_threads)
    monkeypatch.setattr("mane.dataset.estimate._timed", lambda *_: (1.0, 10))
    estimate_dataset(read_spec(write_spec()), workers=1, threads=3)
    assert set(asked) == {3}


def test_an_estimate_counts_what_the_spec_asks_for(write_spec):
    found = estimate_dataset(read_spec(write_spec()), workers=1)
    assert found.sequences == {"train": 6, "test": 2}
    assert found.frames == 48
    assert found.megabytes > 0
    assert 0 <= found.setup_seconds <= found.seconds_each
    assert found.hours > 0
