"""`mane validate groom`: what is carried comes along, and what goes back arrives where it started."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray
from mane.groom import styles
from mane.groom.binding import RootBinding, bind_roots
from mane.groom.register import register_guides
from mane.groom.resample import resample
from mane.groom.roots import Roots, scatter_roots
from mane.groom.styles._shaping import finish, stand
from mane.measure.figures import Figures

ATTACHED = 1e-5  # [m]
ROUNDING = 1e-6  # [m], some units in the last place of a float32 at arm's length
REGISTERED = ((300, 12), (3_000, 40))  # strands of a groom, guides of another file
# From metres with Y up to a file in centimetres with Z up, and to one that has its origin elsewhere besides.
TURNED = 100 * np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
ELSEWHERE = 100 * np.array([0.4, 1.6, -3.0])


def run(*, quick: bool = False, progress: Callable[[str], None] | None = None) -> Figures:
    """Bind a groom to a skin that bends and stretches; resample styles and map them back; register guides."""
    figures = Figures("groom")
    if progress:
        progress("groom: binding")
    _validate_binding(figures, 2_000 if quick else 50_000)
    for name in ("straight", "curly", "braid"):
        if progress:
            progress(f"groom: resample {name}")
        _validate_resampling(figures, name, 500 if quick else 20_000)
    for name in ("straight", "wavy", "curly"):
        if progress:
            progress(f"groom: register {name}")
        for strands, guides in REGISTERED[:1] if quick else REGISTERED:
            _validate_registration(figures, name, strands, guides)
    return figures


def _validate_binding(figures: Figures, strands: int) -> None:
    skin = _flat_skin()
    roots = scatter_roots(skin, strands, seed=1)
    groom = finish(stand(roots.points, roots.normals, roots.normals, np.full(strands, 0.02), 8), roots)
    binding = bind_roots(groom, skin)
    for name, move in (("unmoved", _unmoved), ("bent into an arch", _bent), ("stretched by half", _stretched)):
        moved = move(skin.points)
        carried = binding.carry(groom, moved)
        on_skin = _places_on(skin.with_points(moved), roots)
        gap = np.linalg.norm(carried.roots - on_skin, axis=1).max()
        figures.add(f"skin {name}", "largest gap between root and skin", 1e3 * float(gap), "mm", target=1e3 * ATTACHED)
        if name == "unmoved":
            drift = float(np.abs(carried.points - groom.points).max())
            figures.add(f"skin {name}", "largest change of the strands", 1e3 * drift, "mm", target=0.0)
        if name == "bent into an arch":
            figures.add(f"skin {name}", "largest tilt off the normal", _tilt(binding, carried.points), "deg")


def _validate_resampling(figures: Figures, name: str, strands: int) -> None:
    groom = styles.make(name, strands=strands, seed=1)
    for vertices in (groom.vertex_counts[0] // 2, 2 * groom.vertex_counts[0]):
        resampling = resample(groom, vertices=int(vertices))
        case = f"{name}, {groom.vertex_counts[0]} vertices resampled to {vertices} and back"
        exact = np.linalg.norm(resampling.restore().points - groom.points, axis=1).max()
        plain = np.linalg.norm(resampling.restore(detail=False).points - groom.points, axis=1).max()
        stated = float(resampling.error.max())
        figures.add(case, "largest gap", 1e3 * float(exact), "mm", target=1e3 * ROUNDING)
        figures.add(case, "largest gap without detail", 1e3 * float(plain), "mm", target=1e3 * (stated + ROUNDING))


def _validate_registration(figures: Figures, name: str, strands: int, count: int) -> None:
    """Lay guides that are no strands of the groom, in other units and axes, back onto it."""
    groom, guides = styles.make(name, strands=strands, seed=1), styles.make(name, strands=count, seed=2)
    for where, shift, target in (("same origin", np.zeros(3), ROUNDING), ("another origin", ELSEWHERE, None)):
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = TURNED, shift
        found = register_guides(guides.transformed(matrix), groom).guides
        gap = float(np.linalg.norm(found.points - guides.points, axis=1).max())
        case = f"{name}, {count} guides in cm and Z up on {strands:,} strands, {where}"
        figures.add(case, "largest gap", 1e3 * gap, "mm", target=None if target is None else 1e3 * target)


def _flat_skin(cells: int = 40, size: float = 0.2) -> Mesh:
    line = np.linspace(-size / 2, size / 2, cells + 1)
    x, z = np.meshgrid(line, line, indexing="ij")
    points = np.stack([x, np.zeros_like(x), z], axis=-1).reshape(-1, 3).astype(np.float32)
    row = cells + 1
    corner = (np.arange(cells)[:, None] * row + np.arange(cells)).reshape(-1)
    faces = [np.stack([corner, corner + 1, corner + row + 1], 1), np.stack([corner, corner + row + 1, corner + row], 1)]
    return Mesh(points, np.concatenate(faces).astype(np.int32))


def _unmoved(points: FloatArray) -> FloatArray:
    return points


def _bent(points: FloatArray, radius: float = 0.06) -> FloatArray:
    angle = points[:, 0] / radius
    return np.stack([radius * np.sin(angle), radius * (np.cos(angle) - 1), points[:, 2]], axis=1).astype(np.float32)


def _stretched(points: FloatArray) -> FloatArray:
    return points * np.array([1.5, 1, 0.8], np.float32)


def _places_on(skin: Mesh, roots: Roots) -> FloatArray:
    result: FloatArray = np.einsum("sc,scd->sd", roots.barycentric, skin.points[skin.faces[roots.triangle]])
    return result


def _tilt(binding: RootBinding, points: FloatArray) -> float:
    """Largest angle between a carried strand, upright at rest, and the arch's own normal at its root [deg]."""
    strands = points.reshape(binding.strand_count, -1, 3)
    direction = strands[:, -1] - strands[:, 0]
    direction = direction / np.linalg.norm(direction, axis=1, keepdims=True)
    angle = binding.rest_roots[:, 0] / 0.06
    normal = np.stack([np.sin(angle), np.cos(angle), np.zeros_like(angle)], axis=1)
    return float(np.degrees(np.arccos(np.clip((direction * normal).sum(1), -1, 1))).max())
