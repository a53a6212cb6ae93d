"""A groom goes through the system and comes back: resampled and restored, bound to a skin and carried by it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mane.body.mesh import Mesh
from mane.body.triangle_tree import TriangleTree
from mane.geometry import quaternion as quat
from mane.groom.binding import bind_roots
from mane.groom.groom import Groom
from mane.groom.resample import resample
from mane.groom.roots import scatter_roots

ATTACHED = 1e-5  # [m], promised
LENGTH, WIDTH = 0.3, 0.2  # of the skin at rest [m]


def skin(cells=40):
    """A sheet in the plane z = 0, LENGTH along x and WIDTH along y, facing +z."""
    x, y = (
        grid.ravel() for grid in np.meshgrid(np.linspace(0, LENGTH, cells), np.linspace(0, WIDTH, cells), indexing="ij")
    )
    a = (np.arange(cells - 1)[:, None] * cells + np.arange(cells - 1)).ravel()
    quads = np.stack([a, a + cells, a + cells + 1, a + 1], axis=1)
    return Mesh(np.stack([x, y, 0 * x], axis=1), np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]))


def bent_and_stretched(points, angle, stretch):
    """The sheet rolled about the y axis by `angle` [rad] over its length, and drawn out along y.

    Returns positions, and the turn of the surface there as quaternions: about y, in proportion to x.
    """
    if angle == 0:
        return points * [1, stretch, 1], quat.identity(points.shape[:-1], np.float64)
    radius = LENGTH / angle
    turn = points[..., 0] / radius
    out = radius - points[..., 2]
    moved = np.stack([out * np.sin(turn), stretch * points[..., 1], radius - out * np.cos(turn)], axis=-1)
    return moved, quat.from_axis_angle(np.broadcast_to([0, -1.0, 0], points.shape), turn)


def coat(mesh, strands=3000):
    """Slanted strands of 3 cm with some wave."""
    roots = scatter_roots(mesh, strands, seed=3)
    share = np.linspace(0, 1, 12)[:, None]
    direction = roots.normals[:, None] + [0.4, 0.2, 0]
    wave = 0.002 * np.sin(9 * share) * np.array([0, 1.0, 0])
    return Groom.from_uniform(roots.points[:, None] + 0.03 * share * direction + wave)


@pytest.mark.parametrize(("angle", "stretch"), [(0, 1.6), (1.0, 1), (-1.0, 1), (3.0, 1), (3.0, 1.6), (-3.0, 0.5)])
def test_a_groom_stays_attached_to_a_skin_that_bends_and_stretches(angle, stretch):
    mesh = skin()
    groom = coat(mesh)
    binding = bind_roots(groom, mesh)
    now = bent_and_stretched(mesh.points.astype(float), angle, stretch)[0].astype(np.float32)
    carried = binding.carry(groom, now)

    # Attached: on the moved skin, and at the same place of it.
    distance, _, _ = TriangleTree(now[mesh.faces]).closest(carried.roots)
    assert distance.max() < ATTACHED
    place = np.einsum("sc,scd->sd", binding.barycentric, now[mesh.faces[binding.triangle]].astype(float))
    assert np.linalg.norm(carried.roots - place, axis=1).max() < ATTACHED
    # Where it should be: a mesh of edges h on a bend of radius R is off the true surface by up to h^2 / (8 R), with h
    # the diagonal of a cell.
    cell = np.hypot(LENGTH, WIDTH * stretch) / 39
    expected, turn = bent_and_stretched(groom.roots.astype(float), angle, stretch)
    sagitta = cell**2 * abs(angle) / LENGTH / 8
    assert np.linalg.norm(carried.roots - expected, axis=1).max() < sagitta + 1e-6
    # Turned as the skin is: to within the turn between neighbouring vertices, angle / 39.
    assert quat.angle_between(binding.rotations(now), turn.astype(np.float32)).max() < abs(angle) / 39 + 1e-5
    # And rigid: a strand keeps its lengths.
    assert_allclose(carried.lengths, groom.lengths, rtol=1e-5)


def test_a_skin_that_does_not_move_is_the_identity():
    mesh = skin()
    groom = coat(mesh)
    binding = bind_roots(groom, mesh)
    carried = binding.carry(groom, mesh.points)
    assert_array_equal(carried.points, groom.points)
    assert_array_equal(binding.roots(mesh.points), groom.roots)


def test_there_and_back_again():
    """Carried to a bent skin, bound there, and carried back, a groom is what it was, up to float32."""
    mesh = skin()
    groom = coat(mesh)
    now = mesh.with_points(bent_and_stretched(mesh.points.astype(float), 2.0, 1.0)[0])
    carried = bind_roots(groom, mesh).carry(groom, now.points)
    back = bind_roots(carried, now).carry(carried, mesh.points)
    # Triangles of 6 mm turn by the rounding of their corners (3e-8 m) over their size; strands are 3 cm long.
    assert_allclose(back.points, groom.points, atol=3e-8 / 0.004 * 0.03 + 2e-7)


def curls(strands=200, vertices=80, seed=0):
    """Helices of many radii and pitches, with vertices at uneven steps."""
    rng = np.random.default_rng(seed)
    angle = np.sort(rng.random((strands, vertices)) ** 1.5, axis=1) * rng.uniform(5, 60, (strands, 1))
    angle[:, 0] = 0
    radius, rise = rng.uniform(0.001, 0.01, (2, strands, 1))
    points = np.stack([radius * np.cos(angle), rise * angle, radius * np.sin(angle)], axis=-1)
    turn = quat.random(strands, rng).astype(float)[:, None]
    return Groom.from_uniform(quat.rotate(turn, points) + rng.standard_normal((strands, 1, 3)) * 0.1)


@pytest.mark.parametrize("vertices", [2, 8, 16, 33])
def test_a_groom_resampled_and_left_unmoved_gives_its_own_points_within_the_stated_error(vertices):
    groom = curls()
    resampling = resample(groom, vertices=vertices)
    rounding = 2e-7 * np.abs(groom.points).max()
    largest = np.maximum.reduceat
    plain = np.linalg.norm(resampling.restore(detail=False).points - groom.points.astype(float), axis=1)
    assert (largest(plain, groom.offsets[:-1]) <= resampling.error + rounding).all()
    # The statement is neither empty nor vague: it is reached, and bounded by half a step.
    assert_allclose(largest(plain, groom.offsets[:-1]), resampling.error, atol=rounding)
    assert (resampling.error <= groom.lengths / (vertices - 1) / 2).all()
    # With detail, what is left is rounding.
    assert_allclose(resampling.restore().points, groom.points, atol=rounding)


def test_the_error_falls_with_the_square_of_the_step():
    """Second order, once the step is short beside the curl: halving it leaves a quarter."""
    angle = np.linspace(0, 40, 20001)
    groom = Groom.from_uniform(np.stack([0.006 * np.cos(angle), 0.004 * angle, 0.006 * np.sin(angle)], axis=-1)[None])
    errors = [float(resample(groom, vertices=count).error[0]) for count in (129, 257, 513)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert_allclose(orders, 2, atol=0.05)


def test_resampled_then_carried_by_the_skin_then_restored_equals_carried_alone():
    """Cutting strands anew and giving them back commutes with the motion of the skin under them."""
    mesh = skin()
    groom = coat(mesh, strands=1000)
    binding = bind_roots(groom, mesh)
    now = bent_and_stretched(mesh.points.astype(float), 2.0, 1.2)[0].astype(np.float32)
    resampling = resample(groom, vertices=4)
    carried = binding.carry(resampling.groom, now)
    restored = resampling.restore(carried.points, root_rotation=binding.rotations(now))
    # Rounding of carried points, 3e-8 m, over segments of 1 cm turns detail of up to 2 mm.
    assert_allclose(restored.points, binding.carry(groom, now).points, atol=2e-7)
