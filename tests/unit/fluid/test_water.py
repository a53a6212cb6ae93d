"""Water with a free surface: at rest, running out, poured; volume, and runs that are continued."""

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from mane.body.motion import Pose
from mane.body.shapes import Plane, Sphere
from mane.body.solid import Solid
from mane.fluid.flow import FlowDiverged
from mane.fluid.grid import Grid, Side
from mane.fluid.sources import Drain, Jet
from mane.fluid.water import Water


@dataclass
class Wall:
    solid: Solid
    before: Pose = field(default_factory=Pose.identity)
    after: Pose = field(default_factory=Pose.identity)
    times: tuple[float, float] = (0.0, 0.01)


def fastest(water):
    """Of the faces of the water [m/s]."""
    is_felt = water.surface.is_wet & (water.flow.walls.open_part > 0)
    return float(np.abs(water.flow.velocity[is_felt]).max())


@pytest.mark.parametrize("solids", [[], [Wall(Solid(Plane((0.5, 0.3, 0.5), (0.3, 1.0, 0.2))))]])
def test_water_at_rest_stays_at_rest_beside_slanted_walls_too(solids):
    water = Water(Grid((16, 16, 16), 1 / 16))
    water.fill(lambda points: points[..., 1] - 0.6137, solids)
    for _ in range(4):
        water.step(0.01, solids)
    assert fastest(water) < 1e-5
    assert abs(water.lost) < 1e-5
    # rho g h, at the depth of the lowest cells
    depth = 0.6137 - 0.5 / 16
    if not solids:
        assert np.allclose(water.flow.pressure[:, 0], 998.0 * 9.81 * depth, rtol=1e-4)


def column(cells=24):
    """A column of water of twice its width, about to fall over."""
    grid = Grid((cells * 2, cells, 1), 4.0 / cells)
    water = Water(grid, viscosity=0.0)
    water.fill(lambda points: np.maximum(points[..., 0] - 1.0, points[..., 1] - 2.0))
    return water


def test_a_dam_that_breaks_runs_as_fast_as_measured():
    """Martin and Moyce (1952), n^2 = 2: Z = z / a over T = t sqrt(2 g / a)."""
    water, fronts = column(), []
    for _ in range(24):
        water.step(0.14 / math.sqrt(2 * 9.81))
        row = water.grid.cells(water.surface.level.phi)[:, 0, 0]
        last = int(np.flatnonzero(row < 0).max())
        part = row[last] / (row[last] - row[last + 1])
        fronts.append((water.time * math.sqrt(2 * 9.81), (last + 0.5 + part) * water.grid.cell))
    times, places = np.array(fronts).T
    found = np.interp([1.98, 2.65, 3.33], times, places)
    assert np.abs(found / [2.33, 3.22, 4.11] - 1).max() < 0.1
    assert abs(water.lost) < 0.01


def poured():
    grid = Grid((16, 24, 16), 1 / 16, sides=[Side()] * 2 + [Side(), Side("open")] + [Side()] * 2)
    jet = Jet((0.5, 1.2, 0.5), (0.0, -1.5, 0.0), 0.12)
    water = Water(grid, jets=[jet], drains=[Drain((0.1, 0.1, 0.1), 0.08)], tension=0.072)
    water.fill(lambda points: points[..., 1] - 0.3)
    return water, [Wall(Solid(Sphere((0.5, 0.5, 0.5), 0.2)))]


def test_what_is_poured_in_and_drained_is_accounted_for():
    water, solids = poured()
    first = water.surface.account["owned"]
    for _ in range(6):
        report = water.step(0.02, solids)
    account = water.surface.account
    assert report.residual < 1e-5
    assert account["added"] - first > 0.5 * 0.12 * 1.5 * math.pi * 0.12**2  # most of what a pipe would bring
    assert account["removed"] > 0.0
    assert np.isclose(account["owned"], account["added"] - account["removed"] - account["left"], rtol=1e-12)
    assert abs(water.lost) < 0.02


def test_a_jet_is_not_eaten_by_markers_of_the_air_that_it_displaces():
    water = Water(Grid((16, 16, 16), 0.05), jets=[Jet((0.4, 0.6, 0.4), (0.0, -1.0, 0.0), 0.15)])
    for _ in range(12):
        water.step(0.02)
    assert abs(water.lost) < 0.02  # 0.26 where markers of air stay in what is poured


def test_a_run_that_is_continued_is_the_same_byte_for_byte():
    water, solids = poured()
    for _ in range(2):
        water.step(0.02, solids)
    kept = water.memory()
    other, _ = poured()
    other.restore(kept)
    for one in (water, other):
        for _ in range(2):
            one.step(0.02, solids)
    for name, array in water.memory().items():
        assert array.tobytes() == other.memory()[name].tobytes(), name


def test_the_same_bytes_on_any_number_of_threads(on_threads):
    def run():
        water, solids = poured()
        for _ in range(2):
            water.step(0.02, solids)
        return water.memory()

    on_threads(run)


def test_memory_is_what_is_said():
    import tracemalloc

    tracemalloc.start()
    water = Water(Grid((46, 46, 47), 0.1))
    water.fill(lambda points: points[..., 1] - 2.0)
    water.step(0.01)
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert 0.7 * water.bytes < taken < 1.1 * water.bytes


def test_water_that_runs_away_is_named():
    water = column()
    water.flow.velocity[0, 5, 5, 0] = np.nan
    with pytest.raises(FlowDiverged, match=r"water: inf m/s near \(.*\) m after 0 s"):
        water.step(0.01)


def test_a_drop_without_weight_keeps_its_pressure():
    """Laplace: 2 sigma / R in a ball, and hardly any currents."""
    grid, radius = Grid((20, 20, 20), 1e-3, (-0.01, -0.01, -0.01)), 6e-3
    water = Water(grid, gravity=(0.0, 0.0, 0.0), tension=0.072)
    water.fill(lambda points: np.linalg.norm(points, axis=-1) - radius)
    for _ in range(3):
        water.step(1e-3)
    inside = np.linalg.norm(grid.cell_centers(), axis=-1) < 0.5 * radius
    assert np.isclose(water.flow.pressure[inside].mean(), 2 * 0.072 / radius, rtol=0.05)
    assert fastest(water) < 0.01
