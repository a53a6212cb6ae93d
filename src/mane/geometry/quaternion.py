"""Rotations as unit quaternions (x, y, z, w), in plain NumPy over any batch shape.

Every function takes arrays whose last axis is the quaternion (4), the vector (3) or the matrix (3, 3), broadcasts the
axes before it, computes in the precision of its input (float32 or float64), and returns new arrays.
`_kernels_quaternion` holds the scalar forms of the few that kernels need.

Conventions: `multiply(a, b)` turns by `b` first and by `a` second; `q` and `-q` are the same rotation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]

# Below this angle [rad] sin(x)/x is 1 to double precision, and dividing by x is no longer safe.
TINY_ANGLE = 1e-8
# Components of a unit vector that are closer than this count as equal where one of them is chosen.
TIE = 1e-3


def _floats(value: ArrayLike) -> Array:
    array = np.asarray(value)
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def identity(shape: tuple[int, ...] = (), dtype: type = np.float32) -> Array:
    """Return rotations that turn nothing, shape (*shape, 4)."""
    q: Array = np.zeros(shape + (4,), dtype)
    q[..., 3] = 1
    return q


def normalize(q: ArrayLike) -> Array:
    """Scale to unit length; a zero quaternion becomes the identity."""
    array = _floats(q)
    length = np.linalg.norm(array, axis=-1, keepdims=True)
    unit = np.divide(array, length, out=np.zeros_like(array), where=length > 0)
    unit[..., 3] += (length == 0)[..., 0]
    result: Array = unit
    return result


def conjugate(q: ArrayLike) -> Array:
    """Return the inverse rotation of a unit quaternion."""
    array = _floats(q)
    result: Array = array * np.array([-1, -1, -1, 1], array.dtype)
    return result


def multiply(a: ArrayLike, b: ArrayLike) -> Array:
    """Compose two rotations: first `b`, then `a`."""
    a, b = _floats(a), _floats(b)
    av, aw = a[..., :3], a[..., 3:]
    bv, bw = b[..., :3], b[..., 3:]
    vector = aw * bv + bw * av + _cross(av, bv)
    scalar = aw * bw - (av * bv).sum(axis=-1, keepdims=True)
    return np.concatenate([vector, scalar], axis=-1)


def _cross(a: Array, b: Array) -> Array:
    """What `np.cross` returns for (..., 3), to the last bit, in half the time."""
    out: Array = np.empty(np.broadcast_shapes(a.shape, b.shape), np.result_type(a, b))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        np.subtract(a[..., j] * b[..., k], a[..., k] * b[..., j], out=out[..., i])
    return out


def rotate(q: ArrayLike, v: ArrayLike) -> Array:
    """Turn vectors `v` (..., 3) by unit quaternions `q` (..., 4)."""
    q, v = _floats(q), _floats(v)
    axis, w = q[..., :3], q[..., 3:]
    t = 2 * _cross(axis, v)
    result: Array = v + w * t + _cross(axis, t)
    return result


def from_axis_angle(axis: ArrayLike, angle: ArrayLike) -> Array:
    """Rotate by `angle` [rad] about `axis` (..., 3), which need not be of unit length; a zero axis turns nothing."""
    axis, angle = _floats(axis), np.asarray(angle)[..., None]
    length = np.linalg.norm(axis, axis=-1, keepdims=True)
    unit = np.divide(axis, length, out=np.zeros_like(axis), where=length > 0)
    half = 0.5 * angle * (length > 0)
    vector = unit * np.sin(half)
    return np.concatenate([vector, np.broadcast_to(np.cos(half), vector.shape[:-1] + (1,))], axis=-1).astype(axis.dtype)


def exp(rotation_vector: ArrayLike) -> Array:
    """Return the rotation about the vector's direction by its length [rad]."""
    v = _floats(rotation_vector)
    angle = np.linalg.norm(v, axis=-1, keepdims=True)
    # sin(a/2)/a tends to 1/2
    scale = np.divide(np.sin(angle / 2), angle, out=np.full_like(angle, 0.5), where=angle > TINY_ANGLE)
    return np.concatenate([v * scale, np.cos(angle / 2)], axis=-1)


