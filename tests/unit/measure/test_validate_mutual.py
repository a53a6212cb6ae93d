"""What `mane validate mutual` prints: momentum is kept but for friction, whose loss grows with its coefficient."""

from mane.measure.validate.mutual import run


def test_only_friction_takes_angular_momentum():
    rows = run(quick=True).rows
    assert all(row.meets_target is not False for row in rows)
    lost = [row.value for row in rows if "across a gap" in row.metric]
    assert 0 < lost[0] < lost[1] < lost[2] < 0.05
    soft, firm = (row.value for row in rows if row.metric == "share of their stiffness at work")
    # Four links to a segment, each answered for together with all others: 100 per second is more than a step can take.
    assert 0.1 < firm < soft < 1
