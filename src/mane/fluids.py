"""The grid fluid by itself, without hair: a `Grid` of cells with its sides, and the `Flow` on it that is stepped."""

from mane.fluid.flow import Flow
from mane.fluid.grid import Grid, Side
from mane.fluid.porous import permeability
from mane.fluid.streaks import streamlines

__all__ = ["Flow", "Grid", "Side", "permeability", "streamlines"]
