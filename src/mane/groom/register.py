"""Laying guides from another file onto the groom that they belong to, where the files differ in unit, axes or place.

A strand is compared by its root and by the way from root to tip, so that hair that hangs tells up from down and long
strands a scale from another. Tried are the factors between units and the 24 turns that carry axes onto axes; for each
the translation that brings strands closest together is found by iterated closest points (Besl and McKay 1992).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from mane.groom.groom import Groom

Float64Array = NDArray[np.float64]

SCALES = (1.0, 1e-2, 1e-3, 1e2, 1e3, 0.1, 10.0, 0.0254, 1 / 0.0254)
TIP_SHARE = 0.3  # weight of the way from root to tip against that of the root
MOST_GUIDES, MOST_STRANDS = 300, 5000  # that are compared
LAST_ROUNDS, NEIGHBOURS = 60, 4
ROUNDS = 6  # of closest points
# Guides belong to a groom where half of them are nearer to a strand of it than so many of its own spacings, or this
# share of its size, if that is more: an artist's guides stand between strands, and not on each of them.
SPACINGS, SIZE_SHARE = 3.0, 0.05
# How many times longer or shorter than the hair guides may be as given, and after they were scaled.
GIVEN_LENGTHS, SCALED_LENGTHS = 10.0, 3.0
SURE = 0.5  # another placing must be so many times better than the files' own to be taken


@dataclass(frozen=True, eq=False)
class Registration:
    """How guides were laid onto a groom.

    Attributes:
        guides: in their place [m].
        scale: factor that they were scaled by.
        rotation: that they were turned by after that, shape (3, 3).
        translation: that they were moved by after that [m], shape (3,).
        distance: median distance of their roots from the nearest root of the groom [m].
    """

    guides: Groom
    scale: float
    rotation: Float64Array
    translation: Float64Array
    distance: float

    @property
    def is_identity(self) -> bool:
        """Whether they lie where their file has them."""
        return self.scale == 1.0 and not self.translation.any() and bool((self.rotation == np.eye(3)).all())

    def __str__(self) -> str:
        deeds = [] if self.scale == 1.0 else [f"scaled by {self.scale:g}"]
        if not (self.rotation == np.eye(3)).all():
            axes = ", ".join(_axis_name(row) for row in self.rotation)
            deeds.append(f"turned so that ({axes}) became (x, y, z)")
        if self.translation.any():
            deeds.append("moved by (" + ", ".join(f"{value:.3g}" for value in self.translation) + ") m")
        return ", ".join(deeds) or "as they are"


def register_guides(guides: Groom, groom: Groom) -> Registration:
    """Return guides where they belong on a groom: as they are if they fit, else scaled, turned and moved.

    Args:
        guides: strands of another file, in any frame.
        groom: the hair that they stand for [m].

    Raises:
        ValueError: no placing brings them onto the groom; the message says how far off they are as given.
    """
    mine, theirs = _features(guides, MOST_GUIDES), _features(groom, MOST_STRANDS)
    allowed = _allowed_distance(theirs)
    roots, tree = cKDTree(theirs[:, :3]), cKDTree(_weighted(theirs))
    given = float(np.median(roots.query(mine[:, :3])[0]))
    own = float(np.median(tree.query(_weighted(mine))[0]))
    if own <= allowed and _lengths_agree(guides, groom, GIVEN_LENGTHS):
        return Registration(guides, 1.0, np.eye(3), np.zeros(3), given)
    tries = [_placed(mine, theirs, tree, scale, turn) for scale in SCALES for turn in _turns()]
    score, scale, turn, shift = min(tries, key=lambda one: one[0])
    if shift.any():
        shift = shift + _refinement(_features(_transformed(guides, scale, turn, shift), MOST_GUIDES), theirs)
    moved = _transformed(guides, scale, turn, shift)
    distance = float(np.median(roots.query(_features(moved, MOST_GUIDES)[:, :3])[0]))
    if score > min(allowed, SURE * own) or not _lengths_agree(moved, groom, SCALED_LENGTHS):
        raise ValueError(
            f"guides must lie on the groom, got half of their roots more than {given:.3g} m off its roots; check that "
            "they are of the same head, and tell their unit and up axis"
        )
    return Registration(moved, scale, turn, shift, distance)


def _features(groom: Groom, most: int) -> Float64Array:
    """Root and way from root to tip of strands that are evenly chosen, shape (K, 6)."""
    chosen = np.linspace(0, groom.strand_count - 1, min(groom.strand_count, most)).astype(np.int64)
    roots = groom.roots[chosen].astype(np.float64)
    return np.concatenate([roots, groom.tips[chosen] - roots], axis=1)


def _weighted(features: Float64Array) -> Float64Array:
    result: Float64Array = features * np.array([1.0, 1.0, 1.0, TIP_SHARE, TIP_SHARE, TIP_SHARE])
    return result


def _allowed_distance(features: Float64Array) -> float:
    """How far off the strands of a groom (K, 6) its guides may lie [m]."""
    if len(features) < 2:
        return np.inf
    weighted = _weighted(features)
    spacing = float(np.median(cKDTree(weighted).query(weighted, k=2)[0][:, 1]))
    return max(SPACINGS * spacing, SIZE_SHARE * float(np.linalg.norm(np.ptp(weighted, axis=0))))


def _lengths_agree(guides: Groom, groom: Groom, times: float) -> bool:
    """Whether guides are about as long as the hair."""
    ratio = float(np.median(guides.lengths)) / max(float(np.median(groom.lengths)), 1e-30)
    return 1.0 / times < ratio < times


def _placed(
    mine: Float64Array, theirs: Float64Array, tree: cKDTree, scale: float, turn: Float64Array
) -> tuple[float, float, Float64Array, Float64Array]:
    """Median distance of features after scaling, turning and the best translation; with all three."""
    moved = scale * np.concatenate([mine[:, :3] @ turn.T, mine[:, 3:] @ turn.T], axis=1)
    best = (np.inf, scale, turn, np.zeros(3))
    for shift in (np.zeros(3), _middle(theirs) - _middle(moved)):
        placed = moved.copy()
        placed[:, :3] += shift
        total = shift.copy()
        rounds = ROUNDS if shift.any() else 0  # files that share an origin are not moved
        for _ in range(rounds):
            near = theirs[tree.query(_weighted(placed))[1], :3]
            step = np.median(near - placed[:, :3], axis=0)
            placed[:, :3] += step
            total += step
        score = float(np.median(tree.query(_weighted(placed))[0]))
        if score < (SURE if best[0] < np.inf else 1.0) * best[0]:
            best = (score, scale, turn, total)
    return best


def _refinement(placed: Float64Array, theirs: Float64Array) -> Float64Array:
    """What is left of the translation: each guide between its nearest strands, those most alike in shape."""
    tree, total = cKDTree(theirs), np.zeros(3)
    for _ in range(LAST_ROUNDS):
        moved = placed + np.concatenate([total, np.zeros(3)])
        distance, near = tree.query(moved, k=min(NEIGHBOURS, len(theirs)))
        share = 1.0 / (np.reshape(distance, (len(moved), -1)) + 1e-12)
        share /= share.sum(axis=1, keepdims=True)
        goal = np.einsum("gk,gkc->gc", share, theirs[np.reshape(near, share.shape), :3])
        step = (goal - moved[:, :3]).mean(axis=0)
        total += step
        if np.linalg.norm(step) < 1e-7:
            break
    return total


def _middle(features: Float64Array) -> Float64Array:
    roots = features[:, :3]
    result: Float64Array = 0.5 * (roots.min(axis=0) + roots.max(axis=0))
    return result


def _turns() -> Iterator[Float64Array]:
    """The 24 rotations that carry axes onto axes, none first."""
    for order in permutations(range(3)):
        for signs in product((1.0, -1.0), repeat=3):
            matrix = np.zeros((3, 3))
            matrix[(0, 1, 2), order] = signs
            if np.linalg.det(matrix) > 0:
                yield matrix


def _transformed(guides: Groom, scale: float, turn: Float64Array, shift: Float64Array) -> Groom:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = scale * turn, shift
    return guides.transformed(matrix)


def _axis_name(row: Float64Array) -> str:
    axis = int(np.abs(row).argmax())
    return ("-" if row[axis] < 0 else "") + "xyz"[axis]
