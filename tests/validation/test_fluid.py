"""`mane validate fluid`, quick: everything that it promises at small sizes holds."""

from mane.measure.validate.fluid import run


def test_every_promise_is_kept():
    figures = run(quick=True)
    missed = [(row.case, row.metric, row.value) for row in figures.rows if row.meets_target is False]
    assert not missed
    assert sum(row.meets_target is True for row in figures.rows) >= 12
    cavity = [row for row in figures.rows if "cavity" in row.case and row.metric.startswith("error")]
    assert len(cavity) == 2
    assert all(row.value < 0.03 for row in cavity)  # at a quarter of the resolution that is promised
