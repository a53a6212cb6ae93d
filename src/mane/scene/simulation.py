"""`Simulation`: guides on a moving head, stepped frame by frame from a script's own loop."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.mesh import Mesh
from mane.body.motion import Motion, Pose
from mane.body.motion_presets import make_motion
from mane.body.neck import find_neck
from mane.body.preroll import AUTO_SECONDS, needs_preroll, with_preroll
from mane.body.shapes import Shape
from mane.body.solid import Solid
from mane.contact.adaptive.adaptive import AdaptiveGuides
from mane.contact.air.drag import Drag
from mane.contact.air.shelter import Shelter
from mane.contact.air.wind import AnyWind
from mane.contact.returned import ReturnedForce
from mane.contact.solids.clearance import Clearances
from mane.contact.solids.contact import ContactParams, SolidContact
from mane.contact.solids.projection import SolidProjection
from mane.geometry import quaternion
from mane.geometry.checks import as_array, require_choice, require_positive
from mane.groom.guides import Guides
from mane.groom.select import GuideNotice
from mane.io.motions import MOTION_FILES, read_motion
from mane.scene.options import blaming
from mane.scene.slots import adaptive_part, single_precision, with_slots
from mane.stage import memory as checkpoints
from mane.stage.clock import StageClock
from mane.stage.protocol import Stage
from mane.strand.frame import GuideFrame, InsertedGuides
from mane.strand.frame_path import frame_path
from mane.strand.halfway import halfway_roots
from mane.strand.material import MATERIALS, Material
from mane.strand.model import STANDARD_GRAVITY, StrandModel
from mane.strand.ports import Constraint, Force, GuideLoad, Part
from mane.strand.root_motion import BoundRoots, RigidRoots, RootMoment, RootMotion, body_pose
from mane.strand.roots import RootPose
from mane.strand.solver import SOLVERS, make_solver
from mane.strand.source import GuideSource
from mane.strand.standing import stiffen
from mane.strand.state import StrandState
from mane.strand.stepping import Stepper, StepReport
from mane.strand.surroundings import Surroundings
from mane.strand.variation import Varying

if TYPE_CHECKING:
    from mane.contact.air.airflow import Airflow  # a fluid, which few scenes have

# Largest turn of a root within one substep [rad]: hair is linearised within it.
MAX_TURN = 0.15
MAX_SUBSTEPS = 64
# Drag of a hair within a lock, as a share of that of a hair alone. A single hair in the air is all but weightless (it
# sinks at 0.4 m/s); a lock of hundreds moves as one body that the air mostly flows around.
LOCK_DRAG = 0.1
SWALLOW_PERIOD = 0.25  # [s] in which it is looked again whether a solid holds all roots: what does, stays


class Simulation(GuideSource):
    """Guides that move, a frame at a time, from a script's own loop.

    ```python
    sim = mane.Simulation(guides, "cosserat", body=bust.mesh, solids=[comb])
    for pose in head_poses:
        frame = sim.step(pose)  # a GuideFrame; frame.points is (G, V, 3)
    ```

    Args:
        guides: what to simulate.
        model: "cosserat", "spring", "chain" or "xpbd".
        material: a `Material`, or the name of a preset: straight, wavy, curly, fine, coarse.
        body: what the hair grows on; it moves with the head and hair collides with it. On an animated mesh
            (`Solid.animated`) roots ride on the skin where they were groomed, which is its rest pose, and turn with it.
        solids: what else hair collides with, each with its own motion.
        forces: parts that act on the guides besides: `Force`s, `Constraint`s, and `AdaptiveGuides`.
        head: the motion of the head, for `step()` without a pose; or the name of one, such as "shake", about the neck
            of the body (`find_neck`), or a motion file.
        wind: what blows on the hair: a vector [m/s], a `Wind`, a function of (points, time); None is still air.
        shelters: what keeps the wind away, such as `SolidShelter()` and `HairShelter()`.
        air: an `Airflow`, the air as a fluid that feels the hair, in place of `wind`, `shelters` and `drag`.
        drag: factor on the physical drag of a single hair, any `Varying`: 1 is a hair alone in the air, 0 takes the air
            away. By default 0.1: hairs of a lock drag the air between them along.
        contact: settings of the contact with body and solids, see `ContactParams`: mode, friction, thickness...
        root: "clamped", "hinged" or "free", for all guides or one per guide.
        sag_free: solve for a rest shape such that the groom is what gravity makes of it.
        stiffen_to_stand: "on" stiffens strands that could not stand as groomed, "report" only counts them, "off" does
            neither: they fall into curls, since rest shapes that hold hair up are curved. Soft hair that shall hang
            straight has `sag_free=False`.
        gravity: [m/s^2].
        frame_rate: frames per second.
        substeps: per frame, or "auto": as few as make none longer than 1/192 s (1 ms with "xpbd"), and more while the
            head moves so fast that it would turn by more than 0.15 rad in one, or move by 0.15 of the longest strand.
            On a skin that deforms this holds for every root, seen from its steady motion.
        preroll: of a body that deforms: seconds in which it comes from its rest pose to where it is when the simulation
            begins, before the first frame, and takes the hair along; or "auto": 1 s where the two differ by more than a
            rigid motion, else none.
        collide_with_body: False where the body only carries the hair, and simpler `solids` stand for it.
        settings: of the strand model, e.g. `CosseratParams`.

    Attributes:
        report: how the last step went.
        standing_report: which strands stand by themselves, and what was done about the others; `str` of it is one line.
        time: of the current frame [s].
        adaptive: the part that inserts guides, or None.
        material: of the guides.
    """

    name = "simulation"
    needs = (
        "guides",
        "model",
        "material",
        "body",
        "surroundings",
        "forces",
        "head",
        "wind",
        "shelters",
        "air",
        "drag",
        "contact",
        "root",
        "sag_free",
        "stiffen_to_stand",
        "gravity",
        "frame_rate",
        "substeps",
        "preroll",
        "collide_with_body",
        "model_settings",
    )
    report: StepReport

    def __init__(
        self,
        guides: Guides,
        model: str = "cosserat",
        *,
        material: Material | str = "straight",
        body: Solid | Mesh | Shape | None = None,
        solids: Sequence[Solid] = (),
        forces: Sequence[Part] = (),
        head: Motion | str | None = None,
        wind: AnyWind = None,
        shelters: Sequence[Shelter] = (),
        air: Airflow | None = None,
        drag: Varying = LOCK_DRAG,
        contact: Mapping[str, Any] | None = None,
        root: str | Sequence[str] | ArrayLike = "clamped",
        sag_free: bool = True,
        stiffen_to_stand: str = "on",
        gravity: ArrayLike = STANDARD_GRAVITY,
        frame_rate: float = 24.0,
        substeps: int | str = "auto",
        preroll: float | str = "auto",
        collide_with_body: bool = True,
        **settings: Any,
    ) -> None:
        SOLVERS.find(model)
        _require_guides(guides)
        _require_body(body)
        require_positive("frame_rate", frame_rate)
        if substeps != "auto" and not (isinstance(substeps, int) and substeps >= 1):
            raise ValueError(f'substeps: must be "auto" or a whole number of at least 1, got {substeps!r}')
        if preroll != "auto" and not (isinstance(preroll, int | float) and 0 <= preroll < math.inf):
            raise ValueError(f'preroll: must be "auto" or a time of at least 0 s, got {preroll!r}')
        self.guides = guides
        self.model_name = model
        self.frame_dt = 1.0 / frame_rate
        self.substeps, self.preroll = substeps, preroll
        self.head = _as_motion(head, body, guides)
        self._require_parts(forces)
        self.adaptive = adaptive_part(forces)
        mode = stiffen_to_stand if sag_free else "off"
        self.material = _material(material)
        self._own, self.standing_report = stiffen.stiffen_to_stand(
            self.material.model(guides, root=root, gravity=gravity), mode=mode
        )
        self.surroundings = Surroundings(body, solids, collide_with_body=collide_with_body)
        self.solids, self.has_body = self.surroundings.solids, self.surroundings.body is not None
        strands = self._own
        if self.adaptive is not None:
            strands = with_slots(self._own, self.adaptive, guides.active, self.surroundings.body, mode)
        slots = strands.strand_count - self._own.strand_count
        self.active = np.concatenate([guides.active, np.zeros(slots, np.bool_)])
        self.weight = np.concatenate([guides.weight, np.zeros(slots, np.float32)])
        self._solver = make_solver(model, strands, sag_free=sag_free, **settings)
        notes = [str(self.standing_report), self._solver.note]
        self.note = "; ".join(" ".join(note.split()) for note in notes if note)
        self._is_swallowed = False
        self._returned = ReturnedForce()
        self._rest_roots = strands.rest_points[:, 0].copy()
        self._motion = self._root_motion(strands)
        own_forces, own_constraints = self._own_parts(
            air or Drag(wind, scale=drag, shelters=shelters, guides=guides), contact or {}
        )
        self._stepper = Stepper(
            self._solver,
            [*own_forces, *(part for part in forces if isinstance(part, Force)), self._returned],
            [*(part for part in forces if isinstance(part, Constraint)), *own_constraints],
            self.active,
        )
        if self.adaptive is not None:
            self.adaptive.require_free("forces")
            self.adaptive.prepare(strands)
            self.adaptive.join(self)
        self._reach = float(strands.strand_length.max())
        self._begin(None, 0.0)

    def _root_motion(self, strands: StrandModel) -> RootMotion:
        body = self.surroundings.body
        if body is None or body.animation is None:
            return RigidRoots(self._rest_roots)
        with blaming("body"):
            return BoundRoots(strands, self.active, body)

    def _own_parts(self, drag: Drag | Airflow, contact: Mapping[str, Any]) -> tuple[list[Force], list[Constraint]]:
        if not self.surroundings.touched:
            return [drag], []
        params, clearances = ContactParams(**contact), Clearances(self.surroundings.body)
        forces: list[Force] = [drag, SolidContact(clearances=clearances, **contact)]
        if params.mode == "penalty":  # lets hair sink in, which a projection would undo
            return forces, []
        settings = {"thickness": params.thickness, "push_out_speed": params.push_out_speed}
        return forces, [SolidProjection(clearances=clearances, **settings)]

    def _require_parts(self, parts: Sequence[Part]) -> None:
        for part in parts:
            if not isinstance(part, Force | Constraint | AdaptiveGuides):
                raise ValueError(f"forces: must be Force, Constraint or AdaptiveGuides, got {type(part).__name__}")

    @property
    def touched(self) -> range:
        """Numbers of the solids that hair touches."""
        return self.surroundings.touched

    @property
    def clock(self) -> StageClock:
        """Counts the time of every part for its label."""
        return self._stepper.clock

    @clock.setter
    def clock(self, clock: StageClock) -> None:
        self._stepper.clock = clock

    @property
    def strands(self) -> StrandModel:
        """The guides as mechanics sees them, stiffened where that was asked for."""
        return self._own

    @property
    def frame(self) -> GuideFrame:
        """The guides as they are now; its arrays are copies."""
        self._arrive()
        inserted = None if self.adaptive is None else self._inserted()
        frame = self._frame_of(self._state, self._roots, self._pose, self.time, inserted)
        surfaces = (part.surface() for part in self.parts)
        wet = (part.wetness() for part in self.parts)
        return replace(
            frame,
            water=next((mesh for mesh in surfaces if mesh is not None), None),
            wet=next((found.rows(self._own.strand_count) for found in wet if found is not None), None),
        )

    @cached_property
    def rest(self) -> GuideFrame:
        """The guides at rest on the head in its rest pose, whatever they are doing now."""
        pose = Pose.identity()
        roots = RootPose.carried(self._rest_roots, pose)
        return replace(self._frame_of(self._solver.rest_state(roots), roots, pose, 0.0, None), is_rest_pose=True)

    def _frame_of(
        self, state: StrandState, roots: RootPose, pose: Pose, time: float, inserted: InsertedGuides | None
    ) -> GuideFrame:
        own = slice(0, self._own.strand_count)
        return GuideFrame(
            **single_precision(state, roots, own),
            active=self.active[own].copy(),
            weight=self.weight[own].copy(),
            head=pose,
            solid_poses=self.surroundings.poses(pose, time),
            time=time,
            inserted=inserted,
        )

    def _inserted(self) -> InsertedGuides:
        own = self._own.strand_count
        rows = own + np.flatnonzero(self.active[own:])
        model, arrays = self._solver.model, single_precision(self._state, self._roots, rows)
        return InsertedGuides(
            model.parents[rows], self.weight[rows], model.rest_points[rows].astype(np.float32), **arrays
        )

    def reset(self, head_pose: Pose | None = None, *, time: float = 0.0) -> GuideFrame:
        """Put the guides back to rest on a head at `head_pose`, by default where its motion has it, at `time` [s].

        On a body that deforms this is after the pre-roll, if there is one; its own time lies before `time`.
        """
        self._begin(head_pose, float(time))
        return self.frame

    def _begin(self, head_pose: Pose | None, time: float) -> None:
        """Put everything back to rest; the pre-roll waits for somebody who needs the first frame."""
        self.time = time
        self._pose = head_pose if head_pose is not None else self._pose_at(self.time)
        self._put_to_rest()
        self._waits = not self._motion.is_rigid
        self._look_again = -math.inf
        self.report = StepReport(0.0, 0.0, 0)
        self._forget_all()
        for part in self.parts:
            part.reset()
        self._follow_adaptive()

    def _put_to_rest(self) -> None:
        """Put the guides to rest on roots that stand still where they are now."""
        self._roots = self._motion.at(self._pose, self.time)
        self._root_velocity = np.zeros_like(self._roots.positions)
        self._state: StrandState = self._solver.rest_state(self._roots)

    def _arrive(self) -> None:
        """Simulate the pre-roll, if it has not been yet."""
        if not self._waits:
            return
        self._waits = False
        body = self.surroundings.body
        assert body is not None
        assert body.animation is not None
        is_auto = isinstance(self.preroll, str)
        seconds = AUTO_SECONDS * needs_preroll(body.animation, self.time) if is_auto else float(self.preroll)
        if seconds > 0:
            self._come_from_rest_pose(body, seconds)

    def _come_from_rest_pose(self, body: Solid, seconds: float) -> None:
        time, pose, surroundings, motion = self.time, self._pose, self.surroundings, self._motion
        assert isinstance(motion, BoundRoots)
        up = quaternion.rotate(quaternion.conjugate(body_pose(body, pose, time).rotation), -self._own.gravity)
        coming = with_preroll(body, time, seconds, self.frame_dt, up)
        self.surroundings, self._motion = surroundings.with_body(coming), motion.on(coming)
        try:
            self.time = time - seconds
            self._put_to_rest()
            count = max(1, math.ceil(seconds / self.frame_dt - 1e-9))
            for _ in range(count):
                self._advance(pose, seconds / count)
        finally:
            self.surroundings, self._motion = surroundings, motion
        self.time, self._roots = time, motion.at(pose, time)

    def teleport(self, head_pose: Pose) -> GuideFrame:
        """Carry head and hair elsewhere at once: shape and motion relative to the head stay as they are."""
        self._arrive()
        self._carry(self._motion.at(head_pose, self.time))
        self._pose = head_pose
        return self.frame

    def step(
        self,
        head_pose: Pose | None = None,
        *,
        roots: RootPose | None = None,
        dt: float | None = None,
        teleport: bool = False,
    ) -> GuideFrame:
        """Go one frame on and return the guides at its end.

        Args:
            head_pose: of the head at the end of the frame; by default that of `head`, or where it is.
            roots: of all guides at the end of the frame, for a skin that deforms by itself (`RootBinding.transforms`);
                by default where head and body have them.
            dt: length of the frame [s], by default 1 / frame_rate.
            teleport: the head jumps there: hair is carried along, then the frame is simulated. A motion's own
                teleports, and jumps faster than any head moves (20 m/s, 50 rad/s), are noticed without it, and so are
                cuts in the animation of a body.
        """
        dt = self.frame_dt if dt is None else float(dt)
        require_positive("dt", dt)
        self._arrive()
        self._advance(head_pose, dt, roots, teleport)
        return self.frame

    def _advance(
        self, head_pose: Pose | None, dt: float, roots: RootPose | None = None, teleport: bool = False
    ) -> None:
        """Go on by `dt` [s]; arguments as for `step`."""
        end = self.time + dt
        pose = head_pose if head_pose is not None else self._pose_at(end)
        carried = self._motion.at(pose, end)
        goal = carried if roots is None else self._checked_roots(roots)
        after = RootMoment(pose, end, goal)
        follows = head_pose is None and roots is None and self.head is not None
        rides = roots is None or goal.equals(carried)
        jumps = teleport or (follows and self.head is not None and self.head.teleported(self.time, end))
        if jumps or self._motion.jumps(self._moment, after, dt):
            self._carry(goal)
            self._pose, self._root_velocity = pose, np.zeros_like(goal.positions)
            follows, rides = False, rides and self._motion.is_rigid  # what lies before the jump is not on the way
        count = self._substep_count(after, dt)
        head, motion = self.head if follows else None, self._motion if rides else None
        path = frame_path(self._moment, after, dt, self.surroundings, head=head, motion=motion)
        out = self._state.copy()
        self.report = self._stepper.step(self._state, out, path, time=end, dt=dt, substeps=count)
        self._root_velocity = (goal.positions - self._roots.positions) / dt
        self._state, self._pose, self._roots, self.time = out, pose, goal, end
        self._tell_of_swallowing()
        self._adapt(dt)

    def _tell_of_swallowing(self) -> None:
        """Say once that a solid holds all roots: hair in it can be on no side of it."""
        if self._is_swallowed or self.time < self._look_again:
            return
        self._look_again = self.time + SWALLOW_PERIOD
        active = self._roots.positions[: self.guides.capacity][self.guides.active]
        found = self.surroundings.swallowing(self.surroundings.poses(self._pose, self.time), self.time, active)
        if found is None:
            return
        self._is_swallowed, number = True, found - int(self.has_body)
        text = (
            f"solids[{number}]: holds every root from {self.time:.3g} s on, so that hair can only come out of it from "
            "there; move it away from the head, or make it smaller"
        )
        self.note = "; ".join(part for part in (self.note, text) if part)
        warnings.warn(text, GuideNotice, stacklevel=4)

    def _adapt(self, dt: float) -> None:
        """Insert guides and take them out, for the frames to come."""
        if self.adaptive is None:
            return
        changed = self.adaptive.adapt(self._solver, self._state, self._roots, dt)
        self._follow_adaptive()
        self.report.parts.update(self.adaptive.report())
        if changed.any():
            for part in self.parts:
                part.regroup(changed)

    def _follow_adaptive(self) -> None:
        if self.adaptive is not None:
            own = self._own.strand_count
            self.active[own:], self.weight[own:] = self.adaptive.present, self.adaptive.weight

    def energy(self) -> NDArray[np.float64]:
        """Kinetic, elastic and gravitational energy of each guide [J], shape (G,).

        With `AdaptiveGuides` there is one more for each guide that may be inserted, 0 while it is not.
        """
        self._arrive()
        return np.where(self.active | ~self._solver.model.is_slot, self._solver.energy(self._state), 0.0)

    # -- what a stage answers ----------------------------------------------------------------------------------------

    @classmethod
    def for_scene(
        cls, *, surroundings: Sequence[Solid] = (), model_settings: Mapping[str, Any] | None = None, **given: Any
    ) -> Simulation:
        """Make one from what a scene gives: `surroundings` are the solids, `model_settings` those of the model."""
        return cls(**given, solids=surroundings, **(model_settings or {}))

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The simulation, its solver and all parts."""
        return (self, self._solver, *self.parts)

    def provide(self, need: str) -> Any:
        """Return what a stage that needs it is given, see `GuideSource.provide`."""
        own: dict[str, Callable[[], Any]] = {
            "material": lambda: self.material,
            "guide_model": lambda: self._own,
            "guide_stiffening": lambda: stiffen.stiffening(self._own, self.material.model(self.guides)),
        }
        return own[need]() if need in own else super().provide(need)

    def receive(self, load: GuideLoad | None) -> None:
        """Let what a skin found out about the last frame act on the guides of the next; None for nothing."""
        self._returned.receive(load)

    def memory(self) -> dict[str, NDArray[Any]]:
        """State of the strands, time, pose of the head and the roots, and which guides are there."""
        self._arrive()
        arrays = {f"strand.{name}": array.copy() for name, array in self._state.arrays().items()}
        arrays["time"] = np.array([self.time])
        arrays["pose"] = np.concatenate([self._pose.position, self._pose.rotation])
        arrays["roots.positions"] = self._roots.positions.copy()
        arrays["roots.rotations"] = self._roots.rotations.copy()
        if not self._motion.is_rigid:
            arrays["roots.velocity"] = self._root_velocity.copy()
        arrays["active"], arrays["weight"] = self.active.copy(), self.weight.copy()
        return arrays

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned; `load_checkpoint` does so with all parts."""
        strand = {name.removeprefix("strand."): array for name, array in memory.items() if name.startswith("strand.")}
        as_array("checkpoint", strand["points"], self._state.points.shape, np.float64)
        self._state = StrandState.from_arrays(strand)
        self.time = float(memory["time"][0])
        self._pose = Pose(memory["pose"][:3], memory["pose"][3:])
        self._roots = RootPose(np.array(memory["roots.positions"]), np.array(memory["roots.rotations"]))
        self._root_velocity = np.array(memory.get("roots.velocity", np.zeros_like(self._roots.positions)))
        self._waits = False
        self.active[...], self.weight[...] = memory["active"], memory["weight"]

    def load_checkpoint(self, checkpoint: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `checkpoint` returned, in a simulation that was made in the same way."""
        mine = checkpoints.keyed(self.stages)
        parts = (key for key in checkpoints.saved_versions(checkpoint) if key.startswith(f"{Part.family}."))
        foreign = [key for key in parts if key not in mine]
        if foreign:
            raise ValueError(f"checkpoint: holds {foreign[0]!r}, which this simulation lacks; give it the same forces")
        super().load_checkpoint(checkpoint)

    @property
    def parts(self) -> tuple[Part, ...]:
        """Everything that acts on the guides, the simulation's own parts included, in the order in which it acts."""
        last = () if self.adaptive is None else (self.adaptive,)
        return (*self._stepper.forces, *self._stepper.constraints, *last)

    def _pose_at(self, time: float) -> Pose:
        if self.head is not None:
            return self.head.pose(time)
        return getattr(self, "_pose", None) or Pose.identity()

    def _checked_roots(self, roots: RootPose) -> RootPose:
        checked = RootPose.checked(roots.positions, roots.rotations, self._own.strand_count)
        return halfway_roots(checked, self._solver.model)

    def _carry(self, goal: RootPose) -> None:
        self._solver.carry(self._state, self._roots, goal)
        self._roots = goal
        self._forget_all()

    def _forget_all(self) -> None:
        everyone = np.ones(len(self.active), np.bool_)
        for part in self.parts:
            part.forget(everyone)

    @property
    def _moment(self) -> RootMoment:
        """Head and roots as they are now."""
        return RootMoment(self._pose, self.time, self._roots)

    def _substep_count(self, after: RootMoment, dt: float) -> int:
        if isinstance(self.substeps, int):
            return self.substeps
        angle, way = self._motion.path(self._moment, after, dt * self._root_velocity)
        wanted = max(dt / self._solver.max_substep, angle / MAX_TURN, way / (MAX_TURN * self._reach))
        return min(MAX_SUBSTEPS, max(1, math.ceil(wanted - 1e-6)))


