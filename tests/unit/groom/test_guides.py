"""Guides: slots that know where they came from, and refuse what a solver could not use."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.resample import resample


def uniform_groom(strands: int = 6, vertices: int = 5) -> Groom:
    rng = np.random.default_rng(3)
    return Groom.from_uniform(
        rng.standard_normal((strands, vertices, 3)),
        strand={"group_id": np.arange(strands), "width": np.full(strands, 1e-4)},
        vertex={"moisture": rng.random(strands * vertices, np.float32)},
        group_names={0: "fringe"},
    )


def ragged_groom() -> Groom:
    rng = np.random.default_rng(4)
    return Groom.from_strands([rng.standard_normal((count, 3)) for count in (3, 9, 4, 20)])


def test_imported_strands_become_guides_as_they_are():
    groom = uniform_groom()
    guides = Guides.from_groom(groom)
    assert guides.strands is groom
    assert (guides.count, guides.capacity, guides.vertex_count) == (6, 6, 5)
    assert (guides.source == -1).all()
    assert guides.active.all()
    assert (guides.weight == 1).all()
    np.testing.assert_array_equal(guides.rest, groom.as_uniform())
    np.testing.assert_array_equal(guides.roots, groom.roots)


def test_ragged_imports_are_resampled():
    groom = ragged_groom()
    assert Guides.from_groom(groom).vertex_count == 16
    cut = Guides.from_groom(groom, vertices=7)
    np.testing.assert_array_equal(cut.rest, resample(groom, vertices=7).groom.as_uniform())


def test_chosen_strands_know_where_they_came_from():
    groom = uniform_groom()
    guides = Guides.chosen(groom, [4, 1])
    np.testing.assert_array_equal(guides.source, [4, 1])
    np.testing.assert_array_equal(guides.rest, groom.as_uniform()[[4, 1]])
    np.testing.assert_array_equal(guides.strands.strand["group_id"], [4, 1])
    assert guides.strands.group_names == {0: "fringe"}


def test_chosen_takes_a_mask():
    groom = uniform_groom()
    by_mask = Guides.chosen(groom, np.arange(6) % 2 == 1, vertices=9)
    np.testing.assert_array_equal(by_mask.source, [1, 3, 5])
    assert by_mask.vertex_count == 9


@pytest.mark.parametrize("none", [[], np.zeros(6, np.bool_)])
def test_no_guide_at_all_is_refused_by_name(none):
    with pytest.raises(ValueError, match=r"^guides: must be at least one strand, got none; mane.select_guides"):
        Guides.chosen(uniform_groom(), none)


def test_choice_from_a_ragged_groom_has_the_default_count_even_if_the_chosen_are_alike():
    # Otherwise the vertex count would depend on which strands a seed happens to pick.
    assert Guides.chosen(ragged_groom(), [1]).vertex_count == 16


def test_capacity_adds_empty_slots():
    guides = Guides.chosen(uniform_groom(), [4, 1]).with_capacity(5)
    assert (guides.count, guides.capacity) == (2, 5)
    np.testing.assert_array_equal(guides.active, [True, True, False, False, False])
    np.testing.assert_array_equal(guides.weight, [1, 1, 0, 0, 0])
    np.testing.assert_array_equal(guides.source, [4, 1, -1, -1, -1])
    assert np.isfinite(guides.rest).all()
    assert len(guides.strands.vertex["moisture"]) == 5 * guides.vertex_count


def test_empty_slots_can_be_dropped_again():
    guides = Guides.chosen(uniform_groom(), [4, 1])
    assert guides.without_empty_slots() is guides
    back = guides.with_capacity(5).without_empty_slots()
    np.testing.assert_array_equal(back.rest, guides.rest)
    np.testing.assert_array_equal(back.source, guides.source)
    assert back.capacity == back.count == 2


def test_guides_are_frozen():
    guides = Guides.from_groom(uniform_groom())
    with pytest.raises(FrozenInstanceError):
        guides.weight = np.zeros(6)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"strands": ragged_groom()}, r"guides\.strands: must have one vertex count.*3 to 20"),
        ({"source": np.arange(5)}, r"guides\.source: must have shape \(6,\), got \(5,\)"),
        ({"source": np.array([0, 1, -2, 3, 4, 5])}, r"guides\.source: .*got -2 in slot 2"),
        ({"weight": np.array([1, 1, 1, 1.5, 1, 1])}, r"guides\.weight: must be between 0 and 1, got 1\.5 in slot 3"),
        ({"weight": np.array([1, 1, 1, 1, np.nan, 1])}, r"guides\.weight: must be finite.*index 4"),
        ({"active": np.arange(6) > 0}, r"guides\.weight: must be 0 in an empty slot, got 1\.0 in slot 0"),
        ({"active": np.zeros(6, bool)}, r"guides\.active: must hold at least one guide, got 6 empty slots"),
    ],
)
def test_impossible_slots_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(Guides.from_groom(uniform_groom()), **change)


def test_capacity_cannot_shrink():
    with pytest.raises(ValueError, match=r"capacity: must be at least 6 .*got 5"):
        Guides.from_groom(uniform_groom()).with_capacity(5)
