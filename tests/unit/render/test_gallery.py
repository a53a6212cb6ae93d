"""Every style has its picture."""

import numpy as np

from mane.groom import styles
from mane.render import gallery


def test_every_style_has_a_look():
    assert set(gallery.STYLE_LOOKS) == set(styles.STYLES)
    assert set(gallery.BODY_COLORS) == {name for name, style in styles.STYLES.items() if not style.on_bust}


def test_style_is_drawn_from_both_sides():
    groom = styles.make("brush", strands=60, seed=0)
    picture = gallery.draw_style("brush", groom, size=(60, 64))
    front, rear = picture[8:72, 8:68], picture[8:72, 76:136]
    for side in (front, rear):
        assert side.shape == (64, 60, 3)
        assert np.ptp(side[:, 25:35].astype(int)) > 60  # bristles and handle before the backdrop


def test_looks_sheet_shows_three_styles_in_three_colours_from_two_sides():
    sheet = gallery.draw_looks(strands=30, size=(40, 44))
    assert sheet.shape == (8 + 3 * (44 + 28 + 8), 8 + 6 * (40 + 8), 3)
