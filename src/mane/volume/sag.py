"""Hair that hangs: a mesh around it that gravity pulls at until it stands still."""

from __future__ import annotations

import numpy as np

from mane.body.solid import Solid
from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom
from mane.volume.around import mesh_for, root_patches
from mane.volume.embedding import Embedding
from mane.volume.lattice import Float64Array
from mane.volume.mesh import TetMesh
from mane.volume.recovery import recover
from mane.volume.springs import SpringMesh, SpringParams, lumped_masses

GRAVITY = 9.81  # [m/s2]
STEPS, STEP = 10, 0.2  # [s] each, after each of which the mesh stands still


def sagged_points(groom: Groom, body: Solid | None, weight: float, mesh: TetMesh | None = None) -> FloatArray:
    """Points (S, V, 3) [m] of a groom with one vertex count whose mesh weighs `weight` times its own, and hangs.

    The mesh, one around the groom by default, carries itself already (lee2018 3.2.1: what gravity does is in it), so
    that `weight` less one pulls.
    """
    mesh = mesh_for(groom, body) if mesh is None else mesh
    patches = root_patches(groom, body, mesh)
    params = SpringParams()
    masses = weight * lumped_masses(mesh.tets, mesh.volumes, params.density(mesh.lattice.spacing), mesh.node_count)
    springs = SpringMesh(mesh.nodes, mesh.tets, mesh.edges, masses, mesh.is_driven, params)
    pull = np.zeros_like(mesh.nodes)
    pull[:, 1] = -GRAVITY * masses * (1 - 1 / weight)
    x = mesh.nodes
    still: Float64Array = np.zeros_like(x)
    for _ in range(STEPS):
        x = springs.step(x, still, STEP, driven=mesh.nodes, force=pull)[0]
    x = recover(mesh, x)[0]
    embedding = Embedding(groom, mesh, patches)
    maps = mesh.affine_maps(x)[embedding.tets]
    moved = np.einsum("pij,pj->pi", maps[:, :, :3], embedding.rest) + maps[:, :, 3]
    roots = groom.offsets[:-1]
    moved[roots] = groom.points[roots]
    result: FloatArray = moved.reshape(groom.strand_count, -1, 3)
    return result
