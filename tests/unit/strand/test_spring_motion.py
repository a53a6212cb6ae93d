"""How the spring model moves: equilibrium, the elastica, free fall, momentum, energy, curls and violent motion."""

import numpy as np
import pytest
from scipy.integrate import solve_bvp
from spring_hair import AREA, DENSITY, GRAVITY, SECOND_MOMENT, YOUNG, go, hair, helix, no_load, still, straight

from mane.geometry import quaternion
from mane.strand.roots import RootPose
from mane.strand.spring._reference import elastic_energy, forces_and_matrix
from mane.strand.spring.net import GHOSTS, interleaved
from mane.strand.spring.solver import SpringSolver
from mane.strand.standing.stiffen import stiffen_to_stand
from mane.strand.stepping import StepPath, Stepper


def particles_of(state):
    return interleaved(state.extra["clamp"], state.points, state.extra["auxiliary"])


def settle(solver, steps, *, dt=0.01, rate=60.0, load=None):
    """Come to rest in thick air that resists every vertex by `rate` times its mass."""
    model = solver.model
    load = no_load(model) if load is None else load
    load.resistance[..., :3] = rate * model.mass[..., None]
    return go(solver, solver.rest_state(still(model)), still(model), steps, dt=dt, load=load)


@pytest.mark.parametrize(
    ("points", "preset"),
    [
        (helix(3, seed=1), None),
        (helix(3, seed=1), "chai2017_wavy"),
        (straight(direction=(0.0, -1.0, 0.0)), "chai2017_straight"),
        (straight(length=0.05), None),  # sideways, which the presets are too soft for
    ],
)
def test_rest_stays_at_rest(points, preset):
    model = hair(points)
    solver = SpringSolver(model, preset=preset)
    rest = solver.rest_state(still(model))
    state = go(solver, rest.copy(), still(model), 100, dt=0.01)
    # Rounding of rest lengths, 1e-18 m, over the ratio of stretching to bending stiffness, 1e5 to 1e6, and to spare.
    np.testing.assert_allclose(state.points, rest.points, atol=1e-11)
    np.testing.assert_allclose(state.orientations, rest.orientations, atol=1e-9)
    np.testing.assert_allclose(state.cut_force, rest.cut_force, atol=1e-6 * np.abs(rest.cut_force).max())


def test_equilibrium_is_where_a_dense_newton_search_finds_the_least_energy():
    model = hair(helix(segments=4, turns=0.5, length=0.05))
    solver = SpringSolver(model, sag_free=False)
    settled = particles_of(settle(solver, 500))[0]

    net, free = solver.net, np.repeat(~solver.net.is_held[0], 3)
    weight = net.mass[0][:, None] * GRAVITY
    nothing = np.zeros_like(weight)

    def energy(x):
        return elastic_energy(net, 0, x) - (weight * x).sum()

    x = net.rest_points[0].copy()
    for _ in range(400):
        force, matrix = forces_and_matrix(net, 0, x, nothing, nothing, 1.0)
        slope = (force + weight).ravel()[free]
        if np.abs(slope).max() < 1e-13:
            break
        step = np.zeros_like(x)
        step.ravel()[free] = np.linalg.solve(matrix[np.ix_(free, free)], slope)
        size = 1.0
        while size > 1e-6 and energy(x + size * step) > energy(x):
            size *= 0.5
        x = x + size * step
    # What is left of the forces, 1e-13 N, bends a strand of 5 cm by L^3 / (3 E I) times as much: 1e-9 m.
    np.testing.assert_allclose(settled, x, atol=1e-8)


def elastica(gravity_number):
    """Height over width of a horizontally clamped heavy elastica, theta'' = -G (1 - s) cos(theta)."""
    s, y = np.linspace(0, 1, 100), np.zeros((4, 100))
    for g in np.geomspace(min(1.0, gravity_number), gravity_number, 6):
        solution = solve_bvp(
            lambda s, y, g=g: np.stack([y[1], -g * (1 - s) * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])]),
            lambda a, b: np.array([a[0], b[1], a[2], a[3]]),
            s,
            y,
            tol=1e-6,
        )
        s, y = solution.x, solution.y
    return y[3, -1] / y[2, -1]


def cantilevers(gravity_numbers, segments, azimuths):
    """Height over width, (A, G), of horizontal hairs with G = rho A g L^3 / (E I), pulled down from any side.

    The model knows of no gravity: the weight is a load, so that auxiliary particles stand at any angle to it.
    """
    lengths = (np.asarray(gravity_numbers) * YOUNG * SECOND_MOMENT / (DENSITY * AREA * 9.81)) ** (1 / 3)
    points = np.concatenate([straight(1, segments, length) for _ in azimuths for length in lengths])
    model = hair(points, gravity=(0.0, 0.0, 0.0))
    down = np.stack([0 * azimuths, -np.cos(azimuths), np.sin(azimuths)], axis=1).repeat(len(lengths), axis=0)
    load = no_load(model)
    load.force[...] = 9.81 * model.mass[..., None] * down[:, None]
    tip = settle(SpringSolver(model, sag_free=False), 600, rate=20.0, load=load).points[:, -1]
    return ((tip * down).sum(axis=1) / tip[:, 0]).reshape(len(azimuths), -1)


