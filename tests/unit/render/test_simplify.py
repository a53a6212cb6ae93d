"""Fewer, wider strands for hairs far thinner than a pixel: the same coverage and light, and the same strands always."""

import numpy as np
import pytest

from mane.groom.groom import Groom
from mane.render.camera import Camera
from mane.render.renderer import LEAST_STRANDS, render, simplified
from mane.render.strands import HAIR_WIDTH, strand_widths
from mane.render.view import View

FRONT = Camera((0.0, 0.0, 2.0), (0.0, 0.0, 0.0))
VIEW = View.of_camera(FRONT, 96, 64)
PIXEL = (2.0 - 0.025) / float(VIEW.focal)  # of that view, in the middle of the hair [m]


def fleece(count, seed=5):
    """Hairs of half the picture's width or so, scattered in a thin slab that faces the camera."""
    rng = np.random.default_rng(seed)
    middle = rng.uniform([-0.4, -0.3, 0.0], [0.4, 0.3, 0.05], (count, 3))
    half = rng.normal(0.0, [0.05, 0.05, 0.01], (count, 3))
    points = np.stack([middle - half, middle, middle + half], axis=1).astype(np.float32)
    return Groom.from_uniform(points, strand={"id": np.arange(count, dtype=np.int32)})


def total_width(groom, wider=1.0):
    return float(strand_widths(groom, None, wider)[groom.offsets[:-1]].sum())


def test_zero_keeps_every_hair():
    groom = fleece(5000)
    assert simplified(groom, VIEW, 0.0) == (groom, 1.0)


def test_hairs_that_are_wide_enough_stay():
    groom = fleece(5000).with_strand(width=np.full(5000, PIXEL, np.float32))
    assert simplified(groom, VIEW, 0.5) == (groom, 1.0)


def test_strands_stand_for_all_and_have_the_width_that_was_asked_for():
    groom = fleece(40_000)
    finest = 3.0 * float(np.median(strand_widths(groom))) / PIXEL
    fewer, wider = simplified(groom, VIEW, finest)
    assert wider == groom.strand_count / fewer.strand_count
    # Who stays is drawn by lot: 40,000 / 3 strands, give or take three standard deviations of 94.
    assert fewer.strand_count == pytest.approx(40_000 / 3, abs=283)
    assert total_width(fewer, wider) == pytest.approx(total_width(groom), rel=1e-5)


def test_a_thin_groom_is_drawn_whole():
    groom = fleece(LEAST_STRANDS)
    assert simplified(groom, VIEW, 50.0) == (groom, 1.0)


def test_the_same_strands_stay_wherever_they_move_and_in_any_order():
    groom = fleece(20_000)
    moved = groom.with_points(groom.points + np.float32([0.1, 0.05, 0.0]))
    turned = groom.take(np.arange(20_000)[::-1])
    kept = [set(simplified(one, VIEW, 0.05)[0].strand["id"].tolist()) for one in (groom, moved, turned)]
    assert len(kept[0]) < 20_000
    # The distance to the eye decides how many stay, so that a few at the threshold may differ.
    assert len(kept[0] ^ kept[1]) < 0.02 * len(kept[0])
    assert kept[0] == kept[2]


def test_the_picture_keeps_its_coverage_and_light():
    """A fleece drawn with a fifth of its strands.

    Some 3,000 strands cross a block of 8 x 8 pixels. A fifth of them, drawn by lot, stand for all with a standard
    deviation of sqrt(0.8 / 600) = 3.6 %: four of these for each of 24 blocks and 4 channels, three for their mean.
    """
    groom = fleece(60_000).with_strand(width=np.full(60_000, HAIR_WIDTH, np.float32))
    settings = {"camera": FRONT, "size": (96, 64), "background": None, "tone": "linear"}
    finest = 5.0 * HAIR_WIDTH * np.sqrt(100_000 / 60_000) / PIXEL
    full, fewer = (render(groom, finest=f, **settings) for f in (0.0, finest))
    assert not np.array_equal(full, fewer)
    blocks = [image.reshape(8, 8, 12, 8, 4).mean(axis=(1, 3))[2:6, 3:9] for image in (full, fewer)]
    np.testing.assert_allclose(blocks[1], blocks[0], rtol=4 * 0.036)
    means = [block.mean(axis=(0, 1)) for block in blocks]
    np.testing.assert_allclose(means[1], means[0], rtol=3 * 0.036 / np.sqrt(24))


def test_negative_widths_are_refused():
    with pytest.raises(ValueError, match="finest: must be at least 0 pixels"):
        simplified(fleece(10), VIEW, -1.0)
