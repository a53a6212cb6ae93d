"""`PhysicalSkin`: hairs rebuilt from the guides' internal forces and their own rest shape (hsu2024 section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.solid import Solid
from mane.geometry import quaternion
from mane.geometry.checks import FloatArray, IntArray, as_array, require_finite
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin import _kernels_linear
from mane.skin.base import Skin
from mane.skin.binding import Binding, GuidesPerHair
from mane.skin.inserted import Regrouped
from mane.skin.linear_blend import LinearBlend
from mane.skin.physical import _kernels, _kernels_general, _kernels_rest
from mane.skin.physical.blocks import HairBlocks
from mane.skin.physical.chain import ChainSolve
from mane.skin.physical.contact import leave_solids, leave_solids_repeatedly
from mane.skin.physical.forces import InheritedForces, rotations_at_roots
from mane.skin.physical.guidance import Guidance
from mane.skin.physical.loads import GuideLoads
from mane.skin.physical.mechanics import HairMechanics
from mane.skin.physical.params import PhysicalParams
from mane.skin.physical.rest import HairRest, joined, pieces, solve_rest
from mane.skin.physical.set_forces import SetForces
from mane.skin.root_carry import RootCarry
from mane.skin.safety import HairSpacing
from mane.skin.solids import SkinSolids
from mane.stage.memory import load, save, save_interval
from mane.stage.protocol import Memory
from mane.strand.frame import GuideFrame
from mane.strand.material import Material
from mane.strand.model import Float64Array, StrandModel

BLOCKS_PER_TASK = 16
ROWS_AT_ONCE = 4096  # hairs that are bound together
TARGET = "target/"  # before the names of what the target remembers
STIFFER = 1e-9  # relative; more than rounding
# Of a hair's length: what the method may be off, besides what so many weights stretch a hair by.
LENGTH_ERROR = 0.01
STRETCH_IN_STRAINS = 4.0


class PhysicalSkin(LinearBlend):
    """Interpolates what the guides feel instead of where they are, and lets every hair take its own shape under it.

    Lengths and curls survive where linear skinning squashes them. A weak pull towards the linear result (the drift
    correction) keeps a hair beside its guides.

    Args:
        groom: the dense hair at rest, all strands with the same vertex count.
        guides: what carries it, at rest.
        binding: `triangle` (three guides around the root), `single`, `nearest` or `clump` (`bind_guides`).
        count: guides per hair of `nearest`, 1 to 8.
        material: of the hairs; strength and weight of each hair follow from it.
        guide_model: mechanics of the guides as simulated; by default guides of the same material.
        guide_stiffening: factor by which each guide was stiffened to stand as groomed (`strand.standing`), shape (G,).
            Hairs are stiffened like the guides that carry them, or else they would yield more to the same load.
        rest: the guides at rest, whose forces give the groom when `sag_free`; by default each carries its own weight.
        target: skin whose points the drift correction pulls to; by default the linear one.
        forces_of_sets: where the target is an adaptive skin, hairs feel the guides of their sets in place of those
            around their roots.
        solids: what segments are turned out of, in the order of `frame.solid_poses`.
        settings: fields of `PhysicalParams`.

    Attributes:
        params: the settings.
        solids: as given.

    Limitations: stiffness and weight are one number per hair, their mean from root to tip. Twisting is as stiff as
    bending.
    """

    name = "physical"
    version = 3  # a target is asked once per frame, and remembers
    takes_target = True
    examples = ({}, {"sweeps": 2, "warm_start": "previous"}, {"sweeps": "converged"})
    settings = PhysicalParams
    needs = ("material", "guide_model", "guide_stiffening", "rest")

    def __init__(
        self,
        groom: Groom,
        guides: Guides,
        *,
        binding: Binding = "triangle",
        count: GuidesPerHair = 3,
        material: Material | None = None,
        guide_model: StrandModel | None = None,
        guide_stiffening: ArrayLike | None = None,
        rest: GuideFrame | None = None,
        target: Skin | None = None,
        forces_of_sets: bool = True,
        solids: Sequence[Solid] = (),
        **settings: Any,
    ) -> None:
        self._spacing = HairSpacing(groom)
        groom = self._spacing.groom
        super().__init__(groom, guides, binding=binding, count=count)
        self.params = PhysicalParams(**settings)
        if solids and self.params.warm_start == "previous":
            raise ValueError("solids: must be none with warm_start 'previous'; a finishing pass keeps them out")
        self.solids = tuple(solids)
        self._solids = SkinSolids(solids) if solids else None
        self._target = target
        self._goals: FloatArray | None = None  # where the target has the hairs of this frame
        self._set_forces: SetForces | None = None
        material = Material() if material is None else material
        model = material.model(guides) if guide_model is None else guide_model
        segments = self._points.shape[1] - 1
        self._loads = GuideLoads.of(model, self.params, rest)
        if forces_of_sets:
            self._set_forces = SetForces.of(target, self._loads.at_rest, self.params)
        ones = np.ones(guides.capacity) if guide_stiffening is None else guide_stiffening
        self._guide_stiffening = as_array("guide_stiffening", ones, (guides.capacity,), np.float64)
        require_finite("guide_stiffening", self._guide_stiffening)
        hairs = HairMechanics.of(material, groom, self._loads.forces.gravity)
        bend, strain = self._scaled(hairs)
        self._lanes = HairBlocks.cut(self.bundles)
        self._data = self._lanes.empty_data(segments + 1)
        self._load_places = self._places_of_loads(self._parameter)
        self._stiffened = 0
        still = self._inherited(
            self._loads.at_rest, np.tile([0.0, 0.0, 0.0, 1.0], (guides.capacity + 1, 1)), self._weight
        )
        solved = []
        if self.params.is_plain:
            self._pack(still, bend, strain)
        else:
            for rows in pieces(groom.strand_count, ROWS_AT_ONCE):
                piece = self._bind(still, bend[rows], strain[rows], rows)
                if self.params.feels_beyond:
                    solved.append(piece)
        if not self.params.stretch_by_blend:
            own = STRETCH_IN_STRAINS * strain
            self.safety.expect(1 - LENGTH_ERROR - own, 1 + LENGTH_ERROR + own)
        self._chain = ChainSolve(self._lanes, joined(solved), self.params) if solved else None
        if self._chain is not None:
            self.save_every = save_interval(self._chain.memory_bytes)
        if target is not None:
            self.save_every = max(self.save_every, target.save_every)
        self._guidance: Guidance | None = None
        if self._is_simple:
            places = self._parameter[:, :, : segments + 1]
            self._guidance = Guidance.of(self._guide, places, self._load_places, guides.rest.shape[:2], self._keep)

    def _scaled(self, hairs: HairMechanics) -> tuple[Float64Array, Float64Array]:
        """Stiffness of hairs over their weight [m^2], as stiffened as their guides, and their strain, both (S,)."""
        every = slice(0, self.groom.strand_count)
        held = np.einsum("sk,sk->s", self._weight, self._guide_stiffening[self._guides_of(every)])
        bend, strain = held * hairs.bend, hairs.strain
        if self.params.carries_moments:
            factor = self._length_share(every)
            # Moments of short guides are many of their weights, and no tension: where they are not to bend a long hair
            # any more than its guides, they must not stretch it either.
            bend, strain = bend * factor, strain / np.maximum(factor, 1.0)
        return bend, strain

    def _pack(self, still: InheritedForces, bend: Float64Array, strain: Float64Array) -> None:
        """Solve for the rest of all hairs where one sweep is all there is."""
        params = self.params
        _kernels_rest.pack_blocks(
            self.groom.as_uniform(),
            still.force,
            self._weight,
            self.bundles.of_hair,
            bend,
            strain,
            params.alpha * params.drift,
            1 - params.alpha,
            self._keep,
            self._pivot,
            self._lanes.hair,
            self._data,
        )

    def _bind(self, still: InheritedForces, bend: Float64Array, strain: Float64Array, rows: slice) -> HairRest:
        """Solve for the rest of some hairs and pack it; a few at a time, since double precision takes much room."""
        points = self.groom.as_uniform()[rows].astype(np.float64)
        force, _ = still.of_hairs(rows)
        solved = solve_rest(points, force, bend, strain, self.params)
        self._stiffened += int((solved.bend > (1 + STIFFER) * bend).sum())
        points -= self._pivot
        share = 1 - self.params.alpha
        self._lanes.pack(
            np.arange(rows.start, rows.stop), solved, points, self._weight[rows], share, self._keep, self._data
        )
        return solved

    def _guides_of(self, rows: slice) -> NDArray[np.int32]:
        """Guides of some hairs, shape (H, K)."""
        return self._guide[self.bundles.of_hair[rows]]

    def _length_share(self, rows: slice) -> Float64Array:
        """Factor on the stiffness of some hairs (H,) with which a load bends them as it bends guides of their length.

        What a load f does to a rod depends on f L^2 / E I alone, and with f in weights that grows with the third power
        of the length. A guide's load as such is that of its own length: bent by it to the same shape, a hair of
        another length is bent as its guide is.
        """
        ratio = self.groom.lengths[rows, None] / self.guides.strands.lengths[self._guides_of(rows)].astype(np.float64)
        share: Float64Array = (self._weight[rows] * ratio**3).sum(axis=1)
        return share

    @property
    def stiffened_count(self) -> int:
        """Hairs that were made stiffer to hold the groom; none with one sweep, which holds any."""
        return self._stiffened

    def _places_of_loads(self, parameter: FloatArray) -> FloatArray:
        """Places on the guides whose load goes with the hairs' vertices, from those whose motion does, (M, K, V).

        Moments belong to the places beside the hair, as positions do: where guides are bent over a shoulder, hairs are.
        A cut force alone is the weight of what lies beyond: a hair has the same share of it at the same share of its
        length.
        """
        if self.params.carries_moments:
            return np.ascontiguousarray(parameter[:, :, : self._points.shape[1]])
        share = np.linspace(0, self.guides.vertex_count - 1, self._points.shape[1], dtype=np.float32)
        return np.tile(share, (*parameter.shape[:2], 1))

    def _inherited(self, load: Float64Array, rotations: Float64Array, weight: FloatArray) -> InheritedForces:
        """What hairs feel where guides have `load (G, M, 3)` and the skin at their roots and the head have turned."""
        return InheritedForces(load, self._load_places, rotations, weight, self._guide, self.bundles.of_hair)

    def _fill(self, frame: GuideFrame, out: FloatArray) -> None:
        self._fill_seen(frame, frame, out)

    def _fill_seen(self, frame: GuideFrame, seen: GuideFrame, out: FloatArray) -> None:
        """Fill `out` with hairs on the head of `seen`, which is `frame` or the rest pose of a body that deforms."""
        inherited, share = self._fill_freely(frame, seen, out)
        if self._solids is not None:
            self._leave_solids(frame, inherited, out)
        self._hand_to_head(seen, share, out)

    def _fill_on_skin(self, frame: GuideFrame, carry: RootCarry, out: FloatArray) -> None:
        """Solids are met where hair really is: after it was carried there."""
        seen = carry.seen(frame)
        if self._solids is None:
            self._fill_seen(frame, seen, out)
            carry.carry(frame, out)
            return
        inherited, share = self._fill_freely(frame, seen, out)
        carry.carry(frame, out)
        self._leave_solids(frame, inherited, out, carry)
        self._hand_over(lambda rows: self._carried_alone(frame, carry, rows), share, out)

    def _carried_alone(self, frame: GuideFrame, carry: RootCarry, rows: IntArray) -> FloatArray:
        """Hairs at rest, carried by the skin at their roots (H, V, 3)."""
        alone = self.groom.as_uniform()[rows]
        carry.carry(frame, alone, rows)
        return alone

    def _fill_freely(self, frame: GuideFrame, seen: GuideFrame, out: FloatArray) -> tuple[InheritedForces, FloatArray]:
        """Fill `out` as if there were no solids; returns what hairs feel, and how far each hangs on its guides."""
        weight, share = self._present_weights(seen, self._weight, self._guide)
        rotations = rotations_at_roots(seen)
        inherited = self._inherited(self._loads.of_frame(seen, rotations), rotations, weight)
        part = self._regrouped(seen, weight)
        if part is not None:
            inherited = replace(inherited, regrouped=(part.hairs, self._inherited_by(seen, part, inherited.load)))
        self._ask_target(frame, seen, inherited)
        if self._chain is not None:
            self._fill_targets(seen, out)
            self._chain.solve(inherited, out)
        else:
            self._sweep(seen if seen.inserted is None else replace(seen, inserted=None), inherited, out)
            if part is not None:
                self._sweep_again(seen, part, inherited, out)
                self._has_norms = False
        return inherited, share

    def _ask_target(self, frame: GuideFrame, seen: GuideFrame, inherited: InheritedForces) -> None:
        """Ask the target where hairs belong: once per frame, since it may go on from the one before."""
        if self._target is None:
            return
        self._goals = self._target.aim(frame, seen)
        if self._set_forces is not None:
            self._set_forces.shift(inherited, self._goals)

    def _fill_targets(self, frame: GuideFrame, out: FloatArray) -> None:
        if self._goals is None:
            super()._fill(frame, out)
        else:
            out[...] = self._goals

    def _sweep(self, frame: GuideFrame, inherited: InheritedForces, out: FloatArray) -> None:
        """Fill `out` with one sweep."""
        lanes, params = self._lanes, self.params
        share = np.float32(1 - params.alpha)
        pull = np.float32(params.alpha * params.drift)
        if self._guidance is not None and inherited.weight is self._weight:
            rotation = np.empty((len(frame.points), 3, 3))
            _kernels_linear.fill_turns(frame.root_rotations, rotation)
            first = int(self.guides.active.argmax())
            # A rigid head with all its guides, three for each hair: what nearly every frame is.
            if (rotation[self.guides.active] == rotation[first]).all():
                guidance = self._guidance.fill(frame.points, self._guide_rest, rotation, share * inherited.load)
                _kernels.sweep_hairs(
                    self._data.reshape(-1),
                    lanes.hair.reshape(-1),
                    lanes.bundle,
                    guidance.reshape(-1),
                    out.shape[1],
                    rotation[first].reshape(-1).astype(np.float32),
                    inherited.rotations[first].astype(np.float32),
                    pull,
                    np.float32(pull * params.drift_gain_used),
                    BLOCKS_PER_TASK,
                    self.safety.norms if self.is_checked else None,
                    out.reshape(-1),
                )
                self._has_norms = True
                return
        self._fill_targets(frame, out)
        _kernels_general.sweep_hairs_to(
            self._data.reshape(-1),
            lanes.hair,
            lanes.bundle,
            self._guide,
            inherited.weight,
            inherited.force,
            share,
            inherited.rotations.astype(np.float32),
            pull,
            np.float32(params.drift_gain_used),
            pull if params.overshoots else np.float32(0.0),
            np.float32(1 / params.drift if params.stretch_by_blend else 0.0),
            BLOCKS_PER_TASK,
            out.reshape(len(out), -1),
        )

    def _inherited_by(self, frame: GuideFrame, part: Regrouped, own: Float64Array) -> InheritedForces:
        """What hairs that follow inserted guides feel; `own` are the loads of the other guides."""
        assert frame.inserted is not None
        if "loads" not in part.kept:
            part.kept["loads"] = self._loads.rest_of_inserted(frame.inserted)
        rotations = rotations_at_roots(part.frame)
        inserted = self._loads.of_inserted(frame.inserted, part.kept["loads"], rotations[len(own) : -1])
        places = self._places_of_loads(part.parameter)
        return InheritedForces(
            np.concatenate([own, inserted]), places, rotations, part.weight, part.guide, part.of_hair
        )

    def _sweep_again(self, frame: GuideFrame, part: Regrouped, inherited: InheritedForces, out: FloatArray) -> None:
        """Fill the rows of the hairs that follow inserted guides with a sweep of their own."""
        assert inherited.regrouped is not None
        own, params = inherited.regrouped[1], self.params
        targets = self._carried(part) if self._goals is None else self._goals[part.hairs]
        points = np.ascontiguousarray(targets[:, : out.shape[1]]).reshape(len(part.hairs), -1)
        lanes, data = self._lanes_of(part)
        pull = np.float32(params.alpha * params.drift)
        _kernels_general.sweep_hairs_to(
            data.reshape(-1),
            lanes.hair,
            lanes.bundle,
            part.guide,
            part.weight,
            own.force,
            np.float32(1 - params.alpha),
            own.rotations.astype(np.float32),
            pull,
            np.float32(params.drift_gain_used),
            pull if params.overshoots else np.float32(0.0),
            np.float32(1 / params.drift if params.stretch_by_blend else 0.0),
            BLOCKS_PER_TASK,
            points,
        )
        out[part.hairs] = points.reshape(-1, *out.shape[1:])

    def _lanes_of(self, part: Regrouped) -> tuple[HairBlocks, FloatArray]:
        """Blocks of the hairs that follow inserted guides, numbered as in `part`, and what the kernel reads of them."""
        if "lanes" not in part.kept:
            local = np.full(self.bundles.bundle_count, -1)
            local[part.bundle] = np.arange(len(part.bundle))
            lanes, data = self._lanes.of_bundles(local >= 0, self._data)
            hair = np.searchsorted(part.hairs, lanes.hair).astype(np.int32)
            part.kept["lanes"] = HairBlocks(hair, lanes.is_filled, local[lanes.bundle]), data
        lanes_and_data: tuple[HairBlocks, FloatArray] = part.kept["lanes"]
        return lanes_and_data

    @property
    def _keep(self) -> float:
        """1 - `drift_gain`: part of the gap that the drift correction does not close."""
        return 1 - self.params.drift_gain_used

    @property
    def _is_simple(self) -> bool:
        """Whether hairs of a rigid head can be swept with targets summed on the way."""
        is_usual = self._guide.shape[1] == _kernels.GROUP and self._target is None
        return is_usual and not (self._chain or self.params.overshoots or self.params.stretch_by_blend)

    def _leave_solids(
        self, frame: GuideFrame, inherited: InheritedForces, out: FloatArray, carry: RootCarry | None = None
    ) -> None:
        """Sweep the hairs that reach into a solid once more, with the penetration torque.

        With `carry`, what hairs feel is known in the rest pose of the skin and turned along.
        """
        assert self._solids is not None
        rows = self._solids.penetrating(frame, out)
        if not len(rows):
            return
        targets = np.empty_like(out)
        self._fill_targets(frame if carry is None else carry.seen(frame), targets)
        goals = targets[rows]
        force, turn = inherited.of_hairs(rows)
        if carry is not None:
            carry.carry(frame, goals, rows)
            rotations = carry.rotations(frame)[rows]
            force, turn = quaternion.rotate(rotations[:, None], force), quaternion.multiply(rotations, turn)
        self._has_norms = False
        given = (force, turn, self.params, goals)
        if self._chain is None:
            out[rows] = leave_solids(self._solids.at(frame), self._lanes.unpack(self._data, rows), *given)
        else:
            out[rows] = leave_solids_repeatedly(self._solids.at(frame), self._chain.rest_of(rows), *given)

    def reset(self) -> None:
        """Forget the frames before."""
        if self._chain is not None:
            self._chain.reset()
        if self._target is not None:
            self._target.reset()

    @property
    def remembers(self) -> bool:
        """Whether a frame depends on those before it: with a warm start from there, or a target that remembers."""
        return self.params.warm_start == "previous" or (self._target is not None and self._target.remembers)

    def memory(self) -> Memory:
        """Orientations of the last frame, for a warm start, and what the target remembers."""
        own = {} if self._chain is None else self._chain.memory()
        if self._target is None or not self._target.remembers:
            return own
        of_target = save([self._target])
        return {**own, **{f"{TARGET}{name}": array for name, array in of_target.items()}}

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        if self._chain is not None:
            self._chain.restore(memory)
        if self._target is None:
            return
        of_target = {name.removeprefix(TARGET): array for name, array in memory.items() if name.startswith(TARGET)}
        if of_target:
            load([self._target], of_target)
        else:
            self._target.reset()

    @property
    def nbytes(self) -> int:
        """Bytes that the binding holds, its buffer included."""
        held = (self._chain, self._solids, self._guidance, self._target)
        parts = sum(part.nbytes for part in held if part is not None)
        return super().nbytes + self._data.nbytes + self._lanes.nbytes + parts
