"""The pressure equation against a sparse direct solver, and how many iterations it takes."""

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from scipy.sparse.linalg import spsolve

from mane.fluid.grid import Grid, Side
from mane.fluid.multigrid import PressureSolver


def opened(grid, distance=None):
    """Open parts of faces of a box, less what lies within a distance function."""
    faces = [grid.zeros() for _ in range(3)]
    for axis, c in enumerate(faces):
        inner = grid.faces(c, axis)
        inner[...] = 1.0
        if distance is not None:
            inner[...] = np.clip(0.5 + distance(grid.face_centers(axis)) / grid.cell, 0, 1)
            inner[inner < 0.02] = 0.0
        rows = np.moveaxis(inner, axis, 0)
        for side, at in ((2 * axis, 0), (2 * axis + 1, -1)):
            if grid.kinds[side] != 2:
                rows[at] = 0.0
    return faces


def matrix_of(grid, faces):
    """The same equation as a sparse matrix, cell by cell: sum over faces of c (p - p of the neighbour)."""
    number = np.arange(grid.cell_count).reshape(grid.shape)
    rows, columns, values = [], [], []
    for axis, c in enumerate(faces):
        c = np.moveaxis(grid.faces(c, axis), axis, 0).astype(np.float64)
        cells = np.moveaxis(number, axis, 0)
        for own, other, face in ((cells[1:], cells[:-1], c[1:-1]), (cells[:-1], cells[1:], c[1:-1])):
            rows += [own.ravel(), own.ravel()]
            columns += [own.ravel(), other.ravel()]
            values += [face.ravel(), -face.ravel()]
        for own, face in ((cells[0], c[0]), (cells[-1], c[-1])):
            rows.append(own.ravel()), columns.append(own.ravel()), values.append(face.ravel())
    shape = (grid.cell_count, grid.cell_count)
    return coo_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape).tocsr()


def ball(points):
    return np.linalg.norm(points - 0.45, axis=-1) - 0.22


def right_side(grid, solver, seed=0):
    b = grid.zeros()
    grid.cells(b)[...] = np.random.default_rng(seed).normal(size=grid.shape)
    grid.cells(b)[~solver.is_fluid] = 0.0
    return b


@pytest.mark.parametrize("shape", [(16, 16, 16), (24, 12, 20), (32, 32, 1)])
def test_solution_is_that_of_a_direct_solver(shape):
    grid = Grid(shape, 1 / shape[0], sides=Side("open"))
    faces = opened(grid, ball)
    solver = PressureSolver(grid, tolerance=1e-6)
    solver.open_faces(*faces)
    b = right_side(grid, solver)
    report = solver.solve(b)
    fluid = solver.is_fluid.ravel()
    expected = np.zeros(grid.cell_count)
    expected[fluid] = spsolve(matrix_of(grid, faces)[fluid][:, fluid].tocsc(), grid.cells(b).ravel()[fluid])
    assert report.residual <= 1e-6
    # float32, and an error of some condition number times the tolerance
    assert np.abs(grid.cells(solver.pressure).ravel() - expected).max() < 2e-4 * np.abs(expected).max()


def test_pressure_is_zero_in_the_air():
    """Liquid below a surface that lies between cells: against a direct solver."""
    grid = Grid((16, 24, 16), 1 / 16)
    faces = opened(grid, ball)
    height = grid.cell_centers()[..., 1] - 0.9 - 0.2 * np.sin(7 * grid.cell_centers()[..., 0])
    is_liquid = np.zeros(grid.padded, np.uint8)
    grid.cells(is_liquid)[...] = height < 0
    for axis, c in enumerate(faces):
        below, above = np.moveaxis(height, axis, 0)[:-1], np.moveaxis(height, axis, 0)[1:]
        inner = np.moveaxis(grid.faces(c, axis), axis, 0)[1:-1]
        crossed = (below < 0) != (above < 0)
        liquid, way = np.minimum(below, above)[crossed], np.abs(below - above)[crossed]
        inner[crossed] /= np.clip(-liquid / way, 0.01, 1)
    solver = PressureSolver(grid, tolerance=1e-6)
    solver.pressure += 1.0  # what the air had does not matter
    solver.open_faces(*faces, is_liquid=is_liquid)
    b = right_side(grid, solver)
    report = solver.solve(b)
    fluid = solver.is_fluid.ravel()
    expected = np.zeros(grid.cell_count)
    expected[fluid] = spsolve(matrix_of(grid, faces)[fluid][:, fluid].tocsc(), grid.cells(b).ravel()[fluid])
    assert report.residual <= 1e-6
    assert report.iterations <= 16
    assert np.abs(grid.cells(solver.pressure).ravel() - expected).max() < 2e-4 * np.abs(expected).max()


