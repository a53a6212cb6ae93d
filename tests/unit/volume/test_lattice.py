"""The lattice: every point in its tetrahedron, shapes, and parts of a body kept apart."""

import numpy as np
import pytest

from mane.body.mesh import Mesh
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.volume.lattice import Lattice
from mane.volume.mesh import mesh_around_body

# Where points may be outside of their tetrahedron by rounding, over its size.
ROUNDING = 1e-9


def still(mesh):
    """A mesh as a body that does not move, whose distance is exact."""
    return Solid.animated(mesh, [0.0], mesh.points[None])


def two_balls(gap):
    """Two balls of 5 cm beside each other, `gap` apart, as one mesh that does not hang together."""
    ball = Sphere((0.0, 0.0, 0.0), 0.05).mesh(20)
    shift = np.array([0.1 + gap, 0.0, 0.0], np.float32)
    return Mesh(
        np.concatenate([ball.points, ball.points + shift]), np.concatenate([ball.faces, ball.faces + len(ball.points)])
    )


def test_every_point_lies_in_the_tetrahedron_of_its_key():
    lattice = Lattice.around(np.array([-0.3, 0.1, 0.0]), np.array([0.7, 0.8, 0.5]), 0.13)
    points = np.random.default_rng(1).uniform([-0.3, 0.1, 0.0], [0.7, 0.8, 0.5], (3000, 3))
    keys = lattice.keys_of(points)
    assert (keys >= 0).all()
    corners = lattice.positions(lattice.corners(keys))
    inner = np.linalg.solve((corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1), (points - corners[:, 0])[..., None])
    weights = np.concatenate([1 - inner.sum(axis=1), inner[..., 0]], axis=1)
    assert weights.min() > -ROUNDING


def test_tetrahedra_are_alike_fill_the_box_and_face_one_way():
    lattice = Lattice(np.zeros(3), 0.5, np.array([3, 4, 2]))
    corners = lattice.positions(lattice.corners(lattice.all_keys()))
    volume = np.linalg.det(corners[:, 1:] - corners[:, :1]) / 6
    np.testing.assert_allclose(volume, 0.5**3 / 12)
    # Inner faces alone have tetrahedra, each a third of a cube: two pyramids on the face.
    faces = 2 * 4 * 2 + 3 * 3 * 2 + 3 * 4 * 1
    assert len(corners) == 4 * faces
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (np.einsum("ti,ti->t", normals, corners[:, 3] - corners[:, 0]) > 0).all()


def test_points_outside_have_no_key_and_a_huge_lattice_is_refused():
    lattice = Lattice(np.zeros(3), 0.5, np.array([3, 3, 3]))
    assert (lattice.keys_of(np.array([[-1.0, 0.7, 0.7], [9.0, 0.7, 0.7]])) == -1).all()
    with pytest.raises(ValueError, match=r"spacing: must be larger than 0\.0001 m"):
        Lattice.around(np.zeros(3), np.ones(3), 1e-4)


def test_the_mesh_holds_skin_and_hair_and_is_driven_below_the_skin():
    ball = Sphere((0.0, 0.0, 0.0), 0.05).mesh(20)
    mesh = mesh_around_body(still(ball), spacing=0.02, reach=0.03)
    direction = ball.points / np.linalg.norm(ball.points, axis=1, keepdims=True)
    for height in (0.0, 0.015, 0.029):
        assert (mesh.locate((ball.points + height * direction).astype(np.float32)) >= 0).all()
    assert mesh.is_driven.sum() > 20
    np.testing.assert_array_equal(mesh.is_driven, still(ball).rest_distance(mesh.nodes.astype(np.float32)) < 0)
    assert mesh.copied_count == 0


@pytest.mark.parametrize("copies", [True, False])
def test_parts_that_do_not_hang_together_share_no_node(copies):
    """Two balls 2 cm apart in a lattice of 2 cm cubes, hair of 3 cm: their air overlaps, and is there twice."""
    body = two_balls(0.02)
    mesh = mesh_around_body(still(body), spacing=0.02, reach=0.03, copies=copies)
    half = len(body.points) // 2
    left, right = (
        mesh.tets[mesh.locate(body.points[part], mesh.patch_of_vertex[part])]
        for part in (slice(half), slice(half, None))
    )
    assert bool(mesh.copied_count) == copies
    if copies:
        reached = _connected(mesh, left[0, 0])
        assert reached[left].all()
        assert not reached[right].any()
        # A node that the other ball's skin covers is in the air of its own.
        assert not mesh.is_driven[reached & (np.linalg.norm(mesh.nodes, axis=1) > 0.05)].any()
    else:
        assert _connected(mesh, left[0, 0]).all()


def _connected(mesh, node):
    reached = np.zeros(mesh.node_count, bool)
    reached[node] = True
    for _ in range(60):
        touched = reached[mesh.tets].any(axis=1)
        reached[mesh.tets[touched]] = True
    return reached


def test_a_cage_is_filled_and_must_be_closed():
    ball, cage = Sphere((0.0, 0.0, 0.0), 0.05).mesh(20), Sphere((0.0, 0.02, 0.0), 0.09).mesh(20)
    mesh = mesh_around_body(still(ball), spacing=0.02, reach=0.02, cage=cage)
    assert mesh.locate(np.array([[0.0, 0.105, 0.0]], np.float32))[0] >= 0
    with pytest.raises(ValueError, match="cage: must be closed"):
        mesh_around_body(still(ball), spacing=0.02, reach=0.02, cage=Mesh(cage.points, cage.faces[5:]))
    with pytest.raises(ValueError, match=r"cage: what it encloses outside of the body holds no tetrahedron of 0\.02 m"):
        mesh_around_body(still(ball), spacing=0.02, reach=0.02, cage=Sphere((0.0, 0.0, 0.0), 0.001).mesh(8))


def test_a_body_with_a_hole_is_filled_as_if_it_were_closed():
    """A skin that ends at the neck, say: its hole is closed for distances, and the mesh is that of the whole."""
    ball = Sphere((0.0, 0.0, 0.0), 0.05).mesh(20)
    whole, cut = (
        mesh_around_body(still(one), spacing=0.02, reach=0.02) for one in (ball, Mesh(ball.points, ball.faces[40:]))
    )
    assert abs(cut.tet_count - whole.tet_count) < 0.05 * whole.tet_count
    assert abs(int(cut.is_driven.sum()) - int(whole.is_driven.sum())) <= 0.1 * whole.is_driven.sum()
