"""What a salon shows: a scene that is simulated, a cache that is played, a model on its own guides, a script's own
simulation. A program builds what the studio runs, and says what a person may change about it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.scene.build import Assembly, build
from mane.scene.cache import Cache
from mane.scene.cached import CachedSource
from mane.scene.config import FramesTable, GroomTable, Scene, SkinTable
from mane.scene.deeds import Deed
from mane.scene.hair import Hair
from mane.scene.learned import load_hair_model
from mane.scene.simulation import Simulation
from mane.stage.clock import StageClock
from mane.strand.frame import GuideFrame
from mane.strand.source import GuideSource


class Reel(CachedSource):
    """Frames of a cache that is played over and over, from any of them on."""

    @property
    def count(self) -> int:
        """Number of frames."""
        return len(self._numbers)

    @property
    def first(self) -> int:
        """Number of the first frame."""
        return self._numbers[0]

    @property
    def number(self) -> int:
        """Number of the frame that was read last."""
        return self._numbers[max(self._next - 1, 0)]

    def seek(self, number: int) -> GuideFrame:
        """Read the frame of that number, or the nearest that there is."""
        self._next = int(np.clip(number - self.first, 0, self.count - 1))
        return super().step()

    def step(self) -> GuideFrame:
        """Read the next frame; after the last comes the first."""
        if self._next >= self.count:
            self._next = 0
        return super().step()


@dataclass(frozen=True, eq=False)
class Program:
    """A scene that is simulated.

    Attributes:
        scene: what is shown.
        deeds: of a recording, which are done again until a hand takes over.
        is_live: whether hands act on it.
        is_scene: whether its settings are those of the scene, so that they can be changed and saved.
    """

    scene: Scene
    deeds: tuple[Deed, ...] = ()
    is_live = True
    is_scene = True

    def build(
        self, scene: Scene, clock: StageClock, *, hair: Hair | None = None, guides: Guides | None = None
    ) -> Assembly:
        """Make what a scene describes: that of the program with other settings."""
        return build(scene, clock, hair=hair, guides=guides)


@dataclass(frozen=True, eq=False)
class CacheProgram(Program):
    """Frames that were simulated before; `path` is the folder of the cache."""

    path: Path = Path()
    is_live = False
    is_scene = False

    def build(
        self, scene: Scene, clock: StageClock, *, hair: Hair | None = None, guides: Guides | None = None
    ) -> Assembly:
        """Make the hair of the cache, and a reel of its frames."""
        cache, made = Cache.open(self.path), build(scene, clock, hair=hair, guides=guides)
        different = cache.changed(made.keys)
        if different:
            raise ValueError(f"{self.path}: cannot be played, {different}")
        if not cache.frames:
            raise ValueError(f"{self.path}: holds no finished frame yet; `mane simulate --resume` goes on with it")
        return replace(made, source=Reel(cache, cache.frames, made.source))


@dataclass(frozen=True, eq=False)
class ModelProgram(Program):
    """A learned model without a groom: its own guides are the hair. `path` is the model's file."""

    path: Path = Path()

    def build(
        self, scene: Scene, clock: StageClock, *, hair: Hair | None = None, guides: Guides | None = None
    ) -> Assembly:
        """Make the hair of the model's own guides."""
        own = load_hair_model(self.path).guides() if guides is None else guides
        return build(scene, clock, hair=hair or Hair.of(own.strands), guides=own)


@dataclass(frozen=True, eq=False)
class SimulationProgram(Program):
    """A simulation that a script made, with the groom that its guides carry."""

    simulation: Any = None
    groom: Groom | None = None
    is_scene = False

    @classmethod
    def of(cls, simulation: GuideSource, groom: Groom | None, skin: str) -> SimulationProgram:
        """Show a simulation; without a groom its guides are all the hair that there is."""
        guides = simulation.guides
        if groom is None:
            groom = guides.strands if guides.active.all() else guides.strands.take(np.flatnonzero(guides.active))
        rate = 1.0 / simulation.frame_dt if isinstance(simulation, Simulation) else 24.0
        frames = FramesTable(rate=rate)
        scene = Scene(groom=GroomTable(file="simulation"), frames=frames, skin=SkinTable(skin))
        return cls(scene, simulation=simulation, groom=groom)

    @cached_property
    def _hair(self) -> Hair:
        assert self.groom is not None
        return Hair.of(self.groom)

    def build(
        self, scene: Scene, clock: StageClock, *, hair: Hair | None = None, guides: Guides | None = None
    ) -> Assembly:
        """Return the simulation as it is."""
        self.simulation.clock = clock
        return Assembly(scene, self._hair, self.simulation.guides, self.simulation, clock)


def as_program(shown: Scene | Program) -> Program:
    """The program of a scene, or the program itself."""
    return shown if isinstance(shown, Program) else Program(shown)
