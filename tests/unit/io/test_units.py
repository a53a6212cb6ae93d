"""Units and axes of files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mane.io.units import METRES, checked_up, from_metres, metres_per_unit, to_metres, unit_name


@pytest.mark.parametrize(
    ("unit", "metres"),
    [("m", 1.0), ("cm", 0.01), ("MM", 0.001), ("0.1in", 0.00254), ("2.5 cm", 0.025), ("0.01", 0.01), (0.5, 0.5)],
)
def test_units_by_name_multiple_or_number(unit, metres):
    assert metres_per_unit(unit) == pytest.approx(metres, rel=1e-12)


@pytest.mark.parametrize("unit", ["", "parsec", "-1", "0", "nan", "inf", "1e999", "cm cm", "1 2"])
def test_what_is_no_unit_is_refused(unit):
    with pytest.raises(ValueError, match="is unknown; choose from m, dm, cm"):
        metres_per_unit(unit)


@pytest.mark.parametrize("unit", [*METRES, "0.1in", "7.3cm"])
def test_names_lead_back_to_the_same_size(unit):
    assert metres_per_unit(unit_name(metres_per_unit(unit))) == pytest.approx(metres_per_unit(unit), rel=1e-8)


def test_z_up_becomes_y_up_by_a_quarter_turn_about_x():
    along = np.asarray([[1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)  # right, forward, up where Z is up
    assert to_metres(along, "m", "z").tolist() == [[1, 0, 0], [0, 0, -1], [0, 1, 0]]


def test_up_is_y_or_z():
    assert checked_up("Z") == "z"
    with pytest.raises(ValueError, match="up: 'x' is unknown; choose from y, z"):
        checked_up("x")


@given(st.integers(0, 2**32 - 1), st.sampled_from([*METRES, "0.1in"]), st.sampled_from("yz"))
def test_there_and_back(seed, unit, up):
    """Two roundings to float32, each by at most half a unit in the last place, 2^-24 of the value."""
    points = np.random.default_rng(seed).normal(size=(20, 3)).astype(np.float32)
    back = to_metres(from_metres(points, unit, up), unit, up)
    assert back.dtype == np.float32
    np.testing.assert_allclose(back, points, rtol=2**-23 * 1.01, atol=0)
    if metres_per_unit(unit) == 1:
        assert back.tobytes() == points.tobytes()
