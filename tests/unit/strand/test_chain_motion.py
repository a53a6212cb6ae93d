"""Motion of chains against mechanics: pendulums, free fall, momentum and energy."""

from itertools import pairwise

import numpy as np
import pytest
from chain_hair import curls, hair, no_load, run, still, straight
from scipy.linalg import eigh
from scipy.special import ellipk

from mane.geometry import quaternion
from mane.strand.chain.solver import ChainSolver
from mane.strand.roots import RootPose


def test_a_stiff_hinged_strand_is_a_pendulum():
    """Rigid rod of point masses: T = 4 sqrt(I / (M g d)) K(sin^2(a/2)), from an amplitude a of 0.5 rad."""
    amplitude, length = 0.5, 0.2
    direction = (np.sin(amplitude), -np.cos(amplitude), 0)
    model = straight(1, 10, length, direction=direction, root=1, stiffness=1e4)
    reach = np.linalg.norm(model.rest_points[0], axis=1)
    inertia, torque = (model.mass[0] * reach**2).sum(), 9.81 * (model.mass[0] * reach).sum()
    period = 4 * np.sqrt(inertia / torque) * ellipk(np.sin(amplitude / 2) ** 2)
    solver = ChainSolver(model)
    dt = 0.0005
    state = solver.rest_state(still(model))
    times, heights = np.arange(1, int(1.3 * period / dt)) * dt, []
    for _ in times:
        run(solver, state, still(model), 1, dt)
        heights.append(state.points[0, -1, 0])
    crossings = times[1:][np.diff(np.sign(heights)) != 0]
    # Implicit Euler shifts the phase only at second order; crossings are found to within a step.
    assert 2 * (crossings[1] - crossings[0]) == pytest.approx(period, abs=2 * dt + 0.002 * period)


def test_a_clamped_strand_swings_at_the_frequency_of_its_linear_modes():
    """Lowest mode from stiffness and mass matrices of the chain, written down in the angles of its links."""
    segments, length = 20, 0.05
    model = straight(1, segments, length, gravity=(0, 0, 0))
    step = length / segments
    lever = np.tril(np.full((segments, segments), step))  # deflection of vertex i + 1 by the angle of link j
    mass = lever.T @ np.diag(model.mass[0, 1:]) @ lever
    bend = np.eye(segments) - np.eye(segments, k=-1)
    stiffness = bend.T @ np.diag(model.bend_stiffness[0] / model.joint_length[0]) @ bend
    values, modes = eigh(stiffness, mass)
    omega = np.sqrt(values[0])
    solver = ChainSolver(model)
    state = solver.rest_state(still(model))
    deflection = lever @ modes[:, 0]
    state.velocity[0, 1:, 1] = 0.02 * omega * length * deflection / deflection[-1]
    solver.adopt(state, np.ones(1, bool))
    dt = 2 * np.pi / omega / 400
    tips = []
    for _ in range(800):
        run(solver, state, still(model), 1, dt)
        tips.append(state.points[0, -1, 1])
    crossings = np.flatnonzero(np.diff(np.sign(tips)) != 0)
    periods = (crossings[2] - crossings[0]) * dt * omega / (2 * np.pi)
    assert periods == pytest.approx(1.0, abs=0.01)  # found to within two steps of 400
    # Implicit Euler damps a mode by omega dt / 2 of critical: over a half period, exp(-pi omega dt / 2). A stage of
    # less than the step damps it by 2 theta - 1 of that.
    damped = 2 * solver.params.theta - 1
    peaks = [np.abs(tips[a:b]).max() for a, b in pairwise(crossings)]
    assert peaks[1] / peaks[0] == pytest.approx(np.exp(-damped * np.pi * omega * dt / 2), rel=2e-3)


def test_a_free_strand_falls_as_everything_does():
    model = curls(2, 10, root=2)
    solver = ChainSolver(model)
    state = run(solver, solver.rest_state(still(model)), still(model), 60, 0.005)
    np.testing.assert_allclose(state.velocity, np.broadcast_to([0, -9.81 * 0.3, 0], state.velocity.shape), atol=1e-9)
    # Each step goes with the velocity of its stage: (theta - 1/2) h g t more than g t^2 / 2.
    fallen = 9.81 * 0.005**2 * 60 * (30 + solver.params.theta - 0.5)
    np.testing.assert_allclose(model.rest_points[..., 1] - state.points[..., 1], fallen, atol=1e-9)


def test_inner_forces_leave_the_momentum_of_a_free_strand_alone():
    model = curls(2, 12, root=2, gravity=(0, 0, 0), damping=0.002)
    solver = ChainSolver(model)
    spins, start = {}, None
    for dt in (0.002, 0.001):
        state = solver.rest_state(still(model))
        state.velocity += 0.2 * np.random.default_rng(1).normal(size=state.velocity.shape)
        solver.adopt(state, np.ones(2, bool))
        start = _momenta(model, state)
        run(solver, state, still(model), round(0.1 / dt), dt)
        momentum, spin = _momenta(model, state)
        np.testing.assert_allclose(momentum, start[0], rtol=1e-9, atol=1e-9 * np.abs(start[0]).max())
        spins[dt] = np.abs(spin - start[1]).max() / np.abs(start[1]).max()
    # Angular momentum is kept to the order of the step: implicit Euler.
    assert spins[0.001] < 0.7 * spins[0.002]
    assert spins[0.001] < 0.1


