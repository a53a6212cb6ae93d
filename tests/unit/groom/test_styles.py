"""Every style, the same battery; and what makes each of them that style."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mane.body.shapes import Sphere
from mane.groom import styles
from mane.groom.styles.head import load_head
from mane.measure.bench.styles import deepest

STRANDS = 400
ON_BUST = [name for name, style in styles.STYLES.items() if style.on_bust]
PROMISED = {
    "straight", "bob", "wavy", "curly", "coily", "ponytail", "mohawk", "braid", "brush", "carpet", "ball",
    "fox",
}  # fmt: skip


@pytest.fixture(scope="module")
def grooms():
    return {name: styles.make(name, strands=STRANDS, seed=5) for name in styles.STYLES}


def test_all_promised_styles_are_there():
    assert set(styles.STYLES) == PROMISED


@pytest.mark.parametrize("name", styles.STYLES)
def test_a_style_is_a_complete_groom(name, grooms):
    groom = grooms[name]
    assert groom.strand_count == STRANDS
    assert groom.is_uniform
    assert groom.vertex_counts[0] == styles.STYLES[name].vertices
    assert np.isfinite(groom.points).all()
    steps = np.linalg.norm(np.diff(groom.as_uniform(), axis=1), axis=-1)
    assert steps.min() > 1e-6, "no segment without length"
    assert (groom.vertex["width"] > 0).all()
    assert set(np.unique(groom.strand["group_id"])) <= set(groom.group_names)


@pytest.mark.parametrize("name", styles.STYLES)
def test_same_seed_same_bytes_other_seed_other_hair(name, grooms):
    again = styles.make(name, strands=STRANDS, seed=5)
    assert_array_equal(again.points, grooms[name].points)
    assert not np.array_equal(styles.make(name, strands=STRANDS, seed=6).points, again.points)


@pytest.mark.parametrize("name", ON_BUST)
def test_threads_change_no_byte(name, on_threads):
    on_threads(lambda: styles.make(name, strands=60, seed=5))


@pytest.mark.parametrize("name", styles.STYLES)
def test_a_single_strand_and_few_vertices_work(name):
    assert styles.make(name, strands=1, vertices=3).point_count == 3


@pytest.mark.parametrize("name", ON_BUST)
def test_roots_on_the_scalp_and_no_strand_through_the_head(name, grooms):
    head = load_head()
    roots = grooms[name].roots
    assert np.abs(head.field.sample(roots)).max() < 5e-4
    assert head.bust.hairline_distance(roots).min() > -0.004
    assert deepest(grooms[name]) < 5e-4


@pytest.mark.parametrize("name", ["straight", "wavy"])
def test_long_hair_falls_below_the_shoulders(name, grooms):
    shoulders = load_head().bust.mesh.points[:, 1][np.abs(load_head().bust.mesh.points[:, 0]) > 0.14].max()
    assert np.median(grooms[name].tips[:, 1]) < shoulders


def test_straight_hair_has_a_parting(grooms):
    """Beside the parting every strand falls to its own side."""
    groom = grooms["straight"]
    top = groom.roots[:, 1] > np.quantile(groom.roots[:, 1], 0.8)
    side = top & (np.abs(groom.roots[:, 0]) > 0.004) & (groom.roots[:, 2] > 0)
    assert side.sum() > 5
    assert (np.sign(groom.roots[side, 0]) == np.sign(groom.tips[side, 0])).all()


def test_hair_hangs_beside_the_face(grooms):
    """Between brow and chin, in front of the cheeks, there is no long hair."""
    bust = load_head().bust
    for name in ("straight", "wavy", "curly", "ponytail", "braid"):
        points = grooms[name].points
        before_face = (
            (np.abs(points[:, 0]) < 0.03)
            & (points[:, 1] < bust.brow[1])
            & (points[:, 1] > bust.chin[1])
            & (points[:, 2] > 0)
        )
        assert before_face.mean() < 0.002, name


def test_the_bob_is_cut_level_with_a_fringe_above_the_eyes(grooms):
    groom, bust = grooms["bob"], load_head().bust
    fringe = groom.strand["group_id"] == 1
    assert fringe.sum() > 10
    assert np.quantile(groom.tips[~fringe, 1], 0.05) > bust.chin[1] - 0.01
    assert abs(np.median(groom.tips[fringe, 1]) - bust.brow[1]) < 0.02


def test_hardly_two_curls_alike():
    """Root-aligned curls differ from the most similar other curl by many times a hair's width."""
    groom = styles.make("curly", strands=300, seed=1)
    shapes = groom.as_uniform() - groom.roots[:, None]
    distance = np.linalg.norm(shapes[:, None] - shapes[None], axis=-1).mean(axis=-1)
    np.fill_diagonal(distance, np.inf)
    assert np.quantile(distance.min(axis=1), 0.05) > 2e-3


