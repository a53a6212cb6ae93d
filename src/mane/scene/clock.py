"""`StageClock`: where the time of a run goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mane.scene.simulation import Simulation

# Which stage a part of the simulation counts for; the rest of a step is the guides' own.
CONTACT_PARTS = ("SolidContact", "SolidProjection")
AIR_PARTS = ("Drag",)


class StageClock:
    """Adds up seconds by stage, for the current frame and for all.

    Attributes:
        frame: seconds of the current frame by stage.
        total: seconds of all frames by stage, in the order in which stages were first met.
        setup: seconds before the first frame by stage.
    """

    def __init__(self) -> None:
        self.frame: dict[str, float] = {}
        self.total: dict[str, float] = {}
        self.setup: dict[str, float] = {}
        self._inner = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time of the block for a stage, less what stages within it took."""
        started, before = time.perf_counter(), self._inner
        self._inner = 0.0
        try:
            yield
        finally:
            spent = time.perf_counter() - started
            self.frame[name] = self.frame.get(name, 0.0) + spent - self._inner
            self._inner = before + spent

    def end_setup(self) -> None:
        """Say that what was counted so far was preparation."""
        self.setup, self.frame = self.frame, {}

    def end_frame(self) -> dict[str, float]:
        """Begin the next frame and return the seconds of the one that ended."""
        ended, self.frame = self.frame, {}
        for name, seconds in ended.items():
            self.total[name] = self.total.get(name, 0.0) + seconds
        return ended

    def watch_parts(self, simulation: Simulation) -> None:
        """Count contact, air and interactions of a simulation as stages of their own."""
        for part in simulation.parts:
            kind = type(part).__name__
            name = "contact" if kind in CONTACT_PARTS else "air" if kind in AIR_PARTS else "interactions"
            for method in ("add", "settle", "project"):
                if hasattr(part, method):
                    setattr(part, method, self._counted(name, getattr(part, method)))

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            with self.stage(name):
                return function(*args)

        return counted
