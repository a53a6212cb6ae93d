"""Contacts that pull are dropped and the step is taken again: an active set method, strand by strand."""

import numpy as np
import pytest
from mass_points import PointSolver, Scene, make_model

from mane.body.motion import Pose
from mane.body.shapes import Box
from mane.body.solid import Solid
from mane.contact.solids import _kernels as kernels
from mane.contact.solids._kernels_amend import drop_wrong_contacts
from mane.contact.solids._kernels_contact import ACROSS, ALONG, GOAL, NORMAL, PULL, RECORD_SIZE
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.scene.simulation import Simulation
from mane.strand import stepping
from mane.strand.material import Material
from mane.strand.ports import NO_STRANDS, Force, Load
from mane.strand.solver import SOLVERS, converged_models, make_solver

INNER, VERTICES, DT, LIMIT = 3, 6, 1e-3, 0.5


def random_contacts(rng, strands, most):
    """Contacts of all strands in the order of their places, as `find_contacts` leaves them."""
    count = rng.integers(0, most + 1, strands)
    place = np.full((strands, most), -1, np.int32)
    for s in range(strands):
        chosen = rng.choice((VERTICES - 1) * (INNER + 1), count[s], replace=False)
        place[s, : count[s]] = np.sort(chosen)
    record = rng.normal(size=(strands, most + 2, RECORD_SIZE))
    record[..., NORMAL : NORMAL + 3] /= np.linalg.norm(record[..., NORMAL : NORMAL + 3], axis=-1, keepdims=True)
    record[..., ALONG], record[..., ACROSS] = 3e-2, 1e-4
    record[..., PULL : PULL + 3] *= 1e-6
    return count, place, record


def spread(count, place, record, is_kept):
    load = Load.empty(len(count), VERTICES)
    for s in range(len(count)):
        rows = np.flatnonzero(is_kept[s, : count[s]])
        kept = np.concatenate([record[s, rows], np.zeros((2, RECORD_SIZE))])
        arrays = (load.force[s], load.resistance[s], load.coupling[s])
        kernels.spread_contacts(INNER, len(rows), place[s, rows], kept, *arrays)
    return load


def pulls(place, record, velocity, mass):
    """By how much each contact would change the velocity of its point by pulling [m/s], plainly."""
    j, u = place // (INNER + 1), place % (INNER + 1) / (INNER + 1)
    v = (1 - u) * velocity[j] + u * velocity[np.minimum(j + 1, VERTICES - 1)] if u > 0 else velocity[j]
    reached = 1 / ((1 - u) ** 2 / mass[j] + (u**2 / mass[j + 1] if u > 0 else 0.0))
    return -DT * record[ALONG] * (record[GOAL] - record[NORMAL : NORMAL + 3] @ v) / reached


def test_contacts_that_pull_leave_the_load_and_the_others_stay():
    rng = np.random.default_rng(3)
    strands, most = 40, 5
    count, place, record = random_contacts(rng, strands, most)
    velocity, mass = 2 * rng.normal(size=(strands, VERTICES, 3)), rng.uniform(1e-7, 2e-7, (strands, VERTICES))
    pulled = np.zeros((strands, most), np.bool_)
    for s in range(strands):
        for c in range(count[s] if count[s] > 1 else 0):  # a single contact has nobody to fight with
            pulled[s, c] = pulls(int(place[s, c]), record[s, c], velocity[s], mass[s]) > LIMIT
    assert 20 < pulled.sum() < 80
    load, expected = spread(count, place, record, ~np.zeros_like(pulled)), spread(count, place, record, ~pulled)
    changed = np.zeros(strands, np.bool_)
    loads = (load.force, load.resistance, load.coupling)
    hair = (np.zeros((strands, VERTICES, 3)), velocity, mass, *(np.ones((2, strands, VERTICES - 1))))
    # Strains of one do not count here: what lengths are at rest nobody asks.
    drop_wrong_contacts(INNER, *hair, DT, (LIMIT, 2.0), 0, count, place, record, *loads, changed)
    np.testing.assert_array_equal(changed, pulled.any(axis=1))
    np.testing.assert_array_equal(record[:, :most, ALONG] == 0, pulled)
    for name in ("force", "resistance", "coupling"):
        np.testing.assert_allclose(getattr(load, name), getattr(expected, name), atol=1e-16)


