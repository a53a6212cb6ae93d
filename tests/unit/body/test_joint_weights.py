"""Bone heat: skin follows the bone inside it, blends at joints, and two legs side by side leave each other alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mane.body.implicit import Sculpture
from mane.body.joint_weights import Bone, bone_heat_weights
from mane.body.surface_nets import mesh_implicit

THIN = 0.03


def full_weights(mesh, bones, joints, **options):
    """Weights of all joints at every vertex (N, J)."""
    indices, weights = bone_heat_weights(mesh, bones, **options)
    full = np.zeros((mesh.vertex_count, joints))
    np.add.at(full, (np.arange(mesh.vertex_count)[:, None], indices), weights)
    return full


@pytest.fixture(scope="module")
def arm():
    """A rod of 40 cm along x with a bone in each half."""
    form = Sculpture()
    form.tube([(-0.2, 0, 0), (0.2, 0, 0)], [THIN, THIN])
    mesh = mesh_implicit(form, [[-0.26, -0.05, -0.05], [0.26, 0.05, 0.05]], 0.01)
    bones = [Bone(0, (-0.2, 0, 0), (0, 0, 0), THIN, THIN), Bone(1, (0, 0, 0), (0.2, 0, 0), THIN, THIN)]
    return mesh, full_weights(mesh, bones, 2)


def test_weights_are_shares(arm):
    _, weights = arm
    assert weights.min() >= 0
    assert_allclose(weights.sum(axis=1), 1, atol=1e-6)


def test_ends_follow_their_bone_alone_and_the_joint_blends(arm):
    mesh, weights = arm
    x = mesh.points[:, 0]
    assert (weights[x < -4 * THIN, 0] == 1).all()
    assert (weights[x > 4 * THIN, 1] == 1).all()
    # one end is the mirror image of the other, and weights rise from one to the other
    order = np.argsort(x)
    assert np.diff(weights[order, 1]).min() > -0.02
    middle = np.abs(x) < 0.3 * THIN
    assert 0.3 < weights[middle].min() < 0.5


def test_heat_does_not_jump_between_legs():
    """A U with legs 6 cm apart: each leg follows its own bone, however near the other is."""
    form = Sculpture()
    form.tube([(-0.03, -0.3, 0), (-0.03, 0, 0), (0.03, 0, 0), (0.03, -0.3, 0)], [0.022] * 4)
    mesh = mesh_implicit(form, [[-0.07, -0.34, -0.04], [0.07, 0.04, 0.04]], 0.008)
    legs = [Bone(j, (x, -0.06, 0), (x, -0.3, 0), 0.022, 0.022) for j, x in ((0, -0.03), (1, 0.03))]
    bridge = Bone(2, (-0.03, 0, 0), (0.03, 0, 0), 0.022, 0.022)
    weights = full_weights(mesh, [*legs, bridge], 3)
    low = mesh.points[:, 1] < -0.15
    left = mesh.points[:, 0] < 0
    assert (weights[low & left, 0] == 1).all()
    assert (weights[low & ~left, 1] == 1).all()
