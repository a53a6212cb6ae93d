"""chai2017 as printed, in plain NumPy for small cases: graph, cliques, choice and weights; the tests' specification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Float64Array = NDArray[np.float64]
GuideSet = frozenset[int]
Distance = Callable[[Float64Array], Float64Array]


def motion_difference(
    points: Float64Array, velocity: Float64Array, a: Float64Array, b: Float64Array, sigma: float
) -> Float64Array:
    """d(i, j) of chai2017 eq. 2 for all pairs of guides (G, G); `points`, `velocity (G, U, 3)`, A and B (G, G)."""
    apart = ((points[:, None] - points[None]) ** 2).sum(axis=(2, 3))
    velocity_apart = ((velocity[:, None] - velocity[None]) ** 2).sum(axis=(2, 3))
    return np.asarray(apart / a + sigma * velocity_apart / b)


def passes_interpolation_check(
    first: Float64Array, second: Float64Array, distance: Distance, depth: float, samples: int = 2000
) -> bool:
    """chai2017 4.2: whether no segment between particles of the same number (U, 3) leads into a solid, by sampling."""
    share = np.linspace(0, 1, samples)[:, None, None]
    places = first[1:] + share * (second - first)[1:]
    return bool((distance(places.reshape(-1, 3)) >= -depth).all())


def cliques(is_connected: NDArray[np.bool_], difference: Float64Array) -> list[GuideSet]:
    """Lines 1 to 15 of algorithm 1 for a graph (G, G); the pair that is looked at first is the most similar one."""
    found = []
    for g in range(len(is_connected)):
        kept = [t for t in np.flatnonzero(is_connected[g]).tolist() if t != g]
        kept.sort(key=lambda t: (difference[g, t], t))
        while True:
            apart = next(((a, b) for a, b in combinations(kept, 2) if not is_connected[a, b]), None)
            if apart is None:
                break
            a, b = apart
            kept.remove(a if difference[g, a] > difference[g, b] else b)
        found.append(frozenset({*kept, g}))
    return found


def candidates(eligible: Iterable[GuideSet], groups: Iterable[GuideSet]) -> set[GuideSet]:
    """Lines 17 to 22 of algorithm 1: what the cliques leave of the eligible sets of a hair."""
    return {a & b for a in eligible for b in groups} - {frozenset()}


def tangents(points: Float64Array) -> Float64Array:
    """Unit tangents at the vertices of a strand (V, 3), by central differences."""
    way = np.gradient(points, axis=0)
    return np.asarray(way / np.linalg.norm(way, axis=1, keepdims=True))


def smallest_rotation(a: Float64Array, b: Float64Array) -> Float64Array:
    """The matrix that takes the unit vector a to b (Rodrigues), (3, 3)."""
    axis, cosine = np.cross(a, b), float(a @ b)
    cross = np.cross(axis, np.eye(3)).T
    return np.asarray(np.eye(3) + cross + cross @ cross / (1 + cosine))


def frames(rest: Float64Array, points: Float64Array) -> Float64Array:
    """How a guide (V, 3) has turned at its vertices, without twist, matrices (V, 3, 3); the root does not."""
    turned = [np.eye(3)]
    for before, now in zip(tangents(rest)[1:], tangents(points)[1:], strict=True):
        turned.append(smallest_rotation(turned[-1] @ before, now) @ turned[-1])
    return np.asarray(turned)


def carried(
    rest: Float64Array, guide_rest: Float64Array, guide: Float64Array, *, use_frames: bool
) -> tuple[Float64Array, Float64Array]:
    """Where B_g of chai2017 eq. 5 has a hair (V, 3), and its tangents: guide and hair of the same vertices.

    A frame turns positions and tangents with the guide; a translation adds to either what the guide's have changed by.
    """
    if not use_frames:
        return rest + guide - guide_rest, tangents(rest) + tangents(guide) - tangents(guide_rest)
    turned = frames(guide_rest, guide)
    return (
        guide + np.einsum("vij,vj->vi", turned, rest - guide_rest),
        np.einsum("vij,vj->vi", turned, tangents(rest)),
    )


def polynomial_weights(weights: Float64Array, degree: int, *, fit_root: bool) -> Float64Array:
    """chai2017 eq. 8: coefficients (M, D), lowest power first, fitted to weights at the vertices (M, V)."""
    along = np.linspace(0, 1, weights.shape[1])
    start = 0 if fit_root else 1
    fitted = np.polynomial.polynomial.polyfit(along[start:], weights[:, start:].T, degree)
    return np.asarray(fitted.T)


def played_weights(coefficients: Float64Array, vertices: int, *, negative_weights: bool) -> Float64Array:
    """Weights at the vertices (M, V) of polynomials (M, D), of sum 1 (chai2017 6.2), clipped at zero or not."""
    along = np.linspace(0, 1, vertices)[:, None] ** np.arange(coefficients.shape[1])
    weights = coefficients @ along.T if negative_weights else np.maximum(coefficients @ along.T, 0)
    return np.asarray(weights / weights.sum(axis=0))


def interpolated(states: Mapping[int, Float64Array], weights: Mapping[int, Float64Array]) -> Float64Array:
    """chai2017 eq. 5: a hair (V, C) from where its guides carry it, states (V, C), with weights (V,)."""
    total = np.sum(list(weights.values()), axis=0)[:, None]
    return np.asarray(sum(weights[g][:, None] * states[g] for g in weights) / total)


def near_weights(rest: Float64Array, guides: Mapping[int, Float64Array]) -> dict[int, Float64Array]:
    """chai2017 eq. 11 at rest: one over the distance of particles of the same number, of sum 1."""
    inverse = {g: 1 / np.linalg.norm(rest - points, axis=1) for g, points in guides.items()}
    total = np.sum(list(inverse.values()), axis=0)
    return {g: value / total for g, value in inverse.items()}


def closest_to_last(
    of_set: Callable[[GuideSet], Float64Array], sets: Iterable[GuideSet], last: GuideSet
) -> GuideSet | None:
    """chai2017 eq. 3: of the sets that can be evaluated, the one whose hair is closest to that of the last set."""
    held = of_set(last)
    ways = {one: float(((of_set(one) - held) ** 2).sum()) for one in sets}
    return min(ways, key=lambda one: ways[one]) if ways else None


def valid_sets(eligible: Iterable[GuideSet], is_connected: NDArray[np.bool_]) -> list[GuideSet]:
    """Sets whose guides are connected pairwise; a single guide always is."""
    return [one for one in eligible if all(is_connected[a, b] for a, b in combinations(sorted(one), 2))]


def leaning(
    hair: Float64Array,
    guides: Float64Array,
    displacement: Float64Array,
    distance: Distance,
    between: int,
    recovery: tuple[float, float],
    samples: int = 400,
) -> Float64Array:
    """How far the vertices of a hair (V, 3) lean towards the middle of its guides (K, V, 3) [m], by sampling.

    Args:
        hair: where it is [m].
        guides: those that it hangs on.
        displacement: of them from rest; no vertex leans farther than its guides have come on average.
        distance: to a solid.
        between: places of every segment from which the way is followed.
        recovery: part of the way that is won back at every vertex towards the tip, and the root.
        samples: of each way.
    """
    middle, part = guides.mean(axis=0), np.ones(len(hair))
    share = np.linspace(0, 1, samples)[:, None]
    for i in range(1, len(hair)):
        for k in range(between):
            u = k / between
            start, end = ((1 - u) * one[i] + u * one[i - 1] for one in (middle, hair))
            room = distance(start + share * (end - start))
            free = share[max(int(np.argmax(room < 0)) - 1, 0), 0] if room[0] > 0 and (room < 0).any() else 1.0
            part[i] = min(part[i], free)
            if k > 0:
                part[i - 1] = min(part[i - 1], free)
    for i in range(1, len(hair)):
        part[i] = min(part[i], part[i - 1] + recovery[0])
    for i in range(len(hair) - 2, -1, -1):
        part[i] = min(part[i], part[i + 1] + recovery[1])
    part[0] = 1.0
    way = hair - middle
    come = np.linalg.norm(displacement.mean(axis=0), axis=1)
    away = np.minimum(1 - part, come / np.maximum(np.linalg.norm(way, axis=1), 1e-12))
    return np.asarray(-away[:, None] * way)
