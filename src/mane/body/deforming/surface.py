"""`DeformingSurface`: an animated mesh as the kernels of guides read it, one step after the other."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.animated import AnimatedMesh
from mane.body.closed import ClosedMesh, connected
from mane.body.deforming import _kernels as kernels
from mane.body.deforming import _kernels_observers as observing
from mane.body.deforming import _kernels_tree as tree
from mane.body.deforming._kernels import END, START, SurfaceArrays
from mane.body.packed import field_feature
from mane.body.sdf import build_sdf
from mane.geometry.checks import FloatArray
from mane.simd.f32x16 import WIDTH

Float64Array = NDArray[np.float64]

# Least step of a search along a path, as a part of the radius of the thinnest part.
STRIDE = 0.1
# What rounding of boxes in single precision may take, as a part of the surface's extent, with room to spare.
SLACK = 2.0**-21
# After a cut, or a time that does not follow the last one, the surface counts as having moved this far [m]: what was
# measured before says nothing of where it is now.
FORGOTTEN = 1e3
# Triangles of a cluster, at most, whose motion observers see as one: in blocks of the tree.
CLUSTER = 2 * WIDTH


class DeformingSurface:
    """The surface of an animated mesh, moved from one time to the next.

    A tree of boxes over its triangles is built once and fitted to them again at every time. Holes are closed and parts
    that lie inside others left out, as they are at rest.

    Observers are rigid frames that go along with the surface, such as roots of hair on it. For each it is known how far
    the surface within its reach moves relative to it: on an animal that runs, little, while legs go far.

    Args:
        animation: what moves.
        reach: of the rings of each observer [m], shape (W, 4).

    Attributes:
        feature: radius of the thinner parts of the mesh at rest [m].
    """

    def __init__(self, animation: AnimatedMesh, reach: ArrayLike | None = None) -> None:
        self.animation = animation
        self._closed = ClosedMesh.of(animation.mesh)
        points = self._closed.points(animation.sample(0))
        self.feature = field_feature(build_sdf(animation.mesh))
        order = _tree_order(points, self._closed)
        faces, neighbors, vertex_corners = _renumbered(self._closed, order)
        block_count = -(-self._closed.bounding_count // WIDTH)
        level_start = _levels(block_count)
        self._arrays = SurfaceArrays(
            level_start=level_start,
            box=_empty_boxes(int(level_start[-1])),
            blocks=np.zeros((2, block_count * tree.BLOCK), np.float32),
            origin=np.zeros((2, 3)),
            corners=np.zeros((2, len(faces), 3, 3)),
            shape=np.array([START, END]),
            faces=faces,
            neighbors=neighbors,
            vertex_start=self._closed.vertex_start,
            vertex_corners=vertex_corners,
            observers=_observers(np.empty((0, observing.RINGS)) if reach is None else np.asarray(reach, np.float64)),
            drift=np.zeros(2),
            slack=SLACK * float(np.ptp(points, axis=0).max()),
            slope=1.0,
            stride=STRIDE * self.feature,
            feature=self.feature,
        )
        self._middle = int(np.linalg.norm(points - points.mean(axis=0), axis=1).argmin())
        self._times, self._seen_times = (np.nan, np.nan), (np.nan, np.nan)
        self._points = np.zeros((2, len(points), 3))
        self._first, self._members = _clusters(faces[: self._closed.bounding_count])
        self._clusters = _empty_clusters(len(self._first) - 1)

    def seen_by(self, reach: ArrayLike) -> DeformingSurface:
        """Return the same surface with other observers, that have seen nothing yet: rings of `reach` [m], (W, 4).

        Both have one set of arrays: go on with the new one alone.
        """
        other = copy(self)
        other._arrays = self._arrays._replace(observers=_observers(np.asarray(reach, np.float64)))
        other._seen_times = (np.nan, np.nan)
        return other

    def during(self, start: float, end: float) -> SurfaceArrays:
        """Return the surface from `start` to `end` [s]; the arrays are those of the last call, with other contents.

        Where the animation has a cut in between, the surface is at its new place all the while.
        """
        if self._times == (start, end):
            return self._arrays
        drift, goes_on = self._arrays.drift, start == self._times[1]
        if goes_on:
            self._arrays.shape[...] = self._arrays.shape[::-1].copy()
        else:
            self._place(START, start)
        self._place(END, end)
        if self.animation.has_cut(start, end):
            self._place(START, end)
            goes_on = False
        before, after = self._arrays.shape
        step = kernels.largest_step(self._points[before], self._points[after])
        drift[START] = drift[END] if goes_on else drift[END] + FORGOTTEN
        drift[END] = drift[START] + step
        self._times, self._goes_on = (start, end), goes_on
        return self._arrays

    def observe(self, poses: Float64Array, before: tuple[Any, Any], after: tuple[Any, Any]) -> None:
        """Take the observers along, after `during`; for the same times again nothing happens.

        Args:
            poses: of the solid at both ends of the step, shape (24,), see `packed.fill_pose_pair`.
            before: positions [m], shape (W, 3), and rotations, shape (W, 4), of the observers in the world, at the
                start.
            after: the same at the end.
        """
        if self._seen_times == self._times:
            return
        arrays = self._arrays
        start, end = (self._points[slot] for slot in arrays.shape)
        origin = arrays.origin[arrays.shape[START]]
        observing.fit_clusters(start, end, self._first, self._members, origin, self._clusters)
        forgotten = 0.0 if self._times[0] == self._seen_times[1] and self._goes_on else FORGOTTEN
        observing.move_observers(self._clusters, origin, poses, *before, *after, forgotten, arrays.observers)
        self._seen_times = self._times

    def _place(self, which: int, time: float) -> None:
        arrays, slot = self._arrays, self._arrays.shape[which]
        points = self._points[slot]
        precise: Any = self.animation.precise_points(time)
        points[...] = self._closed.points(precise)
        arrays.origin[slot] = points[self._middle]
        place, count = (arrays.corners[slot], arrays.blocks[slot], arrays.box[slot]), self._closed.bounding_count
        tree.fit_blocks(points, arrays.faces, count, arrays.origin[slot], *place)
        tree.fill_parents(arrays.level_start, arrays.box[slot])


def _observers(reach: Float64Array) -> Float64Array:
    """Observers that have seen nothing yet."""
    observers = np.zeros((len(reach), observing.OBSERVER_SIZE))
    observers[:, observing.RING + observing.REACH :: observing.RING_SIZE] = reach
    return observers


def _clusters(faces: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Points of each cluster of triangles (T, 3) that follow each other: where they begin, (C + 1,), and the points.

    Triangles that do not hang together, such as those of two legs side by side, do not move as one: they are clusters
    of their own.
    """
    members = [part for start in range(0, len(faces), CLUSTER) for part in _parts(faces[start : start + CLUSTER])]
    first = np.concatenate([[0], np.cumsum([len(one) for one in members])])
    return first.astype(np.int64), np.concatenate(members).astype(np.int64)


