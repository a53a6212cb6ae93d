"""Sliders calibrated by hair at rest between levels: exact there, the same at the levels, and what is refused."""

import numpy as np
import pytest

from learned_hair import KnownHair, strands
from mane.reduced.calibrate import calibrated, slider_error
from mane.reduced.factors import Factor
from mane.reduced.lifting import laid
from mane.reduced.model import HairModel
from mane.reduced.training import MultilinearTraining, fit_model

LENGTHS, SOFTNESS = (0.2, 0.25), (1.0, 16.0)


def hanging(length, softness):
    """Hair that hangs the more the softer it is, and not along with the logarithm of it: three quarters late."""
    points = strands(length=length)
    along = np.linspace(0, 1, points.shape[1])[:, None] ** 2
    turned = points - 0.2 * length * (np.log2(softness) / 4) ** 3 * along * np.array([0.0, 1.0, 0.0])
    return turned.astype(np.float32)


def data(softness, lengths=LENGTHS, **settings):
    rest = np.stack([hanging(length, one) for length in lengths for one in softness])
    made = KnownHair((), rest=rest, amplitude=0.004, **settings)
    made.factors = (Factor.of_levels("length", lengths), Factor.of_levels("softness", softness, "log"))
    made.operator = lambda corner: KnownHair.operator(made, 0)
    return made


@pytest.fixture(scope="module")
def model():
    return fit_model(data(SOFTNESS, motions=5), MultilinearTraining(dimensions=3, ridge=1e-8, control_ridge=1e-8)).model


def test_between_levels_hair_hangs_as_it_was_simulated(model):
    between = data((2.0, 8.0), motions=1)
    made = calibrated(model, between)
    assert [len(own) for own in made.shape_places] == [2, 4]
    for corner, (length, softness) in enumerate([(0.0, 0.25), (0.0, 0.75), (1.0, 0.25), (1.0, 0.75)]):
        sliders = {"length": length, "softness": softness}
        hair = laid(model.groomed[0][:, 0], *made.rest_at(sliders))
        np.testing.assert_allclose(hair, between.rest[corner], atol=1e-6)
        plain, found = (slider_error(one, sliders, between, corner) for one in (model, made))
        assert found < 0.3 * plain
    for value in (0.0, 1.0):
        for one, other in zip(
            made.rest_at({"length": 0.3, "softness": value}),
            model.rest_at({"length": 0.3, "softness": value}),
            strict=True,
        ):
            np.testing.assert_allclose(one, other, atol=1e-6)
    again = HairModel.from_file(made.to_file(), "x")
    assert again.shape_places == made.shape_places
    np.testing.assert_array_equal(again.shapes, made.shapes)


def test_a_calibrated_slider_goes_no_farther_than_the_model_was_checked():
    """Levels of 6 and 46 cm on a logarithmic slider: straight on from a level between, hair would reach farther."""
    lengths = (0.06, 0.46)
    rest = np.stack([strands(length=one) for one in lengths])
    known = KnownHair((), rest=rest, amplitude=0.004, motions=5)
    known.factors = (Factor.of_levels("length", lengths, "log"),)
    known.operator = lambda corner: KnownHair.operator(known, 0)
    model = fit_model(known, MultilinearTraining(dimensions=3, ridge=1e-8, control_ridge=1e-8)).model
    between = KnownHair((), rest=np.stack([strands(length=one) for one in (0.12, 0.2)]), amplitude=0.004, motions=1)
    between.factors = (Factor.of_levels("length", (0.12, 0.2), "log"),)
    made = calibrated(model, between)
    (before,), (after,) = model.factors, made.factors
    assert after.least >= before.least > -0.35
    assert after.most <= before.most
    assert after.least >= made.grid.min()
    assert HairModel.from_file(made.to_file(), "x").factors == made.factors


def test_data_that_does_not_fit_is_refused(model):
    with pytest.raises(ValueError, match="factors: must be those of the model, length, softness, to calibrate it, got"):
        calibrated(model, KnownHair())
    with pytest.raises(ValueError, match="must have a level between those of the model, got none of length, softness"):
        calibrated(model, data(SOFTNESS, motions=1))
    plain = fit_model(KnownHair(), MultilinearTraining(dimensions=3)).model
    with pytest.raises(ValueError, match=r"^factors: must have a level between those of the model, got none$"):
        calibrated(plain, KnownHair())
    with pytest.raises(ValueError, match="must have levels between those of the model to calibrate it, got one beyond"):
        calibrated(model, data((2.0, 32.0), motions=1))
    with pytest.raises(
        ValueError, match=r"factors: nothing was simulated at length 0, softness 0\.25; give all levels"
    ):
        calibrated(model, data((2.0, 4.0), lengths=(0.21, 0.24), motions=1))
    other = data((2.0, 4.0), motions=1)
    other.groomed = other.groomed[:, :5]
    with pytest.raises(ValueError, match=r"guides: must be .*, 20 of 6 vertices, got 5 of 6$"):
        calibrated(model, other)
    with pytest.raises(ValueError, match="softness: must have numbers as levels to be calibrated, got 'a'"):
        Factor.of_levels("softness", ("a", "b")).place(0.5)


def test_other_strands_and_other_roots_of_the_same_shape_are_refused(model):
    """So many guides of so many vertices there are in many grooms."""
    other = data((2.0, 4.0), motions=1)
    other.strands = other.strands[::-1]
    with pytest.raises(
        ValueError, match=r"must be those of the model .*the same strands, got strand 19 for 0 as guide 0"
    ):
        calibrated(model, other)
    other = data((2.0, 4.0), motions=1)
    other.groomed = other.groomed.copy()
    other.groomed[1, 7, :, 0] += 2e-3
    with pytest.raises(ValueError, match=r"on the same roots, got that of guide 7 2 mm off$"):
        calibrated(model, other)
