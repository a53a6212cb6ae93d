"""`open_dataset`: sequences as arrays, as Dask arrays, and as shuffled windows to learn from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.dataset.fields import FIELDS, ORIGIN
from mane.dataset.sequences import list_sequences
from mane.dataset.simulate import DONE
from mane.dataset.spec import SPLITS, Spec
from mane.dataset.store import DatasetStore
from mane.geometry.checks import require_choice

Array = NDArray[Any]


class SequenceReader:
    """One sequence of a dataset; its arrays are read when they are asked for.

    Attributes:
        index: its number.
        attributes: all that is written about it.
    """

    def __init__(self, store: DatasetStore, index: int, attributes: Mapping[str, Any]) -> None:
        self._store, self.index, self.attributes = store, index, attributes

    def __repr__(self) -> str:
        factors = ", ".join(f"{name}={value!r}" for name, value in self.factors.items())
        of = f"{self.split}, {self.motion}{factors and ', '}{factors}"
        return f"<sequence {self.index}: {self.frame_count} frames, {of}>"

    @property
    def split(self) -> str:
        """Which split it belongs to: "train", "validation" or "test"."""
        return str(self.attributes["split"])

    @property
    def motion(self) -> str:
        """Name of its motion."""
        return str(self.attributes["motion"])

    @property
    def factors(self) -> Mapping[str, Any]:
        """Value of every axis by its name."""
        factors: Mapping[str, Any] = self.attributes["factors"]
        return factors

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of what is stored of every frame."""
        return tuple(name for name in FIELDS if name in self.attributes["sha256"])

    @cached_property
    def _group(self) -> Any:
        return self._store.group(self.index)

    @property
    def frame_count(self) -> int:
        """Number of stored frames, F."""
        return int(self._group["time"].shape[0])

    @property
    def times(self) -> NDArray[np.float64]:
        """Of the stored frames [s], shape (F,)."""
        return np.asarray(self._group["time"][:])

    @property
    def rest(self) -> Mapping[str, Array]:
        """Guides at rest [m], (G, V, 3), which strands of the groom they are, (G,), and hairs where they are stored."""
        group = self._store.rest(self.attributes["rest"])
        return {name: np.asarray(group[name][...]) for name in group.array_keys()}

    def shape(self, field: str) -> tuple[int, ...]:
        """Shape of a field, frames first."""
        return tuple(self.stored(field).shape)

    def read(self, field: str, start: int = 0, stop: int | None = None, step: int = 1) -> Array:
        """Return frames of a field, float32 (poses float64), shape (F, ...); chunks between them are not read."""
        rows = slice(start, stop, step)
        values = np.asarray(self.stored(field)[rows])
        if values.dtype != np.float16:
            return values
        wide = values.astype(np.float32)
        if FIELDS[field].is_position:
            origin = np.asarray(self._group[ORIGIN][rows])
            wide += origin.reshape(len(origin), *(1,) * (wide.ndim - 2), 3)
        return wide

    def __getitem__(self, field: str) -> Array:
        return self.read(field)

    def dask(self, field: str) -> Any:
        """Return a field as a Dask array, in the chunks in which it is stored."""
        import dask.array
        from dask.delayed import delayed

        stored = self.stored(field)
        step = stored.chunks[0]
        parts = [
            dask.array.from_delayed(
                delayed(self.read)(field, a, min(a + step, stored.shape[0])),
                (min(step, stored.shape[0] - a), *stored.shape[1:]),
                np.float32 if stored.dtype == np.float16 else stored.dtype,
            )
            for a in range(0, stored.shape[0], step)
        ]
        return dask.array.concatenate(parts)

    def stored(self, field: str) -> Any:
        """Return the Zarr array behind a field, as it is stored."""
        if field not in self._group:
            raise KeyError(f"{field!r} is not stored; stored are {', '.join(self.fields)}")
        return self._group[field]


