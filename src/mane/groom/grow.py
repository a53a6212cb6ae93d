"""Hair grown from guides: thousands of strands between the few that an artist made or a selection chose."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.mesh import Mesh
from mane.geometry import quaternion
from mane.geometry.checks import FloatArray, IntArray, require_positive
from mane.geometry.index import PointIndex
from mane.groom import _kernels_grow as kernels
from mane.groom.binding import bind_roots
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.roots import Roots, scatter_roots

GUIDES_PER_STRAND = 3
CLUMPS_IN_REACH = 4  # centres that a strand looks at before it stays alone

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

    A strand blends the three guides nearest to its root, each turned with the skin from its own root to the strand's.
    Weights change smoothly over the scalp, and on a guide's own root the strand is that guide. Guides of another group
    than the nearest one, or that flow another way (on the far side of a parting), are not blended in.

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
        scalp's texture coordinates as `root_uv`, and the binding: `closest_guides` (S, 3), the slots of the guides,
        nearest first, and `guide_weights` (S, 3).

    Limitations: strands may dip into the skin where it curves and the guides do not show it; `depenetrate` mends that.
    Nearness is in a straight line, so two sheets of skin that lie close (an ear on the head) share their guides; give
    such guides different groups. Where four guides form an exact square, weights change fast around its middle.
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
    strand["closest_guides"] = np.flatnonzero(whole.active)[nearest].astype(np.int32)
    strand["guide_weights"] = weight
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
    """Nearest guides (S, 3), their weights (S, 3), and the strands' points (S, V, 3) at the given roots."""
    binding = bind_roots(guides, scalp)
    guide_normals = quaternion.rotate(binding.rest_frame, np.array([0, 0, 1], np.float32))
    distance, nearest = PointIndex(binding.rest_roots - binding.offset).nearest(roots.points, GUIDES_PER_STRAND + 1)
    missing = GUIDES_PER_STRAND + 1 - nearest.shape[1]
    # With fewer guides than places, the last ones repeat the nearest guide from infinitely far away.
    distance = np.pad(distance, ((0, 0), (0, missing)), constant_values=np.inf)
    nearest = np.concatenate([nearest, np.repeat(nearest[:, :1], missing, axis=1)], axis=1)[:, :GUIDES_PER_STRAND]
    nearest = np.ascontiguousarray(nearest)
    rest = guides.as_uniform()
    weight = np.empty(nearest.shape, np.float32)
    kernels.weigh_guides(rest, guide_normals, _groups(guides), roots.normals, nearest, distance, weight)
    points = np.empty((len(nearest), rest.shape[1], 3), np.float32)
    kernels.blend_guides(rest, guide_normals, roots.points, roots.normals, nearest, weight, points)
    return nearest, weight, points


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
    roots = np.ascontiguousarray(points[:, 0])
    centers = np.unique(PointIndex(roots).nearest(spots)[1][:, 0])
    nearest = PointIndex(roots[centers]).nearest(roots, CLUMPS_IN_REACH)[1]
    clump = np.empty(len(points), np.int64)
    kernels.join_clumps(points, groups, centers, nearest, clump)
    out = np.empty_like(points)
    kernels.draw_together(points, clump, np.float32(amount), out)
    kernels.keep_lengths(points, out)
    return out


def _frizzed(points: FloatArray, amplitude: float, wavelength: float, rng: np.random.Generator) -> FloatArray:
    out = np.empty_like(points)
    random = rng.random((len(points), 2, 4), np.float32)
    kernels.add_frizz(points, random, np.float32(amplitude), np.float32(wavelength), out)
    kernels.keep_lengths(points, out)
    return out


def _cut(points: FloatArray, variation: float, rng: np.random.Generator) -> FloatArray:
    out = np.empty_like(points)
    kernels.cut_strands(points, 1 - np.float32(variation) * rng.random(len(points), np.float32), out)
    return out


def _blended_attributes(
    guides: Groom, nearest: IntArray, weight: FloatArray
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """The guides' attributes carried to the strands, per strand and per vertex."""

    def blend(values: NDArray[Any]) -> NDArray[Any]:
        if values.dtype.kind != "f":
            return values[nearest[:, 0]]
        share = weight.astype(values.dtype).reshape(weight.shape + (1,) * (values.ndim - 1))
        return sum(share[:, k] * values[nearest[:, k]] for k in range(weight.shape[1]))

    strand = {name: blend(value) for name, value in guides.strand.items() if name not in OWN_ATTRIBUTES}
    vertex = {}
    for name, value in guides.vertex.items():
        element = value.shape[1:]
        vertex[name] = blend(value.reshape(guides.strand_count, -1, *element)).reshape(-1, *element)
    return strand, vertex
