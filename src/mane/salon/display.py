"""`Display`: what pages see, put on topics of which every page gets the newest message."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mane.groom.groom import Groom
from mane.render.looks import Look
from mane.salon import shown
from mane.salon.carriers import Carrier
from mane.salon.protocol import encode
from mane.salon.water import WaterView
from mane.strand.frame import GuideFrame
from mane.strand.source import GuideSource

Emit = Callable[[str, bytes], None]


@dataclass(frozen=True)
class Seen:
    """An event of a page: its number, and when it was taken up (`time.perf_counter`, [s])."""

    sequence: int = 0
    taken: float = 0.0


class Display:
    """Encodes what there is to see.

    Args:
        emit: takes a topic and the newest message of it.
    """

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._frames, self._notices = 0, 0
        self.water = WaterView(emit)

    def hair(self, groom: Groom, source: GuideSource) -> None:
        """Show other hair on other guides."""
        self.water.reset()
        self._emit("hair", shown.hair_message(groom, source.guides))

    def look(self, groom: Groom, look: Look) -> None:
        """Show other colours."""
        self._emit("look", shown.look_message(groom, look))

    def solids(self, source: GuideSource, names: Sequence[str], props: Container[int]) -> None:
        """Show all solids, with their distances where hair touches them."""
        for number, solid in enumerate(source.solids):
            message = shown.solid_message(number, names[number], solid, is_prop=number in props)
            self._emit(f"solid {number}", message)
            is_touched = number in source.touched
            if is_touched and solid.shape is not None:
                self._emit(f"shape {number}", shown.shape_message(number, solid))
            if is_touched and shown.has_field(solid):
                self._emit(f"field {number}", shown.field_message(number, solid))

    def carriers(self, carriers: Sequence[Carrier]) -> None:
        """Show by what hair is carried on each side."""
        for side in range(2):
            for topic in (f"carrier {side}", f"sets {side}"):
                self._emit(topic, b"")
        for carrier in carriers:
            for topic, message in carrier.fixed():
                self._emit(topic, message)

    def frame(self, frame: GuideFrame, carriers: Sequence[Carrier], seen: Seen) -> None:
        """Show a frame, which has seen the events up to one."""
        self._frames += 1
        for carrier in carriers:
            for topic, message in carrier.of_frame(self._frames, frame):
                self._emit(topic, message)
        message = encode(
            "frame",
            number=self._frames,
            sequence=seen.sequence,
            answered=1e3 * (time.perf_counter() - seen.taken),
            time=frame.time,
            head=np.concatenate([frame.head.position, frame.head.rotation]),
            points=frame.points,
            solids=np.array([[*pose.position, *pose.rotation] for pose in frame.solid_poses], np.float32),
        )
        self._emit("frame", message)

    def state(self, state: Mapping[str, Any]) -> None:
        """Show settings and what is going on."""
        self._emit("state", encode("state", json=json.dumps(state)))

    def metrics(self, numbers: Mapping[str, Any]) -> None:
        """Show how the simulation is doing."""
        self._emit("metrics", encode("metrics", json=json.dumps(numbers)))

    def tell(self, text: str, *, is_error: bool = False) -> None:
        """Show a line to whoever looks."""
        self._notices += 1
        self._emit("notice", encode("notice", number=self._notices, is_error=int(is_error), text=text))
