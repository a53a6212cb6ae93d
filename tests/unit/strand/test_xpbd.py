"""Rods by position-based dynamics: the kernel against plain NumPy, its equations against energies, its limit."""

import numpy as np
import pytest
from test_cosserat import curls, random_load, run, still, straight

from mane.geometry import quaternion
from mane.strand.cosserat.solver import CosseratSolver
from mane.strand.ports import Load
from mane.strand.rod_rest import weight_beyond
from mane.strand.roots import RootPose
from mane.strand.standing.stiffen import stiffen_to_stand
from mane.strand.xpbd import _reference as printed
from mane.strand.xpbd.solver import XpbdSolver, constraints


def disturbed(solver, seed=5):
    """A state with every vertex and segment off its rest, and moving."""
    rng = np.random.default_rng(seed)
    state = solver.rest_state(still(solver.model))
    state.points += 1e-3 * rng.normal(size=state.points.shape)
    state.velocity += 0.3 * rng.normal(size=state.velocity.shape)
    state.spin += 3 * rng.normal(size=state.spin.shape)
    state.orientations[...] = quaternion.normalize(
        state.orientations + 0.05 * rng.normal(size=state.orientations.shape)
    )
    return state


@pytest.mark.parametrize("loaded", [False, True], ids=["calm", "loaded"])
@pytest.mark.parametrize("root", [0, 1, 2], ids=["clamped", "hinged", "free"])
def test_a_step_equals_plain_numpy(root, loaded):
    model = curls(3, 7, root=root)
    solver = XpbdSolver(model, iterations=4)
    state, rng = disturbed(solver), np.random.default_rng(1)
    roots = RootPose(
        model.rest_points[:, 0] + 0.002 * rng.normal(size=(3, 3)), quaternion.exp(0.05 * rng.normal(size=(3, 3)))
    )
    load = random_load(model, 6) if loaded else Load.empty(3, 8)
    out = state.copy()
    solver.step(state, out, roots, load, dt=0.003)
    for g in range(3):
        points, velocity, frames, spin, cut = printed.reference_step(solver, state, roots, load, dt=0.003, strand=g)
        # The same sums in another order: rounding, which four passes over stiff constraints hardly amplify.
        np.testing.assert_allclose(out.points[g], points, rtol=0, atol=1e-13)
        np.testing.assert_allclose(out.velocity[g], velocity, rtol=0, atol=1e-10)
        np.testing.assert_allclose(out.orientations[g], frames, rtol=0, atol=1e-11)
        np.testing.assert_allclose(out.spin[g], spin, rtol=0, atol=1e-8)
        np.testing.assert_allclose(out.cut_force[g], cut, rtol=1e-8, atol=1e-12 * np.abs(cut).max())


def numerical_gradient(function, at, step=1e-6):
    result = np.zeros_like(at)
    for index in np.ndindex(at.shape):
        off = np.zeros_like(at)
        off[index] = step
        result[index] = (function(at + off) - function(at - off)) / (2 * step)
    return result


def test_forces_and_torques_are_those_of_the_energies():
    """Eq. 4 to 8 against E = k C.C / 2 by differences; of torques what lies along q does not turn it."""
    rng = np.random.default_rng(3)
    k, length = 0.7, 0.3
    x, y = rng.normal(size=(2, 3))
    p, q, rest = quaternion.random(3, rng).astype(float)

    def stretched(x, y, q):
        return 0.5 * k * (printed.stretch_shear(x, y, q / np.linalg.norm(q), length) ** 2).sum()

    def bent(p, q):
        return 0.5 * k * (printed.bend_twist(p / np.linalg.norm(p), q / np.linalg.norm(q), rest) ** 2).sum()

    def across(torque, q):
        return torque - (torque @ q) * q

    strain = printed.stretch_shear(x, y, q, length)
    force = printed.stretch_force(strain, k, length)
    np.testing.assert_allclose(force, -numerical_gradient(lambda x: stretched(x, y, q), x), atol=1e-7)
    np.testing.assert_allclose(-force, -numerical_gradient(lambda y: stretched(x, y, q), y), atol=1e-7)
    torque = printed.stretch_torque(strain, k, q)
    np.testing.assert_allclose(across(torque, q), -numerical_gradient(lambda q: stretched(x, y, q), q), atol=1e-7)
    before, after = printed.bend_torques(p, q, rest, k)
    np.testing.assert_allclose(across(before, p), -numerical_gradient(lambda p: bent(p, q), p), atol=1e-7)
    np.testing.assert_allclose(across(after, q), -numerical_gradient(lambda q: bent(p, q), q), atol=1e-7)


