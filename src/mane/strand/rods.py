"""`RodSolver`: what solvers of Cosserat rods have in common, whatever way they step them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion
from mane.strand import _kernels_rods
from mane.strand.model import Float64Array
from mane.strand.rod_rest import RestShape
from mane.strand.roots import RootPose
from mane.strand.solver import StrandSolver
from mane.strand.state import StrandState, carry_rigidly


class RodSolver(StrandSolver):
    """Positions on vertices, orientations on segments, and the frame that the root is clamped in (`extra["clamp"]`).

    Attributes:
        rest: lengths and rest orientations that the constraints compare with.
    """

    has_twist = True
    rest: RestShape

    def rest_state(self, roots: RootPose) -> StrandState:
        """Return the groomed shape, carried by `roots`, without motion and with the cut forces of its equilibrium."""
        state = StrandState.at_rest(self.model.rest_points, self.rest.frames)
        state.cut_force[...] = self.rest.cut_force
        state.extra["clamp"] = self.rest.clamp.copy()
        identity = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (self.model.strand_count, 4))
        self.carry(state, RootPose(self.model.rest_points[:, 0], identity), roots)
        return state

    def adopt(self, state: StrandState, strands: NDArray[np.bool_]) -> None:
        """Turn the segments of changed strands to where their vertices now are; see `StrandSolver.adopt`."""
        _kernels_rods.adopt_strands(state.points, state.velocity, strands, state.orientations, state.spin)

    def carry(self, state: StrandState, before: RootPose, after: RootPose) -> None:
        """Move every strand rigidly with its root; see `StrandSolver.carry`."""
        rotation = quaternion.multiply(after.rotations, quaternion.conjugate(before.rotations))
        carry_rigidly(state, rotation, before.positions, after.positions)
        state.extra["clamp"][...] = quaternion.multiply(rotation, state.extra["clamp"])

    def kinetic_energy(self, state: StrandState) -> Float64Array:
        """Energy of the vertices' motion [J], shape (G,); that of spinning segments is a millionth of it."""
        result: Float64Array = 0.5 * (self.model.mass * (state.velocity**2).sum(axis=2)).sum(axis=1)
        return result

    def gravity_energy(self, state: StrandState) -> Float64Array:
        """Potential of gravity [J], shape (G,), zero at the origin."""
        result: Float64Array = -(self.model.mass * (state.points @ self.model.gravity)).sum(axis=1)
        return result

    def stretch(self, state: StrandState) -> Float64Array:
        """Length of each segment over its own length without load, less one, shape (G, N)."""
        return state.segment_lengths() / self.rest.length - 1
