"""Eligible sets and their weights (chai2017 6.2), for hairs and guides whose motion is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.dataset.learn import _kernels_weights as kernels
from mane.geometry.checks import FloatArray, IntArray
from mane.skin.adaptive.frames import vertex_rotations, vertex_tangents
from mane.skin.adaptive.model import LOG_UNIT
from mane.skin.adaptive.rows import GuideRows

BYTES_AT_ONCE = 200_000_000  # of coefficients of all subsets, before most of them are left out
MOST_LOG = np.iinfo(np.uint8).max
COEFFICIENT_RANGE = np.iinfo(np.int16).max


@dataclass(frozen=True, eq=False)
class LearnedSets:
    """Sets of S hairs; see `AdaptiveModel`."""

    first: NDArray[np.int64]
    masks: NDArray[np.uint16]
    log_error: NDArray[np.uint8]
    coefficients: NDArray[np.int16]
    scale: float
    best_error: NDArray[np.float64]


def powers_along(vertices: int, degree: int) -> NDArray[np.float64]:
    """Powers of the variable of a polynomial at the vertices of a hair, 0 at the root and 1 at the tip, (V, D)."""
    powers: NDArray[np.float64] = np.linspace(0, 1, vertices)[:, None] ** np.arange(degree + 1)
    return powers


def fit_matrix(vertices: int, degree: int, *, fits_root: bool = False) -> NDArray[np.float64]:
    """What takes weights at the vertices of a hair, (V,), to a polynomial's coefficients (chai2017 eq. 8), (D, V).

    The root is left out, unless `fits_root`: its weights are undetermined, since it does not move.
    """
    start = 0 if fits_root else 1
    fit = np.zeros((degree + 1, vertices))
    fit[:, start:] = np.linalg.pinv(powers_along(vertices, degree)[start:])
    return fit


def learn_sets(
    guides: IntArray,
    rest: FloatArray,
    motion: FloatArray,
    slots: NDArray[np.int32],
    counts: NDArray[np.int32],
    rows: GuideRows,
    row_of: NDArray[np.int32],
    *,
    degree: int = 0,
    largest: int = 4,
    epsilon: float = 0.1,
    most_sets: int = 80,
    use_frames: bool = False,
    tangents: float = 0.0,
    negative_weights: bool = False,
    fit_root: bool = False,
    done: Callable[[float], None] | None = None,
) -> LearnedSets:
    """Estimate the weights of all sets of all hairs.

    Args:
        guides: hair that each guide is, shape (G,).
        rest: hairs at rest [m], shape (S, V, 3), float32.
        motion: their displacements as seen from the head [m], shape (S, F, V, 3), float32.
        slots: eligible guides of each hair, shape (S, M), int32.
        counts: how many, shape (S,), int32.
        rows: places on the guides.
        row_of: row of each eligible guide, shape (S, M), int32.
        degree: of the weight polynomials, 0 to 2.
        largest: guides in a set at most.
        epsilon: a set with a guide of less weight is left out.
        most_sets: of a hair that are kept, those of the least error; single guides always stay.
        use_frames: B_g of eq. 7 is a frame, which turns hairs with their guides, and not a translation alone.
        tangents: what a unit tangent counts as in the states of eq. 7 [m]; 0 for states without.
        negative_weights: polynomials below zero are played as they are, and not as zero.
        fit_root: eq. 8 fits the weights of the root as well.
        done: is told which part is done.
    """
    hairs, frames, vertices = motion.shape[:3]
    width = slots.shape[1]
    fit, powers = fit_matrix(vertices, degree, fits_root=fit_root), powers_along(vertices, degree)
    guide_rest, guide_motion = np.ascontiguousarray(rest[guides]), np.ascontiguousarray(motion[guides])
    rotation = np.zeros((0, frames, vertices, 4), np.float32)
    if use_frames:
        rotation = vertex_rotations(guide_rest, guide_rest[:, None] + guide_motion)
    guide_states = with_tangents(guide_rest, guide_motion, tangents)
    least_weight = -np.inf if negative_weights else 0.0
    places = np.ascontiguousarray(rows.parameter[:, 0])
    each = (1 << width) * (width * (degree + 1) * 4 + 4)
    step = max(1, BYTES_AT_ONCE // each)
    parts = []
    for start in range(0, hairs, step):
        own = slice(start, min(start + step, hairs))
        count = own.stop - own.start
        coefficients = np.empty((count, 1 << width, width, degree + 1), np.float32)
        error = np.empty((count, 1 << width))
        kernels.learn_sets(
            *(guide_states, with_tangents(rest[own], motion[own], tangents), rotation, guide_rest),
            *(rest[own], np.float32(tangents) * vertex_tangents(rest[own]), frames),
            *(slots[own], counts[own], row_of[own], places),
            *(fit, powers, fit_root, min(largest, width), epsilon, least_weight, coefficients, error),
        )
        parts.append(_kept(coefficients, error, most_sets))
        if done is not None:
            done(own.stop / hairs)
    return _joined(parts, degree)


def with_tangents(rest: FloatArray, displacement: FloatArray, weight: float) -> FloatArray:
    """How states of strands changed [m]: displacements (N, F, V, 3), and tangents in as many frames after these.

    A unit tangent counts as `weight` [m]; 0 for states without, (N, F, V, 3), otherwise (N, 2 F, V, 3).
    """
    if not weight:
        return displacement
    change = vertex_tangents(rest[:, None] + displacement) - vertex_tangents(rest)[:, None]
    return np.concatenate([displacement, np.float32(weight) * change], axis=1)


Part = tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.uint8], FloatArray, NDArray[np.float64]]


def _kept(coefficients: FloatArray, error: NDArray[np.float64], most: int) -> Part:
    """The best sets of each hair, by rising error, and every single guide; counts, masks, logarithms, coefficients."""
    order = np.argsort(error, axis=1, kind="stable")
    rank = np.argsort(order, axis=1, kind="stable")
    is_single = np.bitwise_count(np.arange(error.shape[1])) == 1
    keep = np.isfinite(error) & ((rank < most) | is_single)
    counts = keep.sum(axis=1).astype(np.int64)
    kept = np.take_along_axis(keep, order, axis=1)
    hair, place = np.nonzero(kept)
    masks = order[hair, place]
    best = np.take_along_axis(error, order[:, :1], axis=1)[:, 0]
    ratio = np.maximum(error[hair, masks], 1e-30) / np.maximum(best[hair], 1e-30)
    # An error is a length: the root of the sum of squares.
    logs = np.minimum(np.rint(0.5 * np.log(ratio) / LOG_UNIT), MOST_LOG).astype(np.uint8)
    member = (masks[:, None] >> np.arange(coefficients.shape[2]) & 1).astype(bool)
    number, guide = np.nonzero(member)
    rows = coefficients[hair[number], masks[number], guide]
    return counts, masks.astype(np.uint16), logs, rows, best


def _joined(parts: list[Part], degree: int) -> LearnedSets:
    counts, masks, logs, rows, best = (np.concatenate(column) for column in zip(*parts, strict=True))
    scale = float(max(np.abs(rows).max(initial=0.0), 1e-6)) / COEFFICIENT_RANGE if degree else 1.0 / COEFFICIENT_RANGE
    whole = np.rint(rows / scale).astype(np.int16)
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return LearnedSets(first, masks, logs, whole, scale, best)
