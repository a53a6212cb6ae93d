"""`CosseratSolver`: guides as discrete Cosserat rods (hsu2024 section 3), inextensible without dozens of iterations.

Positions live on vertices and orientations on segments; stretch-shear and bend-twist constraints tie them together. One
step is extended position-based dynamics with its constraints solved together: the strand is predicted by its own
motion, all constraints are linearised there, and one block-banded solve finds the multipliers of the whole chain. What
the sweeps of model `xpbd` approach in hundreds of iterations is exact after one.

Steps are those of the theta method: an implicit stage over a part theta of the step, from which everything goes on to
its end with the velocities of the stage. A theta of one is implicit Euler, one half the implicit midpoint rule, which
keeps the energy of small oscillations; a little more loses a little energy, 2 theta - 1 of what Euler loses. Steps in
which something stops the hair or it turns wildly are Euler's: those must lose energy. Of first order, and stable at any
size.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from mane.geometry import quaternion
from mane.geometry.checks import IntArray
from mane.geometry.limits import check_limits
from mane.simd.align import zeros_aligned
from mane.simd.f64x8 import WIDTH
from mane.simd.layout import take_lanes, to_blocks
from mane.strand._kernels_stage import THETA
from mane.strand.cosserat import _kernels as kernels
from mane.strand.cosserat import _kernels_rows as rows
from mane.strand.model import Float64Array, RootKind, StrandModel
from mane.strand.ports import Load
from mane.strand.rod_rest import RestShape, groomed_rest, sag_free_rest
from mane.strand.rods import RodSolver
from mane.strand.roots import RootPose
from mane.strand.solver import Theta
from mane.strand.state import StrandState

# Solves of a stage, with one factorised matrix. That matrix leaves out how moments turn along with segments, so one
# solve may overshoot a stiff joint, which going on from the stage would amplify. After two no overshoot is left: where
# one leaves a part 1 - r of an error, two leave (1 - r)^2.
ROUNDS = 2

# Rotational inertia of a segment by itself, as a part of mass times length squared.
SPIN_INERTIA = 1e-3


@dataclass(frozen=True)
class CosseratParams:
    """Settings of the Cosserat solver.

    Attributes:
        sag_free: solve for the rest shape whose equilibrium under gravity is the groom; otherwise the groom is the
            shape without gravity, and it sags.
        theta: of the theta method: part of a calm step that its implicit stage takes, above 0.5; 1 is implicit Euler.
    """

    sag_free: bool = True
    theta: Theta = THETA

    def __post_init__(self) -> None:
        check_limits(self)


class CosseratSolver(RodSolver):
    """Steps Cosserat rods.

    Args:
        model: the guides.
        settings: fields of `CosseratParams`.

    Attributes:
        params: the settings.
        rest: lengths and rest orientations that the constraints compare with.
    """

    name = "cosserat"
    version = 2  # the matrix is renewed where hair is caught (docs/decisions/0036)
    settings = CosseratParams

    def __init__(self, model: StrandModel, **settings: Any) -> None:
        self.model = model
        self.params = CosseratParams(**settings)
        self.rest = sag_free_rest(model) if self.params.sag_free else groomed_rest(model)
        self._constants = pack_constants(model, self.rest)
        self._scratch = zeros_aligned((0, (model.vertex_count + 2) * rows.SCRATCH_ROWS * WIDTH))

    def step(self, state: StrandState, out: StrandState, roots: RootPose, load: Load, *, dt: float) -> None:
        """Go one step of `dt` [s]; see `StrandSolver.step`."""
        moving = (state.points, state.velocity, state.orientations, state.spin, state.cut_force)
        acting = (load.force, load.resistance, load.coupling)
        held = (roots.positions, roots.rotations, self.rest.clamp, state.extra["clamp"])
        result = (out.points, out.velocity, out.orientations, out.spin, out.cut_force, out.extra["clamp"])
        settings = (self._constants, self.model.gravity, dt, self.params.theta, ROUNDS, self._thread_scratch())
        kernels.step_direct(*moving, *acting, *held, *settings, *result)

    def taken(self, rows: IntArray) -> CosseratSolver:
        """Return a solver of some of the strands; see `StrandSolver.taken`."""
        other = copy(self)
        other.model, other.rest = self.model.taken(rows), self.rest.taken(rows)
        blocks = self._constants.reshape(len(self._constants), -1, WIDTH)
        other._constants = take_lanes(blocks, rows).reshape(-(-len(rows) // WIDTH), -1)
        return other

    def _thread_scratch(self) -> Float64Array:
        """Two rows per thread; zero where no strand ever writes, which stands for neighbours that are not there."""
        rows_needed = 2 * numba.get_num_threads()
        if len(self._scratch) < rows_needed:
            self._scratch = zeros_aligned((rows_needed, self._scratch.shape[1]))
        return self._scratch[:rows_needed]

    def energy(self, state: StrandState) -> Float64Array:
        """Kinetic, elastic and gravitational energy of each strand [J], shape (G,)."""
        return self.kinetic_energy(state) + self.elastic_energy(state) + self.gravity_energy(state)

    def elastic_energy(self, state: StrandState) -> Float64Array:
        """Energy of stretch-shear and bend-twist [J], shape (G,)."""
        edge = np.diff(state.points, axis=1) / self.rest.length[..., None]
        strain = edge - _axes(state.orientations)  # hsu2024 eq. 1
        stretch = 0.5 * self.model.stretch_stiffness * self.rest.length * (strain**2).sum(axis=2)
        before = np.concatenate([state.extra["clamp"][:, None], state.orientations[:, :-1]], axis=1)
        bent = quaternion.multiply(quaternion.conjugate(before), state.orientations)
        off = quaternion.multiply(quaternion.conjugate(self.rest.darboux), bent)
        off *= np.where(off[..., 3:] < 0, -1.0, 1.0)  # hsu2024 eq. 3
        model = self.model
        bend = 4 * model.bend_stiffness * (1 - off[..., 3])
        twist = 2 * (model.twist_stiffness - model.bend_stiffness) * off[..., 2] ** 2
        joints = (bend + twist) / self.rest.joint_length
        joints[model.root_kind != RootKind.CLAMPED, 0] = 0
        result: Float64Array = stretch.sum(axis=1) + joints.sum(axis=1)
        return result


def pack_constants(model: StrandModel, rest: RestShape) -> Float64Array:
    """Arrange what the kernel reads: blocks of eight strands, a row of lanes per number; the last strand fills up."""
    strands, vertices = model.strand_count, model.vertex_count
    per_joint = 1.0 / rest.joint_length
    per_joint[model.root_kind != RootKind.CLAMPED, 0] = 0.0
    spring = model.stretch_stiffness / rest.length
    # A segment turns with the mass of its ends, which the vertices hold. What it has by itself, that of its round
    # section, is some 1e-6 of that; a thousandth keeps the matrix of a strand that may spin freely well conditioned.
    mean_mass = 0.5 * (model.mass[:, :-1] + model.mass[:, 1:])
    free = np.ones_like(model.mass)
    free[model.root_kind != RootKind.FREE, 0] = 0.0
    named = {
        "mass": model.mass,
        "free": free,
        "inv_mass": free / model.mass,
        "stretch": model.stretch_stiffness,
        "length": rest.length,
        "spring": spring,
        "soft": rest.length / model.stretch_stiffness,
        "inv_length": 1.0 / rest.length,
        "springs": np.pad(spring, ((0, 0), (0, 1))) + np.pad(spring, ((0, 0), (1, 0))),
        "bend": model.bend_stiffness * per_joint,
        "extra_twist": (model.twist_stiffness - model.bend_stiffness) * per_joint,
        "damping": model.damping,
        "inertia": SPIN_INERTIA * mean_mass * rest.length**2,
    }
    table = np.zeros((strands, vertices + 1, rows.CONSTANT_ROWS))
    for column, name in enumerate(rows.CONSTANTS):
        values = named[name]
        table[:, : values.shape[1], column] = values
    table[:, : vertices - 1, -4:] = rest.darboux
    blocks = to_blocks(table, repeat_last=True)
    return blocks.reshape(len(blocks), -1)


def _axes(frames: Float64Array) -> Float64Array:
    """Third axis of quaternions (..., 4), shape (..., 3)."""
    x, y, z, w = np.moveaxis(frames, -1, 0)
    return np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=-1)
