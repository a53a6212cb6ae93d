"""The creature is a sound mesh on a skeleton, and its motions keep what they promise: paws planted, loops closed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from mane.body import _reference as reference
from mane.body.creature import CREATURE_MOTIONS, make_creature
from mane.body.creature.legs import LEGS, leg_joints
from mane.body.creature.walk import is_standing, stride_samples
from mane.geometry import quaternion

COARSE = 0.014
RATE = 48.0


@pytest.fixture(scope="module")
def creature():
    return make_creature(COARSE)


@pytest.fixture(scope="module")
def fine():
    return make_creature()


def component_count(mesh):
    edges = np.concatenate([mesh.faces[:, [0, 1]], mesh.faces[:, [1, 2]]])
    graph = coo_matrix((np.ones(len(edges)), edges.T), shape=(mesh.vertex_count,) * 2)
    return connected_components(graph, directed=False)[0]


@pytest.mark.parametrize("which", ["creature", "fine"])
def test_one_closed_surface_that_faces_out(which, request):
    mesh = request.getfixturevalue(which).mesh
    assert mesh.is_closed
    assert component_count(mesh) == 1
    assert 0.006 < mesh.volume < 0.014  # a fox weighs some 6 to 10 kg
    # vertices, edges and faces of a surface without holes: V - E + F = 2, and E = 3 F / 2
    assert mesh.vertex_count - mesh.face_count // 2 == 2
    assert len(np.unique(mesh.faces)) == mesh.vertex_count


def test_size_and_stance(fine):
    mesh = fine.mesh
    assert 15_000 < mesh.face_count < 25_000
    low, high = mesh.bounds
    assert 1.0 < high[2] - low[2] < 1.5
    assert abs(low[1]) < 1e-3
    assert_allclose(low[0], -high[0], atol=1e-6)
    assert fine.landmarks["nose"][2] > 0.4
    assert fine.landmarks["tail_tip"][2] < -0.5
    # under the belly, and between left and right legs, there is air
    below = mesh.points[(mesh.points[:, 1] < 0.2) & (np.abs(mesh.points[:, 2]) < 0.3)]
    assert np.abs(below[:, 0]).min() > 0.02
    assert set(np.unique(np.sign(below[:, 2]))) == {-1, 1}


def test_a_coarse_one_for_tests(creature):
    assert 3_000 < creature.mesh.face_count < 7_000


def test_weights_are_smooth_shares(fine):
    skinned, mesh = fine.skinned, fine.mesh
    assert skinned.joint_weights.min() >= 0
    assert_allclose(skinned.joint_weights.sum(axis=1), 1, atol=1e-6)
    full = np.zeros((mesh.vertex_count, fine.skeleton.joint_count))
    np.add.at(full, (np.arange(mesh.vertex_count)[:, None], skinned.joint_indices), skinned.joint_weights)
    a, b = mesh.faces[:, 0], mesh.faces[:, 1]
    assert np.abs(full[a] - full[b]).max() < 0.75
    # a leg does not pull the other one, nor the head a leg
    for side, other in (("left", 1), ("right", -1)):
        share = fine.joint_share(*(f"{joint}_{side}" for joint in ("elbow", "wrist", "forepaw", "knee", "hock")))
        assert share[other * mesh.points[:, 0] < -0.02].max() < 0.05
        assert share[(other * mesh.points[:, 0] < 0) & (mesh.points[:, 1] < 0.19)].max() == 0
    assert fine.joint_share("head")[mesh.points[:, 2] > 0.37].min() == 1


def test_soles_follow_the_paw_alone(fine):
    sole = fine.mesh.points[:, 1] < 0.006
    assert sole.sum() > 100
    assert fine.joint_share("forepaw", "hindpaw")[sole].min() > 0.999


def test_the_bind_pose_gives_the_mesh_bit_for_bit(creature):
    assert_array_equal(creature.skinned.deformed(creature.skeleton.bind_transforms, [0.0]), creature.mesh.points)


def test_skinning_is_the_plain_weighted_sum(creature):
    animation = creature.motion("violent", duration=1.0)
    number = 40
    transforms = animation.sample_transforms(creature.skeleton, number)
    plain = reference.skinned_points(creature.skinned, transforms, animation.blend_weights[number])
    assert_allclose(creature.skinned.samples(animation)[number], plain, atol=1e-6)


def test_the_root_joint_carries_the_whole_animal(creature):
    posed = creature.motion("walk", duration=0.5, in_place=True).sample_transforms(creature.skeleton, 5)
    move = np.eye(4)
    move[:3, :3] = quaternion.to_matrix(quaternion.from_axis_angle([1.0, 2.0, 0.5], 0.8))
    move[:3, 3] = [0.3, -0.1, 0.7]
    expected = creature.skinned.deformed(posed) @ move[:3, :3].T + move[:3, 3]
    assert_allclose(creature.skinned.deformed(move @ posed), expected, atol=5e-7)


@pytest.mark.parametrize("name", CREATURE_MOTIONS)
def test_motions_move_without_jumps(creature, name):
    animation = creature.motion(name, duration=2.0, frame_rate=RATE)
    assert len(animation) == 97
    assert_allclose(animation.times[[0, -1]], [0, 2])
    assert_allclose(np.linalg.norm(animation.rotations, axis=-1), 1, atol=1e-6)
    turn = quaternion.angle_between(animation.rotations[1:], animation.rotations[:-1])
    assert 0 < turn.max() < 0.9
    again = creature.motion(name, duration=2.0, frame_rate=RATE)
    assert_array_equal(again.rotations, animation.rotations)


def test_another_seed_is_another_violent_motion(creature):
    one, two = (creature.motion("violent", duration=1.0, seed=seed) for seed in (1, 2))
    assert not np.array_equal(one.rotations, two.rotations)


def standing_runs(leg, strides):
    """First and last sample of each time that a paw is on the ground."""
    standing = is_standing(leg, strides)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], standing, [False]]).astype(int)))
    return edges.reshape(-1, 2) - [0, 1]


@pytest.mark.parametrize("speed", [0.3, 0.6, 1.1])
def test_paws_stand_still_while_they_are_on_the_ground(fine, speed):
    animation = fine.motion("walk", duration=2.0, frame_rate=RATE, speed=speed)
    points = np.stack(list(fine.skinned.samples(animation)))
    strides = np.arange(len(animation)) / stride_samples(speed, RATE)
    ground = fine.mesh.points[:, 1] < 0.006
    for leg in LEGS:
        paw = fine.joint_share(leg_joints(leg)[3]) > 0.999
        sole = points[:, paw & ground]
        runs = standing_runs(leg, strides)
        assert len(runs) >= 2
        for first, last in runs:
            assert np.ptp(sole[first : last + 1], axis=0).max() < 0.002
    assert points[..., 1].min() > -0.002


def test_a_walk_advances_at_its_speed_and_has_four_beats(fine):
    speed = 0.6
    animation = fine.motion("walk", duration=2.0, frame_rate=RATE, speed=speed)
    samples = fine.skinned.samples(animation)
    period = stride_samples(speed, RATE)
    assert_allclose(samples[period][:, 2].mean() - samples[0][:, 2].mean(), speed * period / RATE, atol=1e-5)
    strides = np.arange(period) / period
    starts = [
        leg for step in strides for leg in LEGS if is_standing(leg, step) and not is_standing(leg, step - 1 / period)
    ]
    assert starts == ["hind_left", "fore_left", "hind_right", "fore_right"]
    standing = np.sum([is_standing(leg, strides) for leg in LEGS], axis=0)
    assert standing.min() >= 2


def test_legs_never_reach_beyond_their_length(fine):
    """Beyond it a paw would slide: the joint of every paw is where the walk wants it, at all speeds."""
    for speed in (0.1, 0.4, 0.8, 1.2):
        animation = fine.motion("walk", duration=1.0, speed=speed)
        world = fine.skeleton.world_transforms(animation.rotations, animation.translations)
        for leg in LEGS:
            joints = [fine.skeleton.index(name) for name in leg_joints(leg)]
            upper, lower, foot = (world[:, joint, :3, 3] for joint in joints[:3])
            bones = np.linalg.norm(lower - upper, axis=1) + np.linalg.norm(foot - lower, axis=1)
            assert (np.linalg.norm(foot - upper, axis=1) / bones).max() < 0.995


def test_the_walk_loops(creature):
    animation = creature.motion("walk", duration=2.0, frame_rate=RATE, speed=0.6, in_place=True)
    period = stride_samples(0.6, RATE)
    samples = creature.skinned.samples(animation)
    for start in (0, 7):
        assert_allclose(samples[start + period], samples[start], atol=1e-6)


def test_breathing_loops_and_fills_the_chest(creature):
    animation = creature.motion("breathe", duration=8.0, frame_rate=20.0, period=4.0)
    samples = creature.skinned.samples(animation)
    assert_allclose(samples[160], samples[0], atol=1e-6)
    empty, full = (creature.mesh.with_points(samples[k]).volume for k in (0, 30))
    assert 1.01 < full / empty < 1.08


def test_a_shake_rolls_from_head_to_tail_on_planted_paws(creature):
    animation = creature.motion("shake", duration=2.5)
    samples = creature.skinned.samples(animation)
    for end in (0, len(samples) - 1):
        assert_allclose(samples[end], creature.mesh.points, atol=1e-5)
    world = creature.skeleton.world_transforms(animation.rotations, animation.translations)

    def roll(joint):
        """Angle about the animal's length, from how its left side leans [rad]."""
        left = world[:, creature.skeleton.index(joint), :3, 0]
        return np.arctan2(left[:, 1], left[:, 0])

    assert np.abs(roll("head")).max() > np.radians(30)
    assert np.abs(roll("chest")).max() > np.radians(12)
    starts = [np.flatnonzero(np.abs(roll(joint)) > np.radians(5))[0] for joint in ("head", "chest", "pelvis", "tail_4")]
    assert starts == sorted(starts)
    assert starts[0] < starts[-1]
    for leg in LEGS:
        paw = world[:, creature.skeleton.index(leg_joints(leg)[3]), :3, 3]
        assert np.ptp(paw, axis=0).max() < 1e-5


