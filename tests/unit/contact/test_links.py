"""Static links: their force and its reaction, what they remember, and that no stiffness upsets them."""

from dataclasses import replace

import numpy as np
import pytest
from brushes import LENGTH, MASS, brush, disturbed, forces_of, kinetic, momentum, rods, spin
from hypothesis import given, settings
from hypothesis import strategies as st
from loose_points import view
from mass_points import PointSolver, Scene

from mane.body.motion import Pose
from mane.contact.compliance import response
from mane.contact.links._reference import link_forces
from mane.contact.links.find import find_links
from mane.contact.links.links import SHARE, StaticLinks
from mane.geometry import quaternion
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.scene.simulation import Simulation
from mane.strand.material import Material
from mane.strand.model import RootKind
from mane.strand.ports import Load
from mane.strand.solver import SOLVERS

BRIEF = 1e-10  # [s], a step so short that what is implicit, some rate times step, is below a millionth
ROUNDING = 1e-12  # of sums of a few hundred float64 numbers, relative to the largest


def linked(model, **settings) -> StaticLinks:
    links = StaticLinks(**settings)
    links.prepare(model)
    return links


def laws(model, table, *, rate=30.0, damping=0.5, dt=0.004):
    """Stiffness [N/m], damping [kg/s] and response [1/kg] of each link (G, N, count), link by link.

    All links of a segment make its rate together, each with the reduced mass of the segments at its ends. The response
    of a link is that of a push of weight n on its vertices, where all links push with theirs: n |W| sum n'.
    """
    stiffness, damped, give = np.zeros((3, *table.other.shape))
    segments = model.segment_count
    mass = 0.5 * (model.mass[:, :-1] + model.mass[:, 1:])
    pushes = {}
    for g, i, k in np.argwhere(table.other >= 0):
        other = divmod(table.other[g, i, k], segments)
        tied = (table.other[g, i] >= 0).sum()
        reduced = 2 / (1 / mass[g, i] + 1 / mass[other]) / tied
        stiffness[g, i, k], damped[g, i, k] = rate**2 * reduced, 2 * damping * rate * reduced
        along, lever = table.local[g, i, k, 0], np.linalg.norm(table.local[g, i, k, 1:]) / model.rest_length[g, i]
        u = table.fraction[g, i, k]
        ends = [(g, i, abs(1 - along) + lever), (g, i + 1, abs(along) + lever)]
        pushes[g, i, k] = [*ends, (other[0], other[1], 1 - u), (other[0], other[1] + 1, u)]
    busy = np.zeros(model.mass.shape)
    for push in pushes.values():
        for g, v, weight in push:
            busy[g, v] += weight
    felt = np.einsum("gvw,gw->gv", response(model, 2.0 ** np.floor(np.log2(dt))), busy)
    for link, push in pushes.items():
        give[link] = sum(weight * felt[g, v] for g, v, weight in push) / SHARE
    return stiffness, damped, give


def tied_as_groomed(model, count=4):
    every = np.ones(model.strand_count, np.bool_)
    return find_links(model.rest_points, every, np.zeros(model.strand_count, np.int64), count, None)


def uneven_brush():
    """A brush whose vertices differ in mass."""
    model = brush()
    return replace(model, mass=MASS * np.random.default_rng(9).uniform(0.5, 2.0, model.mass.shape))


