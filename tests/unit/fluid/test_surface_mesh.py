"""Triangles of a surface: closed, outward, where the surface is."""

import math

import numpy as np

from mane.fluid.drop_mesh import with_sharp_sides
from mane.fluid.grid import Grid
from mane.fluid.level_set import LevelSet
from mane.fluid.surface_mesh import surface_mesh


def test_triangles_of_a_ball_are_closed_and_enclose_its_volume():
    level = LevelSet(Grid((20, 20, 20), 0.05, (1.0, 0.0, 0.0)))
    assert surface_mesh(level) is None
    level.add(lambda points: np.linalg.norm(points - (1.5, 0.5, 0.5), axis=-1) - 0.3)
    mesh = surface_mesh(level)
    a, b, c = (mesh.points[mesh.faces[:, corner]].astype(np.float64) for corner in range(3))
    volume = np.einsum("ti,ti->t", a, np.cross(b, c)).sum() / 6
    assert np.isclose(volume, 4 / 3 * math.pi * 0.3**3, rtol=0.02)  # positive: outward
    assert np.abs(np.linalg.norm(mesh.points - (1.5, 0.5, 0.5), axis=1) - 0.3).max() < 0.01
    assert is_closed(mesh)


def test_a_tilted_pool_is_closed_at_the_sides_of_the_box_and_encloses_its_volume():
    mesh = tilted_pool()
    a, b, c = (mesh.points[mesh.faces[:, corner]].astype(np.float64) for corner in range(3))
    assert np.isclose(np.einsum("ti,ti->t", a, np.cross(b, c)).sum() / 6, 0.42, rtol=1e-3)
    assert is_closed(mesh)


def test_nothing_of_a_pool_sticks_out_of_the_sides_and_its_edge_is_straight():
    mesh = tilted_pool()
    x, y, _ = mesh.points.T
    assert x.min() >= 0.0
    assert x.max() <= 1.0
    assert np.abs(y.max() - 0.57) < 1e-3  # where the tilted surface meets the higher side
    at_side = np.isclose(x, 1.0, atol=1e-6)
    top = y[at_side & (y > 0.56)]
    assert len(top) > 10
    assert np.ptp(top) < 1e-6


def test_edges_of_a_pool_are_sharp():
    mesh = with_sharp_sides(tilted_pool())
    normals = mesh.vertex_normals
    upward = normals[:, 1] > 0.5
    assert np.allclose(normals[upward] @ (-0.3, 1.0, 0.0) / math.hypot(0.3, 1.0), 1.0, atol=1e-3)
    sides = np.abs(normals[~upward])
    assert np.allclose(sides.max(axis=1), 1.0, atol=1e-6)  # along one axis each
    assert {int(axis) for axis in sides.argmax(axis=1)} == {0, 1, 2}


def tilted_pool():
    level = LevelSet(Grid((10, 10, 10), 0.1))
    level.add(lambda points: points[..., 1] - 0.42 - 0.3 * (points[..., 0] - 0.5))
    return surface_mesh(level)


def is_closed(mesh):
    """Whether every edge is there once in either way."""
    edges = np.concatenate([mesh.faces[:, [0, 1]], mesh.faces[:, [1, 2]], mesh.faces[:, [2, 0]]]).astype(np.int64)
    forth, back = (edges[:, [p, q]] @ np.array([len(mesh.points), 1]) for p, q in ((0, 1), (1, 0)))
    return len(np.unique(forth)) == len(forth) and np.array_equal(np.sort(forth), np.sort(back))
