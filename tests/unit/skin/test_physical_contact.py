"""The penetration torque of the physical skin: hairs out of solids, the others left alone."""

from dataclasses import replace

import numpy as np
import pytest
from plain_physical import given_to
from skin_frames import SOMEWHERE, curls, frame_of, guides_of, other_guides

from mane.body.motion import Pose
from mane.body.sdf import build_sdf
from mane.body.shapes import Box, Sphere
from mane.body.solid import Solid
from mane.skin.physical._kernels_contact_sweeps import exact_multiplier
from mane.skin.physical.skin import PhysicalSkin

RADIUS = 0.05
BALL = Solid(Sphere((0.0, 0.0, 0.0), RADIUS))


def inside(points, pose):
    """How deep each vertex is inside the ball [m], roots apart."""
    local = pose.inverse_apply(points[:, 1:].reshape(-1, 3).astype(np.float64))
    return np.maximum(RADIUS - np.linalg.norm(local, axis=1), 0).reshape(len(points), -1)


@pytest.fixture(scope="module")
def scene():
    groom = curls(200, 16)
    guides = guides_of(groom, 20)
    above = SOMEWHERE.compose(Pose(np.array([0.0, 0.19, 0.0]), np.array([0.0, 0.0, 0.0, 1.0])))
    return groom, guides, replace(frame_of(guides, SOMEWHERE), solid_poses=(above,)), above


def test_hairs_in_a_solid_are_turned_out_of_it_and_others_stay(scene):
    groom, guides, frame, pose = scene
    plain = PhysicalSkin(groom, guides)(frame)
    resolved = PhysicalSkin(groom, guides, solids=[BALL])(frame)
    depth = inside(plain, pose)
    hit = depth.max(axis=1) > 0
    assert 10 <= hit.sum() < 150
    np.testing.assert_array_equal(resolved[~hit], plain[~hit])
    assert inside(resolved, pose).sum() < 0.4 * depth.sum()


@pytest.mark.parametrize("settings", [{}, {"load": "force"}, {"stretch": "paper"}, {"drift_from": "unloaded"}])
def test_the_kernel_is_its_reference_for_several_solids(scene, settings):
    """A ball and a slab in a pose of its own, nearest first."""
    groom, _, _, pose = scene
    guides = other_guides(20, 16)
    slab = Solid(Box((0.02, 0.0, 0.0), (0.1, 0.01, 0.1)))
    frame = replace(frame_of(guides, SOMEWHERE), solid_poses=(pose, pose))
    given = given_to(groom, guides, frame, **settings)

    def distance(points):
        local = pose.inverse_apply(points)
        each = [solid.shape.distance_and_gradient(local.astype(np.float32)) for solid in (BALL, slab)]
        nearest = np.stack([d for d, _ in each]).argmin(axis=0)
        depth, gradient = (np.stack([one[n] for one in each])[nearest, np.arange(len(local))] for n in (0, 1))
        return depth.astype(np.float64), gradient @ pose.matrix[:3, :3].T

    free, pushed = given.swept(), given.swept(distance=distance)
    hit = distance(free[:, 1:].reshape(-1, 3))[0].reshape(len(free), -1).min(axis=1) < 0
    assert 20 < hit.sum() < 180
    found = PhysicalSkin(groom, guides, solids=[BALL, slab], **settings)(frame)
    # Float32 against float64; a segment that ends on a surface, or as near to the one solid as to the other, may be
    # pushed in the one and not in the other.
    assert (np.abs(found[hit] - pushed[hit]).max(axis=(1, 2)) < 2e-5).mean() > 0.9
    np.testing.assert_allclose(found[~hit], free[~hit], atol=1e-6)


def test_an_animated_mesh_turns_hairs_out_where_it_is_now(scene):
    """A ball of triangles that comes from afar does what a rigid one does once it is there, and nothing before."""
    groom, guides, frame, pose = scene
    mesh = Sphere((0.0, 0.0, 0.0), RADIUS).mesh(64)
    solid = Solid.animated(mesh, [0.0, 1.0], [mesh.points + np.float32([3, 0, 0]), mesh.points])
    plain, skin = PhysicalSkin(groom, guides)(frame).copy(), PhysicalSkin(groom, guides, solids=[solid])
    np.testing.assert_array_equal(skin(replace(frame, time=0.0)), plain)
    found = skin(replace(frame, time=1.0))
    expected = PhysicalSkin(groom, guides, solids=[Solid(mesh, field=build_sdf(mesh, 128, cache=False))])(frame)
    hit = inside(plain, pose).max(axis=1) > 0
    # Deep inside, the way out differs by some degrees.
    away = np.abs(found - expected).max(axis=(1, 2))[hit]
    assert np.median(away) < 5e-4
    assert away.max() < 0.3 * np.abs(found - plain)[hit].max()
    assert inside(found, pose).sum() == pytest.approx(inside(expected, pose).sum(), rel=0.05)
    np.testing.assert_array_equal(found[~hit], plain[~hit])
    # Among other solids it is the same.
    both = PhysicalSkin(groom, guides, solids=[solid, Solid(Sphere((5.0, 0.0, 0.0), 0.1))])
    again = both(replace(frame, time=1.0, solid_poses=(pose, pose)))
    np.testing.assert_allclose(again, found, atol=1e-7)
    assert both.nbytes > 0


