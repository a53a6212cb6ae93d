"""Growth from guides: exact on the guides, smooth between them, parted where they part."""

import numpy as np
import pytest

from mane.body.mesh import Mesh
from mane.body.shapes import Sphere
from mane.geometry import quaternion
from mane.geometry.frames import segment_tangents
from mane.geometry.index import PointIndex
from mane.groom import grow as growing
from mane.groom.binding import bind_roots
from mane.groom.groom import Groom
from mane.groom.grow import grow
from mane.groom.guides import Guides
from mane.groom.roots import Roots, scatter_roots

RADIUS = 0.1
BALL = Sphere((0, 0, 0), RADIUS).mesh(48)
VERTICES = 9
SHARE = np.linspace(0, 1, VERTICES)[:, None]
SQUARE = Mesh(
    0.1 * np.array([[-1, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]]),
    [[0, 2, 1], [0, 3, 2]],
    uv=[[0, 0], [1, 0], [1, 1], [0, 1]],
)
UP = np.array([0.0, 1.0, 0.0])


def guides_on(mesh: Mesh, count: int, seed: int = 0, spread: float = 0.15) -> Groom:
    """Guides that leave along the normal and bend, each a little differently and of a length of its own."""
    rng = np.random.default_rng(seed)
    roots = scatter_roots(mesh, count, seed=seed)
    length = rng.uniform(0.05, 0.08, (count, 1, 1))
    side = np.cross(roots.normals, [0.1, 0.7, 0.7]) + spread * rng.standard_normal((count, 3))
    points = roots.points[:, None] + length * (SHARE * roots.normals[:, None] + 0.6 * SHARE**2 * side[:, None])
    return Groom.from_uniform(points)


def straight_guides(roots: np.ndarray, directions: np.ndarray, length: float = 0.06, **attributes) -> Groom:
    points = roots[:, None] + length * SHARE * np.broadcast_to(directions, roots.shape)[:, None]
    return Groom.from_uniform(points, **attributes)


def lattice(count: int, jitter: float = 1.0) -> np.ndarray:
    """Roots on the square in a lattice of count x count, moved by up to a fifth of the gap, shape (count^2, 3)."""
    step = (np.arange(count) + 0.5) / count * 0.2 - 0.1
    x, z = (axis.ravel() for axis in np.meshgrid(step, step))
    shift = jitter * 0.2 * 0.2 / count * np.random.default_rng(0).uniform(-1, 1, (count**2, 2))
    return np.stack([x + shift[:, 0], 0 * x, z + shift[:, 1]], axis=1)


def roots_of(guides: Groom, mesh: Mesh) -> Roots:
    """Where the guides themselves stand."""
    binding = bind_roots(guides, mesh)
    normals = quaternion.rotate(binding.rest_frame, np.array([0, 0, 1], np.float32))
    return Roots(binding.rest_roots - binding.offset, normals, binding.triangle, binding.barycentric, None)


# -- interpolation -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mesh", [BALL, SQUARE], ids=["ball", "square"])
def test_a_strand_on_a_guides_root_is_that_guide(mesh):
    guides = guides_on(mesh, 40)
    nearest, weight, points = growing._interpolate(guides, mesh, roots_of(guides, mesh))
    np.testing.assert_array_equal(nearest[:, 0], np.arange(40))
    np.testing.assert_array_equal(weight, np.tile([1.0, 0, 0, 0], (40, 1)))
    # Roots are off the mesh, and strands off the guides, by no more than the rounding of positions of 0.2 m.
    np.testing.assert_allclose(points, guides.as_uniform(), atol=1e-7)


def test_strands_are_the_weighted_guides_turned_with_the_skin():
    """The plain sum that the kernel stands for; these guides turn with the skin all along."""
    roots, stand = scatter_roots(BALL, 500), scatter_roots(BALL, 60)
    length = np.random.default_rng(0).uniform(0.05, 0.08, (60, 1, 1))
    guides = Groom.from_uniform(stand.points[:, None] + length * SHARE * stand.normals[:, None])
    nearest, weight, points = growing._interpolate(guides, BALL, roots)
    guide_normals = roots_of(guides, BALL).normals.astype(np.float64)
    edges = np.diff(guides.as_uniform().astype(np.float64), axis=1)
    turn = quaternion.between_vectors(guide_normals[nearest], roots.normals.astype(np.float64)[:, None])
    turned = quaternion.rotate(turn[:, :, None], edges[nearest])
    direction = (weight[:, :, None, None] * turned).sum(axis=1)
    direction /= np.linalg.norm(direction, axis=2, keepdims=True)
    blended = (weight[:, :, None] * np.linalg.norm(edges, axis=2)[nearest]).sum(axis=1)
    expected = roots.points[:, None] + np.cumsum(direction * blended[:, :, None], axis=1)
    np.testing.assert_allclose(points[:, 1:], expected, atol=1e-6)
    np.testing.assert_array_equal(grow(guides, BALL, 500).as_uniform(), points)


