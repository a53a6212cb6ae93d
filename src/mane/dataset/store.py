"""A dataset on disk: a Zarr 3 group with a group for every sequence, each of which is there whole or not at all.

```
hair.zarr/
  zarr.json                 attributes "mane": format, spec, versions, SHA-256 of all files that it reads
  sequences/000000/         attributes: split, motion, factors, scene keys, checksums; or the reason of a failure
    points  (F, G, V, 3)    one array per field, in chunks of a few frames
    origin  (F, 3)          what float16 positions are stored from
    time    (F,)
  rests/KEY/                guides (and hairs) at rest, once for all sequences that share them
  unfinished/               what is being written; removed by the next run
```
A sequence is written under `unfinished/` and renamed when it is complete, so a run may be killed at any moment. Chunks
carry a CRC-32C, which Zarr checks when it reads them. Nothing in a sequence depends on when, where or in which order
it was made.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.dataset.inputs import require_unchanged, spec_digests
from mane.dataset.spec import Spec
from mane.io.atomic import atomic_write, explained, sync_folder
from mane.scene.cache import program_versions

FORMAT = 1
KEY = "mane"
SEQUENCES, RESTS, UNFINISHED, LOG = "sequences", "rests", "unfinished", "log.jsonl"
CHUNK_BYTES = 1 << 20  # of one chunk before compression: a window of a few frames is read in one go
MOST_CHUNK_FRAMES = 32
WRITE_BYTES = 4 << 20  # chunks that are written at once: Zarr's own work per call is dear beside that per chunk


class DatasetStore:
    """The files of a dataset. `DatasetStore.make` begins one, `DatasetStore.open` finds one.

    Attributes:
        path: its folder.
        header: what its attributes say: format, spec, versions, files.
    """

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self.path, self.header = path, dict(header)

    @classmethod
    def make(cls, path: Path, spec: Spec) -> DatasetStore:
        """Begin an empty dataset, or go on with one of the same spec; ValueError where something else is there."""
        header: dict[str, Any] = {"format": FORMAT, "spec": spec.to_dict(), "versions": program_versions()}
        header["files"] = spec_digests(spec)
        header["scene_folder"] = os.path.relpath(spec.scene.folder.resolve(), path.resolve())
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            store = cls.open(path)
            store.require_same(header)
            store._add_files(header["files"])
            store._make_groups()
            return store
        import zarr

        try:
            path.mkdir(parents=True, exist_ok=True)
            zarr.create_group(str(path), attributes={KEY: header}, overwrite=False)
        except OSError as error:
            raise explained(error, path) from error
        store = cls(path, json.loads(json.dumps(header)))
        store._make_groups()
        return store

    def _add_files(self, digests: Mapping[str, str]) -> None:
        """Note files that were missing when the dataset was begun; all sequences that name them had failed."""
        known = self.header.setdefault("files", {})
        if digests.keys() <= known.keys():
            return
        known |= digests
        file = self.path / "zarr.json"
        written = json.loads(file.read_text(encoding="utf-8"))
        written["attributes"][KEY] = self.header
        with atomic_write(file) as opened:
            opened.write(json.dumps(written, indent=2).encode())

    def _make_groups(self) -> None:
        """Make what is in every dataset and not there yet, as where the first run was killed at once."""
        import zarr

        try:
            for name in (SEQUENCES, RESTS):
                if not (self.path / name / "zarr.json").is_file():
                    zarr.create_group(str(self.path / name))
            (self.path / UNFINISHED).mkdir(exist_ok=True)
        except OSError as error:
            raise explained(error, self.path) from error

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> DatasetStore:
        """Find a dataset; ValueError says what is wrong with it."""
        folder = Path(path)
        if not folder.exists():
            raise FileNotFoundError(f"{folder}: no such dataset; `mane dataset SPEC.toml -o {folder}` makes one")
        try:
            header = json.loads((folder / "zarr.json").read_text(encoding="utf-8"))["attributes"][KEY]
            found = header["format"]
        except (OSError, ValueError, KeyError, TypeError):
            raise ValueError(f"{folder}: is no dataset of mane; choose another name with -o") from None
        if found != FORMAT:
            raise ValueError(f"{folder}: must be a dataset of format {FORMAT}, got {found}; make it again")
        return cls(folder, header)

    @property
    def spec(self) -> Spec:
        """The spec that the dataset was made with; files of its scene are seen from where the dataset is now."""
        folder = Path(os.path.normpath(self.path.resolve() / self.header["scene_folder"]))
        return Spec.from_dict(self.header["spec"], folder)

    def require_same(self, header: Mapping[str, Any]) -> None:
        """Raise ValueError where the dataset is of another spec, of other files, or was made by another program."""
        # The spec is read anew, so that a key that this version added has its default on both sides.
        ours, theirs = _flat(self.spec.to_dict()), _flat(json.loads(json.dumps(header["spec"])))
        for name in {**ours, **theirs}:
            if ours.get(name) != theirs.get(name):
                raise ValueError(
                    f"{self.path}: holds a dataset of another spec: {name} was {ours.get(name)!r} and is "
                    f"{theirs.get(name)!r}; choose another name with -o, or remove it"
                )
        self.require_versions("this")
        require_unchanged(self.path, self.header.get("files", {}), header["files"])

    def require_versions(self, who: str) -> None:
        """Raise ValueError where the dataset was begun with other versions than `who`, this process, has."""
        for name, version in program_versions().items():
            made = self.header["versions"].get(name)
            if made != version:
                raise ValueError(
                    f"{self.path}: was begun with {name} {made} and {who} is {version}, which may move hair otherwise; "
                    f"`pip install {name}=={made}` goes on, another name with -o begins anew"
                )

    # -- sequences ---------------------------------------------------------------------------------------------------

    def sequence_folder(self, index: int) -> Path:
        """Folder of a sequence."""
        return self.path / SEQUENCES / f"{index:06d}"

    def has(self, index: int) -> bool:
        """Whether a sequence is there, simulated or recorded as failed."""
        return (self.sequence_folder(index) / "zarr.json").is_file()

    def attributes(self, index: int) -> dict[str, Any]:
        """Return what is written about a sequence; ValueError where its file is damaged."""
        file = self.sequence_folder(index) / "zarr.json"
        try:
            found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["attributes"]
        except FileNotFoundError:
            raise ValueError(f"{self.path}: sequence {index} is not there (yet)") from None
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{file}: is damaged ({error}); remove {file.parent} and run the spec again") from None
        return found

    def group(self, index: int) -> Any:
        """Open the Zarr group of a sequence for reading."""
        import zarr

        return zarr.open_group(str(self.sequence_folder(index)), mode="r")

    def forget(self, index: int) -> None:
        """Remove a sequence, so that the next run makes it again."""
        self._remove(self.sequence_folder(index))

    def remove_unfinished(self) -> None:
        """Remove what stopped runs were writing; workers of theirs that still write will notice (`_GroupWriter`)."""
        (self.path / UNFINISHED).mkdir(exist_ok=True)
        for left in (self.path / UNFINISHED).iterdir():
            self._remove(left)

    def _remove(self, folder: Path) -> None:
        """Take a folder its name at once, then remove it; one that is gone by now is as well."""
        gone = self.path / UNFINISHED / f"removed-{secrets.token_hex(6)}"
        gone.parent.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):
            os.rename(folder, gone)
        shutil.rmtree(gone, ignore_errors=True)

    def write_failure(self, index: int, attributes: Mapping[str, Any]) -> None:
        """Record a sequence that cannot be simulated, with its reason among the attributes."""
        writer = SequenceWriter(self, index)
        writer.finish(attributes)

    def add_to_log(self, line: Mapping[str, Any]) -> None:
        """Append a line about the making of the data, such as how long a sequence took; no part of the data."""
        with open(self.path / LOG, "a", encoding="utf-8") as file:
            file.write(json.dumps(dict(line)) + "\n")

    # -- what sequences share ----------------------------------------------------------------------------------------

    def write_rest(self, key: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write guides and hairs at rest, once; others that write the same at the same time do no harm."""
        if not (self.path / RESTS / key / "zarr.json").is_file():
            writer = _GroupWriter(self, f"rest-{key}")
            for name, array in arrays.items():
                writer.create(name, array.shape, array.dtype, len(array))[...] = array
            writer.finish(self.path / RESTS / key, {})

    def rest(self, key: str) -> Any:
        """Open the Zarr group of what is at rest."""
        import zarr

        return zarr.open_group(str(self.path / RESTS / key), mode="r")


