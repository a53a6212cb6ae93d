"""From light to a picture."""

import numpy as np
import pytest

from mane.render.develop import develop, display_from_linear, filmic, linear_from_display


def flat(red, green, blue, alpha):
    return np.broadcast_to(np.array([red, green, blue, alpha], np.float32), (2, 3, 4)).copy()


def test_srgb_curve_and_its_inverse():
    steps = np.linspace(0, 1, 256, dtype=np.float32)
    np.testing.assert_allclose(display_from_linear(linear_from_display(steps)), steps, atol=1e-5)
    assert display_from_linear(np.float32(0.18)) == pytest.approx(0.4614, abs=1e-4)  # middle grey


def test_filmic_keeps_greys_and_bends_highlights():
    light = np.linspace(0.0, 50.0, 2001, dtype=np.float32)
    shown = filmic(light)
    assert (np.diff(shown) > 0).all()
    assert shown[0] == 0.0
    assert shown[-1] < 1.0
    for value, expected in ((0.18, 0.18), (1.0, 0.75), (2.5, 0.93)):
        assert filmic(np.float32(value)) == pytest.approx(expected, abs=0.002)


@pytest.mark.parametrize("tone", ["filmic", "srgb", "linear"])
def test_background_shows_through_in_proportion(tone):
    """A quarter of nothing over white, in linear light."""
    picture = develop(flat(0, 0, 0, 0.25), (1.0, 1.0, 1.0), tone)
    expected = 0.75 if tone == "linear" else round(255 * float(display_from_linear(np.float32(0.75))))
    np.testing.assert_allclose(picture, expected, rtol=1e-6)


def test_open_background_keeps_alpha():
    np.testing.assert_array_equal(develop(flat(0.5, 0.5, 0.5, 0.5), None, "linear"), flat(0.5, 0.5, 0.5, 0.5))
    # Straight alpha: the colour of the covered half is 1.
    np.testing.assert_array_equal(develop(flat(0.5, 0.5, 0.5, 0.5), None, "srgb")[0, 0], [255, 255, 255, 128])


def test_too_much_light_is_white():
    assert (develop(flat(9.0, 9.0, 9.0, 1.0), (0, 0, 0), "srgb") == 255).all()
