"""Strands cut anew by arc length come back to their own vertices, moved or not."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mane.geometry import quaternion as quat
from mane.groom import _reference as reference
from mane.groom.groom import Groom
from mane.groom.resample import resample

EPS = float(np.finfo(np.float32).eps)


def walks(strands=40, seed=0, low=2, high=40):
    """Random walks of some 10 cm with 2 to 40 vertices each and attributes of every kind."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(low, high, strands)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    points = np.cumsum(rng.standard_normal((offsets[-1], 3)) * 0.004 + [0, 0.005, 0], axis=0)
    points -= np.repeat(points[offsets[:-1]], counts, axis=0)
    return Groom(
        points + np.repeat(rng.standard_normal((strands, 3)) * 0.1, counts, axis=0),
        offsets,
        strand={"id": np.arange(strands), "curl_map": rng.random(strands)},
        vertex={"width": rng.random(offsets[-1]).astype(np.float32), "label": np.arange(offsets[-1])},
        group_names={0: "scalp"},
    )


def helix(radius=0.005, pitch=0.012, turns=8, samples=400):
    """One curl around +y, as points (1, samples, 3), and its curvature [1/m]."""
    angle = np.linspace(0, 2 * np.pi * turns, samples)
    rise = pitch / (2 * np.pi)
    curve = np.stack([radius * np.cos(angle), rise * angle, radius * np.sin(angle)], axis=-1)
    return curve[None], radius / (radius**2 + rise**2)


def rounding_of(points):
    """What float32 may lose: half a unit in the last place of the result and of the detail, each with a spare."""
    return 2 * EPS * float(np.abs(points).max())


@pytest.mark.parametrize("options", [{"vertices": 2}, {"vertices": 16}, {"vertices": 64}, {"spacing": 0.003}])
def test_unmoved_strands_come_back_exactly(options):
    groom = walks()
    back = resample(groom, **options).restore()
    assert_allclose(back.points, groom.points, atol=rounding_of(groom.points), rtol=0)
    assert_array_equal(back.offsets, groom.offsets)
    for name in groom.vertex:
        assert_array_equal(back.vertex[name], groom.vertex[name])
    for name in groom.strand:
        assert_array_equal(back.strand[name], groom.strand[name])
    assert back.group_names == groom.group_names


@pytest.mark.parametrize("options", [{"vertices": 5}, {"spacing": 0.01}])
def test_without_detail_the_stated_error_is_what_is_lost(options):
    groom = walks()
    resampling = resample(groom, **options)
    lost = np.linalg.norm(resampling.restore(detail=False).points - groom.points.astype(float), axis=1)
    largest = np.maximum.reduceat(lost, groom.offsets[:-1])
    assert_allclose(largest, resampling.error, atol=rounding_of(groom.points), rtol=0)
    assert largest.max() > 1e-3, "the walks are rough enough for this test to mean something"


def test_vertices_are_evenly_spaced_along_the_curve():
    groom = walks()
    resampled = resample(groom, vertices=9).groom
    assert_array_equal(resampled.roots, groom.roots)
    assert_array_equal(resampled.tips, groom.tips)
    for s in range(groom.strand_count):
        curve = groom.points[groom.offsets[s] : groom.offsets[s + 1]].astype(float)
        arc = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
        wanted = np.linspace(0, arc[-1], 9)
        expected = np.stack([np.interp(wanted, arc, curve[:, axis]) for axis in range(3)], axis=1)
        assert_allclose(resampled.as_uniform()[s], expected, atol=2 * rounding_of(groom.points), rtol=0)


def test_spacing_is_kept_and_whole_steps_gain_no_vertex():
    lengths = np.array([0.1, 0.101, 0.004, 0.05])
    groom = Groom.from_strands([[[0, 0, 0], [0, length, 0]] for length in lengths])
    assert_array_equal(resample(groom, spacing=0.01).groom.vertex_counts, [11, 12, 2, 6])


def test_attributes_follow_their_place_on_the_curve():
    """Arc length painted on the source is arc length on the result; whole numbers take the nearer vertex's."""
    groom = Groom.from_strands([[[0, 0, 0], [1, 0, 0], [1, 3, 0]]], vertex={"arc": [0.0, 1, 4], "label": [10, 20, 30]})
    resampled = resample(groom, vertices=9).groom
    assert_allclose(resampled.vertex["arc"], np.linspace(0, 4, 9), atol=4 * EPS)
    assert_array_equal(resampled.vertex["label"], [10, 20, 20, 20, 20, 30, 30, 30, 30])


