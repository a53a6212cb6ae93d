"""`Figures`: what every measuring command prints, as a table for people and as one JSON object for programs."""

from __future__ import annotations

import json
import math
import os
import platform
from dataclasses import asdict, dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Row:
    """One measured number beside what it is to be compared with.

    Attributes:
        case: what was measured, e.g. "curly, 64 guides, shape".
        metric: which quantity, e.g. "mean shape distance".
        value: the measured number.
        unit: its unit, e.g. "mm"; "1" for a ratio.
        reference: the paper's, the peer's or the analytic value, or None.
        source: where the reference comes from, e.g. "hsu2024 table 1".
        target: what mane promises, or None.
        better: which direction is the good one.
    """

    case: str
    metric: str
    value: float
    unit: str
    reference: float | None = None
    source: str | None = None
    target: float | None = None
    better: Literal["lower", "higher"] = "lower"

    @property
    def meets_target(self) -> bool | None:
        """Whether the value keeps the promise; None where there is none."""
        if self.target is None:
            return None
        if not math.isfinite(self.value):
            return False
        return self.value <= self.target if self.better == "lower" else self.value >= self.target


@dataclass
class Figures:
    """The rows of one measurement and the machine that it ran on."""

    name: str
    rows: list[Row] = field(default_factory=list)

    def add(self, case: str, metric: str, value: float, unit: str, **rest: Any) -> Row:
        """Append a row and return it; keyword arguments as in `Row`."""
        row = Row(case, metric, float(value), unit, **rest)
        self.rows.append(row)
        return row

    def to_json(self) -> str:
        """Return the one JSON object of the contract; a value that is not finite becomes null."""
        rows = [{key: _finite_or_none(value) for key, value in asdict(row).items()} for row in self.rows]
        return json.dumps({"name": self.name, "rows": rows, "machine": machine()}, indent=2, allow_nan=False)

    def to_table(self) -> str:
        """Return an aligned plain-text table."""
        header = ("case", "metric", "value", "unit", "reference", "target", "")
        lines = [header, *(_cells(row) for row in self.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
        numeric = {2, 4, 5}

        def text(line: tuple[str, ...]) -> str:
            cells = (
                cell.rjust(width) if column in numeric else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            return "  ".join(cells).rstrip()

        rule = "  ".join("-" * width for width in widths[:-1])
        return "\n".join([self.name, text(header), rule, *map(text, lines[1:])])


def _finite_or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _cells(row: Row) -> tuple[str, ...]:
    reference = number_text(row.reference)
    if row.source:
        reference = f"{reference} ({row.source})" if reference else row.source
    target = number_text(row.target)
    if target:
        target = ("<= " if row.better == "lower" else ">= ") + target
    verdict = {True: "ok", False: "MISSED", None: ""}[row.meets_target]
    return (row.case, row.metric, number_text(row.value), row.unit, reference, target, verdict)


def number_text(value: float | None) -> str:
    """Write a number with four significant digits, or nothing for None."""
    if value is None:
        return ""
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def machine() -> dict[str, Any]:
    """Describe the machine that the figures were taken on."""
    return {
        "system": platform.system(),
        "processor": _processor_name(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "mane": _version("mane"),
        "numpy": _version("numpy"),
        "numba": _version("numba"),
    }


def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package)


def _processor_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            for line in info:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
