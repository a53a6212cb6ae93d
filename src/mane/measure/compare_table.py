"""Figures of several cases as one Markdown table: a row per metric, a column per case, the best of each row in bold."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mane.measure.figures import Figures, Row, machine, number_text


def to_markdown(figures: Figures, title: str) -> str:
    """Return a page with a title, the table and the machine."""
    cases = list(dict.fromkeys(row.case for row in figures.rows))
    metrics = list(dict.fromkeys((row.metric, row.unit) for row in figures.rows))
    found = {(row.case, row.metric): row for row in figures.rows}
    lines = [["metric", "unit", *cases]]
    for metric, unit in metrics:
        row = [found.get((case, metric)) for case in cases]
        lines.append([metric, unit, *_cells(row)])
    facts = machine()
    about = f"{facts['processor']}, {facts['cores']} cores; mane {facts['mane']}, numpy {facts['numpy']}, numba {facts['numba']}"
    return f"# {figures.name}: {title}\n\n{_table(lines)}\n\nLess is better. Times are medians over the frames. {about}\n"


def _cells(rows: Sequence[Row | None]) -> list[str]:
    values = [math.nan if row is None else row.value for row in rows]
    finite = [value for value in values if math.isfinite(value)]
    best = min(finite) if len(set(finite)) > 1 else None
    texts = ["" if not math.isfinite(value) else number_text(value) for value in values]
    return [f"**{text}**" if value == best else text for value, text in zip(values, texts, strict=True)]


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
