"""Toy methods that somebody outside the package might have made: one class each, and nothing else."""

from dataclasses import dataclass

import numpy as np

from mane.body.motion import Pose
from mane.geometry import quaternion
from mane.skin.base import Skin
from mane.skin.finish.passes import FinishingPass
from mane.strand.frame import GuideFrame
from mane.strand.ports import Force, GuideLoad
from mane.strand.solver import StrandSolver
from mane.strand.source import GuideSource
from mane.strand.state import StrandState, carry_rigidly


@dataclass(frozen=True)
class LagParams:
    """Settings of `LagSolver`.

    Attributes:
        sag_free: means nothing here; every model has it.
        rate: at which strands follow their roots [1/s].
    """

    sag_free: bool = True
    rate: float = 40.0

    def __post_init__(self):
        if not self.rate > 0:
            raise ValueError(f"rate: must be above 0, got {self.rate}")


class LagSolver(StrandSolver):
    """Strands that follow their roots with a delay; no mechanics at all."""

    name = "lag"
    settings = LagParams
    has_twist = False

    def __init__(self, model, **settings):
        super().__init__(model, **settings)
        self.params = LagParams(**settings)

    def _carried(self, roots):
        away = self.model.rest_points - self.model.rest_points[:, :1]
        return quaternion.rotate(roots.rotations[:, None], away) + roots.positions[:, None]

    def _frames(self, points):
        along = np.diff(points, axis=1)
        along /= np.linalg.norm(along, axis=2, keepdims=True)
        return quaternion.between_vectors(np.broadcast_to([0.0, 0.0, 1.0], along.shape), along)

    def rest_state(self, roots):
        points = self._carried(roots)
        state = StrandState.at_rest(points, self._frames(points))
        state.extra["steps"] = np.zeros(len(points))
        return state

    def step(self, state, out, roots, load, *, dt):
        goal = self._carried(roots) + 1e-3 * dt * load.force / self.model.mass[..., None]
        before = state.points.copy()
        points = before + (1 - np.exp(-self.params.rate * dt)) * (goal - before)
        points[:, 0] = roots.positions
        out.assign(state)
        out.points[...], out.velocity[...] = points, (points - before) / dt
        out.orientations[...] = self._frames(points)
        out.extra["steps"] += 1

    def adopt(self, state, strands):
        state.orientations[strands] = self._frames(state.points[strands])

    def carry(self, state, before, after):
        turn = quaternion.multiply(after.rotations, quaternion.conjugate(before.rotations))
        carry_rigidly(state, turn, before.positions, after.positions)

    def energy(self, state):
        return np.zeros(len(state.points))

    def stretch(self, state):
        return np.zeros(self.model.rest_length.shape)


@dataclass(frozen=True)
class TideParams:
    """Settings of `Tide`.

    Attributes:
        strength: of the pull [N].
    """

    strength: float = 1e-6


class Tide(Force):
    """A pull that comes and goes with the steps it has seen."""

    name = "tide"
    label = "moon"
    settings = TideParams

    def __init__(self, **settings):
        self.params = TideParams(**settings)

    def prepare(self, model):
        self._seen = 0

    def add(self, strands, load):
        self._seen += 1
        load.force[..., 1] += self.params.strength * np.sin(0.7 * self._seen)

    def memory(self):
        return {"seen": np.array(self._seen)}

    def restore(self, memory):
        self._seen = int(memory["seen"])

    def reset(self):
        self._seen = 0


@dataclass(frozen=True)
class CopyParams:
    """Settings of `CopySkin`.

    Attributes:
        share: of the frame before that stays.
        push: force that the hairs return to every vertex of their guides [N].
    """

    share: float = 0.3
    push: float = 2e-7


