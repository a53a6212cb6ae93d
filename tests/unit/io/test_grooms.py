"""Reading and writing grooms by suffix: units, damaged strands, files that are not what they are called."""

import os
import struct
import warnings

import numpy as np
import pytest
from groom_bytes import grooms
from hypothesis import given
from hypothesis import strategies as st

from mane.groom.groom import Groom
from mane.io import LossNotice, RepairNotice, read_groom, read_raw, write_groom
from mane.io.formats import STRAND_FORMATS
from mane.io.grooms import read_repaired

OURS = (".hair", ".data", ".npz")
GARBAGE = b"\x07garbage, certainly no hair; " * 20


def sample(seed=0, strands=4, vertices=5):
    return Groom.from_uniform(np.random.default_rng(seed).normal(size=(strands, vertices, 3)))


def data_file(path, strands):
    blocks = [np.asarray(strand, "<f4") for strand in strands]
    path.write_bytes(struct.pack("<i", len(blocks)) + b"".join(struct.pack("<i", len(b)) + b.tobytes() for b in blocks))
    return path


# -- round trips -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", OURS)
@given(groom=grooms())
def test_points_come_back_to_the_last_bit(suffix, groom, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / f"round_trip{suffix}"
    write_groom(path, groom)
    back = read_groom(path)
    assert back.points.tobytes() == groom.points.tobytes()
    assert back.offsets.tolist() == groom.offsets.tolist()


@pytest.mark.parametrize("suffix", [".hair", ".npz"])
@given(unit=st.sampled_from(["cm", "mm", "0.1 in", "ft"]), up=st.sampled_from("yz"), groom=grooms([("width", 1)]))
def test_files_that_state_units_and_axes_come_back_the_same(suffix, groom, unit, up, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / f"units{suffix}"
    write_groom(path, groom, unit=unit, up=up)
    back = read_groom(path)
    # Two roundings to float32 of half a unit in the last place each, 2^-24 of the value.
    np.testing.assert_allclose(back.points, groom.points, rtol=2**-23 * 1.01, atol=1e-44)
    if "width" in {**groom.strand, **groom.vertex}:
        np.testing.assert_allclose(back.per_vertex("width"), groom.per_vertex("width"), rtol=2**-23 * 1.01)


def test_data_needs_to_be_told_what_it_was_told(tmp_path):
    path, groom = tmp_path / "a.data", sample()
    write_groom(path, groom, unit="cm", up="z")
    np.testing.assert_allclose(read_groom(path).points, groom.points[:, [0, 2, 1]] * [100, -100, 100], rtol=1e-6)
    np.testing.assert_allclose(read_groom(path, unit="cm", up="z").points, groom.points, rtol=3e-7)


def test_what_the_caller_says_wins_over_what_the_file_states(tmp_path):
    path, groom = tmp_path / "a.npz", sample()
    write_groom(path, groom, unit="cm", up="y")
    np.testing.assert_allclose(read_groom(path, unit="m").points, groom.points * 100, rtol=1e-6)


def test_a_name_of_yuksels_models_tells_tenths_of_an_inch(tmp_path):
    groom = sample()
    for name in ("wCurly.hair", "mine.hair"):
        write_groom(tmp_path / name, groom)
        content = bytearray((tmp_path / name).read_bytes())
        content[40:128] = bytes(88)  # as other tools write it: without our statement
        (tmp_path / name).write_bytes(content)
    np.testing.assert_allclose(read_groom(tmp_path / "wCurly.hair").points, groom.points * 0.00254, rtol=1e-6)
    np.testing.assert_allclose(read_groom(tmp_path / "mine.hair").points, groom.points)


@pytest.mark.parametrize("suffix", OURS)
def test_arrays_are_writable_and_our_own(suffix, tmp_path):
    path = tmp_path / f"a{suffix}"
    write_groom(path, sample())
    groom = read_groom(path)
    assert groom.points.flags.writeable
    assert groom.points.flags.aligned
    assert groom.points.flags.c_contiguous


def test_attributes_without_room_are_named(tmp_path):
    groom = sample().with_strand(width=np.ones(4), root_uv=np.zeros((4, 2)), group_id=np.zeros(4, int))
    with pytest.warns(LossNotice, match=r"a\.hair: Yuksel's \.hair has no room for root_uv, group_id, left out"):
        write_groom(tmp_path / "a.hair", groom)
    with pytest.warns(LossNotice, match="has no room for width, root_uv, group_id"):
        write_groom(tmp_path / "a.data", groom)
    write_groom(tmp_path / "a.npz", groom)
    assert set(read_groom(tmp_path / "a.npz").strand) == {"width", "root_uv", "group_id"}


# -- damaged strands -------------------------------------------------------------------------------------------------


def test_one_bad_strand_does_not_cost_the_rest(tmp_path):
    good = np.random.default_rng(0).normal(size=(3, 5, 3)).astype(np.float32)
    gap, lost = good[1].copy(), np.full((4, 3), np.nan)
    gap[2] = np.inf
    path = data_file(tmp_path / "a.data", [good[0], gap, lost, good[1][:1], np.zeros((3, 3)), good[2]])
    with pytest.warns(RepairNotice, match=r"a\.data: kept 3 of 6 strands.*dropped .*mended") as caught:
        groom = read_groom(path)
    assert "\n" not in str(caught[0].message)
    assert groom.strand_count == 3
    assert groom.points[:5].tobytes() == good[0].tobytes()
    assert groom.points[-5:].tobytes() == good[2].tobytes()
    np.testing.assert_allclose(groom.points[7], (good[1][1] + good[1][3]) / 2, rtol=1e-5)


def test_without_repair_the_first_offender_is_named(tmp_path):
    path = data_file(tmp_path / "a.data", [np.eye(3), np.eye(3)[:1], np.eye(3)])
    with pytest.raises(
        ValueError, match=r"a\.data: 1 of 3 strands have fewer than 2 points \(first: strand 1\); read it"
    ):
        read_groom(path, repair=False)
    assert [problem.kind for problem in read_raw(path).problems] == ["too few points"]


def test_reading_leaves_alone_what_a_groom_can_hold(tmp_path):
    doubled = [[0, 0, 0], [0, 0, 0], [0, 1, 0]]
    stub = [[0, 0, 0], [0, 1e-9, 0]]
    path = data_file(tmp_path / "a.data", [doubled, stub, np.eye(3)[:1]])
    with pytest.warns(RepairNotice):
        groom = read_groom(path)
    assert groom.vertex_counts.tolist() == [3, 2]
    thorough, report = read_repaired(path)
    assert thorough.vertex_counts.tolist() == [2]
    assert report.dropped["no_length"].tolist() == [1]
    assert report.dropped["too_few_points"].tolist() == [2]


def test_a_file_without_any_usable_strand_is_refused(tmp_path):
    path = data_file(tmp_path / "a.data", [np.zeros((3, 3)), np.full((2, 3), np.nan)])
    with pytest.raises(ValueError, match=r"a\.data: repair: must find a usable strand, got none"):
        read_groom(path)


def test_sizes_that_overflow_in_metres_are_damage_too(tmp_path):
    path = data_file(tmp_path / "a.data", [[[0, 0, 0], [3e38, 0, 0], [1, 1, 1]], np.eye(3)])
    with pytest.warns(RepairNotice, match="kept 2 of 2 strands"):
        groom = read_groom(path, unit="km")
    assert np.isfinite(groom.points).all()


# -- files that are not what they should be ----------------------------------------------------------------------------


@pytest.mark.parametrize("true", OURS)
@pytest.mark.parametrize("called", [".hair", ".data", ".npz", ".tfx", ".bin", ".ply", ".npy"])
def test_a_file_is_named_as_what_it_is(true, called, tmp_path):
    if true == called:
        return
    write_groom(tmp_path / f"x{true}", sample())
    (tmp_path / f"x{true}").rename(tmp_path / f"x{called}")
    with pytest.raises(
        ValueError, match=rf"x\{called}: is a \{true} file by its contents, not \{called}; rename it to x"
    ):
        read_groom(tmp_path / f"x{called}")


@pytest.mark.parametrize(
    ("content", "true"),
    [
        (b"PXR-USDC" + bytes(100), ".usdc"),
        (b"#usda 1.0\n", ".usda"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), ".png"),
        (b"Ogawa" + bytes(50), ".abc"),
        (b"glTF" + bytes(50), ".glb"),
    ],
)
def test_files_of_other_trades_are_named_too(content, true, tmp_path):
    (tmp_path / "x.hair").write_bytes(content)
    with pytest.raises(ValueError, match=rf"x\.hair: is a \{true} file by its contents, not \.hair"):
        read_groom(tmp_path / "x.hair")


@pytest.mark.parametrize("suffix", STRAND_FORMATS)
def test_no_strand_file_at_all(suffix, tmp_path):
    path = tmp_path / f"x{suffix}"
    with pytest.raises(FileNotFoundError, match="does not exist; check the path"):
        read_groom(path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="is empty; export it again"):
        read_groom(path)
    path.write_bytes(GARBAGE)
    with pytest.raises(ValueError, match=rf"x\{suffix}: ") as caught:
        read_groom(path)
    assert "\n" not in str(caught.value)
    path.unlink()
    path.mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder; give the name of a file"):
        read_groom(path)


def test_a_pipe_is_refused_before_it_blocks(tmp_path):
    os.mkfifo(tmp_path / "x.hair")
    with pytest.raises(ValueError, match="is no plain file"):
        read_groom(tmp_path / "x.hair")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path):
    write_groom(tmp_path / "x.hair", sample())
    (tmp_path / "x.hair").chmod(0)
    with pytest.raises(PermissionError, match=r"x\.hair: cannot be read \(permission denied\); check"):
        read_groom(tmp_path / "x.hair")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("x.fbx", {}, r"x\.fbx: '\.fbx' is no suffix of a file that mane can read; choose from \.hair, \.data"),
        ("x", {}, "x: has no suffix of a file that mane can read"),
        ("x.hair", {"time": 3.0}, "holds one moment only"),
        ("x.hair", {"points_per_strand": 3}, "is for .ply files of bare points only"),
        ("x.hair", {"unit": "furlong"}, r"x\.hair: unit: 'furlong' is unknown"),
        ("x.hair", {"up": "w"}, r"x\.hair: up: 'w' is unknown; choose from -x, -y, -z, x, y, z"),
    ],
)
def test_questions_that_make_no_sense(name, options, message, tmp_path):
    write_groom(tmp_path / "x.hair", sample())
    with pytest.raises(ValueError, match=message):
        read_groom(tmp_path / name, **options)


