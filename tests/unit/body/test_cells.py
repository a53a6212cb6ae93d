"""Cells around solids of many primitives: the distance is that of all of them, and beyond the cells no more."""

import numpy as np
import pytest

from mane.body import shapes
from mane.body._kernels_cells import cell_distance, is_beside, parts_in_box
from mane.body._kernels_solid_f32 import bare_distance
from mane.body.cells import MARGIN, solid_cells, world_boxes
from mane.body.motion import Pose
from mane.body.packed import PackedSolid, packed_poses, solid_list
from mane.body.props import make_comb, make_hand, make_urchin
from mane.body.sdf import build_sdf
from mane.body.solid import Solid
from mane.simd.jit import njit

BALL = shapes.Sphere((0.0, 0.1, 0.0), 0.03)


@pytest.fixture(scope="module")
def packed():
    mesh = BALL.mesh(24)
    made = [Solid(make().shape) for make in (make_comb, make_hand, make_urchin)]
    made += [
        Solid(BALL),
        Solid(shapes.Plane((0, 0, 0), (0, 1, 0))),
        Solid(mesh, field=build_sdf(mesh, 24, cache=False)),
    ]
    return [PackedSolid.of(one) for one in made]


@njit
def fill_distances(solids, cells, s, points, out):
    for i in range(len(points)):
        out[i] = cell_distance(solids, cells, s, points[i, 0], points[i, 1], points[i, 2])


@pytest.mark.parametrize("number", range(6))
def test_the_distance_is_that_of_all_primitives_and_no_more_beyond_the_cells(packed, number):
    solids, cells = solid_list([one.arrays for one in packed]), solid_cells(packed)
    has_cells = number < 3
    assert (cells.counts[number].min() > 0) == has_cells
    rng = np.random.default_rng(number)
    box = cells.box[number] if np.isfinite(cells.box[number]).all() else np.array([-0.1] * 3 + [0.1] * 3)
    points = rng.uniform(box[:3] - 0.06, box[3:] + 0.06, (3000, 3)).astype(np.float32)
    found, one = np.empty(len(points), np.float32), packed[number].arrays
    fill_distances(solids, cells, number, points, found)
    expected = np.array([bare_distance(one, *point) for point in points]) * cells.inv_slope[number]
    inside = ((points > box[:3] - 0.9 * MARGIN) & (points < box[3:] + 0.9 * MARGIN)).all(axis=1)
    assert 100 < inside.sum() < len(points)
    np.testing.assert_allclose(found[inside], expected[inside], atol=1e-7)
    assert (found <= expected + 1e-7).all()
    if has_cells:  # a few of 21 to 29 primitives, or nothing is won
        assert found[~inside].min() > 0.8 * MARGIN
        assert len(cells.candidates) < 4 * (len(cells.start) - 1)


def test_boxes_in_the_world_hold_the_solids(packed):
    cells = solid_cells(packed)
    rng = np.random.default_rng(2)
    poses = [Pose(rng.normal(size=3), q / np.linalg.norm(q)) for q in rng.normal(size=(len(packed), 4))]
    boxes = world_boxes(cells.box, packed_poses(poses))
    for number, (one, pose) in enumerate(zip(packed, poses, strict=True)):
        if not np.isfinite(boxes[number]).all():
            assert isinstance(one.solid.shape, shapes.Plane)
            continue
        corners = pose.apply(one.at(Pose.identity(), 0.0).mesh().points)
        assert (corners >= boxes[number, :3] - 1e-5).all()
        assert (corners <= boxes[number, 3:] + 1e-5).all()


def test_a_way_is_in_a_box_where_its_points_are():
    rng = np.random.default_rng(3)
    box = np.array([-0.3, -0.2, -0.1, 0.2, 0.3, 0.4], np.float32)
    share = np.linspace(0, 1, 2001)
    met = 0
    for number in range(200):
        a, b = rng.uniform(-0.8, 0.8, (2, 3)).astype(np.float32)
        if number % 4 == 0:
            b[number % 3] = a[number % 3]
        first, last = parts_in_box(box, *a, *(b - a))
        points = a + share[:, None] * (b - a)
        inside = share[((points >= box[:3]) & (points <= box[3:])).all(axis=1)]
        ends = np.stack([a, b, a, b])
        if len(inside):
            met += 1
            assert not is_beside(box, ends)
            assert first == pytest.approx(inside[0], abs=2e-3)
            assert last == pytest.approx(inside[-1], abs=2e-3)
        elif first <= last:
            assert last - first < 2e-3  # grazing a corner
    assert 30 < met < 170
