"""Distance fields of meshes, sound and broken, against closed forms; every tolerance is derived beside it.

Errors come from three places, and add up:
- the mesh: a facet lies inside its shape by its sagitta, R (1 - cos(pi / n)) per direction with n segments in a turn;
- the field between the nodes: linear interpolation in three directions is off by h^2 / 8 (d_xx + d_yy + d_zz), and the
  distance to a smooth surface has d_xx + d_yy + d_zz = 1 / r1 + 1 / r2, the curvatures of its level set at the point;
- rounding: float32 in units of cells, some 1e-4 h.
"""

import numpy as np
import pytest

from mane.body.mesh import Mesh
from mane.body.sdf import SignedDistanceField, build_sdf
from mane.body.shapes import Box, Sphere, Torus, Union

FACETS = 128
ROUNDING = 1e-4
SPHERE = Sphere((0.02, 1.6, -0.01), 0.1)
TORUS = Torus((0.0, 0.0, 0.0), (1.0, 2.0, 0.5), 0.08, 0.03)


def sagitta(radius, segments):
    return radius * (1 - np.cos(np.pi / segments))


def points_in(field, count=20_000, seed=0):
    low, high = field.bounds
    return np.random.default_rng(seed).uniform(low, high, (count, 3)).astype(np.float32)


def without_faces(mesh, drop):
    return Mesh(mesh.points, mesh.faces[~drop])


def steepest(field):
    """Largest difference of neighbouring nodes, in cells; no distance exceeds 1."""
    return max(float(np.abs(np.diff(field.values, axis=axis)).max()) for axis in range(3)) / field.cell_size


@pytest.mark.parametrize("resolution", [32, 64])
def test_sphere(resolution):
    field = build_sdf(SPHERE.mesh(FACETS), resolution, cache=False)
    h = field.cell_size
    points = points_in(field)
    radius = np.linalg.norm(points - SPHERE.center, axis=1)
    value, gradient = field.sample_with_gradient(points)
    exact, exact_gradient = SPHERE.distance_and_gradient(points)
    # Both curvatures are 1 / radius; the sharpest one of a cell is at its corner nearest to the centre.
    nearest = radius - np.sqrt(3) * h
    smooth = nearest > 0
    chord = 2 * sagitta(SPHERE.radius, FACETS)
    bound = h**2 / 8 * 2 / nearest + chord + ROUNDING * h
    assert (np.abs(value - exact) <= bound)[smooth].all()
    assert np.abs(value - exact).max() <= np.sqrt(3) * h + chord, "at the centre, where the distance has a kink"
    # The derivative of linear interpolation is off by h/2 |d_xx| per axis, sqrt(2) / radius in all, to first order;
    # a facet's normal turns by up to its half angle, pi / n, in either direction.
    far = nearest > 0.5 * SPHERE.radius
    error = np.linalg.norm(gradient - exact_gradient, axis=1)
    slope_bound = h / np.sqrt(2) / nearest + np.sqrt(2) * np.pi / FACETS
    assert (error <= slope_bound)[far].all()


