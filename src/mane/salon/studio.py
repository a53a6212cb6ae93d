"""`Studio`: the simulation side of the salon, one object in one process: messages of pages in, frames out.

It takes a scene apart no further than any script would: the scene's own source makes guides, its motions are replaced
by hands (`Holding`), and what a page needs of a frame is put on topics, of which a page gets the newest (`Display`).
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mane.contact.air.waterflow import Waterflow
from mane.geometry.checks import FloatArray, require_choice
from mane.groom.groom import Groom
from mane.reduced.source import LearnedSource
from mane.salon import recording, settings, shown
from mane.salon.carriers import Carrier, make_carrier
from mane.salon.display import Display, Emit, Seen
from mane.salon.holding import Holding
from mane.salon.movies import MovieJob, Order
from mane.salon.pace import FEWEST, MOST, Pace
from mane.salon.pictures import draw_picture, write_groom_of
from mane.salon.programs import CacheProgram, Program, Reel, as_program
from mane.salon.water import box_values
from mane.scene.config import Scene
from mane.scene.handled import Hands, go_on
from mane.scene.learned import given_sliders, keyframed_sliders
from mane.scene.scene_file import with_values
from mane.scene.simulation import Simulation
from mane.stage.clock import StageClock
from mane.strand.frame import GuideFrame
from mane.strand.source import GuideSource
from mane.strand.stepping import SolverDiverged

METRICS_EVERY = 0.25  # [s]
SLOWEST = 0.02  # of real time
NO_SKIN = "none"
PACES = ("as many as keep up", "as set")  # hairs of the server
WATER = {"water_held": "water in hair", "water_dripped": "water that dripped"}
CARRIED = ("skin", "contact", "strand", "solids", "water")  # tables that decide how hair is carried
Actions = dict[str, Callable[..., Any]]


class Studio:
    """Hair that hands act on.

    Args:
        program: what is shown, or the scene that is simulated; its frame rate is the step.
        emit: takes a topic and the newest message of it.
        folder: where files are saved that a page asks for; None for nowhere.
        second: skin of the right half of a split view, or "none".

    Attributes:
        scene: with all settings as they are now.
        is_playing: whether time goes on.
        speed: of time, 1 for real time.
        groom: all hairs, in the order in which pages have them.
        carriers: what carries them, on one side or two.
    """

    def __init__(self, program: Program | Scene, emit: Emit, folder: Path | None = None, second: str = NO_SKIN) -> None:
        self._program = as_program(program)
        self.scene, self._display, self._folder = self._program.scene, Display(emit), folder
        self.is_playing, self.speed = True, 1.0
        self._seen = self._coming = self._newest = Seen()
        self._second, self._pace = second, Pace()
        self._told, self._steps = 0.0, 0
        self._tape: recording.Tape | None = None
        self._movie: MovieJob | None = None
        self._deeds = list(self._program.deeds)
        self._assembly = self._program.build(self.scene, StageClock())
        self._set_up()
        self._show_everything()

    # -- building ----------------------------------------------------------------------------------------------------

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

    @property
    def reel(self) -> Reel | None:
        """The cache that is played, or None."""
        return self.source if isinstance(self.source, Reel) else None

    def _set_up(self) -> None:
        """Put hands in place of the motions of the scene, and begin at rest."""
        source, self.holding, self.hands = self.source, None, None
        if self._program.is_live:
            plays_head = self.scene.head.motion != "still" or not self._program.is_scene
            self.holding = Holding(source, self.scene, self.dt, plays_head=plays_head)
            self.hands = Hands(source)
            self._hide_water()
        self._frame = source.reset(None if self.holding is None else self.holding.head.pose(0.0))
        self.groom = shown.shuffled(self._assembly.hair, self.scene.seed)
        self._make_carriers()

    holding: Holding | None
    hands: Hands | None

    @property
    def _water(self) -> Waterflow | None:
        return None if self.hands is None else self.hands.water

    def _hide_water(self) -> None:
        """Keep the surface of water out of frames: pages get it in pieces that are sooner made."""
        if self._water is not None:
            self._water.is_in_frames = False

    def _make_carriers(self) -> None:
        clock, source = self._assembly.clock, self.source
        self.carriers: list[Carrier] = [make_carrier(0, self.scene, self.groom, source, clock, self._pace.strands)]
        if self._second != NO_SKIN:
            other = settings.find_choice(self.scene, "skin").chosen(self.scene, self._second)
            self.carriers.append(make_carrier(1, other, self.groom, source, clock, self._pace.strands))

    # -- what pages see ----------------------------------------------------------------------------------------------

    def _show_everything(self) -> None:
        self._display.hair(self.groom, self.source)
        self._show_look(self.scene)
        self._show_solids()
        self._show_carriers()

    def _show_solids(self) -> None:
        names = ["body"] * self.source.has_body + [one.prop or one.shape or "mesh" for one in self.scene.solids]
        names += ["solid"] * (len(self.source.solids) - len(names))
        self._display.solids(self.source, names, () if self.holding is None else self.holding.props)

    def _show_look(self, scene: Scene) -> None:
        self._display.look(self.groom, shown.look_of(scene))

    def _show_carriers(self) -> None:
        self._display.carriers(self.carriers)
        self._show_state()
        self._show_frame()

    def _show_frame(self) -> None:
        self._display.water.frame(self._frame, self._water, self.scene, self.groom, self.source.guides)
        self._display.frame(self._frame, self.carriers, self._seen)

    def _own_sliders(self) -> list[dict[str, Any]]:
        """Sliders of the salon itself, which no scene has."""
        slider = settings.slider_described
        own = [
            slider("server_strands", "hairs of the server", "skin", FEWEST, MOST, self._pace.strands, is_whole=True),
            slider("speed", "speed of time", "time", SLOWEST, 1.0, self.speed, " x"),
        ]
        reel = self.reel
        if reel is not None:
            last = reel.first + reel.count - 1
            own.append(slider("frame", "frame", "time", reel.first, last, reel.number, is_whole=True, is_even=True))
        return own

    def _show_state(self) -> None:
        choice = settings.choice_described
        pace = PACES[0 if self._pace.is_automatic else 1]
        second = choice("second", "split view", "skin", settings.SIDE_SKINS, self._second)
        more = [second, choice("pace", "server carries", "skin", PACES, pace), *self._own_sliders()]
        pivot = np.zeros(3) if self.holding is None else self.holding.pivot
        self._display.state(
            {
                "settings": settings.described(
                    self.scene,
                    more,
                    is_drawn=not self._program.is_scene,
                    as_groomed=self.source.as_groomed if isinstance(self.source, LearnedSource) else None,
                ),
                "pivot": [float(x) for x in pivot],
                "is_playing": self.is_playing,
                "is_recording": self._tape is not None and self._tape.is_running,
                "can_record": self._program.is_live and self._program.is_scene,
                "can_save": self._folder is not None,
                "sides": [{"skin": one.stage.skin.name, "note": one.note} for one in self.carriers],
                "hairs": self.groom.strand_count,
                "guides": self.source.guides.count,
                "solids": len(self.source.solids),
            }
        )

    def tell(self, text: str, *, is_error: bool = False) -> None:
        """Show a line to whoever looks."""
        self._display.tell(text, is_error=is_error)

    # -- time --------------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Go one step on, whether time goes on by itself or not."""
        started = time.perf_counter()
        self._do_again()
        if self.holding is not None and self.hands is not None:
            is_recording = self._tape is not None and self._tape.is_running
            self.holding.advance(self._frame.time + self.dt, keep=is_recording)
            self.hands.act(self._frame, self.dt, self.carriers[0].load(self._frame))
        try:
            frame = self.source.step()
        except SolverDiverged as error:
            self.tell(f"{error}; the hair is back at rest", is_error=True)
            self.reset()
            return
        if frame.time <= self._frame.time:  # a cache begins anew
            self._forget()
        self._frame = frame
        self._seen, self._coming = self._coming, self._newest
        made = time.perf_counter()
        self._show_frame()
        simulated, carried = made - started, time.perf_counter() - made
        self._measure(simulated, carried)
        self._keep_up(simulated, carried)

    def _keep_up(self, simulated: float, carried: float) -> None:
        """Carry more or fewer hairs here, where there is time for more or too little for these."""
        if not any(carrier.is_carried_here for carrier in self.carriers):
            return
        if self._pace.watch(simulated, carried, self.dt / self.speed, self.groom.strand_count):
            self._make_carriers()
            self._show_carriers()

    def _do_again(self) -> None:
        """Do what a recording did at this time."""
        while self._deeds and self._deeds[0].time <= self._frame.time + 0.5 * self.dt:
            deed = self._deeds.pop(0)
            if deed.kind == "set":
                self._change(with_values(self.scene, deed.values, "the recording"))
            elif self.hands is not None:
                self.hands.do(deed, self._frame)

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
            found = {f"{name} [l]": report.parts.get(key) for key, name in WATER.items()}
            numbers |= {name: round(value, 3) for name, value in found.items() if value is not None}
        if self._water is not None:
            numbers["water [l]"] = round(1e3 * self._water.water.volume, 3)
        numbers["hairs that changed guides"] = sum(carrier.changed for carrier in self.carriers)
        for carrier in self.carriers:
            numbers |= {name: round(value, 2) for name, value in carrier.price.items()}
        if self.reel is not None:
            numbers["frame"] = self.reel.number
        self._display.metrics(numbers)
        self._told, self._steps = now, 0

    def tend(self) -> None:
        """Look after what goes on beside the simulation: a movie that is being drawn."""
        if self._movie is None:
            return
        for text, is_error in self._movie.news():
            self.tell(text, is_error=is_error)
        if self._movie.is_over:
            self._movie = None

    def close(self) -> None:
        """Let whatever makes the guides move be as it was, for a script that goes on with it."""
        if self.holding is not None and self.hands is not None:
            self.hands.leave()
            self.holding.give_back(self.source)

    def _forget(self) -> None:
        for carrier in self.carriers:
            carrier.reset()

    def reset(self) -> None:
        """Put the hair back to rest where the head is now, at time 0; a cache begins anew."""
        self._end_tape("the hair is back at rest")
        if self.hands is not None and self.holding is not None:
            self.hands.rest()
            self.holding.restart()
        self._deeds = list(self._program.deeds)
        self._frame = self.source.reset(None if self.holding is None else self.holding.head.pose(0.0))
        self._forget()
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
        own: Actions = {"speed": self._set_speed, "server_strands": self._set_server_strands}
        if self.reel is not None:
            own["frame"] = self._seek
        if name in own:
            own[name](value)
            self._show_state()  # or a state that was on its way would put the slider back
        else:
            self._require_scene(name)
            self._change(settings.find_slider(self.scene, name).moved(self.scene, value))
        self._newest = Seen(sequence, time.perf_counter())

    def _set_speed(self, value: float) -> None:
        self.speed = float(np.clip(value, SLOWEST, 1.0))

    def _set_server_strands(self, value: float) -> None:
        self._pace.fix(value)
        self._make_carriers()
        self._show_carriers()

    def _seek(self, value: float) -> None:
        assert self.reel is not None
        self._frame = self.reel.seek(round(value))
        self._forget()
        self._show_frame()

    def _on_choose(self, name: str, value: str, sequence: int) -> None:
        if name == "second":
            require_choice("split view", value, settings.SIDE_SKINS)
            self._second = value
            self._make_carriers()
            self._show_carriers()
        elif name == "pace":
            require_choice("server carries", value, PACES)
            self._pace.follow(value == PACES[0])
            self._show_state()
        else:
            choice = settings.find_choice(self.scene, name)
            if not choice.is_drawn:
                self._require_scene(name)
            self._change(choice.chosen(self.scene, value))
        self._newest = Seen(sequence, time.perf_counter())

    def _require_scene(self, name: str) -> None:
        if not self._program.is_scene:
            raise ValueError(f"{name}: cannot be changed here; the guides come from a cache or from a script")

    def _change(self, scene: Scene) -> None:
        """Go over to another scene, and make anew no more than what differs."""
        old = self.scene
        same_guides = dataclasses.replace(scene.guides, sliders=old.guides.sliders) == old.guides
        if scene.groom != old.groom or scene.seed != old.seed or not same_guides:
            self._make_anew(scene)
            return
        if scene.camera != old.camera:
            self._show_look(scene)  # first: it may be none for this hair, and is not taken then
        if dataclasses.replace(scene, skin=old.skin, camera=old.camera) != old and not self._slid(scene):
            self._rebuild(scene)
        self.scene = scene
        if scene.solids != old.solids:
            self._show_solids()
        if any(getattr(scene, table) != getattr(old, table) for table in CARRIED):
            self._make_carriers()
            self._show_carriers()
        self._show_state()

    def _make_anew(self, scene: Scene) -> None:
        """Make other hair, with head and props where they were."""
        self._end_tape("other hair was made")
        same_hair = self._assembly.hair if scene.groom == self.scene.groom else None
        assembly = self._program.build(scene, StageClock(), hair=same_hair)
        held = None if self.holding is None else self.holding.held
        self.scene, self._assembly = scene, assembly
        self._set_up()
        if self.holding is not None and held is not None:
            self.holding.put(held)
            self._frame = self.source.reset(self.holding.head.pose(0.0))
        self._show_everything()

    def _slid(self, scene: Scene) -> bool:
        """Let learned hair go on with other sliders where nothing else differs; returns whether it does."""
        old, source = self.scene, self.source
        is_slider = (
            dataclasses.replace(scene, guides=dataclasses.replace(scene.guides, sliders=old.guides.sliders)) == old
        )
        if not is_slider or not isinstance(source, LearnedSource):
            return False
        keyframed, given = keyframed_sliders(scene, source.model), given_sliders(scene, source.model, source.guides)
        if not source.change_sliders({**keyframed, **given}):
            return False
        if self._tape is not None:
            self._tape.changed(self._frame.time, old, scene)
        return True

    def _rebuild(self, scene: Scene) -> None:
        """Make the source anew with the same guides; hair moves on from where it is."""
        before = self.source
        assembly = self._program.build(scene, StageClock(), hair=self._assembly.hair, guides=self._assembly.guides)
        if self.holding is None or self.hands is None:
            return
        self._assembly = assembly
        self.holding.take(self.source)
        self.hands.take(self.source)
        self._hide_water()
        if scene.solids != self.scene.solids:
            self._end_tape("another thing was taken in hand")
        if go_on(before, self.source):
            if self._tape is not None:
                self._tape.changed(self._frame.time, self.scene, scene)
            return
        # The state of another strand model: the hair begins anew at rest.
        self._end_tape("the hair began anew")
        self.holding.restart()
        self._frame = self.source.reset(self.holding.head.pose(0.0))

    def _end_tape(self, why: str) -> None:
        if self._tape is not None and self._tape.is_running:
            self.tell(f"the recording has ended, since {why}")
            self._tape.end()

    def _on_command(self, action: str) -> None:
        actions: Actions = {
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
        if self.holding is None or not self._program.is_scene:
            raise ValueError("record: only what a scene simulates can be recorded")
        self._tape = None
        self.reset()
        self._tape = recording.Tape(self.scene, self.holding)
        self.is_playing = True

    def _stop(self) -> None:
        if self._tape is not None:
            self._tape.end()
        self.is_playing = False  # so that what was recorded stays as it is until it is saved

    def _live(self) -> tuple[Holding, Hands]:
        if self.holding is None or self.hands is None:
            raise ValueError("a cache is played as it is; its scene can be combed: mane salon SCENE.toml")
        return self.holding, self.hands

    def _on_move(self, number: int, position: Any, rotation: Any, sequence: int) -> None:
        self._live()[0].move(number, position, rotation)
        self._newest = Seen(sequence, time.perf_counter())

    def _on_turn(self, position: Any, rotation: Any, sequence: int) -> None:
        self._live()[0].turn(position, rotation)
        self._newest = Seen(sequence, time.perf_counter())

    def _on_grab(self, is_held: int, point: Any, target: Any, sequence: int) -> None:
        hands = self._live()[1]
        self._newest = Seen(sequence, time.perf_counter())
        self._deeds.clear()
        if is_held:
            hands.pull(self._frame, point, target)
        else:
            hands.release()
        if self._tape is not None:
            self._tape.pulled(self._frame.time, point, target, is_held=bool(is_held))

    def _on_blow(self, origin: Any, velocity: Any, sequence: int) -> None:
        self._live()[1].blow(origin, velocity)
        self._deeds.clear()
        if self._tape is not None:
            self._tape.blown(self._frame.time, origin, velocity)
        self._newest = Seen(sequence, time.perf_counter())

    def _on_pour(self, origin: Any, velocity: Any, sequence: int) -> None:
        hands = self._live()[1]
        if hands.water is None:
            self._require_scene("water")
            if not isinstance(self.source, Simulation):
                raise ValueError("hair that is not simulated does not get wet")
            self._change(with_values(self.scene, box_values(self.groom), "the salon"))
        hands.pour(origin, velocity)
        self._deeds.clear()
        if self._tape is not None:
            self._tape.poured(self._frame.time, origin, velocity)
        self._newest = Seen(sequence, time.perf_counter())

    # -- files -------------------------------------------------------------------------------------------------------

    def _on_save(self, kind: str, name: str, eye: Any, target: Any, fov: float) -> None:
        savers: Actions = {
            "scene": lambda: self._save_scene(name),
            "usd": lambda: self._save_groom(name),
            "picture": lambda: self._save_picture(name, eye, target, fov),
            "movie": lambda: self._save_movie(name, eye, target),
        }
        require_choice("save", kind, list(savers))
        path = savers[kind]()
        if path is not None:
            self.tell(f"saved {path.name}")

    def _save_scene(self, name: str) -> Path:
        recording.checked_path(self._folder, name, ".toml")
        if self._tape is None:
            raise ValueError("nothing is recorded yet; press record, move something, and stop")
        return self._tape.write(self._folder, name, self.scene)

    def _save_groom(self, name: str) -> Path:
        path = recording.checked_path(self._folder, name, ".usdc")
        write_groom_of(path, *self._hair_now())
        return path

    def _save_picture(self, name: str, eye: Any, target: Any, fov: float) -> Path:
        path = recording.checked_path(self._folder, name, ".png")
        frame = self._frame if self._water is None else dataclasses.replace(self._frame, water=self._water.mesh())
        draw_picture(path, *self._hair_now(), self.scene, self.source, frame, eye, target, fov)
        return path

    def _save_movie(self, name: str, eye: Any, target: Any) -> None:
        """Begin to draw what was recorded, or the cache, in a process of its own."""
        path = recording.checked_path(self._folder, name, ".mp4")
        if self._movie is not None:
            raise ValueError(f"{self._movie.name} is still being drawn; wait for it")
        if isinstance(self._program, CacheProgram):
            order = Order.seen_from(path, self._program.path, eye, target, self.scene)
        else:
            order = Order.seen_from(path, self._save_scene(name), eye, target)
        self._movie = MovieJob(order)
        self.tell(f"{path.name} is being drawn")

    def _hair_now(self) -> tuple[FloatArray, Groom]:
        """All hairs of the left side at this frame, (S, V, 3) [m], and the groom that they are."""
        stage = self.carriers[0].stage
        return stage(self._frame), stage.drawn(self.source.rest)
