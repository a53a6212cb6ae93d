"""The vertices of a curve as points on the hair: on the curve that OpenUSD means, and back again."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from pxr import Usd, UsdGeom, Vt  # noqa: TID253 (tests of USD need it anyway)
from scipy.interpolate import BSpline

from mane.io.usd.curve_basis import VARYING_INNER, CurveLayout, CurveShape, control_points, points_on_hair

BSPLINE = CurveShape("cubic", "bspline", "nonperiodic")
PINNED = CurveShape("cubic", "bspline", "pinned")
BEZIER = CurveShape("cubic", "bezier", "nonperiodic")
SHAPES = [
    CurveShape(kind, basis, wrap)
    for kind in ("linear", "cubic")
    for basis in ("bezier", "bspline", "catmullRom")
    for wrap in ("nonperiodic", "pinned")
]
label = str


def ragged(counts, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(int(np.sum(counts)), 3)), np.concatenate([[0], np.cumsum(counts)])


def test_inner_points_of_a_bspline_are_on_its_curve():
    control, offsets = ragged([9])
    # Vertex i has its largest say at parameter i of the uniform cubic B-spline with knots at the integers.
    curve = BSpline(np.arange(-2, 11), control, 3)
    assert_allclose(points_on_hair(BSPLINE, control, offsets)[1:-1], curve(np.arange(1.0, 8.0)), rtol=1e-13)


def test_a_pinned_bspline_passes_through_its_ends():
    control, offsets = ragged([6])
    # OpenUSD's phantom points: 2 P[0] - P[1] before the first and 2 P[n-1] - P[n-2] after the last.
    phantom = np.vstack([2 * control[0] - control[1], control, 2 * control[-1] - control[-2]])
    curve = BSpline(np.arange(-3, 9), phantom, 3)
    assert_allclose(points_on_hair(PINNED, control, offsets), curve(np.arange(0.0, 6.0)), atol=1e-13)


def test_points_of_a_bezier_are_on_its_curve():
    control, offsets = ragged([7])
    t = np.array([0, 1 / 3, 2 / 3])[:, None]
    weights = np.hstack([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3])
    expected = np.vstack([weights @ control[:4], weights @ control[3:], control[-1:]])
    assert_allclose(points_on_hair(BEZIER, control, offsets), expected, rtol=1e-12)


@pytest.mark.parametrize("shape", [s for s in SHAPES if s.type == "linear" or s.basis == "catmullRom"], ids=label)
def test_other_curves_pass_through_their_vertices(shape):
    control, offsets = ragged([4, 5])
    assert points_on_hair(shape, control, offsets) is control
    assert control_points(shape, control, offsets) is control


def test_curves_do_not_touch_each_other():
    control, offsets = ragged([5, 4, 9])
    together = points_on_hair(PINNED, control, offsets)
    for start, end in itertools.pairwise(offsets):
        alone = points_on_hair(PINNED, control[start:end], np.array([0, end - start]))
        assert_array_equal(together[start:end], alone)


@settings(max_examples=60, deadline=None)
@given(segments=st.lists(st.integers(1, 9), min_size=1, max_size=6), seed=st.integers(0, 1000), data=st.data())
def test_going_back_gives_the_control_points(segments, seed, data):
    shape = data.draw(st.sampled_from([BSPLINE, PINNED, BEZIER]))
    counts = [3 * count + 1 for count in segments]
    control, offsets = ragged(counts, seed)
    back = control_points(shape, points_on_hair(shape, control, offsets), offsets)
    # Conditioning at most 6, values of order 1, some ten operations: well under 1e-13.
    assert_allclose(back, control, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("shape", "most"), [(PINNED, 3.0), (BEZIER, 17 / 3)], ids=label)
def test_moving_points_moves_control_points_by_little_more(shape, most):
    """The norm of the inverse: 1 / (4/6 - 2/6) = 3 for a B-spline, 3 + 3/2 + 15/18 + 6/18 for a bezier."""
    count = 13
    offsets = np.array([0, count])
    columns = [control_points(shape, np.eye(count)[:, [i, i, i]], offsets)[:, 0] for i in range(count)]
    norm = np.abs(np.array(columns)).sum(axis=0).max()
    assert norm <= most + 1e-12
    assert norm > 1.0


@pytest.mark.parametrize("shape", SHAPES, ids=label)
def test_counts_of_varying_data_are_those_of_openusd(shape):
    stage = Usd.Stage.CreateInMemory()
    curves = UsdGeom.BasisCurves.Define(stage, "/Hair")
    curves.CreateTypeAttr(shape.type)
    curves.CreateBasisAttr(shape.basis)
    curves.CreateWrapAttr(shape.wrap)
    for counts in ([4], [7, 4, 10], [13, 4]):
        curves.CreateCurveVertexCountsAttr().Set(Vt.IntArray(counts))
        layout = CurveLayout(shape, np.array(counts))
        time = Usd.TimeCode.Default()
        assert layout.count_of("varying") == sum(curves.ComputeSegmentCounts(time)) + len(counts)
        assert layout.count_of(VARYING_INNER) == curves.ComputeVaryingDataSize(time)
        assert layout.count_of("vertex") == curves.ComputeVertexDataSize(time)
        assert layout.count_of("uniform") == curves.ComputeUniformDataSize(time)


@pytest.mark.parametrize(
    ("shape", "usable"),
    [
        (CurveShape("linear"), [2, 3, 4, 5, 6, 7]),
        (BSPLINE, [4, 5, 6, 7]),
        (PINNED, [2, 3, 4, 5, 6, 7]),
        (CurveShape("cubic", "catmullRom", "nonperiodic"), [4, 5, 6, 7]),
        (CurveShape("cubic", "catmullRom", "pinned"), [2, 3, 4, 5, 6, 7]),
        (BEZIER, [4, 7]),
        (CurveShape("cubic", "bezier", "pinned"), [4, 7]),
    ],
    ids=label,
)
def test_which_counts_can_be_drawn(shape, usable):
    counts = np.arange(8)
    assert counts[shape.is_usable(counts)].tolist() == usable


def test_varying_values_reach_every_vertex():
    bspline = CurveLayout(BSPLINE, np.array([5, 4]))
    # Three segment ends over five vertices, two over four: those at either end are repeated.
    scope, values = bspline.spread(np.array([1.0, 2.0, 3.0, 10.0, 20.0]), "varying")
    assert scope == "vertex"
    assert_array_equal(values, [1, 1, 2, 3, 3, 10, 10, 20, 20])
    pinned = CurveLayout(PINNED, np.array([5]))
    assert_array_equal(pinned.spread(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), "varying")[1], [1, 2, 3, 4, 5])
    assert pinned.fitting("varying", 3) == VARYING_INNER
    assert_array_equal(pinned.spread(np.array([1.0, 2.0, 3.0]), VARYING_INNER)[1], [1, 1, 2, 3, 3])
    bezier = CurveLayout(BEZIER, np.array([7]))
    _, values = bezier.spread(np.array([0.0, 3.0, 9.0]), "varying")
    assert_allclose(values, [0, 1, 2, 3, 5, 7, 9])
    _, labels = bezier.spread(np.array([0, 3, 9]), "varying")
    assert_array_equal(labels, [0, 0, 3, 3, 3, 9, 9])


def test_undeclared_interpolation_is_told_by_size():
    layout = CurveLayout(CurveShape("linear"), np.array([3, 4]))
    assert layout.fitting("constant", 1) == "constant"
    assert layout.fitting("constant", 2) == "uniform"
    assert layout.fitting("constant", 7) in ("varying", "vertex")
    assert layout.fitting("vertex", 5) is None
