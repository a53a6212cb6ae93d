"""The surface of a level set as triangles: marching tetrahedra, six in the cube between eight cells."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh
from mane.fluid.level_set import LevelSet
from mane.geometry.checks import FloatArray

# Tetrahedra of a cube, along the paths from its lowest corner to its highest one axis after the other: those of
# neighbouring cubes share their faces, so that the surface has no cracks. Corners are numbered 4 x + 2 y + z.
TETS = np.array([[0, 1 << (2 - a), (1 << (2 - a)) | (1 << (2 - b)), 7] for a, b, _ in permutations(range(3))], np.int64)
IS_EVEN = np.array([(a - b) * (b - c) * (c - a) > 0 for a, b, c in permutations(range(3))])
# Of the corners that are liquid, as bits: the edges that triangles pass through, seen from the air counter-clockwise.
ONE = {0: (1, 2, 3), 1: (0, 3, 2), 2: (0, 1, 3), 3: (0, 2, 1)}  # a corner, and the others as it sees them
TWO = {(0, 1): (2, 3), (0, 2): (3, 1), (0, 3): (1, 2), (1, 2): (0, 3), (1, 3): (2, 0), (2, 3): (0, 1)}


def _cases() -> list[NDArray[np.int64]]:
    """Triangles of each of sixteen cases, as pairs of corners that their vertices lie between, (K, 3, 2)."""
    cases: list[list[list[tuple[int, int]]]] = [[] for _ in range(16)]
    for corner, others in ONE.items():
        triangle = [(corner, other) for other in others]
        cases[1 << corner] = [triangle]
        cases[15 - (1 << corner)] = [triangle[::-1]]
    for (a, b), (c, d) in TWO.items():
        ring = [(a, c), (a, d), (b, d), (b, c)]
        cases[(1 << a) | (1 << b)] = [[ring[0], ring[1], ring[2]], [ring[0], ring[2], ring[3]]]
    return [np.array(rows, np.int64).reshape(-1, 3, 2) for rows in cases]


CASES = _cases()


def _closed(phi: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Distances at centres of cells and on every side of the box, with a layer of air around; which nodes are that.

    On the sides, half a cell beyond the last centres, the surface goes on in a straight line.
    """
    padded: FloatArray = np.pad(phi, 2, mode="edge")
    for axis in range(3):
        along = np.moveaxis(padded, axis, 0)
        if len(along) > 5:
            along[1], along[-2] = 1.5 * along[2] - 0.5 * along[3], 1.5 * along[-3] - 0.5 * along[-4]
    outside = np.ones(padded.shape, np.bool_)
    outside[1:-1, 1:-1, 1:-1] = False
    padded[outside] = 1.0
    return padded, outside


def _ticks(count: int) -> NDArray[np.float64]:
    """Where the nodes of `count` cells are along an axis [cells]: those outside lie on the sides, too."""
    return np.concatenate([[0.0, 0.0], np.arange(count) + 0.5, [count, count]])


def surface_mesh(level: LevelSet, risen: FloatArray | None = None) -> Mesh | None:
    """Triangles of the surface, closed at the sides of the box, in the world; None where there is no liquid.

    Args:
        level: signed distance to the surface, `Water.surface.level`.
        risen: how far outside the surface is drawn [cells], of the grid's shape; nowhere by default.
    """
    grid = level.grid
    cells = grid.cells(level.phi)
    phi, outside = _closed(cells if risen is None else cells - risen)
    shape = np.array(phi.shape)
    number = np.arange(phi.size).reshape(phi.shape)
    is_liquid = phi < 0.0
    window = tuple(slice(count - 1) for count in shape)
    count = sum(np.roll(is_liquid, (-a, -b, -c), (0, 1, 2))[window].astype(np.int8) for a, b, c in np.ndindex(2, 2, 2))
    cubes = number[window][(count > 0) & (count < 8)]
    steps = np.array([shape[1] * shape[2], shape[2], 1])
    corner = np.array([[c >> 2 & 1, c >> 1 & 1, c & 1] for c in range(8)]) @ steps
    flat, liquid = phi.reshape(-1), is_liquid.reshape(-1)
    edges = []
    for tet, is_even in zip(TETS, IS_EVEN, strict=True):
        nodes = cubes[:, None] + corner[tet]
        case = liquid[nodes] @ np.array([1, 2, 4, 8])
        for which, triangles in enumerate(CASES):
            if len(triangles):
                found = nodes[case == which][:, triangles].reshape(-1, 3, 2)
                edges.append(found if is_even else found[:, ::-1])
    pairs = np.sort(np.concatenate(edges or [np.zeros((0, 3, 2), np.int64)]).reshape(-1, 2), axis=1)
    if not len(pairs):
        return None
    # Triangles that close a side have their vertices at its liquid nodes and where the surface meets it, not beyond it.
    is_out = outside.reshape(-1)[pairs]
    pairs = np.where(
        is_out.any(axis=1, keepdims=True), pairs[np.arange(len(pairs)), is_out.argmin(axis=1)][:, None], pairs
    )
    keys, index = np.unique(pairs[:, 0] * phi.size + pairs[:, 1], return_inverse=True)
    low, high = keys // phi.size, keys % phi.size
    apart = np.where(low == high, 1.0, flat[low] - flat[high])
    part = np.clip(flat[low] / apart, 0.01, 0.99)[:, None]
    ticks = [_ticks(count) for count in grid.shape]
    places = [
        np.stack([along[at] for along, at in zip(ticks, np.unravel_index(ends, phi.shape), strict=True)], axis=1)
        for ends in (low, high)
    ]
    points = grid.origin + grid.cell * ((1.0 - part) * places[0] + part * places[1])
    faces = index.reshape(-1, 3).astype(np.int32)
    has_area = (faces != np.roll(faces, 1, axis=1)).all(axis=1)
    return Mesh(points.astype(np.float32), faces[has_area])
