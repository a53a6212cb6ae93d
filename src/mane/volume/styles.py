"""Styles to blend to: the same hair in another shape, bound to the same mesh (lee2018 3.2.2, 3.3, fig. 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from mane.body.solid import PosedSolid, Solid
from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.locks import lock_centres
from mane.skin._kernels_lengths import keep_lengths
from mane.skin.guide_values import GuideValues
from mane.strand.frame import GuideFrame, GuideWetness
from mane.volume.lattice import Float64Array
from mane.volume.mesh import TetMesh
from mane.volume.params import VolumeParams
from mane.volume.sag import sagged_points

HAIRS_PER_CLUMP = 24
CLUMPING, CLUMP_START = 0.92, 0.25  # how close to the centre tips come, and from which part of the length on
LIGHT, HEAVY = 3.0, 5.0  # times its own weight that sagged and matted hair carries
MATTED_HEIGHT, MATTED_LAYER = 0.08, 0.001  # part of its height that is left, and the layer [m] that hair lies in
MATTED_ROUNDS = 4


class Level(Protocol):
    """Which style hair has, in space and time: wetness, or anything else."""

    def __call__(self, time: float, rest: FloatArray) -> FloatArray:
        """Level of each point, `rest (P, 3)` [m], at `time` [s], shape (P,): 0 the groom, 1 the first style, ..."""


class Wetness:
    """A level that rises over time, in some regions faster than in others.

    Args:
        rows: times [s] and levels, shape (K, 2), times rising.
        heights: heights over the ground at rest [m] and factors on the speed there, shape (H, 2); none for one speed.
    """

    def __init__(self, rows: Sequence[tuple[float, float]], heights: Sequence[tuple[float, float]] = ()) -> None:
        self._rows = np.array(rows, np.float64)
        self._heights = np.array(heights, np.float64).reshape(-1, 2)

    def __call__(self, time: float, rest: FloatArray) -> FloatArray:
        """Levels at a time."""
        if len(self._heights) == 0:
            level = np.interp(time, self._rows[:, 0], self._rows[:, 1])
            return np.full(len(rest), level, np.float32)
        speed = np.interp(rest[:, 1], self._heights[:, 0], self._heights[:, 1])
        start = self._rows[0, 0]
        result: FloatArray = np.interp(start + (time - start) * speed, self._rows[:, 0], self._rows[:, 1]).astype(
            np.float32
        )
        return result


class CarriedWetness:
    """A level by how wet the guides of the frame at hand are, which every hair has of those nearest to it.

    Args:
        groom: the dense hair at rest.
        guides: at rest.
        styles: how many there are.
    """

    def __init__(self, groom: Groom, guides: Guides, styles: int) -> None:
        self._values, self._strands, self._styles = GuideValues(groom, guides), groom.strand_count, styles
        self._wet: GuideWetness | None = None

    def see(self, frame: GuideFrame) -> None:
        """Take over how wet guides are."""
        self._wet = frame.wet

    def __call__(self, time: float, rest: FloatArray) -> FloatArray:
        """Levels of the hair, with any number of vertices."""
        if self._wet is None:
            return np.zeros(len(rest), np.float32)
        return self._styles * self._values(self._wet.level, len(rest) // self._strands).reshape(-1)


def level_of(params: VolumeParams, level: Level | None) -> Level:
    """The given level, or that of the settings."""
    return Wetness(params.wetness, params.wetting_height) if level is None else level


def make_styles(names: Sequence[str], groom: Groom, body: Solid | None, mesh: TetMesh | None = None) -> list[Groom]:
    """Make styles of a groom with one vertex count by their names in `STYLE_MAKERS`, or read them from files.

    Args:
        names: of makers, or of files.
        groom: at rest.
        body: that it grows on, if any.
        mesh: that holds the groom and hangs for styles that sag; made where it is needed without.
    """
    made = []
    for name in names:
        if name in STYLE_MAKERS:
            made.append(STYLE_MAKERS[name](groom, body, mesh))
        elif Path(name).suffix:
            made.append(_read_style(name, groom))
        else:
            known = ", ".join(STYLE_MAKERS)
            raise ValueError(f"styles: {name!r} is unknown; choose from {known}, or give the file of a groom")
    return made


def clumped(groom: Groom, body: Solid | None = None, mesh: TetMesh | None = None) -> Groom:
    """Hair that is drawn to that of cluster centres, from part of its length on (lee2018 3.2.2, fig. 6).

    Args:
        groom: dry hair at rest.
        body: not asked; all styles are called alike.
        mesh: not asked.
    """
    points = groom.as_uniform().astype(np.float64)
    centre = points[lock_centres(groom.roots, HAIRS_PER_CLUMP)]
    along = np.clip((_fractions(points) - CLUMP_START) / (1 - CLUMP_START), 0, 1)
    pull = CLUMPING * along * along * (3 - 2 * along)
    return _with_lengths(groom, points + pull[..., None] * (centre - points))


def sagged(groom: Groom, body: Solid | None = None, mesh: TetMesh | None = None) -> Groom:
    """Clumped hair in a mesh that water makes heavy (lee2018 3.2.2, fig. 6).

    Args:
        groom: dry hair at rest.
        body: that it must stay out of; None for none.
        mesh: that it hangs in; None makes one around the hair.
    """
    return _sag(clumped(groom), body, LIGHT, mesh)


def matted(groom: Groom, body: Solid | None = None, mesh: TetMesh | None = None) -> Groom:
    """Hair soaked so that it hangs, then laid onto the skin (lee2018 3.2.2, fig. 6).

    Args:
        groom: dry hair at rest.
        body: that it is laid onto; needed.
        mesh: that it hangs in; None makes one around the hair.
    """
    if body is None:
        raise ValueError("styles: 'matted' lies on the skin, and there is no body here")
    heavy = _sag(clumped(groom), body, HEAVY, mesh)
    surface = body.at_rest().placed(body.rest_pose, 0.0)
    height = MATTED_LAYER + MATTED_HEIGHT * surface.distance(heavy.points).reshape(groom.strand_count, -1)
    flat = heavy
    for _ in range(MATTED_ROUNDS):  # lengths that are set anew lift hair off a round body again
        flat = _with_lengths(groom, _lowered(flat.as_uniform(), surface, height))
    return _outside(flat, body)


def _lowered(points: FloatArray, surface: PosedSolid, height: FloatArray) -> FloatArray:
    """Points (S, V, 3) brought down to `height (S, V)` over a surface where they are higher; roots stay."""
    distance, normal = surface.distance_and_gradient(points.reshape(-1, 3))
    down = np.minimum(height.reshape(-1) - distance, 0)[:, None] * normal
    lowered: FloatArray = points + down.reshape(points.shape)
    lowered[:, 0] = points[:, 0]
    return lowered


STYLE_MAKERS: dict[str, Callable[[Groom, Solid | None, TetMesh | None], Groom]] = {
    "clumped": clumped,
    "sagged": sagged,
    "matted": matted,
}


def _sag(groom: Groom, body: Solid | None, weight: float, mesh: TetMesh | None) -> Groom:
    hung = _with_lengths(groom, sagged_points(groom, body, weight, mesh))
    return hung if body is None else _outside(hung, body)


def _outside(groom: Groom, body: Solid) -> Groom:
    """The groom with what has sunk into the body brought out of it, lengths kept."""
    from mane.groom.depenetrate import depenetrate

    return depenetrate(groom, body.at_rest())[0] if body.mesh is not None else groom


def _fractions(points: Float64Array) -> Float64Array:
    """Arc length from the root to each vertex, over the whole, shape (S, V)."""
    size = np.linalg.norm(np.diff(points, axis=1), axis=2)
    reached = np.concatenate([np.zeros((len(points), 1)), np.cumsum(size, axis=1)], axis=1)
    result: Float64Array = reached / np.maximum(reached[:, -1:], 1e-12)
    return result


def _with_lengths(groom: Groom, points: Float64Array | FloatArray) -> Groom:
    """The groom at other points, with the lengths of its own segments."""
    rest = np.linalg.norm(np.diff(groom.as_uniform().astype(np.float64), axis=1), axis=2).astype(np.float32)
    moved = np.ascontiguousarray(points, np.float32)
    keep_lengths(rest, moved)
    return groom.with_points(moved.reshape(-1, 3))


def _read_style(path: str, groom: Groom) -> Groom:
    from mane.io.grooms import read_groom

    style = read_groom(path)
    if not np.array_equal(style.offsets, groom.offsets):
        raise ValueError(
            f"{path}: must have the strands and vertices of the groom, {groom.strand_count:,} with "
            f"{groom.point_count:,} points, got {style.strand_count:,} with {style.point_count:,}"
        )
    return style
