"""`mane validate sdf`: distance fields of meshes against the formula of the shape that they approximate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mane.body.mesh import Mesh
from mane.body.sdf import SignedDistanceField, build_sdf
from mane.body.shapes import Shape, Sphere, Torus
from mane.geometry.checks import FloatArray
from mane.measure.figures import Figures

SPHERE = Sphere((0, 0, 0), 0.1)
TORUS = Torus((0, 0, 0), (0, 1, 0), 0.08, 0.03)
FACETS = 256
SAMPLES = 100_000


def run(*, quick: bool = False, progress: Callable[[str], None] | None = None) -> Figures:
    """Sample the fields at random places and compare value, gradient and sign with the formula."""
    figures = Figures("sdf")
    for resolution in (32, 64) if quick else (32, 64, 128):
        for name, shape, radius in (("sphere", SPHERE, 0.1), ("torus", TORUS, 0.03)):
            if progress:
                progress(f"sdf: {name}, {resolution}^3")
            _compare(figures, f"{name} mesh, {resolution}^3", shape, radius, resolution)
    _missing_triangle(figures)
    return figures


def _compare(figures: Figures, case: str, shape: Shape, radius: float, resolution: int) -> None:
    """Add the errors of a field within half a radius of the surface, beside their bounds."""
    mesh = shape.mesh(FACETS)
    field = build_sdf(mesh, resolution)
    points = _points_near(mesh, field, 0.5 * radius)
    exact, exact_gradient = shape.distance_and_gradient(points)
    value, gradient = field.sample_with_gradient(points)
    cell, sharpest = field.cell_size, 0.5 * radius  # smallest radius of curvature of the distance where it is sampled
    # The mesh itself lies inside its shape, by the sagitta of a facet in each of its two directions.
    chord = 2 * float(np.abs(shape.bounds).max()) * (1 - np.cos(np.pi / FACETS))
    error = float(np.abs(value - exact).max())
    slope = float(np.linalg.norm(gradient - exact_gradient, axis=1).max())
    wrong = (np.sign(value) != np.sign(exact))[np.abs(exact) > cell]
    figures.add(case, "largest error", 1e3 * error, "mm", target=1e3 * (cell**2 / (4 * sharpest) + chord))
    figures.add(case, "largest gradient error", slope, "1", target=cell / sharpest)
    figures.add(case, "share of wrong signs", float(wrong.mean()), "1", target=0.0)


def _missing_triangle(figures: Figures) -> None:
    """Add the share of wrong signs of a sphere with a hole."""
    mesh = SPHERE.mesh(48)
    field = build_sdf(Mesh(mesh.points, np.delete(mesh.faces, 500, axis=0)), 64)
    points = _points_near(mesh, field, 0.05)
    exact = SPHERE.distance(points)
    far = np.abs(exact) > 2 * field.cell_size
    wrong = (np.sign(field.sample(points)) != np.sign(exact))[far]
    figures.add("sphere with a missing triangle, 64^3", "share of wrong signs", float(wrong.mean()), "1", target=0.0)


def _points_near(mesh: Mesh, field: SignedDistanceField, reach: float) -> FloatArray:
    """Random points at most `reach` [m] off the surface, within the grid."""
    rng = np.random.default_rng(0)
    start = mesh.points[rng.integers(0, mesh.vertex_count, SAMPLES)]
    points = start + reach / np.sqrt(3) * rng.uniform(-1, 1, (SAMPLES, 3)).astype(np.float32)
    low, high = field.bounds
    result: FloatArray = points[((points > low) & (points < high)).all(axis=1)]
    return result
