"""Attraction and root damping: springs to a moving shape, against closed forms of the damped oscillator."""

import math

import numpy as np
import pytest
from loose_points import LoosePoints, load_of, view

from mane.body.motion import Pose
from mane.contact.attraction.attraction import Attraction
from mane.contact.attraction.damping import RootDamping
from mane.geometry import quaternion
from mane.groom.groom import Groom
from mane.strand.material import Material
from mane.strand.model import StrandModel
from mane.strand.roots import RootPose
from mane.strand.variation import Curve


def model(gravity=(0.0, 0.0, 0.0), strands: int = 3) -> StrandModel:
    points = np.zeros((strands, 5, 3))
    points[..., 1] = -np.linspace(0, 0.2, 5)
    points[..., 0] = 0.1 * np.arange(strands)[:, None]
    return Material().model(points, gravity=gravity)


def head(time: float) -> Pose:
    """A head that walks, nods and turns."""
    turn = quaternion.exp(np.array([0.3 * time, 0.8 * time, 0.0]))
    return Pose(np.array([0.2 * time, 0.05 * math.sin(time), 0.0]), turn)


def roots_at(strands: StrandModel, time: float) -> RootPose:
    return RootPose.carried(strands.rest_points[:, 0].copy(), head(time))


def walk(points: LoosePoints, end: float, dt: float) -> None:
    for number in range(round(end / dt)):
        start = number * dt
        points.step(dt, (roots_at(points.model, start), roots_at(points.model, start + dt)))


# -- attraction -----------------------------------------------------------------------------------------------------


def test_a_displaced_vertex_comes_back_as_a_critically_damped_spring():
    rate, end = 8.0, 0.5
    errors = []
    for dt in (0.002, 0.001):
        points = LoosePoints(model(), [Attraction(rate=rate)])
        points.points += [0.01, 0.0, 0.0]
        for _ in range(round(end / dt)):
            points.step(dt)
        offset = points.points - points.model.rest_points
        # x = x0 (1 + w t) exp(-w t)
        expected = 0.01 * (1 + rate * end) * math.exp(-rate * end)
        errors.append(np.abs(offset - [expected, 0, 0]).max())
    # implicit Euler is of first order: half the step, half the error
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.05)
    assert errors[1] < 0.02 * 0.01


def test_under_a_push_it_stays_acceleration_over_rate_squared_away():
    points = LoosePoints(model(gravity=(0.0, -9.81, 0.0)), [Attraction(rate=20.0)])
    for _ in range(300):
        points.step(0.01)
    offset = points.points - points.model.rest_points
    np.testing.assert_allclose(offset, np.broadcast_to([0, -9.81 / 400, 0], offset.shape), atol=1e-9)


@pytest.mark.parametrize("rate", [1.0, 1e3, 1e8])
@pytest.mark.parametrize("dt", [1e-3, 0.1])
def test_no_rate_is_too_stiff_for_any_step(rate, dt):
    points = LoosePoints(model(), [Attraction(rate=rate)])
    points.points += [0.01, 0.0, 0.0]
    for _ in range(50):
        points.step(dt)
        assert np.abs(points.points - points.model.rest_points).max() <= 0.01 * (1 + 1e-9)


def test_the_groom_is_carried_by_its_roots():
    points = LoosePoints(model(), [Attraction(rate=1e4)])
    walk(points, 0.5, 0.005)
    # A stiff spring with a damper against the target's own motion follows within a step's curvature of its path.
    np.testing.assert_allclose(points.points, head(0.5).apply(points.model.rest_points), atol=1e-5)


def test_at_rest_in_the_groom_nothing_pulls():
    guides = model()
    force = Attraction(rate=50.0)
    force.prepare(guides)
    assert np.abs(load_of(force, view(guides)).force).max() == 0.0


def test_a_target_in_the_world_stays_where_it_is_told():
    guides = model()

    def target(time):
        return guides.rest_points + [0.0, 0.0, 0.3 * time]

    points = LoosePoints(guides, [Attraction(target, rate=1e4, frame="world")])
    walk(points, 0.5, 0.005)
    np.testing.assert_allclose(points.points, target(0.5), atol=1e-6)


