"""Files that other tools wrote, where they are at hand (see `shared_data`)."""

import numpy as np
import pytest

from mane.io import LossNotice, read_groom, read_raw, write_groom


def test_fur(shared_data, tmp_path):
    raw = read_raw(shared_data / "fur.hair")
    assert (raw.strand_count, raw.point_count) == (50_000, 200_000)
    assert raw.vertex_counts.tolist() == [4] * 50_000
    assert [(problem.kind, problem.count, problem.is_fatal) for problem in raw.problems] == [("folded", 17, False)]
    assert (raw.unit, raw.up) == (None, None)
    groom = read_groom(shared_data / "fur.hair")
    assert (groom.vertex["width"].min(), groom.vertex["width"].max()) == pytest.approx((0.0005, 0.01))
    write_groom(tmp_path / "fur.hair", groom)
    ours, theirs = (tmp_path / "fur.hair").read_bytes(), (shared_data / "fur.hair").read_bytes()
    assert ours[128:] == theirs[128:]
    assert ours[:40] == theirs[:40]  # all of the header but the info text, where we state the units


def test_mohawk_reports_its_stubs_and_keeps_them(shared_data, tmp_path):
    raw = read_raw(shared_data / "Ratboy_mohawk.tfx")
    assert (raw.strand_count, raw.point_count) == (2_228, 71_296)
    (problem,) = raw.problems
    assert (problem.kind, problem.is_fatal) == ("stub", False)
    assert problem.count == (raw.lengths < 0.01 * np.median(raw.lengths)).sum() > 0
    groom = read_groom(shared_data / "Ratboy_mohawk.tfx")
    assert groom.strand_count == 2_228
    # AMD's own files fix the first two points of each strand.
    assert (groom.vertex["movable"].reshape(-1, 32) == [0, 0, *[1] * 30]).all()
    assert groom.strand["root_uv"].shape == (2_228, 2)
    with pytest.warns(LossNotice, match="movable"):
        write_groom(tmp_path / "mohawk.data", groom)
    assert read_groom(tmp_path / "mohawk.data").points.tobytes() == groom.points.tobytes()
