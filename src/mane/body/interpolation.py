"""How a sampled mesh moves from one sample to the next: each entry makes a polynomial in time of every point.

Animation comes 24 times per second and is simulated some 200 times. On straight lines all of a change of velocity
happens at once, at a sample, and roots kick their hair there; decision 22 has figures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray

Float64Array = NDArray[np.float64]

# A velocity at a sample is at most so many times that in the slower interval beside it: what is held stays still, and
# a coordinate that rises on both sides goes nowhere back (Fritsch and Carlson 1980, "Monotone piecewise cubic
# interpolation").
STEEPEST = 3.0


class SampledPoints(Protocol):
    """Samples of a moving mesh as an interpolation reads them."""

    def sample(self, number: int) -> FloatArray:
        """Points at a sample [m], shape (N, 3)."""

    def velocity_at_sample(self, number: int) -> Float64Array:
        """Velocity at a sample [m/s], shape (N, 3)."""


# Takes samples, number and length [s] of an interval, and returns coefficients of polynomials (K, N, 3): powers of the
# fraction of the interval that has passed, the constant first.
MakeCurves = Callable[[SampledPoints, int, float], Float64Array]


def linear(samples: SampledPoints, interval: int, step: float) -> Float64Array:
    """Straight lines."""
    start, end = (samples.sample(number).astype(np.float64) for number in (interval, interval + 1))
    return np.stack([start, end - start])


def cubic(samples: SampledPoints, interval: int, step: float) -> Float64Array:
    """Cubic Hermite curves: positions and velocities are continuous."""
    chord = samples.sample(interval + 1).astype(np.float64) - samples.sample(interval)
    leaves, arrives = (step * samples.velocity_at_sample(number) for number in (interval, interval + 1))
    start = samples.sample(interval).astype(np.float64)
    return np.stack([start, leaves, 3 * chord - 2 * leaves - arrives, leaves + arrives - 2 * chord])


INTERPOLATIONS: dict[str, MakeCurves] = {"cubic": cubic, "linear": linear}


def middle_velocity(before: Float64Array, after: Float64Array, steps: tuple[float, float]) -> Float64Array:
    """Velocity at a sample [m/s], shape (N, 3): that of the parabola through it and its neighbours, limited.

    Args:
        before: mean velocity in the interval before the sample [m/s], shape (N, 3).
        after: in the interval after it.
        steps: lengths of the two [s].
    """
    velocity: Float64Array = (steps[1] * before + steps[0] * after) / (steps[0] + steps[1])
    speed, slower = _speed(velocity), STEEPEST * np.minimum(_speed(before), _speed(after))
    is_steep = np.flatnonzero(speed > slower)
    velocity[is_steep] *= (slower[is_steep] / speed[is_steep])[:, None]
    return velocity


def at_fraction(curves: Float64Array, fraction: float) -> Float64Array:
    """Points of curves (K, N, 3) at a fraction of their interval, shape (N, 3), by Horner's rule."""
    points = curves[-1].copy()
    for coefficient in curves[-2::-1]:
        points *= fraction
        points += coefficient
    result: Float64Array = points
    return result


def velocity_at_fraction(curves: Float64Array, fraction: float, step: float) -> Float64Array:
    """How fast points on curves (K, N, 3) over an interval of `step` [s] move at a fraction of it, shape (N, 3)."""
    rates = curves[1:] * (np.arange(1, len(curves)) / step)[:, None, None]
    return at_fraction(rates, fraction)


def _speed(velocity: Float64Array) -> Float64Array:
    result: Float64Array = np.sqrt(np.einsum("ni,ni->n", velocity, velocity))
    return result
