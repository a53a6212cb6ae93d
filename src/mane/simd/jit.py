"""How kernels are compiled: `njit` of Numba, with options that do not depend on who calls a function first.

A function that does not say whether it may be computed with fastmath, inlined or count references takes that over from
whichever kernel happened to call it first. `njit` of this module gives every option a value, that of Numba itself, so
that a function is the same machine code whoever calls it (docs/decisions/0017). Files of kernels import it from here,
which also has the cache on disk look at all that a kernel is made of.

    @njit(cache=True)                a kernel that Python calls
    @leaf()                          a function that kernels call for single elements, kept apart
    @inline                          a function on vectors, always part of its caller, rounded as written
    @inline_fast                     the same for numbers too, with fastmath as of the operations on vectors
    by_type(default, {Kind: other})  a function that is another one for another named tuple as its first argument
"""

from __future__ import annotations

from typing import Any

import numba
from numba import get_thread_id as get_thread_id  # type: ignore[attr-defined]
from numba import prange as prange

from mane.simd import notice as notice
from mane.simd.numba_internals import INHERITED, WITHOUT_REFERENCE_COUNTS, choose_by_tuple, is_compiler_off

# What operations on vectors may do: contract a * b + c, divide by a reciprocal, ignore the sign of zero, approximate
# functions. They never assume that there is no NaN, and never reorder sums.
FASTMATH = {"contract", "arcp", "nsz", "afn"}
# Numba gives every function a second entry point, for callers in C: there are none, and it is a twentieth of compiling.
UNUSED = {"no_cfunc_wrapper": True}


def njit(*function: Any, **options: Any) -> Any:
    """Return Numba's `njit` with every inherited option given, as a decorator with or without arguments."""
    return numba.njit(*function, **{**INHERITED, **UNUSED, **options})


def leaf(**options: Any) -> Any:
    """Return `njit` for functions that kernels call for single elements: they keep no array and make none.

    Counting the arrays that such a function is handed as in use takes longer than a contact or a node of a grid; leaves
    do without.
    """
    return njit(cache=True, error_model="numpy", **WITHOUT_REFERENCE_COUNTS, **options)


inline = leaf(forceinline=True)
inline_fast = njit(cache=True, error_model="numpy", fastmath=FASTMATH, forceinline=True)


def by_type(name: str, default: Any, others: dict[type, Any]) -> Any:
    """Return a function for kernels that is `default`, or one of `others` where its first argument is of that class.

    The classes are named tuples. Which function it is is known when a kernel is compiled, so that a kernel is compiled
    once for each class that it is called with and branches nowhere.
    """

    def chosen(*args: Any) -> Any:
        return others.get(type(args[0]), default)(*args)

    chosen.__name__ = chosen.__qualname__ = name
    if not is_compiler_off():
        choose_by_tuple(chosen, default, others)
    return chosen
