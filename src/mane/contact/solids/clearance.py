"""Where guides are looked at closely for a solid: how densely, how far off, and what is known of it already."""

from __future__ import annotations

from copy import copy
from functools import cached_property

import numpy as np

from mane.body._kernels_solid import SolidArrays
from mane.body.deforming import _kernels_observers as observing
from mane.body.deforming._kernels import SurfaceArrays
from mane.body.deforming.surface import DeformingSurface
from mane.body.packed import PackedSolid
from mane.body.solid import Solid
from mane.contact.solids import _kernels_deforming as deforming
from mane.contact.solids._kernels import SLACK
from mane.geometry.checks import IntArray
from mane.strand.model import Float64Array, StrandModel
from mane.strand.ports import MovingSolid, StrandView

# More points than this on one segment mean that the hair is cut too coarsely for what it touches.
MAX_INNER = 63
# Surfaces that deform are observed this much farther from a root than hair of its strand can be [m]: what is beyond
# that may move as it likes, and hair is measured again before it, and what is observed, may have come so much closer.
BEYOND = 0.01
# Parts of a strand from the root that have rings of their own.
UP_TO = (0.125, 0.25, 0.5, 1.0)


def inner_places(feature: float, segment_length: float, thickness: float) -> int:
    """How many points between the ends of a segment must be tested beside its vertices.

    Args:
        feature: radius of the thinnest part of the solid [m].
        segment_length: [m].
        thickness: of the layer around the solid [m].
    """
    feature += thickness
    if not np.isfinite(feature):
        return 0
    # A part of radius r is at least 1.7 r wide at every place that is r / 2 or less off the nearest tested point.
    return int(min(max(np.ceil(segment_length / feature) - 1, 0), MAX_INNER))


def safe_margin(model: StrandModel, thickness: float) -> float:
    """Distance between a solid and the paths of a strand beyond which they cannot touch [m]."""
    return thickness + 2 * SLACK * model.longest_segment


def not_measured(strand_count: int, vertex_count: int, is_deforming: bool = False) -> Float64Array:
    """Scratch for what was last measured of each vertex, (G, V, 4), or (G, V, 12) of a solid that deforms.

    Minus infinity asks for a measurement.
    """
    measured = np.zeros((strand_count, vertex_count, deforming.COLUMNS if is_deforming else 4))
    measured[..., 0] = -np.inf
    if is_deforming:
        measured[..., deforming.TRIANGLE] = -1.0
        measured[..., deforming.OBSERVER] = np.arange(strand_count)[:, None]
        measured[..., deforming.RING] = observing.RING + observing.RING_SIZE * (observing.RINGS - 1)
    return measured


def _reach_of(model: StrandModel) -> Float64Array:
    """How far from its root anything is observed for parts of a strand up to `UP_TO` [m], shape (G, 4)."""
    result: Float64Array = BEYOND + model.strand_length[:, None] * np.array(UP_TO)
    return result


def _rings_of(model: StrandModel) -> Float64Array:
    """Which ring of its observer each vertex looks through, as the kernels number them, shape (G, V)."""
    along = np.zeros((model.strand_count, model.vertex_count))
    np.cumsum(model.rest_length, axis=1, out=along[:, 1:])
    ring = np.searchsorted(UP_TO, along / along[:, -1:] - 1e-6)
    return observing.RING + observing.RING_SIZE * np.minimum(ring, observing.RINGS - 1)


