"""The physical skin: rest, rigid motion, fading guides and its settings, against its plain specification."""

from dataclasses import replace

import numpy as np
import pytest
from plain_physical import given_to
from skin_frames import SOMEWHERE, curls, frame_of, guides_of, other_guides, reordered, reordered_frame, shaken

from mane.geometry import quaternion
from mane.groom import styles
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.metrics.kink import kink
from mane.skin.linear.skin import LinearSkin
from mane.skin.physical import skin as physical
from mane.skin.physical.forces import GuideForces, place_loads, rotations_at_roots
from mane.skin.physical.plain import plain_sweep
from mane.skin.physical.skin import PhysicalSkin
from mane.strand.material import Material
from mane.strand.standing.stiffen import stiffen_to_stand, stiffening

# A segment's direction is rounded by a few times 6e-8 rad, and turns all that lies beyond by as much: over the 15
# segments of a hair of 0.3 m, less than 15 * 3e-7 * 0.3 m / 2.
ROUNDING = 1e-6


def weighted(guides, frame, material=None):
    """The same frame with the cut forces of guides that carry their own weight, turned with the head."""
    model = (material or Material()).model(guides)
    beyond = np.cumsum(model.mass[:, :0:-1], axis=1)[:, ::-1, None] * model.gravity
    turned = quaternion.rotate(frame.root_rotations[:, None].astype(np.float64), beyond)
    return replace(frame, cut_force=turned.astype(np.float32))


def pulled(guides, frame, seed=7):
    """The same frame with forces of some weights in any direction."""
    weight = GuideForces.of(Material().model(guides)).weight
    force = np.random.default_rng(seed).normal(0, 0.5, frame.cut_force.shape) * weight[:, None, None]
    return replace(frame, cut_force=force.astype(np.float32))


def uneven(groom, guides):
    """Hairs and guides of which no two are alike in thickness or in how they are held up; arguments of a skin."""
    rng = np.random.default_rng(11)
    return {
        "material": Material(radius=rng.uniform(30e-6, 50e-6, groom.strand_count)),
        "guide_model": Material(radius=rng.uniform(30e-6, 50e-6, guides.capacity)).model(guides),
        "guide_stiffening": rng.uniform(1.0, 3.0, guides.capacity),
    }


@pytest.mark.parametrize("vertices", [3, 12, 16])
@pytest.mark.parametrize("binding", ["triangle", "single"])
def test_it_is_its_reference_on_a_rigid_head(binding, vertices, monkeypatch):
    monkeypatch.setattr(physical, "ROWS_AT_ONCE", 32)  # hairs are bound in three pieces
    groom, guides = curls(70, vertices), other_guides(12, 9)
    bent = shaken(guides)
    frame = pulled(guides, replace(frame_of(guides, SOMEWHERE), points=bent.points, roots=bent.roots))
    settings = {"binding": binding, **uneven(groom, guides)}
    found = PhysicalSkin(groom, guides, **settings)(frame)
    np.testing.assert_allclose(found, given_to(groom, guides, frame, **settings).swept(), atol=ROUNDING)


@pytest.mark.parametrize(
    "settings",
    [
        {"binding": "nearest", "count": 5},
        {"stretch": "paper", "drift": 10.0},
        {"alpha": 0.0},
        {"drift_from": "unloaded", "drift": 1.0},
        {"load": "force", "sag_free": False},
    ],
)
def test_it_is_its_reference_on_a_deforming_skin_with_fading_guides(settings):
    groom, guides = curls(60, 16), other_guides(12, 16)
    # Of some hairs all guides are gone, or nearly so.
    weight = np.concatenate([[0.0, 0.02, 0.0, 0.03], np.linspace(0.2, 1, 8)]).astype(np.float32)
    frame = replace(pulled(guides, shaken(guides)), weight=weight)
    settings = settings | uneven(groom, guides)
    found = PhysicalSkin(groom, guides, **settings)(frame)
    np.testing.assert_allclose(found, given_to(groom, guides, frame, **settings).swept(), atol=ROUNDING)


