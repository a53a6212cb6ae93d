"""Shelter: lee of solids, and wind that loses itself in hair."""

import math

import numpy as np
import pytest
from loose_points import view

from mane.body.motion import Pose
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.contact.air.shelter import HairShelter, SolidShelter
from mane.strand.material import Material
from mane.strand.ports import MovingSolid

RADIUS = 0.1
BALL = Solid(Sphere((0.0, 0.0, 0.0), RADIUS))


def passing_at(shelter, places, center=(0.0, 0.0, 0.0), upwind=(-1.0, 0.0, 0.0), solid=BALL) -> np.ndarray:
    """Share of a wind along +x at `places` (P, 3), each the first vertex of a short strand of its own."""
    places = np.asarray(places, float)
    points = places[:, None] + np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1e-4], [0.0, 0.0, 2e-4]])
    model = Material().model(points)
    pose = Pose(np.array(center), np.array([0.0, 0.0, 0.0, 1.0]))
    solids = (MovingSolid(solid, Pose.identity(), pose),)
    toward = np.broadcast_to(upwind, (points.size // 3, 3)).copy()
    return shelter.passing(view(model, solids=solids), toward).reshape(len(places), 3)[:, 0]


def test_in_the_lee_of_a_ball_there_is_little_wind_and_on_its_front_all_of_it():
    shelter = SolidShelter(strength=0.9)
    behind, before, beside = passing_at(shelter, [[0.12, 0, 0], [-0.12, 0, 0], [0.0, 0.3, 0]])
    # Right behind the ball, 2 cm off it: reach 0.4 leaves 1 - 0.02 / 0.4 of the shade, smoothed.
    assert behind < 0.15
    assert before == 1.0
    assert beside == 1.0


def test_the_lee_fades_with_the_distance_and_ends_at_the_reach():
    distances = np.linspace(0.01, 0.5, 30)
    found = passing_at(SolidShelter(reach=0.4), [[RADIUS + d, 0, 0] for d in distances])
    # A march meets the surface within one step of reach / 24 too late, so let it be that far off.
    assert (np.diff(found) > -0.1).all()
    np.testing.assert_array_equal(found[distances > 0.4], 1.0)
    assert found[distances < 0.05].max() < 0.2


def test_the_edge_of_the_lee_is_soft():
    heights = np.linspace(0.0, 0.3, 200)
    found = passing_at(SolidShelter(), [[0.2, h, 0] for h in heights])
    assert found[0] < 0.5
    assert found[-1] == 1.0
    assert np.abs(np.diff(found)).max() < 0.15


def test_skin_that_faces_the_wind_is_not_its_own_lee():
    angles = np.linspace(0, math.pi, 19)
    found = passing_at(SolidShelter(), [[-RADIUS * math.cos(a), RADIUS * math.sin(a), 0] for a in angles])
    assert (found[angles < math.radians(60)] == 1.0).all()
    assert (found[angles > math.radians(110)] < 0.2).all()


def test_the_lee_moves_with_the_solid():
    moved = passing_at(SolidShelter(), [[1.12, 2, 3], [0.12, 0, 0]], center=(1.0, 2.0, 3.0))
    assert moved[0] < 0.15
    assert moved[1] == 1.0


def test_the_lee_of_a_mesh_that_deforms_is_that_of_the_shape_that_it_has_now():
    """A ball that grows to its size; right on its skin too, where 2 mm decide."""
    mesh = BALL.shape.mesh(96)
    growing = Solid.animated(mesh, [-1.0, 0.0], [0.3 * mesh.points, mesh.points])
    angles = np.linspace(0, math.pi, 19)
    skin = [[-RADIUS * math.cos(a), RADIUS * math.sin(a), 0] for a in angles]
    around = [[0.12, 0, 0], [-0.12, 0, 0], [0.0, 0.3, 0], *([0.2, h, 0] for h in np.linspace(0, 0.3, 30))]
    for places, tolerance in ((skin, 0.25), (around, 0.1)):
        found, expected = (passing_at(SolidShelter(), places, solid=solid) for solid in (growing, BALL))
        np.testing.assert_allclose(found, expected, atol=tolerance)
        assert np.abs(found - expected).mean() < 0.02


def test_without_wind_or_solids_everything_passes():
    assert (passing_at(SolidShelter(), [[0.12, 0, 0]], upwind=(0.0, 0.0, 0.0)) == 1.0).all()
    model = Material().model(np.random.default_rng(0).normal(size=(3, 6, 3)))
    assert (SolidShelter().passing(view(model), np.tile([1.0, 0, 0], (18, 1))) == 1.0).all()


# -- within hair ----------------------------------------------------------------------------------------------------


def slab(thickness: float = 0.2, spacing: float = 0.01) -> np.ndarray:
    """Straight hair along y that fills a block evenly, `thickness` deep along x: (G, V, 3)."""
    x, z = np.meshgrid(np.arange(0, thickness, spacing), np.arange(-0.1, 0.1, spacing), indexing="ij")
    points = np.zeros((x.size, 31, 3))
    points[..., 0], points[..., 2] = x.reshape(-1, 1), z.reshape(-1, 1)
    points[..., 1] = np.linspace(-0.15, 0.15, 31)
    return points


def test_wind_falls_off_exponentially_within_even_hair():
    points = slab()
    model = Material().model(points)
    shelter = HairShelter(depth=0.05, cell=0.02)
    shelter.prepare(model)
    found = shelter.passing(view(model), np.tile([-1.0, 0.0, 0.0], (points[..., 0].size, 1))).reshape(points.shape[:2])
    # In the middle of the block, away from its edges, where the density is that of the groom.
    middle = np.abs(points[:, 0, 2]) < 0.05
    x, share = points[middle, 15, 0], found[middle, 15]
    inside = (x > 0.04) & (x < 0.16)
    slope = np.polyfit(x[inside], np.log(share[inside]), 1)[0]
    # The mean density over the hair is a little below that of the inside: edge cells, 0.02 of 0.2 and 0.3 m, are thin.
    assert slope == pytest.approx(-1 / 0.05, rel=0.15)
    np.testing.assert_allclose(
        np.log(share[inside]), np.polyval(np.polyfit(x[inside], np.log(share[inside]), 1), x[inside]), atol=0.1
    )


def test_how_many_guides_stand_for_the_hair_does_not_matter():
    shares = []
    for spacing in (0.01, 0.005):
        points = slab(spacing=spacing)
        model = Material().model(points)
        shelter = HairShelter()
        shelter.prepare(model)
        share = shelter.passing(view(model), np.tile([-1.0, 0.0, 0.0], (points[..., 0].size, 1)))
        shares.append(share.reshape(points.shape[:2])[np.argmin(np.abs(points[:, 0, 0] - 0.05)), 15])
    assert shares[0] == pytest.approx(shares[1], rel=0.2)


def test_the_windward_side_gets_more_wind_than_the_lee_side():
    points = slab()
    model = Material().model(points)
    shelter = HairShelter()
    shelter.prepare(model)
    upwind = np.tile([-1.0, 0.0, 0.0], (points[..., 0].size, 1))
    share = shelter.passing(view(model), upwind).reshape(points.shape[:2])
    assert share[points[:, 0, 0] < 0.005].min() > 0.5
    assert share[points[:, 0, 0] > 0.15].mean() < 0.05
    np.testing.assert_array_equal(shelter.passing(view(model), 0 * upwind), 1.0)


def test_hair_that_spreads_lets_more_wind_through():
    points = slab()
    model = Material().model(points)
    shelter = HairShelter()
    shelter.prepare(model)
    upwind = np.tile([-1.0, 0.0, 0.0], (points[..., 0].size, 1))
    dense = shelter.passing(view(model), upwind).mean()
    spread = shelter.passing(view(model, points * [1.0, 1.0, 3.0]), upwind).mean()
    assert spread > 1.5 * dense


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SolidShelter(reach=0), "reach: must be a finite number above zero"),
        (lambda: SolidShelter(strength=1.5), r"strength: must be between 0 and 1, got 1.5"),
        (lambda: HairShelter(depth=-1), "depth: must be a finite number above zero"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
