"""A thousand random flows and a thousand random scenes of hair in the air: whatever comes together, all is finite."""

import numpy as np
import pytest

from mane.body.motion import Pose
from mane.body.shapes import Box, Capsule, Sphere
from mane.body.solid import Solid
from mane.contact.air.airflow import FIBRES, Airflow
from mane.contact.air.fields import FIELDS, Fan, Vortex
from mane.fluid.flow import WALLS, Exchange, Flow
from mane.fluid.grid import SIDE_KINDS, Grid, Side
from mane.geometry import quaternion
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.scene.simulation import Simulation

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


def random_hair(rng):
    """A few strands that leave a ball of 8 cm in any direction, straight or crooked, up to 30 cm long."""
    strands, vertices = int(rng.integers(1, 7)), int(rng.integers(4, 9))
    outward = rng.normal(size=(strands, 3))
    outward /= np.linalg.norm(outward, axis=1, keepdims=True)
    along = np.linspace(0.0, 1.0, vertices)[None, :, None] * rng.uniform(0.02, 0.3, (strands, 1, 1))
    points = outward[:, None] * (0.081 + along) + along * rng.normal(0.0, 0.2, (strands, vertices, 3))
    points[:, 0] = 0.081 * outward
    return Guides.from_groom(Groom.from_uniform(points.astype(np.float32)))


def random_fields(rng):
    """None, one or two things that stir the air."""
    place, along = rng.uniform(-0.2, 0.2, 3).tolist(), rng.normal(size=3).tolist()
    every = [
        Fan(place, along, speed=float(rng.uniform(0.0, 20.0)), radius=float(rng.uniform(0.02, 0.2))),
        Vortex(place, along, speed=float(rng.uniform(-10.0, 10.0))),
        FIELDS["gust"](
            velocity=rng.normal(0.0, 4.0, 3).tolist(), intensity=float(rng.random()), seed=int(rng.integers(9))
        ),
    ]
    return [every[k] for k in rng.permutation(3)[: rng.integers(0, 3)]]


def random_air(seed):
    """Run hair in the air as a seed describes it, on a head that is flung about; return the simulation and the air."""
    rng = np.random.default_rng(seed)
    air = Airflow(
        rng.normal(0.0, rng.choice([0.0, 1.0, 8.0]), 3),
        fields=random_fields(rng),
        cell=float(rng.uniform(0.03, 0.08)),
        margin=float(rng.uniform(0.05, 0.15)),
        hairs=float(10.0 ** rng.uniform(0, 8)),
        scale=float(rng.choice([0.1, 1.0, 10.0])),
        triangles=bool(rng.random() < 0.5),
        fibres=str(rng.choice(FIBRES)),
        wall=str(rng.choice(WALLS)),
        confinement=float(rng.choice([0.0, 1.0])),
    )
    sim = Simulation(
        random_hair(rng),
        str(rng.choice(["cosserat", "chain", "spring"])),
        body=Sphere((0.0, 0.0, 0.0), 0.08),
        air=air,
        frame_rate=float(rng.choice([24.0, 48.0, 96.0])),
        substeps=int(rng.integers(1, 5)),
    )
    place, turn = np.zeros(3), np.zeros(3)
    for _ in range(3):
        place, turn = place + rng.normal(0.0, 0.02, 3), turn + rng.normal(0.0, 0.1, 3)
        sim.step(Pose(place, quaternion.exp(turn)))
    return sim, air


def check_hair(seeds):
    for seed in seeds:
        sim, air = random_air(seed)
        assert np.isfinite(sim.frame.points).all(), seed
        assert np.isfinite(air.flow.velocity).all(), seed
        assert np.abs(air.flow.velocity).max() < 300.0, seed
        assert sim.report.stretch < 0.05, seed


@pytest.mark.stress
def test_a_thousand_random_scenes_with_hair_stay_finite():
    check_hair(range(1000))
