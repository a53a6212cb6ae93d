"""`mane validate water`, quick: everything that it promises at small sizes holds."""

from mane.measure.validate.water import run


def test_every_promise_of_validate_water_holds():
    figures = run(quick=True)
    missed = [row for row in figures.rows if row.meets_target is False]
    assert not missed, "\n".join(f"{row.case}: {row.metric} {row.value} (target {row.target})" for row in missed)
    plain, marked = (
        next(row.value for row in figures.rows if how in row.case and row.metric == "volume at another place")
        for how in ("plain level set", "16 markers in a cell")
    )
    assert marked < plain
