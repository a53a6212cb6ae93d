"""The space that hair is learned in, and what the body does as seen from it: the controls u_t of the dynamics.

| | `HeadSpace`, the default | `BustSpace`, guan2012 section 3.1 |
|---|---|---|
| frame | the head's own | mean of the bust's vertices, turned about Y only |
| the body itself | how a bust with joints moves, seen from the head | principal components of the bust |
| how it moves | direction of gravity, the last step, five changes of it, six turns | z of eq. 7 |
| a head that stands still | all zero: rest is kept exactly | constants |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion
from mane.reduced._kernels_controls import HEAD_CONTROLS, STEP_COUNT, fill_head_controls

Array = NDArray[np.float64]

MOST_BODY_POINTS = 300  # of a bust that are looked at; a few joints move all of them
MOST_BODY_COMPONENTS = 10  # guan2012 section 3.1
BODY_RANK = 1e-4  # of the largest singular value: what moves less is taken for standing still
CENTIMETRES = 100.0
WIND_CONTROLS = 9  # its three components, and their six products


@dataclass(frozen=True, eq=False)
class BodyShape:
    """Points of the body that are looked at, and the principal components of how they move.

    Attributes:
        rest: those points in the rest pose [m], shape (B, 3); B of 0 for a body that nothing is known of.
        index: their numbers among the vertices of the mesh, shape (B,).
        mean: of the points in canonical space [m], shape (B * 3,).
        basis: principal components, shape (B * 3, b).
    """

    rest: Array
    index: NDArray[np.int64]
    mean: Array
    basis: Array

    def coefficients(self, canonical: Array) -> Array:
        """Of points in canonical space (T, B, 3), shape (T, b)."""
        # Not by a library with threads of its own: what is played is the same bytes anywhere.
        return np.asarray(np.einsum("tk,kb->tb", canonical.reshape(len(canonical), -1) - self.mean, self.basis))


@dataclass(frozen=True, eq=False)
class BodyTrack:
    """What a body does in T frames.

    Attributes:
        heads: poses of the head, position [m] and quaternion, shape (T, 7).
        points: of a body that deforms, those that are looked at [m], world, shape (T, B, 3); None for a rigid one.
        wind: velocity of the air [m/s], world, shape (T, 3); None where no model asks for it.
    """

    heads: Array
    points: Array | None = None
    wind: Array | None = None


class Space(Protocol):
    """A canonical space."""

    name: ClassVar[str]

    @property
    def body(self) -> BodyShape:
        """What is known of the body."""
        ...

    @property
    def has_wind(self) -> bool:
        """Whether wind is among the controls."""
        ...

    @property
    def rests_at_zero(self) -> bool:
        """Whether all controls are zero for an upright head that stands in still air: others say where hair settles."""
        ...

    @property
    def needs_points(self) -> bool:
        """Whether only a body that deforms can be played on: one that is rigid with the head says nothing of it."""
        ...

    @property
    def bodies(self) -> int:
        """Of how many frames the body is known: x_t alone is 1."""
        ...

    @property
    def steps(self) -> int:
        """How many steps of the head controls look back on."""
        ...

    @property
    def control_count(self) -> int:
        """Number of controls, U."""
        ...

    @property
    def body_count(self) -> int:
        """How many of them, the first, are the body's own: x_t."""
        ...

    def frames(self, track: BodyTrack) -> Array:
        """Canonical frames in the world, poses (T, 7)."""
        ...

    def controls(self, track: BodyTrack, frames: Array) -> Array:
        """Controls u_t, shape (T, U), of frames that `frames` returned."""
        ...


def to_canonical(frames: Array, points: NDArray[Any]) -> NDArray[Any]:
    """Points of the world (T, ..., 3) as seen from frames (T, 7)."""
    return _turned(quaternion.conjugate(frames[:, 3:]), points - _spread(frames[:, :3], points))


def to_world(frames: Array, points: NDArray[Any]) -> NDArray[Any]:
    """Points of canonical space (T, ..., 3) in the world."""
    return np.asarray(_turned(frames[:, 3:], points) + _spread(frames[:, :3], points))


