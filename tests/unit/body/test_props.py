"""Things made in code: their sizes, their exact distances, and gears whose teeth pass each other without touching."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from mane.body.motion import Motion, Pose
from mane.body.motion_keys import KeyframedMotion
from mane.body.motion_presets import make_motion
from mane.body.motion_spin import SpinMotion
from mane.body.props import (
    Prop,
    make_comb,
    make_gear,
    make_gears,
    make_hairbrush,
    make_hand,
    make_horse,
    make_moving_hand,
    make_rod,
    make_urchin,
)
from mane.body.props.gears import ADDENDUM, BACKLASH, DEDENDUM, gear_outline
from mane.geometry import quaternion

PROPS = {
    "rod": make_rod,
    "horse": make_horse,
    "urchin": make_urchin,
    "comb": make_comb,
    "hairbrush": make_hairbrush,
    "hand": make_hand,
    "fist": lambda: make_hand(curl=1.0),
    "gear": make_gear,
    "full gear": lambda: make_gear(spokes=0),
    "thin gear": lambda: make_gear(teeth=60, thickness=0.001, spokes=3),
}


def segment_distance(points: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    along = end - start
    t = np.clip((points - start) @ along / (along @ along), 0.0, 1.0)
    return np.linalg.norm(points - start - t[:, None] * along, axis=1)


# -- all of them ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROPS)
def test_meshes_are_closed_and_face_out(name: str) -> None:
    mesh = PROPS[name]().mesh
    assert mesh.is_closed
    assert mesh.volume > 0


@pytest.mark.parametrize("name", [name for name in PROPS if "gear" not in name])
def test_mesh_and_shape_are_the_same_thing(name: str) -> None:
    """Corners of the mesh lie on a part of the shape: none is outside, and those not in another part are on it."""
    prop: Prop = PROPS[name]()
    assert prop.shape is not None
    corners = np.random.default_rng(2).permutation(prop.mesh.points)[:400]
    distance = prop.shape.distance(corners)
    assert distance.max() < 1e-7  # float32 at a quarter of a metre is good to 1.5e-8
    assert (np.abs(distance) < 1e-7).mean() > 0.25
    np.testing.assert_allclose(prop.mesh.bounds, prop.shape.bounds, atol=5e-4)


# -- rod, comb, hairbrush ------------------------------------------------------------------------------------------


def test_rod_has_its_length_and_thickness() -> None:
    rod = make_rod(length=0.2, radius=0.01)
    np.testing.assert_allclose(rod.mesh.bounds, [[-0.1, -0.01, -0.01], [0.1, 0.01, 0.01]], atol=1e-8)
    np.testing.assert_allclose(rod.shape.distance([[0, 0.05, 0], [0.1, 0, 0], [0, 0, 0]]), [0.04, 0, -0.01], atol=1e-8)


def test_comb_teeth_are_exact() -> None:
    count, length, spacing, radius = 6, 0.03, 0.004, 0.0005
    comb = make_comb(teeth=count, tooth_length=length, spacing=spacing, tooth_radius=radius)
    rng = np.random.default_rng(0)
    # Below the middle of the teeth the spine is further away than any tooth.
    points = rng.uniform([-0.01, -0.04, -0.003], [0.01, -0.02, 0.003], (500, 3))
    axes = [(i - 0.5 * (count - 1)) * spacing for i in range(count)]
    exact = np.min(
        [segment_distance(points, np.array([x, 0.0, 0.0]), np.array([x, radius - length, 0.0])) for x in axes], axis=0
    )
    np.testing.assert_allclose(comb.shape.distance(points), exact - radius, atol=2e-8)


def test_comb_tips_and_gaps_are_where_they_are_said_to_be() -> None:
    comb = make_comb(teeth=5, tooth_length=0.03, spacing=0.004, tooth_radius=0.0005)
    assert comb.mesh.bounds[0, 1] == pytest.approx(-0.03, abs=1e-8)
    tips = [[(i - 2) * 0.004, -0.03, 0.0] for i in range(5)]
    np.testing.assert_allclose(comb.shape.distance(tips), 0.0, atol=1e-8)
    between = [[(i - 1.5) * 0.004, -0.015, 0.0] for i in range(4)]
    np.testing.assert_allclose(comb.shape.distance(between), 0.002 - 0.0005, atol=1e-8)


def test_toys_have_their_sizes() -> None:
    horse = make_horse(length=0.3)
    low, high = horse.mesh.bounds
    assert high[0] - low[0] == pytest.approx(0.3, rel=0.01)
    assert abs(low[1]) < 1e-3  # it stands on the ground
    urchin = make_urchin(radius=0.05, spike=0.02, spikes=30)
    reach = np.linalg.norm(urchin.mesh.points, axis=1)
    assert reach.max() == pytest.approx(0.07, rel=1e-3)
    np.testing.assert_allclose(urchin.shape.distance([[0, 0, 0]]), -0.05, atol=1e-6)


@pytest.mark.parametrize("side", ["right", "left"])
def test_a_moving_hand_has_the_form_of_a_hand_at_every_key(side: str) -> None:
    times, curls = [0.0, 0.3, 0.5], [0.0, 0.9, 0.4]
    solids = make_moving_hand(times, curls, spread=0.1, side=side)
    assert len(solids) == 16
    points = np.random.default_rng(0).uniform([-0.12, -0.22, -0.1], [0.12, 0.08, 0.1], (400, 3)).astype(np.float32)
    for time, curl in zip(times, curls, strict=True):
        whole = make_hand(curl=curl, spread=0.1, side=side).shape
        apart = np.min([solid.at(time).distance(points) for solid in solids], axis=0)
        np.testing.assert_allclose(apart, whole.distance(points), atol=2e-6)


def test_a_moving_hand_goes_where_it_is_led() -> None:
    way = KeyframedMotion([0.0, 1.0], [[0, 0, 0], [0.4, 0, 0]], np.tile([0.0, 0, 0, 1], (2, 1)))
    still, led = make_moving_hand([0.0, 1.0], [0.2, 0.2]), make_moving_hand([0.0, 1.0], [0.2, 0.2], way)
    points = np.random.default_rng(1).uniform(-0.2, 0.2, (50, 3)).astype(np.float32)
    moved = points + np.array([0.4, 0, 0], np.float32)
    for a, b in zip(still, led, strict=True):
        np.testing.assert_allclose(b.at(1.0).distance(moved), a.at(1.0).distance(points), atol=1e-6)


def test_hairbrush_has_bristles_below_and_handle_behind() -> None:
    brush = make_hairbrush(rows=4, columns=5, bristle_length=0.02)
    low, high = brush.mesh.bounds
    assert low[1] == pytest.approx(-0.02, abs=1e-8)
    assert low[0] == pytest.approx(-0.055, abs=1e-8)  # half of the paddle
    assert high[0] == pytest.approx(0.055 + 0.12, abs=1e-8)  # and the handle
    # Rows of 5, 4, 5 and 4 bristles; paddle and handle.
    assert len(brush.shape.shapes) == 18 + 2
    tips = brush.mesh.points[brush.mesh.points[:, 1] < -0.02 + 1e-7]
    assert len(tips) == 18
    gaps = np.linalg.norm(tips[:, None] - tips, axis=2) + np.eye(18)
    assert gaps.min() > 0.01


# -- hand ----------------------------------------------------------------------------------------------------------


def test_straight_hand_has_five_fingers_and_the_stated_length() -> None:
    hand = make_hand(curl=0.0, spread=0.15, length=0.18)
    # A line across the straight fingers, between the middle joints, meets four of them; the thumb ends above it.
    x = np.linspace(-0.15, 0.15, 601)
    across = hand.shape.distance(np.column_stack([x, np.full_like(x, -0.125), np.zeros_like(x)])) < 0
    assert np.sum(np.diff(across.astype(int)) == 1) == 4
    # A line along the thumb's side meets the thumb alone.
    assert hand.mesh.bounds[0, 0] < -0.07
    straight = make_hand(curl=0.0, spread=0.0, length=0.18)
    assert straight.mesh.bounds[0, 1] == pytest.approx(-0.18, abs=1e-7)


def test_curling_bends_towards_the_palm() -> None:
    reach = [make_hand(curl=curl).mesh.bounds for curl in (0.0, 0.3, 0.6, 1.0)]
    lengths = [-bounds[0, 1] for bounds in reach]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] < 0.13  # a fist ends just below the knuckles
    assert reach[1][1, 2] > reach[0][1, 2]  # +Z is the palm's side
    assert all(bounds[0, 2] == pytest.approx(reach[0][0, 2], abs=1e-3) for bounds in reach)


def test_spread_opens_the_fan() -> None:
    widths = [np.ptp(make_hand(curl=0.0, spread=spread).mesh.bounds[:, 0]) for spread in (0.0, 0.1, 0.3)]
    assert widths == sorted(widths)


def test_left_hand_mirrors_the_right() -> None:
    left, right = make_hand(side="left"), make_hand(side="right")
    assert right.mesh.bounds[0, 0] == -left.mesh.bounds[1, 0]
    points = np.random.default_rng(1).normal(scale=0.1, size=(50, 3)).astype(np.float32)
    mirrored = points * np.array([-1, 1, 1], np.float32)
    np.testing.assert_allclose(left.shape.distance(mirrored), right.shape.distance(points), atol=1e-7)
    assert left.mesh.volume == pytest.approx(right.mesh.volume, rel=1e-5)


# -- gears ---------------------------------------------------------------------------------------------------------


def area(outline: np.ndarray) -> float:
    x, y = outline.T
    return 0.5 * float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))


def inside(outline: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Which points are inside a polygon: a ray to the right crosses its edges an odd number of times."""
    a, b = outline[:, None], np.roll(outline, -1, axis=0)[:, None]
    spans = (a[..., 1] > points[:, 1]) != (b[..., 1] > points[:, 1])
    rise = np.where(spans, b[..., 1] - a[..., 1], 1.0)
    crossing = a[..., 0] + (points[:, 1] - a[..., 1]) / rise * (b[..., 0] - a[..., 0])
    return (spans & (points[:, 0] < crossing)).sum(axis=0) % 2 == 1


