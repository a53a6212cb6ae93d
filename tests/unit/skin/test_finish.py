"""Finishing passes: hairs out of solids with their lengths kept, and splines through their vertices."""

from dataclasses import replace

import numpy as np
import pytest
from skin_frames import SOMEWHERE, curls, frame_of, guides_of, shaken

from mane.body import shapes
from mane.body.motion import Pose
from mane.body.sdf import build_sdf
from mane.body.solid import Solid
from mane.skin.blend import BlendedSkin
from mane.skin.finish._kernels import CHUNK
from mane.skin.finish.passes import HermiteSubdivision, SolidAdjustment, adjusted
from mane.skin.linear.skin import LinearSkin
from mane.skin.table import SKINS, make_skin

BALL = shapes.Sphere((0.0, 0.12, 0.0), 0.05)


def hairs_and_frame(*poses):
    groom = curls(80, 16)
    guides = guides_of(groom, 10)
    return groom.as_uniform().copy(), replace(frame_of(guides), solid_poses=poses)


def lengths(points):
    return np.linalg.norm(np.diff(points, axis=1), axis=2)


@pytest.mark.parametrize(("rounds", "strict"), [(1, False), (3, False), (3, True)])
def test_the_kernel_does_what_the_plain_sweep_does(rounds, strict):
    away = Pose(np.array([0.01, 0.02, 0.0]), SOMEWHERE.rotation)
    points, frame = hairs_and_frame(away)
    solid = Solid(shapes.Union((BALL, shapes.Capsule((0, 0.1, 0), (0.2, 0.1, 0), 0.02))))

    def distance(places):
        depth, gradient = solid.shape.distance_and_gradient(away.inverse_apply(places))
        return depth, gradient @ away.matrix[:3, :3].T

    expected = adjusted(points, distance, 0.002, rounds, strict=strict)
    assert np.abs(expected - points).max() > 0.01
    found = SolidAdjustment([solid], thickness=0.002, rounds=rounds, strict=strict)(points, frame)
    # Float32 against float64; at the union's creases a vertex may fall to the other side, which few do.
    close = np.abs(found - expected).max(axis=(1, 2)) < 1e-5
    assert close.mean() > 0.95


def test_no_vertex_but_the_root_stays_inside():
    points, frame = hairs_and_frame(Pose.identity())
    found = SolidAdjustment([Solid(BALL)], thickness=0.001)(points, frame)
    assert found is points
    assert BALL.distance(found[:, 1:].reshape(-1, 3)).min() > 0.001 - 1e-6


def test_lengths_are_kept_beyond_moved_vertices_and_found_again_at_them():
    points, frame = hairs_and_frame(Pose.identity())
    before = lengths(points)
    error = {}
    for rounds in (1, 8):
        moved = SolidAdjustment([Solid(BALL)], rounds=rounds)(points.copy(), frame)
        # A vertex off the surface afterwards was not pushed, only drawn along behind the one before it.
        drawn = BALL.distance(moved[:, 1:].reshape(-1, 3)).reshape(before.shape) > 1e-4
        np.testing.assert_allclose(lengths(moved)[drawn], before[drawn], rtol=1e-4)
        error[rounds] = np.abs(lengths(moved)[~drawn] / before[~drawn] - 1).mean()
    assert error[8] < 0.5 * error[1]


def test_hair_that_points_at_a_solid_turns_aside_and_keeps_its_length():
    """Straight into a ball: to be pushed back along a segment and drawn out again along it is to stay inside."""
    _, frame = hairs_and_frame(Pose.identity())
    along = np.linspace(0.0, 0.12, 13, dtype=np.float32)
    points = np.zeros((30, 13, 3), np.float32)
    points[:, :, 0] = np.linspace(-0.01, 0.01, 30)[:, None]
    points[:, :, 1] = along
    before = lengths(points)
    found = SolidAdjustment([Solid(BALL)], rounds=8, strict=True)(points, frame)
    assert BALL.distance(found.reshape(-1, 3)).min() > -1e-6
    np.testing.assert_allclose(lengths(found), before, rtol=1e-3)


