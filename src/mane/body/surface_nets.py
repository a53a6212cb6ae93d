"""Surface nets: triangles of the surface where a function sampled on a grid passes through a level.

Every sheet of the surface in a grid cell gets one vertex, in the mean of the points where the sheet cuts the cell's
edges; every grid edge that the surface cuts gets a quadrilateral between the four cells around that edge.

Limitation: where two sheets meet again in the neighbouring cell they share an edge, which then has four triangles. It
takes a shape that changes within a cell, such as noise; `Mesh.is_closed` tells.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.mesh import Mesh
from mane.geometry.checks import as_floats, require_positive

Warp = Callable[[NDArray[np.float64]], NDArray[np.float64]]
Implicit = Callable[[NDArray[np.float64]], NDArray[np.float64]]

# Corners of a cell, and its twelve edges as pairs of corners.
CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
EDGES = np.array([[a, b] for a in range(8) for b in range(a + 1, 8) if np.abs(CORNERS[a] - CORNERS[b]).sum() == 1])

NEWTON_STEPS = 4
CORNER_GAP = 0.05  # share of an edge that a cut keeps from its ends: a surface through a sample gives no empty triangle


def surface_nets(values: ArrayLike, origin: ArrayLike, cell_size: float, level: float = 0.0) -> Mesh:
    """Mesh the surface between samples below `level` (inside) and the rest (outside).

    Args:
        values: samples of the function, shape (X, Y, Z), at `origin + cell_size * index`.
        origin: position of the first sample [m], shape (3,).
        cell_size: distance of neighbouring samples [m].
        level: value on the surface.

    Returns:
        Triangles that face outwards, towards higher values; closed (see the limitation above).
    """
    require_positive("cell_size", cell_size)
    corner = as_floats("origin", origin, (3,)).astype(np.float64)
    field = as_floats("values", values, ("X", "Y", "Z")).astype(np.float64) - level
    points, faces = _net(field)
    return _as_mesh(corner + cell_size * points, faces)


def mesh_implicit(function: Implicit, bounds: ArrayLike, cell_size: float, project: bool = True) -> Mesh:
    """Mesh the zero level of an implicit function, negative inside, on a regular grid.

    Args:
        function: takes points [m] of shape (P, 3), gives values of shape (P,), in metres or nearly so.
        bounds: lowest and highest corner of a box that holds the surface [m], shape (2, 3).
        cell_size: distance of the samples [m]; the box grows to a whole number of cells.
        project: whether to move the vertices onto the surface by a few Newton steps.
    """
    low, high = as_floats("bounds", bounds, (2, 3)).astype(np.float64)
    require_positive("cell_size", cell_size)
    if (high <= low).any():
        raise ValueError(f"bounds: the second corner must exceed the first, got {low.tolist()} and {high.tolist()}")
    # Counted outwards from zero, so that a box about the origin has samples that mirror each other.
    first, last = np.floor(low / cell_size).astype(int), np.ceil(high / cell_size).astype(int)
    axes = [np.arange(a, b + 1) * cell_size for a, b in zip(first, last, strict=True)]
    return mesh_on_axes(function, axes, project)


def mesh_on_axes(
    function: Implicit, axes: Sequence[NDArray[np.float64]], project: bool = True, *, warp: Warp | None = None
) -> Mesh:
    """Mesh the zero level of an implicit function on a grid with cells of different sizes.

    Args:
        function: takes points [m] of shape (P, 3), gives values of shape (P,), in metres or nearly so.
        axes: ascending x, y and z of the grid's planes.
        project: whether to move the vertices onto the surface by a few Newton steps.
        warp: takes positions on the grid (P, 3) to space [m], one to one and right-handed; None if they are the same.
    """

    def placed(index: NDArray[np.float64]) -> NDArray[np.float64]:
        columns = [np.interp(i, np.arange(len(axis)), axis) for i, axis in zip(index.T, axes, strict=True)]
        points = np.stack(columns, axis=1)
        return points if warp is None else warp(points)

    shape = [len(axis) for axis in axes]
    samples = np.indices(shape).reshape(3, -1).T.astype(np.float64)
    vertices, faces = _net(function(placed(samples)).reshape(shape))
    points = placed(vertices)
    if project:
        cell = np.floor(vertices)
        sides = [np.linalg.norm(placed(cell + step) - placed(cell), axis=1) for step in np.eye(3)]
        points = projected(function, points, np.min(sides, axis=0))
    return _as_mesh(points, faces)


def graded_axis(low: float, high: float, places: Sequence[float], spacings: Sequence[float]) -> NDArray[np.float64]:
    """Positions from `low` to at least `high` [m], as far apart as `spacings` (K,) asks at each of `places` (K,)."""
    positions = [low]
    while positions[-1] < high:
        positions.append(positions[-1] + float(np.interp(positions[-1], places, spacings)))
    return np.array(positions)


def projected(function: Implicit, points: NDArray[np.float64], cell_sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move points onto the zero level along the gradient; no step is longer than half the cell (P,) around a point."""
    for _ in range(NEWTON_STEPS):
        gradient = implicit_gradient(function, points, 0.02 * float(cell_sizes.min()))
        length = np.maximum(np.linalg.norm(gradient, axis=1), 1e-6)
        step = np.clip(function(points) / length, -0.5 * cell_sizes, 0.5 * cell_sizes)
        points = points - (step / length)[:, None] * gradient
    return points


