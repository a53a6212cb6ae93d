"""A step of the spring model: the kernel against the dense reference, and what must not change."""

import numpy as np
import pytest
from spring_hair import GRAVITY, go, hair, helix, no_load, still, straight

from mane.body.shapes import Sphere
from mane.contact.strips.strips import TriangleStrips
from mane.geometry import quaternion
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.scene.simulation import Simulation
from mane.strand.ports import SYMMETRIC, Load
from mane.strand.roots import RootPose
from mane.strand.spring._reference import newton_step
from mane.strand.spring.net import GHOSTS, interleaved
from mane.strand.spring.solver import PRESETS, SpringParams, SpringSolver

AXES = {"x": 0, "y": 1, "z": 2}


def shaken(solver, rng):
    """A state with everything moved and moving at random."""
    state = solver.rest_state(still(solver.model))
    for array, size in ((state.points, 1e-4), (state.velocity, 0.1)):
        array += size * rng.standard_normal(array.shape)
    state.extra["auxiliary"] += 1e-4 * rng.standard_normal(state.extra["auxiliary"].shape)
    state.extra["auxiliary_velocity"] += 0.1 * rng.standard_normal(state.extra["auxiliary"].shape)
    return state


def random_load(model, rng):
    """A load and its resistance as full matrices (G, 3 P, 3 P)."""
    load = no_load(model)
    load.force[...] = 1e-6 * rng.standard_normal(load.force.shape)
    root = 1e-3 * rng.standard_normal((*load.resistance.shape[:2], 3, 3))
    own = root @ np.swapaxes(root, -1, -2)
    between = 1e-8 * rng.standard_normal((*load.coupling.shape[:2], 3, 3))
    between = between + np.swapaxes(between, -1, -2)
    full = np.zeros((model.strand_count, 2 * model.vertex_count + 1, 3, 2 * model.vertex_count + 1, 3))
    for number, (row, column) in enumerate(SYMMETRIC):
        load.resistance[..., number] = own[..., AXES[row], AXES[column]]
        load.coupling[..., number] = between[..., AXES[row], AXES[column]]
    for j in range(model.vertex_count):
        full[:, GHOSTS + 2 * j, :, GHOSTS + 2 * j] = own[:, j]
    for j in range(model.segment_count):
        full[:, GHOSTS + 2 * j, :, GHOSTS + 2 * j + 2] = between[:, j]
        full[:, GHOSTS + 2 * j + 2, :, GHOSTS + 2 * j] = between[:, j]
    size = 3 * full.shape[1]
    return load, full.reshape(-1, size, size)


@pytest.mark.parametrize("iterations", [1, 2])
def test_kernel_agrees_with_the_dense_reference(iterations):
    rng, dt = np.random.default_rng(4), 0.004
    model = hair(helix(11, 6, turns=0.8, length=0.06, seed=1), root=np.arange(11) % 3, damping=0.003)
    solver = SpringSolver(model, iterations=iterations, tolerance=0.0, strain_limit=0.9)
    state = shaken(solver, rng)
    load, resistance = random_load(model, rng)
    turned = RootPose(still(model).positions + 1e-4, np.tile(quaternion.normalize([0.01, 0.02, 0.0, 1.0]), (11, 1)))
    out = state.copy()
    solver.step(state, out, turned, load, dt=dt)
    start = interleaved(state.extra["clamp"], state.points, state.extra["auxiliary"])
    velocity = interleaved(0 * state.extra["clamp"], state.velocity, state.extra["auxiliary_velocity"])
    got = interleaved(out.extra["clamp"], out.points, out.extra["auxiliary"])
    for g in range(model.strand_count):
        particles = start[g] + dt * velocity[g]
        particles[:GHOSTS] = got[g, :GHOSTS]
        if model.root_kind[g] != 2:
            particles[GHOSTS] = turned.positions[g]
        estimate = (particles, state.extra["tension"][g])
        force = solver.net.mass[g][:, None] * GRAVITY
        force[GHOSTS::2] += load.force[g]
        for _ in range(iterations):
            estimate = newton_step(solver.net, g, estimate, (start[g], velocity[g]), (force, resistance[g]), dt)
        # Condition of the matrix, some 1e5 (stretch against bending), times rounding of positions of some 0.1 m.
        np.testing.assert_allclose(got[g], estimate[0], atol=1e-11)
        np.testing.assert_allclose(out.extra["tension"][g], estimate[1], atol=1e-9 * np.abs(estimate[1]).max())


