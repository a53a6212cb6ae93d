"""Caches: what goes in comes out bit for bit, and damage is named."""

import json

import numpy as np
import pytest

from mane.scene.build import build
from mane.scene.cache import ARRAYS, CHECKPOINT, HEADER, INSERTED, Cache
from mane.scene.config import InteractionTable
from mane.stage.memory import versions


@pytest.fixture
def filled(tmp_path, tiny_scene):
    """A cache of two frames, the assembly behind it and the frames."""
    assembly = build(tiny_scene(tmp_path))
    stages = versions(assembly.source.stages)
    cache = Cache.make(tmp_path / "a.cache", assembly.scene, assembly.guides, assembly.keys, stages)
    frames = [assembly.source.step() for _ in range(2)]
    for index, frame in enumerate(frames, 1):
        cache.write_frame(index, frame)
    cache.write_checkpoint(2, assembly.source.checkpoint())
    return cache, assembly, frames


def test_frames_come_back_bit_for_bit(filled):
    cache, _, frames = filled
    assert cache.frames == [1, 2]
    for index, frame in enumerate(frames, 1):
        read = cache.read_frame(index)
        for name in ARRAYS:
            ours, theirs = getattr(read, name), getattr(frame, name)
            assert (ours.dtype, ours.tobytes()) == (theirs.dtype, theirs.tobytes())
        assert read.time == frame.time
        poses = zip((read.head, *read.solid_poses), (frame.head, *frame.solid_poses), strict=True)
        for ours, theirs in poses:
            assert ours.rotation.tobytes() == theirs.rotation.tobytes()
            assert ours.position.tobytes() == theirs.position.tobytes()


def test_inserted_guides_come_back_and_runs_without_any_have_none(filled, tmp_path, tiny_scene):
    cache, _, _ = filled
    assert cache.read_frame(1).inserted is None
    parts = (InteractionTable("adaptive", {"opens_at": 0.002, "limit": 3}),)
    assembly = build(tiny_scene(tmp_path, interactions=parts))
    frame = [assembly.source.step() for _ in range(4)][-1]
    cache.write_frame(3, frame)
    read = cache.read_frame(3).inserted
    assert read.count == frame.inserted.count == 3
    for name in INSERTED:
        ours, theirs = getattr(read, name), getattr(frame.inserted, name)
        assert (ours.dtype, ours.tobytes()) == (theirs.dtype, theirs.tobytes())


def test_a_checkpoint_goes_on_exactly(filled):
    cache, assembly, _ = filled
    ahead = assembly.source.step()
    index, arrays = cache.read_checkpoint()
    assembly.source.load_checkpoint(arrays)
    again = assembly.source.step()
    assert index == 2
    assert ahead.points.tobytes() == again.points.tobytes()


def test_the_scene_is_inside(filled):
    cache, assembly, _ = filled
    found = Cache.open(cache.path)
    assert found.scene == assembly.scene
    assert found.scene.folder.resolve() == assembly.scene.folder.resolve()
    assert set(found.header["versions"]) == {"mane", "numpy", "numba"}
    with np.load(cache.path / "guides.npz") as guides:
        np.testing.assert_array_equal(guides["rest"], assembly.guides.rest)


def test_a_cache_moves_with_its_scene(filled, tmp_path):
    cache, _, _ = filled
    (tmp_path / "there").mkdir()
    cache.path.rename(tmp_path / "there" / "a.cache")
    assert Cache.open(tmp_path / "there" / "a.cache").scene.folder == tmp_path / "there"


def test_frames_end_at_the_first_gap(filled):
    cache, _, frames = filled
    cache.write_frame(4, frames[0])
    assert cache.frames == [1, 2]


def test_damage_is_named(filled):
    cache, _, _ = filled
    file = cache.frame_file(2)
    whole = file.read_bytes()
    for broken in (whole[: len(whole) // 2], b"", whole[:300] + bytes([whole[300] ^ 1]) + whole[301:]):
        file.write_bytes(broken)
        with pytest.raises(ValueError, match=r"frame.0002.npz: is damaged"):
            cache.read_frame(2)
    (cache.path / CHECKPOINT).write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"checkpoint.npz: is damaged"):
        cache.read_checkpoint()


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("{", "cache.json: is damaged"),
        ("[]", "cache.json: is damaged"),
        (json.dumps({"format": 99}), "must be a cache of format 2, got 99"),
    ],
)
def test_a_header_that_is_none(filled, header, message):
    cache, _, _ = filled
    (cache.path / HEADER).write_text(header)
    with pytest.raises(ValueError, match=message):
        Cache.open(cache.path)


def test_no_cache_at_all(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such cache"):
        Cache.open(tmp_path / "none")
    with pytest.raises(ValueError, match=r"is no cache, cache.json is missing"):
        Cache.open(tmp_path)
