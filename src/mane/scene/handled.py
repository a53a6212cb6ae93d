"""`HandledSource`: a source of guides that hands act on while it runs, as a recording of the salon says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.motion import Pose
from mane.contact.air.drag import Drag
from mane.contact.air.waterflow import Waterflow
from mane.contact.by_hand import Grab, Jet
from mane.fluid.sources import Jet as WaterJet
from mane.scene.config import Scene
from mane.scene.deeds import Deed, vector
from mane.scene.scene_file import with_values
from mane.scene.simulation import Simulation
from mane.stage import memory as checkpoints
from mane.stage.protocol import Memory, Stage
from mane.strand.frame import GuideFrame
from mane.strand.ports import GuideLoad, Part
from mane.strand.source import GuideSource
from mane.strand.stepping import StepReport

# Tables of a scene that may change while guides move; all others make other guides, or none of their motion.
CHANGEABLE = ("strand", "contact", "wind", "guides", "water")
LEAST_WATER = 16  # cells: less than that, when nobody pours any more, has run off
MOUTH = 1.6  # radius of what water is poured from [cells]: thinner streams break up


class Hands:
    """A lock that is pulled, air that is blown and water that is poured, on whatever source they are at.

    Args:
        source: of the guides.
    """

    def __init__(self, source: GuideSource) -> None:
        self._grab: Grab | None = None
        self._origin, self._speed = np.zeros(3), np.zeros(3)
        self._mouth, self._pour_speed = np.zeros(3), np.zeros(3)
        self.take(source)

    def take(self, source: GuideSource) -> None:
        """Go over to another source, which goes on with the same guides."""
        self._source = source
        parts = _parts(source)
        self._drag = next((part for part in parts if isinstance(part, Drag)), None)
        self._jet = None if self._drag is None else Jet(self._drag.wind)
        self.water = next((part for part in parts if isinstance(part, Waterflow)), None)
        self._own_jets = () if self.water is None else self.water.water.jets
        self._set_jet()
        self._set_pouring()

    water: Waterflow | None

    @property
    def is_holding(self) -> bool:
        """Whether there is a lock between the fingers."""
        return self._grab is not None

    def pull(self, frame: GuideFrame, point: Any, target: Any) -> None:
        """Take the lock at `point` [m] as it is in `frame`, unless one is held already, and pull it to `target` [m]."""
        if not isinstance(self._source, Simulation):
            raise ValueError("hair that is not simulated cannot be grabbed")
        if self._grab is None:
            masses = self._source.strands.mass
            grab = Grab(frame.points, masses, np.asarray(point, np.float32), frame.active)
            self._grab = None if grab.is_empty else grab
        if self._grab is not None:
            self._grab.target = np.asarray(target, np.float64)

    def release(self) -> None:
        """Let the lock go."""
        self._grab = None

    def blow(self, origin: Any, velocity: Any) -> None:
        """Blow from `origin` [m] with a `velocity` there [m/s]; zeros to stop."""
        if self._jet is None:
            raise ValueError("this hair feels no wind")
        self._origin, self._speed = np.asarray(origin, np.float64), np.asarray(velocity, np.float64)
        self._set_jet()

    def _set_jet(self) -> None:
        if self._jet is not None:
            self._jet.origin, self._jet.speed = self._origin, self._speed

    def pour(self, origin: Any, velocity: Any) -> None:
        """Pour water from `origin` [m], or the nearest place in its box, with a `velocity` [m/s]; zeros to stop."""
        if self.water is None:
            raise ValueError("there is no water to pour; [water] cell makes a box of it")
        self._mouth, self._pour_speed = np.asarray(origin, np.float64), np.asarray(velocity, np.float64)
        self._set_pouring()

    def _set_pouring(self) -> None:
        if self.water is None:
            return
        grid = self.water.water.grid
        radius = MOUTH * grid.cell
        low, high = grid.bounds
        place = np.clip(self._mouth, low + radius, high - radius)
        poured = [WaterJet(vector(place), vector(self._pour_speed), radius)] if self._pour_speed.any() else []
        self.water.water.jets = (*self._own_jets, *poured)

    def do(self, deed: Deed, frame: GuideFrame) -> None:
        """Do what a recording did, other than change settings, after `frame`."""
        if deed.kind == "blow":
            self.blow(deed.point, deed.vector)
        elif deed.kind == "pour":
            self.pour(deed.point, deed.vector)
        elif deed.kind == "pull":
            self.pull(frame, deed.point, deed.vector)
        elif deed.kind == "release":
            self.release()

    def rest(self) -> None:
        """Do nothing any more."""
        self._grab = None
        self._origin, self._speed = np.zeros(3), np.zeros(3)
        self._mouth, self._pour_speed = np.zeros(3), np.zeros(3)
        self._set_jet()
        self._set_pouring()

    def leave(self) -> None:
        """Let the source be as it was without hands."""
        self.rest()
        if isinstance(self._source, Simulation):
            self._source.receive(None)
        if self._drag is not None and self._jet is not None:
            self._drag.wind = self._jet.wind

    def act(self, frame: GuideFrame, dt: float, returned: GuideLoad | None = None) -> None:
        """Act on the step after `frame`, besides what a skin has `returned`."""
        if isinstance(self._source, Simulation):
            load = None if self._grab is None else self._grab.load(frame.points, dt)
            self._source.receive(_sum(load, returned))
        elif returned is not None:
            self._source.receive(returned)
        if self._drag is not None and self._jet is not None:
            self._drag.wind = self._jet if self._jet.is_on else None
        if self.water is not None and not self.water.water.jets:
            self.water.water.drain_below(LEAST_WATER)

    def memory(self) -> Memory:
        """What is held, blown and poured."""
        held = {} if self._grab is None else {f"grab.{name}": one for name, one in self._grab.memory().items()}
        air = {"origin": self._origin.copy(), "speed": self._speed.copy()}
        return {**held, **air, "mouth": self._mouth.copy(), "pour_speed": self._pour_speed.copy()}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        held = {name.removeprefix("grab."): array for name, array in memory.items() if name.startswith("grab.")}
        self._grab = Grab.restored(held) if held else None
        self._origin, self._speed = np.array(memory["origin"]), np.array(memory["speed"])
        self._mouth, self._pour_speed = np.array(memory["mouth"]), np.array(memory["pour_speed"])
        self._set_jet()
        self._set_pouring()


def _sum(load: GuideLoad | None, other: GuideLoad | None) -> GuideLoad | None:
    if load is None or other is None:
        return other if load is None else load
    mine, theirs = load.resistance, other.resistance
    resistance = theirs if mine is None else mine if theirs is None else mine + theirs
    return GuideLoad(load.force + other.force, resistance)


def go_on(before: GuideSource, after: GuideSource) -> bool:
    """Let a source go on where one with other settings is; returns whether it could: its state must be of one kind."""
    memory = before.memory()
    mine, theirs = ({name: array.shape for name, array in one.items()} for one in (after.memory(), memory))
    if mine != theirs:
        return False
    after.restore(memory)
    for part in _parts(after):
        for earlier in _parts(before):
            if type(part) is type(earlier):
                part.go_on(earlier)
    return True


def _parts(source: GuideSource) -> tuple[Part, ...]:
    return source.parts if isinstance(source, Simulation) else ()


class HandledSource(GuideSource):
    """Lets deeds act on what another source makes, each from its own time on.

    Args:
        scene: that makes the source, without deeds.
        make: source of a scene with other settings.
        deeds: in the order of their times.
    """

    name = "by_hand"

    def __init__(self, scene: Scene, make: Callable[[Scene], GuideSource], deeds: Sequence[Deed]) -> None:
        self._first_scene, self._make, self._deeds = scene, make, list(deeds)
        self._dt = 1.0 / scene.frames.rate
        self._scene, self._made = scene, make(scene)
        self.guides, self.head, self.solids = self._made.guides, self._made.head, self._made.solids
        self.has_body, self._hands = self._made.has_body, Hands(self._made)
        self._returned: GuideLoad | None = None
        self._next = 0
        self.reset()

    def reset(self, head_pose: Pose | None = None, *, time: float = 0.0) -> GuideFrame:
        """Begin anew, before the first deed."""
        if self._scene is not self._first_scene:
            self._scene, self._made = self._first_scene, self._make(self._first_scene)
            self._hands.take(self._made)
        self._hands.rest()
        self._next, self._returned = 0, None
        self._frame = self._made.reset(head_pose, time=time)
        return self._frame

    def step(self) -> GuideFrame:
        """Go one frame on; deeds whose time has come act first."""
        while self._next < len(self._deeds) and self._deeds[self._next].time <= self._frame.time + 0.5 * self._dt:
            self._do(self._deeds[self._next])
            self._next += 1
        self._hands.act(self._frame, self._dt, self._returned)
        self._frame = self._made.step()
        return self._frame

    def _do(self, deed: Deed) -> None:
        if deed.kind == "set":
            self._change(deed)
        else:
            self._hands.do(deed, self._frame)

    def _change(self, deed: Deed) -> None:
        self._scene = with_values(self._scene, deed.values, "recording")
        before, self._made = self._made, self._make(self._scene)
        self._made.clock = before.clock
        if not go_on(before, self._made):
            raise ValueError(f"recording: hair cannot go on with {', '.join(deed.values)} at {deed.time:g} s")
        self._hands.take(self._made)

    # -- what others may ask -------------------------------------------------------------------------------------------

    @property
    def report(self) -> StepReport | None:  # type: ignore[override]
        """How the last step went."""
        return self._made.report

    @property
    def note(self) -> str:  # type: ignore[override]
        """What a user should know of these guides."""
        return self._made.note

    @property
    def clock(self) -> Any:
        """Counts the time of every part."""
        return self._made.clock

    @clock.setter
    def clock(self, clock: Any) -> None:
        if hasattr(self, "_made"):
            self._made.clock = clock

    @property
    def adaptive(self) -> Any:
        """The part that inserts guides, or None."""
        return getattr(self._made, "adaptive", None)

    @property
    def rest(self) -> GuideFrame:
        """The guides at rest."""
        return self._made.rest

    @property
    def touched(self) -> range:
        """Numbers of the solids that hair touches."""
        return self._made.touched

    @property
    def may_change_lengths(self) -> bool:
        """Whether the guides may get other lengths than at rest."""
        return self._made.may_change_lengths

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Itself and all that it is made of."""
        return (self, *self._made.stages)

    def provide(self, need: str) -> Any:
        """Return what the source that it is made of would."""
        return self._made.provide(need)

    def receive(self, load: GuideLoad | None) -> None:
        """Let what a skin found out act besides the hands."""
        self._returned = load

    def memory(self) -> Memory:
        """How far the deeds are done, and what hands hold."""
        return {"next": np.array(self._next), **{f"hands.{name}": one for name, one in self._hands.memory().items()}}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned, with the settings of that time."""
        self._next = int(memory["next"])
        scene = self._first_scene
        for deed in self._deeds[: self._next]:
            if deed.kind == "set":
                scene = with_values(scene, deed.values, "recording")
        clock, self._scene, self._made = self.clock, scene, self._make(scene)
        self._made.clock = clock
        self._hands.take(self._made)
        prefix = "hands."
        held = {name.removeprefix(prefix): array for name, array in memory.items() if name.startswith(prefix)}
        self._hands.restore(held)

    def load_checkpoint(self, checkpoint: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `checkpoint` returned; settings first, since they decide what the source is made of."""
        checkpoints.load((self,), checkpoint)
        self._made.load_checkpoint(checkpoint)
        frame = getattr(self._made, "frame", None)
        if frame is not None:
            self._frame = frame
