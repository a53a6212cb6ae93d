"""Logarithms and powers of eight numbers side by side, to within rounding and without a branch."""

# mypy: allow-untyped-defs

import math

from mane.geometry._kernels_eights import binary_parts, spread, whole_power
from mane.geometry._kernels_lanes import in_lanes

LN_2 = math.log(2.0)
# ln m = 2 (s + s^3 / 3 + s^5 / 5 + ...) with s = (m - 1) / (m + 1); s^2 < 0.0295, the first term left out < 3e-17.
SERIES_OF_LOG = tuple(2.0 / k for k in range(19, 0, -2))
# e^y = 1 + y + y^2 / 2 + ...; |y| <= ln(2) / 2, the first term left out < 2e-16.
SERIES_OF_EXP = tuple(1.0 / math.factorial(k) for k in range(12, -1, -1))


@in_lanes
def polynomial(coefficients, x):
    """Value of a polynomial, the highest power's coefficient first."""
    square = x * x
    value, other = spread(coefficients[0]), spread(coefficients[1])
    for k in range(2, len(coefficients)):
        value, other = other, value * square + coefficients[k]  # every second power, so that one need not wait
    return value * x + other


@in_lanes
def natural_logarithm(x):
    """Logarithm of numbers above 1e-307; of zero that of 2^-1023."""
    m, n = binary_parts(x)
    s = (m - 1.0) / (m + 1.0)
    return n * LN_2 + s * polynomial(SERIES_OF_LOG, s * s)


@in_lanes
def exponential(x):
    """e^x for x from -700 to 700."""
    n, scale = whole_power(x * (1.0 / LN_2))
    return polynomial(SERIES_OF_EXP, x - n * LN_2) * scale
