"""Solids: the same answers as their geometry, carried along by a motion, at any time."""

import numpy as np
import pytest

from mane.body.animated import AnimatedMesh
from mane.body.mesh import Mesh
from mane.body.motion import Pose, Twist
from mane.body.sdf import build_sdf
from mane.body.shapes import Box, Plane, Sphere, Union
from mane.body.solid import Solid

BOX = Box((0.1, 0.0, 0.0), (0.2, 0.3, 0.1), rounding=0.05)
BALL = Sphere((0.0, 0.0, 0.0), 0.5)
TIMES = np.array([0.0, 0.5, 1.0])


class Spin:
    """Turns about an axis through a point that drifts; its twist is the exact derivative of its pose."""

    axis, rate, drift = np.array([0.6, 0.0, 0.8]), 2.0, np.array([0.3, -0.2, 0.1])

    def pose(self, time):
        half = 0.5 * self.rate * time
        return Pose(self.drift * time, np.append(self.axis * np.sin(half), np.cos(half)))

    def velocity(self, time):
        return Twist(self.drift, self.rate * self.axis, self.drift * time)


def some_points(count=500, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (count, 3)).astype(np.float32)


# -- rigid ---------------------------------------------------------------------------------------------------------


def test_a_solid_stays_where_it_is_without_a_motion():
    solid, points = Solid(BOX), some_points()
    np.testing.assert_array_equal(solid.distance(points, 3.0), BOX.distance(points))
    distance, gradient = solid.distance_and_gradient(points)
    expected, expected_gradient = BOX.distance_and_gradient(points)
    np.testing.assert_array_equal(distance, expected)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-6)
    np.testing.assert_array_equal(solid.velocity(points, 3.0), 0)


def test_a_motion_carries_distance_and_gradient():
    solid, local, time = Solid(BOX, motion=Spin()), some_points(), 0.7
    pose = Spin().pose(time)
    distance, gradient = solid.distance_and_gradient(pose.apply(local), time)
    expected, expected_gradient = BOX.distance_and_gradient(local)
    np.testing.assert_allclose(distance, expected, atol=2e-6)
    # The gradient of a box jumps between faces, so rounding may turn a point in a thousand.
    turned = expected_gradient @ pose.matrix[:3, :3].T
    assert (np.abs(gradient - turned).max(axis=1) < 1e-5).mean() > 0.99


def test_points_that_move_with_a_solid_keep_their_distance():
    """Moving with the velocity for a step dt leaves an error of half the acceleration, w^2 r = 10, times dt^2."""
    solid, points, time, step = Solid(BOX, motion=Spin()), some_points(), 0.7, 1e-3
    moved = points + np.float32(step) * solid.velocity(points, time)
    np.testing.assert_allclose(
        solid.distance(moved, time + step), solid.distance(points, time), atol=5 * step**2 + 2e-6
    )
    still = np.abs(solid.distance(points, time + step) - solid.distance(points, time))
    assert still.max() > 50 * (5 * step**2 + 2e-6), "without the velocity it changes by far more"


def test_a_mesh_answers_through_its_field(tmp_path, monkeypatch):
    monkeypatch.setenv("MANE_CACHE", str(tmp_path))
    mesh = BALL.mesh(24)
    field = build_sdf(mesh, 24, cache=False)
    solid = Solid(mesh, Spin(), field=field)
    local, time = some_points(), 0.3
    world = Spin().pose(time).apply(local)
    np.testing.assert_allclose(solid.distance(world, time), field.sample(local), atol=1e-5)
    assert solid.field is field
    assert Solid(mesh).field.cell_size < field.cell_size, "its own field by default"


def test_posed_solid_is_drawn_where_it_is():
    for solid in (Solid(BALL, Spin()), Solid(BALL.mesh(24), Spin(), field=build_sdf(BALL.mesh(24), 24, cache=False))):
        mesh = solid.at(0.7).mesh(24)
        np.testing.assert_allclose(mesh.points.mean(axis=0), Spin.drift * 0.7, atol=1e-5)
        assert mesh.volume == pytest.approx(BALL.mesh(24).volume, rel=1e-4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Solid("head"), "geometry: must be a Shape or a Mesh, got str"),
        (lambda: Solid(BALL, field=1), "field: must be left out for a shape"),
        (lambda: Solid(BALL).at(np.nan), "time: must be finite, got nan"),
        (lambda: Solid(BALL).distance([[0, 0]]), r"points: must have shape \(P, 3\), got \(1, 2\)"),
        (lambda: Solid(BALL).velocity([[0, 0, np.inf]]), "points: must be finite, got inf"),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# -- animated ------------------------------------------------------------------------------------------------------


def growing_ball(rate=0.5, resolution=48):
    """A ball whose radius grows by `rate` of itself per second."""
    mesh = BALL.mesh(resolution)
    return Solid.animated(mesh, TIMES, np.stack([mesh.points * np.float32(1 + rate * time) for time in TIMES]))


@pytest.mark.parametrize("time", [-1.0, 0.0, 0.2, 0.5, 0.9, 1.0, 2.0])
def test_animated_mesh_is_interpolated_and_held(time):
    scale = 1 + 0.5 * np.clip(time, 0, 1)
    points = some_points()
    distance, gradient = growing_ball().distance_and_gradient(points, time)
    # A facet of 48 in a turn, 24 from pole to pole, lies inside the ball by its two sagittas.
    chord = 2 * 0.5 * scale * (1 - np.cos(np.pi / 48))
    exact = np.linalg.norm(points, axis=1) - 0.5 * scale
    np.testing.assert_allclose(distance, exact + 0.5 * chord, atol=0.5 * chord + 1e-6)
    np.testing.assert_allclose(np.linalg.norm(gradient, axis=1), 1, atol=1e-5)
    outside = distance > 0.1
    radial = points / np.linalg.norm(points, axis=1, keepdims=True)
    # The foot is off by at most half a facet, pi / 48 of its radius.
    assert (np.linalg.norm(gradient - radial, axis=1)[outside] < 0.1).all()


