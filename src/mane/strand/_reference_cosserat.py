"""One step of a single Cosserat rod with a dense matrix in plain NumPy: the specification of `_kernels_cosserat`."""

from __future__ import annotations

import numpy as np

from mane.geometry import quaternion
from mane.strand.cosserat import SPIN_INERTIA, CosseratSolver
from mane.strand.model import Float64Array, RootKind
from mane.strand.ports import Load
from mane.strand.roots import RootPose
from mane.strand.state import StrandState


def reference_step(
    solver: CosseratSolver, state: StrandState, roots: RootPose, load: Load, *, dt: float, strand: int
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Points (V, 3), frames (N, 4) and cut forces (N, 3) of one strand after a step of `dt`."""
    model, rest, g = solver.model, solver.rest, strand
    vertices, segments = model.vertex_count, model.segment_count
    pinned, clamped = model.root_kind[g] != RootKind.FREE, model.root_kind[g] == RootKind.CLAMPED
    clamp_before = state.extra["clamp"][g]
    clamp = quaternion.multiply(roots.rotations[g], rest.clamp[g])
    clamp_spin = quaternion.log(quaternion.multiply(clamp, quaternion.conjugate(clamp_before))) / dt

    velocity = state.velocity[g].copy()
    if pinned:
        velocity[0] = (roots.positions[g] - state.points[g, 0]) / dt
    points = state.points[g] + dt * velocity
    frames = quaternion.multiply(quaternion.exp(dt * state.spin[g]), state.frames[g])
    axis = quaternion.rotate(frames, np.broadcast_to([0.0, 0.0, 1.0], (segments, 3)))
    old_axis = quaternion.rotate(state.frames[g], np.broadcast_to([0.0, 0.0, 1.0], (segments, 3)))
    length, joint = rest.length[g], rest.joint_length[g]
    stretch = model.stretch_stiffness[g]
    bend, twist = model.bend_stiffness[g], model.twist_stiffness[g]
    held = np.ones(segments)
    held[0] = clamped

    size = 3 * (vertices + segments)
    matrix, right = np.zeros((size, size)), np.zeros(size)

    def x(j: int) -> slice:
        return slice(6 * j, 6 * j + 3)

    def theta(j: int) -> slice:
        return slice(6 * j + 3, 6 * j + 6)

    for j in range(vertices):
        resistance = _full(load.resistance[g, j])
        matrix[x(j), x(j)] += model.mass[g, j] / dt**2 * np.eye(3) + resistance / dt
        right[x(j)] += load.force[g, j] + model.mass[g, j] * model.gravity - resistance @ velocity[j]
    for j in range(segments):
        coupling = _full(load.coupling[g, j])
        matrix[x(j), x(j + 1)] += coupling / dt
        matrix[x(j + 1), x(j)] += coupling / dt
        right[x(j)] -= coupling @ velocity[j + 1]
        right[x(j + 1)] -= coupling @ velocity[j]

    strain = np.diff(points, axis=0) / length[:, None] - axis  # hsu2024 eq. 1
    jacobians = []
    for j in range(segments):
        jacobian = np.zeros((3, size))
        jacobian[:, x(j)] = -np.eye(3) / length[j]
        jacobian[:, x(j + 1)] = np.eye(3) / length[j]
        jacobian[:, theta(j)] = _cross_matrix(axis[j])
        jacobians.append(jacobian)
        matrix += stretch[j] * length[j] * jacobian.T @ jacobian
        right -= stretch[j] * length[j] * jacobian.T @ strain[j]
        tension = max(float(state.cut_force[g, j] @ old_axis[j]), 0.0)
        matrix[theta(j), theta(j)] += tension * length[j] * (np.eye(3) - np.outer(axis[j], axis[j]))
        inertia = SPIN_INERTIA * 0.5 * (model.mass[g, j] + model.mass[g, j + 1]) * length[j] ** 2
        matrix[theta(j), theta(j)] += inertia / dt**2 * np.eye(3)

    for j in range(segments):
        before = clamp if j == 0 else frames[j - 1]
        spin_before = clamp_spin if j == 0 else state.spin[g, j - 1]
        stiffness = held[j] / joint[j] * (bend[j] * np.eye(3) + (twist[j] - bend[j]) * np.outer(axis[j], axis[j]))
        damping = model.damping[g, j]
        moment = held[j] * joint_moment(before, frames[j], rest.darboux[g, j], bend[j], twist[j], joint[j])
        moment = moment + damping * stiffness @ (state.spin[g, j] - spin_before)
        block = stiffness * (1 + damping / dt)
        matrix[theta(j), theta(j)] += block
        right[theta(j)] -= moment
        if j > 0:
            matrix[theta(j - 1), theta(j - 1)] += block
            matrix[theta(j), theta(j - 1)] -= block
            matrix[theta(j - 1), theta(j)] -= block
            right[theta(j - 1)] += moment

    free = np.ones(size, bool)
    free[x(0)] = not pinned
    solution = np.zeros(size)
    solution[free] = np.linalg.solve(matrix[np.ix_(free, free)], right[free])
    linear = points + np.stack([solution[x(j)] for j in range(vertices)])
    turn = quaternion.exp(np.stack([solution[theta(j)] for j in range(segments)]))
    frames = quaternion.normalize(quaternion.multiply(turn, frames))
    cut = np.stack([stretch[j] * (strain[j] + jacobians[j] @ solution) for j in range(segments)])
    axis = quaternion.rotate(frames, np.broadcast_to([0.0, 0.0, 1.0], (segments, 3)))
    laid = np.cumsum(length[:, None] * (axis + cut / stretch[:, None]), axis=0)
    moved = linear[0] + np.concatenate([np.zeros((1, 3)), laid])
    if not pinned:
        moved += model.mass[g] @ (linear - moved) / model.mass[g].sum()
    return moved, frames, cut


def joint_moment(
    before: Float64Array, after: Float64Array, rest: Float64Array, bend: float, twist: float, joint: float
) -> Float64Array:
    """Moment (3,) [N m] of one joint by differentiating its energy numerically; in world axes."""

    def energy(turn: Float64Array) -> float:
        frame = quaternion.multiply(quaternion.exp(turn), after)
        off = quaternion.multiply(quaternion.conjugate(rest), quaternion.multiply(quaternion.conjugate(before), frame))
        off = off if off[3] >= 0 else -off
        # hsu2024 eq. 2: |C|^2 = 2 - 2 w
        return float((2 * bend * (off[:3] @ off[:3] + (1 - off[3]) ** 2) + 2 * (twist - bend) * off[2] ** 2) / joint)

    # Fourth-order central differences.
    step = 1e-3
    result = np.zeros(3)
    for a in range(3):
        e = np.zeros(3)
        e[a] = step
        result[a] = (8 * (energy(e) - energy(-e)) - (energy(2 * e) - energy(-2 * e))) / (12 * step)
    return result


def _full(six: Float64Array) -> Float64Array:
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _cross_matrix(v: Float64Array) -> Float64Array:
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
