"""Whatever arrives is mended or dropped strand by strand; what was sound comes through bit for bit."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from mane.groom.groom import Groom
from mane.groom.repair import repair, repair_arrays

V = 6


def sound(strands=10, seed=0):
    """Points (S, V, 3) of sound strands, and their offsets."""
    rng = np.random.default_rng(seed)
    points = np.cumsum(rng.standard_normal((strands, V, 3)) * 0.01, axis=1) + rng.standard_normal((strands, 1, 3))
    return points.astype(np.float32), np.arange(strands + 1) * V


def mend(points, offsets, **options):
    return repair_arrays(np.reshape(points, (-1, 3)), offsets, **options)


def none_but(faults):
    """A check that exactly these strands are listed under these faults and mends."""

    def check(report):
        listed = {name: found.tolist() for name, found in {**report.dropped, **report.mended}.items() if len(found)}
        assert listed == faults

    return check


def test_a_sound_groom_is_left_alone():
    points, offsets = sound()
    attributes = {"strand": {"id": np.arange(10)}, "vertex": {"width": np.arange(60.0, dtype=np.float32)}}
    groom, report = mend(points, offsets, **attributes, group_names={0: "scalp"})
    assert report.is_clean
    assert_array_equal(groom.points, points.reshape(-1, 3))
    assert_array_equal(groom.offsets, offsets)
    assert_array_equal(groom.strand["id"], np.arange(10))
    assert_array_equal(groom.vertex["width"], np.arange(60))
    assert groom.group_names == {0: "scalp"}
    assert report.summary() == "kept 10 of 10 strands with 60 of 60 points"


def test_a_lost_point_is_put_between_its_neighbours():
    points, offsets = sound()
    points[4, 2] = np.nan
    points[6, 1:3, 0] = np.inf, -np.inf
    groom, report = mend(points, offsets)
    mended = groom.as_uniform()
    assert_allclose(mended[4, 2], (points[4, 1] + points[4, 3]) / 2, rtol=1e-6)
    assert_allclose(mended[6, 1], (2 * points[6, 0] + points[6, 3]) / 3, rtol=1e-6)
    assert_allclose(mended[6, 2], (points[6, 0] + 2 * points[6, 3]) / 3, rtol=1e-6)
    none_but({"filled": [4, 6]})(report)
    assert report.filled_point_count == 3
    assert report.removed_point_count == 0


def test_lost_ends_are_cut_off():
    points, offsets = sound()
    points[3, 0] = points[3, -1] = np.nan
    groom, report = mend(points, offsets)
    assert_array_equal(groom.points[3 * V : 3 * V + 4], points[3, 1:-1])
    assert_array_equal(groom.vertex_counts, [V, V, V, V - 2, *[V] * 6])
    none_but({"trimmed": [3]})(report)
    assert report.removed_point_count == 2


def test_a_strand_with_too_few_finite_points_is_dropped():
    points, offsets = sound()
    points[2, 1:5] = np.nan  # two of six are left
    points[5, :5] = np.nan  # one is left
    points[7] = np.nan
    _, report = mend(points, offsets)
    none_but({"not_finite": [2, 5, 7]})(report)
    _, report = mend(points, offsets, min_finite=0.3)
    none_but({"not_finite": [5, 7], "filled": [2]})(report)


def test_doubled_points_are_merged():
    points, offsets = sound()
    points[1, 3] = points[1, 2]
    points[8, 1] = points[8, 2] = points[8, 0]
    groom, report = mend(points, offsets, vertex={"label": np.arange(60)})
    assert_array_equal(groom.vertex_counts, [V, V - 1, V, V, V, V, V, V, V - 2, V])
    assert_array_equal(groom.vertex["label"][V : 2 * V - 1], [6, 7, 8, 10, 11])
    none_but({"merged": [1, 8]})(report)
    assert_array_equal(groom.points, points.reshape(-1, 3)[report.kept_points])


def test_strands_without_length_are_dropped():
    points, offsets = sound()
    points[1] = points[1, 0]
    points[4] = points[4, 0] + np.float32(1e-8) * np.arange(V, dtype=np.float32)[:, None] * [1, 0, 0]
    points[4] -= points[4, 0]  # at the origin, where float32 resolves such steps
    _, report = mend(points, offsets)
    none_but({"no_length": [1, 4]})(report)
    points[6] = points[6] * 0.001
    _, report = mend(points, offsets, min_length=0.005)
    assert 6 in report.dropped["no_length"]


def test_short_strands_are_dropped():
    points = np.random.default_rng(0).random((12, 3))
    groom, report = repair_arrays(points, [0, 5, 6, 6, 8, 12])
    none_but({"too_few_points": [1, 2]})(report)
    assert_array_equal(report.kept, [0, 3, 4])
    assert_array_equal(groom.vertex_counts, [5, 2, 4])
    _, report = repair_arrays(points, [0, 5, 6, 6, 8, 12], min_vertices=5)
    assert_array_equal(report.kept, [0])


@pytest.mark.parametrize("value", [-3, 10**12, 0, 60, 2 * V - 2, 4 * V + 2])
def test_one_bad_offset_costs_the_two_strands_that_it_cuts(value):
    """Out of range, or into another strand: the one that has swallowed its neighbour is dropped, not the neighbour."""
    points, offsets = sound()
    offsets[3] = value
    groom, report = mend(points, offsets)
    none_but({"bad_offsets": [2, 3]})(report)
    assert_array_equal(groom.points, points[[0, 1, 4, 5, 6, 7, 8, 9]].reshape(-1, 3))


def test_points_that_no_strand_owns_are_left_out():
    points, _ = sound()
    groom, report = mend(points, np.arange(1, 9) * V)
    assert_array_equal(groom.points, points[1:8].reshape(-1, 3))
    assert len(report.kept_points) == 7 * V


def test_attributes_follow_the_strands_and_vertices_that_are_kept():
    points, offsets = sound()
    points[0] = np.nan
    points[2, 2] = points[2, 1]
    points[5, 0] = np.nan
    offsets[8] = -1
    rng = np.random.default_rng(1)
    strand = {"id": np.arange(10), "root_uv": rng.random((10, 2)), "map": rng.random((10, 4))}
    vertex = {"color": rng.random((60, 3)).astype(np.float32), "label": np.arange(60)}
    groom, report = mend(points, offsets, strand=strand, vertex=vertex)
    assert_array_equal(report.kept, [1, 2, 3, 4, 5, 6, 9])
    for name, value in strand.items():
        assert_array_equal(groom.strand[name], value[report.kept].astype(groom.strand[name].dtype))
    for name, value in vertex.items():
        assert_array_equal(groom.vertex[name], value[report.kept_points])


def test_lost_attribute_values_are_mended():
    points, offsets = sound(strands=4)
    width = np.tile(np.linspace(1, 2, V, dtype=np.float32), 4)
    width[2] = np.nan  # inside strand 0
    width[V] = np.inf  # at the root of strand 1
    width[2 * V : 3 * V] = np.nan  # all of strand 2
    strand = {"map": np.array([3.0, np.nan, 5.0, 4.0]), "empty": np.full(4, np.nan)}
    groom, report = mend(points, offsets, strand=strand, vertex={"width": width, "gone": np.full(24, np.inf)})
    assert groom.vertex["width"][2] == pytest.approx(1.4)
    assert groom.vertex["width"][V] == pytest.approx(1.2)
    assert_allclose(groom.vertex["width"][2 * V : 3 * V], 1.4, rtol=1e-6, err_msg="the median of all other vertices")
    assert_array_equal(groom.strand["map"], [3, 4, 5, 4])
    assert report.attributes == {"map": 1, "width": 2 + V}
    assert report.lost_attributes == ("empty", "gone")
    assert not report.is_clean
    assert np.isnan(strand["map"][1]), "the caller's array stays as it was"


def test_the_report_reads_well_and_goes_to_json():
    points, offsets = sound(strands=40)
    points[5, 2] = np.nan
    points[10:30] = np.nan
    _, report = mend(points, offsets, strand={"map": np.where(np.arange(40) == 2, np.nan, 1.0)})
    assert report.summary().splitlines() == [
        "kept 20 of 40 strands with 120 of 240 points",
        "dropped 20 (strand 10, 11, 12, 13, 14, 15, 16, 17, ...): too few finite points",
        "mended 1 (strand 5): lost points filled in between their neighbours",
        "attribute 'map': 1 values replaced",
    ]
    plain = json.loads(json.dumps(report.to_dict()))
    assert plain["dropped"]["not_finite"] == list(range(10, 30))
    assert plain["kept_strand_count"] == 20


def test_a_groom_can_be_repaired_too():
    points, offsets = sound()
    points[3, 2] = points[3, 1]
    points[7] = points[7, 0]
    groom = Groom(points.reshape(-1, 3), offsets, strand={"id": np.arange(10)}, group_names={1: "brow"})
    mended, report = repair(groom)
    none_but({"no_length": [7], "merged": [3]})(report)
    assert_array_equal(mended.strand["id"], report.kept)
    assert mended.group_names == {1: "brow"}


def test_a_strand_mended_first_and_dropped_later_counts_as_dropped():
    points, offsets = sound()
    points[2] = points[2, 0]
    points[2, 3] = np.nan
    _, report = mend(points, offsets)
    none_but({"no_length": [2]})(report)
    assert report.filled_point_count == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"points": np.full((6, 3), np.nan), "offsets": [0, 6]}, r"got none in 1 strands \(1: too few finite points\)"),
        ({"points": np.zeros((6, 3)), "offsets": [0, 6]}, r"\(1: no length\)"),
        ({"points": np.zeros((0, 3)), "offsets": [0]}, r"got none in 0 strands \(no strand\)"),
        ({"points": np.zeros((0, 3)), "offsets": np.zeros(0, int)}, r"got none in 0 strands"),
        ({"points": np.zeros((6, 2)), "offsets": [0, 6]}, r"points: must have shape \(P, 3\), got \(6, 2\)"),
        (
            {"points": np.eye(3), "offsets": [0, 3], "strand": {"id": [1, 2]}},
            r"strand\['id'\]: must have one element per strand \(1\), got shape \(2,\)",
        ),
    ],
)
def test_what_cannot_be_repaired_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        repair_arrays(**arguments)


@st.composite
def garbage(draw):
    """Points, most of them sound, and offsets of every degree of damage."""
    elements = st.one_of(*[st.floats(-1, 1, width=32)] * 9, st.floats(width=32))
    points = draw(hnp.arrays(np.float32, (draw(st.integers(0, 30)), 3), elements=elements, fill=st.nothing()))
    size = len(points)
    offsets = draw(
        st.one_of(
            st.lists(st.integers(0, size), max_size=12).map(sorted),
            st.lists(st.integers(-2, size + 2), max_size=12).map(sorted),
            st.lists(st.integers(-2, size + 2), max_size=12),
            st.lists(st.integers(-(2**63), 2**63 - 1), max_size=12),
        )
    )
    return points, np.array(offsets, np.int64)


@settings(deadline=None, max_examples=200)
@given(garbage(), st.data())
def test_any_garbage_gives_a_valid_groom_or_a_clear_refusal(arrays, data):
    points, offsets = arrays
    strand_count = max(len(offsets) - 1, 0)
    vertex = {"width": data.draw(hnp.arrays(np.float32, len(points), elements=st.floats(width=32)))}
    strand = {"map": data.draw(hnp.arrays(np.float64, (strand_count, 2), elements=st.floats()))}
    try:
        groom, report = repair_arrays(points, offsets, vertex=vertex, strand=strand)
    except ValueError as error:
        if "must find a usable strand, got none" not in str(error):
            raise
        return
    # Groom checks itself when it is made; what is left to check is that the report tells the truth.
    listed = np.concatenate([report.kept, *report.dropped.values()])
    assert_array_equal(np.sort(listed), np.arange(strand_count))
    owned = (report.kept_points >= np.repeat(offsets[:-1][report.kept], groom.vertex_counts)) & (
        report.kept_points < np.repeat(offsets[1:][report.kept], groom.vertex_counts)
    )
    assert owned.all()
    assert len(np.unique(report.kept_points)) == groom.point_count
    finite = np.isfinite(points[report.kept_points]).all(axis=1)
    assert_array_equal(groom.points[finite], points[report.kept_points][finite])
    assert (~finite).sum() == report.filled_point_count


def ruin_points(data, points, offsets, strand):
    rows = data.draw(st.lists(st.integers(0, V - 1), min_size=1))
    points[strand, rows, data.draw(st.integers(0, 2))] = data.draw(st.sampled_from([np.nan, np.inf, -np.inf, 1e30]))


def ruin_length(data, points, offsets, strand):
    points[strand] = points[strand, 0]


def ruin_offset(data, points, offsets, strand):
    offsets[strand] = data.draw(st.sampled_from([-1, 10**15, -(2**60), 61]))


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.tuples(st.sampled_from([ruin_points, ruin_length, ruin_offset]), st.integers(0, 9)), max_size=6),
    st.data(),
)
def test_bad_strands_never_cost_the_good_ones(damage, data):
    points, offsets = sound()
    whole = points.copy()
    hurt = set()
    for ruin, strand in damage:
        ruin(data, points, offsets, strand)
        hurt |= {strand, strand - 1} if ruin is ruin_offset else {strand}
    if hurt >= set(range(10)):
        return
    groom, report = mend(points, offsets, strand={"id": np.arange(10)})
    for strand in set(range(10)) - hurt:
        at = int(np.flatnonzero(report.kept == strand)[0])
        assert_array_equal(groom.points[groom.offsets[at] : groom.offsets[at + 1]], whole[strand])
        assert groom.strand["id"][at] == strand
