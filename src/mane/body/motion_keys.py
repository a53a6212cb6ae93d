"""`KeyframedMotion`: a motion through given poses, smooth between them and honest about cuts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.motion import Float64Array, Pose, Twist, require_time, teleports_between, unit_quaternion
from mane.geometry import quaternion
from mane.geometry.checks import as_array, require_finite

Vector = TypeVar("Vector", float, Float64Array)

# Neighbouring keys further apart than a head can go are a cut, not a motion. A sprinter reaches 12 m/s and a diver
# meets the water at 15 m/s; above 20 m/s (72 km/h) nobody moves the head on purpose.
MAX_SPEED = 20.0  # [m/s]
# Athletes turn the head at up to 20 rad/s; we leave a factor of 2.5. At 24 frames per second this is 119 degrees
# between neighbours, beyond which the shorter way round is a guess anyway.
MAX_SPIN = 50.0  # [rad/s]
MIN_SPAN = 1e-9  # [s] closer keys are the same moment, and dividing by their distance would overflow


class KeyframedMotion:
    """A motion through keys, with continuous velocity between teleports and constant beyond the ends.

    Positions follow cubic Hermite curves whose velocity at a key is that from the key before to the key after it
    (Catmull-Rom). Rotations do the same in the logarithm, turn the shorter way round, and take q and -q as one. A key
    may be overshot by a part of the step beside it; to hold a pose exactly, repeat its key just before it moves on.

    A key is reached by a teleport when it is listed in `jumps`, or when the way from its neighbour would need a speed
    above `max_speed` or `max_spin`. The keys before and after form pieces of their own, each with its own velocities.
    The jump happens at the time of the key reached; until then the old piece coasts on with its last velocity, so that
    hair feels neither a stop nor the jump. A long gap coasts far: put the two keys of a jump close together in time.

    Beyond its first and last key the motion stands still; its velocity there drops to zero at once.

    Args:
        times: of the keys [s], rising, shape (K,), K >= 1.
        positions: of the local origin [m], shape (K, 3).
        rotations: quaternions (x, y, z, w), unit within 1e-3, shape (K, 4).
        jumps: indices, 1 to K - 1, of keys that are reached by a teleport.
        max_speed: faster between neighbours is a teleport [m/s]; `math.inf` takes only those in `jumps`.
        max_spin: turning faster between neighbours is a teleport [rad/s]; `math.inf` likewise.
    """

    def __init__(
        self,
        times: ArrayLike,
        positions: ArrayLike,
        rotations: ArrayLike,
        *,
        jumps: Sequence[int] = (),
        max_speed: float = MAX_SPEED,
        max_spin: float = MAX_SPIN,
    ) -> None:
        self.times: Float64Array = as_array("times", times, ("K",), np.float64).copy()
        check_times("times", self.times)
        count = len(self.times)
        self.positions: Float64Array = as_array("positions", positions, (count, 3), np.float64).copy()
        require_finite("positions", self.positions)
        rows = as_array("rotations", rotations, (count, 4), np.float64)
        self.rotations = np.stack([unit_quaternion(f"rotations[{i}]", row) for i, row in enumerate(rows)])
        self._prepare(_jump_mask(jumps, count), max_speed, max_spin)

    def _prepare(self, jumped: NDArray[np.bool_], max_speed: float, max_spin: float) -> None:
        spans = np.diff(self.times)
        turns = quaternion.multiply(quaternion.conjugate(self.rotations[:-1]), self.rotations[1:])
        # Chords: mean velocities between neighbours. A rotation leaves its own axis in place, so its chord is the same
        # vector in the local frames of both ends.
        # A speed too large for a float is infinite, which is a teleport like any other.
        with np.errstate(over="ignore"):
            speeds = np.diff(self.positions, axis=0) / spans[:, None]
            spins = quaternion.log(turns) / spans[:, None]
            jumped[1:] |= np.linalg.norm(speeds, axis=1) > max_speed
            jumped[1:] |= np.linalg.norm(spins, axis=1) > max_spin
        self._jumped = jumped
        self._teleports = tuple(self.times[jumped].tolist())
        self._speeds = _key_slopes(spans, speeds, jumped)  # world axes
        self._spins = _key_slopes(spans, spins, jumped)  # local axes of each key
        self._turn_vectors = _turn_vectors(spans, turns, self._spins)

    @property
    def teleports(self) -> tuple[float, ...]:
        """Times [s] of the keys that are reached by a jump, rising."""
        return self._teleports

    def teleported(self, start: float, end: float) -> bool:
        """Whether the pose jumps after `start` and not after `end` [s]."""
        return teleports_between(self._teleports, start, end)

    def pose(self, time: float) -> Pose:
        """Where the thing is at `time` [s]."""
        pose, _ = self._evaluate(time)
        return pose

    def velocity(self, time: float) -> Twist:
        """How it moves at `time` [s]: the derivative of the pose, by formula."""
        _, twist = self._evaluate(time)
        return twist

    def _evaluate(self, time: float) -> tuple[Pose, Twist]:
        require_time(time)
        if time < self.times[0] or time > self.times[-1]:
            return self._resting(0 if time < self.times[0] else -1)
        i = int(np.searchsorted(self.times, time, side="right")) - 1
        if i + 1 == len(self.times) or self._jumped[i + 1]:
            return self._coasting(i, time - self.times[i])
        return self._between(i, time)

    def _resting(self, i: int) -> tuple[Pose, Twist]:
        pose = Pose(self.positions[i], self.rotations[i])
        return pose, Twist(np.zeros(3), np.zeros(3), pose.position)

    def _coasting(self, i: int, elapsed: float) -> tuple[Pose, Twist]:
        rotation = quaternion.multiply(self.rotations[i], quaternion.exp(elapsed * self._spins[i]))
        pose = Pose(self.positions[i] + elapsed * self._speeds[i], rotation)
        return pose, Twist(self._speeds[i], quaternion.rotate(self.rotations[i], self._spins[i]), pose.position)

    def _between(self, i: int, time: float) -> tuple[Pose, Twist]:
        span = self.times[i + 1] - self.times[i]
        u = (time - self.times[i]) / span
        position, speed = hermite(
            u, span, self.positions[i], self._speeds[i], self.positions[i + 1], self._speeds[i + 1]
        )
        rotation, spin = _turned(u, span, self.rotations[i], self._turn_vectors[i])
        return Pose(position, rotation), Twist(speed, spin, position)


def check_times(name: str, times: Float64Array) -> None:
    """Raise ValueError unless there is at least one time and each is finite and `MIN_SPAN` above the one before it."""
    if len(times) == 0:
        raise ValueError(f"{name}: must hold at least one key, got none")
    require_finite(name, times)
    back = np.diff(times) < MIN_SPAN
    if back.any():
        i = int(back.argmax())
        raise ValueError(f"{name}: must rise from key to key, got {times[i + 1]:g} after {times[i]:g} s at key {i + 1}")


def hermite(
    u: float, span: float, start: Vector, start_rate: Vector, end: Vector, end_rate: Vector
) -> tuple[Vector, Vector]:
    """Value and rate at `u` in [0, 1] of the cubic over `span` seconds with these values and rates at its ends."""
    v = 1 - u
    value = v * v * ((1 + 2 * u) * start + u * span * start_rate) + u * u * ((1 + 2 * v) * end - v * span * end_rate)
    rate = 6 * u * v * (end - start) / span + v * (1 - 3 * u) * start_rate + u * (1 - 3 * v) * end_rate
    return value, rate


def _turn_vectors(spans: Float64Array, turns: Float64Array, spins: Float64Array) -> Float64Array:
    """What makes the cubic of `_turned` reach each next key with the right angular velocities, shape (K - 1, 3, 3)."""
    first, last = spins[:-1] * (spans[:, None] / 3), spins[1:] * (spans[:, None] / 3)
    rest = quaternion.multiply(quaternion.conjugate(quaternion.exp(first)), turns)
    rest = quaternion.multiply(rest, quaternion.conjugate(quaternion.exp(last)))
    return np.stack([first, quaternion.log(rest), last], axis=1)


def _turned(u: float, span: float, start: Float64Array, vectors: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Rotation and angular velocity [rad/s, world axes] at `u` in [0, 1] on the way from a key to the next.

    The cumulative Bezier form of a cubic: start * exp(b1 w1) * exp(b2 w2) * exp(b3 w3), where each of b1, b2, b3 rises
    from 0 to 1, only b1 has a slope at the start and only b3 at the end; w1 and w3 are `span` / 3 times the angular
    velocities there, in the axes of the moving thing.
    """
    v = 1 - u
    weights = np.array([1 - v**3, u * u * (3 - 2 * u), u**3])
    weight_rates = np.array([v * v, 2 * u * v, u * u]) * (3 / span)
    one, two, three = quaternion.exp(weights[:, None] * vectors)
    after_one = quaternion.multiply(start, one)
    after_two = quaternion.multiply(after_one, two)
    # A rotation leaves its own axis in place, so each vector needs turning only by what comes before it.
    spins = quaternion.rotate(np.stack([start, after_one, after_two]), weight_rates[:, None] * vectors)
    return quaternion.multiply(after_two, three), spins.sum(axis=0)


