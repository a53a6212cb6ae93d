"""Named motions that end."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mane.body.motion_presets import MOTIONS, make_motion


@pytest.mark.parametrize("name", list(MOTIONS))
def test_a_motion_that_stops_is_over_then_and_keeps_its_velocity_true(name):
    motion = make_motion(name, ease_in=0.25, stop=1.0, seed=1)
    plain = make_motion(name, ease_in=0.25, seed=1)
    for time in (0.1, 0.5, 0.75):
        assert_allclose(motion.pose(time).position, plain.pose(time).position, atol=1e-15)
        assert_allclose(motion.pose(time).rotation, plain.pose(time).rotation, atol=1e-15)
    step = 1e-6
    for time in (0.8, 0.9, 0.99):
        twist, after, before = motion.velocity(time), motion.pose(time + step), motion.pose(time - step)
        place = np.array([0.1, 0.2, 0.3])
        moved = (after.apply(place) - before.apply(place)) / (2 * step)
        assert_allclose(twist.velocity(motion.pose(time).apply(place)), moved, atol=1e-6)
    for time in (1.0, 1.5, 9.0):
        assert np.abs(motion.velocity(time).angular).max() < 1e-12
        assert np.abs(motion.velocity(time).linear).max() < 1e-12
        assert_allclose(motion.pose(time).position, motion.pose(1.0).position, atol=1e-12)
        assert_allclose(motion.pose(time).rotation, [0, 0, 0, 1], atol=1e-12)


def test_a_motion_cannot_stop_before_it_has_begun():
    with pytest.raises(ValueError, match=r"stop: must be a time of at least twice ease_in \(1 s\).*, got 0.8"):
        make_motion("shake", ease_in=0.5, stop=0.8)