def _require_guides(guides: Any) -> None:
    if not isinstance(guides, Guides):
        raise ValueError(
            f"guides: must be Guides, got {type(guides).__name__}; mane.select_guides(groom, 128) chooses some, "
            "mane.Guides.from_groom(groom) takes all of them"
        )


def _require_body(body: Any) -> None:
    if body is not None and not isinstance(body, Solid | Mesh | Shape):
        raise ValueError(
            f"body: must be a Solid, a Mesh or a Shape, got {type(body).__name__}; mane.make_bust().mesh is one, "
            "mane.read_body reads one"
        )


def _as_motion(head: Any, body: Solid | Mesh | Shape | None, guides: Guides) -> Motion | None:
    """The motion itself, or that of a name or a file."""
    if head is None or callable(getattr(head, "pose", None)):  # one of the caller's own need not have all of a Motion
        motion: Motion | None = head
        return motion
    if isinstance(head, str | os.PathLike) and Path(head).suffix.lower() in MOTION_FILES:
        return read_motion(Path(head))
    if isinstance(head, str):
        mesh = body if isinstance(body, Mesh) else getattr(body, "mesh", None)
        found = mesh if isinstance(mesh, Mesh) else None
        return make_motion(head, pivot=find_neck(found, guides.rest[guides.active, 0]))
    raise ValueError(
        f'head: must be a motion, its name or its file, got {type(head).__name__}; mane.make_motion("shake") is one, '
        "and a Pose is what step() takes"
    )


def _material(material: Material | str) -> Material:
    if isinstance(material, Material):
        return material
    require_choice("material", material, list(MATERIALS))
    return MATERIALS[material]
