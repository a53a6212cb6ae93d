"""Roots follow the skin, and strands turn with it without jumps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mane.body.mesh import Mesh
from mane.body.shapes import Sphere
from mane.geometry import quaternion as quat
from mane.groom import _reference as reference
from mane.groom.binding import bind_roots
from mane.groom.groom import Groom
from mane.groom.roots import scatter_roots

X, Y, Z = np.eye(3, dtype=np.float32)


def sheet(cells=12, size=0.2, uv=True):
    """A square in the plane z = 0, facing +z, with uv that grow along -y and x."""
    axis = np.linspace(-size / 2, size / 2, cells + 1)
    x, y = (grid.ravel() for grid in np.meshgrid(axis, axis, indexing="ij"))
    a = (np.arange(cells)[:, None] * (cells + 1) + np.arange(cells)).ravel()
    quads = np.stack([a, a + cells + 1, a + cells + 2, a + 1], axis=1)
    faces = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    coordinates = np.stack([0.5 - y / size, 0.5 + x / size], axis=1) if uv else None
    return Mesh(np.stack([x, y, np.zeros_like(x)], axis=1), faces, coordinates)


def hair_on(mesh, strands=300, length=0.05, lift=0.0, seed=0):
    """Straight strands along the normals, with roots `lift` [m] off the skin."""
    roots = scatter_roots(mesh, strands, seed=seed)
    steps = (lift + np.linspace(0, length, 5))[:, None]
    return Groom.from_uniform(roots.points[:, None] + steps * roots.normals[:, None]), roots


def crumpled(mesh, amount, seed=0):
    """Vertices of a mesh pushed about at random."""
    return mesh.points + amount * np.random.default_rng(seed).standard_normal(mesh.points.shape).astype(np.float32)


def test_roots_know_their_place():
    mesh = sheet()
    groom, roots = hair_on(mesh, lift=0.001)
    binding = bind_roots(groom, mesh)
    corners = mesh.points[mesh.faces[binding.triangle]]
    assert_allclose(binding.barycentric.sum(axis=1), 1, atol=1e-6)
    assert binding.barycentric.min() >= 0
    assert_allclose(np.einsum("sc,scd->sd", binding.barycentric, corners), roots.points, atol=1e-7)
    assert_allclose(binding.offset, np.broadcast_to([0, 0, 0.001], roots.points.shape), atol=1e-7)
    assert_allclose(binding.distance, 0.001, atol=1e-7)


def test_a_skin_at_rest_changes_not_a_bit():
    mesh = Sphere((0.1, 1.6, 0.03), 0.1).mesh(48)
    groom, _ = hair_on(mesh, lift=-0.002)
    binding = bind_roots(groom, mesh)
    assert_array_equal(binding.carry(groom, mesh.points).points, groom.points)
    assert_array_equal(binding.roots(mesh.points), groom.roots)
    assert_array_equal(binding.rotations(mesh.points), quat.identity((groom.strand_count,)))
    assert_array_equal(binding.frames(mesh.points), binding.rest_frame)


def test_a_rigid_motion_of_the_skin_moves_the_hair_rigidly():
    mesh = sheet()
    groom, _ = hair_on(mesh, lift=0.002)
    binding = bind_roots(groom, mesh)
    turn = quat.random(1, np.random.default_rng(1))[0].astype(float)

    def move(points):
        return quat.rotate(turn, points.astype(float)) + [0.3, -0.2, 0.1]

    now = move(mesh.points).astype(np.float32)
    # Rounding (3e-8 m at coordinates of some 0.4 m) over an edge of 17 mm turns a triangle by some 4e-6; strands are
    # 5 cm long.
    assert_allclose(binding.carry(groom, now).points, move(groom.points), atol=4e-6 * 0.05 + 1e-7)
    assert_allclose(np.abs(binding.rotations(now) @ turn), 1, atol=1e-6)


def test_rotations_match_the_polar_decomposition():
    mesh = sheet(cells=4)
    groom, _ = hair_on(mesh, strands=80)
    binding = bind_roots(groom, mesh)
    turn = quat.random(1, np.random.default_rng(4))[0]
    now = (quat.rotate(turn, crumpled(mesh, 0.01)) * np.float32([1, 1.5, 0.7])).astype(np.float32)
    at_vertex = [reference.vertex_rotation(mesh.points, now, mesh.faces, v) for v in range(mesh.vertex_count)]
    for s, ours in enumerate(binding.rotations(now)):
        total = np.zeros(4)
        for corner, weight in zip(mesh.faces[binding.triangle[s]], binding.barycentric[s], strict=True):
            theirs = at_vertex[corner]
            total += weight * theirs * (-1 if total @ theirs < 0 else 1)
        assert abs(ours @ quat.normalize(total)) == pytest.approx(1, abs=1e-6)


def test_pure_stretch_turns_nothing():
    mesh = sheet()
    groom, _ = hair_on(mesh)
    binding = bind_roots(groom, mesh)
    now = mesh.points * np.float32([1.7, 0.6, 1])
    assert_allclose(binding.rotations(now), quat.identity((groom.strand_count,)), atol=1e-7)
    assert_allclose(binding.roots(now), groom.roots * [1.7, 0.6, 1], atol=1e-7)


def test_the_turn_has_no_jump_across_an_edge():
    """Roots 1 um to either side of every inner edge turn the same way, although the triangles differ by degrees."""
    mesh = sheet(cells=6, uv=False)
    now = crumpled(mesh, 0.004)
    inner = mesh.points[mesh.faces].mean(axis=1)
    ends = mesh.points[mesh.faces[:, [0, 2]]]  # the diagonals, shared by two triangles
    middle = ends.mean(axis=1)
    inward = (inner - middle) / np.linalg.norm(inner - middle, axis=1, keepdims=True)
    roots = np.stack([middle + 1e-6 * inward, middle - 1e-6 * inward], axis=1).reshape(-1, 3)
    groom = Groom.from_uniform(np.stack([roots, roots + 0.01 * Z], axis=1))
    binding = bind_roots(groom, mesh)
    turn = binding.rotations(now).reshape(-1, 2, 4)
    corners = mesh.points[mesh.faces], now[mesh.faces]
    by_face = np.array([quat.from_matrix(reference.triangle_rotation(*pair)) for pair in zip(*corners, strict=True)])
    cells = len(by_face) // 2
    assert np.median(quat.angle_between(by_face[:cells], by_face[cells:])) > np.radians(5)
    # 2 um across triangles of some 3 cm, whose corners differ by less than a radian.
    assert quat.angle_between(turn[:, 0], turn[:, 1]).max() < 2e-6 / 0.015 + 1e-6


def test_frames_stand_on_the_skin():
    mesh = Sphere((0, 0, 0), 0.1).mesh(96)
    groom, roots = hair_on(mesh)
    frames = bind_roots(groom, mesh).frames(mesh.points)
    assert_allclose(np.linalg.norm(frames, axis=1), 1, atol=1e-6)
    assert_allclose(quat.rotate(frames, Z), roots.normals, atol=1e-5)


def test_frames_follow_u_or_else_the_first_edge():
    with_uv, without = sheet(), sheet(uv=False)
    groom, _ = hair_on(with_uv, strands=50)
    assert_allclose(quat.rotate(bind_roots(groom, with_uv).rest_frame, X), np.tile(-Y, (50, 1)), atol=1e-6)
    binding = bind_roots(groom, without)
    edge = without.points[without.faces[binding.triangle]]
    edge = (edge[:, 1] - edge[:, 0]) / np.linalg.norm(edge[:, 1] - edge[:, 0], axis=1, keepdims=True)
    assert_allclose(quat.rotate(binding.rest_frame, X), edge, atol=1e-6)


def test_uv_that_say_nothing_fall_back_to_the_edge():
    flat = sheet()
    mesh = Mesh(flat.points, flat.faces, np.zeros((flat.vertex_count, 2)))
    groom, _ = hair_on(mesh, strands=20)
    frame = bind_roots(groom, mesh).rest_frame
    assert np.isfinite(frame).all()
    assert_allclose(np.linalg.norm(frame, axis=1), 1, atol=1e-6)


def test_root_uv_come_from_the_groom_or_else_from_the_skin():
    mesh = sheet()
    groom, roots = hair_on(mesh, strands=50)
    assert_allclose(bind_roots(groom, mesh).root_uv, roots.uv, atol=1e-6)
    own = np.random.default_rng(0).random((50, 2)).astype(np.float32)
    assert_array_equal(bind_roots(groom.with_strand(root_uv=own), mesh).root_uv, own)
    assert bind_roots(groom, sheet(uv=False)).root_uv is None


def test_a_root_off_the_skin_keeps_its_height():
    mesh = sheet()
    groom, _ = hair_on(mesh, lift=0.003)
    binding = bind_roots(groom, mesh)
    now = crumpled(mesh, 0.003)
    place = np.einsum("sc,scd->sd", binding.barycentric, now[mesh.faces[binding.triangle]])
    assert_allclose(np.linalg.norm(binding.roots(now) - place, axis=1), 0.003, atol=1e-7)


def test_strands_keep_their_shape():
    mesh = sheet()
    groom, _ = hair_on(mesh)
    carried = bind_roots(groom, mesh).carry(groom.with_strand(id=np.arange(300)), crumpled(mesh, 0.01))
    before, after = groom.as_uniform(), carried.as_uniform()
    for a, b in ((0, 4), (1, 3), (2, 4)):
        lengths = [np.linalg.norm(points[:, a] - points[:, b], axis=1) for points in (before, after)]
        assert_allclose(*lengths, atol=1e-7)
    assert_array_equal(carried.strand["id"], np.arange(300))


def test_collapsed_triangles_leave_no_nan_and_follow_the_rest():
    mesh = sheet()
    groom, _ = hair_on(mesh, strands=500)
    binding = bind_roots(groom, mesh)
    turn = quat.from_axis_angle(X, 1.0)
    now = quat.rotate(turn, mesh.points)
    patch = np.linalg.norm(mesh.points, axis=1) < 0.05
    now[patch] = now[patch][0]
    rotations = binding.rotations(now)
    assert np.isfinite(binding.carry(groom, now).points).all()
    inside = patch[mesh.faces[binding.triangle]].all(axis=1)
    assert inside.sum() > 20
    # The whole patch is one point; its own triangles say nothing, but the skin around it is still flat and turned.
    assert_allclose(quat.rotate(rotations[inside], Z), np.tile(quat.rotate(turn, Z), (inside.sum(), 1)), atol=1e-5)
    everything = np.zeros_like(mesh.points)
    assert_array_equal(binding.rotations(everything), quat.identity((500,)))
    assert np.isfinite(binding.carry(groom, everything).points).all()


def test_a_sliver_at_rest_has_no_say():
    """Its normal is rounding noise at rest: however well it is shaped later, it does not tell how the skin turned."""
    x, y = [0, 0.1, 0.1, 0.05], [0, 0, 0.1, 1e-8]
    mesh = Mesh(np.stack([x, y, np.zeros(4)], axis=1), [[0, 1, 2], [0, 3, 1]])
    groom = Groom.from_uniform(np.array([[[0.07, 0.04, 0], [0.07, 0.04, 0.1]]]))
    now = mesh.points.copy()
    now[3] = [0.05, 0, -0.1]
    assert_array_equal(bind_roots(groom, mesh).carry(groom, now).points, groom.points)


def test_only_the_skin_around_the_roots_matters():
    mesh = sheet()
    groom, _ = hair_on(mesh)
    near = groom.take(groom.roots[:, 0] < -0.05)
    far = mesh.points[:, 0] > 0.02
    now = mesh.points.copy()
    now[far] += np.float32(0.3)
    assert_array_equal(bind_roots(near, mesh).carry(near, now).points, near.points)


def test_wrong_units_are_named_with_both_sizes():
    mesh = sheet()
    groom, _ = hair_on(mesh, strands=10)
    with pytest.raises(
        ValueError, match=r"groom\.roots: must be within 0\.0141 m of the skin, got .* m at strand 0"
    ) as e:
        bind_roots(groom.with_points(groom.points * 100 + 50), mesh)
    assert "10 of 10 too far" in str(e.value)
    assert "the skin 0.283 m: do their units and places agree?" in str(e.value)
    assert "\n" not in str(e.value)


def test_the_first_root_too_far_is_named_and_the_limit_can_be_raised():
    mesh = sheet()
    groom, _ = hair_on(mesh, strands=10)
    points = groom.as_uniform().copy()
    points[7] += [0, 0, 0.05]
    lifted = groom.with_points(points)
    with pytest.raises(ValueError, match=r"got 0\.05 m at strand 7 \(1 of 10 too far\)"):
        bind_roots(lifted, mesh)
    assert bind_roots(lifted, mesh, max_distance=0.06).distance[7] == pytest.approx(0.05, abs=1e-6)
    with pytest.raises(ValueError, match="max_distance: must be a finite number above zero, got 0"):
        bind_roots(groom, mesh, max_distance=0)


def test_a_skin_or_groom_that_does_not_fit_is_refused():
    mesh = sheet()
    groom, _ = hair_on(mesh, strands=10)
    binding = bind_roots(groom, mesh)
    with pytest.raises(ValueError, match=r"mesh_points: must have shape \(169, 3\), got \(168, 3\)"):
        binding.roots(mesh.points[:-1])
    with pytest.raises(ValueError, match="mesh_points: must be finite"):
        binding.roots(mesh.points * np.nan)
    with pytest.raises(ValueError, match="groom: must have the 10 bound strands, got 4"):
        binding.carry(groom.take(range(4)), mesh.points)


def test_the_result_does_not_depend_on_the_thread_count(on_threads):
    mesh = Sphere((0, 1.6, 0), 0.1).mesh(48)
    groom, _ = hair_on(mesh, strands=2000)
    now = crumpled(mesh, 0.002)

    def carried():
        binding = bind_roots(groom, mesh)
        return (
            (binding.triangle, binding.barycentric, binding.offset),
            (binding.roots(now), binding.rotations(now), binding.carry(groom, now).points),
        )

    on_threads(carried)
