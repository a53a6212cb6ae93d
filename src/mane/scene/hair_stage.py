"""`HairStage`: from a frame of guides to the full head: skin, then finishing passes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.scene import parts
from mane.scene.config import Scene, SkinTable, TargetTable
from mane.scene.context import SceneContext
from mane.scene.scene_file import naming_location
from mane.skin.base import Skin
from mane.skin.finish.passes import FINISHING_PASSES, FinishingPass
from mane.skin.table import SKINS
from mane.stage.clock import StageClock
from mane.stage.protocol import Stage
from mane.strand.frame import GuideFrame
from mane.strand.source import GuideSource

PREVIOUS = "previous_frame"


class HairStage:
    """Makes the full head of one frame after the other.

    Args:
        scene: says which skin and which passes.
        groom: the dense hair at rest, all strands with the same vertex count.
        source: of the frames, which says how its guides came about.
        clock: counts the time.

    Attributes:
        skin: carries every hair.
        passes: what is done to it then, in this order.
        stride: every so many vertices of what comes out are those of the groom.
        previous: the guides of the frame before, or None at the first.
    """

    def __init__(self, scene: Scene, groom: Groom, source: GuideSource, clock: StageClock) -> None:
        self.previous: GuideFrame | None = None
        self._scene, self._groom, self._clock = scene, groom, clock
        self._providers = (source.provide, self._provide, SceneContext(scene, source.guides).provide)
        self.skin = self._make_skin(groom, source)
        self.passes = self._make_passes()
        self.stride = math.prod(one.stride for one in self.passes)

    def _make_skin(self, groom: Groom, source: GuideSource) -> Skin:
        table, given = self._scene.skin, {"groom": groom, "guides": source.guides}
        target = {} if table.target is None else {"target": self._of_table("skin.target", table.target, given)}
        skin = self._of_table("skin", table, {**given, **target})
        skin.grow_on(source.provide("body"))
        return skin

    def _of_table(self, where: str, table: SkinTable | TargetTable, given: Mapping[str, Any]) -> Skin:
        with naming_location(self._scene.locations, where):
            settings = _found_settings(self._scene, table)
            made: Skin = parts.make_stage(SKINS.find(table.method), settings, *self._providers, given=given)
        return made

    def _make_passes(self) -> list[FinishingPass]:
        made, own = [], iter(range(len(self._scene.passes)))
        for table in self._scene.finishing:
            is_own = any(table is one for one in self._scene.passes)
            with naming_location(self._scene.locations, f"passes.{next(own)}" if is_own else "finish"):
                made.append(parts.make_stage(FINISHING_PASSES.find(table.kind), table.settings, *self._providers))
        return made

    def _provide(self, need: str) -> Any:
        return {PREVIOUS: lambda: self.previous, "groom": self._groom}[need]

    def __call__(self, frame: GuideFrame) -> FloatArray:
        """Return all hairs at this frame [m], world, shape (S, V, 3), in a buffer that the next call reuses."""
        with self._clock.stage(self.skin.label):
            points = self.skin(frame)
        for finish in self.passes:
            with self._clock.stage(finish.label):
                points = finish(points, frame)
        self.previous = frame
        return points

    def reset(self) -> None:
        """Begin anew: skin and passes forget the frames that they have seen."""
        self.previous = None
        for stage in self.stages:
            stage.reset()

    def drawn(self, rest: GuideFrame) -> Groom:
        """The strands at rest with the vertices that come out of the passes."""
        groom = self._groom
        if self.stride == 1:
            return groom
        # Passes of their own, whose buffers are not those of the hair of the current frame.
        points = groom.as_uniform().copy()
        for finish in self._make_passes():
            if finish.stride > 1:
                points = finish(points, rest)
        return Groom.from_uniform(points.copy(), strand=groom.strand, group_names=groom.group_names)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Skin and passes, whose memory belongs to a checkpoint."""
        return (self.skin, *self.passes)

    @property
    def needs_previous(self) -> bool:
        """Whether a stage asks for the guides of the frame before."""
        return any(PREVIOUS in stage.needs for stage in self.stages)

    @property
    def remembers(self) -> bool:
        """Whether a frame depends on those before it."""
        return any(stage.remembers for stage in self.stages)


def check_skin_files(scene: Scene, groom: Groom, guides: Guides) -> None:
    """Raise SceneError where a file of [skin] or [skin.target] is of other hair, before any hair is made."""
    for where, table in (("skin", scene.skin), ("skin.target", scene.skin.target)):
        if table is not None:
            with naming_location(scene.locations, where):
                SKINS.find(table.method).check_files(groom, guides, _found_settings(scene, table))


def _found_settings(scene: Scene, table: SkinTable | TargetTable) -> dict[str, Any]:
    """Settings of a skin, its files looked for from the scene's folder."""
    names = [name for name in SKINS.find(table.method).files if name in table.settings]
    return {**table.settings, **{name: _found(scene, table.settings[name]) for name in names}}


def _found(scene: Scene, given: Any) -> Any:
    """A file of the scene from its folder; of a list those entries that are files by their ending."""
    if isinstance(given, str):
        return str(scene.path(given))
    return tuple(str(scene.path(one)) if Path(one).suffix else one for one in given)
