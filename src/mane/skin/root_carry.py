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
from mane.strand.ports import GuideLoad
from mane.strand.root_motion import on_skin
from mane.strand.roots import RootPose

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
        self._binding = bind_roots(groom, body.animation.mesh)
        self._last: tuple[Any, RootPose] | None = None

    def roots(self, frame: GuideFrame) -> RootPose:
        """Roots of all hairs at a frame (S, ...); asking again for the same frame costs nothing."""
        if frame.is_rest_pose:
            still = quaternion.identity((self._binding.strand_count,), np.float64)
            return RootPose(self._binding.rest_roots.astype(np.float64), still)
        if not frame.solid_poses:
            raise ValueError("frame.solid_poses: must begin with that of the body that the hair grows on, got none")
        pose = frame.solid_poses[0]
        key = (frame.time, pose.position.tobytes(), pose.rotation.tobytes())
        if self._last is None or self._last[0] != key:
            self._last = (key, on_skin(self._binding, self._animation, frame.time, pose))
        return self._last[1]

    def seen(self, frame: GuideFrame) -> GuideFrame:
        """Return the guides of a frame as seen from their roots, as if the skin were in its rest pose."""
        return in_rest_pose(frame, self._guide_rest)

    def carry(self, frame: GuideFrame, points: FloatArray, rows: slice | IntArray = slice(None)) -> None:
        """Move hairs `rows` in the rest pose, `points` (H, V, 3) [m], to where the skin at their roots is, in place."""
        roots = self.roots(frame)
        before = self._binding.rest_roots[rows]
        kernels.carry_hairs(before, roots.positions[rows], roots.rotations[rows], points)

    def back(self, frame: GuideFrame, points: FloatArray, rows: slice | IntArray = slice(None)) -> None:
        """Undo what `carry` does, in place."""
        roots = self.roots(frame)
        turned = quaternion.conjugate(roots.rotations[rows])
        kernels.carry_hairs(roots.positions[rows], self._binding.rest_roots[rows], turned, points)

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
    rotation = quaternion.normalize(frame.root_rotations.astype(np.float64))
    back = quaternion.conjugate(rotation)
    matrix = quaternion.to_matrix(rotation)  # its transpose turns back: vectors are rows here
    from_root = (frame.points.astype(np.float64) - frame.roots[:, None]) @ matrix
    return {
        "points": (from_root + rest_roots[:, None]).astype(np.float32),
        "velocity": (frame.velocity @ matrix).astype(np.float32),
        "orientations": quaternion.multiply(back[:, None], frame.orientations).astype(np.float32),
        "cut_force": (frame.cut_force @ matrix).astype(np.float32),
        "roots": rest_roots.copy(),
        "root_rotations": quaternion.identity((len(rotation),)),
    }


def load_in_world(load: GuideLoad, rotations: FloatArray) -> GuideLoad:
    """Turn what a skin found out in the rest pose along with the roots (G, 4) of the guides."""
    matrix = quaternion.to_matrix(quaternion.normalize(rotations.astype(np.float64)))
    force = np.einsum("gij,gvj->gvi", matrix, load.force)
    if load.resistance is None:
        return GuideLoad(force)
    full, half = SYMMETRIC
    turned = np.einsum("gij,gvjk,glk->gvil", matrix, load.resistance[..., full], matrix)
    return GuideLoad(force, np.ascontiguousarray(turned[..., half[0], half[1]]))
