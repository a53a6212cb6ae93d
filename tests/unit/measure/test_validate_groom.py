"""`mane validate groom`: guides of another file are laid back onto their groom."""

from mane.measure.figures import Figures
from mane.measure.validate.groom import _validate_registration


def test_units_and_axes_are_found_exactly_and_a_translation_to_the_spacing_of_the_strands():
    figures = Figures("groom")
    _validate_registration(figures, "wavy", 300, 12)
    same, elsewhere = figures.rows
    assert same.meets_target
    assert 0.0 < elsewhere.value < 10.0  # [mm]; roots of 300 strands are some 12 mm apart
