"""Curves end up as pictures: the axes' arithmetic, and what `--plot` writes."""

import numpy as np
import pytest

from mane.cli import main
from mane.measure.plot import SIZE, Axis, Curve, write_plot


def drawn(path):
    from PIL import Image

    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB")).astype(int)


def test_ticks_are_round_numbers_within_the_axis():
    assert [text for _, text in Axis("x").ticks(-0.11, 0.52)] == ["-0.1", "0", "0.1", "0.2", "0.3", "0.4", "0.5"]
    assert [text for _, text in Axis("x", log=True).ticks(-1.2, 3.1)] == ["0.1", "1", "10", "100", "1000"]


def test_a_logarithmic_axis_leaves_out_what_it_cannot_show():
    np.testing.assert_array_equal(Axis("x", log=True).scaled([0.0, 10.0, -3.0, np.inf]), [np.nan, 1, np.nan, np.nan])


def test_a_rising_curve_is_drawn_from_lower_left_to_upper_right(tmp_path):
    blue = Curve("rising", [0, 1, 2], [0, 1, 2], markers=False, colour=1)
    write_plot(tmp_path / "plot.png", "title", Axis("x"), Axis("y"), [blue])
    picture = drawn(tmp_path / "plot.png")
    assert picture.shape == (SIZE[1], SIZE[0], 3)
    rows, columns = np.nonzero((picture[..., 2] - picture[..., 0] > 120) & (picture[..., 0] < 60))
    low, high = columns < np.quantile(columns, 0.2), columns > np.quantile(columns, 0.8)
    assert rows[low].mean() > rows[high].mean() + 0.3 * SIZE[1]


def test_gaps_and_single_points_do_not_stop_a_plot(tmp_path):
    curves = [Curve("gap", [1, 2, 3], [1, np.nan, 3]), Curve("point", [2], [2]), Curve("nothing", [1], [np.nan])]
    write_plot(tmp_path / "plot.png", "title", Axis("x", log=True), Axis("y", log=True), curves)
    assert (drawn(tmp_path / "plot.png") < 100).any()


@pytest.mark.parametrize("name", ["sdf", "groom"])
def test_a_validation_without_curves_says_so(name, tmp_path, capsys):
    assert main(["validate", name, "--quick", "--plot", str(tmp_path)]) == 2
    assert f"--plot: {name} has no curves to draw; choose from strands" in capsys.readouterr().err