def test_kernel_does_what_the_reference_says():
    model = uneven_brush()
    links = linked(model)
    points, velocity = disturbed(model, 0)
    forces = forces_of(links, model, points, velocity)
    table = tied_as_groomed(model)
    expected, drawn = link_forces(
        points, velocity, table.other, table.fraction, table.local, *laws(model, table), 0.004
    )
    np.testing.assert_allclose(forces, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    health = np.clip((0.03 - drawn) / 0.02, 0, 1)[table.other >= 0]
    np.testing.assert_allclose(links.health, health, atol=1e-12)


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), shift=st.sampled_from([1e-5, 1e-3, 0.02]), rate=st.sampled_from([1.0, 50.0, 1e4]))
def test_forces_and_moments_cancel_in_any_state(seed, shift, rate):
    model = brush()
    links = linked(model, rate=rate)
    points, velocity = disturbed(model, seed, shift=shift)
    forces = forces_of(links, model, points, velocity)
    size = np.abs(forces).sum()
    assert np.abs(forces.sum(axis=(0, 1))).max() <= ROUNDING * size
    assert np.abs(np.cross(points, forces).sum(axis=(0, 1))).max() <= ROUNDING * size * np.abs(points).max()


def test_a_hairstyle_that_moves_as_one_feels_nothing():
    model = brush()
    turn = quaternion.exp(np.array([0.3, -1.2, 0.7]))
    points = quaternion.rotate(turn, model.rest_points) + [0.1, 0.2, 0.3]
    forces = forces_of(linked(model, rate=100.0), model, points)
    # a micrometre off would be 100^2 / s^2 times the mass of a vertex times 1e-6 m
    assert np.abs(forces).max() < 1e-6 * (100.0**2 * MASS * 1e-6)


def test_two_strands_pull_each_other_by_stiffness_times_distance():
    points = np.zeros((2, 4, 3))
    points[:, :, 1] = -LENGTH * np.arange(4)
    points[1, :, 0] = 0.01
    model = brush(points=points)
    apart = points.copy()
    apart[1, :, 0] += 0.002
    # Each of the 3 segments of either strand has one link.
    forces = forces_of(linked(model, rate=30.0), model, apart, dt=BRIEF)
    expected = 2 * 3 * 30.0**2 * MASS * 0.002
    np.testing.assert_allclose(forces[0].sum(axis=0), [expected, 0, 0], rtol=1e-6, atol=1e-12 * expected)
    np.testing.assert_allclose(forces[1].sum(axis=0), [-expected, 0, 0], rtol=1e-6, atol=1e-12 * expected)


def test_motion_along_a_link_is_damped():
    points = np.zeros((2, 4, 3))
    points[:, :, 1] = -LENGTH * np.arange(4)
    points[1, :, 0] = 0.01
    model = brush(points=points)
    apart = points.copy()
    apart[1, :, 0] += 0.002
    velocity = np.zeros_like(points)
    velocity[1, :, 0] = 0.3
    still = forces_of(linked(model, rate=30.0, damping=0.5), model, apart, dt=BRIEF)
    moving = forces_of(linked(model, rate=30.0, damping=0.5), model, apart, velocity, dt=BRIEF)
    # eq. 2: 2 * ratio * rate * mass per link
    added = (moving - still)[0].sum(axis=0)
    np.testing.assert_allclose(added[0], 6 * 2 * 0.5 * 30.0 * MASS * 0.3, rtol=1e-5)


def test_a_link_weakens_for_good_and_breaks_where_stated():
    points = np.zeros((2, 4, 3))
    points[:, :, 1] = -LENGTH * np.arange(4)
    points[1, :, 0] = 0.01
    model = brush(points=points)
    links = linked(model, weakens_at=0.005, breaks_at=0.015)

    def pulled(distance):
        apart = points.copy()
        apart[1, :, 0] += distance
        return np.abs(forces_of(links, model, apart, dt=BRIEF)[0].sum(axis=0))[0]

    whole = pulled(0.004)
    assert (links.health == 1).all()
    pulled(0.009)  # 4 of the 10 mm between the limits
    np.testing.assert_allclose(links.health, 0.6, rtol=1e-9)
    np.testing.assert_allclose(pulled(0.004), 0.6 * whole, rtol=1e-6)
    pulled(0.0151)
    assert (links.health == 0).all()
    assert pulled(0.004) == 0
    assert links.report() == {"broken links": 1.0}
    links.mend()
    np.testing.assert_allclose(pulled(0.004), whole, rtol=1e-9)


