"""A single fibre beside Mitsuba 3, an independent implementation of the same optics (Chiang et al. 2016).

A hair a centimetre wide lies across the picture; mane's far-field model must send as much light to the eye as Mitsuba's
near-field model does on average over the hair's width. What is left between them: mane takes Fresnel terms at half the
angle between light and eye and rebalances lobes to conserve energy, Mitsuba takes them at the eye's angle and does not.
The two count the tilt of the scales a little differently (mane by refraction at the index, Mitsuba at an index of 1.5),
so brightness is compared without tilt, and the direction of the tilt by itself.
"""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from mane.groom.groom import Groom
from mane.render.camera import Camera
from mane.render.lights import DirectionalLight
from mane.render.looks import Look
from mane.render.renderer import render

pytestmark = pytest.mark.skipif(find_spec("mitsuba") is None, reason="Mitsuba 3 is not installed")

CAMERA = Camera((0.0, 0.0, 1.0), (0.0, 0.0, 0.0), fov=0.1)
FIBRE = Look(roughness=0.3, azimuthal_roughness=0.3, variation=0.0, tip_pigment=1.0, multiple_scattering=0.0)
MODELS_DIFFER_BY = 0.12  # 0.11 is the most on a grid of angles up to 0.3 rad; the rest is noise


def fibre():
    points = np.stack([np.linspace(-0.5, 0.5, 5), np.zeros(5), np.zeros(5)], axis=1)
    return Groom.from_strands([points], vertex={"width": np.full(5, 0.01, np.float32)})


def light_from(pigment, theta, phi, tilt=0.0):
    """Linear light of the fibre, ours and theirs; the light is inclined by theta and turned by phi around it."""
    direction = (np.sin(theta), np.cos(theta) * np.sin(phi), np.cos(theta) * np.cos(phi))
    look = replace(FIBRE, eumelanin=pigment, tilt=tilt)
    # A hair so wide is resolved by the shadow map and would shade itself.
    lights = [DirectionalLight(direction, size=0.01, has_shadow=False)]
    picture = {"camera": CAMERA, "lights": lights, "look": look, "size": (24, 24), "background": None, "tone": "linear"}
    ours = render(fibre(), **picture)
    theirs = render(fibre(), renderer="mitsuba", samples=256, **picture)
    return ours[:, :, :3].mean(axis=(0, 1)), theirs[:, :, :3].mean(axis=(0, 1))


@pytest.mark.parametrize("pigment", [20.0, 1.3, 0.15], ids=["black", "brown", "blond"])
@pytest.mark.parametrize(("theta", "phi"), [(0.0, 0.0), (0.3, np.pi), (-0.3, 2.0)])
def test_a_fibre_is_as_bright_as_mitsuba_s(pigment, theta, phi):
    ours, theirs = light_from(pigment, theta, phi)
    np.testing.assert_allclose(ours, theirs, rtol=MODELS_DIFFER_BY)


def test_scales_tilt_the_same_way():
    """Black hair has the first highlight only, which the scales carry towards the root: here that is -x."""
    towards_root, towards_tip = (light_from(20.0, theta, 0.0, tilt=0.1) for theta in (-0.3, 0.3))
    for root, tip in zip(towards_root, towards_tip, strict=True):
        assert root.mean() > 2.0 * tip.mean()
