"""Motions in files: what is written comes back, what is malformed is named, garbage raises nothing but ValueError."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from mane.body.motion_files import COLUMNS, KEY_FIELDS, read_motion, write_motion
from mane.body.motion_keys import KeyframedMotion
from mane.body.motion_presets import make_motion

IDENTITY = [0.0, 0.0, 0.0, 1.0]
HEADER = ",".join(COLUMNS)
KEY = {"time": 0.0, "position": [1.0, 2.0, 3.0], "rotation": IDENTITY}


def write(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


# -- round trip ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".json", ".csv", ".npz"])
def test_what_is_written_comes_back_to_the_last_bit(tmp_path: Path, suffix: str) -> None:
    times = np.arange(30) / 24 + 1 / 3
    motion = make_motion("random", seed=2)
    write_motion(tmp_path / f"head{suffix}", motion, times)
    back = read_motion(tmp_path / f"head{suffix}")
    np.testing.assert_array_equal(back.times, times)
    np.testing.assert_array_equal(back.positions, [motion.pose(time).position for time in times])
    # Reading normalises again, which may move the last bit of a unit quaternion.
    np.testing.assert_allclose(back.rotations, [motion.pose(time).rotation for time in times], rtol=0, atol=3e-16)
    assert back.teleports == ()
    assert [entry.name for entry in tmp_path.iterdir()] == [f"head{suffix}"]  # no temporary file is left


@pytest.mark.parametrize("suffix", [".json", ".csv", ".npz"])
def test_teleports_come_back(tmp_path: Path, suffix: str) -> None:
    motion = KeyframedMotion([0.0, 0.5, 1.0, 1.5], np.diag([1.0, 2.0, 3.0, 4.0])[:, :3], [IDENTITY] * 4, jumps=[2])
    write_motion(tmp_path / f"cut{suffix}", motion, [0.0, 0.5, 1.0, 1.5])
    back = read_motion(tmp_path / f"cut{suffix}")
    assert back.teleports == (1.0,)
    np.testing.assert_array_equal(back.pose(0.8).position, motion.pose(0.8).position)


def test_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = write(tmp_path / "head.json", "old")
    with pytest.raises(ValueError, match="times: must rise"):
        write_motion(path, make_motion("nod"), [0.0, 0.0])
    assert path.read_text() == "old"


# -- forms of a file -----------------------------------------------------------------------------------------------


def test_json_frames_matrices_and_flags(tmp_path: Path) -> None:
    quarter = [[0, 0, 1, 5], [0, 1, 0, 6], [-1, 0, 0, 7], [0, 0, 0, 1]]  # a quarter turn about Y
    keys = [{"frame": 12, "matrix": np.eye(4).tolist()}, {"frame": 24, "matrix": quarter, "teleport": True}]
    motion = read_motion(write(tmp_path / "head.json", {"fps": 24, "keys": keys}))
    np.testing.assert_array_equal(motion.times, [0.5, 1.0])
    assert motion.teleports == (1.0,)
    np.testing.assert_allclose(motion.pose(1.0).matrix, quarter, atol=1e-15)


def test_frames_per_second_may_come_from_key_file_or_call(tmp_path: Path) -> None:
    key = {"frame": 12, "position": [0, 0, 0], "rotation": IDENTITY}
    path = write(tmp_path / "head.json", [key])
    assert read_motion(path, fps=24).times[0] == 0.5
    assert read_motion(write(path, [{**key, "fps": 12}]), fps=24).times[0] == 1.0
    assert read_motion(write(path, {"fps": 48, "keys": [key]}), fps=24).times[0] == 0.25


def test_csv_columns_in_any_order_blank_lines_and_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "head.CSV"
    path.write_bytes(
        b"\xef\xbb\xbfteleport, qx,qy,qz,qw,x,y,z,Time\r\n\r\n0,0,0,0,1,1,2,3,0.5\r\n1,0,0,0,1,4,5,6,1.5\r\n\r\n"
    )
    motion = read_motion(path)
    np.testing.assert_array_equal(motion.times, [0.5, 1.5])
    np.testing.assert_array_equal(motion.positions, [[1, 2, 3], [4, 5, 6]])
    assert motion.teleports == (1.5,)


def test_rounded_quaternions_are_normalised(tmp_path: Path) -> None:
    path = write(tmp_path / "head.csv", f"{HEADER}\n0,0,0,0,0.7071,0,0,0.7071\n")
    assert np.linalg.norm(read_motion(path).rotations[0]) == pytest.approx(1.0, abs=1e-15)


# -- malformed files: file, place, fault and remedy ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"head.json:1: must be JSON, got .* at column 2"),
        ("[\n1,\n]", r"head.json:(2|3): must be JSON"),
        ("3", "head.json: must be a list of keys or an object with a list 'keys', got 3"),
        ({"fps": 24}, "head.json: must be a list of keys or an object with a list 'keys', got None"),
        ({"rate": 24, "keys": []}, "head.json: has no field 'rate'; known fields are fps, keys"),
        ([], "head.json: must hold at least one key, got none"),
        ([KEY, 7], "head.json: key 1: must be an object with time, frame, .*, got 7"),
        ([{**KEY, "pos": 1}], "head.json: key 0: has no field 'pos'; known fields are time, "),
        ([{**KEY, "frame": 1}], r"head.json: key 0: must have either 'time' \[s\] or 'frame', got both"),
        ([{"position": [0, 0, 0]}], "head.json: key 0: must have either 'time' .*, got neither"),
        (
            [{"frame": 1, **{k: KEY[k] for k in ("position", "rotation")}}],
            "key 0: 'frame' needs frames per second; give",
        ),
        (
            {"fps": 0, "keys": [{"frame": 1, "position": [0, 0, 0], "rotation": IDENTITY}]},
            "key 0: fps must be at least",
        ),
        ([{**KEY, "time": "1"}], "key 0: time: must be a number, got '1'"),
        ([{**KEY, "time": True}], "key 0: time: must be a number, got True"),
        ([{**KEY, "time": math.nan}], "key 0: time: must be a finite number within 1e\\+12, got nan"),
        ([{**KEY, "time": 10**3000}], "key 0: time: must be a finite number within .*, got a number of 9966 bits"),
        ([{**KEY, "position": [0, 0]}], "key 0: position: must be a list of 3 numbers, got a list of 2"),
        ([{"time": 0, "rotation": IDENTITY}], "key 0: must have 'position' and 'rotation' .*, got no 'position'"),
        ([{**KEY, "rotation": [0, 0, 0, 2]}], "key 0: rotation: must be a unit quaternion .* divide it by its length"),
        ([{**KEY, "matrix": np.eye(4).tolist()}], "key 0: must have either 'matrix' or 'position' .*, got both"),
        ([{"time": 0, "matrix": [1] * 16}], "key 0: matrix must be four rows of four numbers, got a list of 16"),
        ([{"time": 0, "matrix": (2 * np.eye(4)).tolist()}], "key 0: matrix: must have the last row"),
        ([{**KEY, "teleport": 1}], "key 0: teleport must be true or false, got 1"),
        ([KEY, KEY], "key 1: time must rise from key to key, got 0 s after 0 s; sort the keys"),
    ],
)
def test_malformed_json_is_named(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        read_motion(write(tmp_path / "head.json", content))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "head.csv: must hold at least one key, got none"),
        (f"{HEADER}\n", "head.csv: must hold at least one key, got none"),
        ("time,x,y\n", "head.csv:1: the header must be time,x,.* got no column 'z'"),
        (f"{HEADER},mood\n", "head.csv:1: the header must be .*, got column 'mood' which has no meaning here"),
        (f"{HEADER},x\n", "head.csv:1: the header must be .*, got column 'x' twice"),
        (f"{HEADER}\n0,0,0\n", "head.csv:2: must have 8 values like the header, got 3"),
        (f"{HEADER}\n\n0,0,zero,0,0,0,0,1\n", "head.csv:3: y: must be a number, got 'zero'"),
        (f"{HEADER}\n0,0,inf,0,0,0,0,1\n", "head.csv:2: y: must be a finite number within .*, got inf"),
        (f"{HEADER}\n0,0,0,0,1,1,1,1\n", "head.csv:2: rotation: must be a unit quaternion"),
        (f"{HEADER}\n1,0,0,0,0,0,0,1\n0,0,0,0,0,0,0,1\n", "head.csv:3: time must rise .*, got 0 s after 1 s"),
        (f"{HEADER},teleport\n0,0,0,0,0,0,0,1,maybe\n", "head.csv:2: teleport must be 0 or 1, got 'maybe'"),
        (f'{HEADER}\n"0', "head.csv:2: must be comma-separated values, got unexpected end of data"),
    ],
)
def test_malformed_csv_is_named(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        read_motion(write(tmp_path / "head.csv", content))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path))


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"head.fbx: must end in .bvh or .csv or .json or .npz, got .fbx"):
        read_motion(tmp_path / "head.fbx")
    with pytest.raises(ValueError, match=r"must end in \.csv or \.json or \.npz, got no suffix"):
        write_motion(tmp_path / "head", make_motion("nod"), [0.0])
    (tmp_path / "latin.csv").write_bytes(b"time,\xe9")
    with pytest.raises(ValueError, match=r"latin.csv: must be UTF-8 text, got byte 0xe9 at offset 5"):
        read_motion(tmp_path / "latin.csv")
    with pytest.raises(FileNotFoundError):
        read_motion(tmp_path / "missing.json")


# -- recordings ----------------------------------------------------------------------------------------------------

BVH = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Neck {
    OFFSET 0 50 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    JOINT rig:Head { OFFSET 0 20 5 CHANNELS 3 Yrotation Xrotation Zrotation
      End Site { OFFSET 0 15 0 } } }
  JOINT Foot { OFFSET 0 -85 0 CHANNELS 0 }
}
MOTION
Frames: 3
Frame Time: 0.05
"""


