"""Contact and friction of single mass points, where everything has a closed form."""

import numpy as np
import pytest
from mass_points import GRAVITY, PointSolver, Scene, make_model, shifted, still

from mane.body.motion import Pose
from mane.body.sdf import build_sdf
from mane.body.shapes import Box, Capsule, Plane, Sphere
from mane.body.solid import Solid
from mane.contact.solids._kernels_contact import DEEP, RECOVERY
from mane.contact.solids.contact import HARD, SolidContact
from mane.contact.solids.projection import SolidProjection

DT = 1e-3
MASS = 1e-7
FLOOR = Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0))


def apart(*places):
    """One strand whose vertices are so far apart that they are points of their own."""
    return np.array([places], np.float64)


def scene_on(geometry, points, pose=still, *, gravity=(0.0, -GRAVITY, 0.0), mend=False, **settings):
    contact = SolidContact(**settings)
    solver = PointSolver(make_model(points, mass=MASS, gravity=gravity))
    scene = Scene(solver, [contact], [SolidProjection()] if mend else [], [(geometry, pose)])
    return scene, contact


def row(height=0.0):
    return apart((0.0, height, 0.0), (1.0, height, 0.0), (2.0, height, 0.0))


def normal_forces(contact):
    memory = contact.memory()
    return memory["0.pressed"][0, : memory["0.count"][0]]


def test_a_point_rests_on_a_floor_and_is_carried_by_its_weight():
    scene, contact = scene_on(FLOOR, row())
    report = scene.run(0.05, DT)
    # A spring of stiffness RECOVERY HARD m / dt^2 holds the weight m g.
    assert report.penetration == pytest.approx(GRAVITY * DT**2 / HARD / RECOVERY, rel=1e-6)
    np.testing.assert_allclose(normal_forces(contact), MASS * GRAVITY, rtol=1e-9)
    assert np.abs(scene.state.velocity).max() < 1e-12
    assert report.parts["contacts"] == 3


def test_a_fall_ends_on_the_floor_without_a_bounce():
    scene, _ = scene_on(FLOOR, row(0.05))
    heights = []
    for _ in range(200):
        scene.step(DT)
        heights.append(scene.state.points[0, :, 1].max())
    landed = int(np.argmax(np.array(heights) < 1e-6))
    assert landed == pytest.approx(np.sqrt(2 * 0.05 / GRAVITY) / DT, abs=2)
    # A resistance of HARD m / dt lets 1 / HARD of the speed through, for one step, and what sank in is brought back.
    sunk = np.sqrt(2 * GRAVITY * 0.05) * DT / HARD
    assert np.abs(heights[landed:]).max() < sunk
    assert np.abs(np.diff(heights[-50:])).max() < 1e-12


def test_impulse_of_the_floor_is_the_momentum_that_it_took():
    scene, contact = scene_on(FLOOR, row(0.02))
    impulse = 0.0
    for _ in range(150):
        scene.step(DT)
        impulse += DT * normal_forces(contact).sum()
    weight = 3 * MASS * GRAVITY
    momentum = MASS * scene.state.velocity[0, :, 1].sum()
    assert impulse == pytest.approx(weight * 0.150 + momentum, rel=1e-9)


@pytest.mark.parametrize("degrees", [10.0, 16.6])
def test_below_the_friction_angle_a_point_sticks(degrees):
    # atan(0.3) = 16.7 degrees
    angle = np.radians(degrees)
    points = apart((0, 0, 0), (0, 0, 1), (0, 0, 2))
    scene, _ = scene_on(Plane((0, 0, 0), (np.sin(angle), np.cos(angle), 0)), points, friction=0.3)
    scene.run(0.4, DT)
    settled = scene.state.points.copy()
    scene.run(0.2, DT)
    # It sinks in as far as the floor gives way.
    assert np.abs(settled - points).max() < 1.01 * GRAVITY * DT**2 / HARD / RECOVERY
    assert np.abs(scene.state.points - settled).max() < 1e-12


