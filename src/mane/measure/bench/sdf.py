"""`mane bench sdf`: how long distance fields take to build and to sample, each beside a plain way to do the same."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable

import numba
import numpy as np
from scipy.ndimage import map_coordinates
from scipy.spatial import cKDTree

from mane.body import _reference as reference
from mane.body.mesh import Mesh
from mane.body.sdf import SignedDistanceField, build_sdf
from mane.body.shapes import Shape, Sphere, Torus
from mane.body.solid import Solid
from mane.geometry.checks import FloatArray
from mane.measure.figures import Figures
from mane.measure.timing import best_seconds

# Both of some 20,000 triangles. A ball is the hardest case there is: from its middle all of them are equally near.
CASES: dict[str, tuple[Shape, int]] = {
    "ball": (Sphere((0.0, 1.6, 0.0), 0.1), 144),
    "ring": (Torus((0.0, 0.0, 0.0), (1.0, 2.0, 0.5), 0.08, 0.03), 142),
}
RESOLUTION = 128
TARGET_SECONDS = 3.0
TARGET_NANOSECONDS = 100.0
# A field further from the formula than this is wrong, and its time is worth nothing: facets and rounding make 0.03.
LARGEST_ERROR_CELLS = 0.1

# What a new user waits for once; run with an empty cache of compiled kernels.
COMPILE_CODE = """
import time
start = time.perf_counter()
from mane.body.sdf import build_sdf
from mane.body.shapes import Sphere
field = build_sdf(Sphere((0, 0, 0), 1).mesh(8), 16, cache=False)
field.sample_with_gradient(field.bounds)
print(time.perf_counter() - start)
"""

Progress = Callable[[str], None]


def run(*, quick: bool = False, progress: Progress | None = None) -> Figures:
    """Build fields of two meshes and sample them; compiling is measured apart, and the best of several runs counts."""
    tell = progress or (lambda text: None)
    resolution, repeats, count = (32, 2, 200_000) if quick else (RESOLUTION, 3, 1_000_000)
    figures = Figures("sdf")
    tell("sdf: compiling from an empty cache")
    figures.add("first build of all", "time, compiling", _compile_seconds(), "s")
    for name, (shape, segments) in CASES.items():
        mesh = shape.mesh(segments)
        case = f"{name}, {mesh.face_count:,} triangles, {resolution}^3"
        tell(f"sdf: {case}")
        field = _measure_build(figures, case, shape, mesh, resolution, repeats)
    tell("sdf: sampling")
    _measure_sampling(figures, field, count, repeats)
    tell("sdf: animated mesh")
    _measure_animated(figures, mesh, 500 if quick else 10_000, repeats)
    return figures


def _compile_seconds() -> float:
    with tempfile.TemporaryDirectory(prefix="mane-bench-") as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        done = subprocess.run(
            [sys.executable, "-c", COMPILE_CODE], env=environment, capture_output=True, text=True, check=True
        )
    return float(done.stdout)


def _measure_build(
    figures: Figures, case: str, shape: Shape, mesh: Mesh, resolution: int, repeats: int
) -> SignedDistanceField:
    field = build_sdf(mesh, resolution, cache=False)
    nodes = field.node_positions().reshape(-1, 3)
    error = float(np.abs(field.values.ravel() - shape.distance(nodes)).max()) / field.cell_size
    seconds = best_seconds(lambda: build_sdf(mesh, resolution, cache=False), repeats)
    if error > LARGEST_ERROR_CELLS:
        seconds = float("nan")
    plain = {"reference": _brute_seconds(mesh, nodes), "source": "NumPy, all pairs, scaled up"}
    figures.add(case, "time to build", seconds, "s", target=TARGET_SECONDS, **plain)
    tree = cKDTree(mesh.points)
    inexact = 1e9 * best_seconds(lambda: tree.query(nodes, workers=-1), 1) / len(nodes)
    peer = {"reference": inexact, "source": "scipy k-d tree, to vertices only, no sign"}
    figures.add(case, "time per node", 1e9 * seconds / len(nodes), "ns", **peer)
    figures.add(case, "largest error at a node", error, "cells", target=LARGEST_ERROR_CELLS)
    build_sdf(mesh, resolution)
    figures.add(case, "time from the disk cache", best_seconds(lambda: build_sdf(mesh, resolution), repeats), "s")
    return field


def _brute_seconds(mesh: Mesh, nodes: FloatArray, sample: int = 200) -> float:
    """Time of the plain reference on a few nodes and a tenth of the triangles, scaled to all [s]."""
    chosen = nodes[np.random.default_rng(0).integers(0, len(nodes), sample)].astype(np.float64)
    corners = mesh.points[mesh.faces][::10].astype(np.float64)
    seconds = best_seconds(lambda: reference.mesh_distance(chosen, corners), 1)
    return seconds * len(nodes) / sample * mesh.face_count / len(corners)


def _measure_sampling(figures: Figures, field: SignedDistanceField, count: int, repeats: int) -> None:
    places = {"random points": _random_points(field, count), "points along strands": _strand_points(field, count)}
    before = numba.get_num_threads()
    for place, points in places.items():
        plain = _nanoseconds(lambda p: map_coordinates(field.values, _in_cells(field, p), order=1), points, repeats)
        for threads in sorted({1, min(2, before)}):
            numba.set_num_threads(threads)
            case = f"{count:,} {place}, threads: {threads}"
            value = _nanoseconds(field.sample, points, repeats)
            peer = {"reference": plain, "source": "scipy map_coordinates, 1 thread"}
            figures.add(case, "time per sample", value, "ns", target=TARGET_NANOSECONDS, **peer)
            both = _nanoseconds(field.sample_with_gradient, points, repeats)
            figures.add(case, "time with gradient", both, "ns", target=TARGET_NANOSECONDS)
    numba.set_num_threads(before)


def _nanoseconds(sample: Callable[[FloatArray], object], points: FloatArray, repeats: int) -> float:
    """Time per point [ns], compiling left out."""
    sample(points)
    return 1e9 * best_seconds(lambda: sample(points), repeats) / len(points)


def _in_cells(field: SignedDistanceField, points: FloatArray) -> FloatArray:
    return ((points - field.origin) / np.float32(field.cell_size)).T


def _random_points(field: SignedDistanceField, count: int) -> FloatArray:
    low, high = field.bounds
    return np.random.default_rng(0).uniform(low, high, (count, 3)).astype(np.float32)


def _strand_points(field: SignedDistanceField, count: int, per_strand: int = 16) -> FloatArray:
    """Points as hair has them: one after the other along strands, a cell apart, from random roots."""
    rng = np.random.default_rng(1)
    low, high = field.bounds
    roots = rng.uniform(low, high, (count // per_strand + 1, 1, 3))
    direction = rng.normal(size=roots.shape)
    direction *= field.cell_size / np.linalg.norm(direction, axis=2, keepdims=True)
    strands = roots + np.arange(per_strand)[:, None] * direction
    return np.ascontiguousarray(strands.reshape(-1, 3)[:count], dtype=np.float32)


def _measure_animated(figures: Figures, mesh: Mesh, count: int, repeats: int) -> None:
    times = np.arange(repeats + 2) / 24
    frames = np.stack([mesh.points * np.float32(1 + 0.01 * i) for i in range(len(times))])
    solid = Solid.animated(mesh, times, frames)
    rng = np.random.default_rng(0)
    near = mesh.points[rng.integers(0, mesh.vertex_count, count)]
    points = (near + rng.normal(scale=0.005, size=near.shape)).astype(np.float32)
    solid.distance_and_gradient(points, 0.0)
    case = f"animated mesh, {mesh.face_count:,} triangles"
    steps = iter(times[1:])
    figures.add(case, "time to enter a frame", 1e3 * best_seconds(lambda: _prepare(solid, next(steps)), repeats), "ms")
    between = iter(times[-1] - 1e-3 * np.arange(1, 2 * repeats + 1))
    _prepare(solid, times[-1] - 1e-4)
    figures.add(
        case, "time to move within it", 1e3 * best_seconds(lambda: _prepare(solid, next(between)), repeats), "ms"
    )
    _prepare(solid, times[-1])
    seconds = best_seconds(lambda: solid.distance_and_gradient(points, times[-1]), repeats)
    figures.add(case, "time per point near it", 1e6 * seconds / count, "us")
    _measure_deforming(figures, case, solid, points, repeats)


def _measure_deforming(figures: Figures, case: str, solid: Solid, points: FloatArray, repeats: int) -> None:
    """What every hair asks: a narrow band that is filled for each frame, and then sampled."""
    assert solid.animation is not None
    field = solid.animation.field
    field.at(0.0)
    steps = iter(np.linspace(0.01, 0.02, 4 * repeats))
    figures.add(
        case, "time to fill its field", 1e3 * best_seconds(lambda: field.at(float(next(steps))), 4 * repeats), "ms"
    )
    figures.add(case, "time per point in the field", _nanoseconds(field.at(0.0).sample, points, repeats), "ns")


def _prepare(solid: Solid, at: float) -> None:
    """Do all that a new time needs, by asking for a single point."""
    solid.distance(np.zeros((1, 3), np.float32), float(at))
