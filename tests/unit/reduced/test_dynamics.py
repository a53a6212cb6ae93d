"""Dynamics: what the tensor, the cross-Grams and plain least squares have in common, and stability."""

import itertools

import numpy as np
import pytest

from learned_hair import weights_of
from mane.measure.reproduce.guan2012_windows import LeastSquares
from mane.reduced.dynamics import (
    CoreTensor,
    CrossGrams,
    Operator,
    Ridge,
    design_rows,
    merged_pairs,
    roll_out,
    solve_positive_definite,
)
from mane.reduced.factors import Factor
from mane.reduced.training import CALMEST, DYNAMICS, MultilinearTraining, evened, slider_grid, stable

FACTORS = (Factor.of_levels("length", [1, 2]), Factor.of_levels("softness", [1, 3, 9]))
SIZE, CONTROLS = 4, 5


def random_styles(count=6, motions=3, frames=60, seed=0):
    rng = np.random.default_rng(seed)
    controls = [rng.normal(size=(frames, CONTROLS)) for _ in range(motions)]
    return controls, [[rng.normal(size=(frames, SIZE)) for _ in controls] for _ in range(count)]


def least_squares(controls, coefficients):
    """y_t on all that is known, over all frames, by NumPy's own solver."""
    rows = np.concatenate([design_rows(u, y) for u, y in zip(controls, coefficients, strict=True)])
    known = CONTROLS + 2 * SIZE
    return np.linalg.lstsq(rows[:, :known], rows[:, known:], rcond=None)[0].T


def as_matrix(operator):
    return np.concatenate([operator.control, *operator.history], axis=1)


def test_at_a_corner_tensor_and_grams_are_least_squares_of_that_style():
    controls, styles = random_styles()
    tensor = CoreTensor.of(controls, styles, [2, 3])
    grams = CrossGrams.of(controls, styles, [2, 3], ridge=Ridge(0.0, 0.0))
    for corner in range(6):
        weights = np.eye(6)[corner]
        expected = least_squares(controls, styles[corner])
        np.testing.assert_allclose(as_matrix(tensor.operator(weights)), expected, atol=1e-8)
        np.testing.assert_allclose(as_matrix(grams.operator(weights)), expected, atol=1e-8)
        plain = LeastSquares.of(controls, styles, 2)
        np.testing.assert_allclose(as_matrix(plain.operator(weights)), expected, atol=1e-8)
    with pytest.raises(ValueError, match="a style that was learned"):
        plain.operator(np.full(6, 1 / 6))


@pytest.mark.parametrize("sliders", [{"length": 0.3, "softness": 0.6}, {"length": 1.35, "softness": -0.2}])
def test_between_corners_both_are_least_squares_of_blended_frames(sliders):
    """guan2012 eq. 6 to 8: the untruncated tensor blends frames, and so do the products of all pairs of styles."""
    controls, styles = random_styles()
    weights = weights_of(FACTORS, **sliders)
    assert weights.sum() == pytest.approx(1)
    blended = [sum(w * own[m] for w, own in zip(weights, styles, strict=True)) for m in range(len(controls))]
    expected = least_squares(controls, blended)
    np.testing.assert_allclose(
        as_matrix(CoreTensor.of(controls, styles, [2, 3]).operator(weights)), expected, atol=1e-8
    )
    grams = CrossGrams.of(controls, styles, [2, 3], ridge=Ridge(0.0, 0.0))
    np.testing.assert_allclose(as_matrix(grams.operator(weights)), expected, atol=1e-8)


