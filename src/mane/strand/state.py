"""`StrandState`: everything that a strand solver needs to go on from one step to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion
from mane.geometry.checks import IntArray
from mane.strand.model import Float64Array


@dataclass(eq=False)
class StrandState:
    """Where guides are and how they move. Solvers read one and write another; all arrays float64, C-contiguous.

    Attributes:
        points: vertex positions [m], world, shape (G, V, 3).
        velocity: of the vertices [m/s], shape (G, V, 3).
        orientations: of each segment, quaternions (x, y, z, w), third axis along the segment, shape (G, N, 4).
        spin: angular velocity of each segment [rad/s], world, shape (G, N, 3).
        cut_force: what the part beyond a segment pulls at it with [N], world, shape (G, N, 3); along the tangent and
            positive where the segment is under tension.
        extra: arrays of one model alone, by name; the first axis is the strand.
    """

    points: Float64Array
    velocity: Float64Array
    orientations: Float64Array
    spin: Float64Array
    cut_force: Float64Array
    extra: dict[str, NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def at_rest(cls, points: Float64Array, orientations: Float64Array) -> StrandState:
        """Make a state without motion or force."""
        strands, vertices = points.shape[:2]
        segments = (strands, vertices - 1, 3)
        return cls(points.copy(), np.zeros_like(points), orientations.copy(), np.zeros(segments), np.zeros(segments))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays by name, for a checkpoint; they are the state's own, not copies."""
        named = {name: getattr(self, name) for name in _COMMON}
        return {**named, **{f"extra.{name}": array for name, array in self.extra.items()}}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> StrandState:
        """Make a state from what `arrays` returned; copies."""
        extra = {
            name.removeprefix("extra."): np.array(array) for name, array in arrays.items() if name.startswith("extra.")
        }
        common = {name: np.array(arrays[name]) for name in _COMMON}
        return cls(**common, extra=extra)

    def segment_lengths(self) -> Float64Array:
        """Length of each segment [m], shape (G, N)."""
        edge = self.points[:, 1:] - self.points[:, :-1]
        length: Float64Array = np.sqrt(np.einsum("gji,gji->gj", edge, edge))
        return length

    def copy(self) -> StrandState:
        """Return a state with arrays of its own."""
        return StrandState.from_arrays(self.arrays())

    def taken(self, rows: IntArray) -> StrandState:
        """Return that of some of the strands; copies."""
        common = {name: getattr(self, name)[rows] for name in _COMMON}
        return StrandState(**common, extra={name: array[rows] for name, array in self.extra.items()})

    def put(self, rows: IntArray, other: StrandState) -> None:
        """Copy the numbers of `other` to some of the strands."""
        mine = self.arrays()
        for name, array in other.arrays().items():
            mine[name][rows] = array

    def assign(self, other: StrandState) -> None:
        """Copy the numbers of `other` into this state's own arrays."""
        mine = self.arrays()
        for name, array in other.arrays().items():
            mine[name][...] = array


_COMMON = ("points", "velocity", "orientations", "spin", "cut_force")


def carry_rigidly(state: StrandState, rotation: Float64Array, pivot: Float64Array, goal: Float64Array) -> None:
    """Move every strand of `state`, in place, as a rigid body: by `rotation` about `pivot`, which lands on `goal`.

    Args:
        state: its common arrays are changed; `extra` is the caller's matter.
        rotation: quaternions, shape (G, 4).
        pivot: [m], shape (G, 3).
        goal: [m], shape (G, 3).
    """
    rotation = rotation[:, None]
    state.points[...] = quaternion.rotate(rotation, state.points - pivot[:, None]) + goal[:, None]
    for vectors in (state.velocity, state.spin, state.cut_force):
        vectors[...] = quaternion.rotate(rotation, vectors)
    state.orientations[...] = quaternion.multiply(rotation, state.orientations)
