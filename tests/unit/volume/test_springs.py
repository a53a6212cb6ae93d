"""Springs of a mesh: momentum, energy, an oscillator with a formula, a patch test, and tetrahedra that come back."""

import numpy as np
import pytest

from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.volume._kernels_recovery import nearest_shape
from mane.volume.driver import SkinDriver
from mane.volume.kdsm import Kdsm
from mane.volume.mesh import mesh_around_body
from mane.volume.recovery import SMALLEST_RATIO, recover
from mane.volume.springs import Attachment, SpringMesh, SpringParams, altitudes, lumped_masses

NODES = 0.1 * np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
TETS = np.array([[0, 1, 2, 3]], np.int32)
EDGES = np.array([[a, b] for a in range(4) for b in range(a + 1, 4)], np.int32)
NOBODY = np.zeros(4, np.bool_)


@pytest.fixture(scope="module")
def ball():
    """A mesh around a ball of 5 cm, and the skin."""
    skin = Sphere((0.0, 0.0, 0.0), 0.05).mesh(16)
    return mesh_around_body(Solid.animated(skin, [0.0], skin.points[None]), spacing=0.025, reach=0.03), skin


def shaken(seed=0, size=0.02):
    random = np.random.default_rng(seed)
    return NODES + size * random.normal(size=NODES.shape), random.normal(size=NODES.shape)


def test_momentum_is_kept_and_energy_decays():
    springs = SpringMesh(NODES, TETS, EDGES, np.full(4, 0.1), NOBODY, SpringParams())
    x, v = shaken()
    momentum, energy = v.sum(axis=0), springs.energy(x, v)
    for _ in range(60):
        x, v = springs.step(x, v, 0.002)
        assert springs.energy(x, v) < energy * (1 + 1e-9)
        energy = springs.energy(x, v)
    # What is left of an iterative solution, 1e-5 of each step's change of velocities.
    np.testing.assert_allclose(v.sum(axis=0), momentum, atol=1e-4)


def test_one_spring_swings_as_its_formula_says():
    """A node on one edge to a driven one: x'' + 2 zeta w x' + w^2 x = 0 with k = stiffness / length."""
    params = SpringParams(damping=0.1, altitude_stiffness=0.0)
    nodes = NODES[:2]
    mass, length = 2.0, 0.1
    omega, zeta = np.sqrt(params.edge_stiffness / length / mass), 0.1
    driven = np.array([True, False])
    springs = SpringMesh(nodes, np.zeros((0, 4), np.int32), EDGES[:1], np.full(2, mass), driven, params)
    errors = []
    for count in (400, 800):
        x, v = nodes + np.array([[0.0, 0, 0], [0.01, 0, 0]]), np.zeros((2, 3))
        dt = 0.4 / count
        for _ in range(count):
            x, v = springs.step(x, v, dt, driven=nodes)
        damped = omega * np.sqrt(1 - zeta**2)
        exact = (
            0.01 * np.exp(-zeta * omega * 0.4) * (np.cos(damped * 0.4) + zeta * omega / damped * np.sin(damped * 0.4))
        )
        errors.append(abs(x[1, 0] - 0.1 - exact))
    # The method damps by w^2 dt / 2 of its own.
    assert errors[0] < 0.01 * omega**2 * (0.4 / 400) / 2 * 0.4
    assert errors[1] < 0.6 * errors[0]  # first order


def test_altitudes_have_signs_and_push_a_tetrahedron_back():
    heights = altitudes(NODES, TETS)
    np.testing.assert_allclose(heights, [[0.1 / np.sqrt(3), 0.1, 0.1, 0.1]])
    inverted = NODES * [1, 1, -1]
    np.testing.assert_allclose(altitudes(inverted, TETS), -heights)
    springs = SpringMesh(NODES, TETS, EDGES, np.full(4, 0.1), NOBODY, SpringParams())
    x, v = inverted, np.zeros_like(NODES)
    for _ in range(400):
        x, v = springs.step(x, v, 0.01)
    np.testing.assert_allclose(altitudes(x, TETS), heights, rtol=1e-3)


def test_zero_length_springs_do_not_count_how_many_share_the_load():
    """One spring at a node, or two of half the stiffness: the same matrices."""
    weights = np.array([[1.0, 0, 0, 0]])
    one = Attachment.of(4, TETS, weights, np.array([3.0]))
    two = Attachment.of(4, np.repeat(TETS, 2, 0), np.repeat(weights, 2, 0), np.array([1.5, 1.5]))
    np.testing.assert_allclose(one.own.toarray(), two.own.toarray())
    np.testing.assert_allclose(one.other @ np.ones((1, 3)), two.other @ np.ones((2, 3)))


