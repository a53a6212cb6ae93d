"""How close the sets of a model could come to full simulation: the best choices in hindsight.

No rule that sees guides and solids alone can beat these. What is left of the error with them comes from the sets
themselves: hairs that a solid moves in another way than any of their guides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.measure.study.parting import Recording
from mane.skin.adaptive.skin import AdaptiveSkin

COST_OF_A_CHANGE = 0.01  # [m] of mean distance that a hair must win back, summed over frames, to change its set

Array = NDArray[np.float64]


def bounds(recording: Recording, cost: float = COST_OF_A_CHANGE) -> dict[str, float]:
    """Mean distance of hairs near a solid from the truth [m], by choices that know the truth."""
    errors = near_errors(recording)
    count = max(int(recording.is_near[:, recording.others].sum()), 1)
    hairs = np.arange(errors.shape[1])
    held = errors.sum(axis=0).argmin(axis=1)
    path = cheapest_path(errors, cost)
    frames = np.arange(len(errors))[:, None]
    return {
        "best set of every frame": float(errors.min(axis=2).sum()) / count,
        f"best sets, a change costs {1e3 * cost:g} mm": float(errors[frames, hairs, path].sum()) / count,
        "best set, never changed": float(errors[:, hairs, held].sum()) / count,
    }


def near_errors(recording: Recording) -> Array:
    """Mean distance of hairs that are no guides from the truth by each of their sets [m], (F, H, K).

    0 in frames in which a hair is not near a solid; infinite where a hair has fewer sets.
    """
    skin = AdaptiveSkin(recording.groom, recording.simulation.guides, model=recording.model)
    model, others, rest = recording.model, recording.others, recording.groom.as_uniform()
    counts = np.diff(model.first)
    errors = np.full((len(recording.frames), len(others), int(counts.max())), np.inf)
    weights = []
    for number in range(errors.shape[2]):
        has = np.flatnonzero(counts[others] > number)
        chosen = np.minimum(number, counts - 1).astype(np.int32)
        weights.append((has, skin.sets.weights(skin.tables, others[has], chosen).astype(np.float32)))
        errors[:, has, number] = 0.0
    for number, frame in enumerate(recording.frames):
        skin(frame)
        turned = frame.head.inverse_apply(recording.truth[number].astype(np.float64)) - rest
        is_near = recording.is_near[number][others]
        for k, (has, weight) in enumerate(weights):
            of_set = is_near[has]
            near = has[of_set]
            if not len(near):
                continue
            shift = skin.tables.shift[skin.tables.rows[others[near]]]
            carried = np.einsum("hmv,hmcv->hvc", weight[of_set], shift)  # chai2017 eq. 5
            errors[number, near, k] = np.linalg.norm(carried - turned[others[near]], axis=2).mean(axis=1)
    return errors


def cheapest_path(errors: Array, cost: float) -> NDArray[np.int64]:
    """Set of every hair in every frame (F, H) of the least sum of `errors (F, H, K)` and `cost` for each change.

    The algorithm of Viterbi.
    """
    frames, hairs, sets = errors.shape
    before = np.empty((frames, hairs, sets), np.int64)
    total = errors[0].copy()
    for number in range(1, frames):
        best = total.argmin(axis=1)
        changed = np.take_along_axis(total, best[:, None], axis=1) + cost
        before[number] = np.where(changed < total, best[:, None], np.arange(sets))
        total = np.minimum(changed, total) + errors[number]
    path = np.empty((frames, hairs), np.int64)
    path[-1] = total.argmin(axis=1)
    for number in range(frames - 1, 0, -1):
        path[number - 1] = before[number, np.arange(hairs), path[number]]
    return path
