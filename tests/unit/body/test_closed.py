"""Closed meshes: holes filled, seams joined, parts that bound nothing left out, and normals that tell inside."""

import numpy as np
import pytest

from mane.body import _reference as reference
from mane.body.closed import ClosedMesh
from mane.body.mesh import Mesh
from mane.body.shapes import Box, Sphere, Torus
from mane.body.triangle_tree import TriangleTree

BALL = Sphere((0.1, 0.0, -0.2), 0.5)


def joined(*meshes):
    """Several meshes as one."""
    starts = np.cumsum([0, *(mesh.vertex_count for mesh in meshes[:-1])])
    faces = [mesh.faces + start for mesh, start in zip(meshes, starts, strict=True)]
    return Mesh(np.concatenate([mesh.points for mesh in meshes]), np.concatenate(faces))


def without(mesh, dropped):
    return Mesh(mesh.points, mesh.faces[~dropped])


def middles(mesh):
    return mesh.points[mesh.faces].mean(axis=1)


def open_ball(resolution=24, level=-0.3):
    """A ball without its lower end: a neck to look into."""
    mesh = BALL.mesh(resolution)
    return without(mesh, middles(mesh)[:, 1] < level)


def as_mesh(closed, points):
    return Mesh(closed.points(points), closed.faces)


def split_along_a_seam(mesh, beyond):
    """The same triangles, but those `beyond` (T,) have points of their own."""
    used, local = np.unique(mesh.faces[beyond], return_inverse=True)
    faces = mesh.faces.copy()
    faces[beyond] = mesh.vertex_count + local.reshape(-1, 3)
    return Mesh(np.concatenate([mesh.points, mesh.points[used]]), faces)


def signed_distances(closed, points, places):
    """Distance to the closest triangle, with the sign of the way to it along the normal of the closest feature."""
    tree, normals = TriangleTree(points[closed.faces]), closed.normals(points)
    distance, face, weights = tree.closest(places)
    way = places - np.einsum("pc,pci->pi", weights, points[closed.faces[face]])
    normal = normals.face[face].copy()
    zero = weights <= 1e-6
    on_edge, on_vertex = zero.sum(axis=1) == 1, zero.sum(axis=1) == 2
    # The edge opposite corner c begins at corner c + 1.
    edge = (zero.argmax(axis=1) + 1) % 3
    normal[on_edge] = normals.edge[face[on_edge], edge[on_edge]]
    normal[on_vertex] = normals.vertex[closed.faces[face[on_vertex], weights[on_vertex].argmax(axis=1)]]
    return np.where((way * normal).sum(axis=1) < 0, -distance, distance)


# -- topology ----------------------------------------------------------------------------------------------------------


def test_a_closed_mesh_stays_as_it_is():
    mesh = BALL.mesh(16)
    closed = ClosedMesh.of(mesh)
    np.testing.assert_array_equal(closed.faces, mesh.faces)
    np.testing.assert_array_equal(closed.source, np.arange(mesh.face_count))
    assert closed.bounding_count == mesh.face_count
    assert closed.points(mesh.points) is mesh.points
    assert closed.rims == ()


@pytest.mark.parametrize("mesh", [BALL.mesh(16), open_ball()], ids=["closed", "open"])
def test_neighbours_share_an_edge_and_run_along_it_the_other_way(mesh):
    closed = ClosedMesh.of(mesh)
    for face, beyond in zip(closed.faces, closed.neighbors, strict=True):
        for edge in range(3):
            start, end = face[edge], face[(edge + 1) % 3]
            other = closed.faces[beyond[edge]].tolist()
            assert other[(other.index(end) + 1) % 3] == start


def test_corners_of_a_point_are_those_of_all_faces_around_it():
    closed = ClosedMesh.of(open_ball())
    for point in range(closed.point_count):
        corners = closed.vertex_corners[closed.vertex_start[point] : closed.vertex_start[point + 1]]
        np.testing.assert_array_equal(corners, np.flatnonzero(closed.faces.ravel() == point))


def test_a_hole_is_filled_around_the_mean_of_its_rim_which_moves_with_it():
    mesh = open_ball()
    closed = ClosedMesh.of(mesh)
    assert as_mesh(closed, mesh.points).is_closed
    (rim,) = closed.rims
    assert (closed.source == -1).sum() == len(rim)
    assert closed.bounding_count == len(closed.faces)
    moved = mesh.points * np.float32([1, 2, 0.5]) + np.float32([3, 0, 0])
    np.testing.assert_allclose(closed.points(moved)[-1], moved[rim].mean(axis=0), atol=1e-6)
    whole = BALL.mesh(24).volume
    lost = whole - as_mesh(closed, mesh.points).volume
    # A cap of height h of a ball of radius r has the volume pi h^2 (r - h / 3), of 4 / 3 pi r^3.
    height = 0.5 + float(mesh.points[rim, 1].mean())
    assert lost / whole == pytest.approx(height**2 * (0.5 - height / 3) / (4 / 3 * 0.5**3), rel=0.05)


def test_two_holes_are_filled_apart():
    mesh = BALL.mesh(24)
    closed = ClosedMesh.of(without(mesh, np.abs(middles(mesh)[:, 1]) > 0.3))
    assert len(closed.rims) == 2
    assert closed.point_count == mesh.vertex_count + 2


