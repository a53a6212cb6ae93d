"""Rest rotations of hairs, such that the reconstruction itself returns the groom when the guides are at rest.

The first sweep turns the unloaded orientation q^ of a segment (what the segment before it and its rest rotation
predict) to q ~ (lambda + A) q^ (hsu2024 eq. 17). Backwards, q^ ~ (lambda - A) q, and with A q = v t q (quaternion
product of the vectors v and t, the tangent of q) that is a rotation of q by an angle theta in the plane of t and v:

    tan(theta / 2) (lambda + v . t) = |v x t|        lambda = |v| + k_bt

Every groom can be held by one sweep. With eq. 22 as printed, v depends on the unloaded tangent, which is at the angle
theta from t. Then the left side less the right is at most zero at theta = 0 and grows beyond all bounds towards pi:
there always is a solution, found by bisection.

Later sweeps, and the chain solve, feel the segment beyond as well, with the exact multiplier. Then the rest rotations
follow from tip to root, and there is a limit: a joint carries a moment of at most k_bt / 2, however far it is bent.
Hairs whose groom needs more, and hairs that would topple over, are stiffened, as hair spray does. Units as in
`_reference`: forces in weights of the hair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion
from mane.geometry.frames import segment_frames
from mane.skin.physical import _kernels_chain as kernels
from mane.skin.physical.params import CONVERGED, PhysicalParams
from mane.strand.model import joint_lengths

Array = NDArray[np.float64]

LEAST_INVERSE = 0.1  # of a segment's length over its rest length; it is never stretched to less
BISECTIONS = 34  # of an angle within pi: 2e-10 rad, far below what float32 can hold
FIXED_POINT_STEPS = 30
# Share of the largest moment of a joint that a groom may need before its hair is stiffened.
HOLDING_SHARE = 0.9
STIFFENING_ROUNDS = 40
UNBALANCED = 2.0  # what is needed where no moment would do
ROWS_AT_ONCE = 8192  # hairs per piece: keeps the intermediate arrays within the cache
E3 = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class HairRest:
    """What the reconstruction compares with; S hairs of N segments.

    Attributes:
        length: rest length of each segment [m], shape (S, N).
        first: rest rotation of each joint in the first sweep, shape (S, N, 4).
        again: the same for later sweeps and the chain solve, shape (S, N, 4); `first` itself where there are none.
        bend: E I over the weight [m^2], shape (S,), stiffened where needed.
        strain: weight over E A, shape (S,).
        frames: of the groom, shape (S, N, 4).
    """

    length: Array
    first: Array
    again: Array
    bend: Array
    strain: Array
    frames: Array


def solve_rest(points: Array, force: Array, bend: Array, strain: Array, params: PhysicalParams) -> HairRest:
    """Solve for the rest of hairs `points (S, V, 3)` [m] that feel `force (S, N, 3)` [weights] as groomed."""
    return joined(
        [
            _solve_piece(points[rows], force[rows], bend[rows], strain[rows], params)
            for rows in pieces(len(points), ROWS_AT_ONCE)
        ]
    )


def pieces(count: int, at_once: int) -> Iterator[slice]:
    """Cut `count` hairs into pieces of at most `at_once`."""
    for start in range(0, count, at_once):
        yield slice(start, min(start + at_once, count))


def joined(parts: Sequence[HairRest]) -> HairRest:
    """Return the rest of all hairs from that of pieces of them."""
    if len(parts) == 1:
        return parts[0]
    return HairRest(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in HairRest.__annotations__}
    )


def joint_stiffness(bend: Array, length: Array) -> Array:
    """k_bt over the weight [m], shape (S, N): a joint stands for half a segment on either side."""
    return 4 * bend[:, None] / joint_lengths(length)


def _solve_piece(points: Array, force: Array, bend: Array, strain: Array, params: PhysicalParams) -> HairRest:
    edge = np.diff(points, axis=1)
    groomed = _groomed_frames(points)
    if params.feels_beyond:
        bend = _stiffened(edge, groomed, force, bend, strain, params)
    length, frames, unloaded = _unloaded(edge, groomed, force, bend, strain, params)
    first = _relative(frames, unloaded)
    again = first
    if params.feels_beyond:
        again, _ = _stationary_rest(edge, frames, length, force, bend, params)
    return HairRest(length, first, again, bend, strain, frames)


def _stiffened(edge: Array, groomed: Array, force: Array, bend: Array, strain: Array, params: PhysicalParams) -> Array:
    """Stiffness with which the joints can carry what the groom asks of them."""
    bend = bend.copy()
    rows = np.arange(len(edge))
    for _ in range(STIFFENING_ROUNDS):
        length, frames, _ = _unloaded(edge[rows], groomed[rows], force[rows], bend[rows], strain[rows], params)
        rest, load = _stationary_rest(edge[rows], frames, length, force[rows], bend[rows], params)
        if params.sweeps == CONVERGED:
            load[_falls(edge[rows], frames, length, force[rows], bend[rows], rest, params)] = UNBALANCED
        rows, load = rows[load > HOLDING_SHARE], load[load > HOLDING_SHARE]
        if not len(rows):
            break
        bend[rows] *= np.clip(load / HOLDING_SHARE, 1.05, 1.25)
    return bend


def _falls(
    edge: Array, frames: Array, length: Array, force: Array, bend: Array, rest: Array, params: PhysicalParams
) -> NDArray[np.bool_]:
    """Which hairs (S,) are balanced as groomed, but like a pencil on its point."""
    v = -2 * length[..., None] * blend(edge / length[..., None], force, params)
    unstable = np.empty(len(edge), np.bool_)
    kernels.find_unstable(frames, v, joint_stiffness(bend, length), rest, unstable)
    return unstable


def _groomed_frames(points: Array) -> Array:
    """Twist-free frames in double precision, shape (S, N, 4)."""
    edge = np.diff(points, axis=1)
    tangent = edge / np.linalg.norm(edge, axis=2, keepdims=True)
    return _aligned(quaternion.normalize(segment_frames(points).astype(np.float64)), tangent)


def _aligned(frames: Array, tangent: Array) -> Array:
    rotation = quaternion.between_vectors(_axis(frames), tangent)
    return quaternion.normalize(quaternion.multiply(rotation, frames))


def _unloaded(
    edge: Array, groomed: Array, force: Array, bend: Array, strain: Array, params: PhysicalParams
) -> tuple[Array, Array, Array]:
    """Rest lengths (S, N), frames of the segments as groomed, and unloaded ones of the first sweep, both (S, N, 4)."""
    if params.stretch_by_blend and params.overshoots:
        return _unloaded_as_printed(edge, groomed, force, bend, params)
    # On its target, a segment is stretched by the interpolated force alone, also by eq. 12 and 23.
    stretch = force / params.drift if params.stretch_by_blend else strain[:, None, None] * force
    length, tangent = _split(edge, stretch)
    frames = _aligned(groomed, tangent)
    return length, frames, _unloaded_frames(edge, frames, length, force, bend, params)


def _unloaded_as_printed(
    edge: Array, groomed: Array, force: Array, bend: Array, params: PhysicalParams
) -> tuple[Array, Array, Array]:
    """The same where the force of eq. 22 stretches: it depends on the unloaded tangent, and that on the length."""
    frames = unloaded = groomed
    length = np.linalg.norm(edge, axis=2)
    for _ in range(FIXED_POINT_STEPS):
        blended = blend(edge / length[..., None] - _axis(unloaded), force, params)
        length, tangent = _split(edge, blended / params.drift)
        frames = _aligned(groomed, tangent)
        unloaded = _unloaded_frames(edge, frames, length, force, bend, params)
    return length, frames, unloaded


def _split(edge: Array, stretch: Array) -> tuple[Array, Array]:
    """Length l and unit tangent t with edge = l (stretch + t) (eq. 12): a quadratic in 1 / l.

    A segment that is stretched by more than itself (`stretch="paper"` with little drift) may have no solution. Then the
    nearest one is taken, and the groom is not met.
    """
    a = (edge**2).sum(axis=2)
    b = (edge * stretch).sum(axis=2)
    c = (stretch**2).sum(axis=2) - 1.0
    inverse = np.maximum((b + np.sqrt(np.maximum(b * b - a * c, 0.0))) / a, LEAST_INVERSE / np.sqrt(a))
    tangent = edge * inverse[..., None] - stretch
    return 1 / inverse, tangent / np.linalg.norm(tangent, axis=2, keepdims=True)


def blend(off_target: Array, force: Array, params: PhysicalParams) -> Array:
    """Force of eq. 23, from how far off the target a segment would be without it (the bracket of eq. 22)."""
    return params.alpha * params.drift * off_target + (1 - params.alpha) * force


def _unloaded_frames(
    edge: Array, frames: Array, length: Array, force: Array, bend: Array, params: PhysicalParams
) -> Array:
    """Orientations that the first sweep turns to `frames`; the equation at the top of this file."""
    tangent = _axis(frames)
    l = length[..., None]
    p = -2 * l * blend(edge / l, force, params)
    along = (p * tangent).sum(axis=2)
    sideways = p - along[..., None] * tangent
    across = np.linalg.norm(sideways, axis=2)
    stiffness = joint_stiffness(bend, length)
    if params.overshoots:
        theta = _bisect(along, across, stiffness, 2 * params.alpha * params.drift * length)
    else:
        theta = 2 * np.arctan2(across, np.hypot(along, across) + stiffness + along)
    return quaternion.multiply(quaternion.from_axis_angle(np.cross(tangent, sideways), theta), frames)


def _bisect(along: Array, across: Array, stiffness: Array, pull: Array) -> Array:
    """The angle theta where v has a part of size `pull` along the unloaded tangent."""
    low, high = np.zeros_like(along), np.full_like(along, np.pi)
    for _ in range(BISECTIONS):
        theta = 0.5 * (low + high)
        v_along, v_across = along + pull * np.cos(theta), across + pull * np.sin(theta)
        multiplier = np.hypot(v_along, v_across) + stiffness
        small = np.tan(0.5 * theta) * (multiplier + v_along) < v_across
        low, high = np.where(small, theta, low), np.where(small, high, theta)
    return low


def _relative(frames: Array, unloaded: Array) -> Array:
    """Rest rotation of each joint: from the frame before it to the unloaded one after it; the clamp does not turn."""
    first = unloaded[:, :1]
    return np.concatenate([first, quaternion.multiply(quaternion.conjugate(frames[:, :-1]), unloaded[:, 1:])], axis=1)


def _stationary_rest(
    edge: Array, frames: Array, length: Array, force: Array, bend: Array, params: PhysicalParams
) -> tuple[Array, Array]:
    """Rest rotations (S, N, 4) with which `frames` are in balance with the forces and with each other (eq. 13).

    Also how much of the largest moment of a joint each hair needs, shape (S,): above 1 there is no solution.
    """
    stiffness = joint_stiffness(bend, length)[..., None]
    v = -2 * length[..., None] * blend(edge / length[..., None], force, params)
    loads = quaternion.multiply(quaternion.multiply(_pure(v), _pure(_axis(frames))), frames)  # A q
    rest = np.empty_like(frames)
    need = np.zeros(len(frames))
    pull = np.zeros_like(frames[:, 0])  # of the segment beyond
    for i in range(frames.shape[1] - 1, -1, -1):
        q, k = frames[:, i], stiffness[:, i]
        # Of (lambda - A) q = pull + k * (unit quaternion that the segment before predicts), only lambda is free.
        along, across = _split_off(loads[:, i] + pull, q)
        size = np.linalg.norm(across, axis=1, keepdims=True)
        own = np.sqrt(np.maximum(k * k - size * size, 0.0))
        predicted = quaternion.normalize(own * q - across)
        # The balance is a minimum, and not a maximum, where lambda is above |v|.
        multiplier = own + along
        lift = np.linalg.norm(v[:, i], axis=1, keepdims=True) / np.maximum(multiplier, np.finfo(np.float64).tiny)
        need = np.maximum(need, np.maximum(size / k, np.minimum(lift, UNBALANCED))[:, 0])
        rest[:, i] = predicted
        if i:
            rest[:, i] = quaternion.multiply(quaternion.conjugate(frames[:, i - 1]), predicted)
            pull = k * quaternion.multiply(q, quaternion.conjugate(rest[:, i]))
    return rest, need


def _split_off(vector: Array, unit: Array) -> tuple[Array, Array]:
    """How far `vector` goes along `unit` (S, 1), and what is left of it."""
    along = (vector * unit).sum(axis=1, keepdims=True)
    return along, vector - along * unit


def _pure(vector: Array) -> Array:
    return np.concatenate([vector, np.zeros(vector.shape[:-1] + (1,))], axis=-1)


def _axis(frames: Array) -> Array:
    """Third axis of quaternions (..., 4)."""
    return quaternion.rotate(frames, np.broadcast_to(E3, frames.shape[:-1] + (3,)))
