"""Where hair may be inside a solid: no place inside is missed, and skipping the others changes no bit."""

import numpy as np
import pytest
from skin_frames import SOMEWHERE, curls, frame_of, guides_of

from mane.body import shapes
from mane.body.motion import Pose
from mane.body.packed import PackedSolid
from mane.body.props.comb import make_comb
from mane.body.sdf import build_sdf
from mane.body.solid import Solid
from mane.skin.finish import _kernels as kernels
from mane.skin.finish.near_grid import NearGrid
from mane.skin.finish.passes import SolidAdjustment

BALL = shapes.Sphere((0.0, 0.12, 0.0), 0.05)


BOX = BALL.bounds


def ball_of_triangles():
    mesh = BALL.mesh(48)
    return Solid(mesh, field=build_sdf(mesh, 40, cache=False))


SOLIDS = {
    "shape": lambda: Solid(BALL),
    "union": lambda: Solid(shapes.Union((BALL, shapes.Capsule((0, 0.1, 0), (0.2, 0.1, 0), 0.004)))),
    "comb": lambda: Solid(make_comb(teeth=8).shape),
    "plane": lambda: Solid(shapes.Plane((0, 0.1, 0), (0, 1, 0))),
    "mesh": ball_of_triangles,
}
each_solid = pytest.mark.parametrize("solid", [make() for make in SOLIDS.values()], ids=SOLIDS)


def flagged(solid, thickness, points, pose):
    grid = NearGrid.of(PackedSolid.of(solid), thickness)
    flags = np.empty(len(points), np.uint8)
    kernels.flag_near(grid.at(pose), points.reshape(-1), flags)
    return flags.astype(bool)


@each_solid
@pytest.mark.parametrize("thickness", [0.0, 0.003])
def test_every_point_that_is_too_close_is_in_a_near_cell(solid, thickness):
    rng = np.random.default_rng(3)
    low, high = BOX if solid.shape is None or isinstance(solid.shape, shapes.Plane) else solid.shape.bounds
    around = np.concatenate([rng.uniform(low - 0.02, high + 0.02, (20_000, 3)), rng.normal(0, 2, (2_000, 3))])
    points = SOMEWHERE.apply(around).astype(np.float32)
    local = SOMEWHERE.inverse_apply(points)
    distance = solid.shape.distance(local) if solid.shape is not None else solid.field.sample(local)
    near = flagged(solid, thickness, points, SOMEWHERE)
    assert (distance < thickness).sum() > 20
    assert near[distance < thickness].all()
    # A cell that could hold such a point has no corner further off than two of its diagonals. What is beyond the box of
    # a field is asked for the nearest of its cells.
    grid = NearGrid.of(PackedSolid.of(solid), thickness)
    is_within = ((local >= grid.origin) & (local <= grid.origin + grid.cell * np.array(grid.is_near.shape))).all(axis=1)
    is_far = is_within & (distance > thickness + 2 * np.sqrt(3) * grid.cell)
    assert not near[is_far].any()


@each_solid
def test_hair_comes_out_the_same_to_the_bit_as_if_every_vertex_were_tested(solid):
    groom = curls(400, 16)
    hairs = groom.as_uniform()
    for turn in range(3):
        pose = Pose(np.array([0.01 * turn, 0.02, 0.0]), SOMEWHERE.rotation if turn else (0, 0, 0, 1))
        if isinstance(solid.shape, shapes.Union):
            inside = solid.shape.shapes[-1].bounds.mean(axis=0)
            pose = Pose(hairs[5, 8] - pose.apply(inside) + pose.position, pose.rotation)
        frame = frame_of(guides_of(groom, 10))
        object.__setattr__(frame, "solid_poses", (pose,))
        quick, plain = (SolidAdjustment([solid], thickness=0.001) for _ in range(2))
        plain._grids = [NearGrid.everywhere()]
        expected = plain(hairs.copy(), frame)
        assert (expected != hairs).any()
        assert quick(hairs.copy(), frame).tobytes() == expected.tobytes()
