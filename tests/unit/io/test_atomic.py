"""Files appear whole or not at all."""

import errno
import os
import stat
import subprocess
import sys

import pytest

from mane.io.atomic import atomic_path, atomic_write, check_writable, explained


def test_the_file_appears_with_its_contents_and_nothing_else(tmp_path):
    target = tmp_path / "a.bin"
    with atomic_write(target) as file:
        file.write(b"whole")
        assert not target.exists()
    assert target.read_bytes() == b"whole"
    assert os.listdir(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt])
def test_after_an_error_the_older_file_is_as_it_was(tmp_path, error):
    target = tmp_path / "a.bin"
    target.write_bytes(b"older")

    def write_half():
        with atomic_write(target) as file:
            file.write(b"ha")
            raise error("in the middle")

    with pytest.raises(error, match="in the middle"):
        write_half()
    assert target.read_bytes() == b"older"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_permissions_follow_the_users_mask_not_a_temporary_files(tmp_path):
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    with atomic_write(tmp_path / "ours") as file:
        file.write(b"x")
    assert stat.S_IMODE((tmp_path / "ours").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_a_link_keeps_pointing_at_the_file_that_it_names(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.bin").write_bytes(b"older")
    link = tmp_path / "link.bin"
    link.symlink_to(tmp_path / "real" / "a.bin")
    with atomic_write(link) as file:
        file.write(b"newer")
    assert link.is_symlink()
    assert (tmp_path / "real" / "a.bin").read_bytes() == b"newer"


def test_a_writer_that_opens_files_itself_gets_a_name_of_the_same_suffix(tmp_path):
    target = tmp_path / "scene.usda"
    with atomic_path(target) as temporary:
        assert temporary.suffix == ".usda"
        assert temporary.parent == tmp_path
        temporary.write_bytes(b"#usda 1.0\n")
    assert target.read_bytes() == b"#usda 1.0\n"
    assert os.listdir(tmp_path) == ["scene.usda"]


def test_a_writer_that_wrote_nothing_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"a\.bin: cannot be written"), atomic_path(tmp_path / "a.bin"):
        pass


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("", IsADirectoryError, "is a folder; give the name of a file"),
        ("no/such/a.bin", FileNotFoundError, "its folder does not exist; make it first"),
    ],
)
def test_what_cannot_work_is_known_before_the_work(tmp_path, name, error, message):
    with pytest.raises(error, match=message) as caught:
        check_writable(tmp_path / name)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="may not be written to; choose another one"):
        check_writable(tmp_path / "a.bin")
    tmp_path.chmod(0o700)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_file_that_is_protected_is_not_replaced(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"older")
    (tmp_path / "a.bin").chmod(0o400)
    with pytest.raises(PermissionError, match="may not be written to; choose another name"):
        check_writable(tmp_path / "a.bin")


def test_every_error_names_file_fault_and_remedy():
    told = explained(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/tmp/.x.partial"), "out/a.hair")
    assert (
        str(told) == "out/a.hair: cannot be written (no space left on device); free some space or choose another folder"
    )
    assert told.errno == errno.ENOSPC
    assert isinstance(explained(PermissionError(errno.EACCES, "no"), "a"), PermissionError)


def test_a_disk_that_is_full_leaves_nothing_behind(tmp_path):
    """A process whose files may not grow beyond 64 KB stands for the full disk: the write fails half-way."""
    code = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))\n"
        "import numpy as np, mane\n"
        "from mane.io import write_groom\n"
        "groom = mane.Groom.from_uniform(np.random.default_rng(0).random((1000, 16, 3)))\n"
        "try:\n"
        "    write_groom(sys.argv[1], groom)\n"
        "except OSError as error:\n"
        "    print(error)\n"
    )
    for name in ("a.hair", "a.data", "a.npz"):
        target = tmp_path / name
        target.write_bytes(b"older")
        done = subprocess.run(
            [sys.executable, "-c", code, str(target)], capture_output=True, text=True, check=True, timeout=60
        )
        assert f"{name}: cannot be written (file too large); free some space" in done.stdout
        assert target.read_bytes() == b"older"
    assert sorted(os.listdir(tmp_path)) == ["a.data", "a.hair", "a.npz"]