def recording(seed: int = 3) -> tuple[str, np.ndarray]:
    values = np.random.default_rng(seed).uniform(-4.0, 4.0, (3, 12))  # small, or frames would be teleports
    return BVH + "\n".join(" ".join(map(repr, row)) for row in values.tolist()) + "\n", values


def test_the_head_of_a_recording_is_where_its_joints_carry_it(tmp_path: Path) -> None:
    text, values = recording()
    motion = read_motion(write(tmp_path / "dance.bvh", text))
    np.testing.assert_allclose(motion.times, [0.0, 0.05, 0.1])
    places, turns = [], []
    for row in values:
        hips = Rotation.from_euler("ZXY", row[3:6], degrees=True)
        neck = hips * Rotation.from_euler("ZXY", row[6:9], degrees=True)
        places.append(row[:3] + hips.apply([0, 50, 0]) + neck.apply([0, 20, 5]))
        turns.append(neck * Rotation.from_euler("YXZ", row[9:12], degrees=True))
    scale = 1.7 / (50 + 20 + 15 + 85)
    np.testing.assert_allclose(motion.positions, scale * (np.array(places) - places[0]), atol=1e-12)
    for found, expected in zip(motion.rotations, turns, strict=True):
        assert (Rotation.from_quat(found).inv() * expected).magnitude() < 1e-12


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("HIERARCHY", "HIERARCHI", r"line 1: must be HIERARCHY, got 'hierarchi'"),
        ("rig:Head", "rig:Skull", r"has no joint 'head'; it has Hips, Neck, rig:Skull, Foot"),
        ("Frames: 3", "Frames: 4", r"must have 4 frames of 12 numbers, got 36 numbers; it may be cut"),
        ("Frame Time: 0.05", "Frame Time: 0", r"line 15: must have frames and a time for each"),
        ("OFFSET 0 50 0", "OFFSET 0 x 0", r"line 7: must be a number, got 'x'"),
        ("CHANNELS 3 Z", "CHANNELS 3 W", r"line 8: a channel must be Xposition to Zrotation, got 'Wrotation'"),
        ("JOINT Foot", "JOIN Foot", r"line 11: must be OFFSET, CHANNELS, JOINT, End Site or }, got 'join'"),
        ("\nMOTION", "\n", r"line 14: must be MOTION, got 'frames:'"),
    ],
)
def test_a_recording_that_is_none_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    text, _ = recording()
    assert old in text
    with pytest.raises(ValueError, match=message) as caught:
        read_motion(write(tmp_path / "dance.bvh", text.replace(old, new, 1)))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(start=st.integers(0, 900), stop=st.integers(0, 900), junk=st.text("{}0 9.xJOINT\n", max_size=6))