def test_an_animated_target_in_the_head_frame_is_carried_too():
    guides = model()

    def target(time):
        return guides.rest_points + [0.0, 0.0, 0.3 * time]

    points = LoosePoints(guides, [Attraction(target, rate=1e4)])
    walk(points, 0.5, 0.005)
    np.testing.assert_allclose(points.points, head(0.5).apply(target(0.5)), atol=1e-5)


def test_a_moving_target_is_followed_without_lag():
    # Steady motion: the damper acts on the velocity relative to the target's, so there is no offset at any rate.
    guides = model()
    points = LoosePoints(guides, [Attraction(lambda time: guides.rest_points + [time, 0, 0], rate=5.0, frame="world")])
    for _ in range(800):
        points.step(0.01)
    np.testing.assert_allclose(points.points, guides.rest_points + [8.0, 0, 0], atol=1e-9)


def test_the_rate_varies_along_the_strand_and_by_painted_map():
    guides = model()
    groom = Groom.from_uniform(guides.rest_points, strand={"grip": np.array([0.0, 1.0, 2.0], np.float32)})
    force = Attraction(guides.rest_points + [0, 0, 0.1], rate=Curve([0, 1], [4, 0]) * "grip", guides=groom)
    force.prepare(guides)
    pull = load_of(force, view(guides)).force[..., 2] / guides.mass
    rate = np.array([0.0, 1.0, 2.0])[:, None] * np.linspace(4, 0, 5)
    np.testing.assert_allclose(pull, 0.1 * rate**2, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Attraction(frame="body"), r"frame: 'body' is unknown; choose from head, world"),
        (lambda: Attraction(frame="world"), r"target: the groom moves with the head, so it needs frame='head'"),
        (lambda: Attraction(damping=-1.0), r"damping: must be at least 0, got -1.0"),
        (lambda: Attraction(rate=-1.0), r"^rate: must be at least 0, got -1"),
        (lambda: Attraction(rate="grip"), r"attraction.rate: painted map 'grip' needs guides"),
        (lambda: Attraction(np.zeros((2, 5, 3))), r"attraction.target: must have shape \(3, 5, 3\), got \(2, 5, 3\)"),
        (lambda: RootDamping(-2.0), r"^rate: must be at least 0, got -2"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make().prepare(model())


def test_an_animated_target_is_checked_when_it_comes():
    force = Attraction(lambda time: np.full((3, 5, 3), np.nan))
    force.prepare(model())
    with pytest.raises(ValueError, match=r"attraction.target: must be finite, got nan at index 0"):
        load_of(force, view(model()))


# -- root damping ---------------------------------------------------------------------------------------------------


def test_motion_relative_to_a_still_root_decays_at_the_rate():
    rate, end, dt = 4.0, 0.5, 0.001
    points = LoosePoints(model(), [RootDamping(rate)])
    points.velocity += [1.0, -2.0, 0.5]
    for _ in range(round(end / dt)):
        points.step(dt)
    # implicit Euler: (1 + rate dt)^(-n) exactly
    decay = (1 + rate * dt) ** -round(end / dt)
    np.testing.assert_allclose(points.velocity, np.broadcast_to(decay * np.array([1.0, -2, 0.5]), (3, 5, 3)))


def test_hair_that_moves_rigidly_with_its_root_is_not_damped():
    guides = model()
    force = RootDamping(10.0)
    force.prepare(guides)
    dt = 0.01
    before, after = roots_at(guides, 0.3), roots_at(guides, 0.3 + dt)
    points = head(0.3).apply(guides.rest_points)
    rigid = (head(0.3 + dt).apply(guides.rest_points) - points) / dt
    load = load_of(force, view(guides, points, rigid, roots=(before, after), dt=dt))
    resisted = load.resistance[..., :3] * rigid
    np.testing.assert_allclose(load.force, resisted, rtol=1e-9, atol=1e-12 * np.abs(resisted).max())
