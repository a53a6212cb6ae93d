"""Strands half-way between two others: slots that may be inserted where guides drift apart (chang2002 4.3).

A slot stands behind the guides in every array, half-way between its two parents: directions are the mean of
theirs, lengths, masses and stiffness too. As long as nobody needs it it is not stepped (`Stepper`) and feels nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion
from mane.geometry.checks import IntArray
from mane.strand.model import Float64Array, RootKind, StrandModel
from mane.strand.roots import RootPose
from mane.strand.solver import StrandSolver
from mane.strand.state import StrandState

# Directions whose mean is shorter than this point opposite ways: the strand follows its first parent there.
OPPOSITE = 1e-6


def with_halfway(model: StrandModel, pairs: IntArray) -> StrandModel:
    """Return the strands of `model` and behind them a slot half-way between each of `pairs` (P, 2)."""
    own = np.arange(model.strand_count)
    parents = np.concatenate([np.stack([own, own], axis=1), pairs])

    def mean(values: Float64Array) -> Float64Array:
        return np.concatenate([values, 0.5 * (values[pairs[:, 0]] + values[pairs[:, 1]])])

    roots = mean(model.rest_points[:, 0])[len(own) :]
    between = halfway_points(model.rest_points, pairs, roots, mean(model.rest_length)[len(own) :])
    # Of two that are held differently, the looser one decides.
    kinds = model.root_kind[pairs].max(axis=1)
    return replace(
        model,
        rest_points=np.concatenate([model.rest_points, between]),
        mass=mean(model.mass),
        stretch_stiffness=mean(model.stretch_stiffness),
        bend_stiffness=mean(model.bend_stiffness),
        twist_stiffness=mean(model.twist_stiffness),
        damping=mean(model.damping),
        radius=mean(model.radius),
        root_kind=np.concatenate([model.root_kind, kinds]),
        parents=parents,
    )


def halfway_points(points: Float64Array, pairs: IntArray, roots: Float64Array, length: Float64Array) -> Float64Array:
    """Strands between `pairs` (P, 2) of `points` (G, V, 3), with these roots (P, 3) and segment lengths (P, N) [m]."""
    edges = np.diff(points, axis=1)
    along = edges / np.linalg.norm(edges, axis=2, keepdims=True)
    first, second = along[pairs[:, 0]], along[pairs[:, 1]]
    both = first + second
    size = np.linalg.norm(both, axis=2, keepdims=True)
    is_clear = size > OPPOSITE
    direction = np.where(is_clear, both / np.where(is_clear, size, 1.0), first)
    between = np.empty((len(pairs), *points.shape[1:]))
    between[:, 0] = roots
    between[:, 1:] = roots[:, None] + np.cumsum(direction * length[..., None], axis=1)
    return between


def halfway_roots(roots: RootPose, model: StrandModel) -> RootPose:
    """Return `roots` of the own strands and behind them those of the slots, for a skin that deforms.

    The root of a slot keeps its place beside the middle of its parents', in the mean of their frames.
    """
    pairs = model.parents[model.own_count :]
    rotations = quaternion.slerp(roots.rotations[pairs[:, 0]], roots.rotations[pairs[:, 1]], 0.5)
    beside = model.rest_points[model.own_count :, 0] - model.rest_points[pairs, 0].mean(axis=1)
    positions = roots.positions[pairs].mean(axis=1) + quaternion.rotate(rotations, beside)
    return RootPose(np.concatenate([roots.positions, positions]), np.concatenate([roots.rotations, rotations]))


def insert_halfway(solver: StrandSolver, state: StrandState, strands: NDArray[np.bool_], roots: RootPose) -> None:
    """Put the slots of the mask (G,) half-way between their parents, in place, as these are and move now.

    Directions and velocities are the means of the parents', lengths are the strand's own; segments are turned from
    their groomed frames as those of the parents are, in the mean.
    """
    rows = np.flatnonzero(strands)
    model, parents = solver.model, solver.model.parents[rows]
    first, second = parents[:, 0], parents[:, 1]
    rest = solver.rest_state(roots)
    for name, array in rest.extra.items():
        state.extra[name][rows] = array[rows]
    free = (model.root_kind[rows] == RootKind.FREE)[:, None]
    start = np.where(free, state.points[parents, 0].mean(axis=1), roots.positions[rows])
    state.points[rows] = halfway_points(state.points, parents, start, model.rest_length[rows])
    for vectors in (state.velocity, state.spin, state.cut_force):
        vectors[rows] = 0.5 * (vectors[first] + vectors[second])
    turned = quaternion.multiply(state.orientations, quaternion.conjugate(rest.orientations))
    mean = quaternion.slerp(turned[first], turned[second], 0.5)
    state.orientations[rows] = quaternion.normalize(quaternion.multiply(mean, rest.orientations[rows]))
    solver.adopt(state, strands)
