"""The surface of a level set as triangles: marching tetrahedra, six in the cube between eight cells."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh
from mane.fluid.level_set import LevelSet

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


def surface_mesh(level: LevelSet) -> Mesh | None:
    """Triangles of the surface, closed at the sides of the box, in the world; None where there is no liquid."""
    grid = level.grid
    phi = np.pad(grid.cells(level.phi), 1, mode="edge")
    for axis in range(3):  # as far outside as the last cell is inside: the surface lies on the side
        ends = np.moveaxis(phi, axis, 0)
        ends[0], ends[-1] = np.abs(ends[0]), np.abs(ends[-1])
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
    keys, index = np.unique(pairs[:, 0] * phi.size + pairs[:, 1], return_inverse=True)
    low, high = keys // phi.size, keys % phi.size
    part = np.clip(flat[low] / (flat[low] - flat[high]), 0.01, 0.99)[:, None]
    places = [np.stack(np.unravel_index(ends, phi.shape), axis=1) - 0.5 for ends in (low, high)]
    points = grid.origin + grid.cell * ((1.0 - part) * places[0] + part * places[1])
    return Mesh(points.astype(np.float32), index.reshape(-1, 3).astype(np.int32))
