"""`Kdsm`: the kinematically deforming skinned mesh of lee2018 3.1, stepped along with a body."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mane.volume.driver import Driver
from mane.volume.lattice import Float64Array
from mane.volume.mesh import TetMesh
from mane.volume.recovery import recover
from mane.volume.springs import SpringMesh, SpringParams, lumped_masses

SETTLE_STEPS, SETTLE_STEP = 12, 0.2  # [s] each: long ones, after each of which the mesh stands still


@dataclass(frozen=True)
class MeshReport:
    """How a step of a mesh went.

    Attributes:
        smallest_ratio: of a tetrahedron's volume to that at rest, J, before inverted ones were brought back.
        inverted: tetrahedra that were inside out.
        left: of these and of nearly flat ones, those that could not be brought back.
        iterations: of the solution.
    """

    smallest_ratio: float
    inverted: int
    left: int
    iterations: int


@dataclass(frozen=True, eq=False)
class MeshState:
    """A mesh at one time.

    Attributes:
        nodes: [m], shape (N, 3).
        velocity: [m/s], shape (N, 3).
    """

    nodes: Float64Array
    velocity: Float64Array


class Kdsm:
    """A mesh that a body drives.

    Args:
        mesh: at rest.
        driver: what the body does to it.
        params: of its springs.

    Attributes:
        report: how the last step went.
    """

    def __init__(self, mesh: TetMesh, driver: Driver, params: SpringParams | None = None) -> None:
        params = params or SpringParams()
        self.mesh, self.driver, self.params = mesh, driver, params
        masses = lumped_masses(mesh.tets, mesh.volumes, params.density(mesh.lattice.spacing), mesh.node_count)
        self._springs = SpringMesh(mesh.nodes, mesh.tets, mesh.edges, masses, mesh.is_driven, params, driver.attachment)
        self.report = MeshReport(1.0, 0, 0, 0)

    def settled(self, points: Float64Array) -> MeshState:
        """Return the mesh at rest on a body at `points`, as a shot begins: no frame before it is known."""
        x = self.driver.nodes(points)
        still = np.zeros_like(x)
        if self.driver.attachment is not None:
            for _ in range(SETTLE_STEPS):
                x = self._moved(x, still, points, SETTLE_STEP)[0]
        return MeshState(x, still)

    def step(self, state: MeshState, points: Float64Array, dt: float) -> MeshState:
        """Return the mesh after `dt` [s], when the body is at `points`."""
        x, v = self._moved(state.nodes, state.velocity, points, dt)
        return MeshState(x, v)

    def _moved(
        self, x: Float64Array, v: Float64Array, points: Float64Array, dt: float
    ) -> tuple[Float64Array, Float64Array]:
        moved, after = self._springs.step(
            x, v, dt, driven=self.driver.driven(points), places=self.driver.places(points)
        )
        ratio = self.mesh.volume_ratios(moved)
        recovered, left = recover(self.mesh, moved)
        if recovered is not moved:
            after = after + (recovered - moved) / dt
        self.report = MeshReport(float(ratio.min()), int((ratio < 0).sum()), left, self._springs.iterations)
        return recovered, after