def _spread(rows: Array, like: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(rows.reshape(len(rows), *(1,) * (like.ndim - 2), rows.shape[1]), like.dtype)


def _turned(rotations: Array, points: NDArray[Any]) -> NDArray[Any]:
    matrices = quaternion.to_matrix(rotations).astype(points.dtype)
    flat = points.reshape(len(points), -1, 3)
    return np.asarray(flat @ matrices.swapaxes(1, 2)).reshape(points.shape)


def fitted_poses(rest: Array, points: NDArray[Any]) -> Array:
    """Rigid motion that takes `rest (R, 3)` closest to each of `points (T, R, 3)` (Kabsch), poses (T, 7).

    Of a bust with joints the roots tell where the head is: all of the scalp moves with it.
    """
    middle, centre = rest.mean(axis=0), points.mean(axis=1, dtype=np.float64)
    spread = np.einsum("ri,trj->tij", rest - middle, points - centre[:, None])
    left, _, right = np.linalg.svd(spread)
    flip = np.sign(np.linalg.det(left @ right))
    left[:, :, 2] *= flip[:, None]
    turn = np.swapaxes(left @ right, 1, 2)
    rotation = quaternion.from_matrix(turn)
    return np.concatenate([centre - np.einsum("tij,j->ti", turn, middle), rotation], axis=1)


def with_products(wind: Array) -> Array:
    """Winds (T, 3) and the products of their components, (T, 9).

    Wind from the right does not blow hair as far to the left as wind from the left blows it to the right: the head is
    in the way. What is linear in the wind alone cannot tell that.
    """
    first, second = np.triu_indices(3)
    return np.concatenate([wind, wind[:, first] * wind[:, second]], axis=1)


@dataclass(frozen=True, eq=False)
class HeadSpace:
    """The head's own frame: nothing that is rigid with the head moves in it."""

    body: BodyShape
    has_wind: bool = False
    bodies: int = 1
    rests_at_zero: ClassVar[bool] = True
    name: ClassVar[str] = "head"

    @property
    def steps(self) -> int:
        """Six, or as many as the body is known of."""
        return max(STEP_COUNT, self.bodies - 1)

    @property
    def body_count(self) -> int:
        """Number of components of a body that moves against the head."""
        return int(self.body.basis.shape[1])

    @property
    def needs_points(self) -> bool:
        """Where there are components: what is rigid with the head has none."""
        return self.body_count > 0

    @property
    def control_count(self) -> int:
        """Those of the body, the head, and the wind."""
        return self.bodies * self.body_count + HEAD_CONTROLS + WIND_CONTROLS * self.has_wind

    def frames(self, track: BodyTrack) -> Array:
        """Poses of the head."""
        return track.heads

    def controls(self, track: BodyTrack, frames: Array) -> Array:
        """Body against the head, gravity, steps, turns, and the wind as the head feels it."""
        out = np.zeros((len(frames), self.control_count))
        start = self.bodies * self.body_count
        if start:
            assert track.points is not None
            out[:, :start] = with_earlier(self.body.coefficients(to_canonical(frames, track.points)), self.bodies)
        fill_head_controls(np.ascontiguousarray(frames), out[:, start : start + HEAD_CONTROLS])
        if self.has_wind and track.wind is not None:
            still = np.concatenate([np.zeros_like(frames[:, :3]), frames[:, 3:]], axis=1)
            out[:, start + HEAD_CONTROLS :] = with_products(to_canonical(still, track.wind))
        return out

    @classmethod
    def learned(
        cls, body: BodyShape, tracks: list[BodyTrack], has_wind: bool, window: int = 2, bodies: int = 1
    ) -> HeadSpace:
        """Find the components of a body that moves against the head; none of one that is rigid with it."""
        if tracks[0].points is None:
            return cls(_without_points(), has_wind, bodies)
        rows = np.concatenate([to_canonical(track.heads, track.points) for track in tracks])  # type: ignore[arg-type]
        rest = body.rest.reshape(-1)
        basis = _components(rows.reshape(len(rows), -1) - rest, scale=float(np.abs(body.rest).max()))
        return cls(BodyShape(body.rest, body.index, rest, basis), has_wind, bodies)

    @classmethod
    def stored(cls, body: BodyShape, has_wind: bool, window: int, bodies: int) -> HeadSpace:
        """As a model file has it."""
        return cls(body, has_wind, bodies)


@dataclass(frozen=True, eq=False)
class BustSpace:
    """As printed: centred on the bust, the head facing +Z, in centimetres (guan2012 3.1 and eq. 7).

    Attributes:
        window: frames of history that z_(t, t - window), z_(t - 1, t - window) and so on lead over; 2 as printed.
        bodies: frames of the bust: x_t alone is 1; with `window` + 1, x_(t-1) and x_(t-2) too, the model is a complete
            one of all frames of the window (guan2012 section 5).
    """

    body: BodyShape
    window: int = 2
    bodies: int = 1
    has_wind: ClassVar[bool] = False
    rests_at_zero: ClassVar[bool] = False
    needs_points: ClassVar[bool] = False  # a bust that is rigid with the head is one like any other
    name: ClassVar[str] = "bust"

    @property
    def steps(self) -> int:
        """Frames of the window before this one, or those of which the bust is known."""
        return max(self.window, self.bodies - 1)

    @property
    def body_count(self) -> int:
        """d_b: at most ten, and no more than the bust has; a tenth component of one with rank 8 would be noise."""
        return int(self.body.basis.shape[1])

    @property
    def control_count(self) -> int:
        """d_b + 10 as printed."""
        return self.bodies * self.body_count + 5 * self.window

    def frames(self, track: BodyTrack) -> Array:
        """Mean of the bust's vertices, and the rotation about Y by which the head faces +Z."""
        points = self._points(track)
        forward = quaternion.rotate(track.heads[:, 3:], np.array([0.0, 0.0, 1.0]))
        half = 0.5 * np.arctan2(forward[:, 0], forward[:, 2])
        zero = np.zeros_like(half)
        return np.column_stack([points.mean(axis=1), zero, np.sin(half), zero, np.cos(half)])

    def controls(self, track: BodyTrack, frames: Array) -> Array:
        """x_t, z_(t, t-2) and z_(t-1, t-2) as printed."""
        x = self.body.coefficients(to_canonical(frames, self._points(track))) * CENTIMETRES
        number = np.arange(len(frames))
        then = np.maximum(number - self.window, 0)
        moved = [relative_motion(frames, np.maximum(number - k, 0), then) for k in range(self.window)]
        return np.concatenate([with_earlier(x, self.bodies), *moved], axis=1)

    def _points(self, track: BodyTrack) -> Array:
        if track.points is not None:
            return track.points
        return to_world(track.heads, np.broadcast_to(self.body.rest, (len(track.heads), *self.body.rest.shape)))

    @classmethod
    def learned(
        cls, body: BodyShape, tracks: list[BodyTrack], has_wind: bool, window: int = 2, bodies: int = 1
    ) -> BustSpace:
        """Principal components of the bust in canonical space."""
        blank = cls(body)
        rows = np.concatenate([to_canonical(blank.frames(track), blank._points(track)) for track in tracks])
        flat = rows.reshape(len(rows), -1)
        mean = flat.mean(axis=0)
        basis = _components(flat - mean, scale=float(np.abs(flat).max()))
        return cls(BodyShape(body.rest, body.index, mean, basis), window, bodies)

    @classmethod
    def stored(cls, body: BodyShape, has_wind: bool, window: int, bodies: int) -> BustSpace:
        """As a model file has it."""
        return cls(body, window, bodies)


def with_earlier(rows: Array, count: int) -> Array:
    """Rows (T, k) with those of the frames before beside them, (T, count * k); before the first nothing moved."""
    number = np.arange(len(rows))
    return np.concatenate([rows[np.maximum(number - k, 0)] for k in range(count)], axis=1)


def relative_motion(frames: Array, now: NDArray[np.int64], then: NDArray[np.int64]) -> Array:
    """z of guan2012 eq. 7, (T, 5): translation [cm] as seen from the earlier frame, sine and cosine of the turn."""
    earlier = quaternion.conjugate(frames[then, 3:])
    translation = quaternion.rotate(earlier, frames[now, :3] - frames[then, :3]) * CENTIMETRES
    angle = 2.0 * (np.arctan2(frames[now, 4], frames[now, 6]) - np.arctan2(frames[then, 4], frames[then, 6]))
    return np.column_stack([translation, np.sin(angle), np.cos(angle)])


SPACES: dict[str, Any] = {"head": HeadSpace, "bust": BustSpace}


def body_points(rest: NDArray[Any]) -> BodyShape:
    """Some vertices of a body's mesh (N, 3), evenly spread over their order, with nothing learned of them yet."""
    count = min(len(rest), MOST_BODY_POINTS)
    index = np.unique(np.linspace(0, max(len(rest) - 1, 0), count).astype(np.int64))
    own = np.asarray(rest[index], np.float64)
    return BodyShape(own, index, np.zeros(own.size), np.zeros((own.size, 0)))


def _without_points() -> BodyShape:
    return BodyShape(np.zeros((0, 3)), np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 0)))


def _components(rows: Array, scale: float) -> Array:
    """Principal components of rows (T, B * 3), at most ten and no more than their rank, shape (B * 3, b)."""
    _, singular, right = np.linalg.svd(rows[:: max(1, len(rows) // 2000)], full_matrices=False)
    largest = max(float(singular.max(initial=0.0)), BODY_RANK * scale)
    rank = int((singular > BODY_RANK * largest).sum())
    return np.ascontiguousarray(right[: min(rank, MOST_BODY_COMPONENTS)].T)


def space_arrays(space: Space) -> dict[str, NDArray[Any]]:
    """Arrays of a space as a model file holds them."""
    body = space.body
    return {"body_rest": body.rest, "body_index": body.index, "body_mean": body.mean, "body_basis": body.basis}


def space_of(name: str, arrays: Mapping[str, NDArray[Any]], has_wind: bool, window: int, bodies: int) -> Space:
    """Undo `space_arrays`."""
    body = BodyShape(arrays["body_rest"], arrays["body_index"], arrays["body_mean"], arrays["body_basis"])
    space: Space = SPACES[name].stored(body, has_wind, window, bodies)
    return space