def test_mutated_recordings_raise_only_value_errors(tmp_path: Path, start: int, stop: int, junk: str) -> None:
    text, _ = recording()
    only_value_errors(write(tmp_path / "fuzz.bvh", text[:start] + junk + text[max(start, stop) :]))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"time": [0.0]}, r"must have arrays time, position, rotation, got no 'position'"),
        ({"time": [0.0], "position": [[0.0, 0.0]], "rotation": [IDENTITY]}, r"position: must have shape"),
        ({"time": [0.0], "position": [[0.0, 0.0, np.nan]], "rotation": [IDENTITY]}, r"key 0: must be a finite number"),
        ({"time": [0.0, 0.0], "position": [[0.0] * 3] * 2, "rotation": [IDENTITY] * 2}, r"key 1: time must rise"),
    ],
)
def test_arrays_that_are_no_motion_are_named(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    np.savez(tmp_path / "head.npz", **arrays)
    with pytest.raises(ValueError, match=message) as caught:
        read_motion(tmp_path / "head.npz")
    assert str(caught.value).startswith(str(tmp_path))


# -- garbage -------------------------------------------------------------------------------------------------------

fuzzed = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
numbers = st.one_of(st.floats(), st.integers(), st.sampled_from([0, 1, 1e-320, 1e308, 10**400]))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5), st.dictionaries(st.sampled_from(KEY_FIELDS), inner, max_size=4)
    ),
    max_leaves=20,
)
good_keys = st.fixed_dictionaries(
    {
        "time": numbers,
        "position": st.lists(numbers, min_size=3, max_size=3),
        "rotation": st.sampled_from([IDENTITY, [0, 0, -1, 0], [0.5, 0.5, 0.5, -0.5]]),
    },
    optional={"teleport": st.booleans()},
)


