"""Hairs on a body that deforms: guides that do nothing give the groom, carried hair by hair, whatever the skin."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from skin_frames import curls, guides_of

from mane.body.motion import Pose
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.geometry import quaternion
from mane.groom.binding import bind_roots
from mane.groom.groom import Groom
from mane.scene.simulation import Simulation
from mane.skin.physical.skin import PhysicalSkin
from mane.skin.root_carry import RootCarry, in_rest_pose, load_in_world
from mane.skin.table import SKINS, make_skin
from mane.strand.frame import InsertedGuides
from mane.strand.ports import GuideLoad

VARIANTS = [
    pytest.param(name, settings, id=f"{name}{number or ''}")
    for name in SKINS
    for number, settings in enumerate(SKINS[name].examples)
]
skins = pytest.mark.parametrize(("name", "settings"), VARIANTS)
by_guides = pytest.mark.parametrize(
    ("name", "settings"), [one for one in VARIANTS if SKINS[one.values[0]].follows_guides]
)
# float32 at 0.3 m, a few times over, and turned over hair of 0.1 m.
ROUNDING = 3e-7
ELSEWHERE = Pose(np.array([0.2, 0.1, -0.1]), quaternion.exp(np.array([0.3, -0.8, 0.5])))
STILL = Pose.identity()
TIMES = np.arange(13) / 24


def squashed(points, amount):
    """A ball that is pressed flat, sheared and twisted about the vertical, so that no two places turn alike."""
    x, y, z = (points[:, c].astype(np.float64) for c in range(3))
    angle = 6 * amount * y
    along, across = x * np.cos(angle) - z * np.sin(angle), x * np.sin(angle) + z * np.cos(angle)
    return np.stack([along * (1 + amount) + 0.4 * amount * y, y * (1 - 0.4 * amount), across * (1 - 0.2 * amount)], 1)


@cache
def hair():
    return curls(80, 12, length=0.1)


@cache
def body(first=0.0, last=1.0):
    """The ball that the hair grows on, more and more squashed."""
    mesh = Sphere((0.0, 0.0, 0.0), 0.1).mesh(32)
    frames = [squashed(mesh.points, first + (last - first) * share) for share in np.linspace(0, 1, len(TIMES))]
    return Solid.animated(mesh, TIMES, np.stack(frames).astype(np.float32))


@cache
def simulation(first=0.0, last=1.0):
    return Simulation(
        guides_of(hair(), 16), body=body(first, last), collide_with_body=False, substeps=4, preroll=0.0, drag=0.0
    )


@cache
def moved():
    """Frames of guides that swing on the body as it is squashed."""
    simulation().reset()
    return tuple(simulation().step(Pose(np.array([0.0, 0.1, 0.02 * k]), ELSEWHERE.rotation)) for k in range(6))


def carried(frame, solid):
    points = solid.animation.points(frame.time)
    return frame.solid_poses[0].apply(bind_roots(hair(), solid.mesh).carry(hair(), points).as_uniform())


@by_guides
def test_guides_at_rest_on_a_squashed_body_give_the_groom_carried_hair_by_hair(name, settings):
    sim = simulation(1.0, 1.0)
    frame = sim.reset(ELSEWHERE)
    assert np.ptp(frame.root_rotations, axis=0).max() > 0.5  # guides are turned apart
    skin = make_skin(name, hair(), sim, **settings)
    np.testing.assert_allclose(skin(frame), carried(frame, body(1.0, 1.0)), atol=ROUNDING)


@skins
def test_roots_stay_on_the_skin_while_hair_moves(name, settings):
    skin = make_skin(name, hair(), simulation(), **settings)
    for frame in moved():
        points = skin(frame)
        groomed = carried(frame, body())
        np.testing.assert_allclose(points[:, 0], groomed[:, 0], atol=ROUNDING)
    assert np.abs(points - groomed).max() > 1e-3


@skins
def test_the_rest_frame_gives_the_groom_wherever_the_body_is(name, settings):
    skin = make_skin(name, hair(), simulation(), **settings)
    skin(moved()[-1])
    skin.reset()
    np.testing.assert_allclose(skin(simulation().rest), hair().as_uniform(), atol=1e-6)


@by_guides
def test_an_unmoved_skin_gives_what_a_rigid_body_does(name, settings):
    """The same guides, once on a ball that is animated and never moves: what differs is rounded in another pose."""
    guides = guides_of(hair(), 16)
    mesh = body().mesh
    rides = Simulation(guides, body=Solid.animated(mesh, [0.0], mesh.points[None]), collide_with_body=False, substeps=4)
    rigid = Simulation(guides, substeps=4)
    for sim in (rides, rigid):
        sim.reset(ELSEWHERE)
    poses = [Pose(ELSEWHERE.position + [0.0, 0.005 * k, 0.0], ELSEWHERE.rotation) for k in range(3)]
    frames = [[sim.step(pose) for pose in poses] for sim in (rides, rigid)]
    assert frames[0][-1].points.tobytes() == frames[1][-1].points.tobytes()
    hairs = [make_skin(name, hair(), sim, **settings) for sim in (rides, rigid)]
    for one, other in zip(*frames, strict=True):
        np.testing.assert_allclose(hairs[0](one), hairs[1](other), atol=3e-6)


@skins
def test_any_number_of_threads_gives_the_same_bytes(name, settings, on_threads):
    def played():
        skin = make_skin(name, hair(), simulation(), **settings)
        return [skin(frame).copy() for frame in moved()[:2]]

    on_threads(played)


@by_guides
def test_hairs_whose_guides_are_gone_are_carried_by_their_own_roots(name, settings):
    skin = make_skin(name, hair(), simulation(), **settings)
    frame = moved()[-1]
    gone = replace(frame, weight=np.zeros_like(frame.weight))
    np.testing.assert_allclose(skin(gone), carried(frame, body()), atol=1e-6)


def test_a_fold_keeps_neighbours_on_their_sides():
    """Guides turned far apart: blended, hairs between them would shrink."""
    sim = simulation(2.0, 2.0)
    frame = sim.reset()
    skin = make_skin("linear", hair(), sim)
    alone = make_skin("linear", hair(), guides_of(hair(), 16))
    lengths = [np.linalg.norm(np.diff(one(frame), axis=1), axis=2).sum(axis=1) for one in (skin, alone)]
    np.testing.assert_allclose(lengths[0], hair().lengths, rtol=1e-5)
    assert (lengths[1] / lengths[0]).min() < 0.95


# -- solids ------------------------------------------------------------------------------------------------------------


def test_the_physical_skin_leaves_solids_where_hair_really_is():
    """A ball in the way of hair at rest turns carried hairs out as it does those of a rigid head."""
    # In place of the body, whose pose comes first, something that nobody touches.
    solids = [Solid(Sphere((9.0, 9.0, 9.0), 0.01)), Solid(Sphere((0.2, 0.25, -0.1), 0.05))]
    mesh, guides = body().mesh, guides_of(hair(), 16)
    animated = Solid.animated(mesh, [0.0], ELSEWHERE.apply(mesh.points)[None])
    rides = Simulation(guides, body=animated, collide_with_body=False)
    rigid = Simulation(guides)
    still = (Pose.identity(), Pose.identity())
    frames = [replace(sim.reset(pose), solid_poses=still) for sim, pose in ((rides, STILL), (rigid, ELSEWHERE))]
    fading = [
        replace(frame, weight=np.where(np.arange(16) < 4, 0, frame.weight).astype(np.float32)) for frame in frames
    ]
    skins = [PhysicalSkin(hair(), guides, rest=rigid.rest, solids=solids) for _ in frames]
    skins[0].grow_on(animated)
    for one, other in (frames, fading):
        out = [skin(frame).copy() for skin, frame in zip(skins, (one, other), strict=True)]
        np.testing.assert_allclose(out[0], out[1], atol=2e-5)
        free = PhysicalSkin(hair(), guides, rest=rigid.rest)(other)
        assert np.abs(out[1] - free).max() > 1e-3


def test_the_physical_skin_leaves_the_body_that_it_rides_on():
    """Guides bent over into the squashed body: hairs that follow them in are turned out, and stay on their roots."""
    frame, guides = moved()[-1], simulation().guides
    centre = frame.solid_poses[0].position.astype(np.float32)
    along = np.linspace(0, 1, guides.vertex_count, dtype=np.float32)[:, None]
    pressed = replace(frame, points=frame.points + 0.7 * along * (centre - frame.points))
    skins = [PhysicalSkin(hair(), guides, rest=simulation().rest, solids=solids) for solids in ((), [body()])]
    posed = body().placed(frame.solid_poses[0], frame.time)
    depths = []
    for skin in skins:
        skin.grow_on(body())
        points = skin(pressed).copy()
        np.testing.assert_allclose(points[:, 0], carried(frame, body())[:, 0], atol=ROUNDING)
        depths.append(-np.minimum(posed.distance(points[:, 1:].reshape(-1, 3)), 0).mean())
    assert depths[0] > 2e-3
    assert depths[1] < 0.5 * depths[0]


# -- the pieces --------------------------------------------------------------------------------------------------------


def test_guides_are_seen_from_their_roots():
    frame = moved()[-1]
    seen = in_rest_pose(frame, simulation().guides.rest)
    turned = frame.root_rotations.astype(np.float64)
    back = (
        quaternion.rotate(turned[:, None], seen.points - seen.roots[:, None].astype(np.float64)) + frame.roots[:, None]
    )
    np.testing.assert_allclose(back, frame.points, atol=ROUNDING)
    np.testing.assert_allclose(quaternion.rotate(turned[:, None], seen.cut_force), frame.cut_force, atol=1e-9)
    turned_back = quaternion.multiply(turned[:, None], seen.orientations)
    assert np.abs(np.abs((turned_back * frame.orientations).sum(axis=2)) - 1).max() < 1e-6
    np.testing.assert_array_equal(seen.roots, simulation().guides.roots)
    assert seen.is_rest_pose
    assert seen.time == frame.time


def test_inserted_guides_are_seen_from_theirs():
    frame = moved()[-1]
    names = ("points", "velocity", "orientations", "cut_force", "roots", "root_rotations")
    rest = simulation().guides.rest
    twins = InsertedGuides(
        parents=np.array([[0, 1], [2, 3]]),
        weight=np.ones(2, np.float32),
        rest=rest[4:6],
        **{name: getattr(frame, name)[4:6] for name in names},
    )
    seen = in_rest_pose(replace(frame, inserted=twins), rest)
    for name in names:
        np.testing.assert_array_equal(getattr(seen.inserted, name), getattr(seen, name)[4:6])


def test_carrying_back_undoes_carrying():
    carry = RootCarry(hair(), simulation().guides, body())
    frame, rows = moved()[3], np.array([3, 17, 40])
    points = hair().as_uniform()[rows]
    carry.carry(frame, points, rows)
    np.testing.assert_allclose(points, carried(frame, body())[rows], atol=ROUNDING)
    carry.back(frame, points, rows)
    np.testing.assert_allclose(points, hair().as_uniform()[rows], atol=ROUNDING)
    assert carry.nbytes > 0


def test_what_hair_does_to_its_guides_turns_with_their_roots():
    rng = np.random.default_rng(0)
    force = rng.normal(size=(5, 4, 3))
    six = rng.normal(size=(5, 4, 6))
    turned = quaternion.random(5, rng)
    world = load_in_world(GuideLoad(force, six), turned)
    velocity = rng.normal(size=(5, 4, 3))

    def times(resistance, v):
        xx, yy, zz, xy, xz, yz = np.moveaxis(resistance, -1, 0)
        x, y, z = np.moveaxis(v, -1, 0)
        return np.stack([xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z], axis=-1)

    def turn(v):
        return quaternion.rotate(turned.astype(np.float64)[:, None], v)

    np.testing.assert_allclose(world.force, turn(force), atol=1e-6)
    np.testing.assert_allclose(times(world.resistance, turn(velocity)), turn(times(six, velocity)), atol=1e-5)
    assert load_in_world(GuideLoad(force), turned).resistance is None


def test_a_frame_without_the_pose_of_the_body_is_refused():
    skin = make_skin("linear", hair(), simulation())
    with pytest.raises(ValueError, match=r"frame\.solid_poses: must begin with that of the body"):
        skin(replace(moved()[0], solid_poses=()))


def test_hair_too_far_from_the_skin_is_refused():
    away = Groom.from_uniform(hair().as_uniform() + np.float32([0, 3, 0]))
    with pytest.raises(ValueError, match=r"groom\.roots: must be within .* m of the skin, got 2.97 m at strand 0"):
        make_skin("linear", away, simulation())
