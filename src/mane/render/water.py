"""The surface of water in a picture: what is behind it, bent and tinted, and what it reflects, by Fresnel's share.

In the space of the screen: the picture without water is looked up where the refracted ray meets what is behind the
surface, as far along as the water or the way to the next solid goes. Hair and solids before the water are drawn over
it.

Limitations: one surface deep; what the picture does not show cannot be seen through the water, nor in it: it reflects
lights and the sky, not hair and body; it throws no shadow and no caustics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates

from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray
from mane.render.lights import AmbientLight, DirectionalLight, Light
from mane.render.raster import DrawnSolids
from mane.render.solids import Surfaces
from mane.render.view import View

INDEX = 1.333  # of refraction
ABSORPTION = (2.2, 0.7, 0.45)  # [1/m] of red, green and blue: a pool, some six times that of clear water
SKY, GROUND = (0.55, 0.62, 0.70), (0.06, 0.06, 0.06)  # linear RGB that it mirrors from above and from below
HIGHLIGHT = 0.06  # [rad] least radius of the image of a light: ripples finer than the grid spread it


@dataclass(frozen=True, eq=False)
class SeenWater:
    """The surface as a camera sees it.

    Attributes:
        samples: that show water before any solid, counted row by row, shape (M,).
        nearness: of the surface there, shape (M,).
        points: on the surface [m], shape (M, 3).
        normals: towards the eye, shape (M, 3).
        rays: unit directions from the eye, shape (M, 3).
        depth: way through the water to its other side or to a solid [m], shape (M,).
    """

    samples: NDArray[np.int64]
    nearness: FloatArray
    points: FloatArray
    normals: FloatArray
    rays: FloatArray
    depth: FloatArray

    @classmethod
    def of_mesh(cls, mesh: Mesh, view: View, behind: FloatArray) -> SeenWater:
        """Find where a mesh is seen; `behind` (H, W) is the nearness of solids."""
        surfaces = Surfaces.of_bodies(mesh)
        assert surfaces is not None
        seen = surfaces.seen_by(view, np.zeros((len(surfaces.points), 0), np.float32))
        samples = np.flatnonzero((seen.owner >= 0) & (seen.nearness > behind))
        found = seen.at(samples)
        points, normals = found[:, :3], found[:, 3:6]
        rays = points - view.origin
        away = np.linalg.norm(rays, axis=1, keepdims=True)
        rays = rays / np.maximum(away, 1e-9)
        normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-9)
        normals = np.where((normals * rays).sum(axis=1, keepdims=True) > 0.0, -normals, normals)
        nearness = seen.nearness.reshape(-1)[samples]
        far = np.maximum(_exits(surfaces, view).reshape(-1)[samples], behind.reshape(-1)[samples])
        along = away[:, 0] * (nearness / np.maximum(far, 1e-9) - 1.0)  # nearness is one over the depth
        return cls(samples, nearness, points, normals, rays, np.clip(along, 0.0, None).astype(np.float32))


def _exits(surfaces: Surfaces, view: View) -> FloatArray:
    """Nearness of the first place where rays leave the water, shape (H, W)."""
    a, b, c = (surfaces.points[surfaces.faces[:, k]] for k in range(3))
    leaving = (np.cross(b - a, c - a) * (a - view.origin)).sum(axis=1) > 0.0
    if not leaving.any():
        return np.zeros((view.height, view.width), np.float32)
    back = Surfaces(surfaces.points, surfaces.faces[leaving], surfaces.normals, surfaces.albedo, surfaces.gloss)
    return back.seen_by(view, np.zeros((len(back.points), 0), np.float32)).nearness


def fresnel(cosine: FloatArray) -> FloatArray:
    """Share of unpolarised light that the surface reflects, from outside, at the cosine of its angle."""
    inner = np.sqrt(1.0 - (1.0 - cosine**2) / INDEX**2)
    across = (cosine - INDEX * inner) / (cosine + INDEX * inner)
    along = (INDEX * cosine - inner) / (INDEX * cosine + inner)
    share: FloatArray = (0.5 * (across**2 + along**2)).astype(np.float32)
    return share


def refracted(rays: FloatArray, normals: FloatArray) -> FloatArray:
    """Directions of rays within the water (Snell), for normals that face them; both (M, 3)."""
    cosine = -(rays * normals).sum(axis=1, keepdims=True)
    inner = np.sqrt(1.0 - (1.0 - cosine**2) / INDEX**2)
    bent: FloatArray = rays / INDEX + (cosine / INDEX - inner) * normals
    return bent


def with_water(
    mesh: Mesh, dry: FloatArray, solids: DrawnSolids, view: View, lights: Sequence[Light | AmbientLight]
) -> DrawnSolids:
    """Return solids and water as one: what lies before them is drawn over both.

    Args:
        mesh: the surface [m].
        dry: the picture without water, premultiplied light and coverage, shape (h, w, 4).
        solids: of that picture, of its samples.
        view: who looks.
        lights: that the surface mirrors.
    """
    seen = SeenWater.of_mesh(mesh, view, solids.nearness)
    cosine = np.clip(-(seen.rays * seen.normals).sum(axis=1), 0.0, 1.0)
    share = fresnel(cosine)[:, None]
    ends = seen.points + seen.depth[:, None] * refracted(seen.rays, seen.normals)
    screen = view.project(ends.astype(np.float32))
    scale = view.height // dry.shape[0]
    at = np.stack([screen[:, 1], screen[:, 0]]) / scale - 0.5
    through = np.stack([map_coordinates(dry[..., c], at, order=1, mode="nearest") for c in range(4)], axis=1)
    tint = (1.0 - share) * np.exp(-np.array(ABSORPTION) * seen.depth[:, None])
    mirrored = seen.rays + 2.0 * cosine[:, None] * seen.normals
    light = tint * through[:, :3] + share * _surroundings(mirrored, seen.points, lights)
    nearness, lit, cover = solids.nearness.copy(), solids.light.copy(), solids.cover.copy()
    nearness.reshape(-1)[seen.samples] = seen.nearness
    lit.reshape(-1, 3)[seen.samples] = light
    cover.reshape(-1)[seen.samples] = 1.0 - tint.mean(axis=1) * (1.0 - through[:, 3])
    return DrawnSolids(nearness, lit, cover)


def _surroundings(directions: FloatArray, points: FloatArray, lights: Sequence[Light | AmbientLight]) -> FloatArray:
    """Light that comes from directions (M, 3): sky, ground and the images of lights."""
    up = np.clip(0.5 + 0.5 * directions[:, 1:2], 0.0, 1.0)
    found = np.array(GROUND) + up**2 * (np.array(SKY) - np.array(GROUND))
    for light in lights:
        if isinstance(light, AmbientLight):
            continue
        radius = HIGHLIGHT + (0.5 * light.size if isinstance(light, DirectionalLight) else 0.0)
        off = 1.0 - (directions * light.to_light(points.astype(np.float32))).sum(axis=1, keepdims=True)
        # irradiance over the solid angle of its image, a lobe that falls off within the radius
        found = found + light.irradiance(points.astype(np.float32)) / np.pi * np.exp(-2.0 * off / radius**2) / radius**2
    result: FloatArray = found.astype(np.float32)
    return result
