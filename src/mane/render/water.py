"""The surface of water in a picture: what is behind it, bent and tinted, and what it reflects, by Fresnel's share.

In the space of the screen: the picture without water is looked up where the refracted ray meets hair or a solid, or
leaves the water, and where the mirrored ray meets hair or a solid. Hair and solids before the water are drawn over it.

Limitations: one surface deep; what the picture without water does not show cannot be seen through the water, nor in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter

from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray
from mane.render import _kernels_mirror
from mane.render import _kernels_water as kernels
from mane.render.lights import AmbientLight, DirectionalLight, Light
from mane.render.raster import DrawnSolids, DrawnStrands
from mane.render.solids import Surfaces
from mane.render.view import View
from mane.render.water_shadow import ABSORPTION

INDEX = 1.333  # of refraction
# Linear RGB of light from within deep water, and how soon [1/m]; of what it mirrors from above and from below.
SCATTERED, SCATTERING = np.array([0.03, 0.11, 0.14], np.float32), np.float32(1.2)
SKY, GROUND = np.array([0.55, 0.62, 0.70], np.float32), np.array([0.06, 0.06, 0.06], np.float32)
MIRROR_STEPS, BENT_STEPS = 40, 24  # of rays that are mirrored, and of those within the water
# Reach of mirrored rays, and how thick a thing may be that a ray is in, over the distance of the water. Hair is known
# by blocks, one far behind the other; where there is none, bent rays meet a solid where it is or have passed its edge.
MIRROR_REACH, THICKNESS, SOLID_THICKNESS = 0.6, 0.1, 0.02
HAIR_BLOCK = 4  # side of the blocks of samples in which hair is before what it hides
CALMED = 3  # rounds of means of normals: markers jog the surface by hundredths of a cell, and lights show it in squares
HIGHLIGHT = 0.06  # [rad] least radius of the image of a light: ripples finer than the grid spread it
# That radius [rad] where hair lies at the surface and breaks it. Waves that hairs raise die out over such a depth [m].
PIERCED, COAT = 0.7, 0.02
AROUND = 5  # blocks of hair along a side over which that is a mean: one block may have no point of a hair in it


@dataclass(frozen=True, eq=False)
class SeenWater:
    """The surface as a camera sees it.

    Attributes:
        samples: that show water before any solid, counted row by row, shape (M,).
        nearness: of the surface there, shape (M,).
        points: on the surface [m], shape (M, 3).
        normals: of it, shape (M, 3).
        ways: through the water to where it ends [m], shape (M,).
    """

    samples: NDArray[np.int64]
    nearness: FloatArray
    points: FloatArray
    normals: FloatArray
    ways: FloatArray

    @classmethod
    def of_mesh(cls, mesh: Mesh, view: View, behind: FloatArray) -> SeenWater:
        """Find where a mesh is seen; `behind` (H, W) is the nearness of solids."""
        surfaces = Surfaces.of_bodies(mesh)
        assert surfaces is not None
        surfaces = replace(surfaces, normals=calmed_normals(surfaces.normals, surfaces.faces))
        seen = surfaces.seen_by(view, np.zeros((len(surfaces.points), 0), np.float32))
        samples = np.flatnonzero((seen.owner >= 0) & (seen.nearness > behind))
        found = seen.at(samples)
        points, normals = np.ascontiguousarray(found[:, :3]), np.ascontiguousarray(found[:, 3:6])
        nearness = seen.nearness.reshape(-1)[samples]
        far = _exits(surfaces, view).reshape(-1)[samples]
        far = np.where(far > 0.0, far, behind.reshape(-1)[samples])
        away = np.linalg.norm(points - view.origin, axis=1)
        ways = away * (nearness / np.maximum(far, 1e-9) - 1.0)  # nearness is one over the depth
        return cls(samples, nearness, points, normals, np.clip(ways, 0.0, None).astype(np.float32))


def calmed_normals(normals: FloatArray, faces: NDArray[np.int32], rounds: int = CALMED) -> FloatArray:
    """Unit normals (N, 3) without what is shorter than a few triangles: means over the triangles around each vertex."""
    corners, found = faces.reshape(-1), normals.astype(np.float64)
    for _ in range(rounds):
        means = found[faces].sum(axis=1).repeat(3, axis=0)
        found = np.stack([np.bincount(corners, along, len(normals)) for along in means.T], axis=1)
        found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
    return found.astype(np.float32)


def _exits(surfaces: Surfaces, view: View) -> FloatArray:
    """Nearness of the first place where rays leave the water, shape (H, W)."""
    a, b, c = (surfaces.points[surfaces.faces[:, k]] for k in range(3))
    leaving = (np.cross(b - a, c - a) * (a - view.origin)).sum(axis=1) > 0.0
    if not leaving.any():
        return np.zeros((view.height, view.width), np.float32)
    back = Surfaces(surfaces.points, surfaces.faces[leaving], surfaces.normals, surfaces.albedo, surfaces.gloss)
    return back.seen_by(view, np.zeros((len(back.points), 0), np.float32)).nearness


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

    @property
    def scale(self) -> np.float32:
        """Pixels that a sample is wide."""
        return np.float32(len(self.picture) / len(self.nearness))

    @property
    def has_hair(self) -> bool:
        """Whether any sample shows hair before solids."""
        return bool((self.nearness > self.solids.nearness).any())

    def met(
        self, points: FloatArray, directions: FloatArray, reach: FloatArray, steps: int, thickness: float, view: View
    ) -> FloatArray:
        """What rays from points (M, 3) meet: column, row, whether (1 or 0), and the way to it; (M, 4)."""
        found = np.empty((len(points), 4), np.float32)
        _kernels_mirror.follow_rays(
            points, directions, reach, steps, np.float32(thickness), *view.arguments[:5], self.nearness, found
        )
        return found


def scene_nearness(strands: DrawnStrands, solids: FloatArray) -> FloatArray:
    """Nearness of solids (H, W), and of hair where there is any in a block of samples."""
    height, width = solids.shape
    screen = strands.points[strands.seen]
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
    count = len(seen.samples)
    if not count:
        return solids
    bent, mirrored, light = (np.empty((count, 3), np.float32) for _ in range(3))
    share, cover = np.empty(count, np.float32), np.empty(count, np.float32)
    kernels.bend_rays(seen.points, seen.normals, view.origin, np.float32(INDEX), bent, mirrored, share)
    extent = float(np.median(view.depth(seen.points)))
    thickness = THICKNESS if scene.has_hair else SOLID_THICKNESS
    looked = scene.met(seen.points, bent, seen.ways, BENT_STEPS, thickness * extent, view)
    kernels.see_through(
        seen.points, bent, seen.ways, looked, share, scene.picture, scene.scale, scene.nearness,
        np.array(ABSORPTION, np.float32), SCATTERING, SCATTERED, view.arguments, light, cover,
    )  # fmt: skip
    reach = np.full(count, MIRROR_REACH * extent, np.float32)
    found = scene.met(seen.points, mirrored, reach, MIRROR_STEPS, THICKNESS * extent, view)
    around = _surroundings(mirrored, seen.points, _blurs(seen, scene), lights)
    kernels.add_mirrored(found, around, share, scene.picture, scene.scale, light)
    nearness, lit, covered = solids.nearness.copy(), solids.light.copy(), solids.cover.copy()
    nearness.reshape(-1)[seen.samples] = seen.nearness
    lit.reshape(-1, 3)[seen.samples] = light
    covered.reshape(-1)[seen.samples] = cover
    return DrawnSolids(nearness, lit, covered)


def _blurs(seen: SeenWater, scene: DryScene) -> FloatArray:
    """Radius of images of lights [rad], shape (M,): a film over a coat is no mirror, hairs come through it."""
    dry, solid = scene.nearness, scene.solids.nearness
    surface = np.zeros_like(dry)
    surface.reshape(-1)[seen.samples] = seen.nearness
    below = 1.0 / np.maximum(dry, 1e-9) - 1.0 / np.maximum(surface, 1e-9)
    pierced = np.where((dry > solid) & (surface > 0.0), np.exp(-np.abs(below) / COAT), 0.0)
    spread: FloatArray = uniform_filter(pierced, AROUND * HAIR_BLOCK, mode="nearest").reshape(-1)[seen.samples]
    return (HIGHLIGHT + (PIERCED - HIGHLIGHT) * spread).astype(np.float32)


def _surroundings(
    directions: FloatArray, points: FloatArray, blurs: FloatArray, lights: Sequence[Light | AmbientLight]
) -> FloatArray:
    """Light that comes from directions (M, 3): sky, ground and the images of lights, `blurs` (M,) wide."""
    found = np.empty_like(directions)
    kernels.mirror_sky(directions, GROUND, SKY, found)
    for light in lights:
        if not isinstance(light, AmbientLight):
            radius = np.float32(0.5 * light.size if isinstance(light, DirectionalLight) else 0.0)
            kernels.mirror_light(directions, light.to_light(points), light.irradiance(points), blurs, radius, found)
    return found