def test_cantilever_hangs_like_the_elastica_to_whichever_side():
    numbers = (0.1, 1.0, 10.0, 100.0)
    exact = np.array([elastica(number) for number in numbers])
    azimuths = np.arange(8) * np.pi / 4
    fine = np.abs(cantilevers(numbers, 25, azimuths) / exact - 1).max(axis=0)
    coarse = np.abs(cantilevers(numbers, 12, azimuths) / exact - 1).max(axis=0)
    # Second order in the angle of a joint: at G = 100 the first ones bend by half a radian with 25 segments, and answer
    # differently to either side.
    assert (fine < [0.01, 0.01, 0.01, 0.05]).all(), fine
    assert (fine < 0.5 * coarse).all(), (fine, coarse)


def test_cantilever_whose_clamp_knows_where_down_is():
    length = (100 * YOUNG * SECOND_MOMENT / (DENSITY * AREA * 9.81)) ** (1 / 3)
    tip = settle(SpringSolver(hair(straight(1, 25, length)), sag_free=False), 600, rate=20.0).points[0, -1]
    assert -tip[1] / tip[0] == pytest.approx(elastica(100.0), rel=0.01)


def test_free_strand_falls_as_its_steps_say():
    """Each step goes with the velocity of its stage: (theta - 1/2) h g t more than g t^2 / 2."""
    model = hair(helix(3, seed=2), root=2)
    solver = SpringSolver(model)
    start = solver.rest_state(still(model))
    steps, dt = 40, 0.005
    state = go(solver, start.copy(), still(model), steps, dt=dt)
    fall = GRAVITY * dt**2 * steps * (steps / 2 + solver.params.theta - 0.5)
    np.testing.assert_allclose(state.points, start.points + fall, atol=1e-10)
    np.testing.assert_allclose(state.velocity, np.broadcast_to(GRAVITY * dt * steps, state.velocity.shape), atol=1e-8)
    np.testing.assert_allclose(state.cut_force, 0, atol=1e-9 * model.mass.sum() * 9.81)


def test_internal_forces_keep_the_momentum_of_a_free_strand():
    model = hair(helix(2, seed=3), root=2, gravity=(0.0, 0.0, 0.0), damping=0.002)
    solver = SpringSolver(model)
    state = solver.rest_state(still(model))
    state.velocity += 0.3 * np.random.default_rng(4).standard_normal(state.velocity.shape)
    mass = solver.net.mass[..., None]

    def momentum(state):
        velocity = interleaved(0 * state.extra["clamp"], state.velocity, state.extra["auxiliary_velocity"])
        return (mass * velocity).sum(axis=1)

    before = momentum(state)
    go(solver, state, still(model), 50, dt=0.005)
    np.testing.assert_allclose(momentum(state), before, atol=1e-10 * np.abs(before).max())


@pytest.mark.parametrize("dt", [0.0025, 0.005, 0.01])
def test_energy_never_grows_in_an_undamped_swing(dt):
    """Whichever way the auxiliary particles stand: a trace of a bend tells the net of each strand where to begin."""
    points = straight(16, 20, 0.2)
    azimuth = np.arange(16)[:, None] * np.pi / 8
    bend = 2e-5 * np.linspace(0, 1, 21) ** 2
    points[..., 1] += bend * np.cos(azimuth)
    points[..., 2] += bend * np.sin(azimuth)
    model = hair(points)
    solver = SpringSolver(model, sag_free=False)
    state = solver.rest_state(still(model))
    levels = [solver.energy(state)]
    for _ in range(round(0.6 / dt)):
        go(solver, state, still(model), 1, dt=dt)
        levels.append(solver.energy(state))
    assert np.diff(levels, axis=0).max() < 1e-9 * model.mass[0].sum() * 9.81 * 0.2


def test_energy_is_that_of_the_reference():
    model = hair(helix(2, seed=5))
    solver = SpringSolver(model)
    state = go(
        solver,
        solver.rest_state(still(model)),
        RootPose(still(model).positions + 1e-3, still(model).rotations),
        5,
        dt=0.01,
    )
    velocity = interleaved(0 * state.extra["clamp"], state.velocity, state.extra["auxiliary_velocity"])
    for g, particles in enumerate(particles_of(state)):
        mass = solver.net.mass[g]
        motion = 0.5 * (mass * (velocity[g] ** 2).sum(axis=1)).sum() - (mass * (particles @ GRAVITY)).sum()
        assert solver.energy(state)[g] == pytest.approx(motion + elastic_energy(solver.net, g, particles), rel=1e-12)


def test_same_swing_at_any_step():
    """First order: halving the step halves the distance to the next finer run, nearly so at these sizes."""
    paths = []
    for substeps in (2, 4, 8, 16):
        model = hair(straight(segments=10, length=0.1))
        solver = SpringSolver(model, sag_free=False)
        state, path = solver.rest_state(still(model)), []
        for _ in range(15):
            go(solver, state, still(model), substeps, dt=0.01 / substeps)
            path.append(state.points[0, -1].copy())
        paths.append(path)
    gaps = np.linalg.norm(np.diff(paths, axis=0), axis=2).mean(axis=1)
    assert (gaps[:-1] / gaps[1:] > 1.7).all(), gaps


