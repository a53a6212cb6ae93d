"""How every hair gets to the page: carried there by its graphics card from the guides, or sent as points.

A `Carrier` is one side of the view. `CARRIERS` names the skins that a page can carry by itself; all others are carried
here for as many hairs as a person asks for, and arrive as points in 16 bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom
from mane.salon.protocol import UNITS, encode
from mane.salon.shown import even_order
from mane.scene.config import Scene
from mane.scene.hair_stage import HairStage
from mane.skin.adaptive.near import NearSets
from mane.skin.adaptive.skin import AdaptiveSkin
from mane.skin.bound import BoundSkin
from mane.skin.table import SKINS
from mane.stage.clock import StageClock
from mane.strand.frame import GuideFrame
from mane.strand.ports import GuideLoad
from mane.strand.source import GuideSource

Topics = Iterator[tuple[str, bytes]]


class Carrier(ABC):
    """One side of the view: what the page must know once, and in every frame.

    Attributes:
        note: what a person should know of it, or "".
        changed: hairs that hang on other guides than in the frame before.
        price: what the last frame cost besides, by name.
        is_carried_here: whether its time grows with the hairs that are sent.
    """

    note = ""
    changed = 0
    price: Mapping[str, float] = {}
    is_carried_here = False

    def __init__(self, side: int, stage: HairStage) -> None:
        self.side, self.stage = side, stage

    @abstractmethod
    def fixed(self) -> Topics:
        """Topics and messages that stay as they are."""

    def of_frame(self, number: int, frame: GuideFrame) -> Topics:
        """Topics and messages of one frame."""
        return iter(())

    def load(self, frame: GuideFrame) -> GuideLoad | None:
        """What the hair of the last frame does to its guides in the next step; None for most skins."""
        return None

    def reset(self) -> None:
        """Begin anew."""
        self.stage.reset()


class LinearCarrier(Carrier):
    """Linear skinning on the graphics card: the page gets the binding, and after that nothing but guides."""

    def fixed(self) -> Topics:
        """The binding."""
        skin = self.stage.skin
        assert isinstance(skin, BoundSkin)
        bundles = skin.bundles
        yield (
            f"carrier {self.side}",
            encode(
                "linear",
                side=self.side,
                places=skin.binding.guides_per_hair,
                weights=skin.binding.weights,
                of_hair=bundles.of_hair,
                guide=bundles.guide,
                parameter=bundles.parameter,
            ),
        )


class PointsCarrier(Carrier):
    """Any skin at all, with its finishing passes, for a number of hairs that this machine can carry."""

    is_carried_here = True

    def __init__(self, side: int, stage: HairStage, strands: int) -> None:
        super().__init__(side, stage)
        self._strands = strands
        self.note = f"{stage.skin.name} is carried by the server: {strands:,} hairs"

    def fixed(self) -> Topics:
        """Nothing: all that there is to know comes with a frame."""
        return iter(())

    def of_frame(self, number: int, frame: GuideFrame) -> Topics:
        """All points, in 16 bits each."""
        points = self.stage(frame)
        yield f"carrier {self.side}", packed_points(self.side, number, points)


def packing(points: FloatArray) -> tuple[FloatArray, float]:
    """Lowest corner of points (N, 3) and the step of 16 bits above it [m]."""
    low, high = points.min(axis=0), points.max(axis=0)
    return low, max(float((high - low).max()) / UNITS, 1e-9)


def packed_points(side: int, number: int, points: FloatArray) -> bytes:
    """Hairs (S, V, 3) [m] as a message: whole steps above the lowest corner, some 10 um for a head."""
    low, step = packing(points.reshape(-1, 3))
    packed = np.rint((points - low) / np.float32(step)).clip(0, UNITS).astype(np.uint16)
    return encode("points", side=side, number=number, strands=len(points), low=low, step=step, packed=packed)


class AllCarrier(PointsCarrier):
    """A skin that needs all hairs, in the order that the scene has them: all are carried here, and some are sent.

    One with a model knows them by their numbers; forces of hairs on guides are summed in that order.
    """

    is_carried_here = False  # fewer would not be faster
    why = "with a model"

    def __init__(self, side: int, stage: HairStage, sent: np.ndarray[Any, Any]) -> None:
        super().__init__(side, stage, len(sent))
        self._sent = sent
        count = stage.skin.groom.strand_count
        self.note = f"{stage.skin.name} {self.why} carries all {count:,} hairs on the server, and sends {len(sent):,}"

    def of_frame(self, number: int, frame: GuideFrame) -> Topics:
        """Points of the first hairs in the order of the page, in 16 bits each."""
        yield f"carrier {self.side}", packed_points(self.side, number, self._carried(frame)[self._sent])

    def _carried(self, frame: GuideFrame) -> FloatArray:
        return self.stage(frame)


class TwoWayCarrier(AllCarrier):
    """A skin that pushes its guides, as any of its hairs may."""

    why = "pushes its guides:"

    def _carried(self, frame: GuideFrame) -> FloatArray:
        started = perf_counter()
        points = self.stage(frame)
        self.price = {"all hairs for two-way correction [ms]": 1e3 * (perf_counter() - started)}
        return points

    def load(self, frame: GuideFrame) -> GuideLoad | None:
        """Forces on the guides."""
        return self.stage.skin.world_load(frame)


class AdaptiveCarrier(Carrier):
    """Guides chosen anew in every frame (chai2017): the choice is made here, the page blends and fades."""

    def __init__(self, side: int, stage: HairStage) -> None:
        super().__init__(side, stage)
        self._last: np.ndarray[Any, Any] | None = None
        self.note = "hairs lean on the page where it draws with WebGPU" if self._skin.params.lean else ""

    @property
    def _skin(self) -> AdaptiveSkin:
        skin = self.stage.skin
        assert isinstance(skin, AdaptiveSkin)
        return skin

    def fixed(self) -> Topics:
        """Eligible guides of all hairs."""
        skin, tables = self._skin, self._skin.tables
        message = encode(
            "adaptive",
            side=self.side,
            places=tables.rows.shape[1],
            fade=skin.params.fade,
            rows=tables.rows,
            guide=tables.guide_rows.guide,
            parameter=tables.guide_rows.parameter,
            leans=int(skin.params.lean),
            between=skin.graph.between,
            recovery=skin.recovery,
        )
        yield f"carrier {self.side}", message

    def of_frame(self, number: int, frame: GuideFrame) -> Topics:
        """The sets, where any hair has changed its own."""
        masks = self._skin.choose(frame)
        last, self._last = self._last, masks.copy()
        self.changed = 0 if last is None else int((masks != last).sum())
        if last is None or self.changed:
            yield f"sets {self.side}", encode("sets", side=self.side, masks=masks)

    def reset(self) -> None:
        """Begin anew."""
        super().reset()
        self._last = None


def can_carry(stage: HairStage, source: GuideSource) -> bool:
    """Whether a page can carry the hair of a stage by itself.

    It adds up how far guides are from rest: on a rigid head, without guides that come and go, and with lengths that
    stay, since what sliders of learned hair make longer or shorter is no hair of the groom's lengths any more.
    """
    if source.may_change_lengths:
        return False
    body = source.provide("body")
    is_rigid = body is None or body.animation is None
    guides = source.guides
    are_whole = bool((guides.weight[guides.active] == 1).all())
    return is_rigid and are_whole and getattr(source, "adaptive", None) is None and stage.skin.name in CARRIERS


def _adaptive(side: int, stage: HairStage) -> Carrier | None:
    skin = stage.skin
    assert isinstance(skin, AdaptiveSkin)
    is_known = isinstance(skin.sets, NearSets) and not skin.params.paper and not skin.params.use_frames
    return AdaptiveCarrier(side, stage) if is_known else None


CARRIERS: dict[str, Any] = {"linear": LinearCarrier, "adaptive": _adaptive}


def make_carrier(
    side: int, scene: Scene, groom: Groom, source: GuideSource, clock: StageClock, server_strands: int
) -> Carrier:
    """Return what carries the hair of a scene to one side of the page; the server carries `server_strands` at most.

    Passes that a skin goes with in scenes are left out: a page has none of them, and they would not keep the pace.
    """
    scene = replace(scene, finish=replace(scene.finish, of_skin=False))
    pushes = SKINS.find(scene.skin.method).may_return_load and side == 0
    if scene.skin.learned or pushes:
        order = even_order(groom.strand_count, scene.seed)  # that `groom` is in
        stage = HairStage(scene, groom.take(np.argsort(order)), source, clock)
        return (TwoWayCarrier if pushes else AllCarrier)(side, stage, order[:server_strands])
    if scene.skin.method in CARRIERS and scene.skin.target is None:
        stage = HairStage(scene, groom, source, clock)
        if can_carry(stage, source):
            made: Carrier | None = CARRIERS[scene.skin.method](side, stage)
            if made is not None:
                return made
    strands = min(server_strands, groom.strand_count)
    some = groom.take(np.arange(strands))
    return PointsCarrier(side, HairStage(scene, some, source, clock), strands)
