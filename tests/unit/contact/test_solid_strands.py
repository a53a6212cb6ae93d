"""Whole strands that meet solids: sliding, carried, draped, combed, shaken."""

import numpy as np
import pytest
from mass_points import Scene, shifted, still

from mane.body.motion import Pose
from mane.body.props.comb import make_comb
from mane.body.sdf import build_sdf
from mane.body.shapes import Box, Capsule, Plane, Sphere
from mane.body.solid import Solid
from mane.contact.solids.contact import SolidContact
from mane.contact.solids.projection import SolidProjection
from mane.strand.cosserat.solver import CosseratSolver
from mane.strand.material import Material
from mane.strand.roots import RootPose
from mane.strand.solver import SOLVERS, make_solver

DT = 1e-3
SEGMENT = 0.2 / 24


def hair(points, root="clamped", **material):
    return Material(**material).model(np.asarray(points, np.float64), root=root)


def hanging(x=0.0):
    points = np.zeros((1, 25, 3))
    points[..., 0] = x
    points[..., 1] = -SEGMENT * np.arange(25)
    return points


def parts(**settings):
    return [SolidContact(**settings)], [SolidProjection()]


models = pytest.mark.parametrize("model", sorted(SOLVERS))


def lying(direction):
    """A free strand of 10 cm on the floor, along a direction of it."""
    points = np.zeros((1, 13, 3))
    points[0] = np.linspace(-0.05, 0.05, 13)[:, None] * np.asarray(direction, np.float64)
    return points


def on_floor(model, direction, pose, friction=0.3, gravity=(0.0, -9.81, 0.0)):
    hair_model = Material().model(lying(direction), root="free", gravity=gravity)
    solver = make_solver(model, hair_model, sag_free=False)
    return Scene(solver, [SolidContact(friction=friction)], [SolidProjection()], [(Plane((0, 0, 0), (0, 1, 0)), pose)])


@models
@pytest.mark.parametrize("direction", [(0, 0, 1), (1, 0, 0), (0.6, 0, 0.8)])
def test_a_belt_carries_a_strand_up_to_its_own_speed(model, direction):
    scene = on_floor(model, direction, shifted((0.5, 0, 0)))
    scene.run(0.02, DT)
    start = scene.state.velocity[0].mean(axis=0)
    scene.run(0.1, DT)
    gained = (scene.state.velocity[0].mean(axis=0) - start) / 0.1
    np.testing.assert_allclose(gained, [0.3 * 9.81, 0.0, 0.0], atol=0.01 * 0.3 * 9.81)
    scene.run(0.1, DT)
    np.testing.assert_allclose(scene.state.velocity[0], [[0.5, 0.0, 0.0]] * 13, atol=1e-5)


@models
@pytest.mark.parametrize("direction", [(0, 0, 1), (1, 0, 0)])
@pytest.mark.parametrize(("pull", "expected"), [(0.95, 0.0), (1.05, 0.05)])
def test_a_strand_is_held_up_to_the_cone_of_friction(model, direction, pull, expected):
    limit = 0.3 * 9.81
    scene = on_floor(model, direction, still, gravity=(pull * limit, -9.81, 0.0))
    scene.run(0.1, DT)
    start = scene.state.velocity[0].mean(axis=0)
    scene.run(0.1, DT)
    gained = (scene.state.velocity[0].mean(axis=0) - start) / 0.1
    if expected == 0.0:
        assert np.abs(scene.state.velocity).max() < 1e-10
    else:
        np.testing.assert_allclose(gained, [expected * limit, 0.0, 0.0], atol=0.01 * expected * limit)


@pytest.mark.parametrize("radius", [0.05, 0.5, 2.5])
def test_hair_lies_alike_on_bodies_of_any_size(radius):
    """Hair on top of a ball far from the origin: a few steps after it was laid down it rests, and nothing is inside."""
    points = lying((1, 0, 0)) + [3.0, 1e-3, -2.0]
    solver = CosseratSolver(hair(points, "free", damping=0.05), sag_free=False)
    ball = Sphere((3.0, -radius, -2.0), radius)
    scene = Scene(solver, [SolidContact(friction=0.5)], [SolidProjection()], [(ball, still)])
    deepest = 0.0
    for _ in range(400):
        deepest = max(deepest, scene.step(DT).penetration)
    assert deepest < 0.01 * model_segment(solver)
    assert np.abs(scene.state.velocity).max() < 1e-4
    middle = np.linalg.norm(scene.state.points[0, 6] - [3.0, -radius, -2.0]) - radius
    assert abs(middle) < 0.01 * model_segment(solver)


def model_segment(solver):
    return float(solver.model.rest_length.min())


