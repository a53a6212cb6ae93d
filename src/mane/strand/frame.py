"""`GuideFrame`: all that a skin, a cache or a reader of arrays needs of one simulated frame."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh
from mane.body.motion import Pose
from mane.geometry.checks import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class InsertedGuides:
    """Guides that were inserted between two of the groom's and are there at one frame; K of them, perhaps none.

    Attributes:
        parents: the two guides that each was inserted half-way between, shape (K, 2), int64.
        weight: how far the full head follows each, 0 to 1, shape (K,), float32.
        rest: its shape at rest [m], shape (K, V, 3), float32.
        points: as in `GuideFrame`, shape (K, V, 3), float32; so are the others.
        velocity: shape (K, V, 3).
        orientations: shape (K, N, 4).
        cut_force: shape (K, N, 3).
        roots: shape (K, 3).
        root_rotations: shape (K, 4).
    """

    parents: IntArray
    weight: FloatArray
    rest: FloatArray
    points: FloatArray
    velocity: FloatArray
    orientations: FloatArray
    cut_force: FloatArray
    roots: FloatArray
    root_rotations: FloatArray

    @property
    def count(self) -> int:
        """Number of guides, K."""
        return len(self.parents)


@dataclass(frozen=True, eq=False)
class GuideWetness:
    """How wet guides are at one frame.

    Attributes:
        held: water over what hair holds at most, 0 to 1, shape (G, V), float32.
        submerged: part of each vertex that is under water, 0 to 1, shape (G, V), float32.
    """

    held: FloatArray
    submerged: FloatArray

    @property
    def level(self) -> FloatArray:
        """How far hair clings and sags, 0 to 1, shape (G, V): by what it holds; under water it floats (lee2018 3.3)."""
        return self.held * (1 - self.submerged)

    def rows(self, count: int) -> GuideWetness:
        """Return that of the first guides."""
        return GuideWetness(self.held[:count], self.submerged[:count])


@dataclass(frozen=True, eq=False, repr=False)
class GuideFrame:
    """Guides at one frame; G slots of V vertices and N = V - 1 segments, the same for every strand model.

    Attributes:
        points: guide vertices [m], world, shape (G, V, 3), float32.
        velocity: of the vertices [m/s], shape (G, V, 3), float32.
        orientations: of each segment, quaternions (x, y, z, w), third axis along it, shape (G, N, 4), float32.
        cut_force: internal force that the part beyond a segment pulls at it with [N], world, shape (G, N, 3), float32.
        roots: where the skin has the roots [m], shape (G, 3), float32.
        root_rotations: how the skin at each root has turned since rest, quaternions, shape (G, 4), float32.
        active: whether a slot holds a guide, shape (G,), bool.
        weight: how far a guide has faded in, 0 to 1, shape (G,), float32.
        head: pose of the head since rest.
        solid_poses: pose of each solid of the simulation, in its order.
        time: [s].
        inserted: guides beside those of the groom, or None where a simulation inserts none.
        water: triangles of the surface of the water that the hair is in [m], world; None where there is none.
        wet: how wet the guides are; None where no water is soaked up.
        is_rest_pose: whether a body that deforms is in its rest pose, whatever its animation says at `time`.
        length_scale: length of each guide over that of the guides that skins are bound to, shape (G,), float32; None
            where they are the same, as in all simulations. Sliders of learned hair change it.
    """

    points: FloatArray
    velocity: FloatArray
    orientations: FloatArray
    cut_force: FloatArray
    roots: FloatArray
    root_rotations: FloatArray
    active: NDArray[np.bool_]
    weight: FloatArray
    head: Pose
    solid_poses: tuple[Pose, ...]
    time: float
    inserted: InsertedGuides | None = None
    water: Mesh | None = None
    wet: GuideWetness | None = None
    is_rest_pose: bool = False
    length_scale: FloatArray | None = None

    def __repr__(self) -> str:
        slots, vertices = self.points.shape[:2]
        return f"GuideFrame({int(self.active.sum())} of {slots} guides, {vertices} vertices each, at {self.time:.4g} s)"

    def copy(self) -> GuideFrame:
        """Return a frame with arrays of its own."""
        inserted = None if self.inserted is None else replace(self.inserted, **_copies(self.inserted))
        return replace(self, **_copies(self), inserted=inserted)


def _copies(frame: Any) -> dict[str, Any]:
    """Copies of all arrays of a dataclass, by name."""
    values = {item.name: getattr(frame, item.name) for item in fields(frame)}
    return {name: value.copy() for name, value in values.items() if isinstance(value, np.ndarray)}
