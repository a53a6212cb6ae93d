"""`make_creature`: a fox made in code, to grow fur on and to let walk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body import _kernels_implicit, implicit, joint_weights, surface_nets
from mane.body import mesh as meshes
from mane.body.cache import content_key, load_arrays, store_arrays
from mane.body.character import Character
from mane.body.creature import anatomy, form, grid
from mane.body.creature.breath import breath_shape
from mane.body.creature.motions import CREATURE_MOTIONS
from mane.body.joint_weights import bone_heat_weights
from mane.body.mesh import Mesh
from mane.body.skeleton import SkinnedMesh
from mane.geometry.checks import FloatArray

SMALLEST_CELL, LARGEST_CELL = 0.002, 0.014  # [m]: millions of triangles below, broken legs above
INFLUENCES = 6  # joints per vertex
SPREAD = 0.7  # of blends between bones, see `bone_heat_weights`
EYELID = 1.2  # radii of an eye within which the skin is bare
DOWN = -0.7  # y of a normal below which skin at the ground is the sole of a paw


@dataclass(frozen=True, eq=False)
class Creature(Character):
    """A fox of 1.1 m with a skeleton, standing; see `Character` for what it can do.

    Y is up, it faces +Z, its left is +X, and its paws stand on y = 0.
    """

    @cached_property
    def is_bare(self) -> NDArray[np.bool_]:
        """Which vertices bear no fur, shape (N,): eyes, nose and the soles of the paws."""
        points, normals = self.mesh.points, self.mesh.vertex_normals
        nose = np.linalg.norm(points - anatomy.NOSE, axis=1) < anatomy.NOSE_RADIUS
        sole = (points[:, 1] < anatomy.PAD_HEIGHT) & (normals[:, 1] < DOWN)
        result: NDArray[np.bool_] = (self.eye_distance < EYELID * anatomy.EYE_RADIUS) | nose | sole
        return result

    @cached_property
    def eye_distance(self) -> FloatArray:
        """Distance of each vertex from the middle of the nearer eye [m], shape (N,)."""
        folded = np.column_stack([np.abs(self.mesh.points[:, 0]), self.mesh.points[:, 1:]])
        result: FloatArray = np.linalg.norm(folded - np.array(anatomy.EYE, np.float32), axis=1)
        return result

    def joint_share(self, *prefixes: str) -> FloatArray:
        """How much of each vertex belongs to the joints whose names start so, 0 to 1, shape (N,)."""
        chosen = np.array([name.startswith(prefixes) for name in self.skeleton.names])
        result: FloatArray = (self.skinned.joint_weights * chosen[self.skinned.joint_indices]).sum(axis=1)
        return result


def make_creature(cell_size: float = grid.DEFAULT_CELL) -> Creature:
    """Make the creature, or fetch it from the disk cache, where it is found by the code and the cell size it came from.

    Args:
        cell_size: side of the mesh's triangles on head and legs [m], about half of those on the trunk. The default
            gives some 22,000 triangles, 0.014 some 5,500.
    """
    if not SMALLEST_CELL <= cell_size <= LARGEST_CELL:
        raise ValueError(f"cell_size: must lie between {SMALLEST_CELL} and {LARGEST_CELL} metres, got {cell_size}")
    key = content_key(float(cell_size), *_sources())
    arrays = load_arrays("creature", key)
    if arrays is None:
        arrays = _build(cell_size)
        store_arrays("creature", key, arrays)
    mesh = Mesh(arrays["points"], arrays["faces"])
    skinned = SkinnedMesh(
        mesh, anatomy.make_skeleton(), arrays["joint_indices"], arrays["joint_weights"], (breath_shape(mesh),)
    )
    return Creature(skinned, _landmarks(mesh), CREATURE_MOTIONS)


def _sources() -> list[bytes]:
    """The text of everything that decides the creature's shape and weights."""
    modules = (_kernels_implicit, implicit, joint_weights, surface_nets, meshes, anatomy, form, grid)
    return [Path(str(file)).read_bytes() for file in (__file__, *(module.__file__ for module in modules))]


def _build(cell_size: float) -> dict[str, NDArray[Any]]:
    mesh = grid.creature_mesh(form.creature_form(), cell_size)
    skeleton = anatomy.make_skeleton()
    indices, weights = bone_heat_weights(mesh, anatomy.make_bones(skeleton), INFLUENCES, spread=SPREAD)
    return {"points": mesh.points, "faces": mesh.faces, "joint_indices": indices, "joint_weights": weights}


def _landmarks(mesh: Mesh) -> dict[str, FloatArray]:
    """Named points of the skin at rest, each the vertex farthest along a direction or nearest to a place."""
    points = mesh.points
    left_ear = np.where(points[:, 0] > 0, points[:, 1], -np.inf)

    def nearest(place: anatomy.Vector) -> FloatArray:
        result: FloatArray = points[np.linalg.norm(points - np.array(place, np.float32), axis=1).argmin()]
        return result

    return {
        "nose": points[points[:, 2].argmax()],
        "ear_left": points[left_ear.argmax()],
        "eye_left": nearest(anatomy.EYE),
        "eye_right": nearest(anatomy.mirrored(anatomy.EYE, "right")),
        "withers": nearest((0.0, 0.42, 0.10)),
        "belly": nearest((0.0, 0.26, -0.07)),
        "tail_tip": points[points[:, 2].argmin()],
    }
