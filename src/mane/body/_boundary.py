"""The boundary of the solid that a mesh means, for meshes that are not what they should be.

A point is inside where the mesh's winding number exceeds one half. The boundary of that set is not simply the mesh:
parts that overlap have triangles inside, which bound nothing, and across a hole the boundary is the surface where
the winding number is one half. All lengths here are in cells of the grid, whose node (0, 0, 0) is the origin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.body.triangle_tree import TriangleTree
from mane.geometry.checks import FloatArray

# One half, and a speck that keeps rounding on a flat sheet, where it is one half, from making solid spots of it.
INSIDE = 0.501
# The winding number is taken this far outside a triangle: thinner than anything that the grid can show.
OFFSET = 0.002
# Just outside a bounding triangle the winding number is between -1/2 and 1/2, and one more just inside. A sheet that
# encloses nothing has -1/2, a little more near its rim; the margin keeps it out.
LOWEST_OUTSIDE = -0.47
# Triangles are sampled this densely, so that a part which pierces the middle of a large one is noticed.
SAMPLE_SPACING = 2.0
# Where parts intersect, triangles are cut into pieces and each is kept or dropped whole; this is how much finer.
CREASE_PARTS = 4
# Two nodes on either side of the boundary are together no further from it than their distance, one cell.
GAP_TOLERANCE = 1e-2
# Corners closer than one over this are the same.
CORNER_STEPS = 1024


def bounding_triangles(tree: TriangleTree) -> FloatArray:
    """Return the triangles, or pieces of them, that bound the solid, shape (K, 3, 3); none if nothing is enclosed.

    Where parts intersect, the boundary is off by up to half a cell along the seam.
    """
    corners = tree.corners
    pieces, owner = subdivided(corners, np.ceil(_longest_edges(corners) / SAMPLE_SPACING).astype(np.int64))
    keep = is_bounding(tree, pieces, OFFSET)
    if keep.all():
        return corners
    mixed = _touches_both(pieces, keep)
    owner_mixed = np.zeros(len(corners), np.bool_)
    owner_mixed[owner[mixed]] = True
    owner_keep = np.zeros(len(corners), np.bool_)
    owner_keep[owner[keep]] = True
    fine, _ = subdivided(pieces[mixed], np.full(int(mixed.sum()), CREASE_PARTS))
    whole = corners[owner_keep & ~owner_mixed]
    coarse = pieces[owner_mixed[owner] & keep & ~mixed]
    return np.concatenate([whole, coarse, fine[is_bounding(tree, fine, OFFSET)]])


def is_bounding(tree: TriangleTree, corners: FloatArray, offset: float) -> NDArray[np.bool_]:
    """Whether the middle of each triangle (T, 3, 3) of the tree has the solid below it and none above, shape (T,)."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    unit = np.divide(normal, length, out=np.zeros_like(normal), where=length > 0)
    outside = tree.winding((corners.mean(axis=1) + offset * unit).astype(np.float32))
    return (outside > LOWEST_OUTSIDE) & (outside < INSIDE)


def subdivided(corners: FloatArray, parts: NDArray[np.int64]) -> tuple[FloatArray, NDArray[np.int64]]:
    """Cut each triangle into `parts (T,)` squared pieces; return them (K, 3, 3) and the triangle of each (K,)."""
    pieces, owner = [corners[:0]], [np.zeros(0, np.int64)]
    for count in np.unique(parts):
        chosen = np.flatnonzero(parts == count)
        weights = _piece_weights(int(count))
        cut = np.einsum("kcw,twi->tkci", weights, corners[chosen], dtype=np.float32)
        pieces.append(cut.reshape(-1, 3, 3))
        owner.append(np.repeat(chosen, len(weights)))
    return np.concatenate(pieces), np.concatenate(owner)


def _piece_weights(parts: int) -> FloatArray:
    """Return the weights of a triangle's corners at the corners of its pieces, shape (parts^2, 3, 3)."""
    i, j = (index.ravel() for index in np.meshgrid(np.arange(parts), np.arange(parts), indexing="ij"))
    upright = i + j < parts
    turned = i + j < parts - 1
    a = [
        np.stack([i, j], axis=1)[upright],
        np.stack([i + 1, j], axis=1)[upright],
        np.stack([i, j + 1], axis=1)[upright],
    ]
    b = [
        np.stack([i + 1, j], axis=1)[turned],
        np.stack([i + 1, j + 1], axis=1)[turned],
        np.stack([i, j + 1], axis=1)[turned],
    ]
    steps = np.concatenate([np.stack(a, axis=1), np.stack(b, axis=1)])
    return (np.concatenate([parts - steps.sum(axis=2, keepdims=True), steps], axis=2) / parts).astype(np.float32)


def _longest_edges(corners: FloatArray) -> FloatArray:
    result: FloatArray = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    return result