def open_plate():
    """A plate of 4 mm, thinner than a segment, as a mesh that lacks one of its sides."""
    mesh = Box((0, 0, 0), (0.05, 0.002, 0.05)).mesh()
    normal = np.cross(
        mesh.points[mesh.faces[:, 1]] - mesh.points[mesh.faces[:, 0]],
        mesh.points[mesh.faces[:, 2]] - mesh.points[mesh.faces[:, 0]],
    )
    side = normal[:, 0] > 0.9 * np.linalg.norm(normal, axis=1)
    assert side.any()
    return type(mesh)(mesh.points, mesh.faces[~side])


@pytest.mark.parametrize("speed", [0.5, 5.0, 12.0])
def test_a_thin_open_mesh_is_not_passed(speed):
    """A plate thrown upwards against a strand, at 12 m/s by three of its thicknesses in a step."""
    mesh = open_plate()
    plate = Solid(mesh, field=build_sdf(mesh, cell_size=1e-3, cache=False))
    points = lying((0.6, 0, 0.8))
    solver = CosseratSolver(hair(points, "free"), sag_free=False)
    start = -0.02 - 0.3 * speed * DT
    scene = Scene(solver, [SolidContact()], [SolidProjection()], [(plate, shifted((0, speed, 0), (0.0, start, 0.0)))])
    while start + speed * scene.time < 0.03:
        scene.step(DT)
        over = (np.abs(scene.state.points[0][:, [0, 2]]) < 0.048).all(axis=1)
        assert over.sum() > 5
        # The field is off by up to half a cell at the edges of the plate.
        assert (scene.state.points[0, over, 1] > start + speed * scene.time + 0.002 - 5e-4).all()


def test_a_strand_drapes_over_a_ball_and_comes_to_rest():
    points = np.zeros((1, 25, 3))
    points[0, :, 0] = SEGMENT * (np.arange(25) - 12.3)
    points[0, :, 1] = 0.065
    forces, constraints = parts(friction=0.5)
    solver = CosseratSolver(hair(points, "free", damping=0.05), sag_free=False)
    scene = Scene(solver, forces, constraints, [(Sphere((0, 0, 0), 0.06), still)])
    deepest = 0.0
    for _ in range(600):
        report = scene.step(DT)
        deepest = max(deepest, report.penetration)
    assert deepest < 0.01 * SEGMENT
    assert report.stretch < 1e-3
    assert report.parts["contacts"] >= 3
    # It hangs on both sides, where it was laid: neither slides off nor creeps.
    assert abs(scene.state.points[0, 12, 0] - points[0, 12, 0]) < SEGMENT
    assert scene.state.points[0, [0, -1], 1].max() < 0.05
    centre = scene.state.points.mean(axis=1)
    scene.run(0.1, DT)
    assert np.abs(scene.state.points.mean(axis=1) - centre).max() < 0.1 * SEGMENT


def test_a_body_as_wide_as_a_segment_throws_nothing_off():
    """Long segments that fall on a ball of their own size: a fight of places on one segment would shoot them away."""
    points = np.zeros((4, 13, 3))
    points[..., 0] = 0.024 * (np.arange(13) - np.array([[5.5], [5.8], [6.0], [6.3]]))
    points[..., 1], points[..., 2] = 0.03, np.array([[0.0], [0.003], [-0.005], [0.01]])
    solver = CosseratSolver(hair(points, "free"), sag_free=False)
    ball = Sphere((0, 0, 0), 0.022)
    scene = Scene(solver, [SolidContact()], [SolidProjection()], [(ball, still)])
    highest, touched = solver.energy(scene.state), 0.0
    for _ in range(150):
        touched = max(touched, scene.step(4 * DT).parts["contacts"])
        energy = solver.energy(scene.state)
        # The middle of a segment whose ends rest on the ball is l^2 / 8 r inside; it may be pushed out from there.
        assert (energy < highest + 9.81 * solver.model.mass.sum(axis=1) * 0.024**2 / (8 * 0.022)).all()
        highest = np.minimum(highest, energy)
    assert touched > 4


def test_a_strand_that_runs_against_the_spine_of_a_comb_stays_outside():
    """The spine is no tooth: it stops what comes along the strand as well."""
    comb = make_comb(teeth=6).shape
    points = np.zeros((1, 10, 3))
    points[0, :, 2] = 0.005 + 0.01 * np.arange(10)[::-1]
    points[0, :, 1] = 0.006  # at the height of the spine, the tip towards its flat side
    solver = CosseratSolver(hair(points, "free"), sag_free=False)
    scene = Scene(solver, [SolidContact()], [SolidProjection()], [(comb, shifted((0, 0, 0.5)))])
    for _ in range(40):
        scene.step(DT)
        local = scene.state.points[0] - [0.0, 0.0, 0.5 * scene.time]
        assert comb.distance(local.astype(np.float32)).min() > -6e-4  # as deep as a tooth is thick


