"""`TwoWaySkin`: adaptive skinning whose hairs push their guides out of solids (chai2017 section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, eye_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from mane.geometry import quaternion
from mane.geometry.checks import FloatArray, IntArray
from mane.geometry.limits import Choice, Positive
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin.adaptive.params import AdaptiveParams
from mane.skin.adaptive.skin import AdaptiveSkin
from mane.skin.last_frame import LONGEST_PAUSE
from mane.skin.root_carry import RootCarry
from mane.skin.solids import SkinSolids
from mane.stage.protocol import Memory
from mane.strand.frame import GuideFrame
from mane.strand.material import Material
from mane.strand.model import Float64Array, StrandModel
from mane.strand.ports import GuideLoad

SINGULAR = 1e-12  # of the largest eigenvalue of W^T W: what is less is taken for zero
FORMS = ("velocity", "own_side", "colliding", "printed")


@dataclass(frozen=True)
class TwoWayParams(AdaptiveParams):
    """Settings of `TwoWaySkin`: those of `AdaptiveParams`, and four of its own.

    Attributes:
        form: what guides get of their hairs. "velocity": a guide takes the mean of the velocities that its hairs must
            gain, weighted by their masses, those that meet nothing gaining none. "own_side": eq. 4 over hairs that meet
            a solid, with a Tikhonov term; a hair acts only on guides on the side of the solid where it comes out.
            "colliding": as "own_side", but hairs act on all their guides. "printed": over all hairs, those that meet
            nothing asking for no force; the system is singular, and solved by the pseudo-inverse.
        strength: of the penalty, in what would take a hair by its depth in one frame (chai2017 5.1).
        tikhonov: weight of the squared forces themselves, for "own_side" and "colliding".
        most_speed: a guide's vertex is not sped up by more than this in a frame [m/s]; "printed" has no such limit.
    """

    form: Annotated[str, Choice(*FORMS)] = FORMS[0]
    strength: Positive = 0.2
    tikhonov: Positive = 0.05
    most_speed: Positive = 0.5


class Penetration(NamedTuple):
    """Vertices of hairs that are inside solids.

    Attributes:
        push: how far each vertex must go to leave them [m], (H, V, 3); none for roots.
        solid_velocity: of the solids there [m/s], (H, V, 3).
    """

    push: Float64Array
    solid_velocity: Float64Array


class Carriers(NamedTuple):
    """Which vertices of guides carry which vertices of hairs, and by how much: K pairs.

    Attributes:
        hair: row of the hair, (K,).
        vertex: of the hair, (K,).
        node: vertex of a guide, counted through all guides, (K,).
        weight: of the guide, times how near the vertex of the hair is to that of the guide, (K,); never zero.
    """

    hair: IntArray
    vertex: IntArray
    node: IntArray
    weight: Float64Array

    def taken(self, chosen: NDArray[Any]) -> Carriers:
        """Some of the pairs."""
        return Carriers(*(array[chosen] for array in self))


class TwoWaySkin(AdaptiveSkin):
    """Adaptive skinning; what hairs would need to come out of solids acts on their guides in the next frame.

    Penalty forces on vertices inside a solid are shared out to the vertices of guides such that, interpolated back,
    they come closest to what was asked for (chai2017 eq. 4). A vertex of a hair goes with the place of a guide at the
    same distance from the root, as in interpolation.

    Args:
        groom: the dense hair at rest, all strands with the same vertex count.
        guides: what carries it, at rest.
        guide_model: mechanics of the guides, for their masses; by default guides of the default material.
        settings: fields of `TwoWayParams`, and arguments of `AdaptiveSkin`.

    To compare with: `adaptive` and the pass `push_out` do better (docs/methods/adaptive.md).

    Limitations: `form = "printed"` inverts a dense matrix of 8 N^2 bytes for each N vertices of guides that hairs
    connect: those of one number on all guides, where hairs have as many vertices as guides, else all of them.
    "own_side" and "colliding" solve sparse systems, which grow with the pairs of guides that share a hair.
    """

    name = "adaptive_two_way"
    version = 8  # the last frame is remembered
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = tuple(
        {"form": form} if form != FORMS[0] else {} for form in FORMS
    )
    settings = TwoWayParams
    needs: ClassVar[tuple[str, ...]] = (*AdaptiveSkin.needs, "guide_model")
    may_return_load = True
    can_be_target = False  # what it returns would reach no guide
    _params_class = TwoWayParams
    params: TwoWayParams

    def __init__(
        self, groom: Groom, guides: Guides, *, guide_model: StrandModel | None = None, **settings: Any
    ) -> None:
        super().__init__(groom, guides, **settings)
        model = Material().model(guides) if guide_model is None else guide_model
        self._mass = model.mass[: guides.capacity]
        self._own = [self.graph.solids[number] for number in self._around]
        self._own_solids = SkinSolids(self._own) if self._own else None

    def reset(self) -> None:
        """Forget the frames before, and what they return."""
        super().reset()
        self._load: Float64Array | None = None

    def _fill(self, frame: GuideFrame, out: FloatArray) -> None:
        elapsed = frame.time - self._time
        super()._fill(frame, out)
        if not self._is_again:
            self._load = self._asked(frame, out, elapsed)

    def _fill_on_skin(self, frame: GuideFrame, carry: RootCarry, out: FloatArray) -> None:
        """Solids are met where hair really is; the load on guides is that of the rest pose."""
        elapsed = frame.time - self._time
        super()._fill_on_skin(frame, carry, out)
        if self._is_again:
            return
        load = self._asked(frame, out, elapsed)
        if load is not None:
            turn = quaternion.conjugate(quaternion.normalize(frame.root_rotations.astype(np.float64)))
            load = quaternion.rotate(turn[:, None], load)
        self._load = load

    def guide_load(self) -> GuideLoad | None:
        """Forces on the guides in the next frame."""
        return None if self._load is None else GuideLoad(self._load)

    def _asked(self, frame: GuideFrame, points: FloatArray, step: float) -> Float64Array | None:
        """Forces on the guides [N], world, (G, U, 3), after a `step` [s]; None where no hair meets a solid."""
        if self._own_solids is None or not 0 < step < LONGEST_PAUSE:
            return None
        poses = tuple(frame.solid_poses[number] for number in self._around)
        rows = self._own_solids.penetrating(replace(frame, solid_poses=poses), points)
        if not len(rows):
            return None
        found = self._penetration(frame, points[rows])
        if self.params.form == "velocity":
            speed_up = self._mean_gains(frame, rows, found, step)
        else:
            speed_up = self._shared_out(frame, points, rows, found.push) * (self.params.strength / step)
        if self.params.form != "printed":
            size = np.linalg.norm(speed_up, axis=-1, keepdims=True)
            speed_up *= np.minimum(1.0, self.params.most_speed / np.maximum(size, 1e-12))
        load: Float64Array = self._mass[..., None] * speed_up / step
        return load

    def _penetration(self, frame: GuideFrame, points: FloatArray) -> Penetration:
        """How the vertices of some hairs (H, V, 3) are inside solids."""
        push, velocity = np.zeros(points.shape), np.zeros(points.shape)
        flat = np.ascontiguousarray(points.reshape(-1, 3))
        for number, solid in zip(self._around, self._own, strict=True):
            placed = replace(solid.at(frame.time), pose=frame.solid_poses[number])
            distance, gradient = placed.distance_and_gradient(flat)
            size = np.maximum(np.linalg.norm(gradient, axis=1, keepdims=True), 1e-6)
            inside = np.flatnonzero(distance < 0)
            push.reshape(-1, 3)[inside] += (-distance[:, None] * gradient / size)[inside]
            velocity.reshape(-1, 3)[inside] = placed.velocity(flat[inside])
        push[:, 0] = 0
        return Penetration(push, velocity)

    def _carriers(self, hairs: IntArray, chosen: NDArray[np.int32] | None = None) -> Carriers:
        """What carries some hairs, by the sets of this frame, or those that all hairs have `chosen` (S,)."""
        weights = self.sets.weights(self._tables, hairs, self.chosen if chosen is None else chosen)
        hair, member, vertex = np.nonzero(weights)
        rows = self._tables.rows[hairs[hair], member]
        place = self.guide_rows.parameter[rows, 0, vertex].astype(np.float64)
        count = self.guides.vertex_count
        before = np.minimum(place.astype(np.int64), count - 2)
        node = self.sets.slots[hairs[hair], member].astype(np.int64) * count + before
        share, weight = place - before, weights[hair, member, vertex]
        both = [np.concatenate(pair) for pair in ((hair, hair), (vertex, vertex), (node, node + 1))]
        every = Carriers(both[0], both[1], both[2], np.concatenate([(1 - share) * weight, share * weight]))
        return every.taken(every.weight != 0)

    def _shared_out(self, frame: GuideFrame, points: FloatArray, rows: IntArray, push: Float64Array) -> Float64Array:
        """What eq. 4 gives the vertices of guides (G, U, 3) of what hairs `rows` ask for, `push (H, V, 3)`."""
        if self.params.form == "printed":
            found = self._carriers(np.arange(self.groom.strand_count))
            whole = np.zeros((self.groom.strand_count, *push.shape[1:]))
            whole[rows] = push
            return self._solved(found, whole, 0.0)
        asks = np.abs(push).max(axis=2) > 0
        found = self._carriers(rows)
        found = found.taken(asks[found.hair, found.vertex])
        if self.params.form == "own_side":
            offset = frame.points.reshape(-1, 3)[found.node] - points[rows[found.hair], found.vertex]
            found = found.taken(np.einsum("kc,kc->k", offset, push[found.hair, found.vertex]) > 0)
        return self._solved(found, push, self.params.tikhonov)

    def _solved(self, found: Carriers, push: Float64Array, tikhonov: float) -> Float64Array:
        """Forces of eq. 4 on the vertices of guides (G, U, 3): unknown are those of all nodes that carry anything."""
        shape = self.guides.rest.shape
        nodes, column = np.unique(found.node, return_inverse=True)
        asking, row = np.unique(found.hair * push.shape[1] + found.vertex, return_inverse=True)
        system = coo_array((found.weight, (row, column)), shape=(len(asking), len(nodes))).tocsr()
        given = np.zeros((shape[0] * shape[1], 3))
        given[nodes] = effective_forces(system, push.reshape(-1, 3)[asking], tikhonov)
        return given.reshape(shape)

    def _mean_gains(self, frame: GuideFrame, rows: IntArray, found: Penetration, step: float) -> Float64Array:
        """Velocities [m/s] that the vertices of guides (G, U, 3) take from the hairs that hang on them.

        A guide with all its hairs is an inelastic collision of as many masses as hairs meet the solid with all others,
        so that no guide gets faster than the hair that asks for most.
        """
        carriers = self._carriers(rows)
        of_guides = frame.velocity.reshape(-1, 3).astype(np.float64)
        size = np.linalg.norm(found.push, axis=2, keepdims=True)
        out = found.push / np.maximum(size, 1e-12)
        own, momentum = np.zeros_like(found.push), np.zeros_like(of_guides)
        np.add.at(own, (carriers.hair, carriers.vertex), carriers.weight[:, None] * of_guides[carriers.node])
        inwards = np.einsum("hvc,hvc->hv", found.solid_velocity - own, out)[..., None]
        gain = (np.maximum(inwards, 0) + self.params.strength * size / step) * out
        np.add.at(momentum, carriers.node, carriers.weight[:, None] * gain[carriers.hair, carriers.vertex])
        asking = np.bincount(carriers.node, np.abs(carriers.weight), minlength=len(of_guides))
        mass = np.maximum(self._carried_mass, asking)  # sets may have changed since
        gained = momentum / np.maximum(mass, 1e-12)[:, None]
        return gained.reshape(self.guides.rest.shape)

    @cached_property
    def _carried_mass(self) -> Float64Array:
        """Vertices of hairs that hang on each vertex of the guides, (N,), by the sets that hairs begin with."""
        every = self._carriers(np.arange(self.groom.strand_count), self.sets.first())
        size = self.guides.capacity * self.guides.vertex_count
        return np.bincount(every.node, np.abs(every.weight), minlength=size).astype(np.float64)

    def memory(self) -> Memory:
        """What the adaptive skin remembers, and what it returns."""
        return {**super().memory(), **({} if self._load is None else {"load": self._load.copy()})}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        super().restore(memory)
        self._load = memory["load"].copy() if "load" in memory else None


def effective_forces(weights: csr_array, asked: Float64Array, tikhonov: float) -> Float64Array:
    """Minimise |W I* - I|^2 + tikhonov |I*|^2 over forces I* of guides (chai2017 eq. 4), (G, 3).

    Args:
        weights: W of hairs (rows) and guides, shape (S, G).
        asked: I of the hairs, shape (S, 3).
        tikhonov: 0 for the least-squares solution of the least norm.
    """
    normal, right = weights.T @ weights, weights.T @ asked
    if tikhonov > 0:
        return np.asarray(splu((normal + tikhonov * eye_array(len(right))).tocsc()).solve(right), np.float64)
    # What no hair connects is a system of its own, as section 5.2 solves them.
    found: Float64Array = np.zeros_like(right)
    _, part = connected_components(normal, directed=False)
    for number in np.unique(part[right.any(axis=1)]):
        own = np.flatnonzero(part == number)
        found[own] = np.linalg.pinv(normal[own][:, own].toarray(), rcond=SINGULAR, hermitian=True) @ right[own]
    return found
