"""SIMD vectors as values in Numba kernels: types, masks, loads, stores, gathers, functions, reductions, layouts.

`a * b + c` of vectors is an instruction or two for all their lanes. A loop over lanes becomes that too where the
compiler can prove that no row of an array overlaps another, and reads and writes every intermediate result that lives
longer than one turn of the loop; a vector needs no proof and stays in registers.

```python
import numpy as np

from mane.simd import f64x8, layout
from mane.simd.jit import njit
from mane.simd.masks import select
from mane.simd.math import sqrt
from mane.simd.memory import store


@njit(cache=True)
def lengths(rows, out):
    '''Length of eight vectors at a time, zero below a millimetre; rows (B, 3, 8) and out (B, 8), both flat.'''
    for block in range(len(out) // f64x8.WIDTH):
        x = f64x8.load_row(rows, 24 * block, 0)
        y = f64x8.load_row(rows, 24 * block, 1)
        z = f64x8.load_row(rows, 24 * block, 2)
        length = sqrt(x * x + y * y + z * z)
        store(out, f64x8.WIDTH * block, select(length < 1e-3, 0.0, length))


blocks = layout.to_blocks(np.random.default_rng(0).normal(size=(1000, 3)))
out = np.zeros((len(blocks), f64x8.WIDTH))
lengths(blocks.reshape(-1), out.reshape(-1))
```

What is where:

    jit                     `njit`, `prange`, `leaf`, `inline`, `inline_fast`: how functions are compiled
    types, operators        `VectorType`, `MaskType`; + - * /, comparisons, & | ~
    memory                  `loader`, `store`, `broadcaster`, prefetches, `use_wide_registers`
    masks                   `select`; masks from counts and marks
    math                    `minimum`, `maximum`, `absolute`, `copysign`, `sqrt`, `rsqrt`, `log`, `exp`, `to_float32`
    reductions              `reduce_max`, `reduce_min`, `reduce_sum`
    f64x4, f64x8, f64x16,   each width's `load` and `broadcast`, with the gathers, scatters and shuffles that it has
    f32x4, f32x16, f32x32
    rows                    eight strands side by side, copied in and out
    align, layout           arrays on lines of the cache; tables to blocks of lanes and back
    plain                   the same operations in NumPy, for NUMBA_DISABLE_JIT=1
    emit                    pieces of LLVM code that operations are made of
    kernel_cache            when a kernel on disk must be made anew
    numba_internals         all use of Numba's internals

The room imports nothing of mane, so that it can be lifted out. Numba is loaded with the first of its files, not with
this one.
"""
