"""How kernels are compiled that other kernels call for single elements.

Numba counts every array that a function is handed as in use, with an atomic instruction each way; for a contact or a
node of a grid that takes longer than all else. Leaves do without: they keep no array and make none. The option is
Numba's own and not documented, so that it stands here alone.
"""

from __future__ import annotations

from typing import Any

from numba import njit


def leaf(**options: Any) -> Any:
    """Return `njit` for leaves, with further options of it."""
    undocumented: dict[str, Any] = {"_nrt": False}
    return njit(cache=True, error_model="numpy", **undocumented, **options)
