"""`TriangleStrips`: hair that does not pass through hair, though only a few guides of it are simulated (chang2002 4.2).

Between guides whose roots are neighbours, a strip of triangles stands for the hair that is not there. Segments meet
segments, and vertices meet triangles, at less than a thickness: a strongly damped spring pushes them apart, friction
resists their sliding, and a triangle hands what it feels to its three vertices. Hair that runs along the strip passes,
hair that crosses it does not (eq. 3). Where its guides move apart a strip grows thin, at last it breaks, and it heals
when they come together again.

Both parts of a contact receive the same force, so momentum is kept, angular momentum too but for friction, which acts
a gap apart. As in `links`, every push is solved implicitly against what the strands give way, so it is stable at any
stiffness. Contacts remember the side that they came from: what slips through in a violent step is brought back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.contact.groups import checked_groups
from mane.contact.neighbours import checked_pairs, find_pairs, rest_widths, with_split
from mane.contact.strips import _kernels_contact as kernels
from mane.contact.strips.broad_phase import BroadPhase
from mane.contact.strips.contacts import Contacts, Pushes
from mane.contact.strips.params import StripParams
from mane.geometry.checks import IntArray
from mane.strand.model import Float64Array, StrandModel
from mane.strand.ports import Force, Load, StrandView

STILL = 0.1  # hair that has moved by less since a broad phase, in thicknesses, needs no other
LEAST_WIDTH = 2.0  # of a strip at rest, in thicknesses: guides that touch as groomed have no width to compare with


class TriangleStrips(Force):
    """Collisions and friction among guides and the hair between them.

    Parts that are closer as groomed than the thickness are left as they are: they meet at their groomed distance. A
    strand does not collide with itself. Strips are made when the first step is, between the guides active then;
    `set_pairs` changes them.

    Limitations: a contact is seen coming from one thickness beyond its own, so parts that approach faster than two
    thicknesses per substep (1 m/s at 2 mm and 4 ms) can pass each other unnoticed, and so can parts that come from far
    between two broad phases (`broad_phase_interval`). A push grows no stiffer than a step allows, some mass / dt^2:
    hair that is pulled hard over other hair sinks in, and a braid needs substeps of one millisecond, a rate of 6000
    and a broad phase interval of 0 to stay whole. Parts within 8 degrees of each other, whose force would be less than
    a hundredth, do not meet at all.

    Args:
        groups: strips are made within a group alone, while all collide with each other (chang2002 7.2); one whole
            number per guide, shape (G,), negative for those that take no part. None for one group.
        settings: fields of `StripParams`.
    """

    name = "strips"
    version = 2  # a contact alone gets the impulse of an implicit step, friction is that of the hair
    examples = ({}, {"narrow_phase_interval": 0.01})
    settings = StripParams

    def __init__(self, *, groups: ArrayLike | None = None, **settings: Any) -> None:
        self.params = StripParams(**settings)
        self._groups_given = groups
        self._is_made = False

    def prepare(self, model: StrandModel) -> None:
        """Get ready for guides of this model."""
        self._model = model
        self._groups = checked_groups("strips.groups", self._groups_given, model)
        self._broad_phase = BroadPhase(model, self.params)
        self._pushes = Pushes(model, self.params.laws(model))
        self._segment_contacts = Contacts(model.strand_count)
        self._is_made = False

    # -- strips ----------------------------------------------------------------------------------------------------

    @property
    def pairs(self) -> IntArray:
        """Guides that have a strip between them, shape (P, 2); known from the first step on.

        Behind them are the halves that some are split into while a guide is inserted in their middle.
        """
        return self._pairs.copy() if self._is_made else np.zeros((0, 2), np.int64)

    @property
    def broken(self) -> NDArray[np.bool_]:
        """Which triangles are broken, shape (P, 2 N), two for each segment."""
        return self._broken.copy() if self._is_made else np.zeros((0, 2 * self._model.segment_count), np.bool_)

    @property
    def density(self) -> Float64Array:
        """How dense the hair on each triangle is, 1 as groomed, shape (P, 2 N); 0 where broken, split or not there."""
        return self._density.copy() if self._is_made else np.zeros((0, 2 * self._model.segment_count))

    def set_pairs(self, pairs: ArrayLike, *, rest_points: ArrayLike | None = None) -> None:
        """Make strips between these guides (P, 2) instead; those that were there before keep what is broken.

        Args:
            pairs: two different strands each.
            rest_points: shape in which the strips have their rest width [m], (G, V, 3); None for the groom.
        """
        chosen = checked_pairs(pairs, self._model.strand_count)
        rest = self._model.rest_points if rest_points is None else np.asarray(rest_points, np.float64)
        old = {tuple(pair): row for pair, row in zip(self.pairs.tolist(), self.broken, strict=True)}
        self._make(chosen, rest)
        for row, pair in enumerate(self._pairs.tolist()):
            if tuple(pair) in old:
                self._broken[row] = old[tuple(pair)]

    def _make(self, own_pairs: IntArray, rest_points: Float64Array, rest_width: Float64Array | None = None) -> None:
        pairs, self._splitter = with_split(own_pairs, self._model.parents)
        if rest_width is None:
            rest_width = rest_widths(rest_points, pairs, LEAST_WIDTH * self.params.thickness)
        self._pairs = pairs
        self._rest_width = rest_width
        self._broken = np.zeros(rest_width.shape, np.bool_)
        self._density = np.zeros(rest_width.shape)
        self._broad_phase.lay_strips(len(pairs))
        self._face_contacts = Contacts(len(pairs))
        self._points_at_broad_phase = np.zeros_like(self._model.rest_points)
        self._took_part = np.zeros(self._model.strand_count, np.bool_)
        self._is_made = True
        self._learn_groom()

    def _learn_groom(self) -> None:
        """List what touches as groomed, which keeps its groomed gap."""
        rest = np.ascontiguousarray(self._model.rest_points)
        still = np.zeros_like(rest)
        members = self._groups >= 0
        every = members[self._pairs[:, 0]] & members[self._pairs[:, 1]]
        nothing = [Contacts(len(rows.count)) for rows in (self._broad_phase.segments, self._broad_phase.faces)]
        self._groomed = [_groomed(contacts) for contacts in nothing]
        kept = self._segment_contacts
        self._segment_contacts = nothing[0]
        self._run_broad_phase(rest, members, every)
        self._touch(rest, still, every, 1.0)
        self._groomed = [_groomed(self._segment_contacts), _groomed(self._face_contacts)]
        self._segment_contacts, self._face_contacts = kept, Contacts(len(self._pairs))
        self._broken.fill(False)
        self._next_broad_phase = self._next_touch = -np.inf

    # -- a step ----------------------------------------------------------------------------------------------------

    def add(self, strands: StrandView, load: Load) -> None:
        """Find what touches and push it apart."""
        takes_part = strands.active & (self._groups >= 0)
        if not self._is_made:
            self._make_first(strands.model, takes_part)
        points, velocity = strands.points, strands.velocity
        is_due = strands.time >= min(self._next_broad_phase, self._next_touch)
        if is_due:
            there = self._there(takes_part)
            if strands.time >= self._next_broad_phase:
                if self._has_moved(points, takes_part):
                    self._run_broad_phase(points, takes_part, there)
                self._next_broad_phase = strands.time + self.params.broad_phase_interval
            self._touch(points, velocity, there, max(strands.dt, self.params.narrow_phase_interval))
            self._next_touch = strands.time + self.params.narrow_phase_interval
        self._pushes.add((self._segment_contacts, self._face_contacts), velocity, strands.dt, not is_due, load)

    def _has_moved(self, points: Float64Array, takes_part: NDArray[np.bool_]) -> bool:
        """Whether a broad phase could find anything new; with an interval of 0 it is always asked."""
        if (
            self.params.broad_phase_interval == 0
            or self._next_broad_phase == -np.inf
            or (takes_part != self._took_part).any()
        ):
            return True
        return bool(np.abs(points - self._points_at_broad_phase).max() > STILL * self.params.thickness)

    def _make_first(self, model: StrandModel, takes_part: NDArray[np.bool_]) -> None:
        params = self.params
        pairs = np.zeros((0, 2), np.int64)
        if params.strips:
            own = takes_part & ~model.is_slot
            pairs = find_pairs(model.rest_points[:, 0], own, self._groups, params.neighbours, params.reach)
        self._make(pairs, model.rest_points)

    def _run_broad_phase(self, points: Float64Array, takes_part: NDArray[np.bool_], there: NDArray[np.bool_]) -> None:
        """List all candidate pairs until the next broad phase, and what is known of it."""
        widest = self.params.breaks_at * self._rest_width + self.params.margin
        widest[~there] = -1.0
        broad = self._broad_phase
        broad.find(points, takes_part, self._pairs, widest)
        span = points.shape[0] * points.shape[1]
        for rows, contacts, groomed in (
            (broad.segments, self._segment_contacts, self._groomed[0]),
            (broad.faces, self._face_contacts, self._groomed[1]),
        ):
            known = (contacts.count, contacts.keys, contacts.sides)
            kernels.recall(rows.listed, span, known, groomed, self.params.thickness)
        self._points_at_broad_phase[...], self._took_part[...] = points, takes_part

    def _there(self, takes_part: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Strips (P,) whose guides both take part, and that no inserted guide has split."""
        is_split = (self._splitter >= 0) & takes_part[self._splitter]
        there: NDArray[np.bool_] = takes_part[self._pairs].all(axis=1) & ~is_split
        return there

    def _touch(self, points: Float64Array, velocity: Float64Array, there: NDArray[np.bool_], dt: float) -> None:
        """Find which candidates touch, or will within `dt` [s]."""
        params, broad = self.params, self._broad_phase
        limits = (params.breaks_at, params.heals_at, params.densest)
        strips = (self._pairs, there, self._rest_width, limits, self._broken, self._density)
        given = (points, velocity, broad.table, broad.segments.listed, strips, broad.faces.listed)
        again = False
        while True:
            contacts = (self._segment_contacts.buffers, self._face_contacts.buffers)
            kernels.touch(*given, (params.zone, params.ahead), dt, again, broad.scratch, *contacts)
            again = self._segment_contacts.grown() | self._face_contacts.grown()
            if not again:
                break

    # -- what a part answers -----------------------------------------------------------------------------------------

    def report(self) -> dict[str, float]:
        """How many contacts there were among hair, and which share of the strips is broken."""
        if not self._is_made:
            return {}
        touching = int(self._segment_contacts.count.sum() + self._face_contacts.count.sum())
        broken = float(np.count_nonzero(self._broken) / max(self._broken.size, 1))
        return {"hair contacts": float(touching), "broken strips": broken}

    def memory(self) -> dict[str, NDArray[Any]]:
        """Strips, which of them are broken, and on which side of each other the parts are that touch."""
        if not self._is_made:
            return {}
        named = {"pairs": self._pairs.copy(), "rest_width": self._rest_width.copy(), "broken": self._broken.copy()}
        named.update(
            points_at_broad_phase=self._points_at_broad_phase.copy(), next_broad_phase=np.array(self._next_broad_phase)
        )
        named["next_touch"] = np.array(self._next_touch)
        named["took_part"] = self._took_part.copy()
        for name, contacts in (("segments", self._segment_contacts), ("faces", self._face_contacts)):
            starts, keys, sides, _ = contacts.flat()
            named.update({f"{name}.starts": starts, f"{name}.keys": keys, f"{name}.sides": sides})
            if self.params.narrow_phase_interval:
                named[f"{name}.touched"], named[f"{name}.records"] = contacts.going_on()
        return named

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned."""
        self._is_made = False
        self._segment_contacts.count.fill(0)
        if "pairs" not in memory:
            return
        given = np.array(memory["pairs"])
        own = given[~self._model.is_slot[given].any(axis=1)]
        self._make(own, self._model.rest_points, np.array(memory["rest_width"]))
        self._broken[...] = memory["broken"]
        for name, contacts in (("segments", self._segment_contacts), ("faces", self._face_contacts)):
            contacts.fill(*(memory[f"{name}.{what}"] for what in ("starts", "keys", "sides")))
            if self.params.narrow_phase_interval:
                contacts.go_on(memory[f"{name}.touched"], memory[f"{name}.records"])
        self._pushes.forget()
        took_part = np.array(memory["took_part"])
        self._run_broad_phase(np.array(memory["points_at_broad_phase"]), took_part, self._there(took_part))
        self._next_broad_phase, self._next_touch = float(memory["next_broad_phase"]), float(memory["next_touch"])

    def regroup(self, strands: NDArray[np.bool_]) -> None:
        """Guides of the mask (G,) came or went: halves of a strip begin as broken as the whole."""
        if not self._is_made:
            return
        wholes = {slot: row for row, slot in enumerate(self._splitter.tolist()) if slot >= 0}
        for row in np.flatnonzero(strands[self._pairs].any(axis=1)):
            slot = int(self._pairs[row][strands[self._pairs[row]]][0])
            self._broken[row] = self._broken[wholes[slot]]
        self._next_broad_phase = -np.inf

    def forget(self, strands: NDArray[np.bool_]) -> None:
        """Strands of the mask (G,) were carried elsewhere and touch nothing that they touched before."""
        if self._is_made:
            self._segment_contacts.count.fill(0)
            self._face_contacts.count.fill(0)
            self._next_broad_phase = -np.inf


class WispCollisions(TriangleStrips):
    """Collisions of guides alone, each a wisp with a thickness: strips that are all broken from the beginning.

    The baseline that `TriangleStrips` is compared with. Arguments are the same.
    """

    name = "wisps"

    def __init__(self, *, groups: ArrayLike | None = None, **settings: Any) -> None:
        super().__init__(groups=groups, **{**settings, "strips": False})


def _groomed(contacts: Contacts) -> tuple[IntArray, IntArray, Float64Array]:
    starts, keys, _, gaps = contacts.flat()
    return starts, keys, gaps
