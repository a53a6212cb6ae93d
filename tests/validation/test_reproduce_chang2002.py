"""The scenes of chang2002 run, and the braid does what the paper says: with collisions nothing passes through."""

import pytest

from mane.measure.reproduce.reproduce import PAPERS, reproduce


def values(report):
    return {(row.case, row.metric): row.value for row in report.figures.rows}


def test_a_braid_unfolds_without_passing_through_itself(tmp_path):
    (report,) = reproduce("chang2002", tmp_path, scenes=["braid"], quick=True)
    found = values(report)
    crossed = "crossings of segments of the two sets"
    assert found["braid, with collisions", crossed] == 0
    assert found["braid, without collisions", crossed] > 20
    turn = "largest change of the winding angle in 1/240 s"
    assert found["braid, with collisions", turn] < found["braid, without collisions", turn] / 4
    assert (tmp_path / "braid" / "braid.png").exists()


@pytest.mark.stress
@pytest.mark.parametrize("scene", sorted(set(PAPERS["chang2002"].scenes) - {"braid"}))
def test_every_scene_runs(scene, tmp_path):
    (report,) = reproduce("chang2002", tmp_path, scenes=[scene], quick=True)
    assert report.figures.rows
    assert report.notes
    assert all((report.folder / name).exists() for name, _ in report.pictures)
