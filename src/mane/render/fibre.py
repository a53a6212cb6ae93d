"""One hair fibre as light sees it: a rough dielectric cylinder with pigment inside, seen from far away.

Angles: theta is the inclination of a direction against the fibre's normal plane (sin(theta) = tangent . direction),
phi the azimuth between the directions to the light and to the eye, so phi = 0 is straight back to the light and
phi = pi straight on. The fibre's radius is the unit of length: light that enters at offset h crosses a chord of it.

Scattering (Marschner et al. 2003): L(eye) = integral of S(light, eye) L(light) cos(theta_light) over all directions,
with S = sum over the lobes p of M_p(theta_light, theta_eye) N_p(phi; theta_d), theta_d half the difference of the two
inclinations. The lobes are R (reflected by the surface), TT (straight through), TRT (one inner reflection) and the rest
of the series, which sums in closed form.

M_p is the von Mises-Fisher density of the three-sphere, averaged over its meridians: symmetric in the two angles,
normalised as `integral M cos^2(theta) dtheta = 1`, which is the measure that S needs, and free of Bessel functions.
N_p (Chiang et al. 2016, d'Eon et al. 2011) spreads each exit azimuth by a logistic distribution on the circle. Both
are exact on their own; what the tilted scales and the angle-dependent Fresnel terms break is mended by `balance`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ive

Floats = NDArray[np.float64]

LOBES = 4  # R, TT, TRT, all further ones
CHORD_NODES = 192  # Gauss-Legendre nodes over half of the fibre's width; resolves the narrowest logistic
MIN_COSINE = 1e-4  # light along the fibre meets no cross-section; its limit is total reflection


@dataclass(frozen=True)
class Fibre:
    """The optics of a fibre without its pigment.

    Attributes:
        index: index of refraction.
        roughness: along the fibre, 0.1 to 1.
        azimuthal_roughness: around the fibre, 0.1 to 1.
        tilt: angle of the cuticle's scales [rad]; positive as on real hair, with the free edges towards the tip.
    """

    index: float
    roughness: float
    azimuthal_roughness: float
    tilt: float

    @property
    def variances(self) -> Floats:
        """Longitudinal variance of each lobe [rad2], shape (4,): the perceptually even scale of Chiang et al. 2016."""
        b = self.roughness
        variance = (0.726 * b + 0.812 * b**2 + 3.7 * b**20) ** 2
        return variance * np.array([1.0, 0.25, 4.0, 4.0])

    @property
    def shifts(self) -> Floats:
        """Angle by which the tilt moves each lobe's cone [rad], as a sum theta_light + theta_eye, shape (4,).

        To first order, refraction and reflection at walls tilted by a turn the p-th path by 2 a (p n - 1).
        The rest of the series is too wide for a shift to matter.
        """
        return 2.0 * self.tilt * np.array([-1.0, self.index - 1.0, 2.0 * self.index - 1.0, 0.0])

    @property
    def logistic_scale(self) -> float:
        """Scale of the azimuthal logistic distribution [rad]: the scale of Chiang et al. 2016."""
        b = self.azimuthal_roughness
        return float(np.sqrt(np.pi / 8.0) * (0.265 * b + 1.194 * b**2 + 5.372 * b**22))


def fresnel(cosine: Floats, index: float) -> Floats:
    """Reflected share of unpolarised light that meets a denser medium at an angle of the given cosine."""
    inner = np.sqrt(1.0 - (1.0 - cosine**2) / index**2)
    parallel = (index * cosine - inner) / (index * cosine + inner)
    perpendicular = (cosine - index * inner) / (cosine + index * inner)
    return 0.5 * (parallel**2 + perpendicular**2)


def inner_angle(fibre: Fibre, gamma: Floats, cosine: float) -> Floats:
    """Angle of the refracted ray in the normal plane [rad], for light that enters at angle `gamma` (Bravais' law)."""
    effective_index = np.sqrt(fibre.index**2 - (1.0 - cosine**2)) / cosine
    result: Floats = np.arcsin(np.sin(gamma) / effective_index)
    return result


def lobe_attenuations(fibre: Fibre, gamma: Floats, cosine: float, transmittance: Floats) -> Floats:
    """Share of the light that leaves in each lobe, shape (H, T, 4), for entries `gamma` (H,) and pigments (T,).

    `cosine` is cos(theta_d); `transmittance` is what survives one diameter at normal incidence, exp(-2 sigma).
    """
    reflected = fresnel(np.cos(gamma) * cosine, fibre.index)[:, None]
    inner_cosine = np.sqrt(1.0 - (1.0 - cosine**2) / fibre.index**2)
    diameters = np.cos(inner_angle(fibre, gamma, cosine)) / inner_cosine
    crossing = transmittance[None, :] ** diameters[:, None]
    through = (1.0 - reflected) ** 2 * crossing
    once = through * reflected * crossing
    rest = once * reflected * crossing / (1.0 - reflected * crossing)
    return np.stack([np.broadcast_to(reflected, crossing.shape), through, once, rest], axis=-1)


def trimmed_logistic(angle: Floats, scale: float) -> Floats:
    """Density of the logistic distribution, cut to one turn around its middle; `angle` [rad] may be any."""
    wrapped = np.abs(np.remainder(angle + np.pi, 2.0 * np.pi) - np.pi)
    tail = np.exp(-wrapped / scale)
    inside = np.tanh(np.pi / (2.0 * scale))  # what a full logistic holds between -pi and pi
    result: Floats = tail / (scale * (1.0 + tail) ** 2 * inside)
    return result


def azimuthal_lobes(
    fibre: Fibre, phi: Floats, cosine: float, transmittance: Floats, nodes: int = CHORD_NODES
) -> Floats:
    """N_p averaged over the fibre's width, for azimuths `phi` (F,), pigments (T,) and one cos(theta_d); (F, T, 4)."""
    cosine = max(cosine, MIN_COSINE)
    abscissae, weights = gauss_legendre(nodes)
    gamma = 0.25 * np.pi * (abscissae + 1.0)  # h = sin(gamma) from 0 to 1: what enters at -h mirrors it
    share = 0.25 * np.pi * weights * np.cos(gamma)
    attenuation = lobe_attenuations(fibre, gamma, cosine, transmittance)
    inner = inner_angle(fibre, gamma, cosine)
    result = np.empty((len(phi), len(transmittance), LOBES))
    for p in range(LOBES - 1):
        exit_azimuth = 2.0 * p * inner - 2.0 * gamma + p * np.pi
        away, mirrored = phi[:, None] - exit_azimuth, phi[:, None] + exit_azimuth
        density = 0.5 * (
            trimmed_logistic(away, fibre.logistic_scale) + trimmed_logistic(mirrored, fibre.logistic_scale)
        )
        result[..., p] = (density * share) @ attenuation[..., p]
    result[..., -1] = share @ attenuation[..., -1] / (2.0 * np.pi)  # after so many bounces every azimuth is alike
    return result


def lobe_albedos(fibre: Fibre, cosine: float, transmittance: Floats) -> Floats:
    """Integral of N_p over all azimuths, shape (T, 4): the width's mean of the attenuations."""
    abscissae, weights = gauss_legendre(CHORD_NODES)
    gamma = 0.25 * np.pi * (abscissae + 1.0)
    share = 0.25 * np.pi * weights * np.cos(gamma)
    result: Floats = np.einsum(
        "h,htp->tp", share, lobe_attenuations(fibre, gamma, max(cosine, MIN_COSINE), transmittance)
    )
    return result


def longitudinal_norm(variance: Floats | float) -> Floats:
    """Factor in front of M: 1 / (pi v I1(1/v)), with exp(-1/v) taken out of the Bessel function."""
    variance = np.asarray(variance, np.float64)
    return np.asarray(1.0 / (np.pi * variance * ive(1, 1.0 / variance)))


def longitudinal(theta_light: Floats, theta_eye: Floats, variance: float, shift: float = 0.0) -> Floats:
    """M of one lobe, whose cone lies at theta_light + theta_eye = shift; its integral over theta_light is 1."""
    eye = theta_eye - shift
    sines, cosines = np.sin(theta_light) * np.sin(eye), np.abs(np.cos(theta_light) * np.cos(eye))
    width = np.maximum(2.0 * cosines / variance, 1e-9)
    mean = -np.expm1(-width) / width  # exp(-y) sinh(y) / y for y = width / 2
    result: Floats = longitudinal_norm(variance) * np.exp((cosines - sines - 1.0) / variance) * mean
    return result


def balance(fibre: Fibre, theta: Floats, nodes: int = 192, rounds: int = 40) -> tuple[Floats, Floats]:
    """Factors of the light's and of the eye's inclination at `theta` (K,) that make a clear fibre return all light.

    The lobes differ in width and Fresnel's terms in angle, so their sum is a little off, most at grazing angles. The
    first factor d solves, for an untilted fibre, `d(eye) integral S d(light) dlight = 1` by a symmetric Sinkhorn
    iteration; the second is `1 / integral S d(light) dlight` of the fibre as it is. They are equal without tilt.
    """
    abscissae, weights = gauss_legendre(nodes)
    angle = 0.5 * np.pi * abscissae
    measure = 0.5 * np.pi * weights * np.cos(angle) ** 2
    untilted = replace(fibre, tilt=0.0)
    kernel = clear_kernel(untilted, angle, angle)
    factor = np.ones(nodes)
    for _ in range(rounds):
        factor = np.sqrt(factor / (kernel @ (measure * factor)))
    light, eye = (1.0 / (clear_kernel(f, theta, angle) @ (measure * factor)) for f in (untilted, fibre))
    return light, eye


def clear_kernel(fibre: Fibre, theta_eye: Floats, theta_light: Floats) -> Floats:
    """S of a fibre without pigment, integrated over phi, shape (E, L)."""
    eye, light = theta_eye[:, None], theta_light[None, :]
    cosines = np.linspace(0.0, 1.0, 65)
    clear = np.stack([lobe_albedos(fibre, cosine, np.ones(1))[0] for cosine in cosines])
    cos_d = np.cos(0.5 * (eye - light))
    total = np.zeros(cos_d.shape)
    for p in range(LOBES):
        part = np.interp(cos_d, cosines, clear[:, p])
        total += part * longitudinal(light, eye, fibre.variances[p], fibre.shifts[p])
    return total


@lru_cache(maxsize=8)
def gauss_legendre(nodes: int) -> tuple[Floats, Floats]:
    """Abscissae and weights on (-1, 1)."""
    return np.polynomial.legendre.leggauss(nodes)
