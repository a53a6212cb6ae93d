"""Strand models against exact mechanics: the quick forms of `mane validate strands`, with the same promises."""

import numpy as np
import pytest

from mane.measure import (
    strands_look,
    strands_motion,
    strands_static,
    strands_substeps,
    strands_surroundings,
    strands_tradeoff,
)
from mane.measure.figures import Figures
from mane.measure.strands_references import elastica
from mane.measure.strands_setup import threads
from mane.strand.solver import SOLVERS

models = pytest.mark.parametrize("model", sorted(SOLVERS))


@pytest.fixture(autouse=True)
def one_thread():
    """A few strands are quickest on one thread."""
    with threads(1):
        yield


def assert_kept(figures, least=1):
    judged = [row for row in figures.rows if row.target is not None]
    assert len(judged) >= least
    missed = [
        f"{row.case}: {row.metric} {row.value:.4g}, promised {row.target:g}" for row in judged if not row.meets_target
    ]
    assert not missed, "\n".join(missed)


@models
def test_cantilever(model):
    """Within 1.5 percent of the elastica at 25 segments, the springs within 5, up to G = 100."""
    numbers = (0.1, 1.0, 10.0, 100.0)
    found = strands_static.cantilever_ratios(model, 25, numbers=numbers)
    expected = [np.divide(*elastica(number)) for number in numbers]
    np.testing.assert_allclose(found, expected, rtol=strands_static.CANTILEVER_TARGETS[model][25])


@pytest.mark.parametrize("model", ["chain", "cosserat"])
def test_cantilever_of_fifty_segments(model):
    found = strands_static.cantilever_ratios(model, 50, numbers=(1.0, 100.0))
    expected = [np.divide(*elastica(number)) for number in (1.0, 100.0)]
    np.testing.assert_allclose(found, expected, rtol=strands_static.CANTILEVER_TARGETS[model][50])


@models
def test_stiffness_does_not_depend_on_the_step(model):
    found = [strands_static.cantilever_ratios(model, 12, dt=dt, numbers=(5.0,))[0] for dt in (0.002, 0.02)]
    assert found[0] == pytest.approx(found[1], rel=strands_static.STEP_SPREAD)


@models
def test_hanging_helix(model):
    figures = Figures("test")
    strands_static.helix(figures, [model], quick=True)
    assert_kept(figures, least=2)


def test_torsion():
    figures = Figures("test")
    strands_static.torsion(figures, ["cosserat"], quick=True)
    assert_kept(figures, least=2)


@models
def test_small_oscillation(model):
    figures = Figures("test")
    strands_motion.frequency(figures, [model], quick=True)
    assert_kept(figures)


@models
def test_a_swing_converges_with_the_step(model):
    figures = Figures("test")
    strands_motion.convergence(figures, [model])
    assert_kept(figures)


@models
def test_energy_never_grows(model):
    figures = Figures("test")
    strands_motion.energy(figures, [model], quick=True)
    assert_kept(figures, least=4)


@models
def test_free_fall(model):
    figures = Figures("test")
    strands_motion.free_fall(figures, [model])
    assert_kept(figures, least=3)


@models
def test_terminal_velocity(model):
    figures = Figures("test")
    strands_surroundings.terminal_velocity(figures, [model])
    assert_kept(figures)


@models
def test_a_strand_on_an_incline_sticks_or_slides_as_coulomb_says(model):
    """At 0.8 and 0.95 of the angle of friction nothing moves; at 1.05 and 1.5 it speeds up by g (sin a - mu cos a)."""
    figures = Figures("test")
    strands_surroundings.incline(figures, [model])
    assert_kept(figures, least=8)


@models
def test_the_longest_substep_keeps_a_shaken_head_lively(model):
    figures = Figures("test")
    strands_substeps.shaken_heads(figures, [model], quick=True)
    assert_kept(figures, least=2)


def test_shaken_springs_kink_hardly_more_than_rods():
    figures = Figures("test")
    strands_look.shaken_kinks(figures, ["spring"], quick=True)
    assert_kept(figures)


def test_one_direct_solve_beats_any_affordable_number_of_sweeps():
    figures = Figures("test")
    plots = strands_tradeoff.sweep_tradeoff(figures, quick=True)
    values = {(row.case.split(", ")[1], row.metric): row.value for row in figures.rows}
    for metric in {metric for _, metric in values if "time" not in metric}:
        sweeps = min(value for (name, m), value in values.items() if m == metric and name != "direct")
        assert values["direct", metric] < 0.01 * sweeps
    assert set(plots) == {"tradeoff_stretch", "tradeoff_bending"}
