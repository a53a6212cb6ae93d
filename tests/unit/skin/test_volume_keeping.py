"""Hair against hair: what is too dense is spread, what is as groomed is left alone, and no hair is stretched."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from skin_frames import SOMEWHERE, frame_of, guides_of

from mane.body.motion import Pose
from mane.groom.groom import Groom
from mane.skin.finish import _kernels_volume as kernels
from mane.skin.finish.volume import VolumeKeeping

LENGTH, VERTICES, WIDTH = 0.15, 16, 0.04


def locks(hairs=400):
    """Two locks of hair that hang side by side, the second half of the hairs beside the first."""
    rng = np.random.default_rng(2)
    roots = np.stack([rng.uniform(0, WIDTH, hairs), np.zeros(hairs), rng.uniform(0, WIDTH, hairs)], axis=1)
    roots[hairs // 2 :, 0] += WIDTH
    down = np.linspace(0, LENGTH, VERTICES)[:, None] * np.array([0.0, -1.0, 0.0])
    return Groom.from_uniform((roots[:, None] + down).astype(np.float32))


def swung(groom, angle=0.13):
    """Both locks turned about their roots, into one another: at their tips they are in the same place."""
    points = groom.as_uniform().copy()
    down, half = -points[:, :, 1:2] + points[:, :1, 1:2], len(points) // 2
    side = np.where(np.arange(len(points)) < half, 1.0, -1.0)[:, None, None]
    points[..., :1] += side * np.sin(angle) * down
    points[..., 1:2] += (1 - np.cos(angle)) * down
    return points.astype(np.float32)


def at(groom, pose):
    return replace(frame_of(guides_of(groom, 4)), head=pose)


def compression(finish, points, pose):
    """How many times too dense hair is, the mean over all hair."""
    density, groomed = finish.density(points, pose)
    return float((density * density / groomed).sum() / density.sum())


def lengths(points):
    return np.linalg.norm(np.diff(points.astype(np.float64), axis=1), axis=2)


@pytest.mark.parametrize("pose", [Pose.identity(), SOMEWHERE])
def test_locks_that_swing_into_one_another_go_apart(pose):
    groom = locks()
    finish = VolumeKeeping(groom, compression=1.0)
    crossed = pose.apply(swung(groom))
    points = finish(crossed.copy(), at(groom, pose))
    before, after = compression(finish, crossed, pose), compression(finish, points, pose)
    still = compression(finish, pose.apply(groom.as_uniform()), pose)
    assert before > 1.25 * still
    assert after - still < 0.6 * (before - still)
    np.testing.assert_array_equal(points[:, 0], crossed[:, 0])
    np.testing.assert_allclose(lengths(points), lengths(crossed), rtol=1e-4)
    moved = pose.inverse_apply(points) - pose.inverse_apply(crossed)
    half = len(points) // 2  # half-way down they overlap by half, and each goes back to where it came from
    assert moved[:half, 9, 0].mean() < -0.0005
    assert moved[half:, 9, 0].mean() > 0.0005


def test_hair_that_is_as_groomed_keeps_its_bytes_wherever_its_head_is():
    groom = locks()
    finish = VolumeKeeping(groom)
    carried = SOMEWHERE.apply(groom.as_uniform())
    assert finish(carried.copy(), at(groom, SOMEWHERE)).tobytes() == carried.tobytes()
    swinging = swung(groom)
    swinging[200:] = swung(groom, -0.13)[200:]  # both to the same side
    assert finish(swinging.copy(), at(groom, Pose.identity())).tobytes() == swinging.tobytes()


@pytest.mark.parametrize("spread", [0.0, 3.0])
def test_hair_that_a_body_carries_away_from_its_head_is_kept_whole(spread):
    groom = locks()
    points = swung(groom) + np.float32([10.0, -4.0, 0.0])
    points[0] += np.float32(spread)  # one hair far from all others does not make the grid any larger
    finish = VolumeKeeping(groom, compression=1.0)
    made = finish(points.copy(), at(groom, Pose.identity()))
    np.testing.assert_allclose(lengths(made), lengths(points), rtol=1e-3)
    assert np.abs(made - points).max() < 0.02
    if spread == 0:
        assert np.abs(made - points).max() > 0.001


def test_the_grid_holds_all_hair_by_the_sums_of_its_definition():
    groom = locks(50)
    finish = VolumeKeeping(groom, cell=0.02)
    points = groom.as_uniform()
    expected: dict[tuple[int, ...], float] = {}
    edge = np.pad(lengths(points), ((0, 0), (1, 1)))
    for place, mass in zip(
        points.reshape(-1, 3) / 0.02, (0.5 * (edge[:, 1:] + edge[:, :-1]) / 0.02).ravel(), strict=True
    ):
        low = np.floor(place).astype(int)
        for corner in np.ndindex(2, 2, 2):
            weight = np.prod(np.where(corner, place - low, 1 - (place - low)))
            node = tuple(low + corner)
            expected[node] = expected.get(node, 0.0) + mass * weight
    density, groomed = finish.density(points, Pose.identity())
    assert density.sum() == pytest.approx(edge.sum() / 0.02, rel=1e-5)
    wanted = np.sort([value for value in expected.values() if value > 1e-6])
    np.testing.assert_allclose(np.sort(density[density > 1e-6]), wanted, rtol=1e-3, atol=1e-6)
    assert (density <= groomed * (1 + 1e-5)).all()  # at rest nothing is too dense


def test_the_solver_finds_the_least_flux_that_takes_the_excess_away():
    # phi minimises |grad phi|^2 / 2 - excess phi over phi >= 0: asked of a solver that knows nothing of grids.
    size, inner = np.array([8, 8, 8]), np.ix_(range(1, 7), range(1, 7), range(1, 7))
    excess = np.full((8, 8, 8), -0.7, np.float32)
    excess[3:5, 2:5, 3:6] = np.random.default_rng(1).uniform(0.5, 3.0, (2, 3, 3))

    def energy(flat):
        phi = np.zeros((8, 8, 8))
        phi[inner] = flat.reshape(6, 6, 6)
        around = sum(np.roll(phi, shift, axis) for axis in range(3) for shift in (1, -1))
        slope = (6 * phi - around - excess)[inner]
        return 0.5 * (flat @ (slope - excess[inner]).ravel()), slope.ravel()

    wanted = minimize(
        energy, np.zeros(216), jac=True, bounds=[(0, None)] * 216, options={"ftol": 1e-14, "maxiter": 500}
    )
    potential = np.empty(512, np.float32)
    one = np.ones(3, np.int64)
    kernels.solve_potential(excess.ravel(), size, one, size - 1, 24, potential)
    assert (wanted.x > 0).sum() > 30
    assert (wanted.x == 0).sum() > 30
    np.testing.assert_allclose(potential.reshape(8, 8, 8)[inner].ravel(), wanted.x, atol=2e-3)


def test_hairs_of_another_groom_are_refused():
    finish = VolumeKeeping(locks(10))
    with pytest.raises(ValueError, match=r"points: must have shape \(10, 16, 3\) \(= the groom\), got \(9, 16, 3\)"):
        finish(locks(10).as_uniform()[:9], at(locks(10), Pose.identity()))
