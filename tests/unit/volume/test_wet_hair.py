"""Hair in a mesh and water: drag by what it takes of the volume, a layer that clings, and water in the coat."""

import math

import numpy as np
import pytest

from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.fluid.grid import Grid
from mane.fluid.porous import permeability
from mane.fluid.water import Water
from mane.fluid.wet_hair import WetHair, WettingParams
from mane.groom.groom import Groom
from mane.volume.embedding import Embedding
from mane.volume.immersed import MeshDrag, occupancy, point_volumes
from mane.volume.mesh import mesh_around_body, mesh_around_hair


def block(count=8, length=0.2, spacing=0.025, vertices=9):
    """Strands along -y from y = 0."""
    at = spacing * (np.arange(count) - (count - 1) / 2)
    x, z = np.meshgrid(at, at)
    roots = np.stack([x.ravel(), np.zeros(count**2), z.ravel()], axis=-1)
    along = np.linspace(0.0, length, vertices)[:, None] * [0.0, -1.0, 0.0]
    return Groom.from_uniform((roots[:, None] + along).astype(np.float32))


def pool(height, cells=16):
    water = Water(Grid((cells, cells, cells), 0.4 / cells, (-0.2, -0.3, -0.2)))
    water.fill(lambda points: points[..., 1] - height)
    return water


def test_hair_is_rasterised_whole_and_drags_as_a_porous_medium():
    groom = block()
    mesh = mesh_around_hair(groom, 0.05)
    part = occupancy(mesh, Embedding(groom, mesh), groom, hairs=500.0)
    assert np.isclose((part * mesh.volumes).sum(), 500.0 * math.pi * 40e-6**2 * 0.2 * 64, rtol=1e-5)
    even = np.full(mesh.tet_count, 0.01)
    grid = pool(0.1).grid
    velocity = np.tile([0.3, 0.0, -0.1], (mesh.node_count, 1))
    found = MeshDrag(mesh, even).exchange(grid, mesh.nodes, velocity, 0.0)
    expected = 1e-3 / permeability(0.01, 40e-6) * mesh.volumes.sum()
    for axis in range(3):
        assert np.isclose(found.drag[axis].sum(dtype=np.float64), expected, rtol=1e-3)
        assert np.isclose(found.push[axis].sum(dtype=np.float64), expected * velocity[0, axis], rtol=1e-3)


def test_a_layer_clings_to_a_body_until_it_is_keyframed_away():
    skin = Sphere((0.0, -0.1, 0.0), 0.08).mesh(16)
    ball = Solid.animated(skin, [0.0], skin.points[None])
    mesh = mesh_around_body(ball, spacing=0.05, reach=0.06)
    layer = MeshDrag.around(mesh, ball, layer=0.04, adhesion=((0.0, 20.0), (1.0, 0.0)))
    water = pool(0.05)
    up = np.tile([0.0, 1.0, 0.0], (mesh.node_count, 1))
    moved = {}
    for time in (0.0, 1.0):
        exchange = layer.exchange(water.grid, mesh.nodes, up, time)
        assert (exchange.drag.sum() > 0) == (time == 0.0)
        other = pool(0.05)
        other.step(0.01, exchange=exchange)
        moved[time] = other.flow.at(np.array([[0.1, -0.1, 0.0]]))[0, 1]
    assert moved[0.0] > 0.01
    assert abs(moved[1.0]) < 1e-4
    with pytest.raises(ValueError, match="adhesion: must be rows of rising times"):
        MeshDrag(mesh, adhesion=((1.0, 2.0), (0.0, 1.0)))


def soaked(height=-0.1, **settings):
    groom = block()
    mesh = mesh_around_hair(groom, 0.05)
    hair = WetHair(
        500.0 * point_volumes(groom, 40e-6), groom.offsets, Embedding(groom, mesh).tets, WettingParams(**settings)
    )
    return groom, hair, pool(height)


def test_water_that_is_taken_up_held_and_dripped_is_all_there_is():
    groom, hair, water = soaked(soaking=0.02, dripping=0.1)
    surface = water.surface
    total = surface.account["owned"]
    for step in range(30):
        lifted = groom.points + np.float32([0.0, 0.02 * max(0, step - 5), 0.0])
        hair.step(lifted, surface, 0.02)
        assert np.isclose(surface.account["owned"] + hair.absorbed + hair.dripped, total, rtol=1e-12, atol=0)
        if step == 5:
            below = groom.points[:, 1] < -0.13
            assert hair.saturation[below].min() > 0.9
            assert hair.saturation[groom.points[:, 1] > -0.02].max() < 0.5
            assert (hair.level(0.0, groom.points)[below] == 0.0).all()  # under water hair has its dry style
    assert hair.absorbed > 0.0
    assert not hair.submerged.any()
    assert hair.level(0.0, groom.points).max() > 0.5
    assert hair.saturation.max() < 0.75  # the rest has run off
    assert total - surface.account["owned"] < 1.01 * hair.absorbed + hair.dripped


def test_a_coat_that_is_continued_is_the_same():
    groom, hair, water = soaked()
    hair.step(groom.points, water.surface, 0.05)
    _, other, _ = soaked()
    other.restore(hair.memory())
    kept = water.memory()
    hair.step(groom.points, water.surface, 0.05)
    water.restore(kept)
    other.step(groom.points, water.surface, 0.05)
    assert hair.water.tobytes() == other.water.tobytes()
