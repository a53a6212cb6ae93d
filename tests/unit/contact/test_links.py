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
from mane.contact.links._reference import carried_frames, forces_of_torques, link_forces, perpendicular
from mane.contact.links.find import find_links
from mane.contact.links.links import SHARE, StaticLinks
from mane.geometry import quaternion
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.scene.simulation import Simulation
from mane.strand.material import Material
from mane.strand.model import RootKind
from mane.strand.ports import Load
from mane.strand.roots import RootPose
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
    axes = np.stack([axes_at_rest(points) for points in model.rest_points])
    return find_links(model.rest_points, axes, every, np.zeros(model.strand_count, np.int64), count, None)


def axes_at_rest(points):
    """First axis across each segment of a strand (V, 3) at rest, carried from its root."""
    edge = points[1] - points[0]
    direction = edge / np.linalg.norm(edge)
    return carried_frames(points, np.zeros_like(points), direction, perpendicular(direction)[0], np.zeros(3))[0]


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
    expected, drawn, _ = link_forces(
        points, velocity, table.other, table.fraction, table.local, *laws(model, table), 0.004
    )
    np.testing.assert_allclose(forces, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    health = np.clip((0.03 - drawn) / 0.02, 0, 1)[table.other >= 0]
    np.testing.assert_allclose(links.health, health, atol=1e-12)


def held_brush(seed=9):
    """A brush of wavy strands of uneven masses whose roots hold them."""
    model = brush(root=RootKind.CLAMPED)
    rng = np.random.default_rng(seed)
    points = model.rest_points + rng.normal(0, 0.004, model.rest_points.shape)
    return replace(model, rest_points=points, mass=MASS * rng.uniform(0.5, 2.0, model.mass.shape))


def held_view(model, points, velocity, *, turn=(0.0, 0.0, 0.0), spin=(0.0, 0.0, 0.0), dt=0.004):
    """What links see of strands whose roots have turned by `turn` [rad] and turn on by `spin` [rad/s]."""
    poses = [Pose(np.zeros(3), quaternion.exp(np.asarray(turn)))]
    spun = quaternion.multiply(quaternion.exp(dt * np.asarray(spin)), poses[0].rotation)
    poses.append(Pose(np.zeros(3), spun))
    roots = tuple(RootPose.carried(model.rest_points[:, 0].copy(), pose) for pose in poses)
    return view(model, np.ascontiguousarray(points), velocity, roots=roots, dt=dt)


def held_forces(links, strands):
    load = Load.empty(*strands.model.mass.shape)
    links.add(strands, load)
    return load.force


def root_directions(model, turn):
    edges = model.rest_points[:, 1] - model.rest_points[:, 0]
    tangents = edges / np.linalg.norm(edges, axis=1)[:, None]
    return quaternion.rotate(quaternion.exp(np.asarray(turn)), np.stack([tangents, perpendicular(tangents)[0]], axis=1))


def test_held_frames_do_what_the_reference_says():
    model = held_brush()
    links = linked(model)
    points, velocity = disturbed(model, 0)
    turn, spin = np.array([0.4, -0.9, 0.2]), np.array([3.0, 1.0, -2.0])
    points = quaternion.rotate(quaternion.exp(turn), points)
    forces = held_forces(links, held_view(model, points, velocity, turn=turn, spin=spin))
    roots = root_directions(model, turn)
    frames = [carried_frames(p, v, *root, spin) for p, v, root in zip(points, velocity, roots, strict=True)]
    table = tied_as_groomed(model)
    given = (table.other, table.fraction, table.local, *laws(model, table))
    expected, drawn, torques = link_forces(points, velocity, *given, 0.004, frames)
    for g in range(model.strand_count):
        expected[g] += forces_of_torques(points[g], roots[g, 0], torques[g])
    np.testing.assert_allclose(forces, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(links.health, np.clip((0.03 - drawn) / 0.02, 0, 1)[table.other >= 0], atol=1e-12)


def test_forces_of_held_frames_are_those_of_an_energy():
    """Minus the gradient of the sum of k l^2 / 2, by central differences; so that nothing is gained in any circle."""
    model = held_brush()
    table = tied_as_groomed(model)
    stiffness = laws(model, table)[0]
    points, _ = disturbed(model, 3, shift=0.002)
    roots = root_directions(model, np.zeros(3))

    def energy(points):
        still = np.zeros_like(points)
        frames = [carried_frames(p, p * 0, *root, np.zeros(3)) for p, root in zip(points, roots, strict=True)]
        given = (table.other, table.fraction, table.local, stiffness, 0 * stiffness, 0 * stiffness)
        return 0.5 * (stiffness * link_forces(points, still, *given, BRIEF, frames)[1] ** 2).sum()

    links = linked(model, damping=0.0, weakens_at=1.0, breaks_at=2.0)
    forces = held_forces(links, held_view(model, points, np.zeros_like(points), dt=BRIEF))
    step = 1e-6
    for g, v, axis in [(0, 1, 0), (4, 3, 2), (4, 2, 1), (8, 5, 0), (3, 1, 1), (5, 4, 2)]:
        ahead, behind = points.copy(), points.copy()
        ahead[g, v, axis] += step
        behind[g, v, axis] -= step
        slope = (energy(ahead) - energy(behind)) / (2 * step)
        # second order in the step: (1e-6 m over some mm)^2, and 1e-16 of the energy over the step
        assert forces[g, v, axis] == pytest.approx(-slope, abs=1e-5 * np.abs(forces).max())


def test_roots_take_up_what_moments_are_left():
    model = held_brush()
    points, velocity = disturbed(model, 5)
    links = linked(model)
    forces = held_forces(links, held_view(model, points, velocity))
    roots = root_directions(model, np.zeros(3))
    frames = [carried_frames(p, v, *root, np.zeros(3)) for p, v, root in zip(points, velocity, roots, strict=True)]
    table = tied_as_groomed(model)
    given = (table.other, table.fraction, table.local, *laws(model, table))
    torques = link_forces(points, velocity, *given, 0.004, frames)[2]
    size = np.abs(forces).sum()
    assert np.abs(forces.sum(axis=(0, 1))).max() <= ROUNDING * size
    # The root holds its direction with the moment that the first bend does not balance.
    bent = np.diff(points[:, :2], axis=1)[:, 0]
    bent /= np.linalg.norm(bent, axis=1)[:, None]
    total = torques.sum(axis=1)[:, None]
    both = roots[:, 0] + bent
    taken = total * both / (1 + (roots[:, 0] * bent).sum(axis=1, keepdims=True))
    left = np.cross(points, forces).sum(axis=(0, 1)) + taken.sum(axis=0)
    assert np.abs(taken).max() > 1e-3 * np.abs(np.cross(points, forces)).max()
    assert np.abs(left).max() <= 1e-9 * size * np.abs(points).max()


def test_a_head_of_hair_that_turns_as_one_feels_nothing():
    model = held_brush()
    turn, spin = np.array([0.3, -1.2, 0.7]), np.array([2.0, 5.0, -1.0])
    points = quaternion.rotate(quaternion.exp(turn), model.rest_points)
    velocity = np.cross(spin, points)
    links = linked(model, rate=100.0)
    # roots turn about the origin as well, which the view leaves out: it only moves them
    forces = held_forces(links, held_view(model, points, velocity, turn=turn, spin=spin))
    # 100^2 / s^2 times the mass of a vertex times a micrometre, and what damping makes of as much in a step
    assert np.abs(forces).max() < 1e-6 * (100.0**2 * MASS * 1e-6)


def test_neighbours_that_orbit_each_other_are_pulled_back():
    """Once frames spun freely, two hairs could circle each other without any resistance."""
    points = np.zeros((2, 4, 3))
    points[:, :, 1] = -LENGTH * np.arange(4)
    points[1, :, 0] = 0.01
    model = brush(points=points, root=RootKind.CLAMPED)
    angle = 0.2
    around = points.copy()
    around[1, :, 0], around[1, :, 2] = 0.01 * np.cos(angle), 0.01 * np.sin(angle)
    links = linked(model, rate=30.0, damping=0.0)
    forces = held_forces(links, held_view(model, around, np.zeros_like(points), dt=BRIEF))
    # Each of the 3 segments of either strand has one link, drawn out by the chord of the angle.
    moved = around[1, 0] - points[1, 0]
    np.testing.assert_allclose(forces[1].sum(axis=0), -2 * 3 * 30.0**2 * MASS * moved, rtol=1e-5, atol=1e-12)
    assert np.linalg.norm(moved) > 0.0019


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


def test_calm_strands_are_tied_anew_where_links_are_broken():
    model = brush()
    links = linked(model, reforms_after=0.1, weakens_at=0.001, breaks_at=0.004)
    forces_of(links, model, model.rest_points)
    apart = model.rest_points.copy()
    apart[8] += [0.02, 0.0, 0.005]  # one strand is carried off
    moving = np.zeros_like(apart)
    moving[[4, 8]] = [0.2, 0.0, 0.0]
    for time in (0.1, 0.13, 0.16):
        forces_of(links, model, apart, moving, time=time)
    before = links.memory()
    moving[8] = 0.0  # it comes to rest, the other one does not
    assert ((before["other"] >= 0) & (before["health"] == 0))[8].all()
    for time in (0.2, 0.24, 0.28, 0.32):
        forces_of(links, model, apart, moving, time=time)
    after = links.memory()
    broken = (before["health"] == 0) & (before["other"] >= 0)
    kept = ~broken
    np.testing.assert_array_equal(after["other"][kept], before["other"][kept])
    # strand 8 lies beside others now, all calm but for strand 4; every broken link of a calm strand has found a partner
    partners = after["other"] // model.segment_count
    assert (after["health"][8] == 1).all()
    assert not (partners[8] == 4).any()
    for g, i in np.ndindex(9, 5):
        tied = partners[g, i][after["other"][g, i] >= 0]
        assert len(set(tied.tolist())) == len(tied)
    still_broken = (after["health"] == 0) & (after["other"] >= 0)
    assert not still_broken[[g for g in range(9) if g != 4]].any()
    # what was tied anew holds the new shape: nothing pulls at strand 8
    forces = forces_of(links, model, apart, time=0.33)
    assert np.abs(forces[8]).max() < 1e-6 * (30.0**2 * MASS * 1e-6)
    # and the groom is back after a reset
    links.reset()
    forces_of(links, model, model.rest_points)
    np.testing.assert_array_equal(links.memory()["other"], tied_as_groomed(model).other)


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
    expected, _, _ = link_forces(points, velocity, felt, table.fraction, table.local, *laws(model, table), 0.004)
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
        ({"damping": -1.0}, "damping: must be at least 0, got -1.0"),
        ({"reforms_after": 0.0}, "reforms_after: must be above 0"),
        ({"calm_speed": -1.0}, "calm_speed: must be above 0"),
        ({"count": 0}, "count: must be at least 1, got 0"),
        ({"weakens_at": 0.05}, r"breaks_at: must be above weakens_at \(0.05\), got 0.03"),
    ],
)
def test_settings_are_checked(wrong, message):
    with pytest.raises(ValueError, match=message):
        StaticLinks(**wrong)
