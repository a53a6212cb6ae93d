"""Choices in hindsight: errors of all sets are those of the skin, and Viterbi's path is the cheapest."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from mane.measure.study import parting
from mane.measure.study.parting_oracle import bounds, cheapest_path, near_errors
from mane.measure.study.parting_scenes import COMB


def price(errors, path, cost):
    return sum(errors[n, k] for n, k in enumerate(path)) + cost * sum(a != b for a, b in pairwise(path))


@pytest.mark.parametrize("cost", [0.0, 0.3, 10.0])
def test_no_other_path_is_cheaper(cost):
    errors = np.random.default_rng(4).random((5, 6, 3))
    errors[:, 2, 2] = np.inf  # a hair of two sets
    found = cheapest_path(errors, cost)
    for hair in range(errors.shape[1]):
        own = errors[:, hair]
        least = min(price(own, path, cost) for path in product(range(3), repeat=5))
        assert price(own, found[:, hair], cost) == pytest.approx(least)


def test_a_change_that_costs_nothing_takes_the_best_of_every_frame():
    errors = np.random.default_rng(5).random((7, 4, 5))
    np.testing.assert_array_equal(cheapest_path(errors, 0.0), errors.argmin(axis=2))


def test_errors_of_sets_are_those_of_the_skin():
    sizes = parting.Sizes(strands=40, guides=8, vertices=8, seconds=0.05, train_seconds=0.1)
    recording = parting.record(COMB, sizes, lambda text, share: None)
    # The comb is still far away, and hair hangs at rest: guides that sway, and hairs that stay.
    swayed = tuple(
        replace(frame, points=frame.points + np.float32(0.01 * np.sin(n + np.arange(8)))[:, None, None])
        for n, frame in enumerate(recording.frames)
    )
    everywhere = replace(recording, frames=swayed, is_near=np.ones_like(recording.is_near))
    errors = near_errors(everywhere)
    fixed = parting.measure(everywhere, parting.METHODS[parting.FIXED]).near_error
    assert errors[:, :, 0].mean() == pytest.approx(fixed, rel=1e-3)
    best, changed, kept = bounds(everywhere).values()
    assert 0 < best <= changed <= kept <= fixed * (1 + 1e-3)
