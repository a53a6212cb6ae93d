"""Physically guided interpolation (hsu2024 section 4) in plain NumPy and double precision: the specification.

Everything is per hair (S hairs, N segments, V = N + 1 vertices) and in units of the hair's own weight W: forces are
`f / W` (numbers), bending stiffness is `E I / W` [m^2], the reconstruction's k_ss is `drift * W * l`, so that `drift`
is a number as well. Joint i joins segment i - 1 (the clamp of the root, for i = 0) to segment i.

A quaternion product with the pure vector v and the third axis e3 is the paper's A (eq. 14): A q = v q e3, symmetric,
with A A = |v|^2. Hence theorem 4.1 in one line: (A - lambda)^-1 = (A + lambda) / (|v|^2 - lambda^2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion

Array = NDArray[np.float64]
Distance = Callable[[Array], tuple[Array, Array]]
E3 = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class Hairs:
    """What does not change of hairs.

    Attributes:
        length: rest length of each segment [m], shape (S, N).
        first: rest rotation of each joint in the first sweep, shape (S, N, 4).
        again: rest rotation of each joint in all later sweeps, which also feel the segment beyond, shape (S, N, 4).
        bend: E I / W [m^2], shape (S,).
        strain: W / (E A), stretch per unit of force, shape (S,).
    """

    length: Array
    first: Array
    again: Array
    bend: Array
    strain: Array

    @property
    def joint_stiffness(self) -> Array:
        """k_bt / W of each joint [m], shape (S, N): 4 E I over the rod that it stands for, half a cell at the root."""
        joint = 0.5 * self.length
        joint[:, 1:] += 0.5 * self.length[:, :-1]
        return 4 * self.bend[:, None] / joint


@dataclass(frozen=True, eq=False)
class Guidance:
    """What the guides say at one frame.

    Attributes:
        force: interpolated internal force over W (eq. 10), shape (S, N, 3).
        target: positions that the drift correction pulls to [m], shape (S, V, 3); the first is the root.
        root_rotation: how the skin at each root has turned since rest, shape (S, 4).
    """

    force: Array
    target: Array
    root_rotation: Array


@dataclass(frozen=True)
class Rules:
    """alpha and drift of eq. 22 and 23; whether eq. 22 and eq. 12 are taken as printed; k_pen; `drift_gain`.

    See `PhysicalParams`.
    """

    alpha: float
    drift: float
    overshoots: bool = False
    stretch_by_blend: bool = False
    penetration: float = 0.0
    drift_gain: float = 1.0


def as_quaternion(vector: Array) -> Array:
    """Pure quaternion of a vector (..., 3)."""
    return np.concatenate([vector, np.zeros(vector.shape[:-1] + (1,))], axis=-1)


def act(v: Array, q: Array) -> Array:
    """A q (eq. 14)."""
    return quaternion.multiply(as_quaternion(v), quaternion.multiply(q, as_quaternion(E3)))


def axis(q: Array) -> Array:
    """Third axis of unit quaternions (..., 4)."""
    return quaternion.rotate(q, np.broadcast_to(E3, q.shape[:-1] + (3,)))


def norm(a: Array) -> Array:
    """Length of the last axis, kept."""
    result: Array = np.linalg.norm(a, axis=-1, keepdims=True)
    return result


def estimated_multiplier(v: Array, b: Array) -> Array:
    """Eq. 17: never below the exact one."""
    return norm(v) + norm(b)


def exact_multiplier(v: Array, b: Array) -> Array:
    """The root of eq. 16 above |v|, by bisection: the one that belongs to the minimum of the energy.

    b splits into its parts in the two eigenspaces of A, of eigenvalues +|v| and -|v|.
    """
    size, bb = norm(v), (b * b).sum(-1, keepdims=True)
    along = np.divide((b * act(v, b)).sum(-1, keepdims=True), size, out=np.zeros_like(size), where=size > 0)
    plus, minus = 0.5 * (bb + along), 0.5 * (bb - along)
    low, high = size.copy(), estimated_multiplier(v, b)
    for _ in range(60):
        middle = 0.5 * (low + high)
        with np.errstate(divide="ignore", invalid="ignore"):
            too_long = plus / (middle - size) ** 2 + minus / (middle + size) ** 2 > 1
        low, high = np.where(too_long, middle, low), np.where(too_long, high, middle)
    return high


def orientation(v: Array, b: Array, multiplier: Array) -> Array:
    """Eq. 17 with theorem 4.1: (A - lambda)^-1 b, normalised. The factor 1 / (|v|^2 - lambda^2) is negative."""
    return quaternion.normalize(-(act(v, b) + multiplier * b))


def nearest_sign(q: Array, other: Array) -> Array:
    """`other` or its negative, whichever is closer to `q` (eq. 3)."""
    return np.where((q * other).sum(-1, keepdims=True) < 0, -other, other)


def sweep(
    hairs: Hairs, guidance: Guidance, rules: Rules, previous: Array | None = None, distance: Distance | None = None
) -> tuple[Array, Array]:
    """One pass from root to tip (algorithm 1): points (S, V, 3) and segment frames (S, N, 4).

    A later pass knows the segment beyond and uses the exact multiplier. Unless eq. 22 is taken as printed, its tangent
    is that of the solution itself, which turns nothing (A q = -q for v = axis(q)) and is left out.

    Args:
        hairs: what does not change.
        guidance: of this frame.
        rules: settings.
        previous: frames of the pass before; without it the segment beyond is taken to be unbent (eq. 24).
        distance: signed distance [m] and gradient at points (S, 3), for the penetration torque (4.2).
    """
    stiffness = hairs.joint_stiffness[..., None]
    is_first = previous is None
    multiplier = estimated_multiplier if is_first else exact_multiplier
    points, frames = [guidance.target[:, 0]], []
    before = guidance.root_rotation
    for i in range(hairs.length.shape[1]):
        l, x, f_sim = hairs.length[:, i, None], points[-1], guidance.force[:, i]
        b = right_side(hairs, stiffness, before, previous, i)
        free = axis(-b / norm(b)) if is_first and rules.overshoots else 0.0  # eq. 21
        # Eq. 22 over W, k_ss = drift W l; the way to the target starts at x where all of the gap is to be closed.
        origin = guidance.target[:, i] + rules.drift_gain * (x - guidance.target[:, i])
        drift = rules.drift * ((guidance.target[:, i + 1] - origin) / l - free)
        force = rules.alpha * drift + (1 - rules.alpha) * f_sim  # eq. 23
        v = -2 * l * force
        q = orientation(v, b, multiplier(v, b))
        if distance is not None:
            depth, gradient = distance(x + l * (stretching(hairs, rules, force, f_sim, q, is_first) + axis(q)))
            push = rules.penetration * (1 + stiffness[:, i] / l) / l  # k_pen / W
            v = v + 2 * push * l * np.minimum(depth, 0)[:, None] * gradient  # from eq. 18; eq. 19 has the other sign
            q = orientation(v, b, multiplier(v, b))
        points.append(x + l * (stretching(hairs, rules, force, f_sim, q, is_first) + axis(q)))  # eq. 12
        frames.append(q)
        before = q
    return np.stack(points, axis=1), np.stack(frames, axis=1)


def right_side(hairs: Hairs, stiffness: Array, before: Array, previous: Array | None, i: int) -> Array:
    """b of eq. 14 for segment i; in a first pass without the segment beyond."""
    if previous is None:
        return -stiffness[:, i] * quaternion.multiply(before, hairs.first[:, i])
    own = previous[:, i]
    b = -stiffness[:, i] * nearest_sign(own, quaternion.multiply(before, hairs.again[:, i]))
    if i + 1 < hairs.length.shape[1]:
        beyond = quaternion.multiply(previous[:, i + 1], quaternion.conjugate(hairs.again[:, i + 1]))
        b = b - stiffness[:, i + 1] * nearest_sign(own, beyond)
    return b


def stretching(hairs: Hairs, rules: Rules, force: Array, f_sim: Array, q: Array, is_first: bool) -> Array:
    """What eq. 12 adds to the tangent."""
    if not rules.stretch_by_blend:
        return hairs.strain[:, None] * f_sim
    if not (is_first and rules.overshoots):
        force = force - rules.alpha * rules.drift * axis(q)
    return force / rules.drift


def sweeps(hairs: Hairs, guidance: Guidance, rules: Rules, count: int) -> tuple[Array, Array]:
    """Several passes, Gauss-Seidel fashion."""
    points, frames = sweep(hairs, guidance, rules)
    for _ in range(count - 1):
        points, frames = sweep(hairs, guidance, rules, frames)
    return points, frames
