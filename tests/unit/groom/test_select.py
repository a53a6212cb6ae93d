"""Guide selection: known families are found, rare kinds are kept, and nothing depends on luck."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mane.geometry.index import PointIndex
from mane.groom import _kernels_select as kernels
from mane.groom import select
from mane.groom.groom import Groom
from mane.groom.select import METHODS, root_distances, select_guides, shape_distances

VERTICES = 12


def dome(strands: int) -> np.ndarray:
    """Roots spread evenly over a half sphere of 0.1 m, shape (S, 3)."""
    height = 1 - (np.arange(strands) + 0.5) / strands
    turn = np.pi * (1 + 5**0.5) * np.arange(strands)
    across = np.sqrt(1 - height**2)
    return 0.1 * np.stack([across * np.cos(turn), height, across * np.sin(turn)], axis=1)


def helices(roots: np.ndarray, length, radius, turns, phase) -> np.ndarray:
    """Helices about the outward direction, shape (S, V, 3); parameters per strand or for all."""
    count = len(roots)
    length, radius, turns, phase = (np.broadcast_to(v, count)[:, None, None] for v in (length, radius, turns, phase))
    out = roots / np.linalg.norm(roots, axis=1, keepdims=True)
    side = np.cross(out, [0.3, 0.2, 0.9])
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    other = np.cross(out, side)
    share = np.linspace(0, 1, VERTICES)[None, :, None]
    angle = 2 * np.pi * turns * share + phase
    curl = np.cos(angle) * side[:, None] + np.sin(angle) * other[:, None]
    return roots[:, None] + share * (length * out[:, None] + radius * curl)


def curls(strands: int = 1500, seed: int = 0, wisps: int = 100) -> Groom:
    """Short hair in front, long behind, in wisps whose strands have nearly the same curl."""
    rng = np.random.default_rng(seed)
    roots = dome(strands)
    wisp = PointIndex(roots[rng.choice(strands, min(wisps, strands), replace=False)]).nearest(roots)[1][:, 0]

    def shared(low: float, high: float, noise: float) -> np.ndarray:
        return rng.uniform(low, high, strands)[wisp] * (1 + noise * rng.standard_normal(strands))

    length = np.where(roots[:, 2] > 0.03, 0.06, 0.2) * shared(0.8, 1.2, 0.05)
    points = helices(roots, length, shared(0.005, 0.03, 0.1), shared(1, 3, 0.05), shared(0, 6.28, 0.05))
    return Groom.from_uniform(points, strand={"id": np.arange(strands)})


FAMILIES = 6


def families(strands: int = 600, seed: int = 0) -> tuple[Groom, np.ndarray]:
    """Strands of six shapes, some frequent and some rare, all over a small flat patch of skin; and each one's shape."""
    rng = np.random.default_rng(seed)
    # The rarest are still worth more to the sum of distances than a second guide for the root term of the largest.
    share = np.array([0.4, 0.25, 0.15, 0.1, 0.05, 0.05])
    family = rng.permutation(np.repeat(np.arange(FAMILIES), np.round(share * strands).astype(int)))
    shapes = helices(np.tile([[0.0, 0.0, 1.0]], (FAMILIES, 1)), 0.2, np.linspace(0.01, 0.06, FAMILIES), 2, 0)
    shapes -= shapes[:, :1]
    roots = np.concatenate([rng.uniform(0, 0.02, (len(family), 2)), np.zeros((len(family), 1))], axis=1)
    noise = 1e-4 * rng.standard_normal((len(family), VERTICES, 3))
    noise[:, 0] = 0
    return Groom.from_uniform(roots[:, None] + shapes[family] + noise), family


# -- quality -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_every_family_of_shapes_is_found(seed):
    groom, family = families(seed=seed)
    guides = select_guides(groom, FAMILIES, seed=seed)
    assert sorted(family[guides.source]) == list(range(FAMILIES))
    # Members of a family differ by noise of 0.1 mm per axis in two strands: sqrt(2) * sqrt(8 / pi) * 0.1 = 0.23 mm.
    assert shape_distances(groom, guides).max() < 4e-4


