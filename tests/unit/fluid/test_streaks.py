"""Streamlines of a flow whose streamlines are known."""

import numpy as np

from mane.fluid.flow import Flow
from mane.fluid.grid import Grid, Side
from mane.fluid.streaks import streamlines


def test_lines_of_a_wind_are_straight_and_end_at_the_box():
    flow = Flow(Grid((16, 8, 8), 0.1, sides=Side("open")))
    flow.fill((2.0, 0.0, 0.0))
    lines = streamlines(flow, 50, length=0.5)
    assert lines.shape == (50, 11, 3)
    assert np.abs(lines[:, :, 1:] - lines[:, :1, 1:]).max() == 0.0
    assert (np.diff(lines[:, :, 0], axis=1) >= 0.0).all()
    assert lines[..., 0].max() <= 1.6
    inside = lines[:, 0, 0] < 1.0
    assert np.allclose(lines[inside, -1, 0] - lines[inside, 0, 0], 0.5, atol=1e-5)


def test_lines_of_still_air_are_points():
    lines = streamlines(Flow(Grid((8, 8, 8), 0.1)), 5, length=0.2)
    assert np.abs(lines - lines[:, :1]).max() == 0.0
