"""Strands that a step left inside a solid: out, with lengths kept, and from there on not further in."""

import numpy as np
import pytest
from mass_points import PointSolver, Scene, make_model, shifted, still

from mane.body.shapes import Capsule, Plane, Sphere
from mane.body.solid import Solid
from mane.contact.solids._kernels_projection import LEFT_INSIDE
from mane.contact.solids.projection import SolidProjection
from mane.strand.model import RootKind
from mane.strand.ports import MovingSolid, StrandView
from mane.strand.roots import RootPose

DT = 1e-3


def project(part, model, points, velocity, geometry, pose=still):
    """Project once; the arrays are changed in place."""
    turned = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (model.strand_count, 4))
    roots = RootPose(points[:, 0].copy(), turned)
    frames = np.zeros((model.strand_count, model.segment_count, 4))
    moving = MovingSolid(Solid(geometry), pose(0.0), pose(DT))
    active = np.ones(model.strand_count, np.bool_)
    view = StrandView(model, points, velocity, frames, active, roots, roots, (moving,), DT, DT)
    return part.project(view, points, velocity)


def prepared(points, root=RootKind.CLAMPED, **settings):
    part = SolidProjection(**settings)
    model = make_model(points, root=root)
    part.prepare(model)
    return part, model


def curly_strands(count=40, vertices=20, seed=5):
    """Strands that wind about above a ball of radius 0.1 around the origin."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(count, vertices, 3)) * 0.004
    steps[..., 1] -= 0.004
    points = np.array([0.0, 0.14, 0.0]) + rng.uniform(-0.05, 0.05, (count, 1, 3)) + np.cumsum(steps, axis=1)
    for _ in range(20):  # up until all of each strand is clear
        depth = np.maximum(0.101 - np.linalg.norm(points, axis=2).min(axis=1), 0.0)
        points = points + np.array([0.0, 1.0, 0.0]) * depth[:, None, None]
    return points


BALL = Sphere((0, 0, 0), 0.1)


def test_vertices_come_out_and_lengths_stay():
    fall = np.array([1.0, -12.0, 2.0])
    points = curly_strands()
    assert np.linalg.norm(points, axis=2).min() > 0.1
    part, model = prepared(points)
    points = points + DT * fall
    velocity = np.tile(fall, (*points.shape[:2], 1))
    length = np.linalg.norm(np.diff(points, axis=1), axis=2)
    depth = 0.1 - np.linalg.norm(points[:, 1:], axis=2)
    outside_root = np.linalg.norm(points[:, 0], axis=1) > 0.1 + 0.5 * model.rest_length[:, 0]
    moved = project(part, model, points, velocity, BALL)
    assert depth.max() > 0.008
    np.testing.assert_allclose(np.linalg.norm(np.diff(points, axis=1), axis=2), length, rtol=1e-12)
    left = 0.1 - np.linalg.norm(points[:, 1:], axis=2)
    assert left[outside_root].max() < 2 * 0.005 * model.rest_length.max()
    assert not moved[(depth < 0).all(axis=1)].any()
    assert part.report()["projected"] == moved.sum() > 0


def test_threads_change_no_byte(on_threads):
    fall = np.array([1.0, -12.0, 2.0])

    def projected():
        points = curly_strands() + DT * fall
        part, model = prepared(points)
        velocity = np.tile(fall, (*points.shape[:2], 1))
        moved = project(part, model, points, velocity, BALL)
        return moved, points, velocity, part.report()

    on_threads(projected)


def test_from_the_penetrated_vertex_on_the_displacement_runs_towards_the_tip():
    """chang2002 3.3: p2' = p1' + |p2 - p1| v / |v| with v = p2 - p1', vertex after vertex; nothing before it moves."""
    points = np.array(
        [[[0.0, 0.03, 0.0], [0.01, 0.02, 0.0], [0.02, 0.01, 0.0], [0.03, -0.004, 0.0], [0.035, 0.006, 0.003],
          [0.03, 0.015, 0.006], [0.035, 0.024, 0.002]]]
    )  # fmt: skip
    before = points.copy()
    part, model = prepared(points)
    velocity = np.tile([0.0, -20.0, 0.0], (1, 7, 1))
    assert project(part, model, points, velocity, Plane((0, 0, 0), (0, 1, 0))).all()
    np.testing.assert_allclose(points[0, :3], before[0, :3], atol=1e-15)
    assert points[0, 3, 1] == pytest.approx(0.0, abs=0.005 * model.rest_length.max())
    for j in range(4, 7):
        way = before[0, j] - points[0, j - 1]
        expected = points[0, j - 1] + model.rest_length[0, j - 1] * way / np.linalg.norm(way)
        np.testing.assert_allclose(points[0, j], expected, atol=1e-15)
    # The further towards the tip, the less is left of it.
    moved = np.linalg.norm(points - before, axis=2)[0, 3:]
    assert (np.diff(moved) <= 1e-12).all()


