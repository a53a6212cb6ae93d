"""Three-by-three algebra on numbers, or on vectors where strands run side by side.

A symmetric matrix is six numbers in the order xx, yy, zz, xy, xz, yz; a full one is nine, row by row. Every function is
inlined into the kernel that calls it.
"""

# mypy: allow-untyped-defs

from mane.simd.jit import inline_fast


@inline_fast
def cross(ax, ay, az, bx, by, bz):
    """Cross product."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@inline_fast
def dot(ax, ay, az, bx, by, bz):
    """Scalar product."""
    return ax * bx + ay * by + az * bz


@inline_fast
def third_axis(x, y, z, w):
    """Third axis of a frame given as a unit quaternion."""
    return 2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)


@inline_fast
def symmetric_inverse(xx, yy, zz, xy, xz, yz):
    """Inverse of a symmetric matrix by its cofactors."""
    cxx = yy * zz - yz * yz
    cxy = xz * yz - xy * zz
    cxz = xy * yz - xz * yy
    inv = 1.0 / (xx * cxx + xy * cxy + xz * cxz)
    return (
        cxx * inv,
        (xx * zz - xz * xz) * inv,
        (xx * yy - xy * xy) * inv,
        cxy * inv,
        cxz * inv,
        (xy * xz - xx * yz) * inv,
    )


@inline_fast
def symmetric_times_vector(xx, yy, zz, xy, xz, yz, x, y, z):
    """Product of a symmetric matrix and a vector."""
    return xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z


@inline_fast
def symmetric_times_full(xx, yy, zz, xy, xz, yz, m):
    """Product of a symmetric and a full matrix, nine numbers."""
    return (
        xx * m[0] + xy * m[3] + xz * m[6],
        xx * m[1] + xy * m[4] + xz * m[7],
        xx * m[2] + xy * m[5] + xz * m[8],
        xy * m[0] + yy * m[3] + yz * m[6],
        xy * m[1] + yy * m[4] + yz * m[7],
        xy * m[2] + yy * m[5] + yz * m[8],
        xz * m[0] + yz * m[3] + zz * m[6],
        xz * m[1] + yz * m[4] + zz * m[7],
        xz * m[2] + yz * m[5] + zz * m[8],
    )


@inline_fast
def transposed_times_vector(m, x, y, z):
    """Product of the transpose of a full matrix and a vector."""
    return m[0] * x + m[3] * y + m[6] * z, m[1] * x + m[4] * y + m[7] * z, m[2] * x + m[5] * y + m[8] * z


@inline_fast
def full_times_vector(m, x, y, z):
    """Product of a full matrix and a vector."""
    return m[0] * x + m[1] * y + m[2] * z, m[3] * x + m[4] * y + m[5] * z, m[6] * x + m[7] * y + m[8] * z


@inline_fast
def transposed_times_full(a, b):
    """Product of the transpose of one full matrix and another, nine numbers."""
    return (
        a[0] * b[0] + a[3] * b[3] + a[6] * b[6],
        a[0] * b[1] + a[3] * b[4] + a[6] * b[7],
        a[0] * b[2] + a[3] * b[5] + a[6] * b[8],
        a[1] * b[0] + a[4] * b[3] + a[7] * b[6],
        a[1] * b[1] + a[4] * b[4] + a[7] * b[7],
        a[1] * b[2] + a[4] * b[5] + a[7] * b[8],
        a[2] * b[0] + a[5] * b[3] + a[8] * b[6],
        a[2] * b[1] + a[5] * b[4] + a[8] * b[7],
        a[2] * b[2] + a[5] * b[5] + a[8] * b[8],
    )


@inline_fast
def transposed_times_full_symmetric(a, b):
    """The same product where it is known to be symmetric, six numbers."""
    return (
        a[0] * b[0] + a[3] * b[3] + a[6] * b[6],
        a[1] * b[1] + a[4] * b[4] + a[7] * b[7],
        a[2] * b[2] + a[5] * b[5] + a[8] * b[8],
        a[0] * b[1] + a[3] * b[4] + a[6] * b[7],
        a[0] * b[2] + a[3] * b[5] + a[6] * b[8],
        a[1] * b[2] + a[4] * b[5] + a[7] * b[8],
    )
