"""What `Simulation` needs for guides that come and go: slots behind the groom's own in all its arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.animated import AnimatedMesh
from mane.body.solid import Solid
from mane.contact.adaptive.adaptive import AdaptiveGuides
from mane.geometry.checks import IntArray
from mane.skin.finish.passes import adjusted
from mane.strand.halfway import with_halfway
from mane.strand.model import Float64Array, StrandModel
from mane.strand.ports import Part
from mane.strand.roots import RootPose
from mane.strand.standing.stiffen import stiffen_to_stand
from mane.strand.state import StrandState

ROUNDS = 4  # of Newton's method on a distance, which is all but linear


def adaptive_part(parts: Sequence[Part]) -> AdaptiveGuides | None:
    """Return the part that inserts guides, of which there may be one."""
    found = [part for part in parts if isinstance(part, AdaptiveGuides)]
    if len(found) > 1:
        raise ValueError(
            f"forces: must hold one AdaptiveGuides at most, got {len(found)}; its groups= tells them apart"
        )
    return found[0] if found else None


def with_slots(
    model: StrandModel, adaptive: AdaptiveGuides, active: NDArray[np.bool_], body: Solid | None, mode: str
) -> StrandModel:
    """Return the strands of `model` and behind them one for each pair, grown on the body and held as the others are."""
    pairs = adaptive.choose_pairs(model, active)
    if len(pairs) == 0:
        return model
    whole = with_halfway(model, pairs)
    own = model.strand_count
    if body is not None:
        between = grown_on(body, whole.rest_points[own:], whole.rest_points[pairs, 0])
        whole = replace(whole, rest_points=np.concatenate([model.rest_points, between]))
    held, _ = stiffen_to_stand(whole.taken(np.arange(own, whole.strand_count)), mode=mode)
    return replace(
        whole,
        bend_stiffness=np.concatenate([whole.bend_stiffness[:own], held.bend_stiffness]),
        twist_stiffness=np.concatenate([whole.twist_stiffness[:own], held.twist_stiffness]),
    )


def grown_on(body: Solid, strands: Float64Array, neighbours: Float64Array) -> Float64Array:
    """Take strands (P, V, 3) [m] that lie half-way between others out of the body, which bulges between these.

    Roots come to lie as deep in the skin as those of their `neighbours` (P, 2, 3) do in the mean. A body that deforms
    is in its rest pose.
    """
    skin = body.at(0.0) if body.animation is None else _at_rest(body.animation).at(0.0)
    depth = skin.distance(neighbours.reshape(-1, 3)).reshape(-1, 2).mean(axis=1)
    moved = strands.copy()
    for _ in range(ROUNDS):
        distance, gradient = skin.distance_and_gradient(moved[:, 0])
        moved += ((depth - distance)[:, None] * gradient)[:, None]
    return adjusted(moved.astype(np.float32), skin.distance_and_gradient, 0.0, ROUNDS)


def _at_rest(animation: AnimatedMesh) -> Solid:
    return Solid.animated(animation.mesh, [0.0], animation.mesh.points[None])


def single_precision(state: StrandState, roots: RootPose, rows: slice | IntArray) -> dict[str, Any]:
    """Arrays that a `GuideFrame` and its `InsertedGuides` share, of some strands, by name; copies."""
    arrays = {name: getattr(state, name)[rows] for name in ("points", "velocity", "orientations", "cut_force")}
    arrays["roots"], arrays["root_rotations"] = roots.positions[rows], roots.rotations[rows]
    return {name: array.astype(np.float32) for name, array in arrays.items()}
