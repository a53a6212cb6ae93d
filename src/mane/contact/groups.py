"""Groups of strands, within which interactions act."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mane.geometry.checks import IntArray, as_array
from mane.strand.model import StrandModel


def checked_groups(name: str, groups: ArrayLike | None, model: StrandModel) -> IntArray:
    """Return one group number per strand, shape (G,), int64; all zero for None.

    A slot is of its first parent's group, and of none where either parent is.
    """
    if groups is None:
        return np.zeros(model.strand_count, np.int64)
    checked: IntArray = as_array(name, groups, (model.own_count,), np.int64)
    of_parents = checked[model.parents]
    return np.where((of_parents >= 0).all(axis=1), of_parents[:, 0], of_parents.min(axis=1))
