"""One step of a chain: the recursion against the dense system, and what a step must never do."""

import numpy as np
import pytest
from chain_hair import curls, hair, moving, no_load, random_load, run, still, straight

from mane.geometry import quaternion
from mane.strand.chain import shape as shape
from mane.strand.chain._reference import reference_adopt, reference_step
from mane.strand.chain.solver import ChainParams, ChainSolver
from mane.strand.roots import RootPose
from mane.strand.state import StrandState

NAMES = ("points", "velocity", "orientations", "spin", "cut_force")


def shifted_roots(model, seed, *, shift=0.002, turn=0.05):
    rng = np.random.default_rng(seed)
    count = model.strand_count
    return RootPose(
        model.rest_points[:, 0] + shift * rng.normal(size=(count, 3)),
        quaternion.exp(turn * rng.normal(size=(count, 3))),
    )


@pytest.mark.parametrize("loaded", [False, True], ids=["calm", "loaded"])
@pytest.mark.parametrize("spine", [False, True], ids=["chain", "spine"])
@pytest.mark.parametrize("root", [0, 1, 2], ids=["clamped", "hinged", "free"])
def test_a_step_equals_the_dense_system(root, spine, loaded):
    model = curls(3, 20, root=root, damping=0.004, seed=3)
    solver = ChainSolver(model, spine=spine)
    assert (np.abs(solver.offset).max() > 1e-3) == spine
    state = moving(solver, 5)
    roots, load = shifted_roots(model, 7), random_load(model, 6) if loaded else no_load(model)
    if spine:
        load.coupling[...] = 0  # lumped there: the next test
    out = state.copy()
    solver.step(state, out, roots, load, dt=0.003)
    for strand in range(3):
        for name, expected in reference_step(solver, state, roots, load, dt=0.003, strand=strand).items():
            found = getattr(out, name)[strand]
            if name == "orientations":
                expected = expected * np.sign((expected * found).sum(axis=-1, keepdims=True))
            # The dense matrix has a condition of 1e5 to 1e6 (a hinged strand's spin is its weakest direction).
            np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max(), err_msg=name)


@pytest.mark.parametrize("spine", [False, True], ids=["chain", "spine"])
@pytest.mark.parametrize("root", [0, 1, 2], ids=["clamped", "hinged", "free"])
def test_adopting_equals_the_reference(root, spine):
    model = curls(3, 20, root=root, seed=3)
    solver = ChainSolver(model, spine=spine)
    state, rng = moving(solver, 5), np.random.default_rng(1)
    state.extra["clamp_spin"][...] = rng.normal(size=(3, 3))
    state.points[:, 1:] += 0.3 * model.rest_length[..., None] * rng.normal(size=state.points[:, 1:].shape)
    state.points[0, 7] = state.points[0, 6]  # no direction there
    state.velocity += rng.normal(size=state.velocity.shape)
    expected = reference_adopt(solver, state)
    solver.adopt(state, np.ones(3, bool))
    for name in ("points", "velocity", "spin"):
        values = getattr(expected, name)
        np.testing.assert_allclose(getattr(state, name), values, atol=1e-11 * np.abs(values).max(), err_msg=name)
    assert quaternion.angle_between(state.orientations, expected.orientations).max() < 1e-7


def test_strands_of_every_root_share_a_block():
    """Lanes of a block go different ways at the root; none may notice its neighbours."""
    kinds = np.array([0, 1, 2, 0, 2, 1, 0, 0, 1, 2, 0], np.int8)
    model = curls(11, 10, root=kinds)
    solver = ChainSolver(model)
    state = moving(solver, 1)
    roots, load = shifted_roots(model, 2), random_load(model, 3)
    solver.step(state, state, roots, load, dt=0.004)
    for strand in (0, 1, 2, 9, 10):
        alone = ChainSolver(hair(model.rest_points[strand : strand + 1], root=kinds[strand]))
        single = StrandState.from_arrays({k: v[strand : strand + 1] for k, v in moving(solver, 1).arrays().items()})
        part = no_load(alone.model)
        for name in ("force", "resistance", "coupling"):
            getattr(part, name)[0] = getattr(load, name)[strand]
        roots_alone = RootPose(roots.positions[strand : strand + 1], roots.rotations[strand : strand + 1])
        alone.step(single, single, roots_alone, part, dt=0.004)
        for name in NAMES:
            np.testing.assert_array_equal(getattr(single, name)[0], getattr(state, name)[strand], err_msg=name)