def test_weights_share_out_one():
    guides, roots = guides_on(BALL, 60), scatter_roots(BALL, 2000)
    weight = growing._interpolate(guides, BALL, roots)[1]
    assert weight.min() >= 0
    np.testing.assert_allclose(weight.sum(axis=1), 1, atol=1e-6)
    assert (weight.max(axis=1) < 0.9).mean() > 0.3  # and strands do blend


def test_the_three_strongest_guides_are_recorded():
    guides, roots = guides_on(BALL, 60), scatter_roots(BALL, 2000)
    nearest, weight, _ = growing._interpolate(guides, BALL, roots)
    groom = grow(guides, BALL, 2000)
    index, recorded = groom.strand["closest_guides"], groom.strand["guide_weights"]
    assert (index.dtype, recorded.dtype) == (np.int32, np.float32)
    assert (np.diff(recorded, axis=1) <= 0).all()
    np.testing.assert_allclose(recorded.sum(axis=1), 1, atol=1e-6)
    dense = np.zeros((2000, 60))
    np.put_along_axis(dense, nearest, weight, axis=1)
    kept = np.take_along_axis(dense, index.astype(np.int64), axis=1)
    np.testing.assert_allclose(recorded, kept / kept.sum(axis=1, keepdims=True), atol=1e-6)
    assert kept.sum(axis=1).mean() > 0.97


def test_hair_fans_out_over_a_ball():
    """Guides that stand along the normal grow strands that do, however few they are and however far away."""
    roots = scatter_roots(BALL, 12)
    groom = grow(straight_guides(roots.points, roots.normals), BALL, 1000)
    normals = scatter_roots(BALL, 1000).normals
    np.testing.assert_allclose(groom.tips, groom.roots + 0.06 * normals, atol=1e-6)


def test_hanging_hair_hangs_everywhere():
    """Guides that hang straight down all round a ball do not tell strands between them to lean with the skin."""
    roots = scatter_roots(BALL, 12)
    groom = grow(straight_guides(roots.points, -UP), BALL, 1000)
    np.testing.assert_allclose(groom.tips, groom.roots - 0.06 * UP, atol=1e-6)


def test_each_group_follows_the_skin_in_its_own_way():
    roots = scatter_roots(BALL, 40)
    hangs = np.arange(40) % 2 == 1
    directions = np.where(hangs[:, None], -UP, roots.normals)
    groom = grow(straight_guides(roots.points, directions, strand={"group_id": hangs}), BALL, 1000)
    expected = np.where(groom.strand["group_id"][:, None] == 1, -UP, scatter_roots(BALL, 1000).normals)
    np.testing.assert_allclose(groom.tips, groom.roots + 0.06 * expected, atol=1e-6)


