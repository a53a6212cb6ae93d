"""`write_plot`: curves with axes, ticks and a legend as a PNG, drawn with Pillow alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mane.strand.model import Float64Array

SIZE = (960, 640)  # [pixels]
SCALE = 2  # drawn this much larger and reduced, which smooths every line
MARGINS = (96, 56, 32, 72)  # left, top, right, bottom [pixels]
PAPER, INK, GRID = (255, 255, 255), (40, 40, 40), (226, 226, 226)
# Told apart by people with any colour vision; the reference curve comes first and is black.
COLOURS = ((0, 0, 0), (0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167), (230, 159, 0), (86, 180, 233))
TEXT, TITLE = 15, 19  # [pixels]
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
TICKS = 7


@dataclass(frozen=True, eq=False)
class Curve:
    """One line of a plot.

    Attributes:
        label: what the legend calls it.
        x: abscissae, any shape that flattens to (P,).
        y: ordinates, as many; what is not finite, or not above zero on a logarithmic axis, leaves a gap.
        markers: whether every point gets a dot.
        line: whether the points are joined.
        colour: index into the table of colours; None takes the next.
        fade: 0 is the full colour, 1 would be white: tells members of one family apart.
    """

    label: str
    x: ArrayLike
    y: ArrayLike
    markers: bool = True
    line: bool = True
    colour: int | None = None
    fade: float = 0.0


@dataclass(frozen=True)
class Axis:
    """One axis of a plot.

    Attributes:
        label: quantity and unit.
        log: whether it is logarithmic.
    """

    label: str
    log: bool = False

    def scaled(self, values: ArrayLike) -> Float64Array:
        """Where values lie along the axis; NaN where they cannot."""
        array = np.asarray(values, np.float64).ravel()
        if not self.log:
            return np.where(np.isfinite(array), array, np.nan)
        positive = np.isfinite(array) & (array > 0)
        return np.where(positive, np.log10(np.where(positive, array, 1.0)), np.nan)

    def limits(self, values: Sequence[Float64Array]) -> tuple[float, float]:
        """Ends of the axis around scaled values, rounded to ticks or decades where that costs little."""
        known = np.concatenate([array[np.isfinite(array)] for array in values] or [np.zeros(0)])
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        if high - low < 1e-12 * max(abs(low), abs(high), 1e-300):
            low, high = low - 0.5, high + 0.5
        pad = 0.04 * (high - low)
        return low - pad, high + pad

    def ticks(self, low: float, high: float) -> list[tuple[float, str]]:
        """Places along the axis and their text."""
        if self.log:
            return _decades(low, high)
        raw = (high - low) / TICKS
        power = 10.0 ** np.floor(np.log10(raw))
        step = power * next(size for size in STEPS if size * power >= raw)
        places = step * np.arange(np.ceil(low / step), np.floor(high / step) + 1)
        return [(float(place), f"{0.0 if abs(place) < 1e-9 * step else place:.6g}") for place in places]


def write_plot(path: str | os.PathLike[str], title: str, x_axis: Axis, y_axis: Axis, curves: Sequence[Curve]) -> None:
    """Draw curves into one pair of axes and write them as a PNG.

    Args:
        path: of the file.
        title: above the axes.
        x_axis: the horizontal one.
        y_axis: the vertical one.
        curves: in the order of the legend.
    """
    from PIL import Image, ImageDraw, ImageFont

    xs = [x_axis.scaled(curve.x) for curve in curves]
    ys = [y_axis.scaled(curve.y) for curve in curves]
    # A point counts only where both of its numbers do, for the limits too.
    both = [np.isfinite(x) & np.isfinite(y) for x, y in zip(xs, ys, strict=True)]
    x_limits = x_axis.limits([x[ok] for x, ok in zip(xs, both, strict=True)])
    y_limits = y_axis.limits([y[ok] for y, ok in zip(ys, both, strict=True)])
    picture = Image.new("RGB", (SIZE[0] * SCALE, SIZE[1] * SCALE), PAPER)
    page = _Page(picture, ImageDraw.Draw(picture), ImageFont.load_default(TEXT * SCALE), x_limits, y_limits)
    page.frame(x_axis, y_axis)
    page.title(title, ImageFont.load_default(TITLE * SCALE))
    for number, (curve, x, y) in enumerate(zip(curves, xs, ys, strict=True)):
        page.curve(curve, x, y, _colour(curve, number))
    page.legend(curves)
    page.upright_label(y_axis.label)
    picture.resize(SIZE, Image.Resampling.LANCZOS).save(path, format="PNG")


class _Page:
    """Draws in the units of the axes onto a picture that is `SCALE` times too large."""

    def __init__(
        self, picture: Any, draw: Any, font: Any, x_limits: tuple[float, float], y_limits: tuple[float, float]
    ) -> None:
        self.picture = picture
        self.draw, self.font, self.x_limits, self.y_limits = draw, font, x_limits, y_limits
        left, top, right, bottom = (SCALE * margin for margin in MARGINS)
        self.box = (left, top, SCALE * SIZE[0] - right, SCALE * SIZE[1] - bottom)

    def place(self, x: float, y: float) -> tuple[float, float]:
        left, top, right, bottom = self.box
        u = (x - self.x_limits[0]) / (self.x_limits[1] - self.x_limits[0])
        v = (y - self.y_limits[0]) / (self.y_limits[1] - self.y_limits[0])
        return left + u * (right - left), bottom - v * (bottom - top)

    def frame(self, x_axis: Axis, y_axis: Axis) -> None:
        left, top, right, bottom = self.box
        gap = 6 * SCALE
        for value, text in x_axis.ticks(*self.x_limits):
            x, _ = self.place(value, self.y_limits[0])
            self.draw.line((x, top, x, bottom), fill=GRID, width=SCALE)
            self.draw.text((x, bottom + gap), text, fill=INK, font=self.font, anchor="ma")
        for value, text in y_axis.ticks(*self.y_limits):
            _, y = self.place(self.x_limits[0], value)
            self.draw.line((left, y, right, y), fill=GRID, width=SCALE)
            self.draw.text((left - gap, y), text, fill=INK, font=self.font, anchor="rm")
        self.draw.rectangle(self.box, outline=INK, width=SCALE)
        middle = (0.5 * (left + right), SCALE * (SIZE[1] - 14))
        self.draw.text(middle, x_axis.label, fill=INK, font=self.font, anchor="ms")

    def title(self, text: str, font: Any) -> None:
        left, top, right, _ = self.box
        self.draw.text((0.5 * (left + right), 0.5 * top), text, fill=INK, font=font, anchor="mm")

    def curve(self, curve: Curve, x: Float64Array, y: Float64Array, colour: tuple[int, int, int]) -> None:
        before: tuple[float, float] | None = None
        for place_x, place_y in zip(x, y, strict=True):
            if not (np.isfinite(place_x) and np.isfinite(place_y)):
                before = None
                continue
            here = self.place(place_x, place_y)
            if curve.line and before is not None:
                self.draw.line((*before, *here), fill=colour, width=2 * SCALE)
            if curve.markers:
                self._dot(here, colour)
            before = here

    def legend(self, curves: Sequence[Curve]) -> None:
        height, gap = 22 * SCALE, 10 * SCALE
        width = max(self.font.getlength(curve.label) for curve in curves) + 44 * SCALE
        left, top = self._quietest_corner(width, height * len(curves), gap)
        self.draw.rectangle(
            (left, top, left + width, top + height * len(curves)), fill=PAPER, outline=GRID, width=SCALE
        )
        for number, curve in enumerate(curves):
            y, colour = top + (number + 0.5) * height, _colour(curve, number)
            if curve.line:
                self.draw.line((left + 8 * SCALE, y, left + 30 * SCALE, y), fill=colour, width=2 * SCALE)
            if curve.markers:
                self._dot((left + 19 * SCALE, y), colour)
            self.draw.text((left + 36 * SCALE, y), curve.label, fill=INK, font=self.font, anchor="lm")

    def upright_label(self, text: str) -> None:
        from PIL import Image, ImageDraw

        strip = Image.new("RGB", (round(self.font.getlength(text)) + 8 * SCALE, 26 * SCALE), PAPER)
        ImageDraw.Draw(strip).text((4 * SCALE, 13 * SCALE), text, fill=INK, font=self.font, anchor="lm")
        upright = strip.rotate(90, expand=True)
        _, top, _, bottom = self.box
        self.picture.paste(upright, (4 * SCALE, round(0.5 * (top + bottom) - 0.5 * upright.height)))

    def _quietest_corner(self, width: float, height: float, gap: float) -> tuple[float, float]:
        """The corner of the axes whose legend would hide the fewest drawn pixels."""
        left, top, right, bottom = self.box
        corners = [(x, y) for y in (top + gap, bottom - gap - height) for x in (right - gap - width, left + gap)]
        picture = np.asarray(self.picture)
        inked = [
            int((picture[round(y) : round(y + height), round(x) : round(x + width)].min(axis=2) < 200).sum())
            for x, y in corners
        ]
        return corners[int(np.argmin(inked))]

    def _dot(self, place: tuple[float, float], colour: tuple[int, int, int]) -> None:
        radius = 4 * SCALE
        x, y = place
        self.draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)


def _colour(curve: Curve, number: int) -> tuple[int, int, int]:
    red, green, blue = COLOURS[(number if curve.colour is None else curve.colour) % len(COLOURS)]
    return _faded(red, curve.fade), _faded(green, curve.fade), _faded(blue, curve.fade)


def _faded(channel: int, fade: float) -> int:
    return round(channel + fade * (255 - channel))


def _decades(low: float, high: float) -> list[tuple[float, str]]:
    """Ticks of a logarithmic axis whose ends are powers of ten: the decades, and 2 and 5 between few of them."""
    decades = range(int(np.floor(low)), int(np.ceil(high)) + 1)
    stride = max(1, round((high - low) / TICKS))
    factors = (1, 2, 5) if high - low < 2.5 else (1,)
    places = [(d + float(np.log10(f)), f * 10.0**d) for d in decades for f in factors if d % stride == 0]
    return [(place, f"{value:g}") for place, value in places if low <= place <= high]
