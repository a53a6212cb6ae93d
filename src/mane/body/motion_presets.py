"""Ready-made head motions, from `still` to `random`, evaluated by formula at any time.

The head looks along +Z, +Y is up and +X is its left. Every preset rests at the identity until time 0 and eases into its
motion, so that the first frame does not whip the hair; after `ease_in` seconds it runs at full amplitude.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from mane.body.motion import EASE_IN, Float64Array, Pose, Twist, as_vector, require_time, smooth_start
from mane.body.motion_keys import hermite
from mane.geometry import quaternion
from mane.geometry.checks import require_choice, require_positive, require_seed
from mane.geometry.limits import NotNegative, Positive, check_arguments

GRAVITY = 9.81  # [m/s2], brings a jump back to the ground
STEP_LENGTH = 0.75  # [m] forward per step of an adult at an easy pace
SWAY_PER_BOB = 0.8  # a walker's head moves sideways almost as far as up and down, once in two steps
SHIFT_PER_RADIAN = 0.1  # [m/rad] how far a randomly turning head shifts, about the length of a neck
LOOK_PITCH, LOOK_ROLL = 0.4, 0.15  # up and down, and leaning, of the turn of a head that looks around
RANDOM_TONES = 6  # sines per channel, enough that no period is seen
AIRBORNE_LIMIT = 0.6  # largest part of a jump's period in the air; the rest is for landing and pushing off

# A channel gives its value and its rate of change at a time [s].
Channel = Callable[[float], tuple[float, float]]
CHANNELS = ("x", "y", "z", "pitch", "yaw", "roll")


@dataclass(frozen=True, eq=False)
class PresetMotion:
    """A motion given by a formula per channel; never teleports.

    Attributes:
        channels: formulas by name: offsets `x`, `y`, `z` [m] and angles `pitch` (about X), `yaw` (about Y) and `roll`
            (about Z) [rad]; the rotation is yaw * pitch * roll, roll first. Names left out stay at zero.
        pivot: point that the rotation leaves in place, such as the top of the neck [m], shape (3,).
        travel: steady velocity under all of it [m/s], shape (3,).
        ease_in: time from rest to full amplitude [s].
        stop: time at which the motion is over, eased out as it was eased in [s]; None goes on for ever.
    """

    channels: Mapping[str, Channel]
    pivot: Float64Array = field(default_factory=lambda: np.zeros(3))
    travel: Float64Array = field(default_factory=lambda: np.zeros(3))
    ease_in: float = EASE_IN
    stop: float | None = None

    def __post_init__(self) -> None:
        for name in self.channels:
            require_choice("channels", name, CHANNELS)
        object.__setattr__(self, "pivot", as_vector("pivot", self.pivot, 3))
        object.__setattr__(self, "travel", as_vector("travel", self.travel, 3))
        require_positive("ease_in", self.ease_in)
        if self.stop is not None and not (math.isfinite(self.stop) and self.stop >= 2 * self.ease_in):
            raise ValueError(
                f"stop: must be a time of at least twice ease_in ({2 * self.ease_in:g} s), in which the motion begins "
                f"and ends, got {self.stop}"
            )

    @property
    def teleports(self) -> tuple[float, ...]:
        """No times: a preset is continuous."""
        return ()

    def teleported(self, start: float, end: float) -> bool:
        """Whether the pose jumps between the two times: never."""
        return False

    def pose(self, time: float) -> Pose:
        """Where the head is at `time` [s]."""
        value, _ = self._evaluate(time)
        rotation = _rotation(value[3:])
        return Pose(self.pivot + value[:3] - quaternion.rotate(rotation, self.pivot), rotation)

    def velocity(self, time: float) -> Twist:
        """How it moves at `time` [s]: the derivative of the pose, by formula."""
        value, rate = self._evaluate(time)
        return Twist(rate[:3], _angular_velocity(value[3:], rate[3:]), self.pivot + value[:3])

    def _evaluate(self, time: float) -> tuple[Float64Array, Float64Array]:
        """Values and rates of the six channels, eased in, shape (6,) each."""
        require_time(time)
        value, rate = np.zeros(6), np.zeros(6)
        if time <= 0:
            return value, rate
        gain, gain_rate, gain_integral = self._gain(time)
        for name, channel in self.channels.items():
            plain, plain_rate = channel(time)
            row = CHANNELS.index(name)
            value[row] = gain * plain
            rate[row] = gain * plain_rate + gain_rate * plain
        value[:3] += gain_integral * self.travel
        rate[:3] += gain * self.travel
        return value, rate

    def _gain(self, time: float) -> tuple[float, float, float]:
        """Share of the full motion, its rate [1/s] and its integral since time 0 [s]."""
        begun = smooth_start(time, self.ease_in)
        if self.stop is None:
            return begun
        ended = smooth_start(time - self.stop + self.ease_in, self.ease_in)
        return begun[0] - ended[0], begun[1] - ended[1], begun[2] - ended[2]


def _rotation(angles: Float64Array) -> Float64Array:
    """The product of quaternions yaw * pitch * roll, written out."""
    (sx, sy, sz), (cx, cy, cz) = np.sin(0.5 * angles).tolist(), np.cos(0.5 * angles).tolist()
    return np.array(
        [
            cy * sx * cz + sy * cx * sz,
            sy * cx * cz - cy * sx * sz,
            cy * cx * sz - sy * sx * cz,
            cy * cx * cz + sy * sx * sz,
        ]
    )


def _angular_velocity(angles: Float64Array, rates: Float64Array) -> Float64Array:
    """The sum of the rates about their axes: the pitch's axis is turned by the yaw, the roll's by both."""
    (sx, sy, _), (cx, cy, _) = np.sin(angles).tolist(), np.cos(angles).tolist()
    pitch, yaw, roll = rates.tolist()
    return np.array([pitch * cy + roll * cx * sy, yaw - roll * sx, roll * cx * cy - pitch * sy])


# -- channels ------------------------------------------------------------------------------------------------------


def _sine(amplitude: float, rate: float, phase: float = 0.0) -> Channel:
    omega = 2 * math.pi * rate

    def channel(time: float) -> tuple[float, float]:
        angle = omega * time + phase
        return amplitude * math.sin(angle), amplitude * omega * math.cos(angle)

    return channel


def _tones(amplitude: float, rate: float, rng: np.random.Generator) -> Channel:
    """Sum sines of random strength and phase, none above `rate` [Hz], so that the sum never passes `amplitude`."""
    strengths = rng.uniform(0.5, 1.0, RANDOM_TONES)
    strengths *= amplitude / strengths.sum()
    omegas = 2 * math.pi * rate * rng.uniform(0.1, 1.0, RANDOM_TONES)
    phases = rng.uniform(0.0, 2 * math.pi, RANDOM_TONES)

    def channel(time: float) -> tuple[float, float]:
        angles = omegas * time + phases
        return float(strengths @ np.sin(angles)), float((strengths * omegas) @ np.cos(angles))

    return channel


def _hop(height: float, rate: float) -> Channel:
    r"""One crouch, push, flight, landing and rise per period.

    ```
         crouch push flight land rise     cubics between the marked heights and speeds; the flight
    0 ----.      /^\      .------         is a true throw, push and landing have constant acceleration
    -depth \___/     \___/
    ```
    """
    launch = math.sqrt(2 * GRAVITY * height)
    flight = 2 * launch / GRAVITY
    if flight * rate > AIRBORNE_LIMIT:
        raise ValueError(
            f"jump: must spend at most {AIRBORNE_LIMIT:.0%} of its time in the air, got amplitude {height:g} m at rate "
            f"{rate:g} Hz, which spends {flight * rate:.0%}; lower the rate to {AIRBORNE_LIMIT / flight:.3g} Hz"
        )
    ground = 1 / rate - flight
    push = 0.15 * ground
    starts = np.cumsum([0.0, 0.35 * ground, push, flight, push, 0.35 * ground])
    depth = 0.5 * launch * push
    heights = [0.0, -depth, 0.0, 0.0, -depth, 0.0]
    speeds = [0.0, 0.0, launch, -launch, 0.0, 0.0]

    def channel(time: float) -> tuple[float, float]:
        clock = time % starts[-1]
        i = int(np.searchsorted(starts[1:-1], clock, side="right"))
        span = starts[i + 1] - starts[i]
        u = (clock - starts[i]) / span
        return hermite(u, span, heights[i], speeds[i], heights[i + 1], speeds[i + 1])

    return channel


# -- the table -----------------------------------------------------------------------------------------------------

Maker = Callable[[float, float, np.random.Generator], Mapping[str, Channel]]


@dataclass(frozen=True)
class MotionPreset:
    """One entry of the table of motions.

    Attributes:
        summary: what one sees.
        amplitude: default amplitude, in `unit`.
        unit: of the amplitude, `rad` or `m`.
        rate: default rate [Hz].
        make_channels: from amplitude, rate and random stream to the channels.
        travel_per_cycle: steady way along +Z in one cycle [m].
    """

    summary: str
    amplitude: float
    unit: str
    rate: float
    make_channels: Maker
    travel_per_cycle: float = 0.0

    @property
    def turns(self) -> bool:
        """Whether it turns the head, about a pivot."""
        return self.unit == "rad" and self.amplitude > 0


def _make_random(amplitude: float, rate: float, rng: np.random.Generator) -> Mapping[str, Channel]:
    sizes = [SHIFT_PER_RADIAN * amplitude] * 3 + [amplitude] * 3
    return {name: _tones(size, rate, rng) for name, size in zip(CHANNELS, sizes, strict=True)}


def _make_look(amplitude: float, rate: float, rng: np.random.Generator) -> Mapping[str, Channel]:
    """Mostly to the sides, less up and down, with a little lean."""
    sizes = {"yaw": amplitude, "pitch": LOOK_PITCH * amplitude, "roll": LOOK_ROLL * amplitude}
    return {name: _tones(size, rate, rng) for name, size in sizes.items()}


def _make_dance(amplitude: float, rate: float, rng: np.random.Generator) -> Mapping[str, Channel]:
    """On the beat: up and down on every one, nodding with it, swaying on every second; and turns of one's own."""
    phases = rng.uniform(0.0, 2 * math.pi, 4)
    shift = SHIFT_PER_RADIAN * amplitude
    return {
        "x": _sine(2 * shift, rate / 2, phases[0]),
        "y": _sine(shift, rate, phases[1]),
        "pitch": _sine(0.5 * amplitude, rate, phases[2]),
        "roll": _sine(0.5 * amplitude, rate / 2, phases[3]),
        "yaw": _tones(amplitude, rate / 2, rng),
    }