def _parts(faces: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """Points of each connected part of some triangles (T, 3)."""
    points, local = np.unique(faces, return_inverse=True)
    local = local.reshape(faces.shape)
    group = connected(np.concatenate([local[:, :2], local[:, 1:]]), len(points))
    return [points[group == number] for number in range(group.max() + 1)]


def _empty_clusters(count: int) -> FloatArray:
    """A table of clusters that nobody reaches."""
    table = np.zeros((-(-count // WIDTH), observing.ROWS, WIDTH), np.float32)
    for box in (observing.BOX_START, observing.BOX_END):
        table[:, box : box + 3], table[:, box + 3 : box + 6] = np.inf, -np.inf
    return table.reshape(-1)


def _tree_order(points: FloatArray, closed: ClosedMesh) -> NDArray[np.int64]:
    """Order of the triangles of a closed mesh for a tree; those that bound nothing stay behind the others."""
    count = closed.bounding_count
    order = np.arange(count)
    tree.order_in_blocks(points[closed.faces[:count]].mean(axis=1), order)
    return np.concatenate([order, np.arange(count, len(closed.faces))])


def _levels(block_count: int) -> NDArray[np.int64]:
    """Where the nodes of each level of a tree begin, the lowest first, and behind them how many there are."""
    sizes = [-(-block_count // WIDTH)]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // WIDTH))
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _empty_boxes(node_count: int) -> FloatArray:
    """Nodes of two trees without children: boxes that nothing reaches."""
    boxes = np.empty((2, node_count, 2, 3 * WIDTH), np.float32)
    boxes[:, :, 0], boxes[:, :, 1] = np.inf, -np.inf
    return boxes.reshape(2, -1)


def _renumbered(closed: ClosedMesh, order: NDArray[np.int64]) -> tuple[NDArray[np.int32], ...]:
    """Faces, neighbours and corners at vertices of a closed mesh, with its triangles in another order."""
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    corners = 3 * rank[closed.vertex_corners // 3] + closed.vertex_corners % 3
    return closed.faces[order], rank[closed.neighbors[order]], corners.astype(np.int32)
