"""What hands did to hair while it moved, as a file: locks pulled, air blown, water poured, settings changed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import msgspec

from mane.io.atomic import atomic_write

FORMAT = 1
Vector = tuple[float, float, float]


class Deed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that a hand did.

    Attributes:
        time: it acts from the step on that begins then [s].
        kind: what: "pull" a lock to a point, let it go ("release"), "blow", "pour", or "set" keys of the scene.
        point: where the lock was taken, or where air is blown or water poured from [m].
        vector: where the lock is pulled to [m], or the velocity of air or water [m/s]; zeros to stop.
        values: of "set", by dotted key of the scene.
    """

    time: float
    kind: Literal["pull", "release", "blow", "pour", "set"]
    point: Vector = (0.0, 0.0, 0.0)
    vector: Vector = (0.0, 0.0, 0.0)
    values: dict[str, Any] = {}


class _File(msgspec.Struct, forbid_unknown_fields=True):
    mane_hands: int
    deeds: list[Deed]


def vector(numbers: Any) -> Vector:
    """Three numbers as a deed holds them."""
    x, y, z = (float(number) for number in numbers)
    return x, y, z


def write_deeds(path: Path, deeds: Sequence[Deed]) -> None:
    """Write deeds, one to a line."""
    lines = ",\n".join(json.dumps(msgspec.to_builtins(deed)) for deed in deeds)
    with atomic_write(path) as file:
        file.write(f'{{"mane_hands": {FORMAT}, "deeds": [\n{lines}\n]}}\n'.encode())


def read_deeds(path: Path) -> list[Deed]:
    """Read what `write_deeds` wrote; ValueError names the file and what is wrong with it."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_File)
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: is no recording of hands ({error}); record it again in the salon") from None
    if found.mane_hands != FORMAT:
        raise ValueError(f"{path}: must be a recording of format {FORMAT}, got {found.mane_hands}")
    times = [deed.time for deed in found.deeds]
    if any(later < earlier for earlier, later in pairwise(times)):
        raise ValueError(f"{path}: times of deeds must not fall")
    if not all(map(math.isfinite, times)):
        raise ValueError(f"{path}: times of deeds must be finite")
    return found.deeds


def changed_values(before: Mapping[str, Any], after: Mapping[str, Any], tables: Sequence[str]) -> dict[str, Any]:
    """Keys of some tables that differ between two scenes as plain values (`Scene.to_dict`), by dotted key."""
    return {
        f"{table}.{key}": json.loads(json.dumps(value))
        for table in tables
        for key, value in after[table].items()
        if value != before[table][key]
    }
