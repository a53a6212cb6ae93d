"""The contract of a skin: bound once to a groom and its guides, then called for every frame."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mane.body.motion import Pose
from mane.body.solid import Solid
from mane.geometry.checks import FloatArray, IntArray, require_finite
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.simd.align import empty_aligned
from mane.skin.lengths import HairScales, as_long_as_at_rest, grow
from mane.skin.root_carry import RootCarry, in_rest_pose, load_in_world
from mane.skin.safety import HairSafety, HairSpacing
from mane.stage.protocol import Stage
from mane.strand.frame import GuideFrame, InsertedGuides
from mane.strand.ports import GuideLoad


def require_poses(solid_count: int, poses: Sequence[Pose]) -> None:
    """Raise ValueError unless there is a pose for every solid."""
    if len(poses) != solid_count:
        raise ValueError(f"frame.solid_poses: must hold a pose for each of the {solid_count} solids, got {len(poses)}")


class Skin(Stage):
    """Carries every hair of a groom by its guides.

    Attributes:
        groom: the dense hair at rest, all strands with the same vertex count.
        guides: what carries it, at rest.
        follows_guides: whether it goes by the guides of a frame; one that does not goes by the body alone.
        may_return_load: whether some of its settings make it push the guides of the next frame (`guide_load`).
        length_range: lengths over those at rest that the method may give a hair. One that is not finite or beyond them
            is made again by `_carried_plainly`, its length kept; `fallback_hairs` names those of the last frame.
        passes: finishing passes that scenes have behind this skin unless `[finish] of_skin = false`.
        length_scale: how many times as long as at rest hairs of the last frame are by their guides, (S,), besides what
            the method does (`HairScales`); None where their guides are as long as at rest, as in all simulations.
        takes_target: whether it pulls hair to where another skin has it, its argument `target`.
        can_be_target: whether it can be that other skin.

    On a body that deforms (`grow_on`), `_fill` sees all guides, and what they feel, as if the skin were in its rest
    pose, and fills in hairs in that pose; every hair is then carried by its own root (`root_carry`).
    """

    family = "skin"
    label = "skin"
    follows_guides: ClassVar[bool] = True
    may_return_load: ClassVar[bool] = False
    length_range: ClassVar[tuple[float, float]] = (0.0, 2.0)
    passes: ClassVar[tuple[str, ...]] = ()
    takes_target: ClassVar[bool] = False
    can_be_target: ClassVar[bool] = False
    length_scale: FloatArray | None = None
    _carry: RootCarry | None = None
    _spacing: HairSpacing | None = None  # of a method that works with `HairSpacing.groom`
    # What a method says of the frame that it fills: that it has measured `safety.norms` itself, and that hairs may be
    # of any length below their own, as where they are handed over from fading guides.
    _has_norms = _may_shorten = False
    is_checked: bool = True  # only what measures the cost of the check goes without

    def __init__(self, groom: Groom, guides: Guides) -> None:
        if not groom.is_uniform:
            raise ValueError(
                "groom: a skin needs one vertex count for all strands; mane.resample(groom, vertices=16).groom has one"
            )
        self.safety = HairSafety(groom)
        self.safety.expect(*self.length_range)
        self._longest = float(groom.lengths.max())
        self.groom = groom
        self.guides = guides
        self._scales = HairScales(groom, guides)
        self._points = empty_aligned((groom.strand_count, int(groom.vertex_counts[0]), 3), np.float32)

    @classmethod
    def check_files(cls, groom: Groom, guides: Guides, settings: Mapping[str, Any]) -> None:
        """Raise ValueError where a file that its settings name is of other hair; a run that makes no hair asks."""

    def __call__(self, frame: GuideFrame, out: FloatArray | None = None, *, copy: bool = False) -> FloatArray:
        """Return all hairs at this frame in a buffer of the skin that the next call fills again (not with `copy=True`).

        They are in the groom's order, in the world [m], shape (S, V, 3).

        Args:
            frame: of the guides that the skin was bound to.
            out: where to write, and what is returned, in place of the buffer.
            copy: return an array of your own, which stays as it is.
        """
        own = np.empty_like(self._points) if copy else self._points
        target = own if out is None else self._checked_out(out)
        self._check_frame(frame)
        self.length_scale = self._scales.of(frame) if self.follows_guides else None
        self._fill_safely(frame if self.length_scale is None else as_long_as_at_rest(frame), target)
        if self.length_scale is not None:
            grow(target, self.length_scale)
        return target

    def _fill_safely(self, frame: GuideFrame, out: FloatArray) -> None:
        """Fill `out` with hairs that are as long as hairs of the groom can be, whatever happened."""
        self._has_norms = self._may_shorten = False
        if self._carry is None:
            self._fill(frame, out)
        else:
            self._fill_on_skin(frame, self._carry, out)
        if self.is_checked:
            self._make_safe(frame, out)
        if self._spacing is not None:
            self._spacing.take_back(self.root_rotations(frame), out)

    @abstractmethod
    def _fill(self, frame: GuideFrame, out: FloatArray) -> None: ...

    def _fill_on_skin(self, frame: GuideFrame, carry: RootCarry, out: FloatArray) -> None:
        self._fill(carry.seen(frame), out)
        carry.carry(frame, out)

    def aim(self, frame: GuideFrame, seen: GuideFrame) -> FloatArray:
        """Where hairs belong on the head of `seen`, (S, V, 3) [m], for a skin that pulls them there; once per frame.

        `frame` is the same moment with guides and solids where they are; on a body that deforms, `seen` has the guides
        as in its rest pose, and the skin that asks carries what comes of it. The array is a buffer, as that of a call.
        """
        return self(seen)

    def _make_safe(self, frame: GuideFrame, points: FloatArray) -> None:
        """Make hairs again, in place, that are not as long as hairs can be."""
        reach = float(np.abs(frame.roots).max()) + self._longest
        rows = self.safety.failing(None if self._has_norms else points, reach, may_shorten=self._may_shorten)
        if len(rows):
            points[rows] = self._made_again(frame, rows)

    def _made_again(self, frame: GuideFrame, rows: IntArray) -> FloatArray:
        """Hairs `rows` as they can always be made, (H, V, 3) [m]."""
        seen = frame if self._carry is None else self._carry.seen(frame)
        points = np.ascontiguousarray(self._carried_plainly(seen, rows), np.float32)
        self.safety.keep_lengths(rows, points)
        if self._carry is not None:
            self._carry.carry(frame, points, rows)
        return points

    def _carried_plainly(self, frame: GuideFrame, rows: IntArray) -> FloatArray:
        """Directions of hairs `rows` whatever happened, (H, V, 3) [m]: by default those of the groom on its head."""
        carried: FloatArray = frame.head.apply(self.groom.as_uniform()[rows])
        return carried

    @property
    def fallback_hairs(self) -> IntArray:
        """Hairs of the last frame that the method could not carry, and that were carried plainly instead, (H,)."""
        return self.safety.fallback_hairs

    def grow_on(self, body: Solid | None) -> None:
        """Let every hair ride on the skin of the body, where that deforms; on any other, hairs follow their guides."""
        is_deforming = body is not None and body.animation is not None
        self._carry = RootCarry(self.groom, self.guides, body) if is_deforming and body is not None else None

    def root_rotations(self, frame: GuideFrame) -> NDArray[np.float64]:
        """How the skin at the root of each hair has turned since rest: one quaternion for all, (4,), or (S, 4)."""
        return frame.head.rotation if self._carry is None else self._carry.rotations(frame)

    def without_body_motion(self, frame: GuideFrame, points: FloatArray, rows: IntArray) -> FloatArray:
        """Hairs `rows` at a frame, (H, V, 3) [m], as seen from the head, or from the skin at their roots; a copy."""
        if self._carry is None:
            seen: FloatArray = frame.head.inverse_apply(points)
            return seen
        copy = points.copy()
        self._carry.back(frame, copy, rows)
        return copy

    def guides_without_body_motion(self, frame: GuideFrame) -> FloatArray:
        """Guides of a frame that are there, (G, V, 3) [m], as seen from the head, or from the skin at their roots."""
        points = frame.points if self._carry is None else in_rest_pose(frame, self.guides.rest).points
        seen: FloatArray = points[frame.active]
        return frame.head.inverse_apply(seen) if self._carry is None else seen

    def style_level(self, time: float, rest: FloatArray) -> FloatArray | None:
        """Between which of its styles points `rest (P, 3)` [m] of the hair at rest are at `time` [s], shape (P,).

        0 is the groom, 1 the first style; None of a skin that has no styles. Looks are blended by it.
        """
        return None

    def guide_load(self) -> GuideLoad | None:
        """What the hairs of the last frame do to their guides in the next (`GuideSource.receive`); None for nothing.

        The only way back in a frame. A skin with such forces has them in its memory as well. On a body that deforms
        they are those that it found in the rest pose; `world_load` turns them.
        """
        return None

    def world_load(self, frame: GuideFrame) -> GuideLoad | None:
        """`guide_load` after the call with `frame`, in the world, whatever the hair grows on."""
        load = self.guide_load()
        return load if load is None or self._carry is None else load_in_world(load, frame.root_rotations)

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes that the binding holds, its buffer included."""

    def _checked_out(self, out: FloatArray) -> FloatArray:
        if out.shape != self._points.shape or out.dtype != np.float32 or not out.flags.c_contiguous:
            raise ValueError(
                f"out: must be C-contiguous float32 of shape {self._points.shape}, got {out.dtype} of {out.shape}"
            )
        return out

    def _check_frame(self, frame: GuideFrame) -> None:
        slots = self.guides.capacity
        expected = {
            "points": (slots, self.guides.vertex_count, 3),
            "roots": (slots, 3),
            "root_rotations": (slots, 4),
            "active": (slots,),
            "weight": (slots,),
        }
        for name, shape in expected.items():
            array = getattr(frame, name)
            if array.shape != shape:
                raise ValueError(f"frame.{name}: must have shape {shape} (= bound guides), got {array.shape}")
            require_finite(f"frame.{name}", array)
        if frame.inserted is not None:
            self._check_inserted(frame.inserted)
        if frame.length_scale is not None:
            self._check_lengths(frame.length_scale)

    def _check_lengths(self, scale: FloatArray) -> None:
        slots = self.guides.capacity
        if scale.shape != (slots,):
            raise ValueError(f"frame.length_scale: must have shape {(slots,)} (= bound guides), got {scale.shape}")
        require_finite("frame.length_scale", scale)
        if not scale.min(initial=1.0) > 0:
            raise ValueError(f"frame.length_scale: must be above zero, got {scale.min():g} at guide {scale.argmin()}")

    def _check_inserted(self, inserted: InsertedGuides) -> None:
        expected = (inserted.count, self.guides.vertex_count, 3)
        for name in ("rest", "points"):
            array = getattr(inserted, name)
            if array.shape != expected:
                raise ValueError(f"frame.inserted.{name}: must have shape {expected}, got {array.shape}")
            require_finite(f"frame.inserted.{name}", array)
        if inserted.count and not 0 <= inserted.parents.min() <= inserted.parents.max() < self.guides.capacity:
            raise ValueError(
                f"frame.inserted.parents: must be guides below {self.guides.capacity}, got {inserted.parents.max()}"
            )
