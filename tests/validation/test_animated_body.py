"""Hair on a body that deforms: what a rigid one does where it moves rigidly; cuts, resumed runs, and the pre-roll."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import mane
from mane.body.motion import Pose, Twist
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.contact.adaptive.adaptive import AdaptiveGuides
from mane.geometry import quaternion
from mane.groom import styles
from mane.groom.binding import bind_roots
from mane.groom.groom import Groom
from mane.groom.select import select_guides
from mane.render.cameras import fits
from mane.scene.build import build
from mane.scene.config import (
    CameraTable,
    FramesTable,
    GroomTable,
    GuidesTable,
    OutputTable,
    PassTable,
    Scene,
    SkinTable,
    StrandTable,
)
from mane.scene.context import SceneContext
from mane.scene.hair import Hair
from mane.scene.loop import bake_cache, run_scene
from mane.scene.simulation import Simulation
from mane.scene.sink_pictures import PictureSink
from mane.strand.solver import MAX_SUBSTEP

FRAME = 1 / 24
RADIUS = 0.06
ARRAYS = ("points", "velocity", "orientations", "cut_force", "roots", "root_rotations")


@cache
def groom():
    return styles.make("ball", strands=120, vertices=8, seed=3, length=0.1)


@cache
def guides(count=12):
    return select_guides(groom(), count, seed=3)


@cache
def ball(resolution=24):
    return Sphere((0.0, 0.0, 0.0), RADIUS).mesh(resolution)


class Whirl:
    """Turns round and round, nods, and sways."""

    teleports = ()

    def teleported(self, start, end):
        return False

    def pose(self, time):
        nod = quaternion.exp(np.array([0.4 * np.sin(7 * time), 0.0, 0.3 * np.sin(5 * time)]))
        turn = quaternion.multiply(quaternion.exp(np.array([0.0, 2.0 * time, 0.0])), nod)
        return Pose(np.array([0.1 * np.sin(4 * time), 0.05 * np.sin(6 * time), 0.1 * np.sin(time)]), turn)

    def velocity(self, time):
        return Twist.zero()


def animated(deform, frames, per_frame=1, mesh=None, motion=None):
    """A body whose points are `deform(points, time)` [m], sampled so often."""
    mesh = ball() if mesh is None else mesh
    times = np.arange(frames * per_frame + 1) / (24 * per_frame)
    points = mesh.points.astype(np.float64)
    return Solid.animated(mesh, times, np.stack([deform(points, time) for time in times]).astype(np.float32), motion)


def swaying(points, time):
    """Bends to and fro, twists, and breathes."""
    angle = 8 * np.sin(6 * time) * points[:, 1]
    x, z = points[:, 0], points[:, 2]
    turned = np.stack([x * np.cos(angle) - z * np.sin(angle), points[:, 1], x * np.sin(angle) + z * np.cos(angle)], 1)
    turned[:, 0] += 4 * np.sin(9 * time) * points[:, 1] ** 2
    return turned * (1 + 0.1 * np.sin(5 * time))


def simulation(body, **settings):
    return Simulation(
        guides(), settings.pop("model", "cosserat"), body=body, collide_with_body=False, **{"substeps": 2, **settings}
    )


def same(one, two):
    return all(getattr(one, name).tobytes() == getattr(two, name).tobytes() for name in ARRAYS)


# -- rigid motion ------------------------------------------------------------------------------------------------------


# Springs take Newton steps until one is small, and rounding may decide which is the last: let it be small indeed.
@pytest.mark.parametrize(("model", "settings"), [("cosserat", {}), ("spring", {"tolerance": 1e-6}), ("chain", {})])
def test_a_body_that_moves_rigidly_gives_what_a_rigid_head_does(model, settings):
    """Over 100 frames, sampled at the ends of all substeps; what differs is float32 of the samples."""
    head = Whirl()
    body = animated(lambda points, time: head.pose(time).apply(points), 100, per_frame=2)
    rigid = Simulation(guides(), model, head=head, substeps=2, **settings)
    rides = simulation(body, model=model, **settings)
    for _ in range(100):
        expected, got = rigid.step(), rides.step()
        np.testing.assert_allclose(got.points, expected.points, atol=1e-6)
    assert np.abs(expected.points - head.pose(expected.time).apply(guides().rest)).max() > 0.01


@pytest.mark.parametrize("model", ["cosserat", "spring", "chain"])
def test_a_body_that_moves_rigidly_touches_as_a_rigid_head_does(model):
    """Over 100 frames with contact. Triangles and a distance field differ by a tenth of a millimetre, and what slides
    and sticks by turns does not stay the same hair by hair: means over hairs and frames do."""
    head, mesh = Whirl(), ball(48)
    body = animated(lambda points, time: head.pose(time).apply(points), 100, per_frame=4, mesh=mesh)

    def statistics(**settings):
        sim = Simulation(guides(), model, substeps=4, root="hinged", sag_free=False, preroll=0, **settings)
        seen, contacts = [], []
        for _ in range(100):
            frame = sim.step()
            contacts.append(sim.report.parts["contacts"])
            seen.append(head.pose(frame.time).inverse_apply(frame.points.astype(np.float64)))
            assert sim.report.penetration < 1e-3
        seen = np.array(seen)
        moved = np.linalg.norm(np.diff(seen, axis=0), axis=3)
        height = np.linalg.norm(seen, axis=3) - RADIUS
        return seen.mean(axis=0), np.sqrt((moved**2).mean()), height.mean(), np.mean(contacts)

    place, speed, height, contacts = statistics(body=mesh, head=head)
    rides_place, rides_speed, rides_height, rides_contacts = statistics(body=body)
    assert contacts > 5
    assert np.linalg.norm(rides_place - place, axis=2).mean() < 1e-3
    assert rides_speed == pytest.approx(speed, rel=0.03)
    assert rides_height == pytest.approx(height, rel=0.03)
    assert rides_contacts == pytest.approx(contacts, rel=0.1)


@pytest.mark.parametrize("model", ["cosserat", "spring", "chain"])
def test_roots_are_on_the_skin_at_the_end_of_every_frame(model):
    """Also where the animation has 30 samples per second and the simulation 24 frames."""
    times = np.arange(31) / 30
    mesh = ball()
    frames = np.stack([swaying(mesh.points.astype(float), time) for time in times]).astype(np.float32)
    body = Solid.animated(mesh, times, frames)
    sim = simulation(body, model=model, preroll=0)
    binding = bind_roots(guides().strands, mesh)
    for _ in range(20):
        frame = sim.step()
        on_skin, turned = binding.transforms(body.animation.points(frame.time))
        np.testing.assert_allclose(frame.roots, on_skin, atol=1e-6)
        np.testing.assert_allclose(frame.points[:, 0], on_skin, atol=1e-6)
        assert quaternion.angle_between(frame.root_rotations.astype(float), turned.astype(float)).max() < 1e-4
        assert np.isfinite(frame.points).all()
        assert sim.report.stretch < 0.01


def test_steps_are_not_cut_short_by_the_frame_rate():
    """Two frames of half the length, and one: roots are at the same places at the same times."""
    body = animated(swaying, 6, per_frame=2)
    one, two = simulation(body, preroll=0, substeps=4), simulation(body, preroll=0, substeps=2)
    for _ in range(4):
        expected = one.step()
        two.step(dt=FRAME / 2)
        got = two.step(dt=FRAME / 2)
        np.testing.assert_allclose(got.points, expected.points, atol=1e-6)


def test_substeps_follow_the_fastest_root_and_no_steady_flight():
    usual = int(np.ceil(FRAME / MAX_SUBSTEP))
    flight = simulation(animated(lambda p, t: p + [12 * t, 0, 0], 8), substeps="auto")
    counts = []
    for _ in range(4):
        flight.step()
        counts.append(flight.report.substeps)
    assert counts[0] > usual  # from rest to 12 m/s
    assert counts[1:] == [usual] * 3

    def nodding(points, time):
        """The upper half turns by 2 rad within a frame, the lower stands still."""
        turn = np.clip(points[:, 1:2] / RADIUS, 0, 1) * min(time / FRAME, 1.0)
        return quaternion.rotate(quaternion.exp(turn * [0.0, 2.0, 0.0]), points)

    fast = simulation(animated(nodding, 4), substeps="auto")
    fast.step()
    assert fast.report.substeps > usual


def test_guides_that_are_nowhere_near_the_body_are_refused():
    away = guides().strands.with_points(guides().strands.points + np.float32([0, 2, 0]))
    body = animated(swaying, 2)
    with pytest.raises(ValueError, match=r"body\.groom\.roots: must be within .* m of the skin, got 1\.\d+ m") as error:
        Simulation(mane.Guides.from_groom(away), body=body)
    assert "\n" not in str(error.value)


# -- jumps -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["cosserat", "spring", "chain"])
def test_a_cut_in_the_animation_carries_the_hair_along(model):
    """The character is 4 m away and turned from one sample to the next: hair goes with it and is not whipped across."""
    away = Pose(np.array([4.0, 1.0, 0.0]), quaternion.exp(np.array([0.0, 2.0, 0.0])))

    def cut(points, time):
        return points if time < 3.5 * FRAME else away.apply(points)

    sim, still = simulation(animated(cut, 8), model=model), simulation(animated(lambda p, t: p, 8), model=model)
    for number in range(8):
        frame, expected = sim.step(), still.step()
        pose = Pose.identity() if number < 3 else away
        np.testing.assert_allclose(frame.points, pose.apply(expected.points), atol=3e-6)


def test_a_head_that_teleports_takes_a_swaying_body_along():
    body = animated(swaying, 12, per_frame=2)
    away = Pose(np.array([2.0, 0.5, 0.0]), quaternion.exp(np.array([0.0, 1.0, 0.0])))
    one, two = simulation(body, preroll=0, drag=0), simulation(body, preroll=0, drag=0)
    for _ in range(3):
        one.step()
        two.step()
    carried = one.teleport(away)
    np.testing.assert_allclose(carried.points, away.apply(two.frame.points), atol=1e-6)
    for _ in range(3):  # turned about gravity, so that nothing is different there
        got, expected = one.step(), two.step()
        np.testing.assert_allclose(got.points, away.apply(expected.points), atol=1e-5)


def test_roots_of_one_s_own_still_count():
    body = animated(swaying, 4)
    sim = simulation(body, preroll=0)
    given = mane.RootPose(guides().roots.astype(float) + [0.0, 0.01, 0.0], np.tile([0.0, 0, 0, 1], (12, 1)))
    np.testing.assert_allclose(sim.step(roots=given).points[:, 0], given.positions, atol=1e-6)


# -- guides that are inserted ------------------------------------------------------------------------------------------


def test_inserted_guides_ride_on_the_skin_too():
    """A ball that is blown up to twice its size parts its guides: slots come in, on the skin, and all hair follows."""
    mesh = ball()
    body = animated(lambda p, t: p * (1 + min(2 * t, 1.0)), 16)
    part = AdaptiveGuides(opens_at=0.01, fade=0.1)
    sim = simulation(body, forces=[part], preroll=0)
    skins = [mane.skin(name, groom(), sim) for name in ("rigid", "linear", "physical")]
    for _ in range(16):
        frame = sim.step()
        hairs = [skin(frame) for skin in skins]
    assert frame.inserted.count > 5
    grown = bind_roots(Groom.from_uniform(frame.inserted.rest), mesh)
    np.testing.assert_allclose(frame.inserted.roots, grown.roots(2 * mesh.points), atol=1e-6)
    np.testing.assert_allclose(frame.inserted.points[:, 0], frame.inserted.roots, atol=1e-6)
    depth = np.linalg.norm(frame.inserted.rest[:, 0], axis=1)
    np.testing.assert_allclose(depth, RADIUS, atol=1e-3)
    for hair in hairs:
        np.testing.assert_allclose(hair[:, 0], bind_roots(groom(), mesh).roots(2 * mesh.points), atol=1e-6)
        assert np.isfinite(hair).all()


# -- going on ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["cosserat", "spring", "chain"])
def test_going_on_from_a_checkpoint_equals_not_stopping(model):
    body = animated(lambda p, t: swaying(p, t + 0.3), 8)  # begins bent: the first has a pre-roll, the second none
    whole, first, second = (simulation(body, model=model, substeps="auto", forces=[AdaptiveGuides()]) for _ in range(3))
    for _ in range(6):
        expected = whole.step()
    for _ in range(3):
        first.step()
    second.load_checkpoint(first.checkpoint())
    for _ in range(3):
        got = second.step()
    assert same(got, expected)
    assert got.time == expected.time


def test_any_number_of_threads_gives_the_same_bytes(on_threads):
    body = animated(lambda p, t: swaying(p, t + 0.3), 4)

    def played():
        sim = simulation(body)
        return [getattr(frame, name) for frame in (sim.reset(), sim.step(), sim.step()) for name in ARRAYS]

    on_threads(played)


# -- pre-roll ----------------------------------------------------------------------------------------------------------


def toppled(points, time):
    """Bent and laid on its side from the start."""
    bent = points + 3 * points[:, 1:2] ** 2 * [1.0, 0, 0]
    return quaternion.rotate(quaternion.exp(np.array([0.0, 0.0, 1.2])), bent) + [0.3, 0.0, 0.0]


def test_hair_comes_to_the_first_frame_through_the_pre_roll():
    body = animated(toppled, 4)
    sim = simulation(body)
    frame = sim.reset()
    assert frame.time == 0
    binding = bind_roots(guides().strands, ball())
    np.testing.assert_allclose(frame.roots, binding.roots(body.animation.points(0.0)), atol=1e-6)
    put = simulation(body, preroll=0).reset()
    np.testing.assert_array_equal(put.roots, frame.roots)
    assert not put.velocity.any()
    assert np.abs(put.points - frame.points).max() > 0.005  # hangs the other way by now
    # What comes next is no jump: the hair is calm, and the body does not move.
    before, after = frame.points, sim.step().points
    assert np.abs(after - before).max() < 0.02
    assert sim.time == pytest.approx(FRAME)


def test_it_is_simulated_when_it_is_needed_and_only_once(monkeypatch):
    made = []
    monkeypatch.setattr(Simulation, "_come_from_rest_pose", lambda self, body, seconds: made.append(seconds))
    body = animated(toppled, 4)
    sim = simulation(body)
    assert made == []
    checkpoint = simulation(body, preroll=0).checkpoint()
    assert made == []
    sim.load_checkpoint(checkpoint)
    sim.step()
    assert made == []
    for _ in range(2):
        sim.reset()
        sim.step()
    assert made == [1.0, 1.0]
    assert simulation(body, preroll=0.25).frame.time == 0
    assert made == [1.0, 1.0, 0.25]
    simulation(animated(lambda p, t: p + [t, 1, 0], 4)).step()
    assert made == [1.0, 1.0, 0.25]


def test_contacts_act_during_it():
    """A wall beside the body, where it comes to lie: no hair is behind it in the first frame."""
    wall = Solid(mane.shapes.Plane((0.0, -0.08, 0.0), (0.0, 1.0, 0.0)))
    frame = simulation(animated(toppled, 4), solids=[wall], substeps="auto").reset()
    assert frame.points[..., 1].min() > -0.082
    without = simulation(animated(toppled, 4), substeps="auto").reset()
    assert without.points[..., 1].min() < -0.1


@pytest.mark.parametrize("preroll", [-1.0, "later", float("nan"), None])
def test_lengths_that_are_none_are_refused(preroll):
    with pytest.raises(ValueError, match='preroll: must be "auto" or a time of at least 0 s, got'):
        simulation(animated(toppled, 4), preroll=preroll)


# -- scenes ------------------------------------------------------------------------------------------------------------


def scene(folder, **tables):
    return Scene(
        groom=GroomTable(style="ball", strands=120, vertices=8, settings={"length": 0.06}),
        frames=FramesTable(end=6),
        guides=GuidesTable(count=12),
        strand=StrandTable(substeps=2),
        folder=folder,
        **tables,
    )


@pytest.fixture
def swaying_body(monkeypatch):
    """Scenes grow on a body that sways and begins bent."""
    body = animated(lambda p, t: swaying(p, t + 0.3), 8)
    monkeypatch.setattr(SceneContext, "body", body)
    return body


def outputs(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in files if path.name not in ("cache.json", "log.csv")
    }


@pytest.mark.parametrize("skin", [SkinTable("linear"), SkinTable("physical", {"sweeps": 2, "warm_start": "previous"})])
def test_a_run_that_was_stopped_goes_on_to_the_same_bytes(swaying_body, tmp_path, skin):
    tables = {"skin": skin, "passes": (PassTable("push_out"),)}
    made = OutputTable(cache="run.cache", usd="hair.usda", metrics="metrics.json")
    run_scene(scene(tmp_path / "whole", output=made, **tables))
    stopped = scene(tmp_path / "stopped", output=made, **tables)
    run_scene(replace(stopped, frames=FramesTable(end=3)))
    run_scene(stopped, resume=True)
    assert outputs(tmp_path / "whole") == outputs(tmp_path / "stopped")


def test_hair_baked_from_the_cache_is_that_of_the_run(swaying_body, tmp_path):
    run_scene(scene(tmp_path, output=OutputTable(cache="run.cache", usd="hair.usda")))
    bake_cache(tmp_path / "run.cache", OutputTable(usd=str(tmp_path / "baked.usda")))
    hair = build(scene(tmp_path)).hair.groom
    for index in range(1, 7):
        run, baked = (mane.read_groom(tmp_path / name, time=index) for name in ("hair.usda", "baked.usda"))
        assert run.points.tobytes() == baked.points.tobytes()
        skin = bind_roots(hair, swaying_body.mesh)
        np.testing.assert_allclose(run.roots, skin.roots(swaying_body.animation.points((index - 1) * FRAME)), atol=1e-6)


def test_strands_of_any_count_keep_their_own_curl_on_a_bent_skin():
    """Detail that is finer than what is simulated turns with the skin at each root."""
    curls = styles.make("ball", strands=60, vertices=24, seed=1, length=0.06)
    wavy = curls.as_uniform() + 0.001 * np.sin(np.arange(24))[None, :, None] * np.float32([1, 0, 0])
    ragged = Groom.from_uniform(wavy.astype(np.float32))
    hair = Hair.of(ragged, 8)
    body = animated(lambda p, t: swaying(p, 0.3), 1)
    sim = Simulation(select_guides(hair.groom, 12, seed=0), body=body, collide_with_body=False, preroll=0)
    skin = mane.skin("linear", hair.groom, sim)
    frame = sim.reset()
    own = hair.own_points(skin(frame), skin.root_rotations(frame))
    expected = bind_roots(ragged, body.mesh).carry(ragged, body.animation.points(0.0)).points
    np.testing.assert_allclose(own, expected, atol=2e-6)
    rigid = hair.own_points(skin(frame), frame.head.rotation)
    assert np.abs(rigid - expected).max() > 1e-4


def test_metrics_see_hair_from_the_skin():
    """Hair as groomed on a body that shakes does not flicker, however fast the body is."""
    body = animated(lambda p, t: swaying(p, 40 * t) + [0.02 * (round(24 * t) % 2), 0, 0], 8)
    sim = simulation(body, preroll=0)
    skin, rows = mane.skin("linear", groom(), sim), np.arange(0, 120, 3)
    for number in range(1, 5):
        frame = sim.reset(time=number * FRAME)
        hair = skin(frame)
        seen = skin.without_body_motion(frame, np.ascontiguousarray(hair[rows]), rows)
        np.testing.assert_allclose(seen, groom().as_uniform()[rows], atol=1e-6)
        np.testing.assert_allclose(skin.guides_without_body_motion(frame), guides().rest, atol=1e-6)
        assert np.abs(hair - groom().as_uniform()).max() > 0.001


def test_pictures_show_the_body_where_it_is(tmp_path, monkeypatch):
    body = animated(lambda p, t: swaying(p, t) + [0, 3 * t, 0], 6)
    monkeypatch.setattr(SceneContext, "body", body)
    assembly = build(scene(tmp_path, camera=CameraTable(size=(96, 64))))
    sink = PictureSink(assembly, folder=tmp_path, movie=None, drawn=range(1, 7), numbers=range(1, 7))
    for index in range(1, 7):
        frame = replace(assembly.source.rest, time=(index - 1) * FRAME, is_rest_pose=False)
        (shown,) = sink._shown.at(frame)
        np.testing.assert_array_equal(shown.points, body.animation.points(frame.time))
        assert fits(sink._cameras[index - 1], shown.points, 96 / 64)
