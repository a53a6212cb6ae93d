"""What the full head is measured for in every frame."""

from dataclasses import asdict

import numpy as np
import pytest

from mane.scene import head_meter
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


def test_hairs_of_the_last_frame_are_measured_in_blocks(monkeypatch):
    """A whole head at once took more memory than the run itself; in blocks it is the same report."""
    assembly = build(parse_scene(SCENE.format(collide="true")))
    frame = assembly.source.reset()
    points = assembly.hair_stage(frame).copy()
    points[3:9, -1] = assembly.source.solids[0].mesh.points.mean(axis=0)
    points[12] *= 1.1
    whole = HeadMeter(assembly, last=0).measure(0, frame, points)
    monkeypatch.setattr(head_meter, "BLOCK", 7)
    in_blocks = HeadMeter(assembly, last=0).measure(0, frame, points)
    assert 0 < whole.points_inside < 1
    assert whole.stretch > 0.05
    assert asdict(in_blocks) == pytest.approx(asdict(whole), rel=1e-6)