def crosses(before, after):
    """Whether the origin, seen in a plane, passed from one side of a polyline (V, 2) to the other, vertices on lines.

    A segment sweeps over the origin at time t where the origin is on the line through its ends, which is a quadratic
    equation; two crossings in one step are none.
    """
    count = 0
    for a, b, da, db in zip(before[:-1], before[1:], *(part for part in _ways(before, after)), strict=True):
        edge, turn = b - a, db - da
        square = _cross(da, turn)
        linear = _cross(a, turn) + _cross(da, edge)
        for time in np.roots([square, linear, _cross(a, edge)]):
            if abs(time.imag) < 1e-12 and 0 <= time.real <= 1:
                along = edge + time.real * turn
                share = -((a + time.real * da) @ along) / (along @ along)
                count += bool(0 <= share < 1)
    return count % 2 == 1


def _ways(before, after):
    return (after - before)[:-1], (after - before)[1:]


def _cross(a, b):
    return a[0] * b[1] - a[1] * b[0]


def comb_through(speed, phase, travel):
    """Drag a tooth of 1 mm across a hanging strand; return whether it ever passed through, and the largest stretch."""
    forces, constraints = parts(friction=0.3)
    start = np.array([-0.004 - phase * speed * DT, -0.1 - phase * SEGMENT, 0.0])
    tooth = Capsule((0, 0, -0.05), (0, 0, 0.05), 5e-4)
    scene = Scene(CosseratSolver(hair(hanging())), forces, constraints, [(tooth, shifted((speed, 0, 0), start))])
    passed, stretch = False, 0.0
    while start[0] + speed * scene.time < travel:
        here = start[:2] + [speed * scene.time, 0.0]
        before = scene.state.points[0, :, :2] - here
        stretch = max(stretch, scene.step(DT).stretch)
        passed |= crosses(before, scene.state.points[0, :, :2] - start[:2] - [speed * scene.time, 0.0])
    return passed, stretch


@pytest.mark.parametrize("speed", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("phase", [0.0, 0.37, 0.71])
def test_a_tooth_drags_a_strand_along_until_it_is_taut(speed, phase):
    # At 6 cm the strand has had to slide over the tooth by two segments.
    passed, stretch = comb_through(speed, phase, 0.06)
    assert not passed
    assert stretch < 0.01


@pytest.mark.parametrize("speed", [5.0, 10.0, 20.0])
@pytest.mark.parametrize("phase", [0.0, 0.125, 0.37, 0.6, 0.85])
def test_a_tooth_that_crosses_within_a_step_catches_the_strand(speed, phase):
    # 20 m/s are two and a half segments, or twenty teeth, in one step.
    passed, _ = comb_through(speed, phase, 0.01)
    assert not passed


def shaken_ball(strands=24):
    """Strands on top of a ball that turns to and fro by 45 degrees, twice a second; they fall all over it."""
    rng = np.random.default_rng(4)
    out = rng.normal(size=(strands, 3)) * [0.5, 0.0, 0.5] + [0.0, 1.0, 0.0]
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    reach = 0.06 + 0.01 * np.arange(16)
    model = hair(out[:, None] * reach[:, None])

    def pose(time):
        angle = np.radians(45) * np.sin(4 * np.pi * time)
        return Pose(np.zeros(3), np.array([0.0, np.sin(0.5 * angle), 0.0, np.cos(0.5 * angle)]))

    forces, constraints = parts()
    solver = CosseratSolver(model, sag_free=False)  # so that it falls onto the ball
    scene = Scene(solver, forces, constraints, [(Sphere((0, 0, 0), 0.06), pose)])
    return scene, pose, model


def test_no_strand_of_a_shaken_head_ends_up_inside():
    scene, pose, model = shaken_ball()
    deepest, contacts = 0.0, []
    for step in range(300):
        scene.roots = RootPose.carried(model.rest_points[:, 0], pose((step + 1) * 2 * DT))
        report = scene.step(2 * DT)
        deepest = max(deepest, report.penetration)
        contacts.append(report.parts["contacts"])
    # The first segment is left alone up to a twentieth of its length.
    assert deepest < 0.06 * 0.01
    assert max(contacts) > 20
    distance = np.linalg.norm(scene.state.points[:, 2:], axis=2)
    assert distance.min() > 0.06 - 0.01 * 0.01
