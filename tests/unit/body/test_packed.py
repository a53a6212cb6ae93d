"""Solids as kernels read them: the same answers as `Solid` itself gives, for every kind, at rest and carried along."""

import gc
from weakref import ref

import numpy as np
import pytest
from numba import njit

from mane.body import _kernels_solid as kernels
from mane.body import _kernels_solid_f32 as hair_kernels
from mane.body import packed
from mane.body.motion import Pose
from mane.body.packed import (
    PackedSolid,
    field_arrays,
    fill_pose_pair,
    lowest_of_blocks,
    packed_poses,
    solid_list,
)
from mane.body.sdf import SignedDistanceField, build_sdf
from mane.body.shapes import Box, Capsule, Plane, Sphere, Torus, Union
from mane.body.solid import Solid
from mane.simd.kernel_cache import PACKAGE, ingredients

HERE = Pose(np.array([0.3, 1.1, -0.7]), np.array([0.1, 0.7, -0.1, 0.7]))
THERE = Pose(np.array([0.2, 1.0, -0.5]), np.array([0.3, -0.1, 0.9, 0.3]))
BALL = Sphere((0.05, 0.0, 0.1), 0.3)
SHAPES = {
    "sphere": BALL,
    "capsule": Capsule((-0.4, -0.2, 0.1), (-0.1, 0.3, -0.2), 0.05),
    "box": Box((0.3, -0.3, 0.2), (0.1, 0.15, 0.05), rounding=0.02),
    "plane": Plane((0.0, -0.1, 0.0), (0.1, 1.0, 0.3)),
    "torus": Torus((-0.2, -0.4, -0.3), (0.3, 1.0, 0.2), 0.2, 0.06),
}
SHAPES["union"] = Union([SHAPES["sphere"], SHAPES["box"], SHAPES["torus"]])


def meshed(shape, resolution=24):
    mesh = shape.mesh(24)
    return Solid(mesh, field=build_sdf(mesh, resolution, cache=False))


SOLIDS = {name: (lambda shape=shape: Solid(shape)) for name, shape in SHAPES.items()}
SOLIDS["mesh"] = lambda: meshed(BALL)
SOLIDS["mesh of boxes"] = lambda: meshed(Union([SHAPES["box"], Box((0.2, -0.3, 0.2), (0.1, 0.05, 0.1))]))
each_solid = pytest.mark.parametrize("solid", [make() for make in SOLIDS.values()], ids=SOLIDS)


def some_points(pose, count=400, seed=0):
    """Points around the solids, in the world."""
    return pose.apply(np.random.default_rng(seed).uniform(-0.8, 0.8, (count, 3))).astype(np.float32)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@njit
def ask(solid, poses, which, points, out):
    """Distance and unit gradient in the world, in double precision."""
    for p in range(len(points)):
        x, y, z = kernels.to_local(poses, which, points[p, 0], points[p, 1], points[p, 2])
        d, gx, gy, gz = kernels.rigid_distance(solid, x, y, z)
        out[p, 0] = d
        out[p, 1], out[p, 2], out[p, 3] = kernels.turn_to_world(poses, which, gx, gy, gz)


@njit
def ask_for_hair(solid, blocks, pose, points, out):
    """The same in single precision, and in the last columns what the distance is without its gradient, and at least."""
    for p in range(len(points)):
        out[p, 0], out[p, 1], out[p, 2], out[p, 3] = hair_kernels.world_distance(
            solid, pose, points[p, 0], points[p, 1], points[p, 2]
        )
        x, y, z = hair_kernels.to_local(pose, points[p, 0], points[p, 1], points[p, 2])
        out[p, 4] = hair_kernels.bare_distance(solid, x, y, z)
        out[p, 5] = hair_kernels.lowest_distance(blocks, x, y, z)


@njit
def ask_table(table, poses, points, out):
    """Distance and unit gradient of the points `(Z, P, 3)` to each solid of a table."""
    for s in range(len(poses)):
        for p in range(len(points[s])):
            out[s, p, 0], out[s, p, 1], out[s, p, 2], out[s, p, 3] = hair_kernels.world_distance(
                kernels.solid_at(table, s), poses[s], points[s, p, 0], points[s, p, 1], points[s, p, 2]
            )


