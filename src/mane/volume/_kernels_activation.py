"""Kernels that look at every hair of a coat, simulated or not."""

# mypy: allow-untyped-defs

from mane.simd.jit import njit, prange


@njit(cache=True, error_model="numpy", parallel=True)
def bound_hairs(
    before,
    after,
    # out
    low,
    high,
):
    """Fill corners (G, 3) of boxes around hairs that go on straight lines from `before` to `after`, both (G, V, 3)."""
    for h in prange(len(before)):
        for d in range(3):
            least, most = before[h, 0, d], before[h, 0, d]
            for i in range(before.shape[1]):
                least = min(least, before[h, i, d], after[h, i, d])
                most = max(most, before[h, i, d], after[h, i, d])
            low[h, d], high[h, d] = least, most
