"""When Numba makes machine code: once for a kernel that Python calls, and not for what only kernels call.

Numba optimises every function by itself and turns it into machine code before it links it into its callers, where it
is optimised again; the loop of a parallel kernel is a function of its own, and so is the wrapper around it. A function
that is part of a kernel three calls up was compiled four times, for code that nobody runs. Here a function that is
compiled on behalf of a kernel of this package is kept as it was lowered, and machine code is made of the kernel alone.
Should Python call such a function after all, it is compiled anew, as a kernel. docs/decisions/0035 has the figures.

Comparing settings (`Flags`), a seventh of the time of compiling, is made cheap as well, and Python's garbage collector
rests meanwhile.

A version of Numba that this was not tested with goes its own way (`KNOWN`).
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core import caching, codegen, compiler, cpu, dispatcher, environment, lowering, sigutils, targetconfig
from numba.core.compiler_lock import global_compiler_lock

from mane.simd.kernel_cache import PACKAGE

KNOWN = range(62, 69)  # minor versions of Numba 0
ENVIRONMENT = "_ZN08NumbaEnv"  # how names of the constants of a function begin in machine code
LINKABLE = "bitcode"  # what Numba calls a library on disk that has no machine code


def is_known(version: tuple[int, ...]) -> bool:
    """Whether a version of Numba is one that these changes were tested with."""
    return version[0] == 0 and version[1] in KNOWN


class _Scope:
    """What is being compiled: a kernel of this package, at depth 1, or what it calls, below that.

    Numba compiles one function at a time, behind a lock of its own, so that one scope is enough for all threads.
    """

    depth = 0
    wants_entry = False  # whether Numba asks for machine code only to have an entry for Python


@contextmanager
def _deeper() -> Iterator[None]:
    # Numba makes millions of objects that live until a kernel is done: looking among them for garbage again and again
    # is an eighth of compiling.
    is_pausing = _Scope.depth == 0 and gc.isenabled()
    if is_pausing:
        gc.disable()
    _Scope.depth += 1
    try:
        yield
    finally:
        _Scope.depth -= 1
        if is_pausing:
            gc.enable()


def _replace(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    setattr(owner, name, make(getattr(owner, name)))


def make_machine_code_once() -> None:
    """Let Numba make machine code of kernels alone."""
    _replace(compiler.CompilerBase, "_compile_core", _counting_depth)
    _replace(codegen.CPUCodeLibrary, "finalize", _linking_only)
    _replace(codegen.JITCodeLibrary, "get_pointer_to_function", _on_demand)
    _replace(codegen.JITCPUCodegen, "set_env", _where_it_is)
    _replace(codegen.CPUCodeLibrary, "serialize_using_object_code", _as_linkable)
    _replace(cpu.CPUContext, "get_executable", _for_an_entry)
    _replace(lowering.BaseLower, "create_cpython_wrapper", _of_kernels)
    _replace(dispatcher.Dispatcher, "add_overload", _not_for_python)
    _replace(dispatcher.Dispatcher, "compile", _anew_for_python)
    _replace(caching.CompileResultCacheImpl, "rebuild", _unless_for_python)
    unserialize = vars(codegen.CPUCodeLibrary)["_unserialize"].__func__
    setattr(codegen.CPUCodeLibrary, "_unserialize", classmethod(_linkable(unserialize)))  # noqa: B010


def is_linkable_only(library: Any) -> bool:
    """Whether a library can be linked into kernels and has no machine code."""
    return bool(getattr(library, "_is_linkable_only", False))


# -- making ----------------------------------------------------------------------------------------------------------


def _counting_depth(compile_core):
    def counted(pipeline):
        module = str(pipeline.state.func_id.func.__module__)  # None of the loop of a parallel kernel
        if _Scope.depth == 0 and module.split(".")[0] != PACKAGE.name:
            return compile_core(pipeline)  # of somebody else
        with _deeper():
            return compile_core(pipeline)

    return counted


def _linking_only(finalize):
    def linked(library):
        if _Scope.depth == 0:
            finalize(library)
            return
        for step in ("_optimize_final_module", "_finalize_final_module"):
            setattr(library, step, lambda: None)
        try:
            finalize(library)
        finally:
            del library._optimize_final_module, library._finalize_final_module
        library._finalized = library._is_linkable_only = True

    return linked


def _make_machine_code(library):
    library._is_linkable_only = False
    library._optimize_final_module()
    library._final_module.verify()
    library._finalize_final_module()
    for variable in library._final_module.global_variables:
        if variable.name.startswith(ENVIRONMENT):
            constants = environment.lookup_environment(variable.name)
            if constants is not None:
                library.codegen.set_env(variable.name, constants)


def _on_demand(get_pointer):
    def pointer(library, name):
        library._ensure_finalized()
        if is_linkable_only(library):
            if _Scope.wants_entry and _Scope.depth > 1:
                return 0
            _make_machine_code(library)
        return get_pointer(library, name)

    return pointer


def _for_an_entry(get_executable):
    def executable(*args):
        before, _Scope.wants_entry = _Scope.wants_entry, True
        try:
            return get_executable(*args)
        finally:
            _Scope.wants_entry = before

    return executable


def _where_it_is(set_env):
    def known(generator, name, constants):
        if generator._engine.is_symbol_defined(name):
            set_env(generator, name, constants)

    return known


def _of_kernels(create_wrapper):
    def created(lower, *args, **options):
        if _Scope.depth <= 1:
            create_wrapper(lower, *args, **options)

    return created


# -- entries for Python ----------------------------------------------------------------------------------------------


def _not_for_python(add_overload):
    def added(function, result):
        if is_linkable_only(result.library):
            function.overloads[tuple(result.signature.args)] = result
        else:
            add_overload(function, result)

    return added


def _anew_for_python(compile_function):
    def compiled(function, sig):
        with global_compiler_lock:
            if _Scope.depth:
                if type(sig) is tuple:
                    known = function.overloads.get(sig)
                    if known is not None:
                        return known.entry_point
                with _deeper():
                    return compile_function(function, sig)
            args = tuple(sigutils.normalize_signature(sig)[0])
            result = function.overloads.get(args)
            if result is not None and is_linkable_only(result.library):
                del function.overloads[args]
            return compile_function(function, sig)

    return compiled


# -- on disk ---------------------------------------------------------------------------------------------------------


def _as_linkable(serialize):
    def serialized(library):
        if is_linkable_only(library):
            return library.name, LINKABLE, library._get_module_for_linking().as_bitcode()
        return serialize(library)

    return serialized


def _linkable(unserialize):
    def unserialized(cls, generator, state):
        if state[1] != LINKABLE or _Scope.depth == 0:
            return unserialize(cls, generator, state)
        library = generator.create_library(state[0])
        library._final_module = codegen.ll.parse_bitcode(state[2])
        library._finalized = library._is_linkable_only = True
        return library

    return unserialized


def _unless_for_python(rebuild):
    def rebuilt(cache, context, payload):
        if _Scope.depth == 0 and payload[0][1] == LINKABLE:
            return None  # has no entry for Python: as if it were not there
        return rebuild(cache, context, payload)

    return rebuilt


# -- settings --------------------------------------------------------------------------------------------------------


def compare_settings_quickly() -> None:
    """Give Numba's settings the same order and equality without a dictionary of all of them each time."""
    config = targetconfig.TargetConfig
    hashes: dict[type, int] = {}
    unhurried = config.__eq__

    def hashed(self):
        kind = type(self)
        if kind not in hashes:
            hashes[kind] = hash(tuple(sorted(kind.options)))  # of the names, as Numba has it
        return hashes[kind]

    def equal(self, other):
        if self is other:
            return True
        if type(self) is not type(other):
            return unhurried(self, other)
        mine, its = self._values, other._values
        if mine == its:
            return True
        options = self.options
        for name in mine.keys() | its.keys():
            default = options[name].default
            if mine.get(name, default) != its.get(name, default):
                return False
        return True

    setattr(config, "__hash__", hashed)  # noqa: B010
    setattr(config, "__eq__", equal)  # noqa: B010


if is_known(numba.version_info.short):
    compare_settings_quickly()
    make_machine_code_once()
