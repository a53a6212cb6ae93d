"""Keyframed motions as files: JSON, CSV and NPZ, read with care and written whole; recordings (BVH) are read.

JSON is a list of keys, or an object `{"fps": 24, "keys": [...]}`. A key has

- `time` [s], or `frame` (a number) together with `fps` of the key, of the file or of the call;
- `position` [m] and `rotation`, a quaternion (x, y, z, w); or `matrix`, four rows of four that act on column vectors;
- optionally `teleport`: true when the pose jumps to this key instead of moving there.

CSV has a header and the columns time,x,y,z,qx,qy,qz,qw and optionally teleport (0 or 1), in any order.

NPZ has the arrays time (K,), position (K, 3), rotation (K, 4) and optionally teleport (K,), bool. Of a BVH the head is
taken, see `motion_bvh`.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body import motion_bvh
from mane.body.motion import Float64Array, Motion, Pose
from mane.body.motion_keys import MAX_SPEED, MAX_SPIN, MIN_SPAN, KeyframedMotion, check_times
from mane.geometry.archives import DAMAGED_ARCHIVE
from mane.geometry.checks import as_array

# Beyond this a number is in the wrong units or no number at all: 30,000 years, or six times the distance to the sun.
MAX_MAGNITUDE = 1e12
MIN_FPS = 1e-3

KEY_FIELDS = ("time", "frame", "fps", "position", "rotation", "matrix", "teleport")
FILE_FIELDS = ("fps", "keys")
COLUMNS = ("time", "x", "y", "z", "qx", "qy", "qz", "qw")
TELEPORT_COLUMN = "teleport"
READABLE = (".json", ".csv", ".npz", ".bvh")
ARRAYS = ("time", "position", "rotation", "teleport")
FLAGS = {"": False, "0": False, "1": True, "false": False, "true": True}


@dataclass(frozen=True, eq=False)
class _Key:
    """One key of a file and the words that say where it stands."""

    where: str
    time: float
    pose: Pose
    teleport: bool


def read_motion(
    path: str | Path, *, fps: float | None = None, max_speed: float = MAX_SPEED, max_spin: float = MAX_SPIN
) -> KeyframedMotion:
    """Read a motion from a .json, .csv, .npz or .bvh file; the module docstring describes them.

    Args:
        path: the file.
        fps: frames per second of keys that give a `frame` where the file itself does not say.
        max_speed: neighbours that would need more are a teleport [m/s]; `math.inf` trusts the file's flags alone.
        max_spin: the same for turning [rad/s].

    Raises:
        ValueError: the file is no motion; names the file, the line or key, the fault and the remedy.
        OSError: the file cannot be opened.
    """
    path = Path(path)
    keys = _PARSERS[_suffix(path, _PARSERS)](str(path), path.read_bytes(), fps)
    _check_order(str(path), keys)
    return KeyframedMotion(
        [key.time for key in keys],
        [key.pose.position for key in keys],
        [key.pose.rotation for key in keys],
        jumps=[i for i, key in enumerate(keys) if key.teleport and i > 0],
        max_speed=max_speed,
        max_spin=max_spin,
    )


def write_motion(path: str | Path, motion: Motion, times: ArrayLike) -> None:
    """Write the poses of a motion at `times` [s], rising, shape (K,), to a .json, .csv or .npz file, all or nothing.

    Numbers are written in full, so reading gives the same keys. A key is marked as a teleport when the motion jumps
    between it and the key before.

    Args:
        path: of the file, by its suffix .json, .csv or .npz.
        motion: whose poses are written.
        times: of the keys [s], rising, shape (K,).
    """
    path = Path(path)
    write = _WRITERS[_suffix(path, _WRITERS)]
    moments: Float64Array = as_array("times", times, ("K",), np.float64)
    check_times("times", moments)
    clock = moments.tolist()
    jumped = [False, *(motion.teleported(start, end) for start, end in pairwise(clock))]
    keys = [_Key("", time, motion.pose(time), jump) for time, jump in zip(clock, jumped, strict=True)]
    _write_whole(path, write(keys))


def _suffix(path: Path, known: Mapping[str, Any]) -> str:
    suffix = path.suffix.lower()
    if suffix not in known:
        raise ValueError(f"{path}: must end in {' or '.join(sorted(known))}, got {path.suffix or 'no suffix'}")
    return suffix


def _text(path: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise ValueError(f"{path}: must be UTF-8 text, got byte {byte:#04x} at offset {error.start}") from None


def _check_order(path: str, keys: Sequence[_Key]) -> None:
    if not keys:
        raise ValueError(f"{path}: must hold at least one key, got none")
    for before, key in pairwise(keys):
        if key.time - before.time < MIN_SPAN:
            raise ValueError(
                f"{key.where}: time must rise from key to key, got {key.time:g} s after {before.time:g} s; "
                "sort the keys and drop repeated ones"
            )


def _write_whole(path: Path, content: bytes) -> None:
    """Write to a neighbour and rename it, so that a reader never sees half a file."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


