"""Tensors: the decomposition puts the data together again, and what guan2012 says of it holds."""

import numpy as np
import pytest

from mane.reduced.tensor import fold, mode_product, multiply_out, n_mode_svd, unfold


@pytest.mark.parametrize("shape", [(7, 2, 3, 40), (5, 2, 200), (4, 6)])
def test_the_decomposition_reproduces_the_tensor(shape):
    data = np.random.default_rng(0).normal(size=shape)
    core, matrices = n_mode_svd(data)
    np.testing.assert_allclose(multiply_out(core, matrices), data, atol=1e-12 * np.abs(data).max() * data.size)
    for mode, matrix in enumerate(matrices):
        others = data.size // shape[mode]
        assert matrix.shape == (shape[mode], min(shape[mode], others))  # N_f* of section 4
        np.testing.assert_allclose(matrix.T @ matrix, np.eye(matrix.shape[1]), atol=1e-12)


def test_the_core_is_all_orthogonal_and_ordered():
    """De Lathauwer et al., property 1: slices of the core along a mode are orthogonal, and their norms do not rise."""
    core, _ = n_mode_svd(np.random.default_rng(1).normal(size=(5, 4, 6)))
    for mode in range(3):
        slices = unfold(core, mode)
        gram = slices @ slices.T
        norms = np.diag(gram)
        np.testing.assert_allclose(gram - np.diag(norms), 0, atol=1e-10 * norms[0])
        assert (np.diff(norms) <= 1e-9 * norms[0]).all()


def test_a_mode_product_is_a_matrix_product_of_the_flattening():
    rng = np.random.default_rng(2)
    data, matrix = rng.normal(size=(3, 4, 5)), rng.normal(size=(2, 4))
    np.testing.assert_allclose(mode_product(data, matrix, 1), np.einsum("abc,mb->amc", data, matrix))
    np.testing.assert_array_equal(fold(unfold(data, 2), 2, data.shape), data)
