"""What was done by hand as a scene file: motions of head and props as keyframes, deeds, and every setting."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

from mane.body.motion_files import write_motion
from mane.body.motion_keys import KeyframedMotion
from mane.salon.holding import Holding
from mane.salon.live_motion import LiveMotion
from mane.scene.config import FramesTable, HandsTable, HeadTable, OutputTable, Scene, SolidTable
from mane.scene.deeds import Deed, changed_values, vector, write_deeds
from mane.scene.handled import CHANGEABLE
from mane.scene.written import scene_text

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
FEWEST_FRAMES = 3
HEAD = -1


def checked_path(folder: Path | None, name: str, suffix: str) -> Path:
    """Path of a new file in the folder of the salon; ValueError for a name that is no plain one, and for no folder."""
    if folder is None:
        raise ValueError("the salon has no folder to write to; start it with --output FOLDER")
    if not NAME.fullmatch(name):
        raise ValueError("name: must be letters, digits, - and _, at most 64 of them")
    return folder / f"{name}{suffix}"


class Tape:
    """Keeps what hands do, from when it is made until it ends.

    Args:
        scene: with its settings as they are when the recording begins.
        holding: head and props, which begin at time 0.
    """

    def __init__(self, scene: Scene, holding: Holding) -> None:
        self._scene, self._holding = scene, holding
        self._deeds: list[Deed] = []
        self._motions: dict[int, KeyframedMotion] | None = None

    @property
    def is_running(self) -> bool:
        """Whether it still takes in what is done."""
        return self._motions is None

    def _keep(self, deed: Deed) -> None:
        if self.is_running:
            self._deeds.append(deed)

    def pulled(self, time: float, point: Any, target: Any, *, is_held: bool) -> None:
        """A lock was pulled at `time` [s], or let go."""
        self._keep(Deed(time, "pull", vector(point), vector(target)) if is_held else Deed(time, "release"))

    def blown(self, time: float, origin: Any, velocity: Any) -> None:
        """Air was blown."""
        self._keep(Deed(time, "blow", vector(origin), vector(velocity)))

    def poured(self, time: float, origin: Any, velocity: Any) -> None:
        """Water was poured."""
        self._keep(Deed(time, "pour", vector(origin), vector(velocity)))

    def changed(self, time: float, before: Scene, after: Scene) -> None:
        """Settings were changed."""
        self._keep(Deed(time, "set", values=changed_values(before.to_dict(), after.to_dict(), CHANGEABLE)))

    def end(self) -> None:
        """Take in no more; what was done stays as it is."""
        if self.is_running:
            self._motions = self._recorded()

    def _recorded(self) -> dict[int, KeyframedMotion]:
        """Motions by number of the table in the scene, that of the head as `HEAD`."""
        first = min(self._holding.props, default=0)
        live = {HEAD: self._holding.head, **{n - first: one for n, one in self._holding.props.items()}}
        return {number: _keyframed(motion) for number, motion in live.items()}

    def write(self, folder: Path | None, name: str, scene: Scene) -> Path:
        """Write NAME.toml with motions and deeds beside it; `scene` has the look and the skin as they are now."""
        path = checked_path(folder, name, ".toml")
        motions = self._recorded() if self._motions is None else self._motions
        # The cubic up to a key depends on the key after it, and the last one has none.
        frames = len(motions[HEAD].times) - 2
        if frames < FEWEST_FRAMES:
            raise ValueError("nothing is recorded yet; press record, move something, and stop")
        files = {number: f"{name}.{'head' if number == HEAD else f'solid{number}'}.json" for number in motions}
        for number, motion in motions.items():
            write_motion(path.parent / files[number], motion, motion.times)
        deeds = f"{name}.hands.json" if self._deeds else None
        if deeds is not None:
            write_deeds(path.parent / deeds, self._deeds)
        begun = dataclasses.replace(self._scene, skin=scene.skin, camera=scene.camera)
        written = dataclasses.replace(
            with_absolute_paths(begun),
            frames=FramesTable(start=0, end=frames - 1, rate=scene.frames.rate),
            head=HeadTable(motion=files[HEAD]),
            solids=tuple(_moved(table, files[number]) for number, table in enumerate(scene.solids)),
            hands=HandsTable(deeds),
            output=OutputTable(cache=f"{name}.cache"),
            folder=path.parent,
        )
        comment = f"# Recorded in the salon. Run it: mane simulate {path.name}\n"
        path.write_text(comment + scene_text(written), encoding="utf-8")
        return path


def _keyframed(motion: LiveMotion) -> KeyframedMotion:
    positions, rotations = [pose.position for pose in motion.poses], [pose.rotation for pose in motion.poses]
    return KeyframedMotion(list(motion.times), positions, rotations)


def _moved(table: SolidTable, file: str) -> SolidTable:
    here = (0.0, 0.0, 0.0)
    return dataclasses.replace(table, position=here, rotation_vector=here, keyframes=(), motion=file)


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
