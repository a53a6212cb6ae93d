"""What the constraints of a Cosserat rod compare with: the groom itself, or the shape that gravity pulls into it.

The static balance of an open chain needs no iteration. From tip to root, the cut force of a segment is all that acts
beyond it; then the moment of a joint is what turns the segments beyond it. Given both, the stretch-shear constraint
tells the rest length and the segment's axis, and the bend-twist constraint tells the rest rotation of each joint.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion
from mane.geometry.checks import IntArray
from mane.geometry.frames import segment_frames
from mane.strand.model import Float64Array, RootKind, StrandModel, joint_lengths

# Sine of half the largest angle that a joint may be bent off its rest to carry a moment; beyond it hair would have to
# be coiled up at rest, and no rest shape carries the groom.
MAX_HALF_SINE = 0.9
# Each fixed-point step below shrinks the error by (GJ/EI - 1) v_z, a few percent: twenty reach the rounding.
FIXED_POINT_STEPS = 20


@dataclass(frozen=True, eq=False)
class RestShape:
    """The reference of the constraints; G strands, N segments.

    Attributes:
        length: rest length of each segment [m], shape (G, N).
        darboux: rest rotation of each joint, conj(q_before) q_after, shape (G, N, 4); joint 0 is against the clamp.
        clamp: frame that the root is clamped in, in the rest pose of the head, shape (G, 4).
        frames: of the segments in the groomed shape, shape (G, N, 4).
        cut_force: of the segments in the groomed shape [N], shape (G, N, 3).
        overloaded: share of strands whose moments no rest shape can carry.
    """

    length: Float64Array
    darboux: Float64Array
    clamp: Float64Array
    frames: Float64Array
    cut_force: Float64Array
    overloaded: float = 0.0

    def taken(self, rows: IntArray) -> RestShape:
        """Return that of some of the strands."""
        names = ("length", "darboux", "clamp", "frames", "cut_force")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    @property
    def joint_length(self) -> Float64Array:
        """Length of rod that each joint stands for [m], shape (G, N)."""
        return joint_lengths(self.length)


def groomed_rest(model: StrandModel) -> RestShape:
    """Take the groom itself as the shape without any load."""
    frames = _frames(model.rest_points)
    before = np.concatenate([frames[:, :1], frames[:, :-1]], axis=1)
    darboux = quaternion.multiply(quaternion.conjugate(before), frames)
    return RestShape(model.rest_length.copy(), darboux, frames[:, 0].copy(), frames, np.zeros_like(frames[..., :3]))


def sag_free_rest(model: StrandModel) -> RestShape:
    """Solve for the rest shape whose equilibrium under gravity is the groom.

    Strands that nothing clamps have no such shape and take the groom.
    """
    plain = groomed_rest(model)
    cut = weight_beyond(model)
    edge = np.diff(model.rest_points, axis=1)
    length = _rest_lengths(edge, cut, model.stretch_stiffness)
    axis = edge / length[..., None] - cut / model.stretch_stiffness[..., None]  # hsu2024 eq. 1 with n = k C
    rotation = quaternion.between_vectors(_third_axes(plain.frames), axis)
    frames = quaternion.normalize(quaternion.multiply(rotation, plain.frames))
    moment = static_moments(axis * length[..., None], cut)
    joints = joint_lengths(length)
    rest_turn, over = _deviations(frames, moment, model, joints)
    before = np.concatenate([plain.clamp[:, None], frames[:, :-1]], axis=1)
    bent = quaternion.multiply(quaternion.conjugate(before), frames)
    darboux = quaternion.multiply(bent, quaternion.conjugate(rest_turn))
    held = (model.root_kind == RootKind.CLAMPED)[:, None]
    return RestShape(
        np.where(held, length, plain.length),
        np.where(held[..., None], darboux, plain.darboux),
        plain.clamp,
        np.where(held[..., None], frames, plain.frames),
        np.where(held[..., None], cut, 0.0),
        float((over & held[:, 0]).mean()),
    )


def weight_beyond(model: StrandModel) -> Float64Array:
    """Weight of everything beyond each segment [N], shape (G, N, 3): its cut force in a static shape."""
    beyond = np.cumsum(model.mass[:, :0:-1], axis=1)[:, ::-1]
    return beyond[..., None] * model.gravity


def static_moments(segments: Float64Array, cut: Float64Array) -> Float64Array:
    """Moment that each joint carries in a static shape [N m], shape (G, N, 3), from segments [m] and cut forces [N].

    A segment is in balance when m_j = m_(j+1) + l_j d_j x n_j; beyond the tip there is none.
    """
    torque = np.cross(segments, cut)
    total: Float64Array = np.cumsum(torque[:, ::-1], axis=1)[:, ::-1]
    return total


def _frames(points: Float64Array) -> Float64Array:
    """Twist-free frames (G, N, 4) of strands in double precision."""
    frames = segment_frames(points).astype(np.float64)
    edge = np.diff(points, axis=1)
    tangent = edge / np.linalg.norm(edge, axis=2, keepdims=True)
    rotation = quaternion.between_vectors(_third_axes(quaternion.normalize(frames)), tangent)
    return quaternion.normalize(quaternion.multiply(rotation, quaternion.normalize(frames)))


def _third_axes(frames: Float64Array) -> Float64Array:
    return quaternion.rotate(frames, np.broadcast_to([0.0, 0.0, 1.0], frames.shape[:-1] + (3,)))


def _rest_lengths(edge: Float64Array, cut: Float64Array, stiffness: Float64Array) -> Float64Array:
    """Rest length l with |edge / l - cut / k| = 1: the positive root of a quadratic in 1 / l."""
    strain = cut / stiffness[..., None]
    a = (edge**2).sum(axis=2)
    b = -(edge * strain).sum(axis=2)
    c = (strain**2).sum(axis=2) - 1.0
    result: Float64Array = a / (-b + np.sqrt(b * b - a * c))
    return result


def _deviations(
    frames: Float64Array, moment: Float64Array, model: StrandModel, joints: Float64Array
) -> tuple[Float64Array, NDArray[np.bool_]]:
    """Rotation off rest with which each joint carries its moment, (G, N, 4), and which strands cannot, (G,).

    Solves EI v + (GJ - EI) v_z (-v_y, v_x, w) = m L / 2 for the imaginary part v, in the frame of the segment after the
    joint, as a fixed point from what pure bending and pure twisting would need.
    """
    local = quaternion.rotate(quaternion.conjugate(frames), moment)
    goal = local * (0.5 * joints / model.bend_stiffness)[..., None]
    extra = model.twist_stiffness / model.bend_stiffness - 1.0
    v = np.stack([goal[..., 0], goal[..., 1], goal[..., 2] / (1.0 + extra)], axis=-1)
    over = np.linalg.norm(v, axis=2) > MAX_HALF_SINE
    v = _shortened(v)
    for _ in range(FIXED_POINT_STEPS):
        w = np.sqrt(np.maximum(1.0 - (v**2).sum(axis=2), 0.0))
        cross = extra * v[..., 2]
        x = goal[..., 0] + cross * v[..., 1]
        y = goal[..., 1] - cross * v[..., 0]
        z = goal[..., 2] / (1.0 + extra * w)
        v = _shortened(np.stack([x, y, z], axis=-1))
    w = np.sqrt(np.maximum(1.0 - (v**2).sum(axis=2, keepdims=True), 0.0))
    return np.concatenate([v, w], axis=2), over.any(axis=1)


def _shortened(vectors: Float64Array) -> Float64Array:
    """Vectors (..., 3), none longer than `MAX_HALF_SINE`."""
    size = np.linalg.norm(vectors, axis=-1, keepdims=True)
    result: Float64Array = vectors * (MAX_HALF_SINE / np.maximum(size, MAX_HALF_SINE))
    return result
