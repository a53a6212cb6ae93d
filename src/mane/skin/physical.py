"""`PhysicalSkin`: hairs rebuilt from the guides' internal forces and their own rest shape (hsu2024 section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mane.body.solid import Solid
from mane.geometry import quaternion
from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin import _kernels_linear, _kernels_physical, _kernels_physical_given
from mane.skin._reference_physical import Guidance, Hairs, Rules
from mane.skin.base import Skin
from mane.skin.inserted import Regrouped
from mane.skin.linear import LinearSkin
from mane.skin.physical_chain import ChainSolve
from mane.skin.physical_contact import PosedSolids, resolve
from mane.skin.physical_forces import Felt, GuideForces, root_turns
from mane.skin.physical_lanes import Lanes
from mane.skin.physical_params import PhysicalParams
from mane.skin.physical_rest import solve_rest
from mane.strand.frame import GuideFrame
from mane.strand.material import Material
from mane.strand.model import Float64Array, StrandModel

BLOCKS_PER_TASK = 16
STIFFER = 1e-9  # relative; more than rounding


class PhysicalSkin(LinearSkin):
    """Interpolates what the guides feel instead of where they are, and lets every hair take its own shape under it.

    Lengths and curls survive where linear skinning squashes them. A weak pull towards the linear result (the drift
    correction) keeps a hair beside its guides.

    Args:
        groom: the dense hair at rest, all strands with the same vertex count.
        guides: what carries it, at rest.
        binding: `triangle` (three guides around the root), `single` or `nearest`.
        count: guides per hair of `nearest`, 1 to 8.
        material: of the hairs; strength and weight of each hair follow from it.
        guide_model: mechanics of the guides as simulated; by default guides of the same material.
        rest: the guides at rest, whose forces give the groom when `sag_free`; by default each carries its own weight.
        target: skin whose points the drift correction pulls to; by default the linear one.
        solids: what segments are turned out of, in the order of `frame.solid_poses`.
        settings: fields of `PhysicalParams`.

    Attributes:
        params: the settings.
        solids: as given.

    Limitations: stiffness and weight are one number per hair, their mean from root to tip. Twisting is as stiff as
    bending.
    """

    def __init__(
        self,
        groom: Groom,
        guides: Guides,
        *,
        binding: str = "triangle",
        count: int = 3,
        material: Material | None = None,
        guide_model: StrandModel | None = None,
        rest: GuideFrame | None = None,
        target: Skin | None = None,
        solids: Sequence[Solid] = (),
        **settings: Any,
    ) -> None:
        super().__init__(groom, guides, binding=binding, count=count)
        self.params = PhysicalParams(**settings)
        if solids and self.params.feels_beyond:
            raise ValueError(
                "solids: must be none with sweeps other than 1 or a warm start; a finishing pass keeps them out"
            )
        self.solids = tuple(solids)
        self._target = target
        material = Material() if material is None else material
        hairs = material.model(groom)
        model = material.model(guides) if guide_model is None else guide_model
        self._forces = GuideForces.of(model, segments=hairs.segment_count)
        force = np.zeros((hairs.strand_count, hairs.segment_count, 3))
        if self.params.sag_free:
            cut = self._forces.at_rest() if rest is None else self._forces.of_frame(rest)
            still = np.tile(quaternion.identity(dtype=np.float64), (guides.capacity + 1, 1))
            force, _ = self._felt(cut, still, self._weight).of_hairs(slice(None))
        weight = hairs.mass.sum(axis=1) * self._forces.gravity
        bend = hairs.bend_stiffness.mean(axis=1) / weight
        strain = weight / hairs.stretch_stiffness.mean(axis=1)
        solved = solve_rest(hairs.rest_points, force, bend, strain, self.params)
        self._stiffened = int((solved.bend > (1 + STIFFER) * bend).sum())
        self._chain = ChainSolve(solved, self.params) if self.params.feels_beyond else None
        self._lanes = Lanes.cut(self.bundles)
        self._data = self._lanes.pack(solved, hairs.rest_points - self._pivot, self._weight, 1 - self.params.alpha)
        shape = (self.bundles.bundle_count, hairs.vertex_count, _kernels_physical.PER_GUIDES)
        self._guidance = np.empty(shape, np.float32)

    @property
    def stiffened_count(self) -> int:
        """Hairs that were made stiffer to hold the groom; none with one sweep, which holds any."""
        return self._stiffened

    def _felt(self, force: Float64Array, turns: Float64Array, weight: FloatArray) -> Felt:
        return Felt(force, turns, weight, self._guide, self.bundles.of_hair)

    def _fill(self, frame: GuideFrame, out: FloatArray) -> None:
        weight, share = self._present_weights(frame, self._weight, self._guide)
        felt = self._felt(self._forces.of_frame(frame), root_turns(frame), weight)
        part = self._regrouped(frame, weight)
        if part is not None:
            felt = replace(felt, regrouped=(part.hairs, self._felt_by(frame, part)))
        if self._chain is not None:
            self._fill_targets(frame, out)
            self._chain.solve(felt, out)
        else:
            self._sweep(replace(frame, inserted=None), felt, out)
            if part is not None:
                self._sweep_again(frame, part, felt, out)
        if self.solids:
            self._leave_solids(frame, felt, out)
        self._hand_to_head(frame, share, out)

    def _fill_targets(self, frame: GuideFrame, out: FloatArray) -> None:
        if self._target is None:
            super()._fill(frame, out)
        else:
            self._target(frame, out)

    def _sweep(self, frame: GuideFrame, felt: Felt, out: FloatArray) -> None:
        """Fill `out` with one sweep."""
        rotation = quaternion.to_matrix(quaternion.normalize(frame.root_rotations.astype(np.float64)))
        matrices = self._turns(rotation.reshape(-1, 9).astype(np.float32), felt.weight)
        lanes, params = self._lanes, self.params
        force = ((1 - params.alpha) * felt.force).astype(np.float32)
        pull = np.float32(params.alpha * params.drift)
        points = out.reshape(len(out), -1)
        # A rigid head with all its guides, three for each hair: what nearly every frame is.
        if self._is_simple and felt.weight is self._weight and len(matrices) == 9:
            _kernels_linear.fill_guide_motion(frame.points, self._guide_rest, rotation, self._shift)
            _kernels_physical.fill_guidance(self._shift, force, self._guide, self._parameter, self._guidance)
            head, root = tuple(matrices), tuple(felt.turns[int(self.guides.active.argmax())].astype(np.float32))
            _kernels_physical.sweep_hairs(
                self._data,
                lanes.hair,
                lanes.filled,
                lanes.bundle,
                self._guidance,
                head,
                root,
                pull,
                BLOCKS_PER_TASK,
                points,
            )
            return
        self._fill_targets(frame, out)
        _kernels_physical_given.sweep_hairs_to(
            self._data,
            lanes.hair,
            lanes.filled,
            lanes.bundle,
            self._guide,
            felt.weight,
            force,
            felt.turns.astype(np.float32),
            pull,
            pull if params.overshoots else np.float32(0.0),
            np.float32(1 / params.drift if params.stretch_by_blend else 0.0),
            BLOCKS_PER_TASK,
            points,
        )

    def _felt_by(self, frame: GuideFrame, part: Regrouped) -> Felt:
        """What hairs that follow inserted guides feel."""
        assert frame.inserted is not None
        force = np.concatenate([self._forces.of_frame(frame), self._forces.of_inserted(frame.inserted)])
        return Felt(force, root_turns(part.frame), part.weight, part.guide, part.of_hair)

    def _sweep_again(self, frame: GuideFrame, part: Regrouped, felt: Felt, out: FloatArray) -> None:
        """Fill the rows of the hairs that follow inserted guides with a sweep of their own."""
        assert felt.regrouped is not None
        own, lanes, params = felt.regrouped[1], self._lanes, self.params
        targets = self._carried(part) if self._target is None else self._target(frame)[part.hairs]
        points = np.ascontiguousarray(targets[:, : out.shape[1]]).reshape(len(part.hairs), -1)
        local = np.zeros(self.bundles.bundle_count, np.int32) - 1
        local[part.bundle] = np.arange(len(part.bundle))
        blocks = np.flatnonzero(local[lanes.bundle] >= 0)
        pull = np.float32(params.alpha * params.drift)
        _kernels_physical_given.sweep_hairs_to(
            self._data[blocks],
            np.searchsorted(part.hairs, lanes.hair[blocks]).astype(np.int32),
            lanes.filled[blocks],
            local[lanes.bundle[blocks]],
            part.guide,
            part.weight,
            ((1 - params.alpha) * own.force).astype(np.float32),
            own.turns.astype(np.float32),
            pull,
            pull if params.overshoots else np.float32(0.0),
            np.float32(1 / params.drift if params.stretch_by_blend else 0.0),
            BLOCKS_PER_TASK,
            points,
        )
        out[part.hairs] = points.reshape(-1, *out.shape[1:])

    @property
    def _is_simple(self) -> bool:
        is_usual = self._guide.shape[1] == _kernels_physical.GROUP and self._target is None
        return is_usual and not (self.params.overshoots or self.params.stretch_by_blend)

    def _leave_solids(self, frame: GuideFrame, felt: Felt, out: FloatArray) -> None:
        """Sweep the hairs that reach into a solid once more, with the penetration torque."""
        solids = PosedSolids(self.solids, frame)
        rows = solids.penetrating(out)
        if not len(rows):
            return
        targets = np.empty_like(out)
        self._fill_targets(frame, targets)
        params = self.params
        length, first, bend, strain = self._lanes.unpack(self._data, rows)
        hairs = Hairs(length, first, first, bend, strain * (1 - params.alpha))
        force, turn = felt.of_hairs(rows)
        rules = Rules(params.alpha, params.drift, params.overshoots, params.stretch_by_blend, params.penetration)
        out[rows] = resolve(hairs, Guidance(force, targets[rows].astype(np.float64), turn), rules, solids)

    @property
    def nbytes(self) -> int:
        """Bytes that the binding holds, its buffer included."""
        chain = 0 if self._chain is None else self._chain.nbytes
        return super().nbytes + self._data.nbytes + self._lanes.nbytes + self._guidance.nbytes + chain
