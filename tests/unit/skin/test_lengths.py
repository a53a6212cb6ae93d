"""Hair on guides whose lengths sliders have changed: what passes, caches and figures make of it."""

from dataclasses import replace

import numpy as np
import pytest
from skin_frames import curls, frame_of, guides_of, shaken

from mane.body.motion import Pose
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.skin.finish.keep_out import KeepOut
from mane.skin.finish.passes import LengthKeeping
from mane.skin.lengths import HairScales, as_long_as_at_rest
from mane.skin.table import make_skin


def stretched(frame, scale):
    """The same guides, each `scale (G,)` times as long."""
    scale = np.asarray(scale, np.float32)
    roots = frame.points[:, :1]
    return replace(frame, points=roots + (frame.points - roots) * scale[:, None, None], length_scale=scale)


def segments(points):
    return np.linalg.norm(np.diff(points.astype(np.float64), axis=1), axis=2)


def test_hairs_are_as_much_longer_as_the_guides_around_their_roots():
    groom = curls(60, 8)
    guides = guides_of(groom, 12)
    scales = HairScales(groom, guides)
    frame = shaken(guides)
    assert scales.of(frame) is None
    same = scales.of(stretched(frame, np.full(12, 1.7)))
    np.testing.assert_array_equal(same, np.float32(1.7))  # not 1.7 but for rounding: hair must not breathe
    each = np.linspace(0.5, 2.0, 12, dtype=np.float32)
    found = scales.of(stretched(frame, each))
    assert found.min() >= 0.5
    assert found.max() <= 2.0
    # A hair that is a guide hangs on that one alone.
    np.testing.assert_allclose(found[np.arange(12) * 5], each, rtol=1e-5)
    assert np.ptp(found) > 1.0


def test_guides_are_seen_as_long_as_at_rest():
    guides = guides_of(curls(60, 8), 12)
    frame = shaken(guides)
    seen = as_long_as_at_rest(stretched(frame, np.linspace(0.5, 2.0, 12)))
    assert seen.length_scale is None
    np.testing.assert_allclose(seen.points, frame.points, atol=2e-7)
    assert as_long_as_at_rest(frame) is frame


@pytest.mark.parametrize("name", ["linear", "physical", "adaptive"])
def test_lengths_grow_and_shrink_with_a_map_and_roots_stay(name):
    """Half of the head twice as long: each hair is as long as the mean of its guides, and none is cut by the checks."""
    groom = curls(60, 8)
    guides = guides_of(groom, 12)
    skin = make_skin(name, groom, guides)
    frame = frame_of(guides)
    plain = skin(frame, copy=True)
    assert skin.length_scale is None
    made = skin(stretched(frame, np.where(guides.roots[:, 0] > 0, 2.0, 0.5)), copy=True)
    np.testing.assert_array_equal(made[:, 0], plain[:, 0])
    np.testing.assert_allclose(segments(made), segments(plain) * skin.length_scale[:, None], rtol=1e-4)
    assert len(skin.fallback_hairs) == 0


def test_sets_are_chosen_by_guides_as_long_as_at_rest():
    """Guides that a slider has made longer have not moved apart."""
    groom = curls(60, 8)
    guides = guides_of(groom, 12)
    frame = shaken(guides)
    masks = [
        make_skin("adaptive", groom, guides, use_motion=True).choose(one)
        for one in (frame, stretched(frame, np.where(guides.roots[:, 0] > 0, 3.0, 0.3)))
    ]
    np.testing.assert_array_equal(*masks)


@pytest.mark.parametrize(
    ("scale", "text"),
    [
        (np.ones(3, np.float32), r"frame\.length_scale: must have shape \(12,\) .*, got \(3,\)"),
        (np.full(12, np.nan, np.float32), r"frame\.length_scale: must be finite, got nan"),
        (np.linspace(0, 1, 12, dtype=np.float32), r"frame\.length_scale: must be above zero, got 0 at guide 0"),
    ],
)
def test_lengths_that_are_none_are_refused_in_one_line(scale, text):
    groom = curls(60, 8)
    guides = guides_of(groom, 12)
    with pytest.raises(ValueError, match=text) as error:
        make_skin("linear", groom, guides)(replace(frame_of(guides), length_scale=scale))
    assert "\n" not in str(error.value)


def test_keep_lengths_gives_hair_the_lengths_that_its_guides_have():
    groom = curls(60, 8)
    guides = guides_of(groom, 12)
    frame = stretched(frame_of(guides), np.linspace(0.5, 2.0, 12))
    wrong = make_skin("linear", groom, guides)(frame, copy=True)
    roots = wrong[:, :1]
    wrong = (roots + (wrong - roots) * 1.3).astype(np.float32)
    expected = segments(groom.as_uniform()) * HairScales(groom, guides).of(frame)[:, None]
    np.testing.assert_allclose(segments(LengthKeeping(groom, guides)(wrong.copy(), frame)), expected, rtol=1e-4)
    plain = LengthKeeping(groom)(wrong.copy(), frame)  # knows no guides, so that lengths are the groom's
    np.testing.assert_allclose(segments(plain), segments(groom.as_uniform()), rtol=1e-4)


def test_keep_out_brings_longer_hair_out_at_its_own_lengths():
    groom = curls(60, 8)
    guides = guides_of(groom, 12)
    scale = np.full(12, 1.5, np.float32)
    # Beside the cap that hair grows on, so that long hair reaches into it, and no root does.
    ball = Solid(Sphere((0.0, 0.3, 0.0), 0.12))
    frame = replace(stretched(frame_of(guides), scale), solid_poses=(Pose.identity(),))
    longer = make_skin("linear", groom, guides)(replace(frame, solid_poses=()), copy=True)
    wanted = 1.5 * segments(groom.as_uniform())

    def depth(points):
        return -ball.distance(points.reshape(-1, 3)).reshape(points.shape[:2]).min(axis=1)

    deep = depth(longer) > 1e-3
    assert deep.sum() > 5
    out = KeepOut((ball,), groom=groom, guides=guides)(longer.copy(), frame)
    assert depth(out).max() < 4e-4
    np.testing.assert_allclose(segments(out)[deep], wanted[deep], rtol=1e-4)
    np.testing.assert_array_equal(out[~deep & (depth(longer) < 2e-4)], longer[~deep & (depth(longer) < 2e-4)])
