"""Advection sixteen faces at a time against advection face by face, which is written down as one reads it."""

import numpy as np
import pytest

from mane.fluid import _kernels_advect as kernels
from mane.fluid.flow import NUMBERS, Flow
from mane.fluid.grid import Grid, Side
from mane.measure.bench import _kernels_advect_plain as plain

WIND = (0.7, -0.2, 0.3)


def stirred(shape, turn, sides=Side("open", WIND)):  # noqa: B008 - frozen
    """A flow whose velocity is linear in space, in the ghosts too: paths by cells are those by faces then."""
    grid = Grid(shape, 0.1, sides=sides)
    flow = Flow(grid)
    index = np.stack(np.meshgrid(*(np.arange(n) for n in grid.padded), indexing="ij"), axis=-1).astype(np.float64)
    for axis in range(3):
        place = index + 0.5
        place[..., axis] -= 0.5
        place -= (1, 1, 0)
        flow.velocity[axis] = WIND[axis] + (place - np.array(shape) / 2) @ turn[:, axis]
    return flow


def carried_both_ways(flow, field, axis, scale):
    """One component after a step of MacCormack: by sixteen, and face by face."""
    grid, shape = flow.grid, np.array(flow.grid.shape)
    velocity, size = flow.velocity.reshape(3, -1), field.size
    bends, ranges = np.zeros((6, size), np.float32), np.zeros((2, size), np.float32)
    busy, step = np.ones_like(flow._busy), np.float32(scale)
    first, second = np.zeros(size, np.float32), np.zeros(size, np.float32)
    args = velocity, bends, field.reshape(-1), axis, grid.shape, flow._rows
    kernels.find_bends(velocity, grid.shape, flow._rows, step, busy, NUMBERS, bends)
    kernels.trace_back(*args, grid.kinds, grid.side_velocity, step, busy, NUMBERS, ranges, first)
    kernels.correct(*args, step, busy, NUMBERS, ranges, first, second)
    way, once, twice = np.zeros_like(flow.velocity), np.zeros_like(field), np.zeros_like(field)
    plain.trace_back(flow.velocity, field, axis, shape, grid.kinds, grid.side_velocity, step, way, once)
    plain.correct(flow.velocity, field, axis, shape, step, way, once, twice)
    return [grid.faces(a.reshape(grid.padded), axis) for a in (first, second, once, twice)]


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("cells", [0.4, 2.5])
def test_any_field_is_carried_as_face_by_face(axis, cells):
    """Within the box it is the same to rounding; `cells` is how far the fastest fluid goes."""
    rng = np.random.default_rng(axis)
    flow = stirred((12, 11, 37), rng.normal(0.0, 0.03, (3, 3)))
    field = rng.normal(size=flow.grid.padded).astype(np.float32)
    scale = cells / float(np.abs(flow.velocity).max())
    first, second, once, twice = carried_both_ways(flow, field, axis, scale)
    inner = (slice(3, -3),) * 3
    assert np.abs(first - once)[inner].max() < 2e-5
    assert np.abs(second - twice)[inner].max() < 5e-5
    assert np.abs(once - twice)[inner].max() > 0.1  # the second half does something


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_in_an_even_wind_sides_are_the_same_too(axis):
    """Everything that comes in, all corners of the box, and a row that ends within a chunk."""
    rng = np.random.default_rng(axis)
    sides = [Side("open", WIND), Side(), Side("fixed", (0.1, 0.2, 0.3)), Side("open", WIND), Side(), Side("open")]
    flow = stirred((9, 8, 18), np.zeros((3, 3)), sides)
    field = rng.normal(size=flow.grid.padded).astype(np.float32)
    first, second, once, twice = carried_both_ways(flow, field, axis, 1.9)
    assert np.abs(first - once).max() < 2e-5
    assert np.abs(second - twice).max() < 5e-5


def test_places_that_run_away_end_somewhere():
    """Numbers without bounds bound no loop: what is not finite, or a box away, ends at the edge of what is reached."""
    flow = stirred((8, 8, 8), np.zeros((3, 3)))
    flow.velocity[0, 4, 4, 3], flow.velocity[1, 5, 4, 3], flow.velocity[2, 4, 5, 3] = np.nan, np.inf, -1e30
    field = np.ones(flow.grid.padded, np.float32)
    first = carried_both_ways(stirred((8, 8, 8), np.zeros((3, 3))), field, 0, 1.0)[0]
    assert np.isfinite(first).all()
    bends = np.zeros((6, field.size), np.float32)
    kernels.find_bends(
        flow.velocity.reshape(3, -1), flow.grid.shape, flow._rows, np.float32(1.0), flow._busy, NUMBERS, bends
    )
    ranges, out = np.zeros((2, field.size), np.float32), np.zeros(field.size, np.float32)
    kernels.trace_back(
        flow.velocity.reshape(3, -1), bends, field.reshape(-1), 0, flow.grid.shape, flow._rows, flow.grid.kinds,
        flow.grid.side_velocity, np.float32(1.0), flow._busy, NUMBERS, ranges, out,
    )  # fmt: skip
    assert np.isfinite(flow.grid.faces(out.reshape(flow.grid.padded), 0)).all()
