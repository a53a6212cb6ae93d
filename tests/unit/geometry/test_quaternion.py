"""Rotations obey the axioms of their group, for single values, batches, both precisions and near the identity."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from mane.geometry import _kernels_quaternion as kernels
from mane.geometry import quaternion as quat

EPS = {np.float32: 1e-6, np.float64: 1e-14}


def samples(shape, dtype):
    """Rotations from everywhere, with the awkward ones mixed in: identity, half turns, hardly any turn, w < 0."""
    rng = np.random.default_rng(7)
    q = quat.normalize(rng.standard_normal(shape + (4,)))
    special = [[0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0], [1e-9, 0, 0, 1], [0, 1e-4, 0, -1], [0, 0, 0, -1]]
    flat = q.reshape(-1, 4)
    flat[: len(special)] = quat.normalize(np.array(special, float))[: len(flat)]
    return q.astype(dtype)


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def dtype(request):
    return request.param


@pytest.fixture(params=[(), (20,), (4, 5)], ids=str)
def q(request, dtype):
    return samples(request.param, dtype)


def same_rotation(a, b, tolerance):
    assert_allclose(np.abs((a * b).sum(-1)), 1, atol=tolerance)


def test_identity_is_neutral_and_conjugate_is_inverse(q, dtype):
    one = quat.identity(dtype=dtype)
    assert_allclose(quat.multiply(q, one), q)
    assert_allclose(quat.multiply(one, q), q)
    assert_allclose(quat.multiply(q, quat.conjugate(q)), np.broadcast_to(one, q.shape), atol=EPS[dtype])


def test_product_is_associative_and_acts_right_to_left(q, dtype):
    a, b, v = q, quat.conjugate(q[..., [1, 0, 2, 3]]), np.array([1, -2, 0.5], dtype)
    assert_allclose(quat.multiply(quat.multiply(a, b), q), quat.multiply(a, quat.multiply(b, q)), atol=4 * EPS[dtype])
    assert_allclose(quat.rotate(quat.multiply(a, b), v), quat.rotate(a, quat.rotate(b, v)), atol=8 * EPS[dtype])


def test_rotation_keeps_lengths_angles_and_handedness(q, dtype):
    x, y = np.array([1, 2, 3], dtype), np.array([-1, 0.5, 2], dtype)
    rx, ry = quat.rotate(q, x), quat.rotate(q, y)
    assert_allclose((rx * ry).sum(-1), x @ y, atol=20 * EPS[dtype])
    assert_allclose(np.cross(rx, ry), quat.rotate(q, np.cross(x, y)), atol=30 * EPS[dtype])


def test_precision_of_the_input_is_kept(q, dtype):
    v = np.ones(3, dtype)
    for result in (quat.rotate(q, v), quat.multiply(q, q), quat.exp(v), quat.log(q), quat.to_matrix(q)):
        assert result.dtype == dtype


def test_agrees_with_scipy():
    q = samples((50,), np.float64)
    ours, theirs = quat.to_matrix(q), Rotation.from_quat(q).as_matrix()
    assert_allclose(ours, theirs, atol=1e-14)
    same_rotation(quat.from_matrix(theirs), q, 1e-14)
    same_rotation(quat.exp(Rotation.from_quat(q).as_rotvec()), q, 1e-14)
    assert_allclose(quat.rotate(q, [1.0, 2, 3]), Rotation.from_quat(q).apply([1.0, 2, 3]), atol=1e-14)


def test_exp_and_log_are_inverse(q, dtype):
    same_rotation(quat.exp(quat.log(q)), q, 4 * EPS[dtype])
    assert (np.linalg.norm(quat.log(q), axis=-1) <= np.pi * (1 + EPS[dtype])).all()


def test_matrix_round_trip(q, dtype):
    same_rotation(quat.from_matrix(quat.to_matrix(q)), q, 8 * EPS[dtype])


def test_slerp_turns_at_constant_rate_the_shorter_way():
    a, b = samples((20,), np.float64), samples((20,), np.float64)[::-1]
    total = quat.angle_between(a, b)
    for t in (0.0, 0.25, 0.5, 1.0):
        assert_allclose(quat.angle_between(a, quat.slerp(a, b, t)), t * total, atol=1e-7)
    assert (total <= np.pi + 1e-12).all()


def test_between_vectors_is_the_smallest_rotation():
    rng = np.random.default_rng(3)
    a = rng.standard_normal((200, 3))
    b = rng.standard_normal((200, 3))
    a, b = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (a, b))
    b[:5] = -a[:5]  # opposite: the axis is free
    b[5:10] = a[5:10]
    b[10] = -a[10] + 1e-9  # almost opposite
    b[10] /= np.linalg.norm(b[10])
    q = quat.between_vectors(a, b)
    assert_allclose(quat.rotate(q, a), b, atol=1e-7)
    # the smallest rotation turns by exactly the angle between the two
    assert_allclose(quat.angle_between(quat.identity(), q), np.arccos(np.clip((a * b).sum(1), -1, 1)), atol=2e-7)


def test_axis_angle():
    assert_allclose(quat.rotate(quat.from_axis_angle([0, 0, 2.0], np.pi / 2), [1.0, 0, 0]), [0, 1, 0], atol=1e-15)
    assert_allclose(quat.from_axis_angle([0.0, 0, 0], 1.0), [0, 0, 0, 1])


def test_zero_quaternion_becomes_the_identity():
    assert_allclose(quat.normalize(np.zeros((2, 4))), quat.identity((2,)))


def test_scalar_kernels_match_numpy():
    a, b = samples((40,), np.float32), samples((40,), np.float32)[::-1]
    v = np.random.default_rng(0).standard_normal((40, 3)).astype(np.float32)
    u = v / np.linalg.norm(v, axis=1, keepdims=True)
    for p, q, vector, unit in zip(a, b, v, u, strict=True):
        assert_allclose(kernels.quat_multiply(*p, *q), quat.multiply(p, q), atol=1e-6)
        assert_allclose(kernels.quat_rotate(*p, *vector), quat.rotate(p, vector), atol=2e-6)
        target = quat.rotate(q, unit)
        same_rotation(np.array(kernels.quat_between(*unit, *target)), quat.between_vectors(unit, target), 1e-4)
        flipped = np.array(kernels.quat_between(*unit, *-unit), np.float32)
        assert_allclose(quat.rotate(flipped, unit), -unit, atol=2e-6)
