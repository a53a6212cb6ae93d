"""`Simulation`: guides on a head from a script's own loop: rest, motion, teleports, checkpoints, refusals."""

import re

import numpy as np
import pytest

import mane
from mane.body.motion import Pose
from mane.body.motion_keys import KeyframedMotion
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.geometry import quaternion
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.select import GuideNotice
from mane.scene.simulation import Simulation
from mane.strand.ports import Force
from mane.strand.solver import MAX_SUBSTEP

HEAD = mane.shapes.Sphere((0.0, 0.0, 0.0), 0.1)


def bobbed(count=6, vertices=12, length=0.12, seed=2):
    """Guides that leave a ball of 10 cm sideways and hang down beside it."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(0, 2 * np.pi, count, endpoint=False) + rng.uniform(0, 0.1, count)
    out = np.stack([np.cos(angle), np.zeros(count), np.sin(angle)], axis=1)
    s = np.linspace(0, 1, vertices)[None, :, None]
    bend = 0.03 * (1 - np.exp(-4 * s)) * out[:, None]
    points = (0.1 + 1e-4) * out[:, None] + bend + length * s**1.5 * np.array([0.0, -1.0, 0.0])
    return Guides.from_groom(Groom.from_uniform(points.astype(np.float32)))


def turned(angle):
    return Pose(np.zeros(3), quaternion.from_axis_angle(np.array([0.0, 1.0, 0.0]), angle))


def test_a_still_head_keeps_its_groom():
    guides = bobbed()
    sim = Simulation(guides, body=HEAD)
    for _ in range(48):
        frame = sim.step()
    assert np.abs(frame.points - guides.rest).max() < 1e-6
    assert frame.time == pytest.approx(2.0)


def test_a_frame_says_everything_a_skin_needs():
    guides = bobbed(count=3, vertices=8)
    ball = mane.Solid(mane.shapes.Sphere((1, 0, 0), 0.05))
    frame = Simulation(guides, body=HEAD, solids=[ball]).step(turned(0.1))
    assert frame.points.shape == (3, 8, 3)
    assert frame.points.dtype == np.float32
    assert frame.orientations.shape == (3, 7, 4)
    assert frame.cut_force.shape == (3, 7, 3)
    np.testing.assert_allclose(frame.roots, frame.points[:, 0], atol=1e-6)
    np.testing.assert_allclose(frame.root_rotations, np.tile(turned(0.1).rotation, (3, 1)), atol=1e-6)
    assert len(frame.solid_poses) == 2  # the body rides on the head, the ball stays
    np.testing.assert_allclose(frame.solid_poses[0].rotation, turned(0.1).rotation)
    np.testing.assert_allclose(frame.solid_poses[1].position, [0, 0, 0])
    edge = np.diff(frame.points, axis=1)
    axes = quaternion.rotate(frame.orientations, np.broadcast_to(np.float32([0, 0, 1]), edge.shape))
    np.testing.assert_allclose(axes, edge / np.linalg.norm(edge, axis=2, keepdims=True), atol=1e-4)


def test_hair_lags_behind_a_turning_head_and_catches_up():
    guides = bobbed()
    sim = Simulation(guides, body=HEAD, frame_rate=60)
    for k in range(12):
        frame = sim.step(turned(0.05 * (k + 1)))
    carried = turned(0.6).apply(guides.rest)
    assert np.linalg.norm(frame.points[:, -1] - carried[:, -1], axis=1).min() > 0.005
    for _ in range(240):
        frame = sim.step(turned(0.6))
    assert np.linalg.norm(frame.points[:, -1] - carried[:, -1], axis=1).max() < 0.002


def test_teleports_carry_the_hair_instead_of_whipping_it():
    guides = bobbed()
    sim = Simulation(guides, body=HEAD)
    far = Pose(np.array([5.0, 2.0, -1.0]), turned(2.0).rotation)
    asked = sim.step(far, teleport=True)
    assert np.abs(asked.points - far.apply(guides.rest)).max() < 1e-5
    unasked = sim.step(Pose.identity())  # 130 m/s is no motion of a head
    assert np.abs(unasked.points - guides.rest).max() < 1e-5
    carried = sim.teleport(far)
    assert np.abs(carried.points - far.apply(guides.rest)).max() < 1e-5


def test_a_motion_with_a_cut_is_followed():
    class Cut:
        teleports = (0.1,)

        def pose(self, time):
            return Pose(np.array([0.5 if time >= 0.1 else 0.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 1.0]))

        def velocity(self, time):
            return mane.body.motion.Twist.zero()

        def teleported(self, start, end):
            return start < 0.1 <= end

    guides = bobbed()
    sim = Simulation(guides, head=Cut(), frame_rate=24)
    for _ in range(4):
        frame = sim.step()
    assert np.abs(frame.points - guides.rest - [0.5, 0, 0]).max() < 1e-5


def test_reset_returns_to_rest():
    guides = bobbed()
    sim = Simulation(guides, body=HEAD)
    for k in range(5):
        sim.step(turned(0.2 * k))
    frame = sim.reset(turned(1.0))
    np.testing.assert_allclose(frame.points, turned(1.0).apply(guides.rest), atol=1e-6)
    assert not frame.velocity.any()
    assert frame.time == 0


def test_continuing_from_a_checkpoint_equals_not_stopping():
    def make():
        return Simulation(bobbed(), body=HEAD, wind=(2.0, 0.0, 1.0))

    whole, first, second = make(), make(), make()
    for k in range(10):
        expected = whole.step(turned(0.1 * np.sin(k)))
    for k in range(5):
        first.step(turned(0.1 * np.sin(k)))
    second.load_checkpoint(first.checkpoint())
    for k in range(5, 10):
        got = second.step(turned(0.1 * np.sin(k)))
    assert got.points.tobytes() == expected.points.tobytes()
    assert got.cut_force.tobytes() == expected.cut_force.tobytes()


def test_substeps_follow_frame_length_and_motion():
    sim = Simulation(bobbed(), frame_rate=24)
    sim.step()
    assert sim.report.substeps == int(np.ceil(1 / 24 / MAX_SUBSTEP))
    sim.step(turned(1.9))  # 45 rad/s
    assert sim.report.substeps == 13
    assert Simulation(bobbed(), substeps=3).step() is not None


def test_roots_of_a_deforming_skin():
    guides = bobbed(count=2)
    sim = Simulation(guides)
    moved = mane.RootPose(
        guides.roots.astype(float) + [[0.01, 0, 0], [0, 0.01, 0]], np.tile([0.0, 0.0, 0.0, 1.0], (2, 1))
    )
    frame = sim.step(roots=moved)
    np.testing.assert_allclose(frame.points[:, 0], moved.positions, atol=1e-6)


def test_a_force_of_ones_own_takes_part():
    class Lift(Force):
        def add(self, strands, load):
            load.force[..., 1] += strands.model.mass * 9.81

    guides = bobbed()
    floating = Simulation(guides, forces=[Lift()], sag_free=False, drag=0)
    frame = None
    for _ in range(10):
        frame = floating.step()
    assert np.abs(frame.points - guides.rest).max() < 1e-6  # weightless, so nothing sags


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "coserat"}, "model: 'coserat' is unknown; choose from chain, cosserat, spring, xpbd"),
        ({"material": "steel"}, "material: 'steel' is unknown"),
        ({"frame_rate": 0}, "frame_rate: must be a finite number above zero, got 0"),
        ({"substeps": 0}, 'substeps: must be "auto" or a whole number of at least 1, got 0'),
        ({"solids": [HEAD]}, r"solids\[0\]: must be a Solid, got Sphere; mane.Solid\(mesh\) is one"),
        ({"forces": ["wind"]}, "forces: must be Force, Constraint or AdaptiveGuides, got str"),
        ({"stiffen_to_stand": "spray"}, "stiffen_to_stand: 'spray' is unknown"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Simulation(bobbed(), **settings)


def test_a_step_of_no_length_is_refused():
    with pytest.raises(ValueError, match="dt: must be a finite number above zero, got 0"):
        Simulation(bobbed()).step(dt=0)


def test_reset_mends_what_has_worn_out():
    class Wearing(Force):
        worn = 0

        def add(self, strands, load):
            self.worn += 1

        def reset(self):
            self.worn = 0

    part = Wearing()
    sim = Simulation(bobbed(count=2), forces=[part])
    sim.step()
    assert part.worn > 0
    sim.reset()
    assert part.worn == 0


# -- contact -----------------------------------------------------------------------------------------------------------


def part_of(sim, name):
    return next((part for part in sim.parts if part.name == name), None)


def test_settings_of_the_contact_reach_the_projection():
    sim = Simulation(bobbed(), body=HEAD, contact={"push_out_speed": 0.07, "thickness": 0.001})
    assert part_of(sim, "contact").params.push_out_speed == 0.07
    projection = part_of(sim, "projection").params
    assert (projection.push_out_speed, projection.thickness) == (0.07, 0.001)


@pytest.mark.filterwarnings("ignore:solids.0.. holds every root")
@pytest.mark.parametrize("speed", [0.05, 0.2])
def test_hair_that_starts_inside_comes_out_at_the_speed_that_is_asked_for(speed):
    """Tips 1 cm inside a ball that appears around them; the first frame lasts 1/24 s."""
    guides = bobbed(count=4)
    tips = guides.rest[:, -1].mean(axis=0)
    ball = mane.shapes.Sphere(tuple(float(x) for x in tips + [0.0, -0.02, 0.0]), 0.2)
    sim = Simulation(guides, solids=[mane.Solid(ball)], contact={"push_out_speed": speed}, gravity=(0, 0, 0))
    depth = -ball.distance(guides.rest.reshape(-1, 3)).min()
    sim.step()
    out = depth - sim.report.penetration
    assert 0.3 * speed / 24 < out < 1.2 * speed / 24


def test_a_penalty_lets_hair_sink_in_and_nothing_projects_it_out():
    guides = bobbed()
    assert part_of(Simulation(guides, body=HEAD, contact={"mode": "penalty"}), "projection") is None
    lying = mane.Solid(mane.shapes.Plane((0, -0.08, 0), (0, 1, 0)))
    settings = {"penalty_depth": 2e-3, "penalty_load": 1.0}
    depths = {}
    for mode in ("hard", "penalty"):
        sim = Simulation(guides, solids=[lying], contact={"mode": mode, **settings}, sag_free=False)
        for _ in range(24):
            sim.step()
        depths[mode] = sim.report.penetration
    assert depths["penalty"] > 1e-3 > 5e-4 > depths["hard"]


def deforming_ball(radius, times=(0.0, 10.0)):
    """A ball of triangles that grows by a hundredth in ten seconds."""
    mesh = mane.shapes.Sphere((0.0, 0.0, 0.0), radius).mesh(24)
    return mane.Solid.animated(mesh, times, np.stack([mesh.points, 1.01 * mesh.points]))


@pytest.mark.filterwarnings("ignore:solids.0.. holds every root")
def test_a_deforming_solid_reports_its_depth_like_any_other():
    """A plate that nobody touches comes last: what it says is not the depth in the ball."""
    guides = bobbed()
    ball, away = deforming_ball(0.12), mane.Solid(mane.shapes.Sphere((3.0, 0.0, 0.0), 0.1))
    sim = Simulation(guides, solids=[ball, away], contact={"push_out_speed": 0.01})
    sim.step()
    inside = -ball.distance(sim.frame.points[:, 1:].reshape(-1, 3), sim.time).min()
    assert inside > 0.005
    assert sim.report.penetration == pytest.approx(inside, abs=2e-4)  # by the planes that were sampled


def test_depth_is_measured_once_per_frame(monkeypatch):
    from mane.contact.solids import contact as solids

    calls, measure = [], solids.measure_depth
    monkeypatch.setattr(solids, "measure_depth", lambda *args: (calls.append(1), measure(*args)))
    sim = Simulation(bobbed(), body=HEAD, substeps=4)
    sim.step(turned(0.3))
    assert len(calls) == 1


# -- checkpoints -------------------------------------------------------------------------------------------------------


def linked(order):
    from mane.contact.attraction.attraction import Attraction
    from mane.contact.links.links import StaticLinks

    forces = [StaticLinks(rate=20), StaticLinks(rate=5, count=1), Attraction(rate=4)]
    return Simulation(bobbed(), forces=[forces[k] for k in order], body=HEAD)


def test_checkpoints_find_their_parts_by_name():
    """The same forces in another order: an index would hand the links of one to the other."""
    first, second = linked([0, 1, 2]), linked([2, 0, 1])
    for k in range(4):
        first.step(turned(0.2 * np.sin(k)))
    second.load_checkpoint(first.checkpoint())
    for name in ("links", "attraction"):
        ours = [part.memory() for part in second.parts if part.name == name]
        theirs = [part.memory() for part in first.parts if part.name == name]
        for a, b in zip(ours, theirs, strict=True):
            assert a.keys() == b.keys()
            assert all(a[key].tobytes() == b[key].tobytes() for key in a)


def test_a_checkpoint_of_other_parts_is_refused():
    plain = Simulation(bobbed(), body=HEAD)
    with pytest.raises(ValueError, match=r"checkpoint: holds 'part.links', which this simulation lacks"):
        plain.load_checkpoint(linked([0]).checkpoint())
    with pytest.raises(ValueError, match=r"checkpoint: it holds no 'part.links'"):
        linked([0]).load_checkpoint(plain.checkpoint())
    with pytest.raises(ValueError, match=r"it holds no 'strand.chain', only .*'?strand.cosserat"):
        Simulation(bobbed(), "chain", body=HEAD).load_checkpoint(plain.checkpoint())


def test_a_solid_that_swallows_the_head_is_told_once_and_hair_stays_finite():
    """It comes over the head, stays and goes away; where it cannot be left, nothing is flung out of it."""
    rows = np.array([[0.0, 1.0, 0, 0], [0.1, 0.0, 0, 0], [0.3, 0.0, 0, 0], [0.4, 1.0, 0, 0]])
    over = KeyframedMotion(rows[:, 0], rows[:, 1:], np.tile([0.0, 0.0, 0.0, 1.0], (4, 1)))
    groom = styles.make("ball", strands=60, vertices=8, seed=1, length=0.06)
    solids = [Solid(Sphere((0.0, 0.0, 0.0), 0.01)), Solid(Sphere((0.0, 0.0, 0.0), 0.4), over)]
    sim = Simulation(mane.select_guides(groom, 8), body=styles.body("ball"), solids=solids, substeps=2, frame_rate=24)
    skin = mane.skin("adaptive", groom, sim)
    finish = [mane.skins.LengthKeeping(groom), mane.skins.SideKeeping(sim.solids, body=sim.solids[0], groom=groom)]
    finish.append(mane.skins.SolidAdjustment(sim.solids, groom=groom, body=sim.solids[0]))

    def carried():
        for _ in range(14):
            frame = sim.step()
            points = skin(frame)
            for one in finish:
                points = one(points, frame)
            assert np.isfinite(points).all()
            assert np.isfinite(frame.points).all()
        return points

    with pytest.warns(GuideNotice) as told:
        points = carried()
    assert len(told) == 1
    assert re.match(r"solids\[1\]: holds every root from 0\.\d+ s on, .*; move it away", str(told[0].message))
    assert str(told[0].message) in sim.note
    reach = np.linalg.norm(points, axis=2).max()
    assert reach < 1.05 * np.linalg.norm(groom.as_uniform(), axis=2).max()  # it has come to rest at its head


def test_solids_that_hair_grows_on_swallow_nothing():
    groom = styles.make("ball", strands=60, vertices=8, seed=1, length=0.06)
    sim = Simulation(mane.select_guides(groom, 8), solids=[Solid(styles.body("ball"))], frame_rate=24)
    sim.step()
    assert "holds every root" not in sim.note