# -- JSON ----------------------------------------------------------------------------------------------------------


def _parse_json(path: str, raw: bytes, fps: Any) -> list[_Key]:
    try:
        content = json.loads(_text(path, raw))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}:{error.lineno}: must be JSON, got {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError) as error:
        if str(error).startswith(path):
            raise
        raise ValueError(f"{path}: must be JSON of keys, got {error}") from None
    if isinstance(content, dict):
        _check_fields(path, content, FILE_FIELDS)
        fps = content.get("fps", fps)
        content = content.get("keys")
    if not isinstance(content, list):
        raise ValueError(f"{path}: must be a list of keys or an object with a list 'keys', got {_kind(content)}")
    return [_parse_entry(f"{path}: key {i}", entry, fps) for i, entry in enumerate(content)]


def _parse_entry(where: str, entry: Any, fps: Any) -> _Key:
    if not isinstance(entry, dict):
        raise ValueError(f"{where}: must be an object with {', '.join(KEY_FIELDS)}, got {_kind(entry)}")
    _check_fields(where, entry, KEY_FIELDS)
    teleport = entry.get("teleport", False)
    if not isinstance(teleport, bool):
        raise ValueError(f"{where}: teleport must be true or false, got {_kind(teleport)}")
    return _Key(where, _entry_time(where, entry, fps), _entry_pose(where, entry), teleport)


