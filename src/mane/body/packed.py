"""`PackedSolid`: a solid as kernels read it, the same for contact, projection, skins and finishing passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from mane.body import _kernels_field as field_kernels
from mane.body import _kernels_shapes as shape_kinds
from mane.body._kernels_shapes import PARAM_COUNT
from mane.body._kernels_solid import AFTER, POSE_SIZE, SolidArrays, SolidBlocks, SolidList
from mane.body.animated import AnimatedMesh
from mane.body.band.narrow_band import REACH
from mane.body.motion import Pose, Twist
from mane.body.sdf import SignedDistanceField
from mane.body.shapes import Shape
from mane.body.solid import PosedSolid, Solid, Surface
from mane.geometry.checks import FloatArray

# Of the surface of a mesh, this part may be thinner than what counts as its thinnest feature: edges and corners.
THIN_PART = 0.1
# Nodes of a surface that are followed inwards to measure the thickness of a mesh.
THICKNESS_NODES = 20_000


def shape_feature(shape: Shape) -> float:
    """Radius of the thinnest part of a shape [m]; infinite for a plane."""
    kinds, params = shape.pack()
    radius = np.full(len(kinds), np.inf)
    for kind, column in ((shape_kinds.SPHERE, 3), (shape_kinds.CAPSULE, 7), (shape_kinds.TORUS, 7)):
        radius[kinds == kind] = params[kinds == kind, column]
    boxes = kinds == shape_kinds.BOX
    radius[boxes] = params[boxes, 3:6].min(axis=1, initial=np.inf) + params[boxes, 6]
    return float(radius.min())


def field_feature(field: SignedDistanceField) -> float:
    """Radius of the thinner parts of a mesh [m], but at least a cell of its field.

    Measured by walking straight in from the surface until the depth no longer grows.
    """
    below = np.argwhere((field.values < 0) & (field.values > -field.cell_size))
    if len(below) == 0:
        return field.cell_size
    start = below[:: 1 + len(below) // THICKNESS_NODES]
    points = (start * field.cell_size + field.origin).astype(np.float32)
    depth = np.zeros(len(points), np.float32)
    _, gradient = field.sample_with_gradient(points)
    inward = -gradient / np.maximum(np.linalg.norm(gradient, axis=1, keepdims=True), 1e-6)
    walking = np.ones(len(points), np.bool_)
    for step in range(max(field.values.shape)):
        here = field.sample(points + (step * field.cell_size) * inward)
        walking &= -here > depth
        depth = np.where(walking, -here, depth)
        if not walking.any():
            break
    return max(float(np.quantile(depth, THIN_PART)), field.cell_size)


# A trilinear field between values that differ by no more than their distance can be this steep.
FIELD_SLOPE = float(np.sqrt(3.0))
SHAPE_SLOPE = 1.0
# Step of a search through a distance field [cells].
STRIDE = 0.25
# From this far within the reach of a narrow band [cells] on, its values are none between nodes beyond it.
FADE = 0.25
# Cells of a distance field along each edge of a block: the smaller, the closer hair may come before it is looked at;
# the larger, the less memory is read.
BLOCK = 2

_NO_KINDS = np.zeros(0, np.int32)
_NO_PARAMS = np.zeros((0, PARAM_COUNT), np.float32)
_NO_FIELD = np.zeros((2, 2, 2), np.float32)
_NO_ORIGIN = np.zeros(3, np.float32)
_NOTHING_KNOWN = np.full((1, 1, 1), -np.inf, np.float32)


@dataclass(frozen=True, eq=False)
class PackedSolid:
    """What any part of a simulation asks a solid: its arrays for kernels, or itself at a pose and a time.

    Attributes:
        solid: as given.
    """

    solid: Solid

    @classmethod
    def of(cls, solid: Solid) -> PackedSolid:
        """Pack a solid. Nothing is computed before the arrays are asked for; those of one field are made once."""
        return cls(solid)

    @property
    def is_deforming(self) -> bool:
        """Whether the surface moves within the solid's own frame: then there are `arrays_at` a time and no `arrays`."""
        return self.solid.animation is not None

    @cached_property
    def arrays(self) -> SolidArrays:
        """The solid for kernels; ValueError if it deforms."""
        if self.is_deforming:
            raise ValueError(
                "solid: must be a shape or a rigid mesh for kernels, got one that deforms; use `arrays_at`"
            )
        if self.solid.shape is not None:
            return shape_arrays(self.solid.shape)
        assert self.solid.field is not None
        return _arrays_of_field(self.solid.field)

    @cached_property
    def blocks(self) -> SolidBlocks:
        """What is known of the distance beforehand, for kernels; of a shape, which is quick to ask, nothing."""
        field = self.solid.field
        if field is None:
            return SolidBlocks(_NOTHING_KNOWN, _NO_ORIGIN, np.float32(1.0))
        return field_blocks(field)

    def arrays_at(self, time: float) -> SolidArrays:
        """Return the solid for kernels as it is at `time` [s].

        That of a solid that deforms is overwritten when anybody asks for another time.
        """
        animation = self.solid.animation
        return self.arrays if animation is None else _packed_field(animation.field.at(time), np.inf)

    def blocks_at(self, time: float) -> SolidBlocks:
        """Return what is known of the distance at `time` [s] beforehand, for kernels; see `arrays_at`."""
        animation = self.solid.animation
        if animation is None:
            return self.blocks
        field = animation.field.at(time)
        known = _known_blocks.get(field)
        if known is None:
            known = _known_blocks[field] = field_blocks(field)
        return known

    @property
    def feature(self) -> float:
        """Radius of the thinnest part [m]; infinite for a plane, and for what deforms, which nobody has measured."""
        return np.inf if self.is_deforming else self.arrays.feature

    def at(self, pose: Pose, time: float) -> PosedSolid:
        """Return the solid at a pose, with its surface as it is at `time` [s]: for distances of many points at once.

        `at(pose, time).surface` answers in the solid's own frame, and also how fast the surface moves within it.
        """
        return self.solid.placed(pose, time)

    def sampled_at(self, pose: Pose, time: float, *, is_far: bool = False) -> PosedSolid:
        """Return the same with the distances of `arrays_at`, which take nanoseconds each: for all points of a coat.

        Farther outside of a solid that deforms than `band.REACH` cells those are too small; with `is_far` they are
        right there too, within one of its larger cells. Of other solids it is `at`.
        """
        animation = self.solid.animation
        if animation is None:
            return self.solid.placed(pose, time)
        far = animation.field.far_at(time) if is_far else None
        return _SampledSolid(self.solid, float(time), pose, Twist.zero(), animation.field.at(time), far)


