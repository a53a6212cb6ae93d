"""The implicit step of one chain as a dense system, slow and obvious: what `_kernels` solves link by link.

The unknowns y are the rates of all joints, after the free motions of the root if it has any. Every velocity is an
affine function of them, L y + c: the Jacobians are written down link by link and nothing is eliminated. The step
minimises

    sum over vertices   1/2 m |v - v_start|^2 - h f.v + h/2 v.D v       (momentum, forces, resistance, coupling)
  + sum over joints     k/2 |kappa + h s (r - r_guess) - rest|^2 + h c/2 |s r|^2
  + sum over links      h^2/2 tension l |(w - w_guess) across the link|^2

about the shape that `guess` leads to, with kappa the curvature there and s its slope. The minimum of the first line is
M(q) y = J^T (m v_start + h f): velocity products are in it, because J belongs to the new shape and v_start to the old.
"""

from __future__ import annotations

import numpy as np

from mane.geometry import quaternion
from mane.strand._reference import stage_theta
from mane.strand.chain import shape as shape
from mane.strand.chain._kernels_adopt import TOO_NEAR
from mane.strand.chain._kernels_rows import FARTHEST
from mane.strand.chain.solver import ChainSolver
from mane.strand.model import Float64Array, RootKind
from mane.strand.ports import Load
from mane.strand.roots import RootPose
from mane.strand.state import StrandState