def test_formats_that_are_only_read_are_not_offered_for_writing(tmp_path):
    with pytest.raises(
        ValueError, match=r"is no suffix of a file that mane can write as a groom; choose from \.hair, "
    ):
        write_groom(tmp_path / "x.tfx", sample())


@pytest.mark.parametrize("suffix", OURS)
def test_nothing_is_left_when_writing_is_refused(suffix, tmp_path):
    with pytest.raises(ValueError, match="unit: 'x' is unknown"):
        write_groom(tmp_path / f"a{suffix}", sample(), unit="x")
    with pytest.raises(FileNotFoundError, match="its folder does not exist; make it first"):
        write_groom(tmp_path / "no" / f"a{suffix}", sample())
    assert os.listdir(tmp_path) == []


def test_nothing_that_is_read_can_run_code(tmp_path):
    """A pickled object is refused by every reader that could meet one."""

    class Trap:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "sprung"),))

    array = np.empty(1, object)
    array[0] = Trap()
    np.save(tmp_path / "a.npy", array, allow_pickle=True)
    np.savez(tmp_path / "b.npz", allow_pickle=True, format_version=array, points=array, offsets=array)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("a.npy", "b.npz"):
            with pytest.raises(ValueError, match="objects and records are not read"):
                read_groom(tmp_path / name)
    assert not (tmp_path / "sprung").exists()
