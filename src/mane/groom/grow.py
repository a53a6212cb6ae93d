"""Hair grown from guides: thousands of strands between the few that an artist made or a selection chose."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.mesh import Mesh
from mane.geometry import quaternion
from mane.geometry.checks import FloatArray, IntArray, require_positive
from mane.geometry.frames import segment_tangents
from mane.geometry.index import PointIndex
from mane.groom import _kernels_grow as kernels
from mane.groom.binding import bind_roots
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.roots import Roots, scatter_roots

# With three, weights would change steeply wherever four guides are about equally far (the middle of a square).
GUIDES_PER_STRAND = 4
NEIGHBOURS = 6  # guides around each guide that are asked how hair changes over the skin
RECORDED_GUIDES = 3  # what other tools have room for; on average these hold 99 % of the weight
CLUMPS_IN_REACH = 4  # clumps that a strand looks at before it stays alone

# Waves of frizz: amplitude along each axis, and wavelength as a share of the one asked for. Three axes with two waves
# each, of mean square 1/2 and independent phase, have a root mean square of 1.
FRIZZ_WAVES = ((0.73, 1.0), (0.366, 0.5))
SEGMENTS_PER_WAVE = 4  # a wave drawn with fewer is a zigzag

# Attributes of a guide that say nothing about the strands around it.
OWN_ATTRIBUTES = ("root_uv", "id", "is_guide", "closest_guides", "guide_weights")

# Each random choice has a stream of its own, so that turning one off leaves the others as they were.
CLUMP_STREAM, FRIZZ_STREAM, LENGTH_STREAM = 1, 2, 3


def grow(
    guides: Guides | Groom,
    scalp: Mesh,
    strands: int,
    *,
    clump: float = 0.0,
    clump_size: float = 0.01,
    length_variation: float = 0.0,
    frizz: float = 0.0,
    frizz_scale: float = 0.04,
    density: ArrayLike | None = None,
    vertices: int | None = None,
    seed: int = 0,
) -> Groom:
    """Grow strands all over a scalp from a few guides.

    A strand blends the four guides nearest to its root, each turned with the skin from its own root to the strand's, as
    far along as the guides themselves turn with it. Weights change smoothly over the scalp, and on a guide's own root
    the strand is that guide. Guides of another group than the nearest one, or that flow another way (on the far side of
    a parting), are not blended in.

    Args:
        guides: the guides, or a groom all of whose strands are guides.
        scalp: the skin that the guides stand on.
        strands: how many strands to grow.
        clump: how far tips are drawn to the middle of their clump, 0 (not at all) to 1; nothing at the root.
        clump_size: distance between the middles of neighbouring clumps [m].
        length_variation: cut off up to this share of each strand, at random; 0 to below 1.
        frizz: how far tips are shaken out of place (root mean square) [m]; nothing at the root.
        frizz_scale: wavelength of that [m]; what the vertices are too far apart to draw is drawn longer.
        density: how densely strands grow, per vertex of the scalp (N,), relative; None for evenly.
        vertices: vertex count of the strands; None for that of the guides.
        seed: another seed, other roots, clumps, lengths and frizz.

    Returns:
        Strands with the guides' attributes, blended (whole numbers, such as the group, are the nearest guide's), the
        scalp's texture coordinates as `root_uv`, and the binding: `closest_guides` (S, 3), the slots of the three
        guides that count most, and `guide_weights` (S, 3), falling and with a sum of 1.

    Limitations: strands may dip into the skin where it curves and the guides do not show it; `depenetrate` mends that.
    Nearness is in a straight line, so two sheets of skin that lie close (an ear on the head) share their guides.
    """
    _check_settings(clump=clump, clump_size=clump_size, length_variation=length_variation, frizz=frizz)
    require_positive("frizz_scale", frizz_scale)
    whole = guides if isinstance(guides, Guides) else Guides.from_groom(guides)
    source = Guides.from_groom(whole.without_empty_slots().strands, vertices).strands
    roots = scatter_roots(scalp, strands, density=density, seed=seed)
    nearest, weight, points = _interpolate(source, scalp, roots)
    groups = _groups(source)[nearest[:, 0]]
    if clump > 0:
        spots = _clump_spots(scalp, clump_size, strands, density, seed)
        points = _clumped(points, groups, spots, clump)
    if frizz > 0:
        points = _frizzed(points, frizz, frizz_scale, np.random.default_rng([seed, FRIZZ_STREAM]))
    if length_variation > 0:
        points = _cut(points, length_variation, np.random.default_rng([seed, LENGTH_STREAM]))
    strand, vertex = _blended_attributes(source, nearest, weight)
    recorded, strand["guide_weights"] = _strongest(nearest, weight)
    strand["closest_guides"] = np.flatnonzero(whole.active)[recorded].astype(np.int32)
    if roots.uv is not None:
        strand["root_uv"] = roots.uv
    return Groom.from_uniform(points, strand=strand, vertex=vertex, group_names=source.group_names)


def _check_settings(*, clump: float, clump_size: float, length_variation: float, frizz: float) -> None:
    if not 0 <= clump <= 1:
        raise ValueError(f"clump: must be between 0 and 1, got {clump}")
    require_positive("clump_size", clump_size)
    if not 0 <= length_variation < 1:
        raise ValueError(f"length_variation: must be at least 0 and below 1, got {length_variation}")
    if not (np.isfinite(frizz) and frizz >= 0):
        raise ValueError(f"frizz: must be a finite length of at least 0 m, got {frizz}")


def _groups(groom: Groom) -> NDArray[np.int32]:
    return groom.strand.get("group_id", np.zeros(groom.strand_count, np.int32))


def _interpolate(guides: Groom, scalp: Mesh, roots: Roots) -> tuple[IntArray, FloatArray, FloatArray]:
    """Nearest guides (S, 4), their weights (S, 4), and the strands' points (S, V, 3) at the given roots."""
    binding = bind_roots(guides, scalp)
    normals = quaternion.rotate(binding.rest_frame, np.array([0, 0, 1], np.float32))
    index = PointIndex(binding.rest_roots - binding.offset)
    distance, nearest = index.nearest(roots.points, GUIDES_PER_STRAND + 1)
    missing = GUIDES_PER_STRAND + 1 - nearest.shape[1]
    # With fewer guides than places, the last ones repeat the nearest guide from infinitely far away.
    distance = np.pad(distance, ((0, 0), (0, missing)), constant_values=np.inf)
    nearest = np.concatenate([nearest, np.repeat(nearest[:, :1], missing, axis=1)], axis=1)[:, :GUIDES_PER_STRAND]
    nearest = np.ascontiguousarray(nearest)
    groups = _groups(guides)
    rest = guides.as_uniform()
    follow = _follow(rest, normals, groups, index.nearest(index.points, NEIGHBOURS + 1)[1])
    weight = np.empty(nearest.shape, np.float32)
    points = np.empty((len(nearest), rest.shape[1], 3), np.float32)
    kernels.blend_guides(rest, follow, normals, groups, roots.points, roots.normals, nearest, distance, weight, points)
    return nearest, weight, points