@pytest.mark.parametrize(("degrees", "friction"), [(16.8, 0.3), (17.5, 0.3), (40.0, 0.5), (30.0, 0.0)])
def test_above_it_a_point_slides_with_the_right_acceleration(degrees, friction):
    angle = np.radians(degrees)
    down = np.array([np.cos(angle), -np.sin(angle), 0.0])
    points = apart((0, 0, 0), (0, 0, 1), (0, 0, 2))
    plane = Plane((0, 0, 0), (np.sin(angle), np.cos(angle), 0))
    scene, _ = scene_on(plane, points, friction=friction)
    scene.run(0.1, DT)
    start = scene.state.velocity[0] @ down
    scene.run(0.2, DT)
    gained = (scene.state.velocity[0] @ down - start) / 0.2
    expected = GRAVITY * (np.sin(angle) - friction * np.cos(angle))
    # The forecast of a steady motion is exact; the normal of the plane is a float32.
    np.testing.assert_allclose(gained, expected, atol=1e-7 * GRAVITY)


@pytest.mark.parametrize(("velocity", "left"), [((3.0, -2.0), 3.0 - 0.3 * 2.0), ((0.5, -2.0), 0.0)])
def test_an_impact_takes_friction_times_the_momentum_that_it_stops(velocity, left):
    scene, _ = scene_on(FLOOR, row(0.0031), gravity=(0, 0, 0), friction=0.3)
    scene.state.velocity[...] = [velocity[0], velocity[1], 0.0]
    scene.run(0.02, DT)
    # The floor holds with HARD m / dt: what it lets through is 1 / HARD of the momentum.
    np.testing.assert_allclose(scene.state.velocity[0, :, 0], left, atol=0.3 * 2.0 / HARD)
    # A part of what sank in comes out again.
    assert (np.abs(scene.state.velocity[0, :, 1]) < RECOVERY * 2.0 / HARD).all()


def test_a_point_that_slides_comes_to_rest_where_coulomb_says():
    scene, _ = scene_on(FLOOR, row(), friction=0.3)
    scene.run(0.01, DT)
    scene.state.velocity[..., 0] = 0.4
    start = scene.state.points[0, :, 0].copy()
    scene.run(0.4, DT)
    # v^2 / 2 mu g; a step of implicit Euler is short by half a step of the way, v dt / 2.
    way = 0.4**2 / (2 * 0.3 * GRAVITY)
    np.testing.assert_allclose(scene.state.points[0, :, 0] - start, way, atol=0.4 * DT)
    assert np.abs(scene.state.velocity).max() < 1e-9


def test_a_belt_carries_a_point_up_to_its_own_speed():
    scene, _ = scene_on(FLOOR, row(), shifted((0.5, 0, 0)), friction=0.3)
    scene.run(0.1, DT)
    np.testing.assert_allclose(scene.state.velocity[0, :, 0], 0.3 * GRAVITY * 0.1, rtol=1.01 * DT / 0.1)
    scene.run(0.2, DT)
    np.testing.assert_allclose(scene.state.velocity[0, :, 0], 0.5, rtol=1e-6)


def test_a_lift_that_speeds_up_presses_harder():
    def lift(time):  # upwards with 5 m/s^2
        return Pose(np.array([0.0, 2.5 * time**2, 0.0]), np.array([0.0, 0.0, 0.0, 1.0]))

    scene, contact = scene_on(FLOOR, row(), lift, gravity=(1.0, -GRAVITY, 0.0), friction=0.05)
    scene.run(0.2, DT)
    np.testing.assert_allclose(normal_forces(contact), MASS * (GRAVITY + 5.0), rtol=1e-3)
    # Friction of 0.05 (g + 5) = 0.74 m/s^2 against a pull of 1 m/s^2; the first step has a weight of g / 2.
    np.testing.assert_allclose(scene.state.velocity[0, :, 0], 0.2 * (1.0 - 0.05 * (GRAVITY + 5.0)), rtol=0.02)


