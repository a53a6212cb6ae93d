"""`IndividualHairs`: hairs of any strand model, supported by a mesh and by boxes of their own (lee2018 3.2.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.motion import Pose
from mane.contact.solids.clearance import Clearances
from mane.contact.solids.contact import SolidContact
from mane.contact.solids.projection import SolidProjection
from mane.groom.groom import Groom
from mane.skin._kernels_lengths import keep_lengths
from mane.stage import memory as checkpoints
from mane.stage.protocol import Memory
from mane.strand.frame import GuideFrame
from mane.strand.frame_path import frame_path
from mane.strand.material import Material
from mane.strand.ports import MovingSolid, Part
from mane.strand.root_motion import BoundRoots, RigidRoots, RootMoment, RootMotion
from mane.strand.roots import RootPose
from mane.strand.solver import make_solver
from mane.strand.standing.stiffen import stiffen_to_stand
from mane.strand.state import StrandState
from mane.strand.stepping import StepPath, Stepper
from mane.strand.surroundings import Surroundings
from mane.volume.activation import SAMPLES, Activation, Status, near_solids
from mane.volume.lattice import Float64Array
from mane.volume.motion import LONGEST_GAP, NO_TIME, ROUNDING
from mane.volume.support import HairSupport, SupportParams


@dataclass(frozen=True)
class IndividualParams:
    """How single hairs are simulated.

    Attributes:
        model: name of the strand model.
        touching_only: simulate only hairs that touch a solid; otherwise all.
        margin: distance from a solid at which a hair is simulated [m].
        linger: how long it is after it has touched one [s].
        return_time: in which it goes back to its target then [s].
        kinematic_roots: part of the length, from the root, over which hair goes from following the mesh to being
            simulated; 0 for simulated throughout.
        show_boxes: share of the boxes' position in what is shown, 0 to 1.
        show_mesh: share of the mesh's position in what is shown, 0 to 1.
        support: springs to mesh and boxes.
    """

    model: str = "cosserat"
    touching_only: bool = True
    margin: float = 0.003
    linger: float = 0.25
    return_time: float = 0.5
    kinematic_roots: float = 0.0
    show_boxes: float = 0.0
    show_mesh: float = 0.0
    support: SupportParams = field(default_factory=SupportParams)

    def __post_init__(self) -> None:
        for name in ("margin", "linger", "kinematic_roots", "show_boxes", "show_mesh"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise ValueError(f"{name}: must be a finite number of at least 0, got {value}")
        if not (np.isfinite(self.return_time) and self.return_time > 0):
            raise ValueError(f"return_time: must be a finite time above 0 s, got {self.return_time}")
        if self.show_boxes + self.show_mesh > 1:
            raise ValueError(
                "show_boxes: must leave a share to the simulation, got "
                f"{self.show_boxes + self.show_mesh:g} for boxes and mesh together"
            )


class IndividualHairs:
    """Hairs that follow targets, and are simulated one by one where they touch something.

    Args:
        groom: hairs at rest, all with the same vertex count; G strands of V vertices.
        material: what they are made of.
        surroundings: the body they grow on and solids.
        params: how.

    Attributes:
        activation: status of every hair.
    """

    def __init__(self, groom: Groom, material: Material, surroundings: Surroundings, params: IndividualParams) -> None:
        self.params, self._surroundings = params, surroundings
        model = stiffen_to_stand(material.model(groom))[0]
        self._lengths = model.rest_length.astype(np.float32)
        self._margin = params.margin + 0.5 * model.rest_length.max(axis=1)
        self._blend = _root_to_tip(model.rest_length, params.kinematic_roots)
        self._active = np.zeros(model.strand_count, np.bool_)
        self._motion: RootMotion = RigidRoots(model.rest_points[:, 0].copy())
        body = surroundings.body
        if body is not None and body.animation is not None:
            self._motion = BoundRoots(model, np.ones(model.strand_count, np.bool_), body)
        self._support = HairSupport(self._target_at, params.support)
        clearances = Clearances(body)
        has_solids = len(surroundings.touched) > 0
        forces = [self._support, *([SolidContact(clearances=clearances)] if has_solids else [])]
        constraints = [SolidProjection(clearances=clearances)] if has_solids else []
        self._solver = make_solver(params.model, model)
        self._stepper = Stepper(self._solver, forces, constraints, self._active, parks=True)
        self.activation = Activation(model.mass.shape, params.linger, params.return_time)
        self.reset()

    @property
    def _parts(self) -> tuple[Part, ...]:
        return (*self._stepper.forces, *self._stepper.constraints)

    @property
    def active_count(self) -> int:
        """Hairs that are simulated."""
        return int(self._active.sum())

    def reset(self) -> None:
        """Begin anew: all hairs follow their targets."""
        rest = self._solver.model.rest_points
        self.activation.reset()
        self._active[...] = False
        pose = Pose.identity()
        self._moment = RootMoment(pose, NO_TIME, self._motion.at(pose, 0.0))
        self._state: StrandState = self._solver.rest_state(self._moment.roots)
        self._before = self._target = self._shown = rest
        for part in self._parts:
            part.reset()

    def step(self, frame: GuideFrame, targets: Float64Array) -> Float64Array:
        """Go on to a frame at which the mesh has the hairs at `targets`; return where they are, both (G, V, 3) [m]."""
        gap = frame.time - self._moment.time
        if abs(gap) < ROUNDING:
            return self._shown
        after = RootMoment(frame.head, frame.time, self._motion.at(frame.head, frame.time))
        if not 0 < gap <= LONGEST_GAP or self._motion.jumps(self._moment, after, gap):
            self.reset()
            self._before = self._target = self._shown = targets
        else:
            self._before, self._target = self._target, targets
            path = frame_path(self._moment, after, gap, self._surroundings, head=None, motion=self._motion)
            self._advance(path, after, gap)
        self._moment = after
        return self._shown

    def _target_at(self, time: float) -> Float64Array:
        """Targets between those of two frames, on straight lines."""
        share = (time - self._moment.time) / self._frame_time
        return self._before + share * (self._target - self._before)

    def _advance(self, path: StepPath, after: RootMoment, gap: float) -> None:
        self._frame_time = gap
        velocity = (self._target - self._before) / gap
        self._wake(self._touching(path, after.time), velocity)
        if self._active.any():
            count = max(1, math.ceil(gap / self._solver.max_substep - ROUNDING))
            self._stepper.step(self._state, self._state, path, time=after.time, dt=gap, substeps=count)
        shown = self._target.copy()
        shown[self._active] = self._blended()
        if self.params.touching_only:
            self._release(path, after.time, shown, velocity)
        returning = self.activation.is_in(Status.RETURNING)
        shown[returning] = self._target[returning] + self.activation.offsets(after.time)[0]
        self.activation.arrive(after.time)
        changed = returning | self._active
        if changed.any():
            kept = shown[changed].astype(np.float32)
            keep_lengths(self._lengths[changed], kept)
            shown[changed] = kept
        self._shown = shown

    def _touching(self, path: StepPath, time: float) -> NDArray[np.bool_]:
        """Hairs whose targets touch a solid at some time of the frame, or all where all are simulated, (G,)."""
        if not self.params.touching_only:
            return np.ones(len(self._active), np.bool_)
        found = np.zeros(len(self._active), np.bool_)
        for number in range(1, SAMPLES + 1):
            share = number / SAMPLES
            hair = self._before + share * (self._target - self._before)
            found |= near_solids(hair, self._props(path, share - 1 / SAMPLES, share), self._margin)
        self.activation.touched[found] = time
        return found

    def _props(self, path: StepPath, start: float, end: float) -> tuple[MovingSolid, ...]:
        """Solids other than the body, which hair is kept out of without being simulated."""
        return tuple(one for one in path.solids(start, end) if one.solid is not self._surroundings.body)

    def _wake(self, touching: NDArray[np.bool_], velocity: Float64Array) -> None:
        """Begin to simulate hairs of the mask (G,) that are not, from where they are shown."""
        wakes = touching & ~self._active
        if not wakes.any():
            return
        returning = self.activation.is_in(Status.RETURNING)
        speed = velocity.copy()
        speed[returning] += self.activation.offsets(self._moment.time)[1]
        self._state.points[wakes], self._state.velocity[wakes] = self._shown[wakes], speed[wakes]
        self._solver.adopt(self._state, wakes)
        for part in self._parts:
            part.forget(wakes)
        self.activation.status[wakes] = Status.ACTIVE
        self._active |= wakes

    def _release(self, path: StepPath, time: float, shown: Float64Array, velocity: Float64Array) -> None:
        """Let hairs go back that neither touch anything nor would, if they followed their targets."""
        activation, rows = self.activation, np.flatnonzero(self._active)
        near = near_solids(self._state.points[rows], self._props(path, 1 - 1 / SAMPLES, 1.0), self._margin[rows])
        activation.touched[rows[near]] = time
        leaves = self._active & (time - activation.touched >= activation.linger)
        gap, speed = shown - self._target, self._blend * (self._state.velocity - velocity)
        activation.release(leaves, time, gap, speed)
        self._active &= ~leaves

    def _blended(self) -> Float64Array:
        """What is shown of the hairs that are simulated, shape (A, V, 3)."""
        params, rows = self.params, self._active
        target, simulated = self._target[rows], self._state.points[rows]
        free = (1 - params.show_boxes - params.show_mesh) * (simulated - target)
        if self._support.boxes is not None and params.show_boxes > 0:
            free += params.show_boxes * (self._support.boxes.places(rows)[rows] - target)
        result: Float64Array = target + self._blend[rows] * free
        return result

    def memory(self) -> Memory:
        """Everything that is needed to go on."""
        pose, roots = self._moment.head, self._moment.roots
        own = {
            "time": np.array(self._moment.time),
            "pose": np.concatenate([pose.position, pose.rotation]),
            "target": self._target.copy(),
            "shown": self._shown.copy(),
            "active": self._active.copy(),
            "roots": np.concatenate([roots.positions, roots.rotations], axis=1),
        }
        strand = {f"strand.{name}": array.copy() for name, array in self._state.arrays().items()}
        activation = {f"activation.{name}": array for name, array in self.activation.memory().items()}
        parts = {f"parts.{name}": array for name, array in checkpoints.save((self._solver, *self._parts)).items()}
        return {**own, **strand, **activation, **parts}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        pose = Pose(memory["pose"][:3], memory["pose"][3:])
        roots = RootPose(memory["roots"][:, :3].copy(), memory["roots"][:, 3:].copy())
        self._moment = RootMoment(pose, float(memory["time"]), roots)
        self._target, self._shown = memory["target"].copy(), memory["shown"].copy()
        self._active[...] = memory["active"]
        self._state = StrandState.from_arrays(_within(memory, "strand."))
        self.activation.restore(_within(memory, "activation."))
        checkpoints.load((self._solver, *self._parts), _within(memory, "parts."))


def _within(memory: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in memory.items() if name.startswith(prefix)}


def _root_to_tip(segments: Float64Array, part: float) -> Float64Array:
    """How far each vertex is simulated, 0 at the root to 1 beyond `part` of the length, shape (G, V, 1)."""
    along = np.concatenate([np.zeros((len(segments), 1)), np.cumsum(segments, axis=1)], axis=1)
    share = along / along[:, -1:]
    t = np.clip(share / part, 0.0, 1.0) if part > 0 else (share > 0).astype(np.float64)
    blend: Float64Array = (t * t * (3 - 2 * t))[..., None]
    return blend
