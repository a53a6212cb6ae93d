"""What was done by hand as a scene file: the motions of head and props as keyframes, and every setting."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path

from mane.body.motion_files import write_motion
from mane.body.motion_keys import KeyframedMotion
from mane.salon.live_motion import LiveMotion
from mane.scene.config import FramesTable, HeadTable, OutputTable, Scene, SolidTable
from mane.scene.written import scene_text

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
FEWEST_FRAMES = 3


def checked_path(folder: Path | None, name: str, suffix: str) -> Path:
    """Path of a new file in the folder of the salon; ValueError for a name that is no plain one, and for no folder."""
    if folder is None:
        raise ValueError("the salon has no folder to write to; start it with --output FOLDER")
    if not NAME.fullmatch(name):
        raise ValueError("name: must be letters, digits, - and _, at most 64 of them")
    return folder / f"{name}{suffix}"


def write_recording(
    folder: Path | None, name: str, scene: Scene, head: LiveMotion, solids: Mapping[int, LiveMotion]
) -> Path:
    """Write NAME.toml and the motions beside it; returns the path of the scene.

    Args:
        folder: to write to.
        name: of the scene.
        scene: with all settings as they were during the recording.
        head: its motion, from time 0 on.
        solids: motions of those of the scene, by their number there.
    """
    path = checked_path(folder, name, ".toml")
    # The cubic up to a key depends on the key after it, and the last one has none.
    frames = len(head.times) - 2
    if frames < FEWEST_FRAMES:
        raise ValueError("nothing is recorded yet; press record, move something, and stop")
    files = {-1: f"{name}.head.json", **{number: f"{name}.solid{number}.json" for number in solids}}
    for number, motion in {-1: head, **solids}.items():
        _write(path.parent / files[number], motion)
    tables = tuple(
        dataclasses.replace(
            table, position=(0.0, 0.0, 0.0), rotation_vector=(0.0, 0.0, 0.0), keyframes=(), motion=files[number]
        )
        for number, table in enumerate(scene.solids)
    )
    written = dataclasses.replace(
        with_absolute_paths(scene),
        frames=FramesTable(start=0, end=frames - 1, rate=scene.frames.rate),
        head=HeadTable(motion=files[-1]),
        solids=tables,
        output=OutputTable(cache=f"{name}.cache"),
        folder=path.parent,
    )
    comment = f"# Recorded in the salon. Run it: mane simulate {path.name}\n"
    path.write_text(comment + scene_text(written), encoding="utf-8")
    return path


def _write(path: Path, motion: LiveMotion) -> None:
    positions, rotations = [pose.position for pose in motion.poses], [pose.rotation for pose in motion.poses]
    write_motion(path, KeyframedMotion(motion.times, positions, rotations), motion.times)


def with_absolute_paths(scene: Scene) -> Scene:
    """Return the scene with paths that hold from any folder."""

    def whole(name: str | None) -> str | None:
        return None if name is None else str(scene.path(name).absolute())

    def of_solid(table: SolidTable) -> SolidTable:
        return dataclasses.replace(table, mesh=whole(table.mesh), animation=whole(table.animation))

    body, guides = scene.body, scene.guides
    return dataclasses.replace(
        scene,
        groom=dataclasses.replace(scene.groom, file=whole(scene.groom.file)),
        guides=dataclasses.replace(guides, file=whole(guides.file), model=whole(guides.model)),
        body=dataclasses.replace(body, mesh=str(scene.path(body.mesh).absolute())) if body.is_file else body,
        solids=tuple(map(of_solid, scene.solids)),
    )