def test_lengths_are_blended_not_shortened():
    """Between guides that lean apart by up to 18 degrees, strands are as long as the guides."""
    rng = np.random.default_rng(1)
    directions = UP + 0.15 * rng.uniform(-1, 1, (49, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    groom = grow(straight_guides(lattice(7), directions), SQUARE, 800)
    np.testing.assert_allclose(groom.lengths, 0.06, rtol=1e-5)


@pytest.mark.parametrize("jitter", [0.0, 1.0], ids=["exact lattice", "jittered lattice"])
def test_strands_change_smoothly_over_the_skin(jitter):
    """Weights change over about the gap between guides, nowhere faster than a tenth of it, on any line over the skin.

    The line has a step of 1/1400 of the gap, so a weight may change by 10/1400 per step. A guide that entered the list
    with some weight would show as a jump; in the middle of a lattice's square several enter and leave at once.
    """
    roots = lattice(10, jitter=jitter)
    rng = np.random.default_rng(5)
    lean = UP + 0.1 * rng.standard_normal(roots.shape)
    guides = straight_guides(roots, lean / np.linalg.norm(lean, axis=1, keepdims=True))
    share = np.linspace(-1, 1, 14_001)[:, None]
    line = share * [0.07, 0, 0.07] + [0, 0, 1e-5]
    normals = np.tile(UP, (len(line), 1)).astype(np.float32)
    place = Roots(line.astype(np.float32), normals, np.zeros(len(line), np.int64), np.zeros((len(line), 3)), None)
    nearest, weight, points = growing._interpolate(guides, SQUARE, place)
    assert len(np.unique(nearest[:, 0])) > 5  # the line passes several guides
    dense = np.zeros((len(line), 100))
    np.put_along_axis(dense, nearest, weight, axis=1)
    assert np.abs(np.diff(dense, axis=0)).max() < 10 / 1400
    own = points - points[:, :1]
    assert np.abs(np.diff(own, axis=0)).max() < 10 / 1400 * np.ptp(own, axis=0).max()


def parted_guides() -> Groom:
    roots = lattice(8)
    lean = np.sign(roots[:, :1]) * [1.0, 0, 0] + 0.4 * UP
    return straight_guides(roots, lean / np.linalg.norm(lean, axis=1, keepdims=True))


@pytest.mark.parametrize("clump", [0.0, 0.8])
def test_a_parting_stays_a_parting(clump):
    """Guides left and right of the middle lie apart; no strand stands up between them."""
    groom = grow(parted_guides(), SQUARE, 2000, clump=clump, clump_size=0.02)
    lean = groom.tips - groom.roots
    slope = np.abs(lean[:, 0]) / np.linalg.norm(lean, axis=1)
    expected = 1 / np.hypot(1, 0.4)
    # Clumping draws tips together across the strand by up to a clump's size, on strands of 6 cm.
    assert slope.min() > expected - (1e-5 if clump == 0 else 0.25)


def test_groups_are_not_blended():
    roots = lattice(8)
    group = (roots[:, 0] > 0).astype(np.int32)
    length = np.where(group == 1, 0.08, 0.02)[:, None, None]
    points = roots[:, None] + length * SHARE * UP
    groom = grow(Groom.from_uniform(points, strand={"group_id": group}), SQUARE, 1000)
    np.testing.assert_allclose(groom.lengths, np.where(groom.strand["group_id"] == 1, 0.08, 0.02), rtol=1e-5)
    assert set(groom.strand["group_id"]) == {0, 1}


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_few_guides_are_enough(count):
    groom = grow(guides_on(BALL, count), BALL, 300)
    weight, index = groom.strand["guide_weights"], groom.strand["closest_guides"]
    assert np.isfinite(groom.points).all()
    assert index.max() == count - 1
    np.testing.assert_allclose(weight.sum(axis=1), 1, atol=1e-6)
    assert (weight[:, count:] == 0).all()


def test_awkward_guides_make_no_nan():
    """Two guides on one root, four on an exact square, one without length, one that folds back on itself."""
    roots = 0.05 * np.array([[1, 0, 1], [1, 0, -1], [-1, 0, 1], [-1, 0, -1], [-1, 0, -1.0]])
    points = straight_guides(roots, UP).as_uniform().copy()
    points[1] = points[1, 0]
    points[2, 5:] = points[2, 4:0:-1]
    groom = grow(Groom.from_uniform(points), SQUARE, 2000, clump=0.5, frizz=0.01, length_variation=0.5)
    assert np.isfinite(groom.points).all()
    middle = roots_of(Groom.from_uniform(points[[0, 1, 2, 3]] * [1e-6, 1, 1e-6]), SQUARE)
    assert np.isfinite(growing._interpolate(Groom.from_uniform(points), SQUARE, middle)[2]).all()


# -- attributes --------------------------------------------------------------------------------------------------------


def test_attributes_are_carried():
    roots = lattice(6)
    width = np.random.default_rng(0).uniform(1e-5, 2e-4, 36).astype(np.float32)
    guides = straight_guides(
        roots,
        UP,
        strand={
            "width": width,
            "group_id": np.full(36, 4),
            "id": np.arange(36),
            "is_guide": np.ones(36, bool),
            "root_uv": np.full((36, 2), 9.0),
            "layer": np.arange(36, dtype=np.int16),
        },
        vertex={"color": np.tile(np.linspace(0, 1, VERTICES)[:, None] * [1, 0.5, 0], (36, 1))},
        group_names={4: "crown"},
    )
    groom = grow(guides, SQUARE, 400)
    nearest, weight, _ = growing._interpolate(guides, SQUARE, scatter_roots(SQUARE, 400))
    np.testing.assert_allclose(groom.strand["width"], (weight * width[nearest]).sum(axis=1), rtol=1e-5)
    np.testing.assert_array_equal(groom.strand["layer"], nearest[:, 0])
    assert groom.strand["layer"].dtype == np.int16
    assert (groom.strand["group_id"] == 4).all()
    assert groom.group_names == {4: "crown"}
    expected = np.tile(np.linspace(0, 1, VERTICES)[:, None] * [1, 0.5, 0], (400, 1))
    np.testing.assert_allclose(groom.vertex["color"], expected, atol=1e-6)
    assert not {"id", "is_guide"} & set(groom.strand)


def test_root_uv_is_the_skins():
    groom = grow(guides_on(SQUARE, 9), SQUARE, 200)
    np.testing.assert_allclose(groom.strand["root_uv"], (groom.roots[:, [0, 2]] + 0.1) / 0.2, atol=1e-5)
    assert "root_uv" not in grow(guides_on(BALL, 9), BALL, 200).strand


def test_slots_of_guides_are_recorded():
    """An empty slot is no guide, and those behind it keep their numbers."""
    whole = Guides.from_groom(guides_on(BALL, 20))
    active = np.arange(20) % 3 != 0
    guides = Guides(whole.strands, whole.source, active, active.astype(np.float32))
    groom = grow(guides, BALL, 500)
    assert set(groom.strand["closest_guides"].ravel()) <= set(np.flatnonzero(active))
    same = grow(whole.strands.take(active), BALL, 500)
    np.testing.assert_array_equal(groom.points, same.points)
    np.testing.assert_array_equal(groom.strand["closest_guides"], np.flatnonzero(active)[same.strand["closest_guides"]])


def test_vertices_resample_the_guides():
    assert grow(guides_on(BALL, 9), BALL, 50, vertices=21).vertex_counts.tolist() == [21] * 50


# -- what makes it look like hair --------------------------------------------------------------------------------------


def test_lengths_vary_as_asked():
    """Cut shares are even between 0.6 and 1: mean 0.8, standard deviation 0.4 / sqrt(12)."""
    groom = grow(straight_guides(lattice(5), UP), SQUARE, 20_000, length_variation=0.4)
    share = groom.lengths / 0.06
    assert share.min() >= 0.6 - 1e-5
    assert share.max() <= 1 + 1e-5
    deviation = 0.4 / np.sqrt(12)
    assert abs(share.mean() - 0.8) < 5 * deviation / np.sqrt(20_000)
    # The variance of a uniform sample's variance is below its square over the count.
    assert abs(share.std() - deviation) < 5 * deviation / np.sqrt(20_000)


def test_cutting_keeps_the_shape():
    """A cut strand lies on the whole one."""
    guides = guides_on(BALL, 30)
    whole, cut = grow(guides, BALL, 200).as_uniform(), grow(guides, BALL, 200, length_variation=0.5).as_uniform()
    for strand in range(0, 200, 20):
        fine = np.concatenate([whole[strand, :-1] + t * np.diff(whole[strand], axis=0) for t in np.linspace(0, 1, 201)])
        # Points every 1/200 of a segment of at most 12 mm.
        assert PointIndex(fine).nearest(cut[strand])[0].max() < 0.012 / 200


def test_clumps_close_towards_the_tip():
    guides = straight_guides(lattice(5), UP)
    loose, half, tight = (grow(guides, SQUARE, 3000, clump=amount, clump_size=0.02) for amount in (0, 0.5, 1))
    # Distance of tips to their fourth neighbour.
    spread = [np.median(PointIndex(groom.tips).nearest(groom.tips, 5)[0][:, 4]) for groom in (loose, half, tight)]
    assert spread[1] < 0.7 * spread[0]
    assert spread[2] < 0.25 * spread[0]
    for groom in (half, tight):
        np.testing.assert_array_equal(groom.roots, loose.roots)
        np.testing.assert_allclose(groom.lengths, loose.lengths, rtol=1e-5)


def test_clumps_are_as_far_apart_as_asked():
    """Tips drawn all the way gather in 0.2^2 / 0.02^2 = 100 clumps, within what keeping the lengths leaves of them."""
    groom = grow(straight_guides(lattice(5), UP, length=0.2), SQUARE, 3000, clump=1.0, clump_size=0.02)
    pairs = PointIndex(groom.tips).pairs_within(0.004)
    leader = np.arange(3000)
    for low, high in pairs:
        leader[high] = min(leader[high], leader[low])
    assert 80 <= len(np.unique(leader)) <= 110


def test_frizz_is_as_large_as_asked_and_keeps_root_and_length():
    guides = straight_guides(lattice(5), UP, length=0.2)
    plain, frizzy = grow(guides, SQUARE, 4000), grow(guides, SQUARE, 4000, frizz=0.002, frizz_scale=0.1)
    np.testing.assert_array_equal(plain.roots, frizzy.roots)
    np.testing.assert_allclose(frizzy.lengths, plain.lengths, rtol=1e-5)
    shift = (frizzy.tips - plain.tips)[:, [0, 2]]
    # Keeping the lengths takes the part along the strand, one axis of three; slopes of 2 % change the rest little.
    assert np.sqrt((shift**2).sum(axis=1).mean()) == pytest.approx(0.002 * np.sqrt(2 / 3), rel=0.1)


def test_frizz_finer_than_the_vertices_is_drawn_smoothly():
    guides = straight_guides(lattice(5), UP, length=0.2)
    groom = grow(guides, SQUARE, 500, frizz=0.01, frizz_scale=1e-4)
    directions = segment_tangents(groom.as_uniform())
    # A wave of four segments turns by at most 90 degrees from one to the next; a zigzag would turn back.
    assert (directions[:, 1:] * directions[:, :-1]).sum(axis=2).min() > 0


def test_density_decides_where_hair_grows():
    density = (BALL.points[:, 1] > 0.02).astype(float)
    groom = grow(guides_on(BALL, 30), BALL, 2000, density=density, clump=0.3)
    # A triangle with one dense corner grows hair too; triangles are up to 14 mm tall.
    assert groom.roots[:, 1].min() > 0.02 - 0.014
    assert groom.strand_count == 2000


# -- nothing depends on luck -------------------------------------------------------------------------------------------

TOUSLED = {"clump": 0.5, "frizz": 0.003, "length_variation": 0.3}


def test_seed_decides():
    guides = guides_on(BALL, 30)
    first, again, other = (grow(guides, BALL, 500, seed=seed, **TOUSLED).points for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_settings_do_not_disturb_each_other():
    """Turning frizz on leaves every strand with its root and its cut."""
    guides = guides_on(BALL, 30)
    plain = grow(guides, BALL, 500, length_variation=0.3)
    frizzy = grow(guides, BALL, 500, length_variation=0.3, frizz=1e-4)
    np.testing.assert_array_equal(plain.roots, frizzy.roots)
    np.testing.assert_allclose(plain.lengths, frizzy.lengths, rtol=0.01)


def test_thread_count_does_not_matter(on_threads):
    guides = guides_on(BALL, 30)
    on_threads(lambda: grow(guides, BALL, 3000, **TOUSLED))


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"strands": 0}, "strands: must be at least 1, got 0"),
        ({"clump": 1.5}, "clump: must be between 0 and 1, got 1.5"),
        ({"clump": float("nan")}, "clump: must be between 0 and 1, got nan"),
        ({"clump_size": 0.0}, "clump_size: must be a finite number above zero, got 0.0"),
        ({"length_variation": 1.0}, "length_variation: must be at least 0 and below 1, got 1.0"),
        ({"frizz": -0.1}, "frizz: must be a finite length of at least 0 m, got -0.1"),
        ({"frizz_scale": -1.0}, "frizz_scale: must be a finite number above zero, got -1.0"),
        ({"density": np.ones(3)}, r"density: must have shape \(4,\), got \(3,\)"),
        ({"density": np.zeros(4)}, "density: must be above zero somewhere"),
        ({"vertices": 1}, "vertices: must be a whole number from 2"),
    ],
)
def test_impossible_settings_are_refused(change, message):
    settings = {"strands": 10, **change}
    with pytest.raises(ValueError, match=message):
        grow(guides_on(SQUARE, 5), SQUARE, **settings)


def test_guides_far_from_the_scalp_are_refused():
    with pytest.raises(ValueError, match=r"groom\.roots: must be within .*do their units and places agree"):
        grow(guides_on(BALL, 5).with_points(100 * guides_on(BALL, 5).points), BALL, 10)