def log(q: ArrayLike) -> Array:
    """Return the rotation vector [rad] of the shorter way round, length at most pi; the inverse of `exp`."""
    q = _floats(q)
    q = np.where(q[..., 3:] < 0, -q, q)
    sine = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(sine, q[..., 3:])
    scale = np.divide(angle, sine, out=np.full_like(sine, 2.0), where=sine > TINY_ANGLE)
    result: Array = q[..., :3] * scale
    return result


def slerp(a: ArrayLike, b: ArrayLike, t: ArrayLike) -> Array:
    """Turn from `a` (t = 0) to `b` (t = 1) at constant rate, the shorter way round."""
    a = _floats(a)
    step = log(multiply(conjugate(a), b))
    return multiply(a, exp(step * np.asarray(t, dtype=step.dtype)[..., None]))


def angle_between(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the angle [rad], 0 to pi, of the rotation that takes `a` to `b`."""
    relative = multiply(conjugate(a), b)
    sine = np.linalg.norm(relative[..., :3], axis=-1)
    result: Array = 2 * np.arctan2(sine, np.abs(relative[..., 3]))
    return result


def between_vectors(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the smallest rotation that turns direction `a` to direction `b` (both of unit length).

    Where they are opposite, any axis would do: one perpendicular to `a` is chosen the same way every time.
    """
    a, b = np.broadcast_arrays(_floats(a), _floats(b))
    cross = _cross(a, b)
    w = 1 + (a * b).sum(axis=-1, keepdims=True)
    # The half-angle form loses its digits near opposite directions; there |cross| is small and w smaller still.
    opposite = w[..., 0] < 8 * np.finfo(a.dtype).eps
    q = np.concatenate([cross, w], axis=-1)
    if opposite.any():
        q[opposite] = np.concatenate([any_perpendicular(a[opposite]), np.zeros_like(w[opposite])], axis=-1)
    return normalize(q)


def any_perpendicular(v: ArrayLike) -> Array:
    """Return a unit vector perpendicular to each unit vector, chosen the same way every time."""
    v = _floats(v)
    helper = np.zeros_like(v)
    size = np.abs(v)
    is_least = size <= size.min(axis=-1, keepdims=True) + TIE  # the first of these, so that rounding does not choose
    np.put_along_axis(helper, is_least.argmax(axis=-1)[..., None], 1, axis=-1)
    cross = np.cross(v, helper)
    result: Array = cross / np.linalg.norm(cross, axis=-1, keepdims=True)
    return result


def to_matrix(q: ArrayLike) -> Array:
    """Return rotation matrices (..., 3, 3) that act on column vectors."""
    q = _floats(q)
    x, y, z, w = (q[..., i] for i in range(4))
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrix(m: ArrayLike) -> Array:
    """Return the quaternions of rotation matrices (..., 3, 3), with w >= 0."""
    m = _floats(m)
    diagonal = np.stack([m[..., i, i] for i in range(3)], axis=-1)
    trace = diagonal.sum(axis=-1)
    # Four ways to solve for the quaternion, each exact where its own component is the largest.
    x, y, z = (1 + 2 * diagonal[..., i] - trace for i in range(3))
    w = 1 + trace
    xy, yx = m[..., 0, 1] + m[..., 1, 0], m[..., 1, 0] - m[..., 0, 1]
    xz, zx = m[..., 0, 2] + m[..., 2, 0], m[..., 0, 2] - m[..., 2, 0]
    yz, zy = m[..., 1, 2] + m[..., 2, 1], m[..., 2, 1] - m[..., 1, 2]
    candidates = np.stack(
        [np.stack(row, axis=-1) for row in ([x, xy, xz, zy], [xy, y, yz, zx], [xz, yz, z, yx], [zy, zx, yx, w])],
        axis=-2,
    )
    best = np.stack([x, y, z, w], axis=-1).argmax(axis=-1)
    q = normalize(np.take_along_axis(candidates, best[..., None, None], axis=-2)[..., 0, :])
    return np.where(q[..., 3:] < 0, -q, q)


def random(count: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return `count` rotations drawn evenly from all rotations, shape (count, 4)."""
    return normalize(rng.standard_normal((count, 4))).astype(np.float32)
