"""`WaterShadow`: what water leaves of a light: some is bent away at its surface, the rest is tinted on its way.

Two maps of the light have where its rays enter the water first and where they leave it first; what lies in the water or
behind it gets less. Light that is bent to elsewhere, in caustics, is not followed.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import map_coordinates

from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray
from mane.render import _kernels_solids
from mane.render.lights import DirectionalLight, Light
from mane.render.shadow import light_view
from mane.render.view import View

TEXELS = 512
CROSSING = 0.82  # share of the light that a surface neither mirrors nor bends far away
ABSORPTION = (2.2, 0.7, 0.45)  # [1/m] of red, green and blue: a pool, some six times that of clear water
NOWHERE = np.float32(3.0e38)


class WaterShadow:
    """How much of a light is left in and behind water.

    Args:
        mesh: the surface, closed [m].
        light: that shines on it.
    """

    def __init__(self, mesh: Mesh, light: Light) -> None:
        self.view = light_view(light, mesh.points, TEXELS)
        a, b, c = (mesh.points[mesh.faces[:, k]].astype(np.float64) for k in range(3))
        away = -np.asarray(light.direction) if isinstance(light, DirectionalLight) else a - np.asarray(light.position)
        leaves = (np.cross(b - a, c - a) * away).sum(axis=1) > 0.0
        self._entry, self._exit = (_depths(self.view, mesh, mesh.faces[side]) for side in (~leaves, leaves))

    def transmittance(self, points: FloatArray) -> FloatArray:
        """Share of red, green and blue that reaches points (N, 3), shape (N, 3)."""
        screen = self.view.project(np.ascontiguousarray(points, np.float32))
        at = np.stack([screen[:, 1], screen[:, 0]]) - 0.5
        depth = self.view.depth(points)
        column, row = (np.clip(np.round(at[k]).astype(np.int64), -1, TEXELS) for k in (1, 0))
        inside = (column >= 0) & (row >= 0) & (column < TEXELS) & (row < TEXELS)
        column, row = np.where(inside, column, 0), np.where(inside, row, 0)
        entry, way_out = self._entry[row, column], self._exit[row, column]
        is_shaded = inside & (depth > entry + 2.0 * self.view.texel_size(max(float(np.median(depth)), 1e-6)))
        path = np.where(is_shaded, np.minimum(depth, np.maximum(way_out, entry)) - entry, 0.0)
        # edges are as soft as the map is fine
        soft = map_coordinates((self._entry < NOWHERE).astype(np.float32), at, order=1, mode="constant")
        crossing = 1.0 - (1.0 - CROSSING) * np.where(is_shaded, soft, 0.0)
        left: FloatArray = (crossing[:, None] * np.exp(-np.array(ABSORPTION) * path[:, None])).astype(np.float32)
        return left


def _depths(view: View, mesh: Mesh, faces: FloatArray) -> FloatArray:
    """Depth of the nearest of some triangles at each texel [m]; `NOWHERE` where there is none."""
    found = np.full((TEXELS, TEXELS), NOWHERE, np.float32)
    if not len(faces):
        return found
    nearness, owner = np.empty((TEXELS, TEXELS), np.float32), np.empty((TEXELS, TEXELS), np.int32)
    screen = view.project(mesh.points)
    _kernels_solids.raster_mesh(
        screen, np.ascontiguousarray(faces), view.is_perspective, _kernels_solids.FAR, nearness, owner
    )
    seen = owner >= 0
    found[seen] = 1.0 / nearness[seen] if view.is_perspective else -nearness[seen]
    return found
