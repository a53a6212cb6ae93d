"""What many styles share: variation, clumps, curls, strands that stand, widths, and the groom made of it all."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.geometry import quaternion
from mane.geometry.checks import FloatArray, IntArray
from mane.geometry.frames import segment_frames
from mane.geometry.grid import UniformGrid
from mane.geometry.index import PointIndex
from mane.groom.groom import Groom
from mane.groom.roots import Roots
from mane.groom.styles import _kernels as kernels

HAIR_WIDTH = 80e-6  # diameter of a human hair [m]
TIP_TAPER = 0.5  # of that, at the tip
WISP = 0.012  # how far apart strands of one wisp may run [m]
STEEPEST_CURL = 1.7  # way round over way along: a curl wound tighter than this would touch itself
SEGMENTS_PER_TURN = 5  # a curl drawn with fewer straight segments than this is a zigzag


def unit_vectors(vectors: ArrayLike) -> FloatArray:
    """Scale vectors (..., 3) to unit length; zero stays zero."""
    array = np.asarray(vectors, np.float32)
    length = np.linalg.norm(array, axis=-1, keepdims=True)
    result: FloatArray = array / np.maximum(length, np.float32(1e-12))
    return result


def tangential(vectors: ArrayLike, normals: FloatArray) -> FloatArray:
    """Take from vectors (S, 3) what points along the unit normals (S, 3)."""
    array = np.asarray(vectors, np.float32)
    result: FloatArray = array - (array * normals).sum(axis=-1, keepdims=True) * normals
    return result


def smooth_step(x: NDArray[np.floating], low: float, high: float) -> FloatArray:
    """0 below `low`, 1 above `high`, an S between."""
    t = np.clip((np.asarray(x, np.float32) - low) / (high - low), 0, 1)
    result: FloatArray = t * t * (3 - 2 * t)
    return result


def spread(rng: np.random.Generator, count: int, amount: float) -> FloatArray:
    """Random factors about 1, shape (count,): log-normal, so that halving is as likely as doubling."""
    return np.exp(amount * rng.standard_normal(count)).astype(np.float32)


def clump_centers(roots: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Choose `count` strands as centres of clumps and return the centre of every strand, shape (S,)."""
    centers = rng.choice(len(roots), min(count, len(roots)), replace=False)
    _, nearest = PointIndex(roots[centers]).nearest(roots)
    return centers[nearest[:, 0]]


def clump(points: FloatArray, center: IntArray, amount: ArrayLike, start: float = 0.1, end: float = 1.0) -> FloatArray:
    """Draw strands (S, V, 3) towards their clump's centre strand, ever more from `start` to `end` (shares of length).

    A strand that parts from its centre (over the other side of a shoulder, say) is left alone from there on.
    """
    offset = points[center] - points
    apart = np.linalg.norm(offset, axis=-1)
    # Far apart: several times as far as the roots are, and more than a wisp is wide.
    limit = 3 * apart[:, :1] + WISP
    together = np.minimum.accumulate(1 - smooth_step(apart / limit, 0.7, 1.0), axis=1)
    share = smooth_step(np.linspace(0, 1, points.shape[1]), start, end)
    weight = np.broadcast_to(np.asarray(amount, np.float32), len(points))[:, None] * share * together
    return points + weight[..., None] * offset


def curl(
    points: FloatArray,
    *,
    radius: ArrayLike,
    pitch: ArrayLike,
    phase: ArrayLike,
    flatness: ArrayLike = 1.0,
    ramp: float = 0.04,
    hand: ArrayLike = 1.0,
    normals: FloatArray | None = None,
) -> FloatArray:
    """Wind strands (S, V, 3) around their own course: helices (`flatness` 1) or waves in a plane (0).

    The pitch is never finer than the strand's segments can draw (`SEGMENTS_PER_TURN`), so that more vertices give more
    turns, nor so fine that the hair would wind around itself (`STEEPEST_CURL`). With the `normals` of the skin (S, 3)
    waves go from side to side along it; without, neighbours may wave in other planes.
    """

    def per_strand(value: ArrayLike) -> FloatArray:
        return np.ascontiguousarray(np.broadcast_to(np.asarray(value, np.float32), len(points)))

    out = np.ascontiguousarray(points, np.float32).copy()
    segment = np.linalg.norm(np.diff(out, axis=1), axis=-1).mean(axis=1)
    finest = np.maximum(SEGMENTS_PER_TURN * segment, (2 * np.pi / STEEPEST_CURL) * per_strand(radius))
    pitch = np.maximum(per_strand(pitch), finest) * per_strand(hand)
    frames = segment_frames(out, None if normals is None else _beside(out, normals))
    kernels.add_curl(
        out, frames, per_strand(radius), pitch, per_strand(phase), per_strand(flatness), np.float32(max(ramp, 1e-4))
    )
    return out


