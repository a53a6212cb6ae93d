"""`report.md`: the paper's figures and the shortfalls first, then a table with a column per case."""

from mane.measure.figures import Row
from mane.measure.reproduce.page import Section, report_page

ROWS = [
    Row("simulated", "kink", 0.5, "rad"),
    Row("linear", "kink", 2.0, "rad", reference=0.5, source="simulated"),
    Row("physical", "kink", 3.0, "rad", reference=0.5, source="simulated", target=2.0),
    Row("linear", "time", 1.0, "ms", reference=0.25, source="tiny2024 table 1"),
    Row("physical", "time", 4.0, "ms", reference=0.5, source="tiny2024 table 1"),
    Row("physical over linear", "overhead", 300.0, "%", reference=100.0, source="tiny2024 table 1"),
]


def page() -> list[str]:
    notes = ["Falls short: it trembles.", "The paper has another head."]
    return report_page("tiny2024", "Tiny hair", [Section("curls", ROWS, [("a.png", "curls")], notes)]).splitlines()


def between(lines, start, end=None):
    lines = lines[lines.index(start) + 1 :]
    return lines[: lines.index(end)] if end else lines


def test_the_papers_figures_stand_beside_ours_before_all_scenes():
    beside = between(page(), "## Beside the paper's figures", "## Where ours falls short")
    assert beside[3:6] == [
        "| curls | linear | time | 1 ms | 0.25 ms |",
        "| curls | physical | time | 4 ms | 0.5 ms |",
        "| curls | physical over linear | overhead | 300 % | 100 % |",
    ]


def test_missed_promises_and_notes_say_where_ours_falls_short():
    short = between(page(), "## Where ours falls short", "## curls")
    assert [line for line in short if line] == [
        "- curls: physical, kink is 3 rad, promised 2",
        "- curls: it trembles.",
    ]


def test_cases_are_columns_and_a_reference_shows_where_no_column_has_it():
    scene = between(page(), "## curls")
    assert "| metric | unit | simulated | linear | physical |" in scene
    assert "| kink | rad | 0.5 | 2 | 3 MISSED |" in scene
    assert "| time | ms |  | 1 (tiny2024 table 1: 0.25) | 4 (tiny2024 table 1: 0.5) |" in scene
    assert "| physical over linear | overhead | 300 | % | 100 (tiny2024 table 1) |  |" in scene
    assert "![curls](curls/a.png)" in scene


def test_a_scene_without_anything_to_say_leaves_no_empty_chapters():
    text = report_page("tiny2024", "Tiny hair", [Section("calm", [Row("one", "count", 1.0, "1")], [], [])])
    assert "falls short" not in text
    assert "Beside" not in text
