"""`write_plot`: curves with axes, ticks and a legend as a PNG, drawn by matplotlib (extra `plot`)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mane.strand.model import Float64Array

SIZE = (960, 640)  # [pixels]
DPI = 100
# Told apart by people with any colour vision (Okabe and Ito); the reference curve comes first and is black.
COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


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
        names: of the values 0, 1, 2... in place of numbers.
    """

    label: str
    log: bool = False
    names: tuple[str, ...] = ()

    def shown(self, values: ArrayLike) -> Float64Array:
        """Values that the axis can show; NaN, which leaves a gap, in place of the others."""
        array = np.asarray(values, np.float64).ravel()
        return np.where(np.isfinite(array) & ((array > 0) | (not self.log)), array, np.nan)


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes.

    Attributes:
        title: above the axes.
        x_axis: the horizontal one.
        y_axis: the vertical one.
        curves: in the order of the legend.
    """

    title: str
    x_axis: Axis
    y_axis: Axis
    curves: Sequence[Curve]


def write_plot(path: str | os.PathLike[str], title: str, x_axis: Axis, y_axis: Axis, curves: Sequence[Curve]) -> None:
    """Draw curves into one pair of axes and write them as a PNG; see `Panel`."""
    write_panels(path, [Panel(title, x_axis, y_axis, curves)])


def write_panels(path: str | os.PathLike[str], panels: Sequence[Panel]) -> None:
    """Draw pairs of axes below each other and write them as a PNG."""
    figure = _new_figure(len(panels))
    for row, panel in enumerate(panels, 1):
        _fill(figure.add_subplot(len(panels), 1, row), panel)
    figure.savefig(path, format="png", metadata={"Software": None})


def _fill(axes: Any, panel: Panel) -> None:
    x_axis, y_axis = panel.x_axis, panel.y_axis
    axes.set(title=panel.title, xlabel=x_axis.label, ylabel=y_axis.label)
    axes.set_xscale("log" if x_axis.log else "linear")
    axes.set_yscale("log" if y_axis.log else "linear")
    if x_axis.names:
        axes.set_xticks(range(len(x_axis.names)), x_axis.names)
    axes.grid(color="#e2e2e2")
    axes.set_axisbelow(True)
    for number, curve in enumerate(panel.curves):
        look = {"linestyle": "-" if curve.line else "", "marker": "o" if curve.markers else "", "markersize": 4}
        x, y = x_axis.shown(curve.x), y_axis.shown(curve.y)
        axes.plot(x, y, label=curve.label, color=_colour(curve, number), **look)
    axes.legend(fontsize="small")


def _new_figure(rows: int) -> Any:
    """A figure that needs no window and leaves nothing of a user's own figures changed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need matplotlib; install it by `pip install 'mane[plot]'`") from None
    return Figure(figsize=(SIZE[0] / DPI, rows * SIZE[1] / DPI), dpi=DPI, layout="constrained")


def _colour(curve: Curve, number: int) -> tuple[float, ...]:
    from matplotlib.colors import to_rgb

    full = np.array(to_rgb(COLOURS[(number if curve.colour is None else curve.colour) % len(COLOURS)]))
    return tuple((full + curve.fade * (1.0 - full)).tolist())