@pytest.mark.parametrize("style", ["curly", "straight", "mohawk"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"sag_free": False},
        {"sweeps": 3},
        {"sweeps": "converged", "alpha": 0.0},
        {"sweeps": "converged"},
        {"warm_start": "previous"},
    ],
)
def test_guides_at_rest_give_the_groom_and_a_moved_head_the_moved_groom(style, settings):
    """Stiffened as in every scene: hair that cannot stand as groomed is in a balance that rounding tips over."""
    groom = styles.make(style, strands=150, vertices=16, seed=2)
    guides = guides_of(groom, 15)
    plain = Material().model(guides)
    model, _ = stiffen_to_stand(plain, mode="on")
    skin = PhysicalSkin(groom, guides, guide_model=model, guide_stiffening=stiffening(model, plain), **settings)
    still, moved = frame_of(guides), frame_of(guides, SOMEWHERE)
    if skin.params.sag_free:
        still, moved = weighted(guides, still), weighted(guides, moved)
    np.testing.assert_allclose(skin(still), groom.as_uniform(), atol=ROUNDING)
    expected = SOMEWHERE.apply(groom.as_uniform().astype(np.float64))
    # The frame's own numbers are rounded to float32: 1.2e-7 of some 2 m.
    np.testing.assert_allclose(skin(moved), expected, atol=3 * ROUNDING)


def test_rest_forces_may_come_from_a_frame():
    groom, guides = curls(80, 12), other_guides(10, 12)
    still = pulled(guides, frame_of(guides))
    moved = pulled(guides, shaken(guides), seed=8)
    found = PhysicalSkin(groom, guides, rest=still)(moved)
    np.testing.assert_allclose(found, given_to(groom, guides, moved, rest=still).swept(), atol=ROUNDING)
    np.testing.assert_allclose(PhysicalSkin(groom, guides, rest=still)(still), groom.as_uniform(), atol=ROUNDING)
    assert np.abs(PhysicalSkin(groom, guides)(still) - groom.as_uniform()).max() > 1e-3


def test_lengths_are_kept_where_linear_skinning_squashes_them():
    groom = curls(200, 16)
    guides = guides_of(groom, 20)
    frame = weighted(guides, shaken(guides, size=0.1))
    rest = np.linalg.norm(np.diff(groom.as_uniform(), axis=1), axis=2)

    def largest_stretch(skin):
        return np.abs(np.linalg.norm(np.diff(skin(frame), axis=1), axis=2) / rest - 1).max()

    # Segments of 3 mm and more between points that are rounded by 1.2e-7 m.
    assert largest_stretch(PhysicalSkin(groom, guides)) < 2e-4
    assert largest_stretch(PhysicalSkin(groom, guides, stretch="paper", drift=10.0)) > 0.02
    assert largest_stretch(LinearSkin(groom, guides)) > 0.2


def test_a_stronger_pull_brings_hairs_closer_to_their_targets():
    groom = curls(150, 16)
    guides = guides_of(groom, 15)
    frame = weighted(guides, shaken(guides))
    target = LinearSkin(groom, guides)
    off = [
        np.linalg.norm(PhysicalSkin(groom, guides, drift=drift)(frame) - target(frame), axis=2).mean()
        for drift in (1.0, 10.0, 100.0, 1000.0)
    ]
    assert (np.diff(off) < 0).all()


def test_targets_may_be_those_of_any_skin():
    groom, guides = curls(90, 16), other_guides(9, 16)
    frame = pulled(guides, shaken(guides))
    single = LinearSkin(groom, guides, binding="single")
    targets = single(frame)
    found = PhysicalSkin(groom, guides, target=single)(frame)
    np.testing.assert_allclose(found, given_to(groom, guides, frame, targets=targets).swept(), atol=ROUNDING)


def test_the_order_of_guides_does_not_matter():
    groom = curls(120, 10)
    guides = guides_of(groom, 15)
    order = np.random.default_rng(0).permutation(15)
    frame = pulled(guides, shaken(guides))
    expected = PhysicalSkin(groom, guides)(frame)
    found = PhysicalSkin(groom, reordered(guides, order))(reordered_frame(frame, order))
    np.testing.assert_allclose(found, expected, atol=ROUNDING)


