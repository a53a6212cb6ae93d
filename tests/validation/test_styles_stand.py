"""Groomed shapes are what an artist wants to see at rest: on a still head every style stands as groomed."""

import numpy as np
import pytest

import mane
from mane.groom import styles
from mane.strand.solver import SOLVERS

FRAMES = 100


@pytest.mark.parametrize("model", SOLVERS)
@pytest.mark.parametrize("style", styles.STYLES)
def test_a_style_stands_as_groomed(style, model):
    groom = styles.make(style, strands=300, seed=3)
    guides = mane.select_guides(groom, 12, seed=3)
    sim = mane.Simulation(guides, model, body=styles.body(style), frame_rate=50)
    for _ in range(FRAMES):
        frame = sim.step()
    # A hair's breadth; most of it is hair that was groomed into the skin and is put on it.
    assert np.abs(frame.points - guides.rest).max() < 1e-4