def _follow(rest: FloatArray, normals: FloatArray, groups: NDArray[np.int32], neighbours: IntArray) -> FloatArray:
    """How far each segment of each guide turns with the skin, from 0 to 1, shape (G, V - 1); one answer per group.

    Fur stands on the skin and turns with it all along. Long hair does at the root, but its tip hangs down wherever it
    grows. The guides tell: this is the share of the skin's turn that takes guides' directions best (by least squares)
    to their neighbours'.
    """
    here, there = (side.ravel() for side in np.broadcast_arrays(np.arange(len(rest))[:, None], neighbours))
    same = groups[here] == groups[there]
    here, there = here[same], there[same]
    directions = segment_tangents(rest).astype(np.float64)
    rotation = quaternion.between_vectors(normals[here].astype(np.float64), normals[there].astype(np.float64))
    moved = quaternion.rotate(rotation[:, None], directions[here]) - directions[here]
    group = np.unique(groups, return_inverse=True)[1]
    along, square = np.zeros((2, group.max() + 1, rest.shape[1] - 1))
    np.add.at(along, group[here], (moved * (directions[there] - directions[here])).sum(axis=2))
    np.add.at(square, group[here], (moved * moved).sum(axis=2))
    share = np.divide(along, square, out=np.ones_like(along), where=square > 0)
    result: FloatArray = np.clip(share, 0, 1).astype(np.float32)[group]
    return result


def _strongest(nearest: IntArray, weight: FloatArray) -> tuple[IntArray, FloatArray]:
    """The guides that count most, and their weights scaled to a sum of 1, both (S, 3)."""
    order = np.argsort(-weight, axis=1, kind="stable")[:, :RECORDED_GUIDES]
    kept = np.take_along_axis(weight, order, axis=1)
    return np.take_along_axis(nearest, order, axis=1), kept / kept.sum(axis=1, keepdims=True)


