"""`GuideFrame`: all that a skin, a cache or a reader of arrays needs of one simulated frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.body.motion import Pose
from mane.geometry.checks import FloatArray


@dataclass(frozen=True, eq=False)
class GuideFrame:
    """Guides at one frame; G slots of V vertices and N = V - 1 segments, the same for every strand model.

    Attributes:
        points: guide vertices [m], world, shape (G, V, 3), float32.
        velocity: of the vertices [m/s], shape (G, V, 3), float32.
        frames: orientation of each segment, quaternions (x, y, z, w), third axis along it, shape (G, N, 4), float32.
        cut_force: internal force that the part beyond a segment pulls at it with [N], world, shape (G, N, 3), float32.
        roots: where the skin has the roots [m], shape (G, 3), float32.
        root_rotations: how the skin at each root has turned since rest, quaternions, shape (G, 4), float32.
        active: whether a slot holds a guide, shape (G,), bool.
        weight: how far a guide has faded in, 0 to 1, shape (G,), float32.
        head: pose of the head since rest.
        solid_poses: pose of each solid of the simulation, in its order.
        time: [s].
    """

    points: FloatArray
    velocity: FloatArray
    frames: FloatArray
    cut_force: FloatArray
    roots: FloatArray
    root_rotations: FloatArray
    active: NDArray[np.bool_]
    weight: FloatArray
    head: Pose
    solid_poses: tuple[Pose, ...]
    time: float
