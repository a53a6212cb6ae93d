"""`DeformingSurface`: an animated mesh as the kernels of guides read it, one step after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body import _kernels_bvh as bvh
from mane.body.animated import AnimatedMesh
from mane.body.closed import ClosedMesh
from mane.body.deforming import _kernels as kernels
from mane.body.deforming._kernels import END, START, SurfaceArrays
from mane.body.motion_keys import MAX_SPEED
from mane.body.packed import field_feature
from mane.body.sdf import build_sdf
from mane.geometry.checks import FloatArray

# Least step of a search along a path, as a part of the radius of the thinnest part.
STRIDE = 0.1
# The animation jumps where this part of its vertices is faster than anything alive.
JUMPING = 0.5
# After a jump, or a time that does not follow the last one, the surface counts as having moved this far [m]: what was
# measured before says nothing of where it is now.
FORGOTTEN = 1e3


class DeformingSurface:
    """The surface of an animated mesh, moved from one time to the next.

    A tree of boxes over its triangles is built once and fitted to them again at every time. Holes are closed and parts
    that lie inside others left out, as they are at rest.

    Args:
        animation: what moves.

    Attributes:
        feature: radius of the thinner parts of the mesh at rest [m].
    """

    def __init__(self, animation: AnimatedMesh) -> None:
        self.animation = animation
        self._closed = ClosedMesh.of(animation.mesh)
        points = self._closed.points(animation.sample(0))
        self.feature = field_feature(build_sdf(animation.mesh))
        first, last, right, order = _tree(points, self._closed)
        faces, neighbors, vertex_corners = _renumbered(self._closed, order)
        self._arrays = SurfaceArrays(
            first=first,
            last=last,
            right=right,
            beyond=_beyond(right),
            box=np.zeros((2, len(first), 6), np.float32),
            corners=np.zeros((2, len(faces), 3, 3)),
            shape=np.array([START, END]),
            faces=faces,
            neighbors=neighbors,
            vertex_start=self._closed.vertex_start,
            vertex_corners=vertex_corners,
            drift=np.zeros(2),
            slope=1.0,
            stride=STRIDE * self.feature,
            feature=self.feature,
        )
        self._times = (np.nan, np.nan)
        self._points = np.zeros((2, len(points), 3))

    def during(self, start: float, end: float) -> SurfaceArrays:
        """Return the surface from `start` to `end` [s]; the arrays are those of the last call, with other contents.

        Where the animation jumps in between, the surface is at its new place all the while.
        """
        if self._times == (start, end):
            return self._arrays
        drift, goes_on = self._arrays.drift, start == self._times[1]
        if goes_on:
            self._arrays.shape[...] = self._arrays.shape[::-1].copy()
        else:
            self._place(START, start)
        self._place(END, end)
        before, after = self._points[self._arrays.shape]
        step, fast = kernels.measure_step(before, after, MAX_SPEED * (end - start))
        if fast > JUMPING * len(before):
            self._place(START, end)
            step, goes_on = 0.0, False
        drift[START] = drift[END] if goes_on else drift[END] + FORGOTTEN
        drift[END] = drift[START] + step
        self._times = (start, end)
        return self._arrays

    def _place(self, which: int, time: float) -> None:
        arrays, slot = self._arrays, self._arrays.shape[which]
        points = self._points[slot]
        precise: Any = self.animation.precise_points(time)
        points[...] = self._closed.points(precise)
        kernels.place_corners(points, arrays.faces, arrays.corners[slot])
        kernels.fit_boxes(arrays.corners[slot], arrays.first, arrays.last, arrays.right, arrays.box[slot])


def _tree(points: FloatArray, closed: ClosedMesh) -> tuple[NDArray[Any], ...]:
    """Nodes of a tree over the triangles that bound a closed mesh (first, last, right), and the order of all triangles.

    Those that bound nothing stay behind the others.
    """
    count = closed.bounding_count
    order = np.arange(count)
    first, last, right = np.zeros((3, 2 * count), np.int32)
    nodes = bvh.split_at_medians(points[closed.faces[:count]].mean(axis=1), order, first, last, right)
    everyone = np.concatenate([order, np.arange(count, len(closed.faces))])
    return first[:nodes].copy(), last[:nodes].copy(), right[:nodes].copy(), everyone


def _renumbered(closed: ClosedMesh, order: NDArray[np.int64]) -> tuple[NDArray[np.int32], ...]:
    """Faces, neighbours and corners at vertices of a closed mesh, with its triangles in another order."""
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    corners = 3 * rank[closed.vertex_corners // 3] + closed.vertex_corners % 3
    return closed.faces[order], rank[closed.neighbors[order]], corners.astype(np.int32)


def _beyond(right: NDArray[np.int32]) -> NDArray[np.int32]:
    """The next node of a tree that is not below each node (N,)."""
    beyond = np.full(len(right), len(right), np.int32)
    for node in np.flatnonzero(right):  # parents before children
        beyond[node + 1], beyond[right[node]] = right[node], beyond[node]
    return beyond