def test_a_seam_is_no_hole():
    mesh = BALL.mesh(16)
    split = split_along_a_seam(mesh, middles(mesh)[:, 0] > 0.13)
    assert not split.is_closed
    whole, closed = ClosedMesh.of(mesh), ClosedMesh.of(split)
    assert closed.rims == ()
    np.testing.assert_array_equal(closed.faces, split.faces)
    np.testing.assert_array_equal(closed.neighbors, whole.neighbors)
    expected, found = whole.normals(mesh.points), closed.normals(split.points)
    np.testing.assert_array_equal(found.edge, expected.edge)
    # Points on both sides of the seam have the same normal, that of the whole mesh.
    corners = (expected.vertex[mesh.faces], found.vertex[split.faces])
    np.testing.assert_allclose(corners[1], corners[0], atol=1e-6)


def test_parts_within_the_solid_come_last_and_those_that_bound_nothing_are_left_out():
    head, eye = BALL.mesh(24), Sphere((0.1, 0.0, 0.3), 0.2).mesh(16)
    tooth, sheet = Sphere((0.1, -0.2, -0.2), 0.05).mesh(8), Box((2, 0, 0), (0.3, 0.3, 0.3)).mesh()
    sheet = without(sheet, middles(sheet)[:, 0] < 2.29)
    mesh = joined(head, eye, tooth, sheet)
    closed = ClosedMesh.of(mesh)
    assert set(closed.source) == set(range(head.face_count + eye.face_count))
    place = middles(mesh)[closed.source]
    from_head = np.linalg.norm(place - BALL.center, axis=1) - 0.5
    from_eye = np.linalg.norm(place - [0.1, 0.0, 0.3], axis=1) - 0.2
    is_eye = closed.source >= head.face_count
    depth = np.where(is_eye, from_head, from_eye)
    bounds = np.arange(len(place)) < closed.bounding_count
    clear = np.abs(depth) > 0.02
    np.testing.assert_array_equal(bounds[clear], depth[clear] > 0)
    assert (~bounds).sum() > 50


def test_a_mesh_that_encloses_nothing_is_refused():
    sheet = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    with pytest.raises(ValueError, match="mesh: must enclose a volume, got 2 triangles that enclose nothing"):
        ClosedMesh.of(sheet)


# -- normals -----------------------------------------------------------------------------------------------------------


def test_normals_of_a_cube_do_not_depend_on_how_its_sides_are_cut():
    """Weighted by angles, the three sides of a corner count alike; weighted by triangles they would not."""
    mesh = Box((0, 0, 0), (1, 1, 1)).mesh()
    mesh = Mesh(*_welded(mesh))
    closed = ClosedMesh.of(mesh)
    normals = closed.normals(mesh.points)
    np.testing.assert_allclose(normals.face, mesh.face_normals, atol=1e-6)
    used = np.unique(mesh.faces)
    corner = used[np.abs(np.abs(mesh.points[used]) - 1).max(axis=1) < 1e-6]
    assert len(corner) == 8
    np.testing.assert_allclose(normals.vertex[corner], mesh.points[corner] / np.sqrt(3), atol=2e-6)
    both = normals.face[:, None] + normals.face[closed.neighbors]
    np.testing.assert_allclose(normals.edge, both / np.linalg.norm(both, axis=2, keepdims=True), atol=1e-6)


def _welded(mesh):
    points, inverse = np.unique(mesh.points.round(6), axis=0, return_inverse=True)
    return points, inverse.reshape(-1)[mesh.faces]


@pytest.mark.parametrize(
    "mesh",
    [Torus((0, 0, 0), (1.0, 2.0, 0.5), 0.4, 0.15).mesh(16), open_ball(12)],
    ids=["ring", "open ball"],
)
def test_the_normal_of_the_closest_feature_tells_inside(mesh):
    """Against the winding number of the closed mesh, for a skin that is crumpled so that edges and vertices count."""
    closed = ClosedMesh.of(mesh)
    rng = np.random.default_rng(0)
    points = closed.points(mesh.points + rng.normal(0, 0.01, mesh.points.shape).astype(np.float32))
    near = points[rng.integers(0, len(points), 2000)]
    places = (near + rng.normal(0, 0.05, near.shape)).astype(np.float32)
    signed = signed_distances(closed, points, places)
    inside = reference.winding_number(places.astype(float), points[closed.faces].astype(float)) > 0.5
    clear = np.abs(signed) > 1e-5
    np.testing.assert_array_equal((signed < 0)[clear], inside[clear])
    assert 0.2 < inside.mean() < 0.8


def test_triangles_that_collapse_have_the_normal_of_their_neighbours():
    mesh = BALL.mesh(16)
    closed = ClosedMesh.of(mesh)
    points = mesh.points.copy()
    start, end = mesh.faces[40, 0], mesh.faces[40, 1]
    points[end] = points[start]
    normals = closed.normals(points)
    for part in normals:
        np.testing.assert_allclose(np.linalg.norm(part, axis=-1), 1, atol=1e-5)
    radial = (points[mesh.faces].mean(axis=1) - BALL.center) / 0.5
    assert (np.einsum("ti,ti->t", normals.face, radial) > 0.8).all()


def test_threads_change_no_byte_of_normals(on_threads):
    mesh = BALL.mesh(24)
    closed = ClosedMesh.of(mesh)
    on_threads(lambda: closed.normals(mesh.points))
