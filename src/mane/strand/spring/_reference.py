"""The spring model in plain NumPy, one strand and one spring at a time: what the kernels must agree with.

Everything here takes one strand's rows of a `SpringNet` (index them with the strand) and particles in its order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mane.strand.model import Float64Array
from mane.strand.spring.net import GHOSTS, SpringNet, tetrahedron

# One elastic element: particles, weights (weights @ particles is the vector that it measures), the unit direction of
# that vector, its length less the rest length [m], stiffness [N/m], damping time [s], length [m], and which spring of
# which particle it is (None for an altitude).
Element = tuple[list[int], Float64Array, Float64Array, float, float, float, float, tuple[int, int] | None]


def elements(net: SpringNet, strand: int, particles: Float64Array) -> Iterator[Element]:
    """Yield every spring and altitude spring of a strand at `particles` (P, 3)."""
    for p in range(GHOSTS + 1, len(particles)):
        damping = net.damping[strand, p]
        for which in range(3):
            stiffness, rest = net.stiffness[strand, p, which], net.rest_length[strand, p, which]
            apart = particles[p] - particles[p - which - 1]
            length = float(np.linalg.norm(apart))
            ends, weights = [p, p - which - 1], np.array([1.0, -1.0])
            yield ends, weights, apart / length, length - rest, stiffness, damping, length, (p, which)
        yield _altitude(net, strand, p, particles, damping)


def _altitude(net: SpringNet, strand: int, p: int, particles: Float64Array, damping: float) -> Element:
    apex, base, first, second = tetrahedron(p)
    e1, e2, r = (particles[k] - particles[base] for k in (first, second, apex))
    normal = np.cross(e1, e2)
    area = normal @ normal
    u, v = np.cross(r, e2) @ normal / area, np.cross(e1, r) @ normal / area
    normal = normal / np.sqrt(area)
    past = normal @ r - net.rest_altitude[strand, p]
    weights = np.array([1.0, -(1.0 - u - v), -u, -v])
    return [apex, base, first, second], weights, normal, past, net.altitude_stiffness[strand, p], damping, 1.0, None


def elastic_energy(net: SpringNet, strand: int, particles: Float64Array) -> float:
    """Energy of all springs of a strand [J]."""
    return float(sum(0.5 * k * past**2 for _, _, _, past, k, *_ in elements(net, strand, particles)))


def forces_and_matrix(
    net: SpringNet, strand: int, particles: Float64Array, moved: Float64Array, tension: Float64Array, dt: float
) -> tuple[Float64Array, Float64Array]:
    """Force on each particle [N], (P, 3), and minus its derivative, positive semidefinite [N/m], (3 P, 3 P).

    Args:
        net: the springs.
        strand: which one.
        particles: [m], shape (P, 3).
        moved: how far each has come since the start of the step [m], shape (P, 3): what damping acts on.
        tension: of the springs [N], shape (P, 3), with which they resist motion across them.
        dt: length of the step [s].
    """
    force = np.zeros_like(particles)
    matrix = np.zeros((len(particles), 3, len(particles), 3))
    for who, weights, direction, past, stiffness, damping, length, place in elements(net, strand, particles):
        rate = direction @ (weights @ moved[who]) / dt
        force[who] -= np.outer(weights, stiffness * (past + damping * rate) * direction)
        # Under compression the resistance across a spring is negative; without it the matrix is positive definite.
        across = max(tension[place], 0.0) / length if place else 0.0
        along = stiffness * (1.0 + damping / dt) - across
        block = along * np.outer(direction, direction) + across * np.eye(3)
        for a, weight_a in zip(who, weights, strict=True):
            for b, weight_b in zip(who, weights, strict=True):
                matrix[a, :, b, :] += weight_a * weight_b * block
    size = force.size
    return force, matrix.reshape(size, size)


def newton_step(
    net: SpringNet,
    strand: int,
    estimate: tuple[Float64Array, Float64Array],
    start: tuple[Float64Array, Float64Array],
    outside: tuple[Float64Array, Float64Array],
    dt: float,
) -> tuple[Float64Array, Float64Array]:
    """Return a better estimate of the end of a step of implicit Euler: particles (P, 3) and tensions (P, 3).

    Args:
        net: the springs.
        strand: which one.
        estimate: of the end, particles [m] and tensions [N]; particles that are held must be where they will be.
        start: particles [m] and their velocity [m/s] at the start, shape (P, 3).
        outside: forces (P, 3) [N], gravity too, and resistance (3 P, 3 P) [kg/s] to the velocity at the end.
        dt: length of the step [s].
    """
    particles, tension = estimate
    force, resistance = outside
    moved = particles - start[0]
    inner, matrix = forces_and_matrix(net, strand, particles, moved, tension, dt)
    inertia = np.repeat(net.mass[strand], 3) / dt**2
    residual = (inner + force).ravel() - inertia * (moved - dt * start[1]).ravel() - resistance @ moved.ravel() / dt
    system = matrix + resistance / dt + np.diag(inertia)
    free: NDArray[np.bool_] = np.repeat(~net.is_held[strand], 3)
    change = np.zeros_like(particles)
    change.ravel()[free] = np.linalg.solve(system[np.ix_(free, free)], residual[free])
    solved = np.zeros_like(tension)
    for who, weights, direction, past, stiffness, damping, _, place in elements(net, strand, particles):
        if place:
            along = direction @ (weights @ (moved + change)[who]) * damping / dt
            solved[place] = stiffness * (past + direction @ (weights @ change[who]) + along)
    return particles + change, solved
