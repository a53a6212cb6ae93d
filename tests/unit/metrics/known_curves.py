"""Curves with known measures."""

import numpy as np

from mane.geometry import quaternion


def straight(vertices=20, length=0.2):
    return np.linspace(0, 1, vertices)[:, None] * np.array([0.0, -length, 0.0])


def arc(radius, angle, vertices):
    """Part of a circle, `angle` [rad] long."""
    phi = np.linspace(0, angle, vertices)
    return radius * np.stack([np.cos(phi), np.sin(phi), np.zeros_like(phi)], axis=1)


def helix(radius, pitch, turns, vertices):
    """Right-handed about +y."""
    phi = np.linspace(0, 2 * np.pi * turns, vertices)
    return np.stack([radius * np.sin(phi), pitch * phi / (2 * np.pi), radius * np.cos(phi)], axis=1)


def zigzag(angle, teeth, subdivided=1, segment=0.01):
    """`teeth` corners that turn by `angle` [rad] in turn to either side, straight lines of two segments at the ends."""
    headings = 0.5 * angle * (-1.0) ** np.arange(teeth + 1)
    steps = segment * np.stack([np.sin(headings), np.cos(headings), np.zeros_like(headings)], axis=1)
    steps = np.repeat(np.concatenate([steps[:1], steps, steps[-1:]]), subdivided, axis=0) / subdivided
    return np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])


def many(curve, strands=3):
    return np.repeat(np.asarray(curve, np.float32)[None], strands, axis=0)


def moved_rigidly(points, seed=0, shift=0.3):
    rng = np.random.default_rng(seed)
    turn = quaternion.normalize(rng.standard_normal(4))
    return (quaternion.rotate(turn, np.asarray(points, np.float64)) + shift * rng.standard_normal(3)).astype(np.float32)