def expected_of(solid, pose, points):
    distance, gradient = solid.placed(pose, 0.0).distance_and_gradient(points)
    return distance, unit(gradient)


def assert_same(found, distance, gradient):
    # Single precision a metre from the origin; gradients jump at creases and faces of cells, where few points are.
    np.testing.assert_allclose(found[:, 0], distance, atol=1e-6)
    assert (np.abs(found[:, 1:4] - gradient).max(axis=1) < 1e-4).mean() > 0.97


@each_solid
@pytest.mark.parametrize("which", [kernels.BEFORE, kernels.AFTER])
def test_contact_is_told_what_the_solid_itself_says(solid, which):
    poses = np.zeros(24)
    fill_pose_pair(HERE, THERE, poses)
    points = some_points(pose := HERE if which == kernels.BEFORE else THERE)
    found = np.zeros((len(points), 4))
    ask(PackedSolid.of(solid).arrays, poses, which, points.astype(np.float64), found)
    assert_same(found, *expected_of(solid, pose, points))
    np.testing.assert_allclose(np.linalg.norm(found[:, 1:], axis=1), 1, atol=1e-6)


@each_solid
def test_hair_is_told_what_the_solid_itself_says(solid):
    points = some_points(HERE)
    found = np.zeros((len(points), 6), np.float32)
    one = PackedSolid.of(solid)
    ask_for_hair(one.arrays, one.blocks, packed_poses([HERE])[0], points, found)
    assert_same(found, *expected_of(solid, HERE, points))
    np.testing.assert_allclose(found[:, 4], found[:, 0], atol=1e-6)
    assert (found[:, 5] <= found[:, 4] + 1e-6).all()


def test_a_solid_cut_out_of_a_table_answers_as_it_does_alone():
    solids = [make() for make in SOLIDS.values()]
    each = [PackedSolid.of(solid) for solid in solids]
    poses = [HERE if number % 2 else THERE for number in range(len(solids))]
    points = np.stack([some_points(pose, seed=number) for number, pose in enumerate(poses)])
    found = np.zeros((*points.shape[:2], 4), np.float32)
    ask_table(solid_list([one.arrays for one in each]), packed_poses(poses), points, found)
    for number, one in enumerate(each):
        alone = np.zeros((points.shape[1], 6), np.float32)
        ask_for_hair(one.arrays, one.blocks, packed_poses([poses[number]])[0], points[number], alone)
        np.testing.assert_allclose(found[number], alone[:, :4], atol=1e-6)


def test_a_table_holds_everything_that_its_solids_do():
    arrays = [PackedSolid.of(make()).arrays for make in SOLIDS.values()]
    table = solid_list(arrays)
    for number, one in enumerate(arrays):
        cut = kernels.solid_at(table, number)
        for name in one._fields:
            np.testing.assert_array_equal(getattr(cut, name), getattr(one, name), err_msg=name)


@each_solid
def test_no_way_is_steeper_than_a_solid_says(solid):
    arrays = PackedSolid.of(solid).arrays
    points = np.random.default_rng(3).uniform(-0.8, 0.8, (4000, 3)).astype(np.float32)
    moved = (points + np.random.default_rng(4).normal(0, 0.02, points.shape)).astype(np.float32)
    fall = np.abs(solid.distance(moved) - solid.distance(points))
    assert (fall <= arrays.slope * np.linalg.norm(moved - points, axis=1) + 1e-6).all()
    assert arrays.slope <= float(hair_kernels.steepest(arrays)) <= 1.0001 * arrays.slope


def test_where_a_field_is_flat_contact_has_a_normal_and_hair_stays():
    field = SignedDistanceField(np.full((4, 4, 4), -0.5, np.float32), np.zeros(3, np.float32), 0.1)
    arrays = field_arrays(field)
    assert kernels.rigid_distance(arrays, 0.15, 0.15, 0.15) == (-0.5, 0.0, 1.0, 0.0)
    middle = np.float32(0.15)
    still = packed_poses([Pose.identity()])[0]
    assert hair_kernels.local_distance(arrays, still, middle, middle, middle) == (-0.5, 0.0, 0.0, 0.0)


