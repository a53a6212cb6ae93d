"""Cameras that frame hair by themselves: nothing is cut off, nothing pumps, and they go where they should."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mane.body.mesh import Mesh
from mane.groom.groom import Groom
from mane.render import cameras
from mane.render.camera import Camera
from mane.render.cameras import DIRECTIONS, PRESETS, fits, follow, look_at, outline, turntable

ASPECT = 1.3
MARGIN = 0.05
# Positions go through float32 in the camera: a metre at 1e-7, seen at a few metres.
SLACK = 1e-4


def blob(seed=0, count=60):
    return np.random.default_rng(seed).normal(scale=(0.1, 0.3, 0.1), size=(count, 3)).astype(np.float32)


def walking(frames=30):
    """Content that walks along x and bobs up and down."""
    steps = np.arange(frames)
    path = np.stack([0.05 * steps, 0.02 * np.sin(0.9 * steps), 0 * steps], axis=1)
    return [blob() + place.astype(np.float32) for place in path]


def distance(camera):
    return np.linalg.norm(np.subtract(camera.position, camera.look_at))


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("content", [walking(), [blob()] * 12], ids=["walking", "still"])
@pytest.mark.parametrize("direction", ["three-quarter", "top", (-1.0, 0.5, 0.2)], ids=str)
def test_every_frame_shows_everything_and_no_more_than_needed(preset, content, direction):
    seen = PRESETS[preset](content, direction=direction, aspect=ASPECT, margin=MARGIN)
    assert len(seen) == len(content)
    pairs = list(zip(seen, content, strict=True))
    assert all(fits(camera, points, ASPECT, MARGIN - SLACK) for camera, points in pairs)
    # The tightest frame touches the margin: a camera that stood 2 % nearer would cut something off.
    nearer = [
        Camera(tuple(0.98 * np.array(c.position) + 0.02 * np.array(c.look_at)), c.look_at, c.up, c.fov) for c in seen
    ]
    assert not all(fits(camera, points, ASPECT, MARGIN) for camera, points in zip(nearer, content, strict=True))


@settings(max_examples=50, deadline=None)
@given(
    points=st.lists(st.tuples(*[st.floats(-2, 2, width=32)] * 3), min_size=2, max_size=20),
    frames=st.integers(1, 9),
    turns=st.floats(-2, 2),
)
def test_turntable_never_cuts_anything_off(points, frames, turns):
    content = np.array(points, np.float32)
    if np.ptp(content, axis=0).max() < 0.01:
        return
    for camera in turntable([content] * frames, turns=turns, aspect=ASPECT, margin=MARGIN):
        assert fits(camera, content, ASPECT, MARGIN - SLACK)


def test_turntable_goes_once_around_at_one_height_and_distance():
    seen = turntable([blob()] * 8, direction="front")
    eyes = np.array([camera.position for camera in seen])
    middle = 0.5 * (blob().min(axis=0) + blob().max(axis=0))
    angle = np.arctan2(*(eyes - middle)[:, [0, 2]].T)
    # From the front (+Z) to the content's left (+X) and on, an eighth of a turn each.
    np.testing.assert_allclose((np.diff(angle, append=angle[0]) % (2 * np.pi)), np.pi / 4, atol=1e-5)
    np.testing.assert_allclose(eyes[:, 1], eyes[0, 1], atol=1e-6)
    np.testing.assert_allclose([distance(camera) for camera in seen], distance(seen[0]), rtol=1e-6)


def test_look_at_stands_still_and_turns():
    seen = look_at(walking(), aspect=ASPECT)
    assert len({camera.position for camera in seen}) == 1
    targets = np.array([camera.look_at for camera in seen])
    assert (np.diff(targets[:, 0]) > 0).all()


def test_look_at_a_still_groom_is_one_camera():
    assert len(set(look_at([blob()] * 5))) == 1


def test_follow_travels_along_smoothly():
    content = walking(60)
    seen = follow(content, aspect=ASPECT)
    np.testing.assert_allclose([distance(camera) for camera in seen], distance(seen[0]), rtol=1e-5)
    eyes = np.array([camera.position for camera in seen])
    # It keeps the walker's pace from the first frame to the last, and hardly any of the bobbing in between.
    np.testing.assert_allclose(np.diff(eyes[:, 0]), 0.05, atol=1e-4)
    assert np.ptp(eyes[20:40, 1]) < 0.2 * 0.04


def test_a_short_shot_is_followed_too():
    content = walking(3)
    seen = follow(content, aspect=ASPECT)
    assert seen[2].position[0] - seen[0].position[0] == pytest.approx(0.1, abs=1e-5)


def test_outline_is_enough_for_any_view():
    points = np.random.default_rng(2).normal(size=(4000, 3)).astype(np.float32)
    hull = outline(points)
    assert len(hull) < 400
    for direction in np.random.default_rng(3).normal(size=(20, 3)):
        assert (hull @ direction).max() == pytest.approx((points @ direction).max(), abs=1e-6)


def test_outline_of_hair_leaves_out_single_stray_tips():
    strands = np.random.default_rng(4).normal(scale=0.1, size=(3000, 8, 3))
    strands[17, -1] = (30.0, 0.0, 0.0)
    assert np.abs(outline(Groom.from_uniform(strands))).max() < 0.6


def test_outline_finds_the_tips_whatever_the_vertex_count(monkeypatch):
    """A sample taken in steps could fall on roots only."""
    monkeypatch.setattr(cameras, "ENOUGH_POINTS", 1000)
    strands = np.zeros((4000, 16, 3))
    strands[:, :, 1] = -np.linspace(0, 1, 16)
    strands[:, :, 0] = np.linspace(-1, 1, 4000)[:, None]
    strands[:, :, 2] = np.random.default_rng(5).uniform(-1, 1, 4000)[:, None]
    assert outline(Groom.from_uniform(strands))[:, 1].min() == pytest.approx(-1.0)


def test_outline_takes_grooms_meshes_and_points_together_and_flat_things():
    mesh = Mesh([[5, 0, 0], [6, 0, 0], [5, 1, 0]], [[0, 1, 2]])
    groom = Groom.from_strands([[[0, 0, 0], [0, -1, 0]]])
    together = outline(groom, mesh, None, [[0, 0, 9.0]])
    np.testing.assert_allclose(together.min(axis=0), (0, -1, 0))
    np.testing.assert_allclose(together.max(axis=0), (6, 1, 9))
    np.testing.assert_array_equal(outline(mesh), mesh.points)  # a plane has no hull


def test_directions_by_name_vector_or_text():
    assert cameras.direction_of("back") == DIRECTIONS["back"]
    assert cameras.direction_of("1,-2.5,0") == (1.0, -2.5, 0.0)
    assert cameras.direction_of((0, 0, 2)) == (0.0, 0.0, 2.0)
    # The head faces +Z and +X is its left: seen from its left, its face is on the picture's left.
    camera = look_at([blob()], direction="left")[0]
    np.testing.assert_allclose(camera.axes[0], (0, 0, -1), atol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: outline(), "content: must hold a groom, a mesh or points, got nothing"),
        (lambda: outline(np.zeros((0, 3))), "content: must hold at least one point"),
        (lambda: outline([[0, np.nan, 0]]), "content: must be finite"),
        (lambda: turntable([]), "outlines: must hold what at least one frame shows, got none"),
        (lambda: follow([np.zeros((0, 3))]), r"outlines\[0\]: must hold at least one point"),
        (lambda: look_at([blob()], direction="sideways"), "direction: 'sideways' is unknown; choose from above, back"),
        (lambda: look_at([blob()], direction="1,x,3"), "direction: must be a name or three numbers x,y,z, got '1,x,3'"),
        (lambda: look_at([blob()], direction="1,2"), r"direction: must have shape \(3,\)"),
    ],
)
def test_bad_requests_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
