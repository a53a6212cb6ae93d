"""Kink: nothing for smooth hair and for curls that kept their shape, twice the angle of every corner."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known_curves import arc, helix, many, moved_rigidly, straight, zigzag

from mane.metrics import _reference
from mane.metrics.kink import kink

# float32 rounds a coordinate below 1 m by 6e-8 m at most; a segment of 5 mm turns by 2.4e-5 rad, a turning by twice,
# a jump by four times that.
JUMP_ROUNDING = 1e-4
COARSE_CURL = helix(0.0085, 0.036, 7.5, 32)  # four segments per turn, as the curly style has them


def straightened(curve):
    return straight(len(curve))


@pytest.mark.parametrize("curve", [straight(), arc(0.1, 2.0, 20), arc(0.02, 6.0, 12)])
def test_lines_and_circles_have_no_kink_whatever_rest_was(curve):
    assert kink(many(curve), many(straightened(curve))).max() < len(curve) * JUMP_ROUNDING


def test_a_curl_that_kept_its_shape_has_no_kink_however_coarse():
    assert kink(moved_rigidly(many(COARSE_CURL)), many(COARSE_CURL)).max() < len(COARSE_CURL) * JUMP_ROUNDING


def test_a_curl_that_was_pulled_out_smoothly_hardly_kinks():
    """Same turns, half the radius, the length kept: the jump per segment, angle times torsion angle, does not grow."""
    turns, length = 7.5, np.hypot(2 * np.pi * 0.0085, 0.036)
    pulled = helix(0.00425, np.sqrt(length**2 - (2 * np.pi * 0.00425) ** 2), turns, 32)
    assert kink(many(pulled), many(COARSE_CURL)).max() < len(pulled) * JUMP_ROUNDING


@pytest.mark.parametrize("angle", [0.1, 1.0, 2.5])
@pytest.mark.parametrize("subdivided", [1, 2, 5])
def test_a_zigzag_counts_twice_the_angle_of_every_tooth_at_any_resolution(angle, subdivided):
    curve = zigzag(angle, teeth=7, subdivided=subdivided)
    expected = 2 * 7 * angle
    np.testing.assert_allclose(kink(many(curve), many(straightened(curve))), expected, atol=len(curve) * JUMP_ROUNDING)


def test_a_corner_that_rest_had_too_does_not_count():
    curve = zigzag(1.0, teeth=4)
    sharper = zigzag(1.2, teeth=4)
    np.testing.assert_allclose(kink(many(sharper), many(curve)), 2 * 4 * 0.2, atol=2e-3)
    assert not kink(many(curve), many(sharper)).any()


def test_a_strand_that_folds_back_on_itself_counts_a_half_turn():
    line = np.array([0, 1, 2, 3, 2, 1, 0])[:, None] * np.array([0.0, 0.01, 0.0])
    np.testing.assert_allclose(kink(many(line), many(straight(7))), 2 * np.pi, rtol=1e-6)


def test_a_doubled_vertex_does_not_hide_a_corner():
    curve = zigzag(1.0, teeth=1)
    doubled = np.insert(curve, 2, curve[2], axis=0)
    np.testing.assert_allclose(kink(many(doubled), many(straightened(doubled))), 2.0, atol=1e-3)


def test_a_smooth_curve_has_less_of_it_the_finer_it_is_sampled():
    """A segment h turns by curvature times h; the jump is h^2 times the change of curvature, so the sum goes as h."""
    values = []
    for vertices in (40, 80, 160):
        x = np.linspace(0, 0.2, vertices)
        wave = np.stack([x, 0.01 * np.sin(40 * x), np.zeros_like(x)], axis=1)
        values.append(kink(many(wave), many(straight(vertices)))[0])
    ratios = np.array(values[:-1]) / values[1:]
    np.testing.assert_allclose(ratios, 2, rtol=0.1)


def test_noise_of_known_amplitude():
    """A jump along a straight strand is the third difference over the segment, of variance 20 s^2 / l^2 per axis.

    Its length over the two axes across is Rayleigh distributed, mean sqrt(pi / 2) of the deviation per axis. Lengths
    that change with the noise are a second-order effect, of relative size (s / l)^2 = 1e-4 and some factor.
    """
    strands, vertices, sigma, segment = 2000, 30, 1e-4, 0.01
    rest = many(straight(vertices, segment * (vertices - 1)), strands)
    noise = sigma * np.random.default_rng(1).standard_normal(rest.shape)
    expected = (vertices - 3) * np.sqrt(np.pi / 2) * np.sqrt(20) * sigma / segment
    np.testing.assert_allclose(kink(rest + noise, rest).mean(), expected, rtol=0.01)


def test_scale_and_rigid_motion_do_not_matter():
    rng = np.random.default_rng(3)
    rest = many(COARSE_CURL)
    points = rest + 2e-3 * rng.standard_normal(rest.shape).astype(np.float32)
    value = kink(points, rest)
    assert value.min() > 1
    np.testing.assert_allclose(kink(4 * points, 4 * rest), value, rtol=1e-6)
    np.testing.assert_allclose(kink(moved_rigidly(points), rest), value, atol=len(COARSE_CURL) * JUMP_ROUNDING)


@given(seed=st.integers(0, 2**32 - 1), vertices=st.integers(4, 12))
def test_the_kernel_agrees_with_the_reference(seed, vertices):
    rng = np.random.default_rng(seed)
    points, rest = rng.standard_normal((2, 5, vertices, 3)).astype(np.float32)
    expected = [_reference.kink(a.astype(np.float64), b.astype(np.float64)) for a, b in zip(points, rest, strict=True)]
    np.testing.assert_allclose(kink(points, rest), expected, rtol=1e-5, atol=1e-5)


def test_three_vertices_are_too_few():
    with pytest.raises(ValueError, match="at least 4 vertices per strand, got 3"):
        kink(many(straight(3)), many(straight(3)))
