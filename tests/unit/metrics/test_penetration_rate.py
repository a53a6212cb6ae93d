"""Penetration against spheres, where depth is known."""

import numpy as np
import pytest
from known_curves import many, straight

from mane.body import shapes
from mane.body.motion import Pose
from mane.body.motion_keys import KeyframedMotion
from mane.body.packed import PackedSolid
from mane.body.solid import Solid
from mane.metrics.penetration import Penetration, penetration, penetration_depth

BALL = Solid(shapes.Sphere((0.0, 0.0, 0.0), 0.1))


def radial(radii, strands=2):
    """Strands along +x with vertices at the given distances from the origin."""
    return many(np.asarray(radii)[:, None] * np.array([1.0, 0.0, 0.0]), strands)


def test_rate_and_depth_of_known_points():
    points = radial([0.12, 0.10, 0.09, 0.05, 0.2])
    np.testing.assert_allclose(penetration_depth(points, [BALL])[0], [0, 0, 0.01, 0.05, 0], atol=1e-7)
    found = penetration(points, [BALL])
    assert found.rate == pytest.approx(2 / 5)
    assert found.deepest == pytest.approx(0.05, abs=1e-7)


def test_roots_on_the_skin_do_not_count():
    found = penetration(radial([0.1 - 5e-5, 0.12, 0.14]), [BALL])
    assert found == Penetration(0.0, 0.0)
    assert penetration(radial([0.1 - 5e-5, 0.12, 0.14]), [BALL], tolerance=0.0).rate == pytest.approx(1 / 3)


def test_the_deepest_of_several_solids_counts_once():
    other = Solid(shapes.Sphere((0.12, 0.0, 0.0), 0.1))
    depth = penetration_depth(radial([0.03, 0.06, 0.09]), [BALL, other])
    np.testing.assert_allclose(depth[0], [0.07, 0.04, 0.07], atol=1e-7)


def test_a_solid_is_taken_where_it_is_at_the_time():
    motion = KeyframedMotion([0.0, 1.0], [[0, 0, 0], [1, 0, 0]], [[0, 0, 0, 1], [0, 0, 0, 1]])
    ball = Solid(shapes.Sphere((0.0, 0.0, 0.0), 0.1), motion)
    assert penetration(radial([1.0, 1.05, 2.0]), [ball.at(0.0)]).rate == 0
    assert penetration(radial([1.0, 1.05, 2.0]), [ball.at(1.0)]).rate == pytest.approx(2 / 3)


def test_depth_in_a_mesh_that_deforms_is_sampled_from_its_field():
    """A ball that grows to its size; facets of 96 in a turn lie inside it by 0.1 mm."""
    mesh = BALL.shape.mesh(96)
    growing = PackedSolid.of(Solid.animated(mesh, [0.0, 1.0], [0.5 * mesh.points, mesh.points]))
    points = radial([0.12, 0.10, 0.09, 0.06, 0.2])
    for time, depth in ((0.0, [0, 0, 0, 0, 0]), (0.5, [0, 0, 0, 0.015, 0]), (1.0, [0, 0, 0.01, 0.04, 0])):
        solid = growing.sampled_at(Pose.identity(), time)
        np.testing.assert_allclose(penetration_depth(points, [solid])[0], depth, atol=5e-4)


def test_without_solids_nothing_penetrates():
    assert penetration(many(straight()), []) == Penetration(0.0, 0.0)


def test_a_sequence_is_averaged_as_the_paper_does():
    mean = Penetration.mean([Penetration(0.1, 0.004), Penetration(0.3, 0.0)])
    assert mean.rate == pytest.approx(0.2)
    assert mean.deepest == pytest.approx(0.002)
    with pytest.raises(ValueError, match="at least one frame"):
        Penetration.mean([])
