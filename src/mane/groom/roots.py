"""Roots spread evenly over a skin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray, IntArray, as_floats

# The plastic number's powers: the two-dimensional sequence of lowest discrepancy of its kind (the R2 sequence).
R2_STEPS = np.array([0.7548776662466927, 0.5698402909980532])


@dataclass(frozen=True, eq=False)
class Roots:
    """Places on a mesh where hair grows.

    Attributes:
        points: positions [m], shape (S, 3).
        normals: unit normals, smooth across triangles, shape (S, 3).
        triangle: the triangle of each root, shape (S,).
        barycentric: its coordinates there, shape (S, 3).
        uv: texture coordinates, shape (S, 2), or None where the mesh has none.
    """

    points: FloatArray
    normals: FloatArray
    triangle: IntArray
    barycentric: FloatArray
    uv: FloatArray | None


def scatter_roots(mesh: Mesh, count: int, *, density: ArrayLike | None = None, seed: int = 0) -> Roots:
    """Spread `count` roots over a mesh, evenly for its area times `density`.

    Args:
        mesh: the skin.
        count: how many roots.
        density: relative density per vertex, shape (N,), not negative; None for even growth.
        seed: another seed, another scatter of the same evenness.

    The triangles are walked along a space-filling curve and sampled at equal steps of accumulated density, with a
    low-discrepancy sequence inside each: no clumps and no bare patches, at a cost linear in roots and triangles.
    """
    if count < 1:
        raise ValueError(f"strands: must be at least 1, got {count}")
    rng = np.random.default_rng(seed)
    order = _morton_order(mesh)
    share = _triangle_share(mesh, density)[order]
    triangle = order[_systematic_sample(share, count, rng)]
    barycentric = _low_discrepancy_barycentric(count, rng)
    if density is not None:
        barycentric = _favour_dense_corners(mesh, triangle, barycentric, np.asarray(density, np.float32), rng)
    return _roots_at(mesh, triangle, barycentric)


def _triangle_share(mesh: Mesh, density: ArrayLike | None) -> NDArray[np.float64]:
    share = mesh.face_areas.astype(np.float64)
    if density is not None:
        weight = as_floats("density", density, (mesh.vertex_count,))
        if weight.min() < 0:
            raise ValueError(f"density: must not be negative, got {weight.min()} at vertex {int(weight.argmin())}")
        share = share * weight[mesh.faces].mean(axis=1)
    if share.sum() <= 0:
        raise ValueError("density: must be above zero somewhere, got zero at every vertex")
    return share


def _systematic_sample(share: NDArray[np.float64], count: int, rng: np.random.Generator) -> IntArray:
    """Pick entries at equal steps of the accumulated share, each step jittered within itself."""
    accumulated = np.cumsum(share)
    steps = (np.arange(count) + rng.random(count)) / count * accumulated[-1]
    result: IntArray = np.minimum(np.searchsorted(accumulated, steps, side="right"), len(share) - 1)
    return result


def _low_discrepancy_barycentric(count: int, rng: np.random.Generator) -> FloatArray:
    u, v = ((rng.random(2) + np.arange(count)[:, None] * R2_STEPS) % 1.0).T
    root = np.sqrt(u)
    return np.stack([1 - root, root * (1 - v), root * v], axis=1).astype(np.float32)


def _favour_dense_corners(
    mesh: Mesh, triangle: IntArray, barycentric: FloatArray, density: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Within a triangle whose corners differ in density, reflect roots towards the denser corner as often as is due."""
    corner = density[mesh.faces[triangle]]
    here = (barycentric * corner).sum(axis=1)
    mirrored = np.roll(barycentric, 1, axis=1)
    there = (mirrored * corner).sum(axis=1)
    swap = rng.random(len(triangle)) * np.maximum(here + there, np.finfo(np.float32).tiny) > here
    return np.where(swap[:, None], mirrored, barycentric)


def _roots_at(mesh: Mesh, triangle: IntArray, barycentric: FloatArray) -> Roots:
    corners = mesh.faces[triangle]

    def blend(values: FloatArray) -> FloatArray:
        result: FloatArray = np.einsum("sc,scd->sd", barycentric, values[corners]).astype(np.float32)
        return result

    normals = blend(mesh.vertex_normals)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.where(length > 1e-6, normals / np.maximum(length, 1e-6), mesh.face_normals[triangle])
    uv = None if mesh.uv is None else blend(mesh.uv)
    return Roots(blend(mesh.points), normals.astype(np.float32), triangle.astype(np.int64), barycentric, uv)


def _morton_order(mesh: Mesh) -> IntArray:
    """Triangles in the order of a space-filling curve through their centres."""
    centres = mesh.points[mesh.faces].mean(axis=1)
    low, high = centres.min(axis=0), centres.max(axis=0)
    cells = ((centres - low) / max(float((high - low).max()), 1e-30) * 1023).astype(np.uint64)
    code = np.zeros(len(centres), np.uint64)
    for bit in range(10):
        for axis in range(3):
            code |= ((cells[:, axis] >> np.uint64(bit)) & np.uint64(1)) << np.uint64(3 * bit + axis)
    return np.argsort(code, kind="stable")
