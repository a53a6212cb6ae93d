"""Water between a solid that comes down and the floor: how fast it is squeezed out, and that it stays calm after it."""

import numpy as np
import pytest

from mane.body.motion import Pose
from mane.body.shapes import Box, Sphere
from mane.body.solid import Solid
from mane.fluid.grid import Grid, Side
from mane.fluid.water import Water
from mane.geometry import quaternion
from mane.measure.validate.fluid import Wall

CELL = 1 / 64
STEP = 1 / 48  # [s]
STILL = quaternion.exp(np.zeros(3))


def pool(shape, depth, **settings):
    """A box that is open above, to be filled by so many cells of water."""
    water = Water(Grid(shape, CELL, sides=[Side()] * 3 + [Side("open")] + [Side()] * 2), **settings)
    return water, lambda points: points[..., 1] - depth * CELL


@pytest.mark.parametrize("gap", [0.5, 1.5])
def test_a_plate_squeezes_out_what_is_between_it_and_the_floor(gap):
    """All that a plate displaces leaves at its edges: u(x) = V x / h, also where its face is in the lowest cells."""
    water, surface = pool((32, 16, 1), 12.3, regain=0)
    plate, speed, dt = Solid(Box((0.0, 0.0, 0.0), (6 * CELL, 3 * CELL, CELL))), 0.5, 1e-3

    def place(height):
        return Pose(np.array([16.0, 3.0 + height, 0.5]) * CELL, STILL)

    before, after = place(gap + speed * dt / CELL), place(gap)
    water.fill(surface, [Wall(plate, before, before)])
    water.step(dt, [Wall(plate, before, after)])
    across = water.grid.faces(water.flow.velocity[0], 0)[:, : int(gap) + 1, 0]
    open_part = water.grid.faces(water.flow.walls.open_part[0], 0)[:, : int(gap) + 1, 0]
    for faces in (2, 4):
        flux = (across * open_part)[16 + faces].sum()
        assert flux == pytest.approx(speed * faces, rel=1e-3)


@pytest.mark.parametrize(
    ("solid", "lowest", "rest"),
    [(Sphere((0.0, 0.0, 0.0), 4.3 * CELL), 4.3, -0.5), (Box((0.0, 0.0, 0.0), (0.07, 3 * CELL, 0.07)), 3, 0.3)],
    ids=["ball into the floor", "box just above it"],
)
def test_water_under_a_foot_stays_calm(solid, lowest, rest):
    """The pressure is found in every step, no air comes to be under the foot, and nothing is faster than squeezed."""
    foot, speed = Solid(solid), 0.5
    water, surface = pool((24, 16, 24), 6.3)

    def place(time):
        height = lowest + max(2.7 - speed * time / CELL, rest)
        return Pose(np.array([12.3, height, 11.8]) * CELL, STILL)

    water.fill(surface, [Wall(foot, place(0), place(0))])
    for step in range(24):
        report = water.step(STEP, [Wall(foot, place(step * STEP), place((step + 1) * STEP))])
        assert report.residual < 1e-4, step
        assert report.speed < 2.5, step
        assert abs(water.lost) < 0.02, step
    assert report.speed < 1.0
    assert (water.grid.cells(water.surface.level.phi)[:, 0] < 0).all()  # the lowest cells, below the foot among them


def test_drops_that_are_shut_in_stay_drops():
    """A cell without an open face has no pressure: what came back there would never be made room for."""
    water, surface = pool((12, 12, 12), 8.0)
    ball = [Wall(Solid(Sphere((6 * CELL, 4 * CELL, 6 * CELL), 3 * CELL)), Pose.identity(), Pose.identity())]
    water.fill(surface, ball)
    water.step(1e-3, ball)
    spray = water.surface.spray
    spray.add(np.array([[6.2, 4.2, 6.2], [1.5, 4.5, 1.5]]), np.zeros((2, 3)), 0.0625)
    water.surface._rejoin(water.flow.velocity)
    cells, rates = water.surface.returned(1.0)
    assert cells.tolist() == [[1, 4, 1]]
    assert rates.tolist() == [0.0625]
    assert len(spray) == 1


def test_the_floor_of_a_pool_is_under_water():
    """What is beyond the box has no say in how deep a place near its sides is."""
    water, surface = pool((12, 12, 12), 4.0)
    water.fill(surface)
    at = np.array([[0.1, 0.1, 0.1], [6.0, 0.0, 6.0], [11.9, 1.5, 11.9], [6.0, 3.0, 6.0]]) * CELL
    assert water.surface.at(at) == pytest.approx(CELL * np.array([-3.5, -3.5, -2.5, -1.0]), abs=1e-6)
