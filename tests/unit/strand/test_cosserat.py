"""Cosserat rods: the banded kernel against a dense step, rest shapes against statics, and what must not change."""

import numpy as np
import pytest

from mane.geometry import quaternion
from mane.strand._reference import stage_theta
from mane.strand.cosserat._reference import reference_step
from mane.strand.cosserat.solver import SPIN_INERTIA, CosseratSolver
from mane.strand.model import StrandModel
from mane.strand.ports import Load
from mane.strand.rod_rest import static_moments, weight_beyond
from mane.strand.roots import RootPose
from mane.strand.standing.stiffen import stiffen_to_stand
from mane.strand.stepping import StepPath, Stepper

YOUNG, RADIUS, DENSITY = 3.9e9, 40e-6, 1320.0


def model_of(points, *, root=0, damping=0.0, gravity=(0, -9.81, 0), radius=RADIUS):
    """Hair of one thickness along the given strands (G, V, 3)."""
    points = np.asarray(points, float)
    area, second = np.pi * radius**2, np.pi * radius**4 / 4
    half = 0.5 * DENSITY * area * np.linalg.norm(np.diff(points, axis=1), axis=2)
    mass = np.pad(half, ((0, 0), (0, 1))) + np.pad(half, ((0, 0), (1, 0)))
    twist = YOUNG / (2 * 1.37) * 2 * second
    return StrandModel(
        points, mass, YOUNG * area, YOUNG * second, twist, damping, radius, root, gravity=np.array(gravity, float)
    )


def straight(count, segments, length, direction=(1, 0, 0), **options):
    along = np.linspace(0, length, segments + 1)[None, :, None] * np.asarray(direction, float)
    return model_of(np.tile(along, (count, 1, 1)), **options)


