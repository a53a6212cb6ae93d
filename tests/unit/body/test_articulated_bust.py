"""The bust on joints: its head turns as a whole, its shoulders lift, and at rest it is the bust."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mane.body.articulated_bust import BUST_MOTIONS, make_articulated_bust, make_skeleton
from mane.body.bust_motions import PRESET_MOTIONS
from mane.body.motion_presets import make_motion


@pytest.fixture(scope="module")
def bust():
    return make_articulated_bust(0.007)


def moved_by(bust, joint, animation, sample):
    """The mesh as if all of it followed one joint, (N, 3)."""
    number = bust.skeleton.index(joint)
    transform = animation.sample_transforms(bust.skeleton, sample)[number]
    matrix = transform @ np.linalg.inv(bust.skeleton.bind_transforms[number])
    return bust.mesh.points @ matrix[:3, :3].T + matrix[:3, 3]


def test_weights_are_shares(bust):
    weights = bust.skinned.joint_weights
    assert weights.min() >= 0
    assert_allclose(weights.sum(axis=1), 1, atol=1e-6)


def test_at_rest_it_is_the_bust(bust):
    assert_array_equal(bust.skinned.deformed(bust.skeleton.bind_transforms), bust.bust.mesh.points)


@pytest.mark.parametrize("name", [name for name in BUST_MOTIONS if name not in PRESET_MOTIONS])
def test_motions_start_and_end_at_rest(bust, name):
    samples = bust.skinned.samples(bust.motion(name, duration=2.0))
    for sample in (samples[0], samples[len(samples) - 1]):
        assert_allclose(sample, bust.mesh.points, atol=1e-6)
    assert np.abs(samples[len(samples) // 2 + 7] - bust.mesh.points).max() > 0.005


def test_head_and_scalp_follow_the_head_joint(bust):
    animation = bust.motion("look_around")
    sample = 40
    expected = moved_by(bust, "head", animation, sample)
    points = bust.skinned.samples(animation)[sample]
    head = bust.mesh.points[:, 1] > bust.landmarks["chin"][1] + 0.02
    scalp = np.unique(bust.mesh.faces[bust.bust.scalp])
    assert np.abs(points - bust.mesh.points)[head].max() > 0.03
    assert_allclose(points[head], expected[head], atol=1e-6)
    assert_allclose(points[scalp], expected[scalp], atol=1e-6)


def test_shoulders_lift_and_the_head_stays(bust):
    animation = bust.motion("shrug", frequency=0.5, duration=4.0)
    points = bust.skinned.samples(animation)[48]  # one second: full lift
    shoulder = (np.abs(bust.mesh.points[:, 0]) > 0.16) & (bust.mesh.points[:, 1] > -0.22)
    assert shoulder.sum() > 10
    lift = (points - bust.mesh.points)[shoulder, 1]
    assert lift.min() > 0.03
    assert np.linalg.norm((points - bust.mesh.points)[bust.mesh.points[:, 1] > 0], axis=1).max() < 0.03


presets = pytest.mark.parametrize("name", PRESET_MOTIONS)
# Where the head does what the preset does and no more; in others it strays or nods a little besides.
EXACT = {"random", "look", "dance"}
AMPLITUDES = {"walk": 0.03, "jump": 0.2}


def joints_of(name, **options):
    """Where the joints are in the world (F, J, 4, 4), and at which times."""
    skeleton = make_skeleton()
    animation = BUST_MOTIONS[name](skeleton, **options)
    return skeleton.world_transforms(animation.rotations, animation.translations), animation.times


@presets
def test_the_head_turns_and_travels_as_the_preset_of_a_rigid_head(name):
    """Chest and neck lean, so that the joint of the head is carried aside by their lengths: 0.3 m above the chest's."""
    settings = {"amplitude": AMPLITUDES.get(name, 0.6), "rate": 0.8, "seed": 5}
    joints, times = joints_of(name, duration=5.0, frame_rate=20.0, **settings)
    rigid = make_motion(name, **settings)
    expected = np.array([rigid.pose(time).matrix for time in times])
    head = joints[:, make_skeleton().index("head")]
    if name in EXACT:
        assert_allclose(head[:, :3, :3], expected[:, :3, :3], atol=1e-6)
    apart = np.linalg.norm(head[:, :3, 3] - expected[:, :3, 3], axis=1)
    assert apart.max() < 0.3 * 0.4  # leaning by 0.4 rad at most
    chest = joints[:, 0, :3, 3] - joints[0, 0, :3, 3]
    assert_allclose(chest, expected[:, :3, 3], atol=1e-5)  # float32 of some metres


@presets
def test_presets_begin_at_rest_and_move_head_neck_and_shoulders(name):
    skeleton = make_skeleton()
    animation = BUST_MOTIONS[name](skeleton, duration=4.0, frame_rate=20.0, seed=1)
    assert_allclose(animation.rotations[0], skeleton.rest_rotations, atol=1e-7)
    assert_allclose(animation.translations[0], skeleton.rest_translations, atol=1e-7)
    turned = np.abs(animation.rotations - skeleton.rest_rotations)[..., :3].max(axis=(0, 2))
    assert (turned > 0.01).all(), dict(zip(skeleton.names, turned, strict=True))
    assert turned.max() < np.sin(0.5 * 1.0)  # no joint turns by more than a neck can


@presets
def test_a_seed_is_a_motion_of_its_own_and_the_same_every_time(name):
    one, same, other = (joints_of(name, duration=3.0, frame_rate=20.0, seed=seed)[0] for seed in (3, 3, 4))
    assert one.tobytes() == same.tobytes()
    assert np.abs(one - other).max() > 0.01
    longer, _ = joints_of(name, duration=4.0, frame_rate=20.0, seed=3)
    assert_array_equal(longer[: len(one)], one)  # a longer shot begins as a shorter one


@presets
def test_amplitude_and_rate_of_a_preset_are_refused_where_they_make_no_motion(name):
    for option, value in (("amplitude", -1.0), ("rate", 0.0), ("seed", -1), ("ease_in", np.nan)):
        with pytest.raises(ValueError, match=f"{option}: must be"):
            joints_of(name, **{option: value})
