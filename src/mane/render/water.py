"""The surface of water in a picture: what is behind it, bent and tinted, and what it reflects, by Fresnel's share.

In the space of the screen: the picture without water is looked up where the refracted ray meets what is behind the
surface, as far along as the water or the way to the next solid goes, and where the mirrored ray meets hair or a solid.
Hair and solids before the water are drawn over it.

Limitations: one surface deep; what the picture without water does not show cannot be seen through the water, nor in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates

from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray
from mane.render import _kernels_mirror
from mane.render.lights import AmbientLight, DirectionalLight, Light
from mane.render.raster import DrawnSolids, DrawnStrands
from mane.render.solids import Surfaces
from mane.render.view import View
from mane.render.water_shadow import ABSORPTION

INDEX = 1.333  # of refraction
SCATTERED, SCATTERING = (0.03, 0.11, 0.14), 1.2  # linear RGB of light from within deep water, and how soon [1/m]
SKY, GROUND = (0.55, 0.62, 0.70), (0.06, 0.06, 0.06)  # linear RGB that it mirrors from above and from below
MIRROR_STEPS = 40  # of a mirrored ray
HAIR_BLOCK = 4  # side of the blocks of samples in which hair is before what it hides
HIGHLIGHT = 0.06  # [rad] least radius of the image of a light: ripples finer than the grid spread it
PIERCED, COAT = 0.7, 0.02  # [rad] that radius where hair lies just below the surface and breaks it; how far below [m]


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


@dataclass(frozen=True, eq=False)
class DryScene:
    """What there is without water.

    Attributes:
        picture: premultiplied light and coverage, shape (h, w, 4).
        solids: of that picture, of its samples.
        nearness: of hair and solids that a mirrored ray meets, shape (H, W).
    """

    picture: FloatArray
    solids: DrawnSolids
    nearness: FloatArray

    def at(self, columns: FloatArray, rows: FloatArray) -> FloatArray:
        """The picture at samples, shape (M, 4)."""
        scale = len(self.nearness) // len(self.picture)
        at = np.stack([rows, columns]) / scale - 0.5
        found = [map_coordinates(self.picture[..., c], at, order=1, mode="nearest") for c in range(4)]
        return np.stack(found, axis=1)


def scene_nearness(strands: DrawnStrands, solids: FloatArray) -> FloatArray:
    """Nearness of solids (H, W), and of hair where there is any in a block of samples."""
    height, width = solids.shape
    screen = strands.screen[strands.seen]
    column, row = (np.floor(screen[:, k] / HAIR_BLOCK).astype(np.int64) for k in range(2))
    blocks = np.zeros((-(-height // HAIR_BLOCK), -(-width // HAIR_BLOCK)), np.float32)
    inside = (column >= 0) & (row >= 0) & (column < blocks.shape[1]) & (row < blocks.shape[0])
    np.maximum.at(blocks, (row[inside], column[inside]), screen[inside, 2])
    hair = blocks.repeat(HAIR_BLOCK, axis=0).repeat(HAIR_BLOCK, axis=1)[:height, :width]
    return np.maximum(solids, hair)


def with_water(mesh: Mesh, scene: DryScene, view: View, lights: Sequence[Light | AmbientLight]) -> DrawnSolids:
    """Return solids and water as one: what lies before them is drawn over both.

    Args:
        mesh: the surface [m].
        scene: without water.
        view: who looks.
        lights: that the surface mirrors.
    """
    solids = scene.solids
    seen = SeenWater.of_mesh(mesh, view, solids.nearness)
    cosine = np.clip(-(seen.rays * seen.normals).sum(axis=1), 0.0, 1.0)
    share = fresnel(cosine)[:, None]
    ends = seen.points + seen.depth[:, None] * refracted(seen.rays, seen.normals)
    screen = view.project(ends.astype(np.float32))
    through = scene.at(screen[:, 0], screen[:, 1])
    tint = (1.0 - share) * np.exp(-np.array(ABSORPTION) * seen.depth[:, None])
    mirrored = seen.rays + 2.0 * cosine[:, None] * seen.normals
    within = (1.0 - share) * -np.expm1(-SCATTERING * seen.depth[:, None]) * np.array(SCATTERED)
    blurs = _blurs(seen, scene)
    light = tint * through[:, :3] + within + share * _reflected(mirrored, seen.points, blurs, scene, view, lights)
    nearness, lit, cover = solids.nearness.copy(), solids.light.copy(), solids.cover.copy()
    nearness.reshape(-1)[seen.samples] = seen.nearness
    lit.reshape(-1, 3)[seen.samples] = light
    cover.reshape(-1)[seen.samples] = 1.0 - tint.mean(axis=1) * (1.0 - through[:, 3])
    return DrawnSolids(nearness, lit, cover)


def _blurs(seen: SeenWater, scene: DryScene) -> FloatArray:
    """Radius of images of lights [rad], shape (M, 1): a film over a coat is no mirror, hairs come through it."""
    dry, solid = (field.reshape(-1)[seen.samples] for field in (scene.nearness, scene.solids.nearness))
    below = 1.0 / np.maximum(dry, 1e-9) - 1.0 / np.maximum(seen.nearness, 1e-9)
    pierced = np.where(dry > solid, np.clip(1.0 - below / COAT, 0.0, 1.0), 0.0)
    blurs: FloatArray = (HIGHLIGHT + (PIERCED - HIGHLIGHT) * pierced[:, None]).astype(np.float32)
    return blurs


def _reflected(
    directions: FloatArray,
    points: FloatArray,
    blurs: FloatArray,
    scene: DryScene,
    view: View,
    lights: Sequence[Light | AmbientLight],
) -> FloatArray:
    """Light from mirrored directions (M, 3): hair and solids where the picture shows them, else what is around."""
    around = _surroundings(directions, points, blurs, lights)
    if not len(points) or not scene.nearness.any():
        return around
    extent = float(np.median(view.depth(points.astype(np.float32))))
    found = np.empty((len(points), 3), np.float32)
    _kernels_mirror.follow_rays(
        points.astype(np.float32), directions.astype(np.float32), np.float32(0.6 * extent), MIRROR_STEPS,
        np.float32(0.1 * extent), *view.arguments, scene.nearness, found,
    )  # fmt: skip
    hit = found[:, 2] > 0
    shown = scene.at(found[hit, 0], found[hit, 1])
    around[hit] = shown[:, :3] + (1.0 - shown[:, 3:]) * around[hit]
    return around


def _surroundings(
    directions: FloatArray, points: FloatArray, blurs: FloatArray, lights: Sequence[Light | AmbientLight]
) -> FloatArray:
    """Light that comes from directions (M, 3): sky, ground and the images of lights, `blurs` (M, 1) wide."""
    up = np.clip(0.5 + 0.5 * directions[:, 1:2], 0.0, 1.0)
    found = np.array(GROUND) + up**2 * (np.array(SKY) - np.array(GROUND))
    for light in lights:
        if isinstance(light, AmbientLight):
            continue
        radius = blurs + (0.5 * light.size if isinstance(light, DirectionalLight) else 0.0)
        off = 1.0 - (directions * light.to_light(points.astype(np.float32))).sum(axis=1, keepdims=True)
        # irradiance over the solid angle of its image, a lobe that falls off within the radius
        found = found + light.irradiance(points.astype(np.float32)) / np.pi * np.exp(-2.0 * off / radius**2) / radius**2
    result: FloatArray = found.astype(np.float32)
    return result