class Clearance:
    """A solid as the kernels of guides read it, and what was last measured of each vertex.

    Args:
        solid: whose it is.
        model: the guides.
        is_body: whether the guides grow on it.

    Attributes:
        solid: whose it is.
        feature: radius of the thinnest part [m].
    """

    def __init__(self, solid: Solid, model: StrandModel, *, is_body: bool = False) -> None:
        self.solid = solid
        self._model, self._is_body = model, is_body
        self._lowest: dict[int, Float64Array] = {}
        self._packed = PackedSolid.of(solid)
        self._surface = None if solid.animation is None else DeformingSurface(solid.animation, _reach_of(model))
        self.feature = self._packed.arrays.feature if self._surface is None else self._surface.feature

    @cached_property
    def measured(self) -> Float64Array:
        """What was last measured of each vertex; see `not_measured`. Scratch that parts share; changes no result."""
        measured = not_measured(self._model.strand_count, self._model.vertex_count, self._surface is not None)
        if self._surface is not None:
            measured[..., deforming.RING] = _rings_of(self._model)
        return measured

    def taken(self, rows: IntArray) -> Clearance:
        """Return that of some of the strands, of which nothing is measured yet.

        A surface that deforms is shared: whoever looked at it before must not do so again.
        """
        other = copy(self)
        other.__dict__.pop("measured", None)
        other._model = self._model.taken(rows)
        other._lowest = {inner: lowest[rows] for inner, lowest in self._lowest.items()}
        other._surface = None if self._surface is None else self._surface.seen_by(_reach_of(other._model))
        return other

    def arrays(self, moving: MovingSolid, strands: StrandView, poses: Float64Array) -> SolidArrays | SurfaceArrays:
        """Return the solid during a step of `strands`, with its poses at both ends of it."""
        if self._surface is None:
            return self._packed.arrays
        arrays = self._surface.during(*moving.times)
        before, after = strands.roots_before, strands.roots_after
        roots = ((before.positions, before.rotations), (after.positions, after.rotations))
        self._surface.observe(poses, *roots)
        return arrays

    def is_of(self, model: StrandModel) -> bool:
        """Whether it has as many strands and vertices as a model."""
        mine = self._model
        return (mine.strand_count, mine.vertex_count) == (model.strand_count, model.vertex_count)

    def lowest(self, inner: int) -> Float64Array:
        """How far from the solid each place of a strand may be held at most [m], (G, places); see `_kernels`.

        A groom lies where it was groomed, below the skin too: no place is pushed farther out of the body than it was
        at rest, or hair would move before the head does.
        """
        if inner not in self._lowest:
            self._lowest[inner] = self._find_lowest(inner)
        return self._lowest[inner]

    def _find_lowest(self, inner: int) -> Float64Array:
        model = self._model
        if not self._is_body:
            return np.full((model.strand_count, (model.vertex_count - 1) * (inner + 1) + 1), np.inf)
        share = np.arange(inner + 1)[:, None] / (inner + 1)
        start, edge = model.rest_points[:, :-1, None], np.diff(model.rest_points, axis=1)[:, :, None]
        between = (start + share * edge).reshape(model.strand_count, -1, 3)
        places = np.concatenate([between, model.rest_points[:, -1:]], axis=1)
        distance = self.solid.rest_distance(places.reshape(-1, 3)).reshape(places.shape[:2])
        return np.ascontiguousarray(distance, np.float64)


class Clearances:
    """A `Clearance` for each solid, which contact and projection of the same guides share.

    Args:
        body: what the guides grow on, if anything.
    """

    def __init__(self, body: Solid | None = None) -> None:
        self._body = body
        self._known: dict[int, Clearance] = {}

    def of(self, solid: Solid, model: StrandModel) -> Clearance:
        """Return that of a solid."""
        known = self._known.get(id(solid))
        if known is None or known.solid is not solid or not known.is_of(model):
            known = self._known[id(solid)] = self._made(solid, model)
        return known

    def _made(self, solid: Solid, model: StrandModel) -> Clearance:
        return Clearance(solid, model, is_body=self._is_body(solid))

    def _is_body(self, solid: Solid) -> bool:
        """Whether guides grow on a solid: the body, or the same mesh while it comes from its rest pose (pre-roll)."""
        body = self._body
        return body is not None and (solid is body or (body.animation is not None and solid.mesh is body.mesh))


class SomeClearances(Clearances):
    """Those of some of the strands, at the price of these alone.

    Args:
        every: those of all strands; what is found out for all, such as how deep hair was groomed, is not found again.
        model: all strands.
        rows: some of them, shape (A,).
    """

    def __init__(self, every: Clearances, model: StrandModel, rows: IntArray) -> None:
        super().__init__(every._body)
        self._every, self._model, self._rows = every, model, rows

    def _made(self, solid: Solid, model: StrandModel) -> Clearance:
        whole = self._every.of(solid, self._model)
        whole.lowest(inner_places(whole.feature, self._model.longest_segment, 0.0))
        return whole.taken(self._rows)
