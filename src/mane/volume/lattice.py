"""`Lattice`: a body-centred cubic lattice of tetrahedra, in which the tetrahedron of a point is known in closed form.

Every face between two cubes makes four tetrahedra: the centres of both cubes, and one edge of the face. All are alike
(dihedral angles of 60 and 90 degrees), which no mesh of general position is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import FloatArray, IntArray, require_positive
from mane.volume import _kernels_lattice as kernels

Float64Array = NDArray[np.float64]

PER_CUBE = 12  # tetrahedra that a cube owns: four at each of its three lower faces
MOST_CUBES = 20_000_000
# Edges of a face, as numbers of its corners in the order (0, 0), (1, 0), (1, 1), (0, 1), by the code of the
# tetrahedron: at the lower and upper side along the first of the face's axes, then along the second.
FACE_EDGES = ((0, 3), (1, 2), (0, 1), (3, 2))


@dataclass(frozen=True, eq=False)
class Lattice:
    """Cubes of one size in a box.

    Attributes:
        origin: lowest corner [m], shape (3,).
        spacing: edge of a cube [m].
        counts: cubes along x, y and z, shape (3,).

    A tetrahedron is known by its key: `PER_CUBE * cube + 4 * axis + code`.
    """

    origin: Float64Array
    spacing: float
    counts: IntArray

    @classmethod
    def around(cls, low: Float64Array, high: Float64Array, spacing: float) -> Lattice:
        """Return a lattice that has every tetrahedron which a point between `low` and `high` [m] may lie in."""
        require_positive("spacing", spacing)
        counts = np.ceil((high - low) / spacing).astype(np.int64) + 3
        if counts.prod() > MOST_CUBES:
            raise ValueError(
                f"spacing: must be larger than {spacing:g} m for what measures {np.round(high - low, 3)} m: it takes "
                f"{counts.prod():,} cubes, and {MOST_CUBES:,} are the most"
            )
        return cls(low - 1.5 * spacing, float(spacing), counts)

    @property
    def key_count(self) -> int:
        """Number of keys."""
        return int(self.counts.prod()) * PER_CUBE

    def keys_of(self, points: FloatArray) -> IntArray:
        """Key of the tetrahedron that each point (P, 3) [m] lies in, shape (P,); -1 outside of the lattice."""
        keys = np.empty(len(points), np.int64)
        kernels.fill_keys(np.ascontiguousarray(points), self.origin, 1.0 / self.spacing, self.counts, keys)
        return keys

    def all_keys(self) -> IntArray:
        """Keys of all tetrahedra there are, rising."""
        cube = np.arange(self.counts.prod())
        place = np.stack(np.unravel_index(cube, self.counts), axis=1)
        has_lower = np.repeat(place > 0, 4, axis=1)  # at the rim of the box faces have one cube
        return np.flatnonzero(has_lower.reshape(-1))

    def keys_around(self, keys: IntArray) -> IntArray:
        """Keys of tetrahedra and of all others that have a node in common with them, rising."""
        cubes = np.unravel_index(np.unique(keys // PER_CUBE), self.counts)
        steps = np.stack(np.meshgrid(*[[-2, -1, 0, 1, 2]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
        near = (np.stack(cubes, axis=1)[:, None] + steps).reshape(-1, 3)
        near = near[((near > 0) & (near < self.counts)).all(axis=1)]
        cube = np.unique(np.ravel_multi_index(tuple(near.T), tuple(self.counts)))
        found = (PER_CUBE * cube[:, None] + np.arange(PER_CUBE)).reshape(-1)
        touches = np.isin(self.corners(found), np.unique(self.corners(keys))).any(axis=1)
        return found[touches]

    def corners(self, keys: IntArray) -> IntArray:
        """Lattice points of tetrahedra by key, shape (K, 4), of positive volume; see `positions`."""
        cube, rest = np.divmod(keys, PER_CUBE)
        axis, code = np.divmod(rest, 4)
        place = np.stack(np.unravel_index(cube, self.counts), axis=1)
        unit = np.eye(3, dtype=np.int64)
        along = np.array([[1, 2], [0, 2], [0, 1]])[axis]  # the two axes of the face
        first, second = unit[along[:, 0]], unit[along[:, 1]]
        face = np.stack([place, place + first, place + first + second, place + second], axis=1)
        edge = np.array(FACE_EDGES)[code]
        row = np.arange(len(keys))
        ends = [self._corner_id(face[row, edge[:, end]]) for end in (0, 1)]
        centres = [self._centre_id(place - unit[axis]), self._centre_id(place)]
        found = np.stack([*centres, *ends], axis=1)
        flipped = _signed_volume(self.positions(found)) < 0
        found[flipped] = found[flipped][:, [0, 1, 3, 2]]
        return found

    def positions(self, points: IntArray) -> Float64Array:
        """Where lattice points are [m], shape (..., 3)."""
        corner_count = int((self.counts + 1).prod())
        is_centre = points >= corner_count
        corner = np.stack(np.unravel_index(np.where(is_centre, 0, points), self.counts + 1), axis=-1)
        centre = np.stack(np.unravel_index(np.where(is_centre, points - corner_count, 0), self.counts), axis=-1)
        steps = np.where(is_centre[..., None], centre + 0.5, corner.astype(np.float64))
        placed: Float64Array = self.origin + self.spacing * steps
        return placed

    def _corner_id(self, place: IntArray) -> IntArray:
        result: IntArray = np.ravel_multi_index(tuple(place.T), tuple(self.counts + 1))
        return result

    def _centre_id(self, place: IntArray) -> IntArray:
        result: IntArray = int((self.counts + 1).prod()) + np.ravel_multi_index(tuple(place.T), tuple(self.counts))
        return result


def edges_of(tets: NDArray[np.int32]) -> NDArray[np.int32]:
    """Pairs of nodes that an edge joins, each once, shape (E, 2)."""
    pairs = np.concatenate([tets[:, [a, b]] for a in range(4) for b in range(a + 1, 4)])
    unique: NDArray[np.int32] = np.unique(np.sort(pairs, axis=1), axis=0)
    return unique


def _signed_volume(corners: Float64Array) -> Float64Array:
    """Six times the volume of tetrahedra (K, 4, 3), shape (K,)."""
    edges = corners[:, 1:] - corners[:, :1]
    volume: Float64Array = np.linalg.det(edges)
    return volume
