"""Varying values: every way an artist may give one ends in the same (G, V) array, or in a message that helps."""

import numpy as np
import pytest

from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.strand.variation import Curve, Layout, Painted, Vary, part_of, resolve

STRANDS, VERTICES = 3, 5


def guides() -> Guides:
    """Three strands with uneven segments and maps of both scopes."""
    heights = np.array([0.0, 0.1, 0.4, 0.5, 1.0])
    points = np.zeros((STRANDS, VERTICES, 3))
    points[..., 1] = heights
    points[..., 0] = np.arange(STRANDS)[:, None]
    groom = Groom.from_uniform(
        points,
        strand={"age": np.array([1.0, 2.0, 3.0]), "color": np.ones((STRANDS, 3))},
        vertex={"wetness": np.linspace(0, 1, STRANDS * VERTICES)},
    )
    return Guides.from_groom(groom)


LAYOUT = Layout.of(guides())


def test_fractions_follow_arc_length():
    np.testing.assert_allclose(LAYOUT.fraction, np.tile([0.0, 0.1, 0.4, 0.5, 1.0], (STRANDS, 1)), atol=1e-7)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2.0, np.full((STRANDS, VERTICES), 2.0)),
        (np.array([1, 2, 3]), np.repeat([[1.0], [2.0], [3.0]], VERTICES, axis=1)),
        (np.arange(15.0).reshape(3, 5), np.arange(15.0).reshape(3, 5)),
        (lambda fraction: 1 - fraction, 1 - LAYOUT.fraction),
        (lambda fraction: 7, np.full((STRANDS, VERTICES), 7.0)),
        (Curve([0, 0.5], [4, 2]), np.tile([4, 3.6, 2.4, 2, 2], (STRANDS, 1))),
        ("age", np.repeat([[1.0], [2.0], [3.0]], VERTICES, axis=1)),
        ("wetness", np.linspace(0, 1, 15).reshape(3, 5)),
        (Painted("wetness", 0.5, 2.0), 0.5 + 1.5 * np.linspace(0, 1, 15).reshape(3, 5)),
        (Curve([0, 1], [0, 1]) * "age" * 2.0, 2 * LAYOUT.fraction * np.array([[1], [2], [3]])),
        (np.array([1.0, 2.0, 3.0]) * Curve([0], [2]), np.repeat([[2.0], [4.0], [6.0]], VERTICES, axis=1)),
        ("age" * Painted("age"), np.repeat([[1.0], [4.0], [9.0]], VERTICES, axis=1)),
    ],
)
def test_every_form_becomes_one_value_per_vertex(value, expected):
    values = resolve("radius", value, LAYOUT)
    np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-6)
    assert values.dtype == np.float64
    assert values.flags.c_contiguous


@pytest.mark.parametrize(
    "value",
    [
        2.0,
        np.array([1, 2, 3]),
        np.arange(15.0).reshape(3, 5),
        lambda fraction: 1 - fraction,
        "age",
        Painted("wetness", 0.5, 2.0),
        Vary(0.9, 1.1, seed=3) * np.array([1.0, 2.0, 3.0]) * Curve([0, 1], [0, 1]),
    ],
)
def test_a_part_of_the_strands_has_the_values_it_has_among_all(value):
    rows = slice(1, 3)
    part = part_of("radius", value, rows, (STRANDS, VERTICES))
    few = Layout.of(guides().strands.take([1, 2]))
    np.testing.assert_allclose(resolve("radius", part, few), resolve("radius", value, LAYOUT)[rows], rtol=1e-6)


def test_random_variation_is_per_strand_within_bounds_and_seeded():
    many = Layout(np.zeros((1000, 2)))
    values = resolve("radius", 2.0 * Vary(0.9, 1.1, seed=3), many)
    assert (values[:, 0] == values[:, 1]).all()
    assert values.min() >= 1.8
    assert values.max() <= 2.2
    # The mean of 1000 even draws has a standard error of 0.4 / sqrt(12 * 1000) = 0.0037; four of them.
    assert abs(values.mean() - 2.0) < 0.015
    np.testing.assert_array_equal(values, resolve("radius", 2.0 * Vary(0.9, 1.1, seed=3), many))
    assert (values != resolve("radius", 2.0 * Vary(0.9, 1.1, seed=4), many)).any()


def test_a_strand_keeps_its_random_factor_when_slots_are_added():
    few, many = (resolve("x", Vary(0, 1, seed=1), Layout(np.zeros((count, 2)))) for count in (10, 20))
    np.testing.assert_array_equal(few, many[:10])


def test_the_callers_function_cannot_spoil_the_layout():
    def spoil(fraction):
        fraction += 1
        return fraction

    before = LAYOUT.fraction.copy()
    resolve("x", spoil, LAYOUT)
    np.testing.assert_array_equal(LAYOUT.fraction, before)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("dampness", r"radius: the guides have no painted map 'dampness'; they have age, color, wetness"),
        ("color", r"radius: painted map 'color' must hold one number each, got \(3,\)"),
        (np.ones(5), r"radius: an array must have shape \(3,\) \(per strand\) or \(3, 5\) \(per vertex\), got \(5,\)"),
        (lambda fraction: fraction[0], r"radius: its function .* must return one value or shape \(3, 5\), got \(5,\)"),
        (None, r"radius: must be a number, a curve, an array .* got NoneType None"),
        (np.array([1, np.nan, 1]), r"radius: must be finite, got nan at strand 1, vertex 0"),
        (Curve([0, 1], [1, -0.5]), r"radius: must be above 0, got -0.5 at strand 0, vertex 4"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(value, message):
    with pytest.raises(ValueError, match=message):
        resolve("radius", value, LAYOUT, above=0)


def test_bounds_name_the_first_offender():
    with pytest.raises(ValueError, match=r"weight: must be at most 1, got 2 at strand 1, vertex 0"):
        resolve("weight", "age", LAYOUT, at_least=0, at_most=1)
    with pytest.raises(ValueError, match=r"weight: must be at least 2, got 1 at strand 0, vertex 0"):
        resolve("weight", "age", LAYOUT, at_least=2)


def test_points_alone_have_no_painted_maps():
    bare = Layout.of(guides().rest)
    with pytest.raises(ValueError, match=r"radius: painted map 'age' needs guides with attributes, got points alone"):
        resolve("radius", "age", bare)


def test_maps_must_belong_to_the_same_strands():
    layout = Layout.with_maps(guides().rest, guides())
    np.testing.assert_array_equal(resolve("x", "age", layout), resolve("x", "age", LAYOUT))
    with pytest.raises(ValueError, match=r"guides: must be those of the simulation, \(2, 5\) .* got \(3, 5\)"):
        Layout.with_maps(guides().rest[:2], guides())


@pytest.mark.parametrize("points", [[], [0.5, 0.2], [-0.1, 1], [0, 1.5], [0, 0]])
def test_a_curve_must_rise_from_root_to_tip(points):
    with pytest.raises(ValueError, match=r"curve points: must rise within 0 \(root\) to 1 \(tip\)"):
        Curve(points, np.ones(len(points)))