def test_curls_wind_more_than_waves_and_waves_more_than_straight_hair(grooms):
    def turning(name):
        segments = np.diff(grooms[name].as_uniform(), axis=1)
        unit = segments / np.linalg.norm(segments, axis=-1, keepdims=True)
        cosine = (unit[:, 1:] * unit[:, :-1]).sum(-1).clip(-1, 1)
        return np.arccos(cosine).sum(axis=1).mean()

    assert turning("coily") > turning("curly") > 1.5 * turning("wavy") > 1.5 * turning("straight")


def test_the_mohawk_stands_up_and_its_sides_are_cropped(grooms):
    groom = grooms["mohawk"]
    crest = groom.strand["group_id"] == 0
    assert np.median(groom.lengths[crest]) > 10 * np.median(groom.lengths[~crest])
    assert np.abs(groom.roots[crest, 0]).max() < 0.02


def test_the_ponytail_passes_through_its_tie(grooms):
    """Somewhere along its length every strand is within a few centimetres of one point: the tie."""
    points = grooms["ponytail"].as_uniform()
    tie = load_head().bust.crown + np.array([0, -0.045, -0.098], np.float32)
    assert np.quantile(np.linalg.norm(points - tie, axis=-1).min(axis=1), 0.99) < 0.03


def test_the_braids_sets_cross_over_and_under():
    """Seen from behind, the middles of the three sets change order from left to right again and again."""
    groom = styles.make("braid", strands=600, vertices=96, seed=2)
    points, which = groom.as_uniform(), groom.strand["group_id"]
    assert groom.group_names == {0: "left", 1: "middle", 2: "right"}
    heights = np.linspace(-0.08, -0.18, 60)
    order = []
    for y in heights:
        middle = []
        for k in range(3):
            near = np.abs(points[which == k][..., 1] - y) < 0.004
            tail = near & (points[which == k][..., 2] < load_head().bust.nape[2])
            middle.append(points[which == k][tail][:, 0].mean())
        order.append(tuple(np.argsort(middle)))
    changes = sum(a != b for a, b in pairwise(order))
    assert changes >= 6
    assert len(set(order)) == 6, "three strands pass through all their orders"


def test_more_vertices_refine_the_same_strand():
    coarse, fine = (styles.make("straight", strands=50, vertices=v, seed=3) for v in (9, 17))
    gap = np.linalg.norm(fine.as_uniform()[:, ::2] - coarse.as_uniform(), axis=-1)
    assert np.median(gap) < 1e-3


def test_options_change_the_style():
    short, long = (styles.make("curly", strands=50, length=length) for length in (0.1, 0.3))
    assert short.lengths.mean() < 0.6 * long.lengths.mean()


def test_fur_follows_its_direction_field():
    mesh = Sphere((0, 0, 0), 0.1).mesh(64)
    coat = styles.fur(mesh, strands=2000, direction=(0, -1, 0), lift=0.2, clumping=0.0)
    lay = coat.tips - coat.roots
    flank = np.abs(coat.roots[:, 1]) < 0.05
    assert (lay[flank, 1] < 0).mean() > 0.99
    assert np.linalg.norm(coat.points, axis=1).min() > 0.1 * 0.995  # the mesh's facets lie inside the sphere
    around = np.cross([0, 1, 0], mesh.points)
    turned = styles.fur(mesh, strands=2000, direction=around, lift=0.2, clumping=0.0)
    swirl = np.cross([0, 1, 0], turned.roots)
    assert ((turned.tips - turned.roots) * swirl).sum(1)[flank].min() > 0


def test_fur_length_may_be_painted():
    mesh = Sphere((0, 0, 0), 0.1).mesh(48)
    painted = np.where(mesh.points[:, 1] > 0, 0.02, 0.01)
    coat = styles.fur(mesh, strands=3000, length=painted)
    upper, lower = coat.roots[:, 1] > 0.02, coat.roots[:, 1] < -0.02
    assert_allclose(np.median(coat.lengths[upper]) / np.median(coat.lengths[lower]), 2, rtol=0.05)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: styles.make("bouffant"), "style: 'bouffant' is unknown; choose from ball, bob"),
        (lambda: styles.make("curly", strands=0), "strands: must be at least 1, got 0"),
        (lambda: styles.make("curly", vertices=2), "vertices: must be at least 3, got 2"),
        (lambda: styles.make("curly", lenght=1), "style 'curly' has no option 'lenght'; it has length, radius"),
        (lambda: styles.make("curly", length=-1), "length: must be above 0, got -1"),
        (lambda: styles.fur(styles.body("ball"), lift=2), "lift: must be between 0"),
        (lambda: styles.fur(styles.body("ball"), length=0), "length: must be above zero everywhere, got 0"),
        (
            lambda: styles.fur(styles.body("ball"), direction=[1, 2]),
            r"direction: must have shape \(\d+, 3\), got \(2,\)",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("name", "option"), [(name, option) for name in styles.STYLES for option in styles.STYLES[name].options]
)
def test_options_have_ranges(name, option):
    for value in (float("nan"), float("inf"), -1.0):
        with pytest.raises(ValueError, match=f"^{option}: must be "):
            styles.make(name, strands=10, **{option: value})
