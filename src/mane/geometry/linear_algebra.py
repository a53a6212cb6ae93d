"""`by_one_thread`: linear algebra of NumPy and SciPy whose sums round the same whatever the number of threads.

Their libraries share a product out over threads, and add up otherwise with another number of them. What is learned
would differ by rounding, and where hairs are chosen by it, by whole hairs. Kernels of Numba are not touched.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def by_one_thread(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Let a function do its linear algebra by one thread."""

    @wraps(function)
    def limited(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited
