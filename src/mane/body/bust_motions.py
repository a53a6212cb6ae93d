"""Motions of the bust with joints, made of the presets of a rigid head: the head does the same, the body joins in.

The head turns as the preset of that name, amplitude, rate and seed turns it (`make_motion`), and all of the bust shifts
and travels as it does. Chest, neck and shoulders move as those of a person who does that: the chest follows a turn late
and less far, the neck takes a third of what is left, shoulders swing with the steps, lift in a jump, roll on the beat.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.body.character import MakeMotion
from mane.body.motion import EASE_IN, smooth_start
from mane.body.motion_presets import CHANNELS, MOTIONS, RANDOM_TONES, PresetMotion, make_motion
from mane.body.posing import AXES, Posing, sample_times
from mane.body.skeleton import JointAnimation, Skeleton
from mane.geometry import quaternion
from mane.geometry.limits import NotNegative, Positive, Seed, check_arguments

Float64Array = NDArray[np.float64]

NECK_SHARE = 1 / 3  # of the turn of the head against the chest; the joints below the skull do about as much
CHEST_LAG = 0.12  # [s] by which the chest follows the head
SHOULDER_STREAM = 1  # random stream of what a seed draws beside the preset
GLANCE = math.radians(8)  # of a head that walks or jumps
GLANCE_RATE = 0.5  # [Hz], the highest frequency of that
ARM_SWING, CHEST_SWING = math.radians(6), math.radians(3)  # of shoulders and chest with every second step
JUMP_LIFT, JUMP_HEIGHT = math.radians(12), 0.2  # of the shoulders; at this height they are close to it [m]
JUMP_NOD = math.radians(10)  # down in the crouch, up in the air
ROLL_SHARE = 0.3  # of the amplitude: how far shoulders roll on the beat, or at random
MOST_ROLL = math.radians(12)


@dataclass(frozen=True, eq=False)
class Score:
    """What a motion is made of, at all samples.

    Attributes:
        times: [s], shape (F,).
        preset: what the head does.
        rng: draws what the body adds to it.
        gain: share of the full motion, eased in, (F,).
        amplitude: of the preset.
        rate: of the preset [Hz].
    """

    times: Float64Array
    preset: PresetMotion
    rng: np.random.Generator
    gain: Float64Array
    amplitude: float
    rate: float

    def channel(self, name: str, lag: float = 0.0) -> Float64Array:
        """A channel of the preset (F,) as it was `lag` [s] ago; zero where it has none."""
        if name not in self.preset.channels:
            return np.zeros(len(self.times))
        channel, ease_in = self.preset.channels[name], self.preset.ease_in
        past = np.maximum(self.times - lag, 0.0)
        return np.array([smooth_start(time, ease_in)[0] * channel(time)[0] for time in past.tolist()])

    def beat(self, cycles: float, phase: float = 0.0) -> Float64Array:
        """A sine of that many cycles in one of the preset, eased in (F,)."""
        return self.gain * np.sin(2.0 * np.pi * cycles * self.rate * self.times + phase)

    def wander(self, amplitude: float, rate: float) -> Float64Array:
        """A smooth random signal within `amplitude`, of frequencies up to `rate` [Hz], eased in (F,)."""
        strengths = self.rng.uniform(0.5, 1.0, RANDOM_TONES)
        turns, phases = self.rng.uniform(0.1, 1.0, RANDOM_TONES), self.rng.uniform(0.0, 1.0, RANDOM_TONES)
        waves = np.sin(2.0 * np.pi * (rate * self.times[:, None] * turns + phases))
        return np.asarray(amplitude * self.gain * (waves @ (strengths / strengths.sum())))


@dataclass(frozen=True, eq=False)
class Body:
    """What the rest of the bust does while the head follows the preset, angles [rad], (F,) each or numbers.

    Attributes:
        chest: pitch, yaw and roll.
        glance: pitch and yaw of the head beyond the preset.
        lift: of the left and the right shoulder, up.
        swing: of the left and the right shoulder, ahead.
    """

    chest: tuple[Float64Array, Float64Array, Float64Array]
    glance: tuple[Float64Array, Float64Array]
    lift: tuple[Float64Array, Float64Array]
    swing: tuple[Float64Array, Float64Array]


def _random(score: Score) -> Body:
    """Every part by itself, the chest along with the head besides."""
    size = min(ROLL_SHARE * score.amplitude, MOST_ROLL)
    chest = tuple(
        0.25 * score.channel(name, CHEST_LAG) + score.wander(0.1 * score.amplitude, score.rate)
        for name in ("pitch", "yaw", "roll")
    )
    lift, swing = ([score.wander(size, score.rate) for _ in range(2)] for _ in range(2))
    still = np.zeros(len(score.times))
    return Body((chest[0], chest[1], chest[2]), (still, still), (lift[0], lift[1]), (swing[0], swing[1]))


def _walk(score: Score) -> Body:
    """Arms swing against each other with every second step, the chest turns with them, eyes stray."""
    side = 2.0 * np.pi * score.rng.uniform()
    swing = score.beat(0.5, side)
    chest = (0.3 * CHEST_SWING * score.beat(1.0), CHEST_SWING * swing, 0.5 * CHEST_SWING * score.beat(0.5))
    glance = (0.3 * score.wander(GLANCE, GLANCE_RATE), score.wander(GLANCE, GLANCE_RATE))
    bob = 0.25 * ARM_SWING * score.beat(1.0)
    return Body(chest, glance, (bob, bob), (-ARM_SWING * swing, ARM_SWING * swing))


def _turn(score: Score) -> Body:
    """The chest follows the head by a quarter of its way, and the shoulder that the head turns to goes back."""
    yaw = score.channel("yaw", CHEST_LAG)
    nod, lean = score.wander(0.15 * score.amplitude, score.rate), score.wander(0.05 * score.amplitude, score.rate)
    shoulder = np.clip(0.1 * yaw, -MOST_ROLL, MOST_ROLL)
    still = np.zeros(len(yaw))
    return Body((still, 0.25 * yaw, lean), (nod, still), (0.5 * shoulder, -0.5 * shoulder), (-shoulder, shoulder))


def _look(score: Score) -> Body:
    """The chest comes along a little, shoulders hardly."""
    size = min(0.1 * score.amplitude, MOST_ROLL)
    chest = (0.1 * score.channel("pitch", CHEST_LAG), 0.15 * score.channel("yaw", CHEST_LAG))
    lift, swing = ([score.wander(size, score.rate) for _ in range(2)] for _ in range(2))
    still = np.zeros(len(score.times))
    return Body((*chest, still), (still, still), (lift[0], lift[1]), (swing[0], swing[1]))


def _jump(score: Score) -> Body:
    """Bent in the crouch; shoulders are up in the air and down on landing."""
    height = np.tanh(score.channel("y") / JUMP_HEIGHT)
    lean, side = score.wander(0.3 * GLANCE, GLANCE_RATE), score.wander(GLANCE, GLANCE_RATE)
    still = np.zeros(len(height))
    chest = (-0.5 * JUMP_NOD * height, still, lean)
    lift = JUMP_LIFT * height
    return Body(chest, (-JUMP_NOD * height, side), (lift, lift), (still, still))


def _dance(score: Score) -> Body:
    """The chest sways and turns with the head; shoulders roll against each other, once in two beats."""
    size = min(ROLL_SHARE * score.amplitude, MOST_ROLL)
    phase = 2.0 * np.pi * score.rng.uniform()
    up, ahead = size * score.beat(0.5, phase), size * score.beat(0.5, phase + 0.5 * np.pi)
    chest = (
        0.15 * score.channel("pitch", CHEST_LAG),
        0.25 * score.channel("yaw", CHEST_LAG),
        0.4 * score.channel("roll", CHEST_LAG),
    )
    still = np.zeros(len(score.times))
    return Body(chest, (still, still), (up, -up), (ahead, -ahead))


def _pose(posing: Posing, score: Score, body: Body) -> None:
    """Put the joints where head and body are."""
    ways = np.stack([score.channel(name) for name in CHANNELS[:3]], axis=1)
    gone = np.array([smooth_start(time, score.preset.ease_in)[2] for time in score.times.tolist()])
    posing.shift("chest", ways + gone[:, None] * score.preset.travel)
    chest = _rotation(*body.chest)
    pitch, yaw, roll = (score.channel(name) for name in CHANNELS[3:])
    head = _rotation(pitch + body.glance[0], yaw + body.glance[1], roll)
    against = quaternion.multiply(quaternion.conjugate(chest), head)
    neck = quaternion.exp(NECK_SHARE * quaternion.log(against))
    posing.rotate("chest", chest)
    posing.rotate("neck", neck)
    posing.rotate("head", quaternion.multiply(quaternion.conjugate(neck), against))
    for side, sign, lift, swing in zip(("left", "right"), (1.0, -1.0), body.lift, body.swing, strict=True):
        posing.turn(f"clavicle_{side}", "z", sign * lift)
        posing.turn(f"clavicle_{side}", "y", -sign * swing)


def _rotation(pitch: Float64Array, yaw: Float64Array, roll: Float64Array) -> Float64Array:
    """Yaw * pitch * roll, roll first, as of `PresetMotion`, quaternions (F, 4)."""
    turns = [
        quaternion.from_axis_angle(np.broadcast_to(AXES[axis], (len(angle), 3)), angle)
        for axis, angle in (("y", yaw), ("x", pitch), ("z", roll))
    ]
    return quaternion.multiply(quaternion.multiply(turns[0], turns[1]), turns[2])


def _maker(name: str, summary: str, body_of: Callable[[Score], Body]) -> MakeMotion:
    """The function that makes one of the motions, for the table of the bust."""
    preset = MOTIONS[name]

    def make(
        skeleton: Skeleton,
        *,
        duration: Positive = 4.0,
        frame_rate: Positive = 48.0,
        amplitude: NotNegative = preset.amplitude,
        rate: Positive = preset.rate,
        seed: Seed = 0,
        ease_in: Positive = EASE_IN,
    ) -> JointAnimation:
        check_arguments(make, locals())
        head = make_motion(name, amplitude=amplitude, rate=rate, seed=seed, ease_in=ease_in)
        posing = Posing(skeleton, sample_times(duration, frame_rate))
        gain = np.array([smooth_start(time, ease_in)[0] for time in posing.times.tolist()])
        score = Score(posing.times, head, np.random.default_rng([seed, SHOULDER_STREAM]), gain, amplitude, rate)
        _pose(posing, score, body_of(score))
        return posing.animation()

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""{summary}

    Args:
        skeleton: of the bust.
        duration: of the animation [s]; it goes on to the end.
        frame_rate: samples per second.
        amplitude: as of the motion of a head of that name [{preset.unit}].
        rate: as of the motion of a head of that name [Hz].
        seed: the same motion for the same seed.
        ease_in: time from rest to full amplitude [s].
    """
    return make


PRESET_MOTIONS: dict[str, MakeMotion] = {
    name: _maker(name, summary, body_of)
    for name, summary, body_of in (
        ("random", "Turn head, chest and shoulders of the bust at random, smoothly.", _random),
        ("walk", "Walk along +Z with the bust; amplitude is the bob, rate the steps per second.", _walk),
        ("turn", "Look over one shoulder, then the other; the chest follows.", _turn),
        ("look", "Look around; amplitude bounds the turn to either side, rate the highest frequency.", _look),
        ("jump", "Jump on the spot, shoulders up in the air; amplitude is the height.", _jump),
        (
            "dance",
            "Dance on the spot, shoulders rolling; amplitude bounds the turn of the head, rate is the beat.",
            _dance,
        ),
    )
}
