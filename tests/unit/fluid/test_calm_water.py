"""Water around a body: it sloshes without ripples as short as a cell, and is where it flowed."""

import numpy as np

from mane.body.shapes import Capsule, Sphere
from mane.body.solid import Solid
from mane.fluid.grid import Grid, Side
from mane.fluid.walls import Walls
from mane.fluid.water import Water
from mane.measure.validate.fluid import Wall

CELL = 1 / 32
BACK = Capsule((0.37, 0.33, 0.25), (0.37, 0.36, 1.1), 0.09)
LEGS = [Capsule((x, -0.1, z), (x, 0.5, z), 0.045) for x in (0.28, 0.46) for z in (0.4, 0.9)]


def test_what_sloshes_around_legs_does_not_boil():
    """Without an end of short waves 4.6 % of the water is made up for elsewhere, and more in every second."""
    water = Water(Grid((24, 24, 48), CELL, sides=[Side()] * 3 + [Side("open")] + [Side()] * 2), tension=0.072)
    solids = [Wall(Solid(shape)) for shape in (BACK, *LEGS)]
    water.fill(lambda points: points[..., 1] - 0.35 - 0.16 * (points[..., 2] - 0.75), solids)
    for _ in range(144):
        water.step(1 / 48, solids)
    assert abs(water.surface.account["regained"]) < 0.025 * water.surface.account["owned"]
    assert mean_bend(water) < 0.2


def mean_bend(water):
    """Laplacian of the level at the surface away from solids [1/cell], bounded by 1: a tenth in smooth waves."""
    phi = water.grid.cells(water.surface.level.phi).astype(np.float64)
    inner = (slice(1, -1),) * 3
    bend = sum(np.roll(phi, step, axis) - phi for axis in range(3) for step in (-1, 1))[inner]
    at_surface = (np.abs(phi) < 0.7) & (water.flow.walls.in_cells()[0] > 2.0)
    return float(np.abs(np.clip(bend[at_surface[inner]], -1, 1)).mean())


def test_a_body_that_deforms_takes_no_room_of_cells_that_it_does_not_reach():
    """Its field ends 4 mm from the skin, within half of a cell of 5 cm."""
    ball, cell = Sphere((0.0, 0.0, 0.0), 0.12).mesh(), 0.05
    body = Solid.animated(ball, [0.0, 1.0], np.stack([ball.points, ball.points]))
    grid = Grid((16, 16, 16), cell, (-0.4, -0.4, -0.4))
    walls = Walls(grid)
    walls.update([Wall(body, times=(0.0, 0.02))], 0.02)
    room = walls.room_in_cells()
    middles = -0.4 + cell * (np.stack(np.indices(grid.shape), axis=-1) + 0.5)
    distance, half_diagonal = np.linalg.norm(middles, axis=-1) - 0.12, 0.5 * 3**0.5 * cell
    assert (room[distance > half_diagonal] == 1.0).all()
    assert (room[distance < -half_diagonal] == 0.0).all()
