"""`SideKeeping`: hair stays on the side of a solid that it is on, so that what moves through it takes it along."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mane.body.cells import solid_cells, world_boxes
from mane.body.motion import Pose
from mane.body.packed import PackedSolid, packed_poses
from mane.body.solid import Solid
from mane.geometry import quaternion
from mane.geometry.checks import FloatArray
from mane.geometry.limits import NotNegative, check_limits
from mane.groom.groom import Groom
from mane.skin.base import require_poses
from mane.skin.finish import _kernels_sides as kernels
from mane.skin.finish._kernels_sides import SideRules
from mane.skin.finish.passes import FinishingPass
from mane.skin.last_frame import LONGEST_PAUSE, NO_FRAME, frame_digest
from mane.skin.solids import SkinSolids
from mane.stage.memory import save_interval
from mane.stage.protocol import Memory
from mane.strand.frame import GuideFrame

FEWEST_STEPS, MOST_STEPS = 16, 256  # that a frame may be cut into, powers of two
STEP_RATE = 1600.0  # [1/s] of them at least, so that a frame rate of 24 asks hair as often as one of 100
REACH = 0.02  # [m] around solids, within which it is remembered where hair was
TELEPORT = 0.5  # [m] a solid that moves farther in a frame was put there
FINEST = 1e-3  # [m] thinner solids count as this thick
BOXED = 4  # times in a frame at which boxes are put around solids
SUNK = 2e-4  # [m] that hair may be in the body: skin is rounded, and hair lies on it
HANG = 2.0  # [1/m] half a metre below a solid that pushes it, hair hangs where it would


class SideState(NamedTuple):
    """What is remembered of hairs from frame to frame."""

    last: FloatArray  # (S, V, 3): where hairs near solids were [m], world
    is_near: NDArray[np.bool_]  # (S,): whether `last` knows a hair
    offset: FloatArray  # (S, V, 3): how far hairs are from where their skin had them [m], seen from the head
    is_aside: NDArray[np.bool_]  # (S,): whether that is anything


@dataclass(frozen=True)
class SidesParams:
    """Settings of `SideKeeping`.

    Attributes:
        thickness: how far hair stays from solids [m].
        friction: between hair and solids [1].
        fade: time constant with which hair that no solid holds comes back to where its skin has it [s].
    """

    thickness: NotNegative = 0.0005
    friction: NotNegative = 0.15
    fade: NotNegative = 0.3

    def __post_init__(self) -> None:
        check_limits(self)


class SideKeeping(FinishingPass):
    """Hair stays on the side of a solid that it is on: teeth of a comb, fingers and gears take it along.

    A skin makes a hair of its guides in every frame, wherever solids are: a tooth that is between guides passes through
    the hairs between them, and `push_out`, which sees one frame, puts them behind the tooth once more than half of it
    has passed. Here it is remembered where hair was. From there it goes to where its skin has it, past the solids,
    which move at the same time, in steps that are shorter than what is thinnest of them; places on its segments that
    come into a solid are pushed out, with friction, and what hangs below goes along. How far a hair is from where its
    skin had it fades once nothing holds it. Lengths of segments are those that they came with, roots stay, and hair
    that meets nothing keeps its bytes. Points are changed in place.

    What a solid presses into the body goes along the skin, where `push_out` alone would put it now on one side of a
    neck and now on the other: hair that is near another solid, still aside, or taken into the body by its skin keeps
    out of the body as well, unless it was groomed into it. Without another solid all of it is left to `push_out`.

    Args:
        solids: in the order of `frame.solid_poses`.
        touched: numbers of the solids that count; all by default.
        body: what hair grows on, one of `solids`.
        groom: the hairs at rest; without them, or where the body deforms, the body is left to `push_out`.
        settings: fields of `SidesParams`.

    Limitations: of a solid that deforms, the shape of this frame stands for those between it and the frame before. A
    frame is cut into at most 256 steps of half of what is thinnest, its thickness included: teeth of 1 mm and the hair
    among them may move by 13 cm against each other, and where hair alone moves, by 0.8 m/s. Hair has no inertia here.
    """

    name = "keep_sides"
    version = 2  # the last frame is remembered
    settings = SidesParams
    needs = ("solids", "touched", "body", "groom")
    examples = ({}, {"friction": 0.0, "fade": 0.1})

    def __init__(
        self,
        solids: Sequence[Solid],
        *,
        touched: Sequence[int] | None = None,
        body: Solid | None = None,
        groom: Groom | None = None,
        **settings: Any,
    ) -> None:
        self.params = SidesParams(**settings)
        self._solid_count = len(solids)
        numbers = range(len(solids)) if touched is None else touched
        props = [number for number in numbers if solids[number] is not body]
        bodies = [number for number in numbers if solids[number] is body and solids[number].animation is None]
        self._is_outside = np.zeros(0, np.bool_)
        self._body: SkinSolids | None = None
        if groom is None or not props:
            bodies = []
        elif bodies and body is not None:
            self._is_outside, self._body = _outside_at_rest(body, groom), SkinSolids([body])
        self._checked, self._props = [*props, *bodies], len(props)
        own = [solids[number] for number in self._checked]
        packed = [PackedSolid.of(solid) for solid in own]
        self._solids, self._cells = SkinSolids(own) if own else None, solid_cells(packed)
        # How far the corners of solids are from their origins [m]; one without bounds deforms, and does not turn.
        corners = np.where(np.isfinite(self._cells.box), np.abs(self._cells.box), 0.0).reshape(-1, 2, 3).max(axis=1)
        self._sizes = np.linalg.norm(corners, axis=1).tolist()
        thinnest = min((one.feature for one in packed[: self._props]), default=1.0)
        # Hair moves by half of that in a step and is asked as often along its length, so that no tooth gets deeper into
        # it, or between two places, than its middle.
        self._spacing = float(np.clip(thinnest + self.params.thickness, FINEST, REACH))
        self._make_room(0, 0)
        self.reset()

    def _make_room(self, hairs: int, vertices: int) -> None:
        """Begin with so many hairs, of which nothing is known."""
        self._state = _nothing_known(hairs, vertices)
        self._taken = np.zeros(hairs, np.bool_)  # hairs that the last frame gave other points, or looked at
        self._digest = NO_FRAME
        self.save_every = save_interval(self._state.last.nbytes)

    def reset(self) -> None:
        """Forget the frames before."""
        self._time, self._poses = -math.inf, tuple[Pose, ...]()
        self._digest, self._taken[:] = NO_FRAME, False
        self._state.is_near[:] = False
        self._state.is_aside[:] = False

    def __call__(self, points: FloatArray, frame: GuideFrame) -> FloatArray:
        """Take `points (S, V, 3)` [m] past the solids from where they were at the last frame, in place."""
        if self._solids is None or not len(points):
            return points
        require_poses(self._solid_count, frame.solid_poses)
        if self._state.last.shape != points.shape:
            self._make_room(*points.shape[:2])
        digest = frame_digest(frame)
        if digest == self._digest:
            points[self._taken] = self._state.last[self._taken]
            return points
        self._go_on(points, frame)
        self._digest = digest
        return points

    def _go_on(self, points: FloatArray, frame: GuideFrame) -> None:
        """Take `points (S, V, 3)` [m] to a frame behind the last one, in place."""
        assert self._solids is not None
        elapsed = frame.time - self._time
        if not 0 < elapsed < LONGEST_PAUSE:
            self.reset()
        now = tuple(frame.solid_poses[number] for number in self._checked)
        before = tuple(_came_from(a, b) for a, b in zip(self._poses or now, now, strict=True))
        solids, _ = self._solids.at(replace(frame, solid_poses=now))
        rules = self._rules(before, now)
        poses = _poses_between(before, now, self._step_count(elapsed, rules))
        turn, kept = frame.head.matrix[:3, :3].astype(np.float32), np.float32(self._kept(elapsed))
        boxes, were_aside = self._boxes(poses), self._state.is_aside.copy()
        of_body = self._is_outside_of_body(len(points)), self._is_in_body(points, frame, now[self._props :])
        kernels.keep_sides(solids, self._cells, poses, boxes, rules, *of_body, turn, kept, *self._state, points)
        self._taken = were_aside | self._state.is_near
        self._time, self._poses = frame.time, now

    def _is_outside_of_body(self, count: int) -> NDArray[np.bool_]:
        """Which hairs are kept out of the body, (S,)."""
        return self._is_outside if len(self._is_outside) == count else np.zeros(count, np.bool_)

    def _is_in_body(self, points: FloatArray, frame: GuideFrame, poses: tuple[Pose, ...]) -> NDArray[np.bool_]:
        """Which hairs their skin has taken into the body, (S,); `poses` are none where that does not count."""
        found = np.zeros(len(points), np.bool_)
        if self._body is not None:
            found[self._body.penetrating(replace(frame, solid_poses=poses), points)] = True
        return found

    def _kept(self, elapsed: float) -> float:
        """What is left after some time of how far a hair is aside, 0 to 1."""
        return math.exp(-elapsed / self.params.fade) if self.params.fade > 0 else 0.0

    def _rules(self, before: Sequence[Pose], now: Sequence[Pose]) -> SideRules:
        swept = max(_farthest_moved(a, b, size) for a, b, size in zip(before, now, self._sizes, strict=True))
        return SideRules(
            props=self._props,
            thickness=np.float32(self.params.thickness),
            sunk=np.float32(SUNK),
            friction=np.float32(self.params.friction),
            stride=np.float32(0.5 * self._spacing),
            spacing=np.float32(self._spacing),
            hang=np.float32(HANG),
            swept=np.float32(swept),
        )

    def _step_count(self, elapsed: float, rules: SideRules) -> int:
        """How many steps a frame has for its quickest hairs, a power of two: those of solids, and of time."""
        wanted = float(rules.swept / rules.stride)
        if 0 < elapsed < LONGEST_PAUSE:
            wanted = max(wanted, STEP_RATE * elapsed)
        return int(np.clip(2 ** math.ceil(math.log2(max(wanted, 1.0))), FEWEST_STEPS, MOST_STEPS))

    def _boxes(self, poses: FloatArray) -> FloatArray:
        """Where solids are during the frame, and `REACH` around it, (Z, 6) [m]."""
        own, count = self._cells.box[: self._props], self._props
        every = np.stack([world_boxes(own, of_step[:count]) for of_step in poses[:: (len(poses) - 1) // BOXED]])
        low, high = every[..., :3].min(axis=0), every[..., 3:].max(axis=0)
        return np.concatenate([low - REACH, high + REACH], axis=1).astype(np.float32)

    def memory(self) -> Memory:
        """Where hairs near solids were, how far hairs are aside, and where the solids were in the last frame."""
        state, taken = self._state, np.flatnonzero(self._taken)
        near, aside = np.flatnonzero(state.is_near), np.flatnonzero(state.is_aside)
        return {
            "shape": np.array(state.last.shape),
            "near": near,
            "taken": taken,
            "last": state.last[taken],
            "aside": aside,
            "offset": state.offset[aside],
            "frame": np.frombuffer(self._digest, np.uint8).copy(),
            "time": np.array([self._time]),
            "poses": np.array([[*pose.position, *pose.rotation] for pose in self._poses], np.float64).reshape(-1, 7),
        }

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self.reset()
        if "near" not in memory:
            return
        self._make_room(*memory["shape"][:2].tolist())
        state, taken = self._state, memory["taken"]
        state.is_near[memory["near"]], state.is_aside[memory["aside"]], self._taken[taken] = True, True, True
        state.last[taken], state.offset[memory["aside"]] = memory["last"], memory["offset"]
        self._time, self._digest = float(memory["time"][0]), memory["frame"].tobytes()
        self._poses = tuple(Pose(row[:3], row[3:]) for row in memory["poses"])


def _nothing_known(hairs: int, vertices: int) -> SideState:
    shape = (hairs, vertices, 3)
    return SideState(
        np.zeros(shape, np.float32), np.zeros(hairs, np.bool_), np.zeros(shape, np.float32), np.zeros(hairs, np.bool_)
    )


def _outside_at_rest(body: Solid, groom: Groom) -> NDArray[np.bool_]:
    """Which hairs of a groom are out of the body at rest, (S,); roots do not count."""
    rest = groom.as_uniform()[:, 1:]
    distance = body.rest_distance(rest.reshape(-1, 3)).reshape(rest.shape[:2])
    result: NDArray[np.bool_] = distance.min(axis=1, initial=np.inf) > -SUNK
    return result


def _came_from(before: Pose, now: Pose) -> Pose:
    """Where a solid came from; one that was put elsewhere has come from nowhere."""
    return before if np.linalg.norm(now.position - before.position) <= TELEPORT else now


def _farthest_moved(before: Pose, now: Pose, size: float) -> float:
    """How far a point of a solid has moved at most [m]; none of it is farther from its origin than `size`."""
    angle = float(quaternion.angle_between(before.rotation, now.rotation))
    return float(np.linalg.norm(now.position - before.position)) + angle * size


def _poses_between(before: Sequence[Pose], now: Sequence[Pose], steps: int) -> FloatArray:
    """Poses of solids from frame to frame, for kernels, (steps + 1, Z, 12)."""
    parts = [k / steps for k in range(steps + 1)]
    return np.stack([packed_poses([a.toward(b, t) for a, b in zip(before, now, strict=True)]) for t in parts])
