"""The net of springs: stiffness of its joints, forces against its energy, and rest lengths that carry the weight."""

import numpy as np
import pytest
from spring_hair import GRAVITY, RADIUS, hair, helix, straight

from mane.strand.spring import net as spring_net
from mane.strand.spring._reference import elastic_energy, forces_and_matrix
from mane.strand.spring.joints import Joints
from mane.strand.spring.net import GHOSTS, altitudes_of, make_net, spring_lengths
from mane.strand.spring.rest import LARGEST_TURN, without_sag


def test_straight_joints_bend_alike_in_all_directions_as_the_rod_does():
    model = hair(straight())
    net = make_net(model)
    joints = Joints.of(net.rest_points)
    matrix = np.einsum("gnk,gnki,gnkj->gnij", net.joint_stiffness, joints.levers, joints.levers)
    bending = np.linalg.inv(matrix)[..., 1:, 1:]  # the strand runs along x
    expected = (model.joint_length / model.bend_stiffness)[..., None, None] * np.eye(2)
    # The joint is stiffer by what its segments give: some (radius / segment)^2, here 2e-5.
    np.testing.assert_allclose(bending, expected, atol=(RADIUS / model.rest_length[0, 0]) ** 2 * expected.max())
    isotropic = bending[..., :1, :1] * np.eye(2)
    np.testing.assert_allclose(bending, isotropic, atol=1e-9 * expected.max())


@pytest.mark.parametrize("turns", [0.5, 1.5, 2.0])
def test_curved_joints_have_the_stiffness_of_the_rod_on_average(turns):
    model = hair(helix(turns=turns))
    net = make_net(model)
    joints = Joints.of(net.rest_points)
    bending, twist = joints.bending_and_twist(joints.turns(net.joint_stiffness))
    # Within the accuracy of the fixed-point rounds; coarse curls of 60 degrees per joint are the slowest to settle.
    np.testing.assert_allclose(bending, model.joint_length / model.bend_stiffness, rtol=5e-3)
    np.testing.assert_allclose(twist, model.joint_length / model.twist_stiffness, rtol=5e-2)


def turned_by_a_couple(points):
    """Turn of the last segment per moment about each axis [1/(N m)], (3, 3), by a dense solve of the whole net."""
    net = make_net(hair(points))
    particles = net.rest_points[0]
    nothing, free = np.zeros_like(particles), np.repeat(~net.is_held[0], 3)
    _, matrix = forces_and_matrix(net, 0, particles, nothing, nothing, 1.0)
    last = particles[-3:] - particles[-3:].mean(axis=0)
    # Forces on the last triangle whose sum is zero and whose moment is one about each axis in turn.
    sums = np.concatenate([np.tile(np.eye(3), (1, 3)), np.hstack([np.cross(np.eye(3), r) for r in -last])])
    load = np.zeros((particles.size, 3))
    load[-9:] = np.linalg.pinv(sums)[:, 3:]
    return load[free].T @ np.linalg.solve(matrix[np.ix_(free, free)], load[free])


def test_short_segments_bend_and_twist_like_the_rod_although_they_give():
    """Segments of five radii, whose struts give by a percent: four of them more turn by 4 h / E I and 4 h / G J."""
    length = 5 * RADIUS
    more = turned_by_a_couple(straight(1, 12, 12 * length)) - turned_by_a_couple(straight(1, 8, 8 * length))
    model = hair(straight(1, 4, 4 * length))
    bend, twist = 4 * length / model.bend_stiffness[0, 0], 4 * length / model.twist_stiffness[0, 0]
    # What is left is of second order: a percent of a percent.
    np.testing.assert_allclose(np.diag(more), [twist, bend, bend], rtol=3e-4)


def test_short_segments_of_a_curl_turn_like_the_rod_on_average():
    """A tight curl whose segments of 0.2 mm are again five radii long: the last third of its turn."""
    long, short = (helix(1, n, turns=n / 24, radius=7e-4, length=2e-3 * n / 24) for n in (24, 16))
    model = hair(long)
    more = np.trace(turned_by_a_couple(long) - turned_by_a_couple(short))
    rod = (model.joint_length * (2 / model.bend_stiffness + 1 / model.twist_stiffness))[0, 16:].sum()
    assert more == pytest.approx(rod, rel=0.01)


def test_mass_is_shared_and_kept():
    model = hair(helix(3, seed=1))
    net = make_net(model)
    np.testing.assert_allclose(net.mass.sum(axis=1), model.mass.sum(axis=1), rtol=1e-14)
    # The further away they are the less, so that their inertia about the segments is that of two percent at its length.
    inertia = net.mass[:, GHOSTS + 1 :: 2] * net.offset**2
    own = 0.5 * (model.mass[:, 1:] + model.mass[:, :-1])
    own[:, [0, -1]] += 0.5 * model.mass[:, [0, -1]]
    np.testing.assert_allclose(inertia, spring_net.AUXILIARY_MASS * own * model.rest_length**2, rtol=1e-12)


def test_every_tetrahedron_has_volume_on_straight_runs_too():
    net = make_net(hair(straight()))
    # The altitude is the auxiliary particle's full distance where the next one stands a quarter turn further.
    np.testing.assert_allclose(np.abs(net.rest_altitude[:, GHOSTS + 1 :]), 0.01 * spring_net.FARTHEST, rtol=1e-12)


