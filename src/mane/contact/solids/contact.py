"""`SolidContact`: guides that touch solids, with Coulomb friction, as forces within the solver's own solve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.packed import fill_pose_pair
from mane.contact.solids import _kernels as kernels
from mane.contact.solids._kernels_amend import drop_wrong_contacts
from mane.contact.solids._kernels_contact import RECORD_SIZE, TRAIL_SIZE
from mane.contact.solids._kernels_depth import measure_depth
from mane.contact.solids._kernels_trace import THIN
from mane.contact.solids.clearance import Clearances, inner_places, not_measured, safe_margin
from mane.geometry.checks import IntArray, as_array, require_choice, require_positive
from mane.strand.model import Float64Array, RootKind, StrandModel
from mane.strand.ports import Force, Load, MovingSolid, StrandView


@dataclass(eq=False)
class ContactList:
    """Contacts of G strands with one solid, at most C of them each, in the order of their places along the strand.

    Attributes:
        count: how many there are, shape (G,), int64.
        place: where on the strand, shape (G, C), int32; see `_kernels`.
        pressed: normal force, below zero where the contact held hair back [N], shape (G, C).
        trail: what friction remembers, see `_kernels_contact`, shape (G, C, TRAIL_SIZE).
    """

    count: NDArray[np.int64]
    place: NDArray[np.int32]
    pressed: Float64Array
    trail: Float64Array

    @classmethod
    def empty(cls, strand_count: int, capacity: int) -> ContactList:
        """Allocate lists without a contact."""
        shape = (strand_count, capacity)
        return cls(
            np.zeros(strand_count, np.int64),
            np.full(shape, -1, np.int32),
            np.zeros(shape),
            np.zeros((*shape, TRAIL_SIZE)),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Copies of what matters, by name; rows behind the end of a list are blank."""
        unused = np.arange(self.place.shape[1]) >= self.count[:, None]
        return {
            "count": self.count.copy(),
            "place": np.where(unused, np.int32(-1), self.place),
            "pressed": np.where(unused, 0.0, self.pressed),
            "trail": np.where(unused[..., None], 0.0, self.trail),
        }

    def assign(self, where: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `arrays` returned."""
        for name in ("count", "place", "pressed", "trail"):
            mine = getattr(self, name)
            mine[...] = as_array(f"{where}.{name}", arrays[name], mine.shape, mine.dtype)


MODES = ("hard", "penalty")
# Resistance of a hard contact, as a multiple of inertia / dt. Under a hundred times its own weight a vertex then rests
# 2 g dt^2 / 3 deep, 7 micrometres at a millisecond. A solver that bends its linear solution back to the true lengths of
# segments misses the goal of a contact by some 1e-4 of the velocities; more resistance would take that for a force.
HARD = 300.0
# Resistance of sticking beside the forecast force, as a multiple of mass / dt. It adds up from step to step like a
# spring, so that what sticks stands still; a change of the load by the weight that nobody foresaw moves it by
# g dt^2 / 10. No more, for one place that sticks must not hold the whole of a strand that slides.
GRIP = 10.0
# Largest eigenvalue of the bending stiffness of a chain, in units of E I / length^3.
BENDING = 16.0
# Contacts that stretch a segment by more than this part of its length let go of the strand: half of the percent that
# guides are promised to keep.
LARGEST_STRAIN = 0.005
EARTH = 9.81  # [m/s^2], for the load that a penalty is stated for
Laws = tuple[float, float, float, float, bool]


@dataclass(frozen=True)
class ContactParams:
    """Settings of `SolidContact`.

    Attributes:
        mode: "hard" stops hair at the surface (chang2002 3.3); "penalty" lets it sink in and pushes back in proportion
            to the depth (chai2017 5.1).
        friction: Coulomb's coefficient (chai2017 7.1); None for that of the hair (`StrandModel.friction`).
        thickness: how far above the surface hair is stopped [m].
        push_out_speed: at which hair that is found inside a solid comes out, at most [m/s]. Out of the body that it
            grows on it comes no farther than it was groomed.
        penalty_depth: how deep a vertex sinks in under `penalty_load` [m]; for "penalty".
        penalty_load: in multiples of the vertex's own weight.
    """

    mode: str = "hard"
    friction: float | None = None
    thickness: float = 0.0
    push_out_speed: float = 0.5
    penalty_depth: float = 1e-4
    penalty_load: float = 10.0

    def __post_init__(self) -> None:
        require_choice("contact.mode", self.mode, MODES)
        for name in ("friction", "thickness"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value >= 0):
                raise ValueError(f"contact.{name}: must be a finite number, zero or more, got {value}")
        for name in ("push_out_speed", "penalty_depth", "penalty_load"):
            require_positive(f"contact.{name}", getattr(self, name))

    def laws(self, model: StrandModel, dt: float) -> Laws:
        """Return what `_kernels_contact.judge_contact` calls the laws."""
        friction = model.friction if self.friction is None else self.friction
        soft = self.penalty_load * EARTH / self.penalty_depth
        is_hard = self.mode == "hard"
        return HARD / dt**2 if is_hard else soft, GRIP, friction, self.push_out_speed, is_hard

    def inertia(self, model: StrandModel, dt: float) -> Float64Array:
        """What a contact pushes against [kg], shape (G, V): mass, for a hard one with what bending adds in a step."""
        if self.mode == "penalty":
            return model.mass
        joint = BENDING * model.bend_stiffness / model.rest_length**3
        stiffness = np.zeros_like(model.mass)
        stiffness[:, :-1] = joint
        stiffness[:, 1:] = np.maximum(stiffness[:, 1:], joint)
        return model.mass + dt**2 * stiffness


class SolidContact(Force):
    """Keeps guides out of the solids of a scene.

    A contact acts along the normal only while it pushes: one that would pull hard is dropped and the substep taken
    again, one that holds hair back a little is given up in the next. Contacts that would stretch the strand are
    dropped as well, where two parts of a body close on it or its root is carried into a solid. Contacts are inelastic.
    Every vertex is tested, and points between them where a solid is thinner than a segment, along the path that they
    take relative to the solid, so that a thin tooth does not pass through unnoticed. A mesh that deforms is asked for
    its triangles, which move during the substep; friction sees how fast the surface moves where it is touched.

    Limitations: the path is that of the velocity at the start of the substep, and a point touches one place of a solid
    at a time. `SolidProjection` mends what this leaves inside.

    Args:
        clearances: shared with the `SolidProjection` of the same guides, so that both measure once.
        settings: fields of `ContactParams`.
    """

    name = "contact"
    version = 2  # hair is pushed no farther out of its body than it was groomed, friction is that of the hair
    label = "contact"
    settings = ContactParams
    is_mutual = False

    def __init__(self, *, clearances: Clearances | None = None, **settings: Any) -> None:
        self.params = ContactParams(**settings)
        self._clearances = clearances or Clearances()
        self._solids: list[_OneSolid] = []
        self._restored: dict[str, NDArray[Any]] = {}

    def prepare(self, model: StrandModel) -> None:
        """Get ready for guides of this model."""
        self._model = model
        self._arc = arc_lengths(model)
        self._held = np.ascontiguousarray(model.root_kind != RootKind.FREE)
        self._inertia = (0.0, model.mass)  # of steps of that length
        self._changed = np.zeros(model.strand_count, np.bool_)
        self._solids = []

    def add(self, strands: StrandView, load: Load) -> None:
        """Find the contacts of the coming step and add them to `load`."""
        self._meet(strands.solids)
        if strands.dt != self._inertia[0]:
            self._inertia = (strands.dt, self.params.inertia(self._model, strands.dt))
        laws = self.params.laws(self._model, strands.dt)
        for one, moving in zip(self._solids, strands.solids, strict=True):
            one.find(strands, moving, self._inertia[1], self._arc, self._held, laws, load)

    def may_amend(self) -> bool:
        """Whether anything touches."""
        return any(one.touches for one in self._solids)

    def amend(self, strands: StrandView, load: Load, attempt: int) -> IntArray:
        """Drop contacts that pull, faster than hair is pushed out, or that stretch it: the next attempt has none."""
        self._changed.fill(False)
        for one in self._solids:
            one.drop_wrong((self.params.push_out_speed, LARGEST_STRAIN), attempt, strands, load, self._changed)
        return np.flatnonzero(self._changed)

    def settle(self, strands: StrandView) -> None:
        """Measure how hard each contact was pressed."""
        for one in self._solids:
            one.settle(strands)

    def report(self) -> dict[str, float]:
        """Number of contacts."""
        return {"contacts": float(sum(int(one.last.count.sum()) for one in self._solids))}

    def measure(self, strands: StrandView) -> dict[str, float]:
        """Deepest vertex inside a solid, rigid or deforming, at the end of the step and after all constraints [m]."""
        depths = [one.depth(strands, self._held) for one in self._solids]
        return {"penetration": max(depths, default=0.0)}

    def memory(self) -> dict[str, NDArray[Any]]:
        """Contacts of the last step, by solid."""
        named = {
            f"{index}.{name}": array
            for index, one in enumerate(self._solids)
            for name, array in one.last.arrays().items()
        }
        return named or {name: array.copy() for name, array in self._restored.items()}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self._solids = []
        self._restored = {name: np.array(array) for name, array in memory.items()}

    def forget(self, strands: NDArray[np.bool_]) -> None:
        """Strands of the mask (G,) were carried elsewhere and touch nothing that they touched before."""
        for one in self._solids:
            one.last.count[strands] = 0
        for name, array in self._restored.items():
            if name.endswith(".count"):
                array[strands] = 0

    def _meet(self, solids: tuple[MovingSolid, ...]) -> None:
        """Make a table for each solid; solids that were there before, in the same order, keep theirs."""
        known = [one.solid for one in self._solids]
        if len(known) == len(solids) and all(a is b.solid for a, b in zip(known, solids, strict=True)):
            return
        kept = {id(one.solid): one for one in self._solids}
        self._solids = [
            kept.get(id(moving.solid)) or _OneSolid(moving, self._model, self.params.thickness, self._clearances)
            for moving in solids
        ]
        for index, one in enumerate(self._solids):
            if f"{index}.count" in self._restored:
                prefix = f"{index}."
                one.last.assign(
                    f"contact memory of solid {index}",
                    {k.removeprefix(prefix): a for k, a in self._restored.items() if k.startswith(prefix)},
                )
        self._restored = {}


class _OneSolid:
    """Contacts of all strands with one solid."""

    def __init__(self, moving: MovingSolid, model: StrandModel, thickness: float, clearances: Clearances) -> None:
        self.solid = moving.solid
        self.thickness = thickness
        self.clearance = clearances.of(self.solid, model)
        strands, vertices = model.strand_count, model.vertex_count
        # By the longest segment of all: with their own, shorter strands were 3 mm deep after some violent steps.
        self.inner = inner_places(self.clearance.feature, model.longest_segment, thickness)
        self._lowest = self.clearance.lowest(self.inner)
        capacity = vertices + min(self.inner, kernels.INNER_CONTACTS) * model.segment_count
        self.last = ContactList.empty(strands, capacity)
        self._next = ContactList.empty(strands, capacity)
        self._record = np.zeros((strands, capacity + 2, RECORD_SIZE))
        self._poses = np.zeros(24)
        self._deepest = np.zeros(strands)
        self._margin = safe_margin(model, thickness)
        # What was last measured between vertices. Along teeth of a comb there are too many places, and surfaces that
        # deform come closer by themselves.
        is_remembered = self.inner < THIN and self.solid.animation is None
        self._between = not_measured(strands, self.inner * model.segment_count if is_remembered else 0)

    def find(
        self,
        strands: StrandView,
        moving: MovingSolid,
        inertia: Float64Array,
        arc: Float64Array,
        held: NDArray[np.bool_],
        laws: Laws,
        load: Load,
    ) -> None:
        """Find the contacts of the coming step and add them to `load`."""
        new, old = self._next, self.last
        remembered = (old.count, old.place, old.pressed, old.trail, strands.model.gravity, strands.dt)
        outputs = (new.count, new.place, self._record, load.force, load.resistance, load.coupling)
        state = (strands.points, strands.velocity, strands.model.mass, inertia)
        fill_pose_pair(moving.before, moving.after, self._poses)
        self._arrays = self.clearance.arrays(moving, strands, self._poses)
        geometry = (self._arrays, self._poses, self.inner, self.thickness, laws)
        masks = (arc, self._lowest, self._margin, held, strands.active)
        known = (self.clearance.measured, self._between)
        kernels.find_contacts(*geometry, *state, *masks, *remembered, *known, *outputs)

    @property
    def touches(self) -> bool:
        """Whether the coming step has contacts."""
        return bool(self._next.count.any())

    def drop_wrong(
        self, bounds: tuple[float, float], attempt: int, strands: StrandView, load: Load, changed: NDArray[np.bool_]
    ) -> None:
        """Take contacts that pull or stretch hair out of `load`, see `drop_wrong_contacts`, and mark their strands."""
        new, model = self._next, strands.model
        hair = (strands.points, strands.velocity, model.mass, model.rest_length, model.stretch_stiffness)
        loads = (load.force, load.resistance, load.coupling)
        drop_wrong_contacts(
            self.inner, *hair, strands.dt, bounds, attempt, new.count, new.place, self._record, *loads, changed
        )

    def settle(self, strands: StrandView) -> None:
        """Measure the forces of the step that was made, which become those of the last step."""
        new = self._next
        kernels.settle_contacts(
            self.inner, strands.velocity, new.count, new.place, self._record, new.pressed, new.trail
        )
        self.last, self._next = new, self.last

    def depth(self, strands: StrandView, held: NDArray[np.bool_]) -> float:
        """How deep a vertex is inside at the end of the step [m]."""
        measure_depth(
            self._arrays,
            self._poses,
            strands.points,
            held,
            strands.active,
            self.clearance.measured,
            self._deepest,
        )
        return float(self._deepest.max())


def arc_lengths(model: StrandModel) -> Float64Array:
    """Distance of each vertex from the root along the groomed strand [m], shape (G, V)."""
    arc = np.zeros((model.strand_count, model.vertex_count))
    np.cumsum(model.rest_length, axis=1, out=arc[:, 1:])
    return arc