def edge_gap(outline: np.ndarray, points: np.ndarray) -> float:
    """Smallest distance from the points to the edges of a polygon."""
    a, b = outline[:, None], np.roll(outline, -1, axis=0)[:, None]
    along = b - a
    t = np.clip(((points - a) * along).sum(-1) / (along * along).sum(-1), 0.0, 1.0)[..., None]
    return float(np.linalg.norm(points - a - t * along, axis=-1).min())


def placed_outlines(
    teeth: tuple[int, ...], module: float, times: list[float], bearing: float
) -> list[list[np.ndarray]]:
    """Outlines of the gears of a train, where their motions carry them at each time."""
    gears = make_gears(teeth=teeth, module=module, speed=1.0, bearings=[bearing])
    flat = [np.pad(gear_outline(count, module), ((0, 0), (0, 1))) for count in teeth]
    return [
        [gear.motion.pose(time).apply(outline)[:, :2] for gear, outline in zip(gears, flat, strict=True)]
        for time in times
    ]


@pytest.mark.parametrize(
    ("teeth", "bearing"), [((24, 18), 0.0), ((17, 17), 2.0), ((17, 120), -1.0), ((45, 60), 0.5), ((30, 17), 3.0)]
)
def test_teeth_mesh_without_touching(teeth: tuple[int, int], bearing: float) -> None:
    """While one tooth passes, in 12 steps, no corner of one gear is inside the other, and the flanks are close.

    The flanks are parted by the backlash measured along the normal, shared between the two sides of the tooth when it
    is centred: BACKLASH * cos(20 degrees) / 2 of a module. Corners are 0.4 modules apart at most, on curves of radius
    2 modules or more near the contact, so the polygons are parted by at most 0.4 ** 2 / 8 / 2 = 0.01 modules more each.
    """
    module = 0.01
    times = [1.0 + k / 12 * 2 * math.pi / teeth[0] for k in range(12)]
    contact = 0.5 * module * teeth[0] * np.array([math.cos(bearing), math.sin(bearing)])
    gaps = []
    for a, b in placed_outlines(teeth, module, times, bearing):
        near_a, near_b = (outline[np.linalg.norm(outline - contact, axis=1) < 5 * module] for outline in (a, b))
        assert not inside(a, near_b).any()
        assert not inside(b, near_a).any()
        gaps.append(min(edge_gap(a, near_b), edge_gap(b, near_a)))
    assert min(gaps) > 0.005 * module
    assert max(gaps) < (0.5 * BACKLASH * math.cos(math.radians(20)) + 0.02) * module