class Dataset(Sequence[SequenceReader]):
    """Sequences of a dataset that were simulated, in the order of their numbers.

    Attributes:
        store: the files.
        failures: number and reason of every sequence that could not be simulated.
        missing: numbers of those that are not there yet.
    """

    def __init__(self, store: DatasetStore) -> None:
        self.store = store
        self._readers: list[SequenceReader] = []
        self.failures: dict[int, str] = {}
        self.missing: list[int] = []
        for sequence in self.plan:
            if not store.has(sequence.index):
                self.missing.append(sequence.index)
                continue
            attributes = store.attributes(sequence.index)
            if attributes["status"] == DONE:
                self._readers.append(SequenceReader(store, sequence.index, attributes))
            else:
                self.failures[sequence.index] = attributes["reason"]

    @cached_property
    def spec(self) -> Spec:
        """What the dataset was made of."""
        return self.store.spec

    @cached_property
    def plan(self) -> list[Any]:
        """All sequences that the spec asks for."""
        return list_sequences(self.spec)

    def __len__(self) -> int:
        return len(self._readers)

    def __getitem__(self, position: Any) -> Any:
        return self._readers[position]

    def __repr__(self) -> str:
        splits = ", ".join(f"{len(self.split(name))} {name}" for name in SPLITS)
        return f"<dataset {self.store.path}: {len(self)} sequences ({splits}), {len(self.failures)} failed>"

    def split(self, name: str) -> list[SequenceReader]:
        """Return the sequences of a split."""
        require_choice("split", name, SPLITS)
        return [reader for reader in self._readers if reader.split == name]

    def array(self, field: str, split: str | None = None) -> Any:
        """Return a field of all sequences (of a split) as one Dask array, (sequences, F, ...); all of one shape.

        ValueError names two sequences whose shapes differ.
        """
        import dask.array

        readers = self._readers if split is None else self.split(split)
        if not readers:
            raise ValueError(f"{self.store.path}: has no sequence{f' of split {split!r}' if split else ''}")
        first = readers[0]
        for reader in readers:
            if reader.shape(field) != first.shape(field):
                raise ValueError(
                    f"{field}: sequence {reader.index} has shape {reader.shape(field)}, sequence {first.index} "
                    f"{first.shape(field)}; take them one by one"
                )
        return dask.array.stack([reader.dask(field) for reader in readers])

    def windows(
        self,
        length: int,
        *,
        fields: Sequence[str] = ("points",),
        split: str = "train",
        batch: int = 1,
        stride: int | None = None,
        seed: int = 0,
        epochs: int | None = 1,
    ) -> Iterator[dict[str, Array]]:
        """Yield batches of windows of frames in a random order, one array per field, shape (batch, length, ...).

        Args:
            length: frames of a window.
            fields: that are read.
            split: which sequences.
            batch: windows that are yielded together; the last of an epoch may be fewer.
            stride: frames from one window of a sequence to the next; without it `length`.
            seed: of the order.
            epochs: how often every window comes; None for ever.
        """
        readers = self.split(split)
        step = stride or length
        starts = [(i, a) for i, one in enumerate(readers) for a in range(0, one.frame_count - length + 1, step)]
        if not starts:
            raise ValueError(f"length: no sequence of split {split!r} has {length} frames")
        rng, epoch = np.random.default_rng(seed), 0
        while epochs is None or epoch < epochs:
            order = rng.permutation(len(starts))
            for a in range(0, len(order), batch):
                chosen = [starts[int(k)] for k in order[a : a + batch]]
                yield {
                    name: np.stack([readers[i].read(name, start, start + length) for i, start in chosen])
                    for name in fields
                }
            epoch += 1


def open_dataset(path: str | os.PathLike[str]) -> Dataset:
    """Open a dataset that `mane dataset` made.

    Args:
        path: of its folder.

    Raises:
        ValueError: it is damaged, or no dataset.
        OSError: it is not there.
    """
    return Dataset(DatasetStore.open(path))
