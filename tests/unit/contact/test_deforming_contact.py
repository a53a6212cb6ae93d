"""Contact with a mesh that deforms: exact velocities, nothing passed by, and as rigid where it moves rigidly."""

import numpy as np
import pytest
from mass_points import GRAVITY, PointSolver, Scene, make_model, still

import mane
from mane.body.motion import Pose
from mane.body.shapes import Box, Capsule, Sphere
from mane.body.solid import Solid
from mane.contact.solids._kernels_deforming import TRIANGLE
from mane.contact.solids.contact import SolidContact
from mane.contact.solids.projection import SolidProjection
from mane.geometry import quaternion
from mane.groom.select import select_guides
from mane.scene.simulation import Simulation

DT = 1e-3


def scene_on(solid, points, pose=still, *, gravity=(0.0, -GRAVITY, 0.0), mend=False, **settings):
    contact = SolidContact(**settings)
    solver = PointSolver(make_model(points, mass=1e-7, gravity=gravity))
    return Scene(solver, [contact], [SolidProjection()] if mend else [], [(solid, pose)])


def test_a_conveyor_takes_along_what_lies_on_it_by_coulombs_law():
    """The top of the belt moves at 0.2 m/s: friction speeds points up by mu g until they have its velocity."""
    mesh, speed, mu = Box((0, -0.5, 0), (0.5, 0.5, 0.5)).mesh(), 0.2, 0.3
    frames = np.stack([mesh.points, mesh.points + np.float32([speed, 0, 0])])
    points = np.array([[[0.0, 0.0, 0.0], [0.01, 0.0, 0.01], [-0.01, 0.0, -0.01]]])
    scene = scene_on(Solid.animated(mesh, [0.0, 1.0], frames), points, friction=mu)
    speeds = []
    for _ in range(120):
        scene.step(DT)
        speeds.append(scene.state.velocity[0, :, 0].copy())
    speeds = np.array(speeds)
    steps = np.arange(1, 121) * DT
    sliding = steps < 0.9 * speed / (mu * GRAVITY)
    expected = (mu * GRAVITY * steps[sliding])[:, None].repeat(3, axis=1)
    np.testing.assert_allclose(speeds[sliding], expected, rtol=0.05, atol=4e-3)
    np.testing.assert_allclose(speeds[-20:], speed, rtol=1e-4)
    np.testing.assert_allclose(scene.state.points[0, :, 1], 0.0, atol=2e-6)


def test_a_sphere_that_grows_lifts_a_point_with_the_velocity_of_its_surface():
    mesh = Sphere((0, 0, 0), 0.1).mesh(64)
    frames = np.stack([mesh.points, 1.5 * mesh.points])
    top = mesh.points[mesh.points[:, 1].argmax()].astype(float)
    points = (top + [[0, 1e-4, 0], [0.002, 1e-4, 0.001], [-0.001, 1e-4, -0.002]])[None]
    scene = scene_on(Solid.animated(mesh, [0.0, 1.0], frames), points, friction=0.5)
    report = scene.run(0.4, DT)
    np.testing.assert_allclose(np.linalg.norm(scene.state.points[0], axis=1), 0.1 * 1.2, atol=2e-4)
    np.testing.assert_allclose(scene.state.velocity[0], scene.state.points[0] * 0.5 / 1.2, atol=1e-3 * 0.05)
    assert 0 < report.penetration < 1e-5


@pytest.mark.parametrize("mend", [False, True])
@pytest.mark.parametrize("speed", [1.0, 6.0, 15.0])
def test_a_fast_arm_passes_no_point_by(speed, mend):
    """An arm 4 cm thick goes through a row of points that float before it; within a step it goes up to 6 cm."""
    dt = 4e-3
    mesh = Capsule((-0.3, 0, 0), (0.3, 0, 0), 0.02).mesh(24)
    frames = np.stack([mesh.points - np.float32([0, 0, 0.2]), mesh.points + np.float32([0, 0, 0.2])])
    duration = 0.4 / speed
    arm = Solid.animated(mesh, [0.0, duration], frames)
    points = np.array([[[-0.1, 0.0, 0.0], [0.0, 0.003, 0.001], [0.1, -0.004, 0.0]]])
    scene = scene_on(arm, points, gravity=(0.0, 0.0, 0.0), friction=0.5, mend=mend)
    scene.run(duration, dt)
    end = min(scene.time, duration) / duration * 0.4 - 0.2
    assert (scene.state.points[0, :, 2] > end).all()  # in front of its axis
    distance = np.linalg.norm(scene.state.points[0, :, 1:] - [0, end], axis=1)
    assert distance.min() > 0.02 - 1e-3


def turned(time):
    return Pose(np.array([0.02 * time, 0.3 * time, -0.1 * time]), quaternion.exp(np.array([0.3, 0.2, 1.5]) * time))


