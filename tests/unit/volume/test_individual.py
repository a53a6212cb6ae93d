"""Hairs that are simulated one by one: which are, how they come back, and that nothing jumps on the way."""

from dataclasses import replace

import numpy as np
import pytest

from mane.body.motion_keys import KeyframedMotion
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.geometry.threads import using_threads
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.scene.simulation import Simulation
from mane.skin.table import make_skin
from mane.volume.activation import Activation, Status

RATE, FRAMES, RADIUS = 24.0, 40, 0.02


def carpet():
    """A square of upright hairs."""
    x, z = np.meshgrid(np.linspace(-0.1, 0.1, 11), np.linspace(-0.03, 0.03, 4))
    roots = np.stack([x.ravel(), np.zeros(x.size), z.ravel()], axis=1)
    up = np.linspace(0.0, 0.03, 7)
    points = roots[:, None] + np.stack([0 * up, up, 0 * up], axis=1)
    return Groom.from_uniform(points.astype(np.float32))


def ball():
    """A ball that is lowered into the carpet, moves along and is lifted out."""
    times = np.array([0.0, 0.3, 0.8, 1.0, 2.0])
    places = np.array([[-0.06, 0.1, 0], [-0.06, 0.035, 0], [0.06, 0.035, 0], [0.06, 0.1, 0], [0.06, 0.1, 0]])
    turn = np.tile([0.0, 0, 0, 1], (len(times), 1))
    return Solid(Sphere((0.0, 0.0, 0.0), RADIUS), KeyframedMotion(times, places, turn))


@pytest.fixture(scope="module")
def simulation():
    return Simulation(Guides.chosen(carpet(), [0, 43]), solids=[ball()], frame_rate=RATE)


def frames(simulation):
    for number in range(FRAMES + 1):
        time = number / RATE
        poses = tuple(solid.motion.pose(time) for solid in simulation.solids)
        yield replace(simulation.rest, time=time, is_rest_pose=False, solid_poses=poses)


@pytest.fixture(scope="module")
def runs(simulation):
    """Hairs at all frames and how many were simulated, with activation and with all simulated."""
    found = {}
    for touching in (True, False):
        skin = make_skin(
            "individual", carpet(), simulation, spacing=0.03, touching_only=touching, linger=0.1, return_time=0.3
        )
        hairs, active = [], []
        for frame in frames(simulation):
            hairs.append(skin(frame, copy=True))
            active.append(skin.individual.active_count)
        found[touching] = (np.stack(hairs), np.array(active))
    return found


def test_only_hairs_that_touch_something_are_simulated(runs):
    active = runs[True][1]
    assert active[0] == 0
    assert 2 <= active.max() <= 25  # of 44
    assert active[-1] == 0
    assert (runs[False][1][1:] == 44).all()


def test_hairs_that_touch_nothing_stay_as_the_mesh_has_them(runs):
    """The mesh does not move here: hairs that the ball never reaches are those of the groom, to the last bit."""
    rest, hairs = carpet().as_uniform(), runs[True][0]
    moved = np.abs(hairs - rest).max(axis=(0, 2, 3))
    far = np.abs(rest[:, 0, 0]) > 0.095
    assert moved[far].max() < 1e-6
    assert moved.max() > 0.005


def test_the_ball_is_not_entered_and_lengths_are_kept(runs, simulation):
    rest = np.linalg.norm(np.diff(carpet().as_uniform(), axis=1), axis=2)
    for frame, hair in zip(frames(simulation), runs[True][0], strict=True):
        np.testing.assert_allclose(np.linalg.norm(np.diff(hair, axis=1), axis=2), rest, rtol=1e-4)
        distance = np.linalg.norm(hair - frame.solid_poses[0].position, axis=2) - RADIUS
        assert distance.min() > -5e-4


def test_hairs_come_back_without_a_jump(runs):
    """In the end all follow the mesh again, and no vertex is faster on the way back than when it was pushed."""
    hairs = runs[True][0]
    np.testing.assert_allclose(hairs[-1], carpet().as_uniform(), atol=1e-6)
    speed = np.linalg.norm(np.diff(hairs, axis=0), axis=3).max(axis=(1, 2)) * RATE
    lifted = round(1.0 * RATE)
    assert speed[lifted + 1 :].max() < speed[:lifted].max()
    assert speed[-3:].max() < 0.02


