"""Where a head turns: the joint of skull and neck, found on any mesh that hair grows on.

   crown       Horizontal sections from the highest root down: the widest one is the head's, the narrowest one
 /       \\     below it the neck's. The joint lies between them, 36 % of the way from the neck to the crown, as
( head    )    on the bust (`body/bust.py`), on the line between the middles of both sections.
 \\   o   /
  | neck |     A head that is cut off above the neck, or a ball, has its narrowest section at its lower end.
__/      \\__
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.mesh import Mesh
from mane.geometry.checks import as_floats

Float64Array = NDArray[np.float64]

SECTIONS = 64
JOINT_HEIGHT = 0.36  # of the way from the neck to the crown: 84 of 234 mm on the bust
REACH = 1.5  # sections leave out what is farther from the middle than so many times the farthest root: arms, a tail
BELOW = 1.5  # the neck is at most so many diameters of the head below its widest section
NAPE = 0.05  # share of the roots below which there are only stray ones
MOST_ROOTS = 20_000


@dataclass(frozen=True)
class _Section:
    """A horizontal cut: its height, its middle (x, z) and the area of its convex hull."""

    height: float
    middle: tuple[float, float]
    area: float


def find_neck(body: Mesh | None, roots: ArrayLike) -> Float64Array:
    """Return the point that a head nods and shakes about [m], shape (3,).

    Args:
        body: what the hair grows on, Y up, anywhere in space; None where there is only hair.
        roots: of the hair [m], shape (S, 3); they tell which part of the body is the head.

    Without a body, and where it has nothing below its roots, it is the middle of the roots at the height of the nape.
    """
    hair = as_floats("roots", roots, ("S", 3)).astype(np.float64)
    if len(hair) == 0:
        raise ValueError("roots: must hold at least one root, got none")
    hair = hair[:: max(1, len(hair) // MOST_ROOTS)]
    sections = [] if body is None else _sections(body, hair)
    if len(sections) < 3:
        low, high = hair.min(axis=0), hair.max(axis=0)
        middle = 0.5 * (low + high)
        return np.array([middle[0], np.quantile(hair[:, 1], NAPE), middle[2]])
    crown, nape = sections[0].height, float(np.quantile(hair[:, 1], NAPE))
    scalp = max(1, sum(section.height >= nape for section in sections))  # below it may be shoulders
    widest = max(range(scalp), key=lambda k: sections[k].area)
    head = sections[widest]
    reach = BELOW * 2.0 * np.sqrt(head.area / np.pi)
    below = [section for section in sections[widest:] if head.height - section.height <= reach]
    neck = min(below, key=lambda section: section.area)
    height = neck.height + JOINT_HEIGHT * (crown - neck.height)
    share = 0.0 if head is neck else min(1.0, (height - neck.height) / (head.height - neck.height))
    x, z = np.add(neck.middle, share * np.subtract(head.middle, neck.middle)).tolist()
    return np.array([x, height, z])


def _sections(body: Mesh, roots: Float64Array) -> list[_Section]:
    """Cuts through head and neck from the top down; they end where the body does."""
    middle = 0.5 * (roots.min(axis=0) + roots.max(axis=0))
    reach = REACH * float(np.hypot(*(roots - middle)[:, (0, 2)].T).max())
    triangles = body.points[body.faces].astype(np.float64)
    near = np.hypot(*(triangles.mean(axis=1) - middle)[:, (0, 2)].T) <= reach
    triangles = triangles[near]
    if len(triangles) == 0:
        return []
    top = float(triangles[..., 1].max())
    # As far below the roots as the scalp is wide and high: to the shoulders, whatever part of the head has hair.
    size = max(2.0 * reach / REACH, top - float(np.quantile(roots[:, 1], NAPE)))
    bottom = max(float(triangles[..., 1].min()), float(roots[:, 1].min()) - BELOW * size)
    heights = top - (np.arange(SECTIONS) + 0.5) / SECTIONS * (top - bottom)
    found = [_section(triangles, float(height)) for height in heights]
    return [section for section in found if section is not None]


def _section(triangles: Float64Array, height: float) -> _Section | None:
    """Cut of triangles (T, 3, 3) at a height; None where there is none."""
    from scipy.spatial import ConvexHull, QhullError

    above = triangles[..., 1] > height
    starts, ends = triangles, np.roll(triangles, -1, axis=1)
    cut = above != np.roll(above, -1, axis=1)
    a, b = starts[cut], ends[cut]
    share = (height - a[:, 1]) / (b[:, 1] - a[:, 1])
    points = (a + share[:, None] * (b - a))[:, (0, 2)]
    if len(points) < 3:
        return None
    try:
        area = float(ConvexHull(points).volume)  # of flat points that is the area
    except QhullError:
        return None
    x, z = (0.5 * (points.min(axis=0) + points.max(axis=0))).tolist()
    return _Section(height, (x, z), area)