def spin(rate):
    """Turn about Y."""
    return lambda time: Pose(np.zeros(3), np.array([0.0, np.sin(0.5 * rate * time), 0.0, np.cos(0.5 * rate * time)]))


def test_a_turntable_carries_what_friction_can_hold_and_loses_the_rest():
    # omega^2 r against mu g = 2.94: at 6 rad/s the limit is 8.2 cm.
    points = apart((0.02, 0.0, 0.0), (0.0, 0.0, 0.06), (0.15, 0.0, 0.0))
    scene, _ = scene_on(FLOOR, points, spin(6.0), friction=0.3)
    for index in range(3):  # set down at the table's own speed
        scene.state.velocity[0, index] = np.cross([0.0, 6.0, 0.0], points[0, index])
    scene.run(0.5, DT)
    radius = np.linalg.norm(scene.state.points[0][:, [0, 2]], axis=1)
    # The steps before the normal force is known let a point go straight: two steps at 0.36 m/s are 3e-4 of its radius.
    np.testing.assert_allclose(radius[:2], [0.02, 0.06], rtol=1e-3)
    assert radius[2] > 0.3


def test_what_is_thrown_leaves_without_adhesion():
    def lift(time):  # up at 1 m/s for 50 ms, then still
        return Pose(np.array([0.0, min(time, 0.05), 0.0]), np.array([0.0, 0.0, 0.0, 1.0]))

    scene, _ = scene_on(FLOOR, row(), lift)
    scene.run(0.05, DT)
    highest = 0.0
    for _ in range(150):
        scene.step(DT)
        highest = max(highest, scene.state.points[0, 0, 1])
    # One substep may pass before the contact is given up; a step of implicit Euler costs v dt / 2.
    assert highest == pytest.approx(0.05 + 1.0 / (2 * GRAVITY), abs=2e-3)


def test_what_starts_inside_comes_out_at_the_stated_speed():
    ball = Sphere((0.0, 0.0, 0.0), 0.1)
    points = apart((0.05, 0.0, 0.0), (0.0, 0.06, 0.0), (0.0, 0.0, 0.07))
    scene, _ = scene_on(ball, points, gravity=(0, 0, 0), push_out_speed=0.2, friction=0.0)
    scene.run(0.1, DT)
    np.testing.assert_allclose(scene.state.points[0, :2], [[0.07, 0, 0], [0, 0.08, 0]], atol=1e-4)
    scene.run(0.2, DT)
    # Pushed out, not shot: the last piece of the way is so short that nothing slows it down.
    assert np.abs(scene.state.velocity).max() < DEEP * 0.2
    np.testing.assert_allclose(np.linalg.norm(scene.state.points[0, :2], axis=1), 0.1, atol=DEEP * 0.2 * 0.1)


@pytest.mark.parametrize("dt", [4e-3, 1e-3])
def test_penalty_sinks_in_by_the_stated_depth_under_the_stated_load(dt):
    scene, contact = scene_on(FLOOR, row(), mode="penalty", penalty_depth=2e-4, penalty_load=1.0)
    report = scene.run(1.0, dt)
    assert report.penetration == pytest.approx(2e-4, rel=1e-3)
    np.testing.assert_allclose(normal_forces(contact), MASS * GRAVITY, rtol=1e-3)


@pytest.mark.parametrize("depth", [1e-5, 3e-4, 2e-3])
def test_penalty_pushes_in_proportion_to_the_depth(depth):
    # chai2017 5.1. Stated for 10 g at 1 cm, so softly that a step changes the depth by 1e-3 of itself.
    settings = {"mode": "penalty", "penalty_depth": 0.01, "penalty_load": 10.0, "push_out_speed": 1e3}
    scene, contact = scene_on(FLOOR, row(-depth), gravity=(0, 0, 0), **settings)
    scene.step(1e-4)
    np.testing.assert_allclose(normal_forces(contact), MASS * 10 * GRAVITY * depth / 0.01, rtol=1e-3)
    assert (normal_forces(contact) > 0).all()


