"""Tables of the lobe model, as the kernels read them."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np

from mane.geometry.checks import FloatArray
from mane.render import _kernels_shading as kernels
from mane.render.fibre import Fibre, Floats, azimuthal_lobes, balance, longitudinal_norm
from mane.render.hair_mass import DIFFUSIVITY, LEAK, MANY, half_circle_means, scatter_variances, scattered_shares

FINE = 2  # azimuths of the inner sums per azimuth of the table


def pigment_nodes() -> Floats:
    """Transmittance of the pigment at each node of the tables."""
    return np.linspace(0.0, 1.0, kernels.PIGMENT_NODES) ** 2


def lobe_header(fibre: Fibre, lobe_gains: Floats) -> dict[int, Floats]:
    """Settings of the lobes and of scattered light: first slot of the header -> numbers."""
    variances = np.concatenate([fibre.variances, scatter_variances(fibre)])
    norms = longitudinal_norm(variances)
    norms[: kernels.LOBES] *= lobe_gains
    return {
        kernels.INV_VARIANCE: 1.0 / variances,
        kernels.NORM: norms,
        kernels.COS_SHIFT: np.cos(fibre.shifts),
        kernels.SIN_SHIFT: np.sin(fibre.shifts),
        kernels.DIFFUSE_PATH: np.array([DIFFUSIVITY, 1.0 + LEAK, 1.0 / MANY]),
    }


def lobe_tables(fibre: Fibre) -> FloatArray:
    """All tables of a fibre in the order of `kernels.LOBE_TABLE` and on, one vector."""
    phi = np.linspace(0.0, np.pi, FINE * (kernels.PHI_NODES - 1) + 1)
    wide_phi = np.linspace(0.0, np.pi, kernels.SPREAD_PHI_NODES)
    cosines = np.linspace(0.0, 1.0, kernels.COSINE_NODES)
    lobes, spreads, shares = [], [], []
    for cosine in cosines:
        exact = azimuthal_lobes(fibre, phi, float(cosine), pigment_nodes())
        total = exact.sum(axis=-1)
        lobes.append(exact[::FINE])
        spreads.append(np.stack(half_circle_means(phi, total, wide_phi), axis=-1))
        shares.append(np.stack(astuple(scattered_shares(phi, total)), axis=-1))
    inclination = 2.0 * np.arctan(np.linspace(-1.0, 1.0, kernels.BALANCE_NODES))
    tables = [np.stack(lobes, axis=1), np.stack(spreads, axis=1), np.stack(shares), *balance(fibre, inclination)]
    return np.concatenate([table.ravel() for table in tables]).astype(np.float32)