def _clump_spots(scalp: Mesh, size: float, strands: int, density: ArrayLike | None, seed: int) -> FloatArray:
    """Middles of clumps [m], shape (K, 3), about `size` apart where hair is densest and not more than strands."""
    share = 1.0
    if density is not None:
        per_face = np.asarray(density, np.float64)[scalp.faces].mean(axis=1)
        share = np.average(per_face, weights=scalp.face_areas) / per_face.max()
    count = int(np.clip(share * scalp.face_areas.sum(dtype=np.float64) / size**2, 1, strands))
    stream = int(np.random.default_rng([seed, CLUMP_STREAM]).integers(2**31))
    return scatter_roots(scalp, count, density=density, seed=stream).points


def _clumped(points: FloatArray, groups: NDArray[np.int32], spots: FloatArray, amount: float) -> FloatArray:
    """Strands drawn towards the one in the middle of their clump, ever more from root to tip."""
    roots = np.ascontiguousarray(points[:, 0])
    centers = np.unique(PointIndex(roots).nearest(spots)[1][:, 0])
    nearest = centers[PointIndex(roots[centers]).nearest(roots, CLUMPS_IN_REACH)[1]]
    directions = segment_tangents(points)
    clump = np.arange(len(points))  # alone, unless a middle is found that has the same group and the same flow
    for middle in nearest.T[::-1]:
        cosine = np.einsum("sij,sij->s", directions, directions[middle]) / directions.shape[1]
        clump = np.where((groups[middle] == groups) & (cosine > kernels.APART), middle, clump)
    share = np.linspace(0, 1, points.shape[1], dtype=np.float32)[:, None]
    pull = np.float32(amount) * share * share * (3 - 2 * share)
    return _with_lengths_of(points, points + pull * (points[clump] - points))


def _frizzed(points: FloatArray, amplitude: float, wavelength: float, rng: np.random.Generator) -> FloatArray:
    """Strands shaken by a long and a short wave per axis, ever more from root to tip."""
    steps = np.linalg.norm(np.diff(points, axis=1), axis=2)
    along = np.pad(np.cumsum(steps, axis=1), ((0, 0), (1, 0)))[:, :, None]
    finest = SEGMENTS_PER_WAVE * steps.mean(axis=1)
    size = np.float32(amplitude) * np.linspace(0, 1, points.shape[1], dtype=np.float32)[:, None]
    out = points.copy()
    for wave_amplitude, octave in FRIZZ_WAVES:
        stretch = rng.uniform(0.75, 1.25, len(points))
        wave = np.maximum(wavelength * octave * stretch, finest).astype(np.float32)[:, None, None]
        phase = rng.random((len(points), 1, 3), np.float32)
        out += np.float32(wave_amplitude) * size * np.cos(np.float32(2 * np.pi) * (along / wave + phase))
    return _with_lengths_of(points, out)


def _with_lengths_of(source: FloatArray, points: FloatArray) -> FloatArray:
    """Strands with the directions of `points` and the segment lengths of `source`, both (S, V, 3), from their roots."""
    lengths = np.linalg.norm(np.diff(source, axis=1), axis=2, keepdims=True)
    edges = np.concatenate([points[:, :1], segment_tangents(points) * lengths], axis=1)
    return np.cumsum(edges, axis=1)


def _cut(points: FloatArray, variation: float, rng: np.random.Generator) -> FloatArray:
    """Strands cut off at random, with as many vertices as before."""
    last = points.shape[1] - 1
    share = 1 - variation * rng.random(len(points))
    place = share[:, None] * np.arange(last + 1)
    before = np.minimum(place.astype(np.int64), last - 1)[:, :, None]
    fraction = (place[:, :, None] - before).astype(np.float32)
    start, end = (np.take_along_axis(points, before + step, axis=1) for step in (0, 1))
    result: FloatArray = start + fraction * (end - start)
    return result


def _blended_attributes(
    guides: Groom, nearest: IntArray, weight: FloatArray
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """The guides' attributes carried to the strands, per strand and per vertex."""

    def blend(values: NDArray[Any]) -> NDArray[Any]:
        if values.dtype.kind != "f":
            return values[nearest[:, 0]]
        share = weight.astype(values.dtype).reshape(weight.shape + (1,) * (values.ndim - 1))
        result: NDArray[Any] = sum(share[:, k] * values[nearest[:, k]] for k in range(weight.shape[1]))
        return result

    strand = {name: blend(value) for name, value in guides.strand.items() if name not in OWN_ATTRIBUTES}
    vertex = {}
    for name, value in guides.vertex.items():
        element = value.shape[1:]
        vertex[name] = blend(value.reshape(guides.strand_count, -1, *element)).reshape(-1, *element)
    return strand, vertex
