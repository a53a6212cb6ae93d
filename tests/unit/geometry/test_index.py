"""Nearest neighbours agree with looking at every point, ties included."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mane.geometry.index import PointIndex


def test_nearest_agrees_with_brute_force():
    rng = np.random.default_rng(0)
    points, queries = rng.random((200, 3)), rng.random((50, 3))
    distance, index = PointIndex(points).nearest(queries, k=4)
    table = np.linalg.norm(queries[:, None] - points[None], axis=-1)
    assert_array_equal(index, np.argsort(table, axis=1)[:, :4])
    assert_allclose(distance, np.sort(table, axis=1)[:, :4], atol=1e-6)


def test_ties_go_to_the_lower_index():
    corners = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0]], float)
    _, index = PointIndex(corners).nearest(np.zeros((1, 3)), k=2)
    assert index.tolist() == [[0, 1]]
    assert PointIndex(corners[::-1]).nearest(np.zeros((1, 3)), k=1)[1].tolist() == [[0]]


def test_k_is_capped_at_the_number_of_points():
    assert PointIndex(np.eye(3)).nearest(np.zeros((2, 3)), k=9)[1].shape == (2, 3)


def test_pairs_within_a_radius():
    points = np.random.default_rng(1).random((80, 3))
    table = np.linalg.norm(points[:, None] - points[None], axis=-1)
    expected = np.argwhere(np.triu(table <= 0.2, k=1))
    assert_array_equal(PointIndex(points).pairs_within(0.2), expected)


def test_no_points_are_refused():
    with pytest.raises(ValueError, match="at least one point, got none"):
        PointIndex(np.zeros((0, 3)))