def test_a_step_goes_on_from_a_stage_of_implicit_euler():
    """Velocities go on as they changed; triangles turn on as they turned, each at the end of the one before it."""
    rng, dt = np.random.default_rng(4), 0.002
    model = hair(helix(11, 6, turns=0.8, length=0.06, seed=1), root=np.arange(11) % 3, damping=0.003)
    solver, euler = SpringSolver(model), SpringSolver(model, theta=1.0)
    state = shaken(solver, rng)
    state.points[:, 0] = still(model).positions  # where the clamps are
    roots = RootPose(still(model).positions + 1e-4, still(model).rotations)
    part = solver.params.theta
    out, stage = state.copy(), state.copy()
    solver.step(state, out, roots, no_load(model), dt=dt)
    way = RootPose(state.points[:, 0] + part * (roots.positions - state.points[:, 0]), roots.rotations)
    euler.step(state, stage, way, no_load(model), dt=part * dt)
    gained = (stage.velocity - state.velocity) / part
    held = model.root_kind != 2
    np.testing.assert_allclose(out.velocity[:, 1:], (state.velocity + gained)[:, 1:], atol=1e-9)
    np.testing.assert_allclose(out.points[held, 0], roots.positions[held], atol=1e-15)
    # Cayley's rotation by the spin of the stage
    half = 0.5 * (1 - part) * dt * stage.spin
    turn = quaternion.normalize(np.concatenate([half, np.ones((*half.shape[:2], 1))], axis=-1))
    edges = quaternion.rotate(turn, np.diff(stage.points, axis=1))
    arms = quaternion.rotate(turn, stage.extra["auxiliary"] - stage.points[:, :-1])
    np.testing.assert_allclose(np.diff(out.points, axis=1), edges, atol=1e-12)
    np.testing.assert_allclose(out.extra["auxiliary"] - out.points[:, :-1], arms, atol=1e-12)
    mass = solver.net.mass[~held, GHOSTS:, None]
    moves = interleaved(0 * stage.extra["clamp"], stage.velocity, stage.extra["auxiliary_velocity"])
    start = interleaved(state.extra["clamp"], state.points, state.extra["auxiliary"])
    ends = interleaved(out.extra["clamp"], out.points, out.extra["auxiliary"])
    off = (mass * (ends - start - dt * moves)[~held, GHOSTS:]).sum(axis=1) / mass.sum(axis=1)
    np.testing.assert_allclose(off, 0, atol=1e-12)  # what nothing holds goes where its momentum takes it


def test_further_newton_steps_are_taken_until_nothing_turns():
    model = hair(straight(2, 10, 0.1))
    results = []
    for settings in ({"tolerance": 0.0, "iterations": 20}, {}, {"iterations": 1}):
        solver = SpringSolver(model, sag_free=False, **settings)
        results.append(go(solver, solver.rest_state(still(model)), still(model), 5, dt=0.01).points)
    converged, usual, once = results
    # A last turn of 0.003 rad leaves its square, 1e-5 of a length of 10 cm, over five steps.
    assert np.abs(usual - converged).max() < 5e-6
    assert np.abs(once - converged).max() > 10 * np.abs(usual - converged).max()


def test_clamp_follows_the_root():
    model = hair(helix())
    solver = SpringSolver(model)
    turn = quaternion.from_axis_angle([0.0, 1.0, 0.0], 0.1)
    roots = RootPose(still(model).positions + 0.001, turn[None])
    state = solver.rest_state(still(model))
    solver.step(state, state, roots, no_load(model), dt=0.01)
    expected = solver.rest_state(roots)
    np.testing.assert_allclose(state.extra["clamp"], expected.extra["clamp"], atol=1e-15)
    np.testing.assert_array_equal(state.points[:, 0], roots.positions)


def test_state_is_left_alone_and_in_place_gives_the_same():
    model = hair(helix(9, seed=2))
    solver = SpringSolver(model)
    state = shaken(solver, np.random.default_rng(0))
    before, out, same = state.copy(), state.copy(), state.copy()
    solver.step(state, out, still(model), no_load(model), dt=0.005)
    solver.step(same, same, still(model), no_load(model), dt=0.005)
    for name, array in state.arrays().items():
        np.testing.assert_array_equal(array, before.arrays()[name])
        np.testing.assert_array_equal(out.arrays()[name], same.arrays()[name])


def test_same_bytes_on_one_and_on_two_threads(on_threads):
    model = hair(helix(37, seed=3))

    def steps():
        solver = SpringSolver(model)
        return go(solver, shaken(solver, np.random.default_rng(1)), still(model), 3, dt=0.005)

    on_threads(steps)


