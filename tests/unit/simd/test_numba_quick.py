"""What is answered once while kernels are compiled is what Numba would have answered."""

import numba
import numpy as np
import pytest
from llvmlite import ir as llvm_ir
from numba.core import base, codegen, compiler, config, event, lowering
from numba.core import ir as numba_ir
from numba.core.registry import cpu_target
from numba.core.types import functions

from mane.simd import numba_libraries
from mane.simd.f64x8 import load
from mane.simd.jit import njit
from mane.simd.math import sqrt
from mane.simd.memory import store

pytestmark = [
    pytest.mark.skipif(bool(config.DISABLE_JIT), reason="about the compiler"),
    pytest.mark.skipif(
        not numba_libraries.is_known(numba.version_info.short), reason="a version of Numba that goes its own way"
    ),
]
NEEDED = (
    (base.BaseContext, "get_abi_sizeof"), (base.BaseContext, "get_abi_alignment"),
    (functions.BaseFunction, "get_call_type"), (event, "install_timer"), (event, "start_event"), (event, "end_event"),
    (event, "_registered"), (codegen.CPUCodeLibrary, "_optimize_functions"), (numba_ir.Inst, "_rec_list_vars"),
    (codegen.JITCPUCodegen, "_function_pass_manager"), (lowering.BaseLower, "create_cfunc_wrapper"),
)  # fmt: skip


@pytest.mark.parametrize(("owner", "name"), NEEDED, ids=str)
def test_names_are_where_they_were(owner, name):
    assert hasattr(owner, name), f"Numba {numba.__version__} has no {owner.__name__}.{name}"


def fall(rows, other, out):
    """Some of everything that statements are made of: calls, tuples, slices, branches, vectors, keywords."""
    total = 0.0
    for i in range(0, len(rows), 8):
        a, b = load(rows, i), load(other, i)
        if other[i] < 0.5 and i != 3:
            store(out, i, sqrt(a * b + 2.0) - a / (1.0 + b))
        else:
            store(out, i, a)
        pair = (rows[i], max(other[i], 2))
        total += pair[0] * pair[1] ** 2 + np.empty(2, dtype=np.float64).size
    return total, -out[0:2].sum()


def test_sizes_of_types():
    context = cpu_target.target_context
    number, count = llvm_ir.DoubleType(), llvm_ir.IntType(32)
    both = llvm_ir.LiteralStructType([count, number])
    kinds = (number, count, llvm_ir.IntType(1), llvm_ir.VectorType(number, 8), both, number.as_pointer())
    for _ in range(2):  # measured, then remembered
        for kind in kinds:
            assert context.get_abi_sizeof(kind) == kind.get_abi_size(context.target_data)
            assert context.get_abi_alignment(kind) == kind.get_abi_alignment(context.target_data)


def test_a_type_by_name_is_measured_each_time():
    """Two modules may mean different types by one name."""
    context, sizes = cpu_target.target_context, []
    for members in ([llvm_ir.IntType(8)], [llvm_ir.DoubleType(), llvm_ir.DoubleType()]):
        kind = llvm_ir.global_context.get_identified_type("made_up")
        kind.elements = members
        sizes.append(context.get_abi_sizeof(kind))
    assert sizes == [1, 16]


def test_variables_of_statements_are_those_that_numba_finds():
    statements = [one for block in compiler.run_frontend(fall).blocks.values() for one in block.body]
    kinds = set()
    for statement in statements:
        assert statement.list_vars() == statement._rec_list_vars(statement.__dict__)
        value = getattr(statement, "value", None)
        if isinstance(value, numba_ir.Expr):
            kinds.add(value.op)
            assert value.list_vars() == value._rec_list_vars(value._kws)
    assert {"call", "binop", "getitem", "build_tuple"} <= kinds


def made(function):
    function.__module__ = "mane.made_up"
    return njit(function)


def test_types_of_calls_are_those_that_numba_gives():
    kernel, rows = made(fall), np.linspace(0.0, 1.0, 16)
    kernel(rows, rows, np.zeros(16))
    unhurried = functions.BaseFunction.get_call_type.__wrapped__
    context, count = cpu_target.typing_context, 0
    for function in set(context._globals.values()):
        for (asked, args), answer in list(getattr(function, "_answers", {}).items()):
            again = unhurried(function, asked, args, {})
            assert (again.args, again.return_type) == (answer.args, answer.return_type)
            count += 1
    assert count > 5


def test_somebody_who_listens_hears_of_events():
    class Ear(event.Listener):
        heard = 0

        def on_start(self, told):
            self.heard += 1

        def on_end(self, told):
            self.heard += 1

    ear = Ear()
    with event.install_listener("numba:llvm_lock", ear):
        llvm_ir.DoubleType().get_abi_size(cpu_target.target_context.target_data)
    assert ear.heard > 2
    before = ear.heard
    llvm_ir.DoubleType().get_abi_size(cpu_target.target_context.target_data)
    assert ear.heard == before


def test_times_of_functions_of_others_are_measured():
    other = numba.njit(lambda x: x + 1.0)
    other(1.0)
    assert other.get_metadata(other.signatures[0])["timers"]["compiler_lock"] > 0.0
