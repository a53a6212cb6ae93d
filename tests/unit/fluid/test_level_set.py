"""A level set by itself: distances, transport, and what markers keep of it."""

import math

import numpy as np
import pytest

from mane.fluid.grid import Grid
from mane.fluid.level_set import BAND, LevelSet
from mane.fluid.markers import Markers


def ball(points):
    return np.linalg.norm(points - 0.5, axis=-1) - 0.3


def turning(grid, rate):
    """A rigid rotation about the middle of the box, around z [m/s]."""
    velocity = np.zeros((3, *grid.padded), np.float32)
    for axis, sign, other in ((0, -1.0, 1), (1, 1.0, 0)):
        faces = grid.faces(velocity[axis], axis)
        faces[...] = sign * rate * (grid.face_centers(axis)[..., other] - 0.5)
        inner = velocity[axis]
        for rows in (inner, inner.swapaxes(0, 1)):
            rows[0], rows[-1] = rows[1], rows[-2]
    return velocity


def slotted_disk(points):
    """Zalesak's disk in a unit square: radius 0.15, a slot of 0.05 by 0.25."""
    p = points[..., :2] - (0.5, 0.75)
    slot = np.stack([np.abs(p[..., 0]) - 0.025, np.abs(p[..., 1] + 0.075) - 0.175], axis=-1)
    inside = np.linalg.norm(np.maximum(slot, 0), axis=-1) + np.minimum(slot.max(axis=-1), 0)
    return np.maximum(np.linalg.norm(p, axis=-1) - 0.15, -inside)


@pytest.mark.parametrize("slope", [0.3, 1.0, 4.0])
def test_a_level_becomes_the_distance_to_its_own_zero(slope):
    grid = Grid((24, 24, 24), 1 / 24)
    level = LevelSet(grid)
    level.add(lambda points: slope * ball(points))
    level.redistance()
    found, exact = grid.cells(level.phi), ball(grid.cell_centers()) / grid.cell
    # slopes of 0.8 to 1.25 are left alone beside the surface; the rest is of first order, on a ball of seven cells
    near, band = np.abs(exact) < 1.0, np.abs(exact) < BAND - 1
    assert (np.abs(found - exact) < 0.25 * np.abs(exact) + 0.1)[near].all()
    assert np.abs(found - exact)[band].max() < 0.25 + 0.5
    assert ((found < 0) == (exact < 0))[np.abs(exact) > 0.05].all()


def test_volume_of_a_ball():
    grid = Grid((32, 32, 32), 1 / 32)
    level = LevelSet(grid)
    level.add(ball)
    # a surface that is smeared over one cell gives a ball 0.25 (cell / R)^2 = 2.7e-3 of its volume more
    assert np.isclose(level.volume(), 4 / 3 * math.pi * 0.3**3, rtol=4e-3)
    level.remove(lambda points: points[..., 0] - 0.5)
    assert np.isclose(level.volume(), 2 / 3 * math.pi * 0.3**3, rtol=4e-3)


def test_a_distance_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="water: the distance to its surface must be finite"):
        LevelSet(Grid((8, 8, 8), 0.1)).add(lambda points: np.nan * points[..., 0])


def test_markers_keep_the_corners_of_a_slotted_disk():
    """A quarter turn of Zalesak's disk at 50^2: area and shape, with markers and without."""
    grid = Grid((50, 50, 1), 1 / 50)
    velocity = turning(grid, 0.5 * math.pi)
    found = {}
    for per_cell in (0, 16):
        level = LevelSet(grid)
        level.add(slotted_disk)
        level.redistance()
        area = level.volume()
        markers = Markers(level, per_cell)
        markers.reseed()
        for step in range(80):
            level.carry(velocity, 1 / 80 / grid.cell)
            markers.move(velocity, 1 / 80 / grid.cell)
            markers.correct()
            level.redistance()
            markers.correct()
            markers.fit_radii()
            if step % 20 == 19:
                markers.reseed()
        turned = LevelSet(grid)
        turned.add(lambda points: slotted_disk(np.stack([points[..., 1], 1 - points[..., 0], points[..., 2]], axis=-1)))
        wrong = np.abs(np.clip(turned.phi, -0.5, 0.5) - np.clip(level.phi, -0.5, 0.5)).sum() * grid.cell**2
        found[per_cell] = abs(level.volume() / area - 1.0), wrong / area
    assert found[16][0] < 0.02
    assert found[16][1] < 0.5 * found[0][1]
