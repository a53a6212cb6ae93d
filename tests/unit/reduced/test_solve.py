"""Dense solves against NumPy's, and what they say of systems without a solution."""

import numpy as np
import pytest

from mane.reduced._kernels_solve import cholesky_solve, lu_solve
from mane.reduced.dynamics import Operator


def test_lu_solve_is_that_of_numpy_with_and_without_pivots():
    rng = np.random.default_rng(3)
    for size in (1, 2, 7, 40):
        matrix, right = rng.normal(size=(size, size)), rng.normal(size=size)
        if size > 1:
            matrix[0, 0] = 0.0  # without rows exchanged there is no first pivot
        found = right.copy()
        assert lu_solve(matrix.copy(), found) == -1
        np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=1e-9, atol=1e-11)


def test_a_singular_matrix_is_told_by_its_first_column_without_a_pivot():
    matrix = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 1.0], [0.0, 0.0, 1.0]])
    assert lu_solve(matrix, np.ones(3)) == 1
    assert lu_solve(np.full((2, 2), np.nan), np.ones(2)) == 0
    assert cholesky_solve(np.diag([1.0, -1.0]), np.ones((2, 1))) == 1


def test_hair_settles_where_it_stays_as_it_is():
    """y = C u + B_1 y + B_2 y, and nowhere where B_1 + B_2 is the identity."""
    rng = np.random.default_rng(4)
    operator = Operator(rng.normal(size=(5, 3)), 0.2 * rng.normal(size=(2, 5, 5)))
    control = rng.normal(size=3)
    found = operator.settled(control)
    np.testing.assert_allclose(operator.control @ control + operator.history.sum(axis=0) @ found, found, atol=1e-12)
    drifting = Operator(operator.control, np.stack([np.zeros((5, 5)), np.eye(5)]))
    with pytest.raises(ValueError, match="model: its dynamics have an eigenvalue of 1, so no hair comes to rest"):
        drifting.settled(control)
