"""Files that cannot hurt: one line that names file, fault and remedy, nothing on the terminal, nothing left behind."""

import os
import resource
import struct
import subprocess
import sys

import numpy as np
import pytest
from usd_files import curves_file, strands, value_of

from mane.groom.groom import Groom
from mane.io.usd import UsdSequenceWriter, probe, read_usd_groom, read_usd_mesh, write_usd_groom, write_usd_layer
from mane.io.usd.crate import check_crate

READERS = (read_usd_groom, read_usd_mesh)
readers = pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)


@pytest.fixture
def crate(tmp_path):
    """A sound binary file and its bytes."""
    path = curves_file(tmp_path / "sound.usdc", *strands())
    return path, path.read_bytes()


def refusal(read, path, kind=ValueError, **options):
    """The message with which a file is refused: one line that begins with its name."""
    with pytest.raises(kind) as caught:
        read(path, **options)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    assert "pxr" not in text
    assert ";" in text  # what is wrong; what to do
    return text


@readers
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.usd", b"", "is empty"),
        ("text.usd", b"hello, this is no scene", "is no USD file, it begins with b'hello, t'"),
        ("text.usdc", b"#usda 1.0\n", "is a .usda file by its contents; rename it to text.usda"),
        ("hair.usd", b"HAIR" + bytes(200), "is a .hair file by its contents; rename it to hair.hair"),
        ("zip.usd", b"PK\x03\x04" + bytes(200), "is a .usdz file by its contents"),
        ("binary.usda", b"PXR-USDC" + bytes(200), "is a .usdc file by its contents; rename it to binary.usdc"),
        ("cut.usda", b'#usda 1.0\ndef Xform "a" {', "OpenUSD cannot read it"),
        ("wrong.usda", b"#usda 1.0\nthis is not the grammar", "OpenUSD cannot read it"),
        ("header.usdc", b"PXR-USDC\0\x08", "is cut short or damaged: it has 10 bytes"),
        ("scene.abc", b"#usda 1.0\n", "'.abc' is no suffix of USD"),
        ("package.usdz", b"PK\x03\x04" + bytes(200), "OpenUSD cannot read it"),
    ],
)
def test_files_that_are_something_else(tmp_path, capfd, read, name, content, said):
    path = tmp_path / name
    path.write_bytes(content)
    assert said in refusal(read, path)
    assert capfd.readouterr() == ("", "")


@readers
def test_paths_that_are_no_files(tmp_path, read):
    (tmp_path / "folder.usd").mkdir()
    assert "is a folder" in refusal(read, tmp_path / "folder.usd", IsADirectoryError)
    assert "does not exist; check the path" in refusal(read, tmp_path / "none.usd", FileNotFoundError)
    (tmp_path / "loop.usd").symlink_to("loop.usd")
    assert "cannot be read" in refusal(read, tmp_path / "loop.usd", OSError)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable for the superuser")
def test_unreadable_files(tmp_path):
    path = curves_file(tmp_path / "a.usda", *strands())
    path.chmod(0)
    assert "permission denied" in refusal(read_usd_groom, path, PermissionError)


def test_binary_files_cut_anywhere_are_refused(crate):
    path, content = crate
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        text = refusal(read_usd_groom, path, trusted=True)
        assert "export" in text


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (16, 2**40, "is cut short or damaged"),
        (16, -5, "is cut short or damaged"),
        (16, 88, "claims .* sections|section .* claims|is cut short"),
        ("count", 2**31, "its table of contents claims 2147483648 sections"),
        ("start", 2**50, "section 'TOKENS' claims bytes"),
        ("size", -1, "section 'TOKENS' claims bytes"),
    ],
)
def test_tables_that_point_outside_are_refused_before_openusd_sees_them(crate, place, value, said):
    path, content = crate
    (table,) = struct.unpack_from("<q", content, 16)
    offset = {"count": table, "start": table + 24, "size": table + 32}.get(place, place)
    damaged = bytearray(content)
    struct.pack_into("<q", damaged, offset, value)
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=said):
        check_crate(path)