class CopySkin(Skin):
    """Every hair is carried by the head and drifts with the mean of all guides, slowly; and pushes them back."""

    name = "copy"
    settings = CopyParams
    needs = ("rest", "material")
    may_return_load = True

    def __init__(self, groom, guides, *, rest=None, material=None, **settings):
        super().__init__(groom, guides)
        self.params = CopyParams(**settings)
        self.material = material
        self._drift = np.zeros(3)

    def _fill(self, frame, out):
        carried = frame.head.apply(self.guides.rest.astype(np.float64))
        drift = (frame.points - carried).mean(axis=(0, 1))
        self._drift = self.params.share * self._drift + (1 - self.params.share) * drift
        share = np.linspace(0, 1, out.shape[1])[:, None]
        out[...] = frame.head.apply(self.groom.as_uniform()) + share * self._drift

    def guide_load(self):
        if not self.params.push:
            return None
        return GuideLoad(np.broadcast_to(self.params.push * np.sign(self._drift), (*self.guides.rest.shape[:2], 3)))

    def memory(self):
        return {"drift": self._drift.copy()}

    def restore(self, memory):
        self._drift = np.array(memory["drift"])

    def reset(self):
        self._drift = np.zeros(3)

    @property
    def nbytes(self):
        return self._points.nbytes


class Sparkle(FinishingPass):
    """Moves tips up by the number of frames that it has seen."""

    name = "sparkle"
    label = "glitter"
    needs = ("solids",)

    def __init__(self, solids=(), height: float = 1e-4):
        if not height >= 0:
            raise ValueError(f"height: must be at least 0, got {height}")
        self.height, self._seen = height, 0

    def __call__(self, points, frame):
        self._seen += 1
        points[:, -1, 1] += self.height * self._seen
        return points

    def memory(self):
        return {"seen": np.array(self._seen)}

    def restore(self, memory):
        self._seen = int(memory["seen"])

    def reset(self):
        self._seen = 0


@dataclass(frozen=True)
class SwingParams:
    """Settings of `SwingSource`.

    Attributes:
        size: of the swing at the tips [m].
    """

    size: float = 0.01


class SwingSource(GuideSource):
    """Guides that swing by a formula, which nobody simulates."""

    name = "swing"
    settings = SwingParams
    needs = ("guides", "head", "frame_rate")

    def __init__(self, guides, head=None, frame_rate=24.0, **settings):
        self.guides, self.head, self._dt = guides, head, 1 / frame_rate
        self.params = SwingParams(**settings)
        self.time = 0.0

    def _frame(self, pose, time):
        rest = self.guides.rest.astype(np.float64)
        share = np.linspace(0, 1, rest.shape[1])[:, None]
        swing = self.params.size * np.sin(9 * time) * share * np.array([1.0, 0.0, 0.0])
        points = pose.apply(rest + swing)
        count, vertices = rest.shape[:2]
        frames = np.tile(np.float32([0, 0, 0, 1]), (count, vertices - 1, 1))
        return GuideFrame(
            points=points.astype(np.float32),
            velocity=np.zeros(rest.shape, np.float32),
            orientations=frames,
            cut_force=np.zeros((count, vertices - 1, 3), np.float32),
            roots=points[:, 0].astype(np.float32),
            root_rotations=np.tile(pose.rotation.astype(np.float32), (count, 1)),
            active=self.guides.active.copy(),
            weight=self.guides.weight.copy(),
            head=pose,
            solid_poses=(),
            time=time,
        )

    def _pose(self, time):
        return Pose.identity() if self.head is None else self.head.pose(time)

    def reset(self, head_pose=None, *, time=0.0):
        self.time = float(time)
        return self._frame(self._pose(self.time) if head_pose is None else head_pose, self.time)

    def step(self):
        self.time += self._dt
        return self._frame(self._pose(self.time), self.time)

    @property
    def rest(self):
        return self._frame(Pose.identity(), 0.0)

    def memory(self):
        return {"time": np.array(self.time)}

    def restore(self, memory):
        self.time = float(memory["time"])
