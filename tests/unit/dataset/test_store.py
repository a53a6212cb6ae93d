"""The files of a dataset: what is begun, removed, renamed and read, without simulating anything."""

import errno
import shutil

import numpy as np
import pytest

from mane.dataset import run, simulate, store
from mane.dataset.dataset import open_dataset
from mane.dataset.pictures import _spread
from mane.dataset.sequences import list_sequences
from mane.dataset.spec import read_spec
from mane.dataset.store import DatasetStore, SequenceWriter


@pytest.fixture
def empty(write_spec, tmp_path):
    return DatasetStore.make(tmp_path / "hair.zarr", read_spec(write_spec()))


def frame(value):
    return {"points": np.full((3, 4, 3), value, np.float32)}


def test_a_run_that_was_killed_while_it_began_goes_on(empty, write_spec):
    for name in ("sequences", "rests", "unfinished"):
        shutil.rmtree(empty.path / name)
    again = DatasetStore.make(empty.path, read_spec(write_spec()))
    writer = SequenceWriter(again, 0, 1)
    writer.append(frame(1.0))
    writer.finish({"status": "done"})
    assert again.has(0)


def test_a_worker_whose_files_the_next_run_removed_finishes_nothing(empty):
    writer = SequenceWriter(empty, 0, 64)
    for number in range(40):  # more than a chunk
        writer.append(frame(1.0 + number))
    empty.remove_unfinished()
    for number in range(24):
        writer.append(frame(41.0 + number))
    with pytest.raises(FileNotFoundError, match="was removed while it was written"):
        writer.finish({"status": "done"})
    assert not empty.has(0)
    assert list((empty.path / "unfinished").iterdir()) == []


def test_half_a_sequence_in_the_way_is_replaced(empty):
    (empty.sequence_folder(0) / "points").mkdir(parents=True)
    writer = SequenceWriter(empty, 0, 1)
    writer.append(frame(1.0))
    writer.finish({"status": "done"})
    assert empty.has(0)
    np.testing.assert_array_equal(empty.group(0)["points"][0], frame(1.0)["points"])


def test_a_worker_that_outlives_a_dataset_takes_the_spec_of_the_next(empty, write_spec):
    assert simulate._spec_of(DatasetStore.open(empty.path)).seed == 3
    shutil.rmtree(empty.path)
    DatasetStore.make(empty.path, read_spec(write_spec(("seed = 3", "seed = 4"))))
    assert simulate._spec_of(DatasetStore.open(empty.path)).seed == 4


def test_a_worker_of_another_version_stops_the_run_and_records_no_failure(empty, monkeypatch):
    sequence = list_sequences(empty.spec)[0]
    monkeypatch.setattr(store, "program_versions", lambda: {"numpy": "1.0"})
    with pytest.raises(ValueError, match=r"was begun with numpy .* and that of worker .* is 1\.0"):
        simulate.simulate_sequence(str(empty.path), sequence)
    assert not empty.has(0)


def test_files_of_the_scene_are_found_through_a_link_to_the_dataset(empty, tmp_path):
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
    link = tmp_path / "elsewhere" / "deep" / "link.zarr"
    link.symlink_to(empty.path)
    assert DatasetStore.open(link).spec.scene.folder == tmp_path.resolve()


def test_a_dataset_is_read_without_the_files_of_its_scene(write_spec, tmp_path):
    spec = read_spec(write_spec(('motion = "shake"', 'motion = "walk.csv"')))
    DatasetStore.make(tmp_path / "hair.zarr", spec)
    assert open_dataset(tmp_path / "hair.zarr").missing == list(range(8))


def test_a_file_system_without_locks(empty, monkeypatch):
    def refuse(*arguments):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with run._only_run(empty):
        pass


@pytest.mark.parametrize("length", [1, 5, 12, 30])
def test_a_sheet_shows_no_sequence_twice(length):
    shown = _spread(list(range(length)), 12)
    assert len(set(shown)) == len(shown) == min(length, 12)
