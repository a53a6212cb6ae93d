"""The air as a fluid: momentum of hair and air together, terminal speed, lee of a head, runs that are continued."""

import numpy as np
import pytest

import mane
from mane.body.motion import Pose
from mane.body.shapes import Sphere
from mane.contact.air.airflow import Airflow
from mane.contact.air.fields import Fan, Vortex, WindFile
from mane.contact.air.porous import HairSamples
from mane.fluid import _kernels_sample as kernels
from mane.fluid.porous import drag_per_length, permeability
from mane.geometry import quaternion
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.scene.simulation import Simulation
from mane.strand.stepping import SolverDiverged

CALM = {"gravity": (0.0, 0.0, 0.0), "root": "free", "sag_free": False, "stiffen_to_stand": "off"}


def tuft(count=5, vertices=6, length=0.06, spacing=0.02):
    """Straight strands along -y whose roots stand on a square lattice in the plane y = 0."""
    x, z = np.meshgrid(spacing * (np.arange(count) - (count - 1) / 2), spacing * (np.arange(count) - (count - 1) / 2))
    roots = np.stack([x.ravel(), np.zeros(count**2), z.ravel()], axis=-1)
    along = np.linspace(0.0, length, vertices)[:, None] * [0.0, -1.0, 0.0]
    return Guides.from_groom(Groom.from_uniform(np.ascontiguousarray(roots[:, None] + along, np.float32)))


def simulation(air, guides=None, **settings):
    return Simulation(guides or tuft(), air=air, frame_rate=192.0, **settings)


def test_places_and_weights_give_back_what_they_take():
    model = simulation(None).strands
    samples = HairSamples(model)
    points = model.rest_points + np.random.default_rng(0).normal(0, 1e-3, model.rest_points.shape)
    weights = samples.weights(points, np.ones(model.strand_count, np.bool_))
    rng = np.random.default_rng(1)
    air, push = rng.normal(size=(len(samples.places(points)), 3)), rng.normal(size=(samples.vertex_count, 3))
    assert len(samples.triangles) == 40 * 2 * 5  # neighbours on the lattice, two triangles for each segment
    assert np.isclose((samples.felt(air, weights) * push).sum(), (air * samples.shared_out(push, weights)).sum())
    assert np.allclose(samples.felt(np.ones_like(air), weights), 1.0)
    apart = points + 0.2 * np.arange(model.strand_count)[:, None, None]  # triangles that are torn stand for no hair
    assert np.allclose(samples.weights(apart, np.ones(model.strand_count, np.bool_))[0], 1.0)


@pytest.mark.parametrize("hairs", [25.0, 1e5, 1e8])
def test_hair_and_air_keep_their_momentum_at_any_drag(hairs):
    air = Airflow(cell=0.02, margin=0.12, hairs=hairs)
    sim = simulation(air, **CALM)
    air.flow.is_audited = True
    mass = air.hairs_each * sim.strands.mass[..., None]
    sim._state.velocity[..., 0] = 2.0  # as if the head had just stopped: the hair flies on into still air
    hair = (mass * sim._state.velocity).sum(axis=(0, 1))
    start, owed, speeds = hair[0], np.zeros(3), []
    for _ in range(12):
        sim.step()
        now = (mass * sim._state.velocity).sum(axis=(0, 1))
        # what hair has lost is what its drag gave the air, and what the air has not been told of yet
        still_owed = air.owed.sum(axis=(0, 1))
        gained = air.flow.audit["drag"] - (still_owed - owed)
        assert np.abs(now - hair + gained).max() < 1e-6 * start
        hair, owed = now, still_owed
        speeds.append(float(now[0] / mass.sum()))
    assert 0.0 < speeds[-1] < 2.0
    assert np.all(np.diff(speeds) < 1e-9)  # it slows down and never turns round


def test_a_strand_falls_at_its_terminal_speed():
    guides = tuft(1, length=0.04)
    air = Airflow(cell=0.03, margin=0.2, hairs=1.0)
    sim = simulation(air, guides, root="free", sag_free=False, stiffen_to_stand="off")
    for _ in range(260):
        sim.step()
    weight = 9.81 * sim.strands.mass.sum()
    resistance = air.resistance[..., 1].sum()  # the strand falls along itself
    speed = -float((sim._state.velocity[..., 1] * sim.strands.mass).sum() / sim.strands.mass.sum())
    assert np.isclose(speed, weight / resistance, rtol=0.02)


def test_hair_slows_the_wind_and_more_hair_slows_it_more():
    found = []
    for hairs in (1.0, 300.0, 1e6):
        air = Airflow((1.0, 0.0, 0.0), cell=0.02, margin=0.12, hairs=hairs)
        sim = simulation(air, **{**CALM, "root": "clamped"})
        for _ in range(25):
            sim.step()
        found.append(float(air.flow.at(np.array([[0.0, -0.03, 0.0]]))[0, 0]))
    assert found[0] > 0.98
    assert 0.3 < found[1] < 0.97
    assert abs(found[2]) < 0.02  # next to nothing passes


def test_fibres_of_a_block_are_a_porous_medium_together():
    """Drag per length times length per volume is mu / K of Jackson and James, at any radius; few fibres are alone."""
    for part in (1e-3, 0.02, 0.25):
        for radius in (2e-5, 5e-5):
            together = drag_per_length(np.array(part), 1.82e-5) * part / (np.pi * radius**2)
            assert np.isclose(together, 1.82e-5 / permeability(part, radius))
    assert (drag_per_length(np.array([0.0, 1e-4]), 1.82e-5) == 0.0).all()


