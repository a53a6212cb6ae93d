"""Hair in water, both ways: momentum, terminal speed, buoyancy, and hair above the surface that feels nothing."""

import numpy as np
import pytest

from mane.contact.air.waterflow import Waterflow
from mane.fluid.grid import Grid
from mane.fluid.sources import Jet
from mane.fluid.water import Water
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.scene.simulation import Simulation

FREE = {"root": "free", "sag_free": False, "stiffen_to_stand": "off", "frame_rate": 192.0}


def tuft(count, length=0.06, spacing=0.02, vertices=6):
    at = spacing * (np.arange(count) - (count - 1) / 2)
    x, z = np.meshgrid(at, at)
    roots = np.stack([x.ravel(), np.zeros(count**2), z.ravel()], axis=-1)
    along = np.linspace(0.0, length, vertices)[:, None] * [0.0, -1.0, 0.0]
    return Guides.from_groom(Groom.from_uniform((roots[:, None] + along).astype(np.float32)))


def pool(height, **settings):
    water = Water(Grid((16, 16, 16), 0.02, (-0.16, -0.2, -0.16)), **settings)
    water.fill(lambda points: points[..., 1] - height)
    return water


@pytest.mark.parametrize(("hairs", "interval"), [(25.0, 0.0), (1e5, 0.0), (1e5, 0.01)])
def test_hair_and_water_keep_their_momentum_at_any_drag(hairs, interval):
    """Half in the water, half above it; without weight, so that nothing else acts."""
    force = Waterflow(pool(-0.03, gravity=(0.0, 0.0, 0.0)), hairs=hairs, interval=interval)
    sim = Simulation(tuft(3), forces=[force], gravity=(0.0, 0.0, 0.0), drag=0.0, **FREE)
    force.flow.is_audited = True
    sim._state.velocity[..., 0] = 1.0
    owed, first = np.zeros(3), float(sim._state.velocity[..., 0].mean())
    for _ in range(6):
        force.flow.audit = {"drag": np.zeros(3)}  # as it stays where the water waits
        sim.step()
        due = force.owed.sum(axis=(0, 1))
        water = force.flow.face_mass * np.abs(force.flow.velocity[force.flow.surface.is_wet]).sum()
        hair = force.hairs_each * np.abs(sim.strands.mass[..., None] * sim._state.velocity).sum()
        # what hair got, what the water got, and what it has not been told of yet
        assert np.abs(force.impulse + force.flow.audit["drag"] - (due - owed)).max() < 1e-6 * (hair + water)
        owed = due
    assert 0.0 < force.immersion.mean() < 1.0
    assert float(sim._state.velocity[..., 0].mean()) < 0.9 * first


def test_a_strand_sinks_at_its_terminal_speed():
    """Weight less that of the water it displaces, over drag."""
    force = Waterflow(pool(0.1), hairs=1.0)
    sim = Simulation(tuft(1, length=0.04), forces=[force], drag=0.0, **FREE)
    for _ in range(40):
        sim.step()
    speed = -float((sim._state.velocity[..., 1] * sim.strands.mass).sum() / sim.strands.mass.sum())
    # hair has 1320 kg/m^3; half of the mass of the last segments belongs to the vertices at its ends
    assert np.isclose(force.lift[:, 1].sum(), 9.81 * sim.strands.mass.sum() * 998.0 / 1320.0, rtol=0.02)
    weight = 9.81 * sim.strands.mass.sum() - force.lift[:, 1].sum()
    assert np.isclose(speed, weight / force.resistance[..., 1].sum(), rtol=0.02)


def test_hair_above_the_water_feels_nothing_of_it():
    force = Waterflow(pool(-0.1), hairs=100.0)
    settings = {"gravity": (0.0, 0.0, 0.0), "drag": 0.0, **FREE}
    sim, alone = (Simulation(tuft(2), forces=parts, **settings) for parts in ([force], []))
    for one in (sim, alone):
        one._state.velocity[..., 0] = 0.1
        one.step()
    assert np.array_equal(sim.frame.points, alone.frame.points)


def test_hair_and_water_that_steps_less_often_do_much_the_same():
    """A tuft sinks and takes the water along, as fast as with water in the steps of the hair."""
    speeds = []
    for interval in (0.0, 0.02):
        force = Waterflow(pool(0.1), hairs=1e4, interval=interval)
        sim = Simulation(tuft(3), forces=[force], drag=0.0, **FREE)
        steps = 0
        for _ in range(40):
            before = force.water.time
            sim.step()
            steps += force.water.time > before
        assert steps == (40 if interval == 0.0 else 10)
        assert np.isclose(force.water.time, 40 / 192.0)
        speeds.append(sim._state.velocity[..., 1].mean())
    assert np.isclose(*speeds, rtol=0.1)


def test_a_box_without_water_costs_nothing_and_waits_for_its_jet():
    water = Water(Grid((16, 16, 16), 0.02, (-0.16, -0.2, -0.16)), jets=[Jet((0.0, 0.05, 0.0), start=0.02)])
    sim = Simulation(tuft(2), forces=[Waterflow(water, hairs=1e4)], **FREE)
    water.flow.step = None  # nobody calls it
    sim.step()
    assert water.is_idle
    assert water.time == pytest.approx(1 / 192.0)
    del water.flow.step
    for _ in range(8):
        sim.step()
    assert not water.is_idle
    assert water.volume > 0.0


@pytest.mark.parametrize("interval", [0.0, 0.012])
def test_a_run_that_is_continued_is_the_same_byte_for_byte(interval):
    def begin():
        return Simulation(tuft(2), forces=[Waterflow(pool(-0.03), hairs=1e4, interval=interval)], **FREE)

    sim, other = begin(), begin()
    for _ in range(5):
        sim.step()
    kept = sim.checkpoint()
    other.load_checkpoint(kept)
    for _ in range(3):
        sim.step()
        other.step()
    assert sim.frame.points.tobytes() == other.frame.points.tobytes()
