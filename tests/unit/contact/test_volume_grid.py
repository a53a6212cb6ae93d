"""The volume grid: against its NumPy specification, what it keeps, what it leaves alone, what it holds up."""

import numpy as np
import pytest
from loose_points import LoosePoints, load_of, view
from mass_points import make_model

from mane.body.motion import Pose
from mane.contact.grid import _reference as reference
from mane.contact.grid.volume_grid import LARGEST_AXIS, VolumeGrid, usual_cell
from mane.geometry import quaternion
from mane.strand.roots import RootPose

DT = 1 / 250
CELL = 0.02


def tangle(strands=40, vertices=6, seed=0, size=0.06):
    """Strands across a box, in all directions, free of gravity."""
    rng = np.random.default_rng(seed)
    start, end = rng.uniform(-size, size, (2, strands, 1, 3))
    points = start + (end - start) * np.linspace(0, 1, vertices)[:, None]
    return make_model(points, mass=rng.uniform(0.5e-7, 2e-7, (strands, vertices)), gravity=(0, 0, 0))


def squeezed(model, seed=1, factor=0.7):
    """Points denser than at rest, and some velocity."""
    velocity = np.random.default_rng(seed).normal(0, 0.3, model.rest_points.shape)
    return factor * model.rest_points, velocity


def exchanged(grid, model, points, velocity, **around):
    """Velocities after one exchange, from the force."""
    load = load_of(grid, view(model, points, velocity, dt=DT, **around))
    assert not load.resistance.any()
    return velocity + DT * load.force / model.mass[..., None]


def momenta(model, points, velocity, grid):
    """Linear and angular momentum; the latter with what the affine matrices hold."""
    mass = model.mass[..., None]
    b = grid.affine
    inner = np.stack([b[..., 2, 1] - b[..., 1, 2], b[..., 0, 2] - b[..., 2, 0], b[..., 1, 0] - b[..., 0, 1]], axis=-1)
    angular = mass * (np.cross(points, velocity) + inner)
    return (mass * velocity).sum(axis=(0, 1)), angular.sum(axis=(0, 1))


def make_grid(model, **settings):
    grid = VolumeGrid(**{"cell": CELL, **settings})
    grid.prepare(model)
    return grid


def test_two_exchanges_are_those_of_the_specification():
    model = tangle()
    points, velocity = squeezed(model)
    friction, speed = 50.0, 0.8
    grid = make_grid(model, friction=friction, pressure_speed=speed)
    flat, mass = points.reshape(-1, 3), model.mass.reshape(-1)
    # the grid of the specification has a node at the origin, and so has that of the head at rest
    rest = reference.density(model.rest_points.reshape(-1, 3), mass, CELL)
    rest = np.maximum(rest, np.median(rest)) * 1.1
    expected, affine = velocity.reshape(-1, 3), np.zeros((mass.size, 3, 3))
    still = RootPose(model.rest_points[:, 0], np.tile([0.0, 0, 0, 1], (model.strand_count, 1)))
    for _ in range(2):
        velocity = exchanged(grid, model, points, velocity, roots=(still, still))
        expected, affine = reference.exchange(
            flat, expected, affine, mass, rest, cell=CELL, share=1 - np.exp(-friction * DT), speed=speed, dt=DT
        )
        # sums of some hundred terms in another order
        np.testing.assert_allclose(grid.rest_density.reshape(-1), rest, rtol=1e-12)
        np.testing.assert_allclose(velocity.reshape(-1, 3), expected, atol=1e-12)
        np.testing.assert_allclose(grid.affine.reshape(-1, 3, 3), affine, atol=1e-14)


@pytest.mark.parametrize(("friction", "pressure"), [(0.0, 2.0), (20.0, 0.0), (20.0, 2.0), (1e6, 100.0)])
def test_free_strands_keep_their_momenta(friction, pressure):
    model = tangle()
    points, velocity = squeezed(model)
    grid = make_grid(model, friction=friction, pressure_speed=pressure)
    size = (model.mass[..., None] * np.abs(velocity)).sum()
    linear, angular = momenta(model, points, velocity, grid)
    for _ in range(5):
        changed = exchanged(grid, model, points, velocity)
        assert np.abs(changed - velocity).max() > 1e-3
        velocity = changed
        now = momenta(model, points, velocity, grid)
        np.testing.assert_allclose(now[0], linear, atol=1e-13 * size)
        if friction > 0:
            np.testing.assert_allclose(now[1], angular, atol=1e-13 * size)


