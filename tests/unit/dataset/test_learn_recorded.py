"""Recorded motions, a kind of file each: read by `[[motions]]`, simulated and learned from."""

import numpy as np
import pytest

import mane
from mane.dataset.dataset import open_dataset
from mane.dataset.learn.styles import DatasetStyles
from mane.geometry import quaternion
from mane.reduced.evaluate import style_errors
from mane.reduced.training import MultilinearTraining, fit_model

RATE, FRAMES = 30, 14
SPEC = f"""\
seed = 3
frames = {FRAMES}
[scene.frames]
rate = {RATE}
[scene.groom]
style = "ball"
strands = 6
vertices = 5
[scene.guides]
count = "all"
[store]
fields = ["points", "head"]
"""
BVH = """HIERARCHY
ROOT Hips
{{
  OFFSET 0 0 0
  CHANNELS 3 Zrotation Xrotation Yrotation
  JOINT Head
  {{
    OFFSET 0 160 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {{
      OFFSET 0 10 0
    }}
  }}
}}
MOTION
Frames: {count}
Frame Time: {step}
{lines}
"""
USD = """#usda 1.0
(
    metersPerUnit = 1
    upAxis = "Y"
    timeCodesPerSecond = {rate}
)
def Xform "Head"
{{
    float xformOp:rotateY.timeSamples = {{ {samples} }}
    uniform token[] xformOpOrder = ["xformOp:rotateY"]
}}
"""


def write_bvh(path, degrees):
    """A turn of the head, half of it by the hips."""
    lines = "\n".join(f"0 0 {0.5 * angle} 0 0 {0.5 * angle}" for angle in degrees)
    path.write_text(BVH.format(count=len(degrees), step=1 / RATE, lines=lines))


def write_usda(path, degrees):
    samples = ", ".join(f"{code}: {angle}" for code, angle in enumerate(degrees))
    path.write_text(USD.format(rate=RATE, samples=samples))


def write_npz(path, degrees):
    rotations = [quaternion.exp(np.array([0.0, np.radians(angle), 0.0])) for angle in degrees]
    times = np.arange(len(degrees)) / RATE
    motion = mane.motions.KeyframedMotion(times, np.zeros((len(times), 3)), rotations)
    mane.motions.write_motion(path, motion, times)


@pytest.mark.parametrize(
    ("suffix", "write"),
    [("bvh", write_bvh), ("usda", write_usda), ("npz", write_npz)],
    ids=lambda value: str(value)[:4],
)
def test_a_recording_is_learned_from(tmp_path, suffix, write):
    turns = [40 * np.sin(np.arange(FRAMES) * step) for step in (0.5, 0.8, 0.65)]
    motions = ""
    for number, (degrees, split) in enumerate(zip(turns, ("train", "train", "test"), strict=True)):
        write(tmp_path / f"look{number}.{suffix}", degrees)
        motions += f'[[motions]]\nmotion = "look{number}.{suffix}"\nsplit = "{split}"\n'
    (tmp_path / "spec.toml").write_text(SPEC + motions)
    mane.run_dataset(mane.read_spec(tmp_path / "spec.toml"), tmp_path / "hair.zarr", workers=0)
    data = open_dataset(tmp_path / "hair.zarr")
    assert not data.failures
    train, test = DatasetStyles(data), DatasetStyles(data, "test", least=1)
    for styles, number, degrees in ((train, 0, turns[0]), (train, 1, turns[1]), (test, 0, turns[2])):
        turned = quaternion.exp(np.radians(degrees)[:, None] * np.array([0.0, 1.0, 0.0]))
        found = styles.track(number).heads
        np.testing.assert_allclose(np.abs((found[:, 3:] * turned).sum(axis=1)), 1.0, atol=1e-6)
        assert not found[:, :3].any()
    model = fit_model(train, MultilinearTraining(dimensions=4)).model
    for styles in (train, test):
        (error,) = style_errors(model, styles)
        assert error.model < error.rigid
