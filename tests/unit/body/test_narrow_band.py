"""The field of a surface that deforms: exact near it, the right sign everywhere, the same bytes on any thread count."""

import numpy as np
import pytest

from mane.body import _reference as reference
from mane.body.animated import AnimatedMesh
from mane.body.band.deforming import COARSER, DeformingField
from mane.body.band.narrow_band import REACH, NarrowBand
from mane.body.bust import make_bust
from mane.body.closed import ClosedMesh
from mane.body.mesh import Mesh
from mane.body.sdf import build_sdf, default_cell_size
from mane.body.shapes import Box, Capsule, Sphere, Torus
from mane.body.triangle_tree import TriangleTree

BALL = Sphere((0.1, 0.0, -0.2), 0.5)
NECK = -0.14
RING = Torus((0, 0, 0), (1.0, 2.0, 0.5), 0.4, 0.15)


def joined(*meshes):
    """Several meshes as one."""
    starts = np.cumsum([0, *(mesh.vertex_count for mesh in meshes[:-1])])
    faces = [mesh.faces + start for mesh, start in zip(meshes, starts, strict=True)]
    return Mesh(np.concatenate([mesh.points for mesh in meshes]), np.concatenate(faces))


def open_ball(resolution=32, level=-0.3):
    """A ball without its lower end, as a bust has none below the neck."""
    mesh = BALL.mesh(resolution)
    return Mesh(mesh.points, mesh.faces[mesh.points[mesh.faces].mean(axis=1)[:, 1] > level])


def band_of(mesh, resolution=40, **settings):
    return NarrowBand(ClosedMesh.of(mesh), default_cell_size(mesh.bounds, resolution), **settings)


def crumpled(mesh, size, seed=0):
    return mesh.points + np.random.default_rng(seed).normal(0, size, mesh.points.shape).astype(np.float32)


def some_nodes(field, chosen, count=1500, seed=0):
    """Numbers of some nodes with `chosen (X, Y, Z)`, and their positions in double precision."""
    places = np.argwhere(chosen)
    places = places[np.random.default_rng(seed).permutation(len(places))[:count]]
    return places, field.origin.astype(float) + places * field.cell_size


def corners_of(band, points):
    return band.closed.points(points)[band.closed.faces]


# -- near the surface --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mesh", [RING.mesh(24), open_ball(), BALL.mesh(6)], ids=["ring", "open ball", "large facets"])
def test_distances_within_reach_are_those_of_plain_numpy(mesh):
    band, points = band_of(mesh), crumpled(mesh, 0.01)
    field = band.fill(points)
    size = np.abs(field.values)
    places, nodes = some_nodes(field, size < REACH * field.cell_size)
    expected = reference.mesh_distance(nodes, corners_of(band, points).astype(float))
    np.testing.assert_allclose(size[tuple(places.T)], expected, atol=1e-6)
    # And all nodes that are as near are among them.
    places, nodes = some_nodes(field, size >= REACH * field.cell_size)
    beyond = reference.mesh_distance(nodes, corners_of(band, points).astype(float))
    assert beyond.min() > (REACH - 1e-4) * field.cell_size