class DenseStep:
    """One step of strand `strand`, assembled once and solved `iterations` times; see `reference_step`."""

    def __init__(
        self, solver: ChainSolver, state: StrandState, roots: RootPose, load: Load, dt: float, strand: int
    ) -> None:
        self.solver, self.strand = solver, strand
        self.theta = stage_theta(solver.model, solver.params.theta, state.spin, load, dt=dt, strand=strand)
        self.dt, self.step = self.theta * dt, dt
        self.kind = RootKind(int(solver.model.root_kind[strand]))
        self.mass = solver.model.mass[strand]
        self.load = [np.asarray(array[strand]) for array in (load.force, load.resistance, load.coupling)]
        self.start = {name: array[strand] for name, array in state.arrays().items()}
        clamp = quaternion.multiply(roots.rotations[strand], solver.rest_base[strand])
        self.base_spin = (
            inverse_cayley(quaternion.multiply(clamp, quaternion.conjugate(self.start["extra.clamp"]))) / dt
        )
        back = cayley((self.dt - dt) * self.base_spin)
        self.clamp, clamp = clamp, quaternion.multiply(back, clamp)
        self.base = clamp if self.kind == RootKind.CLAMPED else self.start["orientations"][0]
        self.root_velocity = (roots.positions[strand] - self.start["points"][0]) / dt
        self.guess = limited(self.start["spin"], dt)
        along = shape.axis(self.start["orientations"], 2)
        self.tension = np.maximum((self.start["cut_force"] * along).sum(axis=1), 0.0)

    def predict(self) -> None:
        """Frames that the guess leads to, and the lever of every vertex on its link."""
        turn = cayley(self.dt * self.guess)
        directions = quaternion.rotate(turn, shape.axis(self.start["orientations"], 2))
        self.held = self.base if self.kind == RootKind.CLAMPED else quaternion.multiply(turn[0], self.base)
        self.frames = shape.carried_frames(directions[None], self.held[None])[0]
        self.links = directions * self.solver.length[self.strand, :, None]
        self.levers = self.links + quaternion.rotate(self.frames, self.solver.offset[self.strand])
        self.axes = shape.joint_axes(self.frames[None], self.held[None])[0]

    def jacobians(self) -> None:
        """Angular velocity of every link and velocity of every vertex as L y + c, one (3, unknowns + 1) array each."""
        count = len(self.links)
        extra = {RootKind.CLAMPED: 2, RootKind.HINGED: 3, RootKind.FREE: 6}[self.kind]
        size = extra + 2 * (count - 1)
        unknown = np.eye(size, size + 1)
        constant = np.zeros(size + 1)
        constant[-1] = 1.0
        spin = np.outer(self.base_spin, constant)
        end = np.outer(self.root_velocity, constant)
        if self.kind == RootKind.FREE:
            end = unknown[3:6]
        self.rates, self.spins, self.velocities = [], [], [end]
        for link in range(count):
            if link == 0 and self.kind != RootKind.CLAMPED:
                spin, rate = unknown[:3], None
            else:
                first = extra - 2 + 2 * link
                rate = unknown[first : first + 2]
                spin = spin + self.axes[link].T @ rate
            self.rates.append(rate)
            self.spins.append(spin)
            self.velocities.append(end - skew(self.levers[link]) @ spin)
            end = end - skew(self.links[link]) @ spin

    def solve(self) -> None:
        """Minimise; fills the motion at the end of the step and the cut forces."""
        self.predict()
        self.jacobians()
        size = self.spins[0].shape[1] - 1
        self.matrix, self.right = np.zeros((size, size)), np.zeros(size)
        for vertex, velocity in enumerate(self.velocities):
            self._add(velocity, self.mass[vertex] * np.eye(3), self.start["velocity"][vertex])
            self.right += velocity[:, :-1].T @ (self.dt * self._force(vertex))
            self._add(velocity, self.dt * symmetric(self.load[1][vertex]), np.zeros(3))
        for first, coupling in enumerate(self.load[2]):
            self._add_coupling(self.velocities[first], self.velocities[first + 1], self.dt * symmetric(coupling))
        self._add_joints()
        self._add_links()
        self.unknowns = np.append(np.linalg.solve(self.matrix, self.right), 1.0)
        self.spin = np.array([jacobian @ self.unknowns for jacobian in self.spins])
        self.velocity = np.array([jacobian @ self.unknowns for jacobian in self.velocities])
        self.cut_force = self._cut_forces()

    def linearise_again(self) -> None:
        """Take the motion and tension that were found as the next guess."""
        along = shape.axis(self.frames, 2)
        self.guess = limited(self.spin, self.dt)
        self.tension = np.maximum((self.cut_force * along).sum(axis=1), 0.0)

    def shape_at_end(self) -> tuple[Float64Array, Float64Array]:
        """Points (V, 3) and frames (N, 4) at the end of the step."""
        turn = cayley(self.dt * (self.spin - self.guess))
        directions = quaternion.rotate(turn, shape.axis(self.frames, 2))
        on = cayley((self.step - self.dt) * self.spin)
        directions = quaternion.rotate(on, directions)
        held = quaternion.multiply(on[0], quaternion.multiply(turn[0], self.held))
        held = self.clamp if self.kind == RootKind.CLAMPED else held
        frames = shape.carried_frames(directions[None], quaternion.normalize(held)[None])[0]
        root = self.start["points"][0] + self.step * self.velocity[0]
        ends = root + np.cumsum(directions * self.solver.length[self.strand, :, None], axis=0)
        vertices = ends + quaternion.rotate(frames, self.solver.offset[self.strand])
        return np.concatenate([root[None], vertices]), frames

    def velocity_at_end(self) -> Float64Array:
        """Velocities (V, 3) at the end of the step: they go on as they changed over the stage."""
        start = self.start["velocity"]
        velocity = start + (self.velocity - start) / self.theta
        if self.kind != RootKind.FREE:
            velocity[0] = self.root_velocity
        result: Float64Array = velocity
        return result

    def _force(self, vertex: int) -> Float64Array:
        result: Float64Array = self.load[0][vertex] + self.mass[vertex] * self.solver.model.gravity
        return result

    def _add(self, jacobian: Float64Array, weight: Float64Array, goal: Float64Array) -> None:
        """Add 1/2 (L y + c - goal).weight (L y + c - goal)."""
        linear, constant = jacobian[:, :-1], jacobian[:, -1]
        self.matrix += linear.T @ weight @ linear
        self.right += linear.T @ weight @ (goal - constant)

    def _add_coupling(self, first: Float64Array, second: Float64Array, weight: Float64Array) -> None:
        """Add v1.weight v2."""
        for a, b in ((first, second), (second, first)):
            self.matrix += a[:, :-1].T @ weight @ b[:, :-1]
            self.right -= a[:, :-1].T @ weight @ b[:, -1]

    def _add_joints(self) -> None:
        solver, h, g = self.solver, self.dt, self.strand
        kappa = shape.curvature(self.frames[None], self.held[None])[0]
        slope = shape.curvature_slope(kappa)
        before = np.concatenate([self.base_spin[None], self.guess[:-1]])
        for link, rate in enumerate(self.rates):
            if rate is None:
                continue
            guessed = self.axes[link] @ (self.guess[link] - before[link])
            stiffness = solver.stiffness[g, link] * (h * slope[link]) ** 2
            viscosity = solver.stiffness[g, link] * solver.model.damping[g, link] * h * slope[link] ** 2
            strain = kappa[link] - solver.rest_curvature[g, link]
            self._add(rate, stiffness * np.eye(2), guessed - strain / (h * slope[link]))
            self._add(rate, viscosity * np.eye(2), np.zeros(2))

    def _add_links(self) -> None:
        along = shape.axis(self.frames, 2)
        for link, spin in enumerate(self.spins):
            across = np.eye(3) - np.outer(along[link], along[link])
            pull = self.dt**2 * self.tension[link] * self.solver.length[self.strand, link]
            self._add(spin, pull * across, self.guess[link])
        if self.kind != RootKind.CLAMPED:
            own = self.solver.spin_inertia[self.strand]
            start = shape.axis(self.start["orientations"][0], 2) @ self.start["spin"][0]
            self._add(self.spins[0], own * np.outer(along[0], along[0]), start * along[0])

    def _cut_forces(self) -> Float64Array:
        v, (_, resistance, coupling) = self.velocity, self.load
        total = [
            self._force(i)
            - self.mass[i] * (v[i] - self.start["velocity"][i]) / self.dt
            - symmetric(resistance[i]) @ v[i]
            - (symmetric(coupling[i - 1]) @ v[i - 1] if i > 0 else 0.0)
            - (symmetric(coupling[i]) @ v[i + 1] if i + 1 < len(v) else 0.0)
            for i in range(len(v))
        ]
        result: Float64Array = shape.forces_beyond(np.array(total)[None])[0]
        return result