def test_dense_hair_has_at_least_the_drag_of_fibres():
    """A block of hair of known density: its slow air meets what Jackson and James say, and no less where it is fast."""
    found = {}
    for fibres in ("alone", "jackson_james"):
        air = Airflow((0.05, 0.0, 0.0), cell=0.02, margin=0.12, hairs=2e5, scale=0.1, fibres=fibres)
        sim = simulation(air, **{**CALM, "root": "clamped"})
        sim.step()
        found[fibres] = air.resistance[12, 3, :3].mean()  # a vertex in the middle
        lengths = air._lengths[12, 3]
    part = air.samples.felt(
        np.repeat(_at_places(air, sim)[:, None], 3, axis=1),
        air.samples.weights(sim._state.points, np.ones(25, np.bool_)),
    )[:, 0].reshape(25, 6)[12, 3]  # fmt: skip
    assert 0.01 < part < 0.1
    expected = lengths * 20 * np.pi * 1.82e-5 / (3 * (-np.log(part) - 0.931))
    assert found["alone"] < 0.5 * expected
    assert np.isclose(found["jackson_james"], expected, rtol=0.02)
    total = air.solid_part.sum() * air.cell**3
    assert np.isclose(total, 2e5 * np.pi * sim.strands.radius[0, 0] ** 2 * 0.06, rtol=1e-3)  # all hair is somewhere


def _at_places(air, sim):
    """Part of the volume that hair takes at the places where it meets the air, of the cell that each lies in."""
    places = (air.samples.places(sim._state.points) - air.flow.grid.origin) / air.cell
    out = np.empty(len(places))
    kernels.read_cells(air._solid, np.array(air.flow.grid.shape), places, out)
    return out / air.cell**3


def head_in_wind(wind=(4.0, 0.0, 0.0), **settings):
    groom = styles.make("ball", strands=200, vertices=8, seed=1)
    guides = mane.select_guides(groom, 40, seed=1)
    radius = float(np.linalg.norm(guides.rest[:, 0], axis=1).min())
    air = Airflow(wind, cell=0.025, margin=0.15, scale=0.1, **settings)
    return Simulation(guides, body=Sphere((0.0, 0.0, 0.0), 0.999 * radius), air=air, frame_rate=48.0), air


def test_in_the_lee_of_a_head_hair_hangs_still():
    sim, air = head_in_wind(hairs=2000.0)
    for _ in range(20):
        sim.step()
    side = sim.frame.points[:, 0, 0]
    speed = np.linalg.norm(air.felt, axis=2).mean(axis=1)
    edge = np.abs(side).max()
    assert speed[side > 0.6 * edge].mean() < 0.5 * speed[side < 0.3 * edge].mean()


def test_a_run_that_is_continued_is_the_same_byte_for_byte():
    sim, _ = head_in_wind()
    for _ in range(2):
        sim.step()
    kept = sim.checkpoint()
    sim.step()
    other, _ = head_in_wind()
    other.load_checkpoint(kept)
    other.step()
    assert sim.frame.points.tobytes() == other.frame.points.tobytes()
    assert all(
        a.tobytes() == b.tobytes() for a, b in zip(sim.checkpoint().values(), other.checkpoint().values(), strict=True)
    )


def test_the_same_bytes_on_any_number_of_threads(on_threads):
    def run():
        sim, air = head_in_wind()
        for _ in range(2):
            sim.step()
        return {"points": sim.frame.points, "velocity": air.flow.velocity}

    on_threads(run)


def test_the_box_follows_the_head():
    sim, air = head_in_wind(wind=None)
    start = air.flow.grid.origin.copy()
    sim.step()
    assert np.allclose(air.flow.grid.origin, start)
    sim.teleport(_moved(0.4))
    sim.step(_moved(0.4))
    assert np.abs(air.flow.grid.origin - start - [0.4, 0.0, 0.0]).max() <= 0.025


def _moved(x):
    return Pose(np.array([x, 0.0, 0.0]), quaternion.exp(np.zeros(3)))


@pytest.mark.parametrize(
    "field",
    [
        Fan((0.0, 0.0, 0.0), (0.0, 0.0, 2.0), speed=3.0, radius=0.05),
        Vortex((0.0, 0.0, 0.0), (0.0, 1.0, 0.0), speed=1.0),
    ],
)
def test_fans_and_vortices_move_the_air(field):
    air = Airflow(fields=[field], cell=0.02, margin=0.12, hairs=25.0)
    sim = simulation(air, **CALM)
    for _ in range(4):
        sim.step()
    at = np.array([[0.0, 0.0, 0.02], [0.1, 0.0, 0.0]])
    found = air.flow.at(at)
    if isinstance(field, Fan):
        assert found[0, 2] > 0.5
    else:
        assert found[1, 2] < -0.05  # by the right hand about +y, +x goes to -z


def test_wind_from_a_file(tmp_path):
    path = tmp_path / "wind.csv"
    path.write_text("time,x,y,z\n0,1,0,0\n2,3,0,-2\n")
    assert np.allclose(WindFile(str(path)).velocity(np.zeros((2, 3)), 1.0), [[2.0, 0.0, -1.0]] * 2)
    path.write_text("0,1,0,0\n0,3,0,-2\n")
    with pytest.raises(ValueError, match="times must grow"):
        WindFile(str(path))
    path.write_text("0,1,0\n")
    with pytest.raises(ValueError, match="row 1 must be time, x, y, z"):
        WindFile(str(path))


def test_a_wind_that_runs_away_is_named():
    air = Airflow((1e4, 0.0, 0.0), cell=0.02, margin=0.12)
    with pytest.raises(SolverDiverged, match=r"air: 1e\+04 m/s near"):
        simulation(air, **CALM).step()