def implicit_gradient(function: Implicit, points: NDArray[np.float64], step: float) -> NDArray[np.float64]:
    """Gradient by central differences over two `step`s [m], shape (P, 3)."""
    offsets = step * np.eye(3)
    return np.stack([(function(points + o) - function(points - o)) / (2.0 * step) for o in offsets], axis=1)


def _as_mesh(points: NDArray[np.float64], faces: NDArray[np.int64]) -> Mesh:
    return Mesh(points.astype(np.float32), faces.astype(np.int32))


def _net(field: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Vertices in units of cells, (N, 3), and triangles, (T, 3), of the zero level of `field`."""
    if min(field.shape) < 3:
        raise ValueError(f"values: must have at least 3 samples along each axis, got shape {field.shape}")
    inside = field < 0.0
    if not inside.any():
        raise ValueError(f"values: must be below the level somewhere, got {field.min()} above it at least")
    border = inside.copy()
    border[1:-1, 1:-1, 1:-1] = False
    if border.any():
        index = tuple(int(i) for i in np.argwhere(border)[0])
        raise ValueError(f"values: must exceed the level on the grid's border, got a sample inside at index {index}")
    cells = _Cells(inside)
    vertices = cells.vertices(field)
    return vertices, _triangles(inside, cells, vertices)


class _Cells:
    """The cells that the surface crosses, and the sheets of surface in each: every sheet has a vertex of its own."""

    def __init__(self, inside: NDArray[np.bool_]) -> None:
        shape = np.array(inside.shape) - 1
        self.pattern = np.zeros(shape, np.uint8)
        for bit, (i, j, k) in enumerate(CORNERS):
            corner = inside[i : i + shape[0], j : j + shape[1], k : k + shape[2]]
            self.pattern |= corner.astype(np.uint8) << np.uint8(bit)
        self.edge_sheet = _sheets_by_pattern()
        sheet_count = (self.edge_sheet.max(axis=1) + 1)[self.pattern]
        self.first_vertex = (np.cumsum(sheet_count) - sheet_count.reshape(-1)).reshape(shape)
        self.vertex_count = int(sheet_count.sum())
        self.crossed = np.argwhere(sheet_count > 0)

    def vertex(self, cells: NDArray[np.int64], edge: int) -> NDArray[np.int64]:
        """The vertex of the sheet that cuts edge number `edge` of each cell (K, 3), shape (K,)."""
        at = tuple(cells.T)
        result: NDArray[np.int64] = self.first_vertex[at] + self.edge_sheet[self.pattern[at], edge]
        return result

    def vertices(self, field: NDArray[np.float64]) -> NDArray[np.float64]:
        """For every sheet, the mean of the points where it cuts the edges of its cell, in units of cells, (N, 3)."""
        total, count = np.zeros((self.vertex_count, 3)), np.zeros(self.vertex_count)
        for number, (a, b) in enumerate(EDGES):
            values = [field[tuple((self.crossed + CORNERS[corner]).T)] for corner in (a, b)]
            cut = (values[0] < 0) != (values[1] < 0)
            start, end = values[0][cut], values[1][cut]
            t = np.clip(start / (start - end), CORNER_GAP, 1.0 - CORNER_GAP)
            owner = self.vertex(self.crossed[cut], number)  # no owner twice: an edge has one sheet
            total[owner] += self.crossed[cut] + CORNERS[a] + t[:, None] * (CORNERS[b] - CORNERS[a])
            count[owner] += 1
        return total / count[:, None]


def _sheets_by_pattern() -> NDArray[np.int64]:
    """For each pattern of inside corners, the number of the sheet that cuts each edge, -1 for none; shape (256, 12).

    Two cut edges belong to one sheet when the surface joins them across a face of the cell. On a face where all four
    edges are cut, it joins those that meet in an inside corner; both cells at the face decide alike.
    """
    sheets = np.full((256, 12), -1, np.int64)
    for pattern in range(256):
        is_inside = [bool(pattern >> corner & 1) for corner in range(8)]
        label = {e: e for e, (a, b) in enumerate(EDGES) if is_inside[a] != is_inside[b]}
        for axis, side in itertools.product(range(3), (0, 1)):
            on_face = [e for e in label if (CORNERS[EDGES[e], axis] == side).all()]
            for e, f in itertools.combinations(on_face, 2):
                meeting = set(EDGES[e].tolist()) & set(EDGES[f].tolist())
                if len(on_face) == 2 or any(is_inside[corner] for corner in meeting):
                    label = {k: label[e] if v == label[f] else v for k, v in label.items()}
        for number, group in enumerate(sorted(set(label.values()))):
            sheets[pattern, [e for e, v in label.items() if v == group]] = number
    return sheets


def _triangles(inside: NDArray[np.bool_], cells: _Cells, vertices: NDArray[np.float64]) -> NDArray[np.int64]:
    """Two triangles per cut grid edge, across the quadrilateral's shorter diagonal."""
    quads = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3  # across the edge, right-handed
        low, high = [slice(1, -1)] * 3, [slice(1, -1)] * 3
        low[axis], high[axis] = slice(0, -1), slice(1, None)
        start, end = inside[tuple(low)], inside[tuple(high)]
        edges = np.argwhere(start != end)
        edges[:, [u, v]] += 1
        corners = []
        for back_u, back_v in ((1, 1), (0, 1), (0, 0), (1, 0)):  # counter-clockwise about the axis
            cell = edges.copy()
            cell[:, u] -= back_u
            cell[:, v] -= back_v
            corners.append(cells.vertex(cell, _edge_number(axis, u, v, back_u, back_v)))
        leaves = start[start != end]  # inside at the start: the outward normal points along the axis
        quad = np.stack(corners, axis=1)
        quads.append(np.where(leaves[:, None], quad, quad[:, ::-1]))
    quad = np.concatenate(quads)
    a, b, c, d = (vertices[quad[:, i]] for i in range(4))
    first_shorter = np.linalg.norm(a - c, axis=1) <= np.linalg.norm(b - d, axis=1)
    split_ac = np.stack([quad[:, [0, 1, 2]], quad[:, [0, 2, 3]]], axis=1)
    split_bd = np.stack([quad[:, [0, 1, 3]], quad[:, [1, 2, 3]]], axis=1)
    return np.where(first_shorter[:, None, None], split_ac, split_bd).reshape(-1, 3)


def _edge_number(axis: int, u: int, v: int, at_u: int, at_v: int) -> int:
    """Which of a cell's edges runs along `axis` at the given corner of its cross-section."""
    corners = [i for i, corner in enumerate(CORNERS) if corner[u] == at_u and corner[v] == at_v]
    return next(number for number, edge in enumerate(EDGES.tolist()) if edge == corners)