def samples(mesh, times):
    return np.stack([turned(t).apply(mesh.points.astype(np.float64)) for t in times]).astype(np.float32)


@pytest.mark.parametrize("mend", [False, True])
def test_triangles_that_move_rigidly_touch_as_a_rigid_mesh_of_triangles_does(mend):
    """One step from equal states: the same triangles, moved by a pose or by their own samples."""
    mesh = Sphere((0, 0, 0), 0.1).mesh(32)
    step = 1 / 192
    rng = np.random.default_rng(8)
    points = rng.normal(size=(30, 6, 3))
    points *= (0.1 + rng.uniform(-0.002, 0.004, (30, 6)))[..., None] / np.linalg.norm(points, axis=2, keepdims=True)
    by_samples = Solid.animated(mesh, [0.0, step], samples(mesh, [0.0, step]))
    by_pose = Solid.animated(mesh, [0.0], mesh.points[None])
    found = []
    for solid, pose in ((by_samples, still), (by_pose, turned)):
        scene = scene_on(solid, points, pose, mend=mend, friction=0.4)
        scene.state.velocity[...] = np.sin(np.arange(points.size)).reshape(points.shape)
        report = scene.step(step)
        assert report.parts["contacts"] > 20
        found.append(scene.state.points.copy())
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


def swinging(frames, met=None):
    """States of guides on a ball, swept by a limb that bends to and fro, frame by frame; first the simulation.

    `met` gets the number of contacts of each frame.
    """
    met = [] if met is None else met
    mesh = Capsule((0.15, -0.25, 0), (0.15, 0.15, 0), 0.02).mesh(16)
    times = np.arange(0, 25) / 24
    bend = 8.0 * (mesh.points[:, 1] + 0.25) ** 2
    swung = [mesh.points + np.sin(9 * t) * bend[:, None] * np.float32([-0.1, 0, 0.06]) for t in times]
    limb = Solid.animated(mesh, times, np.stack(swung).astype(np.float32))
    groom = mane.styles.make("straight", strands=60, vertices=10, seed=1)
    sim = Simulation(select_guides(groom, 12, seed=1), body=mane.shapes.Sphere((0, 0, 0), 0.08), solids=[limb])
    yield sim
    for _ in range(frames):
        sim.step()
        met.append(sim.report.parts["contacts"])
        yield {name: array.tobytes() for name, array in sim.checkpoint().items()}


def forgetting(part, method):
    """Let a part forget what it has measured before each call of `method`."""
    whole, clearances = getattr(part, method), part._clearances

    def look(*args):
        for clearance in clearances._known.values():
            clearance.measured[..., 0] = -np.inf
            if clearance.measured.shape[2] > 4:
                clearance.measured[..., TRIANGLE] = -1
        return whole(*args)

    setattr(part, method, look)


def coat(frames, met=None):
    """States of fur that lies flat on a body that bends while it runs, frame by frame; first the simulation."""
    met = [] if met is None else met
    ball = Sphere((0, 0, 0), 0.15).mesh(32)
    mesh = ball.with_points(ball.points * np.float32([0.3, 1.0, 0.3]))
    times = np.arange(0, 25) / 24
    bend = np.maximum(mesh.points[:, 1:2], 0.0) ** 2
    moved = [mesh.points + np.sin(9 * t) * bend * np.float32([4, 0, 3]) + t * np.float32([0, 1, 0]) for t in times]
    body = Solid.animated(mesh, times, np.stack(moved).astype(np.float32))
    groom = mane.styles.fur(mesh, strands=200, vertices=8, seed=1, length=0.04, lift=0.1)
    sim = Simulation(select_guides(groom, 24, method="farthest", seed=1), body=body)
    yield sim
    for _ in range(frames):
        sim.step()
        met.append(sim.report.parts["contacts"])
        yield {name: array.tobytes() for name, array in sim.checkpoint().items()}


@pytest.mark.parametrize("scene", [swinging, coat])
def test_what_was_measured_before_changes_no_bit(scene):
    met: list[float] = []
    quick, plain = scene(10), scene(10, met)
    next(quick)
    expected = list(quick)
    simulation = next(plain)
    for part in simulation.parts:
        for method in ("add", "measure", "project"):
            if part.name in ("contact", "projection") and hasattr(part, method):
                forgetting(part, method)
    assert list(plain) == expected
    assert max(met) > 0


def test_a_run_that_is_resumed_beside_a_mesh_that_deforms_goes_on_bit_by_bit():
    whole = swinging(12)
    next(whole)
    *_, expected = whole
    first = swinging(7)
    half = next(first)
    list(first)
    other = next(swinging(0))
    other.load_checkpoint(half.checkpoint())
    for _ in range(5):
        other.step()
    assert {name: array.tobytes() for name, array in other.checkpoint().items()} == expected


def test_threads_change_no_byte(on_threads):
    def run():
        *_, last = swinging(6)
        return last

    on_threads(run)
