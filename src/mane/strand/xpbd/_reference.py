"""One step of a single rod in plain NumPy, line by line from hsu2024 section 3: the specification of `_kernels`."""

from __future__ import annotations

import numpy as np

from mane.geometry import quaternion
from mane.strand.model import Float64Array, RootKind
from mane.strand.ports import Load
from mane.strand.roots import RootPose
from mane.strand.state import StrandState
from mane.strand.xpbd.solver import XpbdSolver

E3 = np.array([0.0, 0.0, 1.0])


def pure(vector: Float64Array) -> Float64Array:
    """Quaternion (4,) of a vector (3,)."""
    return np.append(vector, 0.0)


def stretch_shear(x: Float64Array, beyond: Float64Array, q: Float64Array, length: float) -> Float64Array:
    """Eq. 1."""
    result: Float64Array = (beyond - x) / length - quaternion.rotate(q, E3)
    return result


def bend_twist(q: Float64Array, beyond: Float64Array, rest: Float64Array) -> Float64Array:
    """Eq. 2 with the sign of eq. 3."""
    bent = quaternion.multiply(quaternion.conjugate(q), beyond)
    phi = 1.0 if ((bent - rest) ** 2).sum() <= ((bent + rest) ** 2).sum() else -1.0
    result: Float64Array = bent - phi * rest
    return result


def stretch_force(strain: Float64Array, stiffness: float, length: float) -> Float64Array:
    """Eq. 4: on the vertex before the segment; eq. 5 is its negative, on the vertex beyond."""
    return stiffness / length * strain


def stretch_torque(strain: Float64Array, stiffness: float, q: Float64Array) -> Float64Array:
    """Eq. 6: on the orientation, four numbers."""
    return -2 * stiffness * quaternion.multiply(pure(strain), quaternion.multiply(q, pure(E3)))


def bend_torques(
    q: Float64Array, beyond: Float64Array, rest: Float64Array, stiffness: float
) -> tuple[Float64Array, Float64Array]:
    """Eq. 7 and 8: on the orientations before and after the joint, four numbers each."""
    bent = quaternion.multiply(quaternion.conjugate(q), beyond)
    phi = 1.0 if bent @ rest >= 0 else -1.0
    return (
        -stiffness * (q - phi * quaternion.multiply(beyond, quaternion.conjugate(rest))),
        -stiffness * (beyond - phi * quaternion.multiply(q, rest)),
    )


def reference_step(
    solver: XpbdSolver, state: StrandState, roots: RootPose, load: Load, *, dt: float, strand: int
) -> tuple[Float64Array, Float64Array, Float64Array, Float64Array, Float64Array]:
    """Points (V, 3), velocities (V, 3), orientations (N, 4), spins (N, 3) and cut forces (N, 3) after a step."""
    model, rest, g = solver.model, solver.rest, strand
    is_held, is_clamped = model.root_kind[g] != RootKind.FREE, model.root_kind[g] == RootKind.CLAMPED
    clamp = quaternion.multiply(roots.rotations[g], rest.clamp[g])
    inverse = np.zeros((model.vertex_count, 3, 3))
    x = np.empty((model.vertex_count, 3))
    for j in range(model.vertex_count):
        beside = [_absolute(_full(load.coupling[g, k])) for k in (j - 1, j) if 0 <= k < model.segment_count]
        inertia = model.mass[g, j] * np.eye(3) + dt * (_full(load.resistance[g, j]) + sum(beside))
        inverse[j] = np.linalg.inv(inertia)
        impulse = model.mass[g, j] * (state.velocity[g, j] + dt * model.gravity) + dt * load.force[g, j]
        x[j] = state.points[g, j] + dt * inverse[j] @ impulse
    if is_held:
        inverse[0], x[0] = 0.0, roots.positions[g]
    spinning = np.pad(state.spin[g], ((0, 0), (0, 1)))
    q = quaternion.normalize(state.orientations[g] + 0.5 * dt * quaternion.multiply(spinning, state.orientations[g]))
    of_stretch, of_bend = np.zeros((model.segment_count, 3)), np.zeros((model.segment_count, 4))
    for _ in range(solver.params.iterations):
        for j in range(model.segment_count):
            if j > 0 or is_clamped:
                before = q[j - 1] if j else clamp
                weights = (solver._weight[g, j - 1] if j else 0.0, solver._weight[g, j])
                _project_bend(before, q[j], rest.darboux[g, j], weights, solver._bend[g, j] * dt**2, of_bend[j])
            _project_stretch(
                x[j : j + 2], q[j], rest.length[g, j], inverse[j : j + 2], solver._weight[g, j],
                solver._k_ss[g, j] * dt**2, of_stretch[j],
            )  # fmt: skip
    turned = quaternion.multiply(q, quaternion.conjugate(state.orientations[g]))
    spin = 2 / dt * np.where(turned[:, 3:] < 0, -1, 1) * turned[:, :3]
    return x, (x - state.points[g]) / dt, q, spin, -of_stretch / (rest.length[g][:, None] * dt**2)


def _project_stretch(
    x: Float64Array,
    q: Float64Array,
    length: float,
    inverse: Float64Array,
    weight: float,
    stiffness: float,
    multiplier: Float64Array,
) -> None:
    """Move the ends `x (2, 3)` and the orientation of a segment, in place; `stiffness` is k dt^2.

    Macklin et al. 2016 eq. 18: what a unit of multiplier does follows from the forces of eq. 4 to 6 with k C = -1.
    """
    give = (inverse[0] + inverse[1]) / length**2 + (4 * weight + 1 / stiffness) * np.eye(3)
    more = np.linalg.solve(give, -stretch_shear(x[0], x[1], q, length) - multiplier / stiffness)
    multiplier += more
    x[0] += inverse[0] @ stretch_force(-more, 1.0, length)
    x[1] -= inverse[1] @ stretch_force(-more, 1.0, length)
    q[...] = quaternion.normalize(q + weight * stretch_torque(-more, 1.0, q))


def _project_bend(
    before: Float64Array,
    after: Float64Array,
    rest: Float64Array,
    weights: tuple[float, float],
    stiffness: float,
    multiplier: Float64Array,
) -> None:
    """Turn the orientations beside a joint, in place. The gradients of eq. 2 are orthonormal matrices."""
    more = (-bend_twist(before, after, rest) - multiplier / stiffness) / (sum(weights) + 1 / stiffness)
    multiplier += more
    turned = after + weights[1] * quaternion.multiply(before, more)
    if weights[0] > 0:
        before[...] = quaternion.normalize(before + weights[0] * quaternion.multiply(after, quaternion.conjugate(more)))
    after[...] = quaternion.normalize(turned)


def _absolute(matrix: Float64Array) -> Float64Array:
    """The matrix with the same eigenvectors and the absolute eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    made: Float64Array = (vectors * abs(values)) @ vectors.T
    return made


def _full(six: Float64Array) -> Float64Array:
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
