"""`ChainSolver`: guides as serial multibody chains in generalized coordinates (chang2002 section 3).

A strand is a chain of rigid links. Joints have two degrees of freedom and no twist (`shape`), springs with
nonzero rest curvature and Kelvin-Voigt damping; masses sit on the vertices. Lengths are exact, because points come from
the directions of the links and never the other way round.

A step is implicit Euler over a part theta of it, from which the links turn on to its end with the rates of that stage
(`_kernels_stage`). Springs, damping, loads and the direction of tension are those at the end of the stage, so none of
them limits its size. It is solved by three rounds of Newton's method (`iterations`), each of them exact in O(links) by
the articulated-body recursion (`_kernels_links`): the first is linearised about the shape that the present motion leads
to, the others about what the one before has found. Velocity products need no terms of their own: momentum is compared
at the vertices, in world axes. The price is some numerical damping, a seventh of Euler's, first order in the step.

References: chang2002 3.1, 3.2 and 8; Featherstone's articulated-body method.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion
from mane.geometry.checks import IntArray
from mane.geometry.limits import Count, check_limits
from mane.simd.align import zeros_aligned
from mane.simd.f64x8 import WIDTH
from mane.simd.layout import take_lanes, to_blocks
from mane.strand._kernels_stage import THETA
from mane.strand.chain import shape as shape
from mane.strand.chain._kernels_rows import CONSTANT_ROWS, SLOT_ROWS
from mane.strand.chain.spine import spine_points
from mane.strand.model import Float64Array, RootKind, StrandModel
from mane.strand.ports import Load
from mane.strand.roots import RootPose
from mane.strand.solver import StrandSolver, Theta
from mane.strand.state import StrandState, carry_rigidly


@dataclass(frozen=True)
class ChainParams:
    """Settings of a `ChainSolver`.

    Attributes:
        iterations: how often a step is solved, each time linearised about the last result. One is enough for hair
            that swings; two keep the energy from growing in hair that whips, three in tight curls that are kicked.
        spine: simulate the smooth spine of curly strands and carry the curl on it, rigid in the frame of the spine's
            links (chang2002 8). Strands without at least two curls are simulated as they are.
        theta: of the theta method: part of a calm step that its implicit stage takes, above 0.5; 1 is implicit Euler.
    """

    iterations: Count = 3
    spine: bool = False
    theta: Theta = THETA

    def __post_init__(self) -> None:
        check_limits(self)


# Arrays of a solver whose first axis is the strand, besides those of its model.
_PER_STRAND = (
    "_clamped",
    "length",
    "rest_base",
    "_rest_frames",
    "offset",
    "stiffness",
    "_weight",
    "rest_curvature",
    "spin_inertia",
)


class ChainSolver(StrandSolver):
    """Chains without stretch and without twist.

    Limitations: a curl cannot unwind by twisting, and with `spine` it does not deform at all. A joint that folds back
    by a full half turn comes up on the other side of it, where a curled rest shape has another energy. Only clamped
    strands are free of sag; what hangs on a hinge has no moment at the root to stand with, and what is free falls.

    Args:
        model: the guides.
        sag_free: whether the groomed shape is the equilibrium under gravity; otherwise it is the shape without load.
        params: fields of `ChainParams`.

    Attributes:
        params: the settings.
        length: of the links [m], shape (G, N); with `spine`, those of the spine.
        rest_base: frame of the clamp in the rest pose of the head, shape (G, 4).
        offset: from the end of each link to its vertex, in the frame of the link [m], shape (G, N, 3); zero unless
            `spine`.
        stiffness: of the joints [N m], shape (G, N); zero at joint 0 where nothing clamps the root.
        rest_curvature: of the joints without moment, shape (G, N, 2); see `shape`.
        spin_inertia: of each strand about its own axis [kg m^2], shape (G,), which a free root turns with.
    """

    name = "chain"
    settings = ChainParams
    has_twist = False

    def __init__(self, model: StrandModel, *, sag_free: bool = True, **params: Any) -> None:
        self.model = model
        self.params = ChainParams(**params)
        self._clamped = model.root_kind == RootKind.CLAMPED
        spine = spine_points(model.rest_points) if self.params.spine else model.rest_points
        links = np.diff(spine, axis=1)
        self.length: Float64Array = np.linalg.norm(links, axis=2)
        directions = links / self.length[..., None]
        self.rest_base: Float64Array = quaternion.between_vectors(np.array([0.0, 0.0, 1.0]), directions[:, 0])
        self._rest_frames = shape.carried_frames(directions, self.rest_base)
        self.offset: Float64Array = quaternion.rotate(
            quaternion.conjugate(self._rest_frames), model.rest_points[:, 1:] - spine[:, 1:]
        )
        self.stiffness = model.bend_stiffness / model.joint_length
        self.stiffness[~self._clamped, 0] = 0.0
        self._weight = model.mass[..., None] * model.gravity
        self.rest_curvature = self._curvature_without_moment(spine, sag_free)
        self.spin_inertia = 0.5 * (model.mass * model.radius**2).sum(axis=1)
        self._gravity = model.gravity.copy()  # of one memory layout whatever the caller gave: one kernel for all
        self._constants = self._pack()
        self._scratch = zeros_aligned((0, model.vertex_count * SLOT_ROWS * WIDTH))

    # -- the contract ------------------------------------------------------------------------------------------------

    def rest_state(self, roots: RootPose) -> StrandState:
        """Return the groomed shape, carried by `roots`, without motion and with the cut forces of its equilibrium."""
        turn = roots.rotations[:, None]
        points = quaternion.rotate(turn, self.model.rest_points - self.model.rest_points[:, :1])
        state = StrandState.at_rest(points + roots.positions[:, None], quaternion.multiply(turn, self._rest_frames))
        state.cut_force[...] = np.where(self._clamped[:, None, None], shape.forces_beyond(self._weight), 0.0)
        state.extra["clamp"] = self._clamp(roots)
        state.extra["clamp_spin"] = np.zeros_like(roots.positions)
        return state

    def step(self, state: StrandState, out: StrandState, roots: RootPose, load: Load, *, dt: float) -> None:
        """Go one step of `dt` [s]; see `StrandSolver.step`."""
        from mane.strand.chain._kernels import step_chains

        if not (math.isfinite(dt) and dt > 0):
            raise ValueError(f"dt: must be a finite number of seconds above zero, got {dt}")
        resistance, coupling = self._lumped(load)
        step_chains(
            *(state.points, state.velocity, state.orientations, state.spin, state.cut_force),
            *(load.force, resistance, coupling),
            *(roots.positions, roots.rotations, self.rest_base, state.extra["clamp"]),
            *(self._constants, self._gravity, dt, self.params.theta, self.params.iterations, self.params.spine),
            self._thread_scratch(),
            *(out.points, out.velocity, out.orientations, out.spin, out.cut_force),
            *(out.extra["clamp"], out.extra["clamp_spin"]),
        )

    def taken(self, rows: IntArray) -> ChainSolver:
        """Return a solver of some of the strands; see `StrandSolver.taken`."""
        other = copy(self)
        other.model = self.model.taken(rows)
        for name in _PER_STRAND:
            setattr(other, name, getattr(self, name)[rows])
        blocks = self._constants.reshape(len(self._constants), -1, WIDTH)
        other._constants = take_lanes(blocks, rows).reshape(-(-len(rows) // WIDTH), -1)
        return other

    def adopt(self, state: StrandState, strands: NDArray[np.bool_]) -> None:
        """Points or velocities of the strands of the mask (G,) were changed from outside: make the rest agree.

        Every link turns towards its vertex from where the link before it has ended, so lengths stay exact and a strand
        whose segments had kept theirs stays where it was put; velocities along a link are dropped.
        """
        from mane.strand.chain._kernels_adopt import adopt_strands

        adopt_strands(
            state.points,
            state.velocity,
            state.orientations,
            state.spin,
            strands,
            self._clamped,
            state.extra["clamp"],
            state.extra["clamp_spin"],
            self.length,
            self.offset,
        )

    def carry(self, state: StrandState, before: RootPose, after: RootPose) -> None:
        """Move every strand rigidly with its root; see `StrandSolver.carry`."""
        turn = quaternion.multiply(after.rotations, quaternion.conjugate(before.rotations))
        carry_rigidly(state, turn, before.positions, after.positions)
        state.extra["clamp"][...] = quaternion.multiply(turn, state.extra["clamp"])
        state.extra["clamp_spin"][...] = quaternion.rotate(turn, state.extra["clamp_spin"])

    def energy(self, state: StrandState) -> Float64Array:
        """Kinetic, elastic and gravitational energy of each strand [J], shape (G,); gravity is zero at the origin."""
        kinetic = 0.5 * (self.model.mass * (state.velocity**2).sum(axis=-1)).sum(axis=1)
        strain = shape.curvature(state.orientations, state.extra["clamp"]) - self.rest_curvature
        elastic = 0.5 * (self.stiffness * (strain**2).sum(axis=-1)).sum(axis=1)
        total: Float64Array = kinetic + elastic - (self._weight * state.points).sum(axis=(1, 2))
        return total

    def stretch(self, state: StrandState) -> Float64Array:
        """Length of each segment over its own length without load, less one, shape (G, N).

        Zero to rounding, except with `spine`, where it says how far the carried curl is from keeping its length.
        """
        return state.segment_lengths() / self.model.rest_length - 1

    # -- building ----------------------------------------------------------------------------------------------------

    def _curvature_without_moment(self, spine: Float64Array, sag_free: bool) -> Float64Array:
        moments = shape.moments_beyond(spine[:, :-1], self.model.rest_points, self._weight)
        moments *= (self._clamped & sag_free)[:, None, None]
        full_stiffness = self.model.bend_stiffness / self.model.joint_length
        return shape.rest_curvature(self._rest_frames, self.rest_base, moments, full_stiffness)

    def _pack(self) -> Float64Array:
        """Arrange what the kernel reads: blocks of eight strands, a row of lanes per number; the last fills up."""
        model = self.model
        free = model.root_kind == RootKind.FREE
        numbers = np.zeros((model.strand_count, model.vertex_count, CONSTANT_ROWS))
        numbers[..., 0], numbers[..., 1] = model.mass, 1.0 / model.mass
        numbers[~free, 0, 1] = 0.0
        links = numbers[:, 1:]
        links[..., 2], links[..., 3] = self.length, 1.0 / self.length
        links[..., 4], links[..., 5] = self.stiffness, self.stiffness * model.damping
        links[..., 6:8], links[..., 8:] = self.rest_curvature, self.offset
        numbers[:, 0, 2:5] = np.stack([~self._clamped, free, self.spin_inertia], axis=1)
        blocks = to_blocks(numbers, repeat_last=True)
        return blocks.reshape(len(blocks), -1)

    # -- stepping ----------------------------------------------------------------------------------------------------

    def _clamp(self, roots: RootPose) -> Float64Array:
        frames: Float64Array = quaternion.multiply(roots.rotations, self.rest_base)
        return frames

    def _thread_scratch(self) -> Float64Array:
        """A buffer per thread, kept from step to step: fresh memory would cost as much as the solve."""
        threads = numba.get_num_threads()
        if len(self._scratch) < threads:
            self._scratch = zeros_aligned((threads, self._scratch.shape[1]))
        return self._scratch[:threads]

    def _lumped(self, load: Load) -> tuple[Float64Array, Float64Array]:
        """Resistance and coupling as the kernel takes them.

        The ends of a segment lie on one link, which makes their coupling exact. Vertices of a curl that is carried
        beside the chain lie on two links: there the coupling goes to the resistance of both ends, which resists any
        common motion alike and relative motion no less.
        """
        if not self.params.spine:
            return load.resistance, load.coupling
        resistance = load.resistance.copy()
        resistance[:, :-1] += load.coupling
        resistance[:, 1:] += load.coupling
        return resistance, np.zeros_like(load.coupling)
