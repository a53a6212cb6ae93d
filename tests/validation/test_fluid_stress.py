"""A thousand random flows, with solids that fly through them, drag of any strength, steps of any size: all finite."""

import numpy as np
import pytest

from mane.body.motion import Pose
from mane.body.shapes import Box, Capsule, Sphere
from mane.body.solid import Solid
from mane.fluid.flow import WALLS, Exchange, Flow
from mane.fluid.grid import SIDE_KINDS, Grid, Side
from mane.geometry import quaternion

STEPS = 4


class Flying:
    """A solid that moves and turns steadily."""

    def __init__(self, rng):
        size = rng.uniform(0.02, 0.4, 3)
        start = tuple(rng.uniform(-0.1, 0.1, 3))
        self.solid = Solid(
            [
                Sphere(start, size[0]),
                Box(start, tuple(size)),
                Capsule(start, tuple(rng.uniform(-0.3, 0.3, 3)), size[0]),
            ][rng.integers(3)]
        )
        self.place, self.turn = rng.uniform(0.0, 1.0, 3), rng.normal(0.0, 1.0, 3)
        self.speed, self.spin = rng.normal(0.0, 3.0, 3), rng.normal(0.0, 3.0, 3)
        self.times = (0.0, 0.0)

    def go(self, dt):
        self.before = self.pose
        self.place, self.turn = self.place + dt * self.speed, self.turn + dt * self.spin
        self.after = self.pose

    @property
    def pose(self):
        return Pose(self.place, quaternion.exp(self.turn))


def random_flow(seed):
    """Run a flow that a seed describes; return it and what it was."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 4, 3) * 8
    sides = [Side(str(rng.choice(list(SIDE_KINDS))), tuple(rng.normal(0.0, 3.0, 3))) for _ in range(6)]
    grid = Grid(shape.tolist(), 1.0 / shape.max(), sides=sides)
    is_exact = rng.random() < 0.3
    flow = Flow(
        grid,
        wall=str(rng.choice(WALLS)),
        viscosity=float(rng.choice([0.0, 1.82e-5, 1e-2, 10.0])),
        confinement=float(rng.choice([0.0, 1.0])),
        order=1 + int(is_exact),
    )
    flow.velocity[...] = rng.normal(0.0, rng.choice([0.0, 3.0]), flow.velocity.shape)
    solids = [Flying(rng) for _ in range(rng.integers(0, 3))]
    exchange = None
    if not is_exact and rng.random() < 0.7:
        drag = (10.0 ** rng.uniform(-9, 6)) * rng.random(flow.velocity.shape) * (rng.random(flow.velocity.shape) < 0.3)
        push = drag * rng.normal(0.0, 3.0, flow.velocity.shape)
        exchange = Exchange(drag.astype(np.float32), push.astype(np.float32))
    dt = float(rng.choice([1e-4, 1e-3, 5e-3, 2e-2]))
    for _ in range(STEPS):
        for solid in solids:
            solid.go(dt)
        flow.step(dt, solids, exchange=exchange)
    return flow


def check(seeds):
    for seed in seeds:
        flow = random_flow(seed)
        assert np.isfinite(flow.velocity).all(), seed
        assert np.abs(flow.velocity).max() < 300.0, seed


def test_a_few_random_flows_stay_finite():
    check(range(6))


@pytest.mark.stress
def test_a_thousand_random_flows_stay_finite():
    check(range(1000))