def test_teeth_out_of_step_collide() -> None:
    """The test above can fail: half a tooth of error puts teeth into teeth."""
    ((a, b),) = placed_outlines((24, 18), 0.01, [1.0], 0.0)
    center = np.array([0.5 * 0.01 * (24 + 18), 0.0])
    turn = math.pi / 18
    spun = (b - center) @ np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]]) + center
    assert inside(a, spun).any()


def test_outline_has_the_standard_radii_and_tooth_width() -> None:
    teeth, module = 24, 0.004
    outline = gear_outline(teeth, module)
    radius, angle = np.linalg.norm(outline, axis=1), np.unwrap(np.arctan2(outline[:, 1], outline[:, 0]))
    pitch = 0.5 * teeth * module
    assert radius.max() == pytest.approx(pitch + ADDENDUM * module)
    assert radius.min() == pytest.approx(pitch - DEDENDUM * module)
    assert (np.diff(angle) > 0).all()  # counter-clockwise, and every ray from the centre leaves once
    # Half of the pitch circle lies in teeth, less half the backlash per tooth. The chord of a flank cuts off up to
    # 0.37 ** 2 / 8 / 4 = 0.005 modules on either side.
    around = np.linspace(0.0, 2 * math.pi, 6000, endpoint=False)
    covered = inside(outline, pitch * np.column_stack([np.cos(around), np.sin(around)])).mean()
    width = covered * 2 * math.pi * pitch / teeth
    assert width == pytest.approx((math.pi / 2 - BACKLASH / 2) * module, abs=0.012 * module)