def test_curls_stay_when_the_weight_is_not_carried():
    model = hair(helix(segments=24, turns=3, length=0.12, radius=0.006))
    solver = SpringSolver(model, sag_free=False)
    state = settle(solver, 400)

    def turns(points):
        tangent = np.diff(points, axis=1)
        tangent = tangent / np.linalg.norm(tangent, axis=2, keepdims=True)
        return np.arccos(np.clip((tangent[:, 1:] * tangent[:, :-1]).sum(axis=2), -1, 1))

    lower = state.points[0, -1, 1] - model.rest_points[0, -1, 1]
    assert -0.02 < lower < -0.0005  # it does sag
    np.testing.assert_allclose(turns(state.points).mean(), turns(model.rest_points).mean(), rtol=0.1)


@pytest.mark.parametrize("direction", [(1.0, 0.0, 0.0), (0.1, 1.0, 0.0)])
def test_held_grooms_stand_against_their_weight(direction):
    """What `hold` finds stable, or has made so, is stable as springs too: a push dies away."""
    model, _ = stiffen_to_stand(hair(straight(segments=12, length=0.13, direction=direction)))
    solver = SpringSolver(model)
    state = solver.rest_state(still(model))
    state.velocity[:, 1:] += 0.05 * np.random.default_rng(6).standard_normal(state.velocity[:, 1:].shape)
    load = no_load(model)
    load.resistance[..., :3] = 20.0 * model.mass[..., None]
    go(solver, state, still(model), 300, dt=0.01, load=load)
    np.testing.assert_allclose(state.points, model.rest_points, atol=1e-4 * 0.13)


def test_twisted_root_turns_the_tip():
    model = hair(straight(segments=8, length=0.08, direction=(0.0, -1.0, 0.0)))
    solver = SpringSolver(model)
    state = solver.rest_state(still(model))
    rest = state.orientations.copy()
    load = no_load(model)
    load.resistance[..., :3] = 10.0 * model.mass[..., None]
    for step in range(150):
        turn = quaternion.from_axis_angle([0.0, 1.0, 0.0], min(1.0, step / 50))
        solver.step(state, state, RootPose(still(model).positions, turn[None]), load, dt=0.01)
    expected = quaternion.multiply(quaternion.from_axis_angle([0.0, 1.0, 0.0], 1.0), rest)
    assert quaternion.angle_between(expected, state.orientations).max() < 0.01


@pytest.mark.parametrize("preset", [None, "chai2017_straight", "chai2017_wavy"])
def test_violent_motion_stretches_little(preset):
    """A head that jumps to 4 m/s at once, turns and shakes, one step of 10 ms per frame."""
    model = hair(np.concatenate([helix(segments=24, turns=3, length=0.25), straight(1, 24, 0.25, (0.0, -1.0, 0.0))]))
    solver = SpringSolver(model, preset=preset)
    roots = still(model)

    def pose(time):
        shift = np.array([0.2, 0.1, 0.1]) * np.sin(2 * np.pi * np.array([3.0, 5.0, 4.0]) * time)
        turn = quaternion.from_axis_angle([0.5, 1.0, 0.2], 0.8 * np.sin(2 * np.pi * 3 * time))
        return RootPose(roots.positions + shift, np.tile(turn, (2, 1)))

    stepper, state = Stepper(solver), solver.rest_state(pose(0.0))
    worst = 0.0
    for frame in range(150):
        path = StepPath(lambda fraction, frame=frame: pose(0.01 * (frame + fraction)))
        report = stepper.step(state, state, path, time=0.01 * (frame + 1), dt=0.01, substeps=1)
        worst = max(worst, report.stretch)
    assert worst < 0.05
    offset = state.extra["auxiliary"] - 0.5 * (state.points[:, 1:] + state.points[:, :-1])
    assert np.abs(np.linalg.norm(offset, axis=2) / solver.net.offset - 1).max() < 0.1


def test_strain_limit_keeps_the_centre_of_mass_of_a_free_strand():
    model = hair(straight(segments=6, length=0.06), root=2, gravity=(0.0, 0.0, 0.0))
    solver = SpringSolver(model, stretch=1.0, strain_limit=0.01)
    state = solver.rest_state(still(model))
    state.velocity[0, :, 0] = np.linspace(-1, 1, 7)  # pulls it apart by a third in one step
    mass = solver.net.mass[..., None]
    before = (mass * particles_of(state)).sum(axis=1)
    solver.step(state, state, still(model), no_load(model), dt=0.01)
    np.testing.assert_allclose((mass * particles_of(state)).sum(axis=1), before, atol=1e-9 * mass.sum())
    assert np.abs(solver.stretch(state)).max() < 0.01 + 1e-9
    assert solver.net.mass[0, :GHOSTS].sum() == 0