@pytest.mark.parametrize("time", [0.0, 0.3, 0.75])
def test_a_sphere_that_breathes_has_its_own_distance(time):
    """Within the sagitta of the facets, which lie inside the sphere, and the error of trilinear cells."""
    mesh, times = BALL.mesh(96), np.linspace(0, 1, 5)
    center = np.float32(BALL.center)
    scale = 1 + 0.2 * np.sin(2 * np.pi * times)
    frames = np.stack([center + np.float32(s) * (mesh.points - center) for s in scale])
    field = DeformingField(AnimatedMesh(mesh, times, frames, interpolation="linear"), 64).at(time)
    radius = 0.5 * np.interp(time, times, scale)
    rng = np.random.default_rng(1)
    direction = rng.normal(size=(4000, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    height = rng.uniform(-0.45, 1.0, 4000) * field.cell_size * 2
    points = (BALL.center + (radius + height)[:, None] * direction).astype(np.float32)
    sagitta = 2 * radius * (1 - np.cos(np.pi / 96))
    curved = field.cell_size**2 / (4 * radius)
    near = np.abs(height) < 0.7 * field.cell_size
    distance, gradient = field.sample_with_gradient(points[near])
    assert (distance - height[near] > -1e-5).all()
    assert (distance - height[near] < sagitta + curved + 1e-5).all()
    # The gradient of a cell is off by some 0.7 h / r, and by the facets' own normals.
    assert (np.einsum("pi,pi->p", gradient, direction[near]) > 0.95).all()


def test_the_sign_is_right_everywhere():
    """On random points from deep inside to far outside, a cell away from the surface or more."""
    band = band_of(BALL.mesh(48))
    for scale in (1.0, 0.6, 1.7):
        mesh = BALL.mesh(48)
        field = band.fill(mesh.points * np.float32(scale))
        points = np.random.default_rng(2).uniform(-2, 2, (20_000, 3)).astype(np.float32)
        exact = np.linalg.norm(points - scale * np.asarray(BALL.center), axis=1) - 0.5 * scale
        clear = np.abs(exact) > field.cell_size
        np.testing.assert_array_equal(field.sample(points)[clear] < 0, exact[clear] < 0)


def test_inside_hair_is_led_out_by_gradient_and_depth():
    """Deep inside too: depth within a tenth of the radius, and the way to the surface within a few degrees."""
    mesh = BALL.mesh(48)
    field = band_of(mesh, 64).fill(mesh.points)
    rng = np.random.default_rng(3)
    direction = rng.normal(size=(5000, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    radius = rng.uniform(0.15, 0.45, (5000, 1))
    distance, gradient = field.sample_with_gradient(BALL.center + radius * direction)
    np.testing.assert_allclose(-distance, 0.5 - radius[:, 0], atol=0.5 * field.cell_size)
    along = np.einsum("pi,pi->p", gradient, direction) / np.linalg.norm(gradient, axis=1)
    assert np.quantile(along, 0.01) > 0.9
    assert along.min() > 0.7


def test_nodes_inside_agree_with_plain_numpy_to_a_third_of_a_cell():
    mesh = RING.mesh(32)
    band = band_of(mesh, 64)
    field = band.fill(mesh.points)
    # Even nodes in cells of the whole lattice have a closest point of their own.
    places, nodes = some_nodes(field, field.values < -REACH * field.cell_size)
    expected = -reference.mesh_distance(nodes, corners_of(band, mesh.points).astype(float))
    found = field.values[tuple(places.T)]
    even = (places % 2 == 0).all(axis=1)
    assert even.sum() > 50
    assert np.abs(found - expected)[even].max() < 0.35 * field.cell_size
    # In the middle of the ring the distance has a crease, which means of two or more nodes do not see.
    assert np.abs(found - expected).max() < field.cell_size
    assert np.abs(found - expected).mean() < 0.1 * field.cell_size


def test_outside_a_value_is_never_more_than_the_distance():
    mesh = RING.mesh(32)
    band = band_of(mesh)
    field = band.fill(mesh.points)
    places, nodes = some_nodes(field, field.values > 0)
    expected = reference.mesh_distance(nodes, corners_of(band, mesh.points).astype(float))
    assert (field.values[tuple(places.T)] <= expected + 1e-6).all()
    assert field.values.max() == np.float32(REACH) * np.float32(field.cell_size)


def test_asked_for_everywhere_distances_far_outside_are_right_too():
    mesh = RING.mesh(32)
    band = band_of(mesh, 64, everywhere=True)
    field = band.fill(mesh.points)
    places, nodes = some_nodes(field, field.values > REACH * field.cell_size)
    expected = reference.mesh_distance(nodes, corners_of(band, mesh.points).astype(float))
    found = field.values[tuple(places.T)]
    assert np.abs(found - expected).max() < field.cell_size
    assert np.abs(found - expected).mean() < 0.1 * field.cell_size
    assert expected.max() > 8 * field.cell_size


# -- what is inside ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mesh", [RING.mesh(24), open_ball(24), BALL.mesh(6)], ids=["ring", "open ball", "large facets"]
)
def test_signs_are_those_of_the_winding_number(mesh):
    band, points = band_of(mesh), crumpled(mesh, 0.01)
    field = band.fill(points)
    places, nodes = some_nodes(field, np.ones_like(field.values), 3000)
    winding = reference.winding_number(nodes, corners_of(band, points).astype(float))
    found = field.values[tuple(places.T)]
    clear = np.abs(found) > 1e-6
    np.testing.assert_array_equal(found[clear] < 0, winding[clear] > 0.5)


def test_lines_through_edges_and_corners_miss_nothing():
    """A box and an octahedron whose corners and edges lie on nodes and on lines of the grid."""
    cell = 0.125
    octahedron = Mesh(
        np.float32([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]]),
        [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]],
    )
    box = Box((0, 0, 0), (1, 1, 1)).mesh()
    for mesh, norm in ((octahedron, 1), (box, np.inf)):
        band = NarrowBand(ClosedMesh.of(mesh), cell)
        field = band.fill(mesh.points)
        nodes = field.node_positions().reshape(-1, 3).astype(float)
        depth = (np.linalg.norm(nodes, ord=norm, axis=1) - 1).reshape(field.values.shape)
        np.testing.assert_array_equal(field.values[depth < -1e-6] < 0, True)
        np.testing.assert_array_equal(field.values[depth > 1e-6] > 0, True)
        np.testing.assert_allclose(field.values[np.abs(depth) < 1e-6], 0, atol=1e-6)


def test_below_an_open_neck_it_is_outside():
    mesh = open_ball()
    rim = mesh.points[np.unique(mesh.faces)][:, 1].min()
    field = band_of(mesh).fill(mesh.points)
    below = np.array([[0.1, y, -0.2] for y in np.linspace(-0.9, rim - 0.5 * field.cell_size, 20)], np.float32)
    above = np.array([[0.1, y, -0.2] for y in np.linspace(rim + 0.5 * field.cell_size, 0.4, 20)], np.float32)
    assert (field.sample(below) > 0).all()
    assert (field.sample(above) < 0).all()
    # The filling is flat: the distance to it is that to a plane, within reach.
    near = np.array([[0.1, rim + 0.8 * field.cell_size, -0.2]], np.float32)
    np.testing.assert_allclose(field.sample(near), -0.8 * field.cell_size, rtol=0.02)


def test_a_bust_cut_off_at_the_neck_that_nods_is_as_the_winding_number_says():
    """The filled rim moves with the neck; against the plain sum over all triangles, away from the surface."""
    bust = make_bust(0.008).mesh
    middle = bust.points[bust.faces].mean(axis=1)
    head = Mesh(bust.points, bust.faces[middle[:, 1] > NECK])
    assert not head.is_closed
    band = band_of(head, 64)
    height, depth = head.points[:, 1] - NECK, head.points[:, 2]
    angle = 0.5 * np.clip(height / 0.1, 0, 1)
    nodded = head.points.copy()
    nodded[:, 1] = NECK + height * np.cos(angle) - depth * np.sin(angle)
    nodded[:, 2] = height * np.sin(angle) + depth * np.cos(angle)
    field = band.fill(nodded)
    places, nodes = some_nodes(field, np.abs(field.values) > 1e-5, 400)
    winding = reference.winding_number(nodes, corners_of(band, nodded).astype(float))
    np.testing.assert_array_equal(field.values[tuple(places.T)] < 0, winding > 0.5)
    assert 0.1 < (winding > 0.5).mean() < 0.9


def test_parts_within_other_parts_do_not_count():
    """Two balls that overlap are as deep as their union; the surface of the one within the other is not felt."""
    balls = Sphere((0, 0, 0), 0.4), Sphere((0.35, 0, 0), 0.3)
    mesh = joined(*(ball.mesh(40) for ball in balls))
    band = band_of(mesh, 64)
    field = band.fill(mesh.points)
    nodes = field.node_positions().reshape(-1, 3)
    each = np.stack([ball.distance(nodes) for ball in balls])
    union = each.min(axis=0).reshape(field.values.shape)
    within = (each.max(axis=0).reshape(field.values.shape) < -3 * field.cell_size) & (union < -3 * field.cell_size)
    clear = np.abs(union) > 0.2 * field.cell_size
    np.testing.assert_array_equal(field.values[clear] < 0, union[clear] < 0)
    assert within.sum() > 100
    assert (field.values[within] < -2 * field.cell_size).all()
    # Apart, both count again.
    apart = mesh.points.copy()
    apart[balls[0].mesh(40).vertex_count :, 0] += 1
    field = band.fill(apart)
    middle = np.float32([[0, 0, 0], [1.35, 0, 0], [0.7, 0, 0]])
    np.testing.assert_allclose(field.sample(middle)[:2], [-0.4, -0.3], atol=2 * field.cell_size)
    assert field.sample(middle)[2] > 0


def test_a_mesh_turned_into_itself_is_inside_where_it_was():
    """A finger pulled back into the hand bounds nothing there: it faces the other way."""
    mesh = Capsule((0, 0, 0), (0.6, 0, 0), 0.2).mesh(32)
    band = band_of(mesh, 64)
    points = mesh.points.copy()
    tip = points[:, 0] > 0.6
    points[tip, 0] = 1.2 - points[tip, 0]
    field = band.fill(points)
    winding = TriangleTree(corners_of(band, points)).winding(field.node_positions().reshape(-1, 3))
    found = field.values.reshape(-1)
    clear = (np.abs(found) > 0.3 * field.cell_size) & (np.abs(winding - 0.5) > 0.1)
    np.testing.assert_array_equal(found[clear] < 0, winding[clear] > 0.5)


# -- from time to time -------------------------------------------------------------------------------------------------


def test_where_the_grid_begins_does_not_matter():
    """Another part that moves has the grid begin elsewhere; distances around the first stay as they are."""
    fixed, moving = BALL.mesh(24), Sphere((0, 3, 0), 0.2).mesh(12)
    mesh = joined(fixed, moving)
    band = NarrowBand(ClosedMesh.of(mesh), 0.03)
    points = np.random.default_rng(4).uniform(-0.5, 0.7, (4000, 3)).astype(np.float32)
    near = np.abs(BALL.distance(points)) < 0.03
    before = band.fill(mesh.points).sample(points)
    for away in ([0.5, 0.01, 3], [-4, -2.003, 1.7], [7.7, 0, -0.1]):
        moved = mesh.points.copy()
        moved[fixed.vertex_count :] += np.float32(away)
        # Float32 at some 8 m: 5e-7.
        np.testing.assert_allclose(band.fill(moved).sample(points)[near], before[near], atol=2e-6)


def test_a_field_filled_before_leaves_no_trace():
    mesh = BALL.mesh(24)
    band, fresh = band_of(mesh), band_of(mesh)
    for scale in (1.6, 0.5, 1.0):
        field = band.fill(mesh.points * np.float32(scale))
    expected = fresh.fill(mesh.points)
    assert field.values.tobytes() == expected.values.tobytes()
    np.testing.assert_array_equal(field.origin, expected.origin)


def test_triangles_without_area_are_harmless():
    mesh = BALL.mesh(24)
    band = band_of(mesh)
    points = mesh.points.copy()
    # One edge to a point, one triangle to a line, and a whole patch to a point.
    points[mesh.faces[100, 1]] = points[mesh.faces[100, 0]]
    a, b, c = mesh.faces[200]
    points[c] = 0.5 * (points[a] + points[b])
    top = points[:, 1] > 0.45
    points[top] = points[top].mean(axis=0)
    field = band.fill(points)
    assert np.isfinite(field.values).all()
    places, nodes = some_nodes(field, np.abs(field.values) < REACH * field.cell_size)
    expected = reference.mesh_distance(nodes, corners_of(band, points).astype(float))
    np.testing.assert_allclose(np.abs(field.values[tuple(places.T)]), expected, atol=1e-6)
    winding = reference.winding_number(nodes, corners_of(band, points).astype(float))
    clear = expected > 1e-6
    np.testing.assert_array_equal(field.values[tuple(places.T)][clear] < 0, winding[clear] > 0.5)


def test_a_mesh_squeezed_to_a_point_is_nowhere_inside():
    mesh = BALL.mesh(12)
    field = band_of(mesh).fill(np.zeros_like(mesh.points))
    assert np.isfinite(field.values).all()
    assert (field.values >= 0).all()
    np.testing.assert_allclose(field.sample(np.float32([[0, 0, 0]])), 0, atol=1e-6)


def test_threads_change_no_byte(on_threads):
    mesh = RING.mesh(48)
    points = crumpled(mesh, 0.005)
    on_threads(lambda: band_of(mesh, 64).fill(points).values)
    on_threads(lambda: band_of(mesh, 64, everywhere=True).fill(points).values)


def test_it_is_the_field_that_is_built_for_a_rigid_mesh():
    """Where both are exact; the rigid one's nodes lie elsewhere."""
    mesh = RING.mesh(48)
    band = band_of(mesh, 64)
    field, rigid = band.fill(mesh.points), build_sdf(mesh, 64, cache=False)
    assert band.cell_size == pytest.approx(rigid.cell_size, rel=1e-6)
    points = np.random.default_rng(5).uniform(*mesh.bounds, (20_000, 3)).astype(np.float32)
    near = np.abs(rigid.sample(points)) < field.cell_size
    # Each is off by h^2 / 4 r at most, with the ring's smaller radius.
    np.testing.assert_allclose(field.sample(points)[near], rigid.sample(points)[near], atol=field.cell_size**2 / 0.3)


def test_an_animated_mesh_is_filled_once_for_each_time(monkeypatch):
    mesh = BALL.mesh(16)
    animation = AnimatedMesh(mesh, [0, 1], [mesh.points, mesh.points * np.float32(1.5)])
    field = DeformingField(animation, 32)
    calls = []
    fill = NarrowBand.fill
    monkeypatch.setattr(NarrowBand, "fill", lambda band, points: calls.append(band.cell_size) or fill(band, points))
    first = field.at(0.5)
    assert field.at(0.5) is first
    field.at(0.6)
    field.far_at(0.6)
    field.far_at(0.6)
    assert calls == [field.cell_size, field.cell_size, COARSER * field.cell_size]
    assert field.nbytes > 0
    with pytest.raises(ValueError, match="time: must be finite, got nan"):
        field.at(np.nan)


def test_slender_bodies_have_finer_cells():
    """A finger of 1 : 10 as fine as can be; a ball, whose box is full, like a rigid one; an egg in between."""
    for stretch, finer in ((1, 1.0), (2, (1e6 / (116 * 58**2)) ** (1 / 3)), (10, 2.0)):
        mesh = BALL.mesh(16)
        mesh = Mesh(mesh.points * np.float32([1, stretch, 1]), mesh.faces)
        field = DeformingField(AnimatedMesh(mesh, [0], [mesh.points]))
        assert default_cell_size(mesh.bounds) / field.cell_size == pytest.approx(finer, rel=0.03)


def test_a_mesh_that_flies_apart_is_refused():
    mesh = BALL.mesh(12)
    with pytest.raises(ValueError, match=r"mesh: must stay small enough for 1.34e\+08 nodes, got one that grew to"):
        band_of(mesh).fill(mesh.points * np.float32(1000))
    with pytest.raises(ValueError, match="cell_size"):
        NarrowBand(ClosedMesh.of(mesh), 0.0)
