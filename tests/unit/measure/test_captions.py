"""What captions say of hair: figures that a reader can take in, not rounding."""

import numpy as np
import pytest

from mane.measure.captions import describe


@pytest.mark.parametrize(
    ("lengths", "text"), [(0.0123, "1.2 %"), ([-0.02, 0.04], "3 %"), (9.1e-7, "less than 0.01 %"), (0.0, "less than")]
)
def test_lengths_that_are_off_by_rounding_are_not_spelled_out(lengths, text):
    said = describe(np.asarray(lengths), np.array([0.5, 1.0]))
    assert f"length off by {text}" in said
    assert said.endswith("kink 0.75 rad")
