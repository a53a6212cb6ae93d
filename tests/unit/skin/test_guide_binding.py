"""Which guides carry a hair: triangles around roots, and weights that change without a jump."""

import numpy as np
import pytest
from scipy.spatial import Delaunay
from skin_frames import curls, frame_of, guides_of, reordered

from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.groom.select import GuideNotice
from mane.skin.adaptive.skin import AdaptiveSkin
from mane.skin.binding import bind_guides, canonical_order
from mane.skin.bound import unreal_attributes
from mane.skin.bundles import LENGTH_RANGE, make_bundles
from mane.skin.linear.skin import LinearSkin


def standing(roots, length=0.1, vertices=4, **attributes) -> Groom:
    """Straight hair that stands on the ground."""
    roots = np.asarray(roots, np.float64)
    rise = np.linspace(0, 1, vertices)[:, None] * np.asarray(length).reshape(-1, 1, 1) * [0, 1, 0]
    return Groom.from_uniform(roots[:, None] + rise, **attributes)


def flat(xz) -> np.ndarray:
    xz = np.asarray(xz, np.float64)
    return np.stack([xz[:, 0], np.zeros(len(xz)), xz[:, 1]], axis=1)


def test_on_flat_ground_the_triangles_are_those_of_delaunay():
    rng = np.random.default_rng(1)
    own, roots = rng.random((40, 2)), rng.uniform(0.25, 0.75, (300, 2))
    binding = bind_guides(standing(flat(roots)), Guides.from_groom(standing(flat(own))))
    mesh = Delaunay(own.astype(np.float32))
    expected = mesh.simplices[mesh.find_simplex(roots.astype(np.float32))]
    np.testing.assert_array_equal(np.sort(binding.guides, axis=1), np.sort(expected, axis=1))
    where = np.einsum("sk,skd->sd", binding.weights, own[binding.guides])
    np.testing.assert_allclose(where, roots, atol=2e-6)  # barycentric: float32 weights of places within 1 m


@pytest.mark.parametrize(("method", "count"), [("triangle", 3), ("single", 1), ("nearest", 4), ("nearest", 8)])
def test_weights_are_shares(method, count):
    groom = curls(200, 5)
    binding = bind_guides(groom, guides_of(groom, 20), method, count)
    assert binding.guides_per_hair == count
    assert (binding.weights >= 0).all()
    np.testing.assert_allclose(binding.weights.sum(axis=1), 1, atol=3e-7)


@pytest.mark.parametrize(("method", "count"), [("triangle", 3), ("single", 1), ("nearest", 4)])
def test_a_guide_carries_itself_alone(method, count):
    groom = curls(200, 5)
    guides = guides_of(groom, 20)
    binding = bind_guides(groom, guides, method, count)
    own = np.where(binding.guides == np.arange(20)[:, None].repeat(10, 0), binding.weights, 0).sum(axis=1)
    np.testing.assert_allclose(own[guides.source], 1, atol=1e-6)


@pytest.mark.parametrize(("method", "count"), [("triangle", 3), ("nearest", 4)])
def test_weights_change_without_a_jump_along_a_walk(method, count):
    rng = np.random.default_rng(2)
    guides = Guides.from_groom(standing(flat(rng.random((30, 2)))))
    steps = 4000
    walk = np.stack([np.linspace(-0.2, 1.2, steps), 0.4 + 0.1 * np.sin(np.linspace(0, 9, steps))], axis=1)
    binding = bind_guides(standing(flat(walk)), guides, method, count)
    dense = np.zeros((steps, 30))
    for k in range(count):
        np.add.at(dense, (np.arange(steps), binding.guides[:, k]), binding.weights[:, k])
    # A step is 0.5 mm and triangles are at least some cm high: weights change by a few per cent of 1 at most. A jump
    # from one triangle to another would be of the order of 1.
    assert np.abs(np.diff(dense, axis=0)).max() < 0.1


def test_beyond_the_outermost_guides_the_nearest_edge_counts():
    guides = Guides.from_groom(standing(flat([[0, 0], [1, 0], [0, 1]])))
    binding = bind_guides(standing(flat([[0.25, -3.0], [-2.0, -2.0]])), guides)
    dense = np.zeros((2, 3))
    for k in range(3):
        np.add.at(dense, (np.arange(2), binding.guides[:, k]), binding.weights[:, k])
    np.testing.assert_allclose(dense, [[0.75, 0.25, 0], [1, 0, 0]], atol=1e-6)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("method", ["triangle", "single", "nearest"])
