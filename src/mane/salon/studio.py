"""`Studio`: the simulation side of the salon, one object in one process: messages of pages in, frames out.

It takes a scene apart no further than any script would: the scene's own source makes guides, its motions are replaced
by hands (`LiveMotion`), and what a page needs of a frame is put on topics, of which a page gets the newest.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mane.body.motion import Motion, Pose
from mane.body.neck import find_neck
from mane.contact.air.drag import Drag
from mane.geometry.checks import FloatArray, require_choice
from mane.groom.groom import Groom
from mane.salon import recording, settings, shown
from mane.salon.carriers import Carrier, make_carrier
from mane.salon.hands import Grab, Jet
from mane.salon.live_motion import LiveMotion
from mane.salon.pictures import draw_picture, write_groom_of
from mane.salon.protocol import encode
from mane.scene.build import Assembly, build
from mane.scene.config import Scene
from mane.scene.hair import Hair
from mane.scene.simulation import Simulation
from mane.stage.clock import StageClock
from mane.strand.frame import GuideFrame
from mane.strand.source import GuideSource
from mane.strand.stepping import SolverDiverged

METRICS_EVERY = 0.25  # [s]
SERVER_STRANDS = 2_000  # hairs that a skin carries which a page cannot carry
NO_SKIN = "none"
Emit = Callable[[str, bytes], None]


class Studio:
    """Hair that hands act on.

    Args:
        scene: what is simulated; its frame rate is the step.
        emit: takes a topic and the newest message of it.
        folder: where files are saved that a page asks for; None for nowhere.
        second: skin of the right half of a split view, or "none".

    Attributes:
        is_playing: whether time goes on.
        speed: of time, 1 for real time.
        sequence: number of the newest event of a page that the last frame has seen.
    """

    def __init__(self, scene: Scene, emit: Emit, folder: Path | None = None, second: str = NO_SKIN) -> None:
        self.scene, self._emit, self._folder = scene, emit, folder
        self.is_playing, self.speed = True, 1.0
        self.sequence, self._newest, self._coming = 0, 0, 0
        self._second, self._server_strands = second, SERVER_STRANDS
        self._number, self._notices, self._told = 0, 0, 0.0
        self._grab: Grab | None = None
        self._jet: Jet | None = None
        self._recording = False
        self._steps = 0
        self._assembly = self._built(scene)
        self._set_up(None)
        self._show_everything()

    # -- building ----------------------------------------------------------------------------------------------------

    def _built(self, scene: Scene, hair: Hair | None = None, guides: Any = None) -> Assembly:
        return build(scene, StageClock(), hair=hair, guides=guides)

    @property
    def source(self) -> GuideSource:
        """What makes the guides move."""
        return self._assembly.source

    @property
    def frame(self) -> GuideFrame:
        """The guides as they are now."""
        return self._frame

    @property
    def dt(self) -> float:
        """Length of a step [s]."""
        return 1.0 / self.scene.frames.rate

    def _set_up(self, before: Studio | None) -> None:
        """Put hands in place of the motions of the scene, and begin at rest."""
        source = self.source
        self._own_head = source.head if self.scene.head.motion != "still" else None
        first = 1 if source.has_body else 0
        self._props = range(first, len(source.solids))
        self._own_motions: dict[int, Motion | None] = {n: source.solids[n].motion for n in self._props}
        start = Pose.identity() if source.head is None else source.head.pose(0.0)
        self.head = LiveMotion(start, 0.0, self.dt)
        body = source.provide("body")
        mesh = None if body is None else body.mesh
        made_in_code = self.scene.groom.style is not None
        self.pivot = np.zeros(3) if made_in_code else find_neck(mesh, source.guides.rest[source.guides.active, 0])
        self.hands: dict[int, LiveMotion] = {}
        for number in self._props:
            own = self._own_motions[number]
            pose = Pose.identity() if own is None else own.pose(0.0)
            self.hands[number] = LiveMotion(pose, 0.0, self.dt)
        self._take_hold()
        self._frame = source.reset(self.head.pose(0.0))
        self._bind()

    def _take_hold(self) -> None:
        """Let the source go by the hands."""
        source = self.source
        source.head = self.head
        for number, hand in self.hands.items():
            source.solids[number].motion = hand
        self._jet = None
        if isinstance(source, Simulation):
            for part in source.parts:
                if isinstance(part, Drag):
                    self._jet, self._drag = Jet(part.wind), part
                    break

    def _bind(self) -> None:
        self.groom = shown.shuffled(self._assembly.hair, self.scene.seed)
        self._make_carriers()

    def _make_carriers(self) -> None:
        clock, source = self._assembly.clock, self.source
        self.carriers: list[Carrier] = [make_carrier(0, self.scene, self.groom, source, clock, self._server_strands)]
        if self._second != NO_SKIN:
            other = settings.find_choice(self.scene, "skin").chosen(self.scene, self._second)
            self.carriers.append(make_carrier(1, other, self.groom, source, clock, self._server_strands))

    # -- what pages see ----------------------------------------------------------------------------------------------

    def _show_everything(self) -> None:
        self._emit("hair", shown.hair_message(self.groom, self.source.guides))
        self._show_look()
        names = ["body"] * self.source.has_body + [one.prop or one.shape or "mesh" for one in self.scene.solids]
        for number, solid in enumerate(self.source.solids):
            is_prop = number in self._props
            self._emit(f"solid {number}", shown.solid_message(number, names[number], solid, is_prop=is_prop))
            if number in self.source.touched and shown.has_field(solid):
                self._emit(f"field {number}", shown.field_message(number, solid))
        self._show_carriers()

    def _show_look(self) -> None:
        self._emit("look", shown.look_message(self.groom, shown.look_of(self.scene)))

    def _show_carriers(self) -> None:
        for side in range(2):
            for topic in (f"carrier {side}", f"sets {side}"):
                self._emit(topic, b"")
        for carrier in self.carriers:
            for topic, message in carrier.fixed():
                self._emit(topic, message)
        self._show_state()
        self._show_frame()

    def _show_state(self) -> None:
        more = [
            settings.choice_described("second", "split view", "skin", settings.SIDE_SKINS, self._second),
            {
                "kind": "slider",
                "name": "server_strands",
                "label": "hairs of the server",
                "group": "skin",
                "low": 100,
                "high": 20_000,
                "value": self._server_strands,
                "unit": "",
                "is_whole": True,
            },
            {
                "kind": "slider",
                "name": "speed",
                "label": "speed of time",
                "group": "time",
                "low": 0.02,
                "high": 1.0,
                "value": self.speed,
                "unit": " x",
                "is_whole": False,
            },
        ]
        state = {
            "settings": settings.described(self.scene, more),
            "pivot": [float(x) for x in self.pivot],
            "is_playing": self.is_playing,
            "is_recording": self._recording,
            "can_save": self._folder is not None,
            "sides": [{"skin": one.stage.skin.name, "note": one.note} for one in self.carriers],
            "hairs": self.groom.strand_count,
            "guides": self.source.guides.count,
            "solids": len(self.source.solids),
        }
        self._emit("state", encode("state", json=json.dumps(state)))

    def _show_frame(self) -> None:
        frame = self._frame
        self._number += 1
        for carrier in self.carriers:
            for topic, message in carrier.of_frame(self._number, frame):
                self._emit(topic, message)
        message = encode(
            "frame",
            number=self._number,
            sequence=self.sequence,
            time=frame.time,
            head=np.concatenate([frame.head.position, frame.head.rotation]),
            points=frame.points,
            solids=np.array([[*pose.position, *pose.rotation] for pose in frame.solid_poses], np.float32),
        )
        self._emit("frame", message)

    def tell(self, text: str, *, is_error: bool = False) -> None:
        """Show a line to whoever looks."""
        self._notices += 1
        self._emit("notice", encode("notice", number=self._notices, is_error=int(is_error), text=text))

    # -- time --------------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Go one step on, whether time goes on by itself or not."""
        started = time.perf_counter()
        end = self._frame.time + self.dt
        if self._own_head is not None:
            self.head.target = self._own_head.pose(end + self.dt)
        for number, own in self._own_motions.items():
            if own is not None:
                self.hands[number].target = own.pose(end + self.dt)
        for motion in (self.head, *self.hands.values()):
            motion.advance()
            if not self._recording:
                motion.forget_past()
        self._pull()
        try:
            self._frame = self.source.step()
        except SolverDiverged as error:
            self.tell(f"{error}; the hair is back at rest", is_error=True)
            self.reset()
            return
        self.sequence, self._coming = self._coming, self._newest
        made = time.perf_counter()
        self._show_frame()
        self._measure(made - started, time.perf_counter() - made)

    def _pull(self) -> None:
        if isinstance(self.source, Simulation):
            self.source.receive(None if self._grab is None else self._grab.load(self._frame.points, self.dt))
        if self._jet is not None:
            self._drag.wind = self._jet if self._jet.is_on else None

    def _measure(self, simulated: float, carried: float) -> None:
        self._steps += 1
        stages = self._assembly.clock.end_frame()
        now = time.perf_counter()
        if now - self._told < METRICS_EVERY:
            return
        report = self.source.report
        numbers: dict[str, Any] = {
            "time [s]": round(self._frame.time, 3),
            "steps per second": round(self._steps / max(now - self._told, 1e-9), 1),
            "simulate [ms]": round(1e3 * simulated, 2),
            "carry and send [ms]": round(1e3 * carried, 2),
            **{f"{name} [ms]": round(1e3 * seconds, 2) for name, seconds in stages.items()},
        }
        if report is not None:
            numbers["stretch [%]"] = round(100 * report.stretch, 4)
            numbers["penetration [mm]"] = round(1e3 * report.penetration, 4)
        numbers["hairs that changed guides"] = sum(carrier.changed for carrier in self.carriers)
        self._emit("metrics", encode("metrics", json=json.dumps(numbers)))
        self._told, self._steps = now, 0

    def reset(self) -> None:
        """Put the hair back to rest where the head is now, at time 0."""
        self._grab = None
        for motion in (self.head, *self.hands.values()):
            motion.restart(motion.poses[-1], 0.0)
        self._frame = self.source.reset(self.head.pose(0.0))
        for carrier in self.carriers:
            carrier.reset()
        self._show_frame()

    # -- what pages ask for ------------------------------------------------------------------------------------------

    def apply(self, name: str, values: Mapping[str, Any]) -> None:
        """Do what a message of a page says; what cannot be done is told to the page."""
        try:
            getattr(self, f"_on_{name}")(**values)
        except (ValueError, OSError) as error:
            self.tell(" ".join(str(error).split()), is_error=True)
            self._show_state()

    def _on_slide(self, name: str, value: float, sequence: int) -> None:
        if name == "speed":
            self.speed = float(np.clip(value, 0.02, 1.0))
        elif name == "server_strands":
            self._server_strands = int(np.clip(value, 100, 20_000))
            self._make_carriers()
            self._show_carriers()
        else:
            self._change(settings.find_slider(self.scene, name).moved(self.scene, value))
        self._newest = sequence

    def _on_choose(self, name: str, value: str, sequence: int) -> None:
        if name == "second":
            require_choice("split view", value, settings.SIDE_SKINS)
            self._second = value
            self._make_carriers()
            self._show_carriers()
        else:
            self._change(settings.find_choice(self.scene, name).chosen(self.scene, value))
        self._newest = sequence

    def _change(self, scene: Scene) -> None:
        """Go over to another scene, and make anew no more than what differs."""
        old = self.scene
        if self._recording:
            self._recording = False
            self.tell("the recording has ended, since a setting has changed")
        if scene.groom != old.groom or scene.seed != old.seed or scene.guides != old.guides:
            same_hair = self._assembly.hair if scene.groom == old.groom else None
            assembly = self._built(scene, same_hair)
            poses = self.head.poses[-1], {number: hand.poses[-1] for number, hand in self.hands.items()}
            self.scene, self._assembly = scene, assembly
            self._set_up(None)
            self._restore_poses(*poses)
            self._show_everything()
            return
        if dataclasses.replace(scene, skin=old.skin, camera=old.camera) != old:
            self._rebuild(scene)
        self.scene = scene
        if scene.camera != old.camera:
            self._show_look()
        if scene.skin != old.skin or scene.contact != old.contact or scene.strand != old.strand:
            self._make_carriers()
            self._show_carriers()
        self._show_state()

    def _restore_poses(self, head: Pose, hands: Mapping[int, Pose]) -> None:
        """Let head and props be where they were."""
        self.head.restart(head, 0.0)
        self.head.target = head
        for number, pose in hands.items():
            if number in self.hands:
                self.hands[number].restart(pose, 0.0)
                self.hands[number].target = pose
        self._frame = self.source.reset(self.head.pose(0.0))

    def _rebuild(self, scene: Scene) -> None:
        """Make the source anew with the same guides; hair moves on from where it is."""
        before, motions = self.source, (self._own_head, self._own_motions)
        self._assembly = self._built(scene, self._assembly.hair, self._assembly.guides)
        self._own_head, self._own_motions = motions
        self._take_hold()
        memory = before.memory()
        if _shapes(memory) == _shapes(self.source.memory()):
            self.source.restore(memory)
        else:  # the state of another strand model: the hair begins anew at rest
            for motion in (self.head, *self.hands.values()):
                motion.restart(motion.poses[-1], 0.0)
            self._frame = self.source.reset(self.head.pose(0.0))

    def _on_command(self, action: str) -> None:
        actions: dict[str, Callable[[], None]] = {
            "play": lambda: self._play(True),
            "pause": lambda: self._play(False),
            "step": self.step,
            "reset": self.reset,
            "record": self._record,
            "stop": self._stop,
        }
        require_choice("command", action, list(actions))
        actions[action]()
        self._show_state()

    def _play(self, is_playing: bool) -> None:
        self.is_playing = is_playing

    def _record(self) -> None:
        self.reset()
        self._recording = True
        self.is_playing = True

    def _stop(self) -> None:
        self._recording = False
        self.is_playing = False  # so that what was recorded stays as it is until it is saved

    def _on_move(self, number: int, position: Any, rotation: Any, sequence: int) -> None:
        if number not in self.hands:
            raise ValueError(f"solid {number} is none that can be moved")
        self._own_motions[number] = None
        self.hands[number].target = _pose(position, rotation)
        self._newest = sequence

    def _on_turn(self, position: Any, rotation: Any, sequence: int) -> None:
        turned = _pose(np.zeros(3), rotation)
        self._own_head = None
        self.head.target = Pose(self.pivot + position - turned.apply(self.pivot), turned.rotation)
        self._newest = sequence

    def _on_grab(self, is_held: int, point: Any, target: Any, sequence: int) -> None:
        self._newest = sequence
        if not is_held:
            self._grab = None
            return
        if not isinstance(self.source, Simulation):
            raise ValueError("hair that is not simulated cannot be grabbed")
        if self._grab is None:
            masses = self.source.strands.mass
            grab = Grab(self._frame.points, masses, np.asarray(point, np.float32), self._frame.active)
            self._grab = None if grab.is_empty else grab
        if self._grab is not None:
            self._grab.target = np.asarray(target, np.float64)

    def _on_blow(self, origin: Any, velocity: Any, sequence: int) -> None:
        if self._jet is None:
            raise ValueError("this hair feels no wind")
        self._jet.origin, self._jet.speed = np.asarray(origin, np.float64), np.asarray(velocity, np.float64)
        self._newest = sequence

    def _on_save(self, kind: str, name: str, eye: Any, target: Any, fov: float) -> None:
        require_choice("save", kind, ("scene", "usd", "picture"))
        if kind == "scene":
            first = 1 if self.source.has_body else 0
            hands = {number - first: hand for number, hand in self.hands.items()}
            path = recording.write_recording(self._folder, name, self.scene, self.head, hands)
        elif kind == "usd":
            path = recording.checked_path(self._folder, name, ".usdc")
            write_groom_of(path, *self._hair_now())
        else:
            path = recording.checked_path(self._folder, name, ".png")
            draw_picture(path, *self._hair_now(), self.scene, self.source, self._frame, eye, target, fov)
        self.tell(f"saved {path.name}")

    def _hair_now(self) -> tuple[FloatArray, Groom]:
        """All hairs of the left side at this frame, (S, V, 3) [m], and the groom that they are."""
        stage = self.carriers[0].stage
        return stage(self._frame), stage.drawn(self.source.rest)


def _pose(position: Any, rotation: Any) -> Pose:
    quaternion = np.asarray(rotation, np.float64)
    return Pose(np.asarray(position, np.float64), quaternion / np.linalg.norm(quaternion))


def _shapes(memory: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in memory.items()}
