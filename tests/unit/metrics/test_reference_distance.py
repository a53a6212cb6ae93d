"""Distance to a reference, vertex by vertex."""

import numpy as np
import pytest
from known_curves import helix, many, moved_rigidly

from mane.metrics.distance import distance

CURL = many(helix(0.01, 0.03, 3, 24))


def test_a_known_shift():
    np.testing.assert_allclose(distance(CURL + np.float32([0.03, 0, 0.04]), CURL), 0.05, rtol=1e-5)
    assert not distance(CURL, CURL).any()


def test_noise_of_known_amplitude():
    """The length of three independent normal numbers of deviation s has the mean 2 s sqrt(2 / pi)."""
    reference = many(CURL[0], 2000)
    noise = 1e-3 * np.random.default_rng(0).standard_normal(reference.shape)
    # 48,000 samples of relative deviation 0.42: the mean is known to 0.2 percent, five times that is allowed.
    np.testing.assert_allclose(distance(reference + noise, reference).mean(), 2e-3 * np.sqrt(2 / np.pi), rtol=0.01)


def test_it_does_not_depend_on_the_frame_that_both_are_given_in():
    other = CURL * np.float32([1, 1.5, 1])
    np.testing.assert_allclose(distance(moved_rigidly(CURL), moved_rigidly(other)), distance(CURL, other), atol=2e-7)


def test_a_reference_of_other_shape_is_refused():
    with pytest.raises(ValueError, match=r"reference: must have the shape of points, \(3, 24, 3\), got \(2, 24, 3\)"):
        distance(CURL, CURL[:2])
