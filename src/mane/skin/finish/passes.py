"""Finishing passes: what is done to the dense hair after any skin. A pass is called with points and their frame.

```python
points = skin(frame)
for finish in (SolidAdjustment(solids), HermiteSubdivision(levels=2)):
    points = finish(points, frame)
```
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mane.body._kernels_cells import CelledSolid
from mane.body._kernels_solid_f32 import WEAK_GRADIENT
from mane.body.cells import solid_cells
from mane.body.motion import Pose
from mane.body.packed import PackedSolid, packed_poses
from mane.body.solid import Solid
from mane.geometry.checks import FloatArray, as_floats
from mane.geometry.limits import Count, NotNegative, Whole, check_arguments
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin._kernels_lengths import keep_lengths
from mane.skin.base import require_poses
from mane.skin.finish import _kernels as kernels
from mane.skin.finish.near_grid import NearGrid
from mane.skin.lengths import HairScales
from mane.stage.protocol import Stage
from mane.stage.table import Table
from mane.strand.frame import GuideFrame

NO_LIMIT = np.empty((0, 0), np.float32)

Distance = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


class FinishingPass(Stage):
    """Changes the dense hair of a frame.

    Attributes:
        stride: every so many vertices of what it returns are those that it was given; more than 1 for a pass that adds
            vertices between them.
        is_per_hair: whether it does to a hair what it would do if there were no other.
    """

    family = "pass"
    label = "finish"
    stride: int = 1
    is_per_hair: bool = True

    @abstractmethod
    def __call__(self, points: FloatArray, frame: GuideFrame) -> FloatArray:
        """Return the hairs (S, V', 3) [m], from `points (S, V, 3)`, which it may change in place."""


class SolidAdjustment(FinishingPass):
    """Hairs out of solids (chang2002 5.1 and 3.3): from root to tip, each vertex inside one goes to its surface.

    What lies beyond a moved vertex is drawn along with its segment lengths kept, and so is the moved vertex itself, as
    far as the surface lets it. Roots stay, since they sit on the skin. Points are changed in place.

    Args:
        solids: in the order of `frame.solid_poses`.
        touched: numbers of the solids that count; all by default.
        thickness: how far from a surface vertices are kept [m].
        rounds: how often a vertex goes back to its length and out again; 1 is the paper's own rule, which stretches
            the segment before each moved vertex.
        strict: keep lengths even where hair points straight at a solid, or is among its teeth: the segment turns aside
            to where its end is outside. Hair that is not simulated knows no side that it was on before, so this
            flickers; without it such hair is some percent too long.
        groom: the hairs at rest. With it, no vertex is pushed farther out of `body` than it was groomed, so that hair
            which lies below the skin at rest stays there.
        body: what hair grows on, the first of `solids`.

    Limitations: vertices are tested, not the segments between them. Solids are dealt with one after another, so a hair
    caught between two may remain in the first.
    """

    name = "push_out"
    version = 2  # no vertex is pushed farther out of the body than it was groomed
    needs = ("solids", "touched", "groom", "body")

    def __init__(
        self,
        solids: Sequence[Solid],
        *,
        touched: Sequence[int] | None = None,
        thickness: NotNegative = 0.0,
        rounds: Count = 3,
        strict: bool = False,
        groom: Groom | None = None,
        body: Solid | None = None,
    ) -> None:
        check_arguments(SolidAdjustment, locals())
        self.solids = tuple(solids)
        self.thickness = thickness
        self.rounds, self.strict = rounds, strict
        self._touched = range(len(self.solids)) if touched is None else touched
        self._packed = [PackedSolid.of(self.solids[number]) for number in self._touched]
        self._cell_lists = [solid_cells([one]) for one in self._packed]
        self._grids = [None if one.is_deforming else NearGrid.of(one, thickness) for one in self._packed]
        self._flags = np.empty((0, 0), np.uint8)
        self._cells = np.empty(0, np.uint8)
        self._lowest = NO_LIMIT
        if groom is not None and body is not None and 0 in self._touched and body is self.solids[0]:
            self._lowest = self._rest_distance(groom.as_uniform(), body)

    def _rest_distance(self, rest: FloatArray, body: Solid) -> FloatArray:
        """Distance of every vertex from the body at rest (S, V) [m], or nothing where all of them are outside."""
        still = PackedSolid.of(body.at_rest())
        distance = np.empty(rest.shape[:2], np.float32)
        flags = self._flagged(rest, NearGrid.of(still, self.thickness), body.rest_pose)
        solid, cells = still.arrays_at(0.0), solid_cells([still])
        kernels.fill_distance(solid, cells, packed_poses([body.rest_pose])[0], flags, rest, distance)
        return distance if (distance[:, 1:] < self.thickness).any() else NO_LIMIT

    def __call__(self, points: FloatArray, frame: GuideFrame) -> FloatArray:
        """Move `points (S, V, 3)` [m] out of the solids as they are at this frame, in place, and return them."""
        require_poses(len(self.solids), frame.solid_poses)
        for number, packed, cells, grid in zip(self._touched, self._packed, self._cell_lists, self._grids, strict=True):
            now = self._grid_now(packed, frame.time) if grid is None else grid
            knows = number == 0 and self._lowest.shape == points.shape[:2]  # not where vertices were added
            lowest = self._lowest if knows else NO_LIMIT
            solid = CelledSolid(packed.arrays_at(frame.time), cells)
            self._adjust(points, solid, now, frame.solid_poses[number], lowest)
        return points

    def _grid_now(self, packed: PackedSolid, time: float) -> NearGrid:
        grid = NearGrid.of(packed, self.thickness, time, self._cells)
        if grid.is_near.size > self._cells.size:
            self._cells = grid.is_near.reshape(-1)
        return grid

    def _adjust(self, points: FloatArray, solid: CelledSolid, grid: NearGrid, pose: Pose, lowest: FloatArray) -> None:
        flags, thickness = self._flagged(points, grid, pose), np.float32(self.thickness)
        kernels.adjust_hairs(
            *solid, packed_poses([pose])[0], thickness, lowest, self.rounds, self.strict, flags, points
        )

    def _flagged(self, points: FloatArray, grid: NearGrid, pose: Pose) -> NDArray[np.uint8]:
        """Flags of the vertices that are near a solid, in a buffer that the next call reuses."""
        if self._flags.shape != points.shape[:2]:
            self._flags = np.empty(points.shape[:2], np.uint8)
        kernels.flag_near(grid.at(pose), points.reshape(-1), self._flags.reshape(-1))
        return self._flags


def adjusted(
    points: FloatArray, distance: Distance, thickness: float, rounds: int, *, strict: bool = False
) -> NDArray[np.float64]:
    """Do what `SolidAdjustment` does for any distance function, one vertex of all hairs at a time; (S, V, 3) [m].

    It is the specification of its kernel.

    Args:
        points: hairs [m], shape (S, V, 3).
        distance: signed distance (P,) [m] and gradient (P, 3) at places (P, 3), world frame.
        thickness: as in `SolidAdjustment`.
        rounds: as in `SolidAdjustment`.
        strict: as in `SolidAdjustment`.
    """
    out = points.astype(np.float64)
    length = np.linalg.norm(np.diff(out, axis=1), axis=2)
    has_moved = np.zeros(len(out), np.bool_)
    for i in range(1, out.shape[1]):
        previous, goal = out[:, i - 1], out[:, i]
        goal[has_moved] = _drawn(previous, goal, length[:, i - 1])[has_moved]
        for again in reversed(range(rounds)):
            depth, gradient = distance(goal.astype(np.float32))
            inside = depth < thickness
            if not inside.any():
                break
            normal = gradient / np.maximum(np.linalg.norm(gradient, axis=1, keepdims=True), WEAK_GRADIENT)
            deep = (thickness - depth).astype(np.float64)
            outside = goal + deep[:, None] * normal
            if again and not strict:
                outside = _drawn(previous, outside, length[:, i - 1])
            elif again:
                outside = _turned_out(previous, goal, length[:, i - 1], deep, normal)
            elif strict:
                is_stuck = np.flatnonzero(deep > kernels.STUCK * length[:, i - 1])
                free, is_out = _freed(previous[is_stuck], goal[is_stuck], length[is_stuck, i - 1], distance, thickness)
                outside[is_stuck[is_out]] = free[is_out]
            goal[inside] = outside[inside]
            has_moved |= inside
    return out


def _turned_out(
    previous: NDArray[np.float64],
    goal: NDArray[np.float64],
    length: NDArray[np.float64],
    depth: NDArray[np.float64],
    normal: FloatArray,
) -> NDArray[np.float64]:
    """Ends of segments that are turned until they are `depth` further along their normal; see `turned_out`."""
    along = np.divide(goal - previous, length[:, None], out=np.zeros_like(goal), where=length[:, None] > 0)
    climb = (normal * along).sum(axis=1)
    turn = normal - climb[:, None] * along
    square = (turn**2).sum(axis=1)
    points_at_it = (climb < 0) & (square < kernels.STRAIGHT)
    for row in np.flatnonzero(points_at_it):
        across = np.cross(np.eye(3)[np.argmin(np.abs(along[row]))], along[row])
        turn[row] = np.sqrt(kernels.STRAIGHT) * across / np.linalg.norm(across)
    square[points_at_it] = kernels.STRAIGHT
    size = np.maximum(np.maximum(climb, np.sqrt(square)), 0.5 * np.sqrt(kernels.STRAIGHT))
    farthest = length / size
    step = np.where(depth < farthest * square, depth / np.maximum(square, 1e-30), farthest)
    return _drawn(previous, goal + step[:, None] * turn, length)


def _freed(
    previous: NDArray[np.float64],
    goal: NDArray[np.float64],
    length: NDArray[np.float64],
    distance: Distance,
    thickness: float,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Ends of segments that are swung out, else turned to the closest free direction; which of them are outside."""
    found, is_out = _swung_out(previous, goal, length, distance, thickness)
    for row in np.flatnonzero(~is_out):
        ends = previous[row] + length[row] * kernels.TRIED.astype(np.float64)
        agrees = np.where(distance(ends.astype(np.float32))[0] >= thickness, kernels.TRIED @ (goal - previous)[row], -1)
        best = int(np.argmax(agrees))
        if distance(ends[best : best + 1].astype(np.float32))[0][0] >= thickness:
            found[row], is_out[row] = ends[best], True
    return found, is_out


def _swung_out(
    previous: NDArray[np.float64],
    goal: NDArray[np.float64],
    length: NDArray[np.float64],
    distance: Distance,
    thickness: float,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Ends of segments that are swung out of where they begin, and which of them come outside; see `swing_share`."""
    gradient = distance(previous.astype(np.float32))[1]
    out = gradient / np.maximum(np.linalg.norm(gradient, axis=1, keepdims=True), WEAK_GRADIENT)

    def swung(share: NDArray[np.float64]) -> NDArray[np.float64]:
        way = (1 - share)[:, None] * (goal - previous) + (share * length)[:, None] * out
        return _drawn(previous, previous + way, length)

    def is_outside(share: NDArray[np.float64]) -> NDArray[np.bool_]:
        ends = swung(share)
        has_direction = ((ends - previous) ** 2).sum(axis=1) >= 0.5 * length**2
        result: NDArray[np.bool_] = has_direction & (distance(ends.astype(np.float32))[0] >= thickness)
        return result

    shares = np.arange(1, kernels.SWINGS + 1) / kernels.SWINGS
    tried = np.stack([is_outside(np.full(len(goal), share)) for share in shares])
    is_out: NDArray[np.bool_] = np.logical_or.reduce(tried, axis=0)
    outside = shares[np.argmax(tried, axis=0)]
    inside = outside - shares[0]
    for _ in range(kernels.HALVES):
        middle = 0.5 * (inside + outside)
        is_free = is_outside(middle)
        inside, outside = np.where(is_free, inside, middle), np.where(is_free, middle, outside)
    return swung(outside), is_out


def _drawn(
    previous: NDArray[np.float64], goal: NDArray[np.float64], length: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Points in the direction of `goal` from `previous`, at the distance `length`."""
    way = goal - previous
    size = np.linalg.norm(way, axis=1, keepdims=True)
    result: NDArray[np.float64] = previous + way * np.divide(
        length[:, None], size, out=np.ones_like(size), where=size > 0
    )
    return result


class LengthKeeping(FinishingPass):
    """Hairs as long as they are at rest, segment by segment from root to tip; directions are kept, so what lies beyond
    a segment moves along with it. For skins that blend positions, which shorten hair where its guides part.

    Points are changed in place.

    Args:
        groom: the hairs at rest, all with the same vertex count.
        guides: what carries them, at rest. With them, hair is as much longer than the groom as its guides are, as
            sliders of learned hair make them.
    """

    name = "keep_lengths"
    needs = ("groom", "guides")

    def __init__(self, groom: Groom, guides: Guides | None = None) -> None:
        self._scales = None if guides is None else HairScales(groom, guides)
        edge = np.diff(groom.as_uniform(), axis=1)
        self._rest = np.sqrt(np.einsum("snc,snc->sn", edge, edge, dtype=np.float64)).astype(np.float32)

    def __call__(self, points: FloatArray, frame: GuideFrame | None = None) -> FloatArray:
        """Give `points (S, V, 3)` [m] the lengths of the groom, or what its guides have made of them, in place.

        The frame is asked for nothing but the latter. Returns the points.
        """
        hairs, segments = self._rest.shape
        if len(points) and points.shape != (hairs, segments + 1, 3):
            raise ValueError(f"points: must have shape {(hairs, segments + 1, 3)} (= the groom), got {points.shape}")
        scale = None if frame is None or self._scales is None else self._scales.of(frame)
        keep_lengths(self._rest if scale is None else self._rest * scale[:, None], points)
        return points


class HermiteSubdivision(FinishingPass):
    """Smooth hairs (chang2002 5.2): a cubic Hermite spline through the vertices, cut into 2^levels pieces per segment.

    Vertices stay where they are. Tangents are those of the parabola through a vertex and its neighbours (its two
    neighbours on one side at the ends), so that the curve has no kinks and a parabola stays one.

    Args:
        levels: how often each segment is halved, 1 or more.

    The buffer that is returned is the pass's own, and the next call reuses it.
    """

    name = "subdivide"

    def __init__(self, levels: Whole = 1) -> None:
        check_arguments(HermiteSubdivision, locals())
        self.levels = int(levels)
        self.stride = 2**self.levels
        self._out = np.empty((0, 0, 3), np.float32)

    def __call__(self, points: FloatArray, frame: GuideFrame | None = None) -> FloatArray:
        """Return hairs (S, (V - 1) 2^levels + 1, 3) [m] from `points (S, V, 3)`; the frame is not asked."""
        checked = as_floats("points", points, ("S", "V", 3))
        hairs, vertices = checked.shape[:2]
        shape = (hairs, (vertices - 1) * 2**self.levels + 1, 3)
        if self._out.shape != shape:
            self._out = np.empty(shape, np.float32)
        kernels.subdivide(checked, hermite_weights(2**self.levels), self._out)
        return self._out


def hermite_weights(pieces: int) -> FloatArray:
    """Weights of the two ends and their tangents at `pieces` even steps along a segment, its end left out, (P, 4)."""
    t = np.arange(pieces) / pieces
    start, end = (1 + 2 * t) * (1 - t) ** 2, t * t * (3 - 2 * t)
    return np.stack([start, end, t * (1 - t) ** 2, t * t * (t - 1)], axis=1).astype(np.float32)


FINISHING_PASSES: Table[FinishingPass] = Table(
    "kind",
    "mane.skin.finish.passes:FinishingPass",
    {
        "push_out": "mane.skin.finish.passes:SolidAdjustment",
        "keep_sides": "mane.skin.finish.sides:SideKeeping",
        "keep_volume": "mane.skin.finish.volume:VolumeKeeping",
        "keep_lengths": "mane.skin.finish.passes:LengthKeeping",
        "keep_out": "mane.skin.finish.keep_out:KeepOut",
        "wet_locks": "mane.skin.finish.wet_locks:WetLocks",
        "subdivide": "mane.skin.finish.passes:HermiteSubdivision",
    },
)
