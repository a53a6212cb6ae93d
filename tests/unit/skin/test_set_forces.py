"""Physical hair on adaptive sets: it feels the guides of its set, and at rest nothing but what the groom does."""

from dataclasses import replace

import numpy as np
import pytest
from skin_frames import SOMEWHERE, frame_of

from mane.body.motion import Pose
from mane.body.shapes import Capsule
from mane.body.solid import Solid
from mane.geometry import quaternion
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.metrics.kink import kink
from mane.metrics.length import length_error
from mane.skin.adaptive.skin import AdaptiveSkin
from mane.skin.physical.skin import PhysicalSkin

TOOTH = Solid(Capsule((0.0, -0.1, -0.1), (0.0, -0.1, 0.1), 0.002))
AWAY = Pose(np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 1.0]))


def hanging(hairs=48, vertices=12, seed=1):
    """Wavy strands of 20 cm that hang from a patch of 8 x 4 cm, all of one shape."""
    rng = np.random.default_rng(seed)
    along = np.linspace(0, 1, vertices)
    points = np.zeros((hairs, vertices, 3))
    points[:, :, 0] = rng.uniform(-0.04, 0.04, hairs)[:, None] + 0.003 * np.sin(9 * along)
    points[:, :, 2] = rng.uniform(-0.02, 0.02, hairs)[:, None] + 0.003 * (np.cos(9 * along) - 1)
    points[:, :, 1] = -0.2 * along
    return Groom.from_uniform(points)


def skins(groom, guides, eligible=10, **settings):
    """Physical hair that feels the guides of its sets, that which does not, and their targets."""
    plain = {"fade": 0.0, "lean": False, "use_motion": False, "eligible": eligible}
    made = [AdaptiveSkin(groom, guides, solids=[TOOTH], **plain) for _ in range(3)]
    both = [
        PhysicalSkin(groom, guides, target=target, forces_of_sets=on, **settings)
        for target, on in zip(made, (True, False), strict=False)
    ]
    return *both, made[2]


def parted(guides, amount=0.03, **changes):
    """Guides that part at x = 0 by `amount` [m] at their tips, each swinging along z by its own amount."""
    along = np.linspace(0, 1, guides.vertex_count) ** 2
    swing = np.linspace(-0.5, 1.0, guides.capacity)[:, None] * amount
    points = guides.rest.copy()
    points[:, :, 0] += amount * np.sign(guides.rest[:, :1, 0]) * along
    points[:, :, 2] += swing * along
    return replace(frame_of(guides, points=points), solid_poses=(Pose.identity(),), **changes)


@pytest.mark.parametrize("settings", [{}, {"sweeps": 2}])
def test_rest_and_rigid_motion_are_the_groom(settings):
    groom = hanging()
    guides = Guides.chosen(groom, np.arange(0, 48, 4))
    with_sets, without, _ = skins(groom, guides, **settings)
    for pose in (Pose.identity(), SOMEWHERE):
        frame = replace(frame_of(guides, pose), solid_poses=(AWAY,))
        turned = np.tile(pose.rotation, (guides.capacity, 1))
        loads = with_sets._loads.forces
        cut = loads.at_rest() * loads.weight[:, None, None]
        frame = replace(frame, cut_force=quaternion.rotate(turned[:, None], cut).astype(np.float32))
        expected = pose.apply(groom.as_uniform().astype(np.float64))
        np.testing.assert_allclose(with_sets(frame), expected, atol=3e-6)
        np.testing.assert_allclose(without(frame), expected, atol=3e-6)


def test_a_hair_on_one_guide_of_its_shape_follows_that_guide():
    """However the three guides around its root are bent, whose forces it would feel otherwise."""
    groom = hanging()
    guides = Guides.chosen(groom, np.arange(0, 48, 4))
    with_sets, without, target = skins(groom, guides, eligible=1)
    frame = parted(guides, 0.06)
    way = np.diff(frame.points, axis=1)
    length = np.linalg.norm(np.diff(guides.rest, axis=1), axis=2)
    way *= (length / np.linalg.norm(way, axis=2))[..., None]  # as long as it was
    frame.points[:, 1:] = frame.points[:, :1] + np.cumsum(way, axis=1)
    moved = frame.points - guides.rest
    near, far = with_sets(frame, copy=True), without(frame, copy=True)
    target(frame)
    own = np.array([target.hangs_on(s) for s in range(groom.strand_count)])[:, 0]
    goal = groom.as_uniform() + moved[own]
    assert np.abs(near - goal).max() < 1e-4
    assert np.abs(far - goal).max() > 0.003