def test_simulating_some_hairs_is_close_to_simulating_all(runs):
    """Hairs meet each other nowhere, so that a hair is what it would be among others while the ball is in it."""
    few, every = runs[True][0], runs[False][0]
    pressed = slice(round(0.3 * RATE), round(0.8 * RATE))
    off = np.linalg.norm(few[pressed] - every[pressed], axis=3)
    assert off.mean() < 5e-4


def test_what_is_shown_blends_simulation_and_mesh(simulation):
    """At the share 1 of the mesh nothing of the simulation is seen; roots that are kinematic bend less."""
    far = {}
    for name, settings in {"all": {}, "mesh": {"show_mesh": 1.0}, "roots": {"kinematic_roots": 1.0}}.items():
        skin = make_skin("individual", carpet(), simulation, spacing=0.03, **settings)
        hairs = [skin(frame, copy=True) for frame in list(frames(simulation))[:12]]
        far[name] = np.linalg.norm(hairs[-1] - carpet().as_uniform(), axis=2).max(axis=0)
    assert far["mesh"].max() < 1e-6
    assert far["roots"][1] < 0.3 * far["all"][1]


def test_returning_matches_position_and_velocity_at_both_ends():
    activation = Activation((2, 3), linger=0.1, return_time=0.4)
    random = np.random.default_rng(0)
    gap, speed = random.normal(size=(2, 2, 3, 3))
    activation.release(np.array([0, 1]), 1.0, gap, speed)
    for time, position, velocity in ((1.0, gap, speed), (1.4, 0 * gap, 0 * speed)):
        offset, rate = activation.offsets(time)
        np.testing.assert_allclose(offset, position, atol=1e-12)
        np.testing.assert_allclose(rate, velocity, atol=1e-12)
    h = 1e-6
    slope = (activation.offsets(1.1 + h)[0] - activation.offsets(1.1 - h)[0]) / (2 * h)
    np.testing.assert_allclose(slope, activation.offsets(1.1)[1], rtol=1e-6)
    activation.arrive(1.4)
    assert len(activation.returning) == len(activation.rows(Status.RETURNING)) == 0


def played(simulation, threads=1, until=14, skin=None, start=0):
    """Hairs of some frames, and the skin that made them."""
    skin = skin or make_skin("individual", carpet(), simulation, spacing=0.03, linger=0.1, return_time=0.3)
    with using_threads(threads):
        hairs = [skin(frame, copy=True) for frame in list(frames(simulation))[start:until]]
    return np.stack(hairs), skin


def test_hairs_that_are_simulated_are_the_same_bytes_on_any_number_of_threads_and_after_a_checkpoint(simulation):
    """The pool of hairs changes in every frame here: 5 to 20 of them, and some have left."""
    one, skin = played(simulation)
    assert skin.individual.active_count > 0
    two = played(simulation, threads=2)[0]
    assert two.tobytes() == one.tobytes()
    half, skin = played(simulation, until=10)
    other = make_skin("individual", carpet(), simulation, spacing=0.03, linger=0.1, return_time=0.3)
    other.restore(skin.memory())
    rest = played(simulation, skin=other, start=10)[0]
    assert np.concatenate([half, rest]).tobytes() == one.tobytes()


def test_a_hair_in_the_pool_is_what_it_is_among_all(simulation):
    """All hairs simulated, and three of them alone: the same bytes, though they share no arrays."""
    few = np.array([13, 14, 15])
    hairs = {}
    for name, chosen in {"all": None, "few": few}.items():
        skin = make_skin("individual", carpet(), simulation, spacing=0.03, touching_only=False, hairs=chosen)
        hairs[name] = played(simulation, skin=skin)[0][:, few]
    assert np.linalg.norm(hairs["few"] - carpet().as_uniform()[few], axis=3).max() > 0.005
    assert hairs["few"].tobytes() == hairs["all"].tobytes()
