"""Algorithm 1 of hsu2024 for one hair in plain NumPy, in the order of its lines: the specification of `_kernels`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion

Array = NDArray[np.float64]
Distance = Callable[[Array], tuple[float, Array]]
E3 = np.array([0.0, 0.0, 1.0, 0.0])


@dataclass(frozen=True, eq=False)
class ReferenceHair:
    """What does not change of one hair of N segments.

    Attributes:
        length: l of each segment [m], shape (N,).
        darboux: q^0 of each joint, joint 0 from the skin to segment 0, shape (N, 4).
        k_ss: of each segment [J], shape (N,).
        k_bt: of each joint [J], shape (N,).
        k_pen: [N/m].
        alpha: of eq. 23.
    """

    length: Array
    darboux: Array
    k_ss: Array
    k_bt: Array
    k_pen: float
    alpha: float


def closest_place(point: Array, guide: Array) -> float:
    """Place on a polyline (U, 3) closest to a point, as vertex number and fraction."""
    along = np.diff(guide, axis=0)
    u = np.clip(((point - guide[:-1]) * along).sum(axis=1) / (along**2).sum(axis=1), 0, 1)
    distance = np.linalg.norm(guide[:-1] + u[:, None] * along - point, axis=1)
    j = int(distance.argmin())
    return j + float(u[j])


def matrix_of(v: Array) -> Array:
    """A of eq. 14: the 4 x 4 matrix with A q = v q e3."""
    return np.stack([_product(np.append(v, 0.0), _product(unit, E3)) for unit in np.eye(4)], axis=1)


def interpolate_hair(
    hair: ReferenceHair, root: Array, rotation: Array, force: Array, target: Array, distance: Distance | None = None
) -> Array:
    """Points of one hair (N + 1, 3) [m].

    Args:
        hair: what does not change.
        root: x_0 [m], shape (3,).
        rotation: how the skin at the root has turned, shape (4,).
        force: f^sim of eq. 10 [N], shape (N, 3).
        target: x' of eq. 9 [m], shape (N + 1, 3).
        distance: signed distance [m] and its gradient at a point, where there are solids.
    """
    x = [root]
    before = rotation
    for i in range(len(hair.length)):
        l, k_ss, k_bt = hair.length[i], hair.k_ss[i], hair.k_bt[i]
        b = -k_bt * _product(before, hair.darboux[i])
        unloaded = _third_axis(-b / np.linalg.norm(b))  # eq. 21
        drift = k_ss / l * ((target[i + 1] - x[i]) / l - unloaded)  # eq. 22
        f = (1 - hair.alpha) * force[i] + hair.alpha * drift  # eq. 23
        v = -2 * l * f
        q = _solve(v, b)
        end = x[i] + l * (f * l / k_ss + _third_axis(q))  # eq. 12
        if distance is not None:
            depth, gradient = distance(end)
            if depth < 0:
                v = v + 2 * hair.k_pen * l * depth * gradient  # from eq. 18; printed with the other sign
                q = _solve(v, b)
                end = x[i] + l * (f * l / k_ss + _third_axis(q))
        x.append(end)
        before = q
    return np.array(x)


def _solve(v: Array, b: Array) -> Array:
    """Eq. 17, with a matrix in place of theorem 4.1."""
    multiplier = np.linalg.norm(v) + np.linalg.norm(b)
    q = np.linalg.solve(matrix_of(v) - multiplier * np.eye(4), b)
    return q / np.linalg.norm(q)


def _product(a: Array, b: Array) -> Array:
    return quaternion.multiply(a, b)


def _third_axis(q: Array) -> Array:
    return quaternion.rotate(q, np.array([0.0, 0.0, 1.0]))
