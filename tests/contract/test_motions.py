"""What every named motion promises, whichever it is: one battery over the table of motions."""

import numpy as np
import pytest
from ball_head import bytes_of, make_simulation, run

from mane.body.motion_presets import MOTIONS, make_motion

motions = pytest.mark.parametrize("name", MOTIONS)
TIMES = np.linspace(-0.2, 3.0, 65)
PIVOT = (0.0, -0.1, 0.02)


def poses(motion):
    return np.array([motion.pose(time).matrix for time in TIMES])


@motions
def test_it_rests_until_it_begins(name):
    motion = make_motion(name, pivot=PIVOT)
    for time in (-1.0, 0.0):
        np.testing.assert_allclose(motion.pose(time).matrix, np.eye(4), atol=1e-15)
        np.testing.assert_array_equal(motion.velocity(time).velocity(np.eye(3)), 0.0)


@motions
def test_it_is_rigid_and_finite_at_any_time(name):
    motion = make_motion(name, pivot=PIVOT)
    for time in (-1e6, -0.3, 1e-9, 0.7, 3600.0):
        matrix = motion.pose(time).matrix
        assert np.isfinite(matrix).all()
        np.testing.assert_allclose(matrix[:3, :3] @ matrix[:3, :3].T, np.eye(3), atol=1e-12)
        assert np.isfinite(motion.velocity(time).velocity(np.eye(3))).all()


@motions
def test_its_velocity_is_the_derivative_of_its_pose(name):
    """Central differences over 2e-6 s; where a jump takes off its acceleration steps by 40 m/s^2: 4e-5 m/s."""
    motion = make_motion(name, pivot=PIVOT, seed=3)
    local = 0.2 * np.eye(3)
    for time in np.random.default_rng(8).uniform(0.0, 3.0, 30):
        numeric = (motion.pose(time + 1e-6).apply(local) - motion.pose(time - 1e-6).apply(local)) / 2e-6
        np.testing.assert_allclose(motion.velocity(time).velocity(motion.pose(time).apply(local)), numeric, atol=4e-5)


@motions
def test_it_never_jumps(name):
    motion = make_motion(name)
    assert motion.teleports == ()
    assert not motion.teleported(0.0, 100.0)


@motions
def test_amplitude_scales_it_and_none_is_still(name):
    still = make_motion(name, amplitude=0.0)
    turned = poses(still)[:, :3, :3]
    np.testing.assert_allclose(turned, np.broadcast_to(np.eye(3), turned.shape), atol=1e-12)
    if MOTIONS[name].amplitude:
        small, large = (
            np.abs(poses(make_motion(name, amplitude=size))[:, :, :] - poses(still)).max() for size in (0.05, 0.1)
        )
        assert 1.2 < large / small < 2.5  # the duration of a jump grows with the root of its height


@motions
def test_the_same_seed_is_the_same_motion(name):
    first, second = (poses(make_motion(name, seed=4)) for _ in range(2))
    assert first.tobytes() == second.tobytes()


@motions
@pytest.mark.parametrize("setting", ["amplitude", "rate", "ease_in"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_numbers_that_make_no_motion_are_refused(name, setting, value):
    with pytest.raises(ValueError, match=f"{setting}: must be") as error:
        make_motion(name, **{setting: value})
    assert "\n" not in str(error.value)


@motions
def test_a_time_that_is_none_is_refused(name):
    with pytest.raises(ValueError, match="time: must be a finite"):
        make_motion(name).pose(float("nan"))


@motions
def test_hair_follows_it_on_any_number_of_threads(name, on_threads):
    def followed():
        simulation = make_simulation(head=make_motion(name, ease_in=0.1), solids=False)
        return [bytes_of(frame) for frame in run(simulation, 3)]

    on_threads(followed)