def test_a_turn_of_the_whole_survives_strong_friction_and_a_shear_does_not():
    model = tangle(strands=200)
    points = model.rest_points
    spin = np.array([2.0, -1.0, 3.0])
    turning = np.cross(spin, points)
    noise = np.random.default_rng(2).normal(0, 1.0, points.shape)
    noise -= (model.mass[..., None] * noise).sum(axis=(0, 1)) / model.mass.sum()
    kept = {}
    for name, start in (("turn", turning), ("noise", noise)):
        grid = make_grid(model, friction=100.0, pressure_speed=0.0)
        velocity = start
        for _ in range(25):  # 0.1 s: ten times the time constant
            velocity = exchanged(grid, model, points, velocity)
        kept[name] = np.vdot(velocity, start) / np.vdot(start, start)
    # A turn goes over into the matrices until they turn as well, which hold the share of a cell's inertia in that of
    # the whole, some (cell / size)^2: a tenth. Noise is shared with the ten vertices of a cell.
    assert kept["turn"] > 0.85
    assert kept["noise"] < 0.35


def test_a_groom_at_rest_feels_nothing_wherever_the_head_is():
    model = tangle()
    grid = make_grid(model, pressure_speed=2.0)
    pose = Pose(np.array([0.313, -0.1777, 0.0511]), quaternion.exp(np.array([0.3, 1.1, -0.4])))
    roots = RootPose.carried(model.rest_points[:, 0].copy(), pose)
    load = load_of(grid, view(model, pose.apply(model.rest_points), roots=(roots, roots)))
    assert not load.force.any()
    assert grid.report()["density"] == pytest.approx(1 / 1.1)


def test_turning_the_scene_turns_the_result():
    model = tangle()
    points, velocity = squeezed(model)
    turn = Pose(np.zeros(3), quaternion.exp(np.array([0.3, 1.1, -0.4])))
    results = []
    for pose in (Pose.identity(), turn):
        grid = make_grid(model, pressure_speed=2.0, friction=30.0)
        roots = RootPose.carried(model.rest_points[:, 0].copy(), pose)
        moving = pose.apply(velocity)
        for _ in range(3):
            moving = exchanged(grid, model, pose.apply(points), moving, roots=(roots, roots))
        results.append(moving)
    np.testing.assert_allclose(turn.apply(results[0]), results[1], atol=1e-11)


def test_same_bytes_on_any_number_of_threads(on_threads):
    # Slabs of four cells are shared out by their numbers up to the largest, 32: hair in 24 of them is some for both.
    model = tangle(strands=100, size=np.array([1.4, 0.06, 0.06]))
    points, velocity = squeezed(model)
    assert np.ptp(points[..., 0]) > 0.5 * LARGEST_AXIS * CELL

    def exchanges():
        grid = make_grid(model, pressure_speed=2.0)
        loads = [load_of(grid, view(model, points, velocity)) for _ in range(2)]
        return loads, grid.affine, grid.density

    on_threads(exchanges)


def density_ratio(model, points):
    """Mean density of hair over that of the groom."""
    meter = make_grid(model, friction=0.0, pressure_speed=0.0)
    densities = []
    for where in (model.rest_points, points):
        load_of(meter, view(model, where))
        densities.append(meter.density.mean())
    return densities[1] / densities[0]