def reference_step(
    solver: ChainSolver, state: StrandState, roots: RootPose, load: Load, *, dt: float, strand: int
) -> dict[str, Float64Array]:
    """Points, velocity, frames, spin and cut force of one strand after a step of `dt` [s], by name."""
    step = DenseStep(solver, state, roots, load, dt, strand)
    step.solve()
    for _ in range(solver.params.iterations - 1):
        step.linearise_again()
        step.solve()
    points, frames = step.shape_at_end()
    return {
        "points": points,
        "velocity": step.velocity_at_end(),
        "orientations": frames,
        "spin": step.spin,
        "cut_force": step.cut_force,
    }


def reference_adopt(solver: ChainSolver, state: StrandState) -> StrandState:
    """All strands of `state` brought back on their chains, as a new state.

    From root to tip: every link points from where the one before it has ended at its vertex (less the offset from it in
    the old frame), then turns so that its vertex comes closest to the velocity it has.
    """
    out = state.copy()
    clamped = (solver.model.root_kind == RootKind.CLAMPED)[:, None]
    old = shape.axis(state.orientations, 2)
    goals = state.points[:, 1:] - quaternion.rotate(state.orientations, solver.offset)
    directions, ends = np.empty_like(old), state.points.copy()
    for link in range(old.shape[1]):
        away = goals[:, link] - ends[:, link]
        distance = np.linalg.norm(away, axis=-1, keepdims=True)
        near = distance < TOO_NEAR * solver.length[:, link, None]
        directions[:, link] = np.where(near, old[:, link], away / np.where(near, 1.0, distance))
        ends[:, link + 1] = ends[:, link] + solver.length[:, link, None] * directions[:, link]
    out.orientations = shape.carried_frames(
        directions, np.where(clamped, state.extra["clamp"], state.orientations[:, 0])
    )
    out.points[:, 1:] = ends[:, 1:] + quaternion.rotate(out.orientations, solver.offset)
    levers, links = out.points[:, 1:] - ends[:, :-1], np.diff(ends, axis=1)
    own = (state.spin[:, 0] * directions[:, 0]).sum(axis=-1, keepdims=True) * directions[:, 0]
    spin = np.where(clamped, state.extra["clamp_spin"], own)
    axes = shape.joint_axes(out.orientations, np.where(clamped, state.extra["clamp"], out.orientations[:, 0]))
    speed = state.velocity[:, 0]
    for link in range(old.shape[1]):
        missing = state.velocity[:, link + 1] - speed - np.cross(spin, levers[:, link])
        reach = np.cross(axes[:, link], levers[:, link, None])
        normal = reach @ reach.swapaxes(1, 2) + TOO_NEAR * solver.length[:, link, None, None] ** 2 * np.eye(2)
        rate = np.linalg.solve(normal, reach @ missing[..., None])[..., 0]
        spin = spin + (axes[:, link] * rate[..., None]).sum(axis=1)
        out.spin[:, link] = spin
        out.velocity[:, link + 1] = speed + np.cross(spin, levers[:, link])
        speed = speed + np.cross(spin, links[:, link])
    return out


def symmetric(six: Float64Array) -> Float64Array:
    """The 3 x 3 matrix of six numbers in the order of `ports.SYMMETRIC`."""
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def skew(u: Float64Array) -> Float64Array:
    """The matrix of u x."""
    x, y, z = u
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def cayley(w: Float64Array) -> Float64Array:
    """Rotations (..., 4) by 2 atan(|w| / 2) about w (..., 3)."""
    turn: Float64Array = quaternion.normalize(np.concatenate([0.5 * w, np.ones(w.shape[:-1] + (1,))], axis=-1))
    return turn


def inverse_cayley(q: Float64Array) -> Float64Array:
    """The w (3,) whose `cayley` is the rotation `q` (4,)."""
    result: Float64Array = 2 * q[:3] / q[3]
    return result


def limited(spin: Float64Array, dt: float) -> Float64Array:
    """Angular velocities (N, 3), none that turns a link by more than `FARTHEST` in one step."""
    turn = dt * np.linalg.norm(spin, axis=1, keepdims=True)
    result: Float64Array = spin * (FARTHEST / np.maximum(FARTHEST, turn))
    return result
