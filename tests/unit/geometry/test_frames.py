"""Frames along curves follow the tangent and never twist."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mane.geometry import _reference as reference
from mane.geometry import quaternion as quat
from mane.geometry.frames import segment_frames, segment_tangents


def random_curves(strands=50, vertices=20, seed=1):
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.standard_normal((strands, vertices, 3)), axis=1).astype(np.float32)


def test_third_axis_is_the_tangent():
    curves = random_curves()
    frames = segment_frames(curves)
    # These walks turn back on themselves by up to 176 degrees; there rounding (6e-8) is divided by |a + b| = 0.07.
    assert_allclose(quat.rotate(frames, np.array([0, 0, 1], np.float32)), segment_tangents(curves), atol=1e-5)
    assert_allclose(np.linalg.norm(frames, axis=-1), 1, atol=1e-6)


def test_kernel_matches_reference():
    curves = random_curves()
    root = quat.random(len(curves), np.random.default_rng(5))
    ours = segment_frames(curves, root)
    theirs = reference.transport_frames(segment_tangents(curves), root)
    assert_allclose(np.abs((ours * theirs).sum(-1)), 1, atol=1e-5)


def test_no_rotation_about_the_tangent_between_segments():
    """The rotation from one frame to the next has its axis perpendicular to both tangents: no twist."""
    curves = random_curves()
    frames = segment_frames(curves).astype(np.float64)
    step = quat.log(quat.multiply(frames[:, 1:], quat.conjugate(frames[:, :-1])))
    tangents = segment_tangents(curves).astype(np.float64)
    assert_allclose((step * tangents[:, :-1]).sum(-1), 0, atol=1e-5)
    assert_allclose((step * tangents[:, 1:]).sum(-1), 0, atol=1e-5)


def test_a_planar_curve_keeps_its_normal():
    angle = np.linspace(0, 3, 40)
    curve = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=-1)[None].astype(np.float32)
    tangent = segment_tangents(curve)[:, 0]
    up = np.broadcast_to([0, 0, 1.0], tangent.shape)
    root = quat.from_matrix(np.stack([np.cross(up, tangent), up, tangent], axis=-1))
    normal = quat.rotate(segment_frames(curve, root), np.array([0, 1, 0], np.float32))
    assert_allclose(normal, np.broadcast_to([0, 0, 1.0], normal.shape), atol=2e-6)


def test_holonomy_of_a_closed_loop_is_the_solid_angle():
    """Tangents that circle the sphere at height cos(a) come back turned by the solid angle 2 pi (1 - cos a)."""
    a, count = 0.6, 4000
    phi = np.linspace(0, 2 * np.pi, count + 1)
    tangents = np.stack([np.sin(a) * np.cos(phi), np.sin(a) * np.sin(phi), np.full_like(phi, np.cos(a))], -1)
    points = np.concatenate([np.zeros((1, 3)), np.cumsum(tangents, axis=0)])[None]
    frames = segment_frames(points).astype(np.float64)
    assert_allclose(quat.angle_between(frames[0, 0], frames[0, -1]), 2 * np.pi * (1 - np.cos(a)), atol=2e-3)


def test_segments_without_length_borrow_a_neighbours_tangent():
    line = np.zeros((3, 4, 3), np.float32)
    line[0, :, 0] = [0, 0, 1, 2]  # no first segment
    line[1, :, 0] = [0, 1, 1, 2]  # none in the middle
    assert_allclose(segment_tangents(line)[:2], np.broadcast_to([1, 0, 0], (2, 3, 3)))
    assert_allclose(segment_tangents(line)[2], np.broadcast_to([0, 0, 1], (3, 3)))  # no length at all
    assert np.isfinite(segment_frames(line)).all()


def test_one_vertex_is_refused():
    with pytest.raises(ValueError, match="at least 2 vertices, got 1"):
        segment_frames(np.zeros((3, 1, 3)))


def test_threads_change_no_byte(on_threads):
    curves = random_curves()
    on_threads(lambda: (segment_tangents(curves), segment_frames(curves)))
