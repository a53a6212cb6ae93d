"""`MeshDrag`: what hair in a tetrahedral mesh does to water, and a body by what clings to it (lee2018 3.4, fig. 14).

Hair is rasterised onto the tetrahedra by its size and occupancy; every cell of water that a tetrahedron overlaps is
dragged along with the mesh. Without any hair, distances to the body at rest, stored on the tetrahedra, make a layer
around it that takes water along, by a drag that may be keyframed down to nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.solid import Solid
from mane.fluid import _kernels_sample as kernels
from mane.fluid.flow import Exchange
from mane.fluid.grid import Grid
from mane.fluid.porous import drag_per_length
from mane.fluid.water import WATER_DENSITY, WATER_VISCOSITY
from mane.geometry.checks import require_positive
from mane.groom.groom import Groom
from mane.volume.embedding import Embedding
from mane.volume.lattice import Float64Array
from mane.volume.mesh import TetMesh

RADIUS = 40e-6  # of a hair [m]


def point_volumes(groom: Groom, radius: float) -> Float64Array:
    """Volume of the strand that belongs to every point of a groom [m^3], shape (P,): half of the segments beside it.

    Args:
        groom: P points.
        radius: of a strand [m].
    """
    size = np.linalg.norm(np.diff(groom.points.astype(np.float64), axis=0), axis=1)
    size[groom.offsets[1:-1] - 1] = 0.0  # from one strand to the next
    halves = 0.5 * (np.pad(size, (1, 0)) + np.pad(size, (0, 1)))
    volumes: Float64Array = math.pi * radius**2 * halves
    return volumes


def occupancy(
    mesh: TetMesh, embedding: Embedding, groom: Groom, *, hairs: float, radius: float = RADIUS
) -> Float64Array:
    """Part of every tetrahedron that hair takes, shape (T,).

    Args:
        mesh: that holds the hair.
        embedding: of the groom in it.
        groom: at rest.
        hairs: that every strand stands for.
        radius: of a hair [m].
    """
    require_positive("hairs", hairs)
    found = np.bincount(embedding.tets, hairs * point_volumes(groom, radius), mesh.tet_count)
    part: Float64Array = found / mesh.volumes
    return part


class MeshDrag:
    """Drag of a mesh on water.

    Args:
        mesh: at rest.
        solid_part: of every tetrahedron that hair takes, shape (T,); None for no hair.
        radius: of a hair [m].
        distances: of the middle of every tetrahedron to the body at rest [m], shape (T,); None for no layer.
        layer: how far from the body water clings to it [m].
        adhesion: times [s] and rates at the skin [1/s], shape (K, 2), times rising; fades to nothing over the layer.
        viscosity: of the water [Pa s].
        density: of the water [kg/m^3].
    """

    def __init__(
        self,
        mesh: TetMesh,
        solid_part: Float64Array | None = None,
        *,
        radius: float = RADIUS,
        distances: Float64Array | None = None,
        layer: float = 0.05,
        adhesion: Sequence[tuple[float, float]] = ((0.0, 0.0),),
        viscosity: float = WATER_VISCOSITY,
        density: float = WATER_DENSITY,
    ) -> None:
        require_positive("layer", layer)
        self.mesh = mesh
        self._rows = np.array(adhesion, np.float64).reshape(-1, 2)
        if not (
            np.isfinite(self._rows).all() and (self._rows[:, 1] >= 0).all() and (np.diff(self._rows[:, 0]) > 0).all()
        ):
            raise ValueError("adhesion: must be rows of rising times and rates of at least zero")
        part = np.zeros(mesh.tet_count) if solid_part is None else solid_part
        # all fibres of a volume together: Darcy's mu / K of Jackson and James
        self._porous = mesh.volumes * drag_per_length(part, viscosity) * part / (math.pi * radius**2)
        near = np.zeros(mesh.tet_count) if distances is None else np.clip(1.0 - distances / layer, 0.0, 1.0)
        self._clinging = mesh.volumes * density * near**2

    @classmethod
    def around(cls, mesh: TetMesh, body: Solid, **settings: Any) -> MeshDrag:
        """The layer around a body that has no hair, by its distances at rest."""
        middles = mesh.nodes[mesh.tets].mean(axis=1).astype(np.float32)
        return cls(mesh, distances=body.rest_distance(middles).astype(np.float64), **settings)

    def exchange(self, grid: Grid, nodes: Float64Array, velocity: Float64Array, time: float) -> Exchange:
        """What the mesh does to water on a grid, with nodes [m] and their velocities [m/s], (N, 3), at a time [s]."""
        rate = float(np.interp(time, self._rows[:, 0], self._rows[:, 1]))
        drag = self._porous + rate * self._clinging
        used = np.flatnonzero(drag > 0.0)
        weights = _spread(max(1, math.ceil(self.mesh.lattice.spacing / grid.cell)))
        corners = self.mesh.tets[used]
        places = np.einsum("kc,tci->tki", weights, nodes[corners]).reshape(-1, 3)
        moving = np.einsum("kc,tci->tki", weights, velocity[corners]).reshape(-1, 3)
        each = np.repeat(drag[used] / len(weights), len(weights))
        total, push = (np.zeros((3, *grid.padded), np.float32) for _ in range(2))
        kernels.scatter(
            (places - grid.origin) / grid.cell, each, each[:, None] * moving, np.array(grid.shape), total, push
        )
        return Exchange(total, push)


def _spread(count: int) -> NDArray[np.float64]:
    """Barycentric weights of places that are spread evenly in a tetrahedron, `count` along an edge, shape (K, 4)."""
    rows = [
        (a, b, c, count - 1 - a - b - c) for a in range(count) for b in range(count - a) for c in range(count - a - b)
    ]
    return (np.array(rows, np.float64) + 0.25) / count
