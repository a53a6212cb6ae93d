"""Roots lie on the skin, evenly for its area and density."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mane.body.mesh import Mesh
from mane.body.shapes import Sphere
from mane.geometry.index import PointIndex
from mane.groom.roots import scatter_roots

SQUARE = Mesh([[0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1]], [[0, 2, 1], [0, 3, 2]], uv=[[0, 0], [1, 0], [1, 1], [0, 1]])


def test_roots_lie_on_their_triangle_with_its_normal_and_uv():
    roots = scatter_roots(SQUARE, 500, seed=3)
    corners = SQUARE.points[SQUARE.faces[roots.triangle]]
    assert_allclose(np.einsum("sc,scd->sd", roots.barycentric, corners), roots.points, atol=1e-6)
    assert_allclose(roots.barycentric.sum(1), 1, atol=1e-6)
    assert roots.barycentric.min() >= -1e-6
    assert_allclose(roots.normals, np.broadcast_to([0, 1, 0], (500, 3)), atol=1e-6)
    assert_allclose(roots.uv, roots.points[:, [0, 2]], atol=1e-6)


def test_normals_are_smooth_on_a_sphere():
    roots = scatter_roots(Sphere((0, 0, 0), 1.0).mesh(64), 2000)
    outward = roots.points / np.linalg.norm(roots.points, axis=1, keepdims=True)
    assert (roots.normals * outward).sum(1).min() > 0.999


def test_more_even_than_chance():
    """Counts in cells of equal area vary much less than the Poisson counts of independent points."""
    mesh = Sphere((0, 0, 0), 1.0).mesh(48)
    roots = scatter_roots(mesh, 20_000)
    height = np.floor((roots.points[:, 1] + 1) / 2 * 10).clip(0, 9)  # equal height is equal area on a sphere
    turn = np.floor((np.arctan2(roots.points[:, 0], roots.points[:, 2]) / (2 * np.pi) + 0.5) * 20).clip(0, 19)
    counts = np.bincount((height * 20 + turn).astype(int), minlength=200)
    expected = 20_000 / 200
    assert counts.std() < 0.6 * np.sqrt(expected)
    nearest = PointIndex(roots.points).nearest(roots.points, k=2)[0][:, 1]
    assert nearest.max() < 3 * np.sqrt(4 * np.pi / 20_000)  # no root stands alone


def test_density_is_followed():
    """A density that grows linearly along x puts the mean root at x = 2/3."""
    grid = np.linspace(0, 1, 21)
    x, z = np.meshgrid(grid, grid, indexing="ij")
    points = np.stack([x, np.zeros_like(x), z], -1).reshape(-1, 3)
    a = (np.arange(20)[:, None] * 21 + np.arange(20)).reshape(-1)
    mesh = Mesh(points, np.concatenate([np.stack([a, a + 1, a + 22], 1), np.stack([a, a + 22, a + 21], 1)]))
    roots = scatter_roots(mesh, 40_000, density=points[:, 0])
    assert_allclose(roots.points[:, 0].mean(), 2 / 3, atol=0.003)
    empty = scatter_roots(mesh, 5000, density=points[:, 0] > 0.5)
    assert empty.points[:, 0].min() > 0.5 - 0.05 - 1e-6


def test_same_seed_same_bytes_and_other_seed_other_roots():
    first, again, other = (scatter_roots(SQUARE, 100, seed=seed) for seed in (1, 1, 2))
    assert_array_equal(first.points, again.points)
    assert not np.array_equal(first.points, other.points)


@pytest.mark.parametrize(
    ("count", "density", "message"),
    [
        (0, None, "strands: must be at least 1, got 0"),
        (5, [0, 0, 0, 0], "density: must be above zero somewhere"),
        (5, [1, 1, -1, 1], "density: must not be negative, got -1.0 at vertex 2"),
        (5, [1, 1], r"density: must have shape \(4,\), got \(2,\)"),
    ],
)
def test_bad_input(count, density, message):
    with pytest.raises(ValueError, match=message):
        scatter_roots(SQUARE, count, density=density)