def test_random_and_farthest_miss_families():
    """What makes the test above worth something."""
    groom, family = families()
    for method in ("random", "farthest"):
        found = [len(set(family[select_guides(groom, FAMILIES, method=method, seed=s).source])) for s in range(10)]
        assert np.mean(found) < FAMILIES - 1


def test_shape_beats_the_simple_methods_and_still_covers_the_scalp():
    groom = curls()

    def mean_of(measure, method):
        return np.mean([measure(groom, select_guides(groom, 32, method=method, seed=seed)) for seed in range(4)])

    def shape(groom, guides):
        return shape_distances(groom, guides).mean()

    simple = min(mean_of(shape, "random"), mean_of(shape, "farthest"))
    assert mean_of(shape, "shape") < 0.85 * simple
    assert mean_of(lambda *a: root_distances(*a).mean(), "shape") < 1.25 * mean_of(
        lambda *a: root_distances(*a).mean(), "farthest"
    )
    assert mean_of(lambda *a: root_distances(*a).max(), "shape") < mean_of(
        lambda *a: root_distances(*a).max(), "random"
    )


def test_the_one_guide_is_the_exact_medoid():
    groom = curls(60)
    places = select._places(groom)
    sums = np.linalg.norm(places[:, None] - places[None], axis=3).sum(axis=(1, 2))
    np.testing.assert_array_equal(select_guides(groom, 1).source, [sums.argmin()])


def test_guides_are_strands_of_the_groom():
    groom = curls()
    for method in ("shape", "farthest", "random"):
        guides = select_guides(groom, 20, method=method)
        assert len(np.unique(guides.source)) == guides.count == 20
        assert (np.diff(guides.source) > 0).all()
        np.testing.assert_array_equal(guides.rest, groom.as_uniform()[guides.source])
        np.testing.assert_array_equal(guides.strands.strand["id"], guides.source)


# -- what must not be forgotten ----------------------------------------------------------------------------------------


def test_every_group_has_a_guide_however_small():
    groom = curls()
    group = np.zeros(groom.strand_count, np.int32)
    group[7], group[900:903], group[1000:1300] = 41, 5, -3
    guides = select_guides(groom.with_strand(group_id=group), 8)
    assert set(guides.strands.strand["group_id"]) == {41, 5, -3, 0}


def test_every_length_class_has_a_guide_however_small():
    groom = curls()
    points = groom.as_uniform().copy()
    points[3] = points[3, :1] + 0.1 * (points[3] - points[3, :1])
    trimmed = Groom.from_uniform(points)
    # The classes are halvings of the longest strand's length; only this strand is in the last one.
    assert np.flatnonzero(trimmed.lengths < trimmed.lengths.max() / 8).tolist() == [3]
    assert 3 in select_guides(trimmed, 8).source


def test_groups_come_first_where_guides_are_scarce():
    groom = curls()
    group = np.arange(groom.strand_count) % 6
    guides = select_guides(groom.with_strand(group_id=group), 6)
    assert set(guides.strands.strand["group_id"]) == set(range(6))


def test_a_sample_of_a_large_groom_keeps_the_rare_ones(monkeypatch):
    monkeypatch.setattr(select, "SEARCH_STRANDS", (100, 100))
    group = np.zeros(1500, np.int32)
    group[77] = 1
    guides = select_guides(curls().with_strand(group_id=group), 12)
    assert 77 in guides.source


def test_a_lone_tuft_gets_a_guide():
    """Two strands 20 cm off the head, like a thousand others in shape: worth nothing to the sum of distances."""
    groom = curls()
    points = groom.as_uniform().copy()
    points[[10, 11]] += [0.3, 0, 0]
    moved = Groom.from_uniform(points)
    assert set(select_guides(moved, 24).source) & {10, 11}


