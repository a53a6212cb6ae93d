"""What `_kernels` does, in plain NumPy: vertices to a grid with the axes of the world, and back."""

from __future__ import annotations

from itertools import product

import numpy as np

from mane.strand.model import Float64Array


def splines(points: Float64Array, cell: float) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Weights (P, 27), their gradients [1/m] (P, 27, 3), and nodes [cells] (P, 27, 3) of points (P, 3) [m]."""
    base = np.floor(points / cell - 0.5)
    f = points / cell - base
    weight = np.stack([0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2])
    slope = np.stack([f - 1.5, 2 - 2 * f, f - 0.5]) / cell
    weights, gradients, nodes = [], [], []
    for i, j, k in product(range(3), repeat=3):
        x, y, z = weight[i, :, 0], weight[j, :, 1], weight[k, :, 2]
        weights.append(x * y * z)
        gradients.append(np.stack([slope[i, :, 0] * y * z, x * slope[j, :, 1] * z, x * y * slope[k, :, 2]], axis=1))
        nodes.append(base + [i, j, k])
    return np.stack(weights, axis=1), np.stack(gradients, axis=1), np.stack(nodes, axis=1)


def density(points: Float64Array, mass: Float64Array, cell: float) -> Float64Array:
    """Hair per volume [kg/m^3] at points (P, 3) [m] of masses (P,) [kg], shape (P,)."""
    weight, _, nodes = splines(points, cell)
    _, index = np.unique(nodes.reshape(-1, 3), axis=0, return_inverse=True)
    index = index.reshape(weight.shape)
    node_mass = np.bincount(index.ravel(), (weight * mass[:, None]).ravel())
    result: Float64Array = (weight * node_mass[index]).sum(axis=1) / cell**3
    return result


def exchange(
    points: Float64Array,
    velocity: Float64Array,
    affine: Float64Array,
    mass: Float64Array,
    rest_density: Float64Array,
    *,
    cell: float,
    share: float,
    speed: float,
    dt: float,
) -> tuple[Float64Array, Float64Array]:
    """Return velocities (P, 3) and affine matrices (P, 3, 3) after one exchange with the grid."""
    weight, gradient, nodes = splines(points, cell)
    _, index = np.unique(nodes.reshape(-1, 3), axis=0, return_inverse=True)
    index = index.reshape(weight.shape)
    away = nodes * cell - points[:, None]
    around = velocity[:, None] + 4 / cell**2 * np.einsum("pij,pnj->pni", affine, away)
    count = index.max() + 1
    node_mass, momentum, push = np.zeros(count), np.zeros((count, 3)), np.zeros((count, 3))
    np.add.at(node_mass, index, weight * mass[:, None])
    np.add.at(momentum, index, (weight * mass[:, None])[..., None] * around)
    moved = momentum / node_mass[:, None]
    divergence = np.einsum("pni,pni->p", moved[index], gradient)
    coming = density(points, mass, cell) * np.maximum(1 - dt * divergence, 0)
    energy = np.where(coming > rest_density, mass * speed**2 * (1 - rest_density / np.maximum(coming, 1e-30)), 0.0)
    np.add.at(push, index, energy[:, None, None] * gradient)
    pushed = dt * push / node_mass[:, None]
    mean, change = (np.einsum("pn,pni->pi", weight, field[index]) for field in (moved, pushed))
    rotation, twist = (np.einsum("pn,pni,pnj->pij", weight, field[index], away) for field in (moved, pushed))
    return velocity + share * (mean - velocity) + change, affine + share * (rotation - affine) + twist