def test_ten_steps_stay_with_the_dense_system():
    """Of every root, in motion and under contacts; rounding grows along the way, 1e-16 of 10 cm to begin with."""
    model = curls(3, 12, root=np.array([0, 1, 2], np.int8), damping=0.004, seed=3)
    solver, load = ChainSolver(model), random_load(model, 6)
    state = solver.rest_state(still(model))
    expected = state.copy()
    for number in range(10):
        roots = shifted_roots(model, 7, shift=2e-4 * number, turn=0.01 * number)
        steps = [reference_step(solver, expected, roots, load, dt=0.004, strand=strand) for strand in range(3)]
        solver.step(state, state, roots, load, dt=0.004)
        for name in NAMES:
            getattr(expected, name)[...] = [step[name] for step in steps]
        expected.extra["clamp"][...] = state.extra["clamp"]
        np.testing.assert_allclose(state.points, expected.points, atol=1e-9, err_msg=f"step {number}")


@pytest.mark.parametrize("spine", [False, True], ids=["chain", "spine"])
def test_strands_that_are_taken_step_to_the_same_bytes(spine):
    """In other lanes, beside other strands; only some of them are coupled and only some roots are clamped."""
    kinds = np.array([0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 1, 2, 0, 0, 0, 0], np.int8)
    model = curls(17, 10, root=kinds, damping=0.002)
    solver = ChainSolver(model, spine=spine)
    state, roots, load = moving(solver, 1), shifted_roots(model, 2), random_load(model, 3)
    load.coupling[np.arange(17) % 5 > 0] = 0.0
    for rows in (
        np.array([3]),
        np.array([9, 1, 2, 16]),
        np.arange(16, -1, -1),
        np.array([1, 2, 3, 4, 6, 7, 13, 14, 8]),
    ):
        part, few = solver.taken(rows), state.taken(rows)
        few_roots = RootPose(roots.positions[rows], roots.rotations[rows])
        all_of_them = state.copy()
        for _ in range(3):
            part.step(few, few, few_roots, load.taken(rows), dt=0.004)
            solver.step(all_of_them, all_of_them, roots, load, dt=0.004)
        for name, array in few.arrays().items():
            assert array.tobytes() == all_of_them.arrays()[name][rows].tobytes(), name


@pytest.mark.parametrize("name", ["force", "resistance", "coupling"])
def test_a_load_that_is_no_number_is_not_hidden(name):
    model = curls(9, 10)
    solver, load = ChainSolver(model), no_load(model)
    getattr(load, name)[4, 5] = np.nan
    state = solver.rest_state(still(model))
    solver.step(state, state, still(model), load, dt=0.004)
    assert np.isfinite(state.points).all(axis=(1, 2)).tolist() == [strand != 4 for strand in range(9)]


@pytest.mark.parametrize("root", [0, 1, 2], ids=["clamped", "hinged", "free"])
def test_a_strand_that_folds_back_keeps_its_lengths_and_unit_frames(root):
    model = straight(1, 6, 0.12, direction=(0, -1, 0), root=root)
    solver = ChainSolver(model)
    state = solver.rest_state(still(model))
    state.points[0, 4:] = 2 * state.points[0, 3] - model.rest_points[0, 4:]
    solver.adopt(state, np.ones(1, bool))
    run(solver, state, still(model), 5, 0.002)
    assert np.isfinite(state.points).all()
    assert np.abs(solver.stretch(state)).max() < 1e-13
    np.testing.assert_allclose(np.linalg.norm(state.orientations, axis=2), 1.0, atol=1e-13)
    np.testing.assert_allclose(
        shape.axis(state.orientations, 2), np.diff(state.points, axis=1) / model.rest_length[..., None], atol=1e-7
    )


def test_a_lumped_coupling_resists_a_common_motion_alike():
    model = curls(2, 20, seed=3)
    solver = ChainSolver(model, spine=True)
    load = random_load(model, 1)
    resistance, coupling = solver._lumped(load)
    total = load.resistance.sum(axis=1) + 2 * load.coupling.sum(axis=1)
    np.testing.assert_allclose(resistance.sum(axis=1), total, rtol=1e-12)
    assert not coupling.any()


def test_the_curvature_changes_with_the_rate_about_the_joint_axes_as_stated():
    """Central differences over a turn of 1e-5 about each axis: truncation 1e-10, rounding 1e-11."""
    rng = np.random.default_rng(0)
    base = quaternion.normalize(rng.normal(size=(50, 4)))
    directions = rng.normal(size=(50, 1, 3))
    directions /= np.linalg.norm(directions, axis=2, keepdims=True)
    frames = shape.carried_frames(directions, base)
    keep = shape.axis(base, 2)[:, None] @ directions.swapaxes(1, 2) > -0.9
    axes, slope = shape.joint_axes(frames, base), shape.curvature_slope(shape.curvature(frames, base))
    step = 1e-5
    for number in (0, 1):
        ends = [
            shape.curvature(
                shape.carried_frames(quaternion.rotate(quaternion.exp(sign * axes[:, :, number]), directions), base),
                base,
            )
            for sign in (step, -step)
        ]
        rate = (ends[0] - ends[1])[:, 0] / (2 * step)
        expected = slope * np.eye(2)[number]
        np.testing.assert_allclose(rate[keep[:, 0, 0]], expected[keep[:, 0, 0]], atol=1e-7)


