"""From linear light to a picture: tone curve, background, sRGB."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.geometry.checks import FloatArray, as_floats, require_choice

TONES = ("filmic", "srgb", "linear")
BACKDROP = ((0.80, 0.82, 0.85), (0.60, 0.63, 0.67))  # display RGB at the top and at the bottom


def develop(light: FloatArray, background: ArrayLike | None, tone: str) -> NDArray[Any]:
    """Turn premultiplied linear light and coverage (H, W, 4) into a picture.

    Args:
        light: what `raster.draw` returns.
        background: display RGB in [0, 1]: one colour, or those at the top and at the bottom, shape (2, 3); it is shown
            as it is, whatever the tone. None keeps the coverage as a fourth channel.
        tone: "filmic" bends highlights instead of cutting them off, "srgb" cuts them off, "linear" returns light.

    Returns:
        Display RGB as uint8 (H, W, 3), or RGBA with straight alpha (H, W, 4) without a background. For "linear":
        float32, premultiplied where there is alpha.
    """
    require_choice("tone", tone, TONES)
    alpha = light[:, :, 3:]
    backdrop = None if background is None else _backdrop(background, len(light))
    if tone == "linear":
        return light.copy() if backdrop is None else light[:, :, :3] + (1.0 - alpha) * backdrop
    color = np.divide(light[:, :, :3], alpha, out=np.zeros_like(light[:, :, :3]), where=alpha > 1e-4)
    color = filmic(color) if tone == "filmic" else np.clip(color, 0.0, 1.0)
    if backdrop is not None:
        return _eight_bits(display_from_linear(alpha * color + (1.0 - alpha) * backdrop))
    return _eight_bits(np.concatenate([display_from_linear(color), alpha], axis=2))


def filmic(light: FloatArray) -> FloatArray:
    """Map light from 0 up to values below 1: a short toe, a straight middle, a long shoulder."""
    light = np.maximum(light, 0.0)
    # A rational curve with slope 3/4 at 0, f(0.18) = 0.18, f(1) = 0.75, f(2.5) = 0.93 and f(inf) = 1.
    return np.asarray(light * (light + 0.263) / (light * (light + 0.3333) + 0.3504), np.float32)


def display_from_linear(value: FloatArray) -> FloatArray:
    """The sRGB transfer curve."""
    value = np.clip(value, 0.0, 1.0)
    return np.where(value <= 0.0031308, 12.92 * value, 1.055 * value ** (1 / 2.4) - 0.055).astype(np.float32)


def linear_from_display(value: FloatArray) -> FloatArray:
    """The inverse of `display_from_linear`."""
    value = np.clip(value, 0.0, 1.0)
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4).astype(np.float32)


def _eight_bits(value: FloatArray) -> NDArray[np.uint8]:
    return (np.clip(value, 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8)


def _backdrop(background: ArrayLike, height: int) -> FloatArray:
    """Linear RGB of the background in each row, shape (height, 1, 3)."""
    colors = np.asarray(background, np.float32)
    if colors.ndim == 1:
        colors = np.stack([colors, colors])
    colors = as_floats("background", colors, (2, 3))
    rows = np.linspace(0.0, 1.0, height, dtype=np.float32)[:, None, None]
    return linear_from_display(colors[0] * (1 - rows) + colors[1] * rows)