def test_gear_is_its_outline_extruded_with_windows() -> None:
    full, open_gear = make_gear(spokes=0, thickness=0.02), make_gear(spokes=5, thickness=0.02)
    pitch = 0.5 * 24 * 0.004
    expected = (area(gear_outline(24, 0.004)) - math.pi * (0.18 * pitch) ** 2) * 0.02
    # The bevel takes half its square times the length of each border, some 1 % here.
    assert full.mesh.volume == pytest.approx(expected, rel=0.015)
    windows = 0.72 * math.pi * ((pitch - 2.85 * 0.004) ** 2 - (0.38 * pitch) ** 2) * 0.02
    assert full.mesh.volume - open_gear.mesh.volume == pytest.approx(windows, rel=0.02)
    # V - E + F = 2 - 2 holes: the bore alone, or the bore and five windows.
    for gear, holes in ((full, 1), (open_gear, 6)):
        assert gear.mesh.vertex_count - gear.mesh.face_count // 2 == 2 - 2 * holes


def test_faces_of_a_gear_are_flat_and_not_folded() -> None:
    for teeth, spokes in itertools.product((17, 24, 41, 80), (0, 2, 3, 5, 8)):
        gear = make_gear(thickness=0.01, teeth=teeth, spokes=spokes)
        heights = gear.mesh.points[gear.mesh.faces][..., 2]
        upper = (heights == heights.max()).all(axis=1)
        assert (gear.mesh.face_normals[upper, 2] > 0.999).all()


def test_gears_turn_at_rates_of_their_teeth_in_opposite_directions() -> None:
    gears = make_gears(teeth=(24, 18, 30), speed=2.0)
    speeds = [gear.motion.velocity(3.0).angular for gear in gears]
    np.testing.assert_allclose(speeds, [[0, 0, 2.0], [0, 0, -2.0 * 24 / 18], [0, 0, 2.0 * 24 / 30]], atol=1e-12)
    assert all(isinstance(gear.motion, Motion) for gear in gears)


def test_train_stands_where_it_is_put() -> None:
    pose = Pose(np.array([1.0, 2.0, 3.0]), quaternion.from_axis_angle([1.0, 0.0, 0.0], math.pi / 2))
    here, there = make_gears(), make_gears(pose=pose)
    for a, b in zip(here, there, strict=True):
        np.testing.assert_allclose(b.motion.pose(0.9).matrix, (pose.compose(a.motion.pose(0.9))).matrix, atol=1e-14)


