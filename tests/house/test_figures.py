"""What measuring commands print keeps the contract that programs rely on."""

import json
import math

from mane.measure.figures import Figures


def sample():
    figures = Figures("demo")
    figures.add("a", "time", 2.0, "ms", target=3.0)
    figures.add("b", "speed", 2.0, "1", target=3.0, better="higher", reference=1.5, source="peer")
    figures.add("c", "error", math.nan, "m", target=1.0)
    figures.add("d", "size", 123456.0, "B")
    return figures


def test_json_has_the_promised_fields():
    data = json.loads(sample().to_json())
    assert set(data) == {"name", "rows", "machine"}
    for row in data["rows"]:
        assert {"case", "metric", "value", "unit", "reference", "target", "better"} <= set(row)
    assert data["rows"][2]["value"] is None  # NaN is not JSON
    assert data["machine"]["cores"] >= 1


def test_targets_are_judged_in_the_right_direction():
    assert [row.meets_target for row in sample().rows] == [True, False, False, None]


def test_table_shows_values_references_and_verdicts():
    lines = sample().to_table().splitlines()
    assert "ok" in lines[3]
    assert "MISSED" in lines[4]
    assert "1.5 (peer)" in lines[4]
    assert "123,456" in lines[6]
