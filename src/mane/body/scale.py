"""Noticing that hair and body are not in the same units, or not in metres, before a simulation makes nonsense of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mane.geometry.checks import FloatArray, as_floats

# Strands of a head or a coat: from the down on a face to hair that has never been cut [m].
SHORTEST_STRAND, LONGEST_STRAND = 1e-3, 3.0
STRAYS = 0.01  # share of the strands that may be longer
TYPICAL_STRAND = 0.15  # [m]
# What may be a body, from a mouse's head to an ox [m, diagonal]: tells which of two sizes that disagree is wrong.
BODY_SIZES = (0.03, 5.0)
# Hair and a body that fit each other and are smaller than this were both read in too small a unit [m, diagonal].
SMALLEST_BODY = 0.01
# Hair down to the ground is some five times as large as the head; ten times is no hair.
LARGEST_HAIR = 10.0
# Eyelashes are a fortieth of a whole person; a head in centimetres is at least sixty times its hair.
LARGEST_BODY = 50.0
# Hair grows on the body, so their boxes touch; a gap of half the larger one is a wrong origin or up axis.
LARGEST_GAP = 0.5
# Half of the roots farther off the skin than this share of the radius of a ball with its area do not grow on it.
FAR_ROOTS = 0.75
ON_SKIN = 0.1  # likewise, of roots that do
USUAL_BODY = 0.5  # [m, diagonal] between a head and a person
MOST_ROOTS = 500  # that are asked for where they lie

# The factors between units that tools write; sizes of hair vary too much to tell centimetres from inches.
FACTORS = (1e-3, 1e-2, 1e2, 1e3)
UNITS = {1e-3: "millimetres", 1e-2: "centimetres"}


class ScaleError(ValueError):
    """Hair and body that cannot belong together, or hair that is none by its size.

    Attributes:
        text: what is wrong, with sizes and without a remedy.
        thing: "hair" or "body", whichever is likely to be in another unit; "" where it is not the unit.
        factor: by which to scale it.
        fits: hair and body fit each other, and are both to be scaled.
    """

    def __init__(self, text: str, thing: str = "", factor: float = 1.0, *, fits: bool = False) -> None:
        self.text, self.thing, self.factor, self.fits = text, thing, factor, fits
        super().__init__(f"scale: {text}; {self._remedy()}")

    def _remedy(self) -> str:
        if not self.thing:
            return "check the origin and the up axis of both"
        unit = f"the {self.thing} may be in {UNITS[self.factor]} (" if self.factor in UNITS else f"the {self.thing} ("
        return f"{unit}scale it by {self.factor:g})"


def check_scale(hair: ArrayLike | Any, body: ArrayLike | Any | None) -> None:
    """Raise `ScaleError` when hair and body cannot belong together: sizes of another order, or far apart.

    Args:
        hair: a groom, whose strands must be 1 mm to 3 m long; or points [m], shape (P, 3), or bounds, shape (2, 3).
        body: the same for the body, such as a mesh, near which the roots of a groom must be; None for hair alone.

    The message names both sizes and the likely unit. Nothing is changed or guessed: scale the data and call again.
    """
    lengths = getattr(hair, "lengths", None)
    if lengths is not None:
        _check_lengths(np.asarray(lengths, np.float64))
    if body is None:
        return
    bounds = _bounds("hair", hair), _bounds("body", body)
    roots = getattr(hair, "roots", None)
    has_roots = roots is not None and hasattr(body, "faces")
    try:
        _check_sizes(*bounds, None if lengths is None else float(np.median(lengths)))
        if has_roots:
            _check_roots(roots, body)
        _check_body(bounds[1])
    except ScaleError as error:
        # Where roots lie tells more than sizes do, unless they lie where they should.
        found = _fitting_factor(roots, body) if has_roots and not error.fits else None
        raise error if found is None else ScaleError(error.text, *found) from None


def _check_body(body: FloatArray) -> None:
    """Refuse a body that is none by its size, though its hair fits it."""
    size = _diagonal(body)
    if size < SMALLEST_BODY:
        text = f"a body must be larger than 1 cm, got one of {_size_text(body)} with hair that fits it"
        raise ScaleError(text, "hair", _nearest_factor(USUAL_BODY / size), fits=True)


def _check_roots(roots: Any, body: Any) -> None:
    distance = root_distance(roots, body)
    if distance > FAR_ROOTS * body_radius(body):
        raise ScaleError(f"hair must grow on its body, got half of the roots more than {distance:.3g} m off it")


def _fitting_factor(roots: Any, body: Any) -> tuple[str, float] | None:
    """Factor on the body, or on the hair, that puts the roots onto the skin; None where there is none."""
    own = {factor: root_distance(np.asarray(roots) * factor, body) for factor in FACTORS}  # of the hair
    best = min(own, key=own.__getitem__)
    if own[best] > ON_SKIN * body_radius(body):
        return None
    size = _diagonal(_bounds("body", body))
    # Hair that is too large by so much is on a body that is too small by as much: the size of the body decides.
    is_body = abs(np.log(size / best / USUAL_BODY)) < abs(np.log(size / USUAL_BODY))
    return ("body", _nearest_factor(1.0 / best)) if is_body else ("hair", best)


def root_distance(roots: ArrayLike, body: Any) -> float:
    """Median distance of roots (S, 3) from the triangles of a mesh [m]."""
    from mane.body.triangle_tree import TriangleTree

    points = np.asarray(roots, np.float32)
    chosen = points[np.linspace(0, len(points) - 1, min(len(points), MOST_ROOTS)).astype(np.int64)]
    return float(np.median(TriangleTree(body.points[body.faces]).closest(np.ascontiguousarray(chosen))[0]))


def body_radius(body: Any) -> float:
    """Radius of a ball with the area of a mesh [m]."""
    return float(np.sqrt(body.face_areas.sum(dtype=np.float64) / (4.0 * np.pi)))


def _check_lengths(lengths: Any) -> None:
    longest = float(np.quantile(lengths, 1.0 - STRAYS, method="lower"))
    if longest > LONGEST_STRAND:
        text = f"strands must be 1 mm to 3 m long, got {float(np.median(lengths)):.3g} m for half and {longest:.3g} m"
    elif float(lengths.max()) < SHORTEST_STRAND:
        text = f"strands must be 1 mm to 3 m long, got none above {1e3 * float(lengths.max()):.3g} mm"
    else:
        return
    typical = float(np.median(lengths)) or float(lengths.max()) or SHORTEST_STRAND
    raise ScaleError(text, "hair", _nearest_factor(TYPICAL_STRAND / typical))


def _check_sizes(hair: FloatArray, body: FloatArray, strand: float | None) -> None:
    """Compare two boxes; `strand` is a typical length of the hair [m], or None."""
    hair_size, body_size = _diagonal(hair), _diagonal(body)
    sizes = f"hair of {_size_text(hair)} and a body of {_size_text(body)}"
    is_large, is_small = hair_size > LARGEST_HAIR * body_size, body_size > LARGEST_BODY * hair_size
    if is_large or is_small:
        is_body = not BODY_SIZES[0] <= body_size <= BODY_SIZES[1]
        is_hair = strand is not None and not SHORTEST_STRAND <= strand <= LONGEST_STRAND
        thing = ("body" if is_body else "hair") if is_body != is_hair else ("hair" if is_large else "body")
        factor = _nearest_factor(hair_size / body_size if thing == "body" else body_size / hair_size)
        raise ScaleError(f"hair must fit its body, got {sizes}", thing, factor)
    gap = float(np.linalg.norm(np.maximum(np.maximum(hair[0] - body[1], body[0] - hair[1]), 0)))
    if gap > LARGEST_GAP * max(hair_size, body_size):
        raise ScaleError(f"hair must touch its body, got {sizes}, {gap:.3g} m apart")


def _bounds(name: str, value: ArrayLike | Any) -> FloatArray:
    points = as_floats(name, getattr(value, "bounds", value), ("P", 3))
    if len(points) < 2:
        raise ValueError(f"{name}: must be at least two points or bounds of shape (2, 3), got {len(points)} point")
    bounds = np.stack([points.min(axis=0), points.max(axis=0)])
    if _diagonal(bounds) == 0:
        raise ValueError(f"{name}: must have a size, got all points at {bounds[0].tolist()}")
    return bounds


def _diagonal(bounds: FloatArray) -> float:
    return float(np.linalg.norm(bounds[1].astype(np.float64) - bounds[0]))


def _size_text(bounds: FloatArray) -> str:
    return " x ".join(f"{size:.3g}" for size in (bounds[1] - bounds[0]).tolist()) + " m"


def _nearest_factor(wanted: float) -> float:
    """The factor between two units that is nearest to the wanted one."""
    return min(FACTORS, key=lambda factor: abs(np.log(factor / wanted)))
