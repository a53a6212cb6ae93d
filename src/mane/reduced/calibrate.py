"""Sliders that are calibrated: hair at rest between levels as it was simulated there.

Blends are linear, and how hair hangs is not: half way between stiff and soft the blend of both hangs like neither,
while its motion is right. So what comes to rest between levels is simulated, without any motion, and kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mane.reduced.evaluate import blend_error
from mane.reduced.factors import corner_levels
from mane.reduced.lifting import laid
from mane.reduced.model import HairModel
from mane.reduced.training import TrainingData

Frames = NDArray[np.float32]
SAME = 1e-6  # by which positions on a slider may differ
SAME_ROOT = 1e-5  # [m] by which roots may, as those of styles


def calibrated(model: HairModel, between: TrainingData) -> HairModel:
    """The model with hair at rest at levels between its own; one factor has them, the others are as in the model.

    Raises:
        ValueError: the data has other factors, guides or levels than fit the model.
    """
    names = [factor.name for factor in model.factors]
    if [factor.name for factor in between.factors] != names:
        has = ", ".join(factor.name for factor in between.factors) or "none"
        raise ValueError(
            f"factors: must be those of the model, {', '.join(names) or 'none'}, to calibrate it, got {has}"
        )
    _require_same_strands(model, between)
    known: dict[tuple[float, ...], Frames] = {}
    for data, hair in ((between, between.rest), (model, model.rest)):
        for corner, levels in enumerate(corner_levels(data.factors)):
            own = zip(model.factors, data.factors, levels, strict=True)
            known[tuple(_rounded(mine.place(other.levels[level])) for mine, other, level in own)] = hair[corner]
    positions = tuple(tuple(sorted({position[k] for position in known})) for k in range(len(names)))
    if max(map(max, positions), default=1) > 1 or min(map(min, positions), default=0) < 0:
        raise ValueError("factors: must have levels between those of the model to calibrate it, got one beyond")
    grid = list(itertools.product(*positions))
    if len(grid) == len(model.rest):
        of = f" of {', '.join(names)}" if names else ""
        raise ValueError(f"factors: must have a level between those of the model, got none{of}")
    for one in grid:
        if one not in known:
            at = ", ".join(f"{name} {position:g}" for name, position in zip(names, one, strict=True))
            raise ValueError(f"factors: nothing was simulated at {at}; give all levels of the model to the others")
    made = replace(model, shape_places=positions, shapes=np.stack([known[one] for one in grid]))
    return made.with_safe_ranges()


def _require_same_strands(model: HairModel, between: TrainingData) -> None:
    """Refuse guides that are other strands, or the same numbers of another groom: shapes alone would not tell."""
    (count, vertices), (own, each) = between.groomed.shape[1:3], model.groomed.shape[1:3]
    if (count, vertices) != (own, each):
        has = f"{own:,} of {each} vertices, got {count:,} of {vertices}"
    elif not np.array_equal(between.strands, model.strands):
        first = int(np.flatnonzero(between.strands != model.strands)[0])
        has = f"the same strands, got strand {between.strands[first]} for {model.strands[first]} as guide {first}"
    else:
        off = np.abs(between.groomed[:, :, 0] - model.groomed[0][:, 0]).max(axis=(0, 2))
        if off.max() <= SAME_ROOT:
            return
        has = f"on the same roots, got that of guide {int(off.argmax())} {1e3 * off.max():.3g} mm off"
    raise ValueError(f"guides: must be those of the model to calibrate it, {has}")


def _rounded(position: float) -> float:
    return round(position / SAME) * SAME if 0 < position < 1 else float(position)


def slider_error(
    model: HairModel,
    sliders: dict[str, float],
    data: TrainingData,
    corner: int,
    motions: Sequence[int] | None = None,
) -> float:
    """Mean distance of the model at some sliders from one style of the data [m], over all motions or those named."""
    rest = laid(model.groomed[0][:, 0], *model.rest_at(sliders))
    return blend_error(model, model.weights(sliders), data, corner, rest, motions=motions).model
