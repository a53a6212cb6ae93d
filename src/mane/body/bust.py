"""`make_bust`: a bust of a person to grow hair on, modelled in code and meshed once.

It is a head with a calm face and closed eyes, neck, shoulders and upper chest, in metres, left-right symmetric about
x = 0, with Y up and the face towards +Z. The origin is the pivot of the head: the joint of skull and neck, in the
middle between the ear canals, some 2 cm below and 1 cm behind them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import PchipInterpolator

from mane.body import _kernels_implicit, bust_form, hairline, implicit, surface_nets
from mane.body.cache import content_key, load_arrays, store_arrays
from mane.body.hairline import SKULL_CENTRE, Hairline
from mane.body.implicit import Sculpture
from mane.body.mesh import Mesh
from mane.body.surface_nets import graded_axis, mesh_on_axes
from mane.geometry.checks import FloatArray, as_floats

DEFAULT_CELL = 0.0026  # [m]
SMALLEST_CELL, LARGEST_CELL = 0.0008, 0.008  # [m]: tens of millions of samples below, no ears above

# Distances of the grid's planes at given places, for the default cell: fine where eyes, lips and ears are. All [mm].
X_CELLS = ((0, 2.8), (16, 2.8), (26, 3.7), (50, 3.7), (66, 2.6), (92, 2.6), (100, 4.3))
Y_CELLS = (
    (-280, 3.8), (-265, 8.5), (-200, 8.5), (-185, 5.5), (-160, 5.5), (-140, 8.5), (-85, 5.5), (-65, 3.7), (-45, 3.0),
    (-40, 2.0), (-22, 2.0), (-18, 2.8), (16, 2.8), (20, 2.1), (42, 2.1), (55, 3.2), (65, 4.8), (90, 7.5),
)  # fmt: skip
Z_CELLS = ((-50, 6.5), (-30, 5.5), (-20, 2.6), (14, 2.6), (26, 5.5), (60, 5.5), (75, 2.7), (120, 2.7))
BROW_HEIGHT = 0.056  # [m]
UP, DOWN, FORWARD, BACK = (0.0, 1.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)
GRID_LOW, GRID_HIGH = (-0.12, -0.31, -0.125), (0.12, 0.17, 0.135)  # [m]


@dataclass(frozen=True, eq=False)
class Bust:
    """A bust and what styles need to know of it. Points are in metres; the module says where the origin is.

    Attributes:
        mesh: the skin, closed, with a spherical map of the head as `uv` (u around from the nape, v up; the seam runs
            down the back of the head).
        landmarks: named points on the skin, name -> shape (3,).
    """

    mesh: Mesh
    landmarks: dict[str, FloatArray]

    @property
    def crown(self) -> FloatArray:
        """Highest point of the head, shape (3,)."""
        return self.landmarks["crown"]

    @property
    def front_hairline(self) -> FloatArray:
        """Where the hairline crosses the middle of the forehead, shape (3,)."""
        return self.landmarks["front_hairline"]

    @property
    def brow(self) -> FloatArray:
        """Between the eyebrows, shape (3,)."""
        return self.landmarks["brow"]

    @property
    def chin(self) -> FloatArray:
        """Lowest point of the chin, shape (3,)."""
        return self.landmarks["chin"]

    @property
    def nape(self) -> FloatArray:
        """Where the hairline crosses the middle of the nape, shape (3,)."""
        return self.landmarks["nape"]

    @property
    def skull_center(self) -> FloatArray:
        """The middle of the braincase, shape (3,)."""
        return SKULL_CENTRE.astype(np.float32)

    @cached_property
    def parting(self) -> dict[str, FloatArray]:
        """Lines on the scalp from the front hairline to the crown: `middle`, `left` and `right`, each (K, 3)."""
        return {name: self._parting_line(side) for name, side in (("middle", 0.0), ("left", 0.030), ("right", -0.030))}

    @cached_property
    def scalp(self) -> NDArray[np.bool_]:
        """Which triangles bear hair, shape (T,): those whose middle is inside the hairline."""
        centres = self.mesh.points[self.mesh.faces].mean(axis=1)
        return self.hairline_distance(centres) > 0.0

    def scalp_mesh(self) -> Mesh:
        """The hair-bearing part of the mesh, its edge a zigzag of triangles; `hairline_distance` knows the true one."""
        used, faces = np.unique(self.mesh.faces[self.scalp], return_inverse=True)
        uv = None if self.mesh.uv is None else self.mesh.uv[used]
        return Mesh(self.mesh.points[used], faces.reshape(-1, 3).astype(np.int32), uv)

    def hairline_distance(self, points: ArrayLike) -> FloatArray:
        """Distance along the skin to the hairline [m], shape (P,), positive on the scalp; for points near the head."""
        return self._hairline.distance(points)

    def implicit(self, points: ArrayLike) -> NDArray[np.float64]:
        """The function that the mesh is the zero level of, at points (P, 3) [m], shape (P,).

        Negative inside. Near the skull it is the distance [m] within some percent; where shapes blend, as on the face,
        it grows more slowly, mostly by 0.7 to 1 per metre.
        """
        return self._form(as_floats("points", points, ("P", 3)))

    @cached_property
    def _hairline(self) -> Hairline:
        return Hairline()

    @cached_property
    def _form(self) -> Sculpture:
        return bust_form.bust_form()

    def _parting_line(self, side: float) -> FloatArray:
        """The skin under a straight line from front to back, `side` metres from the middle."""
        z = np.linspace(self.front_hairline[2], self.crown[2], 12)
        above = np.stack([np.full_like(z, side), np.full_like(z, self.crown[1] + 0.03), z], axis=1)
        on_skin = self._form.first_hits(above, DOWN)
        return on_skin[self.hairline_distance(on_skin) > 0.0].astype(np.float32)


def make_bust(cell_size: float = DEFAULT_CELL) -> Bust:
    """Make the bust, or fetch it from the disk cache, where it is found by the code and the cell size it came from.

    Args:
        cell_size: side of the mesh's triangles at the ears [m]; those of the shoulders are about three times as large.
    """
    if not SMALLEST_CELL <= cell_size <= LARGEST_CELL:
        raise ValueError(f"cell_size: must lie between {SMALLEST_CELL} and {LARGEST_CELL} metres, got {cell_size}")
    key = content_key(float(cell_size), *_sources())
    arrays = load_arrays("bust", key)
    if arrays is None:
        arrays = _build(cell_size)
        store_arrays("bust", key, arrays)
    landmarks = {name: value for name, value in arrays.items() if name not in ("points", "faces", "uv")}
    return Bust(Mesh(arrays["points"], arrays["faces"], arrays["uv"]), landmarks)


def _sources() -> list[bytes]:
    """The text of everything that decides the bust's shape."""
    others = [module.__file__ for module in (_kernels_implicit, bust_form, hairline, implicit, surface_nets)]
    return [Path(str(file)).read_bytes() for file in (__file__, *others)]


