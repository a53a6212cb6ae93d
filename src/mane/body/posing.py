"""`Posing`: a joint animation in the making, all of its samples at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.skeleton import NO_PARENT, JointAnimation, Skeleton
from mane.geometry import quaternion
from mane.geometry.checks import require_positive

Float64Array = NDArray[np.float64]

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def sample_times(duration: float, frame_rate: float) -> Float64Array:
    """Times from 0 to `duration` [s], `frame_rate` of them per second, both ends included, shape (F,)."""
    require_positive("duration", duration)
    require_positive("frame_rate", frame_rate)
    return np.arange(max(round(duration * frame_rate), 1) + 1) / frame_rate


class Posing:
    """Joints of a skeleton at given times, in the rest pose until they are turned and shifted.

    Args:
        skeleton: its joints look along the world's axes at rest (`Skeleton.from_positions`), so that a rotation of a
            joint is given in the axes that its parent carries along: x to the left, y up, z ahead.
        times: of the samples [s], shape (F,).
    """

    def __init__(self, skeleton: Skeleton, times: ArrayLike) -> None:
        self.skeleton = skeleton
        self.times: Float64Array = np.asarray(times, np.float64)
        count = len(self.times)
        self.rotations: Float64Array = np.tile(skeleton.rest_rotations.astype(np.float64), (count, 1, 1))
        self.translations: Float64Array = np.tile(skeleton.rest_translations.astype(np.float64), (count, 1, 1))

    def turn(self, joint: str, axis: str, angles: ArrayLike) -> None:
        """Turn a joint about an axis of its parent, after what has turned it so far; angles [rad], shape (F,)."""
        angle = np.broadcast_to(np.asarray(angles, np.float64), len(self.times))
        self.rotate(joint, quaternion.from_axis_angle(np.broadcast_to(AXES[axis], (len(angle), 3)), angle))

    def rotate(self, joint: str, rotations: ArrayLike) -> None:
        """Turn a joint by quaternions in the axes of its parent, after what has turned it so far; shape (F, 4)."""
        number = self.skeleton.index(joint)
        self.rotations[:, number] = quaternion.multiply(rotations, self.rotations[:, number])

    def shift(self, joint: str, offset: ArrayLike) -> None:
        """Move a joint relative to its parent [m], shape (3,) or (F, 3)."""
        self.translations[:, self.skeleton.index(joint)] += np.asarray(offset, np.float64)

    def set_world_rotation(self, joint: str, matrices: Float64Array, parent_matrices: Float64Array) -> None:
        """Set how a joint stands in the world, given how its parent does, both (F, 3, 3)."""
        local = np.einsum("fji,fjk->fik", parent_matrices, matrices)
        self.rotations[:, self.skeleton.index(joint)] = quaternion.from_matrix(local)

    def world(self) -> Float64Array:
        """Where the joints are, shape (F, J, 4, 4)."""
        return self.skeleton.world_transforms(self.rotations, self.translations)

    def parent_of(self, joint: str) -> str:
        """Name of the joint above; itself for a root."""
        parent = self.skeleton.parents[self.skeleton.index(joint)]
        return joint if parent == NO_PARENT else self.skeleton.names[parent]

    def animation(self, blend_weights: ArrayLike | None = None) -> JointAnimation:
        """The animation; quaternions of neighbouring samples lie on the same side, so that they may be blended."""
        unit = quaternion.normalize(self.rotations)
        flips = np.einsum("fji,fji->fj", unit[1:], unit[:-1]) < 0
        sign = np.cumprod(np.where(flips, -1.0, 1.0), axis=0)
        unit[1:] *= sign[:, :, None]
        weights = np.zeros((len(self.times), 0)) if blend_weights is None else np.asarray(blend_weights)
        return JointAnimation(
            self.times, unit.astype(np.float32), self.translations.astype(np.float32), None, weights.astype(np.float32)
        )
