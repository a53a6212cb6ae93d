"""`Sky`: light from everywhere as hair and solids let it through, on a grid around the hair and at points of surfaces.

Limitations: the grid has some 56 cells along the hair, so a single strand casts no ambient shadow; light that a solid
throws back is left out, but for what the ambient light's ground colour stands for.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray
from mane.render import _kernels_ambient as kernels
from mane.render._kernels_shadow import FULLEST
from mane.render.camera import any_across, basis
from mane.render.shadow import thread_parts
from mane.render.solids import Surfaces
from mane.render.strands import SmoothStrands
from mane.render.view import bounds_of

DIRECTIONS = 48
DEPTH_MAP_TEXELS = 192  # of one direction
CELLS = 56  # along the longest side of the hair
LIFT_TEXELS = 1.5  # points of a surface are asked this far above it
UNITS_PER_CELL_AREA = 2.0**16  # whole numbers per cell's own area


class Sky:
    """What the hair and the solids leave of the sky. Either of them may be missing."""

    def __init__(self, strands: SmoothStrands | None, surfaces: Surfaces | None) -> None:
        self._surfaces = surfaces
        spiral = _spiral_sphere(DIRECTIONS)
        axes = np.stack([np.stack(basis(d, any_across(d))) for d in spiral]).astype(np.float32)
        self._rights, self._ups, self._directions = (np.ascontiguousarray(axes[:, k]) for k in range(3))
        self._upward = (0.5 + 0.5 * spiral[:, 1]).astype(np.float32)
        self._low, self._per_metre = np.zeros(3, np.float32), np.float32(1.0)
        self._density = np.zeros((1, 1, 1), np.float32)
        if strands is not None:
            self._fill_density(strands)
        self._radius, self._centre = self._solid_bounds()

    def _fill_density(self, strands: SmoothStrands) -> None:
        low, high = bounds_of(strands.points)
        cell = max(float((high - low).max()) / CELLS, 1e-6)
        self._low = (low - 0.5 * cell).astype(np.float32)
        self._per_metre = np.float32(1.0 / cell)
        shape = tuple(int(n) + 2 for n in (high - low) / cell)
        grids = np.zeros((thread_parts(), *shape), np.uint32)
        units = UNITS_PER_CELL_AREA / cell**2
        kernels.deposit_density(
            strands.points, strands.width, strands.offsets, self._low, self._per_metre, np.float32(units), grids
        )
        # The mean shadow of a thin cylinder over all directions is pi/4 of its length times its width.
        area = np.minimum(grids.sum(axis=0, dtype=np.uint64), FULLEST).astype(np.float64)
        self._density = (0.25 * np.pi / UNITS_PER_CELL_AREA * area).astype(np.float32)

    def _solid_bounds(self) -> tuple[np.float32, FloatArray]:
        if self._surfaces is None:
            return np.float32(1.0), np.zeros(3, np.float32)
        low, high = self._surfaces.points.min(axis=0), self._surfaces.points.max(axis=0)
        return np.float32(0.5 * np.linalg.norm(high - low) + 1e-6), np.asarray(0.5 * (low + high), np.float32)

    def _gather(self, points: FloatArray, normals: FloatArray) -> NDArray[np.float32]:
        """What each direction sends to points (D, N, 2): after the solids, and the number of hairs in between."""
        solid_points, faces = np.zeros((0, 3), np.float32), np.zeros((0, 3), np.int32)
        if self._surfaces is not None:
            solid_points, faces = self._surfaces.points, self._surfaces.faces
        gathered = np.empty((DIRECTIONS, len(points), 2), np.float32)
        lift = np.float32(LIFT_TEXELS * 2.0 * self._radius / DEPTH_MAP_TEXELS)
        kernels.gather_sky(
            points, normals, self._directions, self._rights, self._ups, self._density, self._low, self._per_metre,
            solid_points, faces, self._centre, self._radius, DEPTH_MAP_TEXELS, lift, gathered,
        )  # fmt: skip
        return gathered

    @cached_property
    def _gathered(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """What each direction sends to the vertices of the solids, and to the cells near hair: each (D, N, 2)."""
        vertices, normals = np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)
        if self._surfaces is not None:
            vertices, normals = self._surfaces.points, self._surfaces.normals
        middles = ((np.argwhere(self._near_hair) + 0.5) / self._per_metre + self._low).astype(np.float32)
        # Both at once, since the depth map of a direction serves both.
        both = self._gather(np.concatenate([vertices, middles]), np.concatenate([normals, np.zeros_like(middles)]))
        return both[:, : len(vertices)], both[:, len(vertices) :]

    def over_surface(self) -> FloatArray:
        """Share of the sky's and of the ground's light that reaches the solids' vertices, cosine-weighted, (N, 2)."""
        gathered = self._gathered[0]
        light = gathered[:, :, 0] * np.exp(-gathered[:, :, 1])
        # The cosines of all directions around a normal sum to a quarter of the directions.
        above, below = self._upward @ light, (1.0 - self._upward) @ light
        return np.stack([above, below], axis=1).astype(np.float32) / np.float32(0.25 * DIRECTIONS)

    @cached_property
    def _near_hair(self) -> NDArray[np.bool_]:
        return _grown(self._density > 0)

    @cached_property
    def _grid(self) -> FloatArray:
        """At the middle of every cell: share of the sky's and of the ground's light after the solids, hairs crossed."""
        gathered = self._gathered[1]
        seen = gathered[:, :, 0]
        total = seen.sum(axis=0) / np.float32(DIRECTIONS)
        through = (seen * np.exp(-gathered[:, :, 1])).sum(axis=0) / np.float32(DIRECTIONS)
        grid = np.zeros((*self._density.shape, 3), np.float32)
        grid[self._near_hair, 0] = self._upward @ seen / np.float32(DIRECTIONS)
        grid[self._near_hair, 1] = (1.0 - self._upward) @ seen / np.float32(DIRECTIONS)
        # As many hairs as would dim the whole sky as much as those in its directions do.
        ratio = np.divide(through, total, out=np.ones_like(total), where=total > 0)
        grid[self._near_hair, 2] = -np.log(np.maximum(ratio, np.exp(-kernels.THICKEST)))
        return grid

    def in_hair(self, points: FloatArray) -> FloatArray:
        """Share of the sky's and the ground's light after the solids, and hairs crossed, at points in hair, (N, 3)."""
        out = np.empty((len(points), 3), np.float32)
        kernels.sample_grid(self._grid, points, self._low, self._per_metre, out)
        return out


def _grown(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The cells of a mask and their neighbours, which interpolation reads too."""
    for axis in range(3):
        padded = np.pad(mask, [(1, 1) if k == axis else (0, 0) for k in range(3)])
        count = mask.shape[axis]
        mask = np.logical_or.reduce([padded.take(np.arange(k, k + count), axis=axis) for k in range(3)])
    return mask


def _spiral_sphere(count: int) -> NDArray[np.float64]:
    """Directions spread evenly over the sphere, shape (count, 3)."""
    y = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    angle = np.pi * (1.0 + np.sqrt(5.0)) * np.arange(count)
    ring = np.sqrt(1.0 - y * y)
    return np.stack([ring * np.cos(angle), y, ring * np.sin(angle)], axis=1)