def _momenta(model, state):
    each = model.mass[..., None] * state.velocity
    middle = (model.mass[..., None] * state.points).sum(axis=1) / model.mass.sum(axis=1)[:, None]
    return each.sum(axis=1), np.cross(state.points - middle[:, None], each).sum(axis=1)


@pytest.mark.parametrize("dt", [0.001, 0.004, 0.01])
@pytest.mark.parametrize("root", [0, 1], ids=["clamped", "hinged"])
def test_energy_never_grows_in_an_undamped_swing(root, dt):
    """Straight hair let go horizontally: it falls, whips through and swings."""
    model = straight(2, 25, 0.2, root=root)
    solver = ChainSolver(model, sag_free=False)
    state = solver.rest_state(still(model))
    energy = [solver.energy(state)]
    for _ in range(round(0.6 / dt)):
        run(solver, state, still(model), 1, dt)
        energy.append(solver.energy(state))
    fall = model.mass.sum(axis=1) * 9.81 * 0.1
    assert (np.diff(energy, axis=0) < 1e-9 * fall).all()
    assert (energy[0] - energy[-1] < 2 * fall).all()


def test_swings_at_ever_smaller_steps_converge_at_first_order():
    tips = []
    for dt in (0.004, 0.002, 0.001, 0.0005):
        model = straight(1, 15, 0.1)
        solver = ChainSolver(model, sag_free=False)
        tips.append(run(solver, solver.rest_state(still(model)), still(model), round(0.2 / dt), dt).points[0, -1])
    gaps = np.linalg.norm(np.diff(tips, axis=0), axis=1)
    np.testing.assert_allclose(gaps[:-1] / gaps[1:], 2, rtol=0.1)


def test_damping_takes_energy_at_the_stated_rate():
    """Kelvin-Voigt with time constant tau adds tau omega / 2 to the damping ratio of a mode of frequency omega."""
    model = straight(1, 20, 0.05, gravity=(0, 0, 0))
    omega = 1.875**2 * np.sqrt(model.bend_stiffness[0, 0] / (model.mass.sum() / 0.05) / 0.05**4)
    decay = []
    for damping in (0.0, 0.1 / omega):
        model = straight(1, 20, 0.05, gravity=(0, 0, 0), damping=damping)
        solver = ChainSolver(model)
        state = solver.rest_state(still(model))
        state.velocity[0, :, 1] = 0.5 * np.linspace(0, 1, 21) ** 2
        solver.adopt(state, np.ones(1, bool))
        dt, energy = 2 * np.pi / omega / 500, [solver.energy(state)[0]]
        for _ in range(1000):
            run(solver, state, still(model), 1, dt)
            energy.append(solver.energy(state)[0])
        decay.append(np.log(energy[500] / energy[1000]) / (500 * dt))
    # Energy decays at 2 zeta omega; the integrator's own share is the same in both runs.
    assert decay[1] - decay[0] == pytest.approx(0.1 * omega, rel=0.03)


def test_a_resistance_of_any_size_stops_a_vertex_and_nothing_blows_up():
    model = straight(1, 10, 0.1, direction=(0, -1, 0))
    solver = ChainSolver(model)
    state = solver.rest_state(still(model))
    state.velocity[0, :, 0] = np.linspace(0, 2, 11)
    solver.adopt(state, np.ones(1, bool))
    load = no_load(model)
    load.resistance[0, 5, :3] = 1e6
    run(solver, state, still(model), 1, 0.01, load)
    assert np.abs(state.velocity[0, 5]).max() < 1e-9
    assert np.isfinite(state.points).all()


def test_a_rigid_turn_of_the_head_carries_a_stiff_strand_with_it():
    model = hair(curls(2, 10).rest_points, stiffness=1e3, gravity=(0, 0, 0), damping=0.01)
    solver = ChainSolver(model)
    state = solver.rest_state(still(model))
    for angle in np.linspace(0, 1.0, 201)[1:]:
        turn = quaternion.exp(np.tile([0.0, angle, 0.0], (2, 1)))
        run(solver, state, RootPose(model.rest_points[:, 0], turn), 1, 0.01)
    expected = quaternion.rotate(turn[:, None], model.rest_points - model.rest_points[:, :1]) + model.rest_points[:, :1]
    # What is left is centrifugal: at most the deflection w L^4 / (8 E I) under the load w = m / L omega^2 L of the tip.
    length, mass = model.strand_length.max(), model.mass.sum(axis=1).max()
    bound = mass / length * 0.5**2 * length * length**4 / (8 * model.bend_stiffness[0, 0])
    assert np.abs(state.points - expected).max() < bound
    assert bound < 2e-5
