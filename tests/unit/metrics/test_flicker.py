"""Flicker: nothing for steady acceleration, the noise itself for noise."""

import numpy as np
import pytest
from known_curves import many, straight

from mane.metrics.flicker import FlickerMeter, flicker

REST = many(straight(16), 50)


def test_steady_acceleration_does_not_flicker():
    start, speed, push = np.random.default_rng(0).standard_normal((3, 4, 8, 3)) * 0.01
    frames = [start + t * speed + t * t * push for t in range(4)]
    assert flicker(*frames).max() < 1e-7  # float32 rounding of coordinates below 0.5 m, 3e-8, some four times over


def test_a_known_jerk():
    """Third difference of a t^3 is 6 a; noise of variance 1 has one of variance 20."""
    frames = [REST + np.array([1e-3 * t**3, 0, 0]) for t in range(4)]
    np.testing.assert_allclose(flicker(*frames), 6e-3 / np.sqrt(20), rtol=1e-4)


def test_noise_flickers_by_its_own_size():
    """Independent noise of s per axis has a root mean square of sqrt(3) s per vertex."""
    sigma, rng, meter = 1e-3, np.random.default_rng(1), FlickerMeter()
    for time in range(40):
        meter.add(REST + 0.01 * time + sigma * rng.standard_normal(REST.shape))
    # 37 windows of 2400 numbers, ten or so independent windows: 24,000 samples, relative deviation 1 / sqrt(48,000).
    np.testing.assert_allclose(meter.value, np.sqrt(3) * sigma, rtol=0.02)


def test_a_strand_that_shakes_alone_is_found():
    frames = [REST.copy() for _ in range(4)]
    frames[2][7] += np.float32(1e-2)
    value = flicker(*frames)
    assert value[7] == pytest.approx(3 * np.sqrt(3) * 1e-2 / np.sqrt(20), rel=1e-4)
    assert not np.delete(value, 7).any()


def test_a_meter_says_nothing_before_four_frames_and_keeps_copies():
    meter, buffer = FlickerMeter(), REST.copy()
    for time in range(3):
        buffer[:] = REST + 0.1 * time
        meter.add(buffer)
    assert np.isnan(meter.value)
    buffer[:] = REST + 0.3
    meter.add(buffer)
    assert meter.value < 1e-6


def test_frames_must_match():
    with pytest.raises(ValueError, match=r"third: must have the shape of first, \(50, 16, 3\), got \(50, 9, 3\)"):
        flicker(REST, REST, REST[:, :9], REST)
