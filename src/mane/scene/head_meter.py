"""`HeadMeter`: what became of the full head in a frame: lengths, and what is inside of what hair touches."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mane.body.packed import PackedSolid
from mane.geometry.checks import FloatArray, IntArray
from mane.metrics.length import length_error
from mane.metrics.penetration import TOUCH, penetration_depth
from mane.skin.lengths import rest_as_long_as_now
from mane.strand.frame import GuideFrame

if TYPE_CHECKING:
    from mane.body.solid import Solid
    from mane.scene.build import Assembly
    from mane.scene.config_output import BoundsTable
    from mane.strand.stepping import StepReport

LABEL = "measure hair"
SAMPLED = 500  # hairs of a frame, spread evenly over the groom; all of them in the last one
BLOCK = 8192  # hairs that are measured at a time: copies of a whole head would be the largest memory of a run
NOT_MEASURED = 1e-5  # [m]; a shorter hair has no length to lose


@dataclass(frozen=True)
class HairReport:
    """The full head at a frame, or the worst of several.

    Attributes:
        stretch: how much longer a hair is than at rest, at most, over its length there. Where sliders of learned hair
            have made it longer or shorter, rest is hair of that length (`Skin.length_scale`).
        shortening: how much shorter, at most.
        penetration: depth of the deepest point, roots apart [m].
        added_penetration: how much deeper than it was groomed a point is, at most, roots apart [m].
        points_inside: share of the points that are deeper than a hair's width, roots apart.
        root_penetration: depth of the deepest root [m].
        roots_inside: share of the roots that are deeper than a hair's width.
        fallbacks: hairs that the skin could not carry, and that were carried plainly instead.
    """

    stretch: float = 0.0
    shortening: float = 0.0
    penetration: float = 0.0
    added_penetration: float = 0.0
    points_inside: float = 0.0
    root_penetration: float = 0.0
    roots_inside: float = 0.0
    fallbacks: int = 0

    def worst(self, other: HairReport | None) -> HairReport:
        """Return the larger of each number."""
        if other is None:
            return self
        mine, theirs = asdict(self), asdict(other)
        return HairReport(**{name: max(mine[name], theirs[name]) for name in mine})


class HeadMeter:
    """Measures the hair of one frame after the other.

    Args:
        assembly: whose hair it is.
        last: number of the frame of which every hair is measured.
    """

    def __init__(self, assembly: Assembly, last: int) -> None:
        groom = assembly.hair.groom
        self._stage, self._last, self._rest = assembly.hair_stage, last, groom.as_uniform()
        source = assembly.source
        self._body = source.provide("body")
        self._solids = {number: PackedSolid.of(source.solids[number]) for number in source.touched}
        self._usable = groom.lengths > NOT_MEASURED
        count = min(SAMPLED, groom.strand_count)
        self._sample = np.linspace(0, groom.strand_count - 1, count).astype(np.int64)
        self._groomed: FloatArray | None = None

    def measure(self, index: int, frame: GuideFrame, points: FloatArray) -> HairReport:
        """Measure hairs (S, V', 3) [m] of a frame, as they come from the last finishing pass."""
        if index != self._last:
            return self._measure_rows(frame, points, self._sample)
        count = len(self._rest)
        blocks = [np.arange(start, min(start + BLOCK, count)) for start in range(0, count, BLOCK)]
        reports = [self._measure_rows(frame, points, rows) for rows in blocks]
        share = np.array([len(rows) for rows in blocks]) / count
        worst = reports[0]
        for report in reports[1:]:
            worst = worst.worst(report)
        return replace(
            worst,
            points_inside=float(share @ [report.points_inside for report in reports]),
            roots_inside=float(share @ [report.roots_inside for report in reports]),
        )

    def _measure_rows(self, frame: GuideFrame, points: FloatArray, rows: IntArray) -> HairReport:
        hair = np.ascontiguousarray(points[rows, :: self._stage.stride])
        has_length = self._usable[rows]
        error = np.zeros(1, np.float32)
        if has_length.any():
            own = rows[has_length]
            rest = rest_as_long_as_now(self._rest[own], self._stage.skin.length_scale, own)
            error = length_error(hair[has_length], rest)
        depth, added = self._depth(frame, hair, rows)
        return HairReport(
            stretch=max(float(error.max()), 0.0),
            shortening=max(float(-error.min()), 0.0),
            penetration=float(depth[:, 1:].max()),
            added_penetration=float(added[:, 1:].max()),
            points_inside=float((depth[:, 1:] > TOUCH).mean()),
            root_penetration=float(depth[:, 0].max()),
            roots_inside=float((depth[:, 0] > TOUCH).mean()),
            fallbacks=len(self._stage.skin.fallback_hairs),
        )

    def _depth(self, frame: GuideFrame, hair: FloatArray, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Depth of points of hairs `rows` inside body and solids, and how much of it the groom has not, (H, V) [m].

        No vertex is pushed farther out of the body than it was groomed (decision 23), so that what a groom has below
        the skin is there in every frame, and is no fault of the run.
        """
        depth = np.zeros(hair.shape[:2], np.float32)
        added = np.zeros_like(depth)
        for number, solid in self._solids.items():
            inside = penetration_depth(hair, [solid.sampled_at(frame.solid_poses[number], frame.time)])
            np.maximum(depth, inside, out=depth)
            if number == 0 and self._body is not None:
                inside -= self._groomed_depth(self._body, rows)
            np.maximum(added, inside, out=added)
        return depth, added

    def _groomed_depth(self, body: Solid, rows: IntArray) -> FloatArray:
        """Depth of points of hairs `rows` inside the body as groomed (H, V) [m]."""
        if self._groomed is not None and rows is self._sample:
            return self._groomed
        points = self._rest[rows]
        depth: FloatArray = np.maximum(-body.rest_distance(points.reshape(-1, 3)).reshape(points.shape[:2]), 0)
        if rows is self._sample:
            self._groomed = depth
        return depth


def outside_bounds(bounds: BoundsTable, guides: StepReport | None, hair: HairReport | None, strands: int) -> str | None:
    """Say in one line which bounds a frame is outside of; None where it is within all of them."""
    found = []
    if guides is not None:
        found.append(("guide_stretch", guides.stretch, "guides are stretched by", "%"))
    if hair is not None:
        found += [
            ("hair_stretch", hair.stretch, "hair is stretched by", "%"),
            ("hair_penetration", hair.added_penetration, "hair is deeper inside than groomed by", "mm"),
            ("hair_fallbacks", hair.fallbacks / max(strands, 1), "hair that the skin could not carry:", "%"),
        ]
    scale = {"%": 100.0, "mm": 1e3}
    lines = [
        f"{text} {scale[unit] * value:.3g} {unit} (bounds.{name} is {scale[unit] * getattr(bounds, name):g} {unit})"
        for name, value, text, unit in found
        if not value <= getattr(bounds, name)
    ]
    return "; ".join(lines) or None
