"""Shape of chains: sag-free rest, the elastica, spines, and states that were changed from outside."""

import numpy as np
import pytest
from chain_hair import curls, hair, moving, no_load, run, still, straight
from scipy.integrate import solve_bvp

from mane.geometry import quaternion
from mane.strand.chain import shape as shape
from mane.strand.chain.solver import ChainSolver
from mane.strand.chain.spine import curl_wavelengths, spine_points
from mane.strand.roots import RootPose
from mane.strand.standing.stiffen import stiffen_to_stand


def height_over_width(gravity_number):
    """Of a heavy rod clamped horizontally: theta'' = -G (1 - s) cos(theta), theta(0) = theta'(1) = 0."""
    s, y = np.linspace(0, 1, 101), np.zeros((2, 101))
    for load in np.geomspace(0.1, gravity_number, 12):
        found = solve_bvp(
            lambda s, y, load=load: np.vstack([y[1], -load * (1 - s) * np.cos(y[0])]),
            lambda a, b: np.array([a[0], b[1]]),
            s,
            y,
            tol=1e-8,
            max_nodes=100_000,
        )
        s, y = found.x, found.y
    fine = np.linspace(0, 1, 20_001)
    angle = found.sol(fine)[0]
    return np.trapezoid(np.sin(angle), fine) / np.trapezoid(np.cos(angle), fine)


@pytest.mark.parametrize("gravity_number", [1.0, 10.0, 100.0])
def test_a_cantilever_hangs_like_the_elastica(gravity_number):
    """The promise is 1.5 percent with 25 segments and 0.5 percent with 50; the error falls like their square."""
    length, errors = 0.1, []
    expected = height_over_width(gravity_number)
    for segments in (25, 50):
        model = straight(1, segments, length)
        weight = model.mass.sum() * 9.81
        stiffness = weight * length**2 / gravity_number
        scale = stiffness / model.bend_stiffness[0, 0]
        # Hinges and steps that lose their energy soon: only where it comes to rest is asked here.
        model = straight(1, segments, length, stiffness=scale, damping=0.05)
        solver = ChainSolver(model, sag_free=False, theta=1.0)
        state = run(solver, solver.rest_state(still(model)), still(model), 1500, 0.01)
        assert np.abs(state.velocity).max() < 1e-7  # 1e-6 of its length per second
        tip = state.points[0, -1]
        errors.append(-tip[1] / tip[0] / expected - 1)
    assert abs(errors[0]) < 0.015
    assert abs(errors[1]) < 0.005
    assert abs(errors[1]) < abs(errors[0]) / 3  # second order: a quarter


def test_sag_free_curls_stay_where_they_were_groomed():
    model, _ = stiffen_to_stand(curls(6, 40))  # some point upwards and would fall over
    solver = ChainSolver(model)
    state = run(solver, solver.rest_state(still(model)), still(model), 400, 0.0025)
    assert np.abs(state.points - model.rest_points).max() < 1e-9
    weight = shape.forces_beyond(model.mass[..., None] * model.gravity)
    np.testing.assert_allclose(state.cut_force, weight, atol=1e-6 * np.abs(weight).max())


def test_the_groom_is_where_the_energy_is_least_flat():
    """Every joint turned a little either way: the slope of the energy is zero against what gravity alone would give."""
    model, _ = stiffen_to_stand(curls(3, 12))
    for sag_free, is_balanced in ((True, True), (False, False)):
        solver = ChainSolver(model, sag_free=sag_free)
        slopes = []
        for joint in range(model.segment_count):
            for axis in (0, 1):
                ends = [_energy_after_turn(solver, joint, axis, angle) for angle in (1e-4, -1e-4)]
                slopes.append(np.abs(ends[0] - ends[1]).max() / 2e-4)
        weight = (model.mass.sum(axis=1) * 9.81 * model.strand_length).max()
        # Differences of energies of some weight x length, over 1e-4: rounding leaves 1e-11, third order 1e-8.
        assert (max(slopes) < 1e-7 * weight) == is_balanced


def _energy_after_turn(solver, joint, axis, angle):
    """Energy when everything from `joint` on turns by `angle` about one of the joint's axes."""
    state = solver.rest_state(still(solver.model))
    axes = shape.joint_axes(state.orientations, state.extra["clamp"])[:, joint, axis]
    turn = quaternion.exp(angle * axes)[:, None]
    pivot = state.points[:, joint : joint + 1]
    state.points[:, joint:] = quaternion.rotate(turn, state.points[:, joint:] - pivot) + pivot
    state.orientations[:, joint:] = quaternion.multiply(turn, state.orientations[:, joint:])
    return solver.energy(state)


def test_a_moment_that_no_rest_shape_carries_is_cut_off():
    model = straight(1, 20, 0.6)  # 60 cm straight out: ten turns of coil per joint at the root
    solver = ChainSolver(model)
    assert np.linalg.norm(solver.rest_curvature, axis=-1).max() <= shape.MAX_STRAIN + 1e-12


def test_the_cut_force_of_a_hanging_strand_is_what_hangs_below():
    model = straight(1, 20, 0.2, direction=(0, -1, 0))
    solver = ChainSolver(model, sag_free=False)
    state = run(solver, solver.rest_state(still(model)), still(model), 5, 0.01)
    weight = shape.forces_beyond(model.mass[..., None] * model.gravity)
    np.testing.assert_allclose(state.cut_force, weight, rtol=1e-9, atol=1e-18)
    assert ((state.cut_force * np.diff(state.points, axis=1)).sum(axis=-1) > 0).all()  # tension


