"""`[guides] count = "all"`: every hair is simulated, and the full head is the guides themselves."""

import numpy as np

from mane.scene.build import build
from mane.scene.scene_file import parse_scene

SCENE = """\
[groom]
style = "ball"
strands = 30
vertices = 8
[guides]
count = "all"
[head]
motion = "shake"
[[interactions]]
kind = "grid"
"""


def test_every_hair_is_its_own_guide():
    assembly = build(parse_scene(SCENE))
    assert assembly.guides.count == 30
    np.testing.assert_array_equal(assembly.guides.source, np.arange(30))
    frame = assembly.source.reset()
    for _ in range(12):
        frame = assembly.source.step()
    assert np.ptp(frame.points - assembly.guides.rest, axis=(0, 1)).max() > 1e-3
    # what the skin adds to a hair that is its own guide is the rounding of float32 at a tenth of a metre
    np.testing.assert_allclose(assembly.hair_stage(frame), frame.points, atol=1e-6)


def test_another_skin_may_be_asked_for():
    assert parse_scene(SCENE).skin.method == "rigid"
    assert parse_scene(SCENE + '[skin]\nmethod = "linear"\n').skin.method == "linear"
