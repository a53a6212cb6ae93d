"""Opacity shadow maps against transmittances that are known exactly."""

import numpy as np
import pytest

from mane.groom.groom import Groom
from mane.render.camera import Camera
from mane.render.lights import DirectionalLight, PointLight
from mane.render.shadow import HairShadow
from mane.render.strands import SmoothStrands
from mane.render.view import View

FAR_AWAY = View.of_camera(Camera((0.0, 0.0, 1e4), (0.0, 0.0, 0.0)), 64, 64)  # so that nothing is cut finer


def strands(points, width):
    """Straight hairs of constant width from end points (S, 2, 3)."""
    smooth = SmoothStrands.of_groom(Groom.from_uniform(points.astype(np.float32)), FAR_AWAY)
    smooth.width[:] = width
    return smooth


def slab(count, rng, tilt=0.0):
    """Hairs of one length along x, some tilted out of the plane, their middles uniform in a box of 1 x 1 x 0.5 m."""
    middle = rng.uniform([-0.5, -0.5, 0.0], [0.5, 0.5, 0.5], (count, 3))
    half = 0.1 * np.array([np.cos(tilt), 0.0, np.sin(tilt)])
    return np.stack([middle - half, middle + half], axis=1)


@pytest.mark.parametrize("planes", [16, 96])
def test_slab(planes):
    """Light down -z through a uniform slab: exp(-n w l d) after a depth of d, for n hairs per volume."""
    rng = np.random.default_rng(0)
    count, width = 60_000, 2e-4
    shadow = HairShadow(strands(slab(count, rng), width), DirectionalLight((0, 0, 1)), texels=64, planes=planes)
    density = count / 0.5 * width * 0.2  # optical depth per metre
    for depth in (0.05, 0.2, 0.35, 0.5):
        places = np.column_stack([rng.uniform(-0.3, 0.3, (2000, 2)), np.full(2000, 0.5 - depth)])
        mean = shadow.optical_depth(places.astype(np.float32)).mean()
        # 0.36 of the area is asked; as many hairs, give or take their square root, lie before it.
        noise = 1.0 / np.sqrt(0.36 * count * depth / 0.5)
        # Hairs that begin outside of the box are missing from its edges, not from the middle that is asked. A plane
        # sums up whole slabs, exact for a uniform density.
        assert mean == pytest.approx(density * depth, rel=4 * noise + 0.002)
        assert shadow.transmittance(places.astype(np.float32)).mean() == pytest.approx(
            np.exp(-density * depth), abs=0.01
        )


def test_tilted_hair_casts_a_shorter_shadow():
    rng = np.random.default_rng(1)
    below = np.column_stack([rng.uniform(-0.3, 0.3, (4000, 2)), np.full(4000, -0.2)]).astype(np.float32)
    level, tilted = (
        HairShadow(strands(slab(40_000, rng, tilt), 2e-4), DirectionalLight((0, 0, 1)), texels=64).optical_depth(below)
        for tilt in (0.0, 1.0)
    )
    # The x extent of the middle's neighbourhood is complete in both; 14,400 hairs make a noise of 0.8 % each.
    assert tilted.mean() / level.mean() == pytest.approx(np.cos(1.0), rel=4 * 0.012)


def rays_through(segments, radius, points):
    """Which points (M, 3) see straight up +z past all cylinders, shape (M,)."""
    a, d = segments[:, 0, :2], segments[:, 1, :2] - segments[:, 0, :2]
    seen = np.ones(len(points), bool)
    for k, point in enumerate(points):
        t = np.clip(np.einsum("ij,ij->i", point[:2] - a, d) / np.einsum("ij,ij->i", d, d), 0.0, 1.0)
        gap = np.linalg.norm(point[:2] - a - t[:, None] * d, axis=1)
        above = segments[:, 0, 2] + t * (segments[:, 1, 2] - segments[:, 0, 2]) > point[2]
        seen[k] = not ((gap < radius) & above).any()
    return seen


def test_random_bundle_of_cylinders():
    """The share of points that see the light, cylinder by cylinder, is what the map says on average.

    The cylinders are placed at random and are thin against a texel, as hairs are: their shadows overlap like those of
    independent hairs, which is what the exponential stands for.
    """
    rng = np.random.default_rng(2)
    count, radius = 10_000, 2.5e-4
    middle = rng.uniform([-0.25, -0.25, 0.0], [0.25, 0.25, 0.3], (count, 3))
    direction = rng.normal(size=(count, 3))
    direction *= 0.05 / np.linalg.norm(direction, axis=1, keepdims=True)
    segments = np.stack([middle - direction, middle + direction], axis=1)
    points = rng.uniform([-0.15, -0.15, 0.0], [0.15, 0.15, 0.3], (3000, 3)).astype(np.float32)
    shadow = HairShadow(strands(segments, 2 * radius), DirectionalLight((0, 0, 1)), texels=64)
    exact = rays_through(segments, radius, points)
    expected = shadow.transmittance(points)
    # A share of 3000 rays has a standard error of 0.009. Some 20 hairs cross a texel, so its opacity fluctuates by a
    # quarter of itself, and the mean of the exponential exceeds the exponential of the mean by 0.25**2 / 2 of it.
    assert 0.3 < exact.mean() < 0.8
    assert expected.mean() == pytest.approx(exact.mean(), abs=3 * 0.009 + 0.015)
    # And it knows where: points that it calls dark see the light less often, in the proportion that it says.
    for dark in (True, False):
        chosen = (expected < np.median(expected)) == dark
        assert exact[chosen].mean() == pytest.approx(expected[chosen].mean(), abs=3 * 0.013 + 0.02)


def test_point_light_sees_the_same_slab_along_slanted_rays():
    """From a light at height h, the ray to a point at (x, y, z) is longer than its height by the slant, and so is
    the way through the slab; hairs along random directions in space look alike from everywhere."""
    rng = np.random.default_rng(3)
    count, width, length = 60_000, 2e-4, 0.1
    middle = rng.uniform([-0.8, -0.8, 0.0], [0.8, 0.8, 0.3], (count, 3))
    direction = rng.normal(size=(count, 3))
    direction *= 0.5 * length / np.linalg.norm(direction, axis=1, keepdims=True)
    hair = strands(np.stack([middle - direction, middle + direction], axis=1), width)
    light = PointLight((0.0, 0.0, 1.0))
    shadow = HairShadow(hair, light, texels=128)
    density = count / (1.6 * 1.6 * 0.3) * width * length * np.pi / 4  # the mean shadow is pi/4 of length times width
    angle = rng.uniform(0, 2 * np.pi, 3000)
    for ring in (0.05, 0.3):
        below = np.column_stack([ring * np.cos(angle), ring * np.sin(angle), np.full(3000, -0.06)])
        through = 0.3 * np.hypot(1.0, ring / 1.06)
        mean = shadow.optical_depth(below.astype(np.float32)).mean()
        # The ring of 0.05 m sees about 1,000 hairs within the blur of its texels: a noise of 3 %.
        assert mean == pytest.approx(density * through, rel=0.1 if ring == 0.05 else 0.05)