def test_hair_in_a_notch_finds_a_way_out_with_its_length():
    """Between two teeth, 6 mm apart, the way out of either leads into the other, and segments are 12 mm long."""
    teeth = shapes.Union([shapes.Box((x, 0.02, 0.0), (0.005, 0.02, 0.05)) for x in (-0.008, 0.008)])
    _, frame = hairs_and_frame(Pose.identity())
    rng = np.random.default_rng(3)
    points = np.zeros((60, 3, 3), np.float32)
    points[:, 0] = rng.uniform([-0.002, 0.02, -0.02], [0.002, 0.035, 0.02], (60, 3))
    way = rng.normal(size=(60, 2, 3)).astype(np.float32)
    points[:, 1:] = points[:, :1] + np.cumsum(0.012 * way / np.linalg.norm(way, axis=2, keepdims=True), axis=1)
    assert (teeth.distance(points[:, 1]) < 0).mean() > 0.3
    before = lengths(points)
    found = SolidAdjustment([Solid(teeth)], rounds=4, strict=True)(points, frame)
    assert teeth.distance(found.reshape(-1, 3)).min() > -1e-6
    np.testing.assert_allclose(lengths(found), before, rtol=0.01)


def test_hairs_that_touch_nothing_stay_as_they_are():
    points, frame = hairs_and_frame(Pose(np.array([5.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 1.0])))
    before = points.copy()
    np.testing.assert_array_equal(SolidAdjustment([Solid(BALL)])(points, frame), before)


def test_a_mesh_pushes_like_the_shape_that_it_stands_for():
    points, frame = hairs_and_frame(Pose.identity())
    mesh = BALL.mesh(96)
    by_mesh = Solid(mesh, field=build_sdf(mesh, 64, cache=False))
    found = SolidAdjustment([by_mesh])(points, frame)
    # Cells of 1.8 mm on a ball of 5 cm: h^2 / 4 r = 16 um, and the facets' sagitta of 27 um.
    assert BALL.distance(found[:, 1:].reshape(-1, 3)).min() > -1e-4


def test_an_animated_mesh_pushes_where_it_is_now():
    points, frame = hairs_and_frame(Pose.identity())
    mesh = BALL.mesh(48)
    away = mesh.points + np.float32([3, 0, 0])
    moving = Solid.animated(mesh, [0.0, 1.0], [away, mesh.points])
    adjust = SolidAdjustment([moving])
    before = points.copy()
    np.testing.assert_array_equal(adjust(points, frame), before)
    found = adjust(points, replace(frame, time=1.0))
    assert BALL.distance(found[:, 1:].reshape(-1, 3)).min() > -2e-4  # the sagitta of 48 facets is 107 um


def test_a_mesh_that_deforms_pushes_like_a_rigid_one():
    """The same ball at rest and after it came from half its size, while it is carried along and turned."""
    away = Pose(np.array([0.01, 0.02, 0.0]), SOMEWHERE.rotation)
    points, frame = hairs_and_frame(away)
    mesh = BALL.mesh(96)
    small = np.float32(BALL.center) + np.float32(0.5) * (mesh.points - np.float32(BALL.center))
    moving = Solid.animated(mesh, [0.0, 1.0], [small, mesh.points])
    rigid = Solid(mesh, field=build_sdf(mesh, 128, cache=False))
    adjust = SolidAdjustment([moving], thickness=0.001)
    half = adjust(points.copy(), replace(frame, time=0.0))
    found = adjust(points.copy(), replace(frame, time=1.0))
    expected = SolidAdjustment([rigid], thickness=0.001)(points.copy(), frame)
    assert (half != points).any(axis=(1, 2)).sum() < (found != points).any(axis=(1, 2)).sum()
    np.testing.assert_array_equal((found != points).any(axis=2), (expected != points).any(axis=2))
    # Their nodes lie elsewhere: gradients differ by some h / r, 0.9 mm over 50 mm, over depths of up to 50 mm.
    assert np.quantile(np.abs(found - expected).max(axis=(1, 2)), 0.9) < 1e-3
    local = away.inverse_apply(found[:, 1:].reshape(-1, 3))
    assert BALL.distance(local).min() > 0.001 - 1e-4
    # Asked again for a time before, it is as it was.
    np.testing.assert_array_equal(adjust(points.copy(), replace(frame, time=0.0)), half)


def test_threads_change_no_byte(on_threads):
    """As many vertices as a thread looks at in one go, and half as many again."""
    groom = curls(800, 16)
    frame = replace(frame_of(guides_of(groom, 10)), solid_poses=(Pose.identity(),))
    assert 2 * CHUNK > groom.point_count > CHUNK
    moved = on_threads(lambda: SolidAdjustment([Solid(BALL)])(groom.as_uniform().copy(), frame))
    assert (moved != groom.as_uniform()).any(axis=(1, 2)).sum() > 100
    mesh = BALL.mesh(48)
    moving = [mesh.points, mesh.points * np.float32(1.1)]
    on_threads(lambda: SolidAdjustment([Solid.animated(mesh, [-1, 1], moving)])(groom.as_uniform().copy(), frame))


