"""The shapes of a sculpture against plain NumPy."""

import numpy as np
import pytest

from mane.body.implicit import Sculpture
from mane.body.surface_nets import implicit_gradient


@pytest.fixture
def points():
    return np.random.default_rng(4).uniform(-0.1, 0.1, (500, 3))


def smooth_min(a, b, blend):
    h = np.maximum(blend - np.abs(a - b), 0) / blend
    return np.minimum(a, b) - h**3 * blend / 6


def ball_distance(points, centre, radius):
    return np.linalg.norm(points - centre, axis=1) - radius


def capsule_distance(points, a, b, radius):
    along = np.asarray(b) - a
    t = np.clip((points - a) @ along / (along @ along), 0, 1)
    return np.linalg.norm(points - a - t[:, None] * along, axis=1) - radius


def test_a_ball_is_an_exact_distance(points):
    form = Sculpture()
    form.ellipsoid((0.01, 0.02, 0.0), (0.05, 0.05, 0.05))
    np.testing.assert_allclose(form(points), ball_distance(points, (0.01, 0.02, 0.0), 0.05), atol=1e-14)


def test_an_ellipsoid_is_zero_on_its_surface_and_has_unit_slope_there():
    radii, axes = np.array([0.03, 0.05, 0.08]), np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    form = Sculpture()
    form.ellipsoid((0.0, 0.0, 0.0), tuple(radii), axes=axes)
    direction = np.random.default_rng(2).normal(size=(200, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    surface = (direction * radii) @ axes
    assert np.abs(form(surface)).max() < 1e-14
    slope = np.linalg.norm(implicit_gradient(form, surface, 1e-6), axis=1)
    np.testing.assert_allclose(slope, 1.0, atol=1e-4)


def test_a_tube_of_even_radius_is_the_nearest_of_its_capsules(points):
    corners = [(-0.05, 0.0, 0.0), (0.0, 0.03, 0.01), (0.05, 0.0, -0.02)]
    form = Sculpture()
    form.tube(corners, [0.01] * 3, blend=0.02)
    expected = np.minimum(
        capsule_distance(points, corners[0], corners[1], 0.01), capsule_distance(points, corners[1], corners[2], 0.01)
    )
    np.testing.assert_allclose(form(points), expected, atol=1e-14)


def test_a_cone_holds_every_ball_between_its_ends(points):
    a, b, ra, rb = np.array([-0.04, 0.0, 0.01]), np.array([0.05, 0.02, 0.0]), 0.03, 0.01
    form = Sculpture()
    form.tube([tuple(a), tuple(b)], [ra, rb])
    share = np.linspace(0, 1, 4001)
    balls = np.linalg.norm(points[:, None] - (a + share[:, None] * (b - a)), axis=2) - (ra + share * (rb - ra))
    # The hull of all balls between the ends, sampled every 1/4000 of 0.09 m; off by the square of that over a radius.
    np.testing.assert_allclose(form(points), balls.min(axis=1), atol=1e-7)


@pytest.mark.parametrize("operation", ["add", "cut", "keep"])
def test_operations_blend(points, operation):
    a, b = ball_distance(points, (0, 0, 0), 0.06), ball_distance(points, (0.05, 0, 0), 0.04)
    expected = {
        "add": smooth_min(a, b, 0.03),
        "cut": -smooth_min(-a, b, 0.03),
        "keep": -smooth_min(-a, -b, 0.03),
    }[operation]
    form = Sculpture()
    form.ellipsoid((0, 0, 0), (0.06, 0.06, 0.06))
    form.ellipsoid((0.05, 0, 0), (0.04, 0.04, 0.04), operation, blend=0.03)
    np.testing.assert_allclose(form(points), expected, atol=1e-14)


def test_a_bump_lifts_the_surface_and_a_plane_cuts_it(points):
    form = Sculpture()
    form.ellipsoid((0, 0, 0), (0.06, 0.06, 0.06))
    form.bump((0, 0.06, 0), (0.02, 0.03, 0.02), 0.005)
    form.plane((0, -0.02, 0), (0, -1, 0))
    bell = 0.005 * np.exp(-(((points - (0, 0.06, 0)) / (0.02, 0.03, 0.02)) ** 2).sum(axis=1))
    expected = np.maximum(ball_distance(points, (0, 0, 0), 0.06) - bell, -0.02 - points[:, 1])
    # The kernel drops the bell's tail: 0.005 exp(-25) = 7e-14.
    np.testing.assert_allclose(form(points), expected, atol=1e-13)


def test_a_part_keeps_its_cuts_to_itself(points):
    whole, part, hole = (
        ball_distance(points, c, r) for c, r in (((0, 0, 0), 0.05), ((0.06, 0, 0), 0.03), ((0.03, 0, 0), 0.02))
    )
    form = Sculpture()
    form.ellipsoid((0, 0, 0), (0.05, 0.05, 0.05))
    form.ellipsoid((0.06, 0, 0), (0.03, 0.03, 0.03), part=True)
    form.ellipsoid((0.03, 0, 0), (0.02, 0.02, 0.02), "cut", part=True)
    form.merge()
    np.testing.assert_allclose(form(points), np.minimum(whole, np.maximum(part, -hole)), atol=1e-14)


def test_mirrored_shapes_appear_on_both_sides_without_a_crease(points):
    form = Sculpture(fold=0.004)
    form.ellipsoid((0.03, 0, 0), (0.05, 0.05, 0.05), mirrored=True)
    mirrored = points * (-1, 1, 1)
    np.testing.assert_array_equal(form(points), form(mirrored))
    middle = points * (0, 1, 1)
    # Even and smooth in x: the slope across the mirror plane is zero.
    np.testing.assert_allclose(implicit_gradient(form, middle, 1e-5)[:, 0], 0.0, atol=1e-9)


def test_unknown_operations_are_refused():
    with pytest.raises(ValueError, match="operation: 'melt' is unknown; choose from add, cut, keep"):
        Sculpture().ellipsoid((0, 0, 0), (1, 1, 1), "melt")


def test_values_do_not_depend_on_which_points_are_asked_together(points):
    """Points go through the kernel in blocks, and shapes far from a whole block are skipped."""
    form = Sculpture()
    form.ellipsoid((0.0, 0.0, 0.0), (0.06, 0.02, 0.05), blend=0.01)
    form.tube(
        [(0.02, 0.0, 0.0), (0.05, 0.03, 0.0), (0.06, 0.06, 0.02)], [0.01, 0.006, 0.004], blend=0.01, mirrored=True
    )
    form.ellipsoid((0.03, 0.01, 0.04), (0.02, 0.004, 0.01), "cut", blend=0.02, mirrored=True)
    form.bump((0.0, 0.02, 0.0), (0.01, 0.02, 0.01), 0.002)
    together = form(points)
    alone = np.concatenate([form(points[i : i + 1]) for i in range(len(points))])
    # Only a bell's tail is dropped: 0.002 exp(-25) = 3e-14.
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-13)


def test_threads_change_no_byte(points, on_threads):
    form = Sculpture()
    form.ellipsoid((0.0, 0.0, 0.0), (0.06, 0.02, 0.05))
    form.tube([(0.02, 0.0, 0.0), (0.05, 0.03, 0.0)], [0.01, 0.006], blend=0.01, mirrored=True)
    on_threads(lambda: form(points))
