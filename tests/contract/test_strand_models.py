"""What every strand model promises, whichever it is: one battery over the table of models."""

from dataclasses import replace

import numpy as np
import pytest

from mane.body.motion import Pose
from mane.geometry import quaternion
from mane.strand.material import Material
from mane.strand.model import RootKind
from mane.strand.ports import Load
from mane.strand.roots import RootPose
from mane.strand.solver import SOLVERS, converged_models, make_solver
from mane.strand.standing.stiffen import stiffen_to_stand
from mane.strand.state import StrandState
from mane.strand.stepping import StepPath, Stepper
from same_bytes import same_bytes

DT = 0.005  # [s]
STRANDS, VERTICES = 11, 9  # more than one block of eight lanes, and not a full second one
# A solve holds stretching and the spin of a thin hair about its own axis at once, E A l dt^2 against m r^2 / 2: 1e10 to
# 1. Rounding of 1e-16 may thus come back as 1e-6 of what a step moves, some 5 mm, and add up over twenty steps. Where
# hinged segments of 2 cm tip over, it grows by another exp(t sqrt(g / l)) = 9 in 0.1 s.
ROUNDING = 1e-6 * 5e-3 * 20 * 9  # [m]

models = pytest.mark.parametrize("name", sorted(SOLVERS))
# Rest and lengths are promises of steps that solve their equations to the end; test_xpbd has what the others keep.
converged = pytest.mark.parametrize("name", converged_models())