@pytest.mark.parametrize("levels", [(2, 3), (2, 2, 2), (4,)])
def test_pairs_of_styles_that_always_count_alike_are_kept_once(levels):
    """The blended Gram matrix is that of blended frames, and so is one of the products of all pairs of styles."""
    factors = [Factor.of_levels(str(k), range(1, count + 1)) for k, count in enumerate(levels)]
    controls, styles = random_styles(count=int(np.prod(levels)), motions=2)
    grams = CrossGrams.of(controls, styles, levels)
    assert len(grams.grams) == np.prod([2 * count - 1 for count in levels])
    rows = [np.concatenate([design_rows(u, y) for u, y in zip(controls, own, strict=True)]) for own in styles]
    upper = np.triu_indices(rows[0].shape[1])
    pairs = [(i, j) for i in range(len(rows)) for j in range(i, len(rows))]
    apart = np.stack([((rows[i].T @ rows[j] + rows[j].T @ rows[i]) / 2)[upper] for i, j in pairs])
    np.testing.assert_allclose(merged_pairs(apart, levels), grams.grams, atol=1e-10)
    for value in (-0.35, 0.2, 0.7, 1.35):
        weights = weights_of(factors, **{factor.name: value * 0.9**k for k, factor in enumerate(factors)})
        blend = np.tensordot(weights, rows, 1)
        np.testing.assert_allclose(grams.blended(weights), blend.T @ blend, atol=1e-9)


def test_a_ridge_is_that_of_stacked_rows():
    """Tikhonov: rows of sqrt(N lambda) times the scale below the data give the same as the ridge."""
    controls, styles = random_styles(count=1)
    ridge = Ridge(0.05, 0.02)
    found = as_matrix(CrossGrams.of(controls, styles, ridge=ridge).operator(np.ones(1)))
    rows = np.concatenate([design_rows(u, y) for u, y in zip(controls, styles[0], strict=True)])
    known = CONTROLS + 2 * SIZE
    scale = np.sqrt((rows[:, :known] ** 2).mean(axis=0))
    scale[CONTROLS:] = np.sqrt((scale[CONTROLS:] ** 2).mean())
    strength = np.repeat([ridge.control, ridge.history], [CONTROLS, 2 * SIZE])
    below = np.diag(np.sqrt(len(rows) * strength) * scale)
    left = np.concatenate([rows[:, :known], below])
    right = np.concatenate([rows[:, known:], np.zeros((known, SIZE))])
    np.testing.assert_allclose(found, np.linalg.lstsq(left, right, rcond=None)[0].T, atol=1e-9)


def test_a_known_system_comes_back_and_its_eigenvalues_are_those_of_its_motion():
    rng = np.random.default_rng(3)
    truth = Operator(rng.normal(size=(SIZE, CONTROLS)), np.stack([-0.7 * np.eye(SIZE), 1.5 * np.eye(SIZE)]))
    controls = [rng.normal(size=(80, CONTROLS)) for _ in range(2)]
    styles = [[roll_out(truth, u) for u in controls]]
    found = CrossGrams.of(controls, styles, ridge=Ridge(0.0, 0.0)).operator(np.ones(1))
    np.testing.assert_allclose(as_matrix(found), as_matrix(truth), atol=1e-8)
    # x^2 = 1.5 x - 0.7 has complex roots of magnitude sqrt(0.7); eq. 12 as printed swaps the two factors.
    assert truth.spectral_radius == pytest.approx(np.sqrt(0.7))
    assert truth.as_printed_radius == pytest.approx(max(abs(np.roots([1, 0.7, -1.5]))))
    free = roll_out(truth, np.zeros((400, CONTROLS)), np.ones((2, SIZE)))
    rates = np.linalg.norm(free[200:], axis=1)
    assert (rates[-1] / rates[0]) ** (1 / 199) == pytest.approx(truth.spectral_radius, rel=1e-2)


def test_settled_coefficients_stay():
    rng = np.random.default_rng(4)
    truth = Operator(rng.normal(size=(SIZE, CONTROLS)), np.stack([-0.7 * np.eye(SIZE), 1.5 * np.eye(SIZE)]))
    control = rng.normal(size=CONTROLS)
    rest = truth.settled(control)
    out = roll_out(truth, np.tile(control, (50, 1)), np.stack([rest, rest]))
    np.testing.assert_allclose(out, np.tile(rest, (50, 1)), atol=1e-12)


