"""Roots ride on a skin that deforms: exact places and rotations under deformations whose formulas are known."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mane.body.mesh import Mesh
from mane.body.motion import Pose
from mane.body.motion_keys import KeyframedMotion
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.geometry import quaternion
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.strand.material import Material
from mane.strand.root_motion import BoundRoots, RigidRoots, RootMoment, body_pose
from mane.strand.roots import RootPose

FRAME = 1 / 24
STILL = Pose.identity()


@cache
def slab(cells=160, size=0.2, height=0.02):
    """A closed box of small triangles on its upper and lower side, which lies flat."""
    axis = np.linspace(-size / 2, size / 2, cells + 1)
    x, z = (grid.ravel() for grid in np.meshgrid(axis, axis, indexing="ij"))
    rows = cells + 1
    a = (np.arange(cells)[:, None] * rows + np.arange(cells)).ravel()
    quads = np.stack([a, a + 1, a + rows + 1, a + rows], axis=1)
    top = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    edge = np.concatenate(
        [np.arange(rows) * rows, cells * rows + np.arange(1, rows), rows * np.arange(cells)[::-1] + cells]
    )
    rim = np.concatenate([edge, np.arange(cells - 1, 0, -1)])
    after, count = np.roll(rim, -1), len(x)
    sides = np.concatenate([np.stack([rim, after, rim + count], 1), np.stack([after, after + count, rim + count], 1)])
    points = np.stack([np.tile(x, 2), np.repeat([0.0, -height], count), np.tile(z, 2)], axis=1)
    return Mesh(points, np.concatenate([top, top[:, ::-1] + count, sides]))


def upright(roots, normals=(0.0, 1.0, 0.0), length=0.03):
    steps = np.linspace(0, length, 4)[:, None]
    roots = np.asarray(roots, np.float32)
    return Groom.from_uniform(roots[:, None] + steps * np.broadcast_to(normals, roots.shape)[:, None])


def bound(groom, mesh, moved, times=(0.0, 1.0), motion=None):
    """Roots on a mesh that goes from rest to `moved`."""
    guides = Guides.from_groom(groom)
    body = Solid.animated(mesh, times, np.stack([mesh.points, moved]).astype(np.float32), motion)
    return BoundRoots(Material().model(guides), guides.active, body)


def scattered(count, half, seed=0):
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(-half, half, (2, count))
    return np.stack([x, np.zeros(count), z], axis=1)


def turn_between(one, two):
    return quaternion.angle_between(np.asarray(one, np.float64), np.asarray(two, np.float64)).max()


def test_a_plate_bent_into_an_arc():
    """x becomes the angle about an axis 6 cm below: roots lie on the arc and turn by that very angle."""
    radius, mesh = 0.06, slab()
    roots = scattered(200, 0.08)

    def bent(points):
        angle, r = points[:, 0] / radius, radius + points[:, 1]
        return np.stack([r * np.sin(angle), r * np.cos(angle) - radius, points[:, 2]], axis=1)

    pose = bound(upright(roots), mesh, bent(mesh.points.astype(np.float64))).at(STILL, 1.0)
    angle = roots[:, 0] / radius
    exact = quaternion.from_axis_angle(np.array([0.0, 0.0, 1.0]), -angle)
    # Between corners the skin is flat: a triangle with edges h stays below the arc by at most h^2 / 8 r, 3.3 um here.
    assert np.abs(pose.positions - bent(roots)).max() < 0.00125**2 / 8 / radius
    assert turn_between(pose.rotations, exact) < 1e-4


@pytest.mark.parametrize("share", [1.0, 0.37])
def test_a_plate_that_is_sheared_and_stretched(share):
    """In its plane: roots are where the linear map takes them, and turn by the rotation in its polar decomposition."""
    mesh, roots = slab(20), scattered(200, 0.08)
    stretch = np.array([[1.5, 0.0, 0.7], [0.0, 1.0, 0.0], [0.0, 0.0, 0.8]])
    now = np.eye(3) + share * (stretch - np.eye(3))
    pose = bound(upright(roots), mesh, mesh.points @ stretch.T).at(STILL, share)
    assert_allclose(pose.positions, roots.astype(np.float32) @ now.T, atol=1e-6)
    left, _, right = np.linalg.svd(now)
    assert turn_between(pose.rotations, quaternion.from_matrix(left @ right)) < 1e-4


def test_a_sphere_that_breathes():
    """Roots move along their radius by the factor of the sphere, at any time, and turn not at all."""
    mesh = Sphere((0.0, 0.0, 0.0), 0.1).mesh(64)
    corners = mesh.points[mesh.faces[::7]]
    roots = np.einsum("c,tci->ti", [0.2, 0.3, 0.5], corners.astype(np.float64))
    normals = roots / np.linalg.norm(roots, axis=1, keepdims=True)
    motion = bound(upright(roots, normals), mesh, 1.2 * mesh.points)
    for time in (0.0, 0.3, 1.0, 4.0):
        pose = motion.at(STILL, time)
        assert_allclose(pose.positions, roots * (1 + 0.2 * min(time, 1.0)), atol=1e-7)
        assert turn_between(pose.rotations, [0, 0, 0, 1]) < 1e-5


def test_far_from_the_origin_roots_stay_on_the_skin():
    """Of a skin at 100 m, rounded to 8 um, roots are on the triangles as they are, not as they should be."""
    mesh, roots = slab(20), scattered(50, 0.08)
    moved = (mesh.points + np.float32([100, 0, 0])).astype(np.float32)
    motion = bound(upright(roots), mesh, moved)
    binding = motion.binding
    share, corners = binding.barycentric.astype(np.float64), moved[mesh.faces[binding.triangle]].astype(np.float64)
    place = (
        corners[:, 0] + share[:, 1:2] * (corners[:, 1] - corners[:, 0]) + share[:, 2:] * (corners[:, 2] - corners[:, 0])
    )
    assert np.abs(motion.at(STILL, 1.0).positions - place).max() < 1e-7


def test_an_unmoved_skin_carries_as_a_rigid_head_does():
    mesh, groom = slab(20), upright(scattered(50, 0.08))
    pose = Pose(np.array([0.1, 0.2, -0.3]), quaternion.exp(np.array([0.3, 1.2, -2.0])))
    rigid = RigidRoots(groom.roots.astype(np.float64)).at(pose, 0.4)
    rides = bound(groom, mesh, mesh.points).at(pose, 0.4)
    assert_array_equal(rides.positions, rigid.positions)
    assert_array_equal(rides.rotations, rigid.rotations)


def test_head_and_the_body_s_own_motion_carry_the_skin():
    mesh, groom = slab(20), upright(scattered(50, 0.08))
    turns = quaternion.exp(np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.0]]))
    own = KeyframedMotion(np.array([0.0, 1.0]), np.array([[0.0, 0, 0], [0.2, 0, 0]]), turns)
    head = Pose(np.array([0.0, 1.5, 0.0]), quaternion.exp(np.array([0.4, 0.0, 0.0])))
    motion = bound(groom, mesh, 1.1 * mesh.points, motion=own)
    body = Solid.animated(mesh, [0.0, 1.0], np.stack([mesh.points, 1.1 * mesh.points]), own)
    pose = body_pose(body, head, 0.5)
    assert_allclose(pose.position, head.apply(own.pose(0.5).position))
    found = motion.at(head, 0.5)
    assert_allclose(found.positions, pose.apply(1.05 * groom.roots.astype(np.float64)), atol=1e-7)
    assert turn_between(found.rotations, pose.rotation) < 1e-5


def test_roots_of_empty_slots_may_be_anywhere_and_others_may_not():
    mesh, roots = slab(20), scattered(3, 0.08)
    roots[2] += [0.0, 5.0, 0.0]
    groom = upright(roots)
    body = Solid.animated(mesh, [0.0], mesh.points[None])
    with pytest.raises(
        ValueError, match=r"groom\.roots: must be within 0\.\d+ m of the skin, got 5 m at strand 2"
    ) as e:
        BoundRoots(Material().model(Guides.from_groom(groom)), np.ones(3, np.bool_), body)
    assert "\n" not in str(e.value)
    assert BoundRoots(Material().model(Guides.from_groom(groom)), np.array([True, True, False]), body).at(STILL, 0.0)


# -- what a frame needs ------------------------------------------------------------------------------------------------


def moment(motion, head, time):
    return RootMoment(head, time, motion.at(head, time))


def moving(offset, times=(0.0, FRAME, 2 * FRAME, 3 * FRAME)):
    """A slab whose points are moved by `offset(time)` [m], and roots on it."""
    mesh, groom = slab(20), upright(scattered(40, 0.08))
    guides = Guides.from_groom(groom)
    frames = np.stack([mesh.points + np.float32(offset(number)) for number in range(len(times))])
    return BoundRoots(Material().model(guides), guides.active, Solid.animated(mesh, times, frames))


def jumps(motion, number, heads=(STILL, STILL)):
    start, end = (moment(motion, head, (number + k) * FRAME) for k, head in enumerate(heads))
    return motion.jumps(start, end, FRAME)


def test_a_cut_in_the_animation_is_a_jump_and_a_steady_flight_is_none():
    cut = moving(lambda number: [0.0 if number < 2 else 3.0, 0.01 * number, 0.0])
    assert [jumps(cut, number) for number in range(3)] == [False, True, False]
    flight = moving(lambda number: [1.5 * number, 0.0, 0.0])  # 36 m/s
    assert not any(jumps(flight, number) for number in range(3))


def test_a_head_that_jumps_takes_the_body_along():
    motion = moving(lambda number: [0.0, 0.0, 0.001 * number])
    away = Pose(np.array([2.0, 0.0, 0.0]), STILL.rotation)
    turned = Pose(np.zeros(3), quaternion.exp(np.array([0.0, 2.5, 0.0])))
    assert jumps(motion, 0, (STILL, away))
    assert jumps(motion, 0, (STILL, turned))
    assert not jumps(motion, 0)


def test_a_part_that_is_fast_is_no_jump():
    """An arm that is thrown: a third of the skin moves by 2 m in a frame."""
    mesh, groom = slab(20), upright(scattered(40, 0.08))
    arm = mesh.points[:, :1] > 0.03
    frames = np.stack([mesh.points, mesh.points, mesh.points + np.float32([2.0, 0, 0]) * arm])
    guides = Guides.from_groom(groom)
    body = Solid.animated(mesh, FRAME * np.arange(3), frames.astype(np.float32))
    motion = BoundRoots(Material().model(guides), guides.active, body)
    assert not jumps(motion, 1)


def test_substeps_follow_turns_and_changes_of_velocity_but_no_steady_motion():
    motion = moving(lambda number: [0.02 * number**2, 0.0, 0.0])
    start, end = moment(motion, STILL, FRAME), moment(motion, STILL, 2 * FRAME)
    before = start.roots.positions - motion.at(STILL, 0.0).positions
    assert motion.path(start, end, before)[1] == pytest.approx(0.04, rel=1e-4)  # 0.06 m less 0.02 m
    assert motion.path(start, end, np.zeros_like(before))[1] == pytest.approx(0.06, rel=1e-4)
    turned = Pose(np.zeros(3), quaternion.exp(np.array([0.0, 0.4, 0.0])))
    assert motion.path(start, moment(motion, turned, 2 * FRAME), before)[0] == pytest.approx(0.4, rel=1e-4)


def test_two_root_poses_are_compared_bit_by_bit():
    one = RootPose(np.zeros((2, 3)), np.tile([0.0, 0, 0, 1], (2, 1)))
    assert one.equals(RootPose(one.positions.copy(), one.rotations.copy()))
    assert not one.equals(RootPose(one.positions + 1e-300, one.rotations))
