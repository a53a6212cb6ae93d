"""`SpringMesh`: edge, altitude and zero-length springs on a tetrahedral mesh, stepped implicitly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from mane.geometry.checks import require_positive
from mane.volume import _kernels_springs as kernels
from mane.volume.lattice import Float64Array, edges_of

# Sum of k cos^2 over the edges that meet at an inner node of the lattice, over stiffness / spacing: eight edges of
# length sqrt(3)/2 and six of length 1, a third of each along any direction.
NODE_STIFFNESS = (8 * 2 / np.sqrt(3) + 6) / 3
TOLERANCE, MOST_ITERATIONS = 1e-5, 400


@dataclass(frozen=True)
class SpringParams:
    """What springs of a mesh are like. Only stiffness over mass matters to how it moves.

    Attributes:
        edge_stiffness: of edges [N per unit strain] (lee2018 4: 41.4).
        altitude_stiffness: of altitude springs [N per unit strain] (lee2018 4: 4.14).
        skin_stiffness: of the zero-length springs between skin and mesh on the skin of one lattice cell, over that of
            a node on its edges. The paper has 41.4 N for every hair, which grows with the number of hairs.
        frequency: at which one inner node would swing on its edges [Hz], which gives the masses: the paper prints
            none. A coat several cells deep swings more slowly.
        damping: 1 is critical for every single spring, as printed. What many springs do together is damped less.
    """

    edge_stiffness: float = 41.4
    altitude_stiffness: float = 4.14
    skin_stiffness: float = 100.0
    frequency: float = 10.0
    damping: float = 1.0

    def __post_init__(self) -> None:
        for name in ("edge_stiffness", "frequency"):
            require_positive(name, getattr(self, name))
        for name in ("altitude_stiffness", "skin_stiffness", "damping"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise ValueError(f"{name}: must be a finite number of at least 0, got {value}")

    def node_stiffness(self, spacing: float) -> float:
        """How an inner node of a lattice is held by its edges [N/m]."""
        return float(NODE_STIFFNESS * self.edge_stiffness / spacing)

    def density(self, spacing: float) -> float:
        """Mass per volume of the mesh [kg/m3]: an inner node of a lattice has half a cube."""
        mass = self.node_stiffness(spacing) / (2 * np.pi * self.frequency) ** 2
        return float(mass / (0.5 * spacing**3))


@dataclass(frozen=True, eq=False)
class Attachment:
    """Zero-length springs between points in tetrahedra and places in space, as two constant matrices.

    Attributes:
        own: W^T k W, nodes by nodes [N/m].
        other: W^T k, nodes by places [N/m].
    """

    own: csr_matrix
    other: csr_matrix

    @classmethod
    def of(cls, node_count: int, tets: NDArray[np.int32], weights: Float64Array, stiffness: Float64Array) -> Attachment:
        """Attach points with barycentric `weights (P, 4)` in tetrahedra whose nodes are `tets (P, 4)`; N/m each."""
        rows = np.repeat(np.arange(len(tets)), 4)
        embed = csr_matrix((weights.reshape(-1), (rows, tets.reshape(-1))), shape=(len(tets), node_count))
        pull = embed.T.multiply(stiffness).tocsr()
        return cls((pull @ embed).tocsr(), pull)


@dataclass(frozen=True, eq=False)
class BlockPattern:
    """Where the 3x3 blocks of a mesh's matrix are, in compressed rows.

    Attributes:
        starts: first block of each row, shape (N + 1,).
        columns: of the blocks, shape (B,).
        diagonal: block of each node with itself, shape (N,).
        edges: pairs of nodes, shape (E, 2).
        edge_slots: block of each pair of an edge's nodes, shape (E, 2, 2).
        tet_slots: block of each pair of a tetrahedron's nodes, shape (T, 4, 4).
    """

    starts: NDArray[np.int32]
    columns: NDArray[np.int32]
    diagonal: NDArray[np.int32]
    edges: NDArray[np.int32]
    edge_slots: NDArray[np.int32]
    tet_slots: NDArray[np.int32]

    @classmethod
    def of(cls, count: int, tets: NDArray[np.int32], edges: NDArray[np.int32] | None = None) -> BlockPattern:
        """Lay out the matrix of `count` nodes; edges are those of the tetrahedra where they are not given."""
        edges = edges_of(tets) if edges is None else edges
        own = np.arange(count, dtype=np.int32)
        row, column = (np.concatenate([edges[:, a], edges[:, 1 - a], own]) for a in (0, 1))
        matrix = csr_matrix((np.ones(len(row)), (row, column)), shape=(count, count))
        matrix.sort_indices()
        starts, columns = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
        slots = []
        for elements in (own[:, None], edges, tets):
            found = np.empty((len(elements), elements.shape[1], elements.shape[1]), np.int32)
            kernels.fill_slots(starts, columns, elements, found)
            slots.append(found)
        return cls(starts, columns, slots[0][:, 0, 0].copy(), edges, slots[1], slots[2])


class SpringMesh:
    """Steps nodes of a tetrahedral mesh.

    Args:
        nodes: at rest [m], shape (N, 3).
        tets: of positive volume, shape (T, 4).
        edges: pairs of nodes, shape (E, 2).
        masses: of the nodes [kg], shape (N,).
        is_driven: nodes that somebody else moves, shape (N,).
        params: of the springs.
        attachment: zero-length springs, or None.

    Attributes:
        rest_lengths: of the edges [m], shape (E,), which may be changed between steps.
        rest_altitudes: of the tetrahedra [m], shape (T, 4), likewise.
        iterations: that the last solution took.
    """

    def __init__(
        self,
        nodes: Float64Array,
        tets: NDArray[np.int32],
        edges: NDArray[np.int32],
        masses: Float64Array,
        is_driven: NDArray[np.bool_],
        params: SpringParams,
        attachment: Attachment | None = None,
    ) -> None:
        self.params, self._tets, self._edges = params, tets, edges
        self._masses, self._is_free = masses, ~is_driven
        self._inv_mass = np.where(is_driven, 0.0, 1.0 / masses)
        self._edge_stiffness = np.full(len(edges), params.edge_stiffness)
        self._altitude_stiffness = np.full(len(tets), params.altitude_stiffness)
        self.rest_lengths = lengths(nodes, edges)
        self.rest_altitudes = altitudes(nodes, tets)
        self.attachment = attachment
        self._pattern = BlockPattern.of(len(nodes), tets, edges)
        self._attach(len(nodes))
        self.iterations = 0

    def _attach(self, count: int) -> None:
        """Lay the matrix of the zero-length springs out over the blocks."""
        pattern = self._pattern
        self._blocks = np.zeros((len(pattern.columns), 3, 3))
        self._attached = np.zeros(len(pattern.columns))
        if self.attachment is not None:
            matrix = self.attachment.own.tocoo()
            row_of = np.repeat(np.arange(count), np.diff(pattern.starts))
            keys = row_of * count + pattern.columns
            slot = np.searchsorted(keys, matrix.row.astype(np.int64) * count + matrix.col)
            np.add.at(self._attached, slot, matrix.data)

    def step(
        self,
        x: Float64Array,
        v: Float64Array,
        dt: float,
        *,
        driven: Float64Array | None = None,
        places: Float64Array | None = None,
        force: Float64Array | None = None,
    ) -> tuple[Float64Array, Float64Array]:
        """Return positions [m] and velocities [m/s] of the nodes, both (N, 3), after `dt` [s].

        Args:
            x: positions now.
            v: velocities now.
            dt: time [s].
            driven: where driven nodes are then, (N, 3), other rows ignored; needed where there are any.
            places: where the zero-length springs pull to then, (P, 3); needed where there are any.
            force: that acts besides [N], (N, 3).
        """
        pattern, blocks, rhs = self._pattern, self._blocks, np.zeros_like(x)
        blocks[:] = 0.0
        damping = self.params.damping
        state = (x, v, self._inv_mass)
        kernels.add_edges(
            *state, self._edges, pattern.edge_slots, self._edge_stiffness, self.rest_lengths, damping, dt, blocks, rhs
        )
        kernels.add_altitudes(
            *state,
            self._tets,
            pattern.tet_slots,
            self._altitude_stiffness,
            self.rest_altitudes,
            damping,
            dt,
            blocks,
            rhs,
        )
        if self.attachment is not None:
            assert places is not None
            pull = self.attachment.other @ places - self.attachment.own @ (x + dt * v)
            rhs += dt * pull
            blocks[:, range(3), range(3)] += (dt * dt * self._attached)[:, None]
        if force is not None:
            rhs += dt * force
        blocks[pattern.diagonal[:, None], range(3), range(3)] += self._masses[:, None]
        change = np.zeros_like(x)
        if driven is not None:
            held = ~self._is_free
            change[held] = (driven[held] - x[held]) / dt - v[held]
        self.iterations = kernels.solve(
            pattern.starts,
            pattern.columns,
            blocks,
            pattern.diagonal,
            self._is_free,
            rhs,
            TOLERANCE,
            MOST_ITERATIONS,
            change,
        )
        after = v + change
        moved = x + dt * after
        if driven is not None:
            moved[held] = driven[held]
        return moved, after

    def energy(self, x: Float64Array, v: Float64Array) -> float:
        """Kinetic energy and that of edges and altitude springs [J]."""
        kinetic = 0.5 * float((self._masses * (v * v).sum(axis=1)).sum())
        stretch = lengths(x, self._edges) - self.rest_lengths
        squeeze = np.minimum(altitudes(x, self._tets) - self.rest_altitudes, 0.0)
        edge = 0.5 * float((self._edge_stiffness / self.rest_lengths * stretch**2).sum())
        height = 0.5 * float((self._altitude_stiffness[:, None] / self.rest_altitudes * squeeze**2).sum())
        return kinetic + edge + height


def lengths(x: Float64Array, edges: NDArray[np.int32]) -> Float64Array:
    """Lengths of edges (E, 2) [m], shape (E,)."""
    result: Float64Array = np.linalg.norm(x[edges[:, 1]] - x[edges[:, 0]], axis=1)
    return result


def altitudes(x: Float64Array, tets: NDArray[np.int32]) -> Float64Array:
    """Signed height of every node of tetrahedra (T, 4) over the plane of the other three [m], shape (T, 4)."""
    heights = np.empty((len(tets), 4))
    kernels.fill_altitudes(np.ascontiguousarray(x), tets, heights)
    return heights


def lumped_masses(tets: NDArray[np.int32], volumes: Float64Array, density: float, node_count: int) -> Float64Array:
    """A quarter of the mass of each tetrahedron at each of its nodes [kg], shape (N,)."""
    return np.asarray(np.bincount(tets.reshape(-1), np.repeat(volumes * density / 4, 4), node_count), np.float64)
