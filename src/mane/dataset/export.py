"""One sequence of a dataset as a file that other programs read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mane.dataset.dataset import SequenceReader
from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom


def strands_field(reader: SequenceReader) -> str:
    """Name of the field that shows the most hair: every hair where it is stored, else the guides."""
    for name in ("hairs", "points"):
        if name in reader.fields:
            return name
    raise ValueError(f"sequence {reader.index}: stores neither hairs nor points; add one to [store] fields")


def rest_groom(reader: SequenceReader) -> Groom:
    """Return the strands that `strands_field` stores, at rest."""
    name = {"hairs": "hairs", "points": "guides"}[strands_field(reader)]
    return Groom.from_uniform(np.ascontiguousarray(reader.rest[name], np.float32))


def export_npz(reader: SequenceReader, path: Path) -> None:
    """Write all fields of a sequence as one NumPy archive."""
    from mane.io.atomic import atomic_write

    arrays: dict[str, Any] = {name: reader[name] for name in reader.fields}
    with atomic_write(path) as file:
        np.savez(file, times=reader.times, rest=reader.rest["guides"], **arrays)


def export_usd(reader: SequenceReader, path: Path) -> None:
    """Write the strands of a sequence as an animated USD stage, one time code per stored frame."""
    from mane.io.usd import UsdSequenceWriter

    field, times = strands_field(reader), reader.times
    rate = 1.0 / float(times[1] - times[0]) if len(times) > 1 else float(reader.attributes["frame_rate"])
    writer = UsdSequenceWriter.new(path, rest_groom(reader), time_codes_per_second=rate, resume=False)
    for frame in range(reader.frame_count):
        points: FloatArray = reader.read(field, frame, frame + 1)[0]
        writer.write(float(frame + 1), points.reshape(-1, 3))
    writer.close()


EXPORTERS: dict[str, Callable[[SequenceReader, Path], None]] = {
    ".npz": export_npz,
    ".usd": export_usd,
    ".usda": export_usd,
    ".usdc": export_usd,
}


def export_sequence(reader: SequenceReader, path: Path) -> None:
    """Write a sequence as a file of the kind that its suffix names."""
    if path.suffix not in EXPORTERS:
        raise ValueError(f"{path}: must end in {', '.join(EXPORTERS)}, got {path.suffix!r}")
    EXPORTERS[path.suffix](reader, path)