# -- nothing depends on luck -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["shape", "farthest", "random"])
def test_seed_decides(method):
    groom = curls(400)
    first, again, other = (select_guides(groom, 16, method=method, seed=seed).source for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert set(first) != set(other)


@pytest.mark.parametrize("method", ["shape", "farthest", "random"])
def test_order_of_strands_does_not_matter(method):
    groom = curls(400)
    order = np.random.default_rng(8).permutation(groom.strand_count)
    shuffled = select_guides(groom.take(order), 16, method=method)
    np.testing.assert_array_equal(np.sort(order[shuffled.source]), select_guides(groom, 16, method=method).source)


def test_thread_count_does_not_matter(on_threads):
    groom = curls(3000)
    on_threads(lambda: select_guides(groom, 24))


def test_identical_strands_are_chosen_once_each():
    groom = Groom.from_uniform(np.tile(np.linspace(0, 1, 4)[:, None] * [0, 1.0, 0], (9, 1, 1)))
    for method in ("shape", "farthest", "random"):
        assert len(np.unique(select_guides(groom, 5, method=method).source)) == 5


@given(st.integers(1, 40), st.integers(0, 10), st.floats(1e-4, 1e4))
@settings(max_examples=25, deadline=None)
def test_any_count_and_any_scale(count, seed, scale):
    """Selection knows no units: a groom in kilometres has the same guides, as far as float32 can tell."""
    groom = curls(40, seed)
    guides = select_guides(groom.with_points(groom.points * np.float32(scale)), count, seed=seed)
    assert len(np.unique(guides.source)) == count


# -- methods and measures with a known answer --------------------------------------------------------------------------


def test_farthest_on_a_line():
    x = np.arange(9.0)
    points = np.stack([np.stack([x, 0 * x, 0 * x], axis=1), np.stack([x, 0 * x + 1, 0 * x], axis=1)], axis=1)
    groom = Groom.from_uniform(points)
    for seed in range(5):
        chosen = set(select_guides(groom, 3, method="farthest", seed=seed).source)
        assert {0, 8} & chosen
        assert root_distances(groom, select_guides(groom, 3, method="farthest", seed=seed)).max() <= 4


def test_marked_takes_what_the_artist_marked():
    marks = np.zeros(30, bool)
    marks[[3, 17, 20]] = True
    groom = curls(30).with_strand(is_guide=marks)
    np.testing.assert_array_equal(select_guides(groom, method="marked").source, [3, 17, 20])
    np.testing.assert_array_equal(select_guides(groom, 3, method="marked").source, [3, 17, 20])


def test_shape_distance_of_two_straight_strands():
    """Points at the share k/n of two strands of length L at an angle a are 2 L k/n sin(a/2) apart."""
    share, length, angle, samples = np.linspace(0, 1, 7)[:, None], 0.3, 0.7, 10
    one = length * share * [1.0, 0, 0]
    two = length * share * [np.cos(angle), np.sin(angle), 0] + [5.0, 0, 0]
    groom = Groom.from_uniform(np.stack([one, two]))
    guides = select_guides(groom.take([0]), 1)
    expected = 2 * length * np.sin(angle / 2) * (samples + 1) / (2 * samples)
    # The shifted root rounds to 5e-7 relative to a position of 5 m.
    np.testing.assert_allclose(shape_distances(groom, guides, samples), [0, expected], atol=2e-6)


def test_empty_slots_are_no_guides():
    groom = curls(50)
    guides = select_guides(groom, 3)
    np.testing.assert_array_equal(shape_distances(groom, guides.with_capacity(8)), shape_distances(groom, guides))
    np.testing.assert_array_equal(root_distances(groom, guides.with_capacity(8)), root_distances(groom, guides))


def test_ragged_grooms_are_compared_by_arc_length():
    """The same curves with other vertices have the same guides."""
    line = np.linspace(0, 0.2, 9)[:, None]
    rng = np.random.default_rng(2)
    directions = rng.standard_normal((40, 3))
    fine = [root + line * d for root, d in zip(dome(40), directions, strict=True)]
    ragged = [curve[::2] if i % 2 else curve for i, curve in enumerate(fine)]
    chosen = select_guides(Groom.from_strands(ragged), 6, vertices=5)
    np.testing.assert_array_equal(chosen.source, select_guides(Groom.from_strands(fine), 6).source)
    assert chosen.vertex_count == 5


# -- kernels against plain sums ----------------------------------------------------------------------------------------


def random_places(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, 4, 3)).astype(np.float32)