# -- solids that deform --------------------------------------------------------------------------------------------


def growing_ball(rate=0.5):
    """A ball about the origin whose radius of 0.5 m grows by `rate` of itself per second."""
    mesh = Sphere((0.0, 0.0, 0.0), 0.5).mesh(32)
    times = np.array([0.0, 1.0])
    return Solid.animated(mesh, times, np.stack([mesh.points * np.float32(1 + rate * time) for time in times]))


def test_a_solid_that_deforms_answers_through_the_same_call():
    solid, points = growing_ball(), some_points(HERE)
    one = PackedSolid.of(solid)
    assert one.is_deforming
    assert not PackedSolid.of(Solid(BALL)).is_deforming
    assert not PackedSolid.of(meshed(BALL)).is_deforming
    for time in (0.0, 0.4):
        placed = one.at(HERE, time)
        mesh, local = solid.animation.at(time), HERE.inverse_apply(points)
        expected, expected_gradient = mesh.distance_and_gradient(local)
        distance, gradient = placed.distance_and_gradient(points)
        np.testing.assert_array_equal(distance, expected)
        np.testing.assert_array_equal(placed.distance(points), expected)
        np.testing.assert_allclose(gradient, expected_gradient @ HERE.matrix[:3, :3].T, atol=1e-6)
        np.testing.assert_array_equal(placed.surface.velocity(local), mesh.velocity(local))
        np.testing.assert_array_equal(placed.surface.bounds, mesh.mesh.bounds)


@each_solid
def test_rigid_solids_answer_through_the_same_call(solid):
    points = some_points(HERE)
    placed, local = PackedSolid.of(solid).at(HERE, 3.0), HERE.inverse_apply(points)
    geometry = solid.field if solid.shape is None else solid.shape
    np.testing.assert_array_equal(placed.distance(points), solid.distance(local))
    np.testing.assert_array_equal(placed.surface.distance(local), solid.distance(local))
    np.testing.assert_array_equal(placed.surface.bounds, geometry.bounds)
    assert not placed.surface.velocity(local).any()


def test_kernels_are_told_where_a_solid_that_deforms_is_at_a_time():
    """Near the surface, within the facets and the cells of the field; farther outside no more than the distance."""
    solid = growing_ball()
    one, points = PackedSolid.of(solid), some_points(HERE, 4000)
    for time in (0.0, 0.4):
        found = np.zeros((len(points), 6), np.float32)
        ask_for_hair(one.arrays_at(time), one.blocks_at(time), packed_poses([HERE])[0], points, found)
        radius = 0.5 * (1 + 0.5 * time)
        local = HERE.inverse_apply(points).astype(np.float64)
        exact = np.linalg.norm(local, axis=1) - radius
        # A facet of 32 in a turn lies inside by its two sagittas.
        sagitta = 2 * radius * (1 - np.cos(np.pi / 32))
        near = np.abs(exact) < 0.01
        assert near.sum() > 20
        assert (found[near, 0] - exact[near] > -1e-5).all()
        assert (found[near, 0] - exact[near] < sagitta + 1e-4).all()
        assert (found[:, 0] <= np.maximum(exact, 0) + sagitta + 1e-4).all()
        clear = np.abs(exact) > sagitta + 1e-4
        np.testing.assert_array_equal(found[clear, 0] < 0, exact[clear] < 0)
        assert (found[:, 5] <= found[:, 4] + 1e-6).all()
        np.testing.assert_allclose(one.sampled_at(HERE, time).distance(points), found[:, 0], atol=1e-6)


