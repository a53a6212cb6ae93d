"""The mesh for a groom: how fine, how far from the skin, and which part of the body each strand grows on."""

from __future__ import annotations

import numpy as np

from mane.body.mesh import Mesh
from mane.body.solid import Solid
from mane.geometry.checks import IntArray
from mane.groom.binding import bind_roots
from mane.groom.groom import Groom
from mane.volume.mesh import POINTS_PER_BLOCK, TetMesh, mesh_around_body, mesh_around_hair

CELLS = 30  # across the groom, where nobody says how fine the mesh is
SPARE = 0.25  # beyond the hair that is farthest from the skin, over the spacing
ABOVE = 0.05  # a triangle, over its size, where it is asked whether other skin covers it


def default_spacing(points: np.ndarray) -> float:
    """Edge of the lattice's cubes for hair or a body at these points (P, 3) [m], where nobody says."""
    return float(np.linalg.norm(np.ptp(points, axis=0))) / CELLS


def mesh_for(groom: Groom, body: Solid | None, spacing: float | None = None, cage: Mesh | None = None) -> TetMesh:
    """Make a mesh that holds a groom, around its body where that deforms."""
    spacing = default_spacing(groom.points) if spacing is None else spacing
    if body is None or body.animation is None:
        return mesh_around_hair(groom, spacing)
    reach = hair_reach(groom, body) + SPARE * spacing
    return mesh_around_body(body, spacing=spacing, reach=reach, cage=cage, groom=groom)


def hair_reach(groom: Groom, body: Solid) -> float:
    """How far from the body at rest hair is, at most [m]."""
    starts = range(0, groom.point_count, POINTS_PER_BLOCK)
    return float(max(body.rest_distance(groom.points[at : at + POINTS_PER_BLOCK]).max() for at in starts))


def root_patches(groom: Groom, body: Solid | None, mesh: TetMesh) -> IntArray | None:
    """Patch of the skin that each strand grows on, shape (S,); None for a mesh that knows no skin."""
    skin = None if body is None else body.skin
    if skin is None or len(mesh.patch_of_vertex) == 0:
        return None
    binding = bind_roots(groom, skin)
    heaviest = binding.barycentric.argmax(axis=1)[:, None]
    corner = np.take_along_axis(skin.faces[binding.triangle], heaviest, axis=1)[:, 0]
    return mesh.patch_of_vertex[corner]


def covered_share(body: Solid) -> float:
    """Part of the skin's area that lies inside other skin in the rest pose: a body that passes through itself."""
    skin = body.skin
    if skin is None:
        return 0.0
    above = skin.points[skin.faces].mean(axis=1) + ABOVE * np.sqrt(skin.face_areas)[:, None] * skin.face_normals
    is_covered = body.rest_distance(above.astype(np.float32)) < 0
    return float(skin.face_areas[is_covered].sum() / skin.face_areas.sum())
