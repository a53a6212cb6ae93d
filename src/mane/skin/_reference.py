"""What skins compute, in plain NumPy and double precision: slow, obvious, and the tests' specification."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion
from mane.skin.binding import GuideBinding
from mane.skin.bundles import Bundles
from mane.strand.frame import GuideFrame

Float64Array = NDArray[np.float64]


def at_parameter(curves: Float64Array, guide: int, parameter: NDArray[np.float32]) -> Float64Array:
    """Places on one of `curves (G, U, 3)` at vertex numbers with fractions `parameter (V,)`; shape (V, 3)."""
    before = np.minimum(parameter.astype(np.int64), curves.shape[1] - 2)
    share = (parameter - before)[:, None].astype(np.float64)
    result: Float64Array = (1 - share) * curves[guide, before] + share * curves[guide, before + 1]
    return result


def present_weights(weights: Float64Array, present: Float64Array, least: float) -> tuple[Float64Array, float]:
    """Weights of the guides of one hair that are there, of sum 1, and how far the hair hangs on them, 0 to 1."""
    total = float((weights * present).sum())
    return weights * present / (total or 1.0), min(total / least, 1.0)


def linear_hairs(
    rest: NDArray[np.float32],
    guide_rest: NDArray[np.float32],
    binding: GuideBinding,
    bundles: Bundles,
    frame: GuideFrame,
    least: float,
) -> Float64Array:
    """Linear hair skinning, hsu2024 eq. 9 with each guide's displacement taken in the frame of its root.

    Args:
        rest: hairs at rest [m], shape (S, V, 3).
        guide_rest: guides at rest [m], shape (G, U, 3).
        binding: guides and weights of each hair.
        bundles: places on the guides that go with each vertex.
        frame: the guides now.
        least: share of its guides below which a hair is handed over to the head.
    """
    present = np.where(frame.active, frame.weight, 0).astype(np.float64)
    out = np.empty(rest.shape)
    for s, hair in enumerate(rest.astype(np.float64)):
        weights, share = present_weights(binding.weights[s].astype(np.float64), present[binding.guides[s]], least)
        carried = np.zeros_like(hair)
        for k, guide in enumerate(binding.guides[s]):
            places = bundles.parameter[bundles.of_hair[s], k]
            before = at_parameter(guide_rest.astype(np.float64), guide, places)
            now = at_parameter(frame.points.astype(np.float64), guide, places)
            rotation = frame.root_rotations[guide].astype(np.float64)
            carried += weights[k] * (now + quaternion.rotate(rotation, hair - before))
        out[s] = share * carried + (1 - share) * frame.head.apply(hair)
    return out


def rigid_hairs(
    rest: NDArray[np.float32],
    guide_rest: NDArray[np.float32],
    transport: NDArray[np.float32],
    binding: GuideBinding,
    bundles: Bundles,
    frame: GuideFrame,
    guide_turns: Float64Array,
) -> Float64Array:
    """Guides carried from root frame to root frame, chang2002 eq. 4, with each hair's own shape over them.

    Args:
        rest: hairs at rest [m], shape (S, V, 3).
        guide_rest: guides at rest [m], shape (G, U, 3).
        transport: turn of the skin from each guide's root to the hair's, matrices of shape (S, K, 9).
        binding: guides and weights of each hair.
        bundles: places on the guides that go with each vertex.
        frame: the guides now.
        guide_turns: how each vertex of a guide has turned since rest, as seen from its root frame, quaternions
            (G, U, 4).
    """
    out = np.empty(rest.shape)
    before = guide_rest.astype(np.float64)
    now = frame.points.astype(np.float64)
    for s, hair in enumerate(rest.astype(np.float64)):
        rotations = transport[s].reshape(-1, 3, 3).astype(np.float64)
        places = bundles.parameter[bundles.of_hair[s]]
        chosen = list(zip(binding.guides[s], binding.weights[s].astype(np.float64), rotations, places, strict=True))
        spine = sum(
            weight * (hair[0] + (at_parameter(before, g, place) - before[g, 0]) @ rotation.T)
            for g, weight, rotation, place in chosen
        )
        detail = hair - spine
        out[s] = 0.0
        for g, weight, rotation, place in chosen:
            skin = quaternion.to_matrix(quaternion.normalize(frame.root_rotations[g].astype(np.float64)))
            seen = (at_parameter(now, g, place) - now[g, 0]) @ skin
            follow = quaternion.normalize(at_parameter(guide_turns, g, place))
            local = seen + quaternion.rotate(follow, detail @ rotation)
            root = frame.roots[g] + skin @ (hair[0] - before[g, 0])
            out[s] += weight * (root + local @ rotation.T @ skin.T)
    return out


def shared_out(weight: Float64Array, fade: Float64Array, ends: NDArray[np.int64]) -> NDArray[np.float32]:
    """Weights (H, K + E) of hairs with `weight` (H, K), once inserted guides have taken their share.

    Args:
        weight: of the own guides.
        fade: how far each inserted guide may be followed by each hair, 0 to 1, shape (H, E).
        ends: the two own guides that each was inserted between, as columns of `weight`, shape (H, E, 2); twice the
            same for a hair with one guide.
    """
    row = np.arange(len(weight))[:, None]
    is_pair = ends[..., 0] != ends[..., 1]
    taken = fade * np.minimum(weight[row, ends[..., 0]], weight[row, ends[..., 1]])
    loss = np.zeros_like(weight)
    for edge in range(fade.shape[1]):
        loss[row[:, 0], ends[:, edge, 0]] += taken[:, edge]
        loss[row[:, 0], ends[:, edge, 1]] += np.where(is_pair[:, edge], taken[:, edge], 0.0)
    allowed = np.divide(weight, loss, out=np.full_like(weight, np.inf), where=loss > 0)
    scale = np.minimum(allowed.min(axis=1, keepdims=True), 1.0)
    gained = scale * taken * np.where(is_pair, 2.0, 1.0)
    return np.concatenate([np.maximum(weight - scale * loss, 0.0), gained], axis=1).astype(np.float32)
