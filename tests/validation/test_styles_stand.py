"""Groomed shapes are what an artist wants to see at rest: on a still head every style stands as groomed."""

import numpy as np
import pytest

import mane
from mane.groom import styles
from mane.strand.solver import converged_models

FRAMES = 100
# In the short run the default model stands for all on most styles; `make stress` tries every pair.
MODELS = converged_models()
PAIRS = [(style, model) for style in styles.STYLES for model in MODELS]
SHORT = {("curly", model) for model in MODELS} | {(style, "cosserat") for style in ("bob", "mohawk", "ponytail")}


@pytest.mark.parametrize(
    ("style", "model"),
    [pytest.param(*pair, marks=() if pair in SHORT else pytest.mark.stress) for pair in PAIRS],
)
def test_a_style_stands_as_groomed(style, model):
    groom = styles.make(style, strands=300, seed=3)
    guides = mane.select_guides(groom, 12, seed=3)
    sim = mane.Simulation(guides, model, body=styles.body(style), frame_rate=50)
    for _ in range(FRAMES):
        frame = sim.step()
    # A hair's breadth; most of it is hair that was groomed into the skin and is put on it.
    assert np.abs(frame.points - guides.rest).max() < 1e-4