@dataclass(frozen=True, eq=False)
class _SampledSurface:
    """The surface of an animated mesh at one time, through its distance fields."""

    animation: AnimatedMesh
    time: float
    near: SignedDistanceField
    far: SignedDistanceField | None

    @property
    def bounds(self) -> FloatArray:
        return self.near.bounds

    def _is_far(self, distance: FloatArray) -> NDArray[np.bool_]:
        is_far: NDArray[np.bool_] = distance >= np.float32((REACH - FADE) * self.near.cell_size)
        return is_far

    def distance(self, points: FloatArray) -> FloatArray:
        distance = self.near.sample(points)
        if self.far is not None:
            far = self._is_far(distance)
            distance[far] = np.maximum(distance[far], self.far.sample(points[far]))
        return distance

    def distance_and_gradient(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        distance, gradient = self.near.sample_with_gradient(points)
        if self.far is not None:
            far = self._is_far(distance)
            farther, gradient[far] = self.far.sample_with_gradient(points[far])
            distance[far] = np.maximum(distance[far], farther)
        return distance, gradient

    def velocity(self, points: FloatArray) -> FloatArray:
        return self.animation.at(self.time).velocity(points)


@dataclass(frozen=True, eq=False)
class _SampledSolid(PosedSolid):
    """A solid that deforms at one time, through its distance fields."""

    near: SignedDistanceField
    far: SignedDistanceField | None

    @property
    def surface(self) -> Surface:
        assert self.solid.animation is not None
        return _SampledSurface(self.solid.animation, self.time, self.near, self.far)


def shape_arrays(shape: Shape) -> SolidArrays:
    """Pack a shape for kernels."""
    kinds, params = shape.pack()
    return SolidArrays(
        kinds=kinds,
        params=params,
        values=_NO_FIELD,
        origin=_NO_ORIGIN,
        inv_cell=np.float32(1.0),
        slope=SHAPE_SLOPE,
        stride=0.0,
        feature=shape_feature(shape),
    )


def field_arrays(field: SignedDistanceField) -> SolidArrays:
    """Pack a distance field for kernels."""
    return _packed_field(field, field_feature(field))


def _packed_field(field: SignedDistanceField, feature: float) -> SolidArrays:
    # Kernels are compiled for arrays that may be written, and for no others.
    values = field.values if field.values.flags.writeable else field.values.copy()
    return SolidArrays(
        kinds=_NO_KINDS,
        params=_NO_PARAMS,
        values=values,
        origin=field.origin,
        inv_cell=field.inv_cell,
        slope=FIELD_SLOPE,
        stride=STRIDE * field.cell_size,
        feature=feature,
    )


def field_blocks(field: SignedDistanceField) -> SolidBlocks:
    """Pack what is known of a distance field beforehand."""
    return SolidBlocks(lowest_of_blocks(field.values), field.origin, np.float32(field.inv_cell / BLOCK))


# The thickness of a field takes tens of milliseconds to measure, and four parts of a simulation pack it.
_known_fields: WeakKeyDictionary[SignedDistanceField, SolidArrays] = WeakKeyDictionary()


def _arrays_of_field(field: SignedDistanceField) -> SolidArrays:
    known = _known_fields.get(field)
    if known is None:
        known = _known_fields[field] = field_arrays(field)
    return known


# Blocks of fields of solids that deform, which are made for each time.
_known_blocks: WeakKeyDictionary[SignedDistanceField, SolidBlocks] = WeakKeyDictionary()


def solid_list(solids: Sequence[SolidArrays]) -> SolidList:
    """Put solids behind each other for one kernel; the arrays of several are copied."""
    return SolidList(
        kinds=np.concatenate([one.kinds for one in solids]),
        params=np.concatenate([one.params for one in solids]),
        first_kind=_starts([len(one.kinds) for one in solids]),
        values=_joined([one.values.reshape(-1) for one in solids]),
        first_value=_starts([one.values.size for one in solids])[:-1],
        nodes=np.array([one.values.shape for one in solids], np.int64),
        origin=np.array([one.origin for one in solids], np.float32),
        inv_cell=np.array([one.inv_cell for one in solids], np.float32),
        limits=np.array([(one.slope, one.stride, one.feature) for one in solids]),
    )


def _joined(arrays: Sequence[FloatArray]) -> FloatArray:
    """Return arrays behind each other; a single one, which may be large, is itself."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _starts(sizes: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def fill_pose(pose: Pose, out: NDArray[Any]) -> None:
    """Fill `out` (12,) with a pose as kernels read it: rotation row by row, position [m]."""
    out[:9] = pose.matrix[:3, :3].ravel()
    out[9:] = pose.position


def fill_pose_pair(before: Pose, after: Pose, out: NDArray[np.float64]) -> None:
    """Fill `out` (24,) with the poses at the start of a step and at its end."""
    fill_pose(before, out[:AFTER])
    fill_pose(after, out[AFTER:])


def packed_poses(poses: Sequence[Pose]) -> FloatArray:
    """Return poses for the kernels of hair, shape (Z, 12), float32."""
    packed = np.empty((len(poses), POSE_SIZE), np.float32)
    for pose, row in zip(poses, packed, strict=True):
        fill_pose(pose, row)
    return packed


def lowest_of_blocks(values: FloatArray, block: int = BLOCK) -> FloatArray:
    """Least value that a field of nodes (X, Y, Z) has within each block of its cells."""
    lowest = np.empty([-(-(count - 1) // block) for count in values.shape], np.float32)
    field_kernels.fill_lowest(values, block, lowest)
    return lowest
