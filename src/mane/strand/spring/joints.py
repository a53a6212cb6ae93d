"""Joints of a `SpringNet`: how their springs turn them, and how stiff these must be for the net to bend like a rod.

A joint is where two segments meet, each a triangle of its two vertices and its auxiliary particle. Five springs act
across it: one against twist, two against bending, two altitudes. To first order the triangles are rigid, and the joint
turns by moment / stiffness of the five. But a moment passes through the triangles too, whose edges and braces are
springs of the rod's E A, and give by the square of (radius / segment length) of what the joint does: one percent where
segments are five radii long. The joint's own springs are made so much stiffer that both together turn like the rod.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mane.strand.model import Float64Array, StrandModel

# The altitudes' share of the bending stiffness, times the distance of auxiliary particles over the segments' length. A
# bending spring alone loses its lever as a joint bends away from it, and snaps through; an altitude gains there what
# the spring loses.
ALTITUDE_SHARE = 0.22

SOFTEST = 0.1  # no twist spring is softer than this part of what twist alone would ask for
CALIBRATION_ROUNDS = 12
MOST_GIVE = 0.5  # of a joint's compliance that may be the triangles'; segments of a radius' length would need more

X_BEFORE, A_BEFORE, CENTRE, A_AFTER, X_AFTER = range(5)  # particles of a joint
TWIST, BEND, BEND_TOO, ALTITUDE, ALTITUDE_TOO = range(5)  # its springs
_ENDS = {TWIST: (A_BEFORE, A_AFTER), BEND: (X_BEFORE, A_AFTER), BEND_TOO: (A_BEFORE, X_AFTER)}
_FACES = {ALTITUDE: (A_AFTER, X_BEFORE, A_BEFORE, CENTRE), ALTITUDE_TOO: (A_BEFORE, CENTRE, A_AFTER, X_AFTER)}


@dataclass(frozen=True, eq=False)
class Joints:
    """Geometry of joints.

    Attributes:
        places: their five particles [m], in the order above, from the joint's vertex, shape (G, N, 5, 3).
    """

    places: Float64Array

    @classmethod
    def of(cls, particles: Float64Array) -> Joints:
        """Find the joints of a net's particles (G, P, 3)."""
        count = (particles.shape[1] - 3) // 2
        places = np.stack([particles[:, k : k + 2 * count : 2] for k in range(5)], axis=2)
        return cls(places - places[:, :, CENTRE : CENTRE + 1])

    @cached_property
    def axis(self) -> Float64Array:
        """Unit vectors along the strand, between the directions of the two segments, shape (G, N, 3)."""
        return _unit(_unit(self.places[:, :, X_AFTER]) - _unit(self.places[:, :, X_BEFORE]))

    @cached_property
    def reach(self) -> Float64Array:
        """Distance of the auxiliary particles from their segments over the segments' length, shape (G, N)."""
        out = [
            np.linalg.norm(self.places[:, :, a] - 0.5 * self.places[:, :, x], axis=-1)
            / np.linalg.norm(self.places[:, :, x], axis=-1)
            for a, x in ((A_BEFORE, X_BEFORE), (A_AFTER, X_AFTER))
        ]
        result: Float64Array = 0.5 * (out[0] + out[1])
        return result

    @cached_property
    def pulls(self) -> Float64Array:
        """How each spring lengthens as each particle moves, shape (G, N, 5 springs, 5 particles, 3)."""
        places = self.places
        out = np.zeros((*places.shape[:2], 5, 5, 3))
        for spring, (start, end) in _ENDS.items():
            along = _unit(places[:, :, end] - places[:, :, start])
            out[:, :, spring, start], out[:, :, spring, end] = -along, along
        for spring, (apex, base, first, second) in _FACES.items():
            e1, e2, r = (places[:, :, k] - places[:, :, base] for k in (first, second, apex))
            normal = np.cross(e1, e2)
            area = (normal**2).sum(axis=-1)
            u = (np.cross(r, e2) * normal).sum(axis=-1) / area
            v = (np.cross(e1, r) * normal).sum(axis=-1) / area
            for particle, weight in ((apex, np.ones_like(u)), (base, u + v - 1.0), (first, -u), (second, -v)):
                out[:, :, spring, particle] = weight[..., None] * _unit(normal)
        return out

    @cached_property
    def levers(self) -> Float64Array:
        """How each spring lengthens with the joint's turn [m/rad], shape (G, N, 5, 3)."""
        beyond = slice(A_AFTER, None)
        levers: Float64Array = np.cross(self.places[:, :, None, beyond], self.pulls[:, :, :, beyond]).sum(axis=3)
        return levers

    def turns(self, stiffness: Float64Array) -> Float64Array:
        """Turn per moment [1/(N m)] with rigid triangles, shape (G, N, 3, 3); `stiffness` of the five is (G, N, 5)."""
        inverse: Float64Array = np.linalg.inv(
            np.einsum("gnk,gnki,gnkj->gnij", stiffness, self.levers, self.levers, optimize=True)
        )
        return inverse

    def forces(self, tension: Float64Array) -> Float64Array:
        """Force of the five springs on the five particles [N], shape (G, N, 5, 3, ...); `tension` is (G, N, 5, ...)."""
        force: Float64Array = -np.einsum("gnkqi,gnk...->gnqi...", self.pulls, tension)
        return force

    def give(self, stiffness: Float64Array, strut: Float64Array) -> Float64Array:
        """Turn per moment [1/(N m)] of the triangles, shape (G, N, 3, 3): half of each one's to the joints at its ends.

        Args:
            stiffness: of the five springs of each joint [N/m], shape (G, N, 5).
            strut: of each triangle's edge and of its braces to the vertices before and behind [N/m], shape (G, N, 3).
        """
        carried = stiffness[..., None] * np.einsum("gnki,gnij->gnkj", self.levers, self.turns(stiffness))
        # Forces on the particles of a joint that carries a moment of one about each axis in turn, (G, N, 5, 3, axis).
        force = self.forces(carried)
        left, right = force[:, :-1], force[:, 1:]
        triangle = self.places[:, 1:, X_BEFORE : CENTRE + 1]  # of all segments but the last, whose end carries nothing
        along, to_start, to_end = (
            _unit(triangle[:, :, end] - triangle[:, :, start]) for start, end in ((0, 2), (1, 0), (1, 2))
        )
        braces = np.stack([to_start, to_end], axis=-1)
        tension = -np.linalg.pinv(braces) @ (left[:, :, A_AFTER] + right[:, :, A_BEFORE])
        beyond = left[:, :, X_AFTER] + right[:, :, CENTRE:].sum(axis=2) - to_end[..., None] * tension[:, :, 1:]
        edge = np.einsum("gni,gnic->gnc", along, beyond)[:, :, None]
        tensions = np.concatenate([edge, tension], axis=2)
        whole = np.einsum("gnkc,gnkd,gnk->gncd", tensions, tensions, 1.0 / strut[:, :-1], optimize=True)
        shared = np.zeros((*strut.shape[:2], 3, 3))
        shared[:, :-1] += 0.5 * whole
        shared[:, 1:] += 0.5 * whole
        shared[:, -1:] *= 2.0  # what is left out of the last segment is as in the one before
        return shared

    def bending_and_twist(self, compliance: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Of turns per moment (G, N, 3, 3): the mean over bending directions, and that of twist, both (G, N)."""
        twist = np.einsum("gni,gnij,gnj->gn", self.axis, compliance, self.axis)
        return 0.5 * (np.trace(compliance, axis1=-2, axis2=-1) - twist), twist


def calibrated(joints: Joints, strut: Float64Array, model: StrandModel) -> Float64Array:
    """Stiffness [N/m] of the five springs of each joint, shape (G, N, 5).

    With these the joint turns, together with the give of the triangles, under a bending moment, averaged over its
    directions, and under a twisting moment as the rod's piece of `joint_length` does. On a straight run bending is
    alike in all directions. `strut` is as for `Joints.give`.
    """
    goal = (model.joint_length / model.bend_stiffness, model.joint_length / model.twist_stiffness)
    rigid = _fitted(joints, model, goal)
    give = joints.bending_and_twist(joints.give(rigid, strut))
    bend, twist = (whole - np.minimum(part, MOST_GIVE * whole) for whole, part in zip(goal, give, strict=True))
    return _fitted(joints, model, (bend, twist))


def _fitted(joints: Joints, model: StrandModel, goal: tuple[Float64Array, Float64Array]) -> Float64Array:
    """Stiffness of the springs with which joints of rigid triangles have these compliances."""
    bend_goal, twist_goal = goal
    levers = joints.levers
    # Turns that lengthen one spring alone: their bending parts say what that spring is to carry.
    modes = np.linalg.inv(levers[..., :3, :])
    across = modes - joints.axis[..., :, None] * np.einsum("gni,gnik->gnk", joints.axis, modes)[..., None, :]
    spring = (across**2).sum(axis=-2)[..., 1:] / bend_goal[..., None]
    lever_floor = 0.25 * model.rest_length**2
    altitude = 1.0 / (bend_goal[..., None] * np.maximum((levers[..., 3:, :] ** 2).sum(axis=-1), lever_floor[..., None]))
    along = np.einsum("gni,gni->gn", joints.axis, levers[..., 0, :]) ** 2
    twist_floor = SOFTEST / (twist_goal * np.maximum(along, lever_floor * SOFTEST))
    first, share = (twist_floor / SOFTEST)[..., None], (ALTITUDE_SHARE / joints.reach)[..., None]
    stiffness = np.concatenate([first, (1.0 - share) * spring, share * altitude], axis=-1)
    for _ in range(CALIBRATION_ROUNDS):
        bent, twisted = joints.bending_and_twist(joints.turns(stiffness))
        stiffness[..., BEND:] *= np.clip(bent / bend_goal, 0.5, 2.0)[..., None]
        stiffness[..., TWIST] = np.maximum(stiffness[..., TWIST] * np.clip(twisted / twist_goal, 0.5, 2.0), twist_floor)
    return stiffness


def soundness(before: Float64Array, a_before: Float64Array, a_after: Float64Array, after: Float64Array) -> Float64Array:
    """Volume that the levers of a joint's twist and bending springs span [m^3], shape (G,); particles from its vertex.

    A spring from r' to r lengthens by (r' x r) / |r - r'| . turn.
    """
    pairs = ((a_before, a_after), (before, a_after), (a_before, after))
    levers = np.stack([np.cross(s, r) / np.linalg.norm(r - s, axis=-1, keepdims=True) for s, r in pairs], axis=-2)
    volume: Float64Array = np.abs(np.linalg.det(levers))
    return volume


def _unit(vectors: Float64Array) -> Float64Array:
    unit: Float64Array = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return unit
