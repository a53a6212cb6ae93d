"""Arrays laid out for kernels that take eight things side by side."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mane.geometry._kernels_eights import EIGHT

Number = TypeVar("Number", bound=np.generic)


def in_eights(table: NDArray[Number]) -> NDArray[Number]:
    """Lay a table (P, ...) of P things out in blocks of eight, each with its things innermost: (B, ..., 8).

    The last block is filled up with zeros.
    """
    blocks = -(-len(table) // EIGHT)
    padded = np.zeros((blocks * EIGHT, *table.shape[1:]), table.dtype)
    padded[: len(table)] = table
    return np.ascontiguousarray(np.moveaxis(padded.reshape(blocks, EIGHT, *table.shape[1:]), 1, -1))
