"""Hair for the tests of chains."""

import numpy as np

from mane.geometry import quaternion
from mane.strand.model import StrandModel
from mane.strand.ports import Load
from mane.strand.roots import RootPose

YOUNG, RADIUS, DENSITY = 3.9e9, 40e-6, 1320.0


def hair(points, *, root=0, damping=0.0, gravity=(0, -9.81, 0), stiffness=1.0):
    """Hair of one thickness along the given strands (G, V, 3); `stiffness` scales that of its joints."""
    points = np.asarray(points, float)
    area, second = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4
    half = 0.5 * DENSITY * area * np.linalg.norm(np.diff(points, axis=1), axis=2)
    mass = np.pad(half, ((0, 0), (0, 1))) + np.pad(half, ((0, 0), (1, 0)))
    bend = YOUNG * second * stiffness
    return StrandModel(points, mass, YOUNG * area, bend, bend, damping, RADIUS, root, gravity=np.array(gravity, float))


def straight(count, segments, length, direction=(1, 0, 0), **options):
    along = np.linspace(0, length, segments + 1)[None, :, None] * np.asarray(direction, float)
    return hair(np.tile(along, (count, 1, 1)), **options)


def curls(count, segments, *, seed=0, **options):
    """Helices of random radius, pitch and direction."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, segments + 1)
    strands = []
    for _ in range(count):
        radius, turns, length = rng.uniform(0.003, 0.012), rng.uniform(1, 3), rng.uniform(0.1, 0.25)
        angle = 2 * np.pi * turns * t
        helix = np.stack([radius * np.cos(angle) - radius, -length * t, radius * np.sin(angle)], axis=1)
        strands.append(quaternion.rotate(quaternion.random(1, rng)[0].astype(float), helix) + rng.normal(size=3) * 0.1)
    return hair(np.stack(strands), **options)


def still(model):
    """Roots where they are groomed."""
    return RootPose(model.rest_points[:, 0].copy(), np.tile([0.0, 0.0, 0.0, 1.0], (model.strand_count, 1)))


def no_load(model):
    return Load.empty(model.strand_count, model.vertex_count)


def run(solver, state, roots, steps, dt, load=None):
    load = no_load(solver.model) if load is None else load
    for _ in range(steps):
        solver.step(state, state, roots, load, dt=dt)
    return state


def random_load(model, seed):
    """Forces of three times the weight, and a contact of random stiffness somewhere on every segment."""
    rng = np.random.default_rng(seed)
    load = no_load(model)
    load.force[...] = rng.normal(size=load.force.shape) * 3 * 9.81 * model.mass[..., None]
    normal = rng.normal(size=(model.strand_count, model.segment_count, 3))
    normal /= np.linalg.norm(normal, axis=2, keepdims=True)
    block = 10 ** rng.uniform(-1, 3, normal.shape[:2])[..., None] * model.mass[:, 1:, None]
    six = block * np.stack(
        [normal[..., a] * normal[..., b] for a, b in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))], -1
    )
    u = rng.uniform(size=normal.shape[:2])[..., None]
    load.resistance[:, :-1] += (1 - u) ** 2 * six
    load.resistance[:, 1:] += u**2 * six
    load.coupling[...] += u * (1 - u) * six
    return load


def moving(solver, seed, *, speed=0.3):
    """A state in the middle of a motion: shape, velocities and cut forces all off their rest."""
    rng = np.random.default_rng(seed)
    model = solver.model
    state = solver.rest_state(still(model))
    state.points[:, 1:] += 0.1 * model.rest_length[..., None] * rng.normal(size=state.points[:, 1:].shape)
    state.velocity += speed * rng.normal(size=state.velocity.shape)
    solver.adopt(state, np.ones(model.strand_count, bool))
    state.cut_force += 1e-6 * rng.normal(size=state.cut_force.shape)
    return state