def fall_together(grid, dt=DT):
    """Strands that are all drawn to the plane between them, between walls; return their density and highest energy.

    The energy is that of motion and of the pull, over what it was at first.
    """
    pull, duration = 5.0, 0.8
    rng = np.random.default_rng(4)
    points = np.zeros((60, 8, 3))
    points[..., 0] = np.linspace(-0.07, 0.07, 8)
    points += rng.uniform(-0.04, 0.04, (60, 1, 3))
    model = make_model(points, gravity=(0, 0, 0))
    mats = LoosePoints(model, [grid], rigid=True)
    energies = [pull * np.abs(points[..., 1]).sum()]
    for _ in range(round(duration / dt)):
        mats.velocity[..., 1] -= pull * np.sign(mats.points[..., 1]) * dt
        mats.step(dt)
        mats.velocity[..., [0, 2]] = 0.0
        mats.points[..., [0, 2]] = model.rest_points[..., [0, 2]]
        energies.append((0.5 * mats.velocity[..., 1] ** 2 + pull * np.abs(mats.points[..., 1])).sum())
    return density_ratio(model, mats.points), max(energies) / energies[0]


def test_hair_that_falls_onto_itself_keeps_its_volume():
    kept, _ = fall_together(VolumeGrid(cell=CELL, friction=10.0, pressure_speed=3.0))
    collapsed, _ = fall_together(VolumeGrid(cell=CELL, friction=10.0, pressure_speed=0.0))
    # Ten percent looseness, and g H / c^2 = 5 x 0.04 / 2^2 of weight, with c limited to 0.4 cells per step (2 m/s):
    # 1.16, and as much again for what still sways. Hair that lies in one layer of cells is 2.5 times as dense.
    assert 0.85 < kept < 1.3
    assert collapsed > 2.0


@pytest.mark.parametrize("friction", [5.0, 1e6])
@pytest.mark.parametrize("dt", [1 / 400, 1 / 60])
def test_no_setting_is_too_stiff_for_a_step(dt, friction):
    grid = VolumeGrid(cell=CELL, friction=friction, pressure_speed=1e3)
    _, energy = fall_together(grid, dt)
    # pressure gives back what it took, and no more; the pull itself is explicit, of which g^2 dt^2 per 2 g H is wrong
    assert energy < 1.0 + 5.0 * dt**2 / (2 * 0.02) + 0.02


def test_strands_that_take_no_part_are_neither_felt_nor_moved():
    model = tangle()
    points, velocity = squeezed(model)
    chosen = np.arange(model.strand_count) % 2 == 0
    part = make_grid(model, strands=chosen)
    force = load_of(part, view(model, points, velocity)).force
    assert not force[~chosen].any()
    points[~chosen] += 5.0
    velocity[~chosen] *= -3
    np.testing.assert_array_equal(load_of(make_grid(model, strands=chosen), view(model, points, velocity)).force, force)


def test_what_flies_away_is_left_alone_and_memory_stays_bounded():
    model = tangle()
    points, velocity = squeezed(model)
    points[0] += 1e4
    grid = make_grid(model)
    force = load_of(grid, view(model, points, velocity)).force
    assert not force[0].any() or not force[1:].any()
    assert grid._nodes.size <= 4 * 1.5 * LARGEST_AXIS**3  # four numbers each
    assert not grid.density[0].any() or not grid.density[1:].any()


def test_continuing_from_memory_equals_not_stopping():
    model = tangle()
    points, velocity = squeezed(model)
    grid = make_grid(model)
    load_of(grid, view(model, points, velocity))
    other = make_grid(model)
    other.restore(grid.memory())
    seen = view(model, points, velocity)
    np.testing.assert_array_equal(load_of(other, seen).force, load_of(grid, seen).force)
    grid.forget(np.arange(model.strand_count) == 3)
    assert not grid.affine[3].any()
    assert grid.affine[4].any()


def test_cells_are_as_large_as_strands_are_apart_or_segments_long():
    points = np.zeros((9, 5, 3))
    points[..., 1] = np.linspace(0, 0.04, 5)
    points[..., 0] = 0.05 * np.arange(9)[:, None]
    assert usual_cell(make_model(points)) == pytest.approx(1.5 * 0.05)
    points[..., 0] *= 0.01
    assert usual_cell(make_model(points)) == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"friction": -1.0}, "friction: must be at least 0, got -1.0"),
        ({"pressure_speed": np.inf}, "pressure_speed: must be finite and at least 0, got inf"),
        ({"cell": 0.0}, "cell: must be above 0, got 0.0"),
        ({"strands": [True]}, r"strands: must have shape \(40,\), got \(1,\)"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        VolumeGrid(**settings).prepare(tangle())
