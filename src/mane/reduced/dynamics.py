"""The second-order linear dynamics of hair coefficients under blended styles (guan2012 section 5).

One frame is predicted by eq. 10: y_t = A u_t + B_1 y_(t-2) + B_2 y_(t-1), with u_t all that is known of the body. Two
forms of the same model:

`CoreTensor` is as printed: the data tensor of section 5, its N-mode singular value decomposition, and a pseudo-inverse
for each setting of the sliders (eq. 8, 11).

`CrossGrams` keeps products of the frames of pairs of styles instead. Frames of a blended style are sums of those of
its corners, so its normal equations are sums of these products: the same answer as the untruncated tensor, from a
fraction of the work, and a ridge can be added, without which the dynamics may be unstable.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mane.reduced._kernels_solve import cholesky_solve, lu_solve
from mane.reduced.tensor import Array, mode_product, n_mode_svd, unfold

SINGULAR = 1e-10  # of the largest singular value: what a pseudo-inverse takes for zero
FLAT = 1e-9  # a control whose standard deviation is less never changed


@dataclass(frozen=True, eq=False)
class Operator:
    """Eq. 10 for one setting of the sliders.

    Attributes:
        control: of what is known of the body, A, C_1 and C_2 side by side, shape (d, U).
        history: of the coefficients before, oldest first: B_1, B_2; shape (order, d, d).
    """

    control: Array
    history: Array

    def companion(self) -> Array:
        """Matrix that takes the coefficients of `order` frames, newest first, one frame on.

        guan2012 eq. 12 with its blocks the other way round: B_2 is of y_(t-1), the newest (eq. 10), so it comes first.
        """
        order, size = self.history.shape[:2]
        matrix = np.zeros((order * size, order * size))
        for k in range(order):
            matrix[:size, k * size : (k + 1) * size] = self.history[order - 1 - k]
        matrix[size:, :-size] = np.eye((order - 1) * size)
        return matrix

    @property
    def spectral_radius(self) -> float:
        """Largest magnitude of an eigenvalue: below 1 the dynamics come to rest (guan2012 5.1)."""
        return float(np.abs(np.linalg.eigvals(self.companion())).max())

    @property
    def as_printed_radius(self) -> float:
        """The same of eq. 12 to the letter, whose blocks are swapped against eq. 10."""
        size = self.history.shape[1]
        matrix = np.zeros((2 * size, 2 * size))
        matrix[:size, :size], matrix[:size, size:] = self.history[-2], self.history[-1]
        matrix[size:, :size] = np.eye(size)
        return float(np.abs(np.linalg.eigvals(matrix)).max())

    def settled(self, control: Array) -> Array:
        """Coefficients (d,) that stay as they are while the controls do.

        Raises:
            ValueError: the dynamics have an eigenvalue of 1, so that nothing settles.
        """
        still = np.eye(self.history.shape[1]) - self.history.sum(axis=0)
        # Neither product nor solve by a library with threads of its own: hair begins with the same bytes anywhere.
        found = np.einsum("du,u->d", self.control, control)
        if lu_solve(still, found) >= 0:
            raise ValueError("model: its dynamics have an eigenvalue of 1, so no hair comes to rest; learn it again")
        return np.asarray(found)


def roll_out(operator: Operator, controls: Array, start: Array | None = None) -> Array:
    """Coefficients (T, d) that eq. 10 makes of controls (T, U), from `start (order, d)` on; zeros without it."""
    order, size = operator.history.shape[:2]
    return roll_outs(operator, [controls], [np.zeros((order, size)) if start is None else start])[0]


def roll_outs(operator: Operator, controls: Sequence[Array], starts: Sequence[Array]) -> list[Array]:
    """The same of several motions side by side, which takes little longer than one."""
    order, size = operator.history.shape[:2]
    out = np.zeros((max(map(len, controls)), len(controls), size))
    for m, (own, start) in enumerate(zip(controls, starts, strict=True)):
        out[: len(own), m] = own @ operator.control.T
        first = min(order, len(own))
        out[:first, m] = start[:first]
    joined = np.concatenate([one.T for one in operator.history])
    for t in range(order, len(out)):
        out[t] += out[t - order : t].swapaxes(0, 1).reshape(len(controls), -1) @ joined
    return [out[: len(own), m] for m, own in enumerate(controls)]


class Dynamics(Protocol):
    """A family of operators."""

    @property
    def order(self) -> int:
        """Frames of history."""
        ...

    @property
    def control_count(self) -> int:
        """Number of controls, U."""
        ...

    @property
    def coefficient_count(self) -> int:
        """Number of coefficients, d."""
        ...

    def operator(self, weights: Array) -> Operator:
        """Eq. 10 for weights of all corners (C,)."""
        ...


def design_rows(controls: Array, coefficients: Array, order: int = 2) -> Array:
    """Augmented vectors w_t of a sequence, (T - order, U + (order + 1) d): controls, history oldest first, and y_t.

    `controls (T, U)`, `coefficients (T, d)`; guan2012 section 5, with z beside x.
    """
    frames = len(coefficients)
    past = [coefficients[k : frames - order + k] for k in range(order)]
    return np.concatenate([controls[order:], *past, coefficients[order:]], axis=1)


def split_operator(matrix: Array, controls: int, size: int, order: int) -> Operator:
    """Cut [A C_1 C_2 B_1 B_2] (guan2012 eq. 11) into its parts."""
    history = matrix[:, controls:].reshape(size, order, size).swapaxes(0, 1)
    return Operator(np.ascontiguousarray(matrix[:, :controls]), np.ascontiguousarray(history))


# -- the default: cross-Grams --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ridge:
    """Tikhonov regularisation, relative to the variance of what it holds down.

    Attributes:
        history: on the coefficients before, which all count with one scale.
        control: on each of the controls.
    """

    history: float = 1e-2
    control: float = 1e-6


@dataclass(frozen=True, eq=False)
class CrossGrams:
    """Products of the augmented vectors of pairs of styles.

    Weights of a blend are products of those of the levels of each factor, of which two neighbours have any. So pairs of
    styles whose pairs of levels are the same always count alike, and are kept as one sum: 81 instead of 136 for the 16
    styles of four factors, and nothing is lost.

    Attributes:
        grams: sums of (A_i^T A_j + A_j^T A_i) / 2 over the pairs i <= j of each of `level_pairs`, their upper triangles
            row by row, shape (P, T).
        frames: that were summed over.
        levels: number of levels of each factor.
        control_count: U.
        coefficient_count: d.
        order: frames of history.
        ridge: that makes the dynamics stable.
    """

    grams: Array
    frames: int
    levels: tuple[int, ...]
    control_count: int
    coefficient_count: int
    order: int = 2
    ridge: Ridge = Ridge()

    @classmethod
    def of(
        cls,
        controls: Sequence[Array],
        coefficients: Sequence[Sequence[Array]],
        levels: Sequence[int] = (),
        order: int = 2,
        ridge: Ridge | None = None,
    ) -> CrossGrams:
        """Sum over sequences: `controls[m] (T, U)`, `coefficients[c][m] (T, d)` of each style under the same motion.

        `levels` is the level count of each factor, of which the styles are all combinations.
        """
        corners = len(coefficients)
        width, size = controls[0].shape[1], coefficients[0][0].shape[1]
        total = width + (order + 1) * size
        upper = np.triu_indices(total)
        owners = _pair_rows(levels)
        grams = np.zeros((len(level_pairs(levels)), len(upper[0])))
        frames = 0
        for m, control in enumerate(controls):
            rows = [design_rows(control, coefficients[c][m], order) for c in range(corners)]
            frames += len(rows[0])
            for (i, j), row in owners.items():
                if row is not None:
                    product = rows[i].T @ rows[j]
                    grams[row] += (0.5 * (product + product.T))[upper]
        return cls(grams, frames, tuple(levels), width, size, order, ridge or Ridge())

    def blended(self, weights: Array) -> Array:
        """Gram matrix of the augmented vectors of a blended style, shape (U + (order + 1) d,) * 2."""
        own = level_weights(weights, self.levels)
        parts = []
        for key in level_pairs(self.levels):
            part = math.prod(own[k][a] * own[k][b] for k, (a, b) in enumerate(key))
            parts.append(part if all(a == b for a, b in key) else 2.0 * part)
        total = self.control_count + (self.order + 1) * self.coefficient_count
        matrix = np.zeros((total, total))
        # Summed by einsum, not by a library with threads of its own: the same bytes on any machine of a kind.
        matrix[np.triu_indices(total)] = np.einsum("p,pt->t", np.array(parts, np.float64), self.grams)
        return np.asarray(matrix + np.triu(matrix, 1).T)

    def operator(self, weights: Array) -> Operator:
        """Ridge regression of y_t on what is known, from the blended Gram matrix."""
        size, controls = self.coefficient_count, self.control_count
        known = controls + self.order * size
        gram = self.blended(weights) / max(self.frames, 1)
        scale = np.sqrt(np.diag(gram)[:known])
        own = scale[:controls]
        scale[controls:] = max(float(np.sqrt(np.mean(scale[controls:] ** 2))), FLAT)
        is_flat = own < FLAT
        scale[:controls] = np.where(is_flat, 1.0, own)
        system = gram[:known, :known] / np.outer(scale, scale)
        system[np.diag_indices(known)] += np.concatenate(
            [np.where(is_flat, 1.0, self.ridge.control), np.full(known - controls, self.ridge.history)]
        )
        right = gram[:known, known:] / scale[:, None]
        solution = solve_positive_definite(system, np.ascontiguousarray(right)) / scale[:, None]
        return split_operator(np.ascontiguousarray(solution.T), controls, size, self.order)


LevelPairs = tuple[tuple[int, int], ...]  # of each factor, the lower level first


def level_pairs(levels: Sequence[int]) -> list[LevelPairs]:
    """Pairs of levels of each factor that a blend may have: the same twice, or neighbours. One, (), without factors."""
    each = [[(a, b) for a in range(count) for b in (a, a + 1) if b < count] for count in levels]
    return list(itertools.product(*each))


def _pair_rows(levels: Sequence[int]) -> dict[tuple[int, int], int | None]:
    """Row of `level_pairs` of each pair of styles i <= j; None where two levels of a factor are no neighbours."""
    known = {key: row for row, key in enumerate(level_pairs(levels))}
    corners = list(itertools.product(*(range(count) for count in levels)))
    return {
        (i, j): known.get(tuple((min(pair), max(pair)) for pair in zip(corners[i], corners[j], strict=True)))
        for i in range(len(corners))
        for j in range(i, len(corners))
    }


def merged_pairs(grams: Array, levels: Sequence[int]) -> Array:
    """Sums of `level_pairs` of products that are apart for all pairs of styles i <= j, as older files have them."""
    out = np.zeros((len(level_pairs(levels)), grams.shape[1]))
    for own, row in zip(grams, _pair_rows(levels).values(), strict=True):
        if row is not None:
            out[row] += own
    return out


def level_weights(weights: Array, levels: Sequence[int]) -> list[Array]:
    """Weights of the levels of each factor: sums over all others of those of the styles (C,), which are products."""
    whole = np.asarray(weights, np.float64).reshape(tuple(levels))
    return [unfold(whole, axis).sum(axis=1) for axis in range(len(levels))]


def solve_positive_definite(matrix: Array, right: Array) -> Array:
    """Return the solution (N, M) of a symmetric positive definite system; ValueError where it is not definite."""
    solution = np.array(right, np.float64)
    failed = cholesky_solve(np.array(matrix, np.float64), solution)
    if failed >= 0:
        raise ValueError(f"matrix: must be positive definite, and is not from row {failed} on")
    return solution


# -- as printed: the core tensor -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CoreTensor:
    """The data tensor of guan2012 section 5 after N-mode singular value decomposition.

    Attributes:
        core: Z with the hair mode multiplied in, shape (a, N_1, ..., N_f*), a = U + 3 d.
        modes: matrices of the factors, U_length and so on, (N_i, N_i).
        control_count: U.
        coefficient_count: d.
        order: frames of history.
    """

    core: Array
    modes: tuple[Array, ...]
    control_count: int
    coefficient_count: int
    order: int = 2

    @classmethod
    def of(
        cls,
        controls: Sequence[Array],
        coefficients: Sequence[Sequence[Array]],
        levels: Sequence[int],
        order: int = 2,
    ) -> CoreTensor:
        """Decompose the tensor of all frames; arguments as of `CrossGrams.of`, and the level count of each factor."""
        styles = [
            np.concatenate([design_rows(control, own[m], order) for m, control in enumerate(controls)])
            for own in coefficients
        ]
        frames, total = styles[0].shape
        data = np.stack(styles).reshape(*levels, frames, total)
        core, matrices = n_mode_svd(np.moveaxis(data, -1, 0))  # (a, N_1, ..., N_f), guan2012 eq. 4
        core = mode_product(core, matrices[0], 0)  # the hair mode is multiplied in
        width, size = controls[0].shape[1], coefficients[0][0].shape[1]
        return cls(core, tuple(matrices[1:-1]), width, size, order)

    def blended(self, factor_weights: Sequence[Array]) -> Array:
        """M of guan2012 eq. 6 for weights of the levels of each factor, shape (a, N_f*)."""
        basis = self.core
        for own, matrix in zip(factor_weights, self.modes, strict=True):
            basis = np.tensordot(basis, matrix.T @ own, axes=(1, 0))  # v_length = U_length^T [alpha, 1 - alpha]
        return basis

    def operator_of(self, factor_weights: Sequence[Array]) -> Operator:
        """M^y (M^o)^+ of guan2012 eq. 8."""
        basis = self.blended(factor_weights)
        known = self.control_count + self.order * self.coefficient_count
        matrix = basis[known:] @ np.linalg.pinv(basis[:known], rcond=SINGULAR)
        return split_operator(matrix, self.control_count, self.coefficient_count, self.order)

    def operator(self, weights: Array) -> Operator:
        """The same for weights of all corners, which are products of those of the factors."""
        return self.operator_of(self.factor_weights(weights))

    def factor_weights(self, weights: Array) -> list[Array]:
        """Weights of the levels of each factor."""
        return level_weights(weights, [len(matrix) for matrix in self.modes])

    def start(self, weights: Array, body_count: int) -> Array:
        """What takes x_t to y_t where no hair is known before, t = 1 and 2 of guan2012 section 5; (d, body_count)."""
        basis = self.blended(self.factor_weights(weights))
        known = self.control_count + self.order * self.coefficient_count
        return np.asarray(basis[known:] @ np.linalg.pinv(basis[:body_count], rcond=SINGULAR))


# -- stability -----------------------------------------------------------------------------------------------------


def stability_grid(dynamics: Dynamics, weights: Array) -> Array:
    """Largest eigenvalue at each of many settings of the sliders (guan2012 eq. 13): `weights (..., C)` -> (...)."""
    flat = weights.reshape(-1, weights.shape[-1])
    radii = np.array([dynamics.operator(row).spectral_radius for row in flat])
    return radii.reshape(weights.shape[:-1])
