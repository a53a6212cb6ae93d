"""`XpbdSolver`: guides as the Cosserat rods of hsu2024 section 3, stepped as that paper steps them.

Stretch-shear and bend-twist constraints (eq. 1 to 3) are solved one after the other, from root to tip, a given number
of times per step, each with the compliance of its stiffness (Macklin et al. 2016, Kugelstadt and Schoemer 2016). At few
iterations hair is longer and stiffer than its material; model `cosserat` solves the same energy at once.
`mane validate strands` prints what either costs and how far off it is.

More iterations do not lead to the implicit step as long as that is long: multipliers start at zero in every step, so
that joints under load are first straightened and then bent again, and what moved them on the way is not what holds them
in the end. A groom that is sag-free moves by some thousandths of its length at steps of 1 ms, by 1e-4 at 0.1 ms.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import get_num_threads

from mane.geometry import quaternion
from mane.geometry.checks import IntArray
from mane.geometry.limits import Count, Positive, check_limits
from mane.simd.align import zeros_aligned
from mane.strand.model import Float64Array, RootKind, StrandModel
from mane.strand.ports import Load
from mane.strand.rod_rest import RestShape, groomed_rest, sag_free_rest
from mane.strand.rods import RodSolver
from mane.strand.roots import RootPose
from mane.strand.state import StrandState
from mane.strand.xpbd import _kernels as kernels
from mane.strand.xpbd._kernels_constraints import FIRST, STRIDE


@dataclass(frozen=True)
class XpbdParams:
    """Settings of `XpbdSolver`.

    Attributes:
        iterations: passes over all constraints of a strand per step. hsu2024 does not say how many it takes.
        k_norm: k_bt / k_ss, what bending counts over stretching: eq. 1 is made that much softer than the material's
            bending asks for (hsu2024 5, which does not give its own). None takes E A of the material, a k_norm of the
            square of radius over segment length, some 1e-5.
        sag_free: solve for the rest shape whose equilibrium under gravity is the groom; otherwise, as in hsu2024, the
            groom is the shape without gravity, and it sags.
    """

    iterations: Count = 50
    k_norm: Positive | None = None
    sag_free: bool = True

    def __post_init__(self) -> None:
        check_limits(self)


class XpbdSolver(RodSolver):
    """Steps Cosserat rods by extended position-based dynamics.

    Args:
        model: the guides. Twisting is as stiff as bending, as eq. 2 has one stiffness; damping is left out.
        settings: fields of `XpbdParams`.

    Attributes:
        params: the settings.
        rest: lengths and rest orientations that the constraints compare with.
    """

    name = "xpbd"
    version = 3  # what acts between strands counts on their masses alone
    settings = XpbdParams
    is_converged = False
    max_substep = 1e-3  # as in hsu2024 5

    def __init__(self, model: StrandModel, **settings: Any) -> None:
        self.model = replace(model, is_implicit=False)
        self.params = XpbdParams(**settings)
        rod = replace(model, stretch_stiffness=self._stretch(), twist_stiffness=model.bend_stiffness)
        self.rest = sag_free_rest(rod) if self.params.sag_free else groomed_rest(rod)
        # A joint that is bent off its rest by theta has |C| = 2 sin(theta / 4): k_bt = 4 E I / L makes that E I theta.
        self._bend = 4 * model.bend_stiffness / self.rest.joint_length
        self._k_ss = rod.stretch_stiffness * self.rest.length
        # A thin rod about its middle, as is usual in position-based dynamics; 4 I in terms of quaternions.
        mean_mass = 0.5 * (model.mass[:, :-1] + model.mass[:, 1:])
        self._weight = 3 / (mean_mass * self.rest.length**2)

    def _stretch(self) -> Float64Array:
        """k_ss / l of each segment (G, N) [N], E A where the material counts."""
        model = self.model
        if self.params.k_norm is None:
            return model.stretch_stiffness
        return 4 * model.bend_stiffness / (model.rest_length**2 * self.params.k_norm)

    def step(self, state: StrandState, out: StrandState, roots: RootPose, load: Load, *, dt: float) -> None:
        """Go one step of `dt` [s]; see `StrandSolver.step`."""
        model, rest = self.model, self.rest
        segments = (model.strand_count, model.segment_count)
        slots = int(FIRST) + model.vertex_count * int(STRIDE)
        kernels.step_xpbd(
            *(state.points.copy(), state.velocity, state.orientations.copy(), state.spin),
            *(load.force, load.resistance, load.coupling),
            *(roots.positions, roots.rotations, rest.clamp, model.root_kind, model.mass),
            *(self._k_ss, self._bend, rest.length, rest.darboux, self._weight),
            *(model.gravity, dt, self.params.iterations),
            *(
                np.zeros((model.strand_count, model.vertex_count, 6)),
                np.empty((*segments, 4)),
                np.empty((*segments, 3)),
            ),
            zeros_aligned((get_num_threads(), slots)),
            *(out.points, out.velocity, out.orientations, out.spin, out.cut_force, out.extra["clamp"]),
        )

    def taken(self, rows: IntArray) -> XpbdSolver:
        """Return a solver of some of the strands; see `StrandSolver.taken`."""
        other = copy(self)
        other.model, other.rest = self.model.taken(rows), self.rest.taken(rows)
        other._bend, other._k_ss, other._weight = self._bend[rows], self._k_ss[rows], self._weight[rows]
        return other

    def energy(self, state: StrandState) -> Float64Array:
        """Kinetic, elastic and gravitational energy of each strand [J], shape (G,); spinning segments left out."""
        stretch, bend = constraints(state, self.rest)
        held = np.ones_like(self._bend)
        held[self.model.root_kind != RootKind.CLAMPED, 0] = 0.0
        elastic = 0.5 * self._k_ss * (stretch**2).sum(axis=2) + 0.5 * held * self._bend * (bend**2).sum(axis=2)
        result: Float64Array = self.kinetic_energy(state) + self.gravity_energy(state) + elastic.sum(axis=1)
        return result


def constraints(state: StrandState, rest: RestShape) -> tuple[Float64Array, Float64Array]:
    """C_ss (G, N, 3) and C_bt (G, N, 4) of a state (hsu2024 eq. 1 to 3); joint 0 is against the clamp."""
    axis = quaternion.rotate(state.orientations, np.array([0.0, 0.0, 1.0]))
    stretch = np.diff(state.points, axis=1) / rest.length[..., None] - axis
    before = np.concatenate([state.extra["clamp"][:, None], state.orientations[:, :-1]], axis=1)
    bent = quaternion.multiply(quaternion.conjugate(before), state.orientations)
    phi = np.where((bent * rest.darboux).sum(axis=2, keepdims=True) < 0, -1.0, 1.0)
    return stretch, bent - phi * rest.darboux
