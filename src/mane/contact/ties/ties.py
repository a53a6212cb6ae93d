"""`Ties`: hair ties, pins and clips, without which a ponytail or a braid falls apart.

```python
tie = Tie.around(guides, point=(0, 1.6, -0.12), radius=0.016)
sim = mane.Simulation(guides, forces=[Ties([tie])])
```

A tie keeps a group of vertices within a ball of its radius: about their common centre, wherever that goes (a hair tie),
or about a place of the head (a pin, a clip). Within the ball nothing pulls; hair there rubs on its neighbours, which
slows it down relative to the tie, but not as it moves and turns with it.

A bundle's pulls add up to nothing, force and moment; a step that they act in is taken twice (`bundle`), so that
they are as large as they must be. A tie of 19 mm that holds a ponytail in this way alone opens to 25 mm while the head
shakes by 40 degrees 2.5 times a second. A pull to the head enters the strand's own implicit solve, which is taken once
and harder still: use it where a tie sits at the head.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.shapes import Vector
from mane.contact.ties import _kernels as kernels
from mane.contact.ties.bundle import INWARD_SPEED, Bundle
from mane.geometry import quaternion
from mane.geometry.checks import IntArray, as_array, require_finite, require_positive
from mane.geometry.limits import Choice, NotNegative, Positive, Range, check_limits
from mane.groom import styles
from mane.groom.guides import Guides
from mane.strand.model import Float64Array, RootKind, StrandModel
from mane.strand.ports import NO_STRANDS, Force, Load, StrandView
from mane.strand.roots import RootPose

Holds = Annotated[str, Choice("bundle", "head")]
LetsGo = Annotated[str, Choice("strand", "all")]
AnyPositive = Annotated[float, Range(above=0, finite=False)]  # infinite is allowed
# Stiffness of a tie to the head, at most, as a multiple of mass / dt^2; as that of a hard contact.
HARD = 300.0
# Loads are means over some such time [s], so that a jolt within one substep does not open a tie.
LOAD_TIME = 0.02


@dataclass(frozen=True, eq=False)
class Tie:
    """One tie.

    Attributes:
        strands: guide of each vertex that it holds, shape (K,), int64.
        vertices: which vertex of that guide, shape (K,), int64; a guide may be held at several.
        radius: how far from the centre hair may be [m].
        holds: "bundle" keeps the vertices together; "head" keeps them at a place of the head.
        centre: that place in the rest pose of the head [m], shape (3,); None for the mean of the groomed vertices.
        stiffness: pull per distance beyond the radius [N/m], of each vertex; infinite is as stiff as a step can be.
        grip: rate at which hair within it stops moving relative to it [1/s].
        strength: load at which it lets go of a vertex [N]; infinite holds whatever comes.
        lets_go: "strand": of that vertex alone; "all": it opens.
    """

    strands: IntArray
    vertices: IntArray
    radius: Positive
    holds: Holds = "bundle"
    centre: Float64Array | None = None
    stiffness: AnyPositive = math.inf
    grip: NotNegative = 30.0
    strength: AnyPositive = math.inf
    lets_go: LetsGo = "strand"

    def __post_init__(self) -> None:
        strands = as_array("tie.strands", self.strands, ("K",), np.int64)
        vertices = as_array("tie.vertices", self.vertices, strands.shape, np.int64)
        if not len(strands):
            raise ValueError("tie.strands: must hold at least one vertex, got none")
        check_limits(self, "tie.")
        if self.centre is not None:
            centre = as_array("tie.centre", self.centre, (3,), np.float64)
            require_finite("tie.centre", centre)
            object.__setattr__(self, "centre", centre)
        object.__setattr__(self, "strands", strands)
        object.__setattr__(self, "vertices", vertices)

    @classmethod
    def around(
        cls, guides: Guides, point: ArrayLike, radius: float, *, reach: float | None = None, **settings: Any
    ) -> Tie:
        """Tie the guides that pass `point`, each at its vertex nearest to it; roots are left alone.

        Args:
            guides: what to tie.
            point: centre of the tie in the rest pose [m], shape (3,).
            radius: of the tie [m].
            reach: guides that come this close are tied [m]; by default twice the radius.
            settings: other fields of `Tie`.
        """
        require_positive("tie.radius", radius)
        place = as_array("tie.point", point, (3,), np.float64)
        reach = 2 * radius if reach is None else reach
        require_positive("tie.reach", reach)
        distance = np.linalg.norm(guides.rest[:, 1:] - place, axis=2)
        nearest = distance.argmin(axis=1)
        caught = np.flatnonzero(guides.active & (_distance_to(guides, place) <= reach))
        if not len(caught):
            text = ", ".join(f"{x:g}" for x in place)
            raise ValueError(f"tie.point: no guide passes within {reach:g} m of ({text})")
        return cls(caught, nearest[caught] + 1, radius, centre=place, **settings)


@dataclass(frozen=True)
class TieParams:
    """Settings of `Ties.around`, as far as they can be checked without guides.

    Attributes:
        point: centre of the tie in the rest pose [m], shape (3,).
        radius: of the tie [m].
        style: name of the style whose ties are meant, in place of point and radius.
        reach: guides that come this close are tied [m]; by default twice the radius.
        holds: "bundle" or "head"; by default what the style says, else a bundle.
        stiffness: pull per distance beyond the radius [N/m], of each vertex; infinite is as stiff as a step can be.
        grip: rate at which hair within it stops moving relative to it [1/s].
        strength: load at which it lets go of a vertex [N]; infinite holds whatever comes.
        lets_go: "strand": of that vertex alone; "all": it opens.
    """

    point: Vector | None = None
    radius: Positive | None = None
    style: str | None = None
    reach: Positive | None = None
    holds: Holds | None = None
    stiffness: AnyPositive = math.inf
    grip: NotNegative = 30.0
    strength: AnyPositive = math.inf
    lets_go: LetsGo = "strand"

    def __post_init__(self) -> None:
        check_limits(self)
        has_place = self.point is not None and self.radius is not None
        if has_place == (self.style is not None) or (self.point is None) != (self.radius is None):
            given = _given(self.point, self.radius, self.style)
            raise ValueError(f"ties: must have point and radius, or style, got {given}")
        if self.style is not None and not styles.ties(self.style):
            raise ValueError(f"style: {self.style!r} has no ties")
        if self.point is not None:
            require_finite("point", as_array("point", self.point, (3,), np.float64))

    def of_tie(self) -> dict[str, Any]:
        """Those that `Tie.around` takes besides point and radius."""
        names = ("reach", "holds", "stiffness", "grip", "strength", "lets_go")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


class Ties(Force):
    """Holds groups of vertices until they are pulled too hard.

    Args:
        ties: one or more.
    """

    name = "ties"
    examples = ({"point": (0.0, 0.0, 0.0), "radius": 0.12},)
    needs = ("guides",)
    settings = TieParams

    def __init__(self, ties: Sequence[Tie]) -> None:
        if not ties:
            raise ValueError("ties: must hold at least one tie, got none")
        self.ties = tuple(ties)

    @classmethod
    def around(
        cls,
        guides: Guides,
        point: Vector | None = None,
        radius: float | None = None,
        *,
        style: str | None = None,
        reach: float | None = None,
        holds: str | None = None,
        stiffness: float = math.inf,
        grip: float = 30.0,
        strength: float = math.inf,
        lets_go: str = "strand",
    ) -> Ties:
        """Make the one tie of `Tie.around`, or all that a style needs (`of_style`): what a scene file can ask for.

        Args:
            guides: what to tie.
            point: as in `TieParams`, and so are the others.
            radius: [m].
            style: in place of point and radius.
            reach: [m].
            holds: "bundle" or "head".
            stiffness: [N/m].
            grip: [1/s].
            strength: [N].
            lets_go: "strand" or "all".
        """
        params = TieParams(point, radius, style, reach, holds, stiffness, grip, strength, lets_go)
        if params.style is not None:
            return cls.of_style(params.style, guides, **params.of_tie())
        assert params.point is not None
        assert params.radius is not None
        return cls([Tie.around(guides, params.point, params.radius, **params.of_tie())])

    for_scene = around  # type: ignore[assignment]  # what a scene file cannot write is a list of ties

    @classmethod
    def of_style(cls, name: str, guides: Guides, *, options: Mapping[str, Any] | None = None, **settings: Any) -> Ties:
        """Place the ties that a style needs (`styles.ties`), wide enough that the groomed hair feels nothing.

        Those that sit at the head hold to it, the others hold the hair together.

        Args:
            name: of the style.
            guides: of a groom of that style.
            options: what the style was made with.
            settings: other fields of `Tie`.
        """
        places = styles.ties(name, **(options or {}))
        if not places:
            raise ValueError(f"ties: style {name!r} has none")
        return cls([_fitted(guides, place, settings) for place in places])

    def prepare(self, model: StrandModel) -> None:
        """Find what the ties pull against; everything is held at first."""
        for number, tie in enumerate(self.ties):
            _check_members(f"ties[{number}]", tie, model)
        self._held = [_Held(tie, model) for tie in self.ties]
        bundled = [one.tie.strands for one in self._held if one.bundle is not None]
        self._bundled = np.unique(np.concatenate(bundled)) if bundled else NO_STRANDS

    @property
    def held(self) -> list[NDArray[np.bool_]]:
        """Which vertices each tie still holds, in its own order, shapes (K,); copies."""
        return [one.held.copy() for one in self._held]

    def retie(self) -> None:
        """Let every tie hold all of its vertices again."""
        for one in self._held:
            one.held.fill(True)
            one.load.fill(0.0)

    def reset(self) -> None:
        """The guides are back at rest, and tied."""
        self.retie()

    def add(self, strands: StrandView, load: Load) -> None:
        """Add the pulls of all ties."""
        for one in self._held:
            one.add(strands, load)

    def may_amend(self) -> bool:
        """Whether a tie holds a bundle."""
        return len(self._bundled) > 0

    def amend(self, strands: StrandView, load: Load, attempt: int) -> IntArray:
        """Mend the pulls of bundles once, now that it shows where they lead."""
        if attempt > 0:
            return NO_STRANDS
        for one in self._held:
            if one.bundle is not None:
                one.bundle.amend(strands, load)
        return self._bundled

    def settle(self, strands: StrandView) -> None:
        """Measure what the ties carry, and let go of what is too much."""
        for one in self._held:
            one.settle(strands)

    def report(self) -> dict[str, float]:
        """Largest load of a held vertex [N], and the number of vertices that were let go."""
        return {
            "tie load": max(float(one.load[one.held].max(initial=0.0)) for one in self._held),
            "tie losses": float(sum((~one.held).sum() for one in self._held)),
        }

    def memory(self) -> dict[str, NDArray[Any]]:
        """What is held, what it carries, and how it gives way."""
        named = {
            "held": np.concatenate([one.held for one in self._held]),
            "load": np.concatenate([one.load for one in self._held]),
        }
        for number, one in enumerate(self._held):
            if one.bundle is not None:
                named[f"weight{number}"], named[f"give{number}"] = one.bundle.weight.copy(), one.bundle.give.copy()
        return named

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        start = 0
        for number, one in enumerate(self._held):
            end = start + len(one.held)
            one.held[...], one.load[...] = memory["held"][start:end], memory["load"][start:end]
            if one.bundle is not None:
                one.bundle.weight[...], one.bundle.give[...] = memory[f"weight{number}"], memory[f"give{number}"]
            start = end

    def forget(self, strands: NDArray[np.bool_]) -> None:
        """Strands of the mask (G,) were carried elsewhere: they carry nothing yet. What was let go stays so."""
        for one in self._held:
            mine = strands[one.tie.strands]
            one.load[mine] = 0.0
            if one.bundle is not None:
                one.bundle.weight[mine] = 0.0


class _Held:
    """One tie on guides of a model."""

    def __init__(self, tie: Tie, model: StrandModel) -> None:
        self.tie = tie
        count = len(tie.strands)
        self.held = np.ones(count, np.bool_)
        self.load = np.zeros(count)
        self.bundle = Bundle(tie, model) if tie.holds == "bundle" else None
        self._rows = tie.strands * model.vertex_count + tie.vertices
        rest = model.rest_points[tie.strands, tie.vertices]
        centre = rest.mean(axis=0) if tie.centre is None else tie.centre
        self._mass = model.mass[tie.strands, tie.vertices]
        self._from_root = centre - model.rest_points[tie.strands, 0]
        self._pull, self._record = np.zeros(count), np.zeros((count, 5))

    def add(self, strands: StrandView, load: Load) -> None:
        gripped = self.held & strands.active[self.tie.strands]
        if self.bundle is not None:
            self.bundle.add(strands, gripped, load)
            return
        motion = (strands.points.reshape(-1, 3), strands.velocity.reshape(-1, 3), self._rows, gripped)
        places = (self._carried(strands.roots_before), self._carried(strands.roots_after))
        stiffness = np.minimum(self.tie.stiffness, HARD * self._mass / strands.dt**2)
        limits = (float(self.tie.radius), INWARD_SPEED, strands.dt)
        outputs = (load.force.reshape(-1, 3), load.resistance.reshape(-1, 6), self._record)
        kernels.hold_at_head(*motion, *places, stiffness, float(self.tie.grip) * self._mass, *limits, *outputs)

    def settle(self, strands: StrandView) -> None:
        if self.bundle is not None:
            self.bundle.settle(strands)
            self._pull[...] = self.bundle.pull
        else:
            kernels.measure_pull(strands.velocity.reshape(-1, 3), self._rows, self._record, self._pull)
        self.load += (1 - math.exp(-strands.dt / LOAD_TIME)) * (self._pull - self.load)
        torn = self.held & (self.load > self.tie.strength)
        if torn.any():
            self.held &= ~torn if self.tie.lets_go == "strand" else False

    def _carried(self, roots: RootPose) -> Float64Array:
        """Where the head has the centre, as the root of each strand carries it [m], shape (K, 3)."""
        mine = self.tie.strands
        carried: Float64Array = roots.positions[mine] + quaternion.rotate(roots.rotations[mine], self._from_root)
        return carried


def _check_members(name: str, tie: Tie, model: StrandModel) -> None:
    for what, index, count in (
        ("strands", tie.strands, model.strand_count),
        ("vertices", tie.vertices, model.vertex_count),
    ):
        wrong = (index < 0) | (index >= count)
        if wrong.any():
            first = int(wrong.argmax())
            raise ValueError(f"{name}.{what}: must be within 0 to {count - 1}, got {index[first]} at index {first}")
    rooted = (tie.vertices == 0) & (model.root_kind[tie.strands] != RootKind.FREE)
    if rooted.any():
        first = int(rooted.argmax())
        raise ValueError(f"{name}.vertices: must not be a held root, got 0 at index {first}")
    rows = tie.strands * model.vertex_count + tie.vertices
    if len(np.unique(rows)) != len(rows):
        raise ValueError(f"{name}: must hold a vertex once, got {len(rows) - len(np.unique(rows))} of them again")


def _distance_to(guides: Guides, place: Float64Array) -> Float64Array:
    """Shortest distance from `place` to each guide [m], shape (C,)."""
    start = guides.rest[:, :-1].astype(np.float64)
    edge = guides.rest[:, 1:] - start
    square = np.maximum((edge**2).sum(axis=2), np.finfo(float).tiny)
    along = np.clip(((place - start) * edge).sum(axis=2) / square, 0, 1)
    distance: Float64Array = np.linalg.norm(start + along[..., None] * edge - place, axis=2).min(axis=1)
    return distance


def _given(point: Vector | None, radius: float | None, style: str | None) -> str:
    named = (("point", point), ("radius", radius), ("style", style))
    return " and ".join(name for name, value in named if value is not None) or "none of them"


def _fitted(guides: Guides, place: styles.TieLocation, settings: Mapping[str, Any]) -> Tie:
    """Return the tie at `place`, as wide as the vertices that it holds lie apart in the groom."""
    holds = "head" if place.at_head else "bundle"
    tie = Tie.around(guides, place.point, place.radius, **{"holds": holds, **settings})
    rest = guides.rest[tie.strands, tie.vertices].astype(np.float64)
    middle = rest.mean(axis=0)
    # Groomed hair lies within the ball about the mean of its vertices, to the accuracy of float32 positions.
    widest = float(np.linalg.norm(rest - middle, axis=1).max()) * (1 + 1e-6)
    return replace(tie, radius=max(place.radius, widest), centre=middle)
