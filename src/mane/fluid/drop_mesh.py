"""All water as triangles: the surface of the level set, drops as small balls, and those on the floor as a film.

Drops that touch the surface are no balls: they raise it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mane.body.mesh import Mesh
from mane.fluid.puddle_mesh import puddle_mesh
from mane.fluid.surface import FreeSurface
from mane.fluid.surface_mesh import surface_mesh

GOLDEN = 0.5 * (1.0 + math.sqrt(5.0))
# An icosahedron: corners on the unit ball, and triangles that are counter-clockwise from outside.
CORNERS = np.array(
    [(-1, GOLDEN, 0), (1, GOLDEN, 0), (-1, -GOLDEN, 0), (1, -GOLDEN, 0), (0, -1, GOLDEN), (0, 1, GOLDEN),
     (0, -1, -GOLDEN), (0, 1, -GOLDEN), (GOLDEN, 0, -1), (GOLDEN, 0, 1), (-GOLDEN, 0, -1), (-GOLDEN, 0, 1)],
) / math.sqrt(1.0 + GOLDEN**2)  # fmt: skip
TRIANGLES = np.array(
    [(0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11), (1, 5, 9), (5, 11, 4), (11, 10, 2), (10, 7, 6),
     (7, 1, 8), (3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9), (4, 9, 5), (2, 4, 11), (6, 2, 10), (8, 6, 7),
     (9, 8, 1)], np.int32,
)  # fmt: skip
# Of the icosahedron with corners on the ball, over the ball's: drops are drawn larger by its third root.
VOLUME_PART = 0.6054613829
LARGEST = 0.003  # radius of a drop [m]; larger ones break up as they fall
MOST_PARTS = 64  # drops that one is drawn as
SPREAD = 0.5  # how far from its middle those are, over the edge of a cell
TOUCHING = 0.75  # [cells] from the surface within which a drop is part of it
NO_DROPS: NDArray[np.float64] = np.zeros((0, 4))


def drop_mesh(places: NDArray[np.float64], volumes: NDArray[np.float64]) -> Mesh | None:
    """Drops as balls of their volumes [m^3], shape (N,), at places [m], shape (N, 3); None for no drop."""
    if not len(places):
        return None
    radii = np.cbrt(3.0 * volumes / (4.0 * math.pi * VOLUME_PART))
    points = places[:, None] + radii[:, None, None] * CORNERS
    faces = TRIANGLES + len(CORNERS) * np.arange(len(places), dtype=np.int32)[:, None, None]
    return Mesh(points.reshape(-1, 3).astype(np.float32), faces.reshape(-1, 3))


def broken_up(
    places: NDArray[np.float64], volumes: NDArray[np.float64], cell: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Drops as they are drawn, places (N, 3) [m] and volumes (N,) [m^3]: those too large to fall as one, in parts.

    A drop of the spray carries up to a good part of a cell. Its parts are spread about it, always in the same way.
    """
    parts = np.clip(np.ceil(volumes / (4.0 / 3.0 * math.pi * LARGEST**3)), 1, MOST_PARTS).astype(np.int64)
    owner = np.repeat(np.arange(len(places)), parts)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(parts) - parts, parts)
    away = SPREAD * cell * np.where(parts[owner] > 1, 1.0, 0.0)[:, None] * PATTERN[number]
    return places[owner] + away, volumes[owner] / parts[owner]


def _pattern() -> NDArray[np.float64]:
    """Places in the unit ball, evenly spread, whichever many are taken from the first on, shape (MOST_PARTS, 3)."""
    # additive recurrences of the generalised golden ratio (Roberts 2018), of those in the cube that are in the ball
    ratio = 1.2207440846057596
    cube = 2.0 * ((0.5 + np.arange(1, 3 * MOST_PARTS)[:, None] / ratio ** np.arange(1, 4)) % 1.0) - 1.0
    found: NDArray[np.float64] = cube[np.linalg.norm(cube, axis=1) < 1.0][:MOST_PARTS]
    return found


PATTERN = _pattern()


def with_sharp_sides(mesh: Mesh) -> Mesh:
    """Give triangles on the sides of the box of a mesh vertices of their own: normals of either keep off the other.

    A pool in a box has a sharp edge where its surface meets the glass. With vertices that both share, a renderer rounds
    it over the width of a cell.
    """
    points, faces = mesh.points, mesh.faces.copy()
    extent = max(float(np.ptp(points, axis=0).max()), 1e-9)
    found, count = [points], len(points)
    for axis, end in np.ndindex(3, 2):
        along = points[:, axis]
        is_there = np.abs(along - (along.max() if end else along.min())) < 1e-5 * extent
        flat = is_there[mesh.faces].all(axis=1)
        own, index = np.unique(mesh.faces[flat], return_inverse=True)
        faces[flat] = count + index.reshape(-1, 3)
        found.append(points[own])
        count += len(own)
    used, index = np.unique(faces, return_inverse=True)
    return Mesh(np.concatenate(found)[used], index.reshape(-1, 3).astype(np.int32))


def is_flying(surface: FreeSurface) -> NDArray[np.bool_]:
    """Which drops of the spray are seen as such, shape (N,): they touch neither the surface nor the floor."""
    found: NDArray[np.bool_] = ~surface.spray.is_lying & ~_touches(surface)
    return found


def _touches(surface: FreeSurface) -> NDArray[np.bool_]:
    """Which drops touch the surface, shape (N,)."""
    found: NDArray[np.bool_] = surface.level.at(surface.spray.places.astype(np.float32)) < TOUCHING
    return found


def raised_mesh(surface: FreeSurface) -> Mesh | None:
    """The surface, raised by the volumes of drops that touch it; None where there is no liquid."""
    touching, shape = _touches(surface) & ~surface.spray.is_lying, np.array(surface.grid.shape)
    places = surface.spray.places[touching] - 0.5
    low = np.floor(places).astype(np.int64)
    part, risen = places - low, np.zeros(surface.grid.shape, np.float32)
    for corner in np.ndindex(2, 2, 2):
        share = np.where(corner, part, 1.0 - part).prod(axis=1)
        at = tuple(np.clip(low + corner, 0, shape - 1).T)
        np.add.at(risen, at, share * surface.spray.volumes[touching])
    return surface_mesh(surface.level, risen)


def water_mesh(surface: FreeSurface, drops: NDArray[np.float64] = NO_DROPS) -> Mesh | None:
    """Return all water as one mesh to be drawn, None where there is none.

    Args:
        surface: with its spray, `Water.surface`.
        drops: more of them, (N, 4), places [m] and volumes [m^3].
    """
    grid, spray = surface.grid, surface.spray
    flying = is_flying(surface)
    found = [
        raised_mesh(surface),
        drop_mesh(*broken_up(spray.points[flying], spray.volumes[flying] * grid.cell**3, grid.cell)),
        puddle_mesh(spray),
        drop_mesh(drops[:, :3], drops[:, 3]),
    ]
    meshes = [mesh for mesh in found if mesh is not None]
    if not meshes:
        return None
    starts = np.cumsum([0, *(len(mesh.points) for mesh in meshes)])
    faces = [mesh.faces + np.int32(start) for mesh, start in zip(meshes, starts, strict=False)]
    return with_sharp_sides(Mesh(np.concatenate([mesh.points for mesh in meshes]), np.concatenate(faces)))