def _build(cell_size: float) -> dict[str, NDArray[Any]]:
    form = bust_form.bust_form()
    mesh = mesh_on_axes(form, _grid_axes(cell_size / DEFAULT_CELL), warp=_spread)
    return {"points": mesh.points, "faces": mesh.faces, "uv": _spherical_uv(mesh.points), **_landmarks(form)}


def _grid_axes(scale: float) -> list[NDArray[np.float64]]:
    """Ascending x, y and z of the grid before it is spread [m]; x mirrors itself about 0."""
    axes = []
    for cells, low, high in zip((X_CELLS, Y_CELLS, Z_CELLS), (0.0, *GRID_LOW[1:]), GRID_HIGH, strict=True):
        places, sizes = (1e-3 * np.array(cells)).T
        axes.append(graded_axis(low, high, places, scale * sizes))
    half = axes[0]
    return [np.concatenate([-half[:0:-1], half]), *axes[1:]]


def _spread(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Widen the grid over the shoulders, and a little over the crown and the back of the head, which are smooth."""
    x, y, z = points.T
    widen_x = _smooth_steps(y, (-0.19, -0.06, 0.045, 0.12), (2.4, 1.0, 1.0, 1.8))
    widen_z = _smooth_steps(y, (-0.19, -0.06, 0.045, 0.12), (2.0, 1.0, 1.0, 1.3))
    behind = _smooth_steps(z, (-0.09, -0.02), (1.5, 1.0))
    middle = -0.03  # of the chest, front to back
    return np.stack([x * widen_x * behind, y, middle + (z - middle) * widen_z], axis=1)


def _smooth_steps(
    values: NDArray[np.float64], places: tuple[float, ...], levels: tuple[float, ...]
) -> NDArray[np.float64]:
    return np.asarray(PchipInterpolator(places, levels)(np.clip(values, places[0], places[-1])))


def _spherical_uv(points: FloatArray) -> FloatArray:
    """u once around from the middle of the nape, v from straight below (0) to straight above (1), shape (N, 2)."""
    offsets = points - SKULL_CENTRE
    around = np.arctan2(offsets[:, 0], offsets[:, 2])
    up = np.arctan2(offsets[:, 1], np.hypot(offsets[:, 0], offsets[:, 2]))
    return np.stack([0.5 + around / (2.0 * np.pi), 0.5 + up / np.pi], axis=1).astype(np.float32)


def _landmarks(form: Sculpture) -> dict[str, FloatArray]:
    """Named points on the skin, all in the middle plane."""
    crown = form.first_hits([(0.0, 0.2, z) for z in np.linspace(-0.05, 0.03, 41)], DOWN)
    chin = form.first_hits([(0.0, -0.12, z) for z in np.linspace(0.07, 0.095, 26)], UP)
    front_y, nape_y = hairline.LANDMARKS[0, 1], hairline.LANDMARKS[-1, 1]
    front, brow = form.first_hits([(0.0, front_y, 0.2), (0.0, BROW_HEIGHT, 0.2)], BACK)
    points = {
        "crown": crown[crown[:, 1].argmax()],
        "chin": chin[chin[:, 1].argmin()],
        "front_hairline": front,
        "brow": brow,
        "nape": form.first_hits([(0.0, nape_y, -0.2)], FORWARD)[0],
    }
    return {name: point.astype(np.float32) for name, point in points.items()}
