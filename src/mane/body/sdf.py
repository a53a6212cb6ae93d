"""`SignedDistanceField`: how far every point is from a mesh, on a grid that is built once and sampled in nanoseconds.

Inside is where the generalised winding number exceeds one half, so meshes may have holes, intersect themselves and
consist of overlapping parts. See `_boundary` for what the surface is then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body import _kernels_field as kernels
from mane.body._boundary import INSIDE, bounding_triangles, cap_triangles
from mane.body.cache import content_key, load_arrays, store_arrays
from mane.body.mesh import Mesh
from mane.body.triangle_tree import TriangleTree
from mane.geometry.checks import FloatArray, as_floats, require_positive
from mane.geometry.grid import UniformGrid

# Raise it when the same mesh and settings give other values: older entries of the cache are then not found.
ALGORITHM = 1
MIN_RESOLUTION = 16
# Half a gigabyte of float32; a finer field would take minutes and is most likely a slip in the units.
MAX_NODES = 512**3
# Cells between the mesh and the faces of the grid, so that caps and differences near the mesh always have neighbours.
MIN_PADDING_CELLS = 2
# Padding by default, as a part of the mesh's largest extent.
PADDING = 0.05


@dataclass(frozen=True, eq=False)
class SignedDistanceField(UniformGrid):
    """Signed distance [m] on the nodes of a grid, negative inside.

    Between the nodes it is trilinear. Where the exact distance has curvature radii of at least `r` (on a sphere, its
    radius plus the distance), a sample is off by at most h^2 / (4 r) and its gradient by about 0.7 h / r, with cells of
    size `h`; next to a crease of the distance (an edge seen from inside, the middle of the body) by up to h and by 1.
    Outside the grid a sample is the value at the nearest point of its box plus the distance to that point: continuous,
    never below the true distance for a solid that lies within the grid.
    """

    def sample(self, points: ArrayLike) -> FloatArray:
        """Signed distance [m], shape (...), negative inside; `points` [m], shape (..., 3), anywhere."""
        array = np.asarray(points)
        flat = as_floats("points", array.reshape(-1, 3) if array.ndim > 2 else array, ("P", 3))
        distance = np.empty(len(flat), np.float32)
        kernels.field_distances(self.values, self.origin, self.inv_cell, flat, distance)
        return distance.reshape(array.shape[:-1])

    def sample_with_gradient(self, points: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Signed distance [m], shape (...), and its gradient, (..., 3): the derivative of `sample`, not normalised."""
        array = np.asarray(points)
        flat = as_floats("points", array.reshape(-1, 3) if array.ndim > 2 else array, ("P", 3))
        distance = np.empty(len(flat), np.float32)
        gradient = np.empty((len(flat), 3), np.float32)
        kernels.field_distance_gradients(self.values, self.origin, self.inv_cell, flat, distance, gradient)
        return distance.reshape(array.shape[:-1]), gradient.reshape(array.shape)

    @property
    def inv_cell(self) -> np.float32:
        """One over the cell size [1/m], as the scalar kernels of `_kernels_field` want it."""
        return np.float32(1.0 / self.cell_size)


@dataclass(frozen=True)
class _Frame:
    """Where the grid of a field lies."""

    origin: FloatArray
    cell_size: float
    shape: tuple[int, int, int]


def build_sdf(
    mesh: Mesh,
    resolution: int = 128,
    *,
    cell_size: float | None = None,
    padding: float | None = None,
    cache: bool = True,
) -> SignedDistanceField:
    """Build the signed distance field of a mesh.

    Args:
        mesh: closed or not; holes are capped, parts may overlap. All of it facing inwards is noticed and turned.
        resolution: nodes along the longest side of the grid.
        cell_size: size of a cell [m], instead of `resolution`.
        padding: free space around the mesh [m]; at least two cells, by default a twentieth of its largest extent.
        cache: look for the field on disk first, and leave it there for the next time.

    The values at the nodes are exact for a closed mesh whose parts do not intersect. The result does not depend on the
    number of threads. Features thinner than a cell are lost. A part that faces inwards is a cavity.
    """
    frame = _frame(mesh.bounds, resolution, cell_size, padding)
    key = content_key("sdf", ALGORITHM, mesh.points, mesh.faces, frame.origin, frame.cell_size, str(frame.shape))
    if cache:
        stored = load_arrays("sdf", key)
        if stored is not None and stored.get("values", np.empty(0)).shape == frame.shape:
            return SignedDistanceField(stored["values"], frame.origin, frame.cell_size)
    values = _signed_distances(mesh, frame)
    if cache:
        store_arrays("sdf", key, {"values": values})
    return SignedDistanceField(values, frame.origin, frame.cell_size)


