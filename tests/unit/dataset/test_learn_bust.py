"""The articulated bust, simulated and learned: head on neck, shoulders that move, played in a scene."""

import numpy as np
import pytest

import mane
from mane.dataset.dataset import open_dataset
from mane.dataset.learn.styles import DatasetStyles
from mane.reduced.evaluate import style_errors
from mane.reduced.training import MultilinearTraining, fit_model
from mane.scene.build import build

SPEC = """\
seed = 3
frames = 40

[scene.frames]
rate = 30
preroll = 0.5

[scene.groom]
style = "straight"
strands = 24
vertices = 8

[scene.guides]
count = "all"

[scene.body]
mesh = "bust"
motion = "nod"

[[motions]]
split = "train"
values = { "body.motion" = "look_around" }

[[motions]]
split = "train"
values = { "body.motion" = "nod" }

[[motions]]
split = "train"
values = { "body.motion" = "shrug" }

[store]
fields = ["points", "head", "body"]
"""

SCENE = """\
[groom]
style = "straight"
strands = 24
vertices = 8

[guides]
model = "bust.model"

[frames]
end = 10
rate = 30

[body]
mesh = "bust"
motion = "shrug"

[skin]
method = "rigid"
"""


@pytest.mark.stress
def test_hair_on_the_articulated_bust_is_learned_and_played(tmp_path):
    (tmp_path / "bust.toml").write_text(SPEC)
    mane.run_dataset(mane.read_spec(tmp_path / "bust.toml"), tmp_path / "bust.zarr", workers=0)
    data = DatasetStyles(open_dataset(tmp_path / "bust.zarr"))
    for training in (MultilinearTraining(dimensions=12), MultilinearTraining.printed(dimensions=12)):
        model = fit_model(data, training).model
        assert 1 <= model.space.body_count <= 10
        (error,) = style_errors(model, data)
        assert error.model < (0.6 if training.dynamics == "gram" else 5.0) * error.rigid
        with open(tmp_path / "bust.model", "wb") as file:
            model.to_file().write(file)
        (tmp_path / "scene.toml").write_text(SCENE)
        source = build(mane.read_scene(tmp_path / "scene.toml")).source
        source.reset()
        for _ in range(10):
            frame = source.step()
        assert np.isfinite(frame.points).all()
        np.testing.assert_allclose(frame.points[:, 0], frame.roots, atol=1e-6)