@pytest.mark.parametrize("dt", [4e-3, 1e-3, 2.5e-4])
def test_penalty_lets_nothing_out_faster_than_stated(dt):
    ball = Sphere((0.0, 0.0, 0.0), 0.1)
    points = apart((0.05, 0.0, 0.0), (0.0, 0.06, 0.0), (0.0, 0.0, 0.07))
    scene, _ = scene_on(ball, points, gravity=(0, 0, 0), mode="penalty", push_out_speed=0.2, friction=0.0)
    fastest = 0.0
    for _ in range(round(0.3 / dt)):
        scene.step(dt)
        fastest = max(fastest, np.linalg.norm(scene.state.velocity[0], axis=1).max())
    assert 0.15 < fastest < 0.2 * (1 + 1e-9)
    assert np.linalg.norm(scene.state.points[0], axis=1).min() > 0.0999


def test_thickness_is_kept_free():
    scene, _ = scene_on(FLOOR, row(0.01), thickness=2e-3)
    report = scene.run(0.2, DT)
    np.testing.assert_allclose(scene.state.points[0, :, 1], 2e-3, atol=1e-7)
    assert report.penetration == 0.0


@pytest.mark.parametrize("speed", [0.3, 2.0, 7.0])
@pytest.mark.parametrize("phase", [0.0, 0.31, 0.77])
def test_a_thin_tooth_carries_a_segment_along(speed, phase):
    # A tooth of 1 mm crosses segments of 8 mm between their ends, at 7 m/s within one step and far beyond.
    points = apart((0.0, 0.0, 0.0), (0.008, 0.0, 0.0), (0.016, 0.0, 0.0))
    tooth = Capsule((0, 0, -0.05), (0, 0, 0.05), 5e-4)
    start = (0.002 + 0.009 * phase, -0.001 - phase * speed * DT, 0.0)
    scene, _ = scene_on(tooth, points, shifted((0, speed, 0), start), gravity=(0, 0, 0), friction=0.0, mend=True)
    for _ in range(6):
        scene.step(DT)
        height = np.interp(start[0], scene.state.points[0, :, 0], scene.state.points[0, :, 1])
        assert height - (start[1] + speed * scene.time) > 0.0


def test_a_body_as_wide_as_a_segment_is_no_tooth():
    """What falls on it aslant is stopped by its surface, not thrown across the strand as if by a thin rod."""
    points = apart((-0.0098, 0.001, 0.0), (0.0, 0.0005, 0.0), (0.004, 0.0102, 0.0))
    ball = Sphere((0.0, -0.0095, 0.0), 0.0095)
    scene, _ = scene_on(ball, points, gravity=(0, 0, 0), friction=0.0)
    scene.state.velocity[..., 1] = -1.0
    scene.run(0.002, DT)
    assert abs(scene.state.points[0, 1, 1]) < DT / HARD
    assert abs(scene.state.velocity[0, 1, 1]) < RECOVERY / HARD


@pytest.mark.parametrize("size", [0.125, 8.0])
def test_bodies_of_any_size_are_alike(size):
    """The same scene, lengths and gravity times a power of two, is the same to the last digits but one."""

    def run(scale):
        ball = Box((0, 0, 0), np.array([0.5, 0.25, 0.5]) * scale, rounding=0.125 * scale)
        points = scale * np.array([[[0.1, 0.4, 0.1], [0.2, 0.3, -0.2], [-0.3, 0.5, 0.2]]])
        contact = SolidContact(friction=0.3, push_out_speed=0.5 * scale)
        model = make_model(points, mass=MASS, gravity=(scale, -GRAVITY * scale, 0))
        scene = Scene(PointSolver(model), [contact], [], [(ball, still)])
        scene.run(0.3, DT)
        return scene.state.points / scale

    np.testing.assert_allclose(run(size), run(1.0), rtol=1e-9)


