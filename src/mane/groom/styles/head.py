"""The head that styles grow on: its scalp, its distance field, and how hair flows away from a parting."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from mane.body.bust import Bust, make_bust
from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray
from mane.geometry.grid import UniformGrid
from mane.groom.roots import Roots, scatter_roots
from mane.groom.styles import _kernels as kernels
from mane.groom.styles import _shaping as shaping

CLEARANCE = 0.0012  # between hair and skin [m]: more than a chord of a long strand's segment dips towards the head
HAIRLINE_FADE = 0.008  # width of the band [m] over which the hairline thins out
PARTING_WIDTH = 0.004  # [m]
FINE_POINTS = 96  # per strand while it is combed, before it is cut and resampled
GATHER_STEP = 0.004  # length of a step [m] while a strand is gathered into a tie


@dataclass(frozen=True, eq=False)
class Head:
    """A bust prepared for growing hair.

    Attributes:
        bust: the bust.
        field: signed distance to its skin on a grid.
    """

    bust: Bust
    field: UniformGrid

    @cached_property
    def scalp(self) -> Mesh:
        """The part of the skin that bears hair."""
        return self.bust.scalp_mesh()

    @cached_property
    def guarded_field(self) -> UniformGrid:
        """The field with walls before the face and over each shoulder, so that hair falls beside them."""
        axes = self.field.node_axes()
        values = self.field.values.copy()
        for wall in walls(self.bust):
            np.minimum(values, wall.values(axes), out=values)
        return UniformGrid(values, self.field.origin, self.field.cell_size)

    def roots(self, count: int, seed: int, *, keep: FloatArray | None = None) -> Roots:
        """Spread roots over the scalp, thinning towards the hairline; `keep` (N,) restricts them by scalp vertex."""
        inside = self.bust.hairline_distance(self.scalp.points)
        density = shaping.smooth_step(inside, -0.25 * HAIRLINE_FADE, HAIRLINE_FADE)
        return scatter_roots(self.scalp, count, density=density if keep is None else density * keep, seed=seed)


@lru_cache(maxsize=1)
def load_head() -> Head:
    """Return the bust and its distance field; made once, then kept in memory and in the disk cache."""
    from mane.body.sdf import build_sdf

    bust = make_bust()
    return Head(bust, build_sdf(bust.mesh))


@dataclass(frozen=True)
class Parting:
    """The line that combed hair flows away from, over the top of the head.

    Attributes:
        side: its distance from the middle [m], positive towards the head's left.
        front: where it starts, as the share of the way from the crown (0) to the front hairline (1); hair in front of
            it falls forward, as a fringe.
    """

    side: float = 0.0
    front: float = 1.0


def flow_from_parting(head: Head, roots: Roots, parting: Parting, sweep: float) -> FloatArray:
    """Directions along the skin (S, 3), away from the parting and down; `sweep` adds a brush backwards at the front."""
    crown, front = head.bust.crown, head.bust.front_hairline
    line_start = np.array([parting.side, crown[1], crown[2]], np.float32)
    line_end = line_start + (np.array([parting.side, front[1], front[2]], np.float32) - line_start) * parting.front
    along = line_end - line_start
    share = np.clip((roots.points - line_start) @ along / (along @ along), 0, 1)
    away = roots.points - (line_start + share[:, None] * along)
    away[:, 1] = 0.0
    # Hair on the very line must choose a side, or it would run along it and over the face.
    away[:, 0] += np.copysign(PARTING_WIDTH, away[:, 0])
    down = np.array([0, -1, 0], np.float32)
    back = np.array([0, 0, -1], np.float32) * shaping.smooth_step(roots.points[:, 2], 0.0, front[2])[:, None]
    flow = shaping.unit_vectors(away) + 0.6 * down + sweep * back
    return shaping.unit_vectors(shaping.tangential(flow, roots.normals))


def layer_heights(head: Head, roots: Roots, thickness: float, rng: np.random.Generator) -> FloatArray:
    """Height [m] above the skin at which each strand travels (S,): hair from higher up lies on the hair below it."""
    low, high = float(head.scalp.points[:, 1].min()), float(head.scalp.points[:, 1].max())
    height = shaping.smooth_step(roots.points[:, 1], low, high)
    jitter = rng.random(len(roots.points), np.float32)
    return np.float32(CLEARANCE) + np.float32(thickness) * (0.15 + 0.5 * height + 0.35 * jitter)


def comb(
    head: Head,
    roots: Roots,
    flow: FloatArray,
    layer: FloatArray,
    vertices: int,
    *,
    length: FloatArray,
    cut_height: FloatArray,
    lift: float = 0.5,
    fall: float = 0.05,
    min_length: float = 0.02,
    field: UniformGrid | None = None,
) -> FloatArray:
    """Strands (S, V, 3) combed along `flow` over the head, falling under gravity, cut at a height or a length.

    Args:
        head: what they grow on.
        roots: where they start.
        flow: direction along the skin, shape (S, 3).
        layer: height above the skin at which each travels [m], shape (S,).
        vertices: points per strand.
        length: longest length [m], shape (S,).
        cut_height: a strand ends where it falls below this y [m], shape (S,).
        lift: how much a strand leaves along the normal (0 flat, 1 upright).
        fall: distance [m] over which it turns from its combed direction to straight down.
        min_length: what is left at least [m].
        field: what to keep out of, instead of the guarded field.
    """
    body = head.guarded_field if field is None else field
    start = shaping.unit_vectors(lift * roots.normals + (1 - lift) * flow)
    out = np.empty((len(roots.points), vertices, 3), np.float32)
    kernels.comb_strands(
        roots.points,
        start,
        layer,
        length.astype(np.float32),
        cut_height.astype(np.float32),
        np.float32(min_length),
        np.full(len(start), fall, np.float32),
        body.values,
        body.origin,
        np.float32(1.0 / body.cell_size),
        FINE_POINTS,
        out,
    )
    return out


def gather(head: Head, roots: Roots, tails: FloatArray, layer: FloatArray, vertices: int) -> FloatArray:
    """Strands (S, V, 3) that hug the head from their roots to the start of their tails (S, T, 3), then follow them."""
    out = np.empty((len(roots.points), vertices, 3), np.float32)
    kernels.gather_strands(
        roots.points,
        np.ascontiguousarray(tails, np.float32),
        layer,
        np.float32(GATHER_STEP),
        FINE_POINTS,
        head.field.values,
        head.field.origin,
        np.float32(1.0 / head.field.cell_size),
        out,
    )
    return out


@dataclass(frozen=True)
class Wall:
    """A rounded obstacle that only combing sees: thin along the one axis that it should turn hair aside on."""

    center: tuple[float, float, float]
    radii: tuple[float, float, float]

    def values(self, axes: tuple[FloatArray, FloatArray, FloatArray]) -> FloatArray:
        """Distance-like values [m], negative inside, on the grid of these x, y and z, shape (X, Y, Z)."""
        radii, center = np.array(self.radii, np.float32), np.array(self.center, np.float32)
        x, y, z = (((axis - center[c]) / radii[c]) ** 2 for c, axis in enumerate(axes))
        scaled = np.sqrt((x[:, None, None] + y[:, None]) + z)
        scaled -= np.float32(1)
        scaled *= radii.min()
        result: FloatArray = scaled
        return result


def walls(bust: Bust) -> tuple[Wall, ...]:
    """Before the face (hair goes left or right), over the shoulders (before or behind), beside the arms (inward)."""
    _, hairline_y, hairline_z = (float(v) for v in bust.front_hairline)
    chin_y = float(bust.chin[1])
    face = Wall((0.0, hairline_y - 0.13, hairline_z + 0.29), (0.062, 0.10, 0.30))
    shoulders = tuple(Wall((side * 0.18, chin_y - 0.11, -0.035), (0.10, 0.075, 0.03)) for side in (-1, 1))
    arms = tuple(Wall((side * 0.31, chin_y - 0.12, -0.03), (0.17, 0.50, 0.50)) for side in (-1, 1))
    return (face, *shoulders, *arms)