def test_a_crash_of_openusd_is_a_message(crate, monkeypatch):
    path, _ = crate
    monkeypatch.setattr(probe, "_passed", set())
    monkeypatch.setattr(probe, "_SCRIPT", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert "OpenUSD crashes on it (SIGSEGV)" in refusal(read_usd_groom, path)
    assert read_usd_groom(path, trusted=True).groom.strand_count == 3
    monkeypatch.setattr(probe, "_SCRIPT", "import os, sys; os._exit(int(sys.argv[4]))")
    assert "claims to hold more than its size allows" in refusal(read_usd_groom, path)
    monkeypatch.setattr(probe, "_SCRIPT", "import time; time.sleep(60)")
    monkeypatch.setattr(probe, "PATIENCE_SECONDS", 0.2)
    assert "does not finish reading it" in refusal(read_usd_groom, path)


def test_a_sound_file_is_tried_once(crate, monkeypatch):
    path, _ = crate
    monkeypatch.setattr(probe, "_passed", set())
    read_usd_groom(path)
    monkeypatch.setattr(probe, "_SCRIPT", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert read_usd_groom(path).groom.strand_count == 3
    os.utime(path, ns=(1, 1))  # changed since
    assert "crashes" in refusal(read_usd_groom, path)


def test_no_second_blender_is_started_where_python_is_embedded(crate, monkeypatch):
    path, _ = crate
    monkeypatch.setattr(probe, "_passed", set())
    monkeypatch.setattr(sys, "executable", "/opt/blender/blender")
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: pytest.fail("a process was started"))
    assert read_usd_groom(path).groom.strand_count == 3


# -- writing ---------------------------------------------------------------------------------------------------------


def writers(groom, source):
    return {
        "groom": lambda path: write_usd_groom(path, groom),
        "layer": lambda path: write_usd_layer(path, source, groom.points),
        "sequence": lambda path: UsdSequenceWriter(path, source).write(1, groom.points),
        "new sequence": lambda path: UsdSequenceWriter.new(path, groom).write(1, groom.points),
    }


@pytest.fixture
def hair(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    points, counts = strands((9,) * 4000)
    read = read_usd_groom(curves_file(tmp_path / "in" / "hair.usdc", points, counts), trusted=True)
    return read.groom, read.source


@pytest.mark.parametrize("kind", ["groom", "layer", "sequence", "new sequence"])
@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("none/a.usda", FileNotFoundError, "its folder does not exist"),
        ("folder.usda", IsADirectoryError, "is a folder"),
        ("a.abc", ValueError, "must end in one of .usd, .usda, .usdc"),
        ("in/hair.usdc/a.usda", FileNotFoundError, "its folder does not exist"),
    ],
)
def test_places_that_cannot_be_written(tmp_path, hair, kind, name, error, said):
    (tmp_path / "folder.usda").mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(error, match=said) as caught:
        writers(*hair)[kind](tmp_path / name)
    assert "\n" not in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("suffix", [".usda", ".usdc"])
@pytest.mark.parametrize("kind", ["groom", "layer", "sequence", "new sequence"])
def test_a_disk_that_fills_up_leaves_no_partial_file(tmp_path, hair, kind, suffix, capfd):
    """A limit on the size of files stands in for the end of the disk: OpenUSD meets it in the middle of its work."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(OSError, match=r"cannot be written \(File too large\); free some space") as caught:
            writers(*hair)[kind](tmp_path / "out" / f"a{suffix}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "\n" not in str(caught.value)
    left = {file.name for file in (tmp_path / "out").rglob("*") if file.is_file()}
    # A stage without frames, and what says which attributes they will have, are complete files.
    assert left <= {f"a{suffix}", "manifest.usda"} if "sequence" in kind else not left
    assert capfd.readouterr() == ("", "")


def test_an_older_file_stays_when_the_new_one_does_not_fit(tmp_path, hair):
    groom, _ = hair
    small = Groom.from_uniform(np.arange(12, dtype=np.float32).reshape(2, 2, 3))
    write_usd_groom(tmp_path / "a.usdc", small)
    before = (tmp_path / "a.usdc").read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(OSError, match="cannot be written"):
            write_usd_groom(tmp_path / "a.usdc", groom)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / "a.usdc").read_bytes() == before
    assert len(value_of(tmp_path / "a.usdc", "/Groom/Strands", "points")) == 4
