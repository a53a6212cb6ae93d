"""`RootPose`: where the roots of all guides are, as the skin carries them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mane.body.motion import Pose
from mane.geometry import quaternion
from mane.geometry.checks import as_array, require_finite
from mane.strand.model import Float64Array


@dataclass(frozen=True, eq=False)
class RootPose:
    """Roots at one instant.

    Attributes:
        positions: [m], world, shape (G, 3), float64.
        rotations: how the skin at each root has turned since rest, quaternions (x, y, z, w), shape (G, 4), float64.
    """

    positions: Float64Array
    rotations: Float64Array

    @classmethod
    def checked(cls, positions: ArrayLike, rotations: ArrayLike, strand_count: int) -> RootPose:
        """Make one from anything array-like; ValueError names what is wrong."""
        where = as_array("root positions", positions, (strand_count, 3), np.float64)
        turned = as_array("root rotations", rotations, (strand_count, 4), np.float64)
        require_finite("root positions", where)
        require_finite("root rotations", turned)
        return cls(where, quaternion.normalize(turned))

    @classmethod
    def carried(cls, rest_roots: Float64Array, pose: Pose) -> RootPose:
        """Roots on a rigid head: `rest_roots` (G, 3) [m] in the head's rest pose, carried by `pose`."""
        rotations = np.empty((len(rest_roots), 4))
        rotations[...] = pose.rotation
        return cls(pose.apply(rest_roots), rotations)

    def equals(self, other: RootPose) -> bool:
        """Whether all roots are at the same places, to the last bit."""
        return np.array_equal(self.positions, other.positions) and np.array_equal(self.rotations, other.rotations)

    def toward(self, other: RootPose, fraction: float) -> RootPose:
        """Return the pose at `fraction` of the way to `other`: straight lines and steady turns."""
        if fraction >= 1.0:
            return other
        positions = self.positions + fraction * (other.positions - self.positions)
        return RootPose(positions, quaternion.slerp(self.rotations, other.rotations, fraction))
