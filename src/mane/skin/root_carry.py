r"""`RootCarry`: hairs on a body that deforms, each carried by the skin at its own root.

A skin knows how guides move hairs in one pose of the body, the rest pose in which both were groomed. On a body that
deforms, every guide is seen from the skin at its root, as if that had not moved; the skin makes hairs of that, in the
rest pose; and every hair is carried to where the skin at its own root is now:

```
   guides now -- back by their roots --> guides in the rest pose -- skin --> hairs -- on by their roots --> hairs now
```

Guides at rest on a skin of any shape thus give the groom, carried hair by hair. Nothing is blended that turns apart, so
nothing shrinks, and neighbours that grow on different sides of a fold keep to their sides.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mane.body.motion import Pose
from mane.body.solid import Solid
from mane.geometry import quaternion
from mane.geometry.checks import FloatArray, IntArray
from mane.groom.binding import bind_roots
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin import _kernels_carry as kernels
from mane.strand.frame import GuideFrame, InsertedGuides
from mane.strand.model import Float64Array
from mane.strand.ports import GuideLoad
from mane.strand.root_motion import skin_of
from mane.strand.roots import RootPose

STILL = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
# Of the six numbers of a symmetric matrix in `GuideLoad`, where each goes.
SYMMETRIC = (np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]]), ([0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]))


class RootCarry:
    """Where the roots of all hairs of a groom are on a body that deforms.

    Args:
        groom: the hairs at rest.
        guides: what carries them, at rest.
        body: an animated mesh in whose rest pose both were groomed; its pose is the first of `frame.solid_poses`.
    """

    def __init__(self, groom: Groom, guides: Guides, body: Solid) -> None:
        assert body.animation is not None
        self._animation = body.animation
        self._guide_rest = guides.rest
        self._binding = bind_roots(groom, skin_of(body))
        still = quaternion.identity((groom.strand_count,), np.float64)
        self._rest = RootPose(groom.roots.astype(np.float64), still)
        self._last: tuple[float, RootPose] | None = None

    def _on_mesh(self, frame: GuideFrame) -> tuple[RootPose, Float64Array]:
        """Roots of all hairs on the mesh at a frame (S, ...), and the pose (7,) that carries it."""
        if frame.is_rest_pose:
            return self._rest, STILL
        if not frame.solid_poses:
            raise ValueError("frame.solid_poses: must begin with that of the body that the hair grows on, got none")
        pose = frame.solid_poses[0]
        if self._last is None or self._last[0] != frame.time:
            points = self._animation.precise_points(frame.time)
            self._last = (frame.time, RootPose(*self._binding.precise_transforms(points)))
        return self._last[1], np.concatenate([pose.position, pose.rotation])

    def rotations(self, frame: GuideFrame) -> Float64Array:
        """How the skin at the root of each hair has turned since rest, world, quaternions (S, 4)."""
        roots, pose = self._on_mesh(frame)
        out = np.empty_like(roots.rotations)
        kernels.fill_world_rotations(roots.rotations, pose, out)
        return out

    def seen(self, frame: GuideFrame) -> GuideFrame:
        """Return the guides of a frame as seen from their roots, as if the skin were in its rest pose."""
        return in_rest_pose(frame, self._guide_rest)

    def carry(self, frame: GuideFrame, points: FloatArray, rows: slice | IntArray = slice(None)) -> None:
        """Move hairs `rows` in the rest pose, `points` (H, V, 3) [m], to where the skin at their roots is, in place."""
        roots, pose = self._on_mesh(frame)
        before = self._binding.rest_roots[rows]
        kernels.carry_hairs(before, roots.positions[rows], roots.rotations[rows], pose, points)

    def back(self, frame: GuideFrame, points: FloatArray, rows: slice | IntArray = slice(None)) -> None:
        """Undo what `carry` does, in place."""
        roots, pose = self._on_mesh(frame)
        body = Pose(pose[:3], pose[3:])
        where, turned = body.apply(roots.positions[rows]), quaternion.conjugate(self.rotations(frame)[rows])
        kernels.carry_hairs(where, self._binding.rest_roots[rows], turned, STILL, points)

    @property
    def nbytes(self) -> int:
        """Bytes that the binding holds, and the roots of the last frame."""
        binding = self._binding
        arrays = (binding.rest_roots, binding.triangle, binding.barycentric, binding.offset, binding.rest_frame)
        return sum(array.nbytes for array in arrays) + binding.strand_count * 7 * 8


def in_rest_pose(frame: GuideFrame, rest: FloatArray) -> GuideFrame:
    """Return a frame whose guides, `rest` (G, V, 3) [m] when groomed, are seen from their roots on an unmoved skin."""
    inserted = frame.inserted
    if inserted is not None:
        inserted = replace(inserted, **_seen(inserted, inserted.rest[:, 0]))
    return replace(
        frame, **_seen(frame, rest[:, 0]), head=Pose.identity(), solid_poses=(), inserted=inserted, is_rest_pose=True
    )


def _seen(frame: GuideFrame | InsertedGuides, rest_roots: FloatArray) -> dict[str, Any]:
    names = ("points", "velocity", "orientations", "cut_force")
    given = [np.ascontiguousarray(getattr(frame, name)) for name in names]
    seen = [np.empty_like(array) for array in given]
    kernels.see_from_roots(*given, frame.roots, frame.root_rotations, rest_roots, *seen)
    still = quaternion.identity((len(rest_roots),))
    return {**dict(zip(names, seen, strict=True)), "roots": rest_roots.copy(), "root_rotations": still}


def load_in_world(load: GuideLoad, rotations: FloatArray) -> GuideLoad:
    """Turn what a skin found out in the rest pose along with the roots (G, 4) of the guides."""
    matrix = quaternion.to_matrix(quaternion.normalize(rotations.astype(np.float64)))
    force = np.einsum("gij,gvj->gvi", matrix, load.force)
    if load.resistance is None:
        return GuideLoad(force)
    full, half = SYMMETRIC
    turned = np.einsum("gij,gvjk,glk->gvil", matrix, load.resistance[..., full], matrix)
    return GuideLoad(force, np.ascontiguousarray(turned[..., half[0], half[1]]))
