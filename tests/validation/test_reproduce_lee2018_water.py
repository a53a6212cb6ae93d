"""`mane reproduce lee2018 --quick`, the scenes with water: they run, account for their water, and resume."""

import numpy as np
import pytest

from mane.measure.reproduce.reproduce import reproduce


class Stopped(Exception):
    """The run was ended from outside."""


@pytest.mark.stress
@pytest.mark.parametrize("scene", ["slosh", "pour", "water", "breach"])
def test_a_scene_with_water_keeps_its_promises(tmp_path, scene):
    report = reproduce("lee2018", tmp_path, scenes=[scene], quick=True)[0]
    missed = [(row.metric, row.value) for row in report.figures.rows if row.meets_target is False]
    assert not missed
    assert (tmp_path / scene / f"{scene}.png").exists()
    value = {row.metric: row.value for row in report.figures.rows}
    if scene == "breach":
        assert value["water that the layer raises more, at most"] > 1.0  # what clings is drawn up
        assert (tmp_path / scene / "no_layer" / "water.usdc").exists()
    else:
        assert (tmp_path / scene / "water.usdc").exists()
        assert value["mean saturation"] > 0.05


@pytest.mark.stress
def test_a_scene_that_was_stopped_goes_on_with_the_same_bytes(tmp_path):
    def stop(scene, text, share):
        if "frame 4 of" in text:
            raise Stopped

    reproduce("lee2018", tmp_path / "whole", scenes=["pour"], quick=True)
    with pytest.raises(Stopped):
        reproduce("lee2018", tmp_path / "halves", scenes=["pour"], quick=True, tell=stop)
    reproduce("lee2018", tmp_path / "halves", scenes=["pour"], quick=True)
    whole, halves = tmp_path / "whole" / "pour", tmp_path / "halves" / "pour"
    for number in range(1, 7):
        name = f"frame.{number:04d}.png"
        assert (whole / name).read_bytes() == (halves / name).read_bytes(), name
    with np.load(whole / "state.npz") as one, np.load(halves / "state.npz") as other:
        timings = {"rows/water", "rows/hair"}
        different = [name for name in one.files if name not in timings and not np.array_equal(one[name], other[name])]
    assert not different