def test_a_handful_of_guides_is_enough(method, count):
    groom = curls(20, 5)
    binding = bind_guides(groom, guides_of(groom, count), method)
    assert (binding.guides < count).all()
    np.testing.assert_allclose(binding.weights.sum(axis=1), 1, atol=3e-7)


def test_guides_in_one_place_or_on_one_line_are_no_trouble():
    for own in ([[0, 0]] * 5, [[x, 0] for x in range(5)]):
        binding = bind_guides(standing(flat([[0.5, 0.5]])), Guides.from_groom(standing(flat(own))))
        assert np.isfinite(binding.weights).all()
        np.testing.assert_allclose(binding.weights.sum(axis=1), 1, atol=3e-7)


@pytest.mark.parametrize("method", ["triangle", "single", "nearest"])
def test_the_numbers_of_guides_do_not_matter(method):
    groom = curls(300, 5, seed=3)
    guides = guides_of(groom, 30)
    order = np.random.default_rng(0).permutation(30)
    binding, other = bind_guides(groom, guides, method), bind_guides(groom, reordered(guides, order), method)
    np.testing.assert_array_equal(binding.guides, order[other.guides])
    np.testing.assert_array_equal(binding.weights, other.weights)


def test_empty_slots_carry_nothing():
    groom = curls(100, 5)
    guides = guides_of(groom, 10).with_capacity(15)
    assert (bind_guides(groom, guides).guides < 10).all()
    assert len(canonical_order(guides)) == 10


def test_a_hair_takes_guides_of_its_own_group_if_there_are():
    groom = curls(90, 5).with_strand(group_id=np.arange(90) % 3)
    own = groom.take(np.arange(0, 90, 4))
    guides = Guides.from_groom(own.take(own.strand["group_id"] != 2))
    said = "^guides: none is of group 2, whose 30 hairs hang on those of other groups; choose more guides"
    with pytest.warns(GuideNotice, match=said):
        binding = bind_guides(groom, guides)
    with pytest.warns(GuideNotice, match=said):
        assert np.isfinite(AdaptiveSkin(groom, guides)(frame_of(guides))).all()
    groups = guides.strands.strand["group_id"][binding.guides]
    for group in (0, 1):
        assert (groups[groom.strand["group_id"] == group] == group).all()
    assert len(np.unique(groups[groom.strand["group_id"] == 2])) == 2


def test_unknown_methods_and_counts_are_refused():
    groom = curls(10, 5)
    with pytest.raises(ValueError, match="binding: 'tetra' is unknown"):
        bind_guides(groom, guides_of(groom, 2), "tetra")
    with pytest.raises(ValueError, match="count: must be from 1 to 8, got 9"):
        bind_guides(groom, guides_of(groom, 2), "nearest", 9)


def test_the_binding_is_exported_as_unreal_wants_it():
    groom = curls(60, 5)
    attributes = unreal_attributes(LinearSkin(groom, guides_of(groom, 12), binding="nearest", count=5))
    assert attributes["closest_guides"].shape == attributes["guide_weights"].shape == (60, 3)
    assert attributes["closest_guides"].dtype == np.int32
    assert (np.diff(attributes["guide_weights"], axis=1) <= 0).all()
    np.testing.assert_allclose(attributes["guide_weights"].sum(axis=1), 1, atol=3e-7)
    groom.with_strand(**attributes)


# -- places on the guides --------------------------------------------------------------------------------------------


def places(groom, guides, method="single"):
    return make_bundles(groom, guides, bind_guides(groom, guides, method))


def test_a_hair_beside_a_straight_guide_follows_the_places_at_its_height():
    guides = Guides.from_groom(standing([[0, 0, 0]], length=0.1, vertices=11))
    bundles = places(standing([[0.01, 0, 0]], length=0.05, vertices=6), guides)
    np.testing.assert_allclose(bundles.parameter[0, 0], np.arange(6), atol=1e-5)  # a vertex every cm on both


def test_a_hair_longer_than_its_guide_stays_at_the_tip():
    guides = Guides.from_groom(standing([[0, 0, 0]], length=0.1, vertices=11))
    bundles = places(standing([[0.01, 0, 0]], length=0.2, vertices=5), guides)
    np.testing.assert_allclose(bundles.parameter[0, 0], [0, 5, 10, 10, 10], atol=1e-5)


