"""`SpringSolver`: guides as particles and springs (Selle, Lentine, Fedkiw 2008), as chai2017 and lee2018 use them.

`net` says which particles and springs there are and how they get the rod's stiffness, `rest` how their
rest lengths carry the weight. One step is implicit Euler over a part theta of it: Newton steps from where the present
motion would lead, each solved exactly in O(particles) by one banded elimination (`_kernels_solve`), springs,
damping and loads taken at the end of that stage, so that none of them limits its length. Strain limiting then brings
back segments that a violent step has left too long or too short, and everything goes on to the end of the step with the
velocities of the stage (`_kernels_stage`). The price is numerical damping, a seventh of Euler's, first order in
the step.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion
from mane.geometry.checks import IntArray, require_choice
from mane.geometry.limits import Count, NotNegative, Positive, Range, check_limits
from mane.geometry.threads import most_threads
from mane.simd.align import zeros_aligned
from mane.simd.f64x8 import WIDTH
from mane.simd.layout import take_lanes, to_blocks
from mane.strand._kernels_stage import THETA
from mane.strand.model import Float64Array, RootKind, StrandModel
from mane.strand.ports import Load
from mane.strand.roots import RootPose
from mane.strand.solver import StrandSolver, Theta
from mane.strand.spring import net as spring_net
from mane.strand.spring.net import GHOSTS, SpringNet, interleaved
from mane.strand.spring.rest import without_sag
from mane.strand.state import StrandState, carry_rigidly


@dataclass(frozen=True)
class SpringParams:
    """Settings of a `SpringSolver`.

    Without `stretch`, `bend`, `twist` and `damping` the springs follow from the model's physical constants. chai2017
    table 1 gives such numbers without units or masses. Assumed here: the force of a spring, divided by the mass of a
    segment, is `stretch`, `bend` or `twist` [m/s^2] times its strain, and `damping` [1/s] times the rate [m/s] at which
    a bending spring lengthens; the other springs share the bending springs' time constant, damping / stiffness. They
    replace the model's stiffness, and with it what `stiffen_to_stand` has done to it. With `sag_free` they are too soft
    to carry most grooms: joints that would rest too far off are stiffened, which `SpringSolver.note` tells.

    Attributes:
        preset: a name of `PRESETS`, whose numbers are taken where none are given here, or None.
        iterations: Newton steps per step at most; with 1 it is linearly implicit Euler.
        tolerance: no further Newton step is taken for a strand once the last has turned no segment by more [rad].
        strain_limit: segments are kept within this part of their rest length.
        theta: of the theta method: part of a calm step that its implicit stage takes, above 0.5; 1 is implicit Euler.
        stretch: of segments and braces [m/s^2], or None.
        bend: of bending springs [m/s^2], or None.
        twist: of twist springs [m/s^2], or None.
        damping: [1/s], or None.
        friction: Coulomb's coefficient that contact with solids and strips use unless they have their own, or None for
            that of the material.
    """

    preset: str | None = None
    iterations: Count = 6
    tolerance: NotNegative = 0.003
    strain_limit: Annotated[float, Range(above=0, below=1)] = 0.008
    theta: Theta = THETA
    stretch: Positive | None = None
    bend: Positive | None = None
    twist: Positive | None = None
    damping: NotNegative | None = None
    friction: NotNegative | None = None

    def __post_init__(self) -> None:
        if self.preset is not None:
            require_choice("preset", self.preset, list(PRESETS))
            for name, value in PRESETS[self.preset].items():
                if getattr(self, name) is None:
                    object.__setattr__(self, name, value)
        check_limits(self)
        if self.damping is not None and self.bend is None:
            raise ValueError("damping: needs `bend` to be a time constant; without it the model's damping is used")


# chai2017 table 1.
PRESETS = {
    "chai2017_straight": {"stretch": 3e5, "bend": 30.0, "twist": 15.0, "damping": 10.0, "friction": 0.05},
    "chai2017_wavy": {"stretch": 2e6, "bend": 200.0, "twist": 100.0, "damping": 10.0, "friction": 0.1},
}


class SpringSolver(StrandSolver):
    """Particles and springs, with an auxiliary particle beside every segment.

    Limitations: auxiliary particles have far more inertia against twist than a hair has (`net.AUXILIARY_MASS`).
    A twisting moment bends joints a little, to sides that go round along the strand (`net.FARTHEST`), so strands
    that are shaken kink a quarter more than rods do. Bending is that of the rod for joints within some 30 degrees of
    the groomed shape; beyond, either side of a joint answers differently.

    Args:
        model: the guides.
        sag_free: whether the groomed shape is the equilibrium under gravity; otherwise it is the shape without load.
        params: fields of `SpringParams`.

    Attributes:
        net: particles and springs.
        joint_stiffening: factor by which each joint was stiffened to carry its weight as groomed, shape (G, N).
    """

    name = "spring"
    settings = SpringParams
    has_twist = True

    def __init__(self, model: StrandModel, *, sag_free: bool = True, **params: Any) -> None:
        self.model = model
        self.params = SpringParams(**params)
        if self.params.friction is not None:
            self.model = replace(model, friction=self.params.friction)
        net = _with_given_constants(spring_net.make_net(model), model, self.params)
        self.joint_stiffening = np.ones(model.rest_length.shape)
        if sag_free:
            net, self.joint_stiffening = without_sag(net, model)
        self.net = net
        self._carries_weight = (model.root_kind != RootKind.FREE) & sag_free
        self._is_free = model.root_kind == RootKind.FREE
        self._constants = _packed(self.net)
        self._scratch: Float64Array | None = None

    @property
    def note(self) -> str:  # type: ignore[override]
        """Which joints were stiffened so that the groom does not sag, in one line; "" where none was."""
        raised = self.joint_stiffening[self.joint_stiffening > 1]
        if not raised.size:
            return ""
        return (
            f"{raised.size} of {self.joint_stiffening.size} joints are too soft to carry the groom and were stiffened "
            f"(sag_free = false leaves them soft): half of them less than {np.median(raised):.3g} times, the softest "
            f"{raised.max():.3g} times"
        )

    def rest_state(self, roots: RootPose) -> StrandState:
        """Return the groomed shape, carried by `roots`, without motion and with the cut forces of its equilibrium."""
        rest = self.net.rest_points
        rotation = roots.rotations[:, None]
        placed = quaternion.rotate(rotation, rest - rest[:, GHOSTS : GHOSTS + 1]) + roots.positions[:, None]
        state = StrandState.at_rest(placed[:, GHOSTS::2], quaternion.multiply(rotation, self.net.frames))
        beyond = np.cumsum(self.net.mass[:, ::-1], axis=1)[:, ::-1]
        carried = 0.5 * (beyond[:, GHOSTS + 1 :: 2] + beyond[:, GHOSTS + 2 :: 2])
        state.cut_force[...] = (carried * self._carries_weight[:, None])[..., None] * self.model.gravity
        auxiliary = np.ascontiguousarray(placed[:, GHOSTS + 1 :: 2])
        state.extra = {
            "auxiliary": auxiliary,
            "auxiliary_velocity": np.zeros_like(auxiliary),
            "clamp": np.ascontiguousarray(placed[:, :GHOSTS]),
            "tension": self.net.stiffness * (spring_net.spring_lengths(rest) - self.net.rest_length),
        }
        return state

    def step(self, state: StrandState, out: StrandState, roots: RootPose, load: Load, *, dt: float) -> None:
        """Go one step of `dt` [s]: read `state`, write `out` (may be the same object), with roots as at its end."""
        from mane.strand.spring._kernels_step import step_strands

        ghosts = np.empty_like(self._behind)
        old, new = state.extra, out.extra
        step_strands(
            self._constants,
            self._is_free,
            (
                state.points,
                state.velocity,
                old["auxiliary"],
                old["auxiliary_velocity"],
                old["clamp"],
                old["tension"],
                state.orientations,
                state.spin,
            ),
            (roots.positions, roots.rotations, self._behind, ghosts),
            (load.force, load.resistance, load.coupling),
            self.model.gravity,
            self.params.strain_limit,
            self.params.iterations,
            self.params.tolerance,
            self.params.theta,
            dt,
            self._scratch_buffer(),
            (
                out.points,
                out.velocity,
                new["auxiliary"],
                new["auxiliary_velocity"],
                out.orientations,
                out.spin,
                new["tension"],
            ),
            out.cut_force,
        )
        new["clamp"][...] = ghosts

    def taken(self, rows: IntArray) -> SpringSolver:
        """Return a solver of some of the strands; see `StrandSolver.taken`."""
        other = copy(self)
        other.model, other.net = self.model.taken(rows), self.net.taken(rows)
        other.joint_stiffening = self.joint_stiffening[rows]
        other._carries_weight, other._is_free = self._carries_weight[rows], self._is_free[rows]
        blocks = self._constants.reshape(*self._constants.shape[:2], -1, WIDTH)
        taken = take_lanes(blocks, rows)
        other._constants = taken.reshape(*taken.shape[:2], -1)
        other._scratch = None
        return other

    def adopt(self, state: StrandState, strands: NDArray[np.bool_]) -> None:
        """Points or velocities of the strands of the mask (G,) were changed from outside: make the rest agree."""
        from mane.strand.spring._kernels_frames import follow_segments

        follow_segments(
            np.flatnonzero(strands),
            state.points,
            state.velocity,
            self.net.azimuth,
            self.net.offset,
            state.orientations,
            state.spin,
            state.extra["auxiliary"],
            state.extra["auxiliary_velocity"],
        )

    def carry(self, state: StrandState, before: RootPose, after: RootPose) -> None:
        """Move every strand of `state` rigidly, in place, as its root goes from `before` to `after` (a teleport)."""
        rotation = quaternion.multiply(after.rotations, quaternion.conjugate(before.rotations))
        carry_rigidly(state, rotation, before.positions, after.positions)
        for name in ("auxiliary", "clamp"):
            places = state.extra[name]
            places[...] = (
                quaternion.rotate(rotation[:, None], places - before.positions[:, None]) + after.positions[:, None]
            )
        velocity = state.extra["auxiliary_velocity"]
        velocity[...] = quaternion.rotate(rotation[:, None], velocity)

    def energy(self, state: StrandState) -> Float64Array:
        """Kinetic, elastic and gravitational energy of each strand [J], shape (G,); gravity is zero at the origin."""
        net, extra = self.net, state.extra
        particles = interleaved(extra["clamp"], state.points, extra["auxiliary"])
        velocity = interleaved(np.zeros_like(extra["clamp"]), state.velocity, extra["auxiliary_velocity"])
        kinetic = 0.5 * (net.mass * (velocity**2).sum(axis=-1)).sum(axis=-1)
        potential = -(net.mass * (particles @ self.model.gravity)).sum(axis=-1)
        past = spring_net.spring_lengths(particles) - net.rest_length
        heights = spring_net.altitudes_of(particles) - net.rest_altitude
        springs = 0.5 * (net.stiffness * past**2).sum(axis=(1, 2))
        total: Float64Array = kinetic + potential + springs + 0.5 * (net.altitude_stiffness * heights**2).sum(axis=1)
        return total

    def stretch(self, state: StrandState) -> Float64Array:
        """Length of each segment over its own length without load, less one, shape (G, N)."""
        relative: Float64Array = (
            state.segment_lengths() / self.net.rest_length[:, GHOSTS + 2 :: 2, spring_net.TO_NEXT] - 1.0
        )
        return relative

    @property
    def _behind(self) -> Float64Array:
        """Ghosts (G, 2, 3) as groomed, seen from their roots."""
        rest = self.net.rest_points
        return rest[:, :GHOSTS] - rest[:, GHOSTS : GHOSTS + 1]

    def _scratch_buffer(self) -> Float64Array:
        """One buffer for each thread that there may be; made at the first step, since it holds nothing to keep."""
        if self._scratch is None:
            from mane.strand.spring._kernels import EMPTY, RECORD

            chunks = min(most_threads(), len(self._constants))
            self._scratch = zeros_aligned((chunks, (1 + self._constants.shape[1] + EMPTY) * int(RECORD)))
        return self._scratch


def _packed(net: SpringNet) -> Float64Array:
    """Constants of all particles as the kernel reads them, blocks of strands side by side."""
    free = (~net.is_held).astype(np.float64)
    single = [net.damping, net.altitude_stiffness, net.rest_altitude, free, net.mass]
    azimuth = np.zeros((*net.mass.shape, 2))
    azimuth[:, GHOSTS + 1 :: 2] = net.azimuth
    table = np.concatenate([net.stiffness, net.rest_length, np.stack(single, axis=-1), azimuth], axis=-1)
    blocks = to_blocks(table, repeat_last=True)
    return blocks.reshape(*blocks.shape[:2], -1)


def _with_given_constants(net: SpringNet, model: StrandModel, params: SpringParams) -> SpringNet:
    """Replace those stiffnesses that the settings give."""
    auxiliary, vertex = spring_net.AUXILIARY, spring_net.VERTEX
    brace, next_, far = spring_net.TO_BRACE, spring_net.TO_NEXT, spring_net.TO_FAR
    per_strain = (model.mass.sum(axis=1) / model.segment_count)[:, None, None] / net.rest_length
    stiffness, altitude, damping = net.stiffness.copy(), net.altitude_stiffness.copy(), net.damping.copy()
    if params.stretch is not None:
        stiffness[..., brace] = params.stretch * per_strain[..., brace]
        stiffness[:, vertex, next_] = params.stretch * per_strain[:, vertex, next_]
    if params.bend is not None:
        for which in (auxiliary, vertex):
            given = params.bend * per_strain[:, which, far]
            # An altitude keeps its share of the bending.
            altitude[:, which] *= given / np.where(
                net.stiffness[:, which, far] > 0, net.stiffness[:, which, far], np.inf
            )
            stiffness[:, which, far] = given
            if params.damping is not None:
                damping[:, which] = params.damping * net.rest_length[:, which, far] / params.bend
    if params.twist is not None:
        stiffness[:, auxiliary, next_] = params.twist * per_strain[:, auxiliary, next_]
    stiffness[:, : GHOSTS + 1] = 0.0
    given_net = replace(net.with_springs(stiffness, net.rest_length, altitude), damping=damping)
    return spring_net.without_clamp(given_net, model.root_kind)