class _GroupWriter:
    """A Zarr group under a name of its own, which gets its real name when it is complete.

    A worker of a cluster may outlive its run, and the next run removes what it writes. Zarr makes folders anew for
    further chunks, and those that are missing read as zeros; what it does not make anew is the file of an array.
    """

    def __init__(self, store: DatasetStore, word: str) -> None:
        import zarr

        self._store = store
        self.folder = store.path / UNFINISHED / f"{word}-{secrets.token_hex(6)}"
        self.folder.parent.mkdir(exist_ok=True)
        self._group = zarr.create_group(str(self.folder))
        self._arrays: list[str] = []

    def create(self, name: str, shape: tuple[int, ...], dtype: Any, chunk_rows: int) -> Any:
        """Begin an array whose chunks hold so many rows of its first axis."""
        from zarr.codecs import BloscCodec, Crc32cCodec

        self._arrays.append(name)
        chunk = (max(1, min(chunk_rows, shape[0])), *(max(1, size) for size in shape[1:]))
        typesize = np.dtype(dtype).itemsize
        codecs = [BloscCodec(cname="zstd", clevel=1, shuffle="shuffle", typesize=typesize), Crc32cCodec()]
        return self._group.create_array(name, shape=shape, dtype=dtype, chunks=chunk, compressors=codecs)

    def finish(self, target: Path, attributes: Mapping[str, Any]) -> None:
        """Give the group its attributes and its name; one that is there already stays."""
        self._group.attrs.update(dict(attributes))
        _sync_tree(self.folder)
        if not all((self.folder / name / "zarr.json").is_file() for name in self._arrays):
            self.discard()
            raise FileNotFoundError(f"{self.folder}: was removed while it was written; another run is at work")
        if target.exists() and not (target / "zarr.json").is_file():  # half of one, of a copy or a removal
            self._store._remove(target)
        try:
            os.rename(self.folder, target)
        except OSError:
            if not target.exists():
                raise
            self.discard()
        sync_folder(target.parent)

    def discard(self) -> None:
        """Remove what was written."""
        shutil.rmtree(self.folder, ignore_errors=True)


