"""The sums of adaptive skinning as one writes them first: what `mane bench adaptive` compares with."""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import njit, prange


@njit(cache=True, error_model="numpy", parallel=True)
def plain_blend(
    rest,
    guides,
    weights,
    displacement,
    # out
    out,
):
    """Fill `out (S, V, 3)` with hairs at `rest` moved by the weighted displacements of the guides `guides (S, K)`."""
    for s in prange(len(rest)):
        for i in range(rest.shape[1]):
            for c in range(3):
                total = np.float32(0.0)
                for k in range(guides.shape[1]):
                    total += weights[s, k] * displacement[guides[s, k], i, c]
                out[s, i, c] = rest[s, i, c] + total
