"""Values that vary from strand to strand and from root to tip, however the artist gave them.

Wherever a `Varying` is asked for, any of these will do, and the product of any of them with one of the classes below:

    3.9e9                              the same everywhere
    Curve([0, 0.3, 1], [2, 1, 0.5])    a curve over the fraction of the strand's length, root 0, tip 1
    lambda fraction: 1 - 0.5 * fraction
    np.array of shape (G,)             one value per strand
    np.array of shape (G, V)           one value per vertex
    "stiffness"                        a painted map: an attribute of the guides' groom, per strand or per vertex
    Painted("stiffness", 0.5, 2)       the same, taken from 0..1 to 0.5..2
    Vary(0.9, 1.1, seed=3) * 4e-5      a random factor of each strand
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.geometry.checks import IntArray, as_array, require_finite, shape_text
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.strand.model import Float64Array, StrandModel


@dataclass(frozen=True, eq=False)
class Layout:
    """The strands that varying values are laid out over, G of V vertices.

    Attributes:
        fraction: arc length from the root over the length of the strand, shape (G, V).
        groom: whose attributes may be named as painted maps, or None.
        parents: of slots behind the others, as in `StrandModel`, shape (G, 2), or None. What is given for the
            others alone is spread: a slot takes the mean of its parents.
    """

    fraction: Float64Array
    groom: Groom | None = None
    parents: IntArray | None = None

    @classmethod
    def of(cls, strands: Guides | Groom | ArrayLike) -> Layout:
        """Lay out over guides, a groom of one vertex count, or bare rest points (G, V, 3) [m]."""
        return cls(_fractions(rest_points(strands)), _groom_of(strands))

    @classmethod
    def with_maps(cls, points: ArrayLike, maps: Guides | Groom | None) -> Layout:
        """Lay out over rest points (G, V, 3) [m], with the painted maps of `maps`, which must have the same strands."""
        fraction = _fractions(rest_points(points))
        groom = None if maps is None else _groom_of(maps)
        if groom is not None and rest_points(groom).shape[:2] != fraction.shape:
            raise ValueError(
                f"guides: must be those of the simulation, {shape_text(fraction.shape)} strands and vertices, "
                f"got {shape_text(rest_points(groom).shape[:2])}"
            )
        return cls(fraction, groom)

    @classmethod
    def of_model(cls, model: StrandModel, maps: Guides | Groom | None) -> Layout:
        """Lay out over the strands of a model, with the painted maps of `maps`, which must have its own strands."""
        own = cls.with_maps(model.rest_points[: model.own_count], maps)
        if model.own_count == model.strand_count:
            return own
        return cls(_fractions(model.rest_points), own.groom, model.parents)

    @property
    def own_count(self) -> int:
        """Number of strands that are not slots."""
        return len(self.fraction) if self.parents is None else int((self.parents[:, 0] == self.parents[:, 1]).sum())

    def spread(self, values: Float64Array) -> Float64Array:
        """Give slots the mean of what their parents have; `values` are (own_count, ...) or (G, ...)."""
        if self.parents is None or len(values) == len(self.fraction):
            return values
        return 0.5 * (values[self.parents[:, 0]] + values[self.parents[:, 1]])

    @property
    def shape(self) -> tuple[int, int]:
        """Number of strands and of vertices of each, (G, V)."""
        return self.fraction.shape[0], self.fraction.shape[1]


class VaryingTerm(ABC):
    """A value that knows how it varies; multiplied by any `Varying`, it makes another."""

    # An array on the left of `*` must leave the product to this class instead of multiplying element by element.
    __array_ufunc__ = None

    @abstractmethod
    def over(self, name: str, layout: Layout) -> Float64Array:
        """Return the values at the vertices of `layout`, broadcastable to (G, V); errors begin with `name`."""

    def __mul__(self, other: Varying) -> Product:
        return Product((self, other))

    __rmul__ = __mul__


Varying = float | str | VaryingTerm | Callable[[Float64Array], Any] | ArrayLike


@dataclass(frozen=True, eq=False)
class Product(VaryingTerm):
    """Several varying values multiplied; what `*` makes."""

    factors: tuple[Varying, ...]

    def over(self, name: str, layout: Layout) -> Float64Array:
        """Multiply the values of all factors."""
        product = np.ones((1, 1))
        for factor in self.factors:
            product = product * _values(name, factor, layout)
        return product


@dataclass(frozen=True, eq=False)
class Curve(VaryingTerm):
    """Straight lines between `values` at `points`, fractions of the strand's length from 0 (root) to 1 (tip)."""

    points: ArrayLike
    values: ArrayLike

    def __post_init__(self) -> None:
        points = as_array("curve points", self.points, ("K",), np.float64)
        values = as_array("curve values", self.values, points.shape, np.float64)
        require_finite("curve values", values)
        if not len(points) or not (np.diff(points) > 0).all() or not (points[0] >= 0 and points[-1] <= 1):
            raise ValueError(f"curve points: must rise within 0 (root) to 1 (tip), got {points.tolist()}")
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "values", values)

    def over(self, name: str, layout: Layout) -> Float64Array:
        """Read the curve at every vertex."""
        result: Float64Array = np.interp(layout.fraction, np.asarray(self.points), np.asarray(self.values))
        return result