def test_rebuilt_links_hold_the_new_shape():
    model = brush()
    links = linked(model)
    points, _ = disturbed(model, 1, shift=0.004)
    assert np.abs(forces_of(links, model, points)).max() > 0
    links.rebuild()
    largest = np.abs(forces_of(links, model, points)).max()
    assert largest < 1e-6 * (30.0**2 * MASS * 1e-6)


def test_links_stay_within_groups_and_leave_out_who_takes_no_part():
    model = brush()
    groups = np.array([0, 0, 0, 1, 1, 1, 0, 0, -1])
    links = linked(model, groups=groups)
    points, _ = disturbed(model, 2)
    forces = forces_of(links, model, points)
    other = links.memory()["other"]
    owner = np.broadcast_to(np.arange(9)[:, None, None], other.shape)[other >= 0]
    partner = other[other >= 0] // model.segment_count
    assert (groups[owner] == groups[partner]).all()
    assert (owner != partner).all()
    assert not forces[8].any()
    assert np.abs(forces[:8]).max() > 0


def test_links_rest_while_a_strand_at_either_end_is_not_active():
    model = uneven_brush()
    links = linked(model)
    points, velocity = disturbed(model, 5, shift=0.02)
    forces_of(links, model, model.rest_points)  # ties them
    strands, load = view(model, points, velocity, dt=0.004), Load.empty(9, 6)
    strands.active[[4, 8]] = False
    links.add(strands, load)
    table = tied_as_groomed(model)
    owner = np.broadcast_to(np.arange(9)[:, None, None], table.other.shape)
    rests = (table.other >= 0) & ~(strands.active[owner] & strands.active[table.other // model.segment_count])
    felt = np.where(rests, -1, table.other)
    expected, _ = link_forces(points, velocity, felt, table.fraction, table.local, *laws(model, table), 0.004)
    np.testing.assert_allclose(load.force, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    assert not load.force[[4, 8]].any()
    assert rests.any()
    health = links.memory()["health"]
    assert (health[rests] == 1).all()
    assert (health[felt >= 0] < 1).any()


def test_a_strand_alone_feels_nothing():
    model = brush(side=1)
    links = linked(model)
    assert not forces_of(links, model, *disturbed(model, 6)).any()
    assert links.report() == {"broken links": 0.0}


def test_broken_links_are_counted_on_from_a_checkpoint():
    model = brush()
    links = linked(model)
    points, _ = disturbed(model, 7, shift=0.02)
    forces_of(links, model, points)
    share = links.report()["broken links"]
    assert 0 < share < 1
    assert share == pytest.approx((links.health == 0).mean())
    fresh = linked(model)
    fresh.restore(links.memory())
    assert fresh.report() == links.report()
    forces_of(fresh, model, disturbed(model, 8, shift=0.02)[0])
    assert fresh.report()["broken links"] == pytest.approx((fresh.health == 0).mean())
    assert fresh.report()["broken links"] > share


@pytest.mark.parametrize("rate", [30.0, 1e5])
def test_free_rods_keep_their_momentum_and_gain_no_energy(rate):
    model = brush(vertices=5)
    scene = rods(model, StaticLinks(rate=rate, weakens_at=1.0, breaks_at=2.0))
    rng = np.random.default_rng(3)
    scene.state.velocity[...] = rng.normal(0, 0.3, (9, 1, 3))  # every strand flies its own way
    before = momentum(model, scene.state.velocity)
    energy = kinetic(model, scene.state.velocity)
    for _ in range(150):
        scene.step(0.004)
        drift = np.abs(momentum(model, scene.state.velocity) - before).max()
        # the solver's own float64 sums: stiffness 1e7 times larger than what moves
        assert drift <= 1e-6 * np.abs(before).max()
        assert kinetic(model, scene.state.velocity) <= energy * (1 + 1e-9)


def test_loose_vertices_keep_their_angular_momentum():
    model = brush(vertices=4)
    scene = Scene(PointSolver(model), [StaticLinks(rate=50.0)])
    scene.state.velocity[...] = np.random.default_rng(4).normal(0, 0.1, scene.state.velocity.shape)
    before = spin(model, scene.state.points, scene.state.velocity)
    scene.run(0.2, 0.004)
    # x' = x + dt v' turns x cross m v into exactly itself where forces have no moment
    after = spin(model, scene.state.points, scene.state.velocity)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-10 * np.abs(before).max())


def sideways():
    """A brush with weak links that gravity pulls to the side, after a tenth of a second."""
    model = brush(4, root=RootKind.CLAMPED, gravity=(3.0, -9.81, 0.0))
    scene = rods(model, StaticLinks(weakens_at=0.001, breaks_at=0.01))
    scene.run(0.1, 0.004)
    return scene


def test_threads_change_no_byte(on_threads):
    def moved():
        scene = sideways()
        return scene.state, scene.forces[0].memory(), scene.forces[0].health

    on_threads(moved)


def test_it_goes_on_from_what_it_remembers():
    one = sideways()
    fresh = rods(one.solver.model, StaticLinks(weakens_at=0.001, breaks_at=0.01))
    fresh.state.assign(one.state)
    fresh.forces[0].restore(one.forces[0].memory())
    assert (one.forces[0].health < 1).any()
    one.run(0.04, 0.004)
    fresh.run(0.04, 0.004)
    np.testing.assert_array_equal(one.state.points, fresh.state.points)


def shelf_after_a_shake(model, height, rate):
    """A soft strand that two stiff ones beside it carry by links: how far off it is after a shake [m], and the links.

    All three stick out sideways, 12 cm long; alone, the soft one hangs down from its root. The roots go up and down by
    `height` [m] for a second and stand still for one and a half.
    """
    points = np.zeros((3, 7, 3), np.float32)
    points[:, :, 0] = LENGTH * np.arange(7)
    points[:, :, 2] = 0.012 * np.arange(3)[:, None]
    links = StaticLinks(rate=100.0, weakens_at=0.005, breaks_at=0.015)
    guides = Guides.from_groom(Groom.from_uniform(points))
    material = Material(stiffness=np.array([1e3, 1.0, 1e3]))
    sim = Simulation(guides, model, material=material, sag_free=False, forces=[links])
    poses = [Pose.identity()] * 24
    poses += [
        Pose(np.array([0.0, height * np.sin(2 * np.pi * rate * t) * np.sin(np.pi * t), 0.0]), Pose.identity().rotation)
        for t in np.arange(1, 25) / 24
    ]
    poses += [Pose.identity()] * 36
    frames = [sim.step(pose).points for pose in poses]
    return np.linalg.norm(frames[-1][1] - frames[23][1], axis=1).max(), links


@pytest.mark.parametrize("model", list(SOLVERS))
def test_a_style_recovers_after_a_gentle_shake_and_not_after_a_violent_one(model):
    off, links = shelf_after_a_shake(model, height=0.005, rate=2.0)
    assert (links.health > 0).all()
    assert off < 1e-4  # what is left of the swing
    off, links = shelf_after_a_shake(model, height=0.1, rate=5.0)
    assert (links.health == 0).mean() > 0.3
    assert off > 0.02  # it has fallen off its neighbours


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"damping": -1.0}, "damping: must be a finite number, at least zero, got -1.0"),
        ({"count": 0}, "count: must be at least 1, got 0"),
        ({"weakens_at": 0.05}, r"breaks_at: must be above weakens_at \(0.05\), got 0.03"),
    ],
)
def test_settings_are_checked(wrong, message):
    with pytest.raises(ValueError, match=message):
        StaticLinks(**wrong)