def curls(count, segments, *, seed=0, **options):
    """Helices of random radius, pitch and direction."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, segments + 1)
    strands = []
    for _ in range(count):
        radius, turns, length = rng.uniform(0.003, 0.012), rng.uniform(1, 3), rng.uniform(0.1, 0.25)
        angle = 2 * np.pi * turns * t
        helix = np.stack([radius * np.cos(angle) - radius, -length * t, radius * np.sin(angle)], axis=1)
        strands.append(quaternion.rotate(quaternion.random(1, rng)[0].astype(float), helix) + rng.normal(size=3) * 0.1)
    return model_of(np.stack(strands), **options)


def still(model):
    count = model.strand_count
    return RootPose(model.rest_points[:, 0].copy(), np.tile([0.0, 0.0, 0.0, 1.0], (count, 1)))


def run(solver, state, roots, frames, *, dt=0.01, substeps=4):
    stepper = Stepper(solver)
    for frame in range(frames):
        stepper.step(state, state, StepPath(lambda _: roots), time=(frame + 1) * dt, dt=dt, substeps=substeps)
    return state


def random_load(model, seed):
    rng = np.random.default_rng(seed)
    load = Load.empty(model.strand_count, model.vertex_count)
    weight = model.mass[..., None] * 9.81
    load.force[...] = rng.normal(size=load.force.shape) * 3 * weight
    for g in range(model.strand_count):
        for j in range(model.segment_count):
            # a contact of random stiffness and place on the segment
            n = rng.normal(size=3)
            n /= np.linalg.norm(n)
            block = 10 ** rng.uniform(-1, 3) * model.mass[g, j] * np.outer(n, n)
            six = np.array([block[0, 0], block[1, 1], block[2, 2], block[0, 1], block[0, 2], block[1, 2]])
            u = rng.uniform()
            load.resistance[g, j] += (1 - u) ** 2 * six
            load.resistance[g, j + 1] += u**2 * six
            load.coupling[g, j] += u * (1 - u) * six
    return load


@pytest.mark.parametrize("loaded", [False, True], ids=["calm", "loaded"])
@pytest.mark.parametrize("root", [0, 1, 2], ids=["clamped", "hinged", "free"])
def test_a_step_equals_the_dense_solve(root, loaded):
    model = curls(3, 7, root=root, damping=0.004)
    solver = CosseratSolver(model)
    rng = np.random.default_rng(5)
    state = solver.rest_state(still(model))
    state.velocity += rng.normal(size=state.velocity.shape) * 0.3
    state.spin += rng.normal(size=state.spin.shape) * 3
    state.orientations[...] = quaternion.normalize(
        state.orientations + 0.05 * rng.normal(size=state.orientations.shape)
    )
    state.cut_force += rng.normal(size=state.cut_force.shape) * 1e-6
    roots = RootPose(
        model.rest_points[:, 0] + 0.002 * rng.normal(size=(3, 3)), quaternion.exp(0.05 * rng.normal(size=(3, 3)))
    )
    load = random_load(model, 6) if loaded else Load.empty(3, 8)
    out = state.copy()
    solver.step(state, out, roots, load, dt=0.003)
    for g in range(3):
        theta = stage_theta(model, solver.params.theta, state.spin, load, dt=0.003, strand=g)
        assert (theta > 0.6) == loaded
        points, velocity, frames, cut = reference_step(solver, state, roots, load, dt=0.003, strand=g)
        # Numbers of 1e-1 m, an inertia 1e6 times below the stiffness, float64: nine digits remain;
        # the kernel turns frames by a series that is right to 1e-7 rad at the turns of these steps.
        # A hinge leaves the turn of the whole strand to its inertia: over 60 strands the order in which a kernel
        # adds up alone moved it by 1e-7 m.
        rounding = 3e-7 if root == 1 else 1e-8
        np.testing.assert_allclose(out.points[g], points, rtol=0, atol=rounding)
        # A velocity is a way of the stage, divided by its time and extrapolated.
        np.testing.assert_allclose(out.velocity[g], velocity, rtol=0, atol=rounding / (0.003 * theta**2))
        assert np.abs((out.orientations[g] * frames).sum(axis=1)).min() > 1 - 1e-10
        np.testing.assert_allclose(out.cut_force[g], cut, atol=1e-6 * np.abs(cut).max())


def test_a_strand_that_is_solved_anew_leaves_others_of_its_block_alone():
    """Strands are stepped eight at a time; the third is caught, by what turns it far, and solved by other rounds."""
    model = curls(5, 7)
    solver = CosseratSolver(model)
    rest = solver.rest_state(still(model))
    load = Load.empty(5, 8)
    load.resistance[2, 4, :3] = 300 * model.mass[2, 4] / 0.005
    load.force[2, 4] = load.resistance[2, 4, :3] * [1.0, -0.5, 1.0]
    together = rest.copy()
    solver.step(rest, together, still(model), load, dt=0.005)
    assert np.linalg.norm(together.points[2] - rest.points[2], axis=1).max() > 0.003
    for g in range(5):
        alone = rest.taken(np.array([g]))
        roots = RootPose(model.rest_points[[g], 0], np.array([[0.0, 0.0, 0.0, 1.0]]))
        solver.taken(np.array([g])).step(alone, alone, roots, load.taken(np.array([g])), dt=0.005)
        np.testing.assert_array_equal(alone.points[0], together.points[g])
        np.testing.assert_array_equal(alone.velocity[0], together.velocity[g])


def test_sag_free_curls_stay_where_they_were_groomed():
    model, _ = stiffen_to_stand(curls(6, 40))  # some point upwards and would fall over
    solver = CosseratSolver(model)
    state = run(solver, solver.rest_state(still(model)), still(model), 100)
    assert np.abs(state.points - model.rest_points).max() < 1e-9
    np.testing.assert_allclose(state.cut_force, weight_beyond(model), atol=1e-6 * np.abs(weight_beyond(model)).max())


def test_without_it_they_sag():
    model = straight(1, 10, 0.1)
    solver = CosseratSolver(model, sag_free=False)
    state = run(solver, solver.rest_state(still(model)), still(model), 100)
    assert state.points[0, -1, 1] < -0.03


def test_static_moment_of_a_horizontal_strand():
    """At the clamp of a horizontal rod: weight times half its length."""
    model = straight(1, 50, 0.08)
    moment = static_moments(np.diff(model.rest_points, axis=1), weight_beyond(model))
    total = model.mass.sum() * 9.81
    np.testing.assert_allclose(moment[0, 0], [0, 0, -total * 0.04], rtol=1e-9, atol=1e-20)


def test_the_cut_force_of_a_hanging_strand_is_what_hangs_below():
    model = straight(1, 20, 0.2, direction=(0, -1, 0))
    solver = CosseratSolver(model, sag_free=False)
    state = run(solver, solver.rest_state(still(model)), still(model), 50)
    np.testing.assert_allclose(state.cut_force, weight_beyond(model), rtol=1e-6, atol=1e-12)


def test_a_free_strand_falls_as_everything_does():
    model = curls(2, 10, root=2)
    solver = CosseratSolver(model)
    state = run(solver, solver.rest_state(still(model)), still(model), 30)
    np.testing.assert_allclose(state.velocity, np.broadcast_to([0, -9.81 * 0.3, 0], state.velocity.shape), atol=1e-6)


def test_inner_forces_change_neither_momentum_nor_spin_of_a_free_strand():
    model = curls(2, 12, root=2, gravity=(0, 0, 0), damping=0.002)
    solver = CosseratSolver(model)
    state = solver.rest_state(still(model))
    state.velocity += np.random.default_rng(1).normal(size=state.velocity.shape) * 0.2

    def momenta(s):
        p = (model.mass[..., None] * s.velocity).sum(axis=1)
        return p, np.cross(s.points, model.mass[..., None] * s.velocity).sum(axis=1)

    linear, angular = momenta(state)
    run(solver, state, still(model), 1, dt=0.001, substeps=1)
    after, angular_after = momenta(state)
    np.testing.assert_allclose(after, linear, atol=1e-9 * np.abs(linear).max())
    # Linearised rotations keep angular momentum to second order of what turns within a step.
    np.testing.assert_allclose(angular_after, angular, atol=0.02 * np.abs(angular).max())


def test_energy_never_grows_in_an_undamped_swing():
    model = straight(2, 20, 0.2)
    solver = CosseratSolver(model, sag_free=False)
    state = solver.rest_state(still(model))
    energy = [solver.energy(state)]
    for _ in range(100):
        run(solver, state, still(model), 1, dt=0.01, substeps=2)
        energy.append(solver.energy(state))
    scale = model.mass.sum() * 9.81 * 0.2
    assert np.diff(energy, axis=0).max() < 1e-9 * scale


@pytest.mark.parametrize("dt", [0.0005, 0.005, 0.02])
def test_a_twist_that_is_let_go_neither_gains_energy_nor_flips(dt):
    """A hair has next to no inertia about its own axis; the model gives it more (SPIN_INERTIA), which must not show."""
    segments, length = 20, 0.1
    model = straight(1, segments, length, gravity=(0, 0, 0))
    solver = CosseratSolver(model, sag_free=False)
    state = solver.rest_state(still(model))
    angles = 1.5 * np.pi * (np.arange(segments) + 0.5) / segments  # 0.24 rad at every joint
    state.orientations[0] = quaternion.multiply(
        state.orientations[0], quaternion.exp(np.outer(angles, [0.0, 0.0, 1.0]))
    )
    inertia = SPIN_INERTIA * 0.5 * (model.mass[0, :-1] + model.mass[0, 1:]) * model.rest_length[0] ** 2

    def energy():
        spinning = 0.5 * (inertia * (state.spin[0] ** 2).sum(axis=1)).sum()
        return solver.energy(state)[0] + spinning

    levels = [energy()]
    for _ in range(80):
        run(solver, state, still(model), 1, dt=dt, substeps=1)
        levels.append(energy())
    assert np.diff(levels).max() < 1e-9 * levels[0]
    assert levels[-1] < 1e-3 * levels[0]
    # It has come back to where it was without twist, by no other way round: the tip's frame is the clamp's.
    assert quaternion.angle_between(state.orientations[0, -1], solver.rest.frames[0, -1]) < 0.15
    np.testing.assert_allclose(state.points, model.rest_points, atol=1e-9)


@pytest.mark.parametrize("substeps", [1, 4])
def test_a_swing_keeps_every_length(substeps):
    """E A is 20 N: the pull of a swing is a few times the weight of 2e-5 N, a strain of some 1e-6."""
    model = straight(2, 25, 0.2)
    solver = CosseratSolver(model, sag_free=False)
    state = solver.rest_state(still(model))
    worst = 0.0
    for _ in range(100):
        run(solver, state, still(model), 1, dt=0.01, substeps=substeps)
        worst = max(worst, np.abs(solver.stretch(state)).max())
    assert worst < 2e-5


def test_adopt_turns_segments_to_moved_vertices_and_touches_no_other_strand():
    model = curls(3, 10)
    solver = CosseratSolver(model)
    state = solver.rest_state(still(model))
    untouched = state.copy()
    turn = quaternion.exp(np.array([0.0, 0.4, 0.0]))
    state.points[1] = quaternion.rotate(turn, state.points[1] - state.points[1, 0]) + state.points[1, 0]
    state.velocity[1] = np.cross([0.0, 2.0, 0.0], state.points[1] - state.points[1, 0])
    solver.adopt(state, np.array([False, True, False]))
    edge = np.diff(state.points[1], axis=0)
    axes = quaternion.rotate(state.orientations[1], np.broadcast_to([0.0, 0.0, 1.0], edge.shape))
    np.testing.assert_allclose(axes, edge / np.linalg.norm(edge, axis=1, keepdims=True), atol=1e-12)
    across = state.spin[1] - (state.spin[1] * axes).sum(axis=1, keepdims=True) * axes
    wanted = np.array([0.0, 2.0, 0.0]) - axes[:, 1:2] * 2.0 * axes
    np.testing.assert_allclose(across, wanted, atol=1e-9)
    np.testing.assert_array_equal(state.orientations[[0, 2]], untouched.orientations[[0, 2]])


def test_spare_lanes_and_threads_change_nothing(on_threads):
    """Nine strands fill one block of lanes and a ninth of another; a strand alone moves the same."""
    together = curls(9, 8, damping=0.001)
    alone = model_of(together.rest_points[4:5], damping=0.001)

    def moved(model):
        solver = CosseratSolver(model, sag_free=False)
        return run(solver, solver.rest_state(still(model)), still(model), 5)

    state = on_threads(lambda: moved(together))
    np.testing.assert_allclose(state.points[4], moved(alone).points[0], atol=1e-12)


def test_settings_are_checked():
    with pytest.raises(ValueError, match="theta: must be above"):
        CosseratSolver(straight(1, 4, 0.1), theta=0.5)