def test_a_motion_is_something_that_hair_touches(creature):
    solid = creature.solid("walk", duration=0.2, speed=0.5)
    assert solid.animation is not None
    assert_array_equal(solid.animation.mesh.points, creature.mesh.points)
    surface = solid.at(0.1).mesh().points
    assert_allclose(solid.distance(surface[::50], 0.1), 0, atol=1e-6)
    assert_allclose(solid.velocity(surface, 0.1)[:, 2].mean(), 0.5, atol=0.1)


def test_bare_skin_is_eyes_nose_and_soles(fine):
    bare = fine.mesh.points[fine.is_bare]
    assert 0.003 < fine.is_bare.mean() < 0.06
    for place in ("eye_left", "eye_right", "nose"):
        assert np.linalg.norm(bare - fine.landmarks[place], axis=1).min() < 1e-6
    assert (bare[:, 1] < 0.01).sum() > 50


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: make_creature(0.1), "cell_size: must lie between 0.002 and 0.014 metres, got 0.1"),
        (lambda c: c.motion("gallop"), "motion: 'gallop' is unknown; choose from breathe, shake, violent, walk"),
        (lambda c: c.motion("walk", speed=3.0), "speed: must be from 0.1 to 1.2, got 3.0"),
        (lambda c: c.motion("walk", duration=0), "duration: must be above 0, got 0"),
        (lambda c: c.motion("shake", duration=1.0), "duration: must be at least 1.5, got 1.0"),
    ],
)
def test_bad_input(creature, call, message):
    with pytest.raises(ValueError, match=message):
        call(creature)


@pytest.mark.parametrize(("motion", "options"), [("walk", {"speed": 0.4}), ("walk", {"speed": 0.6}), ("shake", {})])
def test_the_skin_does_not_pass_through_itself(creature, motion, options):
    """A millimetre outside the skin is outside the animal, up to creases that pinch it: thighs pass the belly."""
    animation = creature.animated(motion, duration=1.5, frame_rate=RATE, **options)
    for time in animation.times[:30]:  # a stride of both
        now = animation.at(time)
        outside = (now.mesh.points + 1e-3 * now.mesh.vertex_normals).astype(np.float32)
        assert now.distance(outside).min() > -2e-3
