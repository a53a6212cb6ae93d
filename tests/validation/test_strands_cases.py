"""Strand models against exact mechanics: the quick forms of `mane validate strands`, with the same promises."""

from functools import partial

import numpy as np
import pytest

from mane.measure.figures import Figures
from mane.measure.strands import look as strands_look
from mane.measure.strands import motion as strands_motion
from mane.measure.strands import static as strands_static
from mane.measure.strands import substeps as strands_substeps
from mane.measure.strands import surroundings as strands_surroundings
from mane.measure.strands import tradeoff as strands_tradeoff
from mane.measure.strands.references import elastica
from mane.strand.solver import converged_models

models = pytest.mark.parametrize("model", converged_models())


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


def quick(case):
    return partial(case, quick=True)


# The incline: at 0.8 and 0.95 of the angle of friction nothing moves; at 1.05 and 1.5 it speeds up by
# g (sin a - mu cos a).
CASES = {  # how to measure it, and the least number of promises that it makes of one model
    "hanging helix": (quick(strands_static.helix), 2),
    "small oscillation": (quick(strands_motion.frequency), 1),
    "a swing converges with the step": (strands_motion.convergence, 1),
    "energy never grows": (quick(strands_motion.energy), 4),
    "free fall": (strands_motion.free_fall, 3),
    "terminal velocity": (strands_surroundings.terminal_velocity, 1),
    "sticks or slides as Coulomb says": (strands_surroundings.incline, 8),
    "the longest substep keeps a shaken head lively": (quick(strands_substeps.shaken_heads), 2),
}
ONE_MODEL = {
    ("chain", "kicked curls keep their energy"): (strands_motion.kicked_curls, 4),
    ("cosserat", "torsion"): (quick(strands_static.torsion), 2),
    ("spring", "kinks hardly more than rods when shaken"): (quick(strands_look.shaken_kinks), 1),
}
ALL_CASES = {**{(model, name): case for model in converged_models() for name, case in CASES.items()}, **ONE_MODEL}


@pytest.mark.parametrize(("model", "name"), ALL_CASES)
def test_promises_are_kept(model, name):
    measure, least = ALL_CASES[model, name]
    figures = Figures("test")
    measure(figures, [model])
    assert_kept(figures, least)


def test_one_direct_solve_beats_any_affordable_number_of_sweeps():
    figures = Figures("test")
    plots = strands_tradeoff.sweep_tradeoff(figures, quick=True)
    values = {(row.case.split(", ")[1], row.metric): row.value for row in figures.rows}
    # `cosserat` does not step by implicit Euler (theta): how far it is from that is no error of its solve.
    for metric in {metric for _, metric in values if "time" not in metric and "implicit" not in metric}:
        sweeps = min(value for (name, m), value in values.items() if m == metric and name != "direct")
        assert values["direct", metric] < 0.01 * sweeps
    unconverged = [value for (name, metric), value in values.items() if "implicit" in metric and name != "direct"]
    assert unconverged == sorted(unconverged, reverse=True)
    assert set(plots) == {"tradeoff_stretch", "tradeoff_bending"}