def test_the_ridge_is_raised_until_all_of_the_grid_is_stable():
    """Frames that grow without bound teach an unstable model; what is handed out never is."""
    rng = np.random.default_rng(5)
    growing = Operator(rng.normal(size=(SIZE, CONTROLS)), np.stack([-1.05 * np.eye(SIZE), 2.05 * np.eye(SIZE)]))
    controls = [0.01 * rng.normal(size=(80, CONTROLS)) for _ in range(3)]
    factors = (Factor.of_levels("length", [1, 2]),)
    styles = [[(1 + c) * roll_out(growing, u) for u in controls] for c in range(2)]
    plain = CrossGrams.of(controls, styles, [2], ridge=Ridge(0.0, 1e-9))
    assert plain.operator(np.array([1.0, 0.0])).spectral_radius > 1.01
    made, grid, radii = stable(plain, factors, may_raise=True)
    assert made.ridge.history > 0
    assert radii.max() < 1
    assert grid.min() == pytest.approx(-0.35)
    assert grid.max() == pytest.approx(1.35)
    again = [made.operator(weights_of(factors, length=value)).spectral_radius for value in grid[:, 0]]
    np.testing.assert_allclose(again, radii, rtol=1e-12)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4])
def test_every_style_is_a_setting_at_which_stability_is_checked(count):
    levels = ([1, 2], [1, 3, 9], [0, 1], [0, 1, 2])[:count]
    factors = [Factor.of_levels(str(k), own) for k, own in enumerate(levels)]
    found = {tuple(row) for row in slider_grid(factors).tolist()}
    assert found.issuperset(itertools.product(*(factor.positions for factor in factors)))
    assert found.issuperset(itertools.product((-0.35, 1.35), repeat=count))
    gaps = [np.diff(sorted({row[k] for row in found})).min() for k in range(count)]
    assert min(gaps, default=1) > 0.01  # a level that is an even value comes once


def test_what_is_unstable_at_a_style_alone_is_found():
    class Unstable:
        def operator(self, weights):
            radius = 1.05 if weights.max() == 1 else 0.9
            return Operator(np.zeros((1, 1)), np.array([[[0.0]], [[radius]]]))

    _, _, radii = stable(Unstable(), FACTORS, may_raise=False)
    assert radii.max() == pytest.approx(1.05)
    assert (radii > 1).sum() == 6


def learned_of(controls, coefficients, even):
    training = MultilinearTraining(ridge=1e-3, control_ridge=1e-4, even=even)
    return as_matrix(DYNAMICS["gram"](training, (), controls, coefficients).operator(np.ones(1)))


def test_every_motion_counts_the_same_however_violent_it_is():
    controls, (own, *_) = random_styles()
    louder = [10 * controls[0], *controls[1:]], [[10 * own[0], *own[1:]]]
    of_both = [learned_of(*one, even=True) for one in ((controls, [own]), louder)]
    np.testing.assert_allclose(*of_both, atol=1e-9)
    # By squares of errors the first motion would count a hundred times the others.
    assert np.abs(learned_of(controls, [own], even=False) - learned_of(*louder, even=False)).max() > 0.01


def test_a_motion_without_any_does_not_count_more_than_a_calm_one():
    controls, (own, *_) = random_styles()
    still = 1e-7
    scaled, rows = evened([still * controls[0], *controls[1:]], [[still * own[0], *own[1:]]])
    assert np.abs(rows[0][0]).max() < 1.1 * still * np.abs(own[0]).max() / CALMEST
    np.testing.assert_allclose(scaled[0] * (still * own[0]).std(), still * controls[0] * rows[0][0].std(), rtol=1e-9)


def test_the_solver_is_numpys_and_refuses_what_is_not_definite():
    rng = np.random.default_rng(6)
    root = rng.normal(size=(30, 37))
    matrix, right = root @ root.T, rng.normal(size=(30, 5))
    np.testing.assert_allclose(solve_positive_definite(matrix, right), np.linalg.solve(matrix, right), rtol=1e-7)
    with pytest.raises(ValueError, match="must be positive definite, and is not from row 1 on"):
        solve_positive_definite(np.diag([1.0, -1.0]), np.ones((2, 1)))
