"""Pigment: how much light the inside of a hair absorbs, per fibre radius, for linear red, green and blue."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Real = TypeVar("Real", np.float32, np.float64)

# Absorption per unit of concentration: d'Eon et al. 2011 (An energy-conserving hair reflectance model), as used by
# Chiang et al. 2016 (A practical and controllable hair and fur model for production path tracing).
EUMELANIN = np.array([0.419, 0.697, 1.37])
PHEOMELANIN = np.array([0.187, 0.4, 1.05])
KERATIN = np.array([0.002, 0.004, 0.010])  # what is left in a white hair: a trace of yellow

DARKEST = 1e-4  # reflectance below this is black already


def melanin_absorption(eumelanin: float, pheomelanin: float) -> Floats:
    """Absorption of a hair with these concentrations, shape (3,)."""
    result: Floats = eumelanin * EUMELANIN + pheomelanin * PHEOMELANIN + KERATIN
    return result


def absorption_from_reflectance(reflectance: ArrayLike, azimuthal_roughness: float) -> Floats:
    """Absorption of hair that in a thick lock reflects the given linear light, any shape.

    The fit of Chiang et al. 2016 to path-traced locks.
    """
    color = np.clip(np.asarray(reflectance, np.float64), DARKEST, 1.0)
    return (np.log(color) / _fitted_depth(azimuthal_roughness)) ** 2


def reflectance_from_absorption(absorption: NDArray[Real], azimuthal_roughness: float) -> NDArray[Real]:
    """The inverse of `absorption_from_reflectance`."""
    return np.exp(np.sqrt(absorption) * -_fitted_depth(azimuthal_roughness))


def transmittance(absorption: NDArray[Real]) -> NDArray[Real]:
    """What is left of light that crosses the fibre along a diameter."""
    result: NDArray[Real] = np.exp(absorption * -2.0)
    return result


def _fitted_depth(b: float) -> float:
    return 5.969 - 0.215 * b + 2.532 * b**2 - 10.73 * b**3 + 5.574 * b**4 + 0.245 * b**5
