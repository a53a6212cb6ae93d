"""Triangles of a surface that deforms, asked one point at a time: against brute force and what a sphere knows."""

import numpy as np
import pytest

from mane.body.animated import AnimatedMesh
from mane.body.deforming import _kernels as kernels
from mane.body.deforming._kernels import END, START
from mane.body.deforming.surface import FORGOTTEN, DeformingSurface
from mane.body.mesh import Mesh
from mane.body.shapes import Box, Sphere
from mane.geometry import quaternion

BALL = Sphere((0.1, -0.2, 0.05), 0.1).mesh(24)
CENTER = np.array([0.1, -0.2, 0.05])


def bent(points, angle):
    """Points bent around the z axis, more the higher they are."""
    turn = angle * (points[:, 1] + 0.3) / 0.2
    c, s = np.cos(turn), np.sin(turn)
    return np.stack([c * points[:, 0] - s * points[:, 1], s * points[:, 0] + c * points[:, 1], points[:, 2]], 1)


def surface_of(*frames, mesh=BALL, times=None):
    times = np.arange(len(frames), dtype=float) if times is None else times
    return DeformingSurface(AnimatedMesh(mesh, times, np.stack(frames).astype(np.float32)))


def corners_at(arrays, which):
    return arrays.corners[arrays.shape[which]]


def came_from(arrays, *point):
    """Where at the start of the step the place of the surface was that is closest to a point at its end."""
    t = kernels.closest_triangle(arrays, END, *point, -1)
    return kernels.carried(arrays, t, END, START, *point)


def brute_force(points, corners):
    """Distance of each point to all triangles, by dense search over their faces, edges and corners (P, T)."""
    a, b, c = (corners[None, :, k] for k in range(3))
    p = points[:, None]
    u, v, w = b - a, c - a, p - a
    dot = lambda x, y: (x * y).sum(axis=-1)  # noqa: E731
    area = dot(u, u) * dot(v, v) - dot(u, v) ** 2
    beta = (dot(w, u) * dot(v, v) - dot(w, v) * dot(u, v)) / area
    gamma = (dot(w, v) * dot(u, u) - dot(w, u) * dot(u, v)) / area
    inside = (beta >= 0) & (gamma >= 0) & (beta + gamma <= 1)
    plane = np.where(inside, np.abs(dot(w, np.cross(u, v))) / np.sqrt(area), np.inf)
    found = plane
    for start, end in ((a, b), (b, c), (c, a)):
        edge = end - start
        along = np.clip(dot(p - start, edge) / dot(edge, edge), 0, 1)
        found = np.minimum(found, np.linalg.norm(p - start - along[..., None] * edge, axis=-1))
    return found


def test_the_closest_triangle_is_that_of_brute_force_wherever_the_search_begins():
    frames = BALL.points, bent(BALL.points, 0.8)
    arrays = surface_of(*frames).during(0.0, 1.0)
    rng = np.random.default_rng(3)
    points = CENTER + rng.normal(scale=0.1, size=(60, 3))
    for which in (START, END):
        expected = brute_force(points, corners_at(arrays, which)).min(axis=1)
        for point, distance in zip(points, expected, strict=True):
            found = {kernels.closest_triangle(arrays, which, *point, guess) for guess in (-1, *rng.integers(0, 500, 4))}
            assert len(found) == 1
            signed, *gradient = kernels.distance_to(arrays, which, found.pop(), *point)
            assert abs(signed) == pytest.approx(distance, abs=1e-12)
            assert np.linalg.norm(gradient) == pytest.approx(1.0)


