"""The disk cache: what goes in comes out, and whatever is wrong with it, the caller only computes again."""

import numpy as np
import pytest

from mane.body import cache
from mane.body.cache import content_key, load_arrays, store_arrays

ARRAYS = {"points": np.arange(12, dtype=np.float32).reshape(4, 3), "count": np.int64(7), "empty": np.zeros((0, 2))}
KEY = "abc123"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MANE_CACHE", str(tmp_path / "deep" / "cache"))
    return tmp_path / "deep" / "cache"


def test_what_was_stored_comes_back(folder):
    assert store_arrays("sdf", KEY, ARRAYS)
    loaded = load_arrays("sdf", KEY)
    assert loaded is not None
    assert set(loaded) == set(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(loaded[name], array)
        assert loaded[name].dtype == array.dtype
    assert [path.name for path in folder.iterdir()] == [f"sdf-{KEY}.npz"], "nothing else may be left behind"


def test_other_kinds_and_keys_are_not_there():
    store_arrays("sdf", KEY, ARRAYS)
    assert load_arrays("bust", KEY) is None
    assert load_arrays("sdf", KEY + "4") is None


def test_storing_again_replaces():
    store_arrays("sdf", KEY, ARRAYS)
    store_arrays("sdf", KEY, {"points": np.zeros(3)})
    loaded = load_arrays("sdf", KEY)
    assert loaded is not None
    assert list(loaded) == ["points"]


def test_an_entry_cut_short_anywhere_is_ignored(folder):
    store_arrays("sdf", KEY, ARRAYS)
    path = folder / f"sdf-{KEY}.npz"
    whole = path.read_bytes()
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        assert load_arrays("sdf", KEY) is None, f"cut to {size} of {len(whole)} bytes"


def test_an_entry_with_a_flipped_byte_never_raises_and_never_lies(folder):
    store_arrays("sdf", KEY, ARRAYS)
    path = folder / f"sdf-{KEY}.npz"
    whole = path.read_bytes()
    for place in range(0, len(whole), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        loaded = load_arrays("sdf", KEY)
        # Some bytes of a zip archive carry no meaning (times, attributes); all others are covered by its checksums.
        for name, array in (loaded or {}).items():
            np.testing.assert_array_equal(array, ARRAYS[name])


def test_an_entry_of_another_format_is_ignored(monkeypatch):
    store_arrays("sdf", KEY, ARRAYS)
    monkeypatch.setattr(cache, "FORMAT", cache.FORMAT + 1)
    assert load_arrays("sdf", KEY) is None


def test_foreign_files_are_ignored(folder):
    folder.mkdir(parents=True)
    path = folder / f"sdf-{KEY}.npz"
    np.savez(path, points=np.zeros(3))
    assert load_arrays("sdf", KEY) is None, "no format number"
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    assert load_arrays("sdf", KEY) is None, "not an archive"
    np.savez(path, points=np.array([{}], dtype=object), allow_pickle=True)
    assert load_arrays("sdf", KEY) is None, "pickled objects are never read"


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("MANE_CACHE", str(blocked))
    assert not store_arrays("sdf", KEY, ARRAYS)
    assert load_arrays("sdf", KEY) is None


def test_a_disk_that_fills_up_leaves_nothing_behind(folder, monkeypatch):
    def full(file, **arrays):
        file.write(b"half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    assert not store_arrays("sdf", KEY, ARRAYS)
    assert list(folder.iterdir()) == []


def test_an_empty_variable_turns_it_off(monkeypatch):
    monkeypatch.setenv("MANE_CACHE", "")
    assert cache.cache_directory() is None
    assert not store_arrays("sdf", KEY, ARRAYS)
    assert load_arrays("sdf", KEY) is None


def test_without_the_variable_it_is_the_users_cache(monkeypatch):
    monkeypatch.delenv("MANE_CACHE")
    directory = cache.cache_directory()
    assert directory is not None
    assert "mane" in directory.parts[-1] or "mane" in directory.parts[-2]


def test_keys_tell_contents_apart():
    array = np.arange(6, dtype=np.float32)
    parts = [
        (array,),
        (array.reshape(2, 3),),
        (array.astype(np.float64),),
        (array + 1,),
        (array, 1),
        (array, 1.0),
        (array, "1"),
        (array, None),
        ("ab", "c"),
        ("a", "bc"),
        (b"abc",),
    ]
    keys = [content_key(*part) for part in parts]
    assert len(set(keys)) == len(keys)
    assert content_key(array, 128, 0.5) == content_key(array.copy(), 128, 0.5)
    assert content_key(np.asfortranarray(array.reshape(2, 3))) == content_key(array.reshape(2, 3))


@pytest.mark.parametrize(
    ("kind", "key", "arrays", "message"),
    [
        ("../x", KEY, ARRAYS, "kind: must be letters"),
        ("sdf", "a/b", ARRAYS, "key: must be letters"),
        ("sdf", KEY, {cache.FORMAT_FIELD: np.zeros(1)}, "arrays: must be plain numbers under a name other than"),
        ("sdf", KEY, {"x": np.array([{}])}, "arrays: must be plain numbers"),
    ],
)
def test_bad_calls_are_refused(kind, key, arrays, message):
    with pytest.raises(ValueError, match=message):
        store_arrays(kind, key, arrays)
