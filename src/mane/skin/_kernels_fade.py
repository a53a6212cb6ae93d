"""Weights of guides that come and go."""

# mypy: allow-untyped-defs

import numpy as np

from mane.simd.jit import njit, prange

ZERO = np.float32(0.0)
ONE = np.float32(1.0)


@njit(cache=True, error_model="numpy", parallel=True)
def fade_weights(
    weight,
    of_hair,
    guide,
    present,
    least,
    # out
    faded,
    share,
):
    """Fill `faded (S, K)` with weights of the guides that are there, of sum 1, where any is.

    `share (S,)` says how far a hair hangs on its guides: 1, until less than the share `least` of them is left, and
    falling to 0 when all are gone. `present (G,)` is how much each guide is there; hair s has the weights
    `weight[s] (K,)` and the guides `guide[of_hair[s]] (K,)`.
    """
    for s in prange(len(of_hair)):
        total = ZERO
        for k in range(weight.shape[1]):
            faded[s, k] = weight[s, k] * present[guide[of_hair[s], k]]
            total += faded[s, k]
        scale = ONE / total if total > ZERO else ZERO
        for k in range(weight.shape[1]):
            faded[s, k] *= scale
        share[s] = min(total / least, ONE)