def test_lengths_and_curls_are_kept_where_adaptive_hair_loses_them():
    groom = hanging()
    guides = Guides.chosen(groom, np.arange(0, 48, 4))
    with_sets, _, target = skins(groom, guides)
    frame, rest = parted(guides, 0.06), groom.as_uniform()
    physical, linear = with_sets(frame, copy=True), target(frame, copy=True)
    assert np.abs(length_error(physical, rest)).max() < 0.01
    assert np.abs(length_error(physical, rest)).max() < 0.5 * np.abs(length_error(linear, rest)).max()
    assert kink(physical, rest).mean() < 1.5 * kink(linear, rest).mean()


def test_rows_are_asked_for_after_a_frame():
    groom = hanging()
    guides = Guides.chosen(groom, np.arange(0, 48, 4))
    skin = AdaptiveSkin(groom, guides, solids=[TOOTH], lean=False)
    with pytest.raises(ValueError, match="after a frame"):
        skin.blend_rows(skin.tables.shift)
    frame = parted(guides)
    carried = skin(frame, copy=True)
    np.testing.assert_allclose(groom.as_uniform() + skin.blend_rows(skin.tables.shift), carried, atol=1e-6)


def on_adaptive_sets(groom, guides):
    """Physical hair on adaptive sets whose jumps fade slowly, and a tooth that none of its guides misses."""
    tooth = Solid(Capsule((0.0, -0.1, -0.1), (0.0, -0.1, 0.1), 0.006))
    target = AdaptiveSkin(groom, guides, solids=[tooth], fade=0.2, use_motion=False)
    return PhysicalSkin(groom, guides, target=target), target


def test_going_on_in_the_middle_of_a_fade_equals_not_stopping():
    """A tooth that appears lets positions and forces jump; both fade, and what is left of them is remembered."""
    groom = hanging()
    guides = Guides.chosen(groom, np.arange(0, 48, 4))
    frames = [parted(guides, time=0.05 * k) for k in range(6)]
    frames[0] = replace(frames[0], solid_poses=(AWAY,))
    cut = np.random.default_rng(2).normal(0, 1e-5, frames[0].cut_force.shape).astype(np.float32)
    frames = [replace(frame, cut_force=(1 + k) * cut) for k, frame in enumerate(frames)]
    (whole, target), (first, _), (second, _) = (on_adaptive_sets(groom, guides) for _ in range(3))
    expected = [whole(frame).tobytes() for frame in frames]
    assert whole.remembers
    assert target.memory()["jumping"].size > 5
    for frame in frames[:3]:
        first(frame)
    second(frames[5])
    second.restore(first.memory())
    assert [second(frame).tobytes() for frame in frames[3:]] == expected[3:]
    second.reset()
    assert [second(frame).tobytes() for frame in frames] == expected


def test_memory_of_another_target_is_refused():
    groom = hanging()
    guides = Guides.chosen(groom, np.arange(0, 48, 4))
    skin, _ = on_adaptive_sets(groom, guides)
    skin(parted(guides))
    memory = skin.memory()
    memory["target/stages"] = np.array(["skin.adaptive 1"])
    with pytest.raises(ValueError, match=r"'skin.adaptive' is of version 1"):
        skin.restore(memory)


def test_a_target_is_asked_once_in_a_frame():
    """Also where hairs that reach into a solid are swept again: asked twice, its jumps would have faded at once."""
    groom = hanging()
    guides = Guides.chosen(groom, np.arange(0, 48, 4))
    tooth = Solid(Capsule((0.0, -0.11, -0.1), (0.0, -0.11, 0.1), 0.006))
    target = AdaptiveSkin(groom, guides, solids=[tooth], fade=0.2, use_motion=False)
    alone = AdaptiveSkin(groom, guides, solids=[tooth], fade=0.2, use_motion=False)
    skin = PhysicalSkin(groom, guides, target=target, solids=[tooth])
    for number, pose in enumerate((AWAY, Pose.identity(), Pose.identity())):
        frame = replace(parted(guides, 0.004, time=0.05 * number), solid_poses=(pose,))
        skin(frame)
        behind = tooth.at(0.0).distance(alone(frame).reshape(-1, 3)).min()
    assert behind < -1e-3  # otherwise nothing is swept again
    assert len(alone.memory()["fading"]) > 5
    for name, array in alone.memory().items():
        np.testing.assert_array_equal(target.memory()[name], array)
