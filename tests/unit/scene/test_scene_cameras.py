"""[camera] frame and zoom: what fills the pictures of a run."""

import numpy as np
import pytest

from mane.render.cameras import fits, head_outline
from mane.scene.build import build
from mane.scene.scene_file import SceneError, parse_scene
from mane.scene.sink_pictures import PictureSink

SCENE = """
[groom]
style = "ball"
strands = 40
[guides]
count = 6
[frames]
end = 3
[head]
motion = "turn"
[camera]
size = [64, 48]
{camera}
"""


def cameras_of(camera):
    scene = parse_scene(SCENE.format(camera=camera), name="scene.toml")
    assembly = build(scene)
    sink = PictureSink(assembly, folder=None, movie=None, drawn=(), numbers=range(1, 4))
    return sink._cameras, assembly


def test_a_frame_of_the_head_fills_the_picture_with_it():
    (all_of_it, *_), assembly = cameras_of("")
    (head, *_), _ = cameras_of('frame = "head"')
    corners = head_outline(assembly.hair.groom, [])
    assert fits(head, corners, 64 / 48)
    far, near = (np.linalg.norm(np.subtract(c.position, c.look_at)) for c in (all_of_it, head))
    assert near < 0.9 * far


def test_a_zoom_is_a_longer_lens():
    (plain, *_), _ = cameras_of("")
    (twice, *_), _ = cameras_of("zoom = 2")
    assert plain.position == twice.position
    np.testing.assert_allclose(np.tan(plain.fov / 2) / np.tan(twice.fov / 2), 2)


@pytest.mark.parametrize(
    ("camera", "message"),
    [
        ('frame = "feet"', "scene.toml:12: [camera] frame: 'feet' is unknown; choose from all, hair, head"),
        ("zoom = 0", "scene.toml:12: [camera] zoom: must be above 0 and below 10000, got 0.0"),
        ('direction = "up"', "scene.toml:12: [camera] direction: 'up' is unknown; choose from"),
        ('look = "green"', "scene.toml:12: [camera] look: 'green' is unknown; choose from"),
    ],
)
def test_what_no_camera_can_show_is_refused(camera, message):
    with pytest.raises(SceneError) as error:
        parse_scene(SCENE.format(camera=camera).lstrip(), name="scene.toml")
    assert message in str(error.value)
