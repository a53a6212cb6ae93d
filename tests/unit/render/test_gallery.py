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
