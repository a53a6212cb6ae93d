"""Caches: the simulated guides of every frame, and what is needed to go on after the last one.

    curly.cache/
      cache.json          the scene, versions, and keys of hair and guides
      guides.npz          the guides at rest and the strands that they are
      frame.0001.npz      one `GuideFrame`, complete before it takes its name
      checkpoint.npz      the state of every part after the last frame

Plain .npz files need no further library, are readable by NumPy alone, and their checksums find damage. A run that is
killed at any moment leaves complete frames and the checkpoint of one of the last ones.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh
from mane.body.motion import Pose
from mane.geometry.archives import DAMAGED_ARCHIVE
from mane.groom.guides import Guides
from mane.io.atomic import atomic_write
from mane.scene.config import Scene
from mane.scene.scene_file import scene_from_dict
from mane.stage import memory as checkpoints
from mane.strand.frame import GuideFrame, GuideWetness, InsertedGuides

FORMAT = 2
HEADER, GUIDES, CHECKPOINT = "cache.json", "guides.npz", "checkpoint.npz"
FRAME_NAME = re.compile(r"frame\.(-?\d+)\.npz")
FRAME_INDEX = "frame"
LENGTHS = "length_scale"
OTHERS = ("head", "solid_poses", "time", "inserted", "water", "wet", "is_rest_pose", LENGTHS)
ARRAYS = [f.name for f in fields(GuideFrame) if f.name not in OTHERS]
WATER = ("points", "faces")
WET = ("held", "submerged")
INSERTED = [f.name for f in fields(InsertedGuides)]

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Cache:
    """A cache on disk. `Cache.make` begins one, `Cache.open` finds one.

    Attributes:
        path: its folder.
        header: what `cache.json` says.
    """

    path: Path
    header: dict[str, Any]

    # -- beginning and finding one ---------------------------------------------------------------------------------

    @classmethod
    def make(
        cls, path: Path, scene: Scene, guides: Guides, keys: Mapping[str, str], stages: Mapping[str, int]
    ) -> Cache:
        """Begin a cache in a folder, without the frames that it may hold; `stages` are versions of what makes them."""
        _make_folder(path)
        for old in [path / CHECKPOINT, *(path / name for name in os.listdir(path) if _is_ours(name))]:
            old.unlink(missing_ok=True)
        header = {
            "format": FORMAT,
            "versions": program_versions(),
            "stages": dict(stages),
            "keys": dict(keys),
            "scene": scene.to_dict(),
            "scene_folder": os.path.relpath(scene.folder, path),
            "scene_text": scene.text,
        }
        with atomic_write(path / GUIDES) as file:
            np.savez(file, rest=guides.rest, source=guides.source, active=guides.active, weight=guides.weight)
        with atomic_write(path / HEADER) as file:
            file.write(json.dumps(header, indent=1).encode())
        return cls(path, json.loads(json.dumps(header)))

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Cache:
        """Find a cache; ValueError says what is wrong with it."""
        folder = Path(path)
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder}: no such cache; `mane simulate` makes one where [output] has a cache")
        try:
            header = json.loads((folder / HEADER).read_text(encoding="utf-8"))
            found = header["format"]
        except FileNotFoundError:
            raise ValueError(f"{folder}: is no cache, {HEADER} is missing") from None
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{folder / HEADER}: is damaged ({error}); begin the run anew") from None
        if found != FORMAT:
            raise ValueError(f"{folder}: must be a cache of format {FORMAT}, got {found}; simulate it again")
        return cls(folder, header)

    @property
    def scene(self) -> Scene:
        """The scene that the cache was made with; its paths are seen from where its folder is now."""
        folder = Path(os.path.normpath(self.path / self.header["scene_folder"]))
        return scene_from_dict(self.header["scene"], folder=folder, text=self.header["scene_text"])

    def difference(self, scene: Scene, keys: Mapping[str, str], *, hair_decides: bool = False) -> str | None:
        """Say in what a scene is another one than that of the cache, outputs and the last frame apart; or None.

        With `hair_decides`, a skin and finishing passes that push the guides must be the same too.
        """
        written = json.loads(json.dumps(scene.to_dict()))
        ours, theirs = (_deciding(one, hair_decides) for one in (self.header["scene"], written))
        for name in theirs:
            if ours.get(name) != theirs[name]:
                return f"{name} was {ours.get(name)!r} and is {theirs[name]!r}"
        return self.changed(keys)

    def upgraded(self, stages: Mapping[str, int]) -> str | None:
        """Say which program made the cache, where going on with this one would mix two, and the remedy; or None."""
        made, now = self.header["versions"], program_versions()
        for name, version in now.items():
            if made.get(name) != version:
                return (
                    f"it was made with {name} {made.get(name)} and this is {version}, which may move hair otherwise; "
                    f"`pip install {name}=={made.get(name)}` goes on"
                )
        if "stages" not in self.header:
            return "it was made by an older mane, which did not say with which methods; install that one to go on"
        different = checkpoints.difference(self.header["stages"], stages)
        return None if different is None else f"{different}; install the version that made it to go on"

    def changed(self, keys: Mapping[str, str]) -> str | None:
        """Say which of hair, guides and frames of the body are other ones than those of the cache; or None."""
        for name in {**self.header["keys"], **keys}:
            if keys.get(name) != self.header["keys"].get(name):
                return f"the {name} are other ones: their file, or the version of mane that made them, has changed"
        return None

    # -- frames ----------------------------------------------------------------------------------------------------

    @property
    def frames(self) -> list[int]:
        """Numbers of the complete frames, from the first one on without a gap."""
        found = {int(match.group(1)) for name in os.listdir(self.path) if (match := FRAME_NAME.fullmatch(name))}
        start = int(self.header["scene"]["frames"]["start"])
        end = start
        while end in found:
            end += 1
        return list(range(start, end))

    def frame_file(self, index: int) -> Path:
        """File of a frame."""
        return self.path / f"frame.{'-' if index < 0 else ''}{abs(index):04d}.npz"

    def write_frame(self, index: int, frame: GuideFrame) -> None:
        """Write a frame; when this returns, it is on disk."""
        poses = np.array([_pose_row(pose) for pose in frame.solid_poses]).reshape(-1, 7)
        with atomic_write(self.frame_file(index)) as file:
            np.savez(
                file,
                allow_pickle=False,
                **{name: getattr(frame, name) for name in ARRAYS},
                **_inserted_arrays(frame),
                **_water_arrays(frame),
                **({} if frame.length_scale is None else {LENGTHS: frame.length_scale}),
                head=_pose_row(frame.head),
                solid_poses=poses,
                time=np.array([frame.time]),
            )

    def read_frame(self, index: int) -> GuideFrame:
        """Read a frame; ValueError says what is wrong with its file."""
        path = self.frame_file(index)
        arrays = _load(path)
        try:
            own: dict[str, Any] = {name: arrays[name] for name in ARRAYS}
            return GuideFrame(
                **own,
                head=_pose(arrays["head"]),
                solid_poses=tuple(_pose(row) for row in arrays["solid_poses"]),
                time=float(arrays["time"][0]),
                inserted=_inserted(arrays),
                water=_water(arrays),
                wet=_wet(arrays),
                length_scale=arrays.get(LENGTHS),  # frames of simulations have none
            )
        except (KeyError, IndexError, ValueError) as error:
            raise ValueError(f"{path}: is no frame of a cache ({error})") from None

    # -- checkpoint ------------------------------------------------------------------------------------------------

    def write_checkpoint(self, index: int, arrays: Arrays) -> None:
        """Write what is needed to go on after a frame, in place of the last one."""
        with atomic_write(self.path / CHECKPOINT) as file:
            np.savez(file, allow_pickle=False, **{FRAME_INDEX: np.array([index]), **arrays})

    def last_checkpoint(self) -> int | None:
        """Return the frame that a run can resume after; None where no frame was finished."""
        path = self.path / CHECKPOINT
        return int(_load(path, (FRAME_INDEX,))[FRAME_INDEX][0]) if path.is_file() else None

    def read_checkpoint(self) -> tuple[int, dict[str, NDArray[Any]]] | None:
        """Return the frame that a run can resume after and the arrays for that; None where no frame was finished."""
        path = self.path / CHECKPOINT
        if not path.is_file():
            return None
        arrays = _load(path)
        if FRAME_INDEX not in arrays:
            raise ValueError(f"{path}: is no checkpoint; begin the run anew")
        return int(arrays.pop(FRAME_INDEX)[0]), arrays


def _deciding(scene: Mapping[str, Any], hair_decides: bool) -> dict[str, Any]:
    """Values that decide what is simulated, by dotted name."""
    ignored = ("output", "camera", "bounds", *(() if hair_decides else ("skin", "finish", "passes")))
    kept = {name: value for name, value in scene.items() if name not in ignored}
    flat: dict[str, Any] = {}
    for name, value in kept.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{key}": item for key, item in value.items() if (name, key) != ("frames", "end")}
        else:
            flat[name] = value
    return flat


def _inserted_arrays(frame: GuideFrame) -> dict[str, NDArray[Any]]:
    if frame.inserted is None:
        return {}
    return {f"inserted.{name}": getattr(frame.inserted, name) for name in INSERTED}


def _inserted(arrays: Arrays) -> InsertedGuides | None:
    """Guides beside the groom's; frames of a run without any have none, nor had those of earlier versions."""
    if "inserted.parents" not in arrays:
        return None
    return InsertedGuides(**{name: arrays[f"inserted.{name}"] for name in INSERTED})


