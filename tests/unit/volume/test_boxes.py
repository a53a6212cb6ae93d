"""Boxes of single hairs, and the springs between hair, boxes and mesh."""

import numpy as np
import pytest

from mane.body.motion import Pose
from mane.strand.material import Material
from mane.strand.roots import RootPose
from mane.strand.solver import make_solver
from mane.strand.stepping import StepPath, Stepper
from mane.volume.boxes import BoxParams, ShapeBoxes, _tetrahedra, box_nodes
from mane.volume.support import HairSupport, SupportParams

VERTICES = 25


def helix(turns=3.0, radius=0.008, length=0.1):
    """A helix that grows sideways, so that its weight bends it."""
    t = np.linspace(0.0, 1.0, VERTICES)
    angle = 2 * np.pi * turns * t
    curl = radius * (1 - np.exp(-8 * t))
    return np.stack([length * t, curl * np.sin(angle), curl * (np.cos(angle))], axis=1)[None]


def boxes_of(points, **settings):
    model = Material().model(points)
    params = BoxParams(**settings)
    none = np.zeros(model.mass.shape)
    return ShapeBoxes(model, params, np.ones(len(points)), none, none)


@pytest.mark.parametrize("boxes", [1, 2, 3, 4])
def test_boxes_fill_their_volume_with_five_tetrahedra_each_whose_faces_agree(boxes):
    nodes, local = box_nodes(helix(), boxes, 0.1)
    tets = _tetrahedra(boxes)
    corners = nodes[0][tets]
    volumes = np.linalg.det(corners[:, 1:] - corners[:, :1]) / 6
    assert len(tets) == 5 * boxes
    assert volumes.min() > 0
    sides = np.linalg.norm(nodes[0][[1, 3]] - nodes[0][0], axis=1).prod() * np.linalg.norm(nodes[0][-4] - nodes[0][0])
    np.testing.assert_allclose(volumes.sum(), sides)
    assert local.min() > 0
    assert local.max() < boxes
    # Every face is on the outside (two triangles on each side) or shared by two tetrahedra: diagonals agree.
    faces = np.concatenate([np.delete(tets, corner, axis=1) for corner in range(4)])
    count = np.unique(np.sort(faces, axis=1), axis=0, return_counts=True)[1]
    assert (count == 1).sum() == 2 * (4 * boxes + 2)


