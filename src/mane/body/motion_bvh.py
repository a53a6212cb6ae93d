"""The motion of a head out of a recorded skeleton (.bvh, Biovision hierarchy).

```
HIERARCHY                         MOTION
ROOT Hips {                       Frames: 120
  OFFSET 0 0 0                    Frame Time: 0.008333
  CHANNELS 6 Xposition ...        0.1 90.2 3.4 ...      one number for each channel, in the order of the hierarchy
  JOINT Spine { ... } }
```
A joint's channels are applied in the order that they are listed in. The format has no unit: the skeleton counts as a
person of 1.7 m. The way of the head is measured from its first frame, so that a recording begins where the head is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion

Array = NDArray[np.float64]

HEIGHT = 1.7  # [m] of a skeleton from its lowest joint to its highest
LEAST_FRAME_TIME = 1e-6  # [s]
AXES = {"X": 0, "Y": 1, "Z": 2}
MOST_NAMED = 12  # joints that an error lists


@dataclass(eq=False)
class Joint:
    """A joint of a hierarchy.

    Attributes:
        name: as written; "" for the end of a chain.
        parent: its number, -1 for a root.
        offset: from its parent at rest, in units of the file, shape (3,).
        channels: names in the order of the file.
        first: number of its first channel among all.
    """

    name: str
    parent: int
    offset: Array = field(default_factory=lambda: np.zeros(3))
    channels: tuple[str, ...] = ()
    first: int = 0


@dataclass(frozen=True, eq=False)
class Recording:
    """A skeleton and what its channels do.

    Attributes:
        joints: parents before children.
        frame_time: [s].
        values: of all channels, angles in degrees, shape (T, C).
    """

    joints: list[Joint]
    frame_time: float
    values: Array

    @property
    def height(self) -> float:
        """Of the skeleton at rest, in units of the file."""
        places = np.zeros((len(self.joints), 3))
        for number, joint in enumerate(self.joints):
            places[number] = joint.offset + (places[joint.parent] if joint.parent >= 0 else 0.0)
        return float(np.ptp(places[:, 1]))

    def joint(self, name: str) -> int:
        """Number of a joint of that name, whatever its case, or of the first whose name ends so (mixamorig:Head)."""
        names = [joint.name.lower() for joint in self.joints]
        own = [k for k, one in enumerate(names) if one == name.lower()]
        own += [k for k, one in enumerate(names) if one.endswith(name.lower())]
        if not own:
            has = ", ".join([joint.name for joint in self.joints if joint.name][:MOST_NAMED])
            raise ValueError(f"has no joint {name!r}; it has {has}")
        return own[0]

    def poses(self, number: int) -> tuple[Array, Array]:
        """Where a joint is in all frames, in units of the file, and how it is turned: (T, 3) and quaternions (T, 4)."""
        chain = [number]
        while self.joints[chain[-1]].parent >= 0:
            chain.append(self.joints[chain[-1]].parent)
        place, turn = np.zeros((len(self.values), 3)), np.tile([0.0, 0.0, 0.0, 1.0], (len(self.values), 1))
        for link in reversed(chain):
            step, own = self._local(self.joints[link])
            place, turn = place + quaternion.rotate(turn, step), quaternion.multiply(turn, own)
        return place, turn

    def _local(self, joint: Joint) -> tuple[Array, Array]:
        """The same as seen from its parent."""
        frames = len(self.values)
        place, turn = np.tile(joint.offset, (frames, 1)), np.tile([0.0, 0.0, 0.0, 1.0], (frames, 1))
        for k, channel in enumerate(joint.channels):
            axis, value = AXES[channel[0].upper()], self.values[:, joint.first + k]
            if channel[1:].lower() == "position":
                place[:, axis] += value
            else:
                vector = np.zeros((frames, 3))
                vector[:, axis] = np.radians(value)
                turn = quaternion.multiply(turn, quaternion.exp(vector))
        return place, turn


def head_keys(text: str, joint: str = "head") -> tuple[Array, Array, Array]:
    """Times [s], positions [m] and rotations of a joint of a recording, shapes (T,), (T, 3), (T, 4).

    Raises:
        ValueError: the text is no recording, or has no such joint; says what and in which line.
    """
    recording = parse(text)
    height = recording.height
    if not height > 0:
        raise ValueError("must have a skeleton with a height, got joints that are all on one level")
    place, turn = recording.poses(recording.joint(joint))
    times: Array = np.arange(len(place)) * np.float64(recording.frame_time)
    return times, (place - place[0]) * (HEIGHT / height), turn


def parse(text: str) -> Recording:
    """Read a recording; ValueError with the line where it is none."""
    words = _Words(text)
    words.expect("hierarchy")
    joints: list[Joint] = []
    while words.peek() == "root":
        words.next()
        _parse_joint(words, words.next_raw(), -1, joints)
    if not joints:
        raise ValueError(f"line {words.line}: must have a ROOT after HIERARCHY, got {words.next_raw()!r}")
    words.expect("motion")
    words.expect("frames:")
    count = int(words.number())
    words.expect("frame")
    words.expect("time:")
    frame_time = words.number()
    if count < 1 or frame_time < LEAST_FRAME_TIME:
        raise ValueError(f"line {words.line}: must have frames and a time for each, got {count} of {frame_time:g} s")
    channels = sum(len(joint.channels) for joint in joints)
    values = words.rest()
    if values.size != count * channels:
        raise ValueError(f"must have {count} frames of {channels} numbers, got {values.size} numbers; it may be cut")
    return Recording(joints, frame_time, values.reshape(count, channels))


def _parse_joint(words: _Words, name: str, parent: int, joints: list[Joint]) -> None:
    """Add a joint and all below it; a stack instead of recursion, since a file may nest as deep as it likes."""
    joints.append(Joint(name, parent))
    words.expect("{")
    open_joints = [len(joints) - 1]
    while open_joints:
        joint = joints[open_joints[-1]]
        word = words.next()
        if word == "}":
            open_joints.pop()
        elif word == "offset":
            joint.offset = np.array([words.number() for _ in range(3)])
        elif word == "channels":
            joint.first = sum(len(one.channels) for one in joints)
            joint.channels = tuple(_channel(words) for _ in range(int(words.number())))
        elif word in ("joint", "end"):
            below = words.next_raw()
            joints.append(Joint("" if word == "end" else below, open_joints[-1]))
            words.expect("{")
            open_joints.append(len(joints) - 1)
        else:
            raise ValueError(f"line {words.line}: must be OFFSET, CHANNELS, JOINT, End Site or }}, got {word!r}")


def _channel(words: _Words) -> str:
    channel = words.next_raw()
    if channel[:1].upper() not in AXES or channel[1:].lower() not in ("position", "rotation"):
        raise ValueError(f"line {words.line}: a channel must be Xposition to Zrotation, got {channel!r}")
    return channel


class _Words:
    """Words of a text one after the other, with the line that the last one stands in."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._words = self._each()
        self._ahead: str | None = None
        self.line = 0

    def _each(self) -> Iterator[str]:
        for number, line in enumerate(self._lines, 1):
            for word in line.replace("{", " { ").replace("}", " } ").split():
                self.line = number
                yield word

    def next_raw(self) -> str:
        """The next word as written; ValueError at the end."""
        word, self._ahead = self._ahead, None
        if word is None:
            word = next(self._words, None)
        if word is None:
            raise ValueError(f"line {self.line}: ends too early; it may be cut")
        return word

    def next(self) -> str:
        """The next word in small letters."""
        return self.next_raw().lower()

    def peek(self) -> str:
        """The next word in small letters, without taking it; "" at the end."""
        if self._ahead is None:
            self._ahead = next(self._words, None)
        return (self._ahead or "").lower()

    def expect(self, expected: str) -> None:
        """Take the next word; ValueError where it is another one."""
        found = self.next()
        if found != expected:
            raise ValueError(f"line {self.line}: must be {expected.upper()}, got {found[:40]!r}")

    def number(self) -> float:
        """The next word as a finite number."""
        word = self.next_raw()
        try:
            value = float(word)
        except ValueError:
            value = np.nan
        if not abs(value) < 1e9:
            raise ValueError(f"line {self.line}: must be a number, got {word[:40]!r}")
        return value

    def rest(self) -> Array:
        """All that is left, as finite numbers."""
        left = self._lines[self.line :]
        try:
            values = np.array(" ".join(left).split(), np.float64)
        except ValueError:
            raise ValueError(f"line {self.line + 1}: must be numbers from here on") from None
        if not (np.abs(values) < 1e9).all():
            raise ValueError(f"line {self.line + 1}: must be finite numbers from here on")
        return values
