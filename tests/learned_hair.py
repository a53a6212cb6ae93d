"""Hair whose motion is known in closed form, to learn from: a stand-in for simulations, made in milliseconds."""

import numpy as np

from mane.body.motion_presets import make_motion
from mane.geometry import quaternion
from mane.reduced._kernels_controls import HEAD_CONTROLS, TURNS, fill_head_controls
from mane.reduced.canonical import BodyTrack, body_points, to_world
from mane.reduced.dynamics import Operator, roll_out
from mane.reduced.factors import Factor, corner_levels, corner_weights
from mane.reduced.representation import Directions

SIZE = 3  # coefficients that truly move


def poses_of(motion, frames, rate):
    rows = [motion.pose(t / rate) for t in range(frames)]
    return np.array([np.concatenate([pose.position, pose.rotation]) for pose in rows])


def strands(count=20, vertices=6, length=0.2, seed=0):
    """Strands on a ball that hang down a little."""
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(count, 3))
    roots *= 0.1 / np.linalg.norm(roots, axis=1, keepdims=True)
    along = np.linspace(0, 1, vertices)[:, None]
    return (roots[:, None] * (1 + 10 * length * along) - length * along**2 * np.array([0, 0.3, 0])).astype(np.float32)


class KnownHair:
    """Frames of styles that follow a known second-order system in a few directions (`TrainingData`).

    Each style has the same system with another gain, so that blends of styles are known as well.
    """

    def __init__(self, factors=(), rest=None, motions=4, frames=60, rate=30.0, amplitude=0.02, seed=0, wind=False):
        self.factors = tuple(Factor.of_levels(name, levels) for name, levels in factors)
        count = len(corner_levels(self.factors))
        self.rest = np.stack([strands(length=0.2 + 0.05 * c) for c in range(count)]) if rest is None else rest
        self.groomed, self.strands = self.rest, np.arange(self.rest.shape[1])
        self.frame_rate, self.has_wind = rate, wind
        self.motion_count = motions
        rng = np.random.default_rng(seed)
        self._heads = [
            poses_of(make_motion("random", amplitude=0.6, rate=1.5, seed=100 * seed + m), frames, rate)
            for m in range(motions)
        ]
        size = self.rest.shape[1] * (self.rest.shape[2] - 1) * 3
        self.basis = np.linalg.qr(rng.normal(size=(size, SIZE)))[0]
        gain = np.zeros((SIZE, HEAD_CONTROLS))
        # Gravity, the last step and how it changed, two turns.
        used = [*range(9), *range(TURNS, TURNS + 6)]
        gain[:, used] = rng.normal(size=(SIZE, 15)) * np.sqrt(size) * amplitude
        turn = np.linalg.qr(rng.normal(size=(SIZE, SIZE)))[0]
        self._gain, self._history = gain, np.stack([-0.8 * np.eye(SIZE), 1.6 * turn @ np.diag([1, 0.95, 0.9]) @ turn.T])

    def operator(self, corner):
        return Operator(self._gain * (1.0 + 0.5 * corner), self._history)

    @property
    def body(self):
        return body_points(self.rest[0][:, 0])

    def track(self, motion):
        heads = self._heads[motion]
        return BodyTrack(heads, None, np.zeros((len(heads), 3)) if self.has_wind else None)

    def coefficients(self, corner, motion):
        controls = np.zeros((len(self._heads[motion]), HEAD_CONTROLS))
        fill_head_controls(self._heads[motion], controls)
        return roll_out(self.operator(corner), controls)

    def points(self, corner, motion, rows=slice(None)):
        vectors = (self.coefficients(corner, motion) @ self.basis.T).astype(np.float32)
        hair = Directions().decode(vectors, self.rest[corner])
        return to_world(self._heads[motion], hair)[rows]


def turned(heads, angle):
    """The same motion on a base that is turned about the vertical and stands elsewhere."""
    turn = quaternion.from_axis_angle(np.array([0.0, 1.0, 0.0]), angle)
    where = quaternion.rotate(turn, heads[:, :3]) + np.array([1.0, 2.0, -0.5])
    return np.concatenate([where, quaternion.multiply(turn, heads[:, 3:])], axis=1)


def weights_of(factors, **sliders):
    return corner_weights(factors, sliders)