def test_a_closed_box_is_solved_up_to_a_constant():
    grid = Grid((16, 16, 16), 1 / 16)
    faces = opened(grid, ball)
    solver = PressureSolver(grid)
    solver.open_faces(*faces)
    b = right_side(grid, solver)
    assert solver.solve(b).residual <= 1e-5
    fluid = solver.is_fluid
    assert abs(grid.cells(b)[fluid].sum()) < 1e-3  # the mean was taken away
    left = matrix_of(grid, faces) @ grid.cells(solver.pressure).ravel() - grid.cells(b).ravel()
    assert np.linalg.norm(left) < 2e-5 * np.linalg.norm(b)


def test_a_pocket_without_a_way_out_is_balanced_by_itself():
    grid = Grid((16, 16, 16), 1 / 16, sides=Side("open"))
    faces = opened(grid)
    for axis, c in enumerate(faces):  # six closed faces around four by four by four cells
        box = np.moveaxis(grid.faces(c, axis), axis, 0)
        box[4, 4:8, 4:8] = box[8, 4:8, 4:8] = 0.0
    solver = PressureSolver(grid)
    solver.open_faces(*faces)
    b = right_side(grid, solver)
    assert solver.solve(b).residual <= 1e-5
    assert abs(grid.cells(b)[4:8, 4:8, 4:8].sum()) < 1e-4
    assert abs(grid.cells(b)[8:].sum()) > 1.0


def wall_of(grid, thickness):
    """A plate across the middle of the box, an odd number of cells from its side, with a gap around it."""
    faces, n = opened(grid), grid.shape[0]
    i, inner = n // 2 + 1, slice(n // 8, -n // 8)
    grid.faces(faces[0], 0)[i : i + thickness + 1, inner, inner] = 0.0
    for cell in range(i, i + thickness):
        grid.faces(faces[1], 1)[cell, n // 8 : -n // 8 + 1, inner] = 0.0
        grid.faces(faces[2], 2)[cell, inner, n // 8 : -n // 8 + 1] = 0.0
    return faces


@pytest.mark.parametrize(("distance", "thickness", "most"), [(None, None, 12), (ball, None, 12), (None, 1, 18)])
def test_iterations_stay_few_also_around_a_wall_of_one_cell(distance, thickness, most):
    grid = Grid((32, 32, 32), 1 / 32, sides=Side("open"))
    faces = opened(grid, distance) if thickness is None else wall_of(grid, thickness)
    solver = PressureSolver(grid)
    solver.open_faces(*faces)
    b = grid.zeros()
    c = grid.faces(faces[0], 0)
    grid.cells(b)[...] = c[:-1] - c[1:] + (1.0 if distance is None else 0.0)  # uniform flow meets what is there
    grid.cells(b)[~solver.is_fluid] = 0.0
    assert solver.solve(b).iterations <= most


def test_a_wall_between_cells_of_one_coarse_cell_stays_closed():
    grid = Grid((16, 8, 8), 1.0)
    faces = opened(grid)
    grid.faces(faces[0], 0)[5] = 0.0
    solver = PressureSolver(grid)
    solver.open_faces(*faces)
    for level in solver.multigrid.levels[1:]:
        across = level.cx[1 : level.shape[0] + 1, 1:-1, : level.shape[2]]
        assert (across == 0.0).all(axis=(1, 2)).sum() >= 2  # the side of the box, and the wall


def test_the_same_bytes_on_any_number_of_threads(on_threads):
    def solve():
        grid = Grid((16, 24, 16), 1 / 16, sides=Side("open"))
        solver = PressureSolver(grid)
        solver.open_faces(*opened(grid, ball))
        report = solver.solve(right_side(grid, solver))
        return {"pressure": solver.pressure.copy(), "iterations": report.iterations}

    on_threads(solve)
