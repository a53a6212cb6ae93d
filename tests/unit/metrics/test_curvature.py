"""Curvature and torsion against circles and helices; distributions against shifts and shuffles."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from known_curves import arc, helix, many, moved_rigidly, straight

from mane.metrics import _reference
from mane.metrics.curvature import (
    MIN_TURN,
    curvature,
    curvature_distance,
    distribution_distance,
    torsion,
    torsion_distance,
)

RADIUS, PITCH = 0.02, 0.05
RISE = PITCH / (2 * np.pi)
HELIX_CURVATURE = RADIUS / (RADIUS**2 + RISE**2)
HELIX_TORSION = RISE / (RADIUS**2 + RISE**2)


@pytest.mark.parametrize("vertices", [5, 20, 100])
def test_the_curvature_of_a_circle_is_exact_at_any_resolution(vertices):
    np.testing.assert_allclose(curvature(many(arc(0.05, 3.0, vertices))), 20, rtol=2e-3 if vertices == 100 else 1e-4)


def convergence(measure, exact):
    """Relative errors for a helix of one turn in 16, 32 and 64 segments."""
    values = [measure(many(helix(RADIUS, PITCH, 1, n + 1)))[0].mean() for n in (16, 32, 64)]
    return np.abs(np.array(values) / exact - 1)


@pytest.mark.parametrize(("measure", "exact"), [(curvature, HELIX_CURVATURE), (torsion, HELIX_TORSION)])
def test_a_helix_is_approached_at_second_order(measure, exact):
    errors = convergence(measure, exact)
    assert errors[0] < 0.05
    np.testing.assert_allclose(errors[:-1] / errors[1:], 4, rtol=0.05)


def test_torsion_changes_sign_in_the_mirror():
    curl = many(helix(RADIUS, PITCH, 2, 40))
    np.testing.assert_allclose(torsion(curl * np.float32([-1, 1, 1])), -torsion(curl), rtol=1e-4)


@pytest.mark.parametrize("curve", [straight(), arc(0.05, 3.0, 20)])
def test_plane_curves_and_lines_have_no_torsion(curve):
    assert np.abs(torsion(many(curve))).max() < 1e-3


def test_bends_that_are_only_rounding_have_no_torsion():
    line = many(straight()) + 1e-7 * np.random.default_rng(0).standard_normal((3, 20, 3)).astype(np.float32)
    assert not torsion(line).any()


def test_rigid_motion_does_not_matter_and_scale_divides():
    curl = many(helix(RADIUS, PITCH, 2, 40))
    for measure in (curvature, torsion):
        value = measure(curl)
        np.testing.assert_allclose(measure(moved_rigidly(curl)), value, rtol=2e-3)
        np.testing.assert_allclose(measure(4 * curl), value / 4, rtol=1e-6)


@given(seed=st.integers(0, 2**32 - 1), vertices=st.integers(4, 12))
@example(seed=158, vertices=6)  # has a bend just below that which counts
def test_the_kernels_agree_with_the_reference(seed, vertices):
    points = np.random.default_rng(seed).standard_normal((4, vertices, 3)).astype(np.float32)
    curves = points.astype(np.float64)
    np.testing.assert_allclose(curvature(points), [_reference.curvature(c) for c in curves], rtol=1e-5, atol=1e-6)
    expected = np.array([_reference.torsion(c, MIN_TURN) for c in curves])
    np.testing.assert_allclose(torsion(points), expected, rtol=1e-4, atol=1e-4)


def test_a_shift_is_the_distance_between_distributions_and_a_shuffle_is_none():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((30, 20)).astype(np.float32)
    shuffled = rng.permutation(values.ravel()).reshape(20, 30)
    assert distribution_distance(values, shuffled) == 0
    np.testing.assert_allclose(distribution_distance(values + 3, shuffled), 3, rtol=1e-6)


def test_a_curl_of_other_radius_is_off_by_the_difference_of_curvature():
    """Circles of 5 and 4 cm have curvatures of 20 and 25 per metre; no torsion either way."""
    wide, narrow = many(arc(0.05, 3.0, 20)), many(arc(0.04, 3.0, 20))
    np.testing.assert_allclose(curvature_distance(narrow, wide), 5, rtol=1e-3)
    assert torsion_distance(narrow, wide) < 1e-3


def test_samples_of_another_size_are_refused():
    with pytest.raises(ValueError, match=r"reference: must hold as many values as values \(3, at least 1\), got 2"):
        distribution_distance([1, 2, 3], [1, 2])
