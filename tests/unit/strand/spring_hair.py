"""Hairs for the tests of the spring model."""

import numpy as np

from mane.strand.model import StrandModel
from mane.strand.ports import Load
from mane.strand.roots import RootPose

YOUNG, RADIUS, DENSITY, POISSON = 3.9e9, 40e-6, 1320.0, 0.35
AREA, SECOND_MOMENT = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4
GRAVITY = np.array([0.0, -9.81, 0.0])


def hair(points, *, root=0, damping=0.0, gravity=GRAVITY):
    """Real hair of one thickness along strands (G, V, 3)."""
    points = np.asarray(points, np.float64)
    half = 0.5 * DENSITY * AREA * np.linalg.norm(np.diff(points, axis=1), axis=2)
    mass = np.pad(half, ((0, 0), (0, 1))) + np.pad(half, ((0, 0), (1, 0)))
    twist = YOUNG / (2 * (1 + POISSON)) * 2 * SECOND_MOMENT
    stretch, bend = YOUNG * AREA, YOUNG * SECOND_MOMENT
    return StrandModel(points, mass, stretch, bend, twist, damping, RADIUS, np.int8(root), gravity=np.asarray(gravity))


def straight(count=1, segments=8, length=0.08, direction=(1.0, 0.0, 0.0)):
    """Straight strands (G, V, 3) from the origin."""
    along = np.linspace(0, length, segments + 1)[:, None] * np.asarray(direction)
    return np.tile(along, (count, 1, 1))


def helix(count=1, segments=12, *, turns=1.5, radius=0.01, length=0.12, seed=None):
    """Hanging curls (G, V, 3), each a little different if there is a seed."""
    angle = np.linspace(0, 2 * np.pi * turns, segments + 1)
    down = np.linspace(0, -length, segments + 1)
    curl = np.stack([radius * np.cos(angle) - radius, down, radius * np.sin(angle)], axis=-1)
    strands = np.tile(curl, (count, 1, 1))
    if seed is not None:
        strands += 3e-4 * np.random.default_rng(seed).standard_normal(strands.shape)
    return strands


def still(model):
    """Roots where the groom has them."""
    return RootPose(model.rest_points[:, 0].copy(), np.tile([0.0, 0.0, 0.0, 1.0], (model.strand_count, 1)))


def no_load(model):
    return Load.empty(model.strand_count, model.vertex_count)


def go(solver, state, roots, steps, *, dt, load=None):
    """Take so many steps, in place, with still roots."""
    load = no_load(solver.model) if load is None else load
    for _ in range(steps):
        solver.step(state, state, roots, load, dt=dt)
    return state