def helix(turns, segments, *, radius=0.01, length=0.2, course=0.05):
    """A curl whose spine leaves the vertical, (1, V, 3), and that spine."""
    t = np.linspace(0, 1, segments + 1)
    spine = np.stack([course * t**2, -length * t, 0 * t], axis=1)
    angle = 2 * np.pi * turns * t
    around = radius * np.stack([np.cos(angle) - 1, 0 * t, np.sin(angle)], axis=1)
    return (spine + around)[None], spine + [-radius, 0, 0]


def test_the_wavelength_of_a_curl_is_found():
    for turns in (2.5, 4, 6):
        curl, _ = helix(turns, 40)
        length = np.linalg.norm(np.diff(curl[0], axis=0), axis=1).sum()
        # The spectrum is sampled at quarters of a curl.
        assert length / curl_wavelengths(curl)[0] == pytest.approx(turns, abs=0.25)
    arc = np.linspace(0, 1.5, 26)
    bent = np.stack([np.sin(arc), -np.cos(arc), 0 * arc], axis=1)[None]
    assert np.isinf(curl_wavelengths(bent)).all()


def test_a_spine_runs_through_the_middle_of_the_curl():
    curl, middle = helix(5, 50)
    spine = spine_points(curl)[0]
    inner = slice(12, 39)  # further than one curl from either end, where the window has its full width
    assert np.linalg.norm((spine - middle)[inner], axis=1).max() < 0.15 * 0.01
    np.testing.assert_array_equal(spine[[0, -1]], curl[0, [0, -1]])
    bent = straight(2, 10, 0.1).rest_points
    np.testing.assert_array_equal(spine_points(bent), bent)


def test_a_curl_on_its_spine_is_returned_exactly_and_rides_along():
    curl, _ = helix(5, 40)
    model, _ = stiffen_to_stand(hair(curl))
    solver = ChainSolver(model, spine=True)
    state = run(solver, solver.rest_state(still(model)), still(model), 100, 0.005)
    assert np.abs(state.points - curl).max() < 1e-9
    pushed = no_load(model)
    pushed.force[:, -1] = [3e-6, 0, 0]
    run(solver, state, still(model), 100, 0.005, pushed)
    assert state.points[0, -1, 0] > curl[0, -1, 0] + 0.005
    # The curl keeps its shape about links of exact length.
    ends = state.points[:, 1:] - quaternion.rotate(state.orientations, solver.offset)
    ends = np.concatenate([state.points[:, :1], ends], axis=1)
    np.testing.assert_allclose(np.linalg.norm(np.diff(ends, axis=1), axis=2), solver.length, rtol=1e-12)


@pytest.mark.parametrize("spine", [False, True], ids=["chain", "spine"])
@pytest.mark.parametrize("root", [0, 1, 2], ids=["clamped", "hinged", "free"])
def test_what_already_agrees_is_adopted_as_it_is(root, spine):
    model = curls(3, 20, root=root, seed=3)
    solver = ChainSolver(model, spine=spine)
    state = moving(solver, 2)
    adopted = state.copy()
    solver.adopt(adopted, np.ones(3, bool))
    np.testing.assert_allclose(adopted.points, state.points, atol=1e-14)
    np.testing.assert_allclose(adopted.velocity, state.velocity, atol=1e-8)  # least squares, weighted down by 1e-9
    assert quaternion.angle_between(adopted.orientations, state.orientations).max() < 1e-7


def test_adopting_keeps_lengths_and_leaves_other_strands_alone():
    model = curls(3, 20)
    solver = ChainSolver(model)
    state = moving(solver, 2)
    rng = np.random.default_rng(0)
    state.points[:, 5:] += 0.002 * rng.normal(size=state.points[:, 5:].shape)
    state.velocity[:, 5:] += rng.normal(size=state.velocity[:, 5:].shape)
    before = state.copy()
    solver.adopt(state, np.array([True, False, True]))
    for name, array in state.arrays().items():
        np.testing.assert_array_equal(array[1], before.arrays()[name][1], err_msg=name)
    assert np.abs(solver.stretch(state)[[0, 2]]).max() < 1e-13
    directions = np.diff(state.points, axis=1) / model.rest_length[..., None]
    np.testing.assert_allclose(shape.axis(state.orientations, 2)[[0, 2]], directions[[0, 2]], atol=1e-13)
    along = (np.diff(state.velocity, axis=1) * directions).sum(axis=-1)
    assert np.abs(along[[0, 2]]).max() < 1e-13


def test_a_teleport_carries_everything_along():
    """Stepping and then carrying is carrying and then stepping, once gravity is carried too (here: none)."""
    model = curls(3, 12, gravity=(0, 0, 0))
    solver = ChainSolver(model)
    here = still(model)
    turn = quaternion.exp(np.tile([0.4, 1.2, -0.3], (3, 1)))
    there = RootPose(here.positions + [1.0, 2.0, 3.0], turn)
    first = run(solver, moving(solver, 3), here, 10, 0.005)
    solver.carry(first, here, there)
    second = moving(solver, 3)
    solver.carry(second, here, there)
    run(solver, second, there, 10, 0.005)
    np.testing.assert_allclose(first.points, second.points, atol=1e-11)
    np.testing.assert_allclose(first.velocity, second.velocity, atol=1e-9)
    np.testing.assert_allclose(first.cut_force, second.cut_force, atol=1e-13)
