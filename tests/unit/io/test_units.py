"""Units and axes of files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mane.io.units import (
    METRES,
    UP_AXES,
    checked_up,
    checked_usd_up,
    from_metres,
    metres_per_unit,
    to_metres,
    unit_name,
    upright,
)


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


@pytest.mark.parametrize("up", list(UP_AXES))
def test_every_axis_is_brought_upright_by_a_turn_and_not_by_a_mirror(up):
    axes = np.eye(3, dtype=np.float32)
    turned = to_metres(axes, "m", up)  # rows: where X, Y and Z of the file go
    own = axes["xyz".index(up[-1])] * (-1 if up.startswith("-") else 1)
    assert (own @ turned).tolist() == [0, 1, 0]
    assert np.linalg.det(turned) == pytest.approx(1.0)
    assert np.array_equal(turned.T, upright(up))


def test_the_turn_is_the_shortest_one():
    """Trace of a rotation: 1 + 2 cos(angle); a quarter turn has 1, half a turn -1."""
    assert [round(float(np.trace(upright(up)))) for up in ("x", "z", "-x", "-z", "y", "-y")] == [1, 1, 1, 1, 3, -1]


def test_up_is_an_axis_with_a_sign():
    assert (checked_up("Z"), checked_up("+y"), checked_up("-X")) == ("z", "y", "-x")
    with pytest.raises(ValueError, match="up: 'w' is unknown; choose from -x, -y, -z, x, y, z"):
        checked_up("w")


def test_usd_states_y_or_z():
    assert checked_usd_up("Z") == "z"
    with pytest.raises(ValueError, match="up: must be y or z to be written, for USD states no other, got 'x'"):
        checked_usd_up("x")


@given(st.integers(0, 2**32 - 1), st.sampled_from([*METRES, "0.1in"]), st.sampled_from(list(UP_AXES)))
def test_there_and_back(seed, unit, up):
    """Two roundings to float32, each by at most half a unit in the last place, 2^-24 of the value."""
    points = np.random.default_rng(seed).normal(size=(20, 3)).astype(np.float32)
    back = to_metres(from_metres(points, unit, up), unit, up)
    assert back.dtype == np.float32
    np.testing.assert_allclose(back, points, rtol=2**-23 * 1.01, atol=0)
    if metres_per_unit(unit) == 1:
        assert back.tobytes() == points.tobytes()