def test_boxes_bound_the_distance_from_below_and_say_when_it_may_not_be_enough():
    frames = BALL.points, bent(BALL.points, 0.8)
    arrays = surface_of(*frames).during(0.0, 1.0)
    rng = np.random.default_rng(5)
    points = CENTER + rng.normal(scale=0.3, size=(200, 3))
    box = np.array([0.0, 0.0])
    for which in (START, END):
        corners = corners_at(arrays, which)
        exact = brute_force(points, corners).min(axis=1)
        blocks = [corners[first : first + 16].reshape(-1, 3) for first in range(0, len(corners), 16)]
        low, high = (np.array([edge(block, axis=0) for block in blocks]) for edge in (np.min, np.max))
        off = np.maximum(np.maximum(low - points[:, None], points[:, None] - high), 0.0)
        expected = np.linalg.norm(off, axis=2).min(axis=1)
        for point, distance, bound in zip(points, exact, expected, strict=True):
            found = kernels.least_by_boxes(arrays, which, *point, 0.0)
            assert found <= distance
            assert found == pytest.approx(bound, abs=1e-5)
            # Told how far is enough, it may stop at once, but never above that where boxes are nearer.
            assert (kernels.least_by_boxes(arrays, which, *point, 0.1) > 0.1) == (found > 0.1)
        box += (exact > 0.1).sum(), (expected > 0.1).sum()
    assert box[0] > box[1] > 100  # the points tell something


def test_clusters_hang_together():
    pair = Mesh(
        np.concatenate([BALL.points, BALL.points + [0.21, 0, 0]]).astype(np.float32),
        np.concatenate([BALL.faces, BALL.faces + len(BALL.points)]),
    )
    surface = surface_of(pair.points, mesh=pair)
    for first, last in zip(surface._first[:-1], surface._first[1:], strict=True):
        members = surface._members[first:last]
        assert (members < len(BALL.points)).all() or (members >= len(BALL.points)).all()


def test_of_triangles_at_the_same_distance_the_first_counts():
    arrays = surface_of(BALL.points).during(0.0, 1.0)
    for point in corners_at(arrays, END)[::97, 0]:
        found = {kernels.closest_triangle(arrays, END, *point, guess) for guess in range(-1, 400, 23)}
        assert len(found) == 1


def test_a_sphere_that_breathes_knows_distance_side_and_velocity():
    mesh, rate = Sphere((0, 0, 0), 0.1).mesh(96), 0.3
    surface = surface_of(mesh.points, (1 + rate) * mesh.points, mesh=mesh)
    start, end = 0.3, 0.31
    arrays = surface.during(start, end)
    radius = 0.1 * (1 + rate * end)
    sag = radius * (1 - np.cos(np.pi / 96) ** 2)  # of flat triangles
    rng = np.random.default_rng(1)
    points = rng.normal(size=(200, 3))
    points *= (radius * rng.uniform(0.3, 1.7, 200) / np.linalg.norm(points, axis=1))[:, None]
    for point in points:
        distance, *gradient = kernels.surface_distance(arrays, -1, *point)
        size = np.linalg.norm(point)
        assert distance == pytest.approx(size - radius, abs=1.5 * sag)
        if abs(distance) > 0.02:
            np.testing.assert_allclose(gradient, point / size, atol=0.05)
        foot = radius * point / size
        velocity = (foot - np.array(came_from(arrays, *foot))) / (end - start)
        np.testing.assert_allclose(velocity, 0.1 * rate * point / size, atol=2e-3 * rate)


def test_sharp_edges_and_corners_have_the_right_side():
    """Closest to an edge or a corner of a thin box the side is that of the pseudonormal, not of one face's plane."""
    mesh = Box((0, 0, 0), (0.1, 0.01, 0.05)).mesh()
    arrays = surface_of(mesh.points, mesh=mesh).during(0.0, 1.0)
    rng = np.random.default_rng(5)
    half = np.array([0.1, 0.01, 0.05])
    for point in rng.uniform(-0.15, 0.15, (400, 3)):
        distance, *_ = kernels.surface_distance(arrays, -1, *point)
        beyond = np.abs(point) - half
        exact = np.linalg.norm(np.maximum(beyond, 0)) + min(beyond.max(), 0)
        assert distance == pytest.approx(exact, abs=1e-7)