def test_contacts_that_stretch_hair_let_go_the_hardest_ones_first():
    strands, stiffness = 3, 20.0
    points = np.zeros((strands, VERTICES, 3))
    points[:, :, 0] = 1e-3 * np.arange(VERTICES)
    points[1:, 1:, 0] += 1e-5  # stretched by one percent
    lengths = np.full((strands, VERTICES - 1), 1e-3)
    hair = (
        points,
        np.zeros_like(points),
        np.full((strands, VERTICES), 1e-8),
        lengths,
        np.full_like(lengths, stiffness),
    )
    count = np.full(strands, 4)
    place = np.tile(np.arange(1, 5, dtype=np.int32) * (INNER + 1), (strands, 1))
    # Presses of 0.5, 0.3, 0.2 and 0.01 N; the last strand is stretched by something else than its contacts.
    record = np.zeros((strands, 6, RECORD_SIZE))
    record[..., NORMAL], record[..., ALONG] = 1.0, 10.0
    record[:, :4, GOAL] = np.array([[1], [1], [1e-3]]) * np.array([0.05, 0.03, 0.02, 0.001])
    load, changed = Load.empty(strands, VERTICES), np.zeros(strands, np.bool_)
    loads = (load.force, load.resistance, load.coupling)
    for attempt, expected in enumerate(([True, True, False, False], [True, True, False, False], [True] * 4)):
        changed[...] = False
        now = record.copy()
        drop_wrong_contacts(INNER, *hair, DT, (LIMIT, 0.005), attempt, count, place, now, *loads, changed)
        np.testing.assert_array_equal(changed, [False, True, False])
        np.testing.assert_array_equal(now[1, :4, ALONG] == 0, expected)


@pytest.mark.filterwarnings("ignore:solids.0.. holds every root")
@pytest.mark.parametrize("model", converged_models())
def test_hair_whose_root_is_carried_into_a_solid_is_not_stretched(model):
    points = np.zeros((4, 8, 3), np.float32)
    points[:, :, 0] = 0.01 * np.arange(4)[:, None]
    points[:, :, 1] = 1.2e-3 * np.arange(8)
    wall = Solid(Box((0.0, 0.05, 0.0), (0.2, 0.03, 0.2)))
    guides = Guides.from_groom(Groom.from_uniform(points))
    simulation = Simulation(guides, model, solids=[wall], frame_rate=100.0)
    for frame in range(15):
        # At 0.6 m/s, until the root is deeper inside than the hair is long.
        simulation.step(Pose((0.0, 0.06 * min((frame + 1) / 10, 1.0), 0.0), (0.0, 0.0, 0.0, 1.0)))
        assert simulation.report.stretch < 0.01


class Doubting(Force):
    """Pulls some strands up, and takes that back again when it sees where it leads, `times` times."""

    name = "doubting"

    def __init__(self, rows, times):
        self.rows, self.times, self.asked = np.asarray(rows), times, []

    def add(self, strands, load):
        load.force[..., 1] += 1e-5

    def may_amend(self):
        return True

    def amend(self, strands, load, attempt):
        self.asked.append(strands.points.copy())
        if attempt >= self.times:
            return NO_STRANDS
        load.force[self.rows, :, 1] *= 0.5
        return self.rows


@pytest.mark.parametrize("model", sorted(SOLVERS))
@pytest.mark.parametrize("many", [1, 10**6])  # some strands alone, or all of them again
def test_a_step_that_is_taken_again_begins_where_the_first_did(model, many, monkeypatch):
    monkeypatch.setattr(stepping, "MANY", many)
    points = np.cumsum(np.full((11, 8, 3), 0.004), axis=1) + np.arange(11)[:, None, None]
    scenes = []
    for times in (0, 2):
        force = Doubting([2, 3, 7], times)
        scenes.append(Scene(make_solver(model, Material().model(points)), [force]))
        scenes[-1].step(1e-3)
        assert len(force.asked) == times + 1
    once, again = (scene.state.points for scene in scenes)
    others = np.setdiff1d(np.arange(11), [2, 3, 7])
    assert once[others].tobytes() == again[others].tobytes()
    # A quarter of the force, from the same start: nothing of the first attempts is left.
    quarter = Scene(make_solver(model, Material().model(points)), [Doubting([2, 3, 7], 0)])
    quarter.forces[0].add = lambda strands, load: load.force.__iadd__([0.0, 0.25e-5, 0.0])
    quarter.step(1e-3)
    assert again[[2, 3, 7]].tobytes() == quarter.state.points[[2, 3, 7]].tobytes()
    assert np.abs(once - again).max() > 1e-6


def test_attempts_end():
    force = Doubting([0], 100)
    scene = Scene(PointSolver(make_model(np.cumsum(np.ones((1, 4, 3)), axis=1))), [force])
    scene.step(1e-3)
    assert len(force.asked) == stepping.ATTEMPTS
