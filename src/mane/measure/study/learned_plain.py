"""A frame of learned hair in plain NumPy, of all guides at once: what kernels are to be compared with.

The sums of `reduced/_reference.py`, with the basis in single precision and a product of NumPy's own library for it, and
the distance field of the body interpolated by indexing. Nothing is compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.motion import Pose
from mane.body.sdf import SignedDistanceField
from mane.geometry.frames import segment_frames
from mane.reduced import _reference as reference
from mane.reduced.source import LearnedSource

Array = NDArray[np.float64]
FLATTEST = 1e-3  # slope of a field below which a gradient stays short, as in the kernels


class PlainFrame:
    """The newest frame of a source, made anew: synthesis, strands out of the body, frames, velocities, forces.

    Args:
        source: on a body that is a rigid mesh, with the same sliders for all guides, about to step.
    """

    def __init__(self, source: LearnedSource) -> None:
        player, basis = source._player, source.model.basis
        self._operator, self._past = player.operators[0], player.past[0].copy()
        self._columns = basis.numbers * basis.scale.astype(np.float32)
        edges = np.diff(player.rest.astype(np.float64), axis=1)
        self._lengths = np.linalg.norm(edges, axis=2)
        self._unit = edges / self._lengths[..., None]
        self._rest_frames = segment_frames(player.rest).astype(np.float64)
        self._levels = player._levels.astype(np.float64)
        field = source.solids[0].field
        assert field is not None
        self._field: SignedDistanceField = field
        self._masses, self._gravity, self._dt = source._masses, source._gravity, source.frame_dt
        self._points, self._velocity = source._current.points, source._current.velocity

    def made(self, controls: Array, pose: Pose, roots: NDArray[Any], root_rotations: NDArray[Any]) -> dict[str, Array]:
        """Points, velocity, orientations and cut forces of the frame after the newest, with what the head does then."""
        y = reference.synthesize(self._operator.control, self._operator.history, controls, self._past)
        vectors = (self._columns @ y.astype(np.float32)).reshape(self._unit.shape)
        turn = pose.matrix[:3, :3]

        def distance(points: Array) -> tuple[Array, Array]:
            d, gradient = field_distance(self._field, (points - pose.position) @ turn)
            return d, gradient @ turn.T

        directions = (self._unit + vectors) @ turn.T
        points = reference.lay_strands(roots, directions, self._lengths, self._levels, [distance], 0.0)
        return {
            "points": points,
            "velocity": (points - self._points) / self._dt,
            "orientations": reference.strand_frames(points, root_rotations, self._rest_frames),
            "cut_force": reference.cut_forces(
                points, self._points, self._velocity, self._masses, self._gravity, self._dt
            ),
        }


def field_distance(field: SignedDistanceField, points: Array) -> tuple[Array, Array]:
    """Trilinear distance [m] at points (P, 3) of the solid's frame, and its unit gradient; outside the grid no less."""
    values = field.values
    position = (points - field.origin) / field.cell_size
    most = np.array(values.shape) - 1
    inside = np.clip(position, 0, most)
    cell = np.minimum(inside.astype(np.int64), most - 1)
    parts = np.stack([1 - (inside - cell), inside - cell])  # (2, P, 3)
    distance, gradient = np.zeros(len(points)), np.zeros((len(points), 3))
    for i, j, k in np.ndindex(2, 2, 2):
        value = values[cell[:, 0] + i, cell[:, 1] + j, cell[:, 2] + k]
        x, y, z = parts[i, :, 0], parts[j, :, 1], parts[k, :, 2]
        distance += x * y * z * value
        slopes = np.column_stack([(2 * i - 1) * y * z, (2 * j - 1) * x * z, (2 * k - 1) * x * y])
        gradient += slopes * value[:, None]
    gradient /= field.cell_size
    beyond = field.cell_size * np.linalg.norm(position - inside, axis=1)
    return distance + beyond, gradient / np.maximum(np.linalg.norm(gradient, axis=1, keepdims=True), FLATTEST)
