"""Curves end up as pictures: what axes leave out, and what `--plot` writes."""

import sys

import numpy as np
import pytest

from mane.cli import main
from mane.measure.plot import SIZE, Axis, Curve, write_plot


def drawn(path):
    from PIL import Image

    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB")).astype(int)


def test_an_axis_leaves_out_what_it_cannot_show():
    np.testing.assert_array_equal(Axis("x", log=True).shown([0.0, 10.0, -3.0, np.inf]), [np.nan, 10, np.nan, np.nan])
    np.testing.assert_array_equal(Axis("x").shown([[0.0, np.nan], [-3.0, np.inf]]), [0, np.nan, -3, np.nan])


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"mane\[plot\]"):
        write_plot(tmp_path / "plot.png", "title", Axis("x"), Axis("y"), [Curve("one", [1], [1])])


def test_a_plot_has_the_same_bytes_again(tmp_path):
    for name in ("a.png", "b.png"):
        write_plot(tmp_path / name, "title", Axis("x"), Axis("y", log=True), [Curve("one", [1, 2], [1, 10], fade=0.5)])
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


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
