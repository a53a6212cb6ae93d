"""All metrics at once, over sequences, and as tables."""

import json

import numpy as np
import pytest
from known_curves import helix, many, straight, zigzag

from mane.body import shapes
from mane.body.solid import Solid
from mane.metrics.curvature import curvature, torsion
from mane.metrics.distance import distance
from mane.metrics.kink import kink
from mane.metrics.length import length_error
from mane.metrics.summary import METRICS, SequenceMeter, measure_all
from mane.metrics.table import MetricTable

REST = many(helix(0.01, 0.03, 4, 40), 20)
NOISY = REST + 1e-3 * np.random.default_rng(0).standard_normal(REST.shape).astype(np.float32)
BALL = Solid(shapes.Sphere((0.0, 0.0, 0.0), 0.05))


def test_every_number_is_what_its_own_function_says():
    measured = measure_all(NOISY, REST, reference=REST, solids=[BALL])
    assert measured["length_error"] == pytest.approx(float(np.abs(length_error(NOISY, REST)).mean()))
    assert measured["kink_p95"] == pytest.approx(float(np.quantile(kink(NOISY, REST), 0.95)))
    assert measured["distance"] == pytest.approx(float(distance(NOISY, REST).mean()))
    assert 0 < measured["penetration_rate"] < 1
    assert list(measured) == [key for key in METRICS if "flicker" not in key]


def test_rest_measures_zero_throughout():
    assert set(measure_all(REST, REST, reference=REST).values()) == {0.0}


def test_what_was_not_asked_for_is_left_out():
    assert not {"distance", "penetration_rate"} & set(measure_all(NOISY, REST))


def test_a_reference_may_hold_some_strands_only():
    chosen = [3, 7, 11]
    measured = measure_all(NOISY, REST, reference=REST[chosen], reference_strands=chosen)
    assert measured["distance"] == pytest.approx(float(distance(NOISY[chosen], REST[chosen]).mean()))


def test_a_sequence_averages_frames_and_compares_flicker_with_the_guides():
    rng = np.random.default_rng(2)
    meter = SequenceMeter(REST)
    guides = REST[:4]
    single = []
    for _ in range(30):
        hair = REST + 2e-3 * rng.standard_normal(REST.shape)
        carried = guides + 1e-3 * rng.standard_normal(guides.shape)
        single.append(meter.add(hair, guides=carried, reference=REST))
    value = meter.value
    assert value["kink"] == pytest.approx(np.mean([frame["kink"] for frame in single]))
    assert value["relative_flicker"] == pytest.approx(2, rel=0.05)  # noise of twice the size
    assert "penetration_rate" not in value
    with pytest.raises(ValueError, match="at least one frame"):
        SequenceMeter(REST).value  # noqa: B018


def test_guides_that_stand_still_have_no_flicker_to_compare_with():
    meter = SequenceMeter(REST)
    for _ in range(4):
        meter.add(REST, guides=REST[:4])
    assert meter.value["flicker"] == 0
    assert "relative_flicker" not in meter.value


def test_the_thread_count_does_not_matter(on_threads):
    def numbers():
        meter = SequenceMeter(REST)
        for share in (1, 2, 4, 8):
            meter.add(REST + (NOISY - REST) / share, reference=REST, solids=[BALL])
        return measure_all(NOISY, REST, reference=REST, solids=[BALL]), meter.value

    on_threads(numbers)
    on_threads(lambda: (curvature(NOISY), torsion(NOISY)))


def test_the_table_shows_cases_side_by_side_in_their_units():
    table = MetricTable()
    line, bent = many(straight(10)), many(zigzag(0.5, teeth=6))
    table.add("stretched", measure_all(1.5 * line, line))
    table.add("zig-zag", measure_all(bent, many(straight(len(bent[0]))), reference=bent))
    lines = table.to_markdown().splitlines()
    assert lines[0].startswith("| case")
    assert "mean length error [%]" in lines[0]
    assert "mean distance to reference [mm]" in lines[0]
    assert len({len(line) for line in lines}) == 1
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    row = dict(zip(cells[0], cells[2], strict=True))
    assert row["mean length error [%]"] == "50"
    assert row["mean distance to reference [mm]"] == ""
    assert dict(zip(cells[0], cells[3], strict=True))["mean kink [rad]"] == "6"


def test_the_table_goes_to_json_and_back():
    table = MetricTable()
    table.add("a", {"kink": 1.5, "distance": 0.002, "flicker": float("nan")})
    objects = json.loads(json.dumps(table.to_objects(), allow_nan=False))
    assert objects == [
        {"case": "a", "metric": "kink", "value": 1.5, "unit": "rad"},
        {"case": "a", "metric": "distance", "value": 2.0, "unit": "mm"},
        {"case": "a", "metric": "flicker", "value": None, "unit": "mm"},
    ]


def test_a_number_that_is_no_metric_is_refused():
    with pytest.raises(ValueError, match="'kinks' is no metric; known are length_error, "):
        MetricTable().add("a", {"kinks": 1.0})
