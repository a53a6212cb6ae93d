"""Recorded motions, a kind of file each: read by `[[motions]]`, simulated and learned from."""

import numpy as np
import pytest

import mane
from mane.dataset.dataset import open_dataset
from mane.dataset.learn.styles import DatasetStyles
from mane.geometry import quaternion
from mane.reduced.canonical import to_canonical
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


def pitched_dataset(folder, begins):
    """Nods that begin at those angles [degrees]; the last one is to test with."""
    motions = ""
    times = np.arange(FRAMES) / RATE
    for number, angle in enumerate(begins):
        degrees = angle + 25 * np.sin(np.arange(FRAMES) * (0.5 + 0.1 * number))
        rotations = [quaternion.exp(np.array([np.radians(angle), 0.3, 0.0])) for angle in degrees]
        motion = mane.motions.KeyframedMotion(times, np.zeros((FRAMES, 3)), rotations)
        mane.motions.write_motion(folder / f"nod{number}.npz", motion, times)
        split = "test" if number == len(begins) - 1 else "train"
        motions += f'[[motions]]\nmotion = "nod{number}.npz"\nsplit = "{split}"\n'
    spec = SPEC.replace(f"rate = {RATE}\n", f"rate = {RATE}\npreroll = 0.5\n")
    (folder / "spec.toml").write_text(spec + motions)
    mane.run_dataset(mane.read_spec(folder / "spec.toml"), folder / "hair.zarr", workers=0)
    return open_dataset(folder / "hair.zarr")


def test_hair_at_rest_is_that_of_a_recording_that_begins_upright(tmp_path):
    """On a head that is pitched hair hangs otherwise, and the first recording is; the way it faces is all the same."""
    data = pitched_dataset(tmp_path, (30.0, 0.2, -30.0))
    train, test = DatasetStyles(data), DatasetStyles(data, "test", least=1)
    assert train.settled_in == 1
    upright = train.points(0, 1)[0]
    edges = np.diff(upright, axis=1) @ quaternion.to_matrix(train.track(1).heads[0, 3:]).astype(np.float32)
    rest = np.diff(train.rest[0], axis=1)
    unit, expected = (one / np.linalg.norm(one, axis=2, keepdims=True) for one in (rest, edges))
    np.testing.assert_allclose(unit, expected, atol=1e-5)
    pitched = to_canonical(train.track(0).heads[:1], train.points(0, 0)[:1].astype(float))[0]
    assert np.abs(pitched - train.rest[0]).max() > 5e-3
    assert test.settled_in is None  # its only recording is pitched: what was learned from tells how hair hangs
    np.testing.assert_array_equal(test.rest, train.rest)


def test_recordings_that_all_begin_tilted_are_refused_in_one_line(tmp_path):
    data = pitched_dataset(tmp_path, (30.0, -20.0, 0.0))
    text = r"hair\.zarr: a motion must begin with an upright head, .*, got tilts of 19\.\d degrees and more \(motion "
    with pytest.raises(ValueError, match=text + r"'0001-nod1'\).*; begin a recording where the head is upright") as one:
        DatasetStyles(data)
    assert "\n" not in str(one.value)