def test_error_is_below_the_sagitta_and_close_to_it():
    """The chord of an arc of length h and curvature k is k h^2 / 8 from its middle, less a share of order (k h)^2."""
    curve, curvature = helix(samples=20001)
    groom = Groom.from_uniform(curve)
    for vertices in (128, 256, 512):
        resampling = resample(groom, vertices=vertices)
        step = groom.lengths[0] / (vertices - 1)
        sagitta = curvature * step**2 / 8
        assert resampling.error[0] <= sagitta * (1 + 1e-5) + rounding_of(curve)
        assert resampling.error[0] >= sagitta * (1 - (curvature * step) ** 2)


def test_detail_turns_with_a_rigid_motion():
    groom = walks()
    resampling = resample(groom, vertices=6)
    turns = quat.random(groom.strand_count, np.random.default_rng(3)).astype(float)
    here, there = resampling.groom, groom
    moved = quat.rotate(turns[here.strand_of_point], here.points.astype(float)) + 0.2
    expected = quat.rotate(turns[there.strand_of_point], there.points.astype(float)) + 0.2
    back = resampling.restore(moved, root_rotation=turns)
    # Moved points are rounded to float32; a segment of 5 mm may turn by that rounding over its length, 5e-6, and takes
    # detail of up to 1 cm along with it, at every one of six segments.
    assert_allclose(back.points, expected, atol=6 * 5e-6 * 0.01 + 4 * rounding_of(expected), rtol=0)


def test_a_turn_about_the_first_segment_needs_the_root_rotation():
    """A straight simulated strand looks the same when it spins; only the root's rotation tells, and then curls spin."""
    curve, _ = helix(turns=4)
    curve = curve - curve[:, :1]
    groom = Groom.from_uniform(curve)
    resampling = resample(groom, vertices=2)
    chord = (curve[0, -1] - curve[0, 0]) / np.linalg.norm(curve[0, -1] - curve[0, 0])
    spin = quat.from_axis_angle(chord, np.pi / 2)
    moved = quat.rotate(spin, resampling.groom.points.astype(float))
    assert_allclose(moved, resampling.groom.points, atol=1e-7, err_msg="spinning moves no resampled vertex")
    spun = quat.rotate(spin, groom.points.astype(float))
    assert_allclose(resampling.restore(moved, root_rotation=spin).points, spun, atol=1e-7)
    assert np.linalg.norm(resampling.restore(moved).points - spun, axis=1).max() > 0.005


def test_curls_finer_than_the_resampling_survive_bending():
    """A curl whose axis is bent to a quarter circle keeps its radius around the new axis, and its way round."""
    radius, height = 0.005, 0.012 * 8
    curve, _ = helix(radius=radius)
    resampling = resample(Groom.from_uniform(curve), vertices=25)
    bend = height / (np.pi / 2)  # radius of the quarter circle that the axis becomes

    def bent(points):
        angle = points[..., 1] / bend
        across = bend - points[..., 0]
        return np.stack([bend - across * np.cos(angle), across * np.sin(angle), points[..., 2]], axis=-1)

    moved = bent(resampling.groom.as_uniform().astype(float))
    expected = bent(curve[0])
    assert resampling.error[0] > 0.5 * radius, "the curl is too fine for the resampling alone"
    # Detail is stiff. It does not follow the turn of the axis within a segment, pi/2/24, half of it to either side, nor
    # that bending draws the outside of the curl out by radius / bend.
    limit = resampling.error[0] * (np.pi / 2 / 24 / 2 + radius / bend)
    assert np.linalg.norm(resampling.restore(moved).points - expected, axis=1).max() < limit
    assert np.linalg.norm(resampling.restore(moved, detail=False).points - expected, axis=1).max() > 5 * limit


def test_kernel_matches_the_reference():
    groom = walks(strands=12, low=3, high=30)
    resampling = resample(groom, vertices=7)
    rng = np.random.default_rng(5)
    rest = resampling.groom.as_uniform()
    moved = (rest + 0.003 * rng.standard_normal(rest.shape)).astype(np.float32)
    turns = quat.random(groom.strand_count, rng)
    back = resampling.restore(moved, root_rotation=turns)
    for s in range(groom.strand_count):
        source = groom.points[groom.offsets[s] : groom.offsets[s + 1]]
        expected = reference.restored_curve(source, rest[s], moved[s], turns[s].astype(float))
        # The reference knows places to double precision, the kernel to float32, and detail turns by some rounding.
        assert_allclose(back.points[groom.offsets[s] : groom.offsets[s + 1]], expected, atol=2e-7, rtol=0)


