"""`IndividualHairs`: hairs of any strand model, supported by a mesh and by boxes of their own (lee2018 3.2.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from mane.body.motion import Pose
from mane.contact.solids.clearance import Clearances, SomeClearances
from mane.contact.solids.contact import SolidContact
from mane.contact.solids.projection import SolidProjection
from mane.geometry.checks import FloatArray, IntArray
from mane.geometry.limits import Count, NotNegative, Positive, Range, check_limits
from mane.groom.groom import Groom
from mane.skin._kernels_lengths import keep_lengths
from mane.stage.protocol import Memory
from mane.strand.frame import GuideFrame
from mane.strand.frame_path import frame_path
from mane.strand.material import Material
from mane.strand.ports import NO_STRANDS, Constraint, Force, MovingSolid
from mane.strand.root_motion import BoundRoots, RigidRoots, RootMoment, RootMotion
from mane.strand.roots import RootPose
from mane.strand.solver import make_solver
from mane.strand.standing.stiffen import stiffen_to_stand
from mane.strand.stepping import StepPath
from mane.strand.surroundings import Surroundings
from mane.volume.activation import SAMPLES, Activation, Status, near_on_the_way, near_solids
from mane.volume.boxes import BoxParams
from mane.volume.lattice import Float64Array
from mane.volume.motion import LONGEST_GAP, NO_TIME, ROUNDING
from mane.volume.pool import StrandPool, within
from mane.volume.support import HairSupport, SomeSupport, SupportParams, shape_boxes

POOL, ACTIVATION = "pool.", "activation."


@dataclass(frozen=True)
class IndividualParams:
    """How single hairs are simulated.

    Attributes:
        strand_model: name of the strand model.
        touching_only: simulate only hairs that touch a solid other than the body; false for all of them.
        margin: distance from a solid at which a hair is simulated [m].
        linger: how long it is after it has touched one [s].
        return_time: in which it goes back to the mesh then [s].
        kinematic_roots: part of the length, from the root, over which hair goes from following the mesh to being
            simulated.
        show_boxes: share of the boxes' position in what is shown, 0 to 1.
        show_mesh: share of the mesh's position in what is shown, 0 to 1.
        support_frequency: at which a vertex would swing on its spring to the mesh [Hz]; 0 for the stiffness as printed
            (lee2018 4).
        mesh_springs: factor on the springs to the mesh.
        box_springs: factor on the springs to the boxes that hold a hair's shape; 0 for no boxes.
        boxes: of a long hair, at most.
        hair_share: part of the hairs that may be simulated, spread evenly over the groom, above 0 to 1; the others
            follow the mesh.
        hair_region: lowest and highest x, y and z of their roots at rest [m], three rows; anywhere by default.
    """

    strand_model: str = "cosserat"
    touching_only: bool = True
    margin: NotNegative = 0.003
    linger: NotNegative = 0.25
    return_time: Positive = 0.5
    kinematic_roots: NotNegative = 0.0
    show_boxes: NotNegative = 0.0
    show_mesh: NotNegative = 0.0
    support_frequency: NotNegative = 4.0
    mesh_springs: NotNegative = 1.0
    box_springs: NotNegative = 1.0
    boxes: Count = 4
    hair_share: Annotated[float, Range(above=0, most=1)] = 1.0
    hair_region: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        check_limits(self)
        if self.show_boxes + self.show_mesh > 1:
            raise ValueError(
                "show_boxes: must leave a share to the simulation, got "
                f"{self.show_boxes + self.show_mesh:g} for boxes and mesh together"
            )
        region = np.array(self.hair_region, np.float64)
        if region.size and not (region.shape == (3, 2) and (region[:, 0] < region[:, 1]).all()):
            raise ValueError(f"hair_region: must be three rows of lowest and highest, got {region.tolist()}")
        _ = self.support

    def hairs_of(self, groom: Groom) -> IntArray:
        """Strands that may be simulated, sorted, shape (G,)."""
        count = groom.strand_count
        rows = np.flatnonzero(np.diff(np.floor(np.arange(count + 1) * self.hair_share)))
        if self.hair_region:
            low, high = np.array(self.hair_region, np.float64).T
            roots = groom.roots[rows]
            rows = rows[((roots >= low) & (roots <= high)).all(axis=1)]
        if len(rows) == 0:
            raise ValueError(f"hair_region: must hold roots of hair, got none of {count}")
        return rows

    @property
    def support(self) -> SupportParams:
        """Springs to mesh and boxes."""
        return SupportParams(
            frequency=self.support_frequency or None,
            mesh_springs=self.mesh_springs,
            box_springs=self.box_springs,
            box=BoxParams(most=self.boxes),
        )


class IndividualHairs:
    """Hairs that follow targets, and are simulated one by one where they touch something.

    Only hairs that are simulated have a state, and only they are stepped (`StrandPool`).

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
        self._motion: RootMotion = RigidRoots(model.rest_points[:, 0].copy())
        body = surroundings.body
        if body is not None and body.animation is not None:
            self._motion = BoundRoots(model, np.ones(model.strand_count, np.bool_), body)
        solver = make_solver(params.strand_model, model)
        self._model, self._clearances = solver.model, Clearances(body)
        self._boxes = shape_boxes(solver.model, params.support)
        self._pool = StrandPool(solver, self._make_parts)
        self.activation = Activation(model.mass.shape, params.linger, params.return_time)
        self.reset()

    def _make_parts(self, rows: IntArray) -> tuple[Sequence[Force], Sequence[Constraint]]:
        """What acts on some of the hairs: support, and contact with body and solids."""
        support = SomeSupport(self._target_at, self.params.support, self._boxes, rows)
        if len(self._surroundings.touched) == 0:
            return [support], []
        clearances = SomeClearances(self._clearances, self._model, rows)
        return [support, SolidContact(clearances=clearances)], [SolidProjection(clearances=clearances)]

    @property
    def active_count(self) -> int:
        """Hairs that are simulated."""
        return int((self.activation.status == Status.ACTIVE).sum())

    def reset(self) -> None:
        """Begin anew: all hairs follow their targets."""
        self.activation.reset()
        self._pool.clear()
        pose = Pose.identity()
        self._moment = RootMoment(pose, NO_TIME, self._motion.at(pose, 0.0))
        self._before = self._target = self._model.rest_points.astype(np.float32)
        self._shown = (NO_STRANDS, np.zeros((0, *self._target.shape[1:]), np.float32))

    def step(self, frame: GuideFrame, targets: FloatArray) -> tuple[IntArray, FloatArray]:
        """Go on to a frame at which the mesh has the hairs at `targets` [m], shape (G, V, 3).

        Returns:
            Hairs that are elsewhere, shape (A,), and where [m], shape (A, V, 3).
        """
        gap = frame.time - self._moment.time
        if abs(gap) < ROUNDING:
            return self._shown
        after = RootMoment(frame.head, frame.time, self._motion.at(frame.head, frame.time))
        if not 0 < gap <= LONGEST_GAP or self._motion.jumps(self._moment, after, gap):
            self.reset()
            self._before = self._target = targets
        else:
            self._before, self._target = self._target, targets
            path = frame_path(self._moment, after, gap, self._surroundings, head=None, motion=self._motion)
            self._advance(path, after, gap)
        self._moment = after
        return self._shown

    def _advance(self, path: StepPath, after: RootMoment, gap: float) -> None:
        self._frame_time = gap
        self._wake(self._touching(path, after.time), gap)
        rows = self._pool.rows
        self._aims = tuple(one[rows].astype(np.float64) for one in (self._before, self._target))
        self._pool.step(path, time=after.time, dt=gap)
        simulated = self._blended() if len(rows) else np.zeros((0, *self._target.shape[1:]))
        if self.params.touching_only and len(rows):
            self._release(path, after.time, simulated, gap)
        active, returning = rows[self.activation.status[rows] == Status.ACTIVE], self.activation.returning
        led_back = self._target[returning] + self.activation.offsets(after.time)[0]
        shown = np.concatenate([simulated[np.searchsorted(rows, active)], led_back]).astype(np.float32)
        changed = np.concatenate([active, returning])
        keep_lengths(self._lengths[changed], shown)
        self.activation.arrive(after.time)
        self._shown = (changed, shown)

    def _target_at(self, time: float) -> Float64Array:
        """Targets of the hairs in the pool between those of two frames, on straight lines [m], shape (A, V, 3)."""
        share = (time - self._moment.time) / self._frame_time
        before, after = self._aims
        return before + share * (after - before)

    def _velocity(self, rows: IntArray, gap: float) -> Float64Array:
        """How targets of some hairs move [m/s], shape (A, V, 3)."""
        return (self._target[rows].astype(np.float64) - self._before[rows]) / gap

    def _touching(self, path: StepPath, time: float) -> IntArray:
        """Hairs whose targets touch a solid at some time of the frame, or all where all are simulated, sorted."""
        if not self.params.touching_only:
            return np.arange(len(self._target))
        ends = np.arange(1, SAMPLES + 1) / SAMPLES
        solids = [self._props(path, end - 1 / SAMPLES, end) for end in ends.tolist()]
        found = near_on_the_way(self._before, self._target, solids, self._margin)
        self.activation.touched[found] = time
        return found

    def _props(self, path: StepPath, start: float, end: float) -> tuple[MovingSolid, ...]:
        """Solids other than the body, which hair is kept out of without being simulated."""
        return tuple(one for one in path.solids(start, end) if one.solid is not self._surroundings.body)

    def _wake(self, touching: IntArray, gap: float) -> None:
        """Begin to simulate those of the hairs that are not, from where they are shown; stop with those let go."""
        activation, stay = self.activation, self.activation.rows(Status.ACTIVE)
        wakes = touching[activation.status[touching] != Status.ACTIVE]
        points, speed = self._before[wakes].astype(np.float64), self._velocity(wakes, gap)
        back = np.flatnonzero(np.isin(activation.returning, wakes))
        place = np.searchsorted(wakes, activation.returning[back])
        offset, rate = activation.offsets(self._moment.time)
        points[place] += offset[back]
        speed[place] += rate[back]
        self._pool.change(stay, wakes, points, speed, self._moment.roots)
        activation.wake(wakes)

    def _release(self, path: StepPath, time: float, shown: Float64Array, gap: float) -> None:
        """Let hairs go back that neither touch anything nor would, if they followed their targets."""
        activation, rows, points = self.activation, self._pool.rows, self._pool.state.points
        near = near_solids(points, self._props(path, 1 - 1 / SAMPLES, 1.0), self._margin[rows])
        activation.touched[rows[near]] = time
        leaves = np.flatnonzero(time - activation.touched[rows] >= activation.linger)
        own = rows[leaves]
        speed = self._blend[own] * (self._pool.state.velocity[leaves] - self._velocity(own, gap))
        activation.release(own, time, shown[leaves] - self._target[own], speed)

    def _blended(self) -> Float64Array:
        """What is shown of the hairs in the pool, shape (A, V, 3)."""
        params, pool, target = self.params, self._pool, self._aims[1]
        free = (1 - params.show_boxes - params.show_mesh) * (pool.state.points - target)
        support = pool.forces[0]
        assert isinstance(support, HairSupport)
        if support.boxes is not None and params.show_boxes > 0:
            free += params.show_boxes * (support.boxes.places() - target)
        result: Float64Array = target + self._blend[pool.rows] * free
        return result

    def memory(self) -> Memory:
        """Everything that is needed to go on."""
        pose, roots = self._moment.head, self._moment.roots
        own = {
            "time": np.array(self._moment.time),
            "pose": np.concatenate([pose.position, pose.rotation]),
            "target": self._target.copy(),
            "changed": self._shown[0].copy(),
            "shown": self._shown[1].copy(),
            "roots": np.concatenate([roots.positions, roots.rotations], axis=1),
        }
        activation = {ACTIVATION + name: array for name, array in self.activation.memory().items()}
        return {**own, **activation, **{POOL + name: array for name, array in self._pool.memory().items()}}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        pose = Pose(memory["pose"][:3], memory["pose"][3:])
        roots = RootPose(memory["roots"][:, :3].copy(), memory["roots"][:, 3:].copy())
        self._moment = RootMoment(pose, float(memory["time"]), roots)
        self._target, self._shown = memory["target"].copy(), (memory["changed"].copy(), memory["shown"].copy())
        self.activation.restore(within(memory, ACTIVATION))
        self._pool.restore(within(memory, POOL), roots)


def _root_to_tip(segments: Float64Array, part: float) -> Float64Array:
    """How far each vertex is simulated, 0 at the root to 1 beyond `part` of the length, shape (G, V, 1)."""
    along = np.concatenate([np.zeros((len(segments), 1)), np.cumsum(segments, axis=1)], axis=1)
    share = along / along[:, -1:]
    t = np.clip(share / part, 0.0, 1.0) if part > 0 else (share > 0).astype(np.float64)
    blend: Float64Array = (t * t * (3 - 2 * t))[..., None]
    return blend
