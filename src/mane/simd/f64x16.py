"""Sixteen float64 numbers as one vector, twice as wide as the widest register that CPUs have (see `f32x32`)."""

# mypy: allow-untyped-defs

from mane.simd.memory import broadcaster, loader
from mane.simd.numba_internals import types
from mane.simd.types import VectorType

WIDTH = 16
F64X16 = VectorType(WIDTH, types.float64)
load = loader(WIDTH)
broadcast = broadcaster(F64X16)
