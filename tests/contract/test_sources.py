"""What everything that makes guide frames promises, whichever it is: one battery over the table of sources."""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from ball_head import bytes_of, variants

from learned_hair import KnownHair
from mane.body.motion import Pose
from mane.groom import styles
from mane.reduced.training import MultilinearTraining, fit_model
from mane.scene.build import build
from mane.scene.config import FramesTable, GroomTable, GuidesTable, HeadTable, Scene, SourceTable
from mane.scene.sources import SOURCES
from mane.stage.clock import StageClock

sources = pytest.mark.parametrize(("stage", "settings"), variants(SOURCES))


GROOM = GroomTable(style="ball", strands=60, vertices=8, settings={"length": 0.06})


@cache
def guides_table(is_learned):
    """Guides that are chosen, or those of a model of the same groom."""
    if not is_learned:
        return GuidesTable(count=20)
    groom = styles.make("ball", strands=60, vertices=8, seed=0, length=0.06)
    hair = KnownHair(rest=groom.as_uniform()[None, :20], rate=24.0)
    path = Path(tempfile.mkdtemp()) / "hair.model"
    with open(path, "wb") as file:
        fit_model(hair, MultilinearTraining(dimensions=4)).model.to_file().write(file)
    return GuidesTable(model=str(path))


def made(stage, settings, **tables):
    scene = Scene(
        groom=GROOM,
        frames=FramesTable(end=4),
        guides=guides_table("hair_model" in stage.needs),
        source=SourceTable(stage.name, settings),
        **{"head": HeadTable(motion="shake", ease_in=0.05), **tables},
    )
    return build(scene).source


def played(source, frames=4):
    return [source.reset(), *(source.step() for _ in range(frames - 1))]


@sources
def test_frames_are_of_its_guides_and_finite(stage, settings):
    source = made(stage, settings)
    for number, frame in enumerate(played(source)):
        assert frame.points.shape == source.guides.rest.shape
        assert frame.time == pytest.approx(number / 24)
        assert len(frame.solid_poses) == len(source.solids)
        for name in ("points", "velocity", "orientations", "cut_force", "roots", "root_rotations"):
            array = getattr(frame, name)
            assert array.dtype == np.float32, name
            assert np.isfinite(array).all(), name


@sources
def test_it_begins_at_rest_and_at_rest_it_is_the_groom(stage, settings):
    source = made(stage, settings)
    np.testing.assert_allclose(source.rest.points, source.guides.rest, atol=1e-6)
    np.testing.assert_allclose(source.reset(Pose.identity()).points, source.guides.rest, atol=1e-6)
    before = bytes_of(source.step())
    source.reset(Pose.identity())
    assert source.rest is not None  # asking changes nothing
    assert bytes_of(source.step()) == before


@sources
def test_roots_ride_on_the_head(stage, settings):
    source = made(stage, settings)
    for frame in played(source):
        np.testing.assert_allclose(frame.points[:, 0], frame.head.apply(source.guides.roots), atol=1e-6)


@sources
def test_a_reset_gives_the_same_frames_again(stage, settings):
    source = made(stage, settings)
    first = [bytes_of(frame) for frame in played(source)]
    assert [bytes_of(frame) for frame in played(source)] == first
    assert [bytes_of(frame) for frame in played(made(stage, settings))] == first


@sources
def test_going_on_from_a_checkpoint_equals_not_stopping(stage, settings):
    whole, first, second = (made(stage, settings) for _ in range(3))
    expected = played(whole)
    played(first, 2)
    checkpoint = first.checkpoint()
    first.step()
    second.step()
    second.load_checkpoint(checkpoint)
    assert [bytes_of(second.step()) for _ in range(2)] == [bytes_of(frame) for frame in expected[2:]]


@sources
def test_a_checkpoint_of_other_stages_is_refused(stage, settings):
    source = made(stage, settings)
    with pytest.raises(ValueError, match=r"checkpoint: it holds no '.+', only ") as error:
        source.load_checkpoint({"stages": np.array(["strand.telepathy 1"])})
    assert "\n" not in str(error.value)
    rows = [str(row) for row in source.checkpoint()["stages"]]
    newer = {**source.checkpoint(), "stages": np.array([rows[0].rpartition(" ")[0] + " 99", *rows[1:]])}
    with pytest.raises(ValueError, match=r"checkpoint: its '.+' is of version 99 and this one of version \d+"):
        source.load_checkpoint(newer)
    with pytest.raises(ValueError, match="is of an older version of mane"):
        source.load_checkpoint({})


@sources
def test_any_number_of_threads_gives_the_same_bytes(stage, settings, on_threads):
    on_threads(lambda: [bytes_of(frame) for frame in played(made(stage, settings))])


@sources
def test_two_sources_share_nothing(stage, settings):
    alone = [bytes_of(frame) for frame in played(made(stage, settings))]
    first, second = made(stage, settings), made(stage, settings, head=HeadTable(motion="nod", ease_in=0.05))
    together = [bytes_of(first.reset())]
    second.reset()
    for _ in range(3):
        together.append(bytes_of(first.step()))
        second.step()
    assert together == alone


@sources
def test_its_time_is_counted(stage, settings):
    source = made(stage, settings)
    source.clock = clock = StageClock()
    with clock.stage(source.label):
        source.step()
    assert clock.frame[source.label] > 0
    assert {part.label for part in source.stages} >= set(clock.frame)
