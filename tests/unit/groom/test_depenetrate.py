"""Strands inside a head come out of it, keep their lengths, and bend smoothly around it."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mane.body.motion import Pose, Twist
from mane.body.sdf import build_sdf
from mane.body.shapes import Box, Capsule, Plane, Sphere, Union
from mane.body.solid import Solid
from mane.groom import _depenetration, styles
from mane.groom.depenetrate import depenetrate
from mane.groom.groom import Groom

HEAD = Sphere((0.0, 1.6, 0.0), 0.1)
TOLERANCE = 1e-5
# Coordinates near 1.6 m are rounded by up to 6e-8: a segment between two such points by 2 sqrt(3) of that, 2e-7, and a
# distance from a point by about as much.
ROUNDING = 4e-7


def straight(roots, directions, length=0.25, vertices=16):
    """Straight strands (S, V, 3)."""
    directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    steps = np.linspace(0, length, vertices)[:, None]
    return Groom.from_uniform(np.asarray(roots)[:, None] + steps * directions[:, None])


def hair(strands=400, depth=0.0, seed=0, radius=0.1, center=(0, 1.6, 0), **shape):
    """Strands rooted `depth` below a sphere's surface that hang down at all angles, many of them through it."""
    rng = np.random.default_rng(seed)
    normals = rng.standard_normal((strands, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    directions = 0.3 * normals + 0.5 * rng.standard_normal((strands, 3)) - [0, 1, 0]
    return straight(np.asarray(center) + (radius - depth) * normals, directions, **shape)


def lowest(groom, solid, between=33):
    """Least distance anywhere along the strands, by fine sampling [m]."""
    points = groom.as_uniform()
    share = np.linspace(0, 1, between, dtype=np.float32)[:, None]
    fine = points[:, :-1, None] + share * (points[:, 1:] - points[:, :-1])[:, :, None]
    return float(solid.distance(fine.reshape(-1, 3)).min())


def dip(groom, radius):
    """How far a segment may dip in between the places where it is held, a quarter of it apart [m]."""
    points = groom.as_uniform()
    step = np.linalg.norm(np.diff(points, axis=1), axis=-1).max() / 4
    return step**2 / (8 * radius)


def kinks(groom):
    """Angle at every inner vertex [rad], shape (S, V - 2)."""
    steps = np.diff(groom.as_uniform().astype(float), axis=1)
    steps /= np.linalg.norm(steps, axis=-1, keepdims=True)
    return np.arccos(np.clip((steps[:, 1:] * steps[:, :-1]).sum(axis=-1), -1, 1))


@pytest.mark.parametrize("depth", [0.0, 0.004, 0.05, 0.1])
def test_everything_comes_out_at_and_between_vertices(depth):
    groom = hair(depth=depth)
    out, report = depenetrate(groom, HEAD, tolerance=TOLERANCE)
    assert report.deepest_before > 0.05
    assert HEAD.distance(out.points).min() > -TOLERANCE - ROUNDING
    assert lowest(out, HEAD) > -TOLERANCE - dip(groom, 0.1) - ROUNDING
    assert report.deepest_after < TOLERANCE + ROUNDING
    assert len(report.unresolved) == 0


def test_lengths_are_kept_segment_by_segment():
    groom = hair(depth=0.004)
    out, report = depenetrate(groom, HEAD, tolerance=TOLERANCE)
    lengths = [np.linalg.norm(np.diff(g.as_uniform().astype(float), axis=1), axis=-1) for g in (groom, out)]
    assert_allclose(*lengths, atol=ROUNDING)
    assert report.largest_length_change < ROUNDING / 0.25 * 16


def test_strands_outside_are_not_touched():
    groom = hair()
    out, report = depenetrate(groom, HEAD, tolerance=TOLERANCE)
    rest = np.setdiff1d(np.arange(groom.strand_count), report.moved)
    assert 20 < len(rest) < groom.strand_count - 20
    assert_array_equal(out.take(rest).points, groom.take(rest).points)
    inside = [lowest(groom.take([s]), HEAD) < -TOLERANCE - dip(groom, 0.1) - ROUNDING for s in rest]
    assert not any(inside)
    clear = groom.with_points(groom.points + np.float32([0, 1, 0]))
    again, report = depenetrate(clear, HEAD)
    assert_array_equal(again.points, clear.points)
    assert len(report.moved) == 0
    assert report.deepest_before == report.largest_move == 0.0


def test_what_is_out_stays_as_it_is():
    out, _ = depenetrate(hair(depth=0.004), HEAD, tolerance=TOLERANCE)
    again, report = depenetrate(out, HEAD, tolerance=2 * TOLERANCE)
    assert_array_equal(again.points, out.points)
    assert len(report.moved) == 0


def test_roots_inside_come_to_the_surface_and_others_stay():
    rng = np.random.default_rng(2)
    groom = hair(depth=np.where(rng.random(400) < 0.5, 0.006, -0.001)[:, None])
    out, report = depenetrate(groom, HEAD, tolerance=TOLERANCE)
    inside = HEAD.distance(groom.roots) < 0
    assert_array_equal(report.moved_roots, np.flatnonzero(inside))
    assert_allclose(HEAD.distance(out.roots[inside]), 0, atol=TOLERANCE + ROUNDING)
    assert_allclose(np.linalg.norm((out.roots - groom.roots)[inside], axis=1), 0.006, atol=TOLERANCE + ROUNDING)
    assert_array_equal(out.roots[~inside], groom.roots[~inside])


def test_a_strand_that_only_starts_inside_keeps_its_shape():
    """Its root is shifted to the surface, and all of it by the same way."""
    normal = np.array([[0, 1.0, 0], [0.6, 0.8, 0]])
    groom = straight([0, 1.6, 0] + 0.097 * normal, normal, vertices=8)
    out, _ = depenetrate(groom, HEAD, tolerance=TOLERANCE)
    shift = np.repeat(0.003 * normal, 8, axis=0)
    assert_allclose(out.points - groom.points, shift, atol=TOLERANCE + ROUNDING)


def test_clearance_grows_from_the_root():
    groom = hair()
    out, report = depenetrate(groom, HEAD, clearance=0.003, tolerance=TOLERANCE)
    distance = HEAD.distance(out.points).reshape(400, 16)
    assert_array_equal(out.roots, groom.roots)
    assert distance[:, 1:].min() > 0.003 - TOLERANCE - ROUNDING  # 17 mm from the root, twice the clearance is behind
    assert len(report.unresolved) == 0
    free, report = depenetrate(groom, HEAD, clearance=0.003, keep_roots=False, tolerance=TOLERANCE)
    assert HEAD.distance(free.points).min() > 0.003 - TOLERANCE - ROUNDING
    assert len(report.moved_roots) == 400


def test_a_strand_bends_around_the_head_without_zigzag():
    """A strand aimed past the middle of the head: it must turn by some 50 degrees, all one way and not all at once."""
    groom = straight([[0.05, 1.9, 0.0]], np.array([[0, -1.0, 0]]), length=0.5, vertices=40)
    out, _ = depenetrate(groom, HEAD, tolerance=TOLERANCE)
    points = out.as_uniform()[0].astype(float)
    assert_allclose(points[:, 2], 0, atol=1e-9)
    heading = np.unwrap(np.arctan2(*np.diff(points, axis=0).T[:2]))
    turned = np.diff(heading)
    assert np.ptp(heading) > np.radians(25)
    assert np.abs(turned).max() < 0.35 * np.ptp(heading), "no single vertex takes the bend"
    # Out to one side, and back to its own direction; every other change of side would be a zigzag.
    sides = np.sign(turned[np.abs(turned) > np.radians(0.5)])
    assert (np.diff(sides) != 0).sum() <= 1


def test_spreading_softens_the_first_touch():
    """Strands that fall on the head from above, off its middle by 1 to 9 cm.

    Spread once, a break keeps (1 - a) / (1 + a) = 0.31 of its angle at any one vertex, with a = exp(-step / spread);
    holding the strand against the head again must not bring it back to half.
    """
    off = np.linspace(0.01, 0.09, 17)
    roots = np.stack([off, np.full(17, 1.9), np.zeros(17)], axis=1)
    groom = straight(roots, np.tile([0, -1.0, 0], (17, 1)), length=0.5, vertices=40)
    sharp, _ = depenetrate(groom, HEAD, tolerance=TOLERANCE, spread=1e-6)
    soft, _ = depenetrate(groom, HEAD, tolerance=TOLERANCE, spread=0.02)
    assert (kinks(soft).max(axis=1) < 0.5 * kinks(sharp).max(axis=1)).all()


def hair_through_the_ears(strands=1500):
    """Strands that hang straight down and backwards from the sides of the bust, through its ears and neck."""
    roots = styles.make("straight", strands=strands, seed=1).roots
    roots = roots[np.abs(roots[:, 0]) > 0.05]
    ways = np.array([0.0, -1.0, -0.35]) - 0.1 * np.sign(roots[:, :1]) * [1, 0, 0]
    return straight(roots, ways, length=0.22, vertices=24)


def test_strands_go_around_an_ear_softly(monkeypatch):
    """Without wider spreads some strands broke by up to 176 degrees where they touched the ear first."""
    groom, body = hair_through_the_ears(), Solid(styles.body("straight"))
    out, report = depenetrate(groom, body)
    assert len(report.bent) == 0
    assert "joints bent by up to" in report.summary()
    added = kinks(out) - kinks(groom)
    assert report.largest_bend == pytest.approx(added.max(), abs=1e-3)
    assert report.deepest_after < 1e-4 + 1e-6
    assert report.largest_length_change < 1e-6
    monkeypatch.setattr(_depenetration, "WIDER", ())
    _, sharp = depenetrate(groom, body)
    assert len(sharp.bent) > 3
    assert f"first strand {sharp.bent[0]}" in sharp.summary()


def test_segments_that_are_long_beside_the_head_do_not_cut_through():
    """Both ends outside, the middle inside: 12 cm segments on a head of 10 cm radius."""
    groom = straight([[0, 1.701, 0.0]], np.array([[1.0, -0.9, 0]]), length=0.36, vertices=4)
    assert HEAD.distance(groom.points[1:]).min() < 0 or lowest(groom, HEAD) < -0.01
    out, report = depenetrate(groom, HEAD, tolerance=TOLERANCE)
    assert lowest(out, HEAD) > -dip(groom, 0.1) - TOLERANCE
    assert_array_equal(report.moved, [0])
    through = straight([[-0.15, 1.6, 0.03]], np.array([[1.0, 0, 0]]), length=0.3, vertices=2)
    assert HEAD.distance(through.points).min() > 0.05
    out, _ = depenetrate(through, HEAD, tolerance=TOLERANCE)
    assert lowest(out, HEAD) > -dip(through, 0.1) - TOLERANCE


def test_ragged_strands_and_attributes():
    uniform = hair(strands=10, depth=0.01)
    counts = np.random.default_rng(0).integers(2, 17, 10)
    groom = Groom.from_strands(
        [points[:count] for points, count in zip(uniform.as_uniform(), counts, strict=True)],
        strand={"id": np.arange(10)},
        vertex={"width": np.random.default_rng(1).random(counts.sum())},
    )
    out, _ = depenetrate(groom, HEAD, tolerance=TOLERANCE)
    assert HEAD.distance(out.points).min() > -TOLERANCE - ROUNDING
    assert_array_equal(out.offsets, groom.offsets)
    assert_array_equal(out.vertex["width"], groom.vertex["width"])
    one_by_one = [depenetrate(groom.take([s]), HEAD, tolerance=TOLERANCE)[0].points for s in range(10)]
    assert_array_equal(out.points, np.concatenate(one_by_one), err_msg="strands do not know of each other")


def test_several_solids_at_once():
    body = Union([HEAD, Capsule((0, 1.3, 0), (0, 1.5, 0), 0.06), Capsule((-0.2, 1.3, 0), (0.2, 1.3, 0), 0.07)])
    groom = hair(depth=0.003, length=0.4, vertices=32)
    out, report = depenetrate(groom, body, tolerance=1e-4)
    assert body.distance(out.points).min() > -1e-4 - ROUNDING
    assert report.largest_length_change < 0.02


def test_a_distance_field_and_a_moved_solid_serve_as_well():
    mesh = HEAD.mesh(96)
    field = build_sdf(mesh, resolution=64, cache=False)
    groom = hair(depth=0.004)
    out, report = depenetrate(groom, field)
    assert field.sample(out.points).min() > -1e-4 - ROUNDING
    assert len(report.unresolved) == 0

    class Moved:
        teleports = ()

        def pose(self, time):
            return Pose(np.array([0.5 * time, 0, 0]), np.array([0, 0, 0, 1.0]))

        def velocity(self, time):
            return Twist.zero()

        def teleported(self, start, end):
            return False

    solid = Solid(HEAD, Moved()).at(1.0)
    moved = groom.with_points(groom.points + np.float32([0.5, 0, 0]))
    out, _ = depenetrate(moved, solid, tolerance=TOLERANCE)
    assert solid.distance(out.points).min() > -TOLERANCE - ROUNDING


@pytest.mark.parametrize("scale", [0.1, 10.0])
def test_scale_free(scale):
    """A mouse and an elephant: the same hair in other units, with lengths given in them, comes out the same."""
    groom = hair(depth=0.004, center=(0, 0, 0))
    out, _ = depenetrate(groom, Sphere((0, 0, 0), 0.1), tolerance=TOLERANCE, clearance=0.002)
    large = groom.with_points(groom.points * np.float32(scale))
    scaled = {"tolerance": TOLERANCE * scale, "clearance": 0.002 * scale, "spread": 0.02 * scale}
    there, _ = depenetrate(large, Sphere((0, 0, 0), 0.1 * scale), **scaled)
    # A strand that is just within the tolerance here may be just outside it there, and then moves by that much.
    assert_allclose(there.points / scale, out.points, atol=5 * TOLERANCE)


def test_strands_without_length_and_straight_in_are_safe():
    groom = Groom.from_strands(
        [
            [[0, 1.6, 0]] * 3,  # a point in the very middle
            [[0, 1.7, 0], [0, 1.6, 0], [0, 1.5, 0]],  # straight in, along the gradient
            [[0, 1.7, 0], [0, 1.7, 0], [0, 1.65, 0]],  # with an empty segment
        ]
    )
    out, _ = depenetrate(groom, HEAD, tolerance=TOLERANCE)
    assert np.isfinite(out.points).all()
    assert HEAD.distance(out.points).min() > -TOLERANCE - ROUNDING


def test_a_floor():
    floor = Plane((0, 0, 0), (0, 1, 0))
    groom = straight([[0, 0.1, 0], [0, 0.3, 0]], np.array([[1, -1.0, 0], [1, -0.2, 0.3]]), vertices=12)
    out, report = depenetrate(groom, floor, tolerance=TOLERANCE)
    assert out.points[:, 1].min() > -TOLERANCE
    assert_array_equal(report.moved, [0])


def test_a_wall_thinner_than_the_segments_is_not_crossed_either():
    """An ear of 3 mm and segments of 8 mm: planes to both of its sides contradict each other, so a search must help."""
    ear = Box((0, 0, 0), (0.03, 0.03, 0.0015), rounding=0.0015)
    rng = np.random.default_rng(0)
    roots = np.concatenate([rng.uniform(-0.03, 0.03, (200, 2)), np.full((200, 1), 0.004)], axis=1)
    groom = straight(roots, rng.standard_normal((200, 3)) * [1, 1, 0.3] - [0, 0, 1], length=0.08, vertices=11)
    assert lowest(groom, ear) < -0.0014
    out, report = depenetrate(groom, ear, tolerance=1e-4)
    assert len(report.unresolved) == 0
    assert report.largest_length_change < 1e-6
    # Held every 2 mm against edges rounded by 1.5 mm.
    assert lowest(out, ear) > -1e-4 - 0.002**2 / (8 * 0.0015)


def test_where_a_strand_does_not_fit_length_gives_way():
    """A cave of 2 mm holds no segment of 17 mm; its points are brought into it all the same, and the report says so."""

    class Cave:
        def distance_and_gradient(self, points):
            r = np.linalg.norm(points, axis=1, keepdims=True)
            inward = np.divide(-points, r, out=np.tile(np.float32([1, 0, 0]), (len(r), 1)), where=r > 0)
            return 0.002 - r[:, 0], inward

    groom = straight([[0.0, 0, 0]], np.array([[1.0, 0.1, 0]]), length=0.05, vertices=4)
    out, report = depenetrate(groom, Cave(), tolerance=TOLERANCE)
    assert np.linalg.norm(out.points, axis=1).max() < 0.002 + TOLERANCE + ROUNDING
    assert report.largest_length_change > 0.5
    assert report.deepest_after < TOLERANCE + ROUNDING


def test_the_report_reads_well_and_goes_to_json():
    _, report = depenetrate(hair(depth=0.004), HEAD)
    lines = report.summary().splitlines()
    assert lines[0] == "moved 400 of 400 strands out, 400 of them by the root"
    assert lines[1].startswith("deepest ")
    plain = json.loads(json.dumps(report.to_dict()))
    assert plain["moved"] == list(range(400))
    assert plain["strand_count"] == 400


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clearance": -0.1}, "clearance: must be a finite number, zero or above, got -0.1"),
        ({"clearance": np.nan}, "clearance: must be a finite number"),
        ({"tolerance": 0.0}, "tolerance: must be a finite number above zero"),
        ({"spread": 0.0}, "spread: must be a finite number above zero"),
        (
            {"distance": object()},
            r"must have distance_and_gradient\(points\) or sample_with_gradient\(points\), got object",
        ),
    ],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        depenetrate(hair(strands=2), **{"distance": HEAD, **options})


def test_a_distance_that_is_not_finite_is_refused():
    class Broken:
        def distance_and_gradient(self, points):
            return np.full(len(points), np.nan), points

    with pytest.raises(ValueError, match="distance: must be finite, got nan at index 0"):
        depenetrate(hair(strands=2), Broken())


def test_the_result_does_not_depend_on_the_thread_count(on_threads):
    groom = hair(depth=0.004)
    on_threads(lambda: depenetrate(groom, HEAD))


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(2, 20), st.floats(-0.05, 0.1), st.floats(0.01, 0.5), st.booleans())
def test_whatever_hair_comes_out_with_its_length(seed, vertices, depth, length, keep_roots):
    rng = np.random.default_rng(seed)
    groom = hair(strands=12, depth=depth, seed=seed, length=length, vertices=vertices)
    rough = groom.with_points(groom.points + 0.3 * length / vertices * rng.standard_normal(groom.points.shape))
    out, report = depenetrate(rough, HEAD, tolerance=1e-4, keep_roots=keep_roots)
    assert HEAD.distance(out.points).min() > -1e-4 - ROUNDING
    assert len(report.unresolved) == 0
    assert_allclose(out.lengths, rough.lengths, rtol=0, atol=(vertices - 1) * ROUNDING)
