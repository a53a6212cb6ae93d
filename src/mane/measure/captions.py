"""What captions of pictures say."""

from __future__ import annotations

import numpy as np

from mane.geometry.checks import FloatArray

SMALLEST_SHOWN = 0.01  # [%] less is said to be less than that


def describe(lengths: FloatArray | float, kinks: FloatArray | float) -> str:
    """What a caption says of relative errors of length and of kinks [rad], a line for each."""
    off = 100 * float(np.abs(lengths).mean())
    text = f"{off:.2g} %" if off >= SMALLEST_SHOWN else f"less than {SMALLEST_SHOWN} %"
    return f"length off by {text}\nkink {float(np.mean(kinks)):.2g} rad"
