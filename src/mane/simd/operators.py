"""`+`, `-`, `*`, `/` and comparisons of vectors, `&`, `|` and `~` of masks, as Python writes them.

Comparing two vectors gives a mask; single numbers take part in all lanes. A comparison with NaN is a no.
"""

# mypy: allow-untyped-defs

import operator

from mane.simd.emit import FLAGS, widened
from mane.simd.numba_internals import declare, lower_builtin, signature, types
from mane.simd.types import MaskType, VectorType, common_type


def _register(operation, result, emit):
    """Have an operator work on two vectors, or on one and a number."""

    def generic(self, args, kws):
        vector = common_type(args)
        return None if vector is None else signature(result(vector), *args)

    def lower(context, builder, sig, args):
        return emit(builder, *widened(context, builder, sig, args))

    declare(operation, generic)
    for pair in ((VectorType, VectorType), (VectorType, types.Number), (types.Number, VectorType)):
        lower_builtin(operation, *pair)(lower)


def _arithmetic(instruction):
    return lambda builder, a, b: getattr(builder, instruction)(a, b, flags=FLAGS)


def _comparison(sign):
    return lambda builder, a, b: builder.fcmp_ordered(sign, a, b)


for _operation, _instruction in (("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("truediv", "fdiv")):
    _register(getattr(operator, _operation), lambda vector: vector, _arithmetic(_instruction))
for _operation, _sign in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!=")):
    _register(getattr(operator, _operation), lambda vector: MaskType(vector.count), _comparison(_sign))


def _register_for_masks(operation, instruction):
    def generic(self, args, kws):
        is_known = len(args) == 2 and isinstance(args[0], MaskType) and args[0] == args[1]
        return signature(args[0], *args) if is_known else None

    declare(operation, generic)

    @lower_builtin(operation, MaskType, MaskType)
    def emit(context, builder, sig, args):
        return getattr(builder, instruction)(*args)


for _operation in ("and_", "or_"):
    _register_for_masks(getattr(operator, _operation), _operation)


declare(operator.invert, lambda self, args, kws: signature(*args, *args) if isinstance(args[0], MaskType) else None)


@lower_builtin(operator.invert, MaskType)
def _lower_not(context, builder, sig, args):
    return builder.not_(args[0])


def declare_of_one(operation):
    """Have an operator or function of one vector give a vector of the same type."""

    def generic(self, args, kws):
        return signature(*args, *args) if len(args) == 1 and isinstance(args[0], VectorType) else None

    declare(operation, generic)


declare_of_one(operator.neg)


@lower_builtin(operator.neg, VectorType)
def _lower_negative(context, builder, sig, args):
    return builder.fneg(args[0], flags=FLAGS)
