"""What a type checker makes of the public surface; mypy reads this file, nothing runs it."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import mane
from mane.skins import Skin


def whole_head(groom: mane.Groom, guides: mane.Guides) -> NDArray[Any]:
    """One frame of a head of hair, by public names alone."""
    force = mane.forces.Attraction(rate=1.0)
    simulation = mane.Simulation(
        guides, "cosserat", forces=[force], wind=mane.winds.UniformWind(np.array([1.0, 0.0, 0.0]))
    )
    skin = mane.skin("physical", groom, simulation)
    assert_type(skin, Skin)
    assert_type(mane.repair(groom)[0], mane.Groom)
    try:
        frame = simulation.step()
    except mane.SolverDiverged:
        raise
    assert_type(frame, mane.GuideFrame)
    return mane.render(groom.with_points(skin(frame).reshape(-1, 3)))
