"""How thin a solid is: contact looks between vertices where it is thinner than a segment of hair is long."""

from __future__ import annotations

import numpy as np

from mane.body import _kernels_shapes as shape_kinds
from mane.body.sdf import SignedDistanceField
from mane.body.shapes import Shape

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