def _jump_mask(jumps: Sequence[int], count: int) -> NDArray[np.bool_]:
    """Which keys are listed as reached by a teleport, shape (K,)."""
    mask = np.zeros(count, np.bool_)
    for index in jumps:
        if not 1 <= index < count:
            raise ValueError(f"jumps: must be indices from 1 to {count - 1} of the keys reached by a jump, got {index}")
        mask[index] = True
    return mask


def _key_slopes(spans: Float64Array, chords: Float64Array, jumped: NDArray[np.bool_]) -> Float64Array:
    """Rates at the keys from the mean rates between them, blind to the other side of a jump, shape (K, 3)."""
    slopes = np.zeros((len(jumped), 3))
    joined = ~jumped[1:]
    inner = np.flatnonzero(joined[:-1] & joined[1:]) + 1
    ways = spans[:, None] * chords
    slopes[inner] = (ways[inner - 1] + ways[inner]) / (spans[inner - 1] + spans[inner])[:, None]
    has_both = np.zeros(len(jumped), np.bool_)
    has_both[inner] = True
    for i in np.flatnonzero(joined):
        # The end of a piece continues the parabola of the next three keys, whose rate is linear; two keys give a line.
        if not has_both[i]:
            slopes[i] = 2 * chords[i] - slopes[i + 1] if has_both[i + 1] else chords[i]
        if not has_both[i + 1]:
            slopes[i + 1] = 2 * chords[i] - slopes[i] if has_both[i] else chords[i]
    return slopes
