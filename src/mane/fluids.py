"""The grid fluid by itself, without hair: a `Grid` of cells with its sides, a `Flow` that is stepped on it, `Water`."""

from mane.fluid.drop_mesh import water_mesh
from mane.fluid.flow import Flow
from mane.fluid.grid import Grid, Side
from mane.fluid.porous import permeability
from mane.fluid.sources import Drain, Jet
from mane.fluid.streaks import streamlines
from mane.fluid.surface_mesh import surface_mesh
from mane.fluid.water import Water
from mane.strand.ports import MovingSolid

__all__ = [
    "Drain",
    "Flow",
    "Grid",
    "Jet",
    "MovingSolid",
    "Side",
    "Water",
    "permeability",
    "streamlines",
    "surface_mesh",
    "water_mesh",
]
