"""Figures of several cases as one Markdown table: a row per metric, a column per case, the best of each row in bold."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mane.measure.figures import Figures, Row, machine, number_text


def to_markdown(figures: Figures, title: str, references: Sequence[str] = ()) -> str:
    """Return a page with a title, the table and the machine; cases in `references` do not compete."""
    cases = list(dict.fromkeys(row.case for row in figures.rows))
    metrics = list(dict.fromkeys((row.metric, row.unit) for row in figures.rows))
    found = {(row.case, row.metric): row for row in figures.rows}
    lines = [["metric", "unit", *cases]]
    for metric, unit in metrics:
        row = [found.get((case, metric)) for case in cases]
        competing = [value for value in row if value is not None and value.case not in references]
        lines.append([metric, unit, *_cells(row, _best(competing))])
    facts = machine()
    versions = ", ".join(f"{name} {facts[name]}" for name in ("mane", "numpy", "numba"))
    where = f"{facts['processor']}, {facts['cores']} cores, {versions}"
    about = f"Less is better. Times are medians over the frames; {where}."
    return f"# {figures.name}: {title}\n\n{_table(lines)}\n\n{about}\n"


def _best(rows: Sequence[Row]) -> float | None:
    """The smallest value, or None where all are alike."""
    finite = [row.value for row in rows if math.isfinite(row.value)]
    return min(finite) if len(set(finite)) > 1 else None


def _cells(rows: Sequence[Row | None], best: float | None) -> list[str]:
    texts = []
    for row in rows:
        text = "" if row is None or not math.isfinite(row.value) else number_text(row.value)
        texts.append(f"**{text}**" if row is not None and row.value == best else text)
    return texts


def _table(lines: list[list[str]]) -> str:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    rule = ["-" * width if column < 2 else "-" * (width - 1) + ":" for column, width in enumerate(widths)]

    def text(line: list[str]) -> str:
        cells = (
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        return f"| {' | '.join(cells)} |"

    return "\n".join(map(text, [lines[0], rule, *lines[1:]]))
