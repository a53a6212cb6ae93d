"""Looks: what is refused, and how pigment spreads over strands."""

import numpy as np
import pytest
from numpy.typing import NDArray

from mane.groom.groom import Groom
from mane.render import pigments
from mane.render.looks import LOOKS, Look
from mane.render.shading import pack_look

EVEN = Look(variation=0.0, tip_pigment=1.0)


def _groom(strands: int = 2000, vertices: int = 5, **attributes: NDArray[np.generic]) -> Groom:
    rng = np.random.default_rng(8)
    roots = rng.uniform(-0.1, 0.1, (strands, 1, 3))
    points = roots + np.linspace(0.0, 0.2, vertices)[None, :, None] * np.array([0.0, -1.0, 0.2])
    return Groom.from_uniform(points.astype(np.float32)).with_strand(**attributes)


def _absorption(look: Look, groom: Groom) -> NDArray[np.float64]:
    """Absorption of the pigment at each point of each strand, shape (S, V, 3)."""
    transmittance = look.strand_colors(groom).astype(np.float64)
    return -0.5 * np.log(transmittance).reshape(groom.strand_count, -1, 3)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("model", "phong", r"look.model: 'phong' is unknown; choose from kajiya, marschner"),
        ("roughness", 0.01, r"look.roughness: must lie between 0.1 and 1, got 0.01"),
        ("wetness", float("nan"), r"look.wetness: must lie between 0 and 1, got nan"),
        ("eumelanin", -1.0, r"look.eumelanin: must lie between 0 and 20, got -1.0"),
        ("dye", (0.1, 0.2), r"look.dye: must have shape \(3,\), got \(2,\)"),
        ("color", (0.1, 0.2, 1.5), r"look.color: must lie between 0 and 1, got \[0.1"),
    ],
)
def test_bad_settings_are_refused(field: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Look(**{field: value})  # type: ignore[arg-type]


def test_every_preset_packs_and_colours() -> None:
    groom = _groom(50, color=np.full((50, 3), 0.3, np.float32))
    for name, look in LOOKS.items():
        colors = look.strand_colors(groom)
        assert colors.shape == (groom.point_count, 3), name
        assert colors.dtype == np.float32, name
        assert (colors > 0.0).all(), name
        assert (colors <= 1.0).all(), name
    assert np.isfinite(pack_look(LOOKS["wet"])).all()


def test_presets_go_from_black_to_white() -> None:
    groom = _groom(200)
    names = ("black", "dark_brown", "brown", "light_brown", "blond", "platinum", "white")
    brightness = [LOOKS[name].strand_colors(groom).mean() for name in names]
    assert brightness == sorted(brightness)


def test_melanin_absorbs_as_published() -> None:
    look = Look(eumelanin=0.7, pheomelanin=0.3, variation=0.0, tip_pigment=1.0)
    expected = 0.7 * np.array([0.419, 0.697, 1.37]) + 0.3 * np.array([0.187, 0.4, 1.05])
    np.testing.assert_allclose(_absorption(look, _groom(3))[0, 0], expected + pigments.KERATIN, rtol=1e-5)


def test_reflectance_and_absorption_are_inverse() -> None:
    color = np.array([0.9, 0.3, 0.01])
    absorption = pigments.absorption_from_reflectance(color, 0.3)
    np.testing.assert_allclose(pigments.reflectance_from_absorption(absorption, 0.3), color)


def test_the_grooms_own_colour_counts_where_it_is_asked_for() -> None:
    colors = np.random.default_rng(1).uniform(0.1, 0.9, (40, 3)).astype(np.float32)
    groom = _groom(40, color=colors)
    kajiya = Look(model="kajiya", uses_groom_color=True, variation=0.0, tip_pigment=1.0)
    shown = kajiya.strand_colors(groom).reshape(40, -1, 3)
    np.testing.assert_allclose(shown[:, 0], colors, rtol=1e-5)
    with pytest.raises(ValueError, match="groom: has no attribute 'color'"):
        kajiya.strand_colors(_groom(3))


def test_strands_differ_as_much_as_asked() -> None:
    look = Look(variation=0.3, tip_pigment=1.0)
    green = np.log(_absorption(look, _groom(4000))[:, 0, 1])
    # Standard error of a standard deviation from 4000 samples: 0.3 / sqrt(8000) = 0.0034; allow four of them.
    assert green.std() == pytest.approx(0.3, abs=0.014)
    along = _absorption(look, _groom(20))
    np.testing.assert_allclose(along, np.broadcast_to(along[:, :1], along.shape), rtol=1e-4)


def test_a_share_of_the_strands_is_grey() -> None:
    look = Look(grey_fraction=0.3, variation=0.0, tip_pigment=1.0, eumelanin=4.0)
    red = _absorption(look, _groom(4000))[:, 0, 0]
    # Four standard errors of a share of 0.3 among 4000: 4 * sqrt(0.21 / 4000) = 0.029.
    assert (red < 0.5).mean() == pytest.approx(0.3, abs=0.029)


def test_tints_follow_strands_through_any_order() -> None:
    order = np.random.default_rng(5).permutation(300)
    look = LOOKS["grey"]
    for groom in (_groom(300), _groom(300, id=np.arange(300)[::-1].copy())):
        colors = look.strand_colors(groom).reshape(300, -1, 3)
        shuffled = look.strand_colors(groom.take(order)).reshape(300, -1, 3)
        assert shuffled.tobytes() == colors[order].tobytes()


def test_tints_stay_when_a_head_with_ids_moves() -> None:
    groom = _groom(300, id=np.arange(300))
    still = LOOKS["grey"].strand_colors(groom)
    moved = LOOKS["grey"].strand_colors(groom.with_points(groom.points + np.float32(0.5)))
    np.testing.assert_allclose(moved, still, rtol=1e-4)  # only the rounding of lengths along the strand


def test_tips_have_their_share_of_the_pigment() -> None:
    absorption = _absorption(Look(tip_pigment=0.5, variation=0.0), _groom(3))
    np.testing.assert_allclose(absorption[:, -1] / absorption[:, 0], 0.5, rtol=1e-4)
    np.testing.assert_allclose(absorption[:, 2] / absorption[:, 0], 0.5**0.5, rtol=1e-4)


def test_dyed_tips_leave_the_roots_alone() -> None:
    groom = _groom(3)
    plain, dyed = EVEN, Look(variation=0.0, tip_pigment=1.0, tip_color=(0.8, 0.1, 0.1), tip_start=0.5)
    before, after = _absorption(plain, groom), _absorption(dyed, groom)
    np.testing.assert_array_equal(before[:, :3], after[:, :3])
    expected = pigments.absorption_from_reflectance((0.8, 0.1, 0.1), dyed.azimuthal_roughness)
    np.testing.assert_allclose(after[0, -1], expected, rtol=1e-4)


def test_a_dye_adds_to_what_the_hair_has() -> None:
    groom = _groom(3)
    dyed = Look(variation=0.0, tip_pigment=1.0, dye=(0.5, 0.5, 0.5), dye_strength=0.5)
    added = (_absorption(dyed, groom) - _absorption(EVEN, groom))[0, 0]
    expected = 0.5 * pigments.absorption_from_reflectance((0.5, 0.5, 0.5), dyed.azimuthal_roughness)
    np.testing.assert_allclose(added, expected, rtol=1e-4)


def test_colours_of_chosen_points_are_those_of_all():
    groom = _groom(20)
    chosen = np.arange(0, groom.point_count, 3)
    for name in ("grey", "ombre"):
        some, all_of_them = LOOKS[name].strand_colors(groom, chosen), LOOKS[name].strand_colors(groom)
        np.testing.assert_array_equal(some[chosen], all_of_them[chosen])
        assert not np.delete(some, chosen, axis=0).any()
