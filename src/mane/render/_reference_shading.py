"""The shading of `_kernels_shading.py` in plain NumPy, with integrals in place of tables: the tests' specification."""

from __future__ import annotations

import numpy as np

from mane.render.fibre import Fibre, Floats, azimuthal_lobes, balance, longitudinal
from mane.render.hair_mass import MANY, half_circle_means, scatter_variances, scattered_shares, solve_streams
from mane.render.looks import Look

CHORDS = 768  # Gauss-Legendre nodes over half of the fibre's width
SKY_MIDDLE = 0.25 * np.pi  # azimuth of the open sky's middle against the eye
PHI = np.linspace(0.0, np.pi, 361)


def shade_vertices(
    look: Look,
    tangents: Floats,
    to_eye: Floats,
    colors: Floats,
    to_light: Floats,
    light_rgb: Floats,
    scatter: Floats,
) -> Floats:
    """Radiance of each vertex towards the eye from one light, shape (N, 3); see `shading.shade_vertices`."""
    fibre = look.fibre
    theta_light, theta_eye = _inclination(tangents, to_light), _inclination(tangents, to_eye)
    phi = _azimuth(tangents, to_light, to_eye)
    light_balance, eye_balance = balance(fibre, theta_light)[0], balance(fibre, theta_eye)[1]
    result = np.empty((len(tangents), 3))
    for i in range(len(tangents)):
        cos_d = float(np.cos(0.5 * (theta_eye[i] - theta_light[i])))
        hairs = look.shadow_density * scatter[i]
        lobes = azimuthal_lobes(fibre, phi[i : i + 1], cos_d, colors[i], CHORDS)[0]
        lengthwise = [
            longitudinal(theta_light[i], theta_eye[i], v, s) for v, s in zip(fibre.variances, fibre.shifts, strict=True)
        ]
        direct = light_balance[i] * eye_balance[i] * lobes @ (np.array(lengthwise) * look.lobe_gains)
        few, many = (longitudinal(theta_light[i], theta_eye[i], v) for v in scatter_variances(fibre))
        share = 1.0 / (1.0 + hairs / MANY)
        spread = share * few + (1.0 - share) * many
        scattered = spread * _scattered(fibre, phi[i], cos_d, colors[i], hairs)
        total = np.exp(-hairs) * direct + look.scattered_share * scattered
        result[i] = light_rgb[i] * np.cos(theta_light[i]) * total
    return result


def shade_ambient(
    look: Look, tangents: Floats, to_eye: Floats, colors: Floats, sky_rgb: Floats, scatter: Floats, openness: Floats
) -> Floats:
    """Radiance of each vertex towards the eye from the sky, shape (N, 3); see `shading.shade_ambient`."""
    theta = _inclination(tangents, to_eye)
    result = np.empty((len(tangents), 3))
    for i in range(len(tangents)):
        density = _scattering(look.fibre, float(np.cos(theta[i])), colors[i])
        front_mean, rear_mean = (mean[0] for mean in half_circle_means(PHI, density, np.array([SKY_MIDDLE])))
        streams = solve_streams(scattered_shares(PHI, density))
        open_share = 2.0 * openness[i] * np.exp(-look.shadow_density * scatter[i])
        open_front, open_rear = min(open_share, 1.0), max(open_share - 1.0, 0.0)
        inside = open_front**streams.rate
        front = open_front + look.scattered_share * (inside - open_front)
        rear = open_rear + look.scattered_share * (1.0 - open_rear) * inside * streams.turned
        result[i] = sky_rgb[i] / openness[i] * np.pi * (front * front_mean + rear * rear_mean)
    return result


def _scattered(fibre: Fibre, phi: float, cos_d: float, colors: Floats, hairs: float) -> Floats:
    """Azimuthal part of the light that other hairs have scattered before, shape (3,)."""
    density = _scattering(fibre, cos_d, colors)
    streams = solve_streams(scattered_shares(PHI, density))
    front_mean, rear_mean = half_circle_means(PHI, density, np.array([phi]))
    forward = streams.gain * (np.exp(-streams.rate * hairs) - np.exp(-hairs)) / (1.0 - streams.rate)
    backward = streams.turned * forward + streams.first * np.exp(-hairs)
    result: Floats = forward * front_mean[0] + backward * rear_mean[0]
    return result


def _scattering(fibre: Fibre, cosine: float, colors: Floats) -> Floats:
    """Sum of all N_p on the grid PHI, shape (361, 3)."""
    result: Floats = azimuthal_lobes(fibre, PHI, cosine, colors).sum(axis=-1)
    return result


def _inclination(tangents: Floats, directions: Floats) -> Floats:
    result: Floats = np.arcsin(np.clip(np.einsum("ij,ij->i", tangents, directions), -1.0, 1.0))
    return result


def _azimuth(tangents: Floats, to_light: Floats, to_eye: Floats) -> Floats:
    """Angle between the two directions seen along the fibre [rad], shape (N,)."""
    flat = [d - np.einsum("ij,ij->i", tangents, d)[:, None] * tangents for d in (to_light, to_eye)]
    cosine = np.einsum("ij,ij->i", *flat) / (np.linalg.norm(flat[0], axis=1) * np.linalg.norm(flat[1], axis=1))
    result: Floats = np.arccos(np.clip(cosine, -1.0, 1.0))
    return result
