"""Where compiled kernels are kept, and when they are deleted."""

import os
import tempfile
from pathlib import Path

import pytest

from mane.simd import kernel_folder
from mane.simd.kernel_folder import DAY, NOWHERE, KernelFolder, delete_unused, places


def filled(place, name, age, size=100):
    folder = place / "surroundings" / f"{name}-0123456789abcdef"
    folder.mkdir(parents=True)
    (folder / "kernel.nbc").write_bytes(bytes(size))
    os.utime(folder, (1e9 - age, 1e9 - age))
    return folder


def test_what_was_not_used_for_long_is_deleted(tmp_path):
    old, new = filled(tmp_path, "old", 61 * DAY), filled(tmp_path, "new", 59 * DAY)
    assert delete_unused(tmp_path, now=1e9) == 1
    assert (old.exists(), new.exists()) == (False, True)


def test_the_oldest_go_first_where_there_is_too_much_but_none_in_use(tmp_path):
    folders = [filled(tmp_path, f"f{age}", age) for age in (3 * DAY, 2 * DAY, 60.0)]
    assert delete_unused(tmp_path, room=250, now=1e9) == 1
    assert [folder.exists() for folder in folders] == [False, True, True]
    assert delete_unused(tmp_path, room=0, now=1e9) == 1
    assert [folder.exists() for folder in folders] == [False, False, True]


def test_a_folder_is_young_again_once_it_is_used(tmp_path):
    folder = filled(tmp_path, "old", 61 * DAY)
    KernelFolder([tmp_path], "any").use(str(folder))
    assert delete_unused(tmp_path) == 0


def test_it_is_looked_for_once_in_a_while(tmp_path):
    kept = KernelFolder([tmp_path], "any")
    first = filled(tmp_path, "one", 0.0)  # of 2001
    kept.prune()
    second = filled(tmp_path, "two", 0.0)
    kept.prune()
    assert (first.exists(), second.exists()) == (False, True)


def test_other_surroundings_have_another_root(tmp_path):
    assert KernelFolder([tmp_path], "Numba 1").root != KernelFolder([tmp_path], "Numba 2").root


def test_the_variable_of_numba_comes_first_and_a_temporary_folder_last(tmp_path):
    assert next(places(str(tmp_path))) == tmp_path / "mane-kernels"
    assert next(places("")).parent.name == "mane"
    assert list(places(""))[-1].parent == Path(tempfile.gettempdir())


def test_a_folder_of_another_user_is_not_read(tmp_path, monkeypatch, capsys):
    """Kernels are code: whoever could write them there could run anything here."""
    if not hasattr(os, "getuid"):
        pytest.skip("about users of a shared machine")
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(kernel_folder.os, "getuid", lambda: 12345)
    kept = KernelFolder([tmp_path / "mane-kernels-me"], "any")
    assert kept.root.parent == NOWHERE
    assert "belongs to another user" in capsys.readouterr().err


def test_where_nothing_can_be_written_that_is_said_once(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    kept = KernelFolder([tmp_path / "file" / "kernels"], "any")
    assert len(capsys.readouterr().err.splitlines()) == 1
    kept = KernelFolder([tmp_path], "any")
    for _ in range(2):
        kept.tell(OSError(28, "No space left on device"))
    assert capsys.readouterr().err.count("No space left on device") == 1
