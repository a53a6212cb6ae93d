"""One step of a single Cosserat rod with a dense matrix in plain NumPy: the specification of `_kernels`."""

from __future__ import annotations

import numpy as np

from mane.geometry import quaternion
from mane.strand._reference import is_resisted, stage_theta
from mane.strand.cosserat._kernels_stage import FAR, RENEWED_ROUNDS
from mane.strand.cosserat.solver import ROUNDS, SPIN_INERTIA, CosseratSolver
from mane.strand.model import Float64Array, RootKind
from mane.strand.ports import Load
from mane.strand.roots import RootPose
from mane.strand.state import StrandState


def reference_step(
    solver: CosseratSolver, state: StrandState, roots: RootPose, load: Load, *, dt: float, strand: int
) -> tuple[Float64Array, Float64Array, Float64Array, Float64Array]:
    """Points (V, 3), velocities (V, 3), frames (N, 4) and cut forces (N, 3) of one strand after a step of `dt`."""
    model, g = solver.model, strand
    theta = stage_theta(model, solver.params.theta, state.spin, load, dt=dt, strand=strand)
    stage = _Stage(solver, state, roots, load, dt, theta, strand)
    for _ in range(ROUNDS):
        stage.solve()
    if is_resisted(model, load, dt=dt, strand=strand) and np.linalg.norm(stage.turned, axis=1).max() > FAR:
        stage = _Stage(solver, state, roots, load, dt, theta, strand)
        stage.solve()
        for _ in range(RENEWED_ROUNDS - 1):
            stage.renew()
            stage.solve()
    rest = dt - stage.dt
    velocity = stage.velocity + stage.moved / stage.dt
    frames = quaternion.multiply(quaternion.exp(rest * (stage.spin + stage.turned / stage.dt)), stage.frames)
    straight_on = stage.points + rest * velocity
    laid = stage.laid(straight_on[0], quaternion.normalize(frames))
    if not stage.pinned:
        laid += model.mass[g] @ (straight_on - laid) / model.mass[g].sum()
    end_velocity = stage.velocity + stage.moved / (stage.dt * theta)
    return laid, end_velocity, quaternion.normalize(frames), stage.cut


