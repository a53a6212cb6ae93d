"""Water for long: random pours, and a body that leaves it at 10 m/s."""

import numpy as np
import pytest

from mane.body.motion import Pose
from mane.body.shapes import Box, Sphere
from mane.body.solid import Solid
from mane.fluid.grid import Grid, Side
from mane.fluid.sources import Jet
from mane.fluid.water import Water
from mane.geometry import quaternion
from mane.measure.validate.fluid import Wall

pytestmark = pytest.mark.stress


def pour(seed):
    """A jet of any direction into a pool of any depth, past a solid that turns."""
    rng = np.random.default_rng(seed)
    shape = 4 * rng.integers(3, 7, 3)
    cell = float(10 ** rng.uniform(-2.5, -1))
    size = cell * shape
    mouth = size * rng.uniform(0.3, 0.8, 3)
    jet = Jet(tuple(mouth), tuple(rng.normal(0, 1.5, 3) * np.sqrt(9.81 * size[1])), cell * rng.uniform(2.2, 3.5))
    kinds = ["slip" if side < 3 or rng.random() < 0.7 else "open" for side in range(6)]
    water = Water(
        Grid(shape.tolist(), cell, sides=[Side(kind) for kind in kinds]),
        jets=[jet], tension=float(rng.choice([0.0, 0.072])), wall=str(rng.choice(["slip", "no_slip"])), seed=int(seed),
    )  # fmt: skip
    solid = Solid(Sphere((0.0, 0.0, 0.0), float(size.min()) * 0.15) if rng.random() < 0.5 else
                  Box((0.0, 0.0, 0.0), tuple(size.min() * rng.uniform(0.08, 0.2, 3))))  # fmt: skip
    dt = 0.3 * float(np.sqrt(cell / 9.81))
    place, turn = size * rng.uniform(0.3, 0.7, 3), rng.normal(0, 2, 3)
    pose, height = Pose(place, quaternion.exp(np.zeros(3))), size[1] * rng.uniform(0.2, 0.5)
    water.fill(lambda points: points[..., 1] - height, [Wall(solid, pose, pose)])
    for step in range(20):
        before, after = (Pose(place, quaternion.exp(turn * dt * (step + end))) for end in (0, 1))
        water.step(dt, [Wall(solid, before, after)])
    return water


@pytest.mark.parametrize("block", range(10))
def test_five_hundred_random_pours_stay_finite_and_accounted_for(block):
    for seed in range(50 * block, 50 * block + 50):
        water = pour(seed)
        assert np.isfinite(water.flow.velocity).all(), seed
        account = water.surface.account
        assert np.isclose(account["owned"], account["added"] - account["removed"] - account["left"]), seed
        assert abs(water.lost) < 0.02, (seed, water.lost)


def test_a_body_that_leaves_the_water_at_ten_metres_per_second():
    water = Water(Grid((32, 48, 32), 1 / 32))
    ball = Solid(Sphere((0.0, 0.0, 0.0), 0.15))
    still = quaternion.exp(np.zeros(3))
    start = [Wall(ball, *(Pose(np.array([0.5, 0.3, 0.5]), still),) * 2)]
    water.fill(lambda points: points[..., 1] - 0.6, start)
    dt = 0.002
    for step in range(50):
        before, after = (Pose(np.array([0.5, 0.3 + 10.0 * dt * (step + end), 0.5]), still) for end in (0, 1))
        report = water.step(dt, [Wall(ball, before, after)])
        assert report.speed < 60.0
        assert abs(water.lost) < 0.02, step
