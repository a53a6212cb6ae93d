"""Solids as the contact kernels read them, and how thin they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mane.body import _kernels_shapes as shape_kinds
from mane.body.sdf import SignedDistanceField
from mane.body.shapes import Shape
from mane.body.solid import Solid
from mane.contact._kernels_solids import SLACK
from mane.strand.model import Float64Array, StrandModel
from mane.strand.ports import MovingSolid

# A trilinear field between values that differ by no more than their distance can be this steep.
FIELD_SLOPE = float(np.sqrt(3.0))
# Of the surface of a mesh, this part may be thinner than what counts as its thinnest feature: edges and corners.
THIN_PART = 0.1
# Step of a search through a distance field [cells].
STRIDE = 0.25
# More points than this on one segment mean that the hair is cut too coarsely for what it touches.
MAX_INNER = 63
# Nodes of a surface that are followed inwards to measure the thickness of a mesh.
THICKNESS_NODES = 20_000

_NO_KINDS = np.zeros(0, np.int32)
_NO_PARAMS = np.zeros((0, shape_kinds.PARAM_COUNT), np.float32)
_NO_VALUES = np.zeros((0, 0, 0), np.float32)
_NO_ORIGIN = np.zeros(3, np.float32)


@dataclass(frozen=True, eq=False)
class KernelSolid:
    """A shape or a mesh for kernels.

    Attributes:
        packed: the tuple of `_kernels_trace`.
        feature: radius of its thinnest part [m], infinite for a plane.
    """

    packed: tuple[Any, ...]
    feature: float

    @classmethod
    def of(cls, solid: Solid) -> KernelSolid:
        """Pack a solid that is no animated mesh."""
        if solid.shape is not None:
            kinds, params = solid.shape.pack()
            feature = shape_feature(solid.shape)
            return cls((False, kinds, params, _NO_VALUES, _NO_ORIGIN, np.float32(1.0), 0.0, 1.0, feature), feature)
        field = solid.field
        assert field is not None
        # Kernels are compiled for arrays that may be written, and for no others.
        values = field.values if field.values.flags.writeable else field.values.copy()
        stride = STRIDE * field.cell_size
        feature = field_feature(field)
        fixed = (field.origin, field.inv_cell, stride, FIELD_SLOPE, feature)
        return cls((True, _NO_KINDS, _NO_PARAMS, values, *fixed), feature)

    def inner_places(self, segment_length: float, thickness: float) -> int:
        """How many points between the ends of a segment of that length [m] must be tested beside its vertices."""
        feature = self.feature + thickness
        if not np.isfinite(feature):
            return 0
        # A part of radius r is at least 1.7 r wide at every place that is r / 2 or less off the nearest tested point.
        return int(min(max(np.ceil(segment_length / feature) - 1, 0), MAX_INNER))


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


def pose_pair(moving: MovingSolid, out: Float64Array) -> None:
    """Fill `out` (24,) with rotation and position at the start of the step and at its end."""
    for start, pose in ((0, moving.before), (12, moving.after)):
        out[start : start + 9] = pose.matrix[:3, :3].ravel()
        out[start + 9 : start + 12] = pose.position


def safe_margin(model: StrandModel, thickness: float) -> float:
    """Distance between a solid and the ways of a strand beyond which they cannot touch [m]."""
    return thickness + 2 * SLACK * float(model.rest_length.max())


def not_measured(strand_count: int, vertex_count: int) -> Float64Array:
    """Scratch for what was last measured of each vertex (G, V, 4); minus infinity asks for a measurement."""
    measured = np.zeros((strand_count, vertex_count, 4))
    measured[..., 0] = -np.inf
    return measured


class Clearances:
    """What was last measured of each vertex, by solid: scratch that parts may share, and that changes no result."""

    def __init__(self) -> None:
        self._tables: dict[int, tuple[Solid, Float64Array]] = {}

    def of(self, solid: Solid, model: StrandModel) -> Float64Array:
        """Return the table of a solid, (G, V, 4)."""
        shape = (model.strand_count, model.vertex_count)
        known, table = self._tables.get(id(solid), (None, None))
        if known is not solid or table is None or table.shape[:2] != shape:
            table = not_measured(*shape)
            self._tables[id(solid)] = (solid, table)
        return table
