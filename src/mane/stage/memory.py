"""Checkpoints: the memory of many stages as one flat set of arrays, keyed by family, name and version of each stage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.stage.protocol import Memory, Stage

VERSIONS = "stages"  # rows of "key version"
SEPARATOR = "/"
SAVED_BYTES = 16_000_000  # of a stage's memory in every frame's checkpoint; more is saved that much less often


def save_interval(nbytes: int) -> int:
    """`Stage.save_every` of a stage whose memory may grow to so many bytes."""
    return 1 + nbytes // SAVED_BYTES


def keyed(stages: Iterable[Stage]) -> dict[str, Stage]:
    """Stages by a key of their own: `family.name`, with a number behind it from the second of the same name on."""
    found: dict[str, Stage] = {}
    counts: dict[str, int] = {}
    for stage in stages:
        key = f"{stage.family}.{stage.name}"
        counts[key] = counts.get(key, 0) + 1
        found[key if counts[key] == 1 else f"{key}#{counts[key]}"] = stage
    return found


def versions(stages: Iterable[Stage]) -> dict[str, int]:
    """Version of each stage by its key."""
    return {key: stage.version for key, stage in keyed(stages).items()}


def save(stages: Iterable[Stage]) -> Memory:
    """Return the memory of all stages as arrays by `key/name`, with the versions of the stages."""
    by_key = keyed(stages)
    arrays: Memory = {VERSIONS: np.array([f"{key} {stage.version}" for key, stage in by_key.items()], np.str_)}
    for key, stage in by_key.items():
        arrays.update({f"{key}{SEPARATOR}{name}": np.asarray(array) for name, array in stage.memory().items()})
    return arrays


def saved_versions(arrays: Mapping[str, NDArray[Any]]) -> dict[str, int]:
    """Versions of the stages whose memory a checkpoint holds, by key."""
    if VERSIONS not in arrays:
        raise ValueError("checkpoint: is of an older version of mane, which did not say what it holds; begin anew")
    rows = (str(row).rpartition(" ") for row in arrays[VERSIONS])
    return {key: int(version) for key, _, version in rows}


def load(stages: Iterable[Stage], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Give every stage the memory that `save` found; ValueError, before anything is changed, where one is missing."""
    by_key, known = keyed(stages), saved_versions(arrays)
    different = difference(known, {key: stage.version for key, stage in by_key.items()})
    if different:
        raise ValueError(f"checkpoint: {different}; restore it where it was made, or begin anew")
    for key, stage in by_key.items():
        prefix = f"{key}{SEPARATOR}"
        stage.restore({name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)})


def difference(known: Mapping[str, int], wanted: Mapping[str, int]) -> str | None:
    """Say which stage that is `wanted` is missing among those `known`, or of another version; None where none is."""
    for key, version in wanted.items():
        if key not in known:
            return f"it holds no {key!r}, only {', '.join(known) or 'nothing'}"
        if known[key] != version:
            return f"its {key!r} is of version {known[key]} and this one of version {version}"
    return None