def test_poses_and_settings_that_make_no_sense_are_refused():
    points, frame = hairs_and_frame()
    with pytest.raises(ValueError, match=r"frame.solid_poses: must hold a pose for each of the 1 solids, got 0"):
        SolidAdjustment([Solid(BALL)])(points, frame)
    with pytest.raises(ValueError, match="thickness: must be at least 0"):
        SolidAdjustment([], thickness=-1)
    with pytest.raises(ValueError, match="rounds: must be at least 1"):
        SolidAdjustment([], rounds=0)
    with pytest.raises(ValueError, match="levels: must be a whole number of at least 1, got 0"):
        HermiteSubdivision(0)


# -- splines ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [1, 3])
def test_vertices_stay_and_parabolas_remain_parabolas(levels):
    t = np.linspace(0, 1, 7)
    curve = np.stack([t, t * t, 3 * t - 2 * t * t], axis=1)[None]
    fine = HermiteSubdivision(levels)(curve.astype(np.float32))
    pieces = 2**levels
    np.testing.assert_array_equal(fine[:, ::pieces], curve.astype(np.float32))
    t = np.linspace(0, 1, 6 * pieces + 1)
    np.testing.assert_allclose(fine[0], np.stack([t, t * t, 3 * t - 2 * t * t], axis=1), atol=5e-7)


def test_the_error_on_a_circle_falls_with_the_third_power_of_the_step():
    """Hermite interpolation is of fourth order, tangents by central differences leave third: ratio 8 per halving."""
    worst = []
    for vertices in (17, 33, 65):
        angle = np.linspace(0, np.pi, vertices)
        circle = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)[None].astype(np.float32)
        fine = HermiteSubdivision(2)(circle)[0].astype(np.float64)
        worst.append(np.abs(np.linalg.norm(fine, axis=1) - 1).max())
    assert worst[0] / worst[1] > 7
    assert worst[1] / worst[2] > 7


def test_a_strand_of_two_vertices_stays_straight():
    line = np.array([[[0, 0, 0], [1, 2, 3]]], np.float32)
    np.testing.assert_allclose(HermiteSubdivision(2)(line)[0], np.linspace(0, 1, 5)[:, None] * [1, 2, 3], atol=1e-6)


def test_threads_change_no_byte_of_splines(on_threads):
    groom = curls(80, 16)
    on_threads(lambda: HermiteSubdivision(2)(groom.as_uniform()))


def test_the_buffer_is_reused():
    smooth = HermiteSubdivision(1)
    first = smooth(np.zeros((4, 5, 3), np.float32))
    assert first.shape == (4, 9, 3)
    assert smooth(np.ones((4, 5, 3), np.float32)) is first


# -- skins by name, and blends of them -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rigid", "linear"])
def test_skins_are_made_by_name_with_their_settings(name):
    groom = curls(50, 8)
    skin = make_skin(name, groom, guides_of(groom, 5), binding="single")
    np.testing.assert_allclose(skin(frame_of(skin.guides)), groom.as_uniform(), atol=1e-5)
    assert skin.nbytes > groom.points.nbytes


def test_unknown_skins_are_refused():
    groom = curls(5, 4)
    with pytest.raises(
        ValueError,
        match=f"skin: 'liner' is unknown; choose from {', '.join(SKINS)}; did you mean 'linear'",
    ):
        make_skin("liner", groom, guides_of(groom, 2))


def test_a_blend_lies_between_its_skins():
    groom = curls(30, 9)
    guides = guides_of(groom, 6)
    first, second = LinearSkin(groom, guides), LinearSkin(groom, guides, binding="single")
    frame = shaken(guides)
    mixed = BlendedSkin(first, second, 0.25)(frame)
    np.testing.assert_allclose(mixed, 0.75 * first(frame) + 0.25 * second(frame), atol=2e-7)
    with pytest.raises(ValueError, match="share: must be between 0 and 1"):
        BlendedSkin(first, second, 2)
    with pytest.raises(ValueError, match="must be bound to the same groom"):
        BlendedSkin(first, LinearSkin(groom, guides_of(groom, 5)))
