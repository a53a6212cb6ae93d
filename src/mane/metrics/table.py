"""Metrics of several cases side by side, as Markdown for people and as plain objects for JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mane.metrics.summary import METRICS


class MetricTable:
    """One row per case, one column per metric that any case has.

    ```python
    table = MetricTable()
    table.add("linear", measure_all(points, rest))
    text = table.to_markdown()
    ```
    """

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, float]] = {}

    def add(self, case: str, measured: Mapping[str, float]) -> None:
        """Add what `measure_all` or `SequenceMeter.value` returned, or replace the row of that name."""
        for key in measured:
            if key not in METRICS:
                raise ValueError(f"measured: {key!r} is no metric; known are {', '.join(METRICS)}")
        self._rows[case] = dict(measured)

    @property
    def columns(self) -> list[str]:
        """Keys of the metrics that at least one case has, in the order of `METRICS`."""
        return [key for key in METRICS if any(key in row for row in self._rows.values())]

    def to_markdown(self) -> str:
        """Return a Markdown table in the units of `METRICS`, four significant digits; empty where there is none."""
        columns = self.columns
        header = ["case", *(f"{METRICS[key].title} [{METRICS[key].unit}]" for key in columns)]
        body = [[case, *(_text(row.get(key), key) for key in columns)] for case, row in self._rows.items()]
        widths = [max(len(line[i]) for line in [header, *body]) for i in range(len(header))]
        rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]

        def text(line: list[str]) -> str:
            cells = (
                cell.rjust(width) if i else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            return "| " + " | ".join(cells) + " |"

        return "\n".join(map(text, [header, rule, *body]))

    def to_objects(self) -> list[dict[str, Any]]:
        """Return one object per number, ready for `json.dumps`: case, metric, value and unit; None for not finite."""
        return [
            {"case": case, "metric": key, "value": _shown(row[key], key), "unit": METRICS[key].unit}
            for case, row in self._rows.items()
            for key in METRICS
            if key in row
        ]


def _shown(value: float, key: str) -> float | None:
    return value * METRICS[key].scale if math.isfinite(value) else None


def _text(value: float | None, key: str) -> str:
    shown = None if value is None else _shown(value, key)
    return "" if shown is None else f"{shown:.4g}"
