"""Vectors read from arrays and written to them: loads, stores, prefetches, and the same number in all lanes.

Arrays are flat; an index counts numbers. A load or store may begin anywhere; it touches one line of the cache less
where it begins on one (`align`).
"""

# mypy: allow-untyped-defs

from mane.simd import operators as operators  # vectors come with their operators
from mane.simd import plain
from mane.simd.emit import address, read, repeat, write
from mane.simd.numba_internals import add_attribute, call_llvm, intrinsic, ir, types
from mane.simd.types import BYTE, INT, VectorType, llvm_vector


def loader(count):
    """Make the operation that reads `count` neighbours of an array of float32 or float64 as a vector."""

    @intrinsic(plain.loader(count))
    def load(typing_context, rows, at):
        """Read a row, `rows[at : at + count]`."""
        vector = VectorType(count, rows.dtype)

        def emit(context, builder, sig, args):
            return read(builder, address(context, builder, sig, args, 0, args[1], count), llvm_vector(vector))

        return vector(rows, types.int64), emit

    return load


def broadcaster(vector):
    """Make the operation that gives all lanes of a vector of this type the same number."""

    @intrinsic(plain.broadcaster(vector.count, vector.number.name))
    def broadcast(typing_context, number):
        """Give all lanes the same number."""

        def emit(context, builder, sig, args):
            return repeat(builder, args[0], vector.count)

        return vector(vector.number), emit

    return broadcast


@intrinsic(plain.broadcast_like)
def broadcast_like(typing_context, vector, number):
    """Give all lanes the same number, in a vector of the type of another."""

    def emit(context, builder, sig, args):
        return repeat(builder, args[1], vector.count)

    return vector(vector, vector.number), emit


@intrinsic(plain.store)
def store(typing_context, rows, at, value):
    """Write a row from `rows[at]` on."""

    def emit(context, builder, sig, args):
        write(builder, args[2], address(context, builder, sig, args, 0, args[1], value.count))
        return context.get_dummy_value()

    return types.void(rows, types.int64, value), emit


def _prefetch(context, builder, sig, args, will_write):
    place = builder.bitcast(address(context, builder, sig, args, 0, args[1], 0), BYTE.as_pointer())
    to_nearest_cache_as_data = INT(3), INT(1)
    call_llvm(builder, "llvm.prefetch.p0", ir.VoidType(), [place, INT(will_write), *to_nearest_cache_as_data])
    return context.get_dummy_value()


@intrinsic(plain.prefetch)
def prefetch_read(typing_context, array, at):
    """Have what lies around `array[at]` brought near; `at` may be beyond the end."""

    def emit(context, builder, sig, args):
        return _prefetch(context, builder, sig, args, 0)

    return types.void(array, types.int64), emit


@intrinsic(plain.prefetch)
def prefetch_write(typing_context, array, at):
    """The same for what will be written."""

    def emit(context, builder, sig, args):
        return _prefetch(context, builder, sig, args, 1)

    return types.void(array, types.int64), emit


@intrinsic(plain.use_wide_registers)
def use_wide_registers(typing_context):
    """Ask for the widest registers there are in the function that calls this.

    On CPUs with AVX-512 LLVM keeps to half of a register's width, since early ones slowed down when all of it was used.
    Vectors that find no register go on the stack, which LLVM takes as it comes unless told to align it: what lies
    across two lines of the cache takes longer to write and to read.
    """

    def emit(context, builder, sig, args):
        add_attribute(builder, '"prefer-vector-width"="512"')
        add_attribute(builder, '"stackrealign"')
        return context.get_dummy_value()

    return types.void(), emit


@intrinsic(plain.stay_out_of_line)
def stay_out_of_line(typing_context):
    """Keep the function that calls this out of those that call it.

    What is asked from many places of a kernel is then compiled once, not once for each of them; a call costs the
    handing over of its arguments, some 10 ns with a handful of arrays.
    """

    def emit(context, builder, sig, args):
        add_attribute(builder, "noinline")
        return context.get_dummy_value()

    return types.void(), emit
