"""Guides whose vertices know nothing of each other, or fall as one: the simplest things that forces can act on."""

from collections.abc import Sequence

import numpy as np

from mane.body.motion import Pose
from mane.strand.model import StrandModel
from mane.strand.ports import Force, Load, MovingSolid, StrandView
from mane.strand.roots import RootPose


def view(
    model: StrandModel,
    points: np.ndarray | None = None,
    velocity: np.ndarray | None = None,
    *,
    roots: tuple[RootPose, RootPose] | None = None,
    solids: tuple[MovingSolid, ...] = (),
    time: float = 0.01,
    dt: float = 0.01,
) -> StrandView:
    """What a force sees; by default guides at rest on a head at rest."""
    points = model.rest_points if points is None else points
    velocity = np.zeros_like(points) if velocity is None else velocity
    still = RootPose.carried(model.rest_points[:, 0].copy(), Pose.identity())
    before, after = (still, still) if roots is None else roots
    frames = np.zeros((model.strand_count, model.segment_count, 4))
    active = np.ones(model.strand_count, np.bool_)
    return StrandView(model, points, velocity, frames, active, before, after, solids, time, dt)


def load_of(force: Force, strands: StrandView) -> Load:
    """What one force adds in one step."""
    load = Load.empty(strands.model.strand_count, strands.model.vertex_count)
    force.add(strands, load)
    return load


def matrices(resistance: np.ndarray) -> np.ndarray:
    """The six numbers of each vertex as matrices (G, V, 3, 3)."""
    xx, yy, zz, xy, xz, yz = np.moveaxis(resistance, -1, 0)
    return np.stack([np.stack(row, -1) for row in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))], -2)


class LoosePoints:
    """Implicit Euler of free vertices: (m + dt D) v' = m (v + dt g) + dt F.

    With `rigid` all vertices of a strand have one velocity, as if it could neither bend nor turn.
    """

    def __init__(self, model: StrandModel, forces: Sequence[Force], *, rigid: bool = False) -> None:
        self.model = model
        self.rigid = rigid
        self.forces = forces
        self.points = model.rest_points.copy()
        self.velocity = np.zeros_like(self.points)
        self.time = 0.0
        for force in forces:
            force.prepare(model)

    def step(self, dt: float, roots: tuple[RootPose, RootPose] | None = None) -> None:
        self.time += dt
        model = self.model
        load = Load.empty(model.strand_count, model.vertex_count)
        seen = view(model, self.points, self.velocity, roots=roots, time=self.time, dt=dt)
        for force in self.forces:
            force.add(seen, load)
        mass = model.mass[..., None]
        left = mass[..., None] * np.eye(3) + dt * matrices(load.resistance)
        right = mass * (self.velocity + dt * model.gravity) + dt * load.force
        if self.rigid:
            left, right = left.sum(axis=1, keepdims=True), right.sum(axis=1, keepdims=True)
        solved = np.linalg.solve(left, right[..., None])[..., 0]
        self.velocity = np.broadcast_to(solved, self.points.shape).copy()
        self.points = self.points + dt * self.velocity
