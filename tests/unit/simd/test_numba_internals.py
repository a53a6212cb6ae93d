"""What `simd` needs of Numba and llvmlite beyond their documentation, one by one: a failure names what has changed."""

import inspect
import math
import re
import subprocess
import sys

import numba
import numpy as np
import pytest
from llvmlite import binding, ir
from numba import types
from numba.core import caching, cgutils, codegen, config, dispatcher
from numba.core.typing import templates

from mane.simd import f64x8, numba_internals, numba_kept
from mane.simd.jit import by_type, inline, njit
from mane.simd.kernel_cache import PACKAGE
from mane.simd.memory import store, use_wide_registers

compiled = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="about the compiler")
NEEDED = {
    "operators of new types": (
        (templates, "AbstractTemplate"), (templates, "infer_global"), (templates, "signature"),
        (numba.extending, "lower_builtin"), (numba.extending, "intrinsic"),
    ),
    "types as LLVM knows them": (
        (numba.extending, "register_model"), (numba.extending.models, "PrimitiveModel"), (types, "Type"),
        (types, "Number"), (types, "UniTuple"), (ir, "VectorType"), (ir, "FloatType"), (ir, "DoubleType"),
    ),
    "code of operations": (
        (cgutils, "get_or_insert_function"), (cgutils, "unpack_tuple"), (ir.IRBuilder, "shuffle_vector"),
        (ir.IRBuilder, "insert_element"), (ir.IRBuilder, "extract_element"), (ir.IRBuilder, "fcmp_ordered"),
        (ir.IRBuilder, "select"), (ir.IRBuilder, "bitcast"), (ir.IRBuilder, "gep"), (ir.IRBuilder, "ctpop"),
    ),
    "settings": ((config, "DISABLE_JIT"), (config, "BOUNDSCHECK"), (config, "NUMBA_NUM_THREADS")),
    "places of kernels on disk": (
        (caching, "CacheImpl"),
        (caching, "UserWideCacheLocator"), (caching.UserWideCacheLocator, "get_source_stamp"),
        (caching.UserWideCacheLocator, "from_function"), (caching.Cache, "load_overload"),
        (caching.Cache, "save_overload"), (caching.Cache, "flush"), (config, "USING_SVML"), (config, "CACHE_DIR"),
        (caching.IndexDataCacheFile, "_load_index"), (caching.IndexDataCacheFile, "_save_index"),
        (caching.IndexDataCacheFile, "save"),
    ),
    "linking": (
        (codegen.CPUCodeLibrary, "_finalize_final_module"), (binding.Linkage, "external"),
        (binding.Linkage, "linkonce_odr"), (binding.ModuleRef, "clone"), (binding.ModuleRef, "get_function"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("use", "owner", "name"), [(use, *one) for use, names in NEEDED.items() for one in names], ids=str
)
def test_names_are_where_they_were(use, owner, name):
    where = getattr(owner, "__name__", owner)
    assert hasattr(owner, name), f"{use}: Numba {numba.__version__} has no {where}.{name}"


def test_the_list_of_places_can_be_put_in_front_of():
    """`keep_by_content`: without it, kernels on disk are used after files that they took code from have changed."""
    assert caching.CacheImpl._locator_classes[0] is numba_kept._Kept


@compiled
def test_a_kernel_of_the_package_is_kept_with_its_wide_stamp():
    from mane.geometry import _kernels_arclength as kernels
    from mane.geometry._kernels_arclength import __file__ as file

    kernel = next(one for one in vars(kernels).values() if isinstance(one, dispatcher.Dispatcher))
    locator = kernel._cache._impl.locator
    assert isinstance(locator, numba_kept._Kept)
    stamp = numba_kept.stamp_of(type(PACKAGE)(file))
    assert locator.get_source_stamp() == stamp
    assert locator.get_cache_path().endswith(f"geometry._kernels_arclength-{stamp[:16]}")


def test_settings_that_change_machine_code_are_part_of_the_surroundings(monkeypatch):
    before = numba_kept.surroundings()
    monkeypatch.setattr(config, "NUMBA_NUM_THREADS", 77)
    assert numba_kept.surroundings() == before
    for name, value in (("BOUNDSCHECK", 1), ("USING_SVML", True), ("OPT", 2), ("CPU_NAME", "haswell")):
        with monkeypatch.context() as changed:
            changed.setattr(config, name, value)
            assert numba_kept.surroundings() != before


@compiled
def test_choices_by_type_go_by_names_of_their_own():
    """Processes number functions anew: without it, one choice may be linked in the place of another."""
    names = set()
    for word in ("least", "most"):
        chosen = by_type(word, njit(lambda x: x), {})
        kernel = njit(lambda x: chosen(x))  # noqa: B023 - called here
        kernel(1.0)
        names |= set(re.findall(r"\w*_is_\w*", "".join(kernel.inspect_llvm().values())))
    assert {word for word in ("least", "most") if any(f"{word}_is_" in name for name in names)} == {"least", "most"}


def test_an_index_of_types_that_are_gone_counts_as_empty(tmp_path):
    """`forget_unreadable_kernels`: without it, a new version of mane cannot be run beside kernels of an old one."""
    (tmp_path / "moved_types.py").write_text("class Lanes:\n    pass\n")
    code = (
        "import moved_types; from numba.core.caching import IndexDataCacheFile; "
        "IndexDataCacheFile('.', 'f', 'stamp')._save_index({moved_types.Lanes(): 'f.1.nbc'})"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    assert (tmp_path / "f.nbi").is_file()
    file = caching.IndexDataCacheFile(str(tmp_path), "f", "stamp")
    assert file._load_index() == {}
    file.save("key", b"data")
    assert file.load("key") == b"data"


def test_machines_that_keep_kernels_at_the_same_time_do_not_mix_them_up(tmp_path):
    """`keep_kernels_apart`: without it, a machine may run what another one has compiled for its own CPU."""
    one, other = (caching.IndexDataCacheFile(str(tmp_path), "f", "stamp") for _ in range(2))
    one._load_index = other._load_index = dict  # both find an index without kernels, as if at the same time
    late, save_data = [], one._save_data
    one._save_data = lambda *given: late.append(given)
    one.save(("float64", "zen4"), b"code for zen4")
    other.save(("float64", "skylake"), b"code for skylake")
    save_data(*late[0])
    file = caching.IndexDataCacheFile(str(tmp_path), "f", "stamp")
    assert file.load(("float64", "skylake")) == b"code for skylake"
    assert file.load(("float64", "zen4")) in (None, b"code for zen4")
    file.save(("float64", "zen4"), b"code for zen4")
    assert [file.load(("float64", name)) for name in ("zen4", "skylake")] == [b"code for zen4", b"code for skylake"]


def test_keys_that_look_alike_have_files_of_their_own(tmp_path):
    class Argument:
        def __repr__(self):
            return f"<function at {hex(id(self))}>"

    names, keys = set(), [Argument(), Argument()]
    for key in keys:
        names.add(numba_kept._telling_name("f.{number:d}.nbc", key, names))
    assert len(names) == 2


@compiled
def test_options_that_callers_would_hand_on_are_given():
    """`INHERITED`: Numba takes options that a function lacks over from its first caller."""
    options = njit(lambda x: x).targetoptions
    missing = set(numba_internals.INHERITED.items()) - set(options.items())
    assert not missing, f"jit no longer keeps {missing}"
    own = inspect.signature(dispatcher.Dispatcher.__init__).parameters
    assert "targetoptions" in own, "Dispatcher no longer takes targetoptions"


@compiled
@pytest.mark.parametrize(("counts", "option"), [(True, {}), (False, numba_internals.WITHOUT_REFERENCE_COUNTS)])
def test_the_option_nrt_leaves_out_reference_counts(counts, option):
    """`_nrt`: without it a contact takes twice as long."""

    @numba.njit(**option)
    def first_of(pair):
        rows, _ = pair
        return rows[0]

    @numba.njit
    def call(rows):
        return first_of((rows, rows))

    call(np.ones(3))
    code = "\n".join(first_of.inspect_llvm().values())
    assert "call void @NRT_incref" in code or "call void @NRT_decref" in code or not counts, "the test sees nothing"
    assert counts or "NRT_" not in code.replace("declare", ""), "_nrt=False no longer leaves out reference counts"


@compiled
def test_attributes_with_a_value_reach_llvm():
    """`add_attribute`: without it CPUs with AVX-512 use half of their registers."""

    @numba.njit
    def double(rows):
        use_wide_registers()
        store(rows, 0, f64x8.load(rows, 0) * 2.0)

    double(np.ones(8))
    assert any('"prefer-vector-width"="512"' in code for code in double.inspect_llvm().values())


@compiled
def test_inlined_functions_are_no_calls():
    """`forceinline`: vectors are never handed from one function to another in memory."""

    @inline
    def plus_one(x):
        return x + 1.0

    @numba.njit
    def kernel(rows):
        store(rows, 0, plus_one(f64x8.load(rows, 0)))

    kernel(np.ones(8))
    for code in kernel.inspect_asm().values():
        assert not [line for line in code.split("\n") if line.strip().startswith("call") and "plus_one" in line]


LOOP = "    for k in range(n):\n        x += math.sin(x + k) * math.exp(-x)\n"
# A function that is too long to be inlined, and a kernel that calls it.
CALLS = f"def long(n):\n    x = 0.0\n{12 * LOOP}    return x\n"
CALLS += "def kernel(n):\n    return long(n) + long(n + 1) + long(n + 2)\n"


@compiled
@pytest.mark.parametrize(("package", "linkage"), [(PACKAGE.name, "internal"), ("another", "linkonce_odr")])
def test_kernels_of_the_package_keep_their_copies_of_what_they_call(package, linkage):
    """`make_copies_private`: without it the first run does not give the bytes of later ones."""
    names = {"math": math, "__name__": f"{package}.made_up"}
    exec(CALLS, names)
    names["long"] = njit(names["long"])
    kernel = njit(names["kernel"])
    kernel(3)
    library = next(iter(kernel.overloads.values())).library
    found = {one.name: one.linkage.name for one in library._final_module.functions if not one.is_declaration}
    mangled = numba_internals.MANGLED.replace(f"{len(PACKAGE.name)}{PACKAGE.name}", f"{len(package)}{package}")
    copies = [kind for name, kind in found.items() if name.startswith(f"{mangled}7made_up4long")]
    assert copies == [linkage], f"names are mangled or linked in another way: {found}"


# Name, result and arguments of intrinsics that change with LLVM; the constants among the arguments as in `simd`.
V, M, I = "<8 x double>", "<8 x i1>", "<16 x i32>"
INTRINSICS = {
    "llvm.experimental.vector.compress.v16i32": (I, f"{I} %i, <16 x i1> %k, {I} zeroinitializer"),
    "llvm.masked.load.v8f64.p0": (V, f"ptr %p, i32 8, {M} %m, {V} zeroinitializer"),
    "llvm.masked.store.v8f64.p0": ("void", f"{V} %v, ptr %p, i32 8, {M} %m"),
    "llvm.prefetch.p0": ("void", "ptr %p, i32 1, i32 3, i32 1"),
    "llvm.copysign.v8f64": (V, f"{V} %v, {V} %v"),
    "llvm.sqrt.v8f64": (V, f"{V} %v"),
    "llvm.fabs.v8f64": (V, f"{V} %v"),
}


def machine_code(name, result, arguments):
    """Machine code of a function that calls an intrinsic of LLVM."""
    kinds = ", ".join(re.sub(r" (%\w+|\w+)$", "", one) for one in re.split(r", (?=[<ip])", arguments))
    call = f"call {result} @{name}({arguments})"
    body = f"{call}\nret void" if result == "void" else f"%r = {call}\nret {result} %r"
    text = f"define {result} @f(ptr %p, {V} %v, {M} %m, {I} %i, <16 x i1> %k) {{\n{body}\n}}\n"
    module = binding.parse_assembly(text + f"declare {result} @{name}({kinds})\n")
    module.verify()
    return binding.Target.from_default_triple().create_target_machine().emit_assembly(module)


@compiled
@pytest.mark.parametrize("name", INTRINSICS)
def test_llvm_knows_intrinsics_by_their_names_and_arguments(name):
    """One that LLVM does not know is a call of a function that does not exist."""
    try:
        code = machine_code(name, *INTRINSICS[name])
    except RuntimeError as error:
        pytest.fail(f"LLVM {binding.llvm_version_info} takes other arguments for {name}: {error}")
    assert name not in code, f"LLVM {binding.llvm_version_info} does not know {name}"


@compiled
def test_the_check_of_intrinsics_finds_what_it_looks_for():
    assert "llvm.sqroot.v8f64" in machine_code("llvm.sqroot.v8f64", V, f"{V} %v")
    with pytest.raises(RuntimeError, match="Intrinsic has incorrect argument type"):
        machine_code("llvm.sqrt.v8f64", V, f"{I} %i")
