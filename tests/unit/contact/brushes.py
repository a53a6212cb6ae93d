"""Small brushes of straight strands, and what it takes to step them: for tests of what acts between strands."""

import numpy as np
from loose_points import view
from mass_points import Scene

from mane.strand.cosserat.solver import CosseratSolver
from mane.strand.model import RootKind, StrandModel
from mane.strand.ports import Force, Load

MASS = 1.3e-7  # [kg] of a vertex: 2 cm of a hair
LENGTH = 0.02  # [m] of a segment


def brush(
    side=3, vertices=6, *, spacing=0.012, root=RootKind.FREE, gravity=(0.0, 0.0, 0.0), points=None
) -> StrandModel:
    """side x side strands that hang from a square lattice."""
    if points is None:
        places = np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), -1).reshape(-1, 2) * spacing
        points = np.zeros((side * side, vertices, 3))
        points[:, :, [0, 2]] = places[:, None]
        points[:, :, 1] = -LENGTH * np.arange(vertices)
    return StrandModel(
        rest_points=np.asarray(points, np.float64),
        mass=np.asarray(MASS),
        stretch_stiffness=np.asarray(19.0),
        bend_stiffness=np.asarray(7.8e-9),
        twist_stiffness=np.asarray(5.7e-9),
        damping=np.asarray(1.6e-3),
        radius=np.asarray(4e-5),
        root_kind=np.asarray(root, np.int8),
        gravity=np.asarray(gravity),
    )


def forces_of(part: Force, model, points, velocity=None, *, dt=0.004, time=0.004) -> np.ndarray:
    """What a prepared part adds to the forces (G, V, 3), which must be all that it adds."""
    load = Load.empty(model.strand_count, model.vertex_count)
    part.add(view(model, np.ascontiguousarray(points), velocity, dt=dt, time=time), load)
    assert not load.resistance.any()
    assert not load.coupling.any()
    return load.force


def disturbed(model, seed, *, shift=0.003, speed=0.5):
    """Points and velocities off the rest shape."""
    rng = np.random.default_rng(seed)
    shape = model.rest_points.shape
    return model.rest_points + rng.normal(0, shift, shape), rng.normal(0, speed, shape)


def rods(model, *parts) -> Scene:
    """Cosserat rods, straight without load, with these parts."""
    return Scene(CosseratSolver(model, sag_free=False), parts)


def momentum(model, velocity):
    return (model.mass[..., None] * velocity).sum(axis=(0, 1))


def spin(model, points, velocity):
    """Angular momentum about the origin."""
    return np.cross(points, model.mass[..., None] * velocity).sum(axis=(0, 1))


def kinetic(model, velocity):
    return 0.5 * float((model.mass[..., None] * velocity**2).sum())