def wavy_strands(seed=0):
    """Strands of 12 to 20 cm that grow sideways and wave; roots on a ball."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=(STRANDS, 1, 3))
    direction /= np.linalg.norm(direction, axis=2, keepdims=True)
    arc = np.linspace(0, 1, VERTICES)[None, :, None] * rng.uniform(0.12, 0.2, (STRANDS, 1, 1))
    wave = 0.01 * np.sin(60 * arc + rng.uniform(0, 6, (STRANDS, 1, 1)))
    side = quaternion.any_perpendicular(direction)
    return 0.1 * direction + arc * direction + wave * side + 0.004 * np.cos(90 * arc) * np.cross(direction, side)


def make_model(points=None, root=None, gravity=(0.0, -9.81, 0.0), damping=0.002):
    """Clamped, hinged and free strands in turn, stiff enough to stand as groomed: only then is rest a promise."""
    points = wavy_strands() if points is None else points
    kinds = np.arange(len(points)) % 3 if root is None else root
    clamped, _ = stiffen_to_stand(Material(damping=damping).model(points, root=RootKind.CLAMPED, gravity=gravity))
    return replace(clamped, root_kind=kinds)


def roots_at(model, pose):
    return RootPose.carried(model.rest_points[:, 0], pose)


def pose_at(step):
    """A head that turns at up to 10 rad/s and shifts."""
    turn = quaternion.from_axis_angle(np.array([0.3, 1.0, 0.2]), 0.5 * np.sin(0.1 * step))
    return Pose(np.array([0.01, 0.02, -0.01]) * np.sin(0.1 * step), turn)


def some_load(model, seed=1):
    """Pushes, drags and couplings on every vertex, positive semidefinite."""
    rng = np.random.default_rng(seed)
    load = Load.empty(model.strand_count, model.vertex_count)
    load.force[...] = 0.2 * 9.81 * model.mass[..., None] * rng.normal(size=load.force.shape)
    load.resistance[..., :3] = rng.uniform(0, 5, model.mass.shape + (1,)) * model.mass[..., None]
    return load


def run(solver, steps, state=None, *, first=0, load=None):
    """Follow the head for some steps and return the last state."""
    model = solver.model
    load = load or some_load(model)
    state = solver.rest_state(roots_at(model, pose_at(0))) if state is None else state.copy()
    out = state.copy()
    for step in range(first + 1, first + steps + 1):
        solver.step(state, out, roots_at(model, pose_at(step)), load, dt=DT)
        state, out = out, state
    return state


# -- rest ------------------------------------------------------------------------------------------------------------


@converged
def test_a_groom_stays_as_groomed_under_gravity(name):
    model = make_model(root=RootKind.CLAMPED)
    solver = make_solver(name, model)
    roots = roots_at(model, Pose.identity())
    state = solver.rest_state(roots)
    nothing = Load.empty(STRANDS, VERTICES)
    for _ in range(100):
        solver.step(state, state, roots, nothing, dt=0.01)
    moved = np.linalg.norm(state.points - model.rest_points, axis=2).max(axis=1)
    assert (moved / model.strand_length).max() < 1e-6


@models
def test_without_gravity_the_groomed_shape_is_the_rest_shape(name):
    model = make_model(gravity=(0, 0, 0))
    solver = make_solver(name, model, sag_free=False)
    roots = roots_at(model, Pose.identity())
    state = solver.rest_state(roots)
    for _ in range(50):
        solver.step(state, state, roots, Load.empty(STRANDS, VERTICES), dt=0.01)
    np.testing.assert_allclose(state.points, model.rest_points, atol=ROUNDING)


@models
def test_the_rest_state_is_the_groom_carried_by_its_roots(name):
    model = make_model()
    solver = make_solver(name, model)
    pose = pose_at(7)
    state = solver.rest_state(roots_at(model, pose))
    np.testing.assert_allclose(state.points, pose.apply(model.rest_points), atol=1e-12)
    assert not state.velocity.any()
    tangents = np.diff(state.points, axis=1)
    tangents /= np.linalg.norm(tangents, axis=2, keepdims=True)
    # Under its own weight a rod that can shear is off its tangent by weight / (E A), less than 1e-5.
    np.testing.assert_allclose(quaternion.rotate(state.orientations, [0.0, 0.0, 1.0]), tangents, atol=1e-5)


@converged
def test_at_rest_a_cut_carries_the_weight_beyond_it(name):
    model = make_model(root=RootKind.CLAMPED)
    solver = make_solver(name, model)
    roots = roots_at(model, Pose.identity())
    beyond = np.cumsum(model.mass[:, ::-1], axis=1)[:, ::-1][:, 1:, None] * model.gravity
    # Springs are stretched so as to balance in the sense of least squares; what is left is below a thousandth.
    close = 1e-3 * np.abs(beyond).max()
    state = solver.rest_state(roots)
    np.testing.assert_allclose(state.cut_force, beyond, atol=close)
    for _ in range(20):
        solver.step(state, state, roots, Load.empty(STRANDS, VERTICES), dt=DT)
    np.testing.assert_allclose(state.cut_force, beyond, atol=close)


# -- motion ----------------------------------------------------------------------------------------------------------


@models
def test_turning_the_scene_turns_the_result(name):
    turn = quaternion.from_axis_angle(np.array([0.4, -0.5, 0.8]), 2.1)
    shift = np.array([0.3, -0.2, 0.5])
    plain = make_model()
    turned = make_model(
        quaternion.rotate(turn, plain.rest_points) + shift, gravity=quaternion.rotate(turn, plain.gravity)
    )
    around = Pose(shift, turn)
    results = []
    for model, scene in ((plain, Pose.identity()), (turned, around)):
        solver = make_solver(name, model)
        load = some_load(plain)
        load.force[...] = quaternion.rotate(scene.rotation, load.force)

        def roots(step, model=model, scene=scene):
            return roots_at(model, scene.compose(pose_at(step)).compose(scene.inverse()))

        state = solver.rest_state(roots(0))
        for step in range(1, 21):
            solver.step(state, state, roots(step), load, dt=DT)
        results.append(state)
    expected = quaternion.rotate(turn, results[0].points) + shift
    np.testing.assert_allclose(results[1].points, expected, atol=ROUNDING)
    np.testing.assert_allclose(results[1].velocity, quaternion.rotate(turn, results[0].velocity), atol=ROUNDING / DT)


@converged
def test_lengths_are_kept_while_the_head_turns(name):
    solver = make_solver(name, make_model())
    limit = 0.05 if name == "spring" else 0.01
    state = run(solver, 60)
    assert np.isfinite(state.points).all()
    assert np.abs(solver.stretch(state)).max() < limit


@converged
def test_tight_curls_that_are_kicked_gain_no_energy(name):
    """Six turns of 5 mm on 12 cm, every vertex thrown, up to 1 m/s at the tip; steps of 5 ms.

    Newton stops after a few rounds: of m g L, less than a thousandth may come of that.
    """
    theta = np.linspace(0, 1, 41)
    angle = 12 * np.pi * theta
    curl = np.stack([0.005 * np.cos(angle) - 0.005, -0.12 * theta, 0.005 * np.sin(angle)], axis=-1)
    turns = quaternion.exp(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.2], [0.0, 0.0, 2.5]]))
    model = Material(damping=0.0).model(quaternion.rotate(turns[:, None], curl), root=RootKind.CLAMPED)
    solver = make_solver(name, model, sag_free=False)
    roots = roots_at(model, Pose.identity())
    state = solver.rest_state(roots)
    state.velocity += np.array([0.6, 0.2, 0.77]) * theta[:, None]
    solver.adopt(state, np.ones(3, np.bool_))
    nothing = Load.empty(3, 41)
    levels = [solver.energy(state)]
    for _ in range(60):
        solver.step(state, state, roots, nothing, dt=0.005)
        levels.append(solver.energy(state))
    rise = np.array(levels) - np.minimum.accumulate(levels, axis=0)
    assert rise.max() < 1e-3 * model.mass[0].sum() * 9.81 * 0.12


@models
def test_a_held_root_is_where_the_head_has_it(name):
    model = make_model()
    state = run(make_solver(name, model), 10)
    held = model.root_kind != RootKind.FREE
    np.testing.assert_allclose(state.points[held, 0], pose_at(10).apply(model.rest_points[held, 0]), atol=1e-12)


@models
def test_strands_do_not_feel_each_other(name):
    model = make_model()
    together = run(make_solver(name, model), 12)
    rows = np.array([9, 4])
    alone_model = make_model(model.rest_points[rows], root=model.root_kind[rows])
    load, full = Load.empty(2, VERTICES), some_load(model)
    for mine, theirs in zip((load.force, load.resistance), (full.force, full.resistance), strict=True):
        mine[...] = theirs[rows]
    alone = run(make_solver(name, alone_model), 12, load=load)
    np.testing.assert_allclose(alone.points, together.points[rows], atol=ROUNDING)


@models
def test_a_teleport_carries_the_hair_along(name):
    model = make_model()
    solver = make_solver(name, model)
    stayed = run(solver, 15)
    jump = Pose(np.array([3.0, -1.0, 2.0]), quaternion.from_axis_angle(np.array([0.0, 1.0, 0.0]), 2.5))
    before = roots_at(model, pose_at(15))
    after = roots_at(model, jump.compose(pose_at(15)))
    carried = stayed.copy()
    solver.carry(carried, before, after)
    np.testing.assert_allclose(carried.points, jump.apply(stayed.points), atol=1e-9)
    np.testing.assert_allclose(carried.velocity, quaternion.rotate(jump.rotation, stayed.velocity), atol=1e-9)


@models
def test_adopting_what_was_not_changed_changes_nothing(name):
    solver = make_solver(name, make_model(damping=0.01))
    state = run(solver, 15)
    adopted = state.copy()
    solver.adopt(adopted, np.ones(STRANDS, np.bool_))
    # Velocities are those of implicit steps, secants of the path: rigid only to first order in the step.
    np.testing.assert_allclose(adopted.points, state.points, atol=1e-3 * 0.2)
    untouched = state.copy()
    solver.adopt(untouched, np.zeros(STRANDS, np.bool_))
    same_bytes(untouched, state)


# -- states ----------------------------------------------------------------------------------------------------------


@models
def test_one_and_two_threads_give_the_same_bytes(name, on_threads):
    def steps_and_adoption():
        solver = make_solver(name, make_model())
        state = run(solver, 20)
        adopted = state.copy()
        adopted.points[:, 1:] += 0.001
        solver.adopt(adopted, np.ones(STRANDS, np.bool_))
        return state, adopted

    on_threads(steps_and_adoption)


@models
def test_continuing_from_a_saved_state_equals_not_stopping(name):
    model = make_model()
    straight_on = run(make_solver(name, model), 20)
    saved = {key: array.copy() for key, array in run(make_solver(name, model), 11).arrays().items()}
    resumed = run(make_solver(name, model), 9, StrandState.from_arrays(saved), first=11)
    same_bytes(straight_on, resumed)


@models
def test_the_input_state_is_left_alone(name):
    model = make_model()
    solver = make_solver(name, model)
    state = run(solver, 5)
    kept, out = state.copy(), state.copy()
    solver.step(state, out, roots_at(model, pose_at(6)), some_load(model), dt=DT)
    same_bytes(state, kept)
    assert (out.points != state.points).any()


@models
def test_a_state_may_be_stepped_in_place(name):
    model = make_model()
    solver = make_solver(name, model)
    state = run(solver, 5)
    roots, load = roots_at(model, pose_at(6)), some_load(model)
    out = state.copy()
    solver.step(state, out, roots, load, dt=DT)
    solver.step(state, state, roots, load, dt=DT)
    same_bytes(state, out)


@models
def test_states_do_not_share_arrays_with_the_solver(name):
    model = make_model()
    solver = make_solver(name, model)
    roots = roots_at(model, Pose.identity())
    first = solver.rest_state(roots)
    for array in first.arrays().values():
        array.fill(7)
    same_bytes(solver.rest_state(roots), make_solver(name, model).rest_state(roots))


# -- bad input -------------------------------------------------------------------------------------------------------


def with_value(array, index, value):
    array = array.copy()
    array[index] = value
    return array


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda m: {"rest_points": with_value(m.rest_points, (3, 2, 1), np.nan)},
            "rest_points: must be finite, got nan",
        ),
        (
            lambda m: {"rest_points": with_value(m.rest_points, (4, 5), m.rest_points[4, 4])},
            "segments must have a length above zero, got 0 at strand 4, index 4",
        ),
        (
            lambda m: {"bend_stiffness": with_value(m.bend_stiffness, (2, 3), -1.0)},
            "bend_stiffness: must be above zero",
        ),
        (lambda m: {"damping": with_value(m.damping, (2, 3), -1.0)}, "damping: must be at least zero, got -1"),
        (lambda m: {"mass": with_value(m.mass, (0, 0), 0.0)}, "mass: must be above zero, got 0 at strand 0, index 0"),
        (lambda m: {"rest_points": np.zeros((0, 5, 3))}, "guides: must hold at least one strand, got none"),
        (lambda m: {"root_kind": np.full(STRANDS, 3)}, "root_kind: must be 0 "),
    ],
    ids=["nan", "zero-length", "negative-stiffness", "negative-damping", "massless", "no-guides", "root-kind"],
)
def test_bad_guides_are_refused(change, message):
    with pytest.raises(ValueError, match=message) as error:
        replace(make_model(), **change(make_model()))
    assert "\n" not in str(error.value)


@models
@pytest.mark.parametrize("dt", [0.0, -0.01, np.nan, np.inf])
def test_a_step_must_take_time(name, dt):
    model = make_model()
    stepper = Stepper(make_solver(name, model))
    roots = roots_at(model, Pose.identity())
    state = stepper.solver.rest_state(roots)
    with pytest.raises(ValueError, match="dt: must be a finite number of seconds above zero"):
        stepper.step(state, state, StepPath(lambda fraction: roots), time=0.0, dt=dt, substeps=1)


@models
def test_unknown_settings_are_refused(name):
    with pytest.raises(TypeError, match="stifness"):
        make_solver(name, make_model(), stifness=3)


def test_roots_must_be_finite():
    with pytest.raises(ValueError, match="root positions: must be finite, got nan at index 1"):
        RootPose.checked([[0, 0, 0], [0, np.nan, 0]], [[0, 0, 0, 1]] * 2, 2)


def test_unknown_models_are_refused_by_name():
    with pytest.raises(ValueError, match="model: 'coserat' is unknown; choose from chain, cosserat, spring, xpbd"):
        make_solver("coserat", make_model())