def test_the_axes_of_a_joint_leave_both_links_untwisted():
    """A turn about them keeps the child's frame the one that is carried from its parent: to first order, no twist."""
    rng = np.random.default_rng(1)
    base = quaternion.normalize(rng.normal(size=(20, 4)))
    bend = 0.8 * rng.normal(size=(20, 2))
    turn = quaternion.exp(quaternion.rotate(base, np.pad(bend, ((0, 0), (0, 1)))))
    frames = quaternion.multiply(turn, base)[:, None]
    axes = shape.joint_axes(frames, base)
    step = quaternion.exp(1e-4 * axes[:, 0, 0])
    turned = quaternion.multiply(step, frames[:, 0])
    carried = shape.carried_frames(shape.axis(turned, 2)[:, None], base)[:, 0]
    assert quaternion.angle_between(turned, carried).max() < 1e-7  # second order in a turn of 1e-4


def test_threads_do_not_change_a_byte(on_threads):
    model = curls(40, 12, damping=0.002)
    roots, load = shifted_roots(model, 2), random_load(model, 3)

    def steps():
        solver = ChainSolver(model)
        return run(solver, moving(solver, 1), roots, 10, 0.004, load)

    on_threads(steps)


def test_a_step_reads_one_state_and_writes_the_other():
    model = curls(3, 10)
    solver = ChainSolver(model)
    state = moving(solver, 4)
    kept, out = state.copy(), state.copy()
    solver.step(state, out, still(model), no_load(model), dt=0.005)
    for name, array in state.arrays().items():
        np.testing.assert_array_equal(array, kept.arrays()[name], err_msg=name)
    solver.step(state, state, still(model), no_load(model), dt=0.005)
    for name, array in state.arrays().items():
        np.testing.assert_array_equal(array, out.arrays()[name], err_msg=name)


def test_turning_everything_turns_the_result():
    model = curls(4, 15, damping=0.003)
    turn = quaternion.normalize(np.array([0.3, -0.5, 0.2, 0.7]))
    turned_model = hair(
        quaternion.rotate(turn, model.rest_points), damping=0.003, gravity=quaternion.rotate(turn, model.gravity)
    )
    roots = shifted_roots(model, 9, shift=0.01, turn=0.2)
    about = quaternion.multiply(quaternion.multiply(turn, roots.rotations), quaternion.conjugate(turn))
    turned_roots = RootPose(quaternion.rotate(turn, roots.positions), about)
    solver, turned_solver = ChainSolver(model), ChainSolver(turned_model)
    state = run(solver, solver.rest_state(still(model)), roots, 40, 0.005)
    turned = run(turned_solver, turned_solver.rest_state(still(turned_model)), turned_roots, 40, 0.005)
    # Rounding grows along a swing of 0.2 s; 1e-16 of 10 cm to begin with.
    np.testing.assert_allclose(turned.points, quaternion.rotate(turn, state.points), atol=1e-10)
    np.testing.assert_allclose(turned.cut_force, quaternion.rotate(turn, state.cut_force), atol=1e-12)


def test_lengths_are_exact_however_violent_the_motion():
    model = straight(8, 25, 0.25, direction=(0, -1, 0))
    solver = ChainSolver(model)
    state, rng = solver.rest_state(still(model)), np.random.default_rng(0)
    for _ in range(100):
        # Roots thrown by up to 10 cm and 60 degrees in 10 ms: 1000 m/s^2.
        roots = RootPose(rng.uniform(-0.05, 0.05, (8, 3)), quaternion.exp(rng.uniform(-0.6, 0.6, (8, 3))))
        solver.step(state, state, roots, no_load(model), dt=0.01)
    assert np.isfinite(state.velocity).all()
    assert np.abs(solver.stretch(state)).max() < 1e-13
    # A whip may be faster than the hand, by the ratio of masses along it; a blow-up would have no bound.
    assert np.abs(state.velocity).max() < 200


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"iterations": 0}, "iterations: must be at least 1, got 0"), ({"theta": 0.4}, "theta: must be above")],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        ChainParams(**settings)


@pytest.mark.parametrize("dt", [0.0, -0.01, np.nan])
def test_a_step_needs_a_length(dt):
    model = straight(1, 5, 0.1)
    solver = ChainSolver(model)
    state = solver.rest_state(still(model))
    with pytest.raises(ValueError, match="dt: must be a finite number of seconds above zero"):
        solver.step(state, state, still(model), no_load(model), dt=dt)