def test_short_hairs_have_one_box_and_long_ones_four():
    hairs = np.concatenate([helix(length=0.002, radius=1e-4), helix(length=0.02, radius=1e-3), helix()])
    groups = boxes_of(hairs).groups
    assert [(len(group.rest[0]) // 4 - 1, group.rows.tolist()) for group in groups] == [(1, [0]), (2, [1]), (4, [2])]


def test_vertices_are_where_their_boxes_have_them_and_ride_along():
    points = helix()
    boxes = boxes_of(points)
    np.testing.assert_allclose(boxes.places(), points, atol=1e-12)
    pose = Pose([0.1, 0.2, -0.3], [0.0, 0.6, 0.0, 0.8])
    roots = RootPose.carried(points[:, 0], pose)
    moved = pose.apply(points[0])[None]
    boxes.start(np.ones(1, np.bool_), moved, np.zeros_like(moved), roots)
    np.testing.assert_allclose(boxes.places(), moved, atol=1e-12)


def held(points, params, model="cosserat", seconds=1.5, **settings):
    """A hair whose groomed shape is not what gravity makes of it, after some time under gravity."""
    strands = Material().model(points)
    solver = make_solver(model, strands, sag_free=False, **settings)
    roots = RootPose.carried(points[:, 0], Pose.identity())
    forces = [] if params is None else [HairSupport(lambda time: points, params)]
    stepper = Stepper(solver, forces)
    state = solver.rest_state(roots)
    steps = round(seconds * 24)
    for number in range(steps):
        stepper.step(state, state, StepPath(lambda f: roots), time=(number + 1) / 24, dt=1 / 24, substeps=8)
    return state.points


def test_boxes_with_the_printed_stiffness_hold_a_helix_under_gravity():
    """lee2018 4: 0.0414 N/m, 0.414 N and 0.0414 N on hair of its own weight, no spring to the mesh."""
    points = helix()
    off = {}
    for name, params in (
        ("alone", None),
        ("boxes", SupportParams(frequency=None, mesh_springs=0.0)),
        ("mesh", SupportParams(frequency=None, box_springs=0.0)),
    ):
        off[name] = np.linalg.norm(held(points, params) - points, axis=2).max()
    assert off["alone"] > 0.05  # it hangs
    assert off["boxes"] < 5e-5
    assert off["mesh"] < 5e-5


def test_one_vertex_comes_back_to_the_mesh_as_its_formula_says():
    """Critically damped: x = (1 + w t) exp(-w t) of the gap at the start."""
    points = np.array([[[0.0, 0, 0], [0.02, 0, 0], [0.04, 0, 0]]])
    material = Material(stiffness=1e-6)
    model = material.model(points, gravity=(0.0, 0.0, 0.0), root="free")
    solver = make_solver("cosserat", model, sag_free=False)
    roots = RootPose.carried(points[:, 0], Pose.identity())
    shift, seconds, rate = np.array([0.0, 0.01, 0.0]), 0.1, 2 * np.pi * 4.0
    errors = []
    for substeps in (20, 40):
        stepper = Stepper(solver, [HairSupport(lambda time: points, SupportParams(box_springs=0.0))])
        state = solver.rest_state(roots)
        state.points += shift
        solver.adopt(state, np.ones(1, np.bool_))
        stepper.step(state, state, StepPath(lambda f: roots), time=seconds, dt=seconds, substeps=substeps)
        exact = shift[1] * (1 + rate * seconds) * np.exp(-rate * seconds)
        errors.append(np.abs(state.points[0, :, 1] - exact).max())
    assert errors[0] < 0.1 * exact
    assert errors[1] < 0.6 * errors[0]  # first order


def test_hair_and_boxes_lose_energy_and_come_to_rest_on_each_other():
    """A hair that is shoved swings with its boxes alone, and stands still in its groomed shape in the end."""
    points = helix()
    model = Material().model(points, gravity=(0.0, 0.0, 0.0))
    solver = make_solver("cosserat", model, sag_free=False)
    roots = RootPose.carried(points[:, 0], Pose.identity())
    support = HairSupport(lambda time: points, SupportParams(mesh_springs=0.0))
    stepper = Stepper(solver, [support])
    state = solver.rest_state(roots)
    state.velocity[:, 1:] += [0.0, 0.3, 0.0]
    solver.adopt(state, np.ones(1, np.bool_))
    speeds = []
    for number in range(48):
        stepper.step(state, state, StepPath(lambda f: roots), time=(number + 1) / 24, dt=1 / 24, substeps=8)
        speeds.append(np.linalg.norm(state.velocity, axis=2).max())
    assert max(speeds[24:]) < 0.1 * speeds[0]
    assert np.linalg.norm(state.points - points, axis=2).max() < 1e-3


def test_momentum_of_boxes_that_nothing_holds_is_kept():
    """Springs within the boxes act between their nodes alone."""
    points = helix()
    boxes = boxes_of(points, damping=0.3)
    group = boxes.groups[0]
    group._is_free[:] = True
    random = np.random.default_rng(0)
    group.x += 0.001 * random.normal(size=group.x.shape)
    group.v[...] = 0.1 * random.normal(size=group.v.shape)
    momentum = (group._masses[..., None] * group.v).sum(axis=1)
    roots = RootPose.carried(points[:, 0], Pose.identity())
    for _ in range(20):
        boxes.step(np.ones(1, np.bool_), points, np.zeros_like(points), roots, 0.005)
    after = (group._masses[..., None] * group.v).sum(axis=1)
    np.testing.assert_allclose(after, momentum, atol=1e-4 * np.abs(momentum).max())
    assert np.abs(group.v).max() < 0.1


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="frequency: must be"):
        SupportParams(frequency=0.0)
    with pytest.raises(ValueError, match="box_springs: must be a finite number"):
        SupportParams(box_springs=-1.0)
