"""Messages of the checks at the door: where, what was expected, what came, the first offender."""

import numpy as np
import pytest

from mane.geometry import checks


@pytest.mark.parametrize(
    ("value", "shape", "message"),
    [
        ([[1, 2]], ("P", 3), r"thing: must have shape \(P, 3\), got \(1, 2\)"),
        ([[1, 2, 3], [0, np.inf, 0]], ("P", 3), "thing: must be finite, got inf at index 1"),
        ([1e300], ("P",), "thing: must be finite, got inf at index 0"),
        ([[1], [1, 2]], ("P", 3), "thing: must be numbers of shape"),
        (["a", "b"], ("P",), "thing: must be numbers of shape"),
        (None, ("P",), "thing: must be numbers of shape"),
    ],
)
def test_bad_floats(value, shape, message):
    with pytest.raises(ValueError, match=message):
        checks.as_floats("thing", value, shape)


def test_fractions_do_not_pass_as_whole_numbers():
    with pytest.raises(ValueError, match="cannot serve as whole numbers"):
        checks.as_array("offsets", [0.5, 1.0], ("S+1",), np.int64)


def test_good_arrays_are_not_copied():
    array = np.zeros((4, 3), np.float32)
    assert checks.as_floats("thing", array, ("P", 3)) is array


def test_choices_are_listed():
    with pytest.raises(ValueError, match="model: 'coserat' is unknown; choose from chain, cosserat"):
        checks.require_choice("model", "coserat", ["cosserat", "chain"])


@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf])
def test_positive(value):
    with pytest.raises(ValueError, match="radius: must be a finite number above zero"):
        checks.require_positive("radius", value)