def test_animated_gradient_leads_to_the_surface():
    solid, points = growing_ball(), some_points()
    distance, gradient = solid.distance_and_gradient(points, 0.3)
    np.testing.assert_allclose(solid.distance(points - distance[:, None] * gradient, 0.3), 0, atol=2e-6)


def test_on_the_surface_the_gradient_is_the_normal():
    solid = growing_ball()
    mesh = solid.at(0.3).mesh()
    middle = mesh.points[mesh.faces].mean(axis=1)
    _, gradient = solid.distance_and_gradient(middle, 0.3)
    # The middle of a facet is rounded off it by some 1e-8, too close for a direction.
    np.testing.assert_allclose(gradient, mesh.face_normals, atol=1e-4)


def test_animated_velocity_is_that_of_the_closest_point():
    """Of a ball that grows, a point of the surface at x moves with rate x / scale, until the animation ends."""
    solid = growing_ball()
    mesh = solid.at(0.25).mesh()
    velocity = solid.velocity(1.1 * mesh.points, 0.25)
    np.testing.assert_allclose(velocity, 0.5 * mesh.points / 1.125, atol=1e-5)
    np.testing.assert_array_equal(solid.velocity(mesh.points, 1.0), 0)
    np.testing.assert_array_equal(solid.velocity(mesh.points, -0.1), 0)


def test_points_that_move_with_an_animated_and_turning_solid_stay_on_it():
    """Both velocities add up; the error of one step is half of the acceleration, some 10 m/s2, times dt^2."""
    mesh = BALL.mesh(24)
    frames = np.stack([mesh.points * np.float32(1 + 0.5 * time) for time in TIMES])
    solid = Solid.animated(mesh, TIMES, frames, motion=Spin())
    points, time, step = solid.at(0.2).mesh().points, 0.2, 1e-3
    moved = points + np.float32(step) * solid.velocity(points, time)
    np.testing.assert_allclose(solid.distance(moved, time + step), 0, atol=5 * step**2 + 1e-6)


def test_animated_mesh_turned_inside_out_is_the_same():
    mesh = BALL.mesh(24)
    frames = np.stack([mesh.points, mesh.points])
    turned = Mesh(mesh.points, mesh.faces[:, ::-1])
    points = some_points()
    one = Solid.animated(mesh, [0, 1], frames).distance(points, 0.5)
    np.testing.assert_allclose(Solid.animated(turned, [0, 1], frames).distance(points, 0.5), one, atol=1e-6)
    assert (one < -0.1).any()


def test_animated_parts_that_overlap_have_no_surface_inside():
    boxes = Union([Box((-0.1, 0, 0), (0.2, 0.3, 0.3)), Box((0.1, 0, 0), (0.2, 0.3, 0.3))]).mesh()
    solid = Solid.animated(boxes, [0, 1], np.stack([boxes.points, boxes.points]))
    points = some_points()
    np.testing.assert_allclose(solid.distance(points, 0.5), Box((0, 0, 0), (0.3, 0.3, 0.3)).distance(points), atol=1e-5)


def test_asking_again_for_the_same_time_does_no_work_twice():
    animation = growing_ball().animation
    assert animation.at(0.3) is animation.at(0.3)
    assert animation.at(0.3) is not animation.at(0.4)


@pytest.mark.parametrize(
    ("times", "frames", "message"),
    [
        ([0, 0], np.zeros((2, 4, 3)), "times: must rise, got 0.0 s before 0.0 s at 0"),
        ([], np.zeros((0, 4, 3)), "times: must hold at least one time"),
        ([0, np.nan], np.zeros((2, 4, 3)), "times: must be finite, got nan at index 1"),
        ([0, 1], np.zeros((2, 5, 3)), r"frames: must have shape \(2, 4, 3\), got \(2, 5, 3\)"),
        ([0, 1], np.full((2, 4, 3), np.nan), "frames: must be finite"),
        ([0], Plane((0, 0, 0), (0, 1, 0)).mesh().points[None], "frames: the mesh must enclose a volume, got none"),
    ],
)
def test_bad_animations_are_refused(times, frames, message):
    with pytest.raises(ValueError, match=message):
        AnimatedMesh(Plane((0, 0, 0), (0, 1, 0)).mesh(), times, frames)


def test_hair_may_grow_on_some_triangles_of_an_animated_mesh():
    mesh = Sphere((0, 0, 0), 1.0).mesh(8)
    inward = Mesh(mesh.points, mesh.faces[:, ::-1])
    for given in (mesh, inward):  # one that faces inwards is turned, and its skin with it
        solid = Solid.animated(given, [0.0], [mesh.points], skin_faces=[3, 5])
        np.testing.assert_array_equal(np.sort(solid.skin.faces, axis=1), np.sort(mesh.faces[[3, 5]], axis=1))
        assert (solid.skin.face_normals * mesh.points[solid.skin.faces[:, 0]]).sum(axis=1).min() > 0
    assert Solid.animated(mesh, [0.0], [mesh.points]).skin is not None
    assert Solid(Sphere((0, 0, 0), 1.0)).skin is None
    with pytest.raises(ValueError, match=r"skin_faces: must name some of the \d+ triangles, got \[-1\]"):
        Solid.animated(mesh, [0.0], [mesh.points], skin_faces=[-1])
