"""Four float32 numbers as one vector: x, y, z of a point and whatever is behind them."""

# mypy: allow-untyped-defs

from mane.simd.memory import broadcaster, loader
from mane.simd.types import VectorType

WIDTH = 4
F32X4 = VectorType(WIDTH)
load = loader(WIDTH)
broadcast = broadcaster(F32X4)
