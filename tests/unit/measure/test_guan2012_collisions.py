"""Penetration in `mane reproduce guan2012`: two measures of the same hair, whatever space a model has it in."""

import time

import numpy as np
import pytest

from learned_hair import KnownHair
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.measure.figures import Figures
from mane.measure.reproduce.guan2012_collisions import (
    SOLVE,
    STEP,
    Inside,
    RigidBust,
    _add,
    _measure,
    _prepared,
    _run,
    _truth,
    looked_at,
)
from mane.measure.reproduce.reproduce import Report
from mane.reduced.canonical import to_canonical
from mane.reduced.source import LearnedSource
from mane.reduced.training import MultilinearTraining, fit_model

RADIUS = 0.1


@pytest.fixture(scope="module")
def body():
    return Solid(Sphere((0.0, 0.0, 0.0), RADIUS).mesh(40))


def test_both_measures_tell_depths_in_a_ball_and_leave_roots_out(body):
    rng = np.random.default_rng(0)
    along = rng.normal(size=(200, 3, 3))
    along /= np.linalg.norm(along, axis=2, keepdims=True)
    depth = np.tile([-0.05, -0.01, 0.01], (200, 1))  # root, inside, outside [m]
    bust, hair = RigidBust.of(body), (RADIUS + depth)[..., None] * along
    expected = 100 * depth[:, 1:].ravel()
    # A facet lies below the ball by less than h^2 / 8R; the nearest vertex is at most an edge h away, and its normal
    # tells a distance that is off by less than (RADIUS + 0.01) (1 - cos(h / R)).
    edge = np.linalg.norm(np.diff(body.mesh.points[body.mesh.faces][:, :2], axis=1), axis=2).max()
    off = float(100 * 1.1 * RADIUS * (1 - np.cos(edge / RADIUS)))
    assert off < 0.4
    for depths in (bust.nearest_depths(hair), bust.field_depths(hair)):
        np.testing.assert_allclose(depths, expected, atol=off)
    found = Inside()
    for is_chosen in (True, False):
        _measure(found, bust, hair, is_chosen)
    assert len(found.eq_14) == 1
    assert len(found.by_field) == 2
    for one in (*found.eq_14, *found.by_field):
        assert one.rate == one.beyond == 0.5
        assert one.deepest == pytest.approx(1.0, abs=off)


def test_hair_of_a_printed_model_is_measured_where_the_head_has_it(body):
    """Canonical space is that of the bust: what is measured is seen from the head, as simulated hair is."""
    data = KnownHair(motions=4, amplitude=0.01)
    printed = fit_model(data, MultilinearTraining.printed(dimensions=30))
    run = _prepared(None, "", data, 0, printed, body)
    chosen = list(looked_at(60, 20))
    seen = to_canonical(data.track(0).heads[chosen], data.points(0, 0)[chosen])
    for number, (y, expected) in enumerate(zip(printed.coefficients[0][0][chosen], seen, strict=True)):
        np.testing.assert_allclose(run.local(number, y), expected, atol=2e-4)
    assert len(run.before.eq_14) == len(run.before.by_field) == len(chosen)
    truth = _truth(data, 0, RigidBust.of(body), 0)
    assert len(truth.by_field) == 60
    assert len(truth.eq_14) == len(chosen)


def test_times_are_of_whole_steps_and_of_solves_alone_under_names_of_their_own(body, tmp_path, monkeypatch):
    data = KnownHair(motions=4, frames=12, amplitude=0.01)
    model = fit_model(data, MultilinearTraining(dimensions=3)).model
    step = LearnedSource.step
    slow = [0.2, *[5e-3] * 10]  # one of them waits for something else: that is not what a step takes

    def stepped(source):
        time.sleep(slow.pop())
        return step(source)

    monkeypatch.setattr(LearnedSource, "step", stepped)
    run = _run(data, 0, model, 0, RigidBust.of(body), "push")
    assert 5e-3 <= run.seconds < 0.1
    report = Report("main", tmp_path, Figures("guan2012 main"), 1.0)
    _add(report, "default", run.inside, run.seconds)
    _add(report, "printed", run.inside, 1e-3, is_corrected=True)
    told = {row.case: row for row in report.figures.rows if row.metric.startswith("time")}
    assert (told["default"].metric, told["default"].value) == (STEP, 1e3 * run.seconds)
    assert (told["printed"].metric, told["printed"].value) == (SOLVE, 1.0)
    assert STEP != SOLVE
