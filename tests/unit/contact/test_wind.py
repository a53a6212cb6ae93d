"""Wind: uniform, gusting with a stated intensity and spectrum, or anybody's function."""

import math

import numpy as np
import pytest

from mane.contact.air.wind import GustingWind, UniformWind, as_wind

MEAN = np.array([3.0, 0.0, 1.0])


def everywhere(count: int, size: float = 1e4, seed: int = 0) -> np.ndarray:
    """Points so far apart that every wave has any phase."""
    return np.random.default_rng(seed).uniform(-size, size, (count, 3))


def test_uniform_wind_is_the_same_everywhere():
    air = UniformWind(MEAN).velocity(everywhere(10), 3.0)
    np.testing.assert_array_equal(air, np.broadcast_to(MEAN, (10, 3)))


def test_gusts_have_the_stated_mean_and_intensity():
    wind = GustingWind(MEAN, intensity=0.3, seed=4)
    gusts = wind.velocity(everywhere(40_000), 0.0) - MEAN
    sigma = 0.3 * np.linalg.norm(MEAN)
    # Standard errors of 40,000 draws: sigma / 200 of a mean, below 2 / 200 of a mean square; four of each.
    assert np.abs(gusts.mean(axis=0)).max() < 4 * 2 * sigma / 200
    assert (gusts**2).sum(axis=1).mean() == pytest.approx(3 * sigma**2, rel=0.04)
    assert wind.deviation == pytest.approx(sigma)


def test_gusts_at_one_place_vary_as_much_as_gusts_in_space():
    wind = GustingWind(MEAN, intensity=0.2, scale=0.5, seed=5)
    times = np.random.default_rng(1).uniform(0, 1e5, 4000)
    gusts = np.array([wind.velocity(np.zeros((1, 3)), time)[0] - MEAN for time in times])
    # 4,000 draws: standard error 2 / sqrt(4000) = 3 percent; four of them.
    assert (gusts**2).sum(axis=1).mean() == pytest.approx(3 * wind.deviation**2, rel=0.13)


def test_gusts_are_the_sum_of_their_waves():
    wind = GustingWind(MEAN, seed=6)
    points, time = everywhere(100, size=5.0), 2.0
    waves = wind._waves_at(time)
    phase = 2 * math.pi * (points @ waves[:, :3].T + waves[:, 6])
    expected = MEAN + np.cos(phase) @ waves[:, 3:6]
    # The kernel's cosine is off by at most 6e-8 of each amplitude.
    np.testing.assert_allclose(wind.velocity(points, time), expected, atol=1e-7 * np.abs(waves[:, 3:6]).sum())


def test_threads_change_no_byte(on_threads):
    points = everywhere(1000)
    on_threads(lambda: GustingWind(MEAN, seed=6).velocity(points, 2.0))


def test_gusts_have_no_divergence():
    wind = GustingWind(MEAN, seed=7)
    waves = wind._waves
    across = np.abs((waves[:, :3] * waves[:, 3:6]).sum(axis=1))
    assert (across <= 1e-14 * np.linalg.norm(waves[:, :3], axis=1) * np.linalg.norm(waves[:, 3:6], axis=1)).all()


def test_gusts_follow_the_law_of_five_thirds():
    # Mean square per wave number, of many seeds together, in two bands of the inertial range.
    waves = np.concatenate([GustingWind(MEAN, scale=1.0, seed=seed)._waves for seed in range(50)])
    number = 2 * math.pi * np.linalg.norm(waves[:, :3], axis=1)
    square = (waves[:, 3:6] ** 2).sum(axis=1)
    density = [square[(number > low) & (number < 1.5 * low)].sum() / (0.5 * low) for low in (5.0, 40.0)]
    slope = math.log(density[1] / density[0]) / math.log(40.0 / 5.0)
    # Waves are drawn one per band of 12 percent, so a band's content varies by that; over a factor of 8: 0.06.
    assert slope == pytest.approx(-5 / 3, abs=0.1)


def test_gusts_are_carried_by_the_mean_wind():
    # Over a tenth of the time that the smallest eddies take to turn, the pattern only moves.
    wind = GustingWind(MEAN, intensity=0.05, seed=8)
    points, wait = everywhere(500, size=5.0), 0.01
    moved = wind.velocity(points + wait * MEAN, wait)
    change = np.abs(moved - wind.velocity(points, 0.0)).max()
    at_rest = np.abs(wind.velocity(points, wait) - wind.velocity(points, 0.0)).max()
    assert change < 0.05 * at_rest


def test_the_same_seed_blows_the_same_and_another_does_not():
    points = everywhere(70, size=1.0)
    first, again, other = (GustingWind(MEAN, seed=seed).velocity(points, 1.0) for seed in (1, 1, 2))
    assert first.tobytes() == again.tobytes()
    assert (first != other).any()


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
def test_any_number_of_points_will_do(count):
    points = everywhere(200, size=1.0)
    wind = GustingWind(MEAN)
    np.testing.assert_array_equal(wind.velocity(points[:count], 1.0), wind.velocity(points, 1.0)[:count])


def test_anything_that_tells_a_velocity_is_a_wind():
    class Whirl:
        def velocity(self, points, time):
            return np.cross([0.0, time, 0.0], points)

    points = everywhere(5, size=1.0)
    np.testing.assert_allclose(as_wind([1, 2, 3]).velocity(points, 0.0), np.tile([1.0, 2, 3], (5, 1)))
    np.testing.assert_allclose(as_wind(Whirl()).velocity(points, 2.0), np.cross([0, 2.0, 0], points))
    np.testing.assert_allclose(as_wind(lambda points, time: points * time).velocity(points, 3.0), 3 * points)
    assert as_wind(None) is None
    gusts = GustingWind(MEAN)
    assert as_wind(gusts) is gusts


@pytest.mark.parametrize(
    ("wind", "message"),
    [
        (lambda points, time: points[:2], r"wind velocity: must have shape \(5, 3\), got \(2, 3\)"),
        (lambda points, time: points * np.nan, r"wind velocity: must be finite, got nan at index 0"),
    ],
)
def test_a_function_that_returns_no_wind_is_told_so(wind, message):
    with pytest.raises(ValueError, match=message):
        as_wind(wind).velocity(everywhere(5), 0.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: as_wind([1, 2]), r"wind: must have shape \(3,\), got \(2,\)"),
        (lambda: as_wind([1, 2, np.inf]), r"wind: must be finite, got inf"),
        (lambda: GustingWind(MEAN, intensity=-0.1), r"intensity: must be at least 0, got -0.1"),
        (lambda: GustingWind(MEAN, scale=0.0), r"scale: must be above 0, got 0.0"),
    ],
)
def test_what_is_no_wind_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
