"""`mane reproduce lee2018 --quick`, the scenes with water: they run, write what they say, and account for it."""

import pytest

from mane.measure.reproduce.reproduce import reproduce


@pytest.mark.stress
@pytest.mark.parametrize("scene", ["slosh", "pour", "water", "breach"])
def test_a_scene_with_water_keeps_its_promises(tmp_path, scene):
    report = reproduce("lee2018", tmp_path, scenes=[scene], quick=True)[0]
    missed = [(row.metric, row.value) for row in report.figures.rows if row.meets_target is False]
    assert not missed
    assert (tmp_path / scene / f"{scene}.png").exists()
    if scene == "breach":
        high = [row.value for row in report.figures.rows if row.metric == "highest water"]
        assert high[1] > high[0]  # what clings is drawn up
    else:
        assert (tmp_path / scene / "water.usdc").exists()
        assert next(row.value for row in report.figures.rows if row.metric == "mean saturation") > 0.05