def test_spin_velocity_is_the_derivative_of_its_pose() -> None:
    base = Pose(np.array([0.1, 0.2, 0.3]), quaternion.normalize(np.array([0.3, -0.2, 0.5, 0.7])))
    motion = SpinMotion(3.0, base, axis=np.array([1.0, 2.0, 2.0]), phase=0.4)
    local, step = np.eye(3), 1e-6
    np.testing.assert_allclose(motion.pose(-1.0).matrix, motion.pose(0.0).matrix)
    for time in np.linspace(-0.1, 2.0, 30):
        numeric = (motion.pose(time + step).apply(local) - motion.pose(time - step).apply(local)) / (2 * step)
        exact = motion.velocity(time).velocity(motion.pose(time).apply(local))
        np.testing.assert_allclose(exact, numeric, atol=1e-8)  # rounding 1e-16 / 1e-6, curvature 30 * 1e-12
    # Easing in takes half the ease-in time away from a steady turn.
    assert motion.angle(2.0) == pytest.approx(0.4 + 3.0 * (2.0 - 0.25))


# -- as solids -----------------------------------------------------------------------------------------------------


def test_solid_of_a_shape_is_exact_and_follows_the_motion_given() -> None:
    motion = make_motion("walk")
    solid = make_rod(radius=0.004).solid(motion)
    above = motion.pose(2.0).position + [0.0, 0.01, 0.0]
    np.testing.assert_allclose(solid.distance([above], 2.0), 0.006, atol=2e-7)  # float32 two metres from the origin
    assert make_rod().solid().motion is None


def test_solid_of_a_gear_has_holes_and_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANE_CACHE", "")  # a test leaves nothing behind
    (gear,) = make_gears(teeth=(24,), spokes=4, speed=1.0)
    solid = gear.solid()
    assert solid.motion is gear.motion
    pitch = 0.5 * 24 * 0.004
    turn = gear.motion.angle(0.8)
    # In the middle of the thickness: the bore, a spoke, a window, a tooth, a gap between teeth.
    radii = np.array([0.09, 0.6, 0.6, 1.0, 1.0]) * pitch
    angles = turn + np.array([0.0, 0.0, math.pi / 4, 0.0, math.pi / 24])
    points = np.column_stack([radii * np.cos(angles), radii * np.sin(angles), np.zeros(5)])
    distance = solid.distance(points, 0.8)
    assert (distance[[0, 2, 4]] > 0.001).all()
    assert (distance[[1, 3]] < -0.001).all()
    # Halfway from the axis to the bore, with nodes h apart, level lines of radius r are off by h ** 2 / (8 r) per axis.
    assert distance[0] == pytest.approx(0.09 * pitch, abs=2 * solid.field.cell_size**2 / (8 * 0.09 * pitch))


# -- bad settings --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "settings", "message"),
    [
        (make_rod, {"radius": 0.0}, "rod.radius: must be above 0, got 0.0"),
        (make_rod, {"length": 0.001}, "rod.length: must exceed its thickness of 0.008 m, got 0.001"),
        (make_comb, {"teeth": 0}, "comb.teeth: must be a whole number of at least 1, got 0"),
        (make_comb, {"teeth": 2.5}, "comb.teeth: must be a whole number"),
        (make_comb, {"spacing": 0.001}, "comb.spacing: must exceed a tooth's thickness of 0.001 m, got 0.001"),
        (make_comb, {"tooth_length": math.nan}, "comb.tooth_length: must be above 0, got nan"),
        (make_hairbrush, {"columns": 1}, "hairbrush.columns: must be a whole number of at least 2"),
        (make_hairbrush, {"paddle_width": 0.02}, "hairbrush.paddle_width: must be above 0.02"),
        (make_hand, {"curl": 1.2}, "hand.curl: must be from 0 to 1, got 1.2"),
        (make_hand, {"side": "middle"}, "hand.side: 'middle' is unknown; choose from left, right"),
        (make_hand, {"spread": 2.0}, "hand.spread: must be from -0.1 to 0.5, got 2.0"),
        (make_gear, {"teeth": 12}, "gear.teeth: must be a whole number of at least 17, got 12"),
        (make_gear, {"spokes": 1}, "gear.spokes: must be 0 or from 2 to 8, got 1"),
        (make_gear, {"module": -1.0}, "gear.module: must be above 0"),
        (make_gears, {"teeth": ()}, "gears.teeth: must name at least one gear, got none"),
        (make_gears, {"bearings": [0.0]}, "gears.bearings: must be 2 for 3 gears, got 1"),
        (make_gears, {"bearings": [0.0, 3.1]}, "gears.bearings: gears 0 and 2 must be .* m apart, got .*; turn the"),
        (make_gears, {"speed": math.inf}, "speed: must be a finite number, got inf"),
    ],
)
def test_bad_settings_are_refused(make, settings: dict, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        make(**settings)
