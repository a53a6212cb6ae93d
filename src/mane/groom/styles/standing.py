"""Styles that stand by themselves on simple bodies: brush, carpet, ball, and fur on any mesh."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from mane.body.mesh import Mesh
from mane.body.shapes import Box, Sphere
from mane.geometry.checks import FloatArray, as_floats
from mane.geometry.limits import Fraction, Positive, Range
from mane.groom.groom import Groom
from mane.groom.roots import Roots, scatter_roots
from mane.groom.styles import _shaping as shaping

BRUSH_RADIUS = 0.02
CARPET_SIZE = 0.3
BALL_RADIUS = 0.06
FUR_CLEARANCE = 2e-4
STRAY = 0.15  # how far single hairs leave the direction of the fur, as a share of it
Lean = Annotated[float, Range(least=0, most=1.5)]  # [rad] off the upright; at a right angle it would have no end
TUFT = 0.4  # width of a tuft of fur over the length of its hairs


def brush_body() -> Mesh:
    """A round handle under the bristles, which grow from its upper face at y = 0."""
    return _lathe(
        [(0.0, -0.12), (0.008, -0.12), (0.009, -0.06), (BRUSH_RADIUS, -0.02), (BRUSH_RADIUS, 0.0), (0.0, 0.0)]
    )


def carpet_body() -> Mesh:
    """A square mat, its upper face at y = 0."""
    half, depth = CARPET_SIZE / 2, 0.003
    return Box(center=(0, -depth, 0), half_size=(half, depth, half)).mesh()


def ball_body() -> Mesh:
    """A sphere about the origin."""
    return Sphere(center=(0, 0, 0), radius=BALL_RADIUS).mesh(96)


def brush(strands: int, vertices: int, seed: int, *, length: Positive = 0.06, splay: Lean = 0.25) -> Groom:
    """Upright bristles on a round handle; `splay` [rad] is how far the outermost lean out.

    Args:
        strands: how many.
        vertices: points per strand.
        seed: of everything random.
        length: of the bristles [m].
        splay: how far the outermost bristles lean out [rad].
    """
    rng = np.random.default_rng(seed)
    roots = _upper_roots(brush_body(), strands, seed)
    outward = roots.points * np.array([1, 0, 1], np.float32) * np.float32(splay / BRUSH_RADIUS)
    start = shaping.unit_vectors(roots.normals + outward + 0.03 * rng.standard_normal((strands, 3)))
    # The tuft is cut round: its rim is shorter than its middle.
    rim = np.linalg.norm(roots.points, axis=1) / BRUSH_RADIUS
    lengths = length * (1 - 0.15 * rim**2) * shaping.spread(rng, strands, 0.03)
    return shaping.finish(
        shaping.stand(roots.points, start, start, lengths, vertices), roots, width=150e-6, group_names=("bristles",)
    )


def carpet(strands: int, vertices: int, seed: int, *, length: Positive = 0.02, lean: Lean = 0.35) -> Groom:
    """A deep-pile mat; `lean` [rad] is how far the pile lies over, each tuft its own way.

    Args:
        strands: how many.
        vertices: points per strand.
        seed: of everything random.
        length: of the pile [m].
        lean: how far the pile lies over, each tuft its own way [rad].
    """
    rng = np.random.default_rng(seed)
    roots = _upper_roots(carpet_body(), strands, seed)
    # One lean per tuft, so that the pile shows patches as a trodden carpet does.
    center = shaping.clump_centers(roots.points, max(strands // 40, 1), rng)
    way = rng.uniform(0, 2 * np.pi, strands)[center]
    side = np.stack([np.cos(way), np.zeros_like(way), np.sin(way)], axis=1)
    end = shaping.unit_vectors(roots.normals + np.tan(lean) * side + 0.25 * rng.standard_normal((strands, 3)))
    end[:, 1] = np.maximum(end[:, 1], 0.1)
    lengths = length * shaping.spread(rng, strands, 0.08)
    points = shaping.stand(roots.points, roots.normals, end, lengths, vertices)
    return shaping.finish(shaping.clump(points, center, 0.5), roots, width=200e-6, group_names=("pile",))


def ball(strands: int, vertices: int, seed: int, *, length: Positive = 0.09, droop: Fraction = 0.55) -> Groom:
    """Long hair on a sphere, every way out; `droop` is how much the tips give in to gravity, 0 to 1.

    Args:
        strands: how many.
        vertices: points per strand.
        seed: of everything random.
        length: of the hair [m].
        droop: how much the tips give in to gravity, 0 to 1.
    """
    rng = np.random.default_rng(seed)
    roots = scatter_roots(ball_body(), strands, seed=seed)
    start = shaping.unit_vectors(roots.normals + 0.12 * rng.standard_normal((strands, 3)))
    end = shaping.unit_vectors(start + np.array([0, -droop, 0], np.float32))
    points = shaping.stand(roots.points, start, end, length * shaping.spread(rng, strands, 0.1), vertices)
    center = shaping.clump_centers(roots.points, 300, rng)
    return shaping.finish(_outside_sphere(shaping.clump(points, center, 0.45)), roots)


def fur(
    mesh: Mesh,
    *,
    strands: int = 20_000,
    vertices: int = 8,
    seed: int = 0,
    length: float | ArrayLike = 0.025,
    direction: ArrayLike = (0.0, -1.0, 0.0),
    lift: float | ArrayLike = 0.35,
    clumping: float = 0.4,
    density: ArrayLike | None = None,
) -> Groom:
    """Grow fur on any mesh, laid along a direction field.

    Args:
        mesh: the skin [m].
        strands: how many.
        vertices: points per strand.
        seed: another seed, another coat of the same kind.
        length: of the hairs [m], one number or one per mesh vertex (N,).
        direction: which way the fur lies: one vector (3,) or one per mesh vertex (N, 3); only its part along the skin
            counts, and where that vanishes the fur stands.
        lift: how far it stands off the skin, 0 (flat) to 1 (upright), one number or one per mesh vertex (N,).
        clumping: how much tips are drawn together, 0 to 1.
        density: relative density per mesh vertex (N,), or None for even growth.
    """
    for extreme in (np.min(lift), np.max(lift)):
        if not 0 <= extreme <= 1:
            raise ValueError(f"lift: must be between 0 (flat) and 1 (upright), got {extreme}")
    rng = np.random.default_rng(seed)
    roots = scatter_roots(mesh, strands, density=density, seed=seed)
    lengths = on_skin("length", length, mesh, roots, ())
    if lengths.min() <= 0:
        raise ValueError(f"length: must be above zero everywhere, got {lengths.min()}")
    direction, lifts = on_skin("direction", direction, mesh, roots, (3,)), on_skin("lift", lift, mesh, roots, ())
    points = lay_fur(roots, direction, lifts, lengths, vertices, rng)
    # Tufts are finer than the hairs are long, or drawing them together would stretch the hairs.
    tufts = float(mesh.face_areas.sum() / (TUFT * lengths.mean()) ** 2)
    center = shaping.clump_centers(roots.points, int(np.clip(tufts, 1, strands)), rng)
    points = shaping.clump(points, center, clumping)
    return shaping.finish(_outside_mesh(points, mesh), roots, width=40e-6, group_names=("fur",))


def lay_fur(
    roots: Roots,
    direction: FloatArray,
    lift: FloatArray,
    lengths: FloatArray,
    vertices: int,
    rng: np.random.Generator,
    variation: float = 0.1,
) -> FloatArray:
    """Hairs (S, V, 3) that lie along the skin.

    Args:
        roots: where they grow.
        direction: which way they lie, shape (S, 3); only its part along the skin counts.
        lift: how far they stand off it, 0 to 1, shape (S,).
        lengths: [m], shape (S,).
        vertices: points per hair.
        rng: of how hairs differ.
        variation: how much they differ in length, standard deviation of its logarithm.
    """
    lay = shaping.unit_vectors(shaping.tangential(direction, roots.normals))
    lay = shaping.tangential(lay + STRAY * rng.standard_normal(lay.shape), roots.normals)
    up = lift[:, None]
    start = shaping.unit_vectors((0.3 + up) * roots.normals + (1 - up) * lay)
    end = shaping.unit_vectors(up * roots.normals + (1.1 - up) * lay)
    varied = lengths * shaping.spread(rng, len(lengths), variation)
    return shaping.stand(roots.points, start, end, varied, vertices)


def on_skin(name: str, value: ArrayLike, mesh: Mesh, roots: Roots, element: tuple[int, ...]) -> FloatArray:
    """A value given once or per mesh vertex, carried to the roots."""
    array = np.asarray(value)
    if array.shape == element:
        return np.broadcast_to(as_floats(name, array[None], (1, *element)), (len(roots.points), *element))
    per_vertex = as_floats(name, array, (mesh.vertex_count, *element))
    result: FloatArray = np.einsum("sc,sc...->s...", roots.barycentric, per_vertex[mesh.faces[roots.triangle]])
    return result


def _upper_roots(mesh: Mesh, strands: int, seed: int) -> Roots:
    """Roots on the faces of a body that look up."""
    upper = Mesh(mesh.points, mesh.faces[mesh.face_normals[:, 1] > 0.9])
    return scatter_roots(upper, strands, seed=seed)


def _outside_sphere(points: FloatArray) -> FloatArray:
    radius = np.linalg.norm(points, axis=-1, keepdims=True)
    outside = points * (np.maximum(radius, BALL_RADIUS * 1.002) / np.maximum(radius, 1e-9))
    outside[:, 0] = points[:, 0]
    result: FloatArray = outside.astype(np.float32)
    return result


def _outside_mesh(points: FloatArray, mesh: Mesh) -> FloatArray:
    """Fur in a fold of the skin (behind a knee, under a chin) would grow into the other side of it."""
    from mane.body.sdf import build_sdf

    if not mesh.is_closed:  # an open skin has no inside
        return points
    return shaping.keep_outside(np.ascontiguousarray(points, np.float32), build_sdf(mesh), FUR_CLEARANCE)


def _lathe(profile: list[tuple[float, float]], sides: int = 96) -> Mesh:
    """Turn a profile of (radius, height), bottom to top, about the y axis; closed if it starts and ends on it."""
    angle = np.arange(sides) * (2 * np.pi / sides)
    ring = np.stack([np.sin(angle), np.zeros(sides), np.cos(angle)], axis=1)
    points = np.concatenate([ring * radius + [0, height, 0] for radius, height in profile])
    faces = []
    for row in range(len(profile) - 1):
        for i in range(sides):
            a, b = row * sides + i, row * sides + (i + 1) % sides
            faces += [[a, b, b + sides], [a, b + sides, a + sides]]
    first, inverse = np.unique(np.round(points, 9), axis=0, return_index=True, return_inverse=True)[1:]
    return Mesh.mended(points[first], inverse.reshape(-1)[np.array(faces)])
