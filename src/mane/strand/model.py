"""`StrandModel`: what does not change while guides move: their groomed shape, masses and stiffness, in physical units.

```
  joint 0      joint 1      joint 2                 joint j sits at vertex j, at the start of segment j;
  vertex 0 --- vertex 1 --- vertex 2 --- vertex 3   joint 0 is the clamp of the root
     segment 0    segment 1    segment 2
```

Every strand model reads the same numbers, so that the same hair bends alike in all of them. A joint stands for the
piece of rod between the middles of its two segments; the clamp stands for the half segment between the root and the
middle of segment 0, which is why its length is half as long (a clamp with a full cell is 8 to 15 percent too soft).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.geometry.checks import IntArray, as_array, first_not_finite

Float64Array = NDArray[np.float64]

STANDARD_GRAVITY = (0.0, -9.81, 0.0)
STANDARD_FRICTION = 0.3  # hair on skin has 0.2 to 0.5


class RootKind(IntEnum):
    """What holds the root of a strand."""

    CLAMPED = 0
    """Position and orientation follow the head."""
    HINGED = 1
    """The position follows the head, the strand turns freely about it."""
    FREE = 2
    """Nothing holds it."""


@dataclass(frozen=True, eq=False)
class StrandModel:
    """Guides as mechanics sees them; G strands of V vertices and N = V - 1 segments.

    Attributes:
        rest_points: the groomed shape in the rest pose of the head [m], shape (G, V, 3), float64.
        mass: of each vertex, half of either neighbouring segment [kg], shape (G, V).
        stretch_stiffness: E A of each segment [N], shape (G, N).
        bend_stiffness: E I at each joint [N m^2], shape (G, N).
        twist_stiffness: G J at each joint [N m^2], shape (G, N).
        damping: time constant of the bending at each joint [s], shape (G, N): a moment of `damping` times the rate of
            the elastic moment resists every change of shape (Kelvin-Voigt).
        radius: of the hair at each vertex [m], shape (G, V).
        root_kind: a `RootKind` per strand, shape (G,), int8.
        gravity: [m/s^2], shape (3,).
        friction: Coulomb's coefficient, for contact with solids and among hair that gives none of its own.
        parents: the two strands that a slot lies half-way between (`halfway`), shape (G, 2), int64; a strand of
            its own, which all are by default, is its own parent. Slots are behind all others.
        is_implicit: whether its solver meets a force with the bending stiffness of the whole strand within one step; a
            solver of few iterations does not, and what acts between strands may count on their masses alone.
        rest_length: of each segment as groomed [m], shape (G, N).
        joint_length: of the rod that each joint stands for [m], shape (G, N).
        longest_segment: of all strands [m], also of those that `taken` left out: what looks at all strands at the
            same intervals treats each as it does among the others.
    """

    rest_points: Float64Array
    mass: Float64Array
    stretch_stiffness: Float64Array
    bend_stiffness: Float64Array
    twist_stiffness: Float64Array
    damping: Float64Array
    radius: Float64Array
    root_kind: NDArray[np.int8]
    gravity: Float64Array = field(default_factory=lambda: np.array(STANDARD_GRAVITY))
    friction: float = STANDARD_FRICTION
    parents: IntArray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    is_implicit: bool = True
    rest_length: Float64Array = field(init=False)
    joint_length: Float64Array = field(init=False)
    longest_segment: float = field(init=False)

    def __post_init__(self) -> None:
        points = _checked("rest_points", self.rest_points, ("G", "V", 3))
        strands, vertices = points.shape[:2]
        if strands == 0:
            raise ValueError("guides: must hold at least one strand, got none")
        if vertices < 3:
            raise ValueError(f"guides: a strand must have at least 3 vertices to bend, got {vertices}")
        length = np.linalg.norm(np.diff(points, axis=1), axis=2)
        _require("rest_points: segments must have a length above zero", length > 0, length)
        object.__setattr__(self, "rest_points", points)
        for name, size, positive in _PROPERTIES:
            shape = (strands, vertices if size == "V" else vertices - 1)
            values = _checked(name, np.broadcast_to(getattr(self, name), shape), shape)
            _require(
                f"{name}: must be {'above' if positive else 'at least'} zero",
                values > 0 if positive else values >= 0,
                values,
            )
            object.__setattr__(self, name, values)
        kinds = as_array("root_kind", np.broadcast_to(np.asarray(self.root_kind), strands), (strands,), np.int8)
        _require("root_kind: must be 0 (clamped), 1 (hinged) or 2 (free)", (kinds >= 0) & (kinds <= 2), kinds)
        object.__setattr__(self, "root_kind", kinds)
        object.__setattr__(self, "gravity", _checked("gravity", self.gravity, (3,)))
        if not (np.isfinite(self.friction) and self.friction >= 0):
            raise ValueError(f"friction: must be a finite number of at least zero, got {self.friction}")
        own = np.repeat(np.arange(strands)[:, None], 2, axis=1)
        parents = as_array("parents", self.parents if len(self.parents) else own, (strands, 2), np.int64)
        object.__setattr__(self, "parents", parents)
        object.__setattr__(self, "rest_length", length)
        object.__setattr__(self, "joint_length", joint_lengths(length))
        object.__setattr__(self, "longest_segment", float(length.max()))

    @property
    def strand_count(self) -> int:
        """Number of strands, G."""
        result: int = self.rest_points.shape[0]
        return result

    @property
    def vertex_count(self) -> int:
        """Number of vertices of every strand, V."""
        result: int = self.rest_points.shape[1]
        return result

    @property
    def is_slot(self) -> NDArray[np.bool_]:
        """Which strands lie half-way between two others, shape (G,)."""
        slots: NDArray[np.bool_] = self.parents[:, 0] != self.parents[:, 1]
        return slots

    @property
    def own_count(self) -> int:
        """Number of strands that are not slots; they come first."""
        return self.strand_count - int(self.is_slot.sum())

    def taken(self, rows: IntArray) -> StrandModel:
        """Return some of the strands, each its own parent; checked numbers are not checked again."""
        other = object.__new__(StrandModel)
        for name in _PER_STRAND:
            object.__setattr__(other, name, getattr(self, name)[rows])
        for name in ("gravity", "friction", "is_implicit", "longest_segment"):
            object.__setattr__(other, name, getattr(self, name))
        object.__setattr__(other, "parents", np.repeat(np.arange(len(rows))[:, None], 2, axis=1))
        return other

    @property
    def segment_count(self) -> int:
        """Number of segments of every strand, N = V - 1."""
        return self.vertex_count - 1

    @property
    def strand_length(self) -> Float64Array:
        """Length of each strand as groomed [m], shape (G,)."""
        total: Float64Array = self.rest_length.sum(axis=1)
        return total


def joint_lengths(segment_length: Float64Array) -> Float64Array:
    """Length of rod that each joint stands for, from segment lengths (G, N): half a segment on either side of it."""
    half = 0.5 * segment_length
    joints = half.copy()
    joints[:, 1:] += half[:, :-1]
    return joints


_PROPERTIES = (
    ("mass", "V", True),
    ("stretch_stiffness", "N", True),
    ("bend_stiffness", "N", True),
    ("twist_stiffness", "N", True),
    ("damping", "N", False),
    ("radius", "V", True),
)
_PROPERTY_NAMES = tuple(name for name, _, _ in _PROPERTIES)
_PER_STRAND = ("rest_points", "root_kind", "rest_length", "joint_length", *_PROPERTY_NAMES)


def _checked(name: str, value: ArrayLike, shape: tuple[int | str, ...]) -> Float64Array:
    array: Float64Array = as_array(name, value, shape, np.float64)
    row = first_not_finite(array)
    if row is not None:
        raise ValueError(f"{name}: must be finite, got {array[row][~np.isfinite(array[row])].flat[0]} at index {row}")
    return array


def _require(rule: str, holds: NDArray[np.bool_], values: NDArray[np.generic]) -> None:
    if not holds.all():
        where = np.unravel_index(int((~holds).argmax()), holds.shape)
        place = ", ".join(f"{what} {index}" for what, index in zip(("strand", "index"), where, strict=False))
        raise ValueError(f"{rule}, got {values[where]:.6g} at {place}")
