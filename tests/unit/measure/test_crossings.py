"""What the braid scene counts: segments that pass through each other, and how two curves wind."""

import itertools

import numpy as np
import pytest

from mane.measure.crossings import find_crossings, winding


def cross(gap, *, shift=0.0):
    """Two strands of two segments, one along X at a height, one along Z `shift` beyond its middle."""
    along = np.array([-1.5, 0.0, 1.5])
    one, two = np.zeros((2, 3, 3))
    one[:, 0], one[:, 1] = along, gap
    two[:, 2], two[:, 0] = along + 0.3, 0.7 + shift
    return np.stack([one, two])


def test_a_strand_that_falls_through_another_crosses_it_once():
    # Second segment of the first (x = 0.7) and first segment of the second (z = 0).
    np.testing.assert_array_equal(find_crossings(cross(0.5), cross(-0.2)), [[1, 2]])


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (cross(0.5), cross(0.1)),  # not far enough
        (cross(0.5, shift=1.0), cross(-0.2, shift=1.0)),  # beyond its end
        (cross(0.5), cross(0.5, shift=-0.4)),  # sliding along
    ],
)
def test_others_do_not(start, end):
    assert len(find_crossings(start, end)) == 0


def test_crossings_are_those_of_many_small_steps():
    """What one step counts is what fifty small ones count of each pair, if it moves little for its size."""
    rng = np.random.default_rng(4)
    before = rng.uniform(-1, 1, (20, 4, 3))
    after = before + rng.normal(0, 0.05, before.shape)
    paths = [before + share * (after - before) for share in np.linspace(0, 1, 51)]
    steps = [tuple(pair) for one, next_one in itertools.pairwise(paths) for pair in find_crossings(one, next_one)]
    found = {tuple(pair) for pair in find_crossings(before, after)}
    assert len(found) > 10
    # A volume that changes its sign twice within the step hides a crossing; with this seed none does.
    assert found == {pair for pair in steps if steps.count(pair) % 2 == 1}


def test_a_double_helix_winds_by_its_turns():
    angle = np.linspace(0, 6 * np.pi, 100)
    one = np.stack([np.cos(angle), -angle, np.sin(angle)], axis=1)
    wound = winding(one, one * [-1, 1, -1])
    np.testing.assert_allclose(wound, angle, atol=1e-12)
