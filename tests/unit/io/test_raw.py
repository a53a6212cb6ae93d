"""Strands as a file holds them, and what is said about them."""

import numpy as np
import pytest

from mane.io.raw import RawGroom


def line(length, points=4):
    return np.linspace([0, 0, 0], [0, length, 0], points)


def raw_of(strands, **rest):
    counts = [len(strand) for strand in strands]
    points = np.concatenate([np.zeros((0, 3)), *strands]).astype(np.float32)
    return RawGroom(points, np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]), **rest)


def test_a_sound_groom_has_no_problems():
    raw = raw_of([line(1), line(2, 7), line(3, 2)])
    assert raw.problems == ()
    np.testing.assert_allclose(raw.lengths, [1, 2, 3], rtol=1e-7)


def test_every_fault_is_counted_once_and_names_its_first_strand():
    broken = line(1)
    broken[2] = np.nan
    strands = [line(1), broken, line(1)[:1], np.zeros((3, 3)), line(1)[:0], line(1), broken, line(1e-4)]
    raw = raw_of(strands)
    found = {problem.kind: (problem.count, problem.first, problem.is_fatal) for problem in raw.problems}
    assert found == {
        "too few points": (2, 2, True),
        "not finite": (2, 1, True),
        "no length": (1, 3, True),
        "stub": (1, 7, False),
    }
    assert raw.problems[0].text == "2 of 8 strands have fewer than 2 points (first: strand 2)"
    assert np.isnan(raw.lengths).tolist() == [False, True, False, False, False, False, True, False]


def test_a_strand_of_huge_numbers_does_not_swallow_the_length_of_the_next():
    raw = raw_of([line(3e38), line(1e-3)])
    np.testing.assert_allclose(raw.lengths, [3e38, 1e-3], rtol=1e-6)


def test_first_point_that_is_not_finite_is_found_too():
    strand = line(1)
    strand[0] = np.inf
    assert np.isnan(raw_of([strand]).lengths[0])
    assert raw_of([strand]).problems[0].kind == "not finite"


def test_attributes_that_are_not_finite_are_fatal():
    raw = raw_of([line(1), line(1)], vertex={"width": np.asarray([1, 1, 1, 1, 1, np.nan, np.inf, 1])})
    assert raw.problems[0].text == "vertex attribute 'width' has 2 values that are NaN or infinite (first: vertex 5)"
    assert raw.problems[0].is_fatal


@pytest.mark.parametrize("strands", [[line(1)[:0]], [line(1)[:0], line(1)[:0]]])
def test_strands_without_any_point(strands):
    raw = raw_of(strands)
    assert raw.lengths.tolist() == [0.0] * len(strands)
    assert raw.problems[0].count == len(strands)
