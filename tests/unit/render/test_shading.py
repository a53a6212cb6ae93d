"""Light on hair: the kernels against the reference, and what a look does to light."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from mane.render import _reference_shading as reference
from mane.render.looks import LOOKS, Look
from mane.render.shading import pack_look, shade_ambient, shade_vertices

Floats = NDArray[np.float32]

MODELS = (Look(), Look(model="kajiya"))


def _directions(rng: np.random.Generator, count: int) -> Floats:
    vectors = rng.normal(size=(count, 3))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def _random_scene(seed: int, count: int) -> dict[str, Floats]:
    """Arguments of `shade_vertices` after the look."""
    rng = np.random.default_rng(seed)
    return {
        "tangents": _directions(rng, count),
        "to_eye": _directions(rng, count),
        "colors": rng.uniform(0.0, 1.0, (count, 3)).astype(np.float32),
        "to_light": _directions(rng, count),
        "light_rgb": rng.uniform(0.5, 2.0, (count, 3)).astype(np.float32),
        "scatter": rng.exponential(2.0, count).astype(np.float32),
    }


def _shade(look: Look, scene: dict[str, Floats]) -> Floats:
    out = np.zeros((len(scene["tangents"]), 3), np.float32)
    shade_vertices(pack_look(look), **scene, out=out)
    return out


def _shade_one(look: Look, theta_eye: Floats, phi: float, theta_light: float = 0.0, **changes: float) -> Floats:
    """Red light of a fibre along x, lit from the given inclination, seen from `theta_eye` (N,) and azimuth `phi`."""
    count = len(theta_eye)
    settings = {"color": 0.5, "scatter": 0.0} | changes
    eye = np.stack([np.sin(theta_eye), np.cos(theta_eye) * np.cos(phi), np.cos(theta_eye) * np.sin(phi)], axis=1)
    scene = {
        "tangents": np.tile(np.array([[1.0, 0.0, 0.0]], np.float32), (count, 1)),
        "to_eye": eye.astype(np.float32),
        "colors": np.full((count, 3), settings["color"], np.float32),
        "to_light": np.array([[np.sin(theta_light), np.cos(theta_light), 0.0]], np.float32),
        "light_rgb": np.ones((1, 3), np.float32),
        "scatter": np.full(count, settings["scatter"], np.float32),
    }
    return _shade(look, scene)[:, 0]


# -- kernels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("roughness", "tilt"), [(0.1, 0.05), (0.22, 0.05), (0.22, 0.0), (1.0, -0.1)])
def test_tables_agree_with_integrals(roughness: float, tilt: float) -> None:
    look = Look(roughness=roughness, azimuthal_roughness=roughness, tilt=tilt)
    scene = _random_scene(1, 50)
    shaded = _shade(look, scene)
    exact = reference.shade_vertices(look, **{name: value.astype(np.float64) for name, value in scene.items()})
    # Linear interpolation over a step h errs by h^2/8 of the second derivative. Narrowest is the azimuthal logistic,
    # 0.024 rad at roughness 0.1 against nodes 0.033 rad apart; smeared over the fibre's width it leaves a percent.
    error = shaded - exact
    assert np.sqrt((error**2).sum() / (exact**2).sum()) < 0.01
    assert np.abs(error / (exact + 0.02)).max() < 0.06


def test_ambient_tables_agree_with_integrals() -> None:
    scene = _random_scene(2, 100)
    openness = np.random.default_rng(2).uniform(0.2, 1.0, 100).astype(np.float32)
    out = np.zeros((100, 3), np.float32)
    names = ("tangents", "to_eye", "colors", "light_rgb", "scatter")
    arguments = [scene[name] for name in names]
    shade_ambient(pack_look(Look()), *arguments, out, openness)
    exact = reference.shade_ambient(Look(), *(value.astype(np.float64) for value in [*arguments, openness]))
    # Shares of light near the transmittance of 1 come from pigment nodes 0.05 apart: h^2/8 * 2 = 6e-4 of a loss of
    # 0.03 and more, whose root sets how bright the inside is. The few fibres seen almost along their axis, where
    # Fresnel's terms climb to 1 within the first step of the cosine, are off by more.
    error = out - exact
    assert np.sqrt((error**2).sum() / (exact**2).sum()) < 0.01
    assert np.abs(error / (exact + 0.02)).max() < 0.08


@pytest.mark.parametrize("look", MODELS, ids=["marschner", "kajiya"])
def test_threads_and_order_change_no_bit(look: Look, on_threads) -> None:
    scene = _random_scene(3, 5000)
    alone = on_threads(lambda: _shade(look, scene))
    order = np.random.default_rng(3).permutation(5000)
    shuffled = _shade(look, {name: np.ascontiguousarray(value[order]) for name, value in scene.items()})
    assert shuffled.tobytes() == alone[order].tobytes()


@pytest.mark.parametrize("look", MODELS, ids=["marschner", "kajiya"])
def test_one_light_for_all_is_the_same_light_for_each(look: Look) -> None:
    scene = _random_scene(4, 300)
    for name in ("to_light", "light_rgb"):
        scene[name] = np.ascontiguousarray(scene[name][:1])
    each = scene | {name: np.repeat(scene[name], 300, axis=0) for name in ("to_light", "light_rgb")}
    assert _shade(look, scene).tobytes() == _shade(look, each).tobytes()


@pytest.mark.parametrize("look", MODELS, ids=["marschner", "kajiya"])
def test_light_is_added(look: Look) -> None:
    scene = _random_scene(5, 300)
    out = np.zeros((300, 3), np.float32)
    for _ in range(2):
        shade_vertices(pack_look(look), **scene, out=out)
    np.testing.assert_array_equal(out, 2.0 * _shade(look, scene))


@pytest.mark.parametrize("look", MODELS, ids=["marschner", "kajiya"])
def test_every_direction_gives_finite_light(look: Look) -> None:
    axes = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1]], np.float32)
    tangents, to_eye, to_light = (
        np.ascontiguousarray(grid.reshape(-1, 3))
        for grid in np.broadcast_arrays(axes[:, None, None], axes[None, :, None], axes[None, None, :])
    )
    count = len(tangents)
    for color in (0.0, 1.0):
        for hairs in (0.0, 1e-6, 1e4):
            scene = {
                "tangents": tangents,
                "to_eye": to_eye,
                "colors": np.full((count, 3), color, np.float32),
                "to_light": to_light,
                "light_rgb": np.ones((1, 3), np.float32),
                "scatter": np.full(count, hairs, np.float32),
            }
            shaded = _shade(look, scene)
            shade_ambient(
                pack_look(look), tangents, to_eye, scene["colors"], scene["light_rgb"], scene["scatter"], shaded
            )
            assert np.isfinite(shaded).all()
            assert (shaded >= 0.0).all()


def test_kajiya_is_the_formula() -> None:
    # Kajiya and Kay 1989: diffuse sin(T, L), specular (cone's cosine) ** p; Goldman 1997: (1 + k)/2 of it reflected and
    # (1 - k)/2 transmitted, k the cosine between light and eye around the fibre.
    look = Look(model="kajiya", roughness=0.4)
    scene = _random_scene(6, 200)
    tangent, eye, light = (scene[name].astype(np.float64) for name in ("tangents", "to_eye", "to_light"))
    along_light, along_eye = np.einsum("ij,ij->i", tangent, light), np.einsum("ij,ij->i", tangent, eye)
    across_light, across_eye = np.cross(tangent, light), np.cross(tangent, eye)
    sin_light, sin_eye = np.linalg.norm(across_light, axis=1), np.linalg.norm(across_eye, axis=1)
    side = np.einsum("ij,ij->i", across_light, across_eye) / (sin_light * sin_eye)
    exponent = 1.0 / look.fibre.variances[0]
    specular = 0.08 * np.maximum(sin_light * sin_eye - along_light * along_eye, 0.0) ** exponent
    share = 0.5 * (1.0 + side) + 0.4 * 0.5 * (1.0 - side)
    expected = 1.2 / np.pi * sin_light[:, None] * scene["colors"] + specular[:, None]
    expected *= scene["light_rgb"] * (share * np.exp(-scene["scatter"]))[:, None]
    np.testing.assert_allclose(_shade(look, scene), expected, rtol=1e-3, atol=1e-5)


# -- what light does ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tilt", [0.0, 0.06])
def test_tilted_scales_move_the_white_highlight_to_the_root(tilt: float) -> None:
    # On a black fibre only the surface's reflection is left: at the mirror angle, less twice the tilt.
    look = replace(LOOKS["black"], tilt=tilt, multiple_scattering=0.0)
    theta_eye = np.linspace(-1.2, 1.2, 2401)
    shaded = _shade_one(look, theta_eye, phi=0.3, theta_light=0.3, color=0.0)
    # The lobe is a density over inclinations, whose measure shrinks towards the poles: the peak leans there a little.
    assert theta_eye[shaded.argmax()] == pytest.approx(-0.3 - 2.0 * tilt, abs=0.02)


def test_light_through_a_fibre_takes_its_colour_and_reflected_light_does_not() -> None:
    look = Look(multiple_scattering=0.0)
    straight = np.zeros(1, np.float32)
    through = [_shade_one(look, straight, phi=np.pi, color=color)[0] for color in (0.1, 0.9)]
    reflected = [_shade_one(look, straight, phi=0.9, color=color)[0] for color in (0.1, 0.9)]
    assert through[1] > 5.0 * through[0]
    assert reflected[1] < 2.0 * reflected[0]


def test_blond_hair_is_bright_because_light_goes_from_hair_to_hair() -> None:
    straight = np.zeros(1, np.float32)
    for color, least in ((0.8, 2.0), (0.02, 1.0)):
        together = _shade_one(Look(), straight, phi=0.5, color=color, scatter=1.0)
        alone = _shade_one(Look(multiple_scattering=0.0), straight, phi=0.5, color=color, scatter=1.0)
        assert together > least * alone
    # Deep inside, blond light arrives where black light does not.
    deep = [_shade_one(Look(), straight, phi=0.5, color=color, scatter=8.0)[0] for color in (0.8, 0.02)]
    assert deep[0] > 20.0 * deep[1]


def test_wet_hair_is_darker_with_a_sharper_highlight() -> None:
    dry, wet = LOOKS["brown"], replace(LOOKS["brown"], wetness=1.0)
    theta_eye = np.linspace(-1.0, 1.0, 401)
    highlights = [_shade_one(look, theta_eye, phi=0.2, color=0.0) for look in (dry, wet)]
    widths = [(highlight > 0.5 * highlight.max()).sum() for highlight in highlights]
    assert highlights[1].max() > 1.5 * highlights[0].max()
    assert widths[1] < 0.6 * widths[0]
    assert wet.scattered_share < dry.scattered_share


def test_translucency_lets_light_into_the_shade() -> None:
    straight = np.zeros(1, np.float32)
    plain, clear = (Look(translucency=value) for value in (0.0, 1.0))
    assert _shade_one(clear, straight, phi=2.5, scatter=5.0) > 2.0 * _shade_one(plain, straight, phi=2.5, scatter=5.0)


def test_a_packed_look_is_made_once_and_cannot_be_changed() -> None:
    packed = pack_look(Look())
    assert pack_look(Look()) is packed
    with pytest.raises(ValueError, match="read-only"):
        packed[0] = 1.0