def moving_scene():
    rng = np.random.default_rng(3)
    points = rng.uniform(-0.15, 0.15, (12, 6, 3)) + [0, 0.12, 0]
    contact = SolidContact(friction=0.4)
    tooth = Capsule((0, 0, -0.3), (0, 0, 0.3), 0.004)
    solids = [(Sphere((0, 0, 0), 0.1), spin(5.0)), (tooth, shifted((0.5, 0, 0), (-0.1, 0.11, 0)))]
    return Scene(PointSolver(make_model(points, mass=MASS)), [contact], [], solids), contact


def test_continuing_from_a_memory_is_not_stopping():
    scene, contact = moving_scene()
    scene.run(0.08, DT)
    saved, memory, time = scene.state.copy(), contact.memory(), scene.time
    assert memory["0.count"].sum() > 0
    scene.run(0.05, DT)
    again, fresh = moving_scene()
    again.state.assign(saved)
    again.time = time
    fresh.restore(memory)
    assert all(np.array_equal(fresh.memory()[name], memory[name]) for name in memory)
    again.run(0.05, DT)
    assert np.array_equal(again.state.points, scene.state.points)
    assert np.array_equal(again.state.velocity, scene.state.velocity)


def test_the_number_of_threads_changes_nothing(on_threads):
    def moved():
        scene, contact = moving_scene()
        scene.run(0.1, DT)
        return scene.state, contact.memory(), contact.report()

    on_threads(moved)


def test_forgotten_strands_have_no_contacts():
    scene, contact = moving_scene()
    scene.run(0.08, DT)
    gone = np.arange(12) < 6
    contact.forget(gone)
    count = contact.memory()["0.count"]
    assert count[gone].sum() == 0
    assert count[~gone].sum() > 0


def test_a_mesh_is_met_like_the_shape_it_is_made_of():
    def run(geometry):
        points = np.array([[[0.01, 0.13, 0.0], [0.4, 0.13, 0.02], [0.0, 0.11, 0.03]]])
        scene, _ = scene_on(geometry, points, friction=5.0)
        scene.run(0.1, DT)
        return scene.state.points[0, [0, 2]]

    ball = Sphere((0, 0, 0), 0.1)
    mesh = ball.mesh(64)
    # Flat triangles are up to r (1 - cos(pi / 64)) = 0.12 mm below the sphere, and the field, with cells of 5 mm, is
    # off by h^2 / 4 r = 0.06 mm; a point on a slope of one half lands as far beside.
    np.testing.assert_allclose(run(Solid(mesh, field=build_sdf(mesh, 48, cache=False))), run(ball), atol=2.5e-4)


def test_a_mesh_that_deforms_carries_what_lies_on_it():
    mesh = Box((0, -0.1, 0), (0.5, 0.1, 0.5)).mesh()
    frames = np.stack([mesh.points, mesh.points + np.float32([0.1, 0.1, 0])])
    solid = Solid.animated(mesh, [0.0, 0.2], frames)
    points = np.array([[[0.0, 0.001, 0.0], [0.1, 0.002, 0.1], [0.2, 0.001, -0.2]]])
    scene, _ = scene_on(solid, points, friction=2.0)
    report = scene.run(0.18, DT)
    np.testing.assert_allclose(scene.state.points[0, :, 1], 0.09, atol=2e-5)
    assert report.penetration < 2e-5
    # Met after at most 4 ms, and friction of 2 g takes 26 ms to give them the speed of the mesh: 2 + 7 of 90 mm lost.
    assert (scene.state.points[0, :, 0] - points[0, :, 0]).min() > 0.08


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "soft"}, "contact.mode: 'soft' is unknown; choose from hard, penalty"),
        ({"friction": -0.1}, "contact.friction: must be a finite number, zero or more, got -0.1"),
        ({"thickness": np.nan}, "contact.thickness: must be a finite number, zero or more, got nan"),
        ({"push_out_speed": 0.0}, "contact.push_out_speed: must be a finite number above zero, got 0.0"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        SolidContact(**settings)