def test_a_hair_that_winds_runs_slower_than_its_straight_guide():
    """A coil of slope 1/2 rises half of what it is long, and so do its closest places."""
    t = np.linspace(0, 8 * np.pi, 65)
    radius, pitch = 0.002, 0.002 / np.sqrt(3)  # arc length per radian 2 pitch
    coil = Groom.from_uniform(np.stack([radius * np.cos(t), pitch * t, radius * np.sin(t)], axis=1)[None])
    height = pitch * t[-1]
    bundles = places(coil, Guides.from_groom(standing([[0, 0, 0]], length=height, vertices=9)))
    expected = np.linspace(0, 8, 65)
    # The search reaches 0.3 of the guide to either side, which the last third of this coil exceeds.
    np.testing.assert_allclose(bundles.parameter[0, 0, :20], expected[:20], atol=0.3)
    assert (np.diff(bundles.parameter[0, 0]) >= 0).all()


def test_places_rise_from_the_root_to_at_most_the_tip():
    groom = curls(300, 12)
    guides = guides_of(groom, 20, vertices=9)
    bundles = places(groom, guides, "triangle")
    assert (bundles.parameter[:, :, 0] == 0).all()
    assert (np.diff(bundles.parameter, axis=2) >= 0).all()
    assert bundles.parameter.max() <= 8


def test_hairs_of_a_bundle_share_guides_and_are_about_as_long():
    groom = curls(300, 6)
    guides = guides_of(groom, 10)
    binding = bind_guides(groom, guides)
    bundles = make_bundles(groom, guides, binding)
    np.testing.assert_array_equal(bundles.guide[bundles.of_hair], binding.guides)
    for bundle in range(bundles.bundle_count):
        lengths = groom.lengths[bundles.of_hair == bundle]
        assert lengths.max() <= LENGTH_RANGE * lengths.min() * (1 + 1e-6)
    order, starts = bundles.by_bundle()
    np.testing.assert_array_equal(np.sort(order), np.arange(300))
    np.testing.assert_array_equal(bundles.of_hair[order], np.repeat(np.arange(bundles.bundle_count), np.diff(starts)))


def test_rounding_does_not_move_hairs_along_guides_that_are_hairs_themselves():
    """A guide chosen from the groom ends with the hair that it is; scaled by a few last digits, places stay."""
    groom = styles.make("curly", strands=400, vertices=16, seed=2)
    places = []
    for scale in (1.0, 1 + 3e-7, 1 - 3e-7):
        scaled = groom.with_points(groom.points * np.float32(scale))
        guides = Guides.chosen(scaled, np.arange(0, 400, 8))
        places.append(make_bundles(scaled, guides, bind_guides(scaled, guides, "single", 1)).parameter)
    for other in places[1:]:
        np.testing.assert_allclose(other, places[0], atol=1e-4)  # of a vertex; where the last digit decided, it was 0.3


def clumped(seed=0):
    """Hairs in clumps, some of none, of two groups that have clumps of the same numbers."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-0.1, 0.1, (60, 4, 3)).astype(np.float32)
    clump = np.floor(30 * (points[:, 0, 0] + 0.1)).astype(np.int32)
    clump[::7] = -1
    group = (points[:, 0, 1] > 0).astype(np.int32)
    return Groom.from_uniform(points, strand={"clump_id": clump, "group_id": group})


def test_hairs_of_a_clump_share_the_triangle_of_the_one_in_its_middle():
    groom = clumped()
    guides = Guides.chosen(groom, np.arange(0, 60, 4))
    each, bound = bind_guides(groom, guides, "triangle"), bind_guides(groom, guides, "clump")
    clump, group, roots = groom.strand["clump_id"], groom.strand["group_id"], groom.roots.astype(np.float64)
    for s in range(60):
        own = np.flatnonzero((clump == clump[s]) & (group == group[s])) if clump[s] >= 0 else np.array([s])
        off = np.linalg.norm(roots[own] - roots[own].mean(axis=0), axis=1)
        middle = own[off.argmin()]
        np.testing.assert_array_equal(bound.guides[s], each.guides[middle])
        np.testing.assert_array_equal(bound.weights[s], each.weights[middle])
    assert len(np.unique(bound.weights, axis=0)) < len(np.unique(each.weights, axis=0))


def test_clumps_do_not_depend_on_the_order_of_the_hairs():
    groom = clumped()
    guides = Guides.chosen(groom, np.arange(0, 60, 4))
    order = np.random.default_rng(1).permutation(60)
    first, second = bind_guides(groom, guides, "clump"), bind_guides(groom.take(order), guides, "clump")
    np.testing.assert_array_equal(first.guides[order], second.guides)
    np.testing.assert_array_equal(first.weights[order], second.weights)


def test_binding_by_clumps_needs_clumps():
    groom = Groom.from_uniform(np.random.default_rng(0).random((5, 4, 3)).astype(np.float32))
    with pytest.raises(ValueError, match="binding: 'clump' needs a groom with a strand attribute 'clump_id'"):
        bind_guides(groom, Guides.chosen(groom, [0, 1, 2]), "clump")