def test_points_go_along_with_a_surface_that_moves_rigidly_and_with_places_of_one_that_bends():
    turn, shift = quaternion.exp(np.array([0.4, -0.8, 1.1])), np.array([0.3, 0.1, -0.2])
    rigid = quaternion.rotate(turn, BALL.points.astype(float)) + shift
    arrays = surface_of(BALL.points, rigid).during(0.0, 1.0)
    rng = np.random.default_rng(2)
    for point in CENTER + rng.normal(scale=0.15, size=(50, 3)):
        t = kernels.closest_triangle(arrays, START, *point, -1)
        there = kernels.carried(arrays, t, START, END, *point)
        np.testing.assert_allclose(there, quaternion.rotate(turn, point) + shift, atol=2e-6)
        np.testing.assert_allclose(kernels.carried(arrays, t, END, START, *there), point, atol=1e-9)
    arrays = surface_of(BALL.points, bent(BALL.points, 1.0)).during(0.0, 1.0)
    for t in range(0, len(arrays.faces), 37):
        weights = rng.dirichlet(np.ones(3))
        before, after = weights @ corners_at(arrays, START)[t], weights @ corners_at(arrays, END)[t]
        np.testing.assert_allclose(kernels.carried(arrays, t, START, END, *before), after, atol=1e-12)


def test_a_triangle_without_area_harms_nobody():
    flat = BALL.points.copy()
    flat[BALL.faces[10]] = flat[BALL.faces[10, 0]]  # and those around it
    arrays = surface_of(BALL.points, flat).during(0.0, 1.0)
    for point in CENTER + np.random.default_rng(0).normal(scale=0.1, size=(100, 3)):
        distance, *gradient = kernels.surface_distance(arrays, -1, *point)
        assert np.isfinite([distance, *gradient, *came_from(arrays, *point)]).all()
    middle = BALL.points[BALL.faces[10, 0]].astype(float)
    assert np.isfinite(kernels.surface_distance(arrays, -1, *middle)).all()


def test_steps_that_follow_each_other_take_over_the_shape_and_others_forget_it():
    frames = [BALL.points + np.float32([0.01 * k, 0, 0]) for k in range(4)]
    surface = surface_of(*frames, times=[0.0, 0.1, 0.2, 0.3])
    one = surface.during(0.0, 0.1)
    start, end = one.drift
    after = corners_at(one, END).copy()
    assert end - start == pytest.approx(0.01, rel=1e-4)
    two = surface.during(0.1, 0.25)
    np.testing.assert_array_equal(corners_at(two, START), after)
    assert two.drift[START] == end
    other = surface.during(0.05, 0.1)
    assert other.drift[START] >= end + FORGOTTEN


def test_a_cut_is_no_motion():
    frames = [BALL.points + np.float32([x, 0, 0]) for x in (0.0, 0.01, 5.0, 5.01)]
    arrays = surface_of(*frames, times=[0.0, 0.04, 0.08, 0.12]).during(0.04, 0.06)
    np.testing.assert_array_equal(corners_at(arrays, START), corners_at(arrays, END))


def test_an_open_mesh_is_closed_and_parts_inside_others_are_left_out():
    open_ball = Mesh(BALL.points, BALL.faces[BALL.points[BALL.faces].mean(axis=1)[:, 1] > -0.27])
    inner = Sphere(tuple(CENTER), 0.05).mesh(12)
    both = Mesh(
        np.concatenate([open_ball.points, inner.points]),
        np.concatenate([open_ball.faces, inner.faces + open_ball.vertex_count]),
    )
    arrays = surface_of(both.points, mesh=both).during(0.0, 1.0)
    assert kernels.surface_distance(arrays, -1, *CENTER)[0] < -0.06  # not that to the ball within
    below = CENTER - [0.0, 0.15, 0.0]
    assert kernels.surface_distance(arrays, -1, *below)[0] > 0.05  # below the hole is outside