def _beside(points: FloatArray, normals: FloatArray) -> FloatArray:
    """Orientations at the roots (S, 4): third axis along the strand (S, V, 3), first axis sideways on the skin."""
    along = unit_vectors(points[:, 1] - points[:, 0])
    side = unit_vectors(np.cross(normals, along))
    axes = np.stack([side, np.cross(along, side), along], axis=2)
    return quaternion.from_matrix(axes).astype(np.float32)


def arc_at_height(points: FloatArray, height: float) -> FloatArray:
    """Arc length [m] at which strands (S, V, 3) last fall below a `height` [m], shape (S,).

    Those that end above it are taken to go on straight down.
    """
    arc = np.zeros(points.shape[:2], np.float32)
    np.cumsum(np.linalg.norm(np.diff(points, axis=1), axis=2), axis=1, out=arc[:, 1:])
    y = points[:, :, 1]
    is_above = y > height
    last = points.shape[1] - 1 - np.argmax(is_above[:, ::-1], axis=1)  # the last vertex above
    rows, ahead = np.arange(len(points)), np.minimum(last + 1, points.shape[1] - 1)
    drop = np.where(ahead > last, y[rows, last] - y[rows, ahead], 1.0)
    share = np.clip((y[rows, last] - height) / np.maximum(drop, 1e-6), 0, 1)
    crossing = arc[rows, last] + share * (arc[rows, ahead] - arc[rows, last])
    beyond = arc[:, -1] + y[:, -1] - height
    return np.where(is_above.any(axis=1), np.where(ahead > last, crossing, beyond), 0.0).astype(np.float32)


def smooth_noise(points: FloatArray, wavelength: float, rng: np.random.Generator) -> FloatArray:
    """Values of about unit spread at points (S, 3) that change over some `wavelength` [m], shape (S,)."""
    waves = unit_vectors(rng.standard_normal((8, 3))) * np.float32(2 * np.pi / wavelength)
    angles = points @ waves.T + rng.uniform(0, 2 * np.pi, 8).astype(np.float32)
    result: FloatArray = (np.cos(angles).sum(axis=1) / 2).astype(np.float32)
    return result


def stand(
    roots: FloatArray, start: FloatArray, end: FloatArray, length: ArrayLike, vertices: int, bend: float = 1.0
) -> FloatArray:
    """Strands (S, V, 3) that leave along `start` (S, 3) and turn to `end` (S, 3); `bend` above 1 turns later."""
    share = (np.linspace(0, 1, vertices - 1, dtype=np.float32) ** bend)[None, :, None]
    directions = unit_vectors(start[:, None] * (1 - share) + end[:, None] * share)
    step = (np.asarray(length, np.float32) / (vertices - 1)).reshape(-1, 1, 1)
    out = np.empty((len(roots), vertices, 3), np.float32)
    out[:, 0] = roots
    out[:, 1:] = roots[:, None] + np.cumsum(directions * step, axis=1)
    return out


def keep_outside(points: FloatArray, field: UniformGrid, clearance: float) -> FloatArray:
    """Move strands (S, V, 3), roots apart, out of a body given by its distance field, in place."""
    kernels.keep_outside(points, np.float32(clearance), field.values, field.origin, np.float32(1.0 / field.cell_size))
    return points


def finish(
    points: FloatArray,
    roots: Roots,
    *,
    width: float = HAIR_WIDTH,
    group: NDArray[np.integer] | None = None,
    group_names: tuple[str, ...] = ("hair",),
    center: IntArray | None = None,
) -> Groom:
    """Make the groom: points (S, V, 3) with width per vertex, group and clump per strand, and coordinates of roots.

    `center` is the centre of each strand's clump, where clumps are to be known later (`clump_id`).
    """
    strand_count, vertex_count = points.shape[:2]
    taper = np.linspace(1, TIP_TAPER, vertex_count, dtype=np.float32) * np.float32(width)
    strand: dict[str, NDArray[np.generic]] = {
        "group_id": np.zeros(strand_count, np.int32) if group is None else np.asarray(group, np.int32)
    }
    if center is not None:
        strand["clump_id"] = np.unique(center, return_inverse=True)[1].reshape(-1).astype(np.int32)
    if roots.uv is not None:
        strand["root_uv"] = roots.uv
    return Groom.from_uniform(
        points, strand=strand, vertex={"width": np.tile(taper, strand_count)}, group_names=dict(enumerate(group_names))
    )
