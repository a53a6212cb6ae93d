"""Joints move a mesh as UsdSkel says: local transforms down the tree, and a weighted sum of them at every vertex."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mane.body import _reference as reference
from mane.body.shapes import Capsule
from mane.body.skeleton import BlendShape, JointAnimation, Skeleton, SkinnedMesh
from mane.geometry import quaternion

JOINTS = {
    "hip": (None, (0.1, 0.2, 0.0)),
    "knee": ("hip", (0.1, 0.6, 0.1)),
    "foot": ("knee", (0.1, 1.0, 0.0)),
    "tail": ("hip", (0.1, 0.2, -0.3)),
}


@pytest.fixture
def skeleton():
    return Skeleton.from_positions(JOINTS)


def make_leg(skeleton, seed=0, shapes=1):
    """A capsule with random weights of up to three joints per vertex and random blend shapes."""
    rng = np.random.default_rng(seed)
    mesh = Capsule((0.1, 0.2, 0.0), (0.1, 1.0, 0.0), 0.1).mesh(12)
    count = mesh.vertex_count
    weights = rng.random((count, 3)).astype(np.float32)
    blends = tuple(BlendShape(f"b{k}", 0.05 * rng.standard_normal((count, 3))) for k in range(shapes))
    return SkinnedMesh(
        mesh, skeleton, rng.integers(0, 4, (count, 3)), weights / weights.sum(axis=1, keepdims=True), blends
    )


def random_animation(skeleton, samples=3, seed=1, blends=1):
    rng = np.random.default_rng(seed)
    joints = skeleton.joint_count
    return JointAnimation(
        np.arange(samples) / 24,
        quaternion.random(samples * joints, rng).reshape(samples, joints, 4),
        rng.standard_normal((samples, joints, 3)),
        rng.uniform(0.5, 2.0, (samples, joints, 3)),
        rng.random((samples, blends)),
    )


def test_paths_name_every_joint_above(skeleton):
    assert skeleton.paths == ("hip", "hip/knee", "hip/knee/foot", "hip/tail")


def test_the_rest_pose_is_the_bind_pose(skeleton):
    world = skeleton.world_transforms(skeleton.rest_rotations, skeleton.rest_translations)
    assert_array_equal(world, skeleton.bind_transforms)
    assert_allclose(skeleton.bind_positions, [position for _, position in JOINTS.values()], atol=1e-7)


def test_a_joint_carries_everything_below_it(skeleton):
    """A quarter turn of the knee about z takes the foot, 0.4 m above and 0.1 m behind it, to its side."""
    rotations = quaternion.identity((4,))
    rotations[1] = quaternion.from_axis_angle([0.0, 0.0, 1.0], np.pi / 2)
    world = skeleton.world_transforms(rotations, skeleton.rest_translations)
    assert_allclose(world[2, :3, 3], [0.1 - 0.4, 0.6, 0.0], atol=1e-7)
    assert_allclose(world[3], skeleton.bind_transforms[3])


def test_samples_of_an_animation_are_posed_one_by_one(skeleton):
    animation = random_animation(skeleton)
    together = skeleton.world_transforms(animation.rotations, animation.translations, animation.scales)
    for sample in range(len(animation)):
        assert_allclose(animation.sample_transforms(skeleton, sample), together[sample], atol=1e-12)


def test_skinning_is_the_plain_weighted_sum(skeleton):
    leg, animation = make_leg(skeleton, shapes=2), random_animation(skeleton, blends=2)
    samples = leg.samples(animation)
    for number in range(len(animation)):
        transforms = animation.sample_transforms(skeleton, number)
        plain = reference.skinned_points(leg, transforms, animation.blend_weights[number])
        assert samples[number].dtype == np.float32
        # weights are float32: their sum is 1 to some 1e-7, which the plain sum multiplies by metres
        assert_allclose(samples[number], plain, atol=2e-6)


def test_the_bind_pose_gives_the_mesh_bit_for_bit(skeleton):
    leg = make_leg(skeleton)
    assert_array_equal(leg.deformed(skeleton.bind_transforms), leg.mesh.points)


def test_an_animated_mesh_skins_what_it_is_asked_for(skeleton):
    leg = make_leg(skeleton, shapes=0)
    rotations = np.tile(skeleton.rest_rotations, (3, 1, 1))
    translations = np.tile(skeleton.rest_translations, (3, 1, 1))
    translations[:, 0, 0] += [0.0, 0.1, 0.3]
    moving = leg.animated(JointAnimation([0.0, 1.0, 2.0], rotations, translations))
    assert moving.mesh.points is leg.mesh.points
    # 0.1 m/s at the first sample, 0.15 at the second: a cubic loses an eighth of the difference in the middle.
    assert_allclose(moving.points(0.5), leg.mesh.points + np.float32([0.05 - 0.05 / 8, 0, 0]), atol=1e-7)
    assert_allclose(moving.points(1.0), leg.mesh.points + np.float32([0.1, 0, 0]), atol=1e-7)
    expected = 1.5 * 0.2 - (0.15 + 0.2) / 4
    still = np.zeros_like(leg.mesh.points)
    assert_allclose(moving.velocities(1.5), still + np.float32([expected, 0, 0]), atol=1e-6)


def weights_with(value):
    skeleton = Skeleton.from_positions(JOINTS)
    mesh = Capsule((0, 0, 0), (0, 1, 0), 0.1).mesh(8)
    indices = np.zeros((mesh.vertex_count, 2), int)
    weights = np.full((mesh.vertex_count, 2), 0.5)
    weights[3] = value
    return SkinnedMesh(mesh, skeleton, indices, weights)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: weights_with((0.0, 0.0)), "joint_weights: must sum to 1 at every vertex, got 0 at vertex 3; divide"),
        (lambda: weights_with((1.5, -0.5)), "joint_weights: must not be negative, got -0.5 at vertex 3"),
        (
            lambda: Skeleton(("a", "b"), [1, -1], np.tile(np.eye(4), (2, 1, 1)), np.tile(np.eye(4), (2, 1, 1))),
            "skeleton.parents: a parent must come before its children, got 1 at joint 0; sort",
        ),
        (
            lambda: Skeleton(("a", "a"), [-1, 0], np.tile(np.eye(4), (2, 1, 1)), np.tile(np.eye(4), (2, 1, 1))),
            "skeleton.names: no two joints may be called alike, got 'a' more than once",
        ),
        (
            lambda: Skeleton(("a",), [-1], np.eye(4)[None], np.zeros((1, 4, 4))),
            "skeleton.bind_transforms: must be invertible, got a flat one at 'a'",
        ),
        (lambda: Skeleton.from_positions({"a": ("b", (0, 0, 0))}), r"joints\['a'\]: 'b' is unknown; choose from a"),
        (
            lambda: JointAnimation([0.0, 0.0], np.zeros((2, 1, 4)), np.zeros((2, 1, 3))),
            "animation.times: must rise, got 0.0 s before 0.0 s at 0",
        ),
        (
            lambda: JointAnimation([0.0], np.zeros((1, 2, 4)), np.zeros((1, 3, 3))),
            r"animation.translations: must have shape \(1, 2, 3\), got \(1, 3, 3\)",
        ),
        (
            lambda: weights_with(0.5).samples(JointAnimation([0.0], np.zeros((1, 2, 4)), np.zeros((1, 2, 3)))),
            "animation: must move the skeleton's 4 joints, got 2",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_indices_outside_the_skeleton_are_refused(skeleton):
    leg = make_leg(skeleton)
    indices = leg.joint_indices.copy()
    indices[5, 1] = 9
    with pytest.raises(ValueError, match=r"joint_indices: must be joints 0 to 3, got .* at vertex 5"):
        SkinnedMesh(leg.mesh, skeleton, indices, leg.joint_weights)