def test_a_strand_does_not_feel_its_neighbours_in_the_block():
    points = helix(9, seed=6)
    together = SpringSolver(hair(points))
    alone = SpringSolver(hair(points[4:5]))
    first = go(together, together.rest_state(still(together.model)), still(together.model), 3, dt=0.01)
    second = go(alone, alone.rest_state(still(alone.model)), still(alone.model), 3, dt=0.01)
    np.testing.assert_array_equal(first.points[4], second.points[0])


def test_turning_everything_turns_the_result():
    points = helix(3, seed=7)
    turn = quaternion.normalize(np.array([0.3, -0.5, 0.2, 0.7]))
    results = []
    for rotate in (lambda v: v, lambda v: quaternion.rotate(turn, v)):
        model = hair(rotate(points), gravity=rotate(GRAVITY))
        solver = SpringSolver(model, sag_free=False)
        state = go(solver, solver.rest_state(still(model)), still(model), 20, dt=0.01)
        results.append((state.points, state.cut_force))
    for plain, turned in zip(*results, strict=True):
        # Twenty steps, each with the rounding of a matrix whose condition is some 1e5.
        scale = np.abs(plain).max()
        assert np.abs(quaternion.rotate(turn, plain) - turned).max() < 1e-9 * scale


def test_adopt_brings_auxiliary_particles_along():
    model = hair(helix(2, seed=8))
    solver = SpringSolver(model)
    state = solver.rest_state(still(model))
    kept = state.copy()
    solver.adopt(state, np.array([True, True]))
    # Braces are strained by the weight that they carry, some 1e-6 of their length.
    np.testing.assert_allclose(state.extra["auxiliary"], kept.extra["auxiliary"], atol=1e-7)
    np.testing.assert_allclose(state.orientations, kept.orientations, atol=1e-12)

    kept = state.copy()
    turn = quaternion.from_axis_angle([0.0, 0.0, 1.0], 0.4)
    state.points[0] = quaternion.rotate(turn, state.points[0] - state.points[0, 0]) + state.points[0, 0]
    state.velocity[0] = np.cross([0.0, 0.0, 2.0], state.points[0] - state.points[0, 0])
    solver.adopt(state, np.array([True, False]))
    tangent = np.diff(state.points[0], axis=0) / solver.model.rest_length[0][:, None]
    offset = state.extra["auxiliary"][0] - 0.5 * (state.points[0, 1:] + state.points[0, :-1])
    np.testing.assert_allclose((offset * tangent).sum(axis=1), 0, atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(offset, axis=1), solver.net.offset[0], rtol=1e-9)
    np.testing.assert_allclose(quaternion.rotate(state.orientations[0], [0.0, 0.0, 1.0]), tangent, atol=1e-9)
    across = state.spin[0] - (state.spin[0] * tangent).sum(axis=1)[:, None] * tangent
    spin = np.array([0.0, 0.0, 2.0])
    np.testing.assert_allclose(across, spin - (tangent @ spin)[:, None] * tangent, atol=1e-7)
    np.testing.assert_array_equal(state.extra["auxiliary"][1], kept.extra["auxiliary"][1])


def test_spin_and_frames_of_a_rigidly_turning_free_strand():
    model = hair(helix(seed=9), root=2, gravity=(0.0, 0.0, 0.0))
    solver = SpringSolver(model)
    state = solver.rest_state(still(model))
    spin, dt = np.array([0.3, 0.5, -0.2]), 1e-4
    centre = state.points[0].mean(axis=0)
    state.velocity[0] = np.cross(spin, state.points[0] - centre)
    state.extra["auxiliary_velocity"][0] = np.cross(spin, state.extra["auxiliary"][0] - centre)
    before = state.orientations.copy()
    solver.step(state, state, still(model), no_load(model), dt=dt)
    # A step of dt |spin| = 6e-5 rad is linear to its square.
    np.testing.assert_allclose(state.spin[0], np.tile(spin, (model.segment_count, 1)), atol=1e-3)
    turned = quaternion.multiply(quaternion.exp(spin * dt), before[0])
    np.testing.assert_allclose(state.orientations[0], turned, atol=1e-7)


def test_carry_moves_everything_rigidly():
    model = hair(helix(2, seed=10))
    solver = SpringSolver(model)
    before = still(model)
    turn = quaternion.from_axis_angle([0.0, 1.0, 0.0], 2.0)
    after = RootPose(before.positions + np.array([1.0, 2.0, 3.0]), np.tile(turn, (2, 1)))
    state = solver.rest_state(before)
    solver.carry(state, before, after)
    expected = solver.rest_state(after)
    for name, array in expected.arrays().items():
        np.testing.assert_allclose(state.arrays()[name], array, atol=1e-14, err_msg=name)
    go(solver, state, after, 3, dt=0.01)
    np.testing.assert_allclose(state.points, expected.points, atol=1e-12)