MOTIONS: Mapping[str, MotionPreset] = {
    "still": MotionPreset("no motion at all", 0.0, "rad", 1.0, lambda a, f, rng: {}),
    "shake": MotionPreset("shaking the head, no", math.radians(25), "rad", 2.0, lambda a, f, rng: {"yaw": _sine(a, f)}),
    "nod": MotionPreset("nodding, yes", math.radians(20), "rad", 1.5, lambda a, f, rng: {"pitch": _sine(a, f)}),
    "turn": MotionPreset(
        "looking over one shoulder, then the other", math.pi / 4, "rad", 1.0, lambda a, f, rng: {"yaw": _sine(a, f)}
    ),
    "tilt": MotionPreset(
        "leaning the head to either side", math.radians(30), "rad", 0.5, lambda a, f, rng: {"roll": _sine(a, f)}
    ),
    "walk": MotionPreset(
        "walking along +Z; amplitude is the bob, rate the steps per second",
        0.025,
        "m",
        1.8,
        lambda a, f, rng: {"y": _sine(a, f), "x": _sine(SWAY_PER_BOB * a, f / 2)},
        STEP_LENGTH,
    ),
    "jump": MotionPreset(
        "jumping on the spot; amplitude is the height", 0.3, "m", 0.8, lambda a, f, rng: {"y": _hop(a, f)}
    ),
    "look": MotionPreset(
        "looking around; amplitude bounds the turn to either side, rate the highest frequency",
        math.radians(50),
        "rad",
        0.7,
        _make_look,
    ),
    "dance": MotionPreset(
        "dancing on the spot; amplitude bounds the turn of the head, rate is the beat",
        math.radians(25),
        "rad",
        1.9,
        _make_dance,
    ),
    "random": MotionPreset(
        "smooth random turns and shifts; amplitude bounds each angle, rate the highest frequency",
        math.radians(30),
        "rad",
        1.5,
        _make_random,
    ),
}