def test_points_of_a_coat_are_sampled_and_far_ones_too_where_they_are_asked_for():
    solid, points = growing_ball(), some_points(HERE, 1000)
    one = PackedSolid.of(solid)
    far, exact = one.sampled_at(HERE, 0.4, is_far=True), one.at(HERE, 0.4)
    # Outside within a part of the larger cells of 35 mm; in the ball's middle means of nodes see no peak.
    np.testing.assert_allclose(far.distance(points), exact.distance(points), atol=0.06)
    _, gradient = far.distance_and_gradient(points)
    low, high = far.surface.bounds
    local = HERE.inverse_apply(points)
    outside = (exact.distance(points) > 0.1) & ((local > low) & (local < high)).all(axis=1)
    along = np.einsum("pi,pi->p", gradient, exact.distance_and_gradient(points)[1])[outside]
    assert np.quantile(np.abs(along - 1), 0.95) < 0.1
    np.testing.assert_array_equal(far.velocity(points), exact.velocity(points))
    assert (low < exact.surface.bounds[0]).all()
    assert (high > exact.surface.bounds[1]).all()
    rigid = PackedSolid.of(Solid(BALL))
    np.testing.assert_array_equal(rigid.sampled_at(HERE, 3.0).distance(points), rigid.at(HERE, 3.0).distance(points))


def test_all_who_ask_for_a_solid_that_deforms_share_its_field():
    solid = growing_ball()
    first, second = PackedSolid.of(solid), PackedSolid.of(solid)
    assert first.arrays_at(0.25).values is second.arrays_at(0.25).values
    assert first.blocks_at(0.25).lowest is second.blocks_at(0.25).lowest
    gone = ref(solid.animation)
    del solid, first, second
    gc.collect()
    assert gone() is None


def test_a_rigid_solid_is_the_same_at_all_times():
    one = PackedSolid.of(meshed(BALL, 16))
    assert one.arrays_at(3.0) is one.arrays
    assert one.blocks_at(3.0) is one.blocks


def test_a_solid_that_deforms_has_no_arrays_without_a_time_and_nobody_measured_it():
    one = PackedSolid.of(growing_ball())
    assert one.feature == np.inf
    with pytest.raises(ValueError, match="solid: must be a shape or a rigid mesh for kernels, got one that deforms"):
        _ = one.arrays


# -- packing -------------------------------------------------------------------------------------------------------


def test_a_field_is_packed_once_and_forgotten_with_it():
    solid = meshed(BALL, 16)
    assert PackedSolid.of(solid).arrays is PackedSolid.of(Solid(solid.mesh, field=solid.field)).arrays
    assert solid.field in packed._known_fields
    gc.collect()
    known = len(packed._known_fields)
    del solid
    gc.collect()
    assert len(packed._known_fields) == known - 1


def test_kernels_get_arrays_that_may_be_written_and_a_field_stays_as_it_was():
    field = meshed(BALL, 16).field
    values = field.values.copy()
    values.flags.writeable = False
    locked = SignedDistanceField(values, field.origin, field.cell_size)
    arrays = field_arrays(locked)
    assert arrays.values.flags.writeable
    assert not locked.values.flags.writeable
    np.testing.assert_array_equal(arrays.values, values)


def test_kernels_on_disk_are_made_anew_when_the_fields_of_a_solid_change():
    """Two fields of one type that change places leave the signature of a kernel as it was."""
    fields, readers = PACKAGE / "body/_kernels_solid.py", ("solid.slope", "solid.kinds", "SolidArrays", "SolidList")
    files = [file for file in PACKAGE.rglob("_kernels*.py") if any(word in file.read_text() for word in readers)]
    assert len(files) > 5
    for file in files:
        assert fields in ingredients(file, PACKAGE), file


@pytest.mark.parametrize("block", [1, 2, 3])
def test_a_block_holds_the_least_of_its_cells(block):
    values = np.random.default_rng(0).normal(size=(6, 8, 5)).astype(np.float32)
    lowest = lowest_of_blocks(values, block)
    assert lowest.shape == tuple(-(-(n - 1) // block) for n in values.shape)
    for i, j, k in np.ndindex(*lowest.shape):
        low, high = block * np.array([i, j, k]), block * np.array([i, j, k]) + block + 1
        assert lowest[i, j, k] == values[low[0] : high[0], low[1] : high[1], low[2] : high[2]].min()
