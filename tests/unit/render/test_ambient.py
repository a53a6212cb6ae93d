"""Light from everywhere against what a ball of hair, a floor and a wall leave of it."""

import numpy as np
import pytest

from mane.body.mesh import Mesh
from mane.groom.groom import Groom
from mane.render.ambient import Sky
from mane.render.camera import Camera
from mane.render.solids import Surfaces
from mane.render.strands import SmoothStrands
from mane.render.view import View

FAR_AWAY = View.of_camera(Camera((0.0, 0.0, 1e4), (0.0, 0.0, 0.0)), 64, 64)  # so that nothing is cut finer
RADIUS = 0.1


def hair_ball(count=60_000, length=0.01, width=2e-4):
    """Short hairs in all directions, spread evenly through a ball; and the hairs crossed per metre."""
    rng = np.random.default_rng(4)
    middle = rng.normal(size=(count, 3))
    middle *= RADIUS * rng.uniform(0, 1, (count, 1)) ** (1 / 3) / np.linalg.norm(middle, axis=1, keepdims=True)
    half = rng.normal(size=(count, 3))
    half *= 0.5 * length / np.linalg.norm(half, axis=1, keepdims=True)
    groom = Groom.from_uniform(np.stack([middle - half, middle + half], axis=1).astype(np.float32))
    smooth = SmoothStrands.of_groom(groom, FAR_AWAY)
    smooth.width[:] = width
    # The mean shadow of a thin cylinder over all directions is pi/4 of its length times its width.
    return smooth, count * length * width * np.pi / 4 / (4 / 3 * np.pi * RADIUS**3)


def test_middle_of_a_ball_is_its_radius_away_from_the_sky():
    strands, density = hair_ball()
    crossed = Sky(strands, None).in_hair(np.zeros((1, 3), np.float32))[0, 2]
    # A cell is 4 mm; the march leaves out the half cell around the point, and as much at the rim.
    assert crossed == pytest.approx(density * RADIUS, rel=0.06)
    assert density * RADIUS > 1.5


def test_it_gets_lighter_towards_the_surface():
    strands, _ = hair_ball()
    places = np.linspace(0.0, 1.0, 6)
    points = np.zeros((6, 3), np.float32)
    points[:, 1] = RADIUS * places
    crossed = Sky(strands, None).in_hair(points)[:, 2]
    assert (np.diff(crossed) < 0).all()
    assert crossed[-1] < 0.5 * crossed[0]


def test_bare_points_see_half_of_each_colour():
    strands, _ = hair_ball(count=10)
    above, below, _ = Sky(strands, None).in_hair(strands.points[:1])[0]
    assert above == pytest.approx(0.5, abs=0.02)
    assert below == pytest.approx(0.5, abs=0.02)


def test_solid_below_hides_the_ground():
    """A wide floor right under the hair leaves the upper half: 3/4 of the sky's part and 1/4 of the ground's."""
    strands, _ = hair_ball(count=10)
    floor = Mesh([[-3, -0.13, -3], [-3, -0.13, 3], [3, -0.13, 3], [3, -0.13, -3]], [[0, 1, 2], [0, 2, 3]])
    above, below, _ = Sky(strands, Surfaces.of_bodies(floor)).in_hair(strands.points[:1])[0]
    # Mean over the upper half of (1 + y) / 2 is 3/4, of (1 - y) / 2 it is 1/4; the half counts for a half.
    assert above == pytest.approx(0.375, abs=0.02)
    assert below == pytest.approx(0.125, abs=0.02)


def floor_and_probe(at, *others):
    """A floor with a small triangle lying on it, whose light is asked for."""
    probe = Mesh(np.array(at) + [[0, 0, 0], [0, 0, 0.01], [0.01, 0, 0]], [[0, 1, 2]])
    return Surfaces.of_bodies([probe, *others])


def test_wall_halves_the_light_at_its_foot():
    wall = Mesh([[0, 0, -20], [0, 20, -20], [0, 20, 20], [0, 0, 20]], [[0, 1, 2], [0, 2, 3]])
    free, hidden = (
        Sky(None, floor_and_probe((0.6, 0.0, 0.0), *others)).over_surface()[0].sum() for others in ([], [wall])
    )
    assert free == pytest.approx(1.0, abs=0.02)
    # A coarse depth map: a texel is a quarter of a metre here, 48 directions are 7 degrees apart.
    assert hidden == pytest.approx(0.5, abs=0.06)


def test_hair_over_a_surface_dims_it():
    strands, density = hair_ball()
    floor = Mesh([[-1, -0.12, -1], [-1, -0.12, 1], [1, -0.12, 1], [1, -0.12, -1]], [[0, 1, 2], [0, 2, 3]])
    under, beside = (
        Sky(strands, floor_and_probe(at, floor)).over_surface()[0].sum() for at in ((0, -0.12, 0), (0.9, -0.12, 0))
    )
    assert beside > 0.95
    assert np.exp(-2 * density * RADIUS) < under < 0.5
