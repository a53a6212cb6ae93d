"""Pictures side by side, and the scale of false colours."""

import numpy as np
import pytest

from mane.render.panels import Legend, side_by_side, with_legend
from mane.render.sheet import contact_sheet

WHITE = 255


def picture(height=60, width=80, value=90):
    return np.full((height, width, 3), value, np.uint8)


def ink(image):
    return (image < 128).any(axis=2)


def test_pictures_of_one_height_are_shown_as_they_are():
    noise = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)
    panel = side_by_side([noise, picture(width=40)], ["a", "b"], gap=4)
    np.testing.assert_array_equal(panel[4:64, 4:84], noise)
    np.testing.assert_array_equal(panel[4:64, 88:128], picture(width=40))
    assert panel.shape[1] == 4 + 80 + 4 + 40 + 4
    assert (panel[:64, 84:88] == WHITE).all()


def test_other_heights_are_scaled_with_their_shape_kept():
    panel = side_by_side([picture(60, 80), picture(30, 20, 200)], ["a", "b"], gap=4)
    assert panel.shape[1] == 4 + 80 + 4 + 40 + 4
    assert (panel[4:64, 88:128] == 200).all()
    small = side_by_side([picture(60, 80)], ["a"], height=30, gap=4)
    assert small.shape[1] == 4 + 40 + 4


def test_captions_lines_and_title_have_ink_and_room():
    plain = side_by_side([picture()], [""])
    captioned = side_by_side([picture()], ["Hair"])
    lines = side_by_side([picture()], ["Hair\n3.4 s"])
    titled = side_by_side([picture()], ["Hair"], title="Comparison")
    assert not ink(plain[68:]).any()
    assert ink(captioned[68:]).any()
    assert captioned.shape[0] == plain.shape[0]
    assert lines.shape[0] > captioned.shape[0]
    assert titled.shape[0] > captioned.shape[0]
    assert ink(titled[: titled.shape[0] - captioned.shape[0]]).any()


def test_a_long_caption_stays_below_its_own_picture():
    """It gets smaller, then it is cut; the neighbours' captions keep their room."""
    long = "a caption of many more words than there is any room for below such a small picture " * 3
    for layout in (side_by_side, contact_sheet):
        panel = layout([picture(), picture()], [long, ""], gap=8)
        below = panel[8 + 60 :]
        assert ink(below[:, 8:88]).any()
        assert not ink(below[:, 92:]).any()


def test_same_sizes_in_same_size_out_whatever_the_captions():
    shapes = {side_by_side([picture()] * 2, [f"frame {k}", "x" * k], title="t").shape for k in (1, 10, 100)}
    assert len(shapes) == 1


def test_legend_shows_the_ramp_from_low_to_high():
    legend = Legend("depth", "0", "5 mm", np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    image = with_legend(picture(300, 400), legend)
    changed = (image != 90).any(axis=2)
    assert not changed[:150].any()  # in the lower left corner
    assert not changed[:, 300:].any()
    red, blue = (image == [255, 0, 0]).all(axis=2), (image == [0, 0, 255]).all(axis=2)
    assert red.any()
    assert blue.any()
    assert np.nonzero(red)[1].max() < np.nonzero(blue)[1].min()


def test_a_picture_too_small_for_a_legend_is_left_alone():
    legend = Legend("depth", "0", "5 mm", np.eye(3))
    np.testing.assert_array_equal(with_legend(picture(20, 20), legend), picture(20, 20))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: side_by_side([], []), "images: must hold at least one picture"),
        (lambda: side_by_side([picture()], ["a", "b"]), r"captions: must be as many as images \(1\), got 2"),
        (lambda: side_by_side([picture() / 255], ["a"]), r"images\[0\]: must be uint8 of shape \(H, W, 3\)"),
        (lambda: side_by_side([picture(0, 5)], ["a"]), r"images\[0\]: must have at least one pixel"),
        (lambda: side_by_side([picture()], ["a"], height=0), "height: must be at least 1 pixel, got 0"),
        (lambda: Legend("a", "b", "c", np.zeros((0, 3))), "legend.ramp: must hold at least one colour"),
    ],
)
def test_bad_panels_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
