"""What the full head is measured for in every frame."""

import numpy as np
import pytest

from mane.scene.build import build
from mane.scene.head_meter import HeadMeter
from mane.scene.scene_file import parse_scene

SCENE = """
[groom]
style = "ball"
strands = 20
vertices = 5

[guides]
count = 4

[body]
collide = {collide}
"""


@pytest.mark.parametrize("collide", [True, False])
def test_a_body_that_only_carries_hair_is_not_penetrated(collide):
    assembly = build(parse_scene(SCENE.format(collide=str(collide).lower())))
    frame = assembly.source.reset()
    points = assembly.hair_stage(frame).copy()
    points[:, -1] = assembly.source.solids[0].mesh.points.mean(axis=0)  # tips in the middle of the ball
    found = HeadMeter(assembly, last=0).measure(0, frame, points)
    assert (found.penetration > 0.01) == collide
    assert np.isclose(found.points_inside, 0.25 * collide)
