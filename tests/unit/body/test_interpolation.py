"""Between two samples: what a cubic does to velocities, what it leaves alone, and how far it is from the truth."""

import numpy as np
import pytest

from mane.body.animated import AnimatedMesh
from mane.body.creature import make_creature
from mane.body.interpolation import INTERPOLATIONS
from mane.body.preroll import with_preroll
from mane.body.shapes import Sphere
from mane.body.solid import Solid

FRAME = 1 / 24
BALL = Sphere((0.0, 0.0, 0.0), 0.1).mesh(8)


def moved(places, times=None, interpolation="cubic"):
    """A ball that is at these places along x [m]."""
    frames = BALL.points + np.multiply.outer(places, [1.0, 0.0, 0.0])[:, None]
    times = FRAME * np.arange(len(places)) if times is None else times
    return AnimatedMesh(BALL, times, frames.astype(np.float32), interpolation=interpolation)


def path(animation, times):
    """Where its first point is along x, from where it is at rest [m]."""
    return np.array([animation.precise_points(time)[0, 0] for time in times]) - float(BALL.points[0, 0])


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_samples_are_met_bit_for_bit(interpolation):
    rng = np.random.default_rng(1)
    times = np.cumsum(rng.uniform(0.01, 0.1, 9))
    frames = (BALL.points + rng.normal(0, 0.02, (9, *BALL.points.shape))).astype(np.float32)
    animation = AnimatedMesh(BALL, times, frames, interpolation=interpolation)
    for number, time in enumerate(times):
        np.testing.assert_array_equal(animation.precise_points(time), frames[number].astype(np.float64))
        np.testing.assert_array_equal(animation.points(time), frames[number])


def test_positions_and_velocities_are_continuous_at_samples():
    rng = np.random.default_rng(2)
    times = np.cumsum(rng.uniform(0.02, 0.06, 8))
    animation = moved(np.cumsum(rng.uniform(0.0, 0.1, 8)), times)
    for time in times[1:-1]:
        before, after = (animation.velocities(time + shift) for shift in (-1e-9, 1e-9))
        np.testing.assert_allclose(before, after, atol=1e-5)
        kink = moved(rng.uniform(0, 0.3, 8), times, "linear")
    assert np.abs(kink.velocities(times[3] - 1e-9) - kink.velocities(times[3] + 1e-9)).max() > 0.1


def test_a_parabola_is_a_parabola_though_samples_are_not_evenly_spaced():
    times = np.array([0.0, 0.03, 0.1, 0.14, 0.2, 0.31])
    animation = moved(0.5 + times + 3.0 * times**2, times)
    asked = np.linspace(0.03, 0.2, 40)
    np.testing.assert_allclose(path(animation, asked), 0.5 + asked + 3.0 * asked**2, atol=2e-7)


def test_what_is_held_stays_still():
    """Animation on twos, and a paw on the ground: a plain spline swings about."""
    animation = moved([0.0, 0.0, 0.1, 0.1, 0.1, 0.3, 0.3])
    for held, first, last in ((0.0, 0, 1), (0.1, 2, 4), (0.3, 5, 6)):
        np.testing.assert_allclose(path(animation, FRAME * np.linspace(first, last, 20)), held, atol=2e-8)
    rising = path(animation, FRAME * np.linspace(0, 6, 200))
    assert (np.diff(rising) > -1e-9).all()


def test_velocities_are_the_derivative_of_positions():
    animation = moved([0.0, 0.02, 0.07, 0.05, 0.1])
    for time in FRAME * np.array([0.3, 1.2, 2.9, 3.5]):
        by_difference = (path(animation, [time + 1e-5]) - path(animation, [time - 1e-5])) / 2e-5
        np.testing.assert_allclose(animation.velocities(time)[0, 0], by_difference, atol=1e-4)


def test_a_cut_stays_a_cut_and_bends_nothing_beside_it():
    cut = moved([0.0, 0.1, 5.0, 5.1, 5.2])
    assert cut.has_cut(FRAME, 2 * FRAME)
    asked = FRAME * np.array([0.25, 1.0, 1.01, 1.9, 2.25])
    np.testing.assert_allclose(path(cut, asked), [0.025, 0.1, 5, 5, 5.025], atol=1e-6)


def test_a_shot_after_a_preroll_is_the_same_between_samples_too():
    rng = np.random.default_rng(3)
    stretched = np.multiply.outer(1 + 0.2 * rng.uniform(-1, 1, 8), BALL.points) + rng.normal(0, 0.01, (8, 1, 3))
    body = Solid.animated(BALL, FRAME * np.arange(8), stretched.astype(np.float32))
    for time in (0.0, 2.4 * FRAME):
        longer = with_preroll(body, time, 0.5, FRAME, (0, 1, 0)).animation
        for later in time + FRAME * np.array([0.0, 0.2, 0.55, 0.9, 1.3, 2.7]):
            np.testing.assert_allclose(longer.precise_points(later), body.animation.precise_points(later), atol=1e-6)


@pytest.mark.parametrize(("motion", "options"), [("walk", {"speed": 0.9}), ("shake", {})])
def test_a_cubic_is_closer_to_the_motion_that_was_sampled(motion, options):
    """24 samples per second, compared at 192: half the error, and no more acceleration than there was."""
    creature = make_creature(0.012)
    fine = creature.animated(motion, duration=1.5, frame_rate=8 / FRAME, **options)
    true = np.stack([fine.sample(number)[::23].astype(np.float64) for number in range(16, len(fine.times) - 24)])
    times = fine.times[16:-24]

    def error_and_kick(interpolation):
        frames = np.stack([fine.sample(number) for number in range(0, len(fine.times), 8)])
        coarse = AnimatedMesh(creature.mesh, fine.times[::8], frames, interpolation=interpolation)
        got = np.stack([coarse.precise_points(time)[::23] for time in times])
        return np.linalg.norm(got - true, axis=2).mean(), root_mean_square_acceleration(got)

    def root_mean_square_acceleration(points):
        return np.sqrt(((np.diff(points, 2, axis=0) * (8 / FRAME) ** 2) ** 2).sum(axis=2).mean())

    expected = root_mean_square_acceleration(true)
    error, kick = error_and_kick("linear")
    smooth_error, smooth_kick = error_and_kick("cubic")
    assert smooth_error < 0.6 * error
    assert kick > 2 * expected
    assert smooth_kick < 1.15 * expected