class SequenceWriter:
    """Writes one sequence, frame after frame; `finish` makes it part of the dataset.

    Args:
        store: that it belongs to.
        index: its number.
        frames: how many frames will come.
    """

    def __init__(self, store: DatasetStore, index: int, frames: int = 0) -> None:
        self._store, self._index, self._frames = store, index, frames
        self._group = _GroupWriter(store, f"{index:06d}")
        self._arrays: dict[str, _FrameArray] = {}

    def append(self, values: Mapping[str, NDArray[Any]]) -> None:
        """Add a frame: one array per field, copied."""
        for name, value in values.items():
            if name not in self._arrays:
                self._arrays[name] = self._begin(name, value)
            self._arrays[name].append(value)

    def _begin(self, name: str, value: NDArray[Any]) -> _FrameArray:
        rows = max(1, min(MOST_CHUNK_FRAMES, CHUNK_BYTES // max(1, value.nbytes), self._frames))
        chunks = max(1, min(WRITE_BYTES // max(1, rows * value.nbytes), -(-self._frames // rows)))
        array = self._group.create(name, (self._frames, *value.shape), value.dtype, rows)
        return _FrameArray(array, rows * chunks)

    def finish(self, attributes: Mapping[str, Any]) -> None:
        """Write what is left, and make the sequence part of the dataset."""
        for array in self._arrays.values():
            array.flush()
        sums = {name: array.checksum for name, array in self._arrays.items()}
        self._group.finish(self._store.sequence_folder(self._index), {**attributes, "sha256": sums})

    def discard(self) -> None:
        """Remove what was written."""
        self._group.discard()


class _FrameArray:
    """Collects frames until some chunks are full."""

    def __init__(self, array: Any, rows: int) -> None:
        self._array = array
        self._buffer = np.empty((rows, *array.shape[1:]), array.dtype)
        self._written = self._waiting = 0
        self._hash = hashlib.sha256()

    def append(self, value: NDArray[Any]) -> None:
        self._buffer[self._waiting] = value
        self._waiting += 1
        if self._waiting == len(self._buffer):
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            ready = self._buffer[: self._waiting]
            self._array[self._written : self._written + self._waiting] = ready
            self._hash.update(ready.tobytes())
            self._written += self._waiting
            self._waiting = 0

    @property
    def checksum(self) -> str:
        return self._hash.hexdigest()


def checksum(array: NDArray[Any]) -> str:
    """SHA-256 of the bytes of an array, as a sequence states it."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def _sync_tree(folder: Path) -> None:
    """Bring all files below a folder to the disk, so that a power cut cannot leave a name without its data."""
    for parent, _, names in os.walk(folder):
        for name in names:
            with open(Path(parent) / name, "rb") as file:
                os.fsync(file.fileno())
        sync_folder(Path(parent))


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    """Leaves of nested tables by dotted name."""
    if isinstance(value, Mapping):
        found: dict[str, Any] = {}
        for key, item in value.items():
            found |= _flat(item, f"{name}.{key}" if name else str(key))
        return found
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return {"": None} | {k: v for i, item in enumerate(value) for k, v in _flat(item, f"{name}.{i}").items()}
    return {name: value}
