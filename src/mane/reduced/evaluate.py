"""What a model is worth: how far its hair is from simulated hair, beside hair that is carried rigidly by the head."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mane.reduced import _kernels_frames as kernels
from mane.reduced.canonical import BodyTrack, to_canonical, to_world
from mane.reduced.dynamics import CoreTensor, roll_out
from mane.reduced.model import HairModel
from mane.reduced.representation import lengths
from mane.reduced.training import TrainingData

Frames = NDArray[np.float32]
Array = NDArray[np.float64]
BLOCK_BYTES = 32_000_000  # of hair that is measured at once
CALM = 1 / 3  # of the largest distance of hair from rest in a motion


@dataclass(frozen=True)
class StyleError:
    """Mean distance of vertices from the simulation in one style [m].

    Attributes:
        model: of the model, running freely from rest.
        rigid: of hair at rest that the head carries.
        floor: of the simulation itself, cut down to the model's components.
        stretch: mean |length / rest length - 1| of segments of the model.
        calm: `model` over `rigid` in frames in which hair is within a third of its largest distance from rest.
    """

    model: float
    rigid: float
    floor: float
    stretch: float
    calm: float


def settled_start(model: HairModel, weights: Array, track: BodyTrack, rest: Frames) -> Array:
    """Coefficients of the first frames (order, d) of hair that has come to rest on the head, in the wind that blows."""
    order = model.dynamics.order
    heads = track.heads[:order]
    points, wind = (None if rows is None else rows[:order] for rows in (track.points, track.wind))
    first = BodyTrack(heads, points, wind)
    if model.space.rests_at_zero:
        controls = model.space.controls(first, model.space.frames(first))
        return np.tile(model.dynamics.operator(weights).settled(controls[0]), (order, 1))
    carried = to_world(heads, np.broadcast_to(rest, (len(heads), *rest.shape)))
    local = to_canonical(model.space.frames(first), carried)
    return project(model, model.representation.encode(local, rest))


def printed_start(model: HairModel, weights: Array, track: BodyTrack, rest: Frames) -> Array:
    """The same as printed: from the bust alone (t = 1, 2 of guan2012 section 5)."""
    dynamics, count = model.dynamics, model.space.body_count
    if not isinstance(dynamics, CoreTensor):
        raise ValueError("start: as printed is for models of the tensor")
    controls = model.space.controls(track, model.space.frames(track))
    return np.asarray(controls[: dynamics.order, :count] @ dynamics.start(weights, count).T)


STARTS: dict[str, Callable[[HairModel, Array, BodyTrack, Frames], Array]] = {
    "settled": settled_start,
    "printed": printed_start,
}


def project(model: HairModel, vectors: Frames) -> Array:
    """Coefficients (T, d) whose vectors come closest to given ones (T, D)."""
    return model.basis.project(vectors - model.mean if model.mean.size else vectors)


def hair_of(model: HairModel, coefficients: Array, rest: Frames) -> Frames:
    """Hair in canonical space (T, G, V, 3) of a style at rest (G, V, 3)."""
    vectors = model.basis.reconstruct(coefficients)
    if model.mean.size:
        vectors += model.mean
    return model.representation.decode(vectors, rest)


def style_errors(
    model: HairModel,
    data: TrainingData,
    *,
    with_floor: bool = True,
    start: str = "settled",
    motions: Sequence[int] | None = None,
) -> list[StyleError]:
    """Errors of every style over all motions of some data, or those named, from a start of `STARTS`."""
    corners = np.eye(len(data.rest))
    return [
        blend_error(model, corners[k], data, k, rest, with_floor=with_floor, start=start, motions=motions)
        for k, rest in enumerate(data.rest)
    ]


def blend_error(
    model: HairModel,
    weights: Array,
    data: TrainingData,
    corner: int,
    rest: Frames,
    *,
    with_floor: bool = False,
    start: str = "settled",
    motions: Sequence[int] | None = None,
) -> StyleError:
    """Errors of a blend of styles, `weights (C,)`, that is at rest in `rest (G, V, 3)`, against one style of some data.

    Hair that is carried rigidly is that of the data.
    """
    operator, settled = model.dynamics.operator(weights), data.rest[corner]
    frame_bytes = rest.nbytes
    sums, count, calm = np.zeros(4), 0, np.zeros(2)
    for motion in range(data.motion_count) if motions is None else motions:
        track = data.track(motion)
        frames = model.space.frames(track)
        first = STARTS[start](model, weights, track, rest)
        coefficients = roll_out(operator, model.space.controls(track, frames), first)
        each = np.zeros((4, len(frames)))
        for rows in blocks(len(frames), frame_bytes):
            truth = data.points(corner, motion, rows)
            local = to_canonical(frames[rows], truth)
            made = hair_of(model, coefficients[rows], rest)
            each[0, rows] = mean_distances(made, local)
            each[1, rows] = mean_distances(
                _seen_from_head(local, frames[rows], track.heads[rows], truth), settled[None]
            )
            each[3, rows] = mean_stretch(made, rest)
            if with_floor:
                floor = hair_of(model, project(model, model.representation.encode(local, rest)), rest)
                each[2, rows] = mean_distances(floor, local)
        sums += each.sum(axis=1)
        is_calm = each[1] < CALM * each[1].max()
        calm += each[:2, is_calm].sum(axis=1)
        count += len(frames)
    off, rigid, least, stretch = (sums / count).tolist()
    return StyleError(off, rigid, least, stretch, float(calm[0] / max(calm[1], 1e-12)))


def blocks(count: int, row_bytes: int) -> list[slice]:
    """So many frames in blocks that are at most `BLOCK_BYTES` long: hair of thousands of guides is not held whole."""
    rows = max(1, BLOCK_BYTES // max(row_bytes, 1))
    return [slice(start, min(start + rows, count)) for start in range(0, count, rows)]


def _seen_from_head(local: Frames, frames: Array, heads: Array, truth: Frames) -> Frames:
    """Hair as the head sees it; in canonical space where that is the same."""
    return local if np.array_equal(frames, heads) else to_canonical(heads, truth)


def mean_distances(one: Frames, other: Frames) -> Array:
    """Mean distance of the vertices of each frame, (T,), of hair (T, G, V, 3) from other, or (1, G, V, 3)."""
    means = np.empty(len(one))
    kernels.fill_distances(np.ascontiguousarray(one, np.float32), np.ascontiguousarray(other, np.float32), means)
    return means


def mean_stretch(hair: Frames, rest: Frames) -> Array:
    """Mean |length / rest length - 1| of the segments of each frame, (T,), of hair (T, G, V, 3)."""
    means = np.empty(len(hair))
    kernels.fill_stretch(np.ascontiguousarray(hair, np.float32), lengths(rest), means)
    return means
