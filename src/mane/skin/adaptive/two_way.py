"""`TwoWaySkin`: adaptive skinning whose hairs push their guides out of solids (chai2017 section 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion
from mane.geometry.checks import FloatArray, IntArray
from mane.geometry.limits import Choice, Positive
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin.adaptive.params import AdaptiveParams
from mane.skin.adaptive.skin import AdaptiveSkin
from mane.skin.root_carry import RootCarry
from mane.skin.solids import SkinSolids
from mane.stage.protocol import Memory
from mane.strand.frame import GuideFrame
from mane.strand.material import Material
from mane.strand.model import Float64Array, StrandModel
from mane.strand.ports import GuideLoad

FORMS = ("colliding", "printed")
LONGEST_STEP = 1.0  # [s] after more than that nobody knows what hair did


@dataclass(frozen=True)
class TwoWayParams(AdaptiveParams):
    """Settings of `TwoWaySkin`: those of `AdaptiveParams`, which says more about them, and four of its own.

    Attributes:
        eligible: guides per hair that its sets are made of, without a model
        use_motion: whether guides must move alike; by default without a model
        use_solids: whether there must be no solid between guides; by default without a model
        sigma: weight of velocities in eq. 2
        delta: how differently guides may move
        tip_distance: how far apart tips of guides may be [m]
        hysteresis: how much worse than the best a set may become before it is changed
        fade: time constant of jumps [s]
        lean: whether hairs behind a solid lean towards their guides
        paper: choose sets as printed
        form: which hairs eq. 4 sums over. "printed": all, those that meet nothing asking for no force; the system is
            singular, and solved by the pseudo-inverse. "colliding": those that meet a solid, with a Tikhonov term.
        strength: of the penalty force, in what would take a hair by its depth in one frame (chai2017 5.1).
        tikhonov: weight of the squared forces themselves, for "colliding".
        most_speed: a guide's vertex gets at most the force that speeds it up by this in a frame [m/s], "colliding".
    """

    lean: bool = False
    form: Annotated[str, Choice(*FORMS)] = "colliding"
    strength: Positive = 0.5
    tikhonov: Positive = 0.05
    most_speed: Positive = 0.5


class TwoWaySkin(AdaptiveSkin):
    """Adaptive skinning; what hairs would need to come out of solids acts on their guides in the next frame.

    Penalty forces on vertices inside a solid are shared out to guides such that, interpolated back, they come closest
    to what was asked for (chai2017 eq. 4), vertex number by vertex number.

    Args:
        groom: the dense hair at rest, all strands with the same vertex count.
        guides: what carries it, at rest.
        guide_model: mechanics of the guides, for their masses; by default guides of the default material.
        settings: fields of `TwoWayParams`, and arguments of `AdaptiveSkin`.

    To compare with: `adaptive` and the pass `push_out` do better (docs/methods/adaptive.md).
    """

    name = "adaptive_two_way"
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = ({}, {"form": "printed"})
    settings = TwoWayParams
    needs: ClassVar[tuple[str, ...]] = (*AdaptiveSkin.needs, "guide_model")
    may_return_load = True
    _params_class = TwoWayParams
    params: TwoWayParams

    def __init__(
        self, groom: Groom, guides: Guides, *, guide_model: StrandModel | None = None, **settings: Any
    ) -> None:
        super().__init__(groom, guides, **settings)
        model = Material().model(guides) if guide_model is None else guide_model
        self._mass = model.mass[: guides.capacity]
        own = [self.graph.solids[number] for number in self.graph.checked]
        self._own_solids = SkinSolids(own) if own else None

    def reset(self) -> None:
        """Forget the frames before, and what they return."""
        super().reset()
        self._load: Float64Array | None = None

    def _fill(self, frame: GuideFrame, out: FloatArray) -> None:
        elapsed = frame.time - self._time
        super()._fill(frame, out)
        self._load = self._asked(frame, out, elapsed)

    def _fill_on_skin(self, frame: GuideFrame, carry: RootCarry, out: FloatArray) -> None:
        """Solids are met where hair really is; what guides get is told as in the rest pose."""
        elapsed = frame.time - self._time
        super()._fill_on_skin(frame, carry, out)
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
        if self._own_solids is None or not 0 < step < LONGEST_STEP:
            return None
        poses = tuple(frame.solid_poses[number] for number in self.graph.checked)
        rows = self._own_solids.penetrating(replace(frame, solid_poses=poses), points)
        if not len(rows):
            return None
        push = self._pushes(frame, points[rows])
        load = np.zeros(self.guides.rest.shape)
        for vertex, guides, force in self._shared_out(rows, push * self.params.strength / step**2):
            self._deposit(vertex, guides, force, step, load)
        return load

    def _pushes(self, frame: GuideFrame, points: FloatArray) -> Float64Array:
        """How far each vertex (H, V) must go to leave the solids [m], (H, V, 3); none for roots."""
        push = np.zeros(points.shape)
        flat = np.ascontiguousarray(points.reshape(-1, 3))
        for number in self.graph.checked:
            placed = self.graph.solids[number].placed(frame.solid_poses[number], frame.time)
            distance, gradient = placed.distance_and_gradient(flat)
            size = np.maximum(np.linalg.norm(gradient, axis=1, keepdims=True), 1e-6)
            push += (np.maximum(-distance, 0)[:, None] * gradient / size).reshape(push.shape)
        push[:, 0] = 0
        return push

    def _shared_out(self, rows: IntArray, wanted: Float64Array) -> Iterator[tuple[int, IntArray, Float64Array]]:
        """Accelerations of guides at each vertex number: yields it, the guides (K,) and what they get (K, 3)."""
        is_printed = self.params.form == "printed"
        hairs = np.arange(self.groom.strand_count) if is_printed else rows
        weights = self.sets.weights(self._tables, hairs, self.chosen)
        slots = self.sets.slots[hairs]
        for vertex in np.flatnonzero(np.abs(wanted).max(axis=(0, 2)) > 0):
            asked = np.zeros((len(hairs), 3))
            asked[rows if is_printed else slice(None)] = wanted[:, vertex]
            system = np.zeros((len(hairs), self.guides.capacity))
            np.add.at(system, (np.arange(len(hairs))[:, None], slots), weights[:, :, vertex])
            guides = np.flatnonzero(system[rows if is_printed else slice(None)].max(axis=0) > 0)
            tikhonov = 0.0 if is_printed else self.params.tikhonov
            yield int(vertex), guides, effective_forces(system[:, guides], asked, tikhonov)

    def _deposit(self, vertex: int, guides: IntArray, wanted: Float64Array, step: float, load: Float64Array) -> None:
        """Add forces at the place of a guide that goes with a vertex number of hairs of its length."""
        place = vertex * (self.guides.vertex_count - 1) / (self._points.shape[1] - 1)
        first = min(int(place), self.guides.vertex_count - 2)
        size = np.linalg.norm(wanted, axis=1, keepdims=True)
        if self.params.form != "printed":
            wanted = wanted * np.minimum(1.0, self.params.most_speed / step / np.maximum(size, 1e-12))
        for node, share in ((first, 1 - (place - first)), (first + 1, place - first)):
            load[guides, node] += share * self._mass[guides, node, None] * wanted

    def memory(self) -> Memory:
        """What the adaptive skin remembers, and what it returns."""
        return {**super().memory(), **({} if self._load is None else {"load": self._load.copy()})}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        super().restore(memory)
        self._load = memory["load"].copy() if "load" in memory else None


def effective_forces(weights: Float64Array, asked: Float64Array, tikhonov: float) -> Float64Array:
    """Minimise |W I* - I|^2 + tikhonov |I*|^2 over forces I* of guides (chai2017 eq. 4), (G, 3).

    Args:
        weights: W of hairs (rows) and guides, shape (S, G).
        asked: I of the hairs, shape (S, 3).
        tikhonov: 0 for the least-squares solution of the least norm.
    """
    if tikhonov == 0:
        return np.asarray(np.linalg.lstsq(weights, asked, rcond=None)[0], np.float64)
    normal = weights.T @ weights + tikhonov * np.eye(weights.shape[1])
    return np.asarray(np.linalg.solve(normal, weights.T @ asked))