@dataclass(frozen=True)
class Painted(VaryingTerm):
    """A painted map of the groom, taken from 0..1 to `low`..`high` (and beyond, where the map goes beyond).

    `Painted("width", high=0.5)` is half the groom's width, its radius.

    Attributes:
        attribute: name of the map: an attribute of the groom, per strand or per vertex.
        low: value where the map is 0.
        high: value where the map is 1.
    """

    attribute: str
    low: float = 0.0
    high: float = 1.0

    def over(self, name: str, layout: Layout) -> Float64Array:
        """Look the map up in the groom's attributes."""
        painted = _attribute(name, self.attribute, layout)
        return self.low + (self.high - self.low) * painted


@dataclass(frozen=True)
class Vary(VaryingTerm):
    """A random factor of each strand, even between `low` and `high`.

    Strand g keeps its factor when strands are added behind it.

    Attributes:
        low: smallest factor.
        high: largest factor.
        seed: of the factors.
    """

    low: float
    high: float
    seed: int

    def over(self, name: str, layout: Layout) -> Float64Array:
        """Draw one factor per strand."""
        return np.random.default_rng(self.seed).uniform(self.low, self.high, (layout.shape[0], 1))


def part_of(name: str, value: Varying, rows: slice, shape: tuple[int, int]) -> Varying:
    """Return what `value`, over strands of `shape` (G, V), is over some of them.

    Painted maps and functions stay as they are: they look at whatever strands they are asked for.
    """
    if isinstance(value, Product):
        return Product(tuple(part_of(name, factor, rows, shape) for factor in value.factors))
    everywhere = Layout(np.broadcast_to(0.0, shape))
    if isinstance(value, Vary):
        return value.over(name, everywhere)[rows, 0]
    if isinstance(value, str | VaryingTerm) or callable(value):
        return value
    given = _given(name, value, everywhere)
    if given.ndim == 0:
        return float(given)
    return given[rows] if given.shape == shape else given[rows, 0]


