"""Guides that get wet: all water is accounted for, what they carry is heavy and inert, and locks cling together."""

import numpy as np
import pytest

from mane.body.motion import Pose
from mane.contact.air.waterflow import Waterflow
from mane.contact.air.wet_guides import WetGuides
from mane.fluid.grid import Grid
from mane.fluid.water import Water
from mane.fluid.wet_hair import WettingParams
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.scene.simulation import Simulation
from mane.skin.finish.wet_locks import WetLocks
from mane.skin.guide_values import GuideValues
from mane.strand.frame import GuideWetness

FREE = {"root": "free", "sag_free": False, "stiffen_to_stand": "off", "frame_rate": 192.0}


def strands(count, length=0.06, spacing=0.02, vertices=6):
    at = spacing * (np.arange(count) - (count - 1) / 2)
    x, z = np.meshgrid(at, at)
    roots = np.stack([x.ravel(), np.zeros(count**2), z.ravel()], axis=-1)
    along = np.linspace(0.0, length, vertices)[:, None] * [0.0, -1.0, 0.0]
    return Groom.from_uniform((roots[:, None] + along).astype(np.float32))


def wet_simulation(height, hairs=1e5, soaking=0.01, **settings):
    gravity = settings.pop("gravity", (0.0, -9.81, 0.0))
    water = Water(Grid((16, 16, 16), 0.02, (-0.16, -0.2, -0.16)), gravity=gravity)
    water.fill(lambda points: points[..., 1] - height)
    flow = Waterflow(water, hairs=hairs)
    wet = WetGuides(flow, WettingParams(soaking=soaking, reach=0.005, dripping=0.05, drop=5e-4))
    sim = Simulation(
        Guides.from_groom(strands(3)), forces=[flow, wet], gravity=gravity, drag=0.0, **{**FREE, **settings}
    )
    return sim, flow, wet


def known(flow, wet):
    return flow.water.surface.account["owned"] + wet.hair.absorbed + wet.hair.dripped


def test_free_absorbed_and_dripped_water_is_all_there_is_with_many_hairs():
    sim, flow, wet = wet_simulation(-0.03)
    total = known(flow, wet)
    for _ in range(12):
        sim.step(Pose(np.array([0.0, 0.1 * max(0.0, sim.time - 0.02), 0.0]), Pose.identity().rotation))
        assert abs(known(flow, wet) - total) < 1e-12 * total
    held = sim.frame.wet.held
    assert held[:, -1].min() > 0.5  # tips are under water
    assert held[:, 0].max() < held[:, -1].min()
    assert wet.hair.absorbed > 1e-7


def test_water_that_is_carried_falls_like_everything_else():
    """Soaked, and lifted out of the water: more weight and more inertia, so that free strands fall as dry ones do."""
    sim, _, wet = wet_simulation(-0.19)
    wet.hair.water[...] = 0.4 * wet.hair.capacity  # below what drips
    dry = Simulation(Guides.from_groom(strands(3)), drag=0.0, **FREE)
    for _ in range(6):
        sim.step()
        dry.step()
    assert wet.mass.min() > 0.3 * sim.strands.mass.min()
    assert np.abs(sim._state.velocity - dry._state.velocity).max() < 1e-6 * abs(9.81 * sim.time)


def test_wet_hair_hangs_lower_than_dry_hair():
    tips = {}
    for part in (0.0, 0.4):
        groom = strands(3)
        lying = np.ascontiguousarray(groom.points[:, [1, 0, 2]] * [-1.0, 1.0, 1.0], np.float32)  # clamped, along x
        water = Water(Grid((16, 16, 16), 0.02, (-0.16, -0.2, -0.16)))
        flow = Waterflow(water, hairs=1e4)
        wet = WetGuides(flow, WettingParams(dripping=10.0))
        sim = Simulation(Guides.from_groom(groom.with_points(lying)), forces=[flow, wet], drag=0.0, frame_rate=96.0)
        wet.hair.water[...] = part * wet.hair.capacity
        for _ in range(8):
            sim.step()
        tips[part] = float(sim.frame.points[:, -1, 1].mean() - sim.rest.points[:, -1, 1].mean())
    assert abs(tips[0.0]) < 1e-5  # the groom is what gravity makes of it
    assert tips[0.4] < -1e-4


def test_a_run_that_is_continued_is_as_wet_byte_for_byte():
    sim, _, _ = wet_simulation(-0.03)
    other, _, _ = wet_simulation(-0.03)
    sim.step()
    kept = sim.checkpoint()
    sim.step()
    other.load_checkpoint(kept)
    other.step()
    for name in ("held", "submerged"):
        assert getattr(sim.frame.wet, name).tobytes() == getattr(other.frame.wet, name).tobytes()
    assert sim.frame.points.tobytes() == other.frame.points.tobytes()
    sim.reset()
    assert not sim.frame.wet.held.any()


def test_water_that_does_not_feel_hair_is_what_it_would_be_without():
    water = {}
    for hairs in (1.0, 1e6):
        basin = Water(Grid((16, 16, 16), 0.02, (-0.16, -0.2, -0.16)))
        basin.fill(lambda points: points[..., 1] + 0.03)
        flow = Waterflow(basin, hairs=hairs, feels_hair=False)
        sim = Simulation(Guides.from_groom(strands(3)), forces=[flow], drag=0.0, **FREE)
        for _ in range(3):
            sim.step(Pose(np.array([sim.time, 0.0, 0.0]), Pose.identity().rotation))
        water[hairs] = basin.flow.velocity.tobytes()
        assert flow.immersion.any()
        assert not flow.owed.any()
    assert water[1.0] == water[1e6]


def test_wet_hair_clings_together_and_keeps_its_lengths():
    groom = strands(12, spacing=0.002, length=0.1, vertices=9)
    guides = Guides.chosen(groom, np.arange(0, groom.strand_count, 6))
    rest = Simulation(guides, frame_rate=24.0).rest
    shape = rest.points.shape[:2]
    locks = WetLocks(groom, guides, hairs=12)
    spread = {}
    for name, held, submerged in (("dry", 0.0, 0.0), ("wet", 1.0, 0.0), ("under water", 1.0, 1.0)):
        wet = GuideWetness(np.full(shape, held, np.float32), np.full(shape, submerged, np.float32))
        points = locks(groom.as_uniform().copy(), rest.__class__(**{**vars(rest), "wet": wet}))
        spread[name] = float(np.linalg.norm(points[:, -1] - points[locks._centres, -1], axis=1).mean())
        size = np.linalg.norm(np.diff(points.astype(np.float64), axis=1), axis=2)
        assert np.allclose(size, 0.1 / 8, rtol=1e-4)
    assert spread["wet"] < 0.4 * spread["dry"]
    assert spread["under water"] == pytest.approx(spread["dry"])


def test_values_of_guides_reach_hairs_between_them():
    groom = strands(4, spacing=0.01)
    guides = Guides.chosen(groom, np.arange(groom.strand_count))
    values = np.arange(groom.strand_count * 6, dtype=np.float32).reshape(-1, 6)
    carried = GuideValues(groom, guides)(values, 11)
    assert np.allclose(carried[:, ::2], values, atol=0.05)  # each hair has its own guide
    assert np.allclose(carried[:, 1::2], 0.5 * (values[:, 1:] + values[:, :-1]), atol=0.05)
