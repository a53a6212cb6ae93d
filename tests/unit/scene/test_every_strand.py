"""`[guides] count = "all"`: every hair is simulated, and the full head is the guides themselves."""

import numpy as np
import pytest

from mane.scene.build import build
from mane.scene.cache import Cache
from mane.scene.loop import run_scene
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


def test_a_full_simulation_that_was_killed_goes_on_with_the_same_bytes(tmp_path):
    text = SCENE + '[contact]\nfriction = 0.4\n[frames]\nend = 9\n[output]\ncache = "{}.cache"\n'
    whole, part = (parse_scene(text.format(name), folder=tmp_path) for name in ("whole", "part"))
    run_scene(whole)

    class KilledError(BaseException):
        pass

    def kill(progress):
        if progress.index == 5:
            raise KilledError

    with pytest.raises(KilledError):
        run_scene(part, progress=kill)
    assert run_scene(part, resume=True).resumed_after in range(1, 6)
    one, other = (Cache.open(tmp_path / f"{name}.cache") for name in ("whole", "part"))
    assert one.frames == other.frames == list(range(1, 10))
    for index in one.frames:
        assert one.frame_file(index).read_bytes() == other.frame_file(index).read_bytes()
