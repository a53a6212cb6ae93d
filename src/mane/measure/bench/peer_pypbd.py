"""pyPBD beside us: the same guides as its rigid-segment rods, in a process of their own.

Its `Simulation` is a global, its threads are OpenMP's and fixed when it starts, and its log goes to standard output:
all reasons to keep it out of ours. Run as a program, this module reads a `.npz` of guides and writes one line of JSON.

A segment is a rigid body whose axis is z; the body before the first one has no mass and moves with the head. Joints sit
on the vertices. "direct" solves all joints of a rod at once (Deul et al. 2018), "gauss-seidel" one after the other.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mane.geometry import quaternion
from mane.strand.model import Float64Array

METHODS = ("direct", "gauss-seidel")
EXTRA = "pip install 'mane[peers]', or name an interpreter that has it in MANE_PEER_PYTHON"
INTERPRETER = "MANE_PEER_PYTHON"  # environment variable: pyPBD may live in an environment of its own
CUBE = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
CUBE_FACES = ((0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
              (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3))  # fmt: skip
ANSWER = "mane-peer "  # starts the line that is ours among the log's


@dataclass(frozen=True, eq=False)
class PeerJob:
    """Guides on a head that moves.

    Attributes:
        points: rest shape [m], shape (G, V, 3).
        poses: position and rotation of the head at the end of each step, shape (T, 7).
        dt: length of a step [s].
        young: Young's modulus [Pa].
        shear: shear modulus [Pa].
        radius: of the hair [m].
        density: [kg/m^3].
    """

    points: Float64Array
    poses: Float64Array
    dt: float
    young: float
    shear: float
    radius: float
    density: float


@dataclass(frozen=True)
class PeerResult:
    """What pyPBD made of it.

    Attributes:
        seconds: per step, without moving the roots.
        tips: places of the tips at the end [m], G rows of three.
        stretch: largest gap between neighbouring segments over their length, at the end.
    """

    seconds: float
    tips: list[list[float]]
    stretch: float


def is_installed() -> bool:
    """Whether pyPBD can be imported, here or by the interpreter that was named."""
    return INTERPRETER in os.environ or importlib.util.find_spec("pypbd") is not None


def run_peer(job: PeerJob, *, method: str, iterations: int, thread_count: int, timeout: float = 300.0) -> PeerResult:
    """Step the guides with pyPBD; ArithmeticError when it fails or takes longer than `timeout` [s]."""
    with tempfile.TemporaryDirectory(prefix="mane-peer-") as folder:
        job_file = Path(folder) / "job.npz"
        np.savez(job_file, points=job.points, poses=job.poses, numbers=_numbers(job))
        # An interpreter of the same version finds mane and what it needs where this one does, and pyPBD at home.
        paths = os.pathsep.join(path for path in sys.path if path)
        environment = {**os.environ, "OMP_NUM_THREADS": str(thread_count), "PYTHONPATH": paths}
        interpreter = os.environ.get(INTERPRETER, sys.executable)
        command = [interpreter, "-m", "mane.measure.bench.peer_pypbd", str(job_file), method, str(iterations)]
        try:
            done = subprocess.run(
                command, env=environment, cwd=folder, capture_output=True, text=True, timeout=timeout, check=True
            )
        except subprocess.TimeoutExpired as error:
            raise ArithmeticError(f"pyPBD {method} did not finish within {timeout:g} s") from error
        except subprocess.CalledProcessError as error:
            last = (error.stderr.strip().splitlines() or ["no message"])[-1]
            raise ArithmeticError(f"pyPBD {method} failed: {last}") from error
    line = next(line for line in done.stdout.splitlines() if line.startswith(ANSWER))
    return PeerResult(**json.loads(line.removeprefix(ANSWER)))


def _numbers(job: PeerJob) -> Float64Array:
    return np.array([job.dt, job.young, job.shear, job.radius, job.density])


# -- inside the other process ----------------------------------------------------------------------------------------


def main(path: str, method: str, iterations: int) -> None:
    """Read a job, step it, print the result."""
    with np.load(path, allow_pickle=False) as file:
        job = PeerJob(file["points"], file["poses"], *(float(number) for number in file["numbers"]))
    result = _Rods(job, method).run(iterations)
    sys.stdout.write("\n" + ANSWER + json.dumps(result.__dict__) + "\n")


class _Rods:
    """The guides in pyPBD's terms."""

    def __init__(self, job: PeerJob, method: str) -> None:
        pypbd = importlib.import_module("pypbd")
        self.job, self.pypbd = job, pypbd
        self.simulation = pypbd.Simulation.getCurrent()
        self.simulation.initDefault()
        self.model = self.simulation.getModel()
        self.shape = _cube(pypbd)
        self.first_body: list[int] = []
        self.ghosts: list[tuple[Float64Array, Float64Array]] = []
        for strand in job.points:
            self._add_rod(strand, method)

    def _add_rod(self, strand: Float64Array, method: str) -> None:
        edges = np.diff(strand, axis=0)
        # The massless body before the root carries on straight, with the frame of the first segment: a clamp.
        middles = np.concatenate([strand[:1] - 0.5 * edges[:1], 0.5 * (strand[1:] + strand[:-1])])
        lengths = np.linalg.norm(np.concatenate([edges[:1], edges]), axis=1)
        tangents = np.concatenate([edges[:1], edges]) / lengths[:, None]
        frames = quaternion.between_vectors(np.array([0.0, 0.0, 1.0]), tangents)
        start = len(self.model.getRigidBodies())
        self.first_body.append(start)
        self.ghosts.append((middles[0], frames[0]))
        for index, (middle, frame, length) in enumerate(zip(middles, frames, lengths, strict=True)):
            self._add_segment(middle, frame, float(length), moves=index > 0)
        pairs = [(start + i, start + i + 1) for i in range(len(edges))]
        joint = 0.5 * (lengths[:-1] + lengths[1:])
        joint[0] *= 0.5  # the clamp stands for half a segment
        self._add_joints(pairs, list(strand[:-1]), joint.tolist(), method)

    def _add_segment(self, middle: Float64Array, frame: Float64Array, length: float, *, moves: bool) -> None:
        job = self.job
        body = self.model.addRigidBody(
            1.0, *self.shape, translation=middle, rotation=quaternion.to_matrix(frame), scale=np.full(3, length)
        )
        mass = job.density * np.pi * job.radius**2 * length
        body.setMass(mass if moves else 0.0)
        across = mass * length**2 / 12
        # A true hair's inertia about its axis is a millionth of that across; pyPBD needs them closer together.
        body.setInertiaTensor(np.array([across, across, 0.1 * across]))

    def _add_joints(
        self, pairs: list[tuple[int, int]], places: list[Float64Array], lengths: list[float], method: str
    ) -> None:
        job, count = self.job, len(pairs)
        if method == "direct":
            self.model.addDirectPositionBasedSolverForStiffRodsConstraint(
                pairs, places, [job.radius] * count, lengths, [job.young] * count, [job.shear] * count
            )
            return
        for (a, b), place, length in zip(pairs, places, lengths, strict=True):
            self.model.addStretchBendingTwistingConstraint(a, b, place, job.radius, length, job.young, job.shear)

    def run(self, iterations: int) -> PeerResult:
        """Step through all poses of the head."""
        stepper = self.simulation.getTimeStep()
        stepper.setValueUInt(stepper.NUM_SUB_STEPS, 1)
        stepper.setValueUInt(stepper.MAX_ITERATIONS, iterations)
        self.pypbd.TimeManager.getCurrent().setTimeStepSize(self.job.dt)
        bodies, seconds = self.model.getRigidBodies(), 0.0
        for pose in self.job.poses:
            self._move_roots(bodies, pose)
            start = time.perf_counter()
            stepper.step(self.model)
            seconds += time.perf_counter() - start
        return PeerResult(seconds / len(self.job.poses), *self._measure(bodies))

    def _move_roots(self, bodies: Any, pose: Float64Array) -> None:
        for index, (middle, frame) in zip(self.first_body, self.ghosts, strict=True):
            body = bodies[index]
            body.setPosition(pose[:3] + quaternion.rotate(pose[3:], middle))
            body.setRotation(quaternion.multiply(pose[3:], frame))
            body.rotationUpdated()

    def _measure(self, bodies: Any) -> tuple[list[list[float]], float]:
        """Tips [m] and largest stretch: the gap between neighbouring segments over their length."""
        tips, stretch = [], 0.0
        for first, strand in zip(self.first_body, self.job.points, strict=True):
            lengths = np.linalg.norm(np.diff(strand, axis=0), axis=1)
            rows = range(first + 1, first + 1 + len(lengths))
            middle = np.array([bodies[row].getPosition() for row in rows]).reshape(-1, 3)
            frame = np.array([bodies[row].getRotation() for row in rows]).reshape(-1, 4)
            half = 0.5 * lengths[:, None] * quaternion.rotate(frame, np.array([0.0, 0.0, 1.0]))
            tips.append((middle + half)[-1].tolist())
            gap = np.linalg.norm((middle - half)[1:] - (middle + half)[:-1], axis=1)
            stretch = max(stretch, float((gap / lengths[1:]).max()))
        return tips, stretch


def _cube(pypbd: Any) -> tuple[Any, Any]:
    """A cube of side 1, because a rigid body must have a mesh."""
    vertices, mesh = pypbd.VertexData(), pypbd.IndexedFaceMesh()
    for corner in CUBE:
        vertices.addVertex(corner)
    mesh.initMesh(len(CUBE), 3 * len(CUBE_FACES), len(CUBE_FACES))
    for face in CUBE_FACES:
        mesh.addFace(list(face))
    mesh.buildNeighbors()
    return vertices, mesh


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
