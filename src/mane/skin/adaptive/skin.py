"""`AdaptiveSkin`: hair that parts around solids, by sets of guides of each hair's own (chai2017)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mane.body.cells import world_boxes
from mane.body.solid import Solid
from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.simd.align import empty_aligned
from mane.skin.adaptive import _kernels_lean as kernels
from mane.skin.adaptive.blend import Blend, BlendTables
from mane.skin.adaptive.graph import GuideGraph
from mane.skin.adaptive.listed import ListedSets
from mane.skin.adaptive.model import AdaptiveModel
from mane.skin.adaptive.near import NearSets
from mane.skin.adaptive.params import AdaptiveParams
from mane.skin.adaptive.rows import GuideRows
from mane.skin.base import Skin
from mane.skin.last_frame import LONGEST_PAUSE, NO_FRAME, frame_digest
from mane.skin.lengths import as_long_as_at_rest
from mane.skin.root_carry import RootCarry
from mane.stage.memory import save_interval
from mane.stage.protocol import Memory
from mane.strand.frame import GuideFrame

NO_TIME = -math.inf
# Along a hair, after how much of it [m] a hair that leans to its guides is free again: towards the tip, where it hangs
# from the solid, and towards the root.
RECOVERY = (0.5, 0.08)
NEAR_SOLIDS = 0.1  # [m] hair of guides that are all farther from solids is not asked whether it leans


class AdaptiveSkin(Skin):
    """Every hair hangs on a set of guides of its own: the best that was learned, or the nearest that nothing parts.

    Guides are nodes of a graph, and connected where they may be interpolated between: where they move alike and no
    solid is between them (chai2017 4.1, 4.2). A set of guides is valid where all of them are connected. Every hair
    takes the best valid one of its sets, keeps it while it is about as good as the best, and where it changes, the
    jump fades away. Sets of a model connect all guides unless `use_motion` or `use_solids` say otherwise: each hair
    keeps its best set (decision 43). Without a model the sets are those of the naive variant (7.2), chosen anew in
    every frame: all of the ten nearest guides, or as many of them as are connected, weighted by eq. 11.

    Args:
        groom: the dense hair at rest, all strands with the same vertex count.
        guides: what carries it, at rest; those of the model, where there is one.
        model: what `mane learn adaptive` found out about this groom, or its file. Without one the sets are made of the
            nearest guides.
        solids: all solids, in the order of `frame.solid_poses`.
        touched: numbers of the solids that hair touches; all by default.
        body: what hair grows on, one of `solids`. It does not part guides: a way between two roots leads through it.
        settings: fields of `AdaptiveParams`.

    Attributes:
        params: the settings.
        graph: the guide graph of the last frame.
        sets: of guides that hairs may hang on: `NearSets`, or `ListedSets` of a model.
        chosen: what each hair hangs on: a mask over its eligible guides, or the number of a set of the model, (S,).
        seconds: that graph, choice, blend and leaning of the last frame took.

    Limitations: guides that are inserted during a run are not followed. Positions are blended, so lengths are not kept;
    the pass `keep_lengths` restores them. A hair all of whose eligible guides are on the other side of a solid goes
    along with one of them; the pass `keep_sides` holds it back. Scenes have both passes behind this skin.
    """

    name = "adaptive"
    version = 8  # the last frame and how fast guides came there are remembered
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {},
        {"paper": True},
        {"eligible": 4, "fade": 0.0, "use_motion": False, "use_frames": True},
    )
    settings = AdaptiveParams
    needs: ClassVar[tuple[str, ...]] = ("solids", "touched", "body")
    files = ("model",)
    passes = ("keep_lengths", "keep_sides")
    can_be_target = True
    _params_class: type[AdaptiveParams] = AdaptiveParams

    def __init__(
        self,
        groom: Groom,
        guides: Guides,
        *,
        model: str | AdaptiveModel | None = None,
        solids: Sequence[Solid] = (),
        touched: Sequence[int] | None = None,
        body: Solid | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(groom, guides)
        learned = _fitting_model(model, groom, guides)
        has_frames = learned is not None and learned.use_frames
        self.params = self._params_class(**settings).decided(has_model=learned is not None, has_frames=has_frames)
        self.sets = self._make_sets(learned)
        tangents = self.params.tangents if self.params.paper else 0.0
        use_frames = bool(self.params.use_frames)
        self._tables = BlendTables(groom, guides, self.sets.slots, use_frames=use_frames, tangents=tangents)
        numbers = range(len(solids)) if touched is None else touched
        checked = self._around = [number for number in numbers if solids[number] is not body]
        scale, spacing = self.sets.motion_scale(guides), float(guides.strands.lengths.max()) / (guides.vertex_count - 1)
        self._segment = (groom.lengths / max(self._points.shape[1] - 1, 1)).astype(np.float32)
        self.graph = GuideGraph(scale, guides.capacity, solids, checked, self.params, spacing)
        self._offset = empty_aligned(self._tables.rest.shape, np.float32)
        self._is_fading = np.zeros(groom.strand_count, np.bool_)
        self._leaning = np.zeros(self._points.shape, np.float32)
        self._is_leaning = np.zeros(groom.strand_count, np.bool_)
        self.seconds: dict[str, float] = {}
        self.save_every = save_interval(self._offset.nbytes)
        self.reset()

    def _make_sets(self, model: AdaptiveModel | None) -> NearSets | ListedSets:
        if model is None:
            return NearSets(self.groom, self.guides, self.params)
        return ListedSets(model, self.params)

    @classmethod
    def check_files(cls, groom: Groom, guides: Guides, settings: Mapping[str, Any]) -> None:
        """Raise ValueError where its model is of another groom, or of other guides."""
        _fitting_model(settings.get("model"), groom, guides)

    def hangs_on(self, hair: int) -> list[int]:
        """Slots of the guides that a hair hung on in the last frame."""
        mask, slots = int(self.sets.members(self.chosen)[hair]), self.sets.slots[hair]
        return [int(slots[a]) for a in range(len(slots)) if mask >> a & 1]

    def reset(self) -> None:
        """Forget the frames before."""
        self.chosen: NDArray[np.int32] = self.sets.first()
        self._offset[:] = 0
        self._is_fading[:] = False
        self._leaning[:], self._is_leaning[:], self._decay = 0, False, np.float32(0)
        self._time, self._seen = NO_TIME, np.zeros_like(self.guides.rest)
        self._velocity: FloatArray = np.zeros_like(self.guides.rest)
        self._digest, self._is_again = NO_FRAME, False
        self._blend: Blend | None = None
        self._jump: tuple[FloatArray, NDArray[np.bool_]] | None = None  # of `blend_rows`

    def _fill(self, frame: GuideFrame, out: FloatArray) -> None:
        self._fill_from(frame, frame, out)
        self._lean(frame, out)

    def _fill_on_skin(self, frame: GuideFrame, carry: RootCarry, out: FloatArray) -> None:
        """Solids are between guides where these really are; hairs are blended in the rest pose."""
        self._fill_from(frame, carry.seen(frame), out)
        carry.carry(frame, out)
        self._lean(frame, out)

    def _lean(self, frame: GuideFrame, out: FloatArray) -> None:
        """Let hairs lean towards their guides that are behind a solid, seen from there."""
        started = perf_counter()
        self.seconds["lean"] = 0.0
        solids, poses = self.graph.solids_at(frame)
        if not (self.params.lean and len(poses)) or self.params.paper:
            return
        if self.graph.clearance.min() > NEAR_SOLIDS and not self._is_leaning.any():
            return
        guides = self._tables.at_rows(np.ascontiguousarray(frame.points, np.float32))
        boxes = np.empty((len(guides), 6), np.float32)
        kernels.fill_boxes(guides, boxes)
        of_hairs = (self._tables.rows, self.sets.members(self.chosen), guides, boxes, self._tables.shift)
        turn = frame.head.matrix[:3, :3].astype(np.float32)
        kept = (turn, self._decay, self._leaning, self._is_leaning)
        of_solids = (solids, self.graph.cells, poses, world_boxes(self.graph.cells.box, poses))
        kernels.lean_hairs(*of_solids, *of_hairs, self.graph.between, self._segment, self.recovery, *kept, out)
        self.seconds["lean"] = perf_counter() - started

    @property
    def recovery(self) -> FloatArray:
        """Part of the way from its guides that a leaning hair wins back per vertex, to tip and root, shape (2,)."""
        step = float(self._segment.mean(dtype=np.float64))
        return np.array([step / RECOVERY[0], step / RECOVERY[1]], np.float32)

    @property
    def tables(self) -> BlendTables:
        """What hairs are blended from."""
        return self._tables

    @property
    def guide_rows(self) -> GuideRows:
        """Guide of each row of `tables`, and the places on it."""
        return self._tables.guide_rows

    def choose(self, frame: GuideFrame) -> NDArray[np.int32]:
        """Choose the sets of the next frame without blending hairs; returns masks over eligible guides (S,).

        Only on a body that does not deform. Jumps do not fade here.
        """
        self._check_frame(frame)
        seen = as_long_as_at_rest(frame)
        self._choose_from(seen, seen)
        return self.sets.members(self.chosen)

    def aim(self, frame: GuideFrame, seen: GuideFrame) -> FloatArray:
        """Hairs on the head of `seen`; solids are between guides where these are at `frame`.

        On a body that deforms hairs do not lean.
        """
        if seen is frame:
            return self(frame)
        self._check_frame(seen)
        self._fill_from(frame, seen, self._points)
        self._make_safe(seen, self._points)
        return self._points

    def _fill_from(self, frame: GuideFrame, seen: GuideFrame, out: FloatArray) -> None:
        """Fill `out` with hairs on the head of `seen`; guides are connected as they are at `frame`."""
        before, of_rows, decay = self._choose_from(frame, seen)
        started = perf_counter()
        self._decay = np.float32(decay)
        turn = seen.head.matrix[:3, :3]
        blend = Blend(
            present=of_rows,
            before=before,
            now=self.chosen,
            rotation=turn.reshape(-1).astype(np.float32),
            translation=(seen.head.position + turn @ self._tables.pivot).astype(np.float32),
            decay=self._decay,
            offset=self._offset,
            is_fading=self._is_fading,
        )
        self.sets.blend(self._tables, blend, out.reshape(len(out), -1))
        self._blend = blend
        self.seconds["blend"] = perf_counter() - started

    def blend_rows(self, values: FloatArray) -> FloatArray:
        """What the guides of the sets of the last frame have, (S, V, 3), of `values (R, 3, V)` of the rows of `tables`.

        Weighted as displacements are; what jumps where a set changes fades as they do.
        """
        last = self._blend
        if last is None:
            raise ValueError("blend_rows: must be asked for after a frame, got none")
        if self._jump is None:
            self._jump = self._no_jump()
        offset, is_fading = self._jump
        still = np.eye(3, dtype=np.float32).reshape(-1), np.zeros(3, np.float32)
        blend = replace(last, rotation=still[0], translation=still[1], offset=offset, is_fading=is_fading)
        out = np.empty_like(self._points)
        self.sets.blend(self._tables.with_shift(values), blend, out.reshape(len(out), -1))
        out -= self._tables.rest.swapaxes(1, 2)
        return out

    def _choose_from(self, frame: GuideFrame, seen: GuideFrame) -> tuple[NDArray[np.int32], FloatArray, float]:
        """Choose the sets of a frame; returns those before, how far the guide of each row is there, and what is left of
        jumps since the frame before.
        """
        local = seen.head.inverse_apply(seen.points.astype(np.float64))
        displacement = np.where(frame.active[:, None, None], local - self.guides.rest, 0).astype(np.float32)
        decay = self._take_in(frame, displacement)
        present = np.where(frame.active, frame.weight, 0).astype(np.float32)
        self._tables.move(displacement)
        started = perf_counter()
        self.graph.update(frame, self._velocity, present)
        connected = perf_counter()
        of_rows = self._tables.of_rows(present)
        before, self.chosen = self.chosen, self.sets.choose(self.graph, self._tables, of_rows, self.chosen)
        self.seconds = {"graph": connected - started, "choice": perf_counter() - connected}
        return before, of_rows, decay

    def _take_in(self, frame: GuideFrame, displacement: FloatArray) -> float:
        """Remember where the guides of a frame are; returns what is left of jumps since the frame before, 0 to 1.

        The last frame once more gives the same hair, and leaves the memory as it is.
        """
        digest = frame_digest(frame)
        self._is_again = digest == self._digest
        if self._is_again:
            return 1.0
        elapsed = frame.time - self._time
        self._velocity = self._velocity_to(displacement, elapsed)
        self._time, self._seen, self._digest = frame.time, displacement, digest
        return self._left_after(elapsed)

    def _left_after(self, elapsed: float) -> float:
        """What is left of jumps after some time [s], 0 to 1."""
        fade = 0.0 if self.params.paper else self.params.fade
        return math.exp(-elapsed / fade) if fade > 0 and 0 < elapsed < LONGEST_PAUSE else 0.0

    def _velocity_to(self, displacement: FloatArray, elapsed: float) -> FloatArray:
        """How fast guides came to where they are [m/s], (G, U, 3), as seen from the head; none after a pause."""
        if not 0 < elapsed < LONGEST_PAUSE:
            return np.zeros_like(displacement)
        velocity: FloatArray = (displacement - self._seen) / np.float32(elapsed)
        return velocity

    def memory(self) -> Memory:
        """What was chosen, what is left of jumps, and where the guides of the last frame were and how fast."""
        rows, leaning = np.flatnonzero(self._is_fading), np.flatnonzero(self._is_leaning)
        jumping: Memory = {}
        if self._jump is not None:
            offset, is_fading = self._jump
            jumping = {"jumping": np.flatnonzero(is_fading), "jump": offset[is_fading]}
        return {
            **jumping,
            "leaning": leaning,
            "lean": self._leaning[leaning],
            "chosen": self.chosen.copy(),
            "fading": rows,
            "offset": self._offset[rows],
            "seen": self._seen.copy(),
            "velocity": self._velocity.copy(),
            "time": np.array([self._time]),
            "frame": np.frombuffer(self._digest, np.uint8).copy(),
        }

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self.reset()
        if "chosen" in memory:
            self.chosen = memory["chosen"].copy()
            rows = memory["fading"]
            self._is_fading[rows], self._offset[rows] = True, memory["offset"]
            leaning = memory["leaning"]
            self._is_leaning[leaning], self._leaning[leaning] = True, memory["lean"]
            self._seen, self._velocity = memory["seen"].copy(), memory["velocity"].copy()
            self._time, self._digest = float(memory["time"][0]), memory["frame"].tobytes()
        if "jumping" in memory:
            offset, is_fading = self._jump = self._no_jump()
            is_fading[memory["jumping"]], offset[memory["jumping"]] = True, memory["jump"]

    def _no_jump(self) -> tuple[FloatArray, NDArray[np.bool_]]:
        return np.zeros_like(self._offset), np.zeros_like(self._is_fading)

    @property
    def nbytes(self) -> int:
        """Bytes that the binding holds, its buffer included."""
        jump = () if self._jump is None else self._jump
        held = (self._points, self._offset, self._is_fading, self._leaning, self._is_leaning, self.chosen, *jump)
        total: int = sum(array.nbytes for array in held) + self._tables.nbytes + self.sets.nbytes + self.graph.nbytes
        return total


def _fitting_model(model: str | AdaptiveModel | None, groom: Groom, guides: Guides) -> AdaptiveModel | None:
    """A model, or that of a file; ValueError unless it was learned of this groom and these guides."""
    if model is None:
        return None
    if isinstance(model, AdaptiveModel):
        model.require_fit(groom, guides)
        return model
    learned = AdaptiveModel.load(model)
    learned.require_fit(groom, guides, Path(model).name)
    return learned
