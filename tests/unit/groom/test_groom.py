"""A groom refuses what it cannot trust, and carries every attribute through every operation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mane.groom.groom import Groom, concatenate


def ragged(counts=(3, 2, 4), seed=0):
    """A groom with an attribute of every kind, whose values tell strand and vertex."""
    counts = np.asarray(counts)
    rng = np.random.default_rng(seed)
    strands, points = len(counts), int(counts.sum())
    return Groom(
        rng.standard_normal((points, 3)).astype(np.float32),
        np.concatenate([[0], np.cumsum(counts)]),
        strand={
            "group_id": np.arange(strands) % 2,
            "root_uv": rng.random((strands, 2)),
            "is_guide": np.arange(strands) % 3 == 0,
            "id": np.arange(strands) + 100,
            "curl_map": rng.random(strands),
        },
        vertex={"width": rng.random(points), "color": rng.random((points, 3)), "label": np.arange(points)},
        group_names={0: "scalp", 1: "brow"},
    )


def assert_same(a, b):
    assert_array_equal(a.points, b.points)
    assert_array_equal(a.offsets, b.offsets)
    for scope in ("strand", "vertex"):
        mine, theirs = getattr(a, scope), getattr(b, scope)
        assert set(mine) == set(theirs)
        for name in mine:
            assert_array_equal(mine[name], theirs[name])
            assert mine[name].dtype == theirs[name].dtype
    assert a.group_names == b.group_names


grooms = st.builds(ragged, st.lists(st.integers(2, 6), min_size=1, max_size=8).map(tuple), st.integers(0, 2**32 - 1))


LINE = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"points": LINE[:, :2]}, r"groom\.points: must have shape \(P, 3\), got \(4, 2\)"),
        ({"points": LINE * [1, np.nan, 1]}, r"groom\.points: must be finite, got nan at point 0 \(strand 0\)"),
        (
            {"points": np.where(np.arange(4)[:, None] == 3, np.inf, LINE), "offsets": [0, 2, 4]},
            r"got inf at point 3 \(strand 1\); groom\.repair mends",
        ),
        ({"points": [["a", "b", "c"]]}, r"groom\.points: must be numbers of shape"),
        ({"offsets": [0]}, r"groom\.offsets: must describe at least one strand, got 1 offsets"),
        ({"offsets": [0, 3]}, r"must start at 0 and end at 4 \(= number of points\), started at 0 and ended at 3"),
        ({"offsets": [1, 4]}, r"started at 1 and ended at 4"),
        ({"offsets": [0, 3, 4]}, r"at least 2 points, strand 1 has 1 points \(offsets 3, 4\); groom\.repair drops"),
        ({"offsets": [0, 3, 2, 4]}, r"strand 1 goes backwards \(offsets 3, 2\)"),
        ({"offsets": [0.0, 4.0]}, r"groom\.offsets: must be numbers of shape \(S\+1,\), got dtype float64"),
        ({"strand": {"width": [1.0, 2.0]}}, r"groom\.strand\['width'\]: must have shape \(1,\), got \(2,\)"),
        ({"strand": {"map": [1.0, 2.0]}}, r"\['map'\]: must have one element per strand \(1\), got shape \(2,\)"),
        ({"vertex": {"map": 1.0}}, r"\['map'\]: must have one element per vertex \(4\), got shape \(\)"),
        ({"vertex": {"color": np.ones(4)}}, r"groom\.vertex\['color'\]: must have shape \(4, 3\), got \(4,\)"),
        ({"vertex": {"id": np.arange(4)}}, r"groom\.vertex\['id'\]: must be given per strand"),
        ({"vertex": {"map": [1, 2, np.nan, 4]}}, r"\['map'\]: must be finite, got nan at index 2"),
        ({"strand": {"name": ["long"]}}, r"groom\.strand\['name'\]: must hold numbers"),
        ({"strand": {"w": [1.0]}, "vertex": {"w": np.ones(4)}}, r"attribute 'w' must be per strand or per vertex"),
    ],
)
def test_what_a_groom_cannot_trust_is_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        Groom(**{"points": LINE, "offsets": [0, 4], **arguments})


def test_types_at_the_surface():
    groom = ragged()
    assert groom.points.dtype == np.float32
    assert groom.offsets.dtype == np.int64
    assert groom.vertex["width"].dtype == np.float32
    assert groom.strand["group_id"].dtype == np.int32
    assert groom.strand["is_guide"].dtype == np.bool_
    assert groom.strand["curl_map"].dtype == np.float64, "an unknown map stays as it came"
    assert all(array.flags.c_contiguous for array in (groom.points, *groom.strand.values(), *groom.vertex.values()))


def test_what_can_be_asked():
    groom = Groom.from_strands([[[0, 0, 0], [3, 0, 0], [3, 4, 0]], [[1, 1, 1], [1, 1, 3]]])
    assert (groom.strand_count, groom.point_count, groom.is_uniform) == (2, 5, False)
    assert_array_equal(groom.vertex_counts, [3, 2])
    assert_array_equal(groom.strand_of_point, [0, 0, 0, 1, 1])
    assert_array_equal(groom.roots, [[0, 0, 0], [1, 1, 1]])
    assert_array_equal(groom.tips, [[3, 4, 0], [1, 1, 3]])
    assert_array_equal(groom.lengths, [7, 2])
    assert_array_equal(groom.bounds, [[0, 0, 0], [3, 4, 3]])


def test_uniform_points_are_a_view_and_ragged_ones_are_refused():
    points = np.random.default_rng(0).random((5, 4, 3)).astype(np.float32)
    groom = Groom.from_uniform(points)
    assert_array_equal(groom.as_uniform(), points)
    assert np.shares_memory(groom.as_uniform(), groom.points)
    with pytest.raises(ValueError, match="got 2 to 4; resample it first"):
        ragged().as_uniform()


def test_attributes_per_vertex_whichever_way_they_are_stored():
    groom = ragged()
    assert_array_equal(groom.per_vertex("label"), np.arange(9))
    assert_array_equal(groom.per_vertex("id"), [100, 100, 100, 101, 101, 102, 102, 102, 102])
    assert_array_equal(groom.per_vertex("gloss", default=0.5), np.full(9, 0.5))
    with pytest.raises(ValueError, match=r"no attribute 'gloss'; it has color, curl_map, group_id"):
        groom.per_vertex("gloss")


def test_with_points_moves_and_keeps_the_rest():
    groom = ragged()
    moved = groom.with_points(groom.points + 1)
    assert_same(moved.with_points(groom.points), groom)
    assert_array_equal(moved.points, groom.points + 1)
    with pytest.raises(ValueError, match=r"groom\.offsets: must start at 0 and end at 8"):
        groom.with_points(groom.points[:-1])


def test_with_attributes_adds_replaces_moves_and_removes():
    groom = ragged()
    added = groom.with_strand(gloss=[1.0, 2.0, 3.0], curl_map=None)
    assert_array_equal(added.strand["gloss"], [1, 2, 3])
    assert "curl_map" not in added.strand
    assert "curl_map" in groom.strand, "the groom itself does not change"
    moved = groom.with_strand(width=[1.0, 2.0, 3.0])
    assert "width" not in moved.vertex
    assert_same(moved.with_vertex(width=groom.vertex["width"]), groom)


def test_take_carries_every_attribute():
    groom = ragged()
    taken = groom.take([2, 0, 2])
    assert_array_equal(taken.vertex["label"], [5, 6, 7, 8, 0, 1, 2, 5, 6, 7, 8])
    assert_array_equal(taken.points, groom.points[taken.vertex["label"]])
    assert_array_equal(taken.strand["id"], [102, 100, 102])
    assert taken.group_names == groom.group_names
    assert_same(groom.take(np.array([True, False, True])), groom.take([0, 2]))


@pytest.mark.parametrize(
    ("strands", "message"),
    [
        ([0, 3], r"strands: must be below 3, got 3 at index 1"),
        ([-1], r"must be below 3, got -1 at index 0"),
        (np.array([True]), r"strands: must have shape \(3,\), got \(1,\)"),
        (np.zeros(0, int), r"at least one strand"),
    ],
)
def test_take_refuses_strands_that_are_not_there(strands, message):
    with pytest.raises(ValueError, match=message):
        ragged().take(strands)


def test_concatenate_keeps_what_all_have():
    a, b = ragged((2, 3)), ragged((4,), seed=1).with_strand(curl_map=None, id=np.array([7]))
    both = concatenate([a, b])
    assert_array_equal(both.vertex_counts, [2, 3, 4])
    assert_array_equal(both.strand["id"], [100, 101, 7])
    assert_array_equal(both.vertex["label"], [0, 1, 2, 3, 4, 0, 1, 2, 3])
    assert "curl_map" not in both.strand
    with pytest.raises(ValueError, match="at least one groom"):
        concatenate([])


def test_transformed_scales_widths_and_turns_points():
    groom = ragged()
    matrix = np.array([[0, -2, 0, 1], [2, 0, 0, 0], [0, 0, 2, 0], [0, 0, 0, 1.0]])
    moved = groom.transformed(matrix)
    expected = np.stack([1 - 2 * groom.points[:, 1], 2 * groom.points[:, 0], 2 * groom.points[:, 2]], axis=1)
    assert_allclose(moved.points, expected, rtol=1e-6)
    assert_allclose(moved.vertex["width"], 2 * groom.vertex["width"], rtol=1e-6)
    per_strand = groom.with_strand(width=[1.0, 2.0, 3.0]).transformed(matrix)
    assert_allclose(per_strand.strand["width"], [2, 4, 6], rtol=1e-6)


@settings(deadline=None, max_examples=50)
@given(grooms, st.data())
def test_taking_apart_and_joining_again_changes_nothing(groom, data):
    cut = data.draw(st.integers(1, groom.strand_count)) if groom.strand_count > 1 else 1
    strands = np.arange(groom.strand_count)
    parts = [groom.take(chosen) for chosen in (strands[:cut], strands[cut:]) if len(chosen)]
    assert_same(concatenate(parts), groom)


@settings(deadline=None, max_examples=50)
@given(grooms, st.randoms(use_true_random=False))
def test_a_permutation_can_be_undone(groom, random):
    order = list(range(groom.strand_count))
    random.shuffle(order)
    assert_same(groom.take(order).take(np.argsort(order)), groom)


@settings(deadline=None, max_examples=50)
@given(grooms)
def test_strands_given_one_by_one_are_the_same_groom(groom):
    strands = [groom.points[a:b] for a, b in zip(groom.offsets[:-1], groom.offsets[1:], strict=True)]
    rebuilt = Groom.from_strands(strands, strand=groom.strand, vertex=groom.vertex, group_names=groom.group_names)
    assert_same(rebuilt, groom)
