"""False colours that show what hair does: which guide carries it, how far it stretches, where it is inside the body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.mesh import Mesh
from mane.body.solid import Solid
from mane.geometry.checks import FloatArray, IntArray, as_array, as_floats, require_choice, require_positive
from mane.geometry.index import PointIndex
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.select import select_guides
from mane.render.develop import linear_from_display
from mane.render.looks import Look
from mane.render.panels import Legend

# Display RGB: from what is compressed over what is as it should be to what is stretched.
DIVERGING = np.array(
    [[0.10, 0.25, 0.75], [0.45, 0.65, 0.95], [0.85, 0.85, 0.83], [0.97, 0.62, 0.35], [0.75, 0.10, 0.08]]
)
# Outside is grey; inside goes from yellow to a dark red.
ALARM = np.array([[0.72, 0.72, 0.70], [0.98, 0.88, 0.30], [0.95, 0.45, 0.12], [0.70, 0.02, 0.10]])
# Brightness rises evenly from low to high, so that it also reads in grey.
RISING = np.array([[0.18, 0.10, 0.32], [0.20, 0.32, 0.55], [0.15, 0.55, 0.55], [0.45, 0.75, 0.35], [0.98, 0.90, 0.25]])

STRETCH_RANGE = 0.05  # 1 is a doubling; the whole ramp from shorter by this share to longer by it
DEPTH_RANGE = 0.005  # [m]
GUIDES_ONLY = "guides"
GUIDE_COUNT = 128  # guides that are chosen where the groom says nothing of its own
GOLDEN_RATIO = 0.5 * (5.0**0.5 - 1.0)

# A look that shows the colours it is given: dull, without what makes hair hair.
FLAT = Look(model="kajiya", uses_groom_color=True, variation=0.0, tip_pigment=1.0, roughness=0.6)


@dataclass(frozen=True, eq=False)
class DebugColors:
    """Colours of the points of a groom, and what they mean.

    Attributes:
        colors: linear RGB, shape (P, 3).
        legend: the scale of the colours, or None where they only tell things apart.
        summary: what is seen, in a few words with numbers.
    """

    colors: FloatArray
    legend: Legend | None
    summary: str

    def paint(self, groom: Groom) -> Groom:
        """Return the groom with these colours as its attribute `color`."""
        return groom.with_vertex(color=self.colors)


@dataclass(frozen=True, eq=False)
class _Question:
    """What the caller of `debug_colors` gave."""

    groom: Groom
    guides: Guides | Groom | None
    rest: ArrayLike | None
    body: Solid | Mesh | None
    values: ArrayLike | None
    limit: float | None


def debug_colors(
    kind: str,
    groom: Groom,
    *,
    guides: Guides | Groom | None = None,
    rest: ArrayLike | None = None,
    body: Solid | Mesh | None = None,
    values: ArrayLike | None = None,
    limit: float | None = None,
) -> DebugColors:
    """Colour a groom by what it does.

    Args:
        kind: "guide" (one colour per guide), "stretch" (length against the rest length), "penetration" (depth inside
            the body) or "weight" (how much the nearest guide counts, or any numbers between 0 and 1).
        groom: the strands.
        guides: for "guide": the guides; a strand belongs to the one whose root is nearest. By default the groom's
            own `closest_guides`, as `grow` writes them.
        rest: for "stretch": points at rest [m], shape (P, 3); by default the groom's attribute `rest`.
        body: for "penetration": what hair must stay out of.
        values: for "guide" whole numbers per strand (S,); for "weight" numbers per strand (S,) or per point (P,),
            by default the largest of the groom's `guide_weights`.
        limit: where the ramp ends: a share for "stretch" (0.05), metres for "penetration" (0.005), a number for
            "weight" (1).
    """
    require_choice("kind", kind, list(KINDS))
    if limit is not None:
        require_positive("limit", limit)
    return KINDS[kind](_Question(groom, guides, rest, body, values, limit))


def guides_only(groom: Groom, guides: Guides | None = None) -> Groom:
    """Return the guide strands alone: the active ones of `guides`, or the strands that are marked `is_guide`."""
    if guides is not None:
        return guides.without_empty_slots().strands
    marked = groom.strand.get("is_guide")
    if marked is None or not marked.any():
        raise ValueError("guides: must be given, since no strand of the groom is marked is_guide; see select_guides")
    return groom.take(marked)


class DebugPainter:
    """Paints the frames of a moving groom by one measure, with what stays the same chosen at the first frame.

    Args:
        kind: as in `debug_colors`, or "guides" for the guide strands alone, a colour each.

    Guides are those that the groom names (`closest_guides`, `is_guide`), or else 128 of its strands. The rest shape is
    the groom's attribute `rest`, or else its first frame.
    """

    def __init__(self, kind: str) -> None:
        require_choice("debug", kind, [*KINDS, GUIDES_ONLY])
        self.kind = kind
        self._owner: IntArray | None = None
        self._guides: IntArray | None = None
        self._rest: FloatArray | None = None

    def paint(self, groom: Groom, body: Mesh | None = None) -> tuple[Groom, DebugColors]:
        """Return the groom with its colours, and those with what they mean."""
        shown = groom
        if self.kind == GUIDES_ONLY:
            shown = groom.take(self._chosen_guides(groom))
            result = debug_colors("guide", shown, values=np.arange(shown.strand_count))
        elif self.kind == "guide":
            result = debug_colors("guide", groom, values=self._owners(groom))
        elif self.kind == "stretch":
            result = debug_colors("stretch", groom, rest=self._resting(groom))
        else:
            result = debug_colors(self.kind, groom, body=body)
        return result.paint(shown), result

    def _chosen_guides(self, groom: Groom) -> IntArray:
        if self._guides is None:
            marked = groom.strand.get("is_guide")
            if marked is not None and marked.any():
                self._guides = np.flatnonzero(marked)
            else:
                self._guides = select_guides(groom, min(GUIDE_COUNT, groom.strand_count)).source
        return self._guides

    def _owners(self, groom: Groom) -> IntArray:
        if self._owner is None:
            guides = None if "closest_guides" in groom.strand else groom.take(self._chosen_guides(groom))
            self._owner = _owners(_Question(groom, guides, None, None, None, None))
        return self._owner

    def _resting(self, groom: Groom) -> FloatArray:
        if self._rest is None:
            self._rest = groom.vertex.get("rest", groom.points)
        return self._rest


# -- the kinds ---------------------------------------------------------------------------------------------------------


def _by_guide(asked: _Question) -> DebugColors:
    groom = asked.groom
    owner = _owners(asked)
    count = len(np.unique(owner))
    colors = _hues(owner)[groom.strand_of_point]
    return DebugColors(
        linear_from_display(colors.astype(np.float32)), None, f"{groom.strand_count:,} strands of {count:,} guides"
    )


def _owners(asked: _Question) -> IntArray:
    """The guide of each strand, shape (S,)."""
    groom = asked.groom
    if asked.values is not None:
        owner: IntArray = as_array("values", asked.values, (groom.strand_count,), np.int64)
        return owner
    if asked.guides is not None:
        guides = asked.guides
        roots = guides.roots if isinstance(guides, Groom) else guides.without_empty_slots().roots
        return PointIndex(roots).nearest(groom.roots)[1][:, 0]
    closest = groom.strand.get("closest_guides")
    if closest is None:
        raise ValueError("guides: must be given, since the groom has no attribute closest_guides")
    return np.asarray(closest.reshape(groom.strand_count, -1)[:, 0], np.int64)


def _hues(number: IntArray) -> NDArray[np.float64]:
    """Display RGB per number, shape (S, 3): neighbours in number are far apart in hue."""
    hue = (number * GOLDEN_RATIO) % 1.0
    value = 0.62 + 0.30 * ((number * GOLDEN_RATIO**2 * 7.0) % 1.0)
    corners = np.array([0.0, 2.0 / 3.0, 1.0 / 3.0])
    wave = np.clip(np.abs(((hue[:, None] + corners) % 1.0) * 6.0 - 3.0) - 1.0, 0.0, 1.0)
    return np.asarray(value[:, None] * (0.08 + 0.92 * wave))


def _by_stretch(asked: _Question) -> DebugColors:
    groom, limit = asked.groom, asked.limit or STRETCH_RANGE
    rest = groom.vertex.get("rest") if asked.rest is None else np.asarray(asked.rest)
    if rest is None:
        raise ValueError("rest: must be given, since the groom has no attribute rest")
    strain = stretch(groom, rest)
    legend = Legend("stretch", f"-{_percent(limit)}", f"+{_percent(limit)}", DIVERGING)
    summary = f"stretch {_percent(strain.min(), '+')} to {_percent(strain.max(), '+')}"
    return DebugColors(_ramped(DIVERGING, 0.5 + 0.5 * strain / limit), legend, summary)


def stretch(groom: Groom, rest: ArrayLike) -> FloatArray:
    """Change of length of the segments at each point as a share of their rest length, shape (P,).

    Args:
        groom: the strands as they are.
        rest: their points at rest [m], shape (P, 3). Segments without a length at rest count as unstretched.
    """
    resting = groom.with_points(as_floats("rest", rest, (groom.point_count, 3)))
    now, before = _lengths_around(groom), _lengths_around(resting)
    safe = np.where(before > 0, before, 1.0)
    return np.where(before > 0, now / safe - 1.0, 0.0).astype(np.float32)


def _lengths_around(groom: Groom) -> NDArray[np.float64]:
    """Summed length of the one or two segments that meet at each point [m], shape (P,)."""
    steps = np.zeros(groom.point_count + 1)
    steps[1:-1] = np.linalg.norm(np.diff(groom.points.astype(np.float64), axis=0), axis=1)
    steps[groom.offsets] = 0.0  # between the tip of one strand and the root of the next there is no segment
    return steps[:-1] + steps[1:]


def _by_penetration(asked: _Question) -> DebugColors:
    if asked.body is None:
        raise ValueError("body: must be given to see what is inside of it, got none")
    solid = Solid(asked.body) if isinstance(asked.body, Mesh) else asked.body
    limit = asked.limit or DEPTH_RANGE
    depth = np.maximum(-solid.distance(asked.groom.points), 0.0)
    inside = depth > 0
    # The first quarter of the ramp is the step from outside to inside: the slightest depth is yellow already.
    first = 1.0 / (len(ALARM) - 1)
    place = np.where(inside, first + (1.0 - first) * depth / limit, 0.0)
    legend = Legend("depth inside the body", "0", f"{1000 * limit:g} mm", ALARM)
    strands = len(np.unique(asked.groom.strand_of_point[inside]))
    summary = f"{strands:,} of {asked.groom.strand_count:,} strands inside, up to {1000 * depth.max():.2g} mm"
    return DebugColors(_ramped(ALARM, place), legend, summary)


def _by_weight(asked: _Question) -> DebugColors:
    groom, limit = asked.groom, asked.limit or 1.0
    values = asked.values
    if values is None:
        weights = groom.strand.get("guide_weights")
        if weights is None:
            raise ValueError("values: must be given, since the groom has no attribute guide_weights")
        values = weights.reshape(groom.strand_count, -1).max(axis=1)
    count = np.shape(values)[0] if np.ndim(values) == 1 else -1
    per_strand = count == groom.strand_count
    numbers = as_floats("values", values, (groom.strand_count if per_strand else groom.point_count,))
    numbers = numbers[groom.strand_of_point] if per_strand else numbers
    summary = f"weight {numbers.min():.3g} to {numbers.max():.3g}"
    return DebugColors(_ramped(RISING, numbers / limit), Legend("weight", "0", f"{limit:g}", RISING), summary)


# name -> who colours by it; the same names on the command line
KINDS: dict[str, Callable[[_Question], DebugColors]] = {
    "guide": _by_guide,
    "stretch": _by_stretch,
    "penetration": _by_penetration,
    "weight": _by_weight,
}


# -- colours -----------------------------------------------------------------------------------------------------------


def _ramped(ramp: NDArray[np.float64], place: NDArray[Any]) -> FloatArray:
    """Linear RGB at places from 0 to 1 along a ramp of display RGB, shape (P, 3); beyond the ends it stays."""
    position = np.clip(place, 0.0, 1.0) * (len(ramp) - 1)
    channels = [np.interp(position, np.arange(len(ramp)), ramp[:, c]) for c in range(3)]
    return linear_from_display(np.stack(channels, axis=1).astype(np.float32))


def _percent(share: float, sign: str = "") -> str:
    return f"{100 * share:{sign}.3g} %"
