"""The simplest strand solver there is: vertices that know nothing of each other, for tests of what acts on them."""

import numpy as np

from mane.body.motion import Pose
from mane.body.solid import Solid
from mane.strand.model import RootKind, StrandModel
from mane.strand.ports import MovingSolid
from mane.strand.roots import RootPose
from mane.strand.solver import StrandSolver
from mane.strand.state import StrandState
from mane.strand.stepping import StepPath, Stepper

GRAVITY = 9.81


def symmetric(six):
    """Matrices (..., 3, 3) from the six numbers of a load (..., 6)."""
    xx, yy, zz, xy, xz, yz = np.moveaxis(six, -1, 0)
    return np.stack([np.stack([xx, xy, xz], -1), np.stack([xy, yy, yz], -1), np.stack([xz, yz, zz], -1)], -2)


class PointSolver(StrandSolver):
    """Solves M (v' - v) / dt = M g + F(v') for the load alone and moves points by dt v'."""

    has_twist = False

    def __init__(self, model):
        self.model = model

    def rest_state(self, roots):
        frames = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*self.model.rest_length.shape, 4))
        return StrandState.at_rest(self.model.rest_points, np.ascontiguousarray(frames))

    def step(self, state, out, roots, load, *, dt):
        model = self.model
        momentum = model.mass[..., None] * (state.velocity / dt + model.gravity) + load.force
        matrix = symmetric(load.resistance) + (model.mass / dt)[..., None, None] * np.eye(3)
        out.velocity[...] = np.linalg.solve(matrix, momentum[..., None])[..., 0]
        for s in np.flatnonzero(load.coupling.any(axis=(1, 2))):
            out.velocity[s] = self._coupled(matrix[s], symmetric(load.coupling[s]), momentum[s])
        out.points[...] = state.points + dt * out.velocity

    def _coupled(self, diagonal, beside, momentum):
        size = len(diagonal)
        matrix = np.zeros((size, 3, size, 3))
        for j in range(size):
            matrix[j, :, j, :] = diagonal[j]
        for j in range(size - 1):
            matrix[j, :, j + 1, :] = matrix[j + 1, :, j, :] = beside[j]
        return np.linalg.solve(matrix.reshape(3 * size, -1), momentum.ravel()).reshape(size, 3)

    def adopt(self, state, strands):
        pass

    def carry(self, state, before, after):
        raise NotImplementedError

    def energy(self, state):
        raise NotImplementedError

    def stretch(self, state):
        return np.zeros_like(self.model.rest_length)


def make_model(points, *, mass=1e-7, gravity=(0.0, -GRAVITY, 0.0), root=RootKind.FREE, bend=1e-20):
    """A model with the given rest points (G, V, 3); the solver knows nothing of its stiffness, but a part may."""
    return StrandModel(
        rest_points=np.asarray(points, np.float64),
        mass=np.asarray(mass),
        stretch_stiffness=np.asarray(1.0),
        bend_stiffness=np.asarray(bend),
        twist_stiffness=np.asarray(bend),
        damping=np.asarray(0.0),
        radius=np.asarray(4e-5),
        root_kind=np.asarray(root, np.int8),
        gravity=np.asarray(gravity, np.float64),
    )


class Scene:
    """Guides, solids (geometry, function from time to pose) and parts, stepped together."""

    def __init__(self, solver, forces=(), constraints=(), solids=()):
        self.solver, self.forces = solver, forces
        self.stepper = Stepper(solver, forces, constraints)
        count = solver.model.strand_count
        turned = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (count, 4))
        self.roots = RootPose.checked(solver.model.rest_points[:, 0], turned, count)
        self.state = solver.rest_state(self.roots)
        self.solids = [(g if isinstance(g, Solid) else Solid(g), pose) for g, pose in solids]
        self.time = 0.0

    def step(self, dt, substeps=1):
        start = self.time
        self.time = start + dt

        def moving(begin, end):
            times = (start + begin * dt, start + end * dt)
            return tuple(MovingSolid(solid, pose(times[0]), pose(times[1]), times) for solid, pose in self.solids)

        path = StepPath(lambda fraction: self.roots, moving)
        return self.stepper.step(self.state, self.state, path, time=self.time, dt=dt, substeps=substeps)

    def run(self, seconds, dt):
        report = None
        for _ in range(round(seconds / dt)):
            report = self.step(dt)
        return report


def still(time):
    return Pose.identity()


def shifted(velocity, start=(0.0, 0.0, 0.0)):
    """Pose that moves at a steady velocity [m/s] from `start` [m]."""
    turn = np.array([0.0, 0.0, 0.0, 1.0])
    return lambda time: Pose(np.asarray(start) + time * np.asarray(velocity), turn)
