"""Triangles of a surface: closed, outward, where the surface is."""

import math

import numpy as np

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
    edges = np.concatenate([mesh.faces[:, [0, 1]], mesh.faces[:, [1, 2]], mesh.faces[:, [2, 0]]]).astype(np.int64)
    forth, back = (edges[:, [p, q]] @ np.array([len(mesh.points), 1]) for p, q in ((0, 1), (1, 0)))
    assert len(np.unique(forth)) == len(forth)
    assert np.array_equal(np.sort(forth), np.sort(back))  # every edge once in either way


def test_a_pool_is_closed_at_the_sides_of_the_box():
    level = LevelSet(Grid((10, 10, 10), 0.1))
    level.add(lambda points: points[..., 1] - 0.42)
    mesh = surface_mesh(level)
    a, b, c = (mesh.points[mesh.faces[:, corner]].astype(np.float64) for corner in range(3))
    assert np.isclose(np.einsum("ti,ti->t", a, np.cross(b, c)).sum() / 6, 0.42, rtol=0.05)
