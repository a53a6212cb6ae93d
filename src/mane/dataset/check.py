"""`check_dataset`: whether every sequence of a dataset is whole, and what its spec says."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mane.body.cache import content_key
from mane.dataset.dataset import Dataset, SequenceReader
from mane.dataset.fields import FIELDS
from mane.dataset.sequences import PlannedSequence
from mane.dataset.simulate import REST_ARRAYS, facts
from mane.dataset.store import checksum


def check_dataset(dataset: Dataset, progress: Callable[[int, int], None] | None = None) -> list[str]:
    """Read everything that is stored and return one line per fault, none where all is well.

    Checked are the CRC-32C of every chunk (by Zarr), the SHA-256 of every array, the key of the hair at rest, shapes,
    numbers that are not finite, and what is written about each sequence against the spec.
    """
    faults = [f"sequence {index}: is missing" for index in dataset.missing]
    planned = {sequence.index: sequence for sequence in dataset.plan}
    rests: dict[str, list[str]] = {}
    for number, reader in enumerate(dataset):
        where = f"sequence {reader.index}"
        faults += [f"{where}: {fault}" for fault in _faults(reader, planned[reader.index], dataset)]
        key = reader.attributes["rest"]
        if key not in rests:
            rests[key] = _rest_faults(reader)
        faults += [f"{where}: {fault}" for fault in rests[key]]
        if progress is not None:
            progress(number + 1, len(dataset))
    return faults


def _faults(reader: SequenceReader, planned: PlannedSequence, dataset: Dataset) -> list[str]:
    found = [f"{name}: is {was!r}, the spec says {says!r}" for name, was, says in _differences(reader, planned)]
    wanted = dataset.spec.store.fields
    found += [f"{name}: is not stored" for name in wanted if name not in reader.fields]
    frames = set()
    for name, said in reader.attributes["sha256"].items():
        try:
            values = np.asarray(reader.stored(name)[...])
        except Exception as error:  # Zarr raises whatever its codecs raise
            found.append(f"{name}: cannot be read ({' '.join(str(error).split()) or type(error).__name__})")
            continue
        frames.add(len(values))
        if checksum(values) != said:
            found.append(f"{name}: has another checksum than it was written with")
        elif name in FIELDS and not np.isfinite(values).all():
            found.append(f"{name}: has numbers that are not finite")
    if len(frames) > 1:
        found.append(f"fields differ in their number of frames: {sorted(frames)}")
    return found


def _rest_faults(reader: SequenceReader) -> list[str]:
    """What is wrong with the hair at rest, whose name is the checksum of its arrays."""
    try:
        rest = reader.rest
    except Exception as error:  # Zarr raises whatever its codecs raise
        return [f"rest: cannot be read ({' '.join(str(error).split()) or type(error).__name__})"]
    arrays = [rest[name] for name in REST_ARRAYS if name in rest]
    return (
        [] if content_key(*arrays) == reader.attributes["rest"] else ["rest: has another checksum than its name says"]
    )


def _differences(reader: SequenceReader, planned: PlannedSequence) -> list[tuple[str, Any, Any]]:
    says: Mapping[str, Any] = json.loads(json.dumps(facts(planned)))
    return [
        (name, reader.attributes.get(name), said) for name, said in says.items() if reader.attributes.get(name) != said
    ]
