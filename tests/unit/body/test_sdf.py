"""Trees, winding numbers and distance fields: kernels against the plain reference, sampling, and refusals."""

import numpy as np
import pytest

from mane.body import _reference as reference
from mane.body import sdf
from mane.body._boundary import subdivided
from mane.body._kernels_field import field_distance, field_distance_gradient
from mane.body.mesh import Mesh
from mane.body.sdf import SignedDistanceField, build_sdf
from mane.body.shapes import Plane, Sphere, Torus
from mane.body.triangle_tree import TriangleTree

BALL = Sphere((0.3, -0.2, 0.1), 0.5)


def random_triangles(count, seed=0, size=10.0):
    """Triangles of all forms, a quarter of them slivers, in a cube of side `size`."""
    rng = np.random.default_rng(seed)
    corners = rng.uniform(0, size, (count, 1, 3)) + rng.normal(scale=1.0, size=(count, 3, 3))
    corners[::4, 2] = corners[::4, 0] + 1e-3 * rng.normal(size=(len(corners[::4]), 3))
    return corners.astype(np.float32)


def some_points(count=300, seed=1, size=10.0):
    return np.random.default_rng(seed).uniform(-2, size + 2, (count, 3)).astype(np.float32)


# -- trees ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3, 200])
def test_closest_point_is_that_of_the_reference(count):
    corners, points = random_triangles(count), some_points()
    distance, triangle, weights = TriangleTree(corners).closest(points)
    # Lengths up to 20, twenty roundings of 6e-8 each.
    np.testing.assert_allclose(
        distance, reference.mesh_distance(points.astype(float), corners.astype(float)), atol=3e-5
    )
    foot = np.einsum("pc,pci->pi", weights, corners[triangle])
    np.testing.assert_allclose(np.linalg.norm(points - foot, axis=1), distance, atol=3e-5)
    assert (weights >= -1e-6).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-6)