def _water_arrays(frame: GuideFrame) -> dict[str, NDArray[Any]]:
    found = {} if frame.water is None else {f"water.{name}": getattr(frame.water, name) for name in WATER}
    return found if frame.wet is None else {**found, **{f"wet.{name}": getattr(frame.wet, name) for name in WET}}


def _water(arrays: Arrays) -> Mesh | None:
    """The surface of the water; frames without any have none, nor had those of earlier versions."""
    return Mesh(*(arrays[f"water.{name}"] for name in WATER)) if "water.points" in arrays else None


def _wet(arrays: Arrays) -> GuideWetness | None:
    """How wet the guides are, likewise."""
    return GuideWetness(*(arrays[f"wet.{name}"] for name in WET)) if "wet.held" in arrays else None


def _pose_row(pose: Pose) -> NDArray[np.float64]:
    return np.concatenate([pose.position, pose.rotation])


def _load(path: Path, names: Sequence[str] | None = None) -> dict[str, NDArray[Any]]:
    """Read a file of arrays, or some of them."""
    try:
        # Opened here, because np.load leaves a file open that is no archive.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in (archive.files if names is None else names)}
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: is not there (any more)") from None
    except (*DAMAGED_ARCHIVE, ValueError, KeyError, OSError) as error:
        raise ValueError(f"{path}: is damaged ({error}); begin the run anew, or bring the file back") from None


def _is_ours(name: str) -> bool:
    return FRAME_NAME.fullmatch(name) is not None or (name.startswith(".") and ".partial" in name)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise type(error)(f"{path}: cannot be made ({why}); choose another folder for the cache") from None


def remove_leftovers(path: Path) -> None:
    """Remove what a killed run was writing."""
    for name in os.listdir(path):
        if name.startswith(".") and ".partial" in name:
            with suppress(OSError):
                (path / name).unlink()


def program_versions() -> dict[str, str]:
    """Return the versions of what decides the bytes of a run, by package."""
    from importlib.metadata import version

    return {name: version(name) for name in ("mane", "numpy", "numba")}


def _pose(row: NDArray[np.float64]) -> Pose:
    """Seven numbers as `_pose_row` wrote them."""
    return Pose(row[:3], row[3:])
