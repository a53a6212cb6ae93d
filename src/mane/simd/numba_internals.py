"""Everything that is used of Numba and llvmlite beyond documented functions, with the other files `numba_*` here.

Numba documents `njit`, `prange` and threads; kernels may import those. Vector types are written with its extension API
and the LLVM builder below it. All of that is imported here, and from these files only
(`tests/house/test_numba_imports.py`); `tests/unit/simd/test_numba_internals.py` checks each of the names and behaviours
by itself, so that a new version of Numba fails with the name of what it has changed.

Importing this module changes how functions of this package are kept and linked, and of no others: see `numba_kept`,
`numba_libraries` and `make_copies_private`.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import binding as llvm
from llvmlite import ir as ir
from numba import types as types
from numba.core import cgutils, codegen, config, event
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.core.typing.templates import signature as signature
from numba.extending import intrinsic as _intrinsic
from numba.extending import lower_builtin as lower_builtin
from numba.extending import models as models
from numba.extending import overload
from numba.extending import register_model as register_model

from mane.simd import numba_kept as numba_kept
from mane.simd import numba_libraries as numba_libraries
from mane.simd import numba_quick as numba_quick
from mane.simd.kernel_cache import PACKAGE

# Options that Numba would take over from the first caller, with the values that they have without one.
INHERITED = {"fastmath": False, "forceinline": False, "error_model": "python", "_nrt": True}
# Numba counts every array that a function is handed as in use, with an atomic instruction each way. Undocumented.
WITHOUT_REFERENCE_COUNTS: dict[str, Any] = {"_nrt": False}
MANGLED = f"_ZN{len(PACKAGE.name)}{PACKAGE.name}"  # how names of functions of this package begin in machine code


def is_compiler_off() -> bool:
    """Whether NUMBA_DISABLE_JIT is set: kernels are then plain Python."""
    return bool(config.DISABLE_JIT)  # type: ignore[attr-defined]


def checks_bounds() -> bool:
    """Whether NUMBA_BOUNDSCHECK is set: every index of every kernel is then checked."""
    return bool(config.BOUNDSCHECK)  # type: ignore[attr-defined]


# -- operations ------------------------------------------------------------------------------------------------------


def intrinsic(plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Decorate the typing function of an operation, which `plain` does where the compiler is off."""
    return lambda typed: plain if is_compiler_off() else _intrinsic(typed)


def choose_by_tuple(function: Any, default: Any, others: dict[type, Any]) -> None:
    """Let kernels that call `function` call one of `others` instead, by the named tuple that comes first, or `default`.

    The choice is made while a kernel is compiled and costs nothing when it runs.
    """

    def chosen(*args):
        one = others.get(getattr(args[0], "instance_class", None), default)

        def call(*args):
            return one(*args)

        # In machine code a function goes by its name and a number that starts anew in every process. Two choices under
        # one name, of libraries that two processes have kept, would be taken for one when they are linked.
        call.__qualname__ = f"{function.__name__}_is_{one.__name__}"
        return call

    options: Any = {**INHERITED, "error_model": "numpy", "forceinline": True}
    overload(function, jit_options=options, strict=False)(chosen)


def declare(operation: Any, generic: Callable[..., Any]) -> None:
    """Tell Numba the types of an operator or function: `generic(self, args, kws)` returns a signature or None.

    Numba asks what is said about its CPUs before what is said in general: dozens of kinds of `+`, each of which would
    fail with a message, for every operation on vectors.
    """
    members = {"key": operation, "generic": generic, "metadata": {"target": "cpu"}}
    template = type(f"_Simd_{operation.__name__}", (AbstractTemplate,), members)
    infer_global(operation)(template)


def call_llvm(builder, name, result, args, fastmath=()):
    """Call an intrinsic of LLVM, which gives a value of type `result`."""
    kind = ir.FunctionType(result, [one.type for one in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args, fastmath=fastmath)


def unpack_tuple(builder, value):
    """Values of a tuple."""
    return cgutils.unpack_tuple(builder, value)


def array_of(context, builder, kind, value):
    """An array with its pointer `data` and its count `nitems`."""
    return context.make_array(kind)(context, builder, value)


def raise_error(context, builder, error, message):
    """Have a kernel end with an exception."""
    context.call_conv.return_user_exc(builder, error, (message,))


def add_attribute(builder, text):
    """Give the function that is being built an attribute with a value.

    llvmlite knows the attributes without one only; they are a set of what is printed behind the function.
    """
    set.add(builder.function.attributes, text)


# -- kernels that are compiled ---------------------------------------------------------------------------------------


class _Ear(event.Listener):
    """Hears of kernels of this package that Python calls, and not of what they call in turn."""

    def __init__(self, begin: Callable[[], None], end: Callable[[], None]) -> None:
        self._begin, self._end = begin, end
        self._depth = 0

    def on_start(self, told: Any) -> None:
        self._depth += 1
        if self._depth == 1 and _is_of_package(told):
            self._begin()

    def on_end(self, told: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and _is_of_package(told):
            self._end()


def _is_of_package(told: Any) -> bool:
    return str(told.data["dispatcher"].py_func.__module__).split(".")[0] == PACKAGE.name


def tell_of_kernels(begin: Callable[[], None], end: Callable[[], None]) -> None:
    """Have `begin` called before a kernel of this package is compiled, and `end` when it is."""
    event.register("numba:compile", _Ear(begin, end))


# -- linking ---------------------------------------------------------------------------------------------------------


def make_copies_private() -> None:
    """Let a library of kernels of this package keep its copies of what it calls.

    In the process that compiles a kernel, the linker takes the first copy of a called function that it met instead,
    that of another kernel or of the function by itself, which may be optimised and thus rounded differently; from disk
    the kernel comes with its own. So the first run would not give the bytes of all later ones.
    """
    finalize = codegen.CPUCodeLibrary._finalize_final_module

    def finalized(library: Any) -> None:
        module = library._final_module
        names = [function.name for function in module.functions if not function.is_declaration]
        if any(name.startswith(MANGLED) for name in names):
            # What other libraries are compiled with stays as Numba has it: one copy of each function for all.
            if library._shared_module is None:
                library._shared_module = _relinked(module.clone(), names, llvm.Linkage.external, "linkonce_odr")
            _relinked(module, names, llvm.Linkage.linkonce_odr, "internal")
        finalize(library)

    setattr(codegen.CPUCodeLibrary, "_finalize_final_module", finalized)  # noqa: B010 - a method of Numba's own


def _relinked(module: Any, names: list[str], before: Any, after: str) -> Any:
    for name in names:
        function = module.get_function(name)
        if function.linkage == before:
            function.linkage = after
    return module


make_copies_private()
