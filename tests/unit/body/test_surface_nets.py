"""Surface nets against shapes with known area, volume and topology."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mane.body.surface_nets import graded_axis, mesh_implicit, mesh_on_axes, surface_nets

CENTRE = np.array([0.011, -0.007, 0.005])
RADIUS = 0.1
BOX = np.array([[-0.15] * 3, [0.15] * 3])


def ball(points):
    return np.linalg.norm(points - CENTRE, axis=1) - RADIUS


def torus(points):
    ring = np.hypot(points[:, 0], points[:, 2]) - 0.08
    return np.hypot(ring, points[:, 1]) - 0.03


def euler_characteristic(mesh):
    edges = np.sort(mesh.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    return mesh.vertex_count - len(np.unique(edges, axis=0)) + mesh.face_count


def test_projected_vertices_lie_on_the_surface():
    mesh = mesh_implicit(ball, BOX, 0.012)
    # Newton's method ends at rounding: float32 positions of 0.1 m are 4e-9 m apart, three of them make a distance.
    assert np.abs(ball(mesh.points.astype(np.float64))).max() < 3e-8


def test_volume_and_area_converge_with_the_square_of_the_cell():
    exact_volume, exact_area = 4 / 3 * np.pi * RADIUS**3, 4 * np.pi * RADIUS**2
    errors = []
    for cell in (0.02, 0.01):
        mesh = mesh_implicit(ball, BOX, cell)
        errors.append((1 - mesh.volume / exact_volume, 1 - mesh.face_areas.sum() / exact_area))
    coarse, fine = np.array(errors)
    assert (fine > 0).all()  # flat triangles between points of a ball lie inside it
    # An inscribed triangle of side c loses a share of about (c / R)^2 / 6: 0.17 % at c = 1 cm for the area.
    assert (fine < 0.005).all()
    np.testing.assert_allclose(coarse / fine, 4.0, rtol=0.2)


def test_samples_on_a_grid_give_vertices_within_their_cells():
    cell, origin = 0.01, np.array([-0.15, -0.14, -0.13])
    index = np.indices((31, 31, 31)).reshape(3, -1).T
    mesh = surface_nets(ball(origin + cell * index).reshape(31, 31, 31), origin, cell)
    assert mesh.is_closed
    # The mean of cuts by a ball that bends by c^2 / (8 R) over a cell of diagonal sqrt(3) c.
    assert np.abs(ball(mesh.points.astype(np.float64))).max() < 3 * cell**2 / (8 * RADIUS) + 0.05 * cell


def test_the_level_moves_the_surface():
    index = np.indices((40, 40, 40)).reshape(3, -1).T
    values = np.linalg.norm(index - 19.6, axis=1).reshape(40, 40, 40)
    mesh = surface_nets(values, (0, 0, 0), 1.0, level=12.0)
    assert mesh.volume == pytest.approx(4 / 3 * np.pi * 12.0**3, rel=0.02)


@pytest.mark.parametrize(("function", "expected"), [(ball, 2), (torus, 0)])
def test_topology_and_orientation(function, expected):
    mesh = mesh_implicit(function, BOX, 0.01)
    assert mesh.is_closed
    assert mesh.volume > 0
    assert euler_characteristic(mesh) == expected


@settings(max_examples=25, deadline=None)
@given(gap=st.floats(-0.03, 0.03), turn=st.floats(0, np.pi), cell=st.floats(0.008, 0.014))
def test_two_balls_close_to_each_other_stay_closed(gap, turn, cell):
    """Where two sheets pass through one cell each keeps a vertex of its own."""
    away = 0.5 * (0.12 + gap) * np.array([np.cos(turn), np.sin(turn), 0.0])

    def pair(points):
        return np.minimum(np.linalg.norm(points - away, axis=1), np.linalg.norm(points + away, axis=1)) - 0.06

    assert mesh_implicit(pair, BOX, cell, project=False).is_closed


def test_a_surface_through_a_sample_gives_no_empty_triangle():
    # Poles and equator of this ball fall on samples; `Mesh` refuses degenerate triangles.
    mesh = mesh_implicit(lambda points: np.linalg.norm(points, axis=1) - 0.1, BOX, 0.01)
    assert mesh.is_closed


def test_a_graded_and_warped_grid_gives_the_same_surface():
    axis = graded_axis(-0.2, 0.2, [-0.1, 0.0, 0.1], [0.02, 0.006, 0.02])
    steps = np.diff(axis)
    assert (steps > 0).all()
    assert steps.min() >= 0.006 - 1e-12
    assert axis[-1] >= 0.2

    def sheared(points):
        return points @ np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.0], [0.0, 0.1, 1.0]])

    mesh = mesh_on_axes(ball, [axis] * 3, warp=sheared)
    assert mesh.is_closed
    assert np.abs(ball(mesh.points.astype(np.float64))).max() < 3e-8
    assert mesh.volume == pytest.approx(4 / 3 * np.pi * RADIUS**3, rel=0.03)


def test_a_mirrored_function_gives_a_mirrored_mesh():
    mesh = mesh_implicit(torus, BOX, 0.0113)
    for axis in range(3):
        mirrored = mesh.points.copy()
        mirrored[:, axis] *= -1
        order = [np.lexsort(np.round(p, 6).T) for p in (mesh.points, mirrored)]
        np.testing.assert_allclose(mesh.points[order[0]], mirrored[order[1]], atol=2e-6)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones((4, 4, 4)), "must be below the level somewhere"),
        (-np.ones((4, 4, 4)), r"on the grid's border, got a sample inside at index \(0, 0, 0\)"),
        (np.ones((2, 4, 4)), "at least 3 samples"),
        (np.ones((4, 4)), r"values: must have shape \(X, Y, Z\)"),
    ],
)
def test_bad_values_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        surface_nets(values, (0, 0, 0), 1.0)


def test_bad_bounds_are_refused():
    with pytest.raises(ValueError, match="second corner must exceed the first"):
        mesh_implicit(ball, BOX[::-1], 0.01)
    with pytest.raises(ValueError, match="cell_size: must be a finite number above zero"):
        mesh_implicit(ball, BOX, 0.0)
