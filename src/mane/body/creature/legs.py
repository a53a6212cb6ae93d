"""Legs that reach for the ground: inverse kinematics of two bones, with foot and paw turned as the caller says."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mane.body.creature.anatomy import FORE_CHAIN, HIND_CHAIN, SIDES, side_name
from mane.body.posing import Posing

Float64Array = NDArray[np.float64]

MOST_REACH = 0.9995  # of the sum of both bones: a leg never snaps straight
LEGS = {f"{end}_{side}": (end, side) for end in ("fore", "hind") for side in SIDES}
CHAINS = {"fore": FORE_CHAIN, "hind": HIND_CHAIN}


def leg_joints(leg: str) -> tuple[str, str, str, str]:
    """Upper bone, lower bone, foot and paw of a leg of `LEGS`."""
    end, side = LEGS[leg]
    upper, lower, foot, paw = (side_name(joint, side) for joint in CHAINS[end])
    return upper, lower, foot, paw


def standing_place(posing: Posing, leg: str) -> Float64Array:
    """Where the joint of a paw is at rest [m], shape (3,)."""
    result: Float64Array = posing.skeleton.bind_positions[posing.skeleton.index(leg_joints(leg)[3])]
    return result


def place_paw(
    posing: Posing,
    leg: str,
    target: Float64Array,
    foot_pitch: Float64Array,
    paw_pitch: Float64Array,
    spread: Float64Array | float = 0.0,
) -> Float64Array:
    """Bend a leg so that the joint of its paw is at `target` [m] (F, 3); return how far it is stretched (F,).

    Foot and paw are turned about x against the world by their pitch [rad] (F,): positive lifts the heel, and points the
    toes down. `spread` [rad] (F,) turns the knee or elbow outwards about the line from hip to foot. A stretch of 1 is a
    straight leg; where it would be more, the paw does not reach its target.
    """
    upper, lower, foot, paw = leg_joints(leg)
    rest = posing.skeleton.bind_positions[[posing.skeleton.index(name) for name in (upper, lower, foot, paw)]]
    bones = np.diff(rest, axis=0)
    world = posing.world()
    base = world[:, posing.skeleton.index(upper), :3, 3]
    parent = world[:, posing.skeleton.index(posing.parent_of(upper)), :3, :3]
    foot_turn = _pitch_matrices(foot_pitch)
    ankle = target - foot_turn @ bones[2] - base
    rest_normal = _unit(np.cross(bones[0], bones[1]))
    outwards = -np.sign(rest[0, 0]) * np.broadcast_to(spread, len(target))
    directions, normal, stretch = _two_bones(ankle, parent @ rest_normal, np.linalg.norm(bones[:2], axis=1), outwards)
    turns = [
        _frames(direction, normal) @ _frames(_unit(bone)[None], rest_normal[None])[0].T
        for direction, bone in zip(directions, bones, strict=False)
    ]
    posing.set_world_rotation(upper, turns[0], parent)
    posing.set_world_rotation(lower, turns[1], turns[0])
    posing.set_world_rotation(foot, foot_turn, turns[1])
    posing.set_world_rotation(paw, _pitch_matrices(paw_pitch), foot_turn)
    return stretch


def stand(posing: Posing) -> None:
    """Keep all four paws where they are at rest, however trunk and shoulders move."""
    level = np.zeros(len(posing.times))
    for leg in LEGS:
        place = np.broadcast_to(standing_place(posing, leg), (len(level), 3))
        place_paw(posing, leg, place, level, level)


def _two_bones(
    reach: Float64Array, normals: Float64Array, lengths: Float64Array, turn: Float64Array
) -> tuple[tuple[Float64Array, Float64Array], Float64Array, Float64Array]:
    """Unit directions (F, 3) of two bones that together make `reach` (F, 3), the plane they bend in, the stretch (F,).

    The bones bend about `normals` (F, 3), or what of it is across the reach, turned about the reach by `turn` [rad]
    (F,): cross(first, second) points along it.
    """
    upper, lower = lengths
    distance = np.linalg.norm(reach, axis=1)
    used = np.clip(distance, 1.001 * abs(upper - lower), MOST_REACH * (upper + lower))
    along = reach / distance[:, None]
    normal = _unit(normals - np.einsum("fi,fi->f", normals, along)[:, None] * along)
    normal = np.cos(turn)[:, None] * normal + np.sin(turn)[:, None] * np.cross(along, normal)
    cosine = (upper * upper + used * used - lower * lower) / (2.0 * upper * used)
    sine = np.sqrt(np.maximum(1.0 - cosine * cosine, 0.0))
    first = cosine[:, None] * along - sine[:, None] * np.cross(normal, along)
    second = (used[:, None] * along - upper * first) / lower
    return (first, _unit(second)), normal, distance / (upper + lower)


def _unit(vectors: Float64Array) -> Float64Array:
    scaled: Float64Array = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return scaled


def _frames(direction: Float64Array, normal: Float64Array) -> Float64Array:
    """Matrices (F, 3, 3) with these two, which are across each other, and the third axis as columns."""
    return np.stack([direction, normal, np.cross(direction, normal)], axis=-1)


def _pitch_matrices(angles: Float64Array) -> Float64Array:
    """Rotations about x, shape (F, 3, 3)."""
    c, s, zero, one = np.cos(angles), np.sin(angles), np.zeros_like(angles), np.ones_like(angles)
    rows = [[one, zero, zero], [zero, c, -s], [zero, s, c]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
