"""Length error: zero for hair that only moves, the factor itself for hair that stretches."""

import numpy as np
import pytest
from known_curves import helix, many, moved_rigidly, straight

from mane.groom.groom import Groom
from mane.metrics.length import length_error, segment_error

# float32 coordinates below 1 m are rounded by 6e-8 m at most, so a segment of 5 mm is off by 2 * 6e-8 / 5e-3 = 2.4e-5.
ROUNDING = 2.5e-5
HELIX = many(helix(0.01, 0.03, 4, 40))


def test_rest_has_no_error():
    assert not length_error(HELIX, HELIX).any()
    assert not segment_error(HELIX, HELIX).any()


def test_rigid_motion_changes_no_length():
    moved = moved_rigidly(HELIX)
    assert np.abs(length_error(moved, HELIX)).max() < ROUNDING
    assert segment_error(moved, HELIX).max() < ROUNDING


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.25])
def test_a_stretched_strand_shows_the_factor(factor):
    np.testing.assert_allclose(length_error(factor * HELIX, HELIX), factor - 1, atol=ROUNDING)
    np.testing.assert_allclose(segment_error(factor * HELIX, HELIX), abs(factor - 1), atol=ROUNDING)


def test_the_unit_does_not_matter():
    stretched = HELIX * np.float32([1, 1.2, 1])
    np.testing.assert_allclose(length_error(8 * stretched, 8 * HELIX), length_error(stretched, HELIX), rtol=1e-6)


def test_segments_that_trade_length_are_seen_although_the_strand_keeps_its_own():
    rest = many(straight(5, 0.4))  # four segments of 0.1
    points = rest.copy()
    points[1, 2, 1] += 0.03  # the second shrinks to 0.07, the third grows to 0.13
    np.testing.assert_allclose(length_error(points, rest), 0, atol=1e-6)
    np.testing.assert_allclose(segment_error(points, rest), [0, 0.3, 0], atol=2e-6)


def test_each_strand_is_measured_alone():
    points = HELIX.copy()
    points[1] *= 2
    np.testing.assert_allclose(length_error(points, HELIX), [0, 1, 0], atol=1e-6)


def test_a_rest_segment_without_length_is_left_out():
    rest = many(straight(4))
    rest[:, 2] = rest[:, 1]
    points = rest.copy()
    points[:, 2] += np.float32([0.01, 0, 0])
    assert np.isfinite(segment_error(points, rest)).all()


def test_grooms_serve_as_well_as_arrays():
    groom = Groom.from_uniform(HELIX)
    np.testing.assert_array_equal(length_error(groom.with_points(1.1 * HELIX), groom), length_error(1.1 * HELIX, HELIX))


@pytest.mark.parametrize(
    ("points", "rest", "message"),
    [
        (HELIX[:, :5], HELIX, r"rest: must have the shape of points, \(3, 5, 3\), got \(3, 40, 3\)"),
        (HELIX * np.nan, HELIX, "points: must be finite, got nan at index 0"),
        (HELIX[0], HELIX, r"points: must have shape \(S, V, 3\), got \(40, 3\)"),
        (HELIX[:0], HELIX[:0], "points: must hold at least one strand, got none"),
        (HELIX[:, :1], HELIX[:, :1], "points: this measure needs at least 2 vertices per strand, got 1"),
        (HELIX, HELIX * np.float32([1, 0, 1])[:, None, None], "length above zero, got 0 at strand 1"),
        (Groom.from_strands([HELIX[0], HELIX[0, :9]]), HELIX, "one vertex count for all strands"),
    ],
)
def test_bad_input_is_refused(points, rest, message):
    with pytest.raises(ValueError, match=message):
        length_error(points, rest)