def _check_fields(where: str, fields: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in fields:
        if name not in known:
            raise ValueError(f"{where}: has no field {name!a}; known fields are {', '.join(known)}")


def _entry_time(where: str, entry: Mapping[str, Any], fps: Any) -> float:
    if ("time" in entry) == ("frame" in entry):
        came = "both" if "time" in entry else "neither"
        raise ValueError(f"{where}: must have either 'time' [s] or 'frame', got {came}")
    if "time" in entry:
        return _number(f"{where}: time", entry["time"])
    frame = _number(f"{where}: frame", entry["frame"])
    rate = entry.get("fps", fps)
    if rate is None:
        raise ValueError(f"{where}: 'frame' needs frames per second; give 'fps' in the file or to read_motion")
    rate = _number(f"{where}: fps", rate)
    if not rate >= MIN_FPS:
        raise ValueError(f"{where}: fps must be at least {MIN_FPS:g}, got {rate:g}")
    return frame / rate


def _entry_pose(where: str, entry: Mapping[str, Any]) -> Pose:
    if "matrix" in entry:
        if "position" in entry or "rotation" in entry:
            raise ValueError(f"{where}: must have either 'matrix' or 'position' and 'rotation', got both")
        rows = entry["matrix"]
        if not (isinstance(rows, list) and len(rows) == 4):
            raise ValueError(f"{where}: matrix must be four rows of four numbers, got {_kind(rows)}")
        matrix = np.array([_numbers(f"{where}: matrix row {i}", row, 4) for i, row in enumerate(rows)])
        with _errors_at(where):
            return Pose.from_matrix(matrix)
    for name in ("position", "rotation"):
        if name not in entry:
            raise ValueError(f"{where}: must have 'position' and 'rotation' (or 'matrix'), got no {name!r}")
    position = _numbers(f"{where}: position", entry["position"], 3)
    rotation = _numbers(f"{where}: rotation", entry["rotation"], 4)
    with _errors_at(where):
        return Pose(np.array(position), np.array(rotation))


def _numbers(where: str, value: Any, count: int) -> list[float]:
    if not (isinstance(value, list) and len(value) == count):
        raise ValueError(f"{where}: must be a list of {count} numbers, got {_kind(value)}")
    return [_number(where, item) for item in value]


def _number(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{where}: must be a number, got {_kind(value)}")
    if not abs(value) <= MAX_MAGNITUDE:
        raise ValueError(f"{where}: must be a finite number within {MAX_MAGNITUDE:g}, got {_shortened(value)}")
    return float(value)


def _kind(value: Any) -> str:
    """Name what came in words that fit one line, whatever it was."""
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object with {len(value)} fields"
    return _shortened(value)


def _shortened(value: Any) -> str:
    # A whole number too long for Python to print raises when it is shown in full.
    text = f"a number of {value.bit_length()} bits" if _is_huge(value) else ascii(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _is_huge(value: Any) -> bool:
    return isinstance(value, int) and value.bit_length() > 128


def _format_json(keys: Sequence[_Key]) -> bytes:
    """One key per line, so that people and version control can compare two files."""
    lines = []
    for key in keys:
        entry: dict[str, Any] = {
            "time": key.time,
            "position": key.pose.position.tolist(),
            "rotation": key.pose.rotation.tolist(),
        }
        if key.teleport:
            entry["teleport"] = True
        lines.append(json.dumps(entry))
    return ("[\n" + ",\n".join(lines) + "\n]\n").encode()


# -- CSV -----------------------------------------------------------------------------------------------------------


def _parse_csv(path: str, content: bytes, fps: Any) -> list[_Key]:
    reader = csv.reader(io.StringIO(_text(path, content), newline=""), strict=True)
    keys: list[_Key] = []
    header: list[str] | None = None
    try:
        for row in reader:
            where = f"{path}:{reader.line_num}"
            if not any(cell.strip() for cell in row):
                continue
            if header is None:
                header = _checked_header(where, row)
            else:
                keys.append(_parse_row(where, header, row))
    except csv.Error as error:
        raise ValueError(f"{path}:{reader.line_num}: must be comma-separated values, got {error}") from None
    return keys


def _checked_header(where: str, row: Sequence[str]) -> list[str]:
    header = [cell.strip().lower() for cell in row]
    expected = f"the header must be {','.join(COLUMNS)} and optionally {TELEPORT_COLUMN}"
    for name in COLUMNS:
        if name not in header:
            raise ValueError(f"{where}: {expected}, got no column {name!r}")
    for i, name in enumerate(header):
        if name not in (*COLUMNS, TELEPORT_COLUMN) or name in header[:i]:
            fault = "twice" if name in header[:i] else "which has no meaning here"
            raise ValueError(f"{where}: {expected}, got column {_shortened(name)} {fault}")
    return header


def _parse_row(where: str, header: Sequence[str], row: Sequence[str]) -> _Key:
    if len(row) != len(header):
        raise ValueError(f"{where}: must have {len(header)} values like the header, got {len(row)}")
    cells = dict(zip(header, (cell.strip() for cell in row), strict=True))
    flag = cells.pop(TELEPORT_COLUMN, "").lower()
    if flag not in FLAGS:
        raise ValueError(f"{where}: {TELEPORT_COLUMN} must be 0 or 1, got {_shortened(flag)}")
    time, *pose = (_cell_number(f"{where}: {name}", cells[name]) for name in COLUMNS)
    with _errors_at(where):
        return _Key(where, time, Pose(np.array(pose[:3]), np.array(pose[3:])), FLAGS[flag])


def _cell_number(where: str, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        raise ValueError(f"{where}: must be a number, got {_shortened(cell)}") from None
    return _number(where, value)


def _format_csv(keys: Sequence[_Key]) -> bytes:
    lines = [",".join([*COLUMNS, TELEPORT_COLUMN])]
    for key in keys:
        numbers = [key.time, *key.pose.position.tolist(), *key.pose.rotation.tolist()]
        lines.append(",".join([*map(repr, numbers), str(int(key.teleport))]))
    return ("\n".join(lines) + "\n").encode()


# -- arrays and recordings ------------------------------------------------------------------------------------------


def _parse_npz(path: str, content: bytes, fps: Any) -> list[_Key]:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files if name in ARRAYS}
    except (*DAMAGED_ARCHIVE, ValueError, OSError, KeyError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"{path}: must be an archive of NumPy arrays (.npz), got one that is damaged: {reason}"
        ) from None
    for name in ARRAYS[:3]:
        if name not in arrays:
            raise ValueError(f"{path}: must have arrays {', '.join(ARRAYS[:3])}, got no {name!r}")
    with _errors_at(path):
        times = as_array("time", arrays["time"], ("K",), np.float64)
        places = as_array("position", arrays["position"], (len(times), 3), np.float64)
        turns = as_array("rotation", arrays["rotation"], (len(times), 4), np.float64)
        flags = as_array("teleport", arrays.get("teleport", np.zeros(len(times), np.bool_)), (len(times),), np.bool_)
    return _keys_of(path, times, places, turns, flags)


def _format_npz(keys: Sequence[_Key]) -> bytes:
    file = io.BytesIO()
    np.savez(
        file,
        time=np.array([key.time for key in keys]),
        position=np.array([key.pose.position for key in keys]),
        rotation=np.array([key.pose.rotation for key in keys]),
        teleport=np.array([key.teleport for key in keys]),
    )
    return file.getvalue()


def _parse_bvh(path: str, content: bytes, fps: Any) -> list[_Key]:
    with _errors_at(path):
        times, places, turns = motion_bvh.head_keys(content.decode("utf-8", errors="replace"))
    return _keys_of(path, times, places, turns, np.zeros(len(times), np.bool_))


def _keys_of(
    path: str, times: Float64Array, places: Float64Array, turns: Float64Array, flags: NDArray[np.bool_]
) -> list[_Key]:
    keys = []
    for i, (time, place, turn, flag) in enumerate(zip(times.tolist(), places, turns, flags.tolist(), strict=True)):
        where = f"{path}: key {i}"
        for value in (time, *place.tolist(), *turn.tolist()):
            _number(where, value)
        with _errors_at(where):
            keys.append(_Key(where, time, Pose(place, turn), flag))
    return keys


@contextlib.contextmanager
def _errors_at(where: str) -> Iterator[None]:
    """Put the place in the file in front of what a pose has to say against its numbers."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{where}: {str(error).removeprefix('pose.')}") from None


_PARSERS = {".json": _parse_json, ".csv": _parse_csv, ".npz": _parse_npz, ".bvh": _parse_bvh}
_WRITERS = {".json": _format_json, ".csv": _format_csv, ".npz": _format_npz}