def _touches_both(corners: FloatArray, flag: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which triangles share a corner with one that is flagged and with one that is not (itself included), (T,)."""
    steps = np.round(corners * CORNER_STEPS).astype(np.int64)
    steps -= steps.min(axis=(0, 1))
    size = steps.max(axis=(0, 1)) + 1
    number = (steps[..., 0] * size[1] + steps[..., 1]) * size[2] + steps[..., 2]
    _, vertex = np.unique(number, return_inverse=True)
    vertex = vertex.reshape(-1, 3)
    seen = np.zeros((2, int(vertex.max()) + 1), np.bool_)
    seen[0, vertex[~flag]] = True
    seen[1, vertex[flag]] = True
    result: NDArray[np.bool_] = (seen[0] & seen[1])[vertex].any(axis=1)
    return result


def cap_triangles(winding: FloatArray, distance: FloatArray) -> FloatArray:
    """Return triangles on the surface where the winding number is one half and the mesh has none, shape (K, 3, 3).

    Args:
        winding: winding number at the nodes, shape (nx, ny, nz).
        distance: unsigned distance to the bounding triangles [cells], shape (nx, ny, nz).

    An edge of the grid whose ends are on different sides, though no triangle is near enough to cross it, is crossed by
    a cap. Each such edge gives four triangles around the crossing, to the middles of the crossings of the four cells
    around the edge. So caps reach the rim of a hole, and no two neighbouring nodes differ by more than a cell.
    """
    caps = [np.zeros((0, 3, 3), np.float32)]
    for axis in range(3):
        start = _crossings_without_triangle(winding, distance, axis)
        if len(start) == 0:
            continue
        step = np.eye(3, dtype=np.int64)[axis]
        middle = start + _crossing_fraction(winding, distance, start, start + step)[:, None] * step
        ring = [_cell_middles(winding, distance, start + offset) for offset in _cells_around(axis)]
        for here, following in zip(ring, ring[1:] + ring[:1], strict=True):
            caps.append(np.stack([middle, here, following], axis=1).astype(np.float32))
    return np.concatenate(caps)


def _crossings_without_triangle(winding: FloatArray, distance: FloatArray, axis: int) -> NDArray[np.int64]:
    """Return the lower nodes of the grid edges along `axis` that only a cap can cross, shape (E, 3)."""
    inside = winding > INSIDE
    low = tuple(slice(None, -1) if a == axis else slice(None) for a in range(3))
    high = tuple(slice(1, None) if a == axis else slice(None) for a in range(3))
    start = np.argwhere(inside[low] != inside[high])
    end = start + np.eye(3, dtype=np.int64)[axis]
    gap = distance[tuple(start.T)] + distance[tuple(end.T)] > 1.0 + GAP_TOLERANCE
    across = [a for a in range(3) if a != axis]
    # On the faces of the grid there are no cells all around; the padding keeps the solid away from them.
    has_cells = (start[:, across] > 0).all(axis=1) & (start[:, across] < np.array(inside.shape)[across] - 1).all(axis=1)
    result: NDArray[np.int64] = start[gap & has_cells]
    return result


def _cells_around(axis: int) -> NDArray[np.int64]:
    """Return the four cells around a grid edge, in order, as offsets from its lower node, shape (4, 3)."""
    offsets = np.zeros((4, 3), np.int64)
    offsets[:, (axis + 1) % 3] = [-1, 0, 0, -1]
    offsets[:, (axis + 2) % 3] = [-1, -1, 0, 0]
    return offsets


def _crossing_fraction(
    winding: FloatArray, distance: FloatArray, start: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Where the boundary crosses each grid edge, from 0 at `start` to 1 at `end`, shape (E,)."""
    w0, w1 = (winding[tuple(node.T)].astype(np.float64) for node in (start, end))
    d0, d1 = (distance[tuple(node.T)].astype(np.float64) for node in (start, end))
    by_winding = (INSIDE - w0) / (w1 - w0)
    # By a triangle, if there is one: across it the winding number jumps and says nothing of where.
    has_triangle = d0 + d1 <= 1.0 + GAP_TOLERANCE
    by_distance = np.divide(d0, d0 + d1, out=np.full_like(d0, 0.5), where=has_triangle & (d0 + d1 > 0))
    result: NDArray[np.float64] = np.where(has_triangle, by_distance, by_winding)
    return result


def _cell_middles(winding: FloatArray, distance: FloatArray, cells: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean of the points where the boundary crosses the edges of each cell (C, 3), by its lowest node; shape (C, 3)."""
    total, count = np.zeros((len(cells), 3)), np.zeros(len(cells))
    for axis in range(3):
        step = np.eye(3, dtype=np.int64)[axis]
        for offset in _cells_around(axis):
            start = cells - offset
            end = start + step
            crosses = (winding[tuple(start.T)] > INSIDE) != (winding[tuple(end.T)] > INSIDE)
            start, end = start[crosses], end[crosses]
            total[crosses] += start + _crossing_fraction(winding, distance, start, end)[:, None] * step
            count[crosses] += 1
    return total / count[:, None]