def test_auxiliary_particles_stay_clear_of_the_centre_of_a_bend():
    model = hair(helix(segments=24, turns=2, radius=0.004, length=0.03))
    net = make_net(model)
    along = np.diff(model.rest_points, axis=1) / model.rest_length[..., None]
    turn = np.arccos((along[:, 1:] * along[:, :-1]).sum(axis=-1))
    assert turn.max() > 0.4  # too much for the farthest place
    for reach in (net.offset[:, 1:], net.offset[:, :-1]):
        away = np.maximum(spring_net.INSIDE / turn, spring_net.NEAREST)
        assert (reach / model.rest_length[:, 1:] <= 1.001 * away).all()


def test_a_twisting_moment_bends_straight_joints_little():
    """By h / (2^0.5 distance) of what a bending moment does: strands that are twisted zigzag by so much."""
    model = hair(straight())
    net = make_net(model)
    turns = (
        Joints.of(net.rest_points).turns(net.joint_stiffness)
        * (model.bend_stiffness / model.joint_length)[..., None, None]
    )
    aside = np.linalg.norm(turns[:, 1:, 0, 1:], axis=-1)  # the strand runs along x
    np.testing.assert_allclose(aside, np.sqrt(0.5) / spring_net.FARTHEST, rtol=1e-3)


def test_forces_are_minus_the_gradient_of_the_energy():
    net = make_net(hair(helix(segments=4)))
    rng = np.random.default_rng(2)
    particles = net.rest_points[0] + 1e-4 * rng.standard_normal(net.rest_points[0].shape)
    nothing = np.zeros_like(particles)
    force, matrix = forces_and_matrix(net, 0, particles, nothing, nothing, 1.0)
    numeric = np.zeros_like(force)
    for place in np.ndindex(force.shape):
        change = np.zeros_like(particles)
        change[place] = 1e-8
        numeric[place] = elastic_energy(net, 0, particles - change) - elastic_energy(net, 0, particles + change)
    # Central differences: third derivatives times h^2, and rounding of the energy over h, are both below 1e-7 here.
    np.testing.assert_allclose(numeric / 2e-8, force, atol=1e-7 * np.abs(force).max())
    assert np.linalg.eigvalsh(matrix)[0] > -1e-12 * np.abs(matrix).max()


@pytest.mark.parametrize("points", [straight(length=0.05), straight(direction=(0.6, 0.8, 0)), helix(4, seed=5)])
def test_rest_lengths_carry_the_weight(points):
    model = hair(points)
    net, _ = without_sag(make_net(model), model)
    nothing = np.zeros_like(net.rest_points[0])
    # Lengths are known to the rounding of coordinates, and springs of 2000 N/m make 1e-14 N of it, of a weight of 1e-5.
    rounding = np.finfo(np.float64).eps * np.abs(points).max() * net.stiffness.max()
    for strand, particles in enumerate(net.rest_points):
        force, _ = forces_and_matrix(net, strand, particles, nothing, nothing, 1.0)
        total = force + net.mass[strand][:, None] * GRAVITY
        assert np.abs(total[~net.is_held[strand]]).max() < rounding


def test_joints_that_cannot_carry_the_weight_are_stiffened():
    model = hair(straight(segments=10, length=0.25))  # rho A g L^3 / (E I) = 130
    before = make_net(model)
    after, factor = without_sag(before, model)
    springs = after.stiffness * (spring_lengths(after.rest_points) - after.rest_length)
    altitudes = after.altitude_stiffness * (altitudes_of(after.rest_points) - after.rest_altitude)
    tension = after.with_springs(springs, after.rest_length, altitudes).joint_stiffness
    joints = Joints.of(after.rest_points)
    moment = np.einsum("gnki,gnk->gni", joints.levers, tension)
    turn = np.linalg.norm(joints.turns(after.joint_stiffness) @ moment[..., None], axis=(-2, -1))
    assert turn.max() == pytest.approx(LARGEST_TURN, rel=1e-9)
    stiffer = after.joint_stiffness / before.joint_stiffness
    np.testing.assert_allclose(stiffer, np.broadcast_to(factor[..., None], stiffer.shape), rtol=1e-12)
    assert factor[0, 1] > 5
    assert factor[0, -1] == 1


def test_only_joints_that_carry_weight_count_as_stiffened():
    for root in (1, 2):  # a hinge carries no moment, a free strand falls
        model = hair(straight(segments=10, length=0.25), root=root)
        _, factor = without_sag(make_net(model), model)
        assert factor[0, 0] == 1
        assert (factor.max() > 5) == (root == 1)


@pytest.mark.parametrize("root", [1, 2])
def test_nothing_ties_hinged_and_free_roots_to_the_clamp(root):
    model = hair(helix(), root=root)
    for net in (make_net(model), without_sag(make_net(model), model)[0]):
        nothing = np.zeros_like(net.rest_points[0])
        _, matrix = forces_and_matrix(net, 0, net.rest_points[0], nothing, nothing, 1.0)
        assert not matrix[: 3 * GHOSTS].any()
        assert net.is_held[0, GHOSTS] == (root == 1)
