"""Types of vectors and masks, as Numba and LLVM know them.

A vector is `count` numbers of float32 or float64 side by side, its lanes; a mask is a yes or no for each of them. Where
registers are narrower than a vector the compiler makes more operations of one.
"""

# mypy: allow-untyped-defs

from mane.simd.numba_internals import ir, models, register_model, types

FLOAT, DOUBLE, BIT, BYTE, INT, INDEX = ir.FloatType(), ir.DoubleType(), *(ir.IntType(n) for n in (1, 8, 32, 64))


class VectorType(types.Type):
    """Numbers of float32 or float64, `count` of them."""

    def __init__(self, count, number=types.float32):
        self.count, self.number = count, number
        super().__init__(name=f"Vector({count}, {number})")


class MaskType(types.Type):
    """A yes or no for each of `count` lanes."""

    def __init__(self, count):
        self.count = count
        super().__init__(name=f"Mask({count})")


def llvm_vector(vector):
    """Type of a vector as LLVM knows it."""
    return ir.VectorType(FLOAT if vector.number == types.float32 else DOUBLE, vector.count)


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, of_type):
        super().__init__(manager, of_type, llvm_vector(of_type))


@register_model(MaskType)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager, of_type):
        super().__init__(manager, of_type, ir.VectorType(BIT, of_type.count))


def common_type(args):
    """Type of vector that two arguments have in common, or None; a single number takes part in all lanes."""
    vectors = [one for one in args if isinstance(one, VectorType)]
    numbers = [one for one in args if isinstance(one, types.Number)]
    is_known = len(args) == 2 and vectors and len(vectors) + len(numbers) == 2 and vectors[0] == vectors[-1]
    return vectors[0] if is_known else None
