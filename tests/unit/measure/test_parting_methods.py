"""Rows of the study that have a model of their own: learned and played as printed, and with frames."""

import numpy as np
import pytest

from mane.dataset.learn.adaptive import AdaptiveTraining
from mane.measure.study import parting
from mane.measure.study.parting_scenes import COMB


@pytest.fixture(scope="module")
def recording():
    sizes = parting.Sizes(strands=40, guides=8, vertices=8, seconds=0.05, train_seconds=0.1)
    return parting.record(COMB, sizes, lambda text, share: None)


def test_adaptive_as_printed_is_learned_as_printed_too(recording):
    made, again = (parting.METHODS["adaptive as printed"](recording) for _ in range(2))
    (training,) = recording.learned  # learned once
    assert training == AdaptiveTraining.printed(guides=8)
    assert recording.learned[training].use_frames
    own = recording.learned[training].guides
    assert len(own) <= 8
    for number, frame in enumerate(recording.frames):
        hair = made(frame, copy=True)
        assert np.isfinite(hair).all()
        np.testing.assert_array_equal(hair, again(frame))
        # Before the comb comes nothing moves but a little, wherever the guides are.
        assert np.linalg.norm(hair - recording.truth[number], axis=2).mean() < 0.003


def test_of_many_hairs_some_are_learned_and_measured_as_printed(recording, monkeypatch):
    monkeypatch.setattr(parting, "PRINTED_HAIRS", 25)
    skin = parting.METHODS["adaptive as printed"](recording)
    measured = parting.measured_hairs(recording, skin)
    assert len(skin.hairs) == 25
    assert set(measured) == set(skin.hairs) - set(skin.guides) - set(recording.model.guides)
    assert 5 < len(measured) < 25
    rest = recording.groom.as_uniform()
    for number, frame in enumerate(recording.frames):
        hair = skin(frame, copy=True)
        np.testing.assert_array_equal(np.delete(hair, skin.hairs, axis=0), np.delete(rest, skin.hairs, axis=0))
        assert np.linalg.norm((hair - recording.truth[number])[skin.hairs], axis=2).mean() < 0.003
    assert (hair[skin.hairs] != rest[skin.hairs]).any(axis=(1, 2)).all()


def test_frames_are_learned_on_the_same_guides(recording):
    skin = parting.METHODS["fixed sets, frames"](recording)
    assert skin.params.use_frames
    np.testing.assert_array_equal(skin.guides.source, recording.model.guides)
    fixed = parting.METHODS[parting.FIXED](recording)
    assert not fixed.params.use_frames