def test_lengths_are_kept_in_a_solid(scene):
    groom, guides, frame, _ = scene
    resolved = PhysicalSkin(groom, guides, solids=[BALL])(frame)
    rest = np.linalg.norm(np.diff(groom.as_uniform(), axis=1), axis=2)
    np.testing.assert_allclose(np.linalg.norm(np.diff(resolved, axis=1), axis=2), rest, rtol=2e-4)


def test_a_harder_push_leaves_less_inside(scene):
    groom, guides, frame, pose = scene
    left = [
        inside(PhysicalSkin(groom, guides, solids=[BALL], penetration=push)(frame), pose).sum()
        for push in (0.1, 0.5, 1.0)
    ]
    assert left[0] > left[1] > left[2]


def test_every_solid_needs_its_pose(scene):
    groom, guides, frame, _ = scene
    skin = PhysicalSkin(groom, guides, solids=[BALL, BALL])
    with pytest.raises(ValueError, match=r"frame\.solid_poses: must hold a pose for each of the 2 solids, got 1"):
        skin(frame)


def test_solids_want_no_warm_start(scene):
    groom, guides, _, _ = scene
    with pytest.raises(ValueError, match="solids: must be none with warm_start 'previous'"):
        PhysicalSkin(groom, guides, solids=[BALL], warm_start="previous")


@pytest.mark.parametrize("count", [2, 4])
def test_several_sweeps_with_the_torque_are_their_reference(scene, count):
    groom, guides, frame, pose = scene
    given = given_to(groom, guides, frame, sweeps=count)

    def distance(points):
        depth, gradient = BALL.shape.distance_and_gradient(pose.inverse_apply(points).astype(np.float32))
        return depth.astype(np.float64), gradient @ pose.matrix[:3, :3].T

    pushed = given.swept(count, distance)
    skin = PhysicalSkin(groom, guides, solids=[BALL], sweeps=count)
    free, found = PhysicalSkin(groom, guides, sweeps=count)(frame).copy(), skin(frame)
    hit = inside(free, pose).max(axis=1) > 0
    assert 10 <= hit.sum() < 150
    np.testing.assert_array_equal(found[~hit], free[~hit])
    # Distances are of float32: a segment that ends on the surface may be pushed in the one and not in the other.
    assert (np.abs(found[hit] - pushed[hit]).max(axis=(1, 2)) < 2e-5).mean() > 0.9
    assert inside(found, pose).sum() < 0.5 * inside(free, pose).sum()


def test_converged_hairs_leave_a_solid(scene):
    groom, guides, frame, pose = scene
    free = PhysicalSkin(groom, guides, sweeps="converged")(frame)
    found = PhysicalSkin(groom, guides, solids=[BALL], sweeps="converged")(frame)
    assert inside(found, pose).sum() < 0.5 * inside(free, pose).sum()


def test_threads_change_no_byte(scene, on_threads):
    groom, guides, frame, _ = scene
    on_threads(lambda: PhysicalSkin(groom, guides, solids=[BALL])(frame))


def test_the_exact_multiplier_is_the_root_of_eq_16():
    """Quartic in the multiplier; its largest root, or |v| itself where nothing of b is along that eigenspace."""
    rng = np.random.default_rng(4)
    for size, plus, minus in 10 ** rng.uniform([-3, -9, -6], [3, 2, 2], (300, 3)):
        found = exact_multiplier(plus, minus, size)
        below, above = found - size, found + size
        assert below > 0
        assert plus / below**2 + minus / above**2 == pytest.approx(1.0, rel=1e-6)
    assert exact_multiplier(0.0, 1.0, 0.2) == pytest.approx(0.8)
    assert exact_multiplier(0.0, 1.0, 3.0) == pytest.approx(3.0)
