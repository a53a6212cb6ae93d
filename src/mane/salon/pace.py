"""`Pace`: how many hairs the server carries where a page cannot: as many as a person says, or as many as keep up."""

from __future__ import annotations

import numpy as np

FEWEST, MOST, FIRST = 100, 20_000, 2_000
WATCHED = 20  # frames between decisions
WARMING = 5  # frames after a change that say nothing: caches fill, kernels are compiled
TOLERANCE = 1.5  # numbers that differ by less are not worth making the hair anew


class Pace:
    """Watches how long frames take, and says when another number of hairs is due.

    Attributes:
        strands: hairs that the server carries.
        is_automatic: whether the number follows what frames cost.
    """

    def __init__(self) -> None:
        self.strands, self.is_automatic = FIRST, True
        self._frames: list[tuple[float, float]] = []

    def fix(self, strands: float) -> None:
        """Carry so many from now on."""
        self.strands, self.is_automatic = int(np.clip(strands, FEWEST, MOST)), False

    def follow(self, is_automatic: bool) -> None:
        """Let the number follow what frames cost, or stay as it is."""
        self.is_automatic = is_automatic
        self._frames.clear()

    def watch(self, simulated: float, carried: float, dt: float, available: int) -> bool:
        """Take note of a frame in steps of dt [s], of all hairs that there are; whether the number has changed."""
        if not self.is_automatic:
            return False
        self._frames.append((simulated, carried))
        if len(self._frames) < WARMING + WATCHED:
            return False
        step, carry = np.median(self._frames[WARMING:], axis=0)
        self._frames.clear()
        # What is left of real time; of steps that are slower than that, as much time again as they take.
        budget = max(dt - step, step)
        now = min(self.strands, available)
        wanted = float(np.clip(now * budget / max(carry, 1e-9), FEWEST, min(MOST, available)))
        if 1 / TOLERANCE < wanted / now < TOLERANCE:
            return False
        self.strands = rounded(wanted)
        return True


def rounded(number: float) -> int:
    """A number with two digits."""
    unit = 10 ** max(int(np.log10(max(number, 1.0))) - 1, 0)
    return int(number // unit * unit)