def only_value_errors(path: Path) -> None:
    """Read a file that may be anything; what is accepted must also move."""
    try:
        motion = read_motion(path)
    except ValueError:
        return
    for time in motion.times:
        motion.pose(time)
        motion.velocity(time)


@fuzzed
@given(content=st.binary(max_size=200), suffix=st.sampled_from(["json", "csv", "npz", "bvh"]))
def test_random_bytes_raise_only_value_errors(tmp_path: Path, content: bytes, suffix: str) -> None:
    path = tmp_path / f"fuzz.{suffix}"
    path.write_bytes(content)
    only_value_errors(path)


@fuzzed
@given(content=st.one_of(values, st.lists(st.one_of(values, good_keys), max_size=4), st.lists(good_keys, max_size=4)))
def test_random_json_raises_only_value_errors(tmp_path: Path, content: object) -> None:
    only_value_errors(write(tmp_path / "fuzz.json", content))


@fuzzed
@given(rows=st.lists(st.lists(st.one_of(numbers.map(str), st.text(max_size=4)), max_size=9), max_size=4))
def test_random_csv_raises_only_value_errors(tmp_path: Path, rows: list[list[str]]) -> None:
    text = "\n".join([HEADER, *(",".join(row) for row in rows)])
    (tmp_path / "fuzz.csv").write_bytes(text.encode("utf-8", "surrogatepass"))
    only_value_errors(tmp_path / "fuzz.csv")


def test_nesting_and_length_have_no_power(tmp_path: Path) -> None:
    for content in ("[" * 100_000, "[" + "9" * 5000 + "]", f'{HEADER}\n"' + "9" * 200_000 + '"'):
        for suffix in ("json", "csv"):
            with pytest.raises(ValueError, match="fuzz"):
                read_motion(write(tmp_path / f"fuzz.{suffix}", content))
