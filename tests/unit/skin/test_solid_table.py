"""Solids as skins and finishing passes read them: never looked at where hair is surely outside, and only there."""

from dataclasses import replace

import numpy as np
import pytest
from skin_frames import SOMEWHERE, curls, frame_of, guides_of

from mane.body import shapes
from mane.body._kernels_solid_f32 import lowest_distance
from mane.body.packed import PackedSolid, packed_poses
from mane.body.sdf import build_sdf
from mane.body.solid import Solid
from mane.skin import _kernels_solids as kernels
from mane.skin.finish.passes import SolidAdjustment, adjusted

BALL = shapes.Sphere((0.0, 0.12, 0.0), 0.05)


@pytest.fixture(scope="module")
def by_mesh():
    mesh = BALL.mesh(48)
    return Solid(mesh, field=build_sdf(mesh, 40, cache=False))


def test_what_is_known_beforehand_is_never_more_than_the_distance(by_mesh):
    blocks = PackedSolid.of(by_mesh).blocks
    points = np.random.default_rng(1).uniform(-0.2, 0.3, (4000, 3)).astype(np.float32)  # within the grid and beyond
    known = np.array([lowest_distance(blocks, *point) for point in points])
    distance = by_mesh.field.sample(points)
    assert (known <= distance + 1e-7).all()
    assert (known > 0).mean() > 0.5 * (distance > 0).mean()  # and often enough to be of use


@pytest.mark.parametrize("kind", ["shape", "mesh"])
def test_hairs_inside_are_found_and_no_others(kind, by_mesh):
    solid = Solid(BALL) if kind == "shape" else by_mesh
    points = np.ascontiguousarray(SOMEWHERE.apply(curls(300, 16).as_uniform()))
    found = np.zeros(300, np.bool_)
    packed = PackedSolid.of(solid)
    kernels.find_penetrating(packed.arrays, packed.blocks, packed_poses([SOMEWHERE])[0], points, found)
    local = SOMEWHERE.inverse_apply(points[:, 1:]).reshape(-1, 3)
    depth = solid.distance(local).reshape(300, -1).min(axis=1)
    clear = np.abs(depth) > 1e-6  # float32 may see the others either way
    np.testing.assert_array_equal(found[clear], depth[clear] < 0)
    assert 10 < found.sum() < 290


def test_the_pass_over_a_mesh_does_what_the_plain_sweep_does(by_mesh):
    groom = curls(200, 16)
    frame = replace(frame_of(guides_of(groom, 5), SOMEWHERE), solid_poses=(SOMEWHERE,))
    points = np.ascontiguousarray(SOMEWHERE.apply(groom.as_uniform()))

    def distance(places):
        depth, gradient = by_mesh.field.sample_with_gradient(SOMEWHERE.inverse_apply(places))
        return depth, gradient @ SOMEWHERE.matrix[:3, :3].T

    expected = adjusted(points, distance, 0.001, 3)
    assert np.abs(expected - points).max() > 0.01
    found = SolidAdjustment([by_mesh], thickness=0.001)(points.copy(), frame)
    # Float32 against float64; next to a face of the grid a vertex may see the cell beyond.
    assert (np.abs(found - expected).max(axis=(1, 2)) < 2e-5).mean() > 0.95