def test_closest_point_survives_triangles_without_area():
    """An animated skin may fold; a line or a point is then as near as it is."""
    corners = np.array([[[0, 0, 0], [1, 0, 0], [0.5, 0, 0]], [[3, 3, 3]] * 3], np.float32)
    points = np.array([[0.5, 1, 0], [2, 0, 0], [3, 3, 5]], np.float32)
    distance, _, weights = TriangleTree(corners).closest(points)
    np.testing.assert_allclose(distance, [1, 1, 2], atol=1e-6)
    assert np.isfinite(weights).all()
    grid = np.full((4, 4, 4), np.inf, np.float32)
    TriangleTree(corners).lower_grid_distance(grid)
    nodes = np.stack(np.meshgrid(*[np.arange(4.0)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    np.testing.assert_allclose(grid.ravel(), reference.mesh_distance(nodes, corners.astype(float)), atol=1e-6)
    assert np.isfinite(TriangleTree(corners).winding(points)).all()


def test_refitted_tree_is_as_good_as_a_new_one():
    before, after, points = random_triangles(200), random_triangles(200, seed=5), some_points()
    refitted = TriangleTree(before).refitted(after)
    np.testing.assert_allclose(refitted.closest(points)[0], TriangleTree(after).closest(points)[0], atol=1e-5)
    np.testing.assert_allclose(refitted.winding(points), TriangleTree(after).winding(points), atol=2e-2)


def test_grid_distance_is_that_of_the_reference_and_only_lowers():
    corners = random_triangles(100)
    grid = np.full((11, 6, 9), 1.0, np.float32)
    TriangleTree(corners).lower_grid_distance(grid)
    nodes = np.stack(np.meshgrid(*[np.arange(float(n)) for n in grid.shape], indexing="ij"), axis=-1).reshape(-1, 3)
    expected = np.minimum(reference.mesh_distance(nodes, corners.astype(float)), 1.0)
    assert (expected < 1).any()
    np.testing.assert_allclose(grid.ravel(), expected, atol=3e-5)


def test_winding_number_is_that_of_the_reference():
    """Far nodes are summed by three terms of a series, which leaves a few thousandths; near triangles are exact."""
    corners = BALL.mesh(24).points[BALL.mesh(24).faces] * 10
    points = some_points(500)
    expected = reference.winding_number(points.astype(float), corners.astype(float))
    tree = TriangleTree(corners)
    np.testing.assert_allclose(tree.winding(points), expected, atol=1e-2)
    few = random_triangles(3)
    expected = reference.winding_number(points.astype(float), few.astype(float))
    np.testing.assert_allclose(TriangleTree(few).winding(points), expected, atol=1e-5)


def test_series_of_far_triangles_has_three_right_terms():
    """Terms fall with the powers 2, 3 and 4 of the distance; the first one left out by 2^5 over twice the distance."""
    corners = random_triangles(60, size=1.0)
    tree = TriangleTree(corners)
    direction = np.random.default_rng(2).normal(size=(200, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    errors = []
    for distance in (16.0, 32.0):
        points = (corners.mean(axis=(0, 1)) + distance * direction).astype(np.float32)
        exact = reference.winding_number(points.astype(float), corners.astype(float))
        errors.append(np.sqrt(np.mean((tree.winding(points) - exact) ** 2)))
    assert 24 < errors[0] / errors[1] < 40


def test_grid_winding_is_that_of_the_points():
    corners = random_triangles(100)
    tree = TriangleTree(corners)
    shape = (7, 5, 6)
    nodes = np.stack(np.meshgrid(*[np.arange(n) for n in shape], indexing="ij"), axis=-1).reshape(-1, 3)
    expected = reference.winding_number(nodes.astype(float), corners.astype(float))
    np.testing.assert_allclose(tree.grid_winding(shape).ravel(), expected, atol=2e-2)


def test_pieces_of_triangles_cover_them():
    corners = random_triangles(3)
    pieces, owner = subdivided(corners, np.array([1, 2, 5]))
    assert np.bincount(owner).tolist() == [1, 4, 25]
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    piece_area = np.cross(pieces[:, 1] - pieces[:, 0], pieces[:, 2] - pieces[:, 0])
    for triangle in range(3):
        np.testing.assert_allclose(piece_area[owner == triangle].sum(axis=0), area[triangle], atol=1e-4)


# -- sampling ------------------------------------------------------------------------------------------------------


def bumpy_field(seed=0):
    values = np.random.default_rng(seed).normal(size=(5, 7, 6)).astype(np.float32)
    return SignedDistanceField(values, np.array([0.5, -1.0, 2.0]), 0.25)


def points_around(field, reach, count=2000, seed=3):
    low, high = field.bounds
    return np.random.default_rng(seed).uniform(low - reach, high + reach, (count, 3)).astype(np.float32)


def test_sample_is_trilinear():
    field = bumpy_field()
    points = points_around(field, 0.0)
    expected = reference.trilinear(field.values, field.origin, field.cell_size, points.astype(float))
    # A position of 3 m is rounded by 2e-7 m, in a field that changes by up to 6 per cell of 0.25 m.
    np.testing.assert_allclose(field.sample(points), expected, atol=2e-5)
    np.testing.assert_allclose(field.sample(field.bounds), field.values[[0, -1], [0, -1], [0, -1]], atol=1e-6)


def test_outside_the_grid_the_way_back_is_added():
    field = bumpy_field()
    points = points_around(field, 2.0)
    nearest = np.clip(points, *field.bounds)
    gap = np.linalg.norm(points - nearest, axis=1)
    assert (gap > 0).any()
    np.testing.assert_allclose(field.sample(points), field.sample(nearest) + gap, atol=2e-5)


def test_gradient_is_the_derivative_inside_and_outside():
    field = bumpy_field()
    points = points_around(field, 1.0)
    step = np.float32(2.0**-10)
    # A kink within a step of the point (faces of cells and of the grid) has no derivative to compare with.
    cell = (points - field.origin) / field.cell_size % 1
    points = points[((cell > 0.01) & (cell < 0.99)).all(axis=1)]
    value, gradient = field.sample_with_gradient(points)
    np.testing.assert_allclose(value, field.sample(points), atol=1e-6)
    for axis in range(3):
        offset = np.zeros(3, np.float32)
        offset[axis] = step
        slope = (field.sample(points + offset) - field.sample(points - offset)) / (2 * step)
        # Rounding of 1e-6 over a step of 2e-3, and the curvature of the way back to a corner of the grid.
        outside = np.linalg.norm(points - np.clip(points, *field.bounds), axis=1)
        curved = step**2 / np.maximum(outside, 0.05) ** 2
        assert (np.abs(slope - gradient[:, axis]) < 5e-3 + curved).all()


def test_sample_takes_any_shape_and_scalar_functions_agree():
    field = bumpy_field()
    points = points_around(field, 0.5, count=12).reshape(3, 4, 3)
    value, gradient = field.sample_with_gradient(points)
    assert value.shape == (3, 4)
    assert gradient.shape == (3, 4, 3)
    arguments = (field.values, field.origin, field.inv_cell, *points[1, 2])
    assert field_distance(*arguments) == pytest.approx(float(value[1, 2]), abs=1e-6)
    assert field_distance_gradient(*arguments) == pytest.approx([value[1, 2], *gradient[1, 2]], abs=1e-5)


@pytest.mark.parametrize("bad", [[[0, 0, np.nan]], [[0, 0]], [0, 0, 0]])
def test_sample_refuses_what_is_no_point(bad):
    with pytest.raises(ValueError, match="points: must"):
        bumpy_field().sample(bad)


# -- building ------------------------------------------------------------------------------------------------------


def test_the_grid_holds_the_mesh_with_padding():
    mesh = BALL.mesh(16)
    field = build_sdf(mesh, 32, cache=False)
    assert field.values.dtype == np.float32
    assert max(field.values.shape) == 32
    assert (field.bounds[0] <= mesh.bounds[0] - 2 * field.cell_size + 1e-6).all()
    assert (field.bounds[1] >= mesh.bounds[1] + 2 * field.cell_size - 1e-6).all()
    padded = build_sdf(mesh, cell_size=0.1, padding=0.4, cache=False)
    assert padded.cell_size == pytest.approx(0.1)
    assert (padded.bounds[0] <= mesh.bounds[0] - 0.4 + 1e-5).all()


def test_result_does_not_depend_on_the_number_of_threads(on_threads):
    mesh = Torus((0, 0, 0), (0, 1, 1), 0.3, 0.1).mesh(24)

    def distances():
        field = build_sdf(mesh, 24, cache=False)
        return field.values, field.sample(mesh.points), field.sample_with_gradient(mesh.points)

    on_threads(distances)


def test_closest_points_do_not_depend_on_the_number_of_threads(on_threads):
    mesh = Torus((0, 0, 0), (0, 1, 1), 0.3, 0.1).mesh(24)
    points = np.random.default_rng(3).uniform(-0.5, 0.5, (3000, 3)).astype(np.float32)

    def asked():
        tree = TriangleTree(mesh.points[mesh.faces])
        return tree.closest(points), tree.winding(points)

    on_threads(asked)


def test_field_scales_with_the_mesh():
    """Small and large bodies are the same to the last bit when the factor is a power of two."""
    mesh = BALL.mesh(12)
    one = build_sdf(mesh, 20, cache=False)
    large = build_sdf(Mesh(mesh.points * 1024, mesh.faces), 20, cache=False)
    np.testing.assert_array_equal(large.values, one.values * 1024)


def test_far_from_the_origin_the_field_is_the_same():
    mesh = BALL.mesh(12)
    here = build_sdf(mesh, 20, cache=False)
    there = build_sdf(Mesh(mesh.points + np.float32(1000), mesh.faces), 20, cache=False)
    # At 1000 m float32 has steps of 6e-5 m, for the mesh and for the origin of the grid.
    np.testing.assert_allclose(there.sample(there.node_positions()), here.values, atol=5e-4)


def test_second_build_comes_from_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MANE_CACHE", str(tmp_path))
    mesh = BALL.mesh(12)
    first = build_sdf(mesh, 20)
    (entry,) = tmp_path.iterdir()
    with monkeypatch.context() as patch:
        patch.setattr(sdf, "_signed_distances", None)
        again = build_sdf(mesh, 20)
        np.testing.assert_array_equal(again.values, first.values)
        np.testing.assert_array_equal(again.origin, first.origin)
        for other in ({"resolution": 21}, {"padding": 0.3}, {"cell_size": 0.05}):
            with pytest.raises(TypeError):
                build_sdf(mesh, **other)
    entry.write_bytes(entry.read_bytes()[:-100])
    np.testing.assert_array_equal(build_sdf(mesh, 20).values, first.values)


def test_without_the_cache_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("MANE_CACHE", str(tmp_path))
    build_sdf(BALL.mesh(12), 20, cache=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"resolution": 8}, "resolution: must be at least 16 nodes, got 8"),
        ({"cell_size": 0.0}, "cell_size: must be a finite number above zero, got 0"),
        ({"cell_size": 1e-4}, "cell_size: must give at most 1.34e[+]08 nodes, got .* for a mesh of 1 x 1 x 1 m"),
        ({"padding": -1.0}, "padding: must be a finite number of metres, zero or more, got -1"),
    ],
)
def test_bad_settings_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        build_sdf(BALL.mesh(16), cache=False, **arguments)


def test_a_sheet_that_encloses_nothing_is_refused():
    with pytest.raises(ValueError, match="mesh: must enclose a volume, got 2 triangles that enclose nothing"):
        build_sdf(Plane((0, 0, 0), (0, 1, 0)).mesh(), 32, cache=False)
