"""Places found by arc length, on curves of differing vertex counts."""

from itertools import pairwise

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from mane.geometry import _reference as reference
from mane.geometry.arclength import CurveLocation, arc_lengths, even_lengths, locate


def ragged(seed=0, strands=30):
    rng = np.random.default_rng(seed)
    counts = rng.integers(2, 12, strands)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return rng.standard_normal((offsets[-1], 3)).astype(np.float32), offsets


def test_arc_lengths_start_at_zero_and_add_up():
    points, offsets = ragged()
    arc = arc_lengths(points, offsets)
    for first, last in pairwise(offsets):
        steps = np.linalg.norm(np.diff(points[first:last].astype(float), axis=0), axis=1)
        assert_allclose(arc[first:last], np.concatenate([[0], np.cumsum(steps)]))


def test_located_points_match_the_reference():
    points, offsets = ragged()
    arc = arc_lengths(points, offsets)
    counts = np.full(len(offsets) - 1, 9)
    wanted = even_lengths(arc[offsets[1:] - 1], counts)
    places = locate(arc, offsets, wanted, np.arange(len(offsets)) * 9)
    found = places.interpolate(points).reshape(-1, 9, 3)
    for strand in range(len(found)):
        for k in range(9):
            expected = reference.points_at(points, offsets, strand, wanted[strand * 9 + k])
            assert_allclose(found[strand, k], expected, atol=1e-5)


def test_ends_are_exact_to_the_bit():
    points, offsets = ragged()
    arc = arc_lengths(points, offsets)
    wanted = even_lengths(arc[offsets[1:] - 1], np.full(len(offsets) - 1, 5))
    found = locate(arc, offsets, wanted, np.arange(len(offsets)) * 5).interpolate(points).reshape(-1, 5, 3)
    assert_array_equal(found[:, 0], points[offsets[:-1]])
    assert_array_equal(found[:, -1], points[offsets[1:] - 1])


def test_lengths_beyond_the_curve_are_clamped_and_a_point_like_curve_is_safe():
    points = np.array([[0, 0, 0], [1, 0, 0], [5, 5, 5], [5, 5, 5]], np.float32)
    offsets = np.array([0, 2, 4])
    places = locate(arc_lengths(points, offsets), offsets, np.array([-1.0, 9.0, 0.0, 1.0]), np.array([0, 2, 4]))
    assert_allclose(places.interpolate(points), [[0, 0, 0], [1, 0, 0], [5, 5, 5], [5, 5, 5]])


def test_whole_numbers_take_the_nearer_point():
    places = CurveLocation(np.array([0, 0]), np.array([0.2, 0.7], np.float32))
    assert_array_equal(places.interpolate(np.array([3, 8])), [3, 8])


def test_even_lengths():
    assert_allclose(even_lengths(np.array([2.0, 1.0]), np.array([3, 2])), [0, 1, 2, 0, 1])


def test_threads_change_no_byte(on_threads):
    points, offsets = ragged()

    def located():
        arc = arc_lengths(points, offsets)
        wanted = even_lengths(arc[offsets[1:] - 1], np.full(len(offsets) - 1, 9))
        return arc, locate(arc, offsets, wanted, np.arange(len(offsets)) * 9)

    on_threads(located)