def plain_distances(strands: np.ndarray, places: np.ndarray) -> np.ndarray:
    return np.linalg.norm(strands[:, None].astype(np.float64) - places[None], axis=3).sum(axis=2)


def test_nearest_places_match_plain_sums():
    strands, places = random_places(700), random_places(9, 1)
    label, distance = np.empty(700, np.int64), np.empty(700, np.float32)
    kernels.nearest_places(select._side_by_side(strands), places, label, distance)
    expected = plain_distances(strands, places)
    np.testing.assert_array_equal(label, expected.argmin(axis=1))
    np.testing.assert_allclose(distance, expected.min(axis=1), rtol=1e-6)


def test_changes_are_those_of_every_exchange_done_by_hand():
    strands, places, entering = random_places(200), random_places(5, 1), random_places(1, 2)
    distance = plain_distances(strands, places)
    here = plain_distances(strands, entering)[:, 0]
    d1, d2 = np.sort(distance, axis=1).astype(np.float32)[:, :2].T
    loss, change = np.empty(5), np.empty(5)
    kernels.fill_losses(distance.argmin(axis=1), d1, d2, loss)
    kernels.fill_changes(here.astype(np.float32), distance.argmin(axis=1), d1, d2, loss, change)
    before = distance.min(axis=1).sum()
    by_hand = [np.minimum(np.delete(distance, k, axis=1).min(axis=1), here).sum() - before for k in range(5)]
    # 200 strands at distances of some 8, each rounded to float32.
    np.testing.assert_allclose(change, by_hand, atol=200 * 8 * 1.2e-7)


def test_swaps_lower_the_total_until_none_of_the_pool_helps():
    strands = random_places(150)
    medoid = np.arange(6)
    distance = plain_distances(strands, strands)
    start = distance[:, medoid].min(axis=1).sum()
    kinds = np.zeros((1, 150), np.int64)
    features = select._side_by_side(strands)
    for _ in range(10):
        kernels.swap_medoids(features, strands, kinds, features[:, :, medoid].copy(), medoid)
    total = distance[:, medoid].min(axis=1).sum()
    assert total < start
    for entering in range(150):
        for leaving in range(6):
            other = np.where(np.arange(6) == leaving, entering, medoid)
            assert distance[:, other].min(axis=1).sum() > total * (1 - 1e-6)


def test_swaps_keep_every_kind():
    strands = random_places(150)
    kinds = np.stack([np.arange(150) % 5, np.minimum(np.arange(150), 1)])
    medoid = np.arange(5)
    features = select._side_by_side(strands)
    kernels.swap_medoids(features, strands, kinds, features[:, :, medoid].copy(), medoid)
    assert set(kinds[0, medoid]) == set(range(5))
    assert set(kinds[1, medoid]) == {0, 1}


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, -3, 51, None])
@pytest.mark.parametrize("method", ["shape", "farthest", "random"])
def test_impossible_counts_are_refused(count, method):
    with pytest.raises(ValueError, match=rf"n: must be between 1 and 50 .*got {count}"):
        select_guides(curls(50), count, method=method)


def test_too_few_guides_for_the_groups():
    groom = curls(50).with_strand(group_id=np.arange(50) % 7)
    with pytest.raises(ValueError, match="n: must be at least 7, one for each group, got 6"):
        select_guides(groom, 6)


def test_unknown_method_names_the_known_ones():
    with pytest.raises(ValueError, match=f"method: 'shapes' is unknown; choose from {', '.join(sorted(METHODS))}"):
        select_guides(curls(50), 5, method="shapes")


def test_nothing_marked():
    with pytest.raises(ValueError, match=r"must have strands marked as guides .*got none"):
        select_guides(curls(50), method="marked")


def test_marked_disagrees_with_the_count():
    groom = curls(50).with_strand(is_guide=np.arange(50) < 4)
    with pytest.raises(ValueError, match=r"n: must be left out or 4 .*got 5"):
        select_guides(groom, 5, method="marked")
