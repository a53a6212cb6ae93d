"""Trilinear sampling: exact for what it should be exact for, and as accurate as stated for the rest."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mane.geometry import _reference as reference
from mane.geometry.grid import UniformGrid

ORIGIN = np.array([-0.3, 0.1, 2.0], np.float32)


def grid_of(function, cell_size=0.1, shape=(9, 8, 7)):
    empty = UniformGrid(np.zeros(shape, np.float32), ORIGIN, cell_size)
    return UniformGrid(function(empty.node_positions().astype(np.float64)), ORIGIN, cell_size)


def inside_points(grid, count=200, margin=0.0):
    low, high = grid.bounds
    return np.random.default_rng(2).uniform(low + margin, high - margin, (count, 3)).astype(np.float32)


def test_linear_fields_are_exact():
    slope = np.array([1.5, -2.0, 0.25])
    grid = grid_of(lambda p: p @ slope + 4)
    points = inside_points(grid)
    value, gradient = grid.sample_with_gradient(points)
    assert_allclose(value, points @ slope + 4, atol=2e-6)
    assert_allclose(gradient, np.broadcast_to(slope, gradient.shape), atol=5e-5)
    assert_allclose(grid.sample(points), value, atol=2e-6)


def test_matches_the_reference_and_its_own_nodes():
    rng = np.random.default_rng(0)
    grid = UniformGrid(rng.standard_normal((5, 6, 7)).astype(np.float32), ORIGIN, 0.1)
    points = inside_points(grid, 50)
    expected = [reference.trilinear(grid.values, grid.origin, grid.cell_size, p) for p in points]
    assert_allclose(grid.sample(points), expected, atol=2e-5)
    assert_allclose(grid.sample(grid.node_positions()), grid.values, atol=2e-5)


def test_gradient_is_the_derivative_of_the_sampled_value():
    grid = UniformGrid(np.random.default_rng(0).standard_normal((5, 6, 7)), ORIGIN, 0.1)
    # stay off the cell faces, where the gradient jumps
    rng = np.random.default_rng(1)
    points = ORIGIN + 0.1 * (rng.integers(0, 4, (60, 3)) + rng.uniform(0.2, 0.8, (60, 3)))
    _, gradient = grid.sample_with_gradient(points)
    step = 0.01
    for axis in range(3):
        delta = np.eye(3)[axis] * step
        slope = (grid.sample(points + delta) - grid.sample(points - delta)) / (2 * step)
        assert_allclose(gradient[:, axis], slope, atol=2e-3)  # float32 rounding over the step


def test_error_falls_with_the_square_of_the_cell():
    def bump(p):
        return np.sin(3 * p[..., 0]) * np.cos(2 * p[..., 1]) + p[..., 2] ** 2

    # second derivatives along the axes are at most 9, 4 and 2
    for cell, shape in ((0.1, (9, 8, 7)), (0.05, (17, 15, 13))):
        grid = grid_of(bump, cell, shape)
        points = inside_points(grid, 2000)
        error = np.abs(grid.sample(points) - bump(points.astype(np.float64))).max()
        assert error <= cell**2 / 8 * (9 + 4 + 2)


def test_outside_takes_the_nearest_point_of_the_box():
    grid = grid_of(lambda p: p @ np.array([1.0, 2.0, 3.0]))
    points = inside_points(grid, 100) + np.array([5.0, 0, 0], np.float32)
    assert_allclose(grid.sample(points), grid.sample(np.clip(points, *grid.bounds)), atol=1e-6)


def test_any_batch_shape():
    grid = grid_of(lambda p: p[..., 0])
    assert grid.sample(np.zeros((2, 3, 3))).shape == (2, 3)
    assert grid.sample_with_gradient(np.zeros((2, 3, 3)))[1].shape == (2, 3, 3)
    assert grid.sample(np.zeros(3)).shape == ()


@pytest.mark.parametrize(
    ("values", "cell", "message"),
    [
        (np.zeros((1, 4, 4)), 0.1, "at least 2 nodes"),
        (np.zeros((4, 4)), 0.1, r"must have shape \(nx, ny, nz\)"),
        (np.full((2, 2, 2), np.nan), 0.1, "must be finite, got nan at index 0"),
        (np.zeros((2, 2, 2)), 0.0, "above zero, got 0.0"),
    ],
)
def test_bad_grids_are_refused(values, cell, message):
    with pytest.raises(ValueError, match=message):
        UniformGrid(values, ORIGIN, cell)


def test_threads_change_no_byte(on_threads):
    grid = grid_of(lambda p: np.sin(p @ [9.0, 7.0, 5.0]))
    points = inside_points(grid, 1000)
    on_threads(lambda: (grid.sample(points), grid.sample_with_gradient(points)))