def turns_about_pivot(name: str) -> bool:
    """Whether a motion of the table turns the head about a pivot; not one that is unknown."""
    return name in MOTIONS and MOTIONS[name].turns


def make_motion(
    name: str,
    *,
    amplitude: NotNegative | None = None,
    rate: Positive | None = None,
    seed: int = 0,
    pivot: ArrayLike = (0.0, 0.0, 0.0),
    ease_in: Positive = EASE_IN,
    stop: Positive | None = None,
) -> PresetMotion:
    """Make a motion of the table `MOTIONS`, which also holds the defaults.

    Args:
        name: still, shake, nod, turn, tilt, walk, jump, look, dance or random.
        amplitude: largest angle [rad] to either side; for walk half the bob [m], for jump the height [m].
        rate: cycles per second [Hz]; steps for walk, beats for dance, the highest frequency for look and random.
        seed: of `look`, `dance` and `random`, which are the same motion for the same seed.
        pivot: point that turns stay centred on, such as the top of the neck [m], shape (3,).
        ease_in: time from rest to full amplitude [s].
        stop: time at which the motion is over [s], at least twice `ease_in`; None goes on for ever.
    """
    require_choice("motion", name, tuple(MOTIONS))
    check_arguments(make_motion, locals())
    preset = MOTIONS[name]
    size = preset.amplitude if amplitude is None else amplitude
    frequency = preset.rate if rate is None else rate
    require_seed(seed)
    channels = preset.make_channels(size, frequency, np.random.default_rng(seed))
    travel = np.array([0.0, 0.0, preset.travel_per_cycle * frequency])
    return PresetMotion(channels, as_vector("pivot", pivot, 3), travel, ease_in, stop)
