"""Smoothing strands against the curves that they were cut from."""

import numpy as np
import pytest

from mane.groom.groom import Groom
from mane.render.camera import Camera
from mane.render.strands import FULL_HEAD, HAIR_WIDTH, TIP_WIDTH, WIDEST_DEFAULT, SmoothStrands, strand_widths
from mane.render.view import View

VIEW = View.of_camera(Camera((0.0, 0.0, 1.0), (0.0, 0.0, 0.0)), 800, 600)


def helix(turns, count):
    angle = np.linspace(0.0, 2 * np.pi * turns, count)
    return np.stack([0.03 * np.cos(angle), 0.1 * angle / angle[-1], 0.03 * np.sin(angle)], axis=1).astype(np.float32)


def distance_to_helix(points, turns):
    fine = helix(turns, 40_000)
    return np.array([np.linalg.norm(fine - p, axis=1).min() for p in points])


def tangents(smooth):
    return smooth.gather(np.arange(smooth.point_count), np.zeros((len(smooth.starts), 3), np.float32))[1]


def test_groom_points_stay_where_they_are():
    groom = Groom.from_strands([helix(1.5, 9), helix(0.5, 5)])
    smooth = SmoothStrands.of_groom(groom, VIEW)
    np.testing.assert_array_equal(smooth.points[smooth.starts], groom.points)
    np.testing.assert_array_equal(smooth.points[smooth.offsets[:-1]], groom.roots)
    np.testing.assert_array_equal(smooth.points[smooth.offsets[1:] - 1], groom.tips)


def test_smooth_strand_follows_the_curve_with_fourth_order_inside():
    """Away from the ends the error of the cubic falls with the third power of the spacing or faster, a chord's with
    the second; with 12 points a turn it is far below the chord's."""
    errors = []
    for count in (13, 25):
        smooth = SmoothStrands.of_groom(Groom.from_strands([helix(1.0, count)]), VIEW)
        first, last = smooth.starts[2], smooth.starts[-3]
        errors.append(distance_to_helix(smooth.points[first:last], 1.0).max())
    chord = 0.03 * (1 - np.cos(np.pi / 12))
    assert errors[0] < 0.25 * chord
    assert errors[0] / errors[1] > 2**3 * 0.8


def test_straight_strand_stays_straight_however_it_is_spaced():
    place = np.array([0.0, 0.001, 0.05, 0.06, 0.2], np.float32)
    groom = Groom.from_strands([np.outer(place, [0.6, 0.64, 0.48]).astype(np.float32)])
    smooth = SmoothStrands.of_groom(groom, VIEW)
    assert smooth.point_count > 10
    direction = np.array([0.6, 0.64, 0.48]) / np.linalg.norm([0.6, 0.64, 0.48])
    along = smooth.points @ direction
    np.testing.assert_allclose(smooth.points, np.outer(along, direction), atol=1e-7)
    assert (np.diff(along) > 0).all()
    np.testing.assert_allclose(tangents(smooth), np.broadcast_to(direction, (smooth.point_count, 3)), atol=1e-5)


def test_points_are_spent_where_the_picture_shows_them():
    far = View.of_camera(Camera((0.0, 0.0, 50.0), (0.0, 0.0, 0.0)), 800, 600)
    groom = Groom.from_strands([helix(2.0, 17)])
    assert SmoothStrands.of_groom(groom, far).point_count < SmoothStrands.of_groom(groom, VIEW).point_count / 3
    limited = SmoothStrands.of_groom(groom, VIEW, most=40)
    assert groom.point_count <= limited.point_count <= 40
    assert SmoothStrands.of_groom(groom, VIEW, most=3).point_count == groom.point_count


def test_repeated_points_do_no_harm():
    groom = Groom.from_strands([np.zeros((4, 3)), [[0, 0, 0], [0, 0, 0], [0.1, 0, 0], [0.1, 0, 0]]])
    smooth = SmoothStrands.of_groom(groom, VIEW)
    assert np.isfinite(smooth.points).all()
    np.testing.assert_allclose(np.linalg.norm(tangents(smooth), axis=1), 1.0, rtol=1e-5)


