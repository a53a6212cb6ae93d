"""The linear skin: rest, rigid motion, deforming skins and fading guides, against its plain specification."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from plain_physical import one_each, places_beside
from skin_frames import SOMEWHERE, curls, frame_of, guides_of, other_guides, reordered, reordered_frame, shaken

from mane.body.motion import Pose
from mane.geometry import quaternion
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin import _reference as reference
from mane.skin.binding import bind_guides
from mane.skin.bound import LEAST_PRESENCE
from mane.skin.linear.skin import LinearSkin

# Float32 points within 1 m of the pivot are rounded by up to 6e-8 m; a vertex is a sum of some ten of them.
ROUNDING = 1e-6

BINDINGS = [("triangle", 3), ("single", 1), ("nearest", 2), ("nearest", 5)]


def expected(skin, frame, binding="triangle", count=3):
    """From what the skin is given: places on the guides are found once more."""
    groom, guides = skin.groom, skin.guides
    bound = bind_guides(groom, guides, binding, count)
    bundles = one_each(bound, places_beside(groom, guides, bound))
    return reference.linear_hairs(groom.as_uniform(), guides.rest, bound, bundles, frame, LEAST_PRESENCE)


@pytest.mark.parametrize(("binding", "count"), BINDINGS)
@pytest.mark.parametrize("vertices", [3, 8, 13, 16])
def test_it_is_its_reference(binding, count, vertices):
    groom = curls(60, vertices)
    skin = LinearSkin(groom, other_guides(15, 9), binding=binding, count=count)
    frame = shaken(skin.guides)
    np.testing.assert_allclose(skin(frame), expected(skin, frame, binding, count), atol=ROUNDING)


@pytest.mark.parametrize("style", ["curly", "straight"])
def test_guides_at_rest_give_the_groom(style):
    groom = styles.make(style, strands=400, vertices=16, seed=2)
    skin = LinearSkin(groom, guides_of(groom, 40, vertices=12))
    np.testing.assert_allclose(skin(frame_of(skin.guides)), groom.as_uniform(), atol=ROUNDING)


@pytest.mark.parametrize(("binding", "count"), BINDINGS)
def test_a_head_that_moves_rigidly_carries_the_groom_rigidly(binding, count):
    groom = styles.make("curly", strands=400, vertices=16, seed=2)
    skin = LinearSkin(groom, guides_of(groom, 40), binding=binding, count=count)
    moved = SOMEWHERE.apply(groom.as_uniform().astype(np.float64))
    # The frame's own points and quaternions are rounded to float32: 1.2e-7 of some 2 m.
    np.testing.assert_allclose(skin(frame_of(skin.guides, SOMEWHERE)), moved, atol=2 * ROUNDING)


def test_far_from_the_origin_only_the_result_is_rounded():
    far = Pose(np.array([100.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 1.0]))
    groom = curls(50, 10)
    shifted = groom.with_points(groom.points + np.float32([100, 0, 0]))
    skin = LinearSkin(shifted, guides_of(shifted, 10))
    # float32 has steps of 7.6e-6 m at 100 m; three roundings by half a step.
    np.testing.assert_allclose(skin(frame_of(skin.guides)), shifted.as_uniform(), atol=12e-6)
    np.testing.assert_allclose(skin.groom.as_uniform(), far.apply(groom.as_uniform()), atol=12e-6)


def test_hair_turns_with_a_skin_that_deforms():
    """Every root turned by the same rotation about itself: each hair turns about its own root likewise."""
    groom = curls(50, 10)
    guides = guides_of(groom, 10)
    turn = quaternion.from_axis_angle(np.array([0.0, 1.0, 1.0]), 0.7)
    roots = guides.roots[:, None].astype(np.float64)
    frame = frame_of(
        guides, points=roots + quaternion.rotate(turn, guides.rest - roots), rotations=np.tile(turn, (10, 1))
    )
    own = groom.roots[:, None].astype(np.float64)
    skin = LinearSkin(groom, guides, binding="single")
    guide_root = guides.roots[skin.binding.guides[:, 0]][:, None].astype(np.float64)
    moved = guide_root + quaternion.rotate(turn, groom.as_uniform() - guide_root)
    np.testing.assert_allclose(skin(frame), moved, atol=ROUNDING)
    np.testing.assert_allclose(moved - moved[:, :1], quaternion.rotate(turn, groom.as_uniform() - own), atol=ROUNDING)


def test_a_hair_that_is_its_own_guide_follows_it():
    groom = curls(30, 12)
    guides = Guides.from_groom(groom)
    frame = shaken(guides)
    skin = LinearSkin(groom, guides, binding="single")
    np.testing.assert_allclose(skin(frame), frame.points, atol=ROUNDING)


@pytest.mark.parametrize("binding", ["triangle", "nearest"])
def test_the_numbers_of_guides_do_not_matter(binding):
    groom = curls(100, 9)
    guides = guides_of(groom, 20)
    frame = shaken(guides)
    order = np.random.default_rng(1).permutation(20)
    first = LinearSkin(groom, guides, binding=binding)(frame)
    second = LinearSkin(groom, reordered(guides, order), binding=binding)(reordered_frame(frame, order))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(("binding", "count"), BINDINGS)
def test_the_result_does_not_depend_on_the_number_of_threads(binding, count, on_threads):
    groom = curls(300, 16)
    guides = guides_of(groom, 20)
    frame = shaken(guides)
    fading = replace(frame, weight=np.linspace(0, 1, 20, dtype=np.float32))

    def skinned():
        skin = LinearSkin(groom, guides, binding=binding, count=count)
        return skin.binding, skin.bundles, skin(frame).copy(), skin(fading)

    on_threads(skinned)


# -- guides that come and go -----------------------------------------------------------------------------------------


def faded(frame, weight):
    return replace(frame, weight=np.asarray(weight, np.float32))


def test_fading_guides_leave_their_share_to_the_others_as_specified():
    skin = LinearSkin(curls(60, 10), other_guides(12, 10))
    weight = np.random.default_rng(0).random(12)
    weight[:4] = (0, 0, 0.01, 0.02)
    frame = faded(shaken(skin.guides), weight)
    np.testing.assert_allclose(skin(frame), expected(skin, frame), atol=2 * ROUNDING)


def test_hair_moves_without_a_jump_while_its_last_guide_fades():
    groom = curls(20, 10)
    skin = LinearSkin(groom, guides_of(groom, 3))
    frame = shaken(skin.guides)
    path = [skin(faded(frame, np.full(3, weight))).copy() for weight in np.linspace(0.1, 0, 101)]
    steps = [np.abs(b - a).max() for a, b in pairwise(path)]
    whole = np.abs(path[-1] - path[0]).max()
    assert whole > 0.005
    assert max(steps) < 1.5 * whole / 50  # the way is gone in the lower half of the fade, evenly
    np.testing.assert_allclose(path[-1], SOMEWHERE.apply(groom.as_uniform()), atol=ROUNDING)


def test_an_emptied_slot_counts_for_nothing():
    groom = curls(60, 10)
    skin = LinearSkin(groom, guides_of(groom, 12))
    frame = shaken(skin.guides)
    active = np.arange(12) % 3 > 0
    wild = np.where(active[:, None, None], frame.points, np.float32(50))
    one = skin(replace(frame, active=active)).copy()
    np.testing.assert_array_equal(skin(replace(frame, active=active, points=wild)), one)


def test_slots_that_were_empty_when_bound_count_for_nothing():
    groom = curls(60, 10)
    guides = guides_of(groom, 12)
    room = guides.with_capacity(15)
    first = LinearSkin(groom, guides)(frame_of(guides, SOMEWHERE))
    np.testing.assert_array_equal(LinearSkin(groom, room)(frame_of(room, SOMEWHERE)), first)


# -- the door --------------------------------------------------------------------------------------------------------


def test_it_writes_where_it_is_told():
    groom = curls(20, 8)
    skin = LinearSkin(groom, guides_of(groom, 5))
    frame = shaken(skin.guides)
    own = skin(frame)
    assert skin(frame) is own
    out = np.empty_like(own)
    assert skin(frame, out) is out
    np.testing.assert_array_equal(out, own)
    for wrong in (np.empty((20, 8, 3)), np.empty((20, 7, 3), np.float32), np.empty((20, 16, 3), np.float32)[:, ::2]):
        with pytest.raises(ValueError, match="out: must be C-contiguous float32"):
            skin(frame, wrong)


def test_wrong_frames_are_refused():
    groom = curls(20, 8)
    skin = LinearSkin(groom, guides_of(groom, 5))
    frame = frame_of(skin.guides)
    with pytest.raises(ValueError, match=r"frame.points: must have shape \(5, 8, 3\) \(= bound guides\)"):
        skin(frame_of(guides_of(groom, 4)))
    with pytest.raises(ValueError, match=r"frame.root_rotations: must have shape \(5, 4\)"):
        skin(replace(frame, root_rotations=frame.root_rotations[:3]))
    broken = frame.points.copy()
    broken[2, 3] = np.nan
    with pytest.raises(ValueError, match=r"frame.points: must be finite, got nan at index 2"):
        skin(replace(frame, points=broken))


def test_ragged_grooms_are_refused():
    groom = curls(5, 8)
    ragged = Groom.from_strands([*groom.as_uniform(), groom.as_uniform()[0, :5]])
    with pytest.raises(ValueError, match="one vertex count"):
        LinearSkin(ragged, guides_of(groom, 2))


def test_it_holds_little():
    groom = curls(1000, 16)
    skin = LinearSkin(groom, guides_of(groom, 20))
    # 12 bytes per vertex at rest, 12 in the buffer, and what is per hair; 250 MB for 100,000 x 16 would be 156.
    assert skin.nbytes / groom.point_count < 40