def resolve(
    name: str,
    value: Varying,
    layout: Layout,
    *,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Float64Array:
    """Return `value` at every vertex, shape (G, V), float64; ValueError names the first vertex that breaks a bound."""
    values: Float64Array = np.ascontiguousarray(np.broadcast_to(_values(name, value, layout), layout.shape))
    for rule, holds in _rules(values, above, at_least, at_most):
        if not holds.all():
            strand, vertex = np.unravel_index(int((~holds).argmax()), holds.shape)
            raise ValueError(
                f"{name}: must be {rule}, got {values[strand, vertex]:g} at strand {strand}, vertex {vertex}"
            )
    return values


def require_range(name: str, value: Varying, *, at_least: float) -> None:
    """Raise ValueError for a number, or a value of a curve, that no strand could take; maps are looked at later."""
    if isinstance(value, Curve):
        known = np.asarray(value.values, np.float64)
    elif isinstance(value, int | float):
        known = np.array([value], np.float64)
    else:
        return
    for rule, holds in _rules(known, None, at_least, None):
        if not holds.all():
            raise ValueError(f"{name}: must be {rule}, got {known[int((~holds).argmax())]:g}")


def _rules(
    values: Float64Array, above: float | None, at_least: float | None, at_most: float | None
) -> list[tuple[str, NDArray[np.bool_]]]:
    """What values must be, in words, and where they are."""
    rules = [("finite", np.isfinite(values))]
    if above is not None:
        rules.append((f"above {above:g}", values > above))
    if at_least is not None:
        rules.append((f"at least {at_least:g}", values >= at_least))
    if at_most is not None:
        rules.append((f"at most {at_most:g}", values <= at_most))
    return rules


def rest_points(strands: Guides | Groom | ArrayLike) -> Float64Array:
    """Return the rest points of guides, of a groom of one vertex count, or as given: [m], shape (G, V, 3), float64."""
    if isinstance(strands, Guides):
        return strands.rest.astype(np.float64)
    if isinstance(strands, Groom):
        return strands.as_uniform().astype(np.float64)
    points: Float64Array = as_array("rest_points", strands, ("G", "V", 3), np.float64)
    return points


def _fractions(points: Float64Array) -> Float64Array:
    travelled = np.zeros(points.shape[:2])
    np.cumsum(np.linalg.norm(np.diff(points, axis=1), axis=2), axis=1, out=travelled[:, 1:])
    whole = travelled[:, -1:]
    return np.divide(travelled, whole, out=np.zeros_like(travelled), where=whole > 0)


def _groom_of(strands: Guides | Groom | ArrayLike) -> Groom | None:
    if isinstance(strands, Guides):
        return strands.strands
    return strands if isinstance(strands, Groom) else None


def _values(name: str, value: Varying, layout: Layout) -> Float64Array:
    """Values of any `Varying`, broadcastable to (G, V)."""
    if isinstance(value, VaryingTerm):
        return value.over(name, layout)
    if isinstance(value, str):
        return _attribute(name, value, layout)
    if callable(value):
        return _called(name, value, layout)
    return _given(name, value, layout)


def _called(name: str, function: Callable[[Float64Array], Any], layout: Layout) -> Float64Array:
    returned = np.asarray(function(layout.fraction.copy()))
    if returned.ndim and returned.shape != layout.shape:
        raise ValueError(
            f"{name}: its function of the fraction must return one value or shape {shape_text(layout.shape)}, "
            f"got {shape_text(returned.shape)}"
        )
    return _given(name, returned, layout)


def _given(name: str, value: ArrayLike, layout: Layout) -> Float64Array:
    strands, vertices = layout.shape
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name}: must be a number, a curve, an array of shape ({strands},) or ({strands}, {vertices}), "
            f"or the name of a painted map, got {type(value).__name__} {value!r:.60}"
        )
    own = layout.own_count
    if array.shape not in ((), (strands,), (strands, vertices), (own,), (own, vertices)):
        raise ValueError(
            f"{name}: an array must have shape ({strands},) (per strand) or ({strands}, {vertices}) (per vertex), "
            f"got {shape_text(array.shape)}"
        )
    numbers = array.astype(np.float64)
    if numbers.ndim == 0:
        return numbers
    return layout.spread(numbers[:, None] if numbers.ndim == 1 else numbers)


def _attribute(name: str, attribute: str, layout: Layout) -> Float64Array:
    groom = layout.groom
    if groom is None:
        raise ValueError(f"{name}: painted map {attribute!r} needs guides with attributes, got points alone")
    if attribute in groom.strand:
        painted: NDArray[Any] = groom.strand[attribute]
        shape: tuple[int, ...] = (layout.own_count, 1)
    elif attribute in groom.vertex:
        painted, shape = groom.vertex[attribute], (layout.own_count, layout.shape[1])
    else:
        known = ", ".join(sorted([*groom.strand, *groom.vertex])) or "none"
        raise ValueError(f"{name}: the guides have no painted map {attribute!r}; they have {known}")
    if painted.ndim != 1:
        raise ValueError(
            f"{name}: painted map {attribute!r} must hold one number each, got {shape_text(painted.shape[1:])}"
        )
    return layout.spread(painted.astype(np.float64).reshape(shape))