def test_widths():
    line = np.array([[[0, 0, 0], [0.05, 0, 0], [0.1, 0, 0]]], np.float32)
    one = Groom.from_uniform(line)
    np.testing.assert_allclose(strand_widths(one), WIDEST_DEFAULT)
    many = Groom.from_uniform(np.repeat(line, FULL_HEAD, axis=0))
    np.testing.assert_allclose(strand_widths(many), HAIR_WIDTH)
    np.testing.assert_allclose(strand_widths(one, 3e-4), 3e-4)
    per_vertex = one.with_vertex(width=np.array([2e-3, 3e-3, 4e-3]))
    smooth = SmoothStrands.of_groom(per_vertex, VIEW)  # an artist's own taper is kept
    np.testing.assert_allclose(
        smooth.width, np.interp(smooth.points[:, 0], [0, 0.05, 0.1], [2e-3, 3e-3, 4e-3]), rtol=1e-4
    )
    tapered = SmoothStrands.of_groom(one, VIEW, width=1e-3).width
    assert tapered[0] == pytest.approx(1e-3)
    assert tapered[-1] == pytest.approx(TIP_WIDTH * 1e-3)
    assert (np.diff(tapered) <= 0).all()


def test_values_are_spread_linearly():
    groom = Groom.from_strands([helix(0.5, 4), helix(0.5, 3)])
    smooth = SmoothStrands.of_groom(groom, VIEW)
    spread = smooth.spread(np.arange(7.0)[:, None])[:, 0]
    np.testing.assert_array_equal(spread[smooth.starts], np.arange(7.0))
    inner = np.diff(spread)[: smooth.offsets[1] - 1]
    np.testing.assert_allclose(inner.sum(), 3.0, rtol=1e-5)
    assert (inner > 0).all()


def test_gathering_agrees_with_the_whole():
    groom = Groom.from_strands([helix(0.5, 4), helix(1.0, 9), helix(0.3, 2)])
    smooth = SmoothStrands.of_groom(groom, VIEW)
    values = np.random.default_rng(0).uniform(0, 1, (15, 3)).astype(np.float32)
    chosen = np.array([0, 5, smooth.offsets[1] - 1, smooth.offsets[1], smooth.offsets[2], smooth.point_count - 1])
    points, _, spread = smooth.gather(chosen, values)
    np.testing.assert_array_equal(points, smooth.points[chosen])
    np.testing.assert_allclose(spread, smooth.spread(values)[chosen], rtol=1e-6)


def test_sources_are_all_that_gathering_needs():
    groom = Groom.from_strands([helix(0.5, 4), helix(1.0, 9), helix(0.3, 2)])
    smooth = SmoothStrands.of_groom(groom, VIEW)
    values = np.random.default_rng(0).uniform(0, 1, (15, 3)).astype(np.float32)
    for chosen in (np.arange(smooth.point_count) % 7 == 3, np.arange(smooth.point_count) == smooth.point_count - 1):
        some = np.full_like(values, np.nan)
        some[smooth.sources(chosen)] = values[smooth.sources(chosen)]
        numbers = np.flatnonzero(chosen)
        np.testing.assert_array_equal(smooth.gather(numbers, some)[2], smooth.gather(numbers, values)[2])


def test_tangents_of_a_helix():
    smooth = SmoothStrands.of_groom(Groom.from_strands([helix(1.0, 33)]), VIEW)
    angle = np.arctan2(smooth.points[:, 2], smooth.points[:, 0])
    rise = 0.1 / (2 * np.pi)
    exact = np.stack([-0.03 * np.sin(angle), np.full_like(angle, rise), 0.03 * np.cos(angle)], axis=1)
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    # A parabola through neighbours at 1/32 of a turn errs by a sixth of the square of that angle, less on finer points.
    np.testing.assert_allclose(tangents(smooth), exact, atol=(2 * np.pi / 32) ** 2 / 6 * 2)
