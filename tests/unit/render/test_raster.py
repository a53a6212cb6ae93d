"""Lines thinner than a pixel, drawn: their area, their order, and what must not matter."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mane.render import _kernels_raster
from mane.render.raster import DrawnSolids, DrawnStrands, draw, find_coverage, find_seen

FOCAL = 1000.0


def strands(*lines, color=1.0, width=0.3, nearness=1.0):
    """Polylines given as (V, 2) screen positions, or (V, 3) with a nearness of their own."""
    arrays = [np.asarray(line, np.float32) for line in lines]
    arrays = [np.column_stack([a, np.full(len(a), nearness, np.float32)]) if a.shape[1] == 2 else a for a in arrays]
    offsets = np.concatenate([[0], np.cumsum([len(a) for a in arrays])]).astype(np.int64)
    colors = np.broadcast_to(np.asarray(color, np.float32).reshape(-1, 1), (len(arrays), 3))
    return DrawnStrands(
        with_width(np.concatenate(arrays), width),
        np.repeat(colors, np.diff(offsets), axis=0).astype(np.float32),
        np.ones(offsets[-1], bool),
        offsets,
    )


def with_width(screen, width):
    """Column, row, nearness and width of points (N, 3), shape (N, 4)."""
    return np.column_stack([screen, np.full(len(screen), width)]).astype(np.float32)


def picture(drawn, size=(48, 40), supersample=1, solids=None, **options):
    solids = solids or DrawnSolids.none(size[0] * supersample, size[1] * supersample)
    return draw(drawn, solids, supersample=supersample, focal=FOCAL, **options)


def coverage(drawn, **options):
    return picture(drawn, **options)[:, :, 3].astype(np.float64)


# Rounding: some 50 samples of float32 near one, each off by at most a few times 2^-24.
ROUNDING = 50 * 4 * 2.0**-24


@settings(max_examples=60, deadline=None)
@given(
    angle=st.floats(0.0, 2 * np.pi),
    offset=st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)),
    length=st.floats(0.4, 14.0),
    width=st.floats(0.02, 0.7),
)
def test_thin_line_covers_its_area_at_any_angle_and_offset(angle, offset, length, width):
    middle = np.array([24.0, 20.0]) + offset
    half = 0.5 * length * np.array([np.cos(angle), np.sin(angle)])
    cover = coverage(strands([middle - half, middle + half], width=width))
    # Positions near 24 are rounded to 2e-6, a line as short as 0.4 by twice that at each end.
    assert cover.sum() == pytest.approx(length * width, rel=4 * 2e-6 / length + ROUNDING)


@pytest.mark.parametrize("supersample", [1, 2, 3])
def test_area_does_not_depend_on_the_supersampling(supersample):
    ends = supersample * np.array([[9.3, 11.2], [31.8, 24.6]])
    drawn = strands(ends, width=0.25 * supersample)
    length = np.linalg.norm(ends[1] - ends[0]) / supersample
    assert coverage(drawn, supersample=supersample).sum() == pytest.approx(0.25 * length, rel=1e-5)


def test_cutting_a_line_into_pieces_changes_little():
    """Pieces that share a column together cover what the whole line does there, since a joint is no end.

    On a slope each piece has its own height, so that a piece may cover a sample that its neighbour does not: then
    1 - (1 - a)**f stands where f a should. The difference is at most a**2 / 8 for an opacity of a, here 0.35.
    """
    ends = np.array([[5.25, 7.5], [40.75, 29.1]])
    share = np.sort(np.random.default_rng(3).uniform(0.0, 1.0, 60))
    share[[0, -1]] = 0.0, 1.0
    cut = ends[0] + share[:, None] * (ends[1] - ends[0])
    whole, pieces = coverage(strands(ends)).sum(), coverage(strands(cut)).sum()
    assert whole <= pieces <= whole * (1.0 + 0.35 / 8)


def test_cutting_a_level_line_into_pieces_changes_nothing():
    ends = np.array([[5.25, 7.3], [40.75, 7.3]])
    cut = ends[0] + np.linspace(0.0, 1.0, 90)[:, None] * (ends[1] - ends[0])
    whole, pieces = coverage(strands(ends)), coverage(strands(cut))
    # Not in the two columns where the strand ends: there pieces that are no ends enter as exponents as well.
    np.testing.assert_allclose(pieces[:, 6:40], whole[:, 6:40], atol=1e-5)


def test_wide_line_covers_its_width_and_no_more_than_everything():
    cover = coverage(strands([[4.0, 20.3], [44.0, 20.3]], width=5.5))
    np.testing.assert_allclose(cover[:, 10:38].sum(axis=0), 5.5, rtol=1e-5)
    np.testing.assert_allclose(cover[18:23, 24], 1.0, rtol=1e-5)
    assert cover.max() <= 1.0 + 1e-6


def test_thickness_changes_along_the_strand():
    drawn = strands([[4.0, 20.0], [44.0, 20.0]])
    drawn.points[:, 3] = 0.8, 0.0
    per_column = coverage(drawn)[:, 4:44].sum(axis=0)
    np.testing.assert_allclose(per_column, 0.8 * (1.0 - (np.arange(40) + 0.5) / 40), atol=1e-5)


def test_nearer_hair_is_drawn_over_farther_hair():
    """Two lines of width 0.5 on the same row: near covers 0.5, and far half of what is left."""
    near, far = [[4.0, 10.5, 2.0], [44.0, 10.5, 2.0]], [[4.0, 10.5, 1.0], [44.0, 10.5, 1.0]]
    for lines, colors in (((near, far), (1.0, 3.0)), ((far, near), (3.0, 1.0))):
        light = picture(strands(*lines, color=colors, width=0.5))
        np.testing.assert_allclose(light[10, 10:40, 0], 0.5 * 1.0 + 0.25 * 3.0, rtol=1e-5)
        np.testing.assert_allclose(light[10, 10:40, 3], 0.75, rtol=1e-5)


def test_order_is_that_of_the_part_inside_a_tile():
    """A slanted line is before a level one on its left and behind it on its right, whatever their middles say."""
    slanted, level = [[1.0, 10.5, 2.0], [47.0, 10.5, 0.5]], [[1.0, 10.5, 1.0], [47.0, 10.5, 1.0]]
    light = picture(strands(slanted, level, color=(1.0, 3.0), width=0.5))[10, :, 0]
    np.testing.assert_allclose(light[2:15], 0.5 * 1.0 + 0.25 * 3.0, rtol=1e-5)
    np.testing.assert_allclose(light[33:46], 0.5 * 3.0 + 0.25 * 1.0, rtol=1e-5)


def test_solid_hides_hair_behind_it_and_not_before_it():
    solids = DrawnSolids(
        np.full((40, 48), 1.0, np.float32), np.full((40, 48, 3), 0.2, np.float32), np.ones((40, 48), np.float32)
    )
    line = [[4.0, 10.5], [44.0, 10.5]]
    hidden = picture(strands(line, nearness=0.98), solids=solids)
    shown = picture(strands(line, nearness=1.02, width=0.5), solids=solids)
    np.testing.assert_allclose(hidden, np.broadcast_to([0.2, 0.2, 0.2, 1.0], hidden.shape), rtol=1e-6)
    np.testing.assert_allclose(shown[10, 10:40, 0], 0.5 * 1.0 + 0.5 * 0.2, rtol=1e-5)


def test_translucent_hair_lets_through_what_lies_behind():
    drawn = strands([[4.0, 10.5], [44.0, 10.5]], width=1.0)
    half = replace(drawn, opacity=0.5)
    np.testing.assert_allclose(picture(half)[10, 10:40, 3], 0.5, rtol=1e-5)


def random_strands(seed, count=3000, points=6, ties=False):
    rng = np.random.default_rng(seed)
    walk = np.cumsum(rng.normal(0.0, 2.5, (count, points, 2)), axis=1) + rng.uniform(0, [96, 80], (count, 1, 2))
    near = rng.uniform(0.5, 2.0, (count, 1, 1)) + rng.normal(0, 0.01, (count, points, 1))
    if ties:  # whole families at one depth, some lines twice over
        near = np.round(rng.uniform(0.5, 2.0, (count, 1, 1)), 1) + np.zeros((count, points, 1))
        walk[1::3] = walk[::3][: len(walk[1::3])]
        near[1::3] = near[::3][: len(near[1::3])]
    screen = np.concatenate([walk, near], axis=2).astype(np.float32)
    return screen, rng.uniform(0, 1, (count, 1, 3)).astype(np.float32)


def drawn_from(screen, color, order):
    count, points = screen.shape[:2]
    return DrawnStrands(
        with_width(screen[order].reshape(-1, 3), 0.6),
        np.ascontiguousarray(np.repeat(color[order], points, axis=1).reshape(-1, 3)),
        np.ones(count * points, bool),
        np.arange(count + 1, dtype=np.int64) * points,
    )


@pytest.mark.parametrize("ties", [False, True])
def test_order_of_strands_does_not_matter(ties):
    screen, color = random_strands(7, ties=ties)
    plain = picture(drawn_from(screen, color, np.arange(len(screen))), size=(48, 40), supersample=2)
    mixed = np.random.default_rng(1).permutation(len(screen))
    shuffled = picture(drawn_from(screen, color, mixed), size=(48, 40), supersample=2)
    assert plain[:, :, 3].mean() > 0.5
    np.testing.assert_array_equal(plain, shuffled)


def test_neither_threads_nor_batches_matter(on_threads):
    screen, color = random_strands(8)
    drawn = drawn_from(screen, color, np.arange(len(screen)))
    whole = on_threads(lambda: picture(drawn, supersample=2))
    np.testing.assert_array_equal(picture(drawn, supersample=2, most_items=500), whole)


def test_hair_outside_and_behind_the_eye_is_left_out():
    drawn = strands(
        [[-50.0, 5.0], [-2.0, 9.0]], [[5.0, 400.0], [9.0, 500.0]], [[5.0, 5.0, 0.0], [9.0, 9.0, 1.0]],
        [[3e7, -3e7], [-3e7, 3.1e7]],
    )  # fmt: skip
    assert np.isfinite(picture(drawn)).all()
    inside = strands([[-50.0, 5.0], [-2.0, 9.0]], [[5.0, 5.0, 0.0], [9.0, 9.0, 1.0]])
    assert not coverage(inside).any()


def test_nothing_to_draw_is_an_empty_picture():
    assert not picture(DrawnStrands.none()).any()


@pytest.mark.parametrize("supersample", [1, 2])
def test_leaving_out_what_solids_hide_changes_nothing(supersample, on_threads):
    """Random hair around a wall with a hole and a loose sample: fewer points, the same picture."""
    screen, color = random_strands(9, count=4000)
    screen[:, :, :2] *= supersample
    drawn = drawn_from(screen, color, np.arange(len(screen)))
    width, height = 96 * supersample, 80 * supersample
    nearness = np.full((height, width), 1.2, np.float32)
    nearness[:, : 9 * supersample] = 0.0
    nearness[30 * supersample : 44 * supersample, 50 * supersample : 57 * supersample] = 0.0
    nearness[70 * supersample, 80 * supersample] = 0.6
    solids = DrawnSolids(nearness, np.full((height, width, 3), 0.3, np.float32), (nearness > 0).astype(np.float32))
    asked = (drawn.points, drawn.offsets, nearness)
    seen = on_threads(lambda: find_seen(*asked, supersample=supersample, focal=FOCAL))
    assert 0.4 < seen.mean() < 0.95
    options = {"solids": solids, "supersample": supersample}
    np.testing.assert_array_equal(picture(replace(drawn, seen=seen), **options), picture(drawn, **options))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("most_items", [500, 10**6])
def test_leaving_out_what_hair_hides_changes_nothing(ties, most_items, on_threads):
    """Colours are known of what shows alone: fewer points, the same picture, also in batches and in any order."""
    screen, color = random_strands(11, count=4000, ties=ties)
    drawn = drawn_from(screen, color, np.arange(len(screen)))
    solids = DrawnSolids.none(96, 80)
    solids.nearness[:, 40:] = 1.2
    options = {"supersample": 2, "focal": FOCAL, "most_items": most_items}
    colourless = replace(drawn, color=np.zeros_like(drawn.color))
    found = on_threads(lambda: vars(find_coverage(colourless, solids.nearness, **options)[0]))
    cover, binned = find_coverage(colourless, solids.nearness, **options)
    assert np.array_equal(cover.touched, found["touched"])
    assert 0.1 < cover.touched.mean() < (0.97 if ties else 0.7)
    shown = replace(drawn, seen=cover.touched, color=np.where(cover.touched[:, None], drawn.color, np.nan))
    whole = draw(drawn, solids, **options)
    np.testing.assert_array_equal(draw(shown, solids, binned=binned, **options), whole)
    left_open = cover.clear.reshape(40, 2, 48, 2).mean(axis=(1, 3))
    np.testing.assert_allclose(1 - left_open, whole[:, :, 3], atol=1e-6)


def test_powers_of_what_is_left_open():
    """The exponential's first term left out is r^6 / 720 = 2.4e-6 at r = ln(2) / 2; the logarithm, up to 20, is rounded
    to 20 * 2^-24 of an exponent. A sample's error is far below the 0.003 that counts as opaque."""
    left, share = np.meshgrid(
        np.geomspace(1e-6, 1.0, 40, dtype=np.float32), np.linspace(0.01, 1.0, 23, dtype=np.float32)
    )
    found = [_kernels_raster._power(x, s) for x, s in zip(left.ravel(), share.ravel(), strict=True)]
    np.testing.assert_allclose(found, left.ravel().astype(np.float64) ** share.ravel(), rtol=4e-6)
