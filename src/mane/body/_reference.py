"""What the kernels of this room compute, in plain NumPy and float64: slow, obvious, and the tests' specification."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.body.shapes import Box, Capsule, Plane, Shape, Sphere, Torus, Union
from mane.body.skeleton import SkinnedMesh
from mane.geometry import quaternion

Array = NDArray[np.float64]


def shape_distance(shape: Shape, points: Array) -> Array:
    """Signed distance to a shape, shape (P,)."""
    match shape:
        case Sphere():
            result: Array = np.linalg.norm(points - shape.center, axis=1) - shape.radius
            return result
        case Capsule():
            return segment_distance(points, np.asarray(shape.start), np.asarray(shape.end)) - shape.radius
        case Box():
            local = (points - shape.center) @ quaternion.to_matrix(shape.rotation)
            beyond = np.abs(local) - (np.asarray(shape.half_size) - shape.rounding)
            outside = np.linalg.norm(np.maximum(beyond, 0), axis=1)
            result = outside + np.minimum(beyond.max(axis=1), 0) - shape.rounding
            return result
        case Plane():
            result = (points - shape.point) @ np.asarray(shape.normal)
            return result
        case Torus():
            height = (points - shape.center) @ np.asarray(shape.axis)
            across = np.linalg.norm(points - shape.center - height[:, None] * shape.axis, axis=1)
            result = np.hypot(across - shape.major_radius, height) - shape.minor_radius
            return result
        case Union():
            result = np.min([shape_distance(part, points) for part in shape.shapes], axis=0)
            return result
    raise ValueError(f"shape: must be one of shapes.py, got {type(shape).__name__}")


def segment_distance(points: Array, start: Array, end: Array) -> Array:
    """Distance to a line segment, shape (P,)."""
    axis = end - start
    square = max(float(axis @ axis), np.finfo(float).tiny)
    along = np.clip((points - start) @ axis / square, 0, 1)
    result: Array = np.linalg.norm(points - start - along[:, None] * axis, axis=1)
    return result


def triangle_distance(points: Array, corners: Array) -> Array:
    """Distance to one triangle (3, 3), shape (P,): to its plane where the foot is within it, else to its edges."""
    a, b, c = corners
    edges = np.min([segment_distance(points, *pair) for pair in ((a, b), (b, c), (c, a))], axis=0)
    normal = np.cross(b - a, c - a)
    double_area = np.linalg.norm(normal)
    if double_area == 0:
        result: Array = edges
        return result
    normal = normal / double_area
    within = [np.cross(end - start, points - start) @ normal > 0 for start, end in ((a, b), (b, c), (c, a))]
    result = np.where(np.all(within, axis=0), np.abs((points - a) @ normal), edges)
    return result


def mesh_distance(points: Array, corners: Array) -> Array:
    """Distance to the nearest of many triangles (T, 3, 3), shape (P,)."""
    result: Array = np.min([triangle_distance(points, triangle) for triangle in corners], axis=0)
    return result


def winding_number(points: Array, corners: Array) -> Array:
    """Solid angle of all triangles (T, 3, 3) over 4 pi, shape (P,)."""
    total = np.zeros(len(points))
    for triangle in corners:
        a, b, c = (corner - points for corner in triangle)
        la, lb, lc = (np.linalg.norm(side, axis=1) for side in (a, b, c))
        ab, bc, ca = ((u * v).sum(axis=1) for u, v in ((a, b), (b, c), (c, a)))
        # Van Oosterom and Strackee 1983, eq. (8)
        total += 2 * np.arctan2((a * np.cross(b, c)).sum(axis=1), la * lb * lc + ab * lc + bc * la + ca * lb)
    return total / (4 * np.pi)


def trilinear(values: Array, origin: Array, cell_size: float, points: Array) -> Array:
    """Trilinear value of a grid at points within it, shape (P,)."""
    position = (points - origin) / cell_size
    cell = np.clip(np.floor(position).astype(int), 0, np.array(values.shape) - 2)
    fraction = position - cell
    total = np.zeros(len(points))
    for corner in np.ndindex(2, 2, 2):
        weight = np.where(np.array(corner) == 1, fraction, 1 - fraction).prod(axis=1)
        total += weight * values[tuple((cell + corner).T)]
    return total


def skinned_points(skinned: SkinnedMesh, world_transforms: Array, blend_weights: Array) -> Array:
    """Points moved by blend shapes and then by the weighted sum of their joints' transforms, shape (N, 3)."""
    points = skinned.mesh.points.astype(np.float64)
    for shape, weight in zip(skinned.blend_shapes, blend_weights, strict=True):
        points = points + weight * shape.offsets
    moved = np.zeros_like(points)
    inverse_bind = np.linalg.inv(skinned.skeleton.bind_transforms)
    for vertex, point in enumerate(points):
        influences = zip(skinned.joint_indices[vertex], skinned.joint_weights[vertex], strict=True)
        for joint, weight in influences:
            matrix = world_transforms[joint] @ inverse_bind[joint]
            moved[vertex] += float(weight) * (matrix @ [*point, 1.0])[:3]
    return moved