def default_cell_size(bounds: FloatArray, resolution: int = 128) -> float:
    """Size of the cells [m] that `build_sdf` takes for a mesh with these `bounds (2, 3)` [m]."""
    extent = float((bounds[1].astype(np.float64) - bounds[0]).max())
    return float(np.float32(_cell_size(extent, resolution, PADDING * extent)))


def _cell_size(extent: float, resolution: int, padding: float) -> float:
    if resolution < MIN_RESOLUTION:
        raise ValueError(f"resolution: must be at least {MIN_RESOLUTION} nodes, got {resolution}")
    by_padding = (extent + 2 * padding) / (resolution - 1)
    return max(by_padding, extent / (resolution - 1 - 2 * MIN_PADDING_CELLS))


def _frame(bounds: FloatArray, resolution: int, cell_size: float | None, padding: float | None) -> _Frame:
    low, high = bounds.astype(np.float64)
    extent = float((high - low).max())
    if padding is None:
        padding = PADDING * extent
    elif not (np.isfinite(padding) and padding >= 0):
        raise ValueError(f"padding: must be a finite number of metres, zero or more, got {padding}")
    if cell_size is None:
        cell_size = _cell_size(extent, resolution, padding)
    require_positive("cell_size", cell_size)
    # Rounded now, so that the nodes are where float32 kernels will look for them.
    cell = float(np.float32(cell_size))
    # The speck keeps a span that is a whole number of cells up to rounding from getting one more.
    cells = np.ceil((high - low + 2 * max(padding, MIN_PADDING_CELLS * cell)) / cell - 1e-4)
    if not np.prod(cells + 1) <= MAX_NODES:
        size = " x ".join(f"{value:.3g}" for value in high - low)
        raise ValueError(
            f"cell_size: must give at most {MAX_NODES:.3g} nodes, got {np.prod(cells + 1):.3g} for a mesh of "
            f"{size} m and cells of {cell:.3g} m"
        )
    origin = (0.5 * (low + high) - 0.5 * cells * cell).astype(np.float32)
    nx, ny, nz = (int(count) + 1 for count in cells)
    return _Frame(origin, cell, (nx, ny, nz))


def _signed_distances(mesh: Mesh, frame: _Frame) -> FloatArray:
    """Compute the values at the nodes [m]."""
    # From here on lengths are in cells and nodes have whole coordinates, so the result does not depend on the scale.
    local = (mesh.points.astype(np.float64) - frame.origin) / frame.cell_size
    tree = TriangleTree(facing_out(local.astype(np.float32)[mesh.faces]))
    winding = tree.grid_winding(frame.shape)
    inside = winding > INSIDE
    boundary = bounding_triangles(tree)
    if len(boundary) == 0 and not inside.any():
        raise ValueError(
            f"mesh: must enclose a volume, got {mesh.face_count} triangles that enclose nothing; close it or give it "
            "thickness"
        )
    distance = np.full(frame.shape, np.inf, np.float32)
    if len(boundary):
        (tree if boundary is tree.corners else TriangleTree(boundary)).lower_grid_distance(distance)
    caps = cap_triangles(winding, distance)
    if len(caps):
        TriangleTree(caps).lower_grid_distance(distance)
    signed: NDArray[np.float32] = np.where(inside, -distance, distance) * np.float32(frame.cell_size)
    return signed


def facing_out(corners: FloatArray) -> FloatArray:
    """Return the triangles (T, 3, 3), all turned over when they enclose a negative volume."""
    # Seen from their middle, because the volume of an open mesh depends on where it is seen from.
    a, b, c = np.moveaxis(corners.astype(np.float64) - corners.mean(axis=(0, 1), dtype=np.float64), 1, 0)
    volume = np.einsum("ti,ti->", a, np.cross(b, c))
    return np.ascontiguousarray(corners[:, ::-1]) if volume < 0 else corners