def test_cut_force_is_the_load_beyond_the_cut():
    model = hair(straight(segments=6, length=0.06, direction=(0.0, -1.0, 0.0)))
    solver = SpringSolver(model)
    state = solver.rest_state(still(model))
    weight = state.cut_force.copy()
    assert (weight[0, :, 1] < 0).all()  # pulls down, along the tangent
    # Vertex masses beyond a cut and half a segment's own: to the two percent of it that its auxiliary particle carries.
    beyond = np.cumsum(model.mass[0, ::-1])[::-1][1:] * 9.81
    np.testing.assert_allclose(-weight[0, :, 1], beyond, rtol=0.03)
    load = no_load(model)
    load.force[0, 3] = (0.0, -1e-6, 0.0)
    go(solver, state, still(model), 300, dt=0.01, load=load)
    pulled = np.where(np.arange(6) < 3, 1e-6, 0.0)
    np.testing.assert_allclose(weight[0, :, 1] - state.cut_force[0, :, 1], pulled, atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"iterations": 0}, "iterations: must be at least 1"),
        ({"tolerance": -1.0}, "tolerance: must be at least 0, got"),
        ({"strain_limit": 0.0}, "strain_limit: must be above 0"),
        ({"bend": -1.0}, "bend: must be above 0, got"),
        ({"friction": float("nan")}, "friction: must be at least 0, got nan"),
        ({"damping": 10.0}, "damping: needs `bend`"),
        ({"preset": "chai2018"}, "preset: 'chai2018' is unknown"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        SpringSolver(hair(helix()), **settings)


def test_presets_hold_the_numbers_of_the_paper():
    table = {}
    for name in PRESETS:
        p = SpringParams(preset=name)
        table[name] = (p.stretch, p.bend, p.twist, p.damping, p.friction)
    assert table == {"chai2017_straight": (3e5, 30, 15, 10, 0.05), "chai2017_wavy": (2e6, 200, 100, 10, 0.1)}
    model = hair(straight())
    solver = SpringSolver(model, preset="chai2017_straight", sag_free=False)
    assert SpringParams(preset="chai2017_wavy", bend=5.0).bend == 5
    segment_mass = model.mass.sum() / model.segment_count
    assert solver.net.stiffness[0, -1, 1] == pytest.approx(3e5 * segment_mass / 0.01)


def test_a_preset_that_is_too_soft_for_its_groom_says_what_was_stiffened():
    points = straight(segments=10, length=0.25)  # sticks out sideways
    solver = SpringSolver(hair(points), preset="chai2017_straight")
    raised = solver.joint_stiffening > 1
    assert 0.5 < raised.mean() < 1
    assert f"{raised.sum()} of 10 joints are too soft to carry the groom" in solver.note
    assert f"the softest {solver.joint_stiffening.max():.3g} times" in solver.note
    assert SpringSolver(hair(points), preset="chai2017_straight", sag_free=False).note == ""
    short = hair(straight(segments=10, length=0.03))
    assert SpringSolver(short).note == ""
    # and whoever runs it is told
    guides = Guides.from_groom(Groom.from_uniform(points.astype(np.float32)))
    assert solver.note in Simulation(guides, "spring", preset="chai2017_straight", stiffen_to_stand="off").note


def test_a_preset_brings_its_friction_unless_a_contact_has_its_own():
    guides = Guides.from_groom(Groom.from_uniform(helix(2).astype(np.float32)))

    def frictions(contact=None, **settings):
        strips = TriangleStrips(**settings)
        sim = Simulation(
            guides, "spring", preset="chai2017_wavy", body=Sphere((0, -1, 0), 0.5), contact=contact, forces=[strips]
        )
        (solid,) = (part for part in sim.parts if part.name == "contact")
        model = sim.stages[1].model
        return solid.params.laws(model, 0.01)[2], strips.params.laws(model)[2]

    assert frictions() == (0.1, 0.1)
    assert frictions({"friction": 0.4}, friction=0.2) == (0.4, 0.2)
    assert SpringSolver(hair(helix())).model.friction == 0.3


def test_load_is_only_read():
    model = hair(helix())
    solver = SpringSolver(model)
    load, _ = random_load(model, np.random.default_rng(5))
    copy = Load(load.force.copy(), load.resistance.copy(), load.coupling.copy())
    state = solver.rest_state(still(model))
    solver.step(state, state, still(model), load, dt=0.01)
    np.testing.assert_array_equal(load.force, copy.force)
    np.testing.assert_array_equal(load.resistance, copy.resistance)