def test_what_leads_further_in_is_taken_from_the_velocity_and_the_rest_stays():
    points = np.array([[[0.0, 0.02, 0.0], [0.01, 0.01, 0.0], [0.02, -0.002, 0.0], [0.03, 0.004, 0.0]]])
    part, model = prepared(points)
    velocity = np.tile([3.0, -5.0, 1.0], (1, 4, 1))
    project(part, model, points, velocity, Plane((0, 0, 0), (0, 1, 0)))
    np.testing.assert_allclose(velocity[0, 2], [3.0, 0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(velocity[0, [0, 1, 3]], [[3.0, -5.0, 1.0]] * 3)
    assert abs(points[0, 2, 1]) < 0.005 * 0.02


def test_a_moving_solid_gives_its_velocity():
    points = np.array([[[0.0, 0.02, 0.0], [0.01, 0.01, 0.0], [0.02, 0.001, 0.0], [0.03, 0.008, 0.0]]])
    part, model = prepared(points)
    velocity = np.zeros_like(points)
    project(part, model, points, velocity, Plane((0, 0, 0), (0, 1, 0)), shifted((0, 2.0, 0)))
    assert velocity[0, 2, 1] == pytest.approx(2.0)
    assert points[0, 2, 1] == pytest.approx(0.002, abs=0.005 * 0.02)


def test_what_was_inside_before_comes_out_at_the_stated_speed():
    points = np.array([[[0.0, 0.02, 0.0], [0.01, 0.01, 0.0], [0.02, -0.01, 0.0], [0.03, -0.012, 0.0]]])
    part, model = prepared(points, push_out_speed=0.3)
    velocity = np.zeros_like(points)
    for step in range(1, 11):
        project(part, model, points, velocity, Plane((0, 0, 0), (0, 1, 0)))
        # Every step but the first knows where the last one left it; each leaves at most the tolerance.
        assert points[0, 2, 1] == pytest.approx(-0.01 + 0.3 * DT * step, abs=2 * 0.005 * 0.025)


def test_a_free_strand_is_lifted_by_its_root_too():
    points = np.array([[[0.0, -0.001, 0.0], [0.01, 0.002, 0.0], [0.02, 0.003, 0.0]]])
    part, model = prepared(points, RootKind.FREE)
    velocity = np.full_like(points, -1.0)
    velocity[..., [0, 2]] = 0.0
    velocity[..., 1] = -3.0
    project(part, model, points, velocity, Plane((0, 0, 0), (0, 1, 0)))
    # What is moved out is left a part of the tolerance inside.
    assert points[0, 0, 1] == pytest.approx(-LEFT_INSIDE * 0.005 * model.rest_length[0, 0], abs=1e-9)


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.93])
def test_a_strand_that_passed_through_a_tooth_is_brought_back(fraction):
    points = np.zeros((1, 12, 3))
    points[0, :, 1] = -0.008 * np.arange(12)
    before = points.copy()
    part, model = prepared(points)
    tooth = Capsule((0, 0, -0.05), (0, 0, 0.05), 5e-4)
    height = -0.008 * (6 + fraction)
    velocity = np.zeros_like(points)
    # The tooth goes from 2 mm before the strand to 3 mm behind it.
    project(part, model, points, velocity, tooth, shifted((5.0, 0, 0), (-0.002, height, 0)))
    place = np.interp(-height, -points[0, :, 1], points[0, :, 0])
    assert place == pytest.approx(0.003 + 5e-4, abs=1.5e-4)
    np.testing.assert_array_equal(points[0, 0], before[0, 0])


def test_memory_is_where_strands_were():
    def scene():
        model = make_model(curly_strands(6))
        part = SolidProjection()
        return Scene(PointSolver(model), [], [part], [(BALL, shifted((0.1, 0.3, 0)))]), part

    whole, part = scene()
    whole.run(0.05, DT)
    saved, memory, time = whole.state.copy(), part.memory(), whole.time
    report = whole.run(0.05, DT)
    assert report.penetration < 1e-3
    again, fresh = scene()
    again.state.assign(saved)
    again.time = time
    fresh.restore(memory)
    again.run(0.05, DT)
    assert np.array_equal(again.state.points, whole.state.points)


def test_a_carried_strand_has_not_passed_through_anything():
    points = np.zeros((1, 6, 3))
    points[0, :, 1] = 0.3 - 0.01 * np.arange(6)
    part, model = prepared(points)
    velocity = np.zeros_like(points)
    project(part, model, points, velocity, BALL)
    points[..., 1] -= 0.6  # to the other side of the ball
    part.forget(np.array([True]))
    assert not project(part, model, points, velocity, BALL).any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tolerance": 0.0}, "projection.tolerance: must be a finite number above zero, got 0.0"),
        ({"thickness": -1.0}, "projection.thickness: must be a finite number, zero or more, got -1.0"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        SolidProjection(**settings)
