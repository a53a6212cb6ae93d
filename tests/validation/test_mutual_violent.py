"""Violent frames with everything at once: links, strips, a tie, the volume grid, inserted guides, a comb, wind."""

import resource
import sys

import numpy as np
import pytest
from test_strands_violent import FRAME_RATE, Combing, Jumping

from mane.body.bust import make_bust
from mane.body.motion_presets import make_motion
from mane.body.props.comb import make_comb
from mane.body.solid import Solid
from mane.contact.adaptive.adaptive import AdaptiveGuides
from mane.contact.grid.volume_grid import VolumeGrid
from mane.contact.links.links import StaticLinks
from mane.contact.strips.strips import TriangleStrips
from mane.contact.ties.ties import Ties
from mane.groom import styles
from mane.groom.select import select_guides
from mane.scene.simulation import Simulation
from mane.strand.solver import converged_models

LARGEST_STRETCH = {"cosserat": 0.01, "chain": 0.01, "spring": 0.05}
# Motion and bending of a strand, as the speed at which its mass would have to fly [m/s]. The head's fastest point moves
# at some 4 m/s here, and the free end of a whip is several times as fast as its root.
FASTEST = 12.0
# Speed of sound along a hair [m/s], the root of E / density: a strain e holds as much energy as a flight at e times it.
SOUND = np.sqrt(3.9e9 / 1300.0)
GROWTH = 16 << 20  # bytes that the process may grow by once everything has been met


def violent_simulation(model, frames, count):
    groom = styles.make("ponytail", strands=400, vertices=14, seed=1)
    guides = select_guides(groom, count, method="farthest", seed=1)
    comb = Solid(make_comb(teeth=8).shape, Jumping(Combing(), frames, seed=5))
    adaptive = AdaptiveGuides(limit=count // 2, opens_at=0.04, fade=0.1)
    parts = [StaticLinks(), TriangleStrips(), Ties.of_style("ponytail", guides), VolumeGrid(), adaptive]
    head = make_motion("random", amplitude=np.radians(40), rate=3.0, seed=2)
    return Simulation(
        guides,
        model,
        body=make_bust().mesh,
        solids=[comb],
        forces=parts,
        head=Jumping(head, frames, seed=5),
        wind=(2.0, 0.0, 1.0),
        frame_rate=FRAME_RATE,
    )


def equivalent_speeds(simulation):
    """Speeds [m/s] at which the liveliest strand would fly with its kinetic energy, and with all but gravity's."""
    model, state, there = simulation._solver.model, simulation._state, simulation.active
    height = -(model.mass * (state.points @ model.gravity)).sum(axis=1)
    kinetic = 0.5 * (model.mass * (state.velocity**2).sum(axis=2)).sum(axis=1)
    mass = model.mass.sum(axis=1)
    return [float(np.sqrt(2 * (e / mass)[there].max())) for e in (kinetic, np.maximum(simulation.energy() - height, 0))]


def memory_peak():
    """Most memory that this process has held [bytes]."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def run_violently(model, frames, count, warm):
    """Run, and return the figures that must be bounded."""
    simulation = violent_simulation(model, frames, count)
    found = {"stretch": 0.0, "speed": 0.0, "energy": 0.0, "inserted": 0, "came": 0, "touched": 0.0}
    there: set[tuple[int, int]] = set()
    for number in range(1, frames + 1):
        frame = simulation.step()
        for array in (frame.points, frame.cut_force, frame.inserted.points, frame.inserted.cut_force):
            assert np.isfinite(array).all(), f"frame {number}"
        found["stretch"] = max(found["stretch"], simulation.report.stretch)
        speed, energy = equivalent_speeds(simulation)
        found["speed"], found["energy"] = max(found["speed"], speed), max(found["energy"], energy)
        found["inserted"] = max(found["inserted"], frame.inserted.count)
        now = {tuple(pair) for pair in frame.inserted.parents.tolist()}
        found["came"] += len(now - there)
        found["touched"] = max(found["touched"], simulation.report.parts["hair contacts"])
        there = now
        if number == warm:
            peak = memory_peak()
    found["growth"] = memory_peak() - peak
    return found


def check(found, model, count):
    assert found["touched"] > 0  # otherwise nothing was tried
    assert 0 < found["inserted"] <= count // 2
    assert found["stretch"] < LARGEST_STRETCH[model]
    assert found["speed"] < FASTEST
    assert found["energy"] < np.hypot(FASTEST, SOUND * LARGEST_STRETCH[model])
    assert found["growth"] < GROWTH


@pytest.mark.parametrize("model", converged_models())
def test_a_violent_second_with_everything(model):
    check(run_violently(model, 60, 12, warm=40), model, 12)


@pytest.mark.stress
@pytest.mark.parametrize("model", converged_models())
def test_five_thousand_violent_frames_with_everything(model, capsys):
    found = run_violently(model, 5000, 24, warm=1000)
    with capsys.disabled():
        sys.stdout.write(f"\n{model}: {found}\n")
    check(found, model, 24)
    assert found["came"] > 50  # guides that came and went
