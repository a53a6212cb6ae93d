"""The study behind the default cohesion of scenes, small: it promises what the issue of styles asks for."""

import math

import numpy as np
import pytest

from mane.measure.study import cohesion as study
from mane.measure.validate.cohesion import QUICK, run
from mane.scene.config import GroomTable, Scene


@pytest.fixture(scope="module")
def figures():
    return run(quick=True)


def value(figures, case, metric):
    rows = [row for row in figures.rows if case in row.case and metric in row.metric]
    assert len(rows) == 1
    return rows[0].value


def test_the_default_keeps_its_promises(figures):
    promised = [row for row in figures.rows if row.target is not None]
    assert len(promised) == 6
    assert all(row.meets_target for row in promised), [row for row in promised if not row.meets_target]


def test_the_default_is_calmer_than_nothing_and_still_moves(figures):
    default, none = f"{study.DEFAULT} (default)", "bob, none"
    for metric in ("flicker", "kink", "crossing", "tips off the groom after 3 s, mean"):
        assert value(figures, default, metric) < value(figures, none, metric), metric
    # Gentle: hair swings by more than two thirds of what every strand simulated does.
    true = value(figures, "every strand", "swing")
    assert value(figures, default, "swing") > 2 / 3 * true


def test_the_default_of_the_study_is_that_of_scenes():
    acting = Scene(groom=GroomTable(style="bob")).acting
    assert [(table.kind, table.settings) for table in acting] == [("attraction", {"rate": 1.0})]
    assert study.DEFAULT == "attraction 1"
    assert study.DEFAULT in QUICK.candidates


def test_crossing_is_the_angle_between_neighbours():
    along = np.linspace(0, 0.1, 5)
    straight = np.stack([along, 0 * along, 0 * along], axis=1)
    turned = np.stack([along * math.cos(0.3), along * math.sin(0.3), 0 * along + 0.005], axis=1)
    points = np.stack([straight, turned]).astype(np.float32)
    pairs = study.neighbours(points)
    assert sorted(map(tuple, pairs.tolist())) == [(0, 1), (1, 0)]
    assert study.crossing(points, pairs) == pytest.approx(0.3, abs=1e-3)
