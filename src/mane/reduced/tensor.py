"""Tensors as guan2012 section 4 uses them: flattening, mode products, and the N-mode singular value decomposition.

Some forty lines of NumPy: TensorLy, which does the same, would bring its own array backends for three functions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def unfold(tensor: Array, mode: int) -> Array:
    """Mode-`mode` flattening: rows are the index of that mode, columns all others in their order."""
    return np.moveaxis(tensor, mode, 0).reshape(tensor.shape[mode], -1)


def fold(matrix: Array, mode: int, shape: Sequence[int]) -> Array:
    """Undo `unfold` for a tensor of that shape."""
    others = [size for axis, size in enumerate(shape) if axis != mode]
    return np.moveaxis(matrix.reshape(matrix.shape[0], *others), 0, mode)


def mode_product(tensor: Array, matrix: Array, mode: int) -> Array:
    """Mode-`mode` product with a matrix (M, I): that mode then has size M."""
    shape = [*tensor.shape]
    shape[mode] = len(matrix)
    return fold(matrix @ unfold(tensor, mode), mode, shape)


def n_mode_svd(tensor: Array) -> tuple[Array, list[Array]]:
    """N-mode singular value decomposition (guan2012 eq. 3): core tensor and one matrix for each mode.

    Column i of a mode's matrix is the i-th left singular vector of its flattening. A mode that is longer than the
    product of all others has as many columns as that product: N_f* of guan2012 section 4.
    """
    matrices = []
    core = tensor
    for mode in range(tensor.ndim):
        left = _left_singular_vectors(unfold(tensor, mode))
        matrices.append(left)
        core = mode_product(core, np.ascontiguousarray(left.T), mode)
    return core, matrices


def _left_singular_vectors(matrix: Array) -> Array:
    rows, columns = matrix.shape
    if rows > columns:  # many frames: the triangle of a QR decomposition has the same singular values
        basis, triangle = np.linalg.qr(matrix)
        return np.asarray(basis @ np.linalg.svd(triangle)[0])
    if columns > rows:  # few rows: the same from the other side
        _, triangle = np.linalg.qr(np.ascontiguousarray(matrix.T))
        return np.asarray(np.linalg.svd(triangle.T, full_matrices=False)[0])
    return np.asarray(np.linalg.svd(matrix, full_matrices=False)[0])


def multiply_out(core: Array, matrices: Sequence[Array]) -> Array:
    """The tensor that a core and its mode matrices make (guan2012 eq. 3)."""
    tensor = core
    for mode, matrix in enumerate(matrices):
        tensor = mode_product(tensor, matrix, mode)
    return tensor
