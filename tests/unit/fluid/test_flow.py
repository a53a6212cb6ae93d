"""A flow against closed forms, walls that stand still and move, and runs that are continued."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from mane.body.motion import Pose
from mane.body.shapes import Box, Capsule, Plane, Sphere
from mane.body.solid import Solid
from mane.fluid.confinement import confine, vorticity
from mane.fluid.flow import Exchange, Flow, FlowDiverged
from mane.fluid.grid import Grid, Side
from mane.fluid.viscosity import diffuse
from mane.fluid.walls import Walls
from mane.geometry import quaternion


@dataclass
class Wall:
    solid: Solid
    before: Pose = field(default_factory=Pose.identity)
    after: Pose = field(default_factory=Pose.identity)
    times: tuple[float, float] = (0.0, 0.01)


def moved(x, y=0.0, z=0.0, turn=(0.0, 0.0, 0.0)):
    return Pose(np.array([x, y, z]), quaternion.exp(np.array(turn)))


def taylor_green(cells, **settings):
    """A vortex in a box of slip walls; returns the flow, and its exact x velocities over their decay."""
    grid = Grid((cells, cells, 1), np.pi / cells)
    flow = Flow(grid, density=1.0, **settings)
    x = grid.face_centers(0)
    exact = np.sin(x[..., 0]) * np.cos(x[..., 1])
    grid.faces(flow.velocity[0], 0)[...] = exact
    x = grid.face_centers(1)
    grid.faces(flow.velocity[1], 1)[...] = -np.cos(x[..., 0]) * np.sin(x[..., 1])
    return flow, exact


@pytest.mark.parametrize(("order", "least"), [(1, 0.8), (2, 1.6)])
def test_error_of_a_decaying_vortex_falls_with_the_order(order, least):
    errors, nu = [], 0.02
    for cells in (16, 32):
        flow, exact = taylor_green(cells, viscosity=nu, order=order)
        for _ in range(cells // 4):
            flow.step(0.5 * flow.grid.cell)
        found = flow.grid.faces(flow.velocity[0], 0)
        errors.append(np.sqrt(np.mean((found - np.exp(-2 * nu * flow.time) * exact) ** 2)))
    assert np.log2(errors[0] / errors[1]) > least
    assert errors[1] < 0.01


def test_viscosity_decays_shear_at_its_exact_rate():
    cells, rate, steps = 32, 0.1, 10  # nu dt = 0.1, nu dt / h^2 = 10: far beyond explicit steps
    sides = [Side()] * 2 + [Side("fixed")] * 2 + [Side("open")] * 2
    grid = Grid((8, cells, 1), np.pi / cells, sides=sides)
    walls, velocity = Walls(grid), np.zeros((3, *grid.padded), np.float32)
    y = grid.face_centers(2)[:, :, :, 1]
    grid.faces(velocity[2], 2)[...] = np.sin(y)
    for _ in range(steps):
        diffuse(grid, walls, velocity, rate / grid.cell**2, holds=True)
    left = grid.faces(velocity[2], 2) / np.sin(y)
    # the eigenvalue of the second difference; 2 - 2 cos(h) over h^2 instead of 1
    exact = (1 + rate * (2 - 2 * np.cos(grid.cell)) / grid.cell**2) ** -steps
    assert np.abs(left - exact).max() < 1e-4


@pytest.mark.parametrize("wall", ["slip", "no_slip", "sticky"])
def test_rest_stays_rest_beside_slanted_walls(wall):
    grid = Grid((16, 16, 16), 1 / 16)
    flow = Flow(grid, wall=wall)
    slanted = Wall(Solid(Plane((0.5, 0.3, 0.5), (0.3, 1.0, 0.2))))
    for _ in range(3):
        flow.step(0.01, [slanted])
    assert np.abs(flow.velocity).max() == 0.0


def test_fluid_moves_with_walls_that_move_together():
    """A closed box whose walls and whose solid all move alike: seen from there, nothing moves."""
    speed = 0.4
    grid = Grid((16, 16, 16), 1 / 16, sides=Side("fixed", (speed, 0.0, 0.0)))
    flow = Flow(grid)
    flow.fill((speed, 0.0, 0.0))
    slanted = Solid(Box((0.0, 0.0, 0.0), (0.2, 0.1, 0.15)))
    turn = (0.3, 0.4, 0.1)
    for step in range(3):
        at = 0.5 + 0.01 * speed * step
        pose = moved(at, 0.5, 0.5, turn), moved(at + 0.01 * speed, 0.5, 0.5, turn)
        flow.step(0.01, [Wall(slanted, *pose)])
    for axis, expected in enumerate((speed, 0.0, 0.0)):
        open_part = grid.faces(flow.walls.open_part[axis], axis)
        found = grid.faces(flow.velocity[axis], axis)[open_part > 0]
        assert np.abs(found - expected).max() < 2e-5


def test_nothing_flows_through_a_ball_that_moves():
    grid = Grid((24, 24, 24), 1 / 24, sides=Side("open"))
    flow = Flow(grid)
    for step in range(6):
        before, after = moved(0.35 + 0.01 * step, 0.5, 0.5), moved(0.36 + 0.01 * step, 0.5, 0.5)
        flow.step(0.01, [Wall(Solid(Sphere((0.0, 0.0, 0.0), 0.15)), before, after)])
    assert np.abs(flow.divergence()).max() < 1e-3  # [1/s] with walls at 1 m/s over cells of 4 cm
    # potential flow: before the ball the fluid moves as fast as the ball, at twice the radius an eighth of that
    ahead = flow.at(np.array([[0.41 + 0.3, 0.5, 0.5]]))[0, 0]
    assert 0.08 < ahead < 0.17


@pytest.mark.parametrize("turn", [0.0, 0.4])
@pytest.mark.parametrize("at", [0.5, 0.52, 0.54])
def test_a_plate_thinner_than_a_cell_is_tight(at, turn):
    """A plate of a tenth of a cell across a channel, between the corners of cells or not: nothing passes."""
    grid = Grid((16, 8, 8), 1 / 16, sides=[Side("open", (1.0, 0.0, 0.0))] * 2 + [Side()] * 4)
    plate = Solid(Box((0.0, 0.0, 0.0), (0.003, 1.0, 1.0)))
    flow = Flow(grid)
    flow.fill((1.0, 0.0, 0.0))
    pose = moved(at, 0.25, 0.25, (0.0, 0.0, turn))
    flow.step(0.01, [Wall(plate, pose, pose)])
    passing = grid.faces(flow.velocity[0] * flow.walls.open_part[0], 0).mean(axis=(1, 2))
    assert np.abs(passing).max() < 1e-4


def test_a_wire_thinner_than_a_cell_is_passed_around():
    grid = Grid((16, 8, 8), 1 / 16, sides=[Side("open", (1.0, 0.0, 0.0))] * 2 + [Side()] * 4)
    flow = Flow(grid)
    flow.fill((1.0, 0.0, 0.0))
    flow.step(0.01, [Wall(Solid(Capsule((0.53, -1.0, 0.28), (0.53, 1.0, 0.28), 0.002)))])
    assert np.abs(grid.faces(flow.velocity[0], 0) - 1.0).max() < 1e-4


def test_a_fast_wind_is_divided_into_substeps():
    flow = Flow(Grid((8, 8, 8), 0.1, sides=Side("open", (20.0, 0.0, 0.0))))
    flow.fill((20.0, 0.0, 0.0))
    assert flow.step(0.05).substeps == 4  # 10 cells at most 3 at a time
    assert np.abs(flow.grid.faces(flow.velocity[0], 0) - 20.0).max() < 1e-3


def test_only_what_moves_is_moved():
    grid = Grid((64, 64, 8), 0.1, sides=Side("open"))
    flow = Flow(grid)
    flow.velocity[0, 5:7, 5:7, 2:4] = 1.0
    assert flow.step(0.01).busy < 0.1
    assert Flow(grid).step(0.01).busy == 0.0


def test_a_porous_medium_that_holds_still_takes_all_momentum_away_at_any_drag():
    grid = Grid((8, 8, 8), 0.1, sides=Side("open", (1.0, 0.0, 0.0)))
    for drag in (1e-3, 1.0, 1e6):
        flow = Flow(grid)
        flow.fill((1.0, 0.0, 0.0))
        flow.step(0.01, exchange=Exchange(np.full_like(flow.velocity, drag), np.zeros_like(flow.velocity)))
        expected = 1.0 / (1.0 + drag * 0.01 / flow.face_mass)
        assert np.allclose(flow.velocity[0, 2:-2, 2:-2, 2:6], expected, rtol=1e-4, atol=1e-6)


def test_confinement_turns_what_turns_already_and_nothing_else():
    flow, _ = taylor_green(16)
    before = np.abs(vorticity(flow.grid, flow.velocity)[2]).mean()
    confine(flow.grid, flow.velocity, 0.05)
    assert np.abs(vorticity(flow.grid, flow.velocity)[2]).mean() > 1.001 * before
    still = np.zeros_like(flow.velocity)
    confine(flow.grid, still, 1.0)
    assert not still.any()


def test_a_run_away_flow_is_named():
    flow = Flow(Grid((8, 8, 8), 0.1))
    flow.velocity[1, 3, 4, 5] = np.nan
    with pytest.raises(FlowDiverged, match=r"air: inf m/s near \(0.2, 0.3, 0.5\) m after 0 s, more than 300 m/s"):
        flow.step(0.01)


def test_what_does_not_fit_into_memory_is_refused():
    with pytest.raises(ValueError, match=r"shape: 20000 x 20000 x 20000 cells of 1e-05 m take some .* GB of memory"):
        Grid((20000, 20000, 20000), 1e-5)


def test_memory_of_a_cell_is_what_is_said():
    import tracemalloc

    tracemalloc.start()
    grid = Grid((62, 62, 63), 0.1)
    flow = Flow(grid)
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert 0.6 * grid.bytes < taken < grid.bytes, flow


def stirred():
    grid = Grid((16, 16, 16), 1 / 16, sides=Side("open", (1.0, 0.2, 0.0)))
    flow = Flow(grid, order=1)
    flow.fill((1.0, 0.2, 0.0))
    return flow, [Wall(Solid(Sphere((0.5, 0.5, 0.5), 0.2)))]


def test_a_run_that_is_continued_is_the_same_byte_for_byte():
    flow, walls = stirred()
    for _ in range(2):
        flow.step(0.01, walls)
    kept = flow.memory()
    flow.step(0.01, walls)
    other, _ = stirred()
    other.restore(kept)
    other.step(0.01, walls)
    assert flow.velocity.tobytes() == other.velocity.tobytes()


def test_the_same_bytes_on_any_number_of_threads(on_threads):
    def run():
        flow, walls = stirred()
        for _ in range(2):
            flow.step(0.02, walls)
        return {"velocity": flow.velocity.copy()}

    on_threads(run)


def test_a_porous_medium_in_steps_of_second_order_is_refused():
    flow = Flow(Grid((8, 8, 8), 0.1), order=2)
    nothing = np.zeros_like(flow.velocity)
    with pytest.raises(ValueError, match="order: must be 1 with a porous medium"):
        flow.step(0.01, exchange=Exchange(nothing, nothing))


def test_a_ball_that_swells_drives_the_fluid_apart():
    """A body that deforms within its own frame: potential flow of a source, dR/dt (R / r)^2."""
    rest = Sphere((0.0, 0.0, 0.0), 0.2).mesh(24)
    times, speed = np.array([0.0, 0.1, 0.2]), 0.3
    frames = np.stack([rest.points * (1.0 + speed * time / 0.2) for time in times])
    swelling = Solid.animated(rest, times, frames)
    grid = Grid((24, 24, 24), 1 / 24, (-0.5, -0.5, -0.5), Side("open"))
    flow = Flow(grid)
    for step in range(3):
        flow.step(0.01, [Wall(swelling, times=(0.05 + 0.01 * step, 0.06 + 0.01 * step))])
    assert np.abs(flow.divergence()).max() < 1e-3
    radius = 0.2 + 0.08 * speed
    leaving = sum(
        float((np.take(faces, -1, axis) - np.take(faces, 0, axis)).sum()) * grid.cell**2
        for axis in range(3)
        for faces in [grid.faces(flow.velocity[axis], axis)]
    )
    assert np.isclose(leaving, 4 * np.pi * radius**2 * speed, rtol=0.05)  # triangles of 15 degrees lack 2 % of the ball
    at = np.array([[0.35, 0.0, 0.0], [-0.35, 0.0, 0.0]])
    assert np.allclose(np.abs(flow.at(at)[:, 0]), speed * (radius / 0.35) ** 2, rtol=0.1)
