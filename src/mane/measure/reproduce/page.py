"""`report.md` of `mane reproduce`: what stands beside the paper's figures and what falls short, then scene by scene.

Metrics that several cases share become one table with a column per case; the others are listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mane.measure.figures import Row, number_text

SHORTFALL = "Falls short: "  # how a note begins that belongs to the summary as well


@dataclass(frozen=True)
class Section:
    """What the page says of one scene.

    Attributes:
        name: of the scene.
        rows: its figures.
        pictures: file name and caption of each.
        notes: where ours falls short or differs.
    """

    name: str
    rows: Sequence[Row]
    pictures: Sequence[tuple[str, str]]
    notes: Sequence[str]


def report_page(paper: str, title: str, sections: Sequence[Section]) -> str:
    """Return the page as Markdown."""
    lines = [f"# {paper}: {title}", *_beside_the_paper(paper, sections), *_shortfalls(sections)]
    for section in sections:
        lines += ["", f"## {section.name}", ""]
        lines += [f"![{caption}]({section.name}/{name})\n\n{caption}\n" for name, caption in section.pictures]
        lines += [*_figures(section.rows), "", *(f"- {note}" for note in section.notes)]
    return "\n".join(lines) + "\n"


def _beside_the_paper(paper: str, sections: Iterable[Section]) -> list[str]:
    """Every figure that the paper has too."""
    found = [
        _table_row(section.name, row.case, row.metric, _value(row), f"{number_text(row.reference)} {row.unit}")
        for section in sections
        for row in section.rows
        if row.reference is not None and (row.source or "").startswith(paper)
    ]
    if not found:
        return []
    header = _table_row("scene", "case", "metric", "ours", "paper")
    return ["", "## Beside the paper's figures", "", header, "|---|---|---|---|---|", *found]


def _shortfalls(sections: Iterable[Section]) -> list[str]:
    found = []
    for section in sections:
        missed = [row for row in section.rows if row.meets_target is False]
        found += [
            f"- {section.name}: {row.case}, {row.metric} is {_value(row)}, promised {number_text(row.target)}"
            for row in missed
        ]
        short = [note.removeprefix(SHORTFALL) for note in section.notes if note.startswith(SHORTFALL)]
        found += [f"- {section.name}: {note}" for note in short]
    return ["", "## Where ours falls short", "", *found] if found else []


def _figures(rows: Sequence[Row]) -> list[str]:
    cases: dict[str, set[str]] = {}
    for row in rows:
        cases.setdefault(row.metric, set()).add(row.case)
    shared = [row for row in rows if len(cases[row.metric]) > 1]
    alone = [row for row in rows if len(cases[row.metric]) == 1]
    return [*_matrix(shared), *([""] if shared and alone else []), *_list(alone)]


def _matrix(rows: Sequence[Row]) -> list[str]:
    """One line per metric, one column per case."""
    if not rows:
        return []
    columns = list(dict.fromkeys(row.case for row in rows))
    lines = [_table_row("metric", "unit", *columns), "|---|---|" + "---:|" * len(columns)]
    for metric, unit in dict.fromkeys((row.metric, row.unit) for row in rows):
        own = [row for row in rows if (row.metric, row.unit) == (metric, unit)]
        values = {row.value for row in own}
        cells = {row.case: _cell(row, shows_reference=row.reference not in values) for row in own}
        lines.append(_table_row(metric, unit, *(cells.get(case, "") for case in columns)))
    return lines


def _cell(row: Row, *, shows_reference: bool) -> str:
    """A value with its promise, and with its reference where no other column has that."""
    text = number_text(row.value) + {True: " kept", False: " MISSED", None: ""}[row.meets_target]
    if row.reference is None or not shows_reference:
        return text
    return f"{text} ({row.source or 'reference'}: {number_text(row.reference)})"


def _list(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    lines = ["| case | metric | ours | unit | paper or reference | promise |", "|---|---|---|---|---|---|"]
    for row in rows:
        source = f" ({row.source})" if row.source else ""
        promise = number_text(row.target) + {True: " kept", False: " MISSED", None: ""}[row.meets_target]
        reference = number_text(row.reference) + source
        lines.append(_table_row(row.case, row.metric, number_text(row.value), row.unit, reference, promise))
    return lines


def _value(row: Row) -> str:
    return f"{number_text(row.value)} {row.unit}"


def _table_row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