def test_a_hair_without_guides_is_carried_by_the_head():
    groom = curls(60, 10)
    guides = guides_of(groom, 6)
    gone = replace(
        weighted(guides, frame_of(guides, SOMEWHERE)), active=np.zeros(6, np.bool_), weight=np.zeros(6, np.float32)
    )
    expected = SOMEWHERE.apply(groom.as_uniform().astype(np.float64))
    np.testing.assert_allclose(PhysicalSkin(groom, guides)(gone), expected, atol=3 * ROUNDING)


@pytest.mark.parametrize("settings", [{}, {"sweeps": 2}, {"sweeps": "converged"}, {"stretch": "paper", "drift": 10.0}])
def test_the_thread_count_changes_no_byte(settings, on_threads):
    groom = curls(600, 12)
    guides = guides_of(groom, 10)
    frame = pulled(guides, frame_of(guides, SOMEWHERE))
    fading = replace(pulled(guides, shaken(guides)), weight=np.linspace(0, 1, 10, dtype=np.float32))

    def skinned():
        skin = PhysicalSkin(groom, guides, **settings)
        return skin(frame).copy(), skin(fading)

    on_threads(skinned)


def test_the_plain_kernel_does_the_same_sums():
    groom = curls(200, 16)
    skin = PhysicalSkin(groom, guides_of(groom, 12))
    frame = pulled(skin.guides, frame_of(skin.guides, SOMEWHERE))
    np.testing.assert_allclose(plain_sweep(skin, frame)(), skin(frame), atol=ROUNDING)


def test_the_thread_count_changes_no_byte_of_the_plain_kernel(on_threads):
    groom = curls(200, 16)
    skin = PhysicalSkin(groom, guides_of(groom, 12))
    frame = pulled(skin.guides, frame_of(skin.guides, SOMEWHERE))
    on_threads(lambda: plain_sweep(skin, frame)())


def test_stiffer_hairs_yield_less():
    """The same load on hairs of 30, 60 and 120 um of one shape: what it bends them by falls."""
    groom = Groom.from_uniform(np.repeat(curls(1, 16).as_uniform(), 3, axis=0))
    guides = Guides.chosen(groom, [0])
    settings = {"guide_model": Material().model(guides), "alpha": 0.0, "sag_free": False}
    skin = PhysicalSkin(groom, guides, material=Material(radius=np.array([15e-6, 30e-6, 60e-6])), **settings)
    bent = guides.rest + 0.03 * np.linspace(0, 1, 16)[:, None] ** 2 * np.array([0.5, -1.0, 0.5])
    moved = np.linalg.norm(skin(frame_of(guides, points=bent)) - groom.as_uniform(), axis=2).max(axis=1)
    assert moved[0] > 1.5 * moved[1] > 1.5**2 * moved[2] > 0


