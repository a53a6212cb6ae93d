"""Alembic where there is no Blender: one line that says what to do, and nothing left behind."""

import numpy as np
import pytest

from mane.cli import main
from mane.groom.groom import Groom
from mane.io import blender, read_groom, write_groom


@pytest.fixture
def no_blender(monkeypatch):
    monkeypatch.delenv(blender.VARIABLE, raising=False)
    monkeypatch.setattr(blender, "find_spec", lambda name: None)
    monkeypatch.setattr(blender.shutil, "which", lambda name: None)


def hair():
    return Groom.from_uniform(np.random.default_rng(0).normal(size=(3, 4, 3)))


def test_reading_says_what_is_needed(no_blender, tmp_path):
    (tmp_path / "x.abc").write_bytes(b"Ogawa" + bytes(50))
    with pytest.raises(ValueError, match=r"x\.abc: needs Blender: set MANE_BLENDER"):
        read_groom(tmp_path / "x.abc")


def test_writing_says_what_is_needed_and_leaves_nothing(no_blender, tmp_path):
    with pytest.raises(ValueError, match=r"x\.abc: needs Blender"):
        write_groom(tmp_path / "x.abc", hair())
    assert not list(tmp_path.iterdir())


def test_the_command_says_so_in_one_line(no_blender, tmp_path, capsys):
    write_groom(tmp_path / "x.npz", hair())
    assert main(["convert", str(tmp_path / "x.npz"), str(tmp_path / "x.abc")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"mane: error: {tmp_path / 'x.abc'}: needs Blender")
    assert said.count("\n") == 1


def test_a_blender_that_cannot_be_run(monkeypatch, tmp_path):
    monkeypatch.setenv(blender.VARIABLE, str(tmp_path / "no_such_blender"))
    with pytest.raises(ValueError, match=r"no_such_blender cannot be run \(no such file or directory\); needs Blender"):
        write_groom(tmp_path / "x.abc", hair())


def test_a_blender_that_fails_is_quoted(monkeypatch, tmp_path):
    program = tmp_path / "blender"
    program.write_text("#!/bin/sh\necho one\necho 'no display' >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv(blender.VARIABLE, str(program))
    with pytest.raises(ValueError, match=r"blender fail \(no display\)"):
        write_groom(tmp_path / "x.abc", hair())
