"""`Holding`: what hands hold of a salon: the head and the props, each with a motion that follows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mane.body.motion import Motion, Pose
from mane.body.neck import find_neck
from mane.salon.live_motion import LiveMotion
from mane.scene.config import Scene
from mane.strand.source import GuideSource


@dataclass(frozen=True)
class Held:
    """Where head and props are.

    Attributes:
        head: pose of the head.
        props: poses of solids by number.
        is_head_taken: whether a hand has taken the head, which then no longer goes by its own motion.
        taken: numbers of the props that a hand has taken.
    """

    head: Pose
    props: Mapping[int, Pose]
    is_head_taken: bool
    taken: frozenset[int]


class Holding:
    """Puts hands in place of the motions of a source; those play until a hand takes over.

    Args:
        source: whose head and solids are held.
        scene: that it was made of.
        dt: length of a step [s].
        plays_head: whether the head goes by its own motion at first.

    Attributes:
        head: motion of the head.
        props: motions of solids by number.
        pivot: point that the head turns about [m].
    """

    def __init__(self, source: GuideSource, scene: Scene, dt: float, *, plays_head: bool) -> None:
        first = 1 if source.has_body else 0
        numbers = range(first, len(source.solids))
        self._own_head = source.head if plays_head else None
        self._own: dict[int, Motion | None] = {number: source.solids[number].motion for number in numbers}
        start = Pose.identity() if source.head is None else source.head.pose(0.0)
        self._dt, self.head = dt, LiveMotion(start, 0.0, dt)
        body = source.provide("body")
        roots = source.guides.rest[source.guides.active, 0]
        made_in_code = scene.groom.style is not None
        self.pivot = np.zeros(3) if made_in_code else find_neck(None if body is None else body.mesh, roots)
        self.props: dict[int, LiveMotion] = {}
        for number, own in self._own.items():
            pose = Pose.identity() if own is None else own.pose(0.0)
            self.props[number] = LiveMotion(pose, 0.0, dt)
        self._before = source.head, dict(self._own)
        self.take(source)

    def give_back(self, source: GuideSource) -> None:
        """Let the source go by its own motions again."""
        source.head = self._before[0]
        for number, motion in self._before[1].items():
            source.solids[number].motion = motion

    def take(self, source: GuideSource) -> None:
        """Let a source go by the hands."""
        source.head = self.head
        for number, hand in self.props.items():
            source.solids[number].motion = hand

    def _motions(self) -> Iterator[LiveMotion]:
        yield self.head
        yield from self.props.values()

    def advance(self, end: float, *, keep: bool) -> None:
        """Go one step on, which ends at `end` [s]; keys of the past are kept for a recording."""
        if self._own_head is not None:
            self.head.target = self._own_head.pose(end + self._dt)
        for number, own in self._own.items():
            if own is not None:
                self.props[number].target = own.pose(end + self._dt)
        for motion in self._motions():
            motion.advance()
            if not keep:
                motion.forget_past()

    def restart(self) -> None:
        """Begin anew at time 0, with everything where it is."""
        for motion in self._motions():
            motion.restart(motion.poses[-1], 0.0)

    @property
    def held(self) -> Held:
        """Where everything is."""
        taken = frozenset(number for number, own in self._own.items() if own is None)
        poses = {number: motion.poses[-1] for number, motion in self.props.items()}
        return Held(self.head.poses[-1], poses, self._own_head is None, taken)

    def put(self, held: Held) -> None:
        """Begin anew at time 0 with everything where it was, and what a hand has taken still in its hands."""
        self.head.restart(held.head, 0.0)
        self.head.target = held.head
        if held.is_head_taken:
            self._own_head = None
        for number in held.taken & set(self._own):
            self._own[number] = None
        for number, pose in held.props.items():
            if number in self.props:
                self.props[number].restart(pose, 0.0)
                self.props[number].target = pose

    def move(self, number: int, position: Any, rotation: Any) -> None:
        """Hold a prop at a pose."""
        if number not in self.props:
            raise ValueError(f"solid {number} is none that can be moved")
        self._own[number] = None
        self.props[number].target = _pose(position, rotation)

    def turn(self, position: Any, rotation: Any) -> None:
        """Hold the head at a pose about the neck."""
        turned = _pose(np.zeros(3), rotation)
        self._own_head = None
        self.head.target = Pose(self.pivot + position - turned.apply(self.pivot), turned.rotation)


def _pose(position: Any, rotation: Any) -> Pose:
    quaternion = np.asarray(rotation, np.float64)
    return Pose(np.asarray(position, np.float64), quaternion / np.linalg.norm(quaternion))