class _Stage:
    """Implicit Euler over a part of the step, its matrix filled at the prediction, or where `renew` finds it."""

    def __init__(
        self,
        solver: CosseratSolver,
        state: StrandState,
        roots: RootPose,
        load: Load,
        step: float,
        theta: float,
        strand: int,
    ) -> None:
        model, rest, g = solver.model, solver.rest, strand
        self.model, self.rest, self.load, self.g = model, rest, load, g
        self.dt = dt = theta * step
        self.vertices, self.segments = model.vertex_count, model.segment_count
        self.pinned, self.clamped = model.root_kind[g] != RootKind.FREE, model.root_kind[g] == RootKind.CLAMPED
        before = state.extra["clamp"][g]
        after = quaternion.multiply(roots.rotations[g], rest.clamp[g])
        self.clamp_spin = quaternion.log(quaternion.multiply(after, quaternion.conjugate(before))) / step
        self.clamp = quaternion.multiply(quaternion.exp(dt * self.clamp_spin), before)
        self.velocity, self.spin = state.velocity[g].copy(), state.spin[g]
        if self.pinned:
            self.velocity[0] = (roots.positions[g] - state.points[g, 0]) / step
        self.points = state.points[g] + dt * self.velocity
        self.frames = quaternion.multiply(quaternion.exp(dt * self.spin), state.orientations[g])
        self.moved, self.turned = np.zeros((self.vertices, 3)), np.zeros((self.segments, 3))
        self.tension = np.maximum((state.cut_force[g] * _axes(state.orientations[g])).sum(axis=1), 0.0)
        self.axis = _axes(self.frames)  # where the matrix is filled
        strain = np.diff(self.points, axis=0) / rest.length[g][:, None] - self.axis  # hsu2024 eq. 1
        self.cut = model.stretch_stiffness[g][:, None] * strain
        self.matrix = self._matrix()

    def renew(self) -> None:
        """Fill the matrix where the stage has come."""
        self.axis = _axes(self.frames)
        self.tension = np.maximum((self.cut * self.axis).sum(axis=1), 0.0)
        self.matrix = self._matrix()

    def x(self, j: int) -> slice:
        """Rows of vertex j."""
        return slice(6 * j, 6 * j + 3)

    def theta(self, j: int) -> slice:
        """Rows of segment j."""
        return slice(6 * j + 3, 6 * j + 6)

    def _jacobian(self, j: int) -> Float64Array:
        """Of the stretch-shear constraint of segment j."""
        jacobian = np.zeros((3, 3 * (self.vertices + self.segments)))
        jacobian[:, self.x(j)] = -np.eye(3) / self.rest.length[self.g, j]
        jacobian[:, self.x(j + 1)] = np.eye(3) / self.rest.length[self.g, j]
        jacobian[:, self.theta(j)] = _cross_matrix(self.axis[j])
        return jacobian

    def _joint_stiffness(self, j: int) -> Float64Array:
        bend, twist = self.model.bend_stiffness[self.g, j], self.model.twist_stiffness[self.g, j]
        held = self.clamped if j == 0 else 1.0
        along = np.outer(self.axis[j], self.axis[j])
        stiffness: Float64Array = held / self.rest.joint_length[self.g, j] * (bend * np.eye(3) + (twist - bend) * along)
        return stiffness

    def _matrix(self) -> Float64Array:
        model, g, dt, x, theta = self.model, self.g, self.dt, self.x, self.theta
        size = 3 * (self.vertices + self.segments)
        matrix = np.zeros((size, size))
        for j in range(self.vertices):
            matrix[x(j), x(j)] += model.mass[g, j] / dt**2 * np.eye(3) + _full(self.load.resistance[g, j]) / dt
        for j in range(self.segments):
            coupling = _full(self.load.coupling[g, j]) / dt
            matrix[x(j), x(j + 1)] += coupling
            matrix[x(j + 1), x(j)] += coupling
            length, jacobian = self.rest.length[g, j], self._jacobian(j)
            matrix += model.stretch_stiffness[g, j] * length * jacobian.T @ jacobian
            across = np.eye(3) - np.outer(self.axis[j], self.axis[j])
            matrix[theta(j), theta(j)] += self.tension[j] * length * across + self._inertia(j) / dt**2 * np.eye(3)
            block = self._joint_stiffness(j) * (1 + model.damping[g, j] / dt)
            matrix[theta(j), theta(j)] += block
            if j > 0:
                matrix[theta(j - 1), theta(j - 1)] += block
                matrix[theta(j), theta(j - 1)] -= block
                matrix[theta(j - 1), theta(j)] -= block
        return matrix

    def _inertia(self, j: int) -> float:
        mean_mass = 0.5 * (self.model.mass[self.g, j] + self.model.mass[self.g, j + 1])
        return float(SPIN_INERTIA * mean_mass * self.rest.length[self.g, j] ** 2)

    def _unbalanced(self) -> Float64Array:
        """Forces and moments on vertices and segments as the stage stands."""
        model, g, dt, x, theta = self.model, self.g, self.dt, self.x, self.theta
        right = np.zeros(3 * (self.vertices + self.segments))
        velocity, spin = self.velocity + self.moved / dt, self.spin + self.turned / dt
        axis = _axes(self.frames)
        for j in range(self.vertices):
            right[x(j)] += self.load.force[g, j] + model.mass[g, j] * (model.gravity - self.moved[j] / dt**2)
            right[x(j)] -= _full(self.load.resistance[g, j]) @ velocity[j]
        for j in range(self.segments):
            coupling = _full(self.load.coupling[g, j])
            right[x(j)] += self.cut[j] - coupling @ velocity[j + 1]
            right[x(j + 1)] -= self.cut[j] + coupling @ velocity[j]
            right[theta(j)] += self.rest.length[g, j] * np.cross(axis[j], self.cut[j])
            right[theta(j)] -= self._inertia(j) * self.turned[j] / dt**2
            moment = self._moment(j, spin)
            right[theta(j)] -= moment
            if j > 0:
                right[theta(j - 1)] += moment
        return right

    def _moment(self, j: int, spin: Float64Array) -> Float64Array:
        model, g = self.model, self.g
        before, spin_before = (self.clamp, self.clamp_spin) if j == 0 else (self.frames[j - 1], spin[j - 1])
        constants = (model.bend_stiffness[g, j], model.twist_stiffness[g, j], self.rest.joint_length[g, j])
        elastic = joint_moment(before, self.frames[j], self.rest.darboux[g, j], *constants)
        viscous = model.damping[g, j] * self._joint_stiffness(j) @ (spin[j] - spin_before)
        result: Float64Array = elastic * (self.clamped if j == 0 else 1.0) + viscous
        return result

    def solve(self) -> None:
        """One round: solve with the matrix, turn the segments, lay the vertices along them."""
        model, g = self.model, self.g
        free = np.ones(len(self.matrix), bool)
        free[self.x(0)] = not self.pinned
        solution = np.zeros(len(self.matrix))
        solution[free] = np.linalg.solve(self.matrix[np.ix_(free, free)], self._unbalanced()[free])
        linear = self.points + np.stack([solution[self.x(j)] for j in range(self.vertices)])
        turn = np.stack([solution[self.theta(j)] for j in range(self.segments)])
        self.frames = quaternion.normalize(quaternion.multiply(quaternion.exp(turn), self.frames))
        for j in range(self.segments):
            self.cut[j] += model.stretch_stiffness[g, j] * self._jacobian(j) @ solution
        laid = self.laid(linear[0], self.frames)
        if not self.pinned:
            laid += model.mass[g] @ (linear - laid) / model.mass[g].sum()
        self.moved += laid - self.points
        self.turned += turn
        self.points = laid

    def laid(self, root: Float64Array, frames: Float64Array) -> Float64Array:
        """Vertices along segments of the length and direction that their cut forces demand."""
        strain = self.cut / self.model.stretch_stiffness[self.g][:, None]
        way = np.cumsum(self.rest.length[self.g][:, None] * (_axes(frames) + strain), axis=0)
        result: Float64Array = root + np.concatenate([np.zeros((1, 3)), way])
        return result


def _axes(frames: Float64Array) -> Float64Array:
    axes: Float64Array = quaternion.rotate(frames, np.broadcast_to([0.0, 0.0, 1.0], (len(frames), 3)))
    return axes


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