def test_its_energy_is_made_of_its_constraints():
    solver = XpbdSolver(curls(2, 6), sag_free=False)
    state = disturbed(solver)
    stretch, bend = constraints(state, solver.rest)
    for g in range(2):
        q, clamp = state.orientations[g], state.extra["clamp"][g]
        for j in range(6):
            own = printed.stretch_shear(state.points[g, j], state.points[g, j + 1], q[j], solver.rest.length[g, j])
            np.testing.assert_allclose(stretch[g, j], own, atol=1e-12)
            own = printed.bend_twist(q[j - 1] if j else clamp, q[j], solver.rest.darboux[g, j])
            np.testing.assert_allclose(bend[g, j], own, atol=1e-12)


def test_iterations_approach_the_direct_solution():
    """Both are implicit Euler of the same energy where twisting is as stiff as bending; with few, hair is far off."""
    model = straight(1, 6, 0.05)
    direct = CosseratSolver(model, sag_free=False, theta=1.0)
    goal = run(direct, direct.rest_state(still(model)), still(model), 5).points[0, -1]
    off = []
    for iterations in (5, 50, 3000):
        solver = XpbdSolver(model, sag_free=False, iterations=iterations)
        tip = run(solver, solver.rest_state(still(model)), still(model), 5).points[0, -1]
        off.append(np.linalg.norm(tip - goal))
    assert off[0] > off[1] > off[2]
    assert off[2] < 0.02 * off[0]


def test_a_sag_free_groom_stands_the_better_the_shorter_the_step():
    """Its rest is that of the converged rod, which long steps miss, since they bend joints on the way."""
    model, _ = stiffen_to_stand(curls(2, 8))
    roots, pull = still(model), []
    for dt in (1e-3, 1e-4):
        solver = XpbdSolver(model, iterations=2000, k_norm=0.4)
        state = solver.rest_state(roots)
        solver.step(state, state, roots, Load.empty(2, 9), dt=dt)
        pull.append(np.linalg.norm(state.velocity, axis=2).max() / (9.81 * dt))  # in gravities; 1 without constraints
    assert pull[0] < 0.5
    assert pull[1] < 0.05 * pull[0]
    # The multipliers that were applied are then those of eq. 4, and carry the weight beyond.
    strain, _ = constraints(state, solver.rest)
    force = printed.stretch_force(strain, solver._k_ss[..., None], solver.rest.length[..., None])
    beyond = weight_beyond(model)
    np.testing.assert_allclose(state.cut_force, force, atol=1e-3 * np.abs(beyond).max())
    np.testing.assert_allclose(force, beyond, atol=1e-2 * np.abs(beyond).max())


def test_at_its_usual_step_lengths_are_kept_to_a_percent():
    """Hair that falls from where it was groomed, by 50 iterations of 1 ms."""
    model = curls(4, 16)
    solver = XpbdSolver(model, sag_free=False)
    state = run(solver, solver.rest_state(still(model)), still(model), 20, dt=0.01, substeps=10)
    assert np.abs(state.points - model.rest_points).max() > 0.01
    assert np.abs(solver.stretch(state)).max() < 0.01


def test_settings_are_checked():
    for settings, message in (
        ({"iterations": 0}, "iterations: must be at least 1, got 0"),
        ({"k_norm": -1.0}, "k_norm: must be"),
    ):
        with pytest.raises(ValueError, match=message):
            XpbdSolver(straight(1, 4, 0.1), **settings)
