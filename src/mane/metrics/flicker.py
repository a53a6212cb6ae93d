"""Flicker: motion from frame to frame that is too quick to be motion.

The third difference of four successive frames is zero for any steady acceleration and small for smooth motion, and
full for noise. It is stated as the noise that would show the same: vertices that jump about their path by independent
errors of root mean square r [m] flicker by r.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray
from mane.metrics import _kernels_difference as kernels
from mane.metrics.curves import Curves, as_curves

WINDOW = 4
# Variance of x3 - 3 x2 + 3 x1 - x0 for independent x of variance 1: 1 + 9 + 9 + 1.
NOISE_GAIN = 20.0


def flicker(first: Curves, second: Curves, third: Curves, fourth: Curves) -> FloatArray:
    """Flicker of each strand over four successive frames [m], shape (S,), float32; frames [m], shape (S, V, 3) each.

    Frames are best given in the frame of the head, so that its motion does not count.

    Args:
        first: points of the strands [m], shape (S, V, 3).
        second: one frame later.
        third: two frames later.
        fourth: three frames later.
    """
    frames = [as_curves(name, f) for name, f in zip(_NAMES, (first, second, third, fourth), strict=True)]
    for name, frame in zip(_NAMES, frames, strict=True):
        if frame.shape != frames[0].shape:
            raise ValueError(f"{name}: must have the shape of first, {frames[0].shape}, got {frame.shape}")
    square = np.empty(len(frames[0]))
    one, two, three, four = frames
    kernels.mean_square_jerk(one, two, three, four, square)
    return np.sqrt(square / NOISE_GAIN).astype(np.float32)


_NAMES = ("first", "second", "third", "fourth")


class FlickerMeter:
    """Flicker of a sequence that arrives frame by frame; keeps the last four frames and nothing else."""

    def __init__(self) -> None:
        self._frames: deque[FloatArray] = deque(maxlen=WINDOW)
        self._sum = 0.0
        self._count = 0

    def add(self, points: Curves, counted: NDArray[np.bool_] | None = None) -> None:
        """Take the next frame [m], shape (S, V, 3); copied.

        Args:
            points: of the frame.
            counted: which strands count in the four frames that end with this one, shape (S,); all by default.
        """
        self._frames.append(as_curves("points", points).copy())
        if len(self._frames) == WINDOW:
            squares = np.square(flicker(*self._frames), dtype=np.float64)
            squares = squares if counted is None else squares[counted]
            self._sum += float(squares.sum())
            self._count += len(squares)

    @property
    def value(self) -> float:
        """Root mean square of the flicker over all that counted so far [m]; NaN where nothing did, as before the
        fourth frame.
        """
        return float(np.sqrt(self._sum / self._count)) if self._count else float("nan")