def test_a_constant_strain_needs_no_force_inside(ball):
    """The patch test: with the rim held at an affine map, inner nodes of a lattice find that map themselves."""
    mesh, _ = ball
    count = np.bincount(mesh.tets.reshape(-1), minlength=mesh.node_count)
    rim = count < 24  # an inner node of the lattice belongs to 24 tetrahedra
    assert (~rim).sum() > 10
    gradient = np.eye(3) + np.array([[0.05, 0.02, 0.0], [0.0, 0.04, 0.01], [0.03, 0.0, 0.06]])
    masses = lumped_masses(mesh.tets, mesh.volumes, 1000.0, mesh.node_count)
    springs = SpringMesh(mesh.nodes, mesh.tets, mesh.edges, masses, rim, SpringParams())
    wanted = mesh.nodes @ gradient.T
    x, still = mesh.nodes, np.zeros_like(mesh.nodes)
    for _ in range(30):
        x = springs.step(x, still, 1.0, driven=wanted)[0]
    # Springs are nonlinear in the strain; a lattice is symmetric about its nodes, so all of that cancels.
    np.testing.assert_allclose(x, wanted, atol=1e-6)


def test_a_body_at_rest_and_one_that_moves_rigidly_leave_the_mesh_as_it_is(ball):
    mesh, skin = ball
    params = SpringParams()
    kdsm = Kdsm(mesh, SkinDriver(mesh, skin, params), params)
    np.testing.assert_allclose(kdsm.settled(skin.points.astype(np.float64)).nodes, mesh.nodes, atol=1e-9)
    angle = 1.1
    turn = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    moved = skin.points.astype(np.float64) @ turn.T + [0.3, 0.1, -0.2]
    np.testing.assert_allclose(kdsm.settled(moved).nodes, mesh.nodes @ turn.T + [0.3, 0.1, -0.2], atol=1e-9)
    assert kdsm.report.inverted == 0


def test_a_mesh_that_is_shoved_swings_and_comes_to_rest(ball):
    mesh, skin = ball
    params = SpringParams(frequency=6.0)
    kdsm = Kdsm(mesh, SkinDriver(mesh, skin, params), params)
    rest, shift = skin.points.astype(np.float64), np.array([0.01, 0.0, 0.0])
    state = kdsm.settled(rest)
    swing = []
    for _ in range(200):
        state = kdsm.step(state, rest + shift, 1 / 96)
        swing.append(np.abs(state.nodes - mesh.nodes - shift).max())
    assert swing[0] > 0.005
    assert swing[-1] < 1e-4


def test_inverted_tetrahedra_are_brought_back(ball):
    mesh, _ = ball
    random = np.random.default_rng(3)
    x = mesh.nodes + 0.012 * random.normal(size=mesh.nodes.shape)
    before = mesh.volume_ratios(x)
    assert (before < 0).sum() > 20
    after, left = recover(mesh, x)
    assert left == 0
    assert mesh.volume_ratios(after).min() >= SMALLEST_RATIO
    same, none = recover(mesh, mesh.nodes)
    assert same is mesh.nodes
    assert none == 0


def test_the_nearest_shape_is_that_of_clamped_singular_values():
    """Against NumPy's decomposition, and for matrices that have lost a direction: the right way out, within bounds."""
    random = np.random.default_rng(0)
    for number in range(200):
        f = random.normal(size=(3, 3)) * random.choice([0.01, 1.0, 10.0])
        if number % 10 == 0:
            f = np.outer(f[0], f[1]) if number % 20 else np.zeros((3, 3))
        wanted = np.empty((3, 3))
        nearest_shape(f, 0.4, 2.5, np.empty((3, 3, 3)), wanted)
        stretches = np.linalg.svd(wanted)[1]
        assert np.linalg.det(wanted) > 0
        assert stretches.min() > 0.4 - 1e-9
        assert stretches.max() < 2.5 + 1e-9
        if number % 10:
            u, size, vt = np.linalg.svd(f)
            flips = np.array([1.0, 1.0, np.sign(np.linalg.det(u))]), np.array([1.0, 1.0, np.sign(np.linalg.det(vt))])
            size = size * flips[0] * flips[1]
            expected = (u * flips[0] * np.clip(size, 0.4, 2.5)) @ (flips[1][:, None] * vt)
            np.testing.assert_allclose(wanted, expected, atol=1e-6)
