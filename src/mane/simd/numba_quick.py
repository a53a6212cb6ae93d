"""The same work of Numba's compiler in less time: what it asks again and again is answered once.

Most of compiling is Python inside Numba. All answers here are those that Numba would have given
(`tests/unit/simd/test_numba_quick.py`); docs/decisions/0035 has the figures.

- Sizes of LLVM types: Numba prints a module with one variable of the type and has LLVM read it, for every variable.
- Types of operators: which of dozens of rules for `+` fits is looked up again for every `+`.
- Listeners: every call of LLVM tells those who wait for events, although nobody does.
- Variables of a statement: found by walking through all that a statement holds, dozens of times.
- Simplifying: a pass manager is built and run for each function, of which most are mere declarations, with passes for
  code that is about to run. Kernels are optimised as a whole at the end.

A version of Numba that this was not tested with goes its own way (`numba_libraries.KNOWN`).
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import contextlib
import functools

import numba
from numba.core import base, codegen, event, lowering
from numba.core import ir as numba_ir
from numba.core.types import functions
from numba.core.typing import templates

from mane.simd.numba_libraries import _of_kernels, _replace, _Scope, is_known


def answer_once() -> None:
    """Have Numba do the same in less time."""
    _replace(base.BaseContext, "get_abi_sizeof", _kept_by_type)
    _replace(base.BaseContext, "get_abi_alignment", _kept_by_type)
    _replace(functions.BaseFunction, "get_call_type", _kept_by_arguments)
    _replace(event, "install_timer", _unless_nested)
    _replace(event, "start_event", _if_heard)
    _replace(event, "end_event", _if_heard)
    _replace(codegen.CPUCodeLibrary, "_optimize_functions", _of_defined)
    _replace(numba_ir.Stmt, "list_vars", lambda _: _of_statement)
    _replace(numba_ir.Expr, "list_vars", lambda _: _of_expression)
    _replace(lowering.BaseLower, "create_cfunc_wrapper", _of_kernels)


SIMPLIFYING = 1  # level of LLVM's optimisation of functions before they are linked into kernels


# -- LLVM ------------------------------------------------------------------------------------------------------------


def _kept_by_type(measure):
    sizes = {}

    def measured(context, kind):
        text = str(kind)
        if "%" in text:  # a type by name, which may mean another one in another module
            return measure(context, kind)
        key = context.target_data, text
        if key not in sizes:
            sizes[key] = measure(context, kind)
        return sizes[key]

    return measured


def _of_defined(optimize):
    def optimized(library, module):
        if _Scope.depth == 0:
            optimize(library, module)
            return
        module.data_layout = library._codegen._data_layout
        passes = None
        for function in module.functions:
            if not function.is_declaration:
                if passes is None:
                    passes, builder = library._codegen._function_pass_manager(opt=SIMPLIFYING)
                passes.run(function, builder)

    return optimized


# -- types -----------------------------------------------------------------------------------------------------------


def _kept_by_arguments(get_call_type):
    @functools.wraps(get_call_type)
    def known(function, context, args, kws):
        if kws or _Scope.depth == 0:
            return get_call_type(function, context, args, kws)
        answers = function.__dict__.get("_answers")
        if answers is None:
            answers = function.__dict__["_answers"] = {}
            function.__dict__["_written_in_python"] = [
                one for one in function.templates if issubclass(one, templates._OverloadFunctionTemplate)
            ]
        key = (context, tuple(args))
        answer = answers.get(key)
        if answer is None:
            answer = get_call_type(function, context, args, kws)
            # What is written in Python is compiled with settings of whoever calls it.
            if not any(answer.args in one._compiled_overloads for one in function._written_in_python):
                answers[key] = answer
        return answer

    return known


# -- events ----------------------------------------------------------------------------------------------------------


def _if_heard(tell):
    registered = event._registered

    def told(kind, *args, **options):
        if registered.get(kind):
            tell(kind, *args, **options)

    return told


def _unless_nested(install):
    def installed(kind, callback):
        return contextlib.nullcontext() if _Scope.depth else install(kind, callback)

    return installed


# -- statements ------------------------------------------------------------------------------------------------------

_VARIABLE, _EXPRESSION, _INSTRUCTION = numba_ir.Var, numba_ir.Expr, numba_ir.Inst
_OTHER: set[type] = {numba_ir.Loc, str, int, float, bool, type(None)}  # types of what holds no variables


def _variables(values):
    """Variables among some values and what they hold, in order."""
    found = []
    for value in values:
        kind = type(value)
        if kind is _VARIABLE:
            found.append(value)
        elif kind in _OTHER:
            continue
        elif kind is _EXPRESSION:
            found += _variables(value._kws.values())
        elif isinstance(value, _VARIABLE):
            found.append(value)
        elif isinstance(value, _INSTRUCTION):
            found += value.list_vars()
        elif isinstance(value, list | tuple):
            found += _variables(value)
        elif isinstance(value, dict):
            found += _variables(value.values())
        else:
            _OTHER.add(kind)
    return found


def _of_statement(statement):
    return _variables(statement.__dict__.values())


def _of_expression(expression):
    return _variables(expression._kws.values())


if is_known(numba.version_info.short):
    answer_once()
