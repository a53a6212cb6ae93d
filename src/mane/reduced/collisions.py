"""Hair out of the bust in the reduced space, as guan2012 section 6 prints it: methods A and B, and sub-sampling.

For models of positions, whose vertices are linear in the coefficients. The default of `LearnedSource` is another one:
each vertex by itself, by the distance field (`_kernels.out_of_solids`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mane.reduced.canonical import CENTIMETRES
from mane.reduced.model import HairModel

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PrintedWeights:
    """Weights of guan2012 eq. 15; lengths are in centimetres.

    Attributes:
        penetration: pi_1.
        deviation: pi_2.
        roots: pi_3.
        sigma: of the robust error of eq. 14 [cm], which is not printed.
        iterations: of method B, "three to five".
        whiten: whether deviations are measured in standard deviations of the coefficients: at the printed weights
            collisions hardly count otherwise.
    """

    penetration: float = 0.08
    deviation: float = 0.13
    roots: float = 1.5
    sigma: float = 1.0
    iterations: int = 4
    whiten: bool = False


@dataclass(frozen=True, eq=False)
class Bust:
    """The bust in canonical space.

    Attributes:
        points: vertices [cm], shape (B, 3).
        normals: unit, outward, shape (B, 3).
    """

    points: Array
    normals: Array

    @cached_property
    def _tree(self) -> object:
        from scipy.spatial import cKDTree

        return cKDTree(self.points)

    def nearest(self, hair: Array) -> NDArray[np.int64]:
        """Correspondences C: vertex of the bust that is closest to each point of the hair (P, 3)."""
        return np.asarray(self._tree.query(hair)[1])  # type: ignore[attr-defined]


class ReducedCollisions:
    """Solves collisions of a model of positions.

    Args:
        model: whose representation is "positions".
        weights: of eq. 15.
        every: sub-sample factor tau: every so many guides are looked at (eq. 19).
        deviations: standard deviation of each coefficient in training, (d,), for `whiten`.
    """

    def __init__(
        self,
        model: HairModel,
        weights: PrintedWeights | None = None,
        every: int = 1,
        deviations: Array | None = None,
    ) -> None:
        if model.representation.name != "positions":
            raise ValueError(
                f"model: must be learned of positions for collisions as printed, got {model.representation.name!r}"
            )
        self.weights = weights or PrintedWeights()
        self.every = every
        guides, vertices, size = model.guide_count, model.vertex_count, model.coefficient_count
        basis = (model.basis.numbers * model.basis.scale).reshape(guides, vertices, 3, size)
        mean = model.mean.astype(np.float64).reshape(guides, vertices, 3)
        own = slice(None, None, every)  # S_tau
        self._basis, self._mean = basis[own].reshape(-1, 3, size), mean[own].reshape(-1, 3)
        self._root_basis, self._root_mean = basis[:, 0].reshape(-1, size), mean[:, 0].reshape(-1)
        self._root_gram = self._root_basis.T @ self._root_basis
        scale = np.ones(size) if deviations is None or not self.weights.whiten else np.maximum(deviations, 1e-9)
        self._deviation_weight = self.weights.deviation / scale**2

    def depths(self, y: Array, bust: Bust, nearest: NDArray[np.int64]) -> Array:
        """Signed distance of the points that are looked at by eq. 14 [cm], (P,)."""
        return np.asarray(np.einsum("pc,pc->p", bust.normals[nearest], self._hair(y) - bust.points[nearest]))

    def correspondences(self, y: Array, bust: Bust) -> NDArray[np.int64]:
        """C: closest vertices of the bust, found once in a frame."""
        return bust.nearest(self._hair(y))

    def _hair(self, y: Array) -> Array:
        """Points that are looked at [cm], (P, 3)."""
        return np.asarray((self._basis.reshape(-1, len(y)) @ y).reshape(-1, 3) + self._mean)

    def energy(
        self, y: Array, start: Array, roots: Array, bust: Bust, nearest: NDArray[np.int64], rows: Array | None = None
    ) -> tuple[float, Array]:
        """E of eq. 15 for method A and its gradient (d,); `roots (G * 3,)` where the scalp has them [cm].

        `rows (P, d)` are how depths change with the coefficients, `slopes` of the same correspondences.
        """
        weights = self.weights
        rows = self.slopes(bust, nearest) if rows is None else rows
        normals, own = bust.normals[nearest], bust.points[nearest]
        depth = np.minimum(rows @ y + np.einsum("pc,pc->p", normals, self._mean - own), 0.0)
        below = weights.sigma**2 + depth**2
        slope = self.every * weights.penetration * 2 * depth * weights.sigma**2 / below**2
        off, root_off = y - start, self._root_basis @ y + self._root_mean - roots
        value = self.every * weights.penetration * float((depth**2 / below).sum())
        value += float((self._deviation_weight * off**2).sum()) + weights.roots * float((root_off**2).sum())
        gradient = slope @ rows + 2 * self._deviation_weight * off + 2 * weights.roots * (self._root_basis.T @ root_off)
        return value, gradient

    def slopes(self, bust: Bust, nearest: NDArray[np.int64]) -> Array:
        """How the depth of each point changes with the coefficients, (P, d), while correspondences stay."""
        return np.asarray(np.einsum("pc,pcd->pd", bust.normals[nearest], self._basis))

    def method_a(self, start: Array, roots: Array, bust: Bust) -> Array:
        """Coefficients (d,) that minimise eq. 15, by a quasi-Newton descent from what the dynamics predict."""
        from scipy.optimize import minimize

        nearest = self.correspondences(start, bust)
        given = (start, roots, bust, nearest, self.slopes(bust, nearest))
        return np.asarray(minimize(self.energy, start, given, jac=True, method="L-BFGS-B").x)

    def method_b(self, start: Array, roots: Array, bust: Bust) -> Array:
        """The same by least squares over the points that penetrate now (eq. 18, 19), a few times over."""
        weights, nearest = self.weights, self.correspondences(start, bust)
        normals = bust.normals[nearest]
        y = start
        for _ in range(weights.iterations):
            inside = self.depths(y, bust, nearest) < 0  # where none are, roots are still drawn to the scalp (eq. 17)
            rows = np.einsum("pc,pcd->pd", normals[inside], self._basis[inside])
            goal = np.einsum("pc,pc->p", normals[inside], bust.points[nearest[inside]] - self._mean[inside])
            strength = self.every * weights.penetration
            system = strength * rows.T @ rows + weights.roots * self._root_gram + np.diag(self._deviation_weight)
            right = strength * rows.T @ goal + self._deviation_weight * start
            right += weights.roots * self._root_basis.T @ (roots - self._root_mean)
            y = np.linalg.solve(system, right)
        return y


@dataclass(frozen=True)
class Penetration:
    """The measures of guan2012 section 7.

    Attributes:
        rate: points inside over all points.
        beyond: points deeper than half a millimetre over all points: hair that lies on skin is inside by eq. 14.
        deepest: [cm].
        deviation: of the coefficients from the prediction, each weighted by the eigenvalue of its component. A product
            of rows, as the paper sets it, would let deviations of opposite signs cancel.
    """

    rate: float
    beyond: float
    deepest: float
    deviation: float


def measure_penetration(
    depths: Array, y: Array | None = None, start: Array | None = None, eigenvalues: Array | None = None
) -> Penetration:
    """Measures of signed distances (P,) [cm], and of coefficients where they are given."""
    deviation = 0.0
    if y is not None and start is not None and eigenvalues is not None:
        share = eigenvalues / eigenvalues.sum()
        deviation = float(np.linalg.norm(share * (y - start)) / max(float(np.linalg.norm(start)), 1e-12))
    inside = depths < 0
    deepest = float(max(-depths.min(initial=0.0), 0.0))
    return Penetration(float(inside.mean()), float((depths < -0.05).mean()), deepest, deviation)


def vertex_normals(points: Array, faces: NDArray[np.int64]) -> Array:
    """Unit normals of the vertices of a mesh (N, 3): those of the faces around them, by area."""
    corner = points[faces]
    face = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    normals = np.zeros_like(points)
    for k in range(3):
        np.add.at(normals, faces[:, k], face)
    return np.asarray(normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30))


def canonical_bust(points: Array, faces: NDArray[np.int64]) -> Bust:
    """A bust of vertices in canonical space [m] (N, 3), for collisions as printed."""
    return Bust(points * CENTIMETRES, vertex_normals(points, faces))
