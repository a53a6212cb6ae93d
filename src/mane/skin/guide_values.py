"""`GuideValues`: what is known of guides, such as how wet they are, carried to every hair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom
from mane.groom.guides import Guides

NEAREST = 3  # guides that each hair looks at


class GuideValues:
    """Blends values of the guides nearest to each hair's root at rest, at the same part of the length.

    Args:
        groom: the dense hair at rest.
        guides: at rest.

    Attributes:
        guides: that each hair looks at, shape (S, K).
        shares: of these, shape (S, K), float32.
    """

    def __init__(self, groom: Groom, guides: Guides) -> None:
        own = np.flatnonzero(guides.active)
        count = min(NEAREST, len(own))
        away, found = cKDTree(guides.rest[own, 0]).query(groom.roots, k=count)
        shares = 1.0 / (np.reshape(away, (-1, count)) ** 2 + 1e-12)
        self.guides = own[np.reshape(found, (-1, count))]
        self.shares = (shares / shares.sum(axis=1, keepdims=True)).astype(np.float32)

    def __call__(self, values: NDArray[np.float32], vertices: int) -> FloatArray:
        """Values of guides, shape (G, V), at hairs of so many vertices, shape (S, vertices)."""
        place = np.linspace(0.0, values.shape[1] - 1.0, vertices)
        low = np.minimum(place.astype(np.int64), values.shape[1] - 2)
        part = (place - low).astype(np.float32)
        along = values[:, low] + part * (values[:, low + 1] - values[:, low])
        carried = np.zeros((len(self.guides), vertices), np.float32)
        for column in range(self.guides.shape[1]):
            carried += self.shares[:, column, None] * along[self.guides[:, column]]
        return carried