@pytest.mark.parametrize("resolution", [32, 64])
def test_torus(resolution):
    facets = 2 * FACETS
    field = build_sdf(TORUS.mesh(facets), resolution, cache=False)
    h = field.cell_size
    points = points_in(field)
    value, exact = field.sample(points), TORUS.distance(points)
    # Level sets of a torus curve by one over the distance from the circle and by at most one over that from the axis.
    reach = np.sqrt(3) * h
    tube = exact + TORUS.minor_radius - reach
    height = (points - TORUS.center) @ np.asarray(TORUS.axis)
    axial = np.linalg.norm(points - height[:, None] * np.asarray(TORUS.axis), axis=1) - reach
    smooth = (tube > 0) & (axial > 0)
    chord = sagitta(TORUS.major_radius + TORUS.minor_radius, facets) + sagitta(TORUS.minor_radius, facets // 2)
    bound = h**2 / 8 * (1 / tube + 1 / axial) + chord + ROUNDING * h
    assert smooth.mean() > 0.8
    assert (np.abs(value - exact) <= bound)[smooth].all()


def test_error_falls_with_the_square_of_the_cell():
    """Between nodes that hold the exact distance; near the surface, where it is smooth."""
    errors = []
    for resolution in (24, 48, 96):
        h = 0.24 / (resolution - 1)
        origin = np.asarray(SPHERE.center, np.float32) - np.float32(0.12)
        empty = SignedDistanceField(np.zeros((resolution,) * 3, np.float32), origin, h)
        exact_nodes = SPHERE.distance(empty.node_positions().reshape(-1, 3)).reshape(empty.values.shape)
        field = SignedDistanceField(exact_nodes, origin, h)
        points = points_in(field)
        exact = SPHERE.distance(points)
        errors.append(np.abs(field.sample(points) - exact)[np.abs(exact) < 0.03].max())
    # Halving the cell (47/23 and 95/47) divides the error by four; the sharpest curvature seen also varies a little.
    assert errors[0] / errors[1] > 3.5
    assert errors[1] / errors[2] > 3.5


def test_gradient_is_the_derivative_of_the_sample():
    field = build_sdf(TORUS.mesh(FACETS), 48, cache=False)
    h = field.cell_size
    points = points_in(field)
    step = 0.01 * h
    cell = (points - field.origin) / h % 1
    # Away from the faces of cells, where a trilinear field has a kink, it is linear along each axis.
    points = points[((cell > 0.05) & (cell < 0.95)).all(axis=1)]
    _, gradient = field.sample_with_gradient(points)
    for axis in range(3):
        offset = np.zeros(3, np.float32)
        offset[axis] = step
        slope = (field.sample(points + offset) - field.sample(points - offset)) / (2 * step)
        # Positions up to 0.1 m carry 4e-9 m of rounding, over a step of 2 x 0.01 cells of 5 mm.
        np.testing.assert_allclose(slope, gradient[:, axis], atol=3e-4)


def test_a_missing_triangle_changes_no_sign():
    mesh = SPHERE.mesh(48)
    whole = build_sdf(mesh, 64, cache=False)
    drop = np.zeros(mesh.face_count, np.bool_)
    drop[mesh.face_count // 2] = True
    broken = build_sdf(without_faces(mesh, drop), 64, cache=False)
    h = whole.cell_size
    # The cap is free to be where the winding number is one half, within the triangle's own size of where it was.
    size = np.sqrt(2 * mesh.face_areas.max())
    clear = np.abs(whole.values) > size
    assert ((broken.values < 0) == (whole.values < 0))[clear].all()
    assert np.abs(broken.values - whole.values).max() < size
    assert steepest(broken) <= 1 + 1e-3
    assert np.abs(broken.values - whole.values).max() > 1e-3 * h, "the triangle must matter for this test to mean much"


def truncated_ball(points, height):
    """Exact distance to the part of SPHERE below `height` above its centre, which is convex."""
    local = points.astype(float) - np.asarray(SPHERE.center)
    radius, rim = np.linalg.norm(local, axis=1), np.sqrt(SPHERE.radius**2 - height**2)
    across = np.hypot(local[:, 0], local[:, 2])
    inside = np.maximum(radius - SPHERE.radius, local[:, 1] - height)
    over_disc = (across <= rim) & (local[:, 1] > height)
    below_rim = SPHERE.radius * local[:, 1] / np.maximum(radius, 1e-12) <= height
    outside = np.where(over_disc, local[:, 1] - height, np.hypot(across - rim, local[:, 1] - height))
    outside = np.where(below_rim, radius - SPHERE.radius, outside)
    return np.where(inside <= 0, inside, outside), np.hypot(across - rim, local[:, 1] - height)


def test_a_big_plane_hole_is_closed_by_a_plane():
    """From a point of a disc its rim is seen under half of all directions, so there the winding number is one half."""
    mesh = SPHERE.mesh(FACETS)
    ring = np.unique(mesh.points[:, 1])
    top = ring[np.searchsorted(ring, SPHERE.center[1] + 0.04)]
    drop = mesh.points[mesh.faces][:, :, 1].mean(axis=1) > top
    field = build_sdf(without_faces(mesh, drop), 64, cache=False)
    h = field.cell_size
    nodes = field.node_positions().reshape(-1, 3)
    exact, to_rim = truncated_ball(nodes, float(top) - SPHERE.center[1])
    error = np.abs(field.values.ravel() - exact)
    # The winding number is summed to 4e-3 and falls by 1 / (2 rim) per metre at the disc, so its level is off by
    # 0.008 x 0.09 m, less than half a cell of 3.5 mm; near the rim a cap joins the mesh within a cell.
    assert (error <= 0.5 * h)[to_rim > 3 * h].all()
    assert error.max() <= 1.5 * h
    assert steepest(field) <= 1 + 1e-3


def test_overlapping_spheres_have_no_surface_inside():
    big, small = Sphere((0.0, 0.0, 0.0), 0.1), Sphere((0.09, 0.01, 0.0), 0.07)
    field = build_sdf(Union([big, small]).mesh(FACETS), 64, cache=False)
    h = field.cell_size
    nodes = field.node_positions().reshape(-1, 3).astype(float)
    exact = union_of_two_balls(nodes, big, small)
    # The seam is cut in pieces of half a cell, each kept or dropped whole.
    assert np.abs(field.values.ravel() - exact).max() <= 0.5 * h + 2 * sagitta(big.radius, FACETS)
    assert steepest(field) <= 1 + 1e-3
    buried = np.linalg.norm(nodes - big.center, axis=1) < 0.1 - 1e-6
    on_small = np.abs(np.linalg.norm(nodes - small.center, axis=1) - 0.07) < 0.5 * h
    assert (field.values.ravel()[buried & on_small & (exact < -2 * h)] < -h).all()


def union_of_two_balls(points, first, second):
    """Exact distance to a union of two overlapping balls: to the free part of either sphere, or to their seam."""
    c1, c2 = np.asarray(first.center), np.asarray(second.center)
    gap = np.linalg.norm(c2 - c1)
    axis = (c2 - c1) / gap
    along = (gap**2 + first.radius**2 - second.radius**2) / (2 * gap)
    seam_radius = np.sqrt(first.radius**2 - along**2)
    height = (points - c1) @ axis - along
    across = np.linalg.norm(points - c1 - ((points - c1) @ axis)[:, None] * axis, axis=1)
    best = np.hypot(across - seam_radius, height)
    inside = np.zeros(len(points), np.bool_)
    for ball, other in ((first, second), (second, first)):
        offset = points - ball.center
        radius = np.linalg.norm(offset, axis=1)
        foot = np.asarray(ball.center) + offset * (ball.radius / np.maximum(radius, 1e-12))[:, None]
        is_free = np.linalg.norm(foot - other.center, axis=1) >= other.radius
        best = np.where(is_free, np.minimum(best, np.abs(radius - ball.radius)), best)
        inside |= radius < ball.radius
    return np.where(inside, -best, best)


@pytest.mark.parametrize("overlap", [0.0, 1e-3, 0.03], ids=["touching", "within a cell", "deep"])
def test_two_boxes_in_a_row_are_one_box(overlap):
    """Faces that two boxes share, or that lie inside the other box, bound nothing."""
    pair = Union([Box((-0.1, 0, 0), (0.1, 0.06, 0.05)), Box((0.1 - overlap, 0, 0), (0.1, 0.06, 0.05))])
    whole = Box((-0.5 * overlap, 0, 0), (0.2 - 0.5 * overlap, 0.06, 0.05))
    field = build_sdf(pair.mesh(), 64, cache=False)
    nodes = field.node_positions().reshape(-1, 3)
    # Coplanar sides meet along the seam without a gap, so pieces of the seam fit exactly here.
    np.testing.assert_allclose(field.values.ravel(), whole.distance(nodes), atol=1e-3 * field.cell_size)


def test_a_part_that_pierces_the_middle_of_a_large_triangle_is_seen():
    """A box has twelve triangles; a ball through the middle of its lid touches no corner of them."""
    box, ball = Box((0, 0, 0), (0.1, 0.1, 0.1)), Sphere((0.03, 0.1, 0.02), 0.04)
    field = build_sdf(Union([box, ball]).mesh(64), 64, cache=False)
    nodes = field.node_positions().reshape(-1, 3)
    under_lid = ball.distance(nodes) < -2.5 * field.cell_size
    # Deep in the ball nothing bounds the solid, and the depth is at least that in the ball.
    assert (field.values.ravel()[under_lid] <= ball.distance(nodes)[under_lid] + 0.5 * field.cell_size).all()
    assert steepest(field) <= 1 + 1e-3


def test_a_mesh_turned_inside_out_gives_the_same_field():
    mesh = TORUS.mesh(64)
    out = build_sdf(mesh, 48, cache=False)
    turned = build_sdf(Mesh(mesh.points, mesh.faces[:, ::-1]), 48, cache=False)
    np.testing.assert_allclose(turned.values, out.values, atol=ROUNDING * out.cell_size)


def test_a_cavity_stays_hollow():
    """A smaller sphere that faces inwards, within a larger one, is a cavity and not a mistake."""
    outer, inner = Sphere((0, 0, 0), 0.1), Sphere((0, 0, 0), 0.05)
    a, b = outer.mesh(64), inner.mesh(64)
    mesh = Mesh(np.concatenate([a.points, b.points]), np.concatenate([a.faces, b.faces[:, ::-1] + a.vertex_count]))
    field = build_sdf(mesh, 48, cache=False)
    nodes = field.node_positions().reshape(-1, 3)
    exact = np.maximum(outer.distance(nodes), -inner.distance(nodes))
    np.testing.assert_allclose(field.values.ravel(), exact, atol=2 * sagitta(0.1, 64) + ROUNDING * field.cell_size)
