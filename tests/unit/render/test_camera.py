"""The camera frames what it is asked to."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mane.render.camera import Camera
from mane.render.view import View

coordinates = st.floats(-5, 5, allow_nan=False, width=32)
vectors = st.tuples(coordinates, coordinates, coordinates)


def on_picture(camera, points, aspect):
    """Positions on the picture, from -1 to 1 along both axes."""
    right, up, back = camera.axes
    offsets = np.asarray(points, float) - camera.position
    depth = -(offsets @ back)
    assert (depth > 0).all()
    tangent = np.tan(0.5 * camera.fov)
    return np.stack([offsets @ right / (depth * tangent * aspect), offsets @ up / (depth * tangent)], axis=1)


@settings(max_examples=200, deadline=None)
@given(
    points=st.lists(vectors, min_size=3, max_size=12),
    direction=vectors.filter(lambda v: np.linalg.norm(v) > 0.1),
    aspect=st.floats(0.4, 2.5),
    margin=st.floats(0.0, 0.3),
)
def test_framing_fills_the_picture_and_cuts_nothing_off(points, direction, aspect, margin):
    points = np.array(points, np.float32)
    if np.ptp(points, axis=0).max() < 0.01:
        return
    camera = Camera.framing(points, direction, aspect=aspect, margin=margin)
    reach = np.abs(on_picture(camera, points, aspect)).max()
    free = 1.0 - 2.0 * margin
    # Positions go through float32 in the camera: 5 m at 1e-7, seen at a thousandth of the distance at worst.
    assert reach <= free + 1e-2
    nearest = (-(points - np.float32(camera.position)) @ camera.axes[2]).min()
    assert reach >= free - 1e-2 or nearest < 1.1e-3  # unless content straight ahead would touch the eye


def test_a_box_is_framed_by_its_corners():
    camera = Camera.framing([[-1, -2, -3], [1, 2, 3]], (0, 0, 1), aspect=1.0, margin=0.0, fov=2 * np.arctan(0.5))
    # Corners at (1, 2, 3): the eye is 2 / 0.5 = 4 m before z = 3.
    np.testing.assert_allclose(camera.position, (0, 0, 7), atol=1e-6)
    np.testing.assert_allclose(camera.look_at, (0, 0, 0), atol=1e-6)


@pytest.mark.parametrize("direction", [(0, 1, 0), (0, -1, 0), (1, 2, 3), (0, 0, -1)])
def test_axes_are_a_right_handed_frame(direction):
    camera = Camera.framing([[-1, -1, -1], [1, 1, 1]], direction)
    np.testing.assert_allclose(camera.axes @ camera.axes.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(camera.axes) == pytest.approx(1.0)
    np.testing.assert_allclose(camera.axes[2], np.array(direction) / np.linalg.norm(direction), atol=1e-6)


def test_from_above_the_face_points_down_the_picture():
    right, up, _ = Camera.framing([[-1, -1, -1], [1, 1, 1]], (0, 1, 0)).axes
    np.testing.assert_allclose(right, (1, 0, 0), atol=1e-9)
    np.testing.assert_allclose(up, (0, 0, -1), atol=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Camera((0, 0, 0), (0, 0, 0)), "camera.look_at: must differ from the position"),
        (lambda: Camera((0, 0, 1), (0, 0, 0), fov=4.0), "camera.fov: must lie between 0 and pi"),
        (lambda: Camera((0, 0, float("nan")), (0, 0, 0)), "camera.position: must be finite"),
        (lambda: Camera.framing([[0, 0, 0], [1, 1, 1]], (0, 0, 0)), "direction: must not be zero"),
        (lambda: Camera.framing([[0, 0, 0], [1, 1, 1]], margin=0.5), r"margin: must lie in \[0, 0.5\)"),
        (lambda: Camera.framing([[0, 0, 0], [1, 1, 1]], aspect=0.0), "aspect: must be a finite number above zero"),
    ],
)
def test_bad_cameras_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_light_sees_all_points_on_any_number_of_threads(on_threads):
    """Points of which the last are farthest out; those of one thread alone would be seen too large."""
    points = np.random.default_rng(0).uniform(-1, 1, (400, 3)).astype(np.float32)
    points *= np.linspace(0.1, 1, 400, dtype=np.float32)[:, None]
    back = np.array([0.0, 1.0, 0.0])
    towards = on_threads(lambda: View.towards(back, points, 64))
    from_point = on_threads(lambda: View.from_point(5 * back, points, 64))
    for view in (towards, from_point):
        x, y, _ = on_threads(lambda view=view: view.project(points)).T
        assert 0 < min(x.min(), y.min()) < max(x.max(), y.max()) < 64