def test_moved_points_in_either_shape():
    resampling = resample(walks(), vertices=5)
    moved = resampling.groom.as_uniform() + np.float32(1)
    assert_array_equal(resampling.restore(moved).points, resampling.restore(moved.reshape(-1, 3)).points)


def test_strands_without_length_are_safe():
    spot = np.full((4, 3), 0.25)
    groom = Groom.from_strands([spot, [[0, 0, 0], [0, 1, 0]], [[0, 0, 0], [0, 0, 0], [1, 0, 0]]])
    resampling = resample(groom, vertices=7)
    assert_array_equal(resampling.groom.as_uniform()[0], np.full((7, 3), 0.25))
    assert_allclose(resampling.restore().points, groom.points, atol=EPS)
    assert_array_equal(resample(groom, spacing=0.1).groom.vertex_counts, [2, 11, 11])
    # Drawn out, such a strand is spread over its new length by the count of its vertices.
    moved = resampling.groom.as_uniform().copy()
    moved[0, :, 1] += np.linspace(0, 3, 7)
    assert_allclose(resampling.restore(moved).points[:4, 1], 0.25 + np.arange(4), atol=1e-6)


@pytest.mark.parametrize("squeeze", [0.0, 1e-20])
def test_strands_moved_into_one_point_are_safe(squeeze):
    resampling = resample(walks(), vertices=5)
    assert np.isfinite(resampling.restore(resampling.groom.points * np.float32(squeeze)).points).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either vertices or spacing, got neither"),
        ({"vertices": 4, "spacing": 0.1}, "either vertices or spacing, got both"),
        ({"vertices": 1}, "vertices: must be a whole number from 2 to 100000, got 1"),
        ({"vertices": 4.5}, "got 4.5"),
        ({"spacing": 0.0}, "spacing: must be a finite number above zero, got 0.0"),
        ({"spacing": np.nan}, "spacing: must be a finite number above zero, got nan"),
        ({"spacing": 1e-9}, "spacing: must leave at most 100000 vertices on a strand, got 1e-09 m for strand"),
    ],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        resample(walks(), **options)


def test_bad_motion_is_refused():
    resampling = resample(walks(strands=3), vertices=5)
    with pytest.raises(ValueError, match=r"points: must have shape \(3, 5, 3\), got \(3, 4, 3\)"):
        resampling.restore(np.zeros((3, 4, 3)))
    with pytest.raises(ValueError, match=r"points: must have shape \(15, 3\), got \(14, 3\)"):
        resampling.restore(np.zeros((14, 3)))
    with pytest.raises(ValueError, match=r"points: must be finite, got nan at index 0"):
        resampling.restore(np.full((15, 3), np.nan))
    with pytest.raises(ValueError, match=r"root_rotation: must have shape \(3, 4\), got \(2, 4\)"):
        resampling.restore(root_rotation=np.ones((2, 4)))
    with pytest.raises(ValueError, match="resample it first"):
        resample(walks(strands=3, high=30), spacing=0.01).restore(np.zeros((3, 4, 3)))


coordinates = st.floats(-2, 2, width=32).map(lambda value: round(value, 3))
curves = st.lists(
    st.lists(st.tuples(coordinates, coordinates, coordinates), min_size=2, max_size=9), min_size=1, max_size=4
)


@settings(deadline=None, max_examples=60)
@given(curves, st.integers(2, 12))
@example([[(0.0, 2.0, 0.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 2.0)]], 9)  # turns back
def test_any_curves_keep_their_ends_come_back_and_err_by_less_than_half_a_step(strands, vertices):
    """Folds, repeated points and strands without length included; the bound h / 2 holds for every curve."""
    groom = Groom.from_strands(strands)
    resampling = resample(groom, vertices=vertices)
    assert_array_equal(resampling.groom.roots, groom.roots)
    assert_array_equal(resampling.groom.tips, groom.tips)
    tolerance = 4 * rounding_of(groom.points) + 1e-12
    assert_allclose(resampling.restore().points, groom.points, atol=tolerance, rtol=0)
    assert (resampling.error <= groom.lengths / (vertices - 1) / 2 + tolerance).all()


def test_threads_change_no_byte(on_threads):
    def there_and_back():
        resampling = resample(walks(), vertices=9)
        return resampling.groom, resampling.error, resampling.restore(resampling.groom.points[:, [1, 2, 0]])

    on_threads(there_and_back)