def test_hairs_are_stiffened_like_the_guides_that_carry_them():
    groom = curls(60, 12)
    guides = guides_of(groom, 6)
    held = PhysicalSkin(groom, guides, guide_stiffening=np.full(6, 3.0))
    plain = PhysicalSkin(groom, guides, material=Material(stiffness=3.0))
    np.testing.assert_allclose(held._data, plain._data, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("settings", [{}, {"alpha": 0.0}, {"alpha": 0.05, "drift": 3.0}, {"sag_free": False}])
@pytest.mark.parametrize("vertices", [16, 25])
def test_a_hair_of_its_guides_shape_follows_it_in_one_sweep(settings, vertices):
    """However it is bent, since the guide hands on its moments; with the cut forces alone it is far off."""
    groom = curls(12, vertices)
    guides = Guides.from_groom(groom)
    bent = guides.rest + 0.05 * np.linspace(0, 1, vertices)[:, None] ** 2 * np.array([0.5, -1.0, 0.5])
    length = np.linalg.norm(np.diff(guides.rest, axis=1), axis=2)
    way = np.diff(bent, axis=1)
    way *= (length / np.linalg.norm(way, axis=2))[..., None]  # as long as it was
    bent[:, 1:] = bent[:, :1] + np.cumsum(way, axis=1)
    frame = weighted(guides, frame_of(guides, points=bent))

    def off(**more):
        skin = PhysicalSkin(groom, guides, binding="single", **settings, **more)
        return np.linalg.norm(skin(frame) - frame.points, axis=2).max()

    assert off() < 10 * ROUNDING
    assert off(load="force") > 1e-3


def test_a_joint_that_folds_hands_on_no_more_than_one_that_bends():
    """One sweep needs k_bt T / (1 - T) / 2 to bend a joint by theta, T = tan(theta / 2), tension apart.

    That grows without bounds towards a right angle, and hair of another shape than the guide's was thrown about by
    loads of dozens of weights. Read as they are up to 33 degrees, T = 0.3, loads end at T = 0.5, 2.4 times as large;
    before, at 0.9, they ended at 21 times.
    """
    guides = Guides.from_groom(curls(1, 16))
    skin, rest = PhysicalSkin(curls(3, 16), guides, sag_free=False), guides.rest[0].astype(float)
    axis = np.cross(rest[3] - rest[2], [0.3, 1.0, 0.2])
    axis /= np.linalg.norm(axis)
    loads = []
    for angle in np.radians([33, 50, 70, 90, 120, 170]):
        points = rest.copy()
        points[3:] = rest[2] + quaternion.rotate(quaternion.from_axis_angle(axis, angle), rest[3:] - rest[2])
        loads.append(np.linalg.norm(skin._loads.of_frame(frame_of(guides, points=points[None]))[0, 2]))
    assert np.all(np.diff(loads) > 0)
    assert loads[-1] < 2.5 * loads[0]


def test_a_blow_on_a_guide_does_not_throw_its_hairs():
    """A cut force of a thousand weights for one frame, as a contact may make, does no more than the largest allowed."""
    groom = curls(80, 12)
    guides = guides_of(groom, 8)
    skin = PhysicalSkin(groom, guides)
    frame = weighted(guides, shaken(guides))
    plain = skin(frame).copy()
    weight = GuideForces.of(Material().model(guides)).weight
    blow = frame.cut_force + (1000 * weight[:, None, None] * np.array([1.0, 0, 0])).astype(np.float32)
    allowed = (1.5 * weight[:, None, None] * np.array([1.0, 0, 0])) * np.ones_like(blow)
    thrown = skin(replace(frame, cut_force=blow)).copy()
    np.testing.assert_allclose(thrown, skin(replace(frame, cut_force=allowed.astype(np.float32))), atol=1e-4)
    assert np.abs(thrown - plain).max() < 0.05


def test_loads_are_taken_from_the_places_beside_a_hair():
    """A load that grows evenly along a guide comes out even at any places; beyond its ends it stays as it is there."""
    load = (np.arange(6.0)[None, :, None] + 0.5) * np.array([1.0, -2.0, 0.5])
    parameter = np.array([[[0.0, 1.0, 2.5, 4.5, 5.7, 6.0]]], np.float32)
    placed = place_loads(load, np.zeros((1, 1), np.int32), parameter)
    middle = np.clip(0.5 * (parameter[0, 0, 1:] + parameter[0, 0, :-1]), 0.5, 5.5)
    np.testing.assert_allclose(placed[0, 0], middle[:, None] * np.array([1.0, -2.0, 0.5]), rtol=1e-6)


def test_hairs_of_another_length_feel_their_own_weight():
    """Half a guide's shape, beside it: in weights of the hair, the same force at the same share of its length."""
    guide = np.zeros((1, 9, 3), np.float32)
    guide[0, :, 0] = np.linspace(0, 0.2, 9)
    groom = Groom.from_uniform(0.5 * guide)
    guides = Guides.from_groom(Groom.from_uniform(guide))
    skin = PhysicalSkin(groom, guides, load="force")
    own = GuideForces.of(Material().model(groom))
    inherited = skin._inherited(skin._loads.forces.at_rest(), rotations_at_roots(frame_of(guides)), skin._weight)
    np.testing.assert_allclose(inherited.of_hairs(slice(None))[0], own.at_rest(), rtol=1e-5, atol=1e-9)


def test_bytes_held_stay_below_the_promise():
    """250 MB for 100,000 hairs of 16 vertices are 156 bytes per vertex; blocks are nearly full where hairs are many."""
    groom = curls(4000, 16)
    skin = PhysicalSkin(groom, guides_of(groom, 8))
    assert skin.nbytes / (4000 * 16) < 156


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 1.0}, r"alpha: must be at least 0 and below 1, got 1\.0"),
        ({"drift": 0.0}, r"drift: must be above 0, got 0\.0"),
        ({"sweeps": 0}, r"sweeps: must be at least 1, got 0"),
        ({"sweeps": "all"}, r"sweeps: must be a whole number above zero or 'converged', got 'all'"),
        ({"stretch": "none"}, r"stretch: 'none' is unknown; choose from material, paper"),
        ({"warm_start": "previous", "sweeps": "converged"}, r"warm_start: must be 'rest' with sweeps='converged'"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    groom = curls(5, 8)
    with pytest.raises(ValueError, match=message):
        PhysicalSkin(groom, guides_of(groom, 2), **settings)


def test_hairs_between_guides_that_part_are_not_pushed_together():
    """Two guides bend apart, smoothly: the target between them is half as long as the hair, which cannot follow it."""
    along = np.linspace(0, 0.2, 17)
    roots = np.array([[-0.01, 0.0, 0.0], [0.01, 0.0, 0.0], [0.002, 0.0, 0.0]])
    groom = Groom.from_uniform(roots[:, None] - along[:, None] * [0.0, 1.0, 0.0])
    guides = Guides.chosen(groom, np.array([0, 1]))
    angle = 1.5 * np.linspace(0, 1, 16) * np.array([[-1.0], [1.0]])
    edges = 0.2 / 16 * np.stack([np.sin(angle), -np.cos(angle), 0 * angle], axis=2)
    parted = np.concatenate([guides.rest[:, :1], guides.rest[:, :1] + np.cumsum(edges, axis=1)], axis=1)
    frame = frame_of(guides, points=parted)

    def kink_with(drift_gain):
        skin = PhysicalSkin(groom, guides, binding="nearest", count=2, sag_free=False, drift_gain=drift_gain)
        return kink(skin(frame), groom.as_uniform())[2]

    # What is left at zero is the guides' own bend, which comes to the hair through their moments.
    kinks = np.array([kink_with(drift_gain) for drift_gain in (0.0, 0.25, 0.5, 0.75, 1.0)])
    assert (np.diff(kinks) > 0).all()
    assert kinks[2] < 2 / 3 * kinks[4]


@pytest.mark.parametrize(
    "settings",
    [{"sweeps": 2}, {"sweeps": "converged"}, {"load": "force"}, {"warm_start": "previous"}, {"stretch": "paper"}],
)
def test_a_closing_that_would_be_ignored_is_refused(settings):
    groom = curls(20, 8)
    guides = guides_of(groom, 5)
    with pytest.raises(ValueError, match="drift_gain: must be left out, or 1, unless sweeps is 1") as error:
        PhysicalSkin(groom, guides, drift_gain=0.5, **settings)
    assert "\n" not in str(error.value)
    assert PhysicalSkin(groom, guides, drift_gain=1, **settings).params.drift_gain_used == 1.0
    assert PhysicalSkin(groom, guides, **settings).params.drift_gain_used == 1.0


def test_closing_is_a_half_where_nothing_is_said():
    groom = curls(20, 8)
    assert PhysicalSkin(groom, guides_of(groom, 5)).params.drift_gain_used == 0.5
    assert PhysicalSkin(groom, guides_of(groom, 5), drift_gain=0.25).params.drift_gain_used == 0.25
